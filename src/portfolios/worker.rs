//! The worker that values portfolios and puts their changes in the outbox, on threads of low priority.
//!
//! It runs in one process per data folder, the holder of the lease [`NAME`]. A turn values a block of homes, or
//! notifies of the changes in one. A valuation that is interrupted begins again, because nothing refers to its file
//! yet. The progress of notifications is recorded together with them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::NaiveDate;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use rayon::{ThreadPool, ThreadPoolBuilder};
use uuid::Uuid;

use crate::checksum::{are_homes_lost, remove_portfolio};
use crate::error::{Error, Result};
use crate::files::{HOMES, values_file};
use crate::homes::{HomeCells, with_rows};
use crate::read::{next_values, open, open_values};
use crate::recent::RecentSales;
use crate::record::{self, FinishedValuation, Origin, Portfolio};
use crate::registry::Portfolios;
use crate::state::{self, ValuedHome, to_batch};
use crate::valuation::{Valuation, Wanted, kept};
use toise_accounts::ledger::{LedgerEntry, NO_KEY};
use toise_accounts::prices::{Consumption, Prices};
use toise_alerts::portfolio as receivers;
use toise_base::formula::Formulas;
use toise_base::supervise::Supervisor;
use toise_engine::{Engine, priority};
use toise_estimate::live::LiveModel;
use toise_geocode::live::LiveGeocoder;
use toise_opendata::portfolio::PortfolioOutput;
use toise_opendata::{Dataset, OpenData};
use toise_store::document;
use toise_store::leader::{Leader, LeaderTask, Pace, Post};
use toise_store::lease::Lease;

/// Name of the lease that the working process holds, and of its thread.
const NAME: &str = "portfolios";
/// Each tick looks for portfolios, models and tables that other processes changed.
const PACE: Pace = Pace {
    tick: Duration::from_secs(1),
    lead_every: Duration::from_secs(1),
    error_pause: Duration::from_secs(5),
    stop_timeout: Duration::ZERO,
};
/// Homes that are valued in one turn: a fraction of a second.
const BLOCK_ROWS: usize = 4_096;
/// Homes whose changes are put in the outbox in one transaction.
const NOTIFIED_ROWS: usize = 2_048;
/// Waiting notifications of a portfolio above which no more are added, so that they do not fill the outbox.
const WAITING_MAX: usize = 10_000;
/// Interval between deletions of folders that do not belong to a portfolio, and between attempts at what failed.
const UPKEEP_EVERY: Duration = Duration::from_secs(3_600);
/// Age from which such a folder is deleted: a newer folder may belong to a portfolio that is being stored.
const ORPHAN_AGE: Duration = Duration::from_secs(3_600);

/// The resources of the worker.
#[derive(Clone)]
pub struct PortfolioContext {
    /// The tables.
    pub engine: Arc<Engine>,
    /// The model.
    pub models: LiveModel,
    /// The addresses.
    pub addresses: LiveGeocoder,
    /// The prices of estimates.
    pub prices: Arc<Prices>,
}

impl Portfolios {
    /// Starts to value portfolios. Dropping the leader stops the worker after its current block.
    ///
    /// # Errors
    /// A thread cannot be started, the file of locks cannot be opened, or the worker was started before.
    pub fn run(&self, supervisor: &Supervisor, context: PortfolioContext) -> io::Result<Leader> {
        let inbox = self.inbox.lock().take();
        let inbox = inbox.ok_or_else(|| io::Error::other("portfolios are already being valued"))?;
        let pool = ThreadPoolBuilder::new()
            .thread_name(|number| format!("portfolios-{number}"))
            .start_handler(|_| priority::lower())
            .build()
            .map_err(io::Error::other)?;
        let post = Post {
            name: NAME,
            store: &self.store,
            pace: PACE,
        };
        let duty = PortfolioLoop {
            portfolios: self.clone(),
            open_data: OpenData::new(Arc::clone(&context.engine)),
            context,
            pool,
            current: None,
            recent: None,
            failed: HashMap::new(),
            unread: HashSet::new(),
            is_busy: false,
            upkeep_at: Duration::ZERO,
        };
        Leader::start(supervisor, post, (self.notifier.clone(), inbox), duty)
    }
}

