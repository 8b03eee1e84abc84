//! The items of a JSON array that others made, as slices of its text.
//!
//! An array of zeros has an item every two bytes, so that what is kept of each decides what the array takes: sixteen bytes
//! here, of at most [`ITEMS_MAX`] items.

use std::fmt;
use std::ops::Range;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Maximum items of an array that is read as a whole; more come as one object a line.
pub const ITEMS_MAX: usize = 5_000_000;

/// The items of an array, in order.
#[derive(Debug, Default)]
pub struct RawItems<'t>(Vec<&'t RawValue>);

impl<'t> RawItems<'t> {
    /// Adds an item.
    ///
    /// # Errors
    /// There are [`ITEMS_MAX`] already; the message says so.
    pub fn push(&mut self, item: &'t RawValue) -> Result<(), String> {
        if self.0.len() == ITEMS_MAX {
            return Err(format!(
                "more than {ITEMS_MAX} items; write one object a line instead (ndjson)"
            ));
        }
        self.0.push(item);
        Ok(())
    }

    /// Where each item lies in the text that they were read from.
    pub fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        let start = text.as_ptr().addr();
        let range = |item: &&RawValue| {
            let from = item.get().as_ptr().addr() - start;
            from..from + item.get().len()
        };
        self.0.iter().map(range).collect()
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
}
