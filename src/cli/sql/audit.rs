//! `toise sql --audit N`: lists the last queries that keys have sent to the servers of a data folder.

use serde_json::json;

use crate::{CommandResult, Common, table_of};
use toise_sql::audit::{AuditEntry, latest};
use toise_store::Store;

/// Maximum characters of a query in the printed table.
const QUERY_CHARS: usize = 60;

/// Prints the last `count` queries, newest first.
pub(super) fn list(common: &Common, count: usize) -> CommandResult {
    let store = Store::open_existing(&common.data)?;
    let entries = match &store {
        Some(store) => latest(store, count)?,
        None => Vec::new(),
    };
    if common.json {
        let entries: Vec<_> = entries.iter().map(as_json).collect();
        println!("{}", json!(entries));
        return Ok(());
    }
    let mut printed = table_of("when|key|protocol|outcome|rows|ms|query");
    for entry in entries {
        let ending = entry.ending.as_ref();
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let query: String = entry.query.split_whitespace().collect::<Vec<_>>().join(" ");
        printed.add_row([
            entry.at.format("%Y-%m-%d %H:%M:%S").to_string(),
            entry.key_id.to_string(),
            entry.protocol.clone(),
            ending
                .map_or("running", |ending| ending.outcome.as_str())
                .to_owned(),
            number(ending.map(|ending| ending.rows)),
            number(ending.map(|ending| ending.duration_ms)),
            query.chars().take(QUERY_CHARS).collect(),
        ]);
    }
    println!("{printed}");
    Ok(())
}

fn as_json(entry: &AuditEntry) -> serde_json::Value {
    let ending = entry.ending.as_ref();
    json!({
        "request_id": entry.request_id, "account_id": entry.account_id, "key_id": entry.key_id, "protocol": entry.protocol,
        "at": entry.at.to_rfc3339(), "query": entry.query, "digest": entry.digest, "snapshots": entry.snapshots,
        "outcome": ending.map_or("running", |ending| ending.outcome.as_str()),
        "error": ending.and_then(|ending| ending.error.clone()),
        "rows": ending.map(|ending| ending.rows), "bytes": ending.map(|ending| ending.bytes),
        "duration_ms": ending.map(|ending| ending.duration_ms),
    })
}
