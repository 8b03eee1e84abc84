//! OpenAPI operations for alerts. Those on different records differ only in names, and in what a preview looks at.

use serde_json::json;

use crate::openapi::admin::{data_list_of, data_of};
use crate::openapi::alerts::names;
use crate::openapi::alerts::schemas::preview_schema;
use crate::openapi::{Failure, Operation, enveloped, reference};
use toise_alerts::alert::AlertSubject;
use toise_alerts::dispatch::test_delivery::AT_ONCE_MAX;
use toise_alerts::registry::LIST_BYTES_MAX;
use toise_alerts::request::SEARCH_QUERY_BYTES_MAX;
use toise_alerts::request::queries::{DELIVERIES, PAGE};
use toise_contract::fields::schema::{parameters, record};
use toise_listings::search::preview;

/// Returns an operation on alerts; `{}` in its summary stands for their records.
fn operation(subject: AlertSubject, name: &str, summary: &str) -> Operation {
    let names = names(subject);
    let id = format!("{}{name}", names.prefix);
    Operation::new(id, summary.replace("{}", names.plural))
}

pub(super) fn create(subject: AlertSubject) -> Operation {
    operation(subject, "Create", "Save a search for {} as an alert")
        .with_description(format!(
            "The alert is active immediately. It is compared with every change from now on; earlier changes are not \
             matched. Matches are posted to its webhook_url: see the webhooks of this document. Its search_query may \
             have at most {SEARCH_QUERY_BYTES_MAX} bytes of JSON"
        ))
        .with_request(reference(names(subject).create))
        .with_response(data_of("AlertName"))
}

pub(super) fn create_many(subject: AlertSubject) -> Operation {
    operation(subject, "CreateMany", "Save many searches for {} as alerts")
        .with_description(
            "Each alert is accepted or refused on its own; outcomes are in the order of the request",
        )
        .with_request(reference(names(subject).create_many))
        .with_response(enveloped(record(
            json!({"alerts": {"type": "array", "items": reference("AlertOutcome"),
                "description": "One outcome for each alert, in the order of the request"}}),
        )))
}

pub(super) fn list(subject: AlertSubject) -> Operation {
    operation(subject, "All", "All alerts on {}, oldest first")
        .with_description(format!(
            "All alerts, or one page of them with skip or take. If all alerts together exceed {} MiB, the call is \
             refused: ask for pages instead",
            LIST_BYTES_MAX >> 20
        ))
        .with_query(parameters(&PAGE))
        .with_response(data_list_of(names(subject).alert))
}

pub(super) fn get(subject: AlertSubject) -> Operation {
    operation(subject, "Get", "An alert on {}").with_response(data_of(names(subject).alert))
}

pub(super) fn update(subject: AlertSubject) -> Operation {
    operation(subject, "Update", "Change an alert on {}")
        .with_description(
            "The alert is active afterwards, even if it was inactive before. Its history is kept, so nothing is \
             reported as new a second time",
        )
        .with_request(reference(names(subject).change))
        .with_response(data_of("AlertName"))
}

pub(super) fn delete(subject: AlertSubject) -> Operation {
    operation(subject, "Delete", "Deactivate an alert on {}")
        .with_description(
            "The alert no longer matches anything. Its history and deliveries are kept, and it can be \
             activated again",
        )
        .with_response(data_of("AlertName"))
}

pub(super) fn activate(subject: AlertSubject) -> Operation {
    operation(subject, "Activate", "Activate an alert on {} again")
        .with_description("Changes made while it was inactive are not matched")
        .with_response(data_of("AlertName"))
        // An account may have no room for another active alert.
        .failing(Failure::Refused)
}

pub(super) fn history(subject: AlertSubject) -> Operation {
    operation(subject, "History", "The {} that an alert matched")
        .with_description(
            "Each once, in its current state; those whose first match is the latest come first. Records that an \
             import removed are left out and not counted: a page with fewer entries than take is the last one",
        )
        .with_query(parameters(&PAGE))
        .with_response(data_list_of(names(subject).record))
}

pub(super) fn deliveries(subject: AlertSubject) -> Operation {
    operation(subject, "Deliveries", "Deliveries of an alert on {}")
        .with_description(
            "Newest first; the server's retention setting decides how long they are kept",
        )
        .with_query(parameters(&DELIVERIES))
        .with_response(data_list_of("Delivery"))
}

pub(super) fn test(subject: AlertSubject) -> Operation {
    operation(subject, "Test", "Test the receiver of an alert on {}")
        .with_description(format!(
            "Posts one signed delivery without items to the webhook_url and returns what the receiver answered. It is \
             not retried, costs nothing, and does not appear among the deliveries. At most {AT_ONCE_MAX} tests of all \
             accounts run at once; others wait briefly, then return 503"
        ))
        .with_response(data_of("TestedReceiver"))
}

pub(super) fn replay(subject: AlertSubject) -> Operation {
    operation(subject, "Replay", "Send the notifications of an alert on {} again")
        .with_description(
            "Everything that was delivered or given up in the window is posted once more, oldest first, in the same \
             format, as new deliveries with new identifiers. While part of an earlier replay of the alert is still \
             waiting, the answer is 429",
        )
        .with_request(reference("ReplayRequest"))
        .with_response(data_of("Replay"))
        .with_status("202")
}

pub(super) fn preview(subject: AlertSubject) -> Operation {
    let description = match subject {
        AlertSubject::Listings(_) => format!(
            "Records first seen within the last days that match the filter in their current state: how many, on \
             which days (UTC), and the last {}. Charged like a request for the alert's history",
            preview::ITEMS_MAX
        ),
        AlertSubject::OpenData(_) => format!(
            "Stored records that match, as a search with these filters finds them: how many, and the {} with the \
             latest date. Charged like a request for the alert's history",
            preview::ITEMS_MAX
        ),
    };
    let summary = match subject {
        AlertSubject::Listings(_) => "The {} that an alert would have matched recently",
        AlertSubject::OpenData(_) => "The stored {} that an alert would match",
    };
    operation(subject, "Preview", summary)
        .with_description(description)
        .with_request(reference(names(subject).preview))
        .with_response(enveloped(preview_schema(subject, names(subject).record)))
}
