//! Alerts on open data: compares each published version of the recorded sales and of the energy diagnostics with the
//! saved searches.
//!
//! An import publishes a version of a table by one rename, outside the store and often in another process. Its records
//! can therefore not be tested in the transaction that writes them, as listings are. Instead, the id index names for
//! each row the versions in which it was added and last changed ([`toise_lake::id_index`]), and the store names the
//! version that all alerts have seen (`position`). The remaining work follows from these two. So the import records
//! nothing for the alerts, previous versions may be deleted, and any process may be killed at any time.
//!
//! The process that holds the lease `open-data-alerts`, one per data folder, runs a pass over each new version
//! (`pass`). A pass reads the rows that changed since the position and tests them with the predicates of searches
//! ([`Percolator::matches`]). It writes matches and notifications together, a few thousand per transaction (`matches`).
//! A match names the version of the record, so a pass that is repeated after a crash does not notify anybody twice.
//! Then the position moves to the version of the pass. An alert is only notified of versions published after its
//! creation.
//!
//! An import is not delayed: a pass runs afterwards, on one core.

mod matches;
mod pass;
mod position;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::percolate::{self, Percolator};
use pass::Pass;
use position::Position;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_engine::{self as engine, Engine};
use toise_lake::import::version_number;
use toise_lake::snapshot::Snapshot;
use toise_lake::{self as lake, Lake};
use toise_opendata::Dataset;
use toise_store::leader::{self, Leader, LeaderTask, Pace, Post};
use toise_store::lease::Lease;
use toise_store::{self as store, Store, document};

