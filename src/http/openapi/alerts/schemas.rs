//! Bodies and responses of alerts.

use serde_json::{Map, Value, json};

use super::super::reference;
use super::names;
use toise_alerts::alert::DeactivationReason;
use toise_alerts::delivery::DeliveryStatus;
use toise_alerts::request::queries::{PREVIEW_DAYS_MAX, REPLAY, preview_table};
use toise_alerts::request::{alert_table, alerts_table, match_kinds};
use toise_contract::fields::schema::{self, described};
use toise_contract::listings::filters::ListingKind;
use toise_listings::search::preview;

/// Returns the component schemas by name.
pub fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for listing in [ListingKind::Property, ListingKind::Advert] {
        let names = names(listing);
        let kinds = match_kinds(listing);
        let kind = serde_json::to_value(kinds.schema()).unwrap_or_default();
        schemas.insert(kinds.name.into(), kind);
        let table = alert_table(listing);
        let mut create = schema::object(table, &mut schemas);
        create["examples"] = json!([example(listing)]);
        schemas.insert(names.create.into(), create);
        let change = schema::part(table, &mut schemas);
        let change = described(change, "Fields left out stay unchanged");
        schemas.insert(names.change.into(), change);
        let many = schema::object(alerts_table(listing), &mut schemas);
        schemas.insert(names.create_many.into(), many);
        let preview = schema::object(preview_table(listing), &mut schemas);
        schemas.insert(names.preview.into(), preview);
        schemas.insert(names.alert.into(), alert(fields(listing)));
    }
    schemas.insert("AlertName".into(), alert_name());
    schemas.insert("AlertOutcome".into(), alert_outcome());
    schemas.insert("OperatorAlert".into(), operator_alert());
    schemas.insert("AlertOverview".into(), alert_overview());
    schemas.insert("RetriedDelivery".into(), retried_delivery());
    schemas.insert("ReplayRequest".into(), replay_request());
    schemas.insert("Replay".into(), replay());
    schemas
}

/// Returns the fields of an alert.
fn fields(listing: ListingKind) -> Value {
    schema::properties(alert_table(listing), &mut Map::new())
}

fn example(listing: ListingKind) -> Value {
    let (filter, kinds) = match listing {
        ListingKind::Property => (
            json!({"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}],
                "location": [{"postalCode": "75011"}], "price": {"latest": {"value": {"max": 500_000}}},
                "meta": {"isTotallyOffline": false}}),
            json!(["ALERT_MATCH_CREATED"]),
        ),
        ListingKind::Advert => (
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

/// Returns the schema of an alert on either kind of listing, as operators see it.
fn operator_alert() -> Value {
    let either = |part: fn(ListingKind) -> &'static str, about: &str| {
        let parts =
            [ListingKind::Property, ListingKind::Advert].map(|listing| reference(part(listing)));
        json!({"anyOf": parts, "description": about})
    };
    let mut schema = alert(fields(ListingKind::Property));
    let properties = &mut schema["properties"];
    properties["search_query"] = either(
        |listing| match listing {
            ListingKind::Property => "FilterPropertyQuery",
            ListingKind::Advert => "FilterAdvertQuery",
        },
        "The search as sent",
    );
    properties["match"] = json!({"type": "array", "description": "What it reports",
        "items": either(|listing| match_kinds(listing).name, "Kind of match")});
    properties["account_id"] = id("Account it belongs to");
    let about = [ListingKind::Property, ListingKind::Advert].map(ListingKind::table);
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
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let mut schema = operator_alert();
    let properties = &mut schema["properties"];
    properties["matches"] = count("Number of items it matched");
    properties["waiting"] = count("Number of notifications that are not in a delivery yet");
    let statuses = DeliveryStatus::ALL.map(DeliveryStatus::as_str);
    let by_status =
        statuses.map(|status| (status.to_owned(), count("Deliveries with this status")));
    properties["deliveries"] = json!({
        "type": "object",
        "required": statuses,
        "properties": Map::from_iter(by_status),
        "description": "Deliveries by status",
    });
    properties["failing_since"] =
        moment("Since when every attempt to reach its receiver has failed");
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(["matches", "waiting", "deliveries"].map(Value::from));
    }
    schema
}

fn retried_delivery() -> Value {
    json!({
        "type": "object",
        "required": ["delivery_id"],
        "properties": {"delivery_id": id("Identifier of the delivery")},
    })
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
        "description": "Why it was refused; absent if it was accepted",
    });
    json!({
        "type": "object",
        "properties": {
            "success": id("Identifier of the alert; absent if it was refused"),
            "failed": failed,
        },
    })
}

fn replay_request() -> Value {
    let mut schema = schema::object(&REPLAY, &mut Map::new());
    schema["examples"] = json!([{"from": "2026-11-16", "to": "2026-11-17", "max_items": 500}]);
    schema
}

fn replay() -> Value {
    json!({
        "type": "object",
        "required": ["replay_id", "items"],
        "properties": {
            "replay_id": id("Identifier of the replay"),
            "items": {"type": "integer", "minimum": 0, "description": "Number of items it sends"},
        },
    })
}

/// Returns the schema of the response to a preview.
pub(crate) fn preview_answer(record: &str) -> Value {
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let day = json!({
        "type": "object",
        "required": ["date", "count"],
        "properties": {
            "date": {"type": "string", "format": "date", "description": "Day, UTC"},
            "count": count("Number of matches first seen on that day"),
        },
    });
    json!({
        "type": "object",
        "required": ["count", "per_day", "items"],
        "properties": {
            "count": count("Number of all matches"),
            "per_day": {"type": "array", "maxItems": PREVIEW_DAYS_MAX, "items": day,
                "description": "Every day of the window, earliest first"},
            "items": {"type": "array", "maxItems": preview::ITEMS_MAX, "items": reference(record),
                "description": "The last matches, newest first"},
        },
    })
}

fn id(about: &str) -> Value {
    json!({"type": "string", "format": "uuid", "description": about})
}

fn moment(about: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": format!("{about}; UTC, milliseconds")})
}
