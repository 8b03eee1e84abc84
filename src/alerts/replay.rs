//! Replays: sends the notifications of a past window to an alert's receiver again, unchanged.
//!
//! A replay puts the notifications of the window into the outbox again, oldest first. They are delivered like any
//! others: in the same format, batched, signed, retried and charged, with new identifiers. Notifications still
//! to be delivered, and those sent by a replay, are not replayed. An alert has at most one replay with pending
//! notifications, and an account at most [`REPLAYS_MAX`], so that replays cannot fill the outbox.

use rusqlite::Transaction;
use uuid::Uuid;

use super::deliveries::find_alert;
pub use crate::request::queries::REPLAY_ITEMS_MAX as ITEMS_MAX;
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_store::new_id::{NewId, Settled};
use toise_store::{self as store, Store};

/// Maximum replays with pending notifications per account.
pub const REPLAYS_MAX: usize = 10;

/// Query for the time at which a replay was started.
const MADE_AT: &str = "SELECT created_at_ms FROM replays WHERE replay_id = ?1";

/// The reason why a window cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// There is no such alert.
    #[error("no such alert")]
    NoAlert,
    /// The alert is not active.
    #[error("the alert is not active: activate it first")]
    Inactive,
    /// An earlier replay of the alert still has pending notifications.
    #[error("an earlier replay of this alert is still waiting for its receiver")]
    StillWaits,
    /// The account has the maximum number of replays with pending notifications.
    #[error(
        "{REPLAYS_MAX} replays of this account, the maximum, are still waiting for their receivers"
    )]
    TooMany,
}

/// A window of time, in Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayWindow {
    /// Start, inclusive.
    pub from_ms: i64,
    /// End, inclusive.
    pub to_ms: i64,
}

/// A replay that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Identifier of the replay.
    pub replay_id: Uuid,
    /// Number of items it sends.
    pub items: usize,
}

/// Replays the items that an alert matched in a window, oldest first and at most `items_max` (itself at most
/// [`ITEMS_MAX`]). The caller checks that the requesting account owns the alert. Blocks; returns once the replay is
/// durable.
///
/// # Errors
/// There is no such alert, it is not active, or earlier replays are still pending.
pub fn replay(
    store: &Store,
    clock: &Clock,
    alert_id: FlxId,
    window: ReplayWindow,
    items_max: usize,
    id: NewId,
) -> Result<Replay, Error> {
    let now_ms = clock.now().timestamp_millis();
    let ReplayWindow { from_ms, to_ms } = window;
    let items_max = items_max.min(ITEMS_MAX) as i64;
    store.write(move |transaction| {
        let alert = match find_alert(transaction, alert_id)? {
            None => return Ok(Err(Error::NoAlert)),
            Some((_, false)) => return Ok(Err(Error::Inactive)),
            Some((alert, true)) => alert,
        };
        let replay_id = match id.settle(transaction, MADE_AT, Uuid::into_bytes)? {
            Settled::New(id) => id,
            Settled::Made(id) => return Ok(Ok(existing_replay(transaction, id)?)),
        };
        if let Err(refused) = check_waiting(transaction, alert)? {
            return Ok(Err(refused));
        }
        transaction.execute(
            "INSERT INTO replays (replay_id, alert, from_ms, to_ms, items, created_at_ms)
             VALUES (?1, ?2, ?3, ?4, 0, ?5)",
            (replay_id.as_bytes(), alert, from_ms, to_ms, now_ms),
        )?;
        let replay = transaction.last_insert_rowid();
        let items = transaction.execute(
            "INSERT INTO outbox (alert, branch, item, snapshot, created_at_ms, replay)
             SELECT outbox.alert, branch, item, snapshot, ?4, ?5
             FROM deliveries JOIN outbox ON outbox.delivery = deliveries.delivery
             WHERE deliveries.alert = ?1 AND deliveries.created_at_ms >= ?2 AND next_attempt_at_ms IS NULL
                 AND outbox.created_at_ms BETWEEN ?2 AND ?3 AND replay IS NULL
             ORDER BY notification LIMIT ?6",
            (alert, from_ms, to_ms, now_ms, replay, items_max),
        )?;
        transaction.execute(
            "UPDATE replays SET items = ?2 WHERE replay = ?1",
            (replay, items as i64),
        )?;
        Ok(Ok(Replay { replay_id, items }))
    })?
}

/// Returns a replay that was started earlier.
fn existing_replay(transaction: &Transaction<'_>, replay_id: Uuid) -> rusqlite::Result<Replay> {
    let items = transaction.query_row(
        "SELECT items FROM replays WHERE replay_id = ?1",
        [replay_id.as_bytes()],
        |row| row.get::<_, i64>(0),
    )?;
    let items = usize::try_from(items).unwrap_or_default();
    Ok(Replay { replay_id, items })
}

/// Checks that another replay of an alert may start.
fn check_waiting(transaction: &Transaction<'_>, alert: i64) -> rusqlite::Result<Result<(), Error>> {
    let waiting: Vec<i64> = transaction
        .prepare_cached(
            "SELECT DISTINCT replays.alert FROM replays JOIN alerts USING (alert)
             WHERE account_id = (SELECT account_id FROM alerts WHERE alert = ?1)
                 AND EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_replays_waiting
                     WHERE outbox.alert = replays.alert AND outbox.replay IS NOT NULL AND outbox.delivery IS NULL)",
        )?
        .query_map([alert], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(match waiting.len() {
        _ if waiting.contains(&alert) => Err(Error::StillWaits),
        REPLAYS_MAX.. => Err(Error::TooMany),
        _ => Ok(()),
    })
}
