//! The alerts part of the OpenAPI document: names and parameters; [`schemas`] has the bodies.

pub mod schemas;

use serde_json::Value;

use toise_alerts::alert::AlertSubject;
use toise_alerts::request::queries;
use toise_contract::fields::schema;
use toise_contract::listings::filters::ListingKind;
use toise_opendata::Dataset;

/// Names in the alerts part, by kind of record.
pub(crate) struct AlertOperationNames {
    /// Prefix of operation names.
    pub prefix: &'static str,
    /// Plural of the records, for use in sentences.
    pub plural: &'static str,
    pub record: &'static str,
    pub alert: &'static str,
    pub create: &'static str,
    pub create_many: &'static str,
    pub change: &'static str,
    pub preview: &'static str,
}

/// Returns the names for alerts on a kind of record.
pub(crate) fn names(subject: AlertSubject) -> AlertOperationNames {
    match subject {
        AlertSubject::Listings(ListingKind::Property) => AlertOperationNames {
            prefix: "propertyAlerts",
            plural: "properties",
            record: "Property",
            alert: "PropertyAlert",
            create: "SaveSearchPropertiesPayload",
            create_many: "SaveManySearchPropertiesPayload",
            change: "ChangeSearchPropertiesPayload",
            preview: "PreviewSearchPropertiesPayload",
        },
        AlertSubject::Listings(ListingKind::Advert) => AlertOperationNames {
            prefix: "advertAlerts",
            plural: "adverts",
            record: "Advert",
            alert: "AdvertAlert",
            create: "SaveSearchAdvertsPayload",
            create_many: "SaveManySearchAdvertsPayload",
            change: "ChangeSearchAdvertsPayload",
            preview: "PreviewSearchAdvertsPayload",
        },
        AlertSubject::OpenData(Dataset::Dvf) => AlertOperationNames {
            prefix: "dvfAlerts",
            plural: "recorded sales",
            record: "DvfRecord",
            alert: "DvfAlert",
            create: "SaveSearchDvfPayload",
            create_many: "SaveManySearchDvfPayload",
            change: "ChangeSearchDvfPayload",
            preview: "PreviewSearchDvfPayload",
        },
        AlertSubject::OpenData(Dataset::Dpe) => AlertOperationNames {
            prefix: "dpeAlerts",
            plural: "energy performance diagnostics",
            record: "DpeRecord",
            alert: "DpeAlert",
            create: "SaveSearchDpePayload",
            create_many: "SaveManySearchDpePayload",
            change: "ChangeSearchDpePayload",
            preview: "PreviewSearchDpePayload",
        },
    }
}

/// Returns the query parameters of the operators' alert list.
pub fn list_parameters() -> Vec<Value> {
    schema::parameters(&queries::ALERT_LIST)
}

/// Returns the query parameters of a page.
pub fn page_parameters() -> Vec<Value> {
    schema::parameters(&queries::PAGE)
}

/// Returns the query parameters of a page of deliveries.
pub fn delivery_parameters() -> Vec<Value> {
    schema::parameters(&queries::DELIVERIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_alerts::request::parse_alert;

    #[test]
    fn examples_of_the_document_are_valid() {
        let schemas = schemas::schemas();
        for subject in AlertSubject::ALL {
            let create = &schemas[names(subject).create];
            parse_alert(subject, &create["examples"][0]).unwrap();
        }
    }
}
