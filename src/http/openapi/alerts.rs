//! The part of the OpenAPI document that tells of alerts: their names and parameters; [`schemas`] has the bodies.

pub mod schemas;

use serde_json::Value;

use toise_alerts::request::queries;
use toise_contract::fields::schema;
use toise_contract::listings::filters::ListingKind;

/// What each kind of listings calls the parts of its alerts.
pub(crate) struct AlertOperationNames {
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
pub(crate) fn names(listing: ListingKind) -> AlertOperationNames {
    match listing {
        ListingKind::Property => AlertOperationNames {
            prefix: "propertyAlerts",
            plural: "properties",
            record: "Property",
            alert: "PropertyAlert",
            create: "SaveSearchPropertiesPayload",
            create_many: "SaveManySearchPropertiesPayload",
            change: "ChangeSearchPropertiesPayload",
            preview: "PreviewSearchPropertiesPayload",
        },
        ListingKind::Advert => AlertOperationNames {
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
    schema::parameters(&queries::ALERT_LIST)
}

/// Parameters of a page.
pub fn page_parameters() -> Vec<Value> {
    schema::parameters(&queries::PAGE)
}

/// Parameters of a page of deliveries.
pub fn delivery_parameters() -> Vec<Value> {
    schema::parameters(&queries::DELIVERIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_alerts::request::parse_alert;

    #[test]
    fn examples_of_the_document_are_taken() {
        let schemas = schemas::schemas();
        for listing in [ListingKind::Property, ListingKind::Advert] {
            let create = &schemas[names(listing).create];
            parse_alert(listing, &create["examples"][0]).unwrap();
        }
    }
}
