//! An alert as the store keeps it, and how its columns are read.

use chrono::{DateTime, Utc};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, Row};
use serde_json::{Value, json};
use uuid::Uuid;

use super::percolate::index::Wants;
use crate::request::match_kinds;
use toise_contract::enums::{EnumAdvertAlertMatch, EnumAlertMatch, WireEnum};
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::deliveries::AlertContext;
use toise_contract::listings::filters::Listing;

/// A saved search.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Its number in the store.
    pub number: i64,
    /// Its identifier, both `alert_id` and `flxId` of the contract.
    pub id: FlxId,
    /// The account it belongs to.
    pub account: Uuid,
    /// What it is about.
    pub listing: Listing,
    /// Why it is not active; `None` for one that is.
    pub deactivated: Option<Reason>,
    /// The search as it was sent.
    pub search_query: Value,
    /// Where matches are posted.
    pub webhook_url: String,
    /// Its name, for people.
    pub search_name: String,
    /// Kinds of match it subscribes to.
    pub match_kinds: Vec<&'static str>,
    /// What deliveries echo.
    pub context: Option<AlertContext>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed, by whatever hand.
    pub updated_at: Timestamp,
}

/// Why an alert is not active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its owner ended it.
    Deleted,
    /// Its receiver answered 410.
    Gone,
    /// Its receiver failed for days.
    Failing,
}

impl Alert {
    /// The alert as answers carry it.
    pub fn answer(&self) -> Value {
        let mut answer = json!({
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
            answer["context"] = json!(context);
        }
        answer
    }
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 3] = [Reason::Deleted, Reason::Gone, Reason::Failing];

    /// As the store spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Deleted => "deleted",
            Reason::Gone => "gone",
            Reason::Failing => "failing",
        }
    }
}

/// Number of the last change of any alert; 0 when there is none.
pub(super) fn last_change(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(change), 0) FROM alerts")?
        .query_row([], |row| row.get(0))
}

/// The columns [`alert`] reads, in its order.
pub(super) const COLUMNS: &str = "alert, alert_id, account_id, kind, deactivated_because, search_query, webhook_url, \
     search_name, match_kinds, context, created_at_ms, updated_at_ms";

/// Reads an alert from [`COLUMNS`].
pub(super) fn alert(row: &Row<'_>) -> rusqlite::Result<Alert> {
    let listing = listing_of(row, 3)?;
    let account: String = row.get(2)?;
    let reason: Option<String> = row.get(4)?;
    let known = |reason: String| {
        let found = Reason::ALL.into_iter().find(|one| one.as_str() == reason);
        found.ok_or_else(|| malformed(4, "no reason known here"))
    };
    let context: Option<String> = row.get(9)?;
    let written = json(row, 8)?;
    let names = written.as_array().into_iter().flatten();
    Ok(Alert {
        number: row.get(0)?,
        id: FlxId(Uuid::from_bytes(row.get(1)?)),
        account: Uuid::try_parse(&account).map_err(|_| malformed(2, "no account's identifier"))?,
        listing,
        deactivated: reason.map(known).transpose()?,
        search_query: json(row, 5)?,
        webhook_url: row.get(6)?,
        search_name: row.get(7)?,
        match_kinds: names
            .filter_map(|name| match_kinds(listing).value(name.as_str()?))
            .collect(),
        context: context
            .map(|context| serde_json::from_str(&context))
            .transpose()
            .map_err(|_| malformed(9, "no context"))?,
        created_at: moment(row, 10)?,
        updated_at: moment(row, 11)?,
    })
}

/// What a column says an alert is about.
pub(super) fn listing_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Listing> {
    let kind = row.get_ref(column)?.as_str()?;
    [Listing::Property, Listing::Advert]
        .into_iter()
        .find(|listing| kind_of(*listing) == kind)
        .ok_or_else(|| malformed(column, "no kind of alert"))
}

/// As the store spells what an alert is about.
pub(super) fn kind_of(listing: Listing) -> &'static str {
    match listing {
        Listing::Property => "PROPERTY",
        Listing::Advert => "ADVERT",
    }
}

/// What an alert that subscribes to these kinds of match wants to be told.
pub(super) fn wants(match_kinds: &Value) -> Wants {
    let has = |kind: &str| {
        let mut kinds = match_kinds.as_array().into_iter().flatten();
        kinds.any(|known| known == kind)
    };
    Wants {
        created: has(EnumAlertMatch::Created.as_str()),
        followed: has(EnumAlertMatch::Merged.as_str())
            || has(EnumAdvertAlertMatch::AdvertEvent.as_str()),
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
