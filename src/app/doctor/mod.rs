//! Examines a data folder: what it holds, how old that is, what is missing, and which command to run. Used by `toise
//! doctor`, for the log of a server that starts, and for the operators' endpoint that lists the findings.
//!
//! Takes milliseconds for a folder of any size, because it reads no rows of tables: only snapshots, the lists of
//! indexes, the description of the model and a few rows of the store. It changes no data. `toise check` reads every
//! byte instead.

mod findings;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

pub use findings::{Finding, Severity};

use crate::config::Config;
use crate::refresh::editions::{Editions, SourceState};
use crate::verify;
use toise_accounts::audit::{self, AuditEntry};
use toise_accounts::keys::{self, DEMO_NAME};
use toise_base::clock::{Clock, iso};
use toise_base::disk::free_bytes;
use toise_estimate::model::ModelMetadata;
use toise_estimate::{model, store as models};
use toise_geocode::folder as addresses;
use toise_lake::Lake;
use toise_lake::schema::TableSchema;
use toise_lake::snapshot::{DataFileEntry, Snapshot};
use toise_service::Doctor;
use toise_store::{self as store, Store};

/// Folder that only replicas have.
const REPLICA: &str = "replica";
/// File that a publication to object storage writes.
const PUBLISHED: &str = "publish/digests.json";

/// The contents of a data folder, and the next steps.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The data folder.
    pub data: PathBuf,
    /// Whether the folder exists.
    pub exists: bool,
    /// Whether it follows the snapshots of another folder.
    pub is_replica: bool,
    /// Each table, including those without rows.
    pub tables: Vec<TableState>,
    /// Departments with addresses, or with diagnostics from a refresh.
    pub departments: BTreeSet<String>,
    /// Index of addresses.
    pub addresses: AddressState,
    /// Model of the estimator, if there is one that can be read.
    pub model: Option<ModelMetadata>,
    /// Accounts, keys, adverts and alerts, if there are any that can be read.
    pub store: Option<StoreState>,
    /// When the last refresh of open data ended, ISO 8601.
    pub refreshed_at: Option<String>,
    /// When the folder was last published to object storage, ISO 8601.
    pub published_at: Option<String>,
    /// Bytes that may still be written to the disk; `None` if it cannot be queried.
    pub free_bytes: Option<u64>,
    /// Findings about missing, old or damaged parts, the most urgent first.
    pub findings: Vec<Finding>,
    #[serde(skip)]
    faults: Vec<Fault>,
}

/// The contents of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableState {
    /// Name of the table.
    pub table: &'static str,
    /// Rows.
    pub rows: u64,
    /// Length of its data files.
    pub bytes: u64,
    /// When it last changed, ISO 8601; empty if it never did.
    pub changed_at: String,
    /// When its newest source was read, ISO 8601.
    pub read_at: Option<String>,
    /// Newest edition that it holds: a month or a day.
    pub edition: Option<String>,
    /// Newest edition that its source had at the last refresh.
    pub available: Option<String>,
    /// Whether some of its rows are invented.
    pub is_invented: bool,
    /// Failures of its source in the last refresh.
    pub failures: Vec<String>,
}

/// The index of addresses.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AddressState {
    /// Departments.
    pub departments: usize,
    /// Streets and named places.
    pub streets: u64,
    /// House numbers.
    pub numbers: u64,
    #[serde(skip)]
    built_at: Option<DateTime<Utc>>,
}

/// The contents of the store.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoreState {
    /// Length of its files.
    pub bytes: u64,
    /// Keys that work.
    pub keys: usize,
    /// The keys among them that were not created by `toise demo` or `toise start`.
    pub own_keys: usize,
    /// When it was last backed up, ISO 8601.
    pub backed_up_at: Option<String>,
    /// Where the last backup was written.
    pub backup: Option<String>,
}

/// Something that cannot be read.
#[derive(Clone, Debug)]
struct Fault {
    /// The table, `None` for another part of the folder.
    table: Option<&'static str>,
    part: FaultyPart,
    reason: String,
}

/// A part of a data folder that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultyPart {
    /// Files of a table.
    Table,
    /// The index of addresses.
    Addresses,
    /// The model of the estimator.
    Model,
    /// Accounts, keys, adverts and alerts.
    Store,
}

impl Examination {
    /// Returns the state of a table by its name.
    pub fn table(&self, name: &str) -> Option<&TableState> {
        self.tables.iter().find(|table| table.table == name)
    }

    /// Returns whether the folder has neither rows nor a store.
    pub fn is_empty(&self) -> bool {
        self.store.is_none()
            && self.faults.is_empty()
            && self.tables.iter().all(|table| table.rows == 0)
    }
}

/// Examines a data folder, whether or not it exists. `opened` is its store, if this process has it open already.
pub fn examine(
    data: &Path,
    config: &Config,
    now: DateTime<Utc>,
    opened: Option<&Store>,
) -> Examination {
    let editions = Editions::load(data);
    let mut faults = Vec::new();
    let is_replica = !config.lake.replica.is_empty() || data.join(REPLICA).exists();
    let tables = verify::tables().map(|schema| {
        let source = editions.sources.get(schema.name);
        let (state, reason) = table_state(data, schema, source);
        // A replica fetches missing files itself.
        let reason = reason.filter(|_| !is_replica);
        faults.extend(reason.map(|reason| Fault {
            table: Some(schema.name),
            part: FaultyPart::Table,
            reason,
        }));
        state
    });
    let mut or_fault = |part, error: String| {
        faults.push(Fault {
            table: None,
            part,
            reason: error,
        });
    };
    let index = addresses::manifest(data).unwrap_or_else(|error| {
        or_fault(FaultyPart::Addresses, error.to_string());
        addresses::Manifest::default()
    });
    let brought = editions.diagnostics.keys().chain(index.segments.keys());
    let model = model::Model::describe(&data.join(models::FOLDER)).unwrap_or_else(|error| {
        or_fault(FaultyPart::Model, error.to_string());
        None
    });
    let store = store_state(data, now, opened).unwrap_or_else(|error| {
        or_fault(FaultyPart::Store, error);
        None
    });
    let mut examination = Examination {
        data: data.to_owned(),
        exists: data.is_dir(),
        is_replica,
        tables: tables.into(),
        departments: brought.cloned().collect(),
        addresses: address_state(data, &index),
        model,
        store,
        refreshed_at: editions.refreshed_at,
        published_at: modified_at(&data.join(PUBLISHED)).map(iso),
        free_bytes: free_bytes(data).ok(),
        findings: Vec::new(),
        faults,
    };
    examination.findings = findings::of(&examination, config, now);
    examination
}