struct PortfolioLoop {
    portfolios: Portfolios,
    context: PortfolioContext,
    open_data: OpenData,
    pool: ThreadPool,
    current: Option<OpenValuation>,
    /// Sales that the model does not know, with the last day that it knows and the version of the table.
    recent: Option<(Option<String>, Option<u64>, Arc<RecentSales>)>,
    /// Portfolios that could not be valued, with the model and tables of the attempt.
    failed: HashMap<Uuid, Origin>,
    /// Portfolios whose changes could not be read.
    unread: HashSet<Uuid>,
    is_busy: bool,
    upkeep_at: Duration,
}

/// A valuation that is being computed.
struct OpenValuation {
    portfolio: Portfolio,
    origin: Origin,
    valuation: Valuation,
    homes: ParquetRecordBatchReader,
    /// The states after the previous valuation; `None` before the first one.
    former: Option<ParquetRecordBatchReader>,
    output: PortfolioOutput,
    /// Number of homes whose value was estimated.
    valued: u64,
    notifies: bool,
}

impl LeaderTask for PortfolioLoop {
    type Message = ();
    type Error = Error;

    fn step_back(&mut self) {
        self.current = None;
        self.recent = None;
        self.failed.clear();
        self.unread.clear();
        self.is_busy = false;
    }

    fn turn(&mut self, lease: &Lease) -> Result<()> {
        self.is_busy = false;
        self.clean_up()?;
        let Some(mut open) = self.current.take() else {
            return self.choose(lease);
        };
        self.is_busy = true;
        match open.advance(&self.pool) {
            Ok(true) => {
                self.current = Some(open);
                Ok(())
            }
            Ok(false) => self.finish(lease, open),
            Err(error) => self.give_up(&open.portfolio, open.origin, error),
        }
    }

    fn next_in(&self) -> Option<Duration> {
        self.is_busy.then_some(Duration::ZERO)
    }
}

impl PortfolioLoop {
    /// Notifies of changes, or begins the next valuation.
    fn choose(&mut self, lease: &Lease) -> Result<()> {
        let portfolios = record::all(&self.portfolios.store)?;
        if self.notify_next(lease, &portfolios)? {
            self.is_busy = true;
            return Ok(());
        }
        let Some(valuer) = self.context.models.valuer() else {
            return Ok(());
        };
        let version = |dataset: Dataset| -> Result<Option<u64>> {
            Ok(Some(
                self.context
                    .engine
                    .view(dataset.schema())?
                    .snapshot()
                    .sequence,
            ))
        };
        let metadata = valuer.model().metadata();
        let origin = Origin {
            model: Some(metadata.version.clone()),
            data_through: Some(metadata.data_through.clone()),
            dvf: version(Dataset::Dvf)?,
            dpe: version(Dataset::Dpe)?,
        };
        let is_due = |portfolio: &&Portfolio| {
            portfolio.notify_from.is_none()
                && portfolio.origin != origin
                && self.failed.get(&portfolio.id) != Some(&origin)
                && !self.portfolios.has_lost_homes(portfolio)
        };
        let Some(portfolio) = portfolios.iter().find(is_due) else {
            self.recent = None;
            return Ok(());
        };
        self.is_busy = true;
        let recent = self.recent_sales(&origin)?;
        let was = &portfolio.origin;
        let valuation = Valuation {
            wanted: Wanted {
                value: was.model != origin.model,
                sale: was.dvf != origin.dvf,
                diagnostic: was.dpe != origin.dpe,
            },
            valuer,
            recent,
            geocoder: self.context.addresses.geocoder(),
            open_data: self.open_data.clone(),
            today: self.portfolios.clock.now().date_naive(),
            now_ms: self.portfolios.clock.now().timestamp_millis(),
            moved_percent: portfolio.options.moved_percent,
            known_through: was.data_through.clone(),
        };
        let folder = self.portfolios.folder_of(portfolio.id);
        match OpenValuation::new(portfolio, origin.clone(), valuation, &folder) {
            Ok(open) => self.current = Some(open),
            Err(error) => self.give_up(portfolio, origin, error)?,
        }
        Ok(())
    }

    /// Returns the sales that the model does not know. They are read once while portfolios are valued from one origin.
    fn recent_sales(&mut self, origin: &Origin) -> Result<Arc<RecentSales>> {
        if let Some((through, version, sales)) = &self.recent
            && (through, version) == (&origin.data_through, &origin.dvf)
        {
            return Ok(Arc::clone(sales));
        }
        let through = origin.data_through.as_deref();
        let through = through.and_then(|day| day.parse::<NaiveDate>().ok());
        let read = |after| RecentSales::read(&self.context.engine, after);
        let sales = self
            .pool
            .install(|| through.map_or_else(|| Ok(RecentSales::default()), read))?;
        let sales = Arc::new(sales);
        let through = origin.data_through.clone();
        self.recent = Some((through, origin.dvf, Arc::clone(&sales)));
        Ok(sales)
    }

