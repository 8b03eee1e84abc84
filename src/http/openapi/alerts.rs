//! The part of the OpenAPI document that tells of alerts: their bodies, answers and operations.

use serde_json::{Map, Value, json};

use super::super::routes::AlertAction;
use super::admin::{data_list_of, data_of};
use super::operations::Operation;
use super::schemas::closed;
use super::{enveloped, reference};
use crate::listings::preview;
use crate::wire::alerts::queries::{
    PREVIEW_DAYS_DEFAULT, PREVIEW_DAYS_MAX, REPLAY_ITEMS_MAX, SKIP_MAX, TAKE_DEFAULT, TAKE_MAX,
};
use crate::wire::alerts::{
    ALERTS_MAX, METADATA_BYTES_MAX, NAME_CHARS_MAX, WEBHOOK_URL_BYTES_MAX, match_kinds,
};
use crate::wire::dates::DATE_RULE;
use crate::wire::delivery::DeliveryStatus;
use crate::wire::listings::filters::Listing;

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

/// Component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for listing in [Listing::Property, Listing::Advert] {
        let names = names(listing);
        let kinds = match_kinds(listing);
        let kind = serde_json::to_value(kinds.schema()).unwrap_or_default();
        schemas.insert(kinds.name.into(), kind);
        let fields = fields(listing);
        let required = ["search_query", "webhook_url", "match", "search_name"];
        let mut create = closed(fields.clone(), &required);
        create["examples"] = json!([example(listing)]);
        schemas.insert(names.create.into(), create);
        let mut change = closed(fields.clone(), &[]);
        change["description"] = json!("What is left out stays as it is");
        schemas.insert(names.change.into(), change);
        schemas.insert(names.create_many.into(), many(names.create));
        schemas.insert(names.preview.into(), preview_request(&fields));
        schemas.insert(names.alert.into(), alert(fields));
    }
    schemas.insert("AlertName".into(), alert_name());
    schemas.insert("AlertOutcome".into(), alert_outcome());
    schemas.insert("ReplayRequest".into(), replay_request());
    schemas.insert("Replay".into(), replay());
    schemas
}

