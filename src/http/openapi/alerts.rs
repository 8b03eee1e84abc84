//! The alerts part of the OpenAPI document: names of operations and schemas; [`schemas`] has the bodies.

pub mod schemas;

use toise_alerts::alert::AlertSubject;
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

/// Builds the names from the prefix of operations, the plural, the schemas of the record and of the alert, and the part
/// that the names of request bodies have in common.
macro_rules! operation_names {
    ($prefix:literal, $plural:literal, $record:literal, $alert:literal, $searched:literal) => {
        AlertOperationNames {
            prefix: $prefix,
            plural: $plural,
            record: $record,
            alert: $alert,
            create: concat!("SaveSearch", $searched, "Payload"),
            create_many: concat!("SaveManySearch", $searched, "Payload"),
            change: concat!("ChangeSearch", $searched, "Payload"),
            preview: concat!("PreviewSearch", $searched, "Payload"),
        }
    };
}

/// Returns the names for alerts on a kind of record.
#[rustfmt::skip]
pub(crate) fn names(subject: AlertSubject) -> AlertOperationNames {
    match subject {
        AlertSubject::Listings(ListingKind::Property) =>
            operation_names!("propertyAlerts", "properties", "Property", "PropertyAlert", "Properties"),
        AlertSubject::Listings(ListingKind::Advert) =>
            operation_names!("advertAlerts", "adverts", "Advert", "AdvertAlert", "Adverts"),
        AlertSubject::OpenData(Dataset::Dvf) =>
            operation_names!("dvfAlerts", "recorded sales", "DvfRecord", "DvfAlert", "Dvf"),
        AlertSubject::OpenData(Dataset::Dpe) =>
            operation_names!("dpeAlerts", "energy performance diagnostics", "DpeRecord", "DpeAlert", "Dpe"),
    }
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
