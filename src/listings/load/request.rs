//! The body that brings adverts.

use serde_json::Value;

use toise_contract::fault::Fault;
use toise_contract::walk::{At, list, object};

/// Adverts one call may bring.
pub const ADVERTS_MAX: usize = 1_000;

/// Reads the body of an ingestion: `{adverts: […]}`. The adverts themselves are read one by one, later.
///
/// # Errors
/// The first fault in document order.
pub fn parse_adverts(body: Value) -> Result<Vec<Value>, Fault> {
    let at = At::Body;
    let here = At::Key(&at, "adverts");
    for key in object(&body, at)?.keys() {
        if key != "adverts" {
            return Err(at.unknown_key(key, ["adverts"]));
        }
    }
    let Value::Object(mut body) = body else {
        return Err(at.fault("must be an object"));
    };
    let adverts = body
        .shift_remove("adverts")
        .ok_or_else(|| here.fault("is required"))?;
    let count = list(&adverts, here)?.len();
    if count == 0 || count > ADVERTS_MAX {
        return Err(here.fault(format!("must hold 1 to {ADVERTS_MAX} items")));
    }
    match adverts {
        Value::Array(adverts) => Ok(adverts),
        _ => Err(here.fault("must be an array")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_batch_is_a_list_of_adverts_that_are_looked_at_later() {
        assert_eq!(parse_adverts(json!({"adverts": [1, {}]})).unwrap().len(), 2);
        for (body, message) in [
            (json!([]), "body: must be an object"),
            (json!({}), "adverts: is required"),
            (json!({"adverts": {}}), "adverts: must be an array"),
            (json!({"adverts": []}), "adverts: must hold 1 to 1000 items"),
            (
                json!({"adverts": vec![0; 1_001]}),
                "adverts: must hold 1 to 1000 items",
            ),
            (
                json!({"advert": []}),
                "advert: unknown field; must be one of: adverts",
            ),
        ] {
            assert_eq!(parse_adverts(body).unwrap_err().to_string(), message);
        }
    }
}