    /// Sets aside the values or the homes of a portfolio if they are damaged. Otherwise leaves the portfolio unchanged
    /// until it, the model or a table changes, or until the next upkeep.
    fn give_up(&mut self, portfolio: &Portfolio, origin: Origin, error: Error) -> Result<()> {
        let error = match self.set_aside(portfolio, error) {
            Ok(()) => return Ok(()),
            Err(Error::Store(error)) => return Err(error.into()),
            Err(error) => error,
        };
        let store = &self.portfolios.store;
        if store.read(|connection| record::exists(connection, portfolio.id))? {
            tracing::error!(portfolio = %portfolio.id, %error, "cannot value a portfolio; it keeps its former values");
        }
        self.failed.insert(portfolio.id, origin);
        Ok(())
    }

    /// Sets aside what is damaged according to an error.
    ///
    /// # Errors
    /// The error, if nothing is damaged; or the files cannot be set aside.
    fn set_aside(&self, portfolio: &Portfolio, error: Error) -> Result<()> {
        let portfolios = &self.portfolios;
        match error {
            Error::Store(_) => Err(error),
            Error::DamagedValues(_) => portfolios.set_aside(portfolio, &error),
            _ if are_homes_lost(&portfolios.folder_of(portfolio.id)) => {
                portfolios.set_homes_aside(portfolio, &error)
            }
            _ => Err(error),
        }
    }

    fn finish(&mut self, lease: &Lease, open: OpenValuation) -> Result<()> {
        let OpenValuation {
            portfolio,
            origin,
            output,
            valued,
            notifies,
            ..
        } = open;
        if let Err(error) = output.finish() {
            return self.give_up(&portfolio, origin, error.into());
        }
        let now = self.portfolios.clock.now();
        let consumption = Consumption::EstimatePropertyLite;
        // Values that were set aside were charged when the same model made them.
        let was_charged = portfolio.valuation == 0 && portfolio.origin.model == origin.model;
        let charge = (valued > 0 && !was_charged).then(|| LedgerEntry {
            request_id: Uuid::now_v7(),
            account_id: portfolio.account,
            key_id: NO_KEY,
            consumption,
            credits: valued * u64::from(self.context.prices.of(consumption)),
            at: now,
        });
        let (id, number) = (portfolio.id, portfolio.valuation + 1);
        let has_receiver = portfolio.options.webhook_url.is_some() && portfolio.alert.is_some();
        let finished = FinishedValuation {
            origin,
            notifies: notifies && has_receiver,
            charge,
        };
        let now_ms = now.timestamp_millis();
        let is_current = lease
            .write(move |transaction| record::finish(transaction, &portfolio, &finished, now_ms))?;
        let folder = self.portfolios.folder_of(id);
        if is_current {
            tracing::info!(portfolio = %id, valued, "portfolio valued");
        }
        // Deletes the file before the previous one: a backup may be copying the previous one.
        let unused = if is_current {
            number.checked_sub(2)
        } else {
            Some(number)
        };
        if let Some(unused) = unused {
            // If this fails, the file is deleted with the portfolio.
            let _ = fs::remove_file(folder.join(values_file(unused)));
        }
        Ok(())
    }

