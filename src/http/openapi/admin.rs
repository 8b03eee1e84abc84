//! The operators' part of the OpenAPI document: schemas of their bodies and responses, and their parameters.

use serde_json::{Map, Value, json};

use super::{by_name, enveloped, reference};
use toise_accounts::prices::Consumption;
use toise_accounts::{areas, requests};
use toise_contract::fields::Field;
use toise_contract::fields::schema::{
    self, Components, count, described, id, instant, number, record, text,
};
use toise_contract::listings::codes::{ParcelId, RnbId};
use toise_opendata::request::history;

/// Returns every schema, by its name under `components.schemas`.
pub fn component_schemas() -> Map<String, Value> {
    by_name([
        ("AccountRequest", accepted(&requests::ACCOUNT)),
        ("Account", account(false)),
        ("AccountWithSecret", account(true)),
        ("Grant", requests::grant_schema()),
        ("KeyRequest", accepted(&requests::KEY)),
        ("KeyChange", key_change()),
        ("Key", key(false)),
        ("NewKey", key(true)),
        ("AuditEntry", audit_entry()),
        ("TypeUsage", type_usage()),
        ("AccountUsage", account_usage()),
        ("Consumption", consumption()),
        ("DayUsage", day_usage()),
        ("OperationReport", operation_report()),
        ("ModelInUse", model_in_use()),
        ("Job", job()),
        ("Finding", finding()),
    ])
}

/// Returns the schema of the response `{data: …}` with one of the schemas.
pub fn data_of(name: &str) -> Value {
    enveloped(reference(name))
}

/// Returns the schema of the response `{data: […]}` with one of the schemas.
pub fn data_list_of(name: &str) -> Value {
    enveloped(json!({"type": "array", "items": reference(name)}))
}

/// Returns the parameter of an identifier in a path.
pub fn id_parameter(name: &str) -> Value {
    let schema = match name {
        "dataset" => json!({"type": "string", "enum": ["dvf", "dpe", "properties", "outlines"]}),
        "z" | "x" | "y" => json!({"type": "integer", "minimum": 0}),
        "name" => return area_parameter(),
        history::PARCEL => json!({"type": "string", "pattern": ParcelId::FORMAT.pattern}),
        history::BUILDING => json!({"type": "string", "pattern": RnbId::FORMAT.pattern}),
        _ => json!({"type": "string", "format": "uuid"}),
    };
    let about = match name {
        history::PARCEL => "Identifier of a cadastral parcel, 14 characters",
        history::BUILDING => {
            "Identifier of a building in the national register of buildings (RNB), 12 characters"
        }
        _ => "An identifier that is not a UUID, or is unknown, is answered with 404",
    };
    json!({"name": name, "in": "path", "required": true, "description": about, "schema": schema})
}

/// Returns the parameter of the name of an area in a path.
fn area_parameter() -> Value {
    json!({
        "name": "name",
        "in": "path",
        "required": true,
        "description": format!("Name of the area: {}", areas::NAME_RULE),
        "schema": {"type": "string", "minLength": 1, "maxLength": areas::NAME_CHARS_MAX, "pattern": "^[A-Za-z0-9_-]+$"},
    })
}

fn accepted(table: &'static [Field]) -> Value {
    schema::object(table, &mut Components::new())
}

fn account(with_secret: bool) -> Value {
    let mut properties = json!({
        "account_id": id("Identifier of the account"),
        "name": text("Name of the account"),
        "created_at": moment("When it was created"),
        "webhook_key": text("Key that its deliveries carry in x-webhook-key"),
        "next_webhook_key?": text("The next webhook key, during a rotation; its \
                                   deliveries carry it in x-webhook-key-next"),
        "next_webhook_key_from?": moment("When the next webhook key replaces the current one"),
    });
    if with_secret {
        properties["signing_secret"] = json!({
            "type": "string",
            "pattern": "^whsec_[A-Za-z0-9+/]+=*$",
            "description": "Signs its deliveries (Standard Webhooks); shown only at creation and rotation. After a \
                            rotation, both the old and the new secret sign for 24 hours",
        });
    }
    record(properties)
}

fn key_change() -> Value {
    described(
        accepted(&requests::KEY_CHANGE),
        "Fields left out stay unchanged; a running server applies the change within a second",
    )
}

fn key(with_text: bool) -> Value {
    let mut properties = json!({
        "key_id": id("Identifier of the key"),
        "account_id": id("Account that owns it"),
        "kind": kind(),
        "grants": {"type": "array", "items": reference("Grant")},
        "rate": {"type": "integer", "minimum": 1, "description": "Requests per second"},
        "max_concurrent_estimates": {"type": "integer", "minimum": 1, "description": "Estimates that may run at once"},
        "created_at": moment("When it was created"),
        "name?": text("Name given at creation; absent if none was given"),
        "monthly_quota?": count("Counted calls per month (UTC); absent if unlimited"),
        "sql_limits?": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1},
            "description": "Limits of its SQL queries that are lower than those of the service; absent if there are \
                            none"},
        "prefix": text("The first characters of the key, to recognise it"),
        "allowed_from?": {"type": "array", "items": {"type": "string"},
            "description": "Networks from which it may be used; absent if any may"},
        "last_used_at?": moment("When it was last used, to within half a minute; absent if never"),
        "expires_at?": moment("When it stops working; absent if never"),
        "revoked_at?": moment("When it was revoked; absent if it was not"),
    });
    if with_text {
        properties["key"] = json!({
            "type": "string",
            "pattern": "^toise_(live|test)_[A-Za-z0-9]{49}$",
            "description": "The key itself, to send in x-api-key; shown only in this answer",
        });
    }
    record(properties)
}

