//! Splits untrusted JSON: the items of an array, or the fields of an object, as slices of the text.
//!
//! An array of zeros has an item every two bytes, so memory depends on the bytes kept per item: sixteen here, for at
//! most [`ITEMS_MAX`] items.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Maximum items of an array, or fields of an object, that is read as a whole. Larger inputs must have one object a
/// line.
pub const ITEMS_MAX: usize = 5_000_000;

/// The items of an array, in order.
#[derive(Debug, Default)]
pub struct RawItems<'t>(Vec<&'t RawValue>);

impl<'t> RawItems<'t> {
    /// Adds an item.
    ///
    /// # Errors
    /// There are already [`ITEMS_MAX`] items; the message says so.
    pub fn push(&mut self, item: &'t RawValue) -> Result<(), String> {
        check_count(self.0.len())?;
        self.0.push(item);
        Ok(())
    }

    /// Returns the range of each item in the text that it was read from.
    pub fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.0.iter().map(|item| range_in(text, item)).collect()
    }
}

impl<'t> IntoIterator for RawItems<'t> {
    type Item = &'t RawValue;
    type IntoIter = std::vec::IntoIter<&'t RawValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The fields of an object, in order.
#[derive(Debug, Default)]
pub struct RawFields<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'t> RawFields<'t> {
    /// Returns the value of a field; if a name occurs more than once, the last value.
    pub fn get(&self, name: &str) -> Option<&'t RawValue> {
        let mut fields = self.0.iter().rev();
        fields.find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// Iterates over all names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// Iterates over all values, in order.
    pub fn values(&self) -> impl Iterator<Item = &'t RawValue> {
        self.0.iter().map(|(_, value)| *value)
    }
}

/// Returns the range of a value in the text that it was read from.
pub fn range_in(text: &[u8], value: &RawValue) -> Range<usize> {
    let from = value.get().as_ptr().addr() - text.as_ptr().addr();
    from..from + value.get().len()
}

/// Checks that one more item is allowed.
///
/// # Errors
/// There are already [`ITEMS_MAX`] items; the message says so.
pub fn check_count(items: usize) -> Result<(), String> {
    if items < ITEMS_MAX {
        Ok(())
    } else {
        Err(format!(
            "more than {ITEMS_MAX} items; write one object per line instead (ndjson)"
        ))
    }
}

impl<'de: 't, 't> Deserialize<'de> for RawItems<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = RawItems<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut found = RawItems::default();
                while let Some(item) = items.next_element()? {
                    found.push(item).map_err(A::Error::custom)?;
                }
                Ok(found)
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

/// The name of a field, borrowed from the text unless it contains escapes.
#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'de: 't, 't> Deserialize<'de> for RawFields<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawFields<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut found = RawFields::default();
                while let Some((Name(name), value)) = fields.next_entry()? {
                    check_count(found.0.len()).map_err(A::Error::custom)?;
                    found.0.push((name, value));
                }
                Ok(found)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_slices_of_the_text_and_bounded() {
        let text = b" [1, {\"a\": []},null]";
        let items: RawItems<'_> = serde_json::from_slice(text).unwrap();
        let ranges = items.ranges(text).into_iter();
        let texts: Vec<&[u8]> = ranges.map(|range| &text[range]).collect();
        assert_eq!(texts, [&b"1"[..], b"{\"a\": []}", b"null"]);
        let many = format!("[{}0]", "0,".repeat(ITEMS_MAX));
        let refused = serde_json::from_str::<RawItems<'_>>(&many).unwrap_err();
        assert!(refused.to_string().contains("more than"), "{refused}");
    }

    #[test]
    fn fields_are_found_by_name_and_the_last_of_two_counts() {
        let text = r#"{"a": 1, "b\u0062": [2], "a": {"a": 3}}"#;
        let fields: RawFields<'_> = serde_json::from_str(text).unwrap();
        let get = |name: &str| fields.get(name).map(RawValue::get);
        assert_eq!(get("a"), Some(r#"{"a": 3}"#));
        assert_eq!(get("bb"), Some("[2]"));
        assert_eq!(get("c"), None);
        assert_eq!(fields.values().count(), 3);
    }
}
