//! The part of the OpenAPI document that tells of alerts: their names and parameters; [`schemas`] has the bodies.

pub mod schemas;

use serde_json::{Value, json};

use toise_alerts::delivery::DeliveryStatus;
use toise_alerts::request::queries::{SKIP_MAX, TAKE_DEFAULT, TAKE_MAX};
use toise_contract::listings::filters::Listing;

/// What each kind of listings calls the parts of its alerts.
pub(crate) struct Names {
    /// What the names of operations begin with.
    pub prefix: &'static str,
    /// The listings, in a sentence.
    pub plural: &'static str,
    pub record: &'static str,
    pub alert: &'static str,
    pub create: &'static str,
    pub create_many: &'static str,
    pub change: &'static str,
    pub preview: &'static str,
}

/// The names of the alerts on such listings.
pub(crate) fn names(listing: Listing) -> Names {
    match listing {
        Listing::Property => Names {
            prefix: "propertyAlerts",
            plural: "properties",
            record: "Property",
            alert: "PropertyAlert",
            create: "SaveSearchPropertiesPayload",
            create_many: "SaveManySearchPropertiesPayload",
            change: "ChangeSearchPropertiesPayload",
            preview: "PreviewSearchPropertiesPayload",
        },
        Listing::Advert => Names {
            prefix: "advertAlerts",
            plural: "adverts",
            record: "Advert",
            alert: "AdvertAlert",
            create: "SaveSearchAdvertsPayload",
            create_many: "SaveManySearchAdvertsPayload",
            change: "ChangeSearchAdvertsPayload",
            preview: "PreviewSearchAdvertsPayload",
        },
    }
}

/// Parameters of an operator's list of alerts.
pub fn list_parameters() -> Vec<Value> {
    let account = json!({"name": "account_id", "in": "query", "description": "Only the alerts of this account",
        "schema": {"type": "string", "format": "uuid"}});
    [account].into_iter().chain(page_parameters()).collect()
}

/// Parameters of a page.
pub fn page_parameters() -> Vec<Value> {
    let parameter = |name: &str, about: &str, least: usize, greatest: usize, default: usize| {
        json!({"name": name, "in": "query", "description": about,
            "schema": {"type": "integer", "minimum": least, "maximum": greatest, "default": default}})
    };
    vec![
        parameter(
            "skip",
            "Entries to leave out at the beginning",
            0,
            SKIP_MAX,
            0,
        ),
        parameter(
            "take",
            "Entries to answer at most",
            1,
            TAKE_MAX,
            TAKE_DEFAULT,
        ),
    ]
}

/// Parameters of a page of deliveries.
pub fn delivery_parameters() -> Vec<Value> {
    let status = json!({"name": "status", "in": "query", "description": "Only deliveries that stand so",
        "schema": {"type": "string", "enum": DeliveryStatus::ALL.map(DeliveryStatus::as_str)}});
    page_parameters().into_iter().chain([status]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_alerts::request::queries::{
        ALERT_LIST_PARAMETERS, DELIVERIES_PARAMETERS, PAGE_PARAMETERS, PREVIEW_KEYS, REPLAY_KEYS,
    };
    use toise_alerts::request::{ALERT_KEYS, parse_alert};

    fn keys(schema: &Value) -> Vec<&str> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().map(String::as_str).collect()
    }

    #[test]
    fn the_document_lists_what_is_read_and_its_examples_are_taken() {
        let schemas = schemas::schemas();
        for listing in [Listing::Property, Listing::Advert] {
            let names = names(listing);
            assert_eq!(keys(&schemas[names.create]), ALERT_KEYS);
            assert_eq!(keys(&schemas[names.change]), ALERT_KEYS);
            assert_eq!(keys(&schemas[names.preview]), PREVIEW_KEYS);
            parse_alert(listing, &schemas[names.create]["examples"][0]).unwrap();
        }
        assert_eq!(keys(&schemas["ReplayRequest"]), REPLAY_KEYS);
        let names = |parameters: Vec<Value>| -> Vec<String> {
            let names = parameters.iter();
            names
                .map(|one| one["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(page_parameters()), PAGE_PARAMETERS);
        assert_eq!(names(list_parameters()), ALERT_LIST_PARAMETERS);
        assert_eq!(names(delivery_parameters()), DELIVERIES_PARAMETERS);
    }
}
