//! The value of a home: the level of prices around it, sales like it, and trees on the gap between them.

pub mod adjustments;
mod answer;
mod home;
pub mod model;

pub use answer::{Comparable, Confidence, Contribution, Detail, Estimate, Fallback};
pub use home::{Class, Condition, Extras, Furniture, Grade, Home};
pub use model::{Metadata, Model};
