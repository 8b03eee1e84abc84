//! Compares data folders, deliveries and responses with the model.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toise::store::Store;

use super::answers::PRICE;
use super::model::{Advert, Model};
use super::{CALLING, REPEATING};
use crate::support::process::run;
use crate::support::receiver::Receiver;

/// Maximum wait for the last deliveries. Retries wait seconds to minutes.
const DELIVERED_WITHIN: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Rate of the clients' keys, calls per second.
const RATE: &str = "1000";

/// The keys of the clients.
pub struct Keys {
    /// Ingests, creates keys, reads.
    pub admin: String,
    /// Makes charged calls.
    pub caller: String,
    caller_id: String,
    /// Makes charged calls under idempotency keys.
    pub repeater: String,
    repeater_id: String,
    /// Asks SQL statements.
    pub querier: String,
}

impl Keys {
    /// Their number.
    const COUNT: u64 = 4;

    /// Creates them.
    pub fn make(data: &Path) -> Self {
        let make = |scopes: &str| {
            let made = run(
                data,
                &["keys", "create", "--scopes", scopes, "--rate", RATE],
            );
            let text = |name: &str| made[name].as_str().unwrap().to_owned();
            (text("key"), text("key_id"))
        };
        let (admin, _) = make("admin,search,alerts,refetch,ai");
        let (caller, caller_id) = make("search");
        let (repeater, repeater_id) = make("search");
        let (querier, _) = make("sql");
        Self {
            admin,
            caller,
            caller_id,
            repeater,
            repeater_id,
            querier,
        }
    }
}

/// The acknowledged contents of store and ledger at one moment.
pub struct Acknowledged {
    /// Pages that were answered or promised.
    pub pages: Vec<String>,
    keys: Vec<String>,
    calls: Vec<String>,
    adverts: Vec<String>,
    repeated: u64,
}

/// Everything acknowledged so far.
pub fn acknowledged(model: &Model) -> Acknowledged {
    let adverts = model.adverts.values();
    Acknowledged {
        pages: model.pages.clone(),
        keys: model.keys.clone(),
        calls: model.calls.clone(),
        adverts: adverts.filter_map(|advert| advert.id.clone()).collect(),
        repeated: model.repeated,
    }
}

/// Checks that a data folder has everything acknowledged.
///
/// # Errors
/// Something is lost or duplicated.
pub fn compare_stored(data: &Path, expected: &Acknowledged) -> Result<(), String> {
    let store = Store::open(data).map_err(|error| error.to_string())?;
    let texts = |sql: &'static str| {
        move |connection: &rusqlite::Connection| {
            let mut statement = connection.prepare(sql)?;
            let texts = statement.query_map([], |row| row.get(0))?;
            texts.collect::<Result<HashSet<String>, _>>()
        }
    };
    let fail = |error: toise::store::Error| error.to_string();
    let keys = store.read(texts("SELECT key_id FROM keys")).map_err(fail)?;
    let adverts = store
        .read(texts("SELECT lower(hex(advert_id)) FROM adverts"))
        .map_err(fail)?;
    let calls = store
        .ledger()
        .read(texts("SELECT lower(hex(request_id)) FROM ledger"))
        .map_err(fail)?;
    let plain = |id: &String| id.replace('-', "").to_lowercase();
    for (what, expected, found) in [
        ("keys", expected.keys.clone(), keys),
        ("calls", expected.calls.clone(), calls),
        (
            "adverts",
            expected.adverts.iter().map(plain).collect(),
            adverts,
        ),
    ] {
        let lost = expected.iter().filter(|id| !found.contains(*id)).count();
        if lost > 0 {
            return Err(format!("{lost} of {} {what} are lost", expected.len()));
        }
    }
    Ok(())
}

/// Compares the number of keys with that of requested keys, which `now` returns after they were counted.
///
/// # Errors
/// A repeated call created more than one.
pub fn compare_keys(data: &Path, now: impl FnOnce() -> u64) -> Result<(), String> {
    let store = Store::open(data).map_err(|error| error.to_string())?;
    let count = |connection: &rusqlite::Connection| {
        connection.query_row("SELECT count(*) FROM keys", [], |row| row.get::<_, i64>(0))
    };
    let count = store.read(count).map_err(|error| error.to_string())? as u64;
    let asked = now() + Keys::COUNT;
    if count <= asked {
        Ok(())
    } else {
        Err(format!("{count} keys of {asked} asked for"))
    }
}

