//! A replica: a server that follows publications instead of having its own data. The setting `lake.replica` or `toise
//! serve --replica` starts one.
//!
//! Before anything is opened, [`open_newest`] downloads, verifies and installs the newest snapshot; if the object store
//! cannot be read, the one installed last is served. Then [`toise_publish::follow`] installs new snapshots while
//! running requests continue with their data. After an installation all tables switch in one step, followed by
//! properties, addresses and the model, and `x-toise-as-of` names the new snapshot.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::DateTime;
use indicatif::ProgressBar;
use tokio::runtime::Handle;

use crate::Failure;
use toise_accounts::shipments;
use toise_base::clock::Clock;
use toise_estimate::live::LiveModel;
use toise_geocode::live::LiveGeocoder;
use toise_lake::settings::{LakeSettings, departments};
use toise_listings::search::projection::Projection;
use toise_publish::follow::{self, ReplicaUser};
use toise_publish::holdings::Holdings;
use toise_publish::manifest::Manifest;
use toise_publish::metering;
use toise_publish::remote::Remote;
use toise_publish::replica::Replica;
use toise_publish::retry::RetryPolicy;
use toise_service::replica::{AsOf, ReplicaStatus};
use toise_store::Store;
use toise_telemetry::{Gauge, Metric, Metrics};

const SNAPSHOT: Metric<Gauge> = Metric::gauge(
    "toise_replica_snapshot",
    "Number of the snapshot that a replica serves.",
);
const AGE: Metric<Gauge> = Metric::gauge(
    "toise_replica_age_seconds",
    "Time since the snapshot that a replica serves was captured.",
);

/// The parts of a server that use the installed snapshot, and switch to the next one after its installation.
pub struct ReplicaData {
    /// Tables and properties.
    pub properties: Arc<Projection>,
    /// The model.
    pub models: LiveModel,
    /// The addresses.
    pub addresses: LiveGeocoder,
    /// The status that clients see.
    pub status: ReplicaStatus,
    /// Pause between two shipments of metered consumption.
    pub metering_every: Duration,
    /// When the last shipment was tried, or when the replica started.
    pub metered: Instant,
}

/// Returns the state of a manifest, for clients.
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
/// There is no snapshot in the object store or the folder; a department is unknown; the folder holds other data, or
/// cannot be written.
pub fn open_newest(
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

/// Refuses to serve the folder of a replica as if it had its own data.
///
/// # Errors
/// The folder is a replica's.
pub fn refuse_folder(data: &Path) -> Result<(), Failure> {
    if Replica::is_in(data) {
        Err(format!(
            "{}: holds a replica; serve it with --replica URL, or choose another --data folder",
            data.display()
        )
        .into())
    } else {
        Ok(())
    }
}

impl ReplicaUser for ReplicaData {
    fn uses(&self, installed: &Manifest) -> bool {
        *self.status.as_of() == as_of(installed)
    }

    fn switch_to(&mut self, installed: &Manifest) -> Result<(), follow::Failure> {
        self.properties.engine().switch()?;
        self.properties.refresh()?;
        self.addresses.reload_if_changed();
        self.models.reload_if_changed();
        self.status.set(as_of(installed));
        Ok(())
    }

    fn after_turn(&mut self, replica: &Replica, store: &Store, runtime: &Handle) {
        if self.metered.elapsed() < self.metering_every {
            return;
        }
        if let Err(error) = ship(replica, store, runtime) {
            tracing::error!(%error, "cannot ship the metered consumption; will retry");
        }
        self.metered = Instant::now();
    }
}

/// Ships the consumption metered since the last shipment.
fn ship(replica: &Replica, store: &Store, runtime: &Handle) -> Result<(), Failure> {
    while let Some(pending) = shipments::pending(store)? {
        let number = pending.shipment;
        let sent = metering::send(replica.remote(), &pending.replica, number, pending.body);
        runtime.block_on(sent)?;
        shipments::arrived(store, number)?;
    }
    Ok(())
}
