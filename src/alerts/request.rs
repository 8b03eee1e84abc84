//! Parses the bodies that create or change alerts: SaveSearchPropertiesPayload, SaveSearchAdvertsPayload, lists of
//! them, and partial ones.
//!
//! The search is parsed like any search, so an alert is rejected for exactly the same reasons. Whether the webhook URL
//! may be called is not checked here, because that needs the network.

pub mod queries;

use serde::Serialize;
use serde_json::Value;

use toise_contract::enums::{EnumAdvertAlertMatch, EnumAlertMatch, Enumeration, WireEnum};
use toise_contract::fault::Fault;
use toise_contract::filter::{Clause, Filter, Test};
use toise_contract::listings::deliveries::AlertContext;
use toise_contract::listings::filters::{Listing, parse_search_query};
use toise_contract::walk::{At, list, object, text};

/// Maximum alerts in one call.
pub const ALERTS_MAX: usize = 100;
/// Maximum length of an alert's name, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Maximum size of an alert's metadata, bytes of JSON; every delivery repeats it.
pub const METADATA_BYTES_MAX: usize = 16_384;

/// Maximum size of an alert's search, bytes of JSON; every process holds the active ones, every list repeats them.
pub const SEARCH_QUERY_BYTES_MAX: usize = 65_536;

/// Keys of the body.
pub const ALERT_KEYS: [&str; 5] = [
    "search_query",
    "webhook_url",
    "match",
    "search_name",
    "context",
];

/// The search of an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedSearch {
    /// The search as it was sent.
    pub sent: Value,
    /// The parsed filter.
    pub filter: Filter,
}

/// An alert to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAlert {
    /// The search.
    pub search: SavedSearch,
    /// URL that matches are posted to; only its syntax has been checked.
    pub webhook_url: String,
    /// Match kinds it subscribes to, at least one, in the contract's spelling.
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
    /// Match kinds it subscribes to, at least one, in the contract's spelling.
    pub match_kinds: Option<Vec<&'static str>>,
    /// Display name.
    pub search_name: Option<String>,
    /// Metadata that its deliveries echo; an empty object removes it.
    pub context: Option<Option<AlertContext>>,
}

/// The match kinds that alerts on properties or adverts may subscribe to.
pub fn match_kinds(listing: Listing) -> &'static Enumeration {
    match listing {
        Listing::Property => EnumAlertMatch::TABLE,
        Listing::Advert => EnumAdvertAlertMatch::TABLE,
    }
}

/// Parses the body that creates an alert.
///
/// # Errors
/// The first fault in document order; missing keys are reported last.
pub fn parse_alert(listing: Listing, body: &Value) -> Result<NewAlert, Fault> {
    let at = At::Body;
    let patch = parse_patch(listing, body)?;
    Ok(NewAlert {
        search: required(patch.search, "search_query", at)?,
        webhook_url: required(patch.webhook_url, "webhook_url", at)?,
        match_kinds: required(patch.match_kinds, "match", at)?,
        search_name: required(patch.search_name, "search_name", at)?,
        context: patch.context.flatten(),
    })
}

/// Parses the body that creates several alerts, `{alerts: […]}`. Each is accepted or rejected independently, with fault
/// paths relative to its own body.
///
/// # Errors
/// The first fault of the list itself.
pub fn parse_alerts(listing: Listing, body: &Value) -> Result<Vec<Result<NewAlert, Fault>>, Fault> {
    let at = At::Body;
    let mut alerts = None;
    for (key, value) in object(body, at)? {
        match key.as_str() {
            "alerts" => alerts = Some(list(value, At::Key(&at, key))?),
            _ => return Err(at.unknown_key(key, ["alerts"])),
        }
    }
    let alerts = required(alerts, "alerts", at)?;
    if alerts.is_empty() || alerts.len() > ALERTS_MAX {
        return Err(At::Key(&at, "alerts").fault(format!("must hold 1 to {ALERTS_MAX} items")));
    }
    let alerts = alerts.iter();
    Ok(alerts.map(|alert| parse_alert(listing, alert)).collect())
}

/// Parses the body that changes an alert, with any of its keys.
///
/// # Errors
/// The first fault in document order.
pub fn parse_patch(listing: Listing, body: &Value) -> Result<AlertPatch, Fault> {
    let at = At::Body;
    let mut patch = AlertPatch::default();
    for (key, value) in object(body, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "search_query" => {
                patch.search = Some(SavedSearch {
                    filter: parse_search_query(listing, value)?,
                    sent: bounded(value, SEARCH_QUERY_BYTES_MAX, here)?,
                });
            }
            "webhook_url" => patch.webhook_url = Some(text(value, here)?.to_owned()),
            "match" => patch.match_kinds = Some(kinds(listing, value, here)?),
            "search_name" => patch.search_name = Some(name(value, here)?),
            "context" => patch.context = Some(context(value, here)?),
            _ => return Err(at.unknown_key(key, ALERT_KEYS)),
        }
    }
    Ok(patch)
}

/// Number of conditions in a filter: every bound, place, flag and text counts.
pub fn conditions(filter: &[Clause]) -> usize {
    let of_clause = |clause: &Clause| match &clause.test {
        Test::OneOf(texts) => texts.len(),
        Test::Any(filters) => filters.iter().map(|filter| conditions(filter)).sum(),
        Test::SomeItem(filter) => conditions(filter),
        _ => 1,
    };
    filter.iter().map(of_clause).sum()
}

fn name(value: &Value, at: At<'_>) -> Result<String, Fault> {
    let name = text(value, at)?;
    if name.trim().is_empty() || name.chars().count() > NAME_CHARS_MAX {
        let rule = format!("must hold 1 to {NAME_CHARS_MAX} characters, not only blanks");
        return Err(at.fault(rule));
    }
    Ok(name.to_owned())
}

