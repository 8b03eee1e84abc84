//! Alerts as stored, and how their columns are read.

use chrono::{DateTime, Utc};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Row};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::request::match_kinds;
pub use crate::subject::AlertSubject;
use crate::subject::DeliverySubject;
use toise_contract::enums::{
    EnumAdvertAlertMatch, EnumAlertMatch, EnumOpenDataAlertMatch, WireEnum,
};
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::deliveries::AlertContext;
use toise_contract::listings::filters::ListingKind;
use toise_opendata::Dataset;

/// A saved search.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Row number in the store.
    pub number: i64,
    /// Identifier, both `alert_id` and `flxId` of the contract.
    pub id: FlxId,
    /// Account that owns it.
    pub account: Uuid,
    /// Subject of the alert's search.
    pub subject: AlertSubject,
    /// Why it is inactive; `None` if it is active.
    pub deactivated: Option<DeactivationReason>,
    /// The search as sent.
    pub search_query: Value,
    /// URL that matches are posted to.
    pub webhook_url: String,
    /// Display name.
    pub search_name: String,
    /// Match kinds it subscribes to.
    pub match_kinds: Vec<&'static str>,
    /// Metadata that its deliveries echo.
    pub context: Option<AlertContext>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change, by the account, an operator or the dispatcher.
    pub updated_at: Timestamp,
}

toise_base::named! {
    /// Why an alert is inactive.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeactivationReason {
        /// Its owner deleted it.
        Deleted = "deleted",
        /// Its receiver responded with 410.
        Gone = "gone",
        /// All attempts at its receiver failed for days.
        Failing = "failing",
    }
}

/// The events that an alert wants to be notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// First matches.
    pub created: bool,
    /// Events on items it has matched before; for open data, corrections.
    pub followed: bool,
}

impl Alert {
    /// Returns the alert as JSON for responses.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "alert_id": self.id,
            "flxId": self.id,
            "activated": self.deactivated.is_none(),
            "search_query": self.search_query,
            "webhook_url": self.webhook_url,
            "search_name": self.search_name,
            "match": self.match_kinds,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        });
        if let Some(context) = &self.context {
            object["context"] = json!(context);
        }
        object
    }
}

/// Returns the sequence of the last change of any alert; 0 if there is none.
pub(super) fn last_change(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(change), 0) FROM alerts")?
        .query_row([], |row| row.get(0))
}

/// The columns that [`alert`] reads, in its order.
pub(super) const COLUMNS: &str = "alert, alert_id, account_id, kind, deactivated_because, search_query, webhook_url, \
     search_name, match_kinds, context, created_at_ms, updated_at_ms";

/// Reads an alert from [`COLUMNS`].
pub(super) fn alert(row: &Row<'_>) -> rusqlite::Result<Alert> {
    let subject = read_subject(row, 3)?;
    let account: String = row.get(2)?;
    let reason: Option<String> = row.get(4)?;
    let known = |reason: String| {
        DeactivationReason::parse(&reason).ok_or_else(|| malformed(4, "unknown reason"))
    };
    let context: Option<String> = row.get(9)?;
    let written = json(row, 8)?;
    let names = written.as_array().into_iter().flatten();
    Ok(Alert {
        number: row.get(0)?,
        id: FlxId(Uuid::from_bytes(row.get(1)?)),
        account: Uuid::try_parse(&account)
            .map_err(|_| malformed(2, "invalid account identifier"))?,
        subject,
        deactivated: reason.map(known).transpose()?,
        search_query: json(row, 5)?,
        webhook_url: row.get(6)?,
        search_name: row.get(7)?,
        match_kinds: names
            .filter_map(|name| match_kinds(subject).value(name.as_str()?))
            .collect(),
        context: context
            .map(|context| serde_json::from_str(&context))
            .transpose()
            .map_err(|_| malformed(9, "no context"))?,
        created_at: moment(row, 10)?,
        updated_at: moment(row, 11)?,
    })
}

/// Reads the subject of an alert from a column.
pub(super) fn read_subject(row: &Row<'_>, column: usize) -> rusqlite::Result<AlertSubject> {
    let kind = row.get_ref(column)?.as_str()?;
    AlertSubject::ALL
        .into_iter()
        .find(|subject| stored_kind(*subject) == kind)
        .ok_or_else(|| malformed(column, "unknown kind of alert"))
}

/// Kind of the rows that are receivers of portfolios.
pub(super) const PORTFOLIO: &str = "PORTFOLIO";

/// Reads the subject of an alert's deliveries from a column.
pub(super) fn read_delivery_subject(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<DeliverySubject> {
    if row.get_ref(column)?.as_str()? == PORTFOLIO {
        return Ok(DeliverySubject::Portfolio);
    }
    read_subject(row, column).map(DeliverySubject::Alert)
}

/// Returns the stored name of an alert's subject.
pub(super) fn stored_kind(subject: AlertSubject) -> &'static str {
    match subject {
        AlertSubject::Listings(ListingKind::Property) => "PROPERTY",
        AlertSubject::Listings(ListingKind::Advert) => "ADVERT",
        AlertSubject::OpenData(Dataset::Dvf) => "DVF",
        AlertSubject::OpenData(Dataset::Dpe) => "DPE",
    }
}

/// Returns the events that an alert with these match kinds wants.
pub(super) fn read_subscription(match_kinds: &Value) -> Subscription {
    let has = |kind: &str| {
        let mut kinds = match_kinds.as_array().into_iter().flatten();
        kinds.any(|known| known == kind)
    };
    Subscription {
        created: has(EnumAlertMatch::Created.as_str()),
        followed: has(EnumAlertMatch::Merged.as_str())
            || has(EnumAdvertAlertMatch::AdvertEvent.as_str())
            || has(EnumOpenDataAlertMatch::Changed.as_str()),
    }
}

fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Value> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|_| malformed(column, "no JSON"))
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let moment = DateTime::<Utc>::from_timestamp_millis(row.get(column)?);
    let moment = moment.ok_or_else(|| malformed(column, "no moment"))?;
    Ok(Timestamp::new(moment))
}

fn malformed(column: usize, what: &'static str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, what.into())
}
