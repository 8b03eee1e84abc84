//! The OpenAPI 3.1 document, generated from the endpoints and the tables that validate requests.
//!
//! No filter, range or enumeration is defined here, so the document always matches the parser.

pub mod admin;
pub(crate) mod alerts;
pub(crate) mod collect;
mod decisions;
mod erasures;
pub(crate) mod estimate;
pub mod filters;
pub(crate) mod geocoding;
mod ingestion;
pub mod listings;
mod parameters;
pub(crate) mod rents;
mod responses;
pub(crate) mod schemas;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::endpoint::operation::JSON;
use crate::endpoint::{Access, Counting, Endpoint, GEOCODING_PREFIX};
use parameters::{idempotency_parameter, path_parameters};
use responses::responses;
use schemas::{
    history, match_request, match_response, record_schema, search_request, search_response,
};
use toise_contract::fields::schema::{record, record_about, text};
use toise_opendata::Dataset;

pub use crate::endpoint::operation::{Failure, Operation};

const DESCRIPTION: &str = "French property data. A call reports one fault: the first in document order, with its \
                           JSON path. Unknown keys are refused. Nulls are refused too, except that a null for an \
                           optional field of a request means that the field is absent. If a key is written twice, \
                           its last value counts. An empty list or a range without bounds filters nothing. A record \
                           without a value matches no filter on that value. Calls that change something or are \
                           counted take an `Idempotency-Key`, except those with files, SQL and tiles: their answers \
                           are not stored, and a repeated call counts again.";

/// Example requests and the demo's responses, by operation.
static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test checks that the file parses.
    serde_json::from_str(include_str!("../../../data/examples/opendata.json")).unwrap_or_default()
});

/// Further example requests, by operation, and examples of parameters.
static REQUESTS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test sends every one of them.
    serde_json::from_str(include_str!("../../../data/examples/requests.json")).unwrap_or_default()
});

/// Returns the example request of an operation.
fn example_request(id: &str) -> Option<Value> {
    let measured = EXAMPLES.get(id).map(|example| example["request"].clone());
    measured.or_else(|| REQUESTS.get(id).cloned())
}

/// Builds the document of some endpoints.
pub fn document<'e>(endpoints: impl Iterator<Item = &'e Endpoint>) -> Value {
    let (mut paths, mut errors) = (Map::new(), Map::new());
    for endpoint in endpoints {
        let Some(describe) = endpoint.operation else {
            continue;
        };
        let path = paths
            .entry(endpoint.path)
            .or_insert_with(|| Value::Object(Map::new()));
        path[endpoint.method.as_str().to_ascii_lowercase()] =
            operation(endpoint, describe(), &mut errors);
    }
    let mut schemas = Map::new();
    schemas.insert("Error".into(), error_schema());
    for dataset in [Dataset::Dpe, Dataset::Dvf] {
        let name = type_name(dataset);
        schemas.insert(format!("{name}SearchRequest"), search_request(dataset));
        schemas.insert(format!("{name}SearchAnswer"), search_response(dataset));
        schemas.insert(format!("{name}MatchRequest"), match_request(dataset));
        schemas.insert(format!("{name}MatchAnswer"), match_response(dataset));
        schemas.insert(format!("{name}Record"), record_schema(dataset));
    }
    schemas.insert("PlaceHistory".into(), history());
    schemas.extend(admin::component_schemas());
    schemas.extend(listings::schemas());
    schemas.extend(ingestion::schemas());
    schemas.extend(decisions::schemas());
    schemas.extend(erasures::schemas());
    schemas.extend(filters::schemas());
    schemas.extend(estimate::schemas());
    schemas.extend(rents::schemas());
    schemas.extend(geocoding::schemas());
    schemas.extend(alerts::schemas::schemas());
    let mut webhooks = listings::webhooks();
    if let Some(webhooks) = webhooks.as_object_mut() {
        webhooks.extend(alerts::schemas::webhooks());
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "toise", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION},
        "servers": [{"url": "/", "description": "The service that answers this document"}],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas,
            "responses": errors,
            "headers": responses::header_components(),
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": toise_service::admission::KEY_HEADER},
                "bearer": {"type": "http", "scheme": "bearer", "description": "The same key, as a bearer token"},
            },
        },
    })
}

/// Returns the prefix of the names of a dataset's schemas.
pub(crate) fn type_name(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "Dpe",
        Dataset::Dvf => "Dvf",
    }
}

/// Returns a reference to a component schema.
pub(crate) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns a JSON body with a schema.
pub(crate) fn content(schema: Value) -> Value {
    json!({JSON: {"schema": schema}})
}

