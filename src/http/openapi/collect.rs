//! OpenAPI: listings by the URL of their page, checks and reports.

use serde_json::{Value, json};

use super::{content, enveloped};
use crate::endpoint::limits::CHECKED_MAX;
use toise_collect::RETRY_AFTER_S;
use toise_collect::rejected::RejectionCode;
use toise_collect::request::REASON;
use toise_contract::fields::schema::{self, Components, id, record, text};

/// Returns the schema of the response to a check.
pub fn check() -> Value {
    record(json!({
        "result": {"type": "string", "enum": ["check_scheduled", "nothing_to_check"],
            "description": "Whether there is a page to check"},
        "adverts": {"type": "integer", "minimum": 0, "maximum": CHECKED_MAX,
            "description": "Number of pages that will be checked"},
    }))
}

/// Returns the schema of the response to a report.
pub fn report() -> Value {
    record(json!({
        "report_id": id("Identifier of the report"),
        "reason": reason(),
    }))
}

fn reason() -> Value {
    schema::property(&REASON, &mut Components::new())
}

/// Returns the response to a call whose page is still being collected.
pub fn pending() -> Value {
    let status = record(json!({
        "status": {"type": "string", "enum": ["pending"], "description": "Collection continues"},
        "retry_after_s": {"type": "integer", "minimum": 1, "examples": [RETRY_AFTER_S],
            "description": "Seconds after which to ask again"},
    }));
    json!({"description": "Still being collected; free", "content": content(enveloped(status))})
}

/// Returns the response to a call whose page is not a listing, or the ordinary error.
pub fn rejected(error: Value) -> Value {
    let reasons = RejectionCode::ALL.map(|code| format!("`{}` {}", code.as_str(), code.meaning()));
    let mut rejected = enveloped(record(json!({
        "status": {"type": "string", "enum": ["rejected"], "description": "Rejected: do not ask for this page \
            again"},
        "reason": text(&format!("A code, a colon and an explanation: {}", reasons.join("; "))),
    })));
    // Ensures that no answer matches both schemas.
    rejected["additionalProperties"] = false.into();
    json!({
        "description": "The page is not a listing (free), or `url` is missing or malformed (error.code 10002)",
        "content": content(json!({"oneOf": [rejected, error]})),
    })
}
