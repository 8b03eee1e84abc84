//! Field tables: reading and schemas.

use serde_json::{Value, json};

use super::schema::{self, Components};
use super::*;
use crate::walk::JsonPath;

static INNER: [Field; 2] = [
    Field::required("name", FieldKind::Words(3), "Its name"),
    Field::optional("tags", FieldKind::List(&TAGS), "Its tags"),
];
static TAGS: ListOf = ListOf {
    item: FieldKind::OneOf(&["a", "b"]),
    least: 1,
    most: Some(2),
};
static TABLE: [Field; 4] = [
    Field::required("count", FieldKind::Integer(1, 9), "How many").or(DefaultValue::Integer(4)),
    Field::optional("inner", FieldKind::Object(&INNER), "What is inside"),
    Field::optional("quota", FieldKind::IntegerOrNull(0, 5), ""),
    Field::optional("since", FieldKind::Moment, "Since when"),
];

fn fault(body: Value) -> String {
    read(&body, &TABLE, JsonPath::Body).unwrap_err().to_string()
}

#[test]
fn the_first_fault_in_document_order_is_reported_and_missing_fields_come_last() {
    for (body, message) in [
        (json!([]), "body: must be an object"),
        (json!({}), "count: is required"),
        (
            json!({"inner": {"tags": ["a", "c"]}, "count": 0}),
            "inner.tags[1]: must be one of: a, b",
        ),
        (
            json!({"inner": {"tags": []}}),
            "inner.tags: must hold 1 to 2 items",
        ),
        (json!({"inner": {}}), "inner.name: is required"),
        (
            json!({"inner": {"name": " "}}),
            "inner.name: must hold 1 to 3 characters, not only spaces",
        ),
        (
            json!({"quota": 6}),
            "quota: must be an integer between 0 and 5, or null for none",
        ),
        (
            json!({"other": 1}),
            "other: unknown field; must be one of: count, inner, quota, since",
        ),
    ] {
        assert_eq!(fault(body), message);
    }
}

#[test]
fn values_are_taken_by_name_and_a_part_may_omit_required_fields() {
    let body = json!({"count": 3, "quota": null, "inner": {"name": "x", "tags": ["b"]}});
    let mut values = read(&body, &TABLE, JsonPath::Body).unwrap();
    assert_eq!(values.require::<usize>("count"), Ok(3));
    assert_eq!(values.take::<Option<u64>>("quota"), Some(None));
    assert_eq!(
        values.at(["inner", "name"].into_iter()),
        Some(&Taken::Text("x"))
    );
    assert_eq!(values.require::<usize>("count").unwrap_err().path, "count");
    let body = json!({"inner": {}});
    assert!(read_part(&body, &TABLE, JsonPath::Body).is_ok());
}

#[test]
fn a_null_is_an_absent_field_where_it_is_optional_and_has_no_meaning_of_its_own() {
    let taken = |body: Value, read: fn(&Value) -> Result<Vec<&'static str>, String>| read(&body);
    let whole = |body: &Value| names_of(read(body, &TABLE, JsonPath::Body));
    let part = |body: &Value| names_of(read_part(body, &TABLE, JsonPath::Body));
    let change = |body: &Value| names_of(read_change(body, &TABLE, JsonPath::Body));
    let nulls = json!({"count": 3, "inner": null, "quota": null, "since": null});
    for read in [whole, part, change] {
        assert_eq!(taken(nulls.clone(), read), Ok(vec!["count", "quota"]));
        let inner = json!({"count": 3, "inner": {"name": "x", "tags": null}});
        assert_eq!(taken(inner, read), Ok(vec!["count", "inner"]));
        let unknown = json!({"other": null});
        assert!(
            taken(unknown, read)
                .unwrap_err()
                .starts_with("other: unknown field")
        );
    }
    // A null is refused for a required field, except in a change, where any field may stay unchanged.
    let nothing = json!({"inner": {"name": null}, "count": null});
    for read in [whole, part] {
        let refused = taken(nothing.clone(), read);
        assert_eq!(refused, Err("inner.name: must be a string".into()));
    }
    assert_eq!(taken(nothing, change), Ok(vec!["inner"]));
}

fn names_of(values: Result<Values<'_>, Fault>) -> Result<Vec<&'static str>, String> {
    let values = values.map_err(|fault| fault.to_string())?;
    Ok(values.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn a_query_is_read_from_texts_and_its_last_value_counts() {
    let query = [("count", "2"), ("since", "2026-01-01"), ("count", "7")];
    let mut values = read_query(&query, &TABLE).unwrap();
    assert_eq!(
        (values.count("count"), values.take("count")),
        (2, Some(7_u64))
    );
    let fault = |query: &[(&str, &str)]| read_query(query, &TABLE).unwrap_err().to_string();
    assert_eq!(
        fault(&[("count", "1.5")]),
        "count: must be an integer between 1 and 9"
    );
    assert_eq!(
        fault(&[("of", "1")]),
        "of: unknown parameter; must be one of: count, inner, quota, since"
    );
    assert_eq!(fault(&[("since", "2026-01-01")]), "count: is required");
}

#[test]
fn the_schema_describes_what_is_read() {
    let schema = schema::object(&TABLE, &mut Components::new());
    assert_eq!(schema["required"], json!(["count"]));
    let count = json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 4, "description": "How many"});
    assert_eq!(schema["properties"]["count"], count);
    let tags = &schema["properties"]["inner"]["properties"]["tags"];
    assert_eq!(
        (&tags["minItems"], &tags["maxItems"]),
        (&json!(1), &json!(2))
    );
    assert!(schema::part(&TABLE, &mut Components::new())["required"].is_null());
    assert_eq!(schema::parameters(&TABLE)[0]["in"], "query");
}

#[test]
fn a_record_requires_the_keys_without_a_question_mark() {
    let properties = json!({"b": schema::count("B"), "a?": schema::text("A")});
    let expected = json!({
        "type": "object",
        "description": "Both",
        "required": ["b"],
        "properties": {"b": schema::count("B"), "a": schema::text("A")},
    });
    assert_eq!(schema::record_about("Both", properties), expected);
    let optional = schema::record(json!({"a?": schema::text("A")}));
    assert!(optional["required"].is_null() && optional["description"].is_null());
}
