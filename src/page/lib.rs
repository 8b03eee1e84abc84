//! Reads pages for `toise_collect`: their document, text and kind, and the values found.
//!
//! [`mod@tidy`] makes the HTML well-formed, [`document`] walks it once, [`french`] reads its visible text,
//! [`positions`] finds the position of its map, `blocks` recognises the parts of a page that are not about its listing,
//! [`page_kind`] detects pages that are not listings, and [`findings`] keeps the values with their origins.

#![forbid(unsafe_code)]

mod blocks;
mod cards;
pub mod document;
pub mod findings;
pub mod french;
pub mod page_kind;
pub mod positions;
pub mod tidy;
