//! Publishes the data folder of a running server whenever something changed (`lake.publish`).
//!
//! One supervised thread checks for changes every `lake.publish_every_s`, or every `lake.metering_every_s` if that is
//! shorter. A check that finds nothing new reads a few small files and four numbers of the store. The consumption that
//! replicas metered is added to the ledger every `lake.metering_every_s`. A publication that fails is retried after a
//! pause; until then readers see the previous snapshot.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::runtime::Handle;

use crate::Failure;
use crate::config::Config;
use crate::verify;
use toise_accounts::shipments;
use toise_base::clock::Clock;
use toise_base::supervise::{Pulse, Supervisor};
use toise_base::watch::{Watcher, until_dropped};
use toise_publish::publisher::{Extent, Publisher, publish};
use toise_publish::remote::Remote;
use toise_publish::retry::RetryPolicy;
use toise_publish::{metering, stamp};
use toise_store::Store;

/// Pause after a publication that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Maximum wait for a running publication when stopping; an interrupted publication has no effect.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the description of this process as a publisher: host and process, version, and the address of the writer,
/// empty if unknown.
pub fn publisher(writer: &str, extent: Extent) -> Publisher {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "host",
        host => host,
    };
    Publisher {
        name: format!("{host}, process {}", std::process::id()),
        version: env!("CARGO_PKG_VERSION").into(),
        writer: Some(writer.to_owned()).filter(|writer| !writer.is_empty()),
        extent,
        verify: verify::derived,
    }
}

/// Starts publishing if the configuration names an object store; otherwise returns `None`.
///
/// # Errors
/// The URL is wrong, or the system cannot start a thread.
pub fn start(
    supervisor: &Supervisor,
    data: &Path,
    store: &Store,
    config: &Config,
    runtime: &Handle,
) -> Result<Option<Watcher>, Failure> {
    let lake = &config.lake;
    if lake.publish.is_empty() {
        return Ok(None);
    }
    let work = PublishingJob {
        remote: Remote::open(&lake.publish, RetryPolicy::default())?,
        data: data.to_owned(),
        store: store.clone(),
        publisher: publisher(&lake.writer_address, Extent::New),
        runtime: runtime.clone(),
    };
    let every = Duration::from_secs(lake.publish_every_s);
    let metering_every = Duration::from_secs(lake.metering_every_s);
    let job = move |pulse: &Pulse, stopped: &AtomicBool| {
        let mut published = None;
        let mut metered: Option<Instant> = None;
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            if metered.is_none_or(|at| at.elapsed() >= metering_every) {
                if let Err(error) = work.take_metering() {
                    tracing::error!(%error, "cannot add the consumption that replicas metered; will retry");
                }
                metered = Some(Instant::now());
            }
            let pause = match work.publish_changes(&mut published) {
                Ok(()) => every.min(metering_every),
                Err(error) => {
                    tracing::error!(%error, "cannot publish the data folder; will retry");
                    RETRY_PAUSE
                }
            };
            pulse.park_within(pause);
        }
    };
    let publishing = until_dropped(supervisor, "publisher", STOP_TIMEOUT, job)?;
    Ok(Some(publishing))
}

struct PublishingJob {
    remote: Remote,
    data: PathBuf,
    store: Store,
    publisher: Publisher,
    runtime: Handle,
}

impl PublishingJob {
    /// Adds the consumption that replicas metered to the ledger, and deletes each file once it is added. A file whose
    /// content cannot be read is left in place, and the others are still added.
    fn take_metering(&self) -> Result<(), Failure> {
        let paths = self.runtime.block_on(metering::list(&self.remote))?;
        for path in paths {
            let Some(body) = self.runtime.block_on(metering::read(&self.remote, &path))? else {
                continue;
            };
            match shipments::take(&self.store, &body) {
                Ok(_) => self
                    .runtime
                    .block_on(metering::delete(&self.remote, &path))?,
                Err(error @ shipments::Error::Unreadable(_)) => {
                    tracing::error!(path, %error, "cannot read metered consumption; the file stays");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Publishes if the data have changed since the stamp `published`.
    fn publish_changes(&self, published: &mut Option<String>) -> Result<(), Failure> {
        let now = stamp::of(&self.data, &self.store)?;
        if published.as_ref() == Some(&now) {
            return Ok(());
        }
        let bar = ProgressBar::hidden();
        let clock = Clock::system();
        let done = publish(&self.data, &self.remote, &self.publisher, &clock, &bar);
        let done = self.runtime.block_on(done)?;
        if done.is_new {
            tracing::info!(
                number = done.number,
                uploaded = done.uploaded,
                bytes = done.uploaded_bytes,
                "data folder published"
            );
        }
        *published = Some(now);
        Ok(())
    }
}
