//! Reads and writes the rows of portfolios in the store.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::limits::{MOVED_PERCENT, MOVED_PERCENT_DEFAULT, PORTFOLIOS_MAX};
use toise_accounts::ledger::{self, LedgerEntry};
use toise_alerts::portfolio as receivers;
use toise_base::clock::iso;
use toise_contract::Fault;
use toise_store::columns::{moment, uuid};
use toise_store::{self as store, Store};

/// Columns in the order that [`read`] reads.
const COLUMNS: &str = "portfolio_id, account_id, name, homes, webhook_url, moved_percent, alert, created_at_ms, \
                       updated_at_ms, valuation, valued_at_ms, model, data_through, dvf_version, dpe_version, notify_from";

/// The settings of a portfolio that an account chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct PortfolioOptions {
    /// URL to which changes are posted. The caller has checked that it may be called.
    pub webhook_url: Option<String>,
    /// Change of a value, or of an end of its interval, that is reported, in percent.
    pub moved_percent: f64,
}

impl Default for PortfolioOptions {
    fn default() -> Self {
        Self {
            webhook_url: None,
            moved_percent: MOVED_PERCENT_DEFAULT,
        }
    }
}

impl PortfolioOptions {
    /// Checks the change that is reported.
    ///
    /// # Errors
    /// It is not a number in [`MOVED_PERCENT`].
    pub fn check(&self) -> Result<()> {
        let (least, most) = MOVED_PERCENT;
        if (least..=most).contains(&self.moved_percent) {
            return Ok(());
        }
        let rule = format!("must be a number between {least} and {most}");
        Err(Fault::new("movedPercent", rule).into())
    }
}

/// The model and tables that a valuation was made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Origin {
    /// Version of the model.
    pub model: Option<String>,
    /// Last day of the sales that the model knows: `YYYY-MM-DD`.
    pub data_through: Option<String>,
    /// Version of the table of sales.
    pub dvf: Option<u64>,
    /// Version of the table of diagnostics.
    pub dpe: Option<u64>,
}

/// A portfolio.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// Identifier of its homes; changes each time homes are stored under the name.
    pub id: Uuid,
    /// Account that owns it.
    pub account: Uuid,
    /// Name, unique within the account.
    pub name: String,
    /// Number of homes.
    pub homes: u64,
    /// The settings that the account chose.
    pub options: PortfolioOptions,
    /// When the name was first stored.
    pub created_at: DateTime<Utc>,
    /// When the homes were stored.
    pub updated_at: DateTime<Utc>,
    /// When they were last valued; `None` before the first time.
    pub valued_at: Option<DateTime<Utc>>,
    /// Whether values of these homes were damaged and set aside, with what changed until then.
    pub history_lost: bool,
    /// Whether the homes were damaged and set aside: the portfolio keeps its values until homes are stored again.
    pub homes_lost: bool,
    pub(super) valuation: u32,
    pub(super) alert: Option<i64>,
    pub(super) origin: Origin,
    pub(super) notify_from: Option<u64>,
}

impl Portfolio {
    /// Returns the portfolio as JSON, without its homes.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "name": self.name,
            "home_count": self.homes,
            "status": if self.valuation == 0 { "waiting" } else { "valued" },
            "moved_percent": self.options.moved_percent,
            "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
        });
        if let Some(url) = &self.options.webhook_url {
            object["webhook_url"] = json!(url);
        }
        if self.history_lost {
            object["history_lost"] = json!(true);
        }
        if self.homes_lost {
            object["homes_lost"] = json!(true);
        }
        if let Some(model) = self.origin.model.as_ref().filter(|_| self.valuation > 0) {
            object["model"] = json!(model);
        }
        if let Some(at) = self.valued_at {
            object["valued_at"] = json!(iso(at));
        }
        object
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Portfolio> {
    let number = |index: usize| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(index)?.map(i64::unsigned_abs))
    };
    Ok(Portfolio {
        id: uuid(row, 0)?,
        account: uuid(row, 1)?,
        name: row.get(2)?,
        homes: number(3)?.unwrap_or_default(),
        options: PortfolioOptions {
            webhook_url: row.get(4)?,
            moved_percent: row.get(5)?,
        },
        alert: row.get(6)?,
        created_at: moment(row.get(7)?),
        updated_at: moment(row.get(8)?),
        valuation: row.get(9)?,
        valued_at: row.get::<_, Option<i64>>(10)?.map(moment),
        history_lost: false,
        homes_lost: false,
        origin: Origin {
            model: row.get(11)?,
            data_through: row.get(12)?,
            dvf: number(13)?,
            dpe: number(14)?,
        },
        notify_from: number(15)?,
    })
}

