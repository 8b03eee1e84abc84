//! What was consumed, by type and day: the sums the ledger keeps.

use uuid::Uuid;

use crate::store::{self, Store};
use crate::wire::query::Period;

/// What was consumed of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumed {
    /// Type of consumption.
    pub consumption: String,
    /// Credits.
    pub credits: i64,
    /// Calls.
    pub calls: i64,
}

/// What an account consumed in a period, by type, in alphabetical order. Blocks.
pub fn of_account(store: &Store, account_id: Uuid, period: Period) -> store::Result<Vec<Consumed>> {
    store.read(|connection| {
        connection
            .prepare_cached(
                "SELECT type, sum(credits), sum(calls) FROM consumption
                 WHERE account_id = ?1 AND day BETWEEN ?2 AND ?3 GROUP BY type ORDER BY type",
            )?
            .query_map(
                (
                    account_id.to_string(),
                    period.from.to_string(),
                    period.to.to_string(),
                ),
                |row| {
                    Ok(Consumed {
                        consumption: row.get(0)?,
                        credits: row.get(1)?,
                        calls: row.get(2)?,
                    })
                },
            )?
            .collect()
    })
}
