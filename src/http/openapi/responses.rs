//! The responses of an endpoint: success with its headers, and each error its checks can cause.

use serde_json::{Value, json};

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

/// Returns references to the headers of an endpoint's response with a status.
fn headers(endpoint: &Endpoint, status: &str) -> Value {
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
    match status {
        "401" => names.push("WWW-Authenticate"),
        "429" | "503" => names.push("Retry-After"),
        _ => {}
    }
    let references = names.into_iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        (name.to_owned(), reference)
    });
    Value::Object(references.collect())
}

/// Returns every response of an endpoint, by status.
pub fn responses(endpoint: &Endpoint, described: &Operation) -> Value {
    let mut success = json!({"description": "Success"});
    if let Some((media_type, schema)) = &described.answer {
        success["content"] = json!({*media_type: {"schema": schema}});
        if let Some(example) = EXAMPLES.get(&described.id) {
            success["content"][*media_type]["example"] = example["answer"].clone();
        }
        for (media_type, schema) in &described.alternatives {
            success["content"][*media_type] = json!({"schema": schema});
        }
    }
    let mut responses = json!({ described.status: success });
    for fault in faults(endpoint, described) {
        let (status, code) = fault.status_and_code();
        let reason = status.canonical_reason().unwrap_or_default();
        let entry = &mut responses[status.as_str()];
        let description = match entry["description"].as_str() {
            Some(previous) if previous.ends_with(&code.to_string()) => continue,
            Some(previous) => format!("{previous} or {code}"),
            None => format!("{reason}; error.code {code}"),
        };
        *entry = json!({"description": description, "content": content(reference("Error"))});
    }
    for (status, response) in &described.others {
        responses[*status] = response.clone();
    }
    for (status, response) in responses.as_object_mut().into_iter().flatten() {
        response["headers"] = headers(endpoint, status);
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
