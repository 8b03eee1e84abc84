//! The responses of an endpoint: success with its headers, and each error its checks can cause.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use warp::http::StatusCode;

use super::{EXAMPLES, content, reference};
use crate::endpoint::operation::{Failure, Operation};
use crate::endpoint::{Access, BodyRule, Counting, Endpoint};
use toise_accounts::meter::LimitExceeded;
use toise_contract::Fault;
use toise_service::error::ApiError;
use toise_transport::body::BodyError;

/// Returns the components that describe the headers of responses, by name.
pub(super) fn header_components() -> Value {
    let number =
        |about: &str| json!({"schema": {"type": "integer", "minimum": 0}, "description": about});
    json!({
        "x-request-id": {"schema": {"type": "string", "format": "uuid"}, "description": "Identifies the request"},
        "x-credits": number("Credits charged for this call"),
        "RateLimit-Limit": number("Calls per second that the key may make"),
        "RateLimit-Remaining": number("Calls that may still be made without waiting"),
        "RateLimit-Reset": number("Seconds until the full rate is available again"),
        "x-quota-used-percent": number("Percentage of the monthly quota used, if it is 75 or more"),
        "Retry-After": number("Seconds after which the call may be repeated"),
        "WWW-Authenticate": {"schema": {"type": "string"}, "description": "Schemes by which a key may be sent"},
    })
}

/// Returns references to the headers of an endpoint's success.
fn headers(endpoint: &Endpoint) -> Value {
    let mut names = vec!["x-request-id"];
    if endpoint.is_protected() {
        names.extend([
            "x-credits",
            "RateLimit-Limit",
            "RateLimit-Remaining",
            "RateLimit-Reset",
        ]);
    }
    if endpoint.is_protected() && endpoint.counting != Counting::Free {
        names.push("x-quota-used-percent");
    }
    references(&names)
}

/// Returns references to the headers of a refusal or failure.
fn headers_of_error(status: &str) -> Value {
    references(match status {
        "401" => &["x-request-id", "WWW-Authenticate"],
        "429" | "503" => &["x-request-id", "Retry-After"],
        _ => &["x-request-id"],
    })
}

fn references(headers: &[&str]) -> Value {
    let references = headers.iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        ((*name).to_owned(), reference)
    });
    Value::Object(references.collect())
}

/// Returns every response of an endpoint, by status. Errors are references to components, which are added to `errors`:
/// most endpoints have the same ones.
pub fn responses(
    endpoint: &Endpoint,
    described: &Operation,
    errors: &mut Map<String, Value>,
) -> Value {
    let mut success = json!({"description": "Success", "headers": headers(endpoint)});
    if let Some((media_type, schema)) = &described.response {
        success["content"] = json!({*media_type: {"schema": schema}});
        if let Some(example) = EXAMPLES.get(&described.id) {
            success["content"][*media_type]["example"] = example["answer"].clone();
        }
        for (media_type, schema) in &described.alternatives {
            success["content"][*media_type] = json!({"schema": schema});
        }
    }
    let mut responses = json!({ described.status: success });
    let mut codes: BTreeMap<StatusCode, BTreeSet<u32>> = BTreeMap::new();
    for fault in faults(endpoint, described) {
        let (status, code) = fault.status_and_code();
        codes.entry(status).or_default().insert(code);
    }
    for (status, codes) in codes {
        let codes: Vec<String> = codes.iter().map(u32::to_string).collect();
        let reason = status.canonical_reason().unwrap_or_default();
        let name = format!("{}_{}", reason.replace(' ', ""), codes.join("_"));
        responses[status.as_str()] = json!({"$ref": format!("#/components/responses/{name}")});
        errors.entry(name).or_insert_with(|| {
            json!({
                "description": format!("{reason}; error.code {}", codes.join(" or ")),
                "content": content(reference("Error")),
                "headers": headers_of_error(status.as_str()),
            })
        });
    }
    for (status, response) in &described.others {
        responses[*status] = response.clone();
        responses[*status]["headers"] = if status.starts_with('2') {
            headers(endpoint)
        } else {
            headers_of_error(status)
        };
    }
    responses
}

/// Returns one error for each status and code the endpoint can return.
fn faults(endpoint: &Endpoint, described: &Operation) -> Vec<ApiError> {
    if described.has_only_listed_failures {
        return Vec::new();
    }
    let refused = LimitExceeded { retry_after_s: 1 };
    let mut faults = vec![ApiError::internal("")];
    if let Access::Scoped(scope, endpoint) = endpoint.access {
        faults.push(ApiError::Forbidden { scope, endpoint });
    }
    if endpoint.is_protected() {
        faults.push(ApiError::Unauthorised("is required"));
        faults.push(ApiError::RateLimited(refused));
        faults.push(ApiError::Overloaded);
    }
    if endpoint.counting != Counting::Free {
        faults.push(ApiError::QuotaReached(refused));
    }
    if described.failures.contains(&Failure::NoModel) {
        faults.push(ApiError::NoModel);
    }
    if described.failures.contains(&Failure::ExpiredCursor) {
        faults.push(ApiError::CursorExpired);
    }
    let may_conflict = described.failures.contains(&Failure::WrongState);
    if endpoint.takes_idempotency_key() || may_conflict {
        faults.push(ApiError::IdempotencyConflict);
    }
    let names_a_record =
        endpoint.path.contains('{') || described.failures.contains(&Failure::NoRecord);
    if names_a_record {
        faults.push(ApiError::NotFound(""));
    }
    if !described.query.is_empty() || endpoint.path.contains('{') {
        faults.push(ApiError::BrokenEncoding);
    }
    if let Some(bytes_max) = endpoint.body.bytes_max() {
        faults.push(ApiError::Body(BodyError::TooLarge { bytes_max }));
        faults.push(ApiError::Body(BodyError::UnsupportedMediaType("")));
        faults.push(ApiError::Body(BodyError::Interrupted));
        let is_json = matches!(endpoint.body, BodyRule::Json { .. });
        if is_json && described.query.is_empty() && !endpoint.path.contains('{') {
            faults.push(ApiError::NotJson(String::new()));
        }
    }
    let may_be_refused = !described.query.is_empty()
        || endpoint.body != BodyRule::None
        || endpoint.takes_idempotency_key()
        || described.failures.contains(&Failure::Refused);
    if may_be_refused {
        faults.push(ApiError::Invalid(Fault::new("", "")));
    }
    faults
}
