//! Bodies about listings that are no search: adverts to take, identifiers to read.

use serde_json::Value;
use uuid::Uuid;

use super::fault::Fault;
use super::walk::{At, list, object, text};

/// Adverts one call may bring.
pub const ADVERTS_MAX: usize = 1_000;
/// Identifiers of one `_many` call.
pub const MANY_IDS_MAX: usize = 100;

const UUID_RULE: &str = "must be a UUID";

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

/// Reads the body of `_many`: `{flxIds: […]}`, or the bare list. Identifiers stay in the order of the request.
///
/// # Errors
/// The first fault in document order.
pub fn parse_many(body: &Value) -> Result<Vec<Uuid>, Fault> {
    let at = At::Body;
    if body.is_array() {
        return ids(body, at);
    }
    let mut found = None;
    for (key, value) in object(body, at).map_err(|_| at.fault("must be an object or an array"))? {
        match key.as_str() {
            "flxIds" => found = Some(ids(value, At::Key(&at, key))?),
            _ => return Err(at.unknown_key(key, ["flxIds"])),
        }
    }
    found.ok_or_else(|| At::Key(&at, "flxIds").fault("is required"))
}

fn ids(value: &Value, at: At<'_>) -> Result<Vec<Uuid>, Fault> {
    let items = list(value, at)?;
    if items.is_empty() || items.len() > MANY_IDS_MAX {
        return Err(at.fault(format!("must hold 1 to {MANY_IDS_MAX} items")));
    }
    let id = |(index, item)| {
        let here = At::Index(&at, index);
        Uuid::try_parse(text(item, here)?).map_err(|_| here.fault(UUID_RULE))
    };
    items.iter().enumerate().map(id).collect()
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

    #[test]
    fn identifiers_come_bare_or_named_and_keep_their_order() {
        let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
        let ids = vec![other, one, other];
        assert_eq!(parse_many(&json!(ids)).unwrap(), ids);
        assert_eq!(parse_many(&json!({"flxIds": ids})).unwrap(), ids);
        for (body, message) in [
            (json!(1), "body: must be an object or an array"),
            (json!({}), "flxIds: is required"),
            (json!({"flxIds": []}), "flxIds: must hold 1 to 100 items"),
            (json!([one, "x"]), "[1]: must be a UUID"),
            (json!({"flxIds": [1]}), "flxIds[0]: must be a string"),
            (
                json!({"ids": []}),
                "ids: unknown field; must be one of: flxIds",
            ),
        ] {
            assert_eq!(parse_many(&body).unwrap_err().to_string(), message);
        }
    }
}
