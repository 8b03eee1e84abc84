//! Parses requests about alerts: pages of history and deliveries, replays, previews.

use serde_json::Value;
use uuid::Uuid;

use super::required;
use crate::delivery::DeliveryStatus;
use toise_contract::dates::{DATE_RULE, Moment};
use toise_contract::fault::Fault;
use toise_contract::filter::Filter;
use toise_contract::listings::filters::{Listing, parse_search_query};
use toise_contract::walk::{At, number_between, object, text};

/// Maximum entries per page.
pub const TAKE_MAX: usize = 100;
/// Default entries per page.
pub const TAKE_DEFAULT: usize = 20;
/// Maximum entries a page may skip; each skipped entry is still read.
pub const SKIP_MAX: usize = 1_000_000;
/// Maximum and default number of items in a replay.
pub const REPLAY_ITEMS_MAX: usize = 10_000;
/// Maximum days a preview may look back, including today.
pub const PREVIEW_DAYS_MAX: usize = 365;
/// Default days a preview looks back.
pub const PREVIEW_DAYS_DEFAULT: usize = 30;

/// Query parameters of a page.
pub const PAGE_PARAMETERS: [&str; 2] = ["skip", "take"];
/// Query parameters of an operator's list of alerts.
pub const ALERT_LIST_PARAMETERS: [&str; 3] = ["account_id", "skip", "take"];
/// Query parameters of a list of deliveries.
pub const DELIVERIES_PARAMETERS: [&str; 3] = ["skip", "take", "status"];
/// Body keys of a replay.
pub const REPLAY_KEYS: [&str; 3] = ["from", "to", "max_items"];
/// Body keys of a preview.
pub const PREVIEW_KEYS: [&str; 2] = ["search_query", "days"];

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Number of entries to skip.
    pub skip: usize,
    /// Maximum number of entries, at most [`TAKE_MAX`].
    pub take: usize,
}

impl Default for Page {
    /// The first page.
    fn default() -> Self {
        Self {
            skip: 0,
            take: TAKE_DEFAULT,
        }
    }
}

/// A window of time to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRequest {
    /// First moment, Unix milliseconds, inclusive.
    pub from_ms: i64,
    /// Last moment, Unix milliseconds, inclusive.
    pub to_ms: i64,
    /// Maximum number of items; the oldest are sent.
    pub items_max: usize,
}

/// A search to try on recent listings.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewRequest {
    /// The parsed filter.
    pub filter: Filter,
    /// Days to look back, including today.
    pub days: usize,
}

/// Parses the query of a page: `skip`, `take`.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_page(query: &[(String, String)]) -> Result<Page, Fault> {
    let mut page = Page::default();
    for (name, value) in query {
        if !set(&mut page, name, value)? {
            return Err(unknown(name, &PAGE_PARAMETERS));
        }
    }
    Ok(page)
}

/// Parses the query of an operator's list of alerts: `account_id`, `skip`, `take`.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_alert_list(query: &[(String, String)]) -> Result<(Option<Uuid>, Page), Fault> {
    let (mut account, mut page) = (None, Page::default());
    for (name, value) in query {
        if name == "account_id" {
            let id = Uuid::try_parse(value).map_err(|_| Fault::new(name, "must be a UUID"))?;
            account = Some(id);
        } else if !set(&mut page, name, value)? {
            return Err(unknown(name, &ALERT_LIST_PARAMETERS));
        }
    }
    Ok((account, page))
}

/// Parses the query of a list of deliveries: `skip`, `take`, `status`.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_deliveries(
    query: &[(String, String)],
) -> Result<(Option<DeliveryStatus>, Page), Fault> {
    let (mut status, mut page) = (None, Page::default());
    for (name, value) in query {
        if name == "status" {
            status = Some(DeliveryStatus::parse(value).ok_or_else(|| {
                let known = DeliveryStatus::ALL.map(DeliveryStatus::as_str);
                Fault::new(name, format!("must be one of: {}", known.join(", ")))
            })?);
        } else if !set(&mut page, name, value)? {
            return Err(unknown(name, &DELIVERIES_PARAMETERS));
        }
    }
    Ok((status, page))
}

/// Parses the body of a replay: `{from, to, max_items?}`. A date without time as `to` includes that whole day.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_replay(body: &Value) -> Result<ReplayRequest, Fault> {
    let at = At::Body;
    let (mut from, mut to, mut items_max) = (None, None, REPLAY_ITEMS_MAX);
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "from" => from = Some(moment(value, here)?),
            "to" => to = Some(moment(value, here)?),
            "max_items" => items_max = whole(value, REPLAY_ITEMS_MAX, here)?,
            _ => return Err(at.unknown_key(key, REPLAY_KEYS)),
        }
    }
    let (from, to) = (required(from, "from", at)?, required(to, "to", at)?);
    if from.is_after(to) {
        return Err(At::Key(&at, "from").fault("must not be after to"));
    }
    Ok(ReplayRequest {
        from_ms: from.first_millisecond(),
        to_ms: to.last_millisecond(),
        items_max,
    })
}