/// Name of the lease and of the thread.
const NAME: &str = "open-data-alerts";
/// Intervals of the thread; every tick it looks for new versions.
const PACE: Pace = Pace {
    tick: Duration::from_secs(1),
    lead_every: Duration::from_millis(500),
    error_pause: Duration::from_secs(5),
    stop_timeout: Duration::ZERO,
};
/// Waiting notifications above which a pass pauses, so that it does not fill the outbox faster than it is emptied.
/// Notifications for failing receivers do not count.
const WAITING_MAX: i64 = 100_000;
/// Minimum interval between two counts of the waiting notifications.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// The reason why the alerts cannot be compared with a table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The table cannot be opened.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Rows of the table cannot be read.
    #[error(transparent)]
    Lake(#[from] lake::Error),
    /// Rows cannot be selected.
    #[error(transparent)]
    Rows(#[from] arrow::error::ArrowError),
    /// The searches cannot be evaluated.
    #[error(transparent)]
    Percolate(#[from] percolate::Error),
    /// A record cannot be stored for its deliveries.
    #[error(transparent)]
    Document(#[from] document::Error),
}

/// Result of this module.
type Result<T> = std::result::Result<T, Error>;

/// The parts of the service that a pass uses.
#[derive(Clone, Debug)]
pub struct OpenDataAlertsContext {
    /// The store in the data folder.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The tables.
    pub engine: Arc<Engine>,
    /// The compiled alerts.
    pub percolator: Arc<Percolator>,
}

/// Starts the comparison on its own thread. Dropping the leader stops it after the block of rows that it is testing.
///
/// # Errors
/// The thread cannot be started, or the file of locks cannot be opened.
pub fn start(supervisor: &Supervisor, context: OpenDataAlertsContext) -> io::Result<Leader> {
    let store = context.store.clone();
    let post = Post {
        name: NAME,
        store: &store,
        pace: PACE,
    };
    let runner = PassRunner {
        context,
        passes: HashMap::new(),
        finished: HashMap::new(),
        is_busy: false,
        counted: None,
    };
    Leader::start(supervisor, post, leader::inbox(), runner)
}

/// Moves each position back to the restored version of its table. A backup copies the tables before the store, so a
/// restored store may have a position after that version. Blocks.
///
/// # Errors
/// The store or a snapshot cannot be read or written.
pub fn rewind(store: &Store, data: &Path) -> Result<()> {
    for dataset in Dataset::ALL {
        let snapshot = Snapshot::load(&Lake::folder_in(data, dataset.schema()))?;
        let version = version_number(snapshot.sequence);
        store.write(move |transaction| position::rewind(transaction, dataset, version))?;
    }
    Ok(())
}

/// Runs the passes over both tables, block by block.
struct PassRunner {
    context: OpenDataAlertsContext,
    /// The running pass over each table, if any. A pass that fails is discarded and restarted.
    passes: HashMap<Dataset, Pass>,
    /// For each table, the checksum of the snapshot for which nothing is left to do.
    finished: HashMap<Dataset, String>,
    /// Whether the next turn has work and should begin immediately.
    is_busy: bool,
    /// When the waiting notifications were last counted, and whether they were too many.
    counted: Option<(Instant, bool)>,
}

impl LeaderTask for PassRunner {
    type Message = ();
    type Error = Error;

    fn step_back(&mut self) {
        self.passes.clear();
        self.finished.clear();
    }

    fn turn(&mut self, lease: &Lease) -> Result<()> {
        // A table that cannot be read does not stop the other one.
        let outcomes = Dataset::ALL.map(|dataset| self.advance(dataset, lease));
        self.is_busy = outcomes.iter().any(|outcome| matches!(outcome, Ok(true)));
        outcomes
            .into_iter()
            .try_for_each(|outcome| outcome.map(drop))
    }

    fn next_in(&self) -> Option<Duration> {
        self.is_busy.then_some(Duration::ZERO)
    }
}

impl PassRunner {
    /// Tests the next block of changed rows of a table. Returns whether there may be more.
    fn advance(&mut self, dataset: Dataset, lease: &Lease) -> Result<bool> {
        let pass = match self.passes.remove(&dataset) {
            Some(pass) => Some(pass),
            None => self.begin_pass(dataset, lease)?,
        };
        let Some(mut pass) = pass else {
            return Ok(false);
        };
        if self.has_too_many_waiting()? {
            self.passes.insert(dataset, pass);
            return Ok(false);
        }
        let Some(block) = pass.next_block()? else {
            let version = pass.version;
            lease.write(move |transaction| position::advance(transaction, dataset, version))?;
            return Ok(true);
        };
        let percolator = &self.context.percolator;
        let loaded = self
            .context
            .store
            .read(|connection| percolator.catch_up(connection));
        loaded?;
        let found = block.matches(dataset, percolator)?;
        let at_ms = self.context.clock.now().timestamp_millis();
        matches::record(lease, &pass, found, at_ms)?;
        self.passes.insert(dataset, pass);
        Ok(true)
    }

    /// Begins a pass over the current version of a table; `None` if all alerts have seen it.
    fn begin_pass(&mut self, dataset: Dataset, lease: &Lease) -> Result<Option<Pass>> {
        let OpenDataAlertsContext { store, engine, .. } = &self.context;
        let view = engine.view(dataset.schema())?;
        let checksum = &view.snapshot().checksum;
        if self.finished.get(&dataset) == Some(checksum) {
            return Ok(None);
        }
        let version = version_number(view.snapshot().sequence);
        let position = store.read(|connection| Position::read(connection, dataset))?;
        if position.seen == version && position.newest() <= version {
            self.finished.insert(dataset, checksum.clone());
            return Ok(None);
        }
        // The view is opened after the position is read: an alert may name a version that an older view does not show.
        let folder = Lake::folder_in(store.folder(), dataset.schema());
        if version_number(Snapshot::load(&folder)?.sequence) != version {
            return Ok(None);
        }
        if position.newest() > version {
            tracing::warn!(
                table = dataset.name(),
                version,
                "the table was replaced or restored, and is older than the version that alerts have seen; they \
                 continue from it"
            );
            lease.write(move |transaction| position::rewind(transaction, dataset, version))?;
            return Ok(None);
        }
        match position.first_unseen(version) {
            Some(after) => Ok(Some(Pass::new(dataset, view, after, position))),
            None => {
                lease.write(move |transaction| position::advance(transaction, dataset, version))?;
                Ok(None)
            }
        }
    }

    /// Returns whether [`WAITING_MAX`] or more notifications wait. Counts them at most every [`COUNT_EVERY`].
    fn has_too_many_waiting(&mut self) -> Result<bool> {
        if let Some((at, has_too_many)) = self.counted
            && at.elapsed() < COUNT_EVERY
        {
            return Ok(has_too_many);
        }
        let has_too_many = self.context.store.read(waiting)? >= WAITING_MAX;
        self.counted = Some((Instant::now(), has_too_many));
        Ok(has_too_many)
    }
}

/// Counts the notifications that wait for receivers that do not fail, up to [`WAITING_MAX`].
fn waiting(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT count(*) FROM (
               SELECT 1 FROM outbox JOIN alerts USING (alert) WHERE outbox.delivery IS NULL AND NOT EXISTS (
                 SELECT 1 FROM failing_endpoints failing
                 WHERE failing.account_id = alerts.account_id AND failing.webhook_url = alerts.webhook_url)
               LIMIT ?1)",
        )?
        .query_row([WAITING_MAX], |row| row.get(0))
}
