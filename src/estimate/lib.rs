//! Estimates the value of a home from the price level around it, comparable sales, and residual trees.

pub mod adjustments;
pub mod answer;
pub mod bulk;
pub mod clean;
pub mod comparables;
mod error;
mod features;
pub mod fit;
pub mod functions;
mod hedonic;
pub mod home;
mod index;
pub mod interval;
pub mod join;
pub mod live;
mod market;
pub mod model;
pub mod place;
pub mod read;
pub mod request;
pub mod sale;
pub mod settings;
pub mod shown;
pub mod store;
pub mod train;
pub mod trees;
pub mod valuer;

pub use answer::{Comparable, Confidence, Contribution, Detail, Estimate, Fallback};
pub use home::{Class, Condition, Extras, Furniture, Grade, Home};
pub use model::{Metadata, Model};

#[cfg(test)]
mod known_market;
#[cfg(test)]
mod tests;
