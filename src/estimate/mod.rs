//! The value of a home: the level of prices around it, sales like it, and trees on the gap between them.

mod answer;
mod home;

pub use answer::{Comparable, Confidence, Contribution, Detail, Estimate, Fallback};
pub use home::{Class, Condition, Extras, Furniture, Grade, Home};
