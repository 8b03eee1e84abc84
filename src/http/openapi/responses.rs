//! What a route may answer: success and its headers, and each status its checks can refuse with.

use serde_json::{Value, json};

use super::super::error::ApiError;
use super::super::routes::{Access, AlertAction, BodyRule, Counting, Endpoint, Route};
use super::operations::Operation;
use super::{EXAMPLES, collect, content, reference};
use toise_accounts::meter::Refused;
use toise_contract::Fault;

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

/// Every answer of a route, by status.
pub fn responses(route: &Route, said: &Operation) -> Value {
    let mut success = json!({"description": "Success", "headers": response_headers(route)});
    if let Some((media_type, schema)) = &said.answer {
        success["content"] = json!({*media_type: {"schema": schema}});
        if let Some(example) = EXAMPLES.get(&said.id) {
            success["content"][*media_type]["example"] = example["answer"].clone();
        }
    }
    let status = match route.endpoint {
        Endpoint::Alerts(_, AlertAction::Replay) => "202",
        _ => "200",
    };
    let mut responses = json!({status: success});
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
    if matches!(route.endpoint, Endpoint::ByUrl(_)) {
        responses["202"] = collect::pending();
        responses["422"] = collect::rejected(reference("Error"));
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
    if matches!(
        route.endpoint,
        Endpoint::EstimateLite | Endpoint::EstimateLiteMany
    ) {
        faults.push(ApiError::NoModel);
    }
    if route.takes_idempotency_key() {
        faults.push(ApiError::IdempotencyConflict);
    }
    let names_a_record = route.path.contains('{') || route.endpoint == Endpoint::PropertiesSimilars;
    if names_a_record {
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
    // An account may have no room for another active alert.
    let may_be_full = matches!(route.endpoint, Endpoint::Alerts(_, AlertAction::Activate));
    let may_be_refused =
        !said.query.is_empty() || route.body != BodyRule::None || route.takes_idempotency_key();
    if may_be_refused || may_be_full {
        faults.push(ApiError::Invalid(Fault::new("", "")));
    }
    faults
}
