//! A house number as the index stores it.

use crate::text::lexicon::suffix_text;

/// A house number.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseNumber {
    /// The number.
    pub number: u32,
    /// Suffix code, as [`crate::text::lexicon::suffix_text`] reads it; see [`HouseNumber::suffix_label`].
    pub suffix: u8,
    /// The suffix, if it has no code.
    pub other_suffix: Option<Box<str>>,
    /// Its own postal code as a number; it may differ from the street's on a long street. 0 if unknown.
    pub postal_code: u32,
    /// Latitude, degrees.
    pub lat: f64,
    /// Longitude, degrees.
    pub lon: f64,
    /// Identifier, if it is not the usual one.
    pub id: Option<String>,
}

impl HouseNumber {
    /// Returns the suffix as the base writes it, in lower case: `bis`, `b`, `a bis`; empty without one.
    pub fn suffix_label(&self) -> &str {
        match &self.other_suffix {
            Some(suffix) => suffix,
            None => suffix_text(self.suffix),
        }
    }
}