fn operation(endpoint: &Endpoint, described: Operation, errors: &mut Map<String, Value>) -> Value {
    let mut parameters = path_parameters(endpoint.path);
    parameters.extend(described.query.iter().cloned());
    if endpoint.takes_idempotency_key() {
        parameters.push(idempotency_parameter());
    }
    let examples = REQUESTS.get("parameters");
    for parameter in &mut parameters {
        let name = parameter["name"].as_str().unwrap_or_default();
        if let Some(example) = examples.and_then(|examples| examples.get(name)) {
            parameter["example"] = example.clone();
        }
    }
    let mut operation = json!({
        "operationId": described.id,
        "summary": described.summary,
        "tags": [tag(endpoint.path)],
        "responses": responses(endpoint, &described, errors),
    });
    if let Some(description) = described.description {
        operation["description"] = json!(description);
    }
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if endpoint.is_protected() {
        operation["security"] = json!([{"key": []}, {"bearer": []}]);
    }
    if let Access::Scoped(scope, grant) = endpoint.access {
        operation["x-scope"] = json!(scope.as_str());
        operation["x-endpoint"] = json!(grant);
    }
    if let Counting::As(consumption) = endpoint.counting {
        operation["x-consumption"] = json!(consumption.as_str());
    }
    if let Some(schema) = described.request {
        let mut body = json!({described.request_type: {"schema": schema}});
        if let Some(example) = example_request(&described.id) {
            body[described.request_type]["example"] = example;
        }
        operation["requestBody"] = json!({"required": true, "content": body});
    }
    operation
}

/// Returns the group under which a path is shown.
fn tag(path: &str) -> &str {
    if path.contains("/search/alerts") {
        return "alerts";
    }
    let under = path.strip_prefix("/v2/protected/");
    let under = under.or_else(|| path.strip_prefix("/v2/"));
    let under = under.or_else(|| path.starts_with(GEOCODING_PREFIX).then_some(&path[1..]));
    under.map_or("service", |rest| rest.split('/').next().unwrap_or(rest))
}

/// Returns the schema of `{"data": …}`.
pub(crate) fn enveloped(data: Value) -> Value {
    record(json!({"data": data}))
}

/// Returns schemas by name.
fn by_name<const N: usize>(schemas: [(&str, Value); N]) -> Map<String, Value> {
    schemas
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

fn error_schema() -> Value {
    record(
        json!({"error": record_about("Why the request failed", json!({
            "message": text("JSON path of the fault and what is allowed there"),
            "code": {"type": "integer", "description": "Stable code of the kind of fault"},
        }))}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources;

    #[test]
    fn refusals_declare_their_headers() {
        let document = document(resources::endpoints());
        let paths = document["paths"].as_object().unwrap().values();
        let operations: Vec<&Value> = paths
            .flat_map(|path| path.as_object().unwrap().values())
            .collect();
        for operation in &operations {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let shared = response["$ref"]
                    .as_str()
                    .map(|reference| document.pointer(reference.trim_start_matches('#')).unwrap());
                let headers = shared.unwrap_or(response)["headers"].as_object().unwrap();
                for reference in headers.values() {
                    let target = reference["$ref"].as_str().unwrap();
                    let target = document.pointer(target.trim_start_matches('#'));
                    assert!(target.is_some_and(|header| header["schema"].is_object()));
                }
                assert!(headers.contains_key("x-request-id"));
                assert_eq!(headers.contains_key("WWW-Authenticate"), status == "401");
                let may_be_repeated = ["429", "503"].contains(&status.as_str());
                assert_eq!(headers.contains_key("Retry-After"), may_be_repeated);
            }
        }
    }

    #[test]
    fn every_reference_resolves_and_every_endpoint_is_described() {
        let document = document(resources::endpoints());
        let text = document.to_string();
        for (_, rest) in text
            .match_indices("#/components/schemas/")
            .map(|(start, prefix)| text.split_at(start + prefix.len()))
        {
            let name = rest.split('"').next().unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
        let described = resources::endpoints().filter(|endpoint| endpoint.operation.is_some());
        for endpoint in described {
            let method = endpoint.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][endpoint.path][method];
            assert!(operation.is_object(), "{}", endpoint.path);
        }
    }

    #[test]
    fn enumerations_come_from_the_tables() {
        let document = document(resources::endpoints());
        let filters =
            &document["components"]["schemas"]["DpeSearchRequest"]["properties"]["filters"];
        let zones = &filters["properties"]["zone_climatique"]["items"]["enum"];
        assert_eq!(zones.as_array().map(Vec::len), Some(8));
    }
}
