//! The value of a home: the level of prices around it, sales like it, and trees on the gap between them.

pub mod adjustments;
mod answer;
pub mod bulk;
pub mod clean;
mod comparables;
pub mod evaluate;
mod features;
mod fit;
pub mod functions;
mod hedonic;
mod home;
mod index;
mod interval;
pub mod join;
mod levels;
pub mod live;
mod market;
pub mod model;
mod place;
pub mod read;
pub mod sale;
pub mod shown;
pub mod store;
pub mod train;
pub mod trees;
pub mod valuer;

pub use answer::{Comparable, Confidence, Contribution, Detail, Estimate, Fallback};
pub use home::{Class, Condition, Extras, Furniture, Grade, Home};
pub use model::{Metadata, Model};

#[cfg(test)]
mod tests;