/// Parses the body of a preview: `{search_query, days?}`.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_preview(listing: Listing, body: &Value) -> Result<PreviewRequest, Fault> {
    let at = At::Body;
    let (mut filter, mut days) = (None, PREVIEW_DAYS_DEFAULT);
    for (key, value) in object(body, at)? {
        match key.as_str() {
            "search_query" => filter = Some(parse_search_query(listing, value)?),
            "days" => days = whole(value, PREVIEW_DAYS_MAX, At::Key(&at, key))?,
            _ => return Err(at.unknown_key(key, PREVIEW_KEYS)),
        }
    }
    Ok(PreviewRequest {
        filter: required(filter, "search_query", at)?,
        days,
    })
}

/// Parses a parameter of a page; returns false if `name` is not one.
fn set(page: &mut Page, name: &str, value: &str) -> Result<bool, Fault> {
    let (place, least, greatest) = match name {
        "skip" => (&mut page.skip, 0, SKIP_MAX),
        "take" => (&mut page.take, 1, TAKE_MAX),
        _ => return Ok(false),
    };
    let number = value.parse().ok();
    *place = number
        .filter(|number| (least..=greatest).contains(number))
        .ok_or_else(|| {
            let rule = format!("must be an integer between {least} and {greatest}");
            Fault::new(name, rule)
        })?;
    Ok(true)
}

fn unknown(name: &str, known: &[&str]) -> Fault {
    let rule = format!("unknown parameter; must be one of: {}", known.join(", "));
    At::Key(&At::Body, name).fault(rule)
}

/// Parses a whole number from 1 to `greatest`.
fn whole(value: &Value, greatest: usize, at: At<'_>) -> Result<usize, Fault> {
    let number = number_between(value, 1.0, greatest as f64, true, at)?;
    Ok(number as usize)
}

fn moment(value: &Value, at: At<'_>) -> Result<Moment, Fault> {
    Moment::parse(text(value, at)?).ok_or_else(|| at.fault(DATE_RULE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toise_contract::query::pairs;

    #[test]
    fn a_page_has_limits_and_defaults() {
        let page =
            |query: &str| parse_page(&pairs(query).unwrap()).map_err(|fault| fault.to_string());
        assert_eq!(page(""), Ok(Page { skip: 0, take: 20 }));
        assert_eq!(page("take=100&skip=7"), Ok(Page { skip: 7, take: 100 }));
        for (query, message) in [
            ("take=0", "take: must be an integer between 1 and 100"),
            ("take=101", "take: must be an integer between 1 and 100"),
            ("skip=-1", "skip: must be an integer between 0 and 1000000"),
            ("skip=x&take=0", "skip: must be an integer"),
            (
                "page=1",
                "page: unknown parameter; must be one of: skip, take",
            ),
            ("status=dead", "status: unknown parameter"),
        ] {
            let refused = page(query).unwrap_err();
            assert!(refused.starts_with(message), "{refused}");
        }
    }

    #[test]
    fn deliveries_are_listed_by_status() {
        let parse = |query: &str| parse_deliveries(&pairs(query).unwrap());
        let page = Page { skip: 0, take: 3 };
        assert_eq!(
            parse("status=dead&take=3"),
            Ok((Some(DeliveryStatus::Dead), page))
        );
        let refused = parse("status=lost").unwrap_err().to_string();
        assert_eq!(
            refused,
            "status: must be one of: pending, delivered, failed, dead"
        );
    }

    #[test]
    fn a_replay_window_includes_its_whole_last_day() {
        let body = json!({"from": "1970-01-02", "to": "1970-01-02", "max_items": 5});
        let expected = ReplayRequest {
            from_ms: 86_400_000,
            to_ms: 2 * 86_400_000 - 1,
            items_max: 5,
        };
        assert_eq!(parse_replay(&body), Ok(expected));
        for (body, message) in [
            (
                json!({"from": "2026-01-02", "to": "2026-01-01"}),
                "from: must not be after to",
            ),
            (json!({"from": "2026-01-02"}), "to: is required"),
            (json!({"to": "soon"}), "to: must be an ISO 8601 date"),
            (
                json!({"max_items": 0}),
                "max_items: must be an integer between 1 and 10000",
            ),
            (
                json!({"since": 1}),
                "since: unknown field; must be one of: from, to, max_items",
            ),
        ] {
            let refused = parse_replay(&body).unwrap_err().to_string();
            assert!(refused.starts_with(message), "{refused}");
        }
    }

    #[test]
    fn a_preview_is_rejected_like_a_search() {
        let body = json!({"search_query": {"filterAd": {"isOnline": true}}, "days": 7});
        let request = parse_preview(Listing::Advert, &body).unwrap();
        assert_eq!((request.days, request.filter.len()), (7, 1));
        for (body, message) in [
            (json!({}), "search_query: is required"),
            (
                json!({"search_query": {"filterAd": {"isOnline": 1}}}),
                "search_query.filterAd.isOnline:",
            ),
            (
                json!({"search_query": {"filterProperty": {}}}),
                "search_query.filterProperty: unknown field",
            ),
            (
                json!({"days": 366}),
                "days: must be an integer between 1 and 365",
            ),
        ] {
            let refused = parse_preview(Listing::Advert, &body)
                .unwrap_err()
                .to_string();
            assert!(refused.starts_with(message), "{refused}");
        }
    }
}