/// Compares the charges of the callers' keys. `now` returns the calls made, answered or not, and the repeated calls
/// answered, after the ledger was read.
///
/// # Errors
/// Something was charged twice, or not at all.
pub fn compare_charges(
    data: &Path,
    keys: &Keys,
    before: &Acknowledged,
    now: impl FnOnce() -> (u64, u64),
) -> Result<(), String> {
    let store = Store::open(data).map_err(|error| error.to_string())?;
    let charges = |key_id: &str| {
        let key_id = key_id.replace('-', "").to_uppercase();
        let sql =
            "SELECT count(*), count(DISTINCT request_id), coalesce(sum(credits), 0) FROM ledger
                   WHERE hex(key_id) = ?1";
        let counted = store.ledger().read(|connection| {
            connection.query_row(sql, [key_id], |row| {
                let number = |column| row.get::<_, i64>(column).map(|number| number as u64);
                Ok((number(0)?, number(1)?, number(2)?))
            })
        });
        let (charges, distinct, credits) = counted.map_err(|error| error.to_string())?;
        if credits == charges * PRICE {
            Ok((charges, distinct))
        } else {
            Err(format!("{credits} credits of {charges} charges at {PRICE}"))
        }
    };
    let (calls, distinct_calls) = charges(&keys.caller_id)?;
    let (repeated, _) = charges(&keys.repeater_id)?;
    let (made, answered) = now();
    // Those in flight may have been charged and are not counted as made yet.
    if calls != distinct_calls || calls > made + CALLING {
        return Err(format!("{calls} charges for {made} calls"));
    }
    if repeated < before.repeated || repeated > answered + REPEATING {
        return Err(format!(
            "{repeated} charges for {answered} calls that were repeated"
        ));
    }
    Ok(())
}

/// What came of deliveries.
pub struct Delivered {
    /// Adverts delivered.
    pub adverts: usize,
    /// Adverts whose delivery waits for its next attempt.
    pub waiting: usize,
    /// Requests after the first one under the same identifier.
    pub repeated: usize,
}

/// Waits until every advert acknowledged was delivered.
///
/// # Errors
/// One was not, or two deliveries contained it.
pub async fn compare_deliveries(
    data: &Path,
    receiver: &Receiver,
    adverts: &BTreeMap<u64, Advert>,
) -> Result<Delivered, String> {
    let acknowledged: HashSet<&String> = adverts
        .values()
        .filter_map(|advert| advert.id.as_ref())
        .collect();
    let since = Instant::now();
    loop {
        let mut by_item: HashMap<String, HashSet<String>> = HashMap::new();
        let mut bodies: HashMap<String, Vec<u8>> = HashMap::new();
        let requests = receiver.received();
        for request in &requests {
            let id = request.id().to_owned();
            if let Some(before) = bodies.insert(id.clone(), request.body.clone())
                && before != request.body
            {
                return Err(format!("delivery {id} was repeated with another body"));
            }
            for item in request.items("created") {
                by_item.entry(item).or_default().insert(id.clone());
            }
        }
        if let Some((item, ids)) = by_item.iter().find(|(_, ids)| ids.len() > 1) {
            return Err(format!("advert {item} was delivered twice: {ids:?}"));
        }
        let missing = acknowledged.iter().filter(|id| !by_item.contains_key(**id));
        let missing = missing.count();
        let waiting = waiting(data)?;
        if missing == 0 || (since.elapsed() > DELIVERED_WITHIN && missing <= waiting) {
            return Ok(Delivered {
                adverts: by_item.len(),
                waiting: missing,
                repeated: requests.len() - bodies.len(),
            });
        }
        if since.elapsed() > DELIVERED_WITHIN {
            return Err(format!(
                "{missing} adverts were never delivered, {waiting} wait"
            ));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Notifications that are still to be delivered.
fn waiting(data: &Path) -> Result<usize, String> {
    let store = Store::open(data).map_err(|error| error.to_string())?;
    let sql = "SELECT count(*) FROM outbox LEFT JOIN deliveries USING (delivery)
               WHERE deliveries.status IS NULL OR deliveries.status IN ('pending', 'failed')";
    let count = store.read(|connection| connection.query_row(sql, [], |row| row.get::<_, i64>(0)));
    Ok(count.map_err(|error| error.to_string())? as usize)
}

const QUERY: &str = "select count(*) from sqlite_master";
const PYTHON_READER: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute(sys.argv[2]).fetchone()
connection.close()";

/// Reads the files with other programs, if they are installed.
pub fn read_from_outside(data: &Path) {
    for name in ["store.sqlite", "ledger.sqlite"] {
        let file = data.join(name);
        let mut sqlite = Command::new("sqlite3");
        sqlite.arg(&file).arg(QUERY);
        let mut python = Command::new("python3");
        python.args(["-c", PYTHON_READER]).arg(&file).arg(QUERY);
        let mut copy = Command::new("cp");
        copy.arg(&file).arg("/dev/null");
        for command in [&mut sqlite, &mut python, &mut copy] {
            let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}