/// What there is to say of an operation.
pub fn describe(listing: Listing, action: AlertAction) -> Operation {
    let names = names(listing);
    let (plural, operation) = (names.plural, names.operation);
    let of = |name: &str, summary: String| Operation::new(format!("{operation}{name}"), summary);
    match action {
        AlertAction::Create => of("Create", format!("Save a search of {plural} as an alert"))
            .describing(
                "It is active at once and judges what is written from now on; nothing of the past is matched. What it \
                 matches is posted to its webhook_url, see the webhooks of this document",
            )
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
            .asking(page_parameters().into_iter().chain([status_parameter()]).collect())
            .answering(data_list_of("Delivery")),
        AlertAction::Replay => of("Replay", format!("Send what an alert on {plural} was told again"))
            .describing(
                "What was delivered or given up in the window is posted once more, oldest first, in the same format, as \
                 new deliveries with identifiers of their own",
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

/// What an alert is made of.
fn fields(listing: Listing) -> Value {
    json!({
        "search_query": reference(&format!("{}Query", listing.filter_model().name)),
        "webhook_url": {"type": "string", "minLength": 1, "maxLength": WEBHOOK_URL_BYTES_MAX,
            "description": "Where matches are posted: https, a public host that resolves; checked again at every \
                delivery, redirects are not followed"},
        "match": {"type": "array", "minItems": 1, "items": reference(match_kinds(listing).name),
            "description": match listing {
                Listing::Property => "What is told: a property that qualifies for the first time, a new advert that \
                    joins a matched one",
                Listing::Advert => "What is told: an advert that qualifies for the first time, events on a matched \
                    one; without the first its first match is remembered silently, so that events follow",
            }},
        "search_name": {"type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": "\\S",
            "description": "Its name, for people"},
        "context": closed(json!({
            "metadata": {"type": "object",
                "description": format!("Free keys and values, {METADATA_BYTES_MAX} bytes of JSON at most")},
        }), &[]),
    })
}

fn example(listing: Listing) -> Value {
    let (filter, kinds) = match listing {
        Listing::Property => (
            json!({"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}],
                "location": [{"postalCode": "75011"}], "price": {"latest": {"value": {"max": 500_000}}},
                "meta": {"isTotallyOffline": false}}),
            json!(["ALERT_MATCH_CREATED"]),
        ),
        Listing::Advert => (
            json!({"type": ["CLASS_HOUSE"], "location": {"department": "48"},
                "currentPrice": {"value": {"max": 300_000}}, "isOnline": true}),
            json!(["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"]),
        ),
    };
    json!({
        "search_query": { listing.filter_key(): filter },
        "webhook_url": "https://hooks.example.com/toise",
        "match": kinds,
        "search_name": "Prospection",
        "context": {"metadata": {"customer": "C-1042"}},
    })
}

fn many(create: &str) -> Value {
    let alerts = json!({"type": "array", "minItems": 1, "maxItems": ALERTS_MAX, "items": reference(create),
        "description": "Alerts in order; each is taken or refused by itself"});
    closed(json!({ "alerts": alerts }), &["alerts"])
}

/// The alert as it is stored.
fn alert(fields: Value) -> Value {
    let mut properties = json!({
        "alert_id": id("Identifier of the alert"),
        "flxId": id("The same identifier"),
        "activated": {"type": "boolean",
            "description": "Whether it matches: not once it was deleted, its receiver answered 410 or failed for days"},
    });
    let moments = json!({
        "created_at": moment("When it was made"),
        "updated_at": moment("When it last changed, by whatever hand"),
    });
    if let (Value::Object(all), Value::Object(fields), Value::Object(moments)) =
        (&mut properties, fields, moments)
    {
        all.extend(fields);
        all.extend(moments);
    }
    properties["context"]["description"] = json!("What deliveries echo; absent: nothing");
    let required = [
        "alert_id",
        "flxId",
        "activated",
        "search_query",
        "webhook_url",
        "match",
        "search_name",
        "created_at",
        "updated_at",
    ];
    json!({"type": "object", "required": required, "properties": properties})
}

fn alert_name() -> Value {
    json!({
        "type": "object",
        "required": ["alert_id", "flxId"],
        "properties": {"alert_id": id("Identifier of the alert"), "flxId": id("The same identifier")},
    })
}

fn alert_outcome() -> Value {
    let failed = json!({
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": {"type": "integer", "description": "Code of the fault"},
            "message": {"type": "string", "description": "JSON path of the fault and what is allowed there"},
        },
        "description": "Why it is refused; absent when it is taken",
    });
    json!({
        "type": "object",
        "properties": {
            "success": id("Identifier of the alert; absent when it is refused"),
            "failed": failed,
        },
    })
}

fn replay_request() -> Value {
    let date =
        |about: &str| json!({"type": "string", "description": format!("{about}; {DATE_RULE}")});
    let fields = json!({
        "from": date("First moment of the window"),
        "to": date("Last moment of the window, included; a bare day is that whole day"),
        "max_items": {"type": "integer", "minimum": 1, "maximum": REPLAY_ITEMS_MAX, "default": REPLAY_ITEMS_MAX,
            "description": "Items at most, the oldest"},
    });
    let mut schema = closed(fields, &["from", "to"]);
    schema["examples"] = json!([{"from": "2026-11-16", "to": "2026-11-17", "max_items": 500}]);
    schema
}

fn replay() -> Value {
    json!({
        "type": "object",
        "required": ["replay_id", "items"],
        "properties": {
            "replay_id": id("Identifier of the replay"),
            "items": {"type": "integer", "minimum": 0, "description": "Items it sends"},
        },
    })
}

fn preview_request(fields: &Value) -> Value {
    let days = json!({"type": "integer", "minimum": 1, "maximum": PREVIEW_DAYS_MAX, "default": PREVIEW_DAYS_DEFAULT,
        "description": "Days to look back, today included"});
    let fields = json!({"search_query": fields["search_query"], "days": days});
    closed(fields, &["search_query"])
}

fn preview_answer(record: &str) -> Value {
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let day = json!({
        "type": "object",
        "required": ["date", "count"],
        "properties": {
            "date": {"type": "string", "format": "date", "description": "Day, UTC"},
            "count": count("Matches first seen on it"),
        },
    });
    json!({
        "type": "object",
        "required": ["count", "per_day", "items"],
        "properties": {
            "count": count("Matches in all"),
            "per_day": {"type": "array", "maxItems": PREVIEW_DAYS_MAX, "items": day,
                "description": "Every day looked at, the earliest first"},
            "items": {"type": "array", "maxItems": preview::ITEMS_MAX, "items": reference(record),
                "description": "The last matches, newest first"},
        },
    })
}

fn page_parameters() -> Vec<Value> {
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

fn status_parameter() -> Value {
    json!({"name": "status", "in": "query", "description": "Only deliveries that stand so",
        "schema": {"type": "string", "enum": DeliveryStatus::ALL.map(DeliveryStatus::as_str)}})
}

fn id(about: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": about})
}

fn moment(about: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": format!("{about}; UTC, milliseconds")})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::alerts::queries::{
        DELIVERIES_PARAMETERS, PAGE_PARAMETERS, PREVIEW_KEYS, REPLAY_KEYS,
    };
    use crate::wire::alerts::{ALERT_KEYS, parse_alert};

    fn keys(schema: &Value) -> Vec<&str> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().map(String::as_str).collect()
    }

    #[test]
    fn the_document_lists_what_is_read_and_its_examples_are_taken() {
        let schemas = schemas();
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
        let of_deliveries = describe(Listing::Advert, AlertAction::Deliveries).query;
        assert_eq!(names(of_deliveries), DELIVERIES_PARAMETERS);
    }
}
