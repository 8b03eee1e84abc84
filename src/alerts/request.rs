//! Parses the bodies that create or change alerts: SaveSearchPropertiesPayload, SaveSearchAdvertsPayload, those of
//! open data, lists of them, and partial ones.
//!
//! The search is parsed like any search, so an alert is rejected for exactly the same reasons. Whether the webhook URL
//! may be called is not checked here, because that needs the network.

pub mod queries;

use serde_json::Value;

use crate::subject::AlertSubject;
use toise_contract::enums::{
    EnumAdvertAlertMatch, EnumAlertMatch, EnumOpenDataAlertMatch, Enumeration, WireEnum,
};
use toise_contract::fault::Fault;
use toise_contract::fields::schema::reference;
use toise_contract::fields::{
    Field, FieldKind, ListOf, Own, Taken, Values, read, read_change, refuse_long,
};
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_contract::listings::deliveries::AlertContext;
use toise_contract::listings::filters::bodies::SEARCH_TEXTS;
use toise_contract::listings::filters::{ListingKind, parse_saved_search};
use toise_contract::walk::JsonPath;
use toise_net::egress::URL_CHARS_MAX;
use toise_opendata::Dataset;
use toise_opendata::request as open_data;

/// Maximum alerts in one call.
pub const ALERTS_MAX: usize = 100;
/// Maximum length of an alert's name, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Maximum size of an alert's metadata, bytes of JSON; every delivery repeats it.
pub const METADATA_BYTES_MAX: usize = 16_384;

/// Maximum size of an alert's search, bytes of JSON. Every process holds the active ones, and every list repeats them.
pub const SEARCH_QUERY_BYTES_MAX: usize = 65_536;

/// The search of an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedSearch {
    /// The search as sent.
    pub sent: Value,
    /// The parsed filter.
    pub filter: Filter,
    /// Number of its keywords and full texts.
    pub texts: usize,
}

/// An alert to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAlert {
    /// The search.
    pub search: SavedSearch,
    /// URL that matches are posted to; only its syntax has been checked.
    pub webhook_url: String,
    /// Match kinds it subscribes to, at least one, by their names in the contract.
    pub match_kinds: Vec<&'static str>,
    /// Display name.
    pub search_name: String,
    /// Metadata that its deliveries echo.
    pub context: Option<AlertContext>,
}

/// Changes to an alert; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertPatch {
    /// The search.
    pub search: Option<SavedSearch>,
    /// URL that matches are posted to; only its syntax has been checked.
    pub webhook_url: Option<String>,
    /// Match kinds it subscribes to, at least one, by their names in the contract.
    pub match_kinds: Option<Vec<&'static str>>,
    /// Display name.
    pub search_name: Option<String>,
    /// Metadata that its deliveries echo; an empty object removes it.
    pub context: Option<Option<AlertContext>>,
}

/// Returns the match kinds that alerts on these records may subscribe to.
pub fn match_kinds(subject: impl Into<AlertSubject>) -> &'static Enumeration {
    match subject.into() {
        AlertSubject::Listings(ListingKind::Property) => EnumAlertMatch::TABLE,
        AlertSubject::Listings(ListingKind::Advert) => EnumAdvertAlertMatch::TABLE,
        AlertSubject::OpenData(_) => EnumOpenDataAlertMatch::TABLE,
    }
}

/// Meaning of the match kinds of alerts on open data.
const OPEN_DATA_KINDS_ABOUT: &str =
    "What is reported: a new record that matches, or a corrected record that matches";

static CONTEXT: [Field; 1] = [
    Field::optional("metadata", FieldKind::Free(METADATA_BYTES_MAX), "")
        .about(|| format!("Any keys and values, at most {METADATA_BYTES_MAX} bytes of JSON")),
];