    /// Notifies of changes of one of these portfolios; returns whether there was anything to do.
    fn notify_next(&mut self, lease: &Lease, portfolios: &[Portfolio]) -> Result<bool> {
        for portfolio in portfolios {
            if portfolio.notify_from.is_none() || self.unread.contains(&portfolio.id) {
                continue;
            }
            match self.notify(lease, portfolio) {
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error @ Error::Store(_)) => return Err(error),
                // The other portfolios do not wait for a file that cannot be read.
                Err(error) => {
                    let is_damaged = matches!(error, Error::DamagedValues(_));
                    if is_damaged && self.portfolios.set_aside(portfolio, &error).is_ok() {
                        return Ok(true);
                    }
                    tracing::error!(portfolio = %portfolio.id, %error, "cannot notify of the changes of a portfolio");
                    self.unread.insert(portfolio.id);
                }
            }
        }
        Ok(false)
    }

    /// Puts the changes of the next homes of a portfolio in the outbox; returns whether there was anything to do.
    fn notify(&self, lease: &Lease, portfolio: &Portfolio) -> Result<bool> {
        let (Some(first), Some(alert)) = (portfolio.notify_from, portfolio.alert) else {
            return Ok(false);
        };
        let waiting = self
            .portfolios
            .store
            .read(|connection| receivers::waiting(connection, alert, WAITING_MAX))?;
        if waiting >= WAITING_MAX {
            return Ok(false);
        }
        let folder = self.portfolios.folder_of(portfolio.id);
        let mut rows = open_values(&folder, portfolio.valuation, NOTIFIED_ROWS, first)?;
        let homes = next_values(&mut rows)?.unwrap_or_default();
        let mut documents = Vec::new();
        for home in homes.iter().filter(|home| home.notifies) {
            documents.push((
                item_id(portfolio.id, &home.key),
                document::compress(home.to_json().to_string().as_bytes())?,
            ));
        }
        let next = (homes.len() == NOTIFIED_ROWS).then(|| first + homes.len() as u64);
        let at_ms = self.portfolios.clock.now().timestamp_millis();
        let portfolio = portfolio.clone();
        lease.write(move |transaction| {
            if record::notified(transaction, &portfolio, next)?
                && receivers::is_active(transaction, alert)?
            {
                for (item, document) in &documents {
                    receivers::notify(transaction, alert, *item, document, at_ms)?;
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Deletes folders that do not belong to a portfolio, and lets failed valuations be tried again.
    fn clean_up(&mut self) -> Result<()> {
        let now = self.portfolios.clock.monotonic();
        if now < self.upkeep_at {
            return Ok(());
        }
        self.upkeep_at = now + UPKEEP_EVERY;
        self.failed.clear();
        self.unread.clear();
        let Ok(folders) = fs::read_dir(&self.portfolios.folder) else {
            return Ok(());
        };
        for folder in folders.flatten() {
            let id = folder
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let Some(id) = id else { continue };
            let modified = folder.metadata().and_then(|about| about.modified()).ok();
            let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
            let is_old = age.is_some_and(|age| age > ORPHAN_AGE);
            if is_old
                && !self
                    .portfolios
                    .store
                    .read(|connection| record::exists(connection, id))?
            {
                remove_portfolio(&folder.path())?;
            }
        }
        Ok(())
    }
}

impl OpenValuation {
    fn new(
        portfolio: &Portfolio,
        origin: Origin,
        mut valuation: Valuation,
        folder: &Path,
    ) -> Result<Self> {
        let homes = open(&folder.join(HOMES), BLOCK_ROWS, 0)?;
        let homes = homes.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let former = match portfolio.valuation {
            0 => None,
            number => Some(open_values(folder, number, BLOCK_ROWS, 0)?),
        };
        if former.is_none() {
            valuation.wanted = Wanted {
                value: true,
                sale: true,
                diagnostic: true,
            };
        }
        let path = folder.join(values_file(portfolio.valuation + 1));
        Ok(Self {
            portfolio: portfolio.clone(),
            origin,
            valuation,
            homes,
            former,
            output: PortfolioOutput::create(&path, &state::SCHEMA, Formulas::Kept)?,
            valued: 0,
            notifies: false,
        })
    }

    /// Values the next block of homes; `false` after the last one.
    fn advance(&mut self, pool: &ThreadPool) -> Result<bool> {
        let Some(batch) = self.homes.next().transpose()? else {
            return Ok(false);
        };
        let former = match &mut self.former {
            None => None,
            Some(former) => {
                let too_few = || Error::DamagedValues("it has too few homes".into());
                Some(next_values(former)?.ok_or_else(too_few)?)
            }
        };
        let valuation = &self.valuation;
        let former_of = |row: usize| former.as_ref().and_then(|former| former.get(row));
        let value = |row: usize, cells: HomeCells<'_>| valuation.value(cells, former_of(row));
        let homes: Vec<ValuedHome> = pool.install(|| with_rows(&batch, value))?;
        let is_estimated = |(row, home): &(usize, &ValuedHome)| {
            let is_kept = !valuation.wanted.value && kept(former_of(*row)).is_some();
            home.price.is_some() && !is_kept
        };
        self.valued += homes.iter().enumerate().filter(is_estimated).count() as u64;
        self.notifies |= homes.iter().any(|home| home.notifies);
        self.output.write(&to_batch(&homes)?)?;
        Ok(true)
    }
}

/// Returns the identifier of a home in the outbox, which keeps its notifications in order.
fn item_id(portfolio: Uuid, key: &str) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(portfolio.as_bytes());
    hasher.update(key.as_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
