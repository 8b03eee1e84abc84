//! The value of a home: the level of prices around it, sales like it, and trees on the gap between them.

pub mod adjustments;
mod answer;
pub mod bulk;
pub mod functions;
mod home;
pub mod live;
pub mod model;
pub mod shown;
pub mod valuer;

pub use answer::{Comparable, Confidence, Contribution, Detail, Estimate, Fallback};
pub use home::{Class, Condition, Extras, Furniture, Grade, Home};
pub use model::{Metadata, Model};