/// Returns the fields of the body that creates an alert. A body that changes an alert may have any of them.
pub fn alert_table(subject: impl Into<AlertSubject>) -> &'static [Field] {
    static PROPERTY_SEARCH: Own = Own {
        read: |value, at| saved_search(ListingKind::Property, value, at),
        schema: |_| reference("FilterPropertyQuery"),
    };
    static PROPERTY_KINDS: ListOf = kinds(EnumAlertMatch::TABLE);
    static PROPERTY: [Field; 5] = alert(
        &PROPERTY_SEARCH,
        &PROPERTY_KINDS,
        "What is reported: a property that qualifies for the first time, or a new advert that joins a matched property",
    );
    static ADVERT_SEARCH: Own = Own {
        read: |value, at| saved_search(ListingKind::Advert, value, at),
        schema: |_| reference("FilterAdvertQuery"),
    };
    static ADVERT_KINDS: ListOf = kinds(EnumAdvertAlertMatch::TABLE);
    static ADVERT: [Field; 5] = alert(
        &ADVERT_SEARCH,
        &ADVERT_KINDS,
        "What is reported: an advert that qualifies for the first time, or events on a matched advert. If only \
         events are reported, the first match is recorded without a notification, so that later events are reported",
    );
    static DVF_SEARCH: Own = Own {
        read: |value, at| saved_open_data(Dataset::Dvf, value, at),
        schema: |_| reference("FilterDvfQuery"),
    };
    static OPEN_DATA_KINDS: ListOf = kinds(EnumOpenDataAlertMatch::TABLE);
    static DVF: [Field; 5] = alert(&DVF_SEARCH, &OPEN_DATA_KINDS, OPEN_DATA_KINDS_ABOUT);
    static DPE_SEARCH: Own = Own {
        read: |value, at| saved_open_data(Dataset::Dpe, value, at),
        schema: |_| reference("FilterDpeQuery"),
    };
    static DPE: [Field; 5] = alert(&DPE_SEARCH, &OPEN_DATA_KINDS, OPEN_DATA_KINDS_ABOUT);
    match subject.into() {
        AlertSubject::Listings(ListingKind::Property) => &PROPERTY,
        AlertSubject::Listings(ListingKind::Advert) => &ADVERT,
        AlertSubject::OpenData(Dataset::Dvf) => &DVF,
        AlertSubject::OpenData(Dataset::Dpe) => &DPE,
    }
}

/// Returns the fields of the body that creates several alerts.
pub fn alerts_table(subject: impl Into<AlertSubject>) -> &'static [Field] {
    static PROPERTY_ITEMS: ListOf = items("SaveSearchPropertiesPayload");
    static PROPERTY: [Field; 1] = alerts(&PROPERTY_ITEMS);
    static ADVERT_ITEMS: ListOf = items("SaveSearchAdvertsPayload");
    static ADVERT: [Field; 1] = alerts(&ADVERT_ITEMS);
    static DVF_ITEMS: ListOf = items("SaveSearchDvfPayload");
    static DVF: [Field; 1] = alerts(&DVF_ITEMS);
    static DPE_ITEMS: ListOf = items("SaveSearchDpePayload");
    static DPE: [Field; 1] = alerts(&DPE_ITEMS);
    match subject.into() {
        AlertSubject::Listings(ListingKind::Property) => &PROPERTY,
        AlertSubject::Listings(ListingKind::Advert) => &ADVERT,
        AlertSubject::OpenData(Dataset::Dvf) => &DVF,
        AlertSubject::OpenData(Dataset::Dpe) => &DPE,
    }
}

const fn kinds(enumeration: &'static Enumeration) -> ListOf {
    ListOf {
        item: FieldKind::Enum(enumeration),
        least: 1,
        most: None,
    }
}

const fn alert(
    search: &'static Own,
    kinds: &'static ListOf,
    about_kinds: &'static str,
) -> [Field; 5] {
    [
        Field::required("search_query", FieldKind::Own(search), ""),
        Field::required(
            "webhook_url",
            FieldKind::Address(URL_CHARS_MAX),
            "URL that matches are posted to: https, with a public host that resolves. The URL is checked again at \
             every delivery; redirects are not followed",
        ),
        Field::required("match", FieldKind::List(kinds), about_kinds),
        Field::required(
            "search_name",
            FieldKind::Words(NAME_CHARS_MAX),
            "Its name, for display",
        ),
        Field::optional(
            "context",
            FieldKind::Object(&CONTEXT),
            "Data that deliveries echo in addition to the alert's identifier; an empty object means none",
        ),
    ]
}

const fn items(payload: &'static str) -> ListOf {
    ListOf {
        item: FieldKind::Later(payload),
        least: 1,
        most: Some(ALERTS_MAX),
    }
}

const fn alerts(items: &'static ListOf) -> [Field; 1] {
    let about = "Alerts; each is accepted or refused on its own";
    [Field::required("alerts", FieldKind::List(items), about)]
}

