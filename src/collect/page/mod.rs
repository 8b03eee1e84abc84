//! What portals and the extraction read of a page: its document, its text, its kind, and the values found.
//!
//! [`mod@tidy`] makes its HTML well-formed, [`document`] walks it once, [`french`] reads its visible text, [`positions`]
//! finds the position of its map, [`page_kind`] tells pages that are no listing, and [`findings`] keeps the values with
//! their origins.

pub mod document;
pub mod findings;
pub mod french;
pub mod page_kind;
pub mod positions;
pub mod tidy;
