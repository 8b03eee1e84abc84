//! Parses requests about existing alerts and their deliveries: pages of lists, replays, previews.
//!
//! The OpenAPI document is generated from the same tables, so the texts here are part of the contract. Creating and
//! changing alerts is in `super`.

use serde_json::Value;
use uuid::Uuid;

use crate::delivery::DeliveryStatus;
use crate::request::alert_table;
use crate::subject::AlertSubject;
use toise_contract::dates::{DATE_RULE, DateOrInstant};
use toise_contract::fault::Fault;
use toise_contract::fields::{DefaultValue, Field, FieldKind, Own, Values, read, read_query};
use toise_contract::filter::Filter;
use toise_contract::listings::filters::bodies::search_query;
use toise_contract::listings::filters::{ListingKind, ListingSearch, parse_saved_search};
use toise_contract::walk::JsonPath;
use toise_opendata::Dataset;

/// Maximum entries per page.
pub const TAKE_MAX: usize = 100;
/// Default entries per page.
pub const TAKE_DEFAULT: usize = 20;
/// Maximum entries a page may skip; each skipped entry is still read.
pub const SKIP_MAX: usize = 1_000_000;
/// Maximum number of items in a replay; also the default.
pub const REPLAY_ITEMS_MAX: usize = 10_000;
/// Maximum days a preview may look back, including today.
pub const PREVIEW_DAYS_MAX: usize = 365;
/// Default days a preview looks back.
pub const PREVIEW_DAYS_DEFAULT: usize = 30;

const SKIP: Field = Field::optional(
    "skip",
    FieldKind::Integer(0, SKIP_MAX as i64),
    "Number of entries to skip",
)
.or(DefaultValue::Integer(0));
const TAKE: Field = Field::optional(
    "take",
    FieldKind::Integer(1, TAKE_MAX as i64),
    "Maximum number of entries",
)
.or(DefaultValue::Integer(TAKE_DEFAULT as i64));

/// The query of a page of a list.
pub static PAGE: [Field; 2] = [SKIP, TAKE];

/// The query of an operator's list of alerts.
pub static ALERT_LIST: [Field; 3] = [
    Field::optional(
        "account_id",
        FieldKind::Uuid,
        "Only the alerts of this account",
    ),
    SKIP,
    TAKE,
];

/// The query of a list of deliveries.
pub static DELIVERIES: [Field; 3] = [
    SKIP,
    TAKE,
    Field::optional(
        "status",
        FieldKind::OneOf(&DeliveryStatus::NAMES),
        "Only deliveries with this status",
    ),
];

/// The body of a replay.
pub static REPLAY: [Field; 3] = [
    Field::required("from", FieldKind::Moment, "")
        .about(|| format!("Start of the window, included; {DATE_RULE}")),
    Field::required("to", FieldKind::Moment, "").about(|| {
        format!(
            "End of the window, included; a date without a time means that whole day; {DATE_RULE}"
        )
    }),
    Field::optional(
        "max_items",
        FieldKind::Integer(1, REPLAY_ITEMS_MAX as i64),
        "Maximum number of items; the oldest are sent",
    )
    .or(DefaultValue::Integer(REPLAY_ITEMS_MAX as i64)),
];

/// Returns the fields of the body of a preview. A preview on open data searches all records, regardless of their age.
pub fn preview_table(subject: impl Into<AlertSubject>) -> &'static [Field] {
    static PROPERTY: [Field; 2] = preview(search_query(ListingKind::Property));
    static ADVERT: [Field; 2] = preview(search_query(ListingKind::Advert));
    match subject.into() {
        AlertSubject::Listings(ListingKind::Property) => &PROPERTY,
        AlertSubject::Listings(ListingKind::Advert) => &ADVERT,
        // The search is the first field of the body that creates an alert.
        subject @ AlertSubject::OpenData(_) => &alert_table(subject)[..1],
    }
}

const fn preview(query: &'static Own) -> [Field; 2] {
    let days = FieldKind::Integer(1, PREVIEW_DAYS_MAX as i64);
    [
        Field::required("search_query", FieldKind::Own(query), ""),
        Field::optional("days", days, "Number of days to look back, including today")
            .or(DefaultValue::Integer(PREVIEW_DAYS_DEFAULT as i64)),
    ]
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageParams {
    /// Number of entries to skip, at most [`SKIP_MAX`].
    pub skip: usize,
    /// Maximum number of entries to return, from 1 to [`TAKE_MAX`].
    pub take: usize,
}

/// The parsed body of a replay: the past window whose notifications are to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRequest {
    /// Start, Unix milliseconds, inclusive.
    pub from_ms: i64,
    /// End, Unix milliseconds, inclusive.
    pub to_ms: i64,
    /// Maximum number of items, from 1 to [`REPLAY_ITEMS_MAX`]; if there are more, the oldest are sent.
    pub items_max: usize,
}

/// A search to try on recent listings.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewRequest {
    /// The parsed search; for adverts, without texts.
    pub search: ListingSearch,
    /// Days to look back, including today, from 1 to [`PREVIEW_DAYS_MAX`].
    pub days: usize,
}