/// Parses the body that creates an alert.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_alert(subject: impl Into<AlertSubject>, body: &Value) -> Result<NewAlert, Fault> {
    let mut values = read(body, alert_table(subject), JsonPath::Body)?;
    let filter = values.require("search_query")?;
    Ok(NewAlert {
        search: saved(filter, body),
        webhook_url: values.require("webhook_url")?,
        match_kinds: take_match_kinds(&mut values).unwrap_or_default(),
        search_name: values.require("search_name")?,
        context: take_context(&mut values).flatten(),
    })
}

/// Parses the body that creates several alerts, `{alerts: […]}`. Each is accepted or rejected independently, with fault
/// paths relative to its own body.
///
/// # Errors
/// The first fault of the list itself.
pub fn parse_alerts(
    subject: impl Into<AlertSubject>,
    body: &Value,
) -> Result<Vec<Result<NewAlert, Fault>>, Fault> {
    let subject = subject.into();
    let alerts: Vec<&Value> =
        read(body, alerts_table(subject), JsonPath::Body)?.require("alerts")?;
    let alerts = alerts.into_iter();
    Ok(alerts.map(|alert| parse_alert(subject, alert)).collect())
}

/// Parses the body that changes an alert. It may have any of the keys; a null leaves a field unchanged.
///
/// # Errors
/// The first fault in document order.
pub fn parse_patch(subject: impl Into<AlertSubject>, body: &Value) -> Result<AlertPatch, Fault> {
    let mut values = read_change(body, alert_table(subject), JsonPath::Body)?;
    Ok(AlertPatch {
        search: values
            .take("search_query")
            .map(|filter| saved(filter, body)),
        webhook_url: values.take("webhook_url"),
        match_kinds: take_match_kinds(&mut values),
        search_name: values.take("search_name"),
        context: take_context(&mut values),
    })
}

fn saved_search<'v>(
    listing: ListingKind,
    value: &'v Value,
    at: JsonPath<'_>,
) -> Result<Taken<'v>, Fault> {
    let search = parse_saved_search(listing, value)?;
    refuse_long(value, SEARCH_QUERY_BYTES_MAX, at)?;
    Ok(Taken::Filter(search.filter))
}

fn saved_open_data<'v>(
    dataset: Dataset,
    value: &'v Value,
    at: JsonPath<'_>,
) -> Result<Taken<'v>, Fault> {
    let filter = open_data::parse_saved_search(dataset, value, at)?;
    refuse_long(value, SEARCH_QUERY_BYTES_MAX, at)?;
    Ok(Taken::Filter(filter))
}

fn saved(filter: Filter, body: &Value) -> SavedSearch {
    let sent = body["search_query"].clone();
    let texts = SEARCH_TEXTS
        .iter()
        .filter_map(|field| sent[field.name].as_array());
    SavedSearch {
        texts: texts.map(Vec::len).sum(),
        sent,
        filter,
    }
}

