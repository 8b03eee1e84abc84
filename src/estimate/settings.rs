//! The settings of estimates: section `[estimate]`.

use serde::{Deserialize, Serialize};

use crate::valuer::Adjustments;

/// `[estimate]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateSettings {
    /// Whether what recorded sales cannot teach moves the price.
    pub adjustments: bool,
}

impl Default for EstimateSettings {
    fn default() -> Self {
        Self { adjustments: true }
    }
}

impl EstimateSettings {
    /// The same for the estimator.
    pub fn adjustments(&self) -> Adjustments {
        match self.adjustments {
            true => Adjustments::On,
            false => Adjustments::Off,
        }
    }
}
