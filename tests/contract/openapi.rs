//! The OpenAPI document as clients read it: a change of the contract is a change of the snapshot.
//!
//! After an intended change: `INSTA_UPDATE=always cargo test the_document`, then review the difference.

use reqwest::Method;
use serde_json::Value;
use toise::http::{openapi, resources};

use crate::support::Service;

/// Removes the examples: they are responses of the demo, stored in a file of their own.
fn without_examples(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| name != "example");
            Value::Object(
                kept.map(|(name, value)| (name, without_examples(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_examples).collect(),
        other => other,
    }
}

#[test]
fn the_document_is_the_published_one() {
    let mut document = without_examples(openapi::document(resources::endpoints()));
    document["info"]["version"] = "as built".into();
    insta::with_settings!({prepend_module_to_snapshot => false}, {
        insta::assert_json_snapshot!("openapi", document);
    });
}

#[test]
fn operation_ids_are_unique() {
    let document = openapi::document(resources::endpoints());
    let mut seen = std::collections::BTreeSet::new();
    for operation in document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
    {
        let name = operation["operationId"].as_str().unwrap();
        assert!(seen.insert(name), "{name}");
    }
}

/// Every property schema of a document with its path, including nested ones.
fn schemas<'a>(value: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    if let Some(fields) = value.as_object() {
        let is_schema = fields.get("type").is_some_and(|kind| kind == "object");
        let properties = fields.get("properties").filter(|_| is_schema);
        if let Some(properties) = properties.and_then(Value::as_object) {
            for (name, schema) in properties {
                found.push((format!("{path}/{name}"), schema));
            }
        }
        for (name, inner) in fields {
            schemas(inner, &format!("{path}/{name}"), found);
        }
    } else if let Some(items) = value.as_array() {
        for (index, inner) in items.iter().enumerate() {
            schemas(inner, &format!("{path}/{index}"), found);
        }
    }
}

#[test]
fn every_field_of_the_document_has_a_description() {
    let document = openapi::document(resources::endpoints());
    let mut fields = Vec::new();
    schemas(&document["components"]["schemas"], "", &mut fields);
    assert!(fields.len() > 500, "{}", fields.len());
    let is_described = |schema: &Value| {
        let says = |part: &Value| part.get("description").is_some_and(Value::is_string);
        let refers = |part: &Value| part.get("$ref").is_some();
        says(schema) || refers(schema) || says(&schema["items"]) || refers(&schema["items"])
    };
    let silent: Vec<&str> = fields
        .iter()
        .filter(|(_, schema)| !is_described(schema))
        .map(|(path, _)| path.as_str())
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

/// A schema, or the one that it refers to.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// Whether no value fits both schemas: their types differ, one is closed and lacks what the other requires, or a property
/// that both require has other values in each.
fn exclude_each_other(one: &Value, other: &Value) -> bool {
    fn required(schema: &Value) -> impl Iterator<Item = &str> {
        let names = schema["required"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str)
    }
    let lacks = |closed: &Value, open: &Value| {
        let is_unknown = |name: &str| closed["properties"].get(name).is_none();
        closed["additionalProperties"] == false && required(open).any(is_unknown)
    };
    let values = |schema: &Value, name: &str| schema["properties"][name]["enum"].clone();
    let differs = |name: &str| {
        let (ours, theirs) = (values(one, name), values(other, name));
        let (Some(ours), Some(theirs)) = (ours.as_array(), theirs.as_array()) else {
            return false;
        };
        ours.iter().all(|value| !theirs.contains(value))
    };
    let mut in_both = required(one).filter(|name| required(other).any(|own| own == *name));
    let has_types = one["type"].is_string() && other["type"].is_string();
    has_types && one["type"] != other["type"]
        || lacks(one, other)
        || lacks(other, one)
        || in_both.any(differs)
}

/// Every `oneOf` of a document with its path.
fn alternatives<'a>(value: &'a Value, path: &str, found: &mut Vec<(String, &'a Vec<Value>)>) {
    if let Some(branches) = value["oneOf"].as_array() {
        found.push((path.to_owned(), branches));
    }
    let fields = value.as_object().into_iter().flatten();
    for (name, inner) in fields {
        alternatives(inner, &format!("{path}/{name}"), found);
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        alternatives(inner, &format!("{path}/{index}"), found);
    }
}

#[test]
fn no_value_fits_two_alternatives() {
    let document = openapi::document(resources::endpoints());
    let mut found = Vec::new();
    alternatives(&document, "", &mut found);
    assert!(found.len() >= 3, "{found:?}");
    for (path, branches) in found {
        let branches: Vec<&Value> = branches
            .iter()
            .map(|branch| resolved(&document, branch))
            .collect();
        for (place, one) in branches.iter().enumerate() {
            for other in &branches[place + 1..] {
                assert!(exclude_each_other(one, other), "{path}: {one} {other}");
            }
        }
    }
}

#[tokio::test]
async fn every_operation_with_a_json_body_has_an_example_that_is_valid() {
    let service = Service::start().await;
    let operator = service.key_with("search,refetch,analytics,ai,geocoding,alerts,sql,admin");
    let document = openapi::document(resources::endpoints());
    let mut sent = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let body = &operation["requestBody"]["content"]["application/json"];
            if body.is_null() {
                continue;
            }
            let id = operation["operationId"].as_str().unwrap();
            let example = &body["example"];
            assert!(!example.is_null(), "{id} has no example");
            let path = path
                .split('/')
                .map(|part| {
                    if part.starts_with('{') {
                        "0193a5b0-0000-7000-8000-000000000000"
                    } else {
                        part
                    }
                })
                .collect::<Vec<_>>()
                .join("/");
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let request = service.keyed(method, &path, &operator);
            let response = request.json(example).send().await.unwrap();
            let status = response.status().as_u16();
            let text = response.text().await.unwrap();
            // Names are not resolved here, there is nothing with that identifier, not every table, and no rents.
            let elsewhere = [
                "webhook_url",
                "there is no table",
                "no rents to estimate from",
            ];
            let is_elsewhere = elsewhere.iter().any(|words| text.contains(words));
            let is_valid = status != 400 && (status != 422 || is_elsewhere);
            assert!(is_valid, "{id}: {status} {text}");
            sent += 1;
        }
    }
    assert!(sent > 25, "{sent}");
}

