//! The request body of an ingestion.

use serde_json::Value;

use toise_contract::fault::Fault;
use toise_contract::fields::{Field, FieldKind, ListOf, read};
use toise_contract::walk::JsonPath;

/// Maximum adverts per call.
pub const ADVERTS_MAX: usize = 1_000;

const ADVERTS_KEY: &str = "adverts";

static ITEMS: ListOf = ListOf {
    item: FieldKind::Later("IncomingAdvert"),
    least: 1,
    most: Some(ADVERTS_MAX),
};

/// The fields of the request body.
pub static ADVERTS: [Field; 1] = [Field::required(
    ADVERTS_KEY,
    FieldKind::List(&ITEMS),
    "Adverts; each is accepted or refused on its own",
)];

/// Reads the request body, `{adverts: […]}`. The adverts themselves are validated one by one, later.
///
/// # Errors
/// The first fault in document order.
pub fn parse_adverts(mut body: Value) -> Result<Vec<Value>, Fault> {
    read(&body, &ADVERTS, JsonPath::Body)?;
    match body[ADVERTS_KEY].take() {
        Value::Array(adverts) => Ok(adverts),
        _ => Err(Fault::new(ADVERTS_KEY, "must be an array")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_a_list_of_adverts_that_are_validated_later() {
        assert_eq!(parse_adverts(json!({"adverts": [1, {}]})).unwrap().len(), 2);
        #[rustfmt::skip]
        let cases = [
            (json!([]), "body: must be an object"),
            (json!({}), "adverts: is required"),
            (json!({"adverts": {}}), "adverts: must be an array"),
            (json!({"adverts": []}), "adverts: must hold 1 to 1000 items"),
            (json!({"adverts": vec![0; 1_001]}), "adverts: must hold 1 to 1000 items"),
            (json!({"advert": []}), "advert: unknown field; must be one of: adverts"),
        ];
        for (body, message) in cases {
            assert_eq!(parse_adverts(body).unwrap_err().to_string(), message);
        }
    }
}