fn find_in(
    connection: &Connection,
    account: &str,
    name: &str,
) -> rusqlite::Result<Option<Portfolio>> {
    let sql = format!("SELECT {COLUMNS} FROM portfolios WHERE account_id = ?1 AND name = ?2");
    let mut found = connection.prepare_cached(&sql)?;
    found.query_row((account, name), read).optional()
}

/// Finds a portfolio of an account.
pub(super) fn find(store: &Store, account: Uuid, name: &str) -> store::Result<Option<Portfolio>> {
    store.read(|connection| find_in(connection, &account.to_string(), name))
}

/// Returns the portfolios of an account, by name.
pub(super) fn list(store: &Store, account: Uuid) -> store::Result<Vec<Portfolio>> {
    let sql = format!("SELECT {COLUMNS} FROM portfolios WHERE account_id = ?1 ORDER BY name");
    store.read(|connection| {
        let mut found = connection.prepare_cached(&sql)?;
        found.query_map([account.to_string()], read)?.collect()
    })
}

/// Returns all portfolios, those that were never valued first.
pub(super) fn all(store: &Store) -> store::Result<Vec<Portfolio>> {
    let sql = format!("SELECT {COLUMNS} FROM portfolios ORDER BY valued_at_ms, portfolio_id");
    store.read(|connection| {
        let mut found = connection.prepare_cached(&sql)?;
        found.query_map([], read)?.collect()
    })
}

fn too_many() -> Error {
    let message =
        format!("an account may have at most {PORTFOLIOS_MAX} portfolios; delete one first");
    Fault::new("name", message).into()
}

fn count_others(connection: &Connection, account: &str, name: &str) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM portfolios WHERE account_id = ?1 AND name <> ?2";
    let count: u32 = connection.query_row(sql, (account, name), |row| row.get(0))?;
    Ok(count as usize)
}

/// Checks that an account may have a portfolio of this name, before its file is read.
pub(super) fn check_room(store: &Store, account: Uuid, name: &str) -> Result<()> {
    let others = store.read(|connection| count_others(connection, &account.to_string(), name))?;
    if others < PORTFOLIOS_MAX {
        Ok(())
    } else {
        Err(too_many())
    }
}

/// Stores a portfolio in place of the one with its name; returns it with the identifier of the previous one.
pub(super) fn put(
    store: &Store,
    id: Uuid,
    account: Uuid,
    name: &str,
    (homes, options): (u64, PortfolioOptions),
    now: DateTime<Utc>,
) -> Result<(Portfolio, Option<Uuid>)> {
    let (account, name, now_ms) = (account.to_string(), name.to_owned(), now.timestamp_millis());
    let stored = store.write(move |transaction| {
        if count_others(transaction, &account, &name)? >= PORTFOLIOS_MAX {
            return Ok(None);
        }
        let former = find_in(transaction, &account, &name)?;
        let known = former.as_ref().and_then(|former| former.alert);
        let alert = match &options.webhook_url {
            Some(url) => Some(receivers::set(transaction, known, (&account, &name), url, now_ms)?),
            None => {
                known.map_or(Ok(()), |alert| receivers::end(transaction, alert, now_ms))?;
                known
            }
        };
        let created_ms = former.as_ref().map_or(now_ms, |former| former.created_at.timestamp_millis());
        transaction.execute(
            "DELETE FROM portfolios WHERE account_id = ?1 AND name = ?2",
            (&account, &name),
        )?;
        transaction.execute(
            "INSERT INTO portfolios (portfolio_id, account_id, name, homes, webhook_url, moved_percent, alert,
               created_at_ms, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                id.to_string(),
                &account,
                &name,
                homes as i64,
                &options.webhook_url,
                options.moved_percent,
                alert,
                created_ms,
                now_ms,
            ),
        )?;
        let stored = find_in(transaction, &account, &name)?;
        Ok(stored.map(|stored| (stored, former.map(|former| former.id))))
    })?;
    stored.ok_or_else(too_many)
}