fn audit_entry() -> Value {
    record(json!({
        "entry": {"type": "integer", "minimum": 1, "description": "Number of the entry"},
        "at": moment("When the entry was appended"),
        "actor": text("Identifier of the key, or the person at the command line"),
        "origin?": text("IP address of the caller; absent if on the machine itself"),
        "action": text("What was done"),
        "subject?": text("The key or account that was acted on, if the action does not say"),
        "outcome": text("Outcome: a status, done or failed; begun in the entry written before the action"),
        "digest": text("BLAKE3 digest of the entry and of the digest before it, hexadecimal"),
    }))
}

fn type_usage() -> Value {
    record(json!({
        "type": {"type": "string", "enum": Consumption::NAMES.to_vec(),
            "description": "Type of consumption"},
        "credits": count("Credits charged"),
        "calls": count("Number of calls, including free ones"),
    }))
}

fn day_usage() -> Value {
    let mut schema = type_usage();
    schema["required"] = json!(["day", "type", "credits", "calls"]);
    schema["properties"]["day"] =
        json!({"type": "string", "format": "date", "description": "The day, UTC"});
    schema
}

fn operation_report() -> Value {
    record(json!({
        "name": text("What wrote it, and when"),
        "report": {"type": "object", "additionalProperties": true,
            "description": "What was read, used, rejected and changed; for an import among others `table`, \
                            `started_at`, `files`, `rows_read`, `rows_kept`, `records`, `rejected`, `outcome` \
                            and `seconds`"},
    }))
}

fn model_in_use() -> Value {
    record(json!({
        "model": {
            "type": ["object", "null"],
            "description": "The valuation model; null if none has been trained",
            "properties": {
                "version": text("Digest of the trained model"),
                "trained_at": moment("When it was trained"),
                "data_through": {"type": "string", "format": "date", "description": "Day of the latest known sale"},
                "coverage": number("Target coverage of the interval, 0 to 1"),
                "sales": count("Sales it was trained on"),
                "learned_inputs": {"type": "array", "items": {"type": "string"},
                    "description": "Inputs whose effect was learned from sales"},
            },
        },
        "report_card": {
            "type": ["object", "null"],
            "description": "The latest evaluation; null if there is none",
            "properties": {
                "name": text("What was evaluated"),
                "report": {"type": "object", "additionalProperties": true,
                    "description": "Its figures, among them `all`, `baselines`, `segments`, `horizon` and \
                                    `coverage`"},
            },
        },
    }))
}

fn job() -> Value {
    let optional = |kind: &str, about: &str| json!({"type": [kind, "null"], "description": about});
    record(json!({
        "job_id": id("Identifier of the job"),
        "account_id": id("Account that requested the page"),
        "kind": {"type": "string", "enum": ["url", "check"], "description": "Whether the page is read or only checked"},
        "url": text("URL of the page"),
        "status": {"type": "string", "enum": ["waiting", "running", "collected", "rejected"],
            "description": "Status of the job"},
        "attempts": count("Number of attempts so far"),
        "created_at": moment("When it was requested"),
        "due_at?": optional("string", "When the next attempt is due; null if there is none"),
        "ended_at?": optional("string", "When it ended; null if it has not"),
        "reason?": optional("string", "Why it was rejected, or the last error"),
        "origins?": optional("object", "Where on the page each field was found"),
    }))
}

fn finding() -> Value {
    record(json!({
        "severity": {"type": "string", "enum": ["problem", "advice"],
            "description": "Whether something does not work or data may be lost (problem), or something is missing or \
                            old (advice)"},
        "message": text("What it is, in one sentence without a full stop"),
        "command?": text("The command to run; absent if there is none"),
        "damaged?": {"type": "string", "enum": ["table", "addresses", "model", "store"],
            "description": "What cannot be read; the message is then the reason. Absent from other findings"},
    }))
}

fn account_usage() -> Value {
    record(json!({
        "account_id": id("Identifier of the account"),
        "name": text("Name of the account"),
        "total_credits": count("Credits charged in the period"),
        "consumption_per_type": {"type": "array", "items": reference("TypeUsage"),
            "description": "By type, sorted by name; types without calls are left out"},
    }))
}

fn consumption() -> Value {
    let mut schema = account_usage();
    schema["required"] = json!(["total_credits", "consumption_per_type"]);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| name.contains("credits") || name.contains("consumption"));
    }
    schema
}

fn kind() -> Value {
    schema::property(&requests::KIND, &mut Components::new())
}

/// Returns the schema of a moment of the store.
pub(super) fn moment(about: &str) -> Value {
    instant(&format!("{about}; UTC, milliseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_reference_is_a_schema_of_this_part_and_every_property_is_typed() {
        let schemas = component_schemas();
        let text = Value::Object(schemas.clone()).to_string();
        for rest in text.split("#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        for (name, schema) in &schemas {
            for (field, property) in schema["properties"].as_object().into_iter().flatten() {
                let typed = property.get("type").or(property.get("$ref"));
                assert!(typed.is_some(), "{name}.{field}");
            }
            for field in schema["required"].as_array().into_iter().flatten() {
                assert!(
                    schema["properties"].get(field.as_str().unwrap()).is_some(),
                    "{name}"
                );
            }
        }
    }
}