fn kinds(listing: Listing, value: &Value, at: At<'_>) -> Result<Vec<&'static str>, Fault> {
    let known = match_kinds(listing);
    let allowed = || format!("must be one of: {}", known.values.join(", "));
    let mut kinds = Vec::with_capacity(known.values.len());
    for (index, item) in list(value, at)?.iter().enumerate() {
        let kind = item.as_str().and_then(|text| known.value(text));
        let kind = kind.ok_or_else(|| At::Index(&at, index).fault(allowed()))?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match kinds.is_empty() {
        true => Err(at.fault("must hold at least one item")),
        false => Ok(kinds),
    }
}

fn context(value: &Value, at: At<'_>) -> Result<Option<AlertContext>, Fault> {
    let mut metadata = None;
    for (key, value) in object(value, at)? {
        let here = At::Key(&at, key);
        match key.as_str() {
            "metadata" => {
                metadata = Some(bounded(object(value, here)?, METADATA_BYTES_MAX, here)?);
            }
            _ => return Err(at.unknown_key(key, ["metadata"])),
        }
    }
    Ok(metadata.map(|metadata| AlertContext {
        metadata: Some(metadata),
    }))
}

/// A copy of a value that is stored as it was sent, with at most `bytes_max` bytes of JSON.
fn bounded<T: Serialize + Clone>(sent: &T, bytes_max: usize, at: At<'_>) -> Result<T, Fault> {
    // JSON values can always be serialised.
    let bytes = serde_json::to_vec(sent).map_or(usize::MAX, |text| text.len());
    match bytes > bytes_max {
        true => Err(at.fault(format!("must not exceed {bytes_max} bytes of JSON"))),
        false => Ok(sent.clone()),
    }
}

fn required<T>(value: Option<T>, key: &str, at: At<'_>) -> Result<T, Fault> {
    value.ok_or_else(|| At::Key(&at, key).fault("is required"))
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
        let alert = parse_alert(Listing::Property, &body).unwrap();
        assert_eq!(alert.search.sent, body["search_query"]);
        assert_eq!(conditions(&alert.search.filter), 2);
        assert_eq!(alert.match_kinds, ["ALERT_MATCH_CREATED"]);
        assert_eq!(alert.context.unwrap().metadata.unwrap()["customer"], 7);
    }

    #[test]
    fn an_alert_is_rejected_like_a_search_and_its_other_fields_are_limited() {
        for (key, value, message) in [
            (
                "search_query",
                json!({"filterProperty": {"locations": []}}),
                "search_query.filterProperty.locations:",
            ),
            (
                "search_query",
                json!({"filterAd": {}}),
                "search_query.filterAd: unknown field",
            ),
            (
                "search_query",
                json!({}),
                "search_query.filterProperty: is required",
            ),
            (
                "search_query",
                json!({"filterProperty": {"location": [{"city": {"name": "x".repeat(70_000)}}]}}),
                "search_query: must not exceed 65536 bytes of JSON",
            ),
            ("webhook_url", json!(7), "webhook_url: must be a string"),
            ("match", json!([]), "match: must hold at least one item"),
            (
                "match",
                json!(["ALERT_MATCH_UNKNOWN"]),
                "match[0]: must be one of: ALERT_MATCH_CREATED, ALERT_MATCH_MERGED",
            ),
            (
                "match",
                json!(["ALERT_MATCH_ADVERT_EVENT"]),
                "match[0]: must be one of",
            ),
            (
                "search_name",
                json!("  "),
                "search_name: must hold 1 to 200 characters",
            ),
            (
                "context",
                json!({"meta": {}}),
                "context.meta: unknown field",
            ),
            (
                "context",
                json!({"metadata": {"a": "x".repeat(20_000)}}),
                "context.metadata: must not exceed 16384 bytes",
            ),
            ("active", json!(true), "active: unknown field"),
        ] {
            let mut body = body();
            body[key] = value;
            let fault = parse_alert(Listing::Property, &body)
                .unwrap_err()
                .to_string();
            assert!(fault.starts_with(message), "{fault}");
        }
        for key in ["search_query", "webhook_url", "match", "search_name"] {
            let mut body = body();
            body.as_object_mut().unwrap().remove(key);
            let fault = parse_alert(Listing::Property, &body)
                .unwrap_err()
                .to_string();
            assert_eq!(fault, format!("{key}: is required"));
        }
    }

    #[test]
    fn each_of_several_alerts_is_accepted_or_rejected_independently() {
        let alerts = parse_alerts(Listing::Property, &json!({"alerts": [body(), {}]})).unwrap();
        assert!(alerts[0].is_ok());
        assert_eq!(
            alerts[1].clone().unwrap_err().to_string(),
            "search_query: is required"
        );
        let none = parse_alerts(Listing::Property, &json!({"alerts": []})).unwrap_err();
        assert_eq!(none.to_string(), "alerts: must hold 1 to 100 items");
    }

    #[test]
    fn a_patch_contains_only_the_given_fields() {
        let patch = parse_patch(
            Listing::Advert,
            &json!({"match": ["ALERT_MATCH_ADVERT_EVENT", "ALERT_MATCH_ADVERT_EVENT"]}),
        );
        let expected = AlertPatch {
            match_kinds: Some(vec!["ALERT_MATCH_ADVERT_EVENT"]),
            ..AlertPatch::default()
        };
        assert_eq!(patch.unwrap(), expected);
        let patch = parse_patch(Listing::Advert, &json!({"context": {}})).unwrap();
        assert_eq!(patch.context, Some(None));
    }
}
