//! The part of the OpenAPI document that tells of alerts: their operations and parameters; [`schemas`] has the bodies.

pub mod schemas;

use serde_json::{Value, json};

use super::super::routes::AlertAction;
use super::admin::{data_list_of, data_of};
use super::operations::Operation;
use super::{enveloped, reference};
use schemas::preview_answer;
use toise_alerts::registry::LIST_BYTES_MAX;
use toise_alerts::request::SEARCH_QUERY_BYTES_MAX;
use toise_alerts::request::queries;
use toise_contract::fields::schema;
use toise_contract::listings::filters::Listing;
use toise_listings::preview;

/// What each kind of listings calls the parts of its alerts.
struct Names {
    /// What operations begin with.
    operation: &'static str,
    /// The listings, in a sentence.
    plural: &'static str,
    record: &'static str,
    alert: &'static str,
    create: &'static str,
    create_many: &'static str,
    change: &'static str,
    preview: &'static str,
}

fn names(listing: Listing) -> Names {
    match listing {
        Listing::Property => Names {
            operation: "propertyAlerts",
            plural: "properties",
            record: "Property",
            alert: "PropertyAlert",
            create: "SaveSearchPropertiesPayload",
            create_many: "SaveManySearchPropertiesPayload",
            change: "ChangeSearchPropertiesPayload",
            preview: "PreviewSearchPropertiesPayload",
        },
        Listing::Advert => Names {
            operation: "advertAlerts",
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

/// What there is to say of an operation.
pub fn describe(listing: Listing, action: AlertAction) -> Operation {
    let names = names(listing);
    let (plural, operation) = (names.plural, names.operation);
    let of = |name: &str, summary: String| Operation::new(format!("{operation}{name}"), summary);
    match action {
        AlertAction::Create => of("Create", format!("Save a search of {plural} as an alert"))
            .describing(format!(
                "It is active at once and judges what is written from now on; nothing of the past is matched. What it \
                 matches is posted to its webhook_url, see the webhooks of this document. Its search_query holds \
                 {SEARCH_QUERY_BYTES_MAX} bytes of JSON at most"
            ))
            .taking(reference(names.create))
            .answering(data_of("AlertName")),
        AlertAction::CreateMany => of("CreateMany", format!("Save many searches of {plural}"))
            .describing("Each is taken or refused by itself; answers are in the order of the request")
            .taking(reference(names.create_many))
            .answering(enveloped(json!({
                "type": "object",
                "required": ["alerts"],
                "properties": {"alerts": {"type": "array", "items": reference("AlertOutcome"),
                    "description": "One outcome for each alert, in order"}},
            }))),
        AlertAction::List => of("All", format!("Every alert on {plural}, oldest first"))
            .describing(format!(
                "All of them, or with skip or take a page; all are refused where they exceed {} MiB, and asked for page \
                 by page",
                LIST_BYTES_MAX >> 20
            ))
            .asking(page_parameters())
            .answering(data_list_of(names.alert)),
        AlertAction::Get => of("Get", format!("An alert on {plural}"))
            .answering(data_of(names.alert)),
        AlertAction::Update => of("Update", format!("Change an alert on {plural} in place"))
            .describing(
                "It is active afterwards, also when it was not. What it matched stays matched: its history is kept, \
                 and nothing is told as new a second time",
            )
            .taking(reference(names.change))
            .answering(data_of("AlertName")),
        AlertAction::Delete => of("Delete", format!("End an alert on {plural}"))
            .describing("It matches nothing any more; history and deliveries stay, and it can be taken up again")
            .answering(data_of("AlertName")),
        AlertAction::Activate => of("Activate", format!("Take up an alert on {plural} again"))
            .describing("What came while it was not active is not matched")
            .answering(data_of("AlertName")),
        AlertAction::History => of("History", format!("The {plural} an alert matched"))
            .describing("As they are now, each once, the newest first match first")
            .asking(page_parameters())
            .answering(data_list_of(names.record)),
        AlertAction::Deliveries => of("Deliveries", format!("Deliveries of an alert on {plural}"))
            .describing("Newest first; they are kept as long as the server's retention says")
            .asking(schema::parameters(&queries::DELIVERIES))
            .answering(data_list_of("Delivery")),
        AlertAction::Replay => of("Replay", format!("Send what an alert on {plural} was told again"))
            .describing(
                "What was delivered or given up in the window is posted once more, oldest first, in the same format, \
                 as new deliveries with identifiers of their own. While something of an earlier replay of the alert \
                 waits the answer is 429",
            )
            .taking(reference("ReplayRequest"))
            .answering(data_of("Replay")),
        AlertAction::Preview => of("Preview", format!("The {plural} an alert would have matched lately"))
            .describing(format!(
                "Those first seen within the last days that pass the filter as they are now: how many, on which days \
                 (UTC), and the last {}. Counts as a reading of a history",
                preview::ITEMS_MAX
            ))
            .taking(reference(names.preview))
            .answering(enveloped(preview_answer(names.record))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use toise_alerts::request::parse_alert;

    #[test]
    fn examples_of_the_document_are_taken() {
        let schemas = schemas::schemas();
        for listing in [Listing::Property, Listing::Advert] {
            let create = &schemas[names(listing).create];
            parse_alert(listing, &create["examples"][0]).unwrap();
        }
    }
}