/// Parses the query of a page: `skip`, `take`.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_page(query: &[(String, String)]) -> Result<PageParams, Fault> {
    Ok(page(&mut read_query(query, &PAGE)?))
}

/// Parses the query of an operator's list of alerts: `account_id`, `skip`, `take`. Without `account_id`, the alerts of
/// all accounts are listed.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_alert_list(query: &[(String, String)]) -> Result<(Option<Uuid>, PageParams), Fault> {
    let mut values = read_query(query, &ALERT_LIST)?;
    Ok((values.take("account_id"), page(&mut values)))
}

/// Parses the query of a list of deliveries: `skip`, `take`, `status`. Without `status`, deliveries of every status are
/// listed.
///
/// # Errors
/// The first fault in the order of the query.
pub fn parse_deliveries(
    query: &[(String, String)],
) -> Result<(Option<DeliveryStatus>, PageParams), Fault> {
    let mut values = read_query(query, &DELIVERIES)?;
    let status = values.word("status").and_then(DeliveryStatus::parse);
    Ok((status, page(&mut values)))
}

/// Parses the body of a replay: `{from, to, max_items?}`. A date without time as `to` includes that whole day.
///
/// # Errors
/// The first fault in document order; then missing keys; then a `from` after `to`.
pub fn parse_replay(body: &Value) -> Result<ReplayRequest, Fault> {
    let at = JsonPath::Body;
    let mut values = read(body, &REPLAY, at)?;
    let (from, to): (DateOrInstant, DateOrInstant) =
        (values.require("from")?, values.require("to")?);
    if from.is_after(to) {
        return Err(JsonPath::Key(&at, "from").fault("must not be after to"));
    }
    Ok(ReplayRequest {
        from_ms: from.first_millisecond(),
        to_ms: to.last_millisecond(),
        items_max: values.take("max_items").unwrap_or(REPLAY_ITEMS_MAX),
    })
}

/// Parses the body of a preview: `{search_query, days?}`.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_preview(listing: ListingKind, body: &Value) -> Result<PreviewRequest, Fault> {
    let mut values = read(body, preview_table(listing), JsonPath::Body)?;
    // Validates the search with the rest of the body. The preview parses it again below in the form it needs.
    values.require::<Filter>("search_query")?;
    Ok(PreviewRequest {
        search: parse_saved_search(listing, &body["search_query"])?,
        days: values.take("days").unwrap_or(PREVIEW_DAYS_DEFAULT),
    })
}

/// Parses the body of a preview of an alert on open data: `{search_query}`. Returns its filter.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_open_data_preview(dataset: Dataset, body: &Value) -> Result<Filter, Fault> {
    read(body, preview_table(dataset), JsonPath::Body)?.require("search_query")
}

fn page(values: &mut Values<'_>) -> PageParams {
    PageParams {
        skip: values.take("skip").unwrap_or(0),
        take: values.take("take").unwrap_or(TAKE_DEFAULT),
    }
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
        assert_eq!(page(""), Ok(PageParams { skip: 0, take: 20 }));
        assert_eq!(
            page("take=100&skip=7"),
            Ok(PageParams { skip: 7, take: 100 })
        );
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
        let page = PageParams { skip: 0, take: 3 };
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
        #[rustfmt::skip]
        let cases = [
            (json!({"from": "2026-01-02", "to": "2026-01-01"}), "from: must not be after to"),
            (json!({"from": "2026-01-02"}), "to: is required"),
            (json!({"to": "soon"}), "to: must be an ISO 8601 date"),
            (json!({"max_items": 0}), "max_items: must be an integer between 1 and 10000"),
            (json!({"since": 1}), "since: unknown field; must be one of: from, to, max_items"),
        ];
        for (body, message) in cases {
            let refused = parse_replay(&body).unwrap_err().to_string();
            assert!(refused.starts_with(message), "{refused}");
        }
    }

    #[test]
    fn a_preview_is_rejected_like_a_search() {
        let body = json!({"search_query": {"filterAd": {"isOnline": true}}, "days": 7});
        let request = parse_preview(ListingKind::Advert, &body).unwrap();
        assert_eq!((request.days, request.search.filter.len()), (7, 1));
        let body = json!({"search_query": {"filterAd": {}, "keywords": ["mer"]}});
        let request = parse_preview(ListingKind::Advert, &body).unwrap();
        assert_eq!(request.search.keywords, ["mer"]);
        #[rustfmt::skip]
        let cases = [
            (json!({}), "search_query: is required"),
            (json!({"search_query": {"filterAd": {}, "keywords": "mer"}}), "search_query.keywords: must be an array"),
            (json!({"search_query": {"filterAd": {"isOnline": 1}}}), "search_query.filterAd.isOnline:"),
            (json!({"search_query": {"filterProperty": {}}}), "search_query.filterProperty: unknown field"),
            (json!({"days": 366}), "days: must be an integer between 1 and 365"),
        ];
        for (body, message) in cases {
            let refused = parse_preview(ListingKind::Advert, &body)
                .unwrap_err()
                .to_string();
            assert!(refused.starts_with(message), "{refused}");
        }
    }
}
