//! Shipments: consumption that replicas meter, sent to the ledger of their writer.
//!
//! A replica writes its calls to its own ledger. At an interval it makes a numbered shipment: the growth of its daily
//! sums since the previous shipment. The shipment is stored in the transaction that records what was shipped. Each
//! shipment is a file that never changes, so a shipment that is sent again has the same bytes. The writer adds a
//! shipment to its own sums in the transaction that records its number, so no shipment is added twice and none is lost.
//! Consumption that a replica has not shipped yet is lost if its disk fails.

use rusqlite::{OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use toise_store::{self as store, Store};

/// Format version of shipments.
const FORMAT: u32 = 1;
/// Maximum sums of a shipment; the rest goes into the next.
const SUMS_MAX: i64 = 10_000;

/// The growth of one daily sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedSum {
    /// Account.
    pub account_id: String,
    /// Key.
    pub key_id: String,
    /// Type of consumption.
    #[serde(rename = "type")]
    pub consumption: String,
    /// Day, UTC.
    pub day: String,
    /// Credits charged.
    pub credits: i64,
    /// Calls counted.
    pub calls: i64,
}

/// The consumption of a replica since its previous shipment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shipment {
    /// Format version.
    pub format: u32,
    /// The replica.
    pub replica: Uuid,
    /// Number of the shipment, from 1, without gaps.
    pub shipment: i64,
    /// The sums that grew.
    pub sums: Vec<ShippedSum>,
}

/// A shipment that has to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingShipment {
    /// The replica.
    pub replica: String,
    /// Number of the shipment.
    pub shipment: i64,
    /// Its bytes.
    pub body: String,
}

/// The reason why a shipment is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not a shipment.
    #[error("not a shipment of consumption: {0}")]
    Unreadable(String),
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Returns the next shipment of a replica: the oldest one whose arrival was not recorded, otherwise a new one if there
/// is unshipped consumption. Returns once it is on disk. Blocks.
///
/// # Errors
/// The ledger cannot be written.
pub fn pending(store: &Store) -> Result<Option<PendingShipment>, Error> {
    Ok(store.ledger().write(|transaction| {
        if let Some(waiting) = oldest(transaction)? {
            return Ok(Some(waiting));
        }
        make(transaction)?;
        oldest(transaction)
    })?)
}

fn oldest(transaction: &Transaction<'_>) -> rusqlite::Result<Option<PendingShipment>> {
    let sql = "SELECT replica, shipment, body FROM shipments, shipping ORDER BY shipment LIMIT 1";
    let read = transaction.query_row(sql, [], |row| {
        Ok(PendingShipment {
            replica: row.get(0)?,
            shipment: row.get(1)?,
            body: row.get(2)?,
        })
    });
    read.optional()
}

/// Creates a shipment of the sums that grew. Does nothing if no sum grew.
fn make(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut grown = transaction.prepare_cached(
        "SELECT all_sums.account_id, all_sums.key_id, all_sums.type, all_sums.day,
                all_sums.credits - coalesce(shipped.credits, 0), all_sums.calls - coalesce(shipped.calls, 0)
         FROM consumption AS all_sums LEFT JOIN shipped USING (account_id, key_id, type, day)
         WHERE all_sums.calls > coalesce(shipped.calls, 0) OR all_sums.credits > coalesce(shipped.credits, 0)
         LIMIT ?1",
    )?;
    let sums = grown.query_map([SUMS_MAX], |row| {
        Ok(ShippedSum {
            account_id: row.get(0)?,
            key_id: row.get(1)?,
            consumption: row.get(2)?,
            day: row.get(3)?,
            credits: row.get(4)?,
            calls: row.get(5)?,
        })
    })?;
    let sums = sums.collect::<rusqlite::Result<Vec<_>>>()?;
    if sums.is_empty() {
        return Ok(());
    }
    transaction.execute(
        "INSERT INTO shipping VALUES (1, ?1, 1) ON CONFLICT DO NOTHING",
        [Uuid::now_v7().to_string()],
    )?;
    let sql = "SELECT replica, next FROM shipping";
    let (replica, shipment): (String, i64) =
        transaction.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for sum in &sums {
        add(transaction, "shipped", sum)?;
    }
    let made = Shipment {
        format: FORMAT,
        replica: Uuid::try_parse(&replica).unwrap_or_default(),
        shipment,
        sums,
    };
    let unfit = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
    let body = serde_json::to_string(&made).map_err(unfit)?;
    transaction.execute("INSERT INTO shipments VALUES (?1, ?2)", (shipment, body))?;
    transaction.execute("UPDATE shipping SET next = next + 1", [])?;
    Ok(())
}

