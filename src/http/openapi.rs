//! The OpenAPI 3.1 document, written from the table of routes and the tables of bodies that validate requests.
//!
//! Nothing here states a filter, a range or an enumeration of its own: what the document says is what the parser does.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::docs;
use super::error::ApiError;
use super::idempotency::KEY_CHARS_MAX;
use super::openapi_admin;
use super::openapi_listings;
use super::openapi_schemas::{
    closed, match_answer, match_request, record, search_answer, search_request,
};
use super::routes::{Access, AdminAction, BodyRule, Counting, Endpoint, ROUTES, Route};
use crate::accounts::meter::Refused;
use crate::opendata::{Dataset, score};
use crate::wire::Fault;
use crate::wire::opendata::MATCH_ITEMS_MAX;

const DESCRIPTION: &str = "French property data. One fault is reported per call, the first in document order, by its \
JSON path. Unknown keys and nulls are refused; a key written twice counts with its last value; an empty list and a \
range without bounds do not constrain; a record without a value matches no filter on it.";

/// Requests and what the demo answers to them, by operation.
static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test keeps the file readable.
    serde_json::from_str(include_str!("../../data/examples/opendata.json")).unwrap_or_default()
});

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(document().to_string()));

/// The document as JSON text, made once.
pub fn document_bytes() -> Bytes {
    DOCUMENT.clone()
}

/// The document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES.iter().filter(|route| is_described(route)) {
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route);
    }
    let mut schemas = Map::new();
    schemas.insert("Error".into(), error_schema());
    for dataset in [Dataset::Dpe, Dataset::Dvf] {
        let name = type_name(dataset);
        schemas.insert(format!("{name}SearchRequest"), search_request(dataset));
        schemas.insert(format!("{name}SearchAnswer"), search_answer(dataset));
        schemas.insert(format!("{name}MatchRequest"), match_request(dataset));
        schemas.insert(format!("{name}MatchAnswer"), match_answer(dataset));
        schemas.insert(format!("{name}Record"), record(dataset));
    }
    schemas.extend(openapi_admin::component_schemas());
    schemas.extend(openapi_listings::schemas());
    json!({
        "openapi": "3.1.0",
        "info": {"title": "toise", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION},
        "paths": paths,
        "webhooks": openapi_listings::webhooks(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": super::auth::KEY_HEADER}},
        },
    })
}

/// Whether the document tells of a route: of the reference page, not of each of its files.
fn is_described(route: &Route) -> bool {
    route.endpoint != Endpoint::Docs || route.path == docs::PAGE_PATH
}

pub(super) fn type_name(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "Dpe",
        Dataset::Dvf => "Dvf",
    }
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// What the document says of an endpoint.
struct Operation {
    id: String,
    summary: String,
    description: Option<String>,
    /// Query parameters.
    query: Vec<Value>,
    request: Option<Value>,
    /// Media type and schema of the answer.
    answer: Option<(&'static str, Value)>,
}

impl Operation {
    fn new(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            summary: summary.into(),
            description: None,
            query: Vec::new(),
            request: None,
            answer: None,
        }
    }

    fn describing(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    fn asking(mut self, query: Vec<Value>) -> Self {
        self.query = query;
        self
    }

    fn taking(mut self, request: Value) -> Self {
        self.request = Some(request);
        self
    }

    fn answering(mut self, answer: Value) -> Self {
        self.answer = Some((JSON, answer));
        self
    }
}

const JSON: &str = "application/json";

fn content(schema: Value) -> Value {
    json!({JSON: {"schema": schema}})
}

fn operation(route: &Route) -> Value {
    let said = describe(route.endpoint);
    let mut parameters = path_parameters(route.path);
    parameters.extend(said.query.iter().cloned());
    if route.takes_idempotency_key() {
        parameters.push(idempotency_parameter());
    }
    let mut operation = json!({
        "operationId": said.id,
        "summary": said.summary,
        "tags": [tag(route.path)],
        "responses": responses(route, &said),
    });
    if let Some(description) = said.description {
        operation["description"] = json!(description);
    }
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if route.is_protected() {
        operation["security"] = json!([{"key": []}]);
    }
    if let Access::Scoped(scope, endpoint) = route.access {
        operation["x-scope"] = json!(scope.as_str());
        operation["x-endpoint"] = json!(endpoint);
    }
    if let Counting::As(consumption) = route.counting {
        operation["x-consumption"] = json!(consumption.as_str());
    }
    if let Some(schema) = said.request {
        let mut body = content(schema);
        if let Some(example) = EXAMPLES.get(&said.id) {
            body[JSON]["example"] = example["request"].clone();
        }
        operation["requestBody"] = json!({"required": true, "content": body});
    }
    operation
}

/// The group a path is shown in.
fn tag(path: &str) -> &str {
    let under = path.strip_prefix("/v2/protected/");
    let under = under.or_else(|| path.strip_prefix("/v2/"));
    under.map_or("service", |rest| rest.split('/').next().unwrap_or(rest))
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|segment| {
        segment
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
    });
    names.map(openapi_admin::id_parameter).collect()
}

