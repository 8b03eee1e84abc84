//! Bodies and responses of alerts.

use serde_json::{Map, Value, json};

use super::super::admin::moment;
use super::super::listings::webhook;
use super::super::{enveloped, reference};
use super::names;
use toise_alerts::alert::{AlertSubject, DeactivationReason};
use toise_alerts::delivery::DeliveryStatus;
use toise_alerts::request::queries::{PREVIEW_DAYS_MAX, REPLAY, preview_table};
use toise_alerts::request::{alert_table, alerts_table, match_kinds};
use toise_contract::fields::schema::{self, count, described, id, record, record_about, text};
use toise_contract::listings::filters::ListingKind;
use toise_listings::search::preview;
use toise_opendata::Dataset;
use toise_opendata::request::bodies::bodies;

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for subject in AlertSubject::ALL {
        let names = names(subject);
        let kinds = match_kinds(subject);
        let kind = serde_json::to_value(kinds.schema()).unwrap_or_default();
        schemas.insert(kinds.name.into(), kind);
        let table = alert_table(subject);
        let mut create = schema::object(table, &mut schemas);
        create["examples"] = json!([example(subject)]);
        schemas.insert(names.create.into(), create);
        let change = schema::part(table, &mut schemas);
        let change = described(change, "Fields left out stay unchanged");
        schemas.insert(names.change.into(), change);
        let many = schema::object(alerts_table(subject), &mut schemas);
        schemas.insert(names.create_many.into(), many);
        let preview = schema::object(preview_table(subject), &mut schemas);
        schemas.insert(names.preview.into(), preview);
        schemas.insert(names.alert.into(), alert(fields(subject)));
    }
    for dataset in Dataset::ALL {
        let query = schema::object(bodies(dataset).saved, &mut schemas);
        schemas.insert(query_name(dataset.into()).into(), query);
        schemas.insert(delivery_name(dataset).into(), delivery(dataset));
    }
    schemas.insert("AlertName".into(), alert_name());
    schemas.insert("AlertOutcome".into(), alert_outcome());
    schemas.insert("OperatorAlert".into(), operator_alert());
    schemas.insert("AlertOverview".into(), alert_overview());
    schemas.insert("RetriedDelivery".into(), retried_delivery());
    schemas.insert("ReplayRequest".into(), replay_request());
    schemas.insert("Replay".into(), replay());
    schemas.insert("TestedReceiver".into(), tested_receiver());
    schemas
}

/// Returns the fields of an alert.
fn fields(subject: AlertSubject) -> Value {
    schema::properties(alert_table(subject), &mut Map::new())
}

fn example(subject: AlertSubject) -> Value {
    let (search, kinds) = match subject {
        AlertSubject::Listings(ListingKind::Property) => (
            json!({"filterProperty": {"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}],
                "location": [{"postalCode": "75011"}], "price": {"latest": {"value": {"max": 500_000}}},
                "meta": {"isTotallyOffline": false}}}),
            json!(["ALERT_MATCH_CREATED"]),
        ),
        AlertSubject::Listings(ListingKind::Advert) => (
            json!({"filterAd": {"type": ["CLASS_HOUSE"], "location": {"department": "48"},
                "currentPrice": {"value": {"max": 300_000}}, "isOnline": true}}),
            json!(["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"]),
        ),
        AlertSubject::OpenData(Dataset::Dvf) => (
            json!({"filters": {"insee_code": "48095", "property_type": ["Maison"], "price_eur": {"max": 300_000}}}),
            json!(["ALERT_MATCH_CREATED", "ALERT_MATCH_CHANGED"]),
        ),
        AlertSubject::OpenData(Dataset::Dpe) => (
            json!({"filters": {"code_departement_ban": "48", "etiquette_dpe": ["F", "G"]}}),
            json!(["ALERT_MATCH_CREATED"]),
        ),
    };
    json!({
        "search_query": search,
        "webhook_url": "https://hooks.example.com/toise",
        "match": kinds,
        "search_name": "Prospection",
        "context": {"metadata": {"customer": "C-1042"}},
    })
}

/// Returns the schema of an alert as stored.
fn alert(fields: Value) -> Value {
    let mut properties = json!({
        "alert_id": id("Identifier of the alert"),
        "flxId": id("The same identifier"),
        "activated": {"type": "boolean",
            "description": "Whether it is active. It becomes inactive when it is deleted, when its receiver answers \
                            410, or when its receiver fails for days"},
    });
    let moments = json!({
        "created_at": moment("When it was created"),
        "updated_at": moment("When it last changed, for any reason"),
    });
    if let (Value::Object(all), Value::Object(fields), Value::Object(moments)) =
        (&mut properties, fields, moments)
    {
        all.extend(fields);
        all.extend(moments);
    }
    properties["context"]["description"] =
        json!("Data that deliveries echo; absent if there is none");
    properties["unmatched_because"] = text(
        "Why the alert matches nothing at present although it is active: a layer of its search was \
          removed. Present only where one alert is read",
    );
    let required = [
        "alert_id", "flxId", "activated", "search_query", "webhook_url", "match", "search_name",
        "created_at", "updated_at",
    ];
    json!({"type": "object", "required": required, "properties": properties})
}

/// Returns the name of the schema of a search.
fn query_name(subject: AlertSubject) -> &'static str {
    match subject {
        AlertSubject::Listings(ListingKind::Property) => "FilterPropertyQuery",
        AlertSubject::Listings(ListingKind::Advert) => "FilterAdvertQuery",
        AlertSubject::OpenData(Dataset::Dvf) => "FilterDvfQuery",
        AlertSubject::OpenData(Dataset::Dpe) => "FilterDpeQuery",
    }
}

