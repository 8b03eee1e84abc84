//! Alerts as operators see them: of any account, with their matches and delivery status.
//!
//! Every call blocks. The receivers of portfolios are not alerts.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};
use uuid::Uuid;

use super::alert::{self, Alert, AlertSubject, COLUMNS};
use super::deliveries::PageParams;
use crate::delivery::DeliveryStatus;
use crate::saved_search::why_unmatched;
use toise_contract::filter::LayerSource;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::filters::ListingKind;
use toise_store::{self as store, Store};

/// An alert with its delivery status.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The alert.
    pub alert: Alert,
    /// Number of items it matched.
    pub matches: u64,
    /// Number of notifications that are not in a delivery yet.
    pub waiting: u64,
    /// Number of deliveries with each status.
    pub deliveries: [(DeliveryStatus, u64); 4],
    /// Time since when all attempts at its receiver have failed; `None` if the last one succeeded.
    pub failing_since: Option<Timestamp>,
    /// Why it currently matches nothing although it is active; `None` otherwise.
    pub unmatched_because: Option<String>,
}

impl Overview {
    /// Returns the overview as JSON for operators.
    pub fn to_json(&self) -> Value {
        let mut object = operator_json(&self.alert);
        object["matches"] = json!(self.matches);
        object["waiting"] = json!(self.waiting);
        for (status, count) in self.deliveries {
            object["deliveries"][status.as_str()] = json!(count);
        }
        if let Some(since) = self.failing_since {
            object["failing_since"] = json!(since);
        }
        if let Some(reason) = &self.unmatched_because {
            object["unmatched_because"] = json!(reason);
        }
        object
    }
}

/// Returns an alert as JSON for operators: as its account sees it, plus the account, the searched table, and why it is
/// inactive.
pub fn operator_json(alert: &Alert) -> Value {
    let mut object = alert.to_json();
    object["account_id"] = json!(alert.account);
    object["about"] = json!(alert.subject.table());
    if let Some(reason) = alert.deactivated {
        object["deactivated_because"] = json!(reason.as_str());
    }
    object
}

/// Returns the alerts of an account, or of all accounts, newest first.
pub fn list(store: &Store, account: Option<Uuid>, page: PageParams) -> store::Result<Vec<Alert>> {
    let (take, skip) = page.bounds();
    let sql = format!(
        "SELECT {COLUMNS} FROM alerts WHERE (?1 IS NULL OR account_id = ?1) AND kind <> 'PORTFOLIO' ORDER BY alert DESC \
         LIMIT ?2 OFFSET ?3"
    );
    let account = account.map(|account| account.to_string());
    store.read(|connection| {
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map((account, take, skip), alert::alert)?;
        rows.collect()
    })
}

/// Returns an alert of any account; `None` if there is none with this identifier. Reads the layers of its search.
pub fn show(store: &Store, id: FlxId, layers: &dyn LayerSource) -> store::Result<Option<Overview>> {
    let sql = format!("SELECT {COLUMNS} FROM alerts WHERE alert_id = ?1 AND kind <> 'PORTFOLIO'");
    let found = store.read(|connection| {
        let found = connection
            .prepare_cached(&sql)?
            .query_row([id.0.as_bytes()], alert::alert)
            .optional()?;
        found.map(|alert| overview(connection, alert)).transpose()
    })?;
    Ok(found.map(|found| Overview {
        unmatched_because: why_unmatched(&found.alert, layers),
        ..found
    }))
}

fn overview(connection: &Connection, alert: Alert) -> rusqlite::Result<Overview> {
    let number = alert.number;
    let count = |sql: &str| -> rusqlite::Result<u64> {
        let count: i64 = connection
            .prepare_cached(sql)?
            .query_row([number], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    };
    let matches = match alert.subject {
        AlertSubject::Listings(ListingKind::Property) => {
            "SELECT count(*) FROM property_matches WHERE alert = ?1"
        }
        AlertSubject::Listings(ListingKind::Advert) => {
            "SELECT count(*) FROM advert_matches WHERE alert = ?1"
        }
        AlertSubject::OpenData(_) => "SELECT count(*) FROM open_data_matches WHERE alert = ?1",
    };
    let waiting = "SELECT count(*) FROM outbox WHERE delivery IS NULL AND alert = ?1";
    let mut deliveries = DeliveryStatus::ALL.map(|status| (status, 0));
    let mut statement = connection.prepare_cached(
        "SELECT status, count(*) FROM deliveries WHERE alert = ?1 GROUP BY status",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let status = DeliveryStatus::parse(row.get_ref(0)?.as_str()?);
        for (known, count) in &mut deliveries {
            if status == Some(*known) {
                *count = row.get::<_, i64>(1)?.unsigned_abs();
            }
        }
    }
    let failing_since: Option<i64> = connection
        .prepare_cached(
            "SELECT since_ms FROM failing_endpoints WHERE account_id = ?1 AND webhook_url = ?2",
        )?
        .query_row((alert.account.to_string(), &alert.webhook_url), |row| {
            row.get(0)
        })
        .optional()?;
    Ok(Overview {
        matches: count(matches)?,
        waiting: count(waiting)?,
        deliveries,
        failing_since: failing_since
            .and_then(DateTime::<Utc>::from_timestamp_millis)
            .map(Timestamp::new),
        unmatched_because: None,
        alert,
    })
}