/// Adds to a daily sum.
fn add(transaction: &Transaction<'_>, table: &str, sum: &ShippedSum) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO {table} (account_id, key_id, type, day, credits, calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (account_id, key_id, type, day)
         DO UPDATE SET credits = credits + excluded.credits, calls = calls + excluded.calls"
    );
    transaction.prepare_cached(&sql)?.execute((
        &sum.account_id, &sum.key_id, &sum.consumption, &sum.day, sum.credits, sum.calls,
    ))?;
    Ok(())
}

/// Records that a shipment has arrived. Blocks.
///
/// # Errors
/// The ledger cannot be written.
pub fn arrived(store: &Store, shipment: i64) -> Result<(), Error> {
    let forget = move |transaction: &Transaction<'_>| {
        transaction.execute("DELETE FROM shipments WHERE shipment = ?1", [shipment])
    };
    store.ledger().write(forget)?;
    Ok(())
}

/// Adds a shipment to the sums of the writer; returns `false` if it was added before. Returns once it is on disk.
/// Blocks.
///
/// # Errors
/// The bytes are not a shipment; the ledger cannot be written.
pub fn take(store: &Store, body: &[u8]) -> Result<bool, Error> {
    let shipment: Shipment =
        serde_json::from_slice(body).map_err(|error| Error::Unreadable(error.to_string()))?;
    let negative = |sum: &ShippedSum| sum.credits < 0 || sum.calls < 0;
    if shipment.format != FORMAT || shipment.sums.iter().any(negative) {
        return Err(Error::Unreadable("its format or a sum is wrong".into()));
    }
    let taken = store.ledger().write(move |transaction| {
        let noted = transaction.execute(
            "INSERT INTO shipments_taken VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            (shipment.replica.to_string(), shipment.shipment),
        )?;
        if noted == 0 {
            return Ok(false);
        }
        for sum in &shipment.sums {
            add(transaction, "consumption", sum)?;
        }
        Ok(true)
    })?;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(store: &Store, key: &str, credits: i64) {
        let key = key.to_owned();
        let sum = ShippedSum {
            account_id: "a".into(),
            key_id: key,
            consumption: "t".into(),
            day: "2026-11-21".into(),
            credits,
            calls: 1,
        };
        store
            .ledger()
            .write(move |rows| add(rows, "consumption", &sum))
            .unwrap();
    }

    fn sums(store: &Store) -> Vec<(String, i64, i64)> {
        let sql = "SELECT key_id, credits, calls FROM consumption ORDER BY key_id";
        let read = store.ledger().read(|connection| {
            let mut rows = connection.prepare(sql)?;
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        read.unwrap()
    }

    #[test]
    fn what_replicas_meter_is_added_exactly_once_however_often_it_is_sent() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let [writer, one, other] = folders.each_ref().map(|it| Store::open(it.path()).unwrap());
        assert_eq!(pending(&one).unwrap(), None);
        call(&writer, "k", 5);
        call(&one, "k", 2);
        call(&one, "l", 1);
        call(&other, "k", 10);
        let first = pending(&one).unwrap().unwrap();
        // If the replica is killed before it sends, it later sends the same bytes, even if more was metered in the
        // meantime.
        call(&one, "k", 3);
        assert_eq!(pending(&one).unwrap().unwrap(), first);
        assert!(take(&writer, first.body.as_bytes()).unwrap());
        // If it is killed before it records the arrival, it sends the shipment again.
        assert!(!take(&writer, first.body.as_bytes()).unwrap());
        arrived(&one, first.shipment).unwrap();
        let second = pending(&one).unwrap().unwrap();
        assert_eq!((second.shipment, &second.replica), (2, &first.replica));
        let of_other = pending(&other).unwrap().unwrap();
        assert_ne!(of_other.replica, first.replica);
        for shipment in [&of_other, &second, &first, &of_other] {
            take(&writer, shipment.body.as_bytes()).unwrap();
        }
        arrived(&one, 2).unwrap();
        assert_eq!(pending(&one).unwrap(), None);
        let expected = [("k", 20, 4), ("l", 1, 1)];
        assert_eq!(
            sums(&writer),
            expected.map(|(key, credits, calls)| (key.to_owned(), credits, calls))
        );
        for wrong in [
            "",
            "{}",
            r#"{"format":2,"replica":"0","shipment":1,"sums":[]}"#,
        ] {
            assert!(matches!(
                take(&writer, wrong.as_bytes()),
                Err(Error::Unreadable(_))
            ));
        }
    }
}
