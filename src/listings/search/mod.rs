//! Queries over properties, and the tables and text index that serve them.
//!
//! [`projection`] derives the tables from the store and [`texts`] the text index. [`page`], [`similars`], [`analytics`]
//! and [`preview`] read them.

pub mod analytics;
pub mod page;
pub mod preview;
pub mod projection;
pub mod similars;
pub mod texts;
