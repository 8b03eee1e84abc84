//! The alerts of accounts: creating, reading, changing, deleting and reactivating them.
//!
//! An alert belongs to one account and is invisible to all others. Every change gives it the next number of one
//! sequence over all alerts, by which processes with compiled alerts ([`super::percolate`]) find what changed. Deleting
//! is logical: history, deliveries and matches remain. Every call blocks. Calls that change something return once the
//! change is durable; it then applies to everything written from that point on. An alert on open data stores the
//! version of the table at its creation or activation: it is notified of later versions only.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use super::alert::{
    self, Alert, AlertSubject, COLUMNS, DeactivationReason, last_change, stored_kind,
};
use super::matches;
use crate::request::queries::PageParams;
use crate::request::{AlertPatch, NewAlert, SavedSearch, conditions};
use crate::settings::AlertLimits;
use toise_base::clock::Clock;
use toise_contract::Fault;
use toise_contract::listings::codes::FlxId;
use toise_lake::Lake;
use toise_lake::snapshot::Snapshot;
use toise_store::new_id::{NewId, Settled};
use toise_store::{self as store, Store};

/// The reason why a call about alerts failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The version of a table of open data cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The account has no such alert.
    #[error("no such alert")]
    NoAlert,
    /// The body exceeds the limits of an alert.
    #[error(transparent)]
    Refused(#[from] Fault),
    /// The account has the maximum number of active alerts.
    #[error("the account has {max} active alerts, the maximum; delete one first")]
    TooMany {
        /// Maximum active alerts per account.
        max: usize,
    },
    /// The account has the maximum number of alerts.
    #[error(
        "the account has {max} alerts, the maximum, including ended ones, which keep their history; change an ended \
         one to reactivate it"
    )]
    TooManyKept {
        /// Maximum alerts per account, including inactive ones.
        max: usize,
    },
    /// A field of the alert cannot be written as JSON text.
    #[error("store: {0}")]
    Json(#[from] serde_json::Error),
    /// The requested alerts do not fit into one response.
    #[error("they exceed {} MiB: request a part with skip and take", LIST_BYTES_MAX >> 20)]
    TooLong,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Query for the creation time of an alert.
const MADE_AT: &str = "SELECT created_at_ms FROM alerts WHERE alert_id = ?1";
/// Maximum size of a list of alerts, bytes of JSON.
pub const LIST_BYTES_MAX: usize = 16 << 20;

/// Result of a call about alerts.
pub type Result<T> = std::result::Result<T, Error>;

/// The alerts in a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AlertRegistry {
    store: Store,
    clock: Clock,
    limits: AlertLimits,
}

/// Reference to an alert: its identifier, and the account and kind it must belong to.
#[derive(Clone, Copy, Debug)]
pub struct AlertRef {
    /// The requesting account.
    pub account: Uuid,
    /// Subject of the alert's search.
    pub subject: AlertSubject,
    /// Identifier of the alert.
    pub id: FlxId,
}

impl AlertRegistry {
    /// Opens the alerts in a store.
    pub fn new(store: Store, clock: Clock, limits: AlertLimits) -> Self {
        Self {
            store,
            clock,
            limits,
        }
    }

    /// Creates an active alert and returns its identifier. If the same call already created it, returns the same
    /// identifier again. The caller checks beforehand that its webhook URL may be called.
    ///
    /// # Errors
    /// [`Error::Refused`] for too many conditions, [`Error::TooMany`] and [`Error::TooManyKept`] for too many alerts.
    pub fn create(
        &self,
        account: Uuid,
        subject: impl Into<AlertSubject>,
        alert: NewAlert,
        id: NewId,
    ) -> Result<FlxId> {
        let made = self.create_many(account, subject, vec![Ok(alert)], id)?;
        made.into_iter().next().unwrap_or(Err(Error::NoAlert))
    }

