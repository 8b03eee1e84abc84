//! Settings of estimates: the `[estimate]` section.

use serde::{Deserialize, Serialize};

use crate::valuer::Adjustments;

/// The `[estimate]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateSettings {
    /// Whether characteristics that recorded sales do not contain adjust the price.
    pub adjustments: bool,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self { adjustments: true }
    }
}

impl EstimateSettings {
    /// The `adjustments` setting as an enum.
    pub fn adjustments(&self) -> Adjustments {
        if self.adjustments {
            Adjustments::On
        } else {
            Adjustments::Off
        }
    }
}
