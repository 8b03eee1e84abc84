//! OpenAPI operations for alerts. Those on properties and on adverts differ only in names.

use serde_json::json;

use crate::openapi::admin::{data_list_of, data_of};
use crate::openapi::alerts::schemas::preview_answer;
use crate::openapi::alerts::{delivery_parameters, names, page_parameters};
use crate::openapi::{Failure, Operation, enveloped, reference};
use toise_alerts::registry::LIST_BYTES_MAX;
use toise_alerts::request::SEARCH_QUERY_BYTES_MAX;
use toise_contract::listings::filters::ListingKind;
use toise_listings::search::preview;

fn operation(prefix: &str, name: &str, summary: String) -> Operation {
    Operation::new(format!("{prefix}{name}"), summary)
}

pub(super) fn create(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Create", format!("Save a search of {plural} as an alert"))
        .with_description(format!(
            "It is active at once and judges what is written from now on; nothing of the past is matched. What it \
             matches is posted to its webhook_url, see the webhooks of this document. Its search_query holds \
             {SEARCH_QUERY_BYTES_MAX} bytes of JSON at most"
        ))
        .with_request(reference(names.create))
        .with_answer(data_of("AlertName"))
}

pub(super) fn create_many(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(
        names.prefix,
        "CreateMany",
        format!("Save many searches of {plural}"),
    )
    .with_description("Each is taken or refused by itself; answers are in the order of the request")
    .with_request(reference(names.create_many))
    .with_answer(enveloped(json!({
        "type": "object",
        "required": ["alerts"],
        "properties": {"alerts": {"type": "array", "items": reference("AlertOutcome"),
            "description": "One outcome for each alert, in order"}},
    })))
}

pub(super) fn list(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "All", format!("Every alert on {plural}, oldest first"))
        .with_description(format!(
            "All of them, or with skip or take a page; all are refused where they exceed {} MiB, and asked for page \
             by page",
            LIST_BYTES_MAX >> 20
        ))
        .with_query(page_parameters())
        .with_answer(data_list_of(names.alert))
}

pub(super) fn get(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Get", format!("An alert on {plural}"))
        .with_answer(data_of(names.alert))
}

pub(super) fn update(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Update", format!("Change an alert on {plural} in place"))
        .with_description(
            "It is active afterwards, also when it was not. What it matched stays matched: its history is kept, \
             and nothing is told as new a second time",
        )
        .with_request(reference(names.change))
        .with_answer(data_of("AlertName"))
}

pub(super) fn delete(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Delete", format!("End an alert on {plural}"))
        .with_description("It matches nothing any more; history and deliveries stay, and it can be taken up again")
        .with_answer(data_of("AlertName"))
}

pub(super) fn activate(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(
        names.prefix,
        "Activate",
        format!("Take up an alert on {plural} again"),
    )
    .with_description("What came while it was not active is not matched")
    .with_answer(data_of("AlertName"))
    // An account may have no room for another active alert.
    .failing(Failure::Refused)
}

pub(super) fn history(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(
        names.prefix,
        "History",
        format!("The {plural} an alert matched"),
    )
    .with_description("As they are now, each once, the newest first match first")
    .with_query(page_parameters())
    .with_answer(data_list_of(names.record))
}

pub(super) fn deliveries(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(
        names.prefix,
        "Deliveries",
        format!("Deliveries of an alert on {plural}"),
    )
    .with_description("Newest first; they are kept as long as the server's retention says")
    .with_query(delivery_parameters())
    .with_answer(data_list_of("Delivery"))
}

pub(super) fn replay(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Replay", format!("Send what an alert on {plural} was told again"))
        .with_description(
            "What was delivered or given up in the window is posted once more, oldest first, in the same format, \
             as new deliveries with identifiers of their own. While something of an earlier replay of the alert \
             waits the answer is 429",
        )
        .with_request(reference("ReplayRequest"))
        .with_answer(data_of("Replay"))
        .with_status("202")
}

pub(super) fn preview(listing: ListingKind) -> Operation {
    let names = names(listing);
    let plural = names.plural;
    operation(names.prefix, "Preview", format!("The {plural} an alert would have matched lately"))
        .with_description(format!(
            "Those first seen within the last days that pass the filter as they are now: how many, on which days \
             (UTC), and the last {}. Counts as a reading of a history",
            preview::ITEMS_MAX
        ))
        .with_request(reference(names.preview))
        .with_answer(enveloped(preview_answer(names.record)))
}