    /// Creates several alerts; each one is accepted or rejected independently, in order. Each gets the identifier at
    /// its position in `ids`.
    ///
    /// # Errors
    /// [`Error::Store`]: no alert was created.
    pub fn create_many(
        &self,
        account: Uuid,
        subject: impl Into<AlertSubject>,
        alerts: Vec<std::result::Result<NewAlert, Fault>>,
        ids: NewId,
    ) -> Result<Vec<Result<FlxId>>> {
        let now_ms = self.clock.now().timestamp_millis();
        let limits = self.limits;
        let (subject, data) = (subject.into(), self.store.folder().to_owned());
        self.store.write_with(move |transaction| {
            let since = current_version(&data, subject)?;
            let mut held = AlertCounts::of(transaction, account)?;
            let mut change = last_change(transaction)?;
            let mut made = Vec::with_capacity(alerts.len());
            for (place, alert) in alerts.into_iter().enumerate() {
                let id = match ids
                    .nth(place)
                    .settle(transaction, MADE_AT, Uuid::into_bytes)?
                {
                    Settled::New(id) => FlxId(id),
                    Settled::Made(id) => {
                        made.push(Ok(FlxId(id)));
                        continue;
                    }
                };
                let allowed = alert.map_err(Error::Refused).and_then(|alert| {
                    check(&alert.search, limits)?;
                    held.check_one_more(limits)?;
                    Ok(alert)
                });
                made.push(match allowed {
                    Ok(alert) => {
                        held.active += 1;
                        held.all += 1;
                        change += 1;
                        let stamps = (since, change, now_ms);
                        insert(transaction, id, (account, subject), &alert, stamps)?;
                        Ok(id)
                    }
                    Err(refused) => Err(refused),
                });
            }
            Ok(made)
        })
    }

    /// Returns an alert.
    ///
    /// # Errors
    /// [`Error::NoAlert`].
    pub fn get(&self, address: AlertRef) -> Result<Alert> {
        let found = self.store.read(|connection| find(connection, address))?;
        found.ok_or(Error::NoAlert)
    }

