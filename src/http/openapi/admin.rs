//! The operators' part of the OpenAPI document: schemas of their bodies and answers, and their parameters.

use serde_json::{Map, Value, json};

use super::reference;
use super::schemas::closed;
use toise_accounts::account;
use toise_accounts::grants::ENDPOINTS;
use toise_accounts::key::{
    self, ESTIMATES_MAX, Kind, MONTHLY_QUOTA_MAX, NAME_CHARS_MAX, RATE_PER_S_MAX,
};
use toise_accounts::limits::Limits;
use toise_accounts::prices::Consumption;
use toise_accounts::requests::GRANTS_MAX;
use toise_accounts::scopes::Scope;
use toise_contract::dates::DATE_RULE;

/// Every schema, by its name under `components.schemas`.
pub fn component_schemas() -> Map<String, Value> {
    let schemas = [
        ("AccountRequest", account_request()),
        ("Account", account(false)),
        ("AccountWithSecret", account(true)),
        ("Grant", grant()),
        ("KeyRequest", key_request()),
        ("KeyChange", key_change()),
        ("Key", key(false)),
        ("NewKey", key(true)),
        ("TypeUsage", type_usage()),
        ("AccountUsage", account_usage()),
        ("Consumption", consumption()),
    ];
    schemas
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// The answer `{data: …}` of one of the schemas.
pub fn data_of(name: &str) -> Value {
    envelope(reference(name))
}

/// The answer `{data: […]}` of one of the schemas.
pub fn data_list_of(name: &str) -> Value {
    envelope(json!({"type": "array", "items": reference(name)}))
}

fn envelope(data: Value) -> Value {
    json!({"type": "object", "required": ["data"], "properties": {"data": data}})
}

/// An identifier in a path.
pub fn id_parameter(name: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": "One that is not a UUID, or names nothing, is answered 404",
        "schema": {"type": "string", "format": "uuid"},
    })
}

/// The parameters of a report on consumption.
pub fn period_parameters() -> Vec<Value> {
    let parameter = |name: &str, about: &str| {
        json!({
            "name": name,
            "in": "query",
            "description": format!("{about}, UTC, included; {DATE_RULE}; a date-time stands for its day"),
            "schema": {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]},
            "example": "2026-11-01",
        })
    };
    vec![
        parameter(
            "from_date",
            "First day, by default that of to_date's month, or of the present one",
        ),
        parameter(
            "to_date",
            "Last day, by default that of the present month, or of from_date's where that is later",
        ),
    ]
}

/// The parameter of the list of keys.
pub fn key_list_parameters() -> Vec<Value> {
    vec![json!({
        "name": "account_id",
        "in": "query",
        "description": "Only the keys of this account",
        "schema": {"type": "string", "format": "uuid"},
    })]
}

fn account_request() -> Value {
    let name = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": account::NAME_CHARS_MAX,
        "description": format!("Unlike every other account's; {}", account::NAME_RULE),
    });
    closed(json!({"name": name}), &["name"])
}

fn account(with_secret: bool) -> Value {
    let mut required = vec!["account_id", "name", "created_at", "webhook_key"];
    let mut properties = json!({
        "account_id": id("Identifier of the account"),
        "name": {"type": "string", "description": "Name of the account"},
        "created_at": moment("When it was made"),
        "webhook_key": {"type": "string", "description": "What its deliveries carry in x-webhook-key"},
    });
    if with_secret {
        required.push("signing_secret");
        properties["signing_secret"] = json!({
            "type": "string",
            "pattern": "^whsec_[A-Za-z0-9+/]+=*$",
            "description": "Signs its deliveries (Standard Webhooks); told at creation and rotation only. A replaced \
                            secret signs beside the new one for 24 hours",
        });
    }
    json!({"type": "object", "required": required, "properties": properties})
}

fn grant() -> Value {
    let names: Vec<&str> = Scope::ALL
        .map(Scope::as_str)
        .into_iter()
        .chain(ENDPOINTS)
        .collect();
    json!({
        "type": "string",
        "enum": names,
        "description": "A scope, which opens every endpoint of its part of the service, or a single endpoint",
    })
}

/// The fields that making and changing a key have in common.
fn key_settings() -> Value {
    json!({
        "grants": {
            "type": "array",
            "minItems": 1,
            "maxItems": GRANTS_MAX,
            "items": reference("Grant"),
            "description": "What the key may do. A test key cannot hold admin or its endpoints, and a key without the \
                            scope admin cannot give them",
        },
        "rate": {"type": "integer", "minimum": 1, "maximum": RATE_PER_S_MAX, "description": "Requests a second"},
        "monthly_quota": {"type": ["integer", "null"], "minimum": 0, "maximum": MONTHLY_QUOTA_MAX,
            "description": "Counted calls a month (UTC); null: no bound"},
        "max_concurrent_estimates": {"type": "integer", "minimum": 1, "maximum": ESTIMATES_MAX,
            "description": "Estimates that run at once; more wait in a short queue"},
        "name": {"type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX,
            "description": format!("To tell keys apart; {}", key::NAME_RULE)},
    })
}