/// A path and query with the examples of an operation's parameters.
fn target_of_examples(path: &str, operation: &Value) -> String {
    let (mut target, mut query) = (path.to_owned(), Vec::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let text = match &parameter["example"] {
            Value::Null => {
                assert_ne!(parameter["required"], true, "{path}: {name} has no example");
                continue;
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match parameter["in"].as_str() {
            Some("path") => target = target.replace(&format!("{{{name}}}"), &text),
            _ => query.push((name, text)),
        }
    }
    let url = reqwest::Url::parse_with_params("http://service", query).unwrap();
    format!("{target}?{}", url.query().unwrap_or_default())
}

#[tokio::test]
async fn the_examples_of_parameters_are_valid_together() {
    let service = Service::start().await;
    let operator = service.key_with("search,analytics,ai,geocoding,alerts,admin");
    let document = openapi::document(resources::endpoints());
    let mut sent = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let target = target_of_examples(path, operation);
            // Other operations change something, or redirect.
            if method != "get" || path.ends_with("/url") {
                continue;
            }
            service.clock.advance_ms(1_000);
            let request = service.keyed(Method::GET, &target, &operator);
            let response = request.send().await.unwrap();
            let (status, text) = (response.status(), response.text().await.unwrap());
            assert!(status != 400 && status != 422, "{target}: {status} {text}");
            sent += 1;
        }
    }
    assert!(sent > 20, "{sent}");
}

#[tokio::test]
async fn the_example_files_are_geocoded() {
    let service = Service::start().await;
    let document = openapi::document(resources::endpoints());
    for path in ["/geocoding/search/csv", "/geocoding/reverse/csv"] {
        let content = &document["paths"][path]["post"]["requestBody"]["content"];
        let mut form = String::new();
        let mut part = |name: &str, value: &str| {
            let file = if name == "data" {
                "; filename=\"a.csv\""
            } else {
                ""
            };
            let head = format!("Content-Disposition: form-data; name=\"{name}\"{file}");
            form += &format!("--frontier\r\n{head}\r\n\r\n{value}\r\n");
        };
        let example = content["multipart/form-data"]["example"]
            .as_object()
            .unwrap();
        for (name, value) in example {
            match value.as_array() {
                Some(values) => values
                    .iter()
                    .for_each(|value| part(name, value.as_str().unwrap())),
                None => part(name, value.as_str().unwrap()),
            }
        }
        let request = service
            .ask(Method::POST, path)
            .body(form + "--frontier--\r\n");
        let request = request.header("x-api-key", &service.key);
        let media_type = "multipart/form-data; boundary=frontier";
        let response = request.header("content-type", media_type).send().await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert!(
            response.text().await.unwrap().contains("result_label"),
            "{path}"
        );
    }
    let input = &document["paths"]["/geocoding/async/projects/{id}/input-file"]["put"];
    assert!(input["requestBody"]["content"]["text/csv"]["example"].is_string());
}

/// Every example of a request that has a query, wherever it is in a document.
fn example_queries(value: &Value, is_example: bool, found: &mut Vec<Value>) {
    if is_example && value["query"].is_string() {
        found.push(value.clone());
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let is_example = is_example || name == "example" || name == "examples";
        example_queries(inner, is_example, found);
    }
    for inner in value.as_array().into_iter().flatten() {
        example_queries(inner, is_example, found);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_query_of_the_document_is_answered_over_all_tables() {
    let service = Service::start().await;
    let key = service.key_with("sql");
    let mut queries = Vec::new();
    let document = openapi::document(resources::endpoints());
    example_queries(&document, false, &mut queries);
    assert!(!queries.is_empty());
    for query in queries {
        let request = service.keyed(Method::POST, "/v2/protected/sql", &key);
        let response = request.json(&query).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, 200, "{query}: {text}");
    }
}
