//! A fault in a body: its place as a JSON path, and what is allowed there.

use std::fmt;

/// The first fault of a body, in document order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// JSON path of the offending value (`filters.surface_m2.min`, `items[3].size`); empty for the body itself.
    pub path: String,
    /// The values that are allowed there, without the path.
    pub message: String,
}

impl Fault {
    /// Creates a fault at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }

    /// Returns the fault relative to an enclosing value: `prefix` is prepended to the path.
    pub fn within(self, prefix: &str) -> Self {
        let path = if self.path.is_empty() {
            prefix.to_owned()
        } else {
            format!("{prefix}.{}", self.path)
        };
        Self { path, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "body"
        } else {
            &self.path
        };
        write!(formatter, "{path}: {}", self.message)
    }
}