fn idempotency_parameter() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        "description": "Names the call: sent again within 24 h with the same body, it gives the stored answer and \
    costs nothing more; with another body it is refused with 409",
    })
}

fn describe(endpoint: Endpoint) -> Operation {
    let of = |dataset| match dataset {
        Dataset::Dpe => "energy performance diagnostics",
        Dataset::Dvf => "recorded sales",
    };
    let id = |action: &str, dataset: Dataset| format!("{}{action}", dataset.name());
    let schema = |dataset, part: &str| reference(&format!("{}{part}", type_name(dataset)));
    match endpoint {
        Endpoint::Healthz => Operation::new("healthz", "Readiness of the service"),
        Endpoint::Livez => Operation::new("livez", "Whether the process serves at all"),
        Endpoint::Metrics => {
            let mut numbers = Operation::new("metrics", "Numbers of the service for Prometheus");
            numbers.answer = Some(("text/plain", json!({"type": "string"})));
            numbers
        }
        Endpoint::Version => {
            Operation::new("version", "Version of the service").answering(enveloped(json!({
                "type": "object",
                "required": ["version"],
                "properties": {"version": {"type": "string"}},
            })))
        }
        Endpoint::OpenApi => {
            Operation::new("openapi", "This document").answering(json!({"type": "object"}))
        }
        Endpoint::Docs => {
            let mut page = Operation::new("docs", "This document as a page");
            page.answer = Some(("text/html", json!({"type": "string"})));
            page
        }
        Endpoint::Sample(sample) => {
            let (id, summary) = sample.identity();
            Operation::new(id, summary).answering(reference(sample.schema()))
        }
        Endpoint::Consumption => Operation::new(
            "consumption",
            "What the account of the key consumed in a period",
        )
        .asking(openapi_admin::period_parameters())
        .answering(openapi_admin::data_of("Consumption")),
        Endpoint::Admin(action) => describe_admin(action),
        Endpoint::Search(dataset) => Operation::new(
            id("Search", dataset),
            format!("Filtered, sorted list of {}", of(dataset)),
        )
        .taking(schema(dataset, "SearchRequest"))
        .answering(schema(dataset, "SearchAnswer")),
        Endpoint::Match(dataset) => Operation::new(
            id("Match", dataset),
            format!("Ranked candidates among {}", of(dataset)),
        )
        .describing(score::reference(dataset))
        .taking(schema(dataset, "MatchRequest"))
        .answering(schema(dataset, "MatchAnswer")),
        Endpoint::MatchMany(dataset) => Operation::new(
            id("MatchMany", dataset),
            format!("Ranked candidates among {} for many requests", of(dataset)),
        )
        .taking(closed(
            json!({"items": {
                "type": "array",
                "minItems": 1,
                "maxItems": MATCH_ITEMS_MAX,
                "items": schema(dataset, "MatchRequest"),
                "description": "Match bodies; a fault of one refuses the call",
            }}),
            &["items"],
        ))
        .answering(enveloped(json!({
            "type": "array",
            "items": schema(dataset, "MatchAnswer"),
            "description": "One answer per item, in order",
        }))),
    }
}

fn describe_admin(action: AdminAction) -> Operation {
    use openapi_admin::{data_list_of, data_of};
    match action {
        AdminAction::ListAccounts => Operation::new("accountsList", "Every account, oldest first")
            .answering(data_list_of("Account")),
        AdminAction::CreateAccount => Operation::new("accountsCreate", "Make an account")
            .taking(reference("AccountRequest"))
            .answering(data_of("AccountWithSecret")),
        AdminAction::GetAccount => {
            Operation::new("accountsGet", "One account").answering(data_of("Account"))
        }
        AdminAction::RotateSecret => {
            Operation::new("secretsRotate", "Replace an account's signing secret")
                .answering(data_of("AccountWithSecret"))
        }
        AdminAction::ListKeys => Operation::new("keysList", "Every key, oldest first")
            .asking(openapi_admin::key_list_parameters())
            .answering(data_list_of("Key")),
        AdminAction::CreateKey => Operation::new("keysCreate", "Make a key")
            .taking(reference("KeyRequest"))
            .answering(data_of("NewKey")),
        AdminAction::UpdateKey => Operation::new("keysUpdate", "Change a key's grants or limits")
            .taking(reference("KeyChange"))
            .answering(data_of("Key")),
        AdminAction::RevokeKey => {
            Operation::new("keysRevoke", "Revoke a key").answering(data_of("Key"))
        }
        AdminAction::Usage => Operation::new("usage", "What every account consumed in a period")
            .asking(openapi_admin::period_parameters())
            .answering(data_list_of("AccountUsage")),
    }
}

