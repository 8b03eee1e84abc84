//! Settings of deduplication: the `[dedup]` section.

use serde::{Deserialize, Serialize};

use super::thresholds::Thresholds;

/// The `[dedup]` section.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DedupSettings {
    /// Probability from which adverts are merged.
    pub same_probability: f64,
    /// Probability from which a pair is listed for a person to decide.
    pub possible_probability: f64,
}

impl Default for DedupSettings {
    fn default() -> Self {
        Self {
            same_probability: Thresholds::SAME_PROBABILITY,
            possible_probability: Thresholds::POSSIBLE_PROBABILITY,
        }
    }
}

impl DedupSettings {
    /// Returns the thresholds; `None` if the two are out of order or out of bounds ([`Thresholds::new`]).
    pub fn thresholds(&self) -> Option<Thresholds> {
        Thresholds::new(self.same_probability, self.possible_probability)
    }
}
