//! A server that follows publications instead of having data of its own (`lake.replica`, `toise serve --replica`).
//!
//! Before anything is opened, the newest snapshot is downloaded, verified and installed ([`first`]); without the network,
//! the one installed last is served. Then one supervised thread asks for news every second ([`follow`]). What is new is
//! downloaded and installed while requests go on with what they see; then all tables change in one step, followed by
//! properties, addresses and the model, and `x-toise-as-of` says so. A snapshot that cannot be used is refused with the
//! name of its bad file, and the former one stays.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::DateTime;
use indicatif::ProgressBar;
use tokio::runtime::Handle;

use crate::Failure;
use toise_accounts::shipments;
use toise_base::clock::Clock;
use toise_base::supervise::{Supervisor, Worker};
use toise_estimate::live::LiveModel;
use toise_geocode::live::LiveGeocoder;
use toise_http::replica::{AsOf, ReplicaStatus};
use toise_lake::settings::{LakeSettings, departments};
use toise_listings::search::projection::Projection;
use toise_publish::holdings::Holdings;
use toise_publish::manifest::Manifest;
use toise_publish::metering;
use toise_publish::remote::Remote;
use toise_publish::replica::Replica;
use toise_publish::retry::RetryPolicy;
use toise_store::Store;
use toise_telemetry::{Gauge, Metric, Metrics};

/// Pause between two questions for news.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Longest pause after failures.
const POLL_MAX: Duration = Duration::from_secs(30);
/// Maximum wait, when stopping, for a download or an installation, which go on at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

const SNAPSHOT: Metric<Gauge> = Metric::gauge(
    "toise_replica_snapshot",
    "Number of the snapshot that a replica shows.",
);
const AGE: Metric<Gauge> = Metric::gauge(
    "toise_replica_age_seconds",
    "Time since the snapshot that a replica shows was captured.",
);

/// What changes over when a snapshot was installed.
pub struct Shown {
    /// Tables and properties.
    pub properties: Arc<Projection>,
    /// The model.
    pub models: LiveModel,
    /// The addresses.
    pub addresses: LiveGeocoder,
    /// What is said of it.
    pub status: ReplicaStatus,
}

/// Follows publications until it is dropped.
#[derive(Debug)]
pub struct Following {
    stop: Arc<AtomicBool>,
    worker: Worker,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.worker.release();
        self.stop.store(true, Ordering::Relaxed);
        self.worker.unpark();
        self.worker.join_within(STOP_TIMEOUT);
    }
}

/// The state of a manifest, for clients.
pub fn as_of(manifest: &Manifest) -> AsOf {
    AsOf {
        number: manifest.number,
        created_at: manifest.created_at.clone(),
        writer: manifest.writer.clone(),
    }
}

/// Opens the replica in a data folder and brings it to the newest snapshot, or to the one installed last if the object
/// store cannot be read. Blocks for as long as the download takes.
///
/// # Errors
/// There is neither; the folder holds other data; it cannot be written.
pub fn first(
    data: &Path,
    settings: &LakeSettings,
    runtime: &Handle,
    bar: &ProgressBar,
) -> Result<(Replica, ReplicaStatus), Failure> {
    let remote = Remote::open(&settings.replica, RetryPolicy::default())?;
    let holdings = Holdings {
        departments: departments(&settings.replica_departments)
            .ok_or("lake.replica_departments names an unknown department")?,
        fetched_bytes_max: settings.replica_fetched_mib << 20,
    };
    let mut replica = Replica::open(data, remote, holdings)?;
    let store = Store::open(data)?;
    replica.recover(&store)?;
    match runtime.block_on(replica.poll(&store, bar)) {
        Ok(Some(manifest)) => replica.install(manifest, &store)?,
        Ok(None) => {}
        Err(error) if replica.installed().is_some() => {
            tracing::error!(%error, "cannot read the newest snapshot; serving the one installed last");
        }
        Err(error) => return Err(error.into()),
    }
    let installed = replica.installed().map(as_of);
    let installed = installed.ok_or("the object store names no snapshot")?;
    tracing::info!(number = installed.number, "snapshot installed");
    Ok((replica, ReplicaStatus::new(installed)))
}

/// Registers the gauges of a replica.
pub fn register_gauges(metrics: &Metrics, status: &ReplicaStatus, clock: &Clock) {
    let (status, clock) = (status.clone(), clock.clone());
    metrics.register_gauges(move |gauges| {
        let as_of = status.as_of();
        gauges.set(SNAPSHOT, &[], as_of.number as f64);
        if let Ok(captured) = DateTime::parse_from_rfc3339(&as_of.created_at) {
            let age = clock.now() - captured.to_utc();
            gauges.set(AGE, &[], age.num_milliseconds() as f64 / 1e3);
        }
    });
}

/// Refuses to serve the folder of a replica as if it had data of its own.
///
/// # Errors
/// The folder is a replica's.
pub fn refuse_folder(data: &Path) -> Result<(), Failure> {
    match Replica::is_in(data) {
        true => Err(format!(
            "{}: holds a replica; serve it with --replica URL, or choose another --data folder",
            data.display()
        )
        .into()),
        false => Ok(()),
    }
}

/// Starts the thread that follows publications.
///
/// # Errors
/// The system gives no thread.
pub fn follow(
    supervisor: &Supervisor,
    mut replica: Replica,
    store: Store,
    shown: Shown,
    metering_every: Duration,
    runtime: Handle,
) -> std::io::Result<Following> {
    let stop = Arc::<AtomicBool>::default();
    let stopped = Arc::clone(&stop);
    let worker = supervisor.spawn("replica", move |pulse| {
        let mut pause = POLL_EVERY;
        let mut metered = Instant::now();
        while !stopped.load(Ordering::Relaxed) {
            pulse.turn();
            pause = match turn(&mut replica, &store, &shown, &runtime) {
                Ok(()) => POLL_EVERY,
                Err(error) => {
                    tracing::error!(%error, "cannot go over to the newest snapshot; the former one stays");
                    (pause * 2).min(POLL_MAX)
                }
            };
            if metered.elapsed() >= metering_every {
                if let Err(error) = ship(&replica, &store, &runtime) {
                    tracing::error!(%error, "cannot ship what was metered; will retry");
                }
                metered = Instant::now();
            }
            std::thread::park_timeout(pause);
        }
    })?;
    Ok(Following { stop, worker })
}

/// Ships what was metered since the last time.
fn ship(replica: &Replica, store: &Store, runtime: &Handle) -> Result<(), Failure> {
    while let Some(pending) = shipments::pending(store)? {
        let number = pending.shipment;
        let sent = metering::send(replica.remote(), &pending.replica, number, pending.body);
        runtime.block_on(sent)?;
        shipments::arrived(store, number)?;
    }
    Ok(())
}

/// Goes over to the newest snapshot, if there is one.
fn turn(
    replica: &mut Replica,
    store: &Store,
    shown: &Shown,
    runtime: &Handle,
) -> Result<(), Failure> {
    let news = runtime.block_on(replica.poll(store, &ProgressBar::hidden()))?;
    if let Some(manifest) = news {
        replica.install(manifest, store)?;
    }
    let Some(installed) = replica.installed().map(as_of) else {
        return Ok(());
    };
    if *shown.status.as_of() == installed {
        return Ok(());
    }
    // Also after a former turn that installed and then failed.
    shown.properties.engine().switch()?;
    shown.properties.refresh()?;
    shown.addresses.reload_if_changed();
    shown.models.reload_if_changed();
    tracing::info!(number = installed.number, "gone over to the snapshot");
    shown.status.set(installed);
    Ok(())
}