    /// Returns the alerts of an account on one kind of record as JSON, oldest first: one page, or all.
    ///
    /// # Errors
    /// [`Error::TooLong`] if they exceed [`LIST_BYTES_MAX`].
    pub fn list(
        &self,
        account: Uuid,
        subject: impl Into<AlertSubject>,
        page: Option<PageParams>,
    ) -> Result<Vec<Vec<u8>>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM alerts WHERE account_id = ?1 AND kind = ?2 ORDER BY alert LIMIT ?3 OFFSET ?4"
        );
        let (take, skip) = page.map_or((-1, 0), PageParams::bounds);
        let kind = stored_kind(subject.into());
        self.store.read_with(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((account.to_string(), kind, take, skip))?;
            let (mut texts, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let text = alert::alert(row)?.to_json().to_string().into_bytes();
                bytes += text.len();
                if bytes > LIST_BYTES_MAX {
                    return Err(Error::TooLong);
                }
                texts.push(text);
            }
            Ok(texts)
        })
    }

    /// Changes the given fields of an alert and activates it if it was inactive. Existing matches remain. A new filter
    /// applies to all other items from now on.
    ///
    /// # Errors
    /// [`Error::NoAlert`], [`Error::Refused`] for too many conditions, [`Error::TooMany`] if it was inactive and the
    /// account has the maximum number of active alerts.
    pub fn patch(&self, address: AlertRef, patch: AlertPatch) -> Result<()> {
        if let Some(search) = &patch.search {
            check(search, self.limits)?;
        }
        self.change(address, move |transaction, number, since, change, now_ms| {
            let context = patch.context.as_ref();
            let updated = transaction
                .prepare_cached(
                    "UPDATE alerts SET search_query = coalesce(?2, search_query), webhook_url = coalesce(?3, webhook_url),
                       match_kinds = coalesce(?4, match_kinds), search_name = coalesce(?5, search_name),
                       context = CASE WHEN ?6 THEN ?7 ELSE context END,
                       since_version = iif(activated, since_version, ?10),
                       activated = 1, deactivated_because = NULL, change = ?8, updated_at_ms = ?9
                     WHERE alert = ?1",
                )?
                .execute((
                    number,
                    patch.search.as_ref().map(|search| search.sent.to_string()),
                    &patch.webhook_url,
                    patch
                        .match_kinds
                        .as_ref()
                        .map(serde_json::to_string)
                        .transpose()?,
                    &patch.search_name,
                    context.is_some(),
                    context
                        .and_then(Option::as_ref)
                        .map(serde_json::to_string)
                        .transpose()?,
                    change,
                    now_ms,
                    since,
                ))?;
            Ok(updated)
        })
    }

    /// Activates an alert; no effect on an active one.
    ///
    /// # Errors
    /// [`Error::NoAlert`], [`Error::TooMany`] if the account has the maximum number of active alerts.
    pub fn activate(&self, address: AlertRef) -> Result<()> {
        self.change(address, |transaction, number, since, change, now_ms| {
            let updated = transaction
                .prepare_cached(
                    "UPDATE alerts SET activated = 1, deactivated_because = NULL, change = ?2, updated_at_ms = ?3,
                       since_version = ?4
                     WHERE alert = ?1 AND activated = 0",
                )?
                .execute((number, change, now_ms, since))?;
            Ok(updated)
        })
    }

    /// Deactivates an alert: it records no further matches. Its matches, history and deliveries remain.
    ///
    /// # Errors
    /// [`Error::NoAlert`].
    pub fn delete(&self, address: AlertRef) -> Result<()> {
        let now_ms = self.clock.now().timestamp_millis();
        self.store.write_with(move |transaction| {
            let alert = find(transaction, address)?.ok_or(Error::NoAlert)?;
            deactivate(
                transaction,
                alert.number,
                None,
                DeactivationReason::Deleted,
                now_ms,
            )?;
            Ok(())
        })
    }

    /// Applies a change that leaves an alert active. Checks the limit on active alerts if it was inactive.
    fn change(
        &self,
        address: AlertRef,
        change: impl FnOnce(&Transaction<'_>, i64, Option<i64>, i64, i64) -> Result<usize>
        + Send
        + 'static,
    ) -> Result<()> {
        let now_ms = self.clock.now().timestamp_millis();
        let limits = self.limits;
        let data = self.store.folder().to_owned();
        self.store.write_with(move |transaction| {
            let alert = find(transaction, address)?.ok_or(Error::NoAlert)?;
            if alert.deactivated.is_some() {
                AlertCounts::of(transaction, address.account)?.check_one_more_active(limits)?;
            }
            let next = last_change(transaction)? + 1;
            let since = current_version(&data, address.subject)?;
            change(transaction, alert.number, since, next, now_ms)?;
            Ok(())
        })
    }

    /// Returns the identifiers of the items an alert matched, each once, by time of the first match, newest first. A
    /// property that was merged into another is listed as the surviving one. A record of open data is named by the
    /// digest of its identifier.
    ///
    /// # Errors
    /// [`Error::NoAlert`].
    pub fn history(&self, address: AlertRef, skip: usize, take: usize) -> Result<Vec<FlxId>> {
        let found = self.store.read(|connection| {
            let Some(alert) = find(connection, address)? else {
                return Ok(None);
            };
            let page = PageParams { skip, take };
            matches::history(connection, address.subject, alert.number, page).map(Some)
        })?;
        found.ok_or(Error::NoAlert)
    }

    /// Calls `visit` with the identifiers of [`Self::history`], from the first on, until it returns `false`. A caller
    /// that leaves out some items counts the others with it.
    ///
    /// # Errors
    /// [`Error::NoAlert`].
    pub fn visit_history(&self, address: AlertRef, visit: impl FnMut(FlxId) -> bool) -> Result<()> {
        let found = self.store.read(|connection| {
            let Some(alert) = find(connection, address)? else {
                return Ok(None);
            };
            matches::visit_history(connection, address.subject, alert.number, visit).map(Some)
        })?;
        found.ok_or(Error::NoAlert)
    }
}

