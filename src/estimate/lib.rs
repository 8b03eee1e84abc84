//! Estimates the value of a home from the price level around it, comparable sales, and residual trees.

#![forbid(unsafe_code)]

pub mod adjustments;
pub mod answer;
pub mod boosting;
pub mod bulk;
pub mod clean;
pub mod comparables;
mod error;
mod features;
pub mod fit;
pub mod functions;
pub mod grid;
mod hedonic;
pub mod home;
pub mod interval;
pub mod join;
pub mod json;
pub mod live;
mod market;
pub mod model;
mod price_index;
pub mod read_sales;
pub mod request;
pub mod sale;
pub mod settings;
pub mod store;
pub mod train;
pub mod valuer;

pub use answer::{
    Comparable, Contribution, Detail, Estimate, EstimateConfidence, EstimateWarning, Fallback,
};
pub use home::{Condition, Extras, Furniture, Grade, Home, HomeClass};
pub use model::{Model, ModelMetadata};
pub use price_index::{PriceChange, PricePaths};

#[cfg(test)]
mod known_market;
#[cfg(test)]
mod tests;
