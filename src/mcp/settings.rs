//! The settings of the Model Context Protocol: the `[mcp]` section.

use serde::{Deserialize, Serialize};

/// `[mcp]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// Whether the server answers at `/mcp`.
    pub enabled: bool,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}