/// Deactivates an active alert, in the caller's transaction; if `receiver` is given, only if the alert still delivers
/// to it.
pub(super) fn deactivate(
    transaction: &Transaction<'_>,
    alert: i64,
    receiver: Option<&str>,
    reason: DeactivationReason,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let change = last_change(transaction)? + 1;
    transaction
        .prepare_cached(
            "UPDATE alerts SET activated = 0, deactivated_because = ?3, change = ?4, updated_at_ms = ?5
             WHERE alert = ?1 AND activated = 1 AND webhook_url = coalesce(?2, webhook_url)",
        )?
        .execute((alert, receiver, reason.as_str(), change, now_ms))?;
    Ok(())
}

/// Returns the current version of a table of open data; `None` for listings.
fn current_version(data: &Path, subject: AlertSubject) -> Result<Option<i64>> {
    let AlertSubject::OpenData(dataset) = subject else {
        return Ok(None);
    };
    let snapshot = Snapshot::load(&Lake::folder_in(data, dataset.schema()))?;
    Ok(Some(i64::try_from(snapshot.sequence).unwrap_or(i64::MAX)))
}

fn insert(
    transaction: &Transaction<'_>,
    id: FlxId,
    (account, subject): (Uuid, AlertSubject),
    alert: &NewAlert,
    (since, change, now_ms): (Option<i64>, i64, i64),
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO alerts (alert_id, account_id, kind, activated, search_name, search_query, webhook_url,
               match_kinds, context, created_at_ms, updated_at_ms, change, since_version)
             VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11)",
        )?
        .execute((
            id.0.as_bytes(),
            account.to_string(),
            stored_kind(subject),
            &alert.search_name,
            alert.search.sent.to_string(),
            &alert.webhook_url,
            serde_json::to_string(&alert.match_kinds)?,
            alert
                .context
                .as_ref()
                .map(serde_json::to_string)
                .transpose()?,
            now_ms,
            change,
            since,
        ))?;
    Ok(())
}

fn find(connection: &Connection, address: AlertRef) -> rusqlite::Result<Option<Alert>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM alerts WHERE alert_id = ?1 AND account_id = ?2 AND kind = ?3"
    );
    connection
        .prepare_cached(&sql)?
        .query_row(
            (
                address.id.0.as_bytes(),
                address.account.to_string(),
                stored_kind(address.subject),
            ),
            alert::alert,
        )
        .optional()
}

/// Numbers of alerts of an account, of all kinds together. The receivers of portfolios are not alerts.
struct AlertCounts {
    active: usize,
    /// Including inactive ones.
    all: usize,
}

impl AlertCounts {
    fn of(connection: &Connection, account: Uuid) -> rusqlite::Result<Self> {
        let count = |sql: &str| -> rusqlite::Result<usize> {
            let mut statement = connection.prepare_cached(sql)?;
            let count: u32 = statement.query_row([account.to_string()], |row| row.get(0))?;
            Ok(count as usize)
        };
        // The index of active alerts lacks the kind, and reading every alert for its kind would hold up the writer each
        // time that an alert is created, so portfolios are subtracted.
        Ok(Self {
            active: count(
                "SELECT (SELECT count(*) FROM alerts WHERE account_id = ?1 AND activated = 1)
                   - (SELECT count(*) FROM alerts WHERE account_id = ?1 AND kind = 'PORTFOLIO' AND activated = 1)",
            )?,
            all: count(
                "SELECT count(*) FROM alerts WHERE account_id = ?1 AND kind <> 'PORTFOLIO'",
            )?,
        })
    }

    fn check_one_more(&self, limits: AlertLimits) -> Result<()> {
        self.check_one_more_active(limits)?;
        let max = limits.kept_per_account_max;
        (self.all < max)
            .then_some(())
            .ok_or(Error::TooManyKept { max })
    }

    fn check_one_more_active(&self, limits: AlertLimits) -> Result<()> {
        let max = limits.per_account_max;
        (self.active < max)
            .then_some(())
            .ok_or(Error::TooMany { max })
    }
}

fn check(search: &SavedSearch, limits: AlertLimits) -> Result<()> {
    let found = conditions(&search.filter) + search.texts;
    if found > limits.conditions_max {
        let rule = format!(
            "must not hold more than {} conditions (every code, value, range, place and text counts); found {found}",
            limits.conditions_max
        );
        return Err(Fault::new("search_query", rule).into());
    }
    Ok(())
}