fn key_request() -> Value {
    let mut properties = json!({
        "account_id": id("Account that is to own it; by default the account named default"),
        "kind": kind(),
    });
    if let (Value::Object(all), Value::Object(settings)) = (&mut properties, key_settings()) {
        all.extend(settings);
    }
    let [test, production] = Kind::ALL.map(|kind| kind.default_allowance(&Limits::default()));
    properties["grants"]["description"] = json!(
        "What the key may do; by default every scope but admin, and on a test key but alerts. A test key cannot hold \
         admin or its endpoints, and a key without the scope admin cannot give them"
    );
    properties["rate"]["description"] = json!(format!(
        "Requests a second; by default {} on a test key and {} on a production key, unless configured otherwise",
        test.rate_per_s, production.rate_per_s
    ));
    properties["monthly_quota"]["description"] = json!(format!(
        "Counted calls a month (UTC); null: no bound; by default {} on a test key and no bound on a production key, \
         unless configured otherwise",
        test.monthly_quota.unwrap_or_default()
    ));
    properties["max_concurrent_estimates"]["default"] = json!(production.estimates_max);
    closed(properties, &["kind"])
}

fn key_change() -> Value {
    let mut schema = closed(key_settings(), &[]);
    schema["description"] =
        json!("What is left out stays as it is; a server follows within a second");
    schema
}

fn key(with_text: bool) -> Value {
    let mut required = vec![
        "key_id",
        "account_id",
        "kind",
        "grants",
        "rate",
        "max_concurrent_estimates",
        "created_at",
    ];
    let mut properties = json!({
        "key_id": id("Identifier of the key"),
        "account_id": id("Account that owns it"),
        "kind": kind(),
        "grants": {"type": "array", "items": reference("Grant")},
        "rate": {"type": "integer", "minimum": 1, "description": "Requests a second"},
        "max_concurrent_estimates": {"type": "integer", "minimum": 1, "description": "Estimates that run at once"},
        "created_at": moment("When it was made"),
        "name": {"type": "string", "description": "What it was called when made; absent: nothing"},
        "monthly_quota": {"type": "integer", "minimum": 0,
            "description": "Counted calls a month (UTC); absent: no bound"},
        "expires_at": moment("When it stops working; absent: never"),
        "revoked_at": moment("When it was revoked; absent: it was not"),
    });
    if with_text {
        required.push("key");
        properties["key"] = json!({
            "type": "string",
            "pattern": "^toise_(live|test)_[A-Za-z0-9]{49}$",
            "description": "The text to send in x-api-key; told now and never again",
        });
    }
    json!({"type": "object", "required": required, "properties": properties})
}

fn type_usage() -> Value {
    json!({
        "type": "object",
        "required": ["type", "credits", "calls"],
        "properties": {
            "type": {"type": "string", "enum": Consumption::ALL.map(Consumption::as_str),
                "description": "Type of consumption"},
            "credits": {"type": "integer", "minimum": 0, "description": "Credits charged"},
            "calls": {"type": "integer", "minimum": 0, "description": "Calls counted, free ones included"},
        },
    })
}

fn account_usage() -> Value {
    json!({
        "type": "object",
        "required": ["account_id", "name", "total_credits", "consumption_per_type"],
        "properties": {
            "account_id": id("Identifier of the account"),
            "name": {"type": "string", "description": "Name of the account"},
            "total_credits": {"type": "integer", "minimum": 0, "description": "Credits charged in the period"},
            "consumption_per_type": {"type": "array", "items": reference("TypeUsage"),
                "description": "By type, in the order of their names; types without a call are left out"},
        },
    })
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
    json!({
        "type": "string",
        "enum": Kind::ALL.map(Kind::as_str),
        "description": "A test key lives 7 days, a production key until revoked",
    })
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
    use toise_accounts::requests::{
        ACCOUNT_FIELDS, KEY_CHANGE_FIELDS, KEY_FIELDS, PERIOD_PARAMETERS,
    };

    fn names(schema: &Value) -> Vec<&str> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().map(String::as_str).collect()
    }

    #[test]
    fn bodies_name_the_fields_that_are_read() {
        let schemas = component_schemas();
        assert_eq!(names(&schemas["AccountRequest"]), ACCOUNT_FIELDS);
        assert_eq!(names(&schemas["KeyRequest"]), KEY_FIELDS);
        assert_eq!(names(&schemas["KeyChange"]), KEY_CHANGE_FIELDS);
        let parameters = period_parameters();
        for (index, name) in PERIOD_PARAMETERS.into_iter().enumerate() {
            assert_eq!(parameters[index]["name"], name);
        }
    }

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
