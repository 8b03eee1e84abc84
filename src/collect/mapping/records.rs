//! Finds the records of a JSON document at a path; a list gives one record per item.
//!
//! Records stay slices of the document's text, because a parsed document takes several times the memory.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::row::{RowPath, RowStep, is_written, walk};
use toise_base::items::{RawFields, RawItems, check_count};

/// A record of a document.
#[derive(Debug)]
pub enum Record<'t> {
    /// A slice of the document.
    Text(&'t RawValue),
    /// A value parsed from a string that holds JSON.
    Read(Box<Value>),
}

impl RowPath {
    /// Returns the records of a document, in order; `None` if the document has nothing at the path. An empty list gives
    /// an empty result instead.
    ///
    /// # Errors
    /// There are more than [`ITEMS_MAX`](toise_base::items::ITEMS_MAX) records, or more items in a list on the path.
    pub fn records<'t>(&self, document: &'t RawValue) -> Result<Option<Vec<Record<'t>>>, String> {
        let mut found = None;
        follow(document, &self.steps, &mut found)?;
        Ok(found)
    }
}

fn follow<'t>(
    value: &'t RawValue,
    steps: &[RowStep],
    found: &mut Option<Vec<Record<'t>>>,
) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        let found = found.get_or_insert_default();
        return if value.get().starts_with('[') {
            items(value)?
                .into_iter()
                .try_for_each(|item| push(found, Record::Text(item)))
        } else {
            push(found, Record::Text(value))
        };
    };
    match (value.get().as_bytes().first(), step) {
        (Some(b'"'), _) => return follow_in_text(read(value)?, steps, found),
        (Some(b'{'), RowStep::Key(key)) => {
            if let Some(inner) = fields(value)?.get(key) {
                follow(inner, rest, found)?;
            }
        }
        (Some(b'{'), RowStep::Every) => {
            for inner in fields(value)?.values() {
                follow(inner, rest, found)?;
            }
        }
        (Some(b'['), RowStep::Every) => {
            for item in items(value)? {
                follow(item, rest, found)?;
            }
        }
        (Some(b'['), RowStep::Item(index)) => {
            if let Some(item) = items(value)?.into_iter().nth(*index) {
                follow(item, rest, found)?;
            }
        }
        // If there is a list instead of an object, the key is read from each item.
        (Some(b'['), RowStep::Key(key)) => {
            for item in items(value)? {
                if let Some(inner) = field(item, key)? {
                    follow(inner, rest, found)?;
                }
            }
        }
        (Some(b'['), RowStep::With(key, wanted)) => {
            for item in items(value)? {
                let Some(inner) = field(item, key)? else {
                    continue;
                };
                if is_written(&read(inner)?, wanted) {
                    return follow(item, rest, found);
                }
            }
        }
        // An object that is not in a list is chosen like the item of one.
        (Some(b'{'), RowStep::With(key, wanted)) => {
            if let Some(inner) = field(value, key)?
                && is_written(&read(inner)?, wanted)
            {
                return follow(value, rest, found);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Follows the steps in a string that may hold JSON.
fn follow_in_text(
    text: Value,
    steps: &[RowStep],
    found: &mut Option<Vec<Record<'_>>>,
) -> Result<(), String> {
    let mut values = Vec::new();
    walk(Cow::Owned(text), steps, &mut values);
    for value in values {
        let found = found.get_or_insert_default();
        match value.into_owned() {
            Value::Array(items) => {
                for item in items {
                    push(found, Record::Read(Box::new(item)))?;
                }
            }
            value => push(found, Record::Read(Box::new(value)))?,
        }
    }
    Ok(())
}

fn push<'t>(found: &mut Vec<Record<'t>>, record: Record<'t>) -> Result<(), String> {
    check_count(found.len())?;
    found.push(record);
    Ok(())
}

fn read<'t, T: Deserialize<'t>>(value: &'t RawValue) -> Result<T, String> {
    serde_json::from_str(value.get()).map_err(|error| error.to_string())
}

fn items(value: &RawValue) -> Result<RawItems<'_>, String> {
    read(value)
}

fn fields(value: &RawValue) -> Result<RawFields<'_>, String> {
    read(value)
}

/// Returns a field of a value; `None` if the value is not an object.
fn field<'t>(value: &'t RawValue, key: &str) -> Result<Option<&'t RawValue>, String> {
    if value.get().starts_with('{') {
        Ok(fields(value)?.get(key))
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Returns the records at a path in a document that was parsed into values.
    fn records_of_values(path: &RowPath, document: Value) -> Vec<Value> {
        let mut found = Vec::new();
        walk(Cow::Owned(document), &path.steps, &mut found);
        let items = found
            .into_iter()
            .flat_map(|value| match value.into_owned() {
                Value::Array(items) => items,
                value => vec![value],
            });
        items.collect()
    }

    fn records(path: &str, document: &Value) -> Vec<Value> {
        let path = RowPath::parse(path).unwrap();
        let document = RawValue::from_string(document.to_string()).unwrap();
        let found = path.records(&document).unwrap().unwrap_or_default();
        let value = |record| match record {
            Record::Text(text) => read(text).unwrap(),
            Record::Read(value) => *value,
        };
        found.into_iter().map(value).collect()
    }

    #[test]
    fn records_are_found_anywhere_in_a_document() {
        assert_eq!(
            records("data.ads", &json!({"data": {"ads": [1, 2]}})),
            [json!(1), json!(2)]
        );
        assert_eq!(records("*", &json!({"a": [1], "b": [2, 3]})).len(), 3);
        assert_eq!(
            records("listings", &json!({"listings": []})),
            [Value::Null; 0]
        );
        let one = json!([{"a": 1, "b": [2]}]);
        assert_eq!(records("*[a=1].b", &one), [json!(2)]);
        assert_eq!(records("*[a=2].b", &one), [Value::Null; 0]);
        let in_text = json!({"state": "{\"ads\": [{\"a\": 1}]}"});
        assert_eq!(records("state.ads", &in_text), [json!({"a": 1})]);
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0_i64..4).prop_map(Value::from),
            "[ab]|3|\\{\"a\": \\[1, \\{\"b\": 2\\}\\]\\}| \\[\\[3\\]\\]|\\{".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_has_the_records_of_its_values(
            document in documents(),
            path in "(a|b|\\*|\\[0\\]|\\[1\\]|\\[\\*\\]|\\[a=3\\]|\\[b=a\\])(\\.(a|b|\\*)|\\[0\\]|\\[a=1\\]){0,3}",
        ) {
            let parsed = RowPath::parse(&path).unwrap();
            prop_assert_eq!(records(&path, &document), records_of_values(&parsed, document));
        }
    }
}
