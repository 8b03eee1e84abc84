//! Parameters of operations that follow from their endpoint.

use serde_json::{Value, json};

use super::admin::id_parameter;
use crate::endpoint::limits::KEY_CHARS_MAX;

/// Returns a parameter for each `{name}` in a path.
pub fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|segment| {
        segment
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
    });
    names.map(id_parameter).collect()
}

/// Returns the header that makes a call repeatable.
pub fn idempotency_parameter() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": KEY_CHARS_MAX, "pattern": "^[!-~]([ -~]*[!-~])?$"},
        "description": "Identifies the call, so that it can be repeated safely. A call sent again within 24 h with \
                        the same body costs nothing more and returns the stored answer (`idempotent-replayed: \
                        true`). If that answer was not kept and the call only reads, the answer is computed again \
                        (`idempotent-recomputed: true`). A call with the same key and another body is refused with \
                        409",
    })
}