/// Deletes a portfolio; returns its identifier.
pub(super) fn delete(
    store: &Store,
    account: Uuid,
    name: &str,
    now_ms: i64,
) -> store::Result<Option<Uuid>> {
    let (account, name) = (account.to_string(), name.to_owned());
    store.write(move |transaction| {
        let Some(found) = find_in(transaction, &account, &name)? else {
            return Ok(None);
        };
        if let Some(alert) = found.alert {
            receivers::end(transaction, alert, now_ms)?;
        }
        let sql = "DELETE FROM portfolios WHERE portfolio_id = ?1";
        transaction.execute(sql, [found.id.to_string()])?;
        Ok(Some(found.id))
    })
}

/// Returns whether a portfolio exists.
pub(super) fn exists(connection: &Connection, id: Uuid) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM portfolios WHERE portfolio_id = ?1)";
    connection
        .prepare_cached(sql)?
        .query_row([id.to_string()], |row| row.get(0))
}

/// Returns whether the last valuation of a portfolio is the one it was read with.
pub(super) fn is_current(connection: &Connection, portfolio: &Portfolio) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM portfolios WHERE portfolio_id = ?1 AND valuation = ?2)";
    connection
        .prepare_cached(sql)?
        .query_row((portfolio.id.to_string(), portfolio.valuation), |row| {
            row.get(0)
        })
}

/// Lets a portfolio wait for its first valuation again. The model stays, so that its values are not charged twice.
/// Returns whether the portfolio was unchanged.
pub(super) fn restart(store: &Store, portfolio: &Portfolio) -> store::Result<bool> {
    let (id, valuation) = (portfolio.id.to_string(), portfolio.valuation);
    let changed = store.write(move |transaction| {
        let sql = "UPDATE portfolios SET valuation = 0, valued_at_ms = NULL, dvf_version = NULL, dpe_version = NULL,
                     notify_from = NULL
                   WHERE portfolio_id = ?1 AND valuation = ?2";
        transaction.execute(sql, (id, valuation))
    })?;
    Ok(changed == 1)
}

/// A valuation that was written to its file.
pub(super) struct FinishedValuation {
    pub origin: Origin,
    /// Whether homes have to be notified.
    pub notifies: bool,
    /// The charge for the valued homes.
    pub charge: Option<LedgerEntry>,
}

/// Makes the file of a valuation the current one, and charges it. Returns whether the portfolio is unchanged since the
/// valuation began.
pub(super) fn finish(
    transaction: &Transaction<'_>,
    portfolio: &Portfolio,
    finished: &FinishedValuation,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    let origin = &finished.origin;
    let changed = transaction
        .prepare_cached(
            "UPDATE portfolios SET valuation = valuation + 1, valued_at_ms = ?3, model = ?4, data_through = ?5,
               dvf_version = ?6, dpe_version = ?7, notify_from = ?8
             WHERE portfolio_id = ?1 AND valuation = ?2",
        )?
        .execute((
            portfolio.id.to_string(),
            portfolio.valuation,
            now_ms,
            &origin.model,
            &origin.data_through,
            origin.dvf.map(|version| version as i64),
            origin.dpe.map(|version| version as i64),
            finished.notifies.then_some(0),
        ))?;
    if changed == 1
        && let Some(charge) = &finished.charge
    {
        ledger::insert_entry(transaction, charge)?;
    }
    Ok(changed == 1)
}

/// Records from which row changes still have to be notified. Returns whether the row was as expected.
pub(super) fn notified(
    transaction: &Transaction<'_>,
    portfolio: &Portfolio,
    next: Option<u64>,
) -> rusqlite::Result<bool> {
    let changed = transaction
        .prepare_cached(
            "UPDATE portfolios SET notify_from = ?4
             WHERE portfolio_id = ?1 AND valuation = ?2 AND notify_from = ?3",
        )?
        .execute((
            portfolio.id.to_string(),
            portfolio.valuation,
            portfolio.notify_from.map(|row| row as i64),
            next.map(|row| row as i64),
        ))?;
    Ok(changed == 1)
}