/// Returns the function with which a server lists the findings about its data folder.
pub(crate) fn of_server(store: &Store, clock: &Clock, config: &Config) -> Doctor {
    let (store, clock, config) = (store.clone(), clock.clone(), config.clone());
    Arc::new(move || {
        let examined = examine(store.folder(), &config, clock.now(), Some(&store));
        json!(examined.findings)
    })
}

/// Logs what is missing, old or wrong in the data folder of a server, each with the command to run.
pub(crate) fn log_findings(data: &Path, config: &Config, opened: Option<&Store>) {
    let now = Clock::system().now();
    for finding in examine(data, config, now, opened).findings {
        let Finding {
            severity,
            message,
            command,
            ..
        } = finding;
        let command = command.unwrap_or_default();
        match severity {
            Severity::Problem => tracing::warn!(command, "{message}"),
            Severity::Advice => tracing::info!(command, "{message}"),
        }
    }
}

/// Returns the state of a table, and what is wrong with its files if something is.
fn table_state(
    data: &Path,
    schema: &TableSchema,
    source: Option<&SourceState>,
) -> (TableState, Option<String>) {
    let folder = Lake::folder_in(data, schema);
    let (snapshot, mut fault) = match Snapshot::load(&folder) {
        Ok(snapshot) => (snapshot, None),
        Err(error) => (Snapshot::default(), Some(error.to_string())),
    };
    fault = fault.or_else(|| {
        let mut files = snapshot.parts.iter();
        files.find_map(|file| missing_file(&folder, file))
    });
    let editions = snapshot.sources.iter();
    let edition = editions.filter_map(|source| source.edition.clone()).max();
    let read = snapshot.sources.iter().map(|source| source.read_at.clone());
    let state = TableState {
        table: schema.name,
        rows: snapshot.rows(),
        bytes: snapshot.parts.iter().map(|file| file.bytes).sum(),
        read_at: read.max(),
        edition: source.and_then(|source| source.held.clone()).or(edition),
        available: source.and_then(|source| source.available.clone()),
        is_invented: snapshot.has_invented_rows(),
        failures: source.map_or_else(Vec::new, |source| source.failures.clone()),
        changed_at: snapshot.published_at,
    };
    (state, fault)
}

/// Returns what is wrong with a file that a snapshot names: it is missing, or its length differs from the one in the
/// snapshot.
fn missing_file(folder: &Path, entry: &DataFileEntry) -> Option<String> {
    for name in entry.files() {
        let path = folder.join(&name);
        let shown = path.display();
        match fs::metadata(&path) {
            Err(error) => return Some(format!("{shown}: {error}")),
            Ok(file) if name == entry.file && file.len() != entry.bytes => {
                let (found, expected) = (file.len(), entry.bytes);
                return Some(format!("{shown}: has {found} bytes instead of {expected}"));
            }
            Ok(_) => {}
        }
    }
    None
}

fn address_state(data: &Path, index: &addresses::Manifest) -> AddressState {
    let segments = &index.segments;
    AddressState {
        departments: segments.len(),
        streets: segments.values().map(|segment| segment.streets).sum(),
        numbers: segments.values().map(|segment| segment.numbers).sum(),
        built_at: modified_at(&addresses::current(data)),
    }
}

/// Returns the state of the store; `None` if there is none.
fn store_state(
    data: &Path,
    now: DateTime<Utc>,
    opened: Option<&Store>,
) -> Result<Option<StoreState>, String> {
    // Opening the remaining file would hide that the store is gone. A missing ledger is refused if there are keys.
    if let Some(lost) = Store::lost_file(data).filter(|_| !Store::exists(data)) {
        let file = lost.display();
        return Err(format!("{file} is missing; restore a backup"));
    }
    let read = |store: &Store| -> store::Result<StoreState> {
        let keys = keys::list(store)?;
        let working: Vec<_> = keys.iter().filter(|key| key.is_valid_at(now)).collect();
        let own = working
            .iter()
            .filter(|key| key.name.as_deref() != Some(DEMO_NAME));
        let backup: Option<AuditEntry> = audit::last_done(store, "backup")?;
        Ok(StoreState {
            bytes: store.bytes(),
            keys: working.len(),
            own_keys: own.count(),
            backed_up_at: backup.as_ref().map(|entry| iso(entry.at)),
            backup: backup.and_then(|entry| entry.act.subject),
        })
    };
    let state = match opened {
        Some(store) => read(store).map(Some),
        None => Store::open_existing(data).and_then(|store| store.as_ref().map(read).transpose()),
    };
    state.map_err(|error| error.to_string())
}

fn modified_at(path: &Path) -> Option<DateTime<Utc>> {
    let modified: SystemTime = fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.into())
}
