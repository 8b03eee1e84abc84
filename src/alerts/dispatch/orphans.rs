//! Orphans in the store: failures of endpoints without an active alert, and replays without pending notifications whose
//! call can no longer be repeated under its idempotency key.

use rusqlite::{Connection, Transaction};

use super::destinations::receiver;
use super::state::SharedReceiverKey;
use toise_accounts::stored::STORED_RESPONSE_TTL;

const FAILURES: &str = "FROM failing_endpoints AS failing WHERE NOT EXISTS (SELECT 1 FROM alerts
     WHERE alerts.account_id = failing.account_id AND alerts.webhook_url = failing.webhook_url AND activated = 1)";
const REPLAYS: &str =
    "FROM replays WHERE created_at_ms < ?1 AND NOT EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_replays_waiting
     WHERE outbox.alert = replays.alert AND outbox.replay IS NOT NULL AND outbox.delivery IS NULL)";

/// Returns whether there are orphans. Costs one lookup for each failing endpoint and each replay.
pub(super) fn any_exist(connection: &Connection, now_ms: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(&format!(
            "SELECT EXISTS (SELECT 1 {FAILURES}) OR EXISTS (SELECT 1 {REPLAYS})"
        ))?
        .query_row([forgotten_before(now_ms)], |row| row.get(0))
}

/// Deletes the orphans; returns the endpoints whose failures were deleted.
pub(super) fn delete(
    transaction: &Transaction<'_>,
    now_ms: i64,
) -> rusqlite::Result<Vec<SharedReceiverKey>> {
    transaction
        .prepare_cached(&format!("DELETE {REPLAYS}"))?
        .execute([forgotten_before(now_ms)])?;
    transaction
        .prepare_cached(&format!(
            "DELETE {FAILURES} RETURNING account_id, webhook_url"
        ))?
        .query_map([], receiver)?
        .collect()
}

/// Returns the time before which calls are forgotten: repeating such a call starts another replay.
fn forgotten_before(now_ms: i64) -> i64 {
    now_ms - STORED_RESPONSE_TTL.num_milliseconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_store::Store;

    #[test]
    fn a_replay_is_known_as_long_as_its_call_may_be_made_again() {
        const BEGUN_MS: i64 = 1_800_000_000_000;
        const DAY_MS: i64 = 86_400_000;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let insert = "INSERT INTO replays (replay_id, alert, from_ms, to_ms, items, created_at_ms)
             VALUES (x'01', 1, 0, 0, 0, ?1)";
        store
            .write(move |transaction| transaction.execute(insert, [BEGUN_MS]))
            .unwrap();
        for (now_ms, is_orphan) in [(BEGUN_MS + DAY_MS, false), (BEGUN_MS + DAY_MS + 1, true)] {
            let found = store.read(|connection| any_exist(connection, now_ms));
            assert_eq!(found.unwrap(), is_orphan);
            let sweep = move |transaction: &Transaction<'_>| delete(transaction, now_ms);
            store.write(sweep).unwrap();
            let count = "SELECT count(*) FROM replays";
            let left = store
                .read(|connection| connection.query_row(count, [], |row| row.get::<_, i64>(0)));
            assert_eq!(left.unwrap(), i64::from(!is_orphan));
        }
    }
}
