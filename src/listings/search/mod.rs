//! Questions about properties, and the columns and words they ask.
//!
//! [`projection`] keeps the tables of columns from the store, [`texts`] the index of words; [`page`] answers a search from
//! both, [`similars`], [`analytics`] and [`preview`] likewise.

pub mod analytics;
pub mod page;
pub mod preview;
pub mod projection;
pub mod similars;
pub mod texts;