/// `{"data": …}`.
fn enveloped(data: Value) -> Value {
    json!({"type": "object", "required": ["data"], "properties": {"data": data}})
}

fn response_headers(route: &Route) -> Value {
    let number =
        |about: &str| json!({"schema": {"type": "integer", "minimum": 0}, "description": about});
    let mut headers = json!({
        "x-request-id": {"schema": {"type": "string", "format": "uuid"}, "description": "Names the request"},
    });
    if route.is_protected() {
        headers["x-credits"] = number("Credits charged by this call");
        headers["RateLimit-Limit"] = number("Calls a second the key may make");
        headers["RateLimit-Remaining"] = number("Calls that may follow at once");
        headers["RateLimit-Reset"] = number("Seconds until the full rate may be used again");
    }
    if route.is_protected() && route.counting != Counting::Free {
        headers["x-quota-used-percent"] =
            number("Percent of the monthly quota used, once it is 75 or more");
    }
    headers
}

fn responses(route: &Route, said: &Operation) -> Value {
    let mut success = json!({"description": "Success", "headers": response_headers(route)});
    if let Some((media_type, schema)) = &said.answer {
        success["content"] = json!({*media_type: {"schema": schema}});
        if let Some(example) = EXAMPLES.get(&said.id) {
            success["content"][*media_type]["example"] = example["answer"].clone();
        }
    }
    let mut responses = json!({"200": success});
    if route.endpoint == Endpoint::Healthz {
        responses["503"] = json!({
            "description": "Starting or draining",
            "content": content(reference("Error")),
        });
        return responses;
    }
    for fault in faults(route, said) {
        let (status, code) = fault.status_and_code();
        let reason = status.canonical_reason().unwrap_or_default();
        let entry = &mut responses[status.as_str()];
        match entry["description"].as_str() {
            Some(described) => {
                *entry = json!({
                    "description": format!("{described}, or {code}"),
                    "content": content(reference("Error")),
                })
            }
            None => {
                *entry = json!({
                    "description": format!("{reason}; error.code {code}"),
                    "content": content(reference("Error")),
                })
            }
        }
    }
    responses
}

/// One error of each status and code the route can answer with.
fn faults(route: &Route, said: &Operation) -> Vec<ApiError> {
    let refused = Refused { retry_after_s: 1 };
    let mut faults = vec![ApiError::internal("")];
    if let Access::Scoped(scope, endpoint) = route.access {
        faults.push(ApiError::Forbidden { scope, endpoint });
    }
    if route.is_protected() {
        faults.push(ApiError::Unauthorised("is required"));
        faults.push(ApiError::RateLimited(refused));
        faults.push(ApiError::Overloaded);
    }
    if route.counting != Counting::Free {
        faults.push(ApiError::QuotaReached(refused));
    }
    if route.takes_idempotency_key() {
        faults.push(ApiError::IdempotencyConflict);
    }
    if route.path.contains('{') {
        faults.push(ApiError::NotFound(""));
    }
    if !said.query.is_empty() || route.path.contains('{') {
        faults.push(ApiError::BrokenEncoding);
    }
    if let BodyRule::Json { bytes_max } = route.body {
        faults.push(ApiError::TooLarge { bytes_max });
        faults.push(ApiError::UnsupportedMediaType);
        faults.push(ApiError::BodyInterrupted);
        if said.query.is_empty() && !route.path.contains('{') {
            faults.push(ApiError::NotJson(String::new()));
        }
    }
    if !said.query.is_empty() || route.body != BodyRule::None {
        faults.push(ApiError::Invalid(Fault::new("", "")));
    }
    faults
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "code"],
            "properties": {
                "message": {"type": "string", "description": "JSON path of the fault and what is allowed there"},
                "code": {"type": "integer"},
            },
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_resolves_and_every_route_is_there() {
        let document = document();
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
        for route in ROUTES.iter().filter(|route| is_described(route)) {
            let method = route.method.as_str().to_ascii_lowercase();
            assert!(
                document["paths"][route.path][method].is_object(),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn enumerations_come_from_the_tables() {
        let document = document();
        let filters =
            &document["components"]["schemas"]["DpeSearchRequest"]["properties"]["filters"];
        let zones = &filters["properties"]["zone_climatique"]["items"]["enum"];
        assert_eq!(zones.as_array().map(Vec::len), Some(8));
    }
}