/// Returns the name of the schema of a delivery of open data.
fn delivery_name(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dvf => "DvfDelivery",
        Dataset::Dpe => "DpeDelivery",
    }
}

/// Returns the schema of a delivery of open data.
fn delivery(dataset: Dataset) -> Value {
    let plural = names(dataset.into()).plural;
    let item = reference(names(dataset.into()).record);
    let branch = |about: &str| {
        let of_alert = record(json!({
            "alert_id": id("Identifier of the alert"),
            "context?": {"type": "object", "description": "Data given with the alert, echoed unchanged"},
            (dataset.name()): {"type": "array", "items": item, "maxItems": 100,
                "description": format!("The {plural} in full, newest last")},
        }));
        json!({"type": "array", "items": of_alert, "description": about})
    };
    enveloped(record_about(
        "What the alert matched",
        json!({
            "created": branch("New records that match"),
            "updated": branch("Corrected records that match"),
        }),
    ))
}

/// Returns the requests that alerts on open data send.
pub(crate) fn webhooks() -> Map<String, Value> {
    let webhooks = Dataset::ALL.map(|dataset| {
        let id = format!("{}Matches", dataset.name());
        let summary = format!("The {} that an alert matched", names(dataset.into()).plural);
        let about = "Records are sent in full, as they were imported.";
        let webhook = webhook(&id, &summary, about, delivery_name(dataset));
        (id, webhook)
    });
    Map::from_iter(webhooks)
}

/// Returns the schema of an alert on any kind of record, as operators see it.
fn operator_alert() -> Value {
    let either = |part: fn(AlertSubject) -> &'static str, about: &str| {
        let mut parts: Vec<Value> = Vec::new();
        for name in AlertSubject::ALL.map(part) {
            let part = reference(name);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        json!({"anyOf": parts, "description": about})
    };
    let mut schema = alert(fields(ListingKind::Property.into()));
    let properties = &mut schema["properties"];
    properties["search_query"] = either(query_name, "The search as sent");
    properties["match"] = json!({"type": "array", "description": "What it reports",
        "items": either(|subject| match_kinds(subject).name, "Kind of match")});
    properties["account_id"] = id("Account it belongs to");
    let about = AlertSubject::ALL.map(AlertSubject::table);
    properties["about"] =
        json!({"type": "string", "enum": about, "description": "Kind of record it searches"});
    properties["deactivated_because"] = json!({"type": "string", "enum": DeactivationReason::ALL.map(DeactivationReason::as_str),
        "description": "Why it is inactive: deleted by its owner, or its receiver answered 410 or failed for days; \
                        absent if it is active"});
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(["account_id", "about"].map(Value::from));
    }
    schema
}

fn alert_overview() -> Value {
    let mut schema = operator_alert();
    let properties = &mut schema["properties"];
    properties["matches"] = count("Number of items it matched");
    properties["waiting"] = count("Number of notifications that are not in a delivery yet");
    let by_status = DeliveryStatus::NAMES
        .map(|status| (status.to_owned(), count("Deliveries with this status")));
    properties["deliveries"] = json!({
        "type": "object",
        "required": DeliveryStatus::NAMES,
        "properties": Map::from_iter(by_status),
        "description": "Deliveries by status",
    });
    properties["failing_since"] =
        moment("Time since which every attempt to reach its receiver has failed");
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(["matches", "waiting", "deliveries"].map(Value::from));
    }
    schema
}

fn retried_delivery() -> Value {
    record(json!({"delivery_id": id("Identifier of the delivery")}))
}

fn alert_name() -> Value {
    record(json!({"alert_id": id("Identifier of the alert"), "flxId": id("The same identifier")}))
}

fn alert_outcome() -> Value {
    let failed = record_about(
        "Why it was refused; absent if it was accepted",
        json!({
            "code": {"type": "integer", "description": "Code of the fault"},
            "message": text("JSON path of the fault and what is allowed there"),
        }),
    );
    record(json!({
        "success?": id("Identifier of the alert; absent if it was refused"),
        "failed?": failed,
    }))
}

fn replay_request() -> Value {
    let mut schema = schema::object(&REPLAY, &mut Map::new());
    schema["examples"] = json!([{"from": "2026-11-16", "to": "2026-11-17", "max_items": 500}]);
    schema
}

fn replay() -> Value {
    record(json!({
        "replay_id": id("Identifier of the replay"),
        "items": count("Number of items it sends"),
    }))
}

fn tested_receiver() -> Value {
    record(json!({
        "delivered": {"type": "boolean", "description": "Whether the receiver accepted the delivery"},
        "status": {"type": ["integer", "null"], "minimum": 100, "maximum": 999,
            "description": "HTTP status of the response; null without a response"},
        "error": {"type": ["string", "null"], "description": "Why the receiver did not accept it"},
        "duration_ms": {"type": ["integer", "null"], "minimum": 0,
            "description": "Time from the first byte sent to the response, in milliseconds; null if nothing was sent"},
    }))
}

/// Returns the schema of the response to a preview.
pub(crate) fn preview_schema(subject: AlertSubject, name: &str) -> Value {
    let day = record(json!({
        "date": {"type": "string", "format": "date", "description": "Day, UTC"},
        "count": count("Number of matches first seen on that day"),
    }));
    let mut answer = record(json!({
        "count": count("Number of all matches"),
        "items": {"type": "array", "maxItems": preview::ITEMS_MAX, "items": reference(name),
            "description": "The last matches, newest first"},
    }));
    if let AlertSubject::Listings(_) = subject {
        answer["required"] = json!(["count", "per_day", "items"]);
        answer["properties"]["per_day"] = json!({"type": "array", "maxItems": PREVIEW_DAYS_MAX, "items": day,
            "description": "Every day of the window, earliest first"});
    }
    answer
}
