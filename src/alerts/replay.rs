//! A window of the past sent once more: what an alert was told then goes to its receiver again, as it was.
//!
//! A replay puts the notifications of the window into the outbox anew, oldest first, so they travel like any other: in
//! the same format, grouped, signed, retried, priced, under identifiers of their own. What is still to be delivered,
//! and what a replay sent, is not sent again by one. While something of a replay waits, its alert begins no other, and
//! an account has [`REPLAYS_MAX`] of which something waits: replays never fill the outbox.

use rusqlite::Transaction;
use uuid::Uuid;

use super::deliveries::find_alert;
pub use crate::request::queries::REPLAY_ITEMS_MAX as ITEMS_MAX;
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_store::{self as store, Store};

/// Replays of one account of which something waits, at most.
pub const REPLAYS_MAX: usize = 10;

/// Why a window is not replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No such alert.
    #[error("no such alert")]
    NoAlert,
    /// The alert is not active.
    #[error("the alert is not active: activate it first")]
    Inactive,
    /// Something of an earlier replay of the alert waits.
    #[error("an earlier replay of this alert still waits for its receiver")]
    StillWaits,
    /// Something of as many replays as may be waits.
    #[error("{REPLAYS_MAX} replays of this account still wait for their receivers, as many as may")]
    TooMany,
}

/// A window of the past, in Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First moment, included.
    pub from_ms: i64,
    /// Last moment, included.
    pub to_ms: i64,
}

/// A replay that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Its identifier.
    pub replay_id: Uuid,
    /// Items it sends.
    pub items: usize,
}

/// Sends the items an alert matched in a window once more, oldest first, `items_max` at most ([`ITEMS_MAX`] at most).
/// The caller sees to it that whoever asks owns the alert. Durable on return. Blocks.
///
/// # Errors
/// No such alert, one that is not active, or earlier replays that still wait.
pub fn replay(
    store: &Store,
    clock: &Clock,
    alert_id: FlxId,
    window: Window,
    items_max: usize,
) -> Result<Replay, Error> {
    let replay_id = Uuid::now_v7();
    let now_ms = clock.now().timestamp_millis();
    let Window { from_ms, to_ms } = window;
    let items_max = items_max.min(ITEMS_MAX) as i64;
    store.write(move |transaction| {
        let alert = match find_alert(transaction, alert_id)? {
            None => return Ok(Err(Error::NoAlert)),
            Some((_, false)) => return Ok(Err(Error::Inactive)),
            Some((alert, true)) => alert,
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

/// Whether another replay of an alert may begin.
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