/// Takes the match kinds, each once.
fn take_match_kinds(values: &mut Values<'_>) -> Option<Vec<&'static str>> {
    let items: Vec<Taken<'_>> = values.take("match")?;
    let mut kinds = Vec::with_capacity(items.len());
    for item in items {
        if let Taken::Word(kind) = item
            && !kinds.contains(&kind)
        {
            kinds.push(kind);
        }
    }
    Some(kinds)
}

fn take_context(values: &mut Values<'_>) -> Option<Option<AlertContext>> {
    let mut context: Values<'_> = values.take("context")?;
    let metadata: Option<&Value> = context.take("metadata");
    Some(metadata.map(|metadata| AlertContext {
        metadata: metadata.as_object().cloned(),
    }))
}

/// Counts the conditions in a filter: every bound, place, flag and text counts.
pub fn conditions(filter: &[Clause]) -> usize {
    let of_clause = |clause: &Clause| match &clause.test {
        ClauseTest::OneOf(texts) => texts.len(),
        ClauseTest::Any(filters) => filters.iter().map(|filter| conditions(filter)).sum(),
        ClauseTest::SomeItem(filter) => conditions(filter),
        _ => 1,
    };
    filter.iter().map(of_clause).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        json!({"search_query": {"filterProperty": {"type": ["CLASS_FLAT"], "location": [{"postalCode": "69003"}]}},
            "webhook_url": "https://client.example/hook", "match": ["ALERT_MATCH_CREATED"], "search_name": "Lyon"})
    }

    #[test]
    fn a_body_is_parsed_to_an_alert_with_the_original_search() {
        let mut body = body();
        body["context"] = json!({"metadata": {"customer": 7}});
        let alert = parse_alert(ListingKind::Property, &body).unwrap();
        assert_eq!(alert.search.sent, body["search_query"]);
        assert_eq!(conditions(&alert.search.filter), 2);
        assert_eq!(alert.match_kinds, ["ALERT_MATCH_CREATED"]);
        assert_eq!(alert.context.unwrap().metadata.unwrap()["customer"], 7);
    }

    #[test]
    fn an_alert_is_rejected_like_a_search_and_its_other_fields_are_limited() {
        #[rustfmt::skip]
        let cases = [
            ("search_query", json!({"filterProperty": {"locations": []}}), "search_query.filterProperty.locations:"),
            ("search_query", json!({"filterAd": {}}), "search_query.filterAd: unknown field"),
            ("search_query", json!({}), "search_query.filterProperty: is required"),
            (
                "search_query",
                json!({"filterProperty": {"location": [{"department": "48", "city": {"name": "x".repeat(70_000)}}]}}),
                "search_query: must not exceed 65536 bytes of JSON",
            ),
            ("webhook_url", json!(7), "webhook_url: must be a string"),
            ("match", json!([]), "match: must hold at least one item"),
            (
                "match",
                json!(["ALERT_MATCH_UNKNOWN"]),
                "match[0]: must be one of: ALERT_MATCH_CREATED, ALERT_MATCH_MERGED",
            ),
            ("match", json!(["ALERT_MATCH_ADVERT_EVENT"]), "match[0]: must be one of"),
            ("search_name", json!("  "), "search_name: must hold 1 to 200 characters"),
            ("context", json!({"meta": {}}), "context.meta: unknown field"),
            (
                "context",
                json!({"metadata": {"a": "x".repeat(20_000)}}),
                "context.metadata: must not exceed 16384 bytes",
            ),
            ("active", json!(true), "active: unknown field"),
        ];
        for (key, value, message) in cases {
            let mut body = body();
            body[key] = value;
            let fault = parse_alert(ListingKind::Property, &body)
                .unwrap_err()
                .to_string();
            assert!(fault.starts_with(message), "{fault}");
        }
        for key in ["search_query", "webhook_url", "match", "search_name"] {
            let mut body = body();
            body.as_object_mut().unwrap().remove(key);
            let fault = parse_alert(ListingKind::Property, &body)
                .unwrap_err()
                .to_string();
            assert_eq!(fault, format!("{key}: is required"));
        }
    }

    #[test]
    fn each_of_several_alerts_is_accepted_or_rejected_independently() {
        let alerts = parse_alerts(ListingKind::Property, &json!({"alerts": [body(), {}]})).unwrap();
        assert!(alerts[0].is_ok());
        assert_eq!(
            alerts[1].clone().unwrap_err().to_string(),
            "search_query: is required"
        );
        let none = parse_alerts(ListingKind::Property, &json!({"alerts": []})).unwrap_err();
        assert_eq!(none.to_string(), "alerts: must hold 1 to 100 items");
    }

    #[test]
    fn a_patch_contains_only_the_given_fields() {
        let patch = parse_patch(
            ListingKind::Advert,
            &json!({"match": ["ALERT_MATCH_ADVERT_EVENT", "ALERT_MATCH_ADVERT_EVENT"]}),
        );
        let expected = AlertPatch {
            match_kinds: Some(vec!["ALERT_MATCH_ADVERT_EVENT"]),
            ..AlertPatch::default()
        };
        assert_eq!(patch.unwrap(), expected);
        for context in [json!({}), json!({"metadata": null})] {
            let patch = parse_patch(ListingKind::Advert, &json!({ "context": context })).unwrap();
            assert_eq!(patch.context, Some(None));
        }
        let nulls = json!({
            "search_query": null, "webhook_url": null, "match": null, "search_name": null, "context": null,
        });
        let patch = parse_patch(ListingKind::Advert, &nulls);
        assert_eq!(patch.unwrap(), AlertPatch::default());
    }
}
