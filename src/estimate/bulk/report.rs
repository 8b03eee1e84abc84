//! Statistics of a bulk estimate: rows by outcome, and the time taken.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Estimate;
use toise_geocode::resolve::Precision;
use toise_input::reading::LeftOutValues;
use toise_input::{ReadFile, SharedReading};
use toise_opendata::portfolio::{warn_of_streets, warn_of_towns};

/// Names in the contract, and how often each occurred.
type Count = BTreeMap<Cow<'static, str>, u64>;

/// Statistics of a bulk estimate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BulkEstimateReport {
    /// Rows read from the portfolio.
    pub rows: u64,
    /// Rows with a price.
    pub valued: u64,
    /// Rows that could not be valued.
    pub errors: u64,
    /// Rows that could not be valued, by status: `outside_france`, `coordinates_swapped?`, `error`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub status: Count,
    /// Valued rows by confidence.
    pub confidence: Count,
    /// Valued rows by fallback.
    pub fallback: Count,
    /// Valued rows by warning.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub warning: Count,
    /// Rows located by their address, by precision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub located: Count,
    /// Rows located by an address without a town next to its street.
    pub without_town: u64,
    /// Rows of a block that could be read but not valued, by reason. They are merged into `files`.
    #[serde(skip_serializing_if = "LeftOutValues::is_empty")]
    pub left_out: LeftOutValues,
    /// How the portfolio was interpreted.
    pub files: Vec<ReadFile>,
    /// Elapsed time from opening the portfolio until the output is on disk, in seconds.
    pub seconds: f64,
    /// Portfolio rows processed per second.
    pub rows_per_second: f64,
}

impl BulkEstimateReport {
    /// Adds how the portfolio was interpreted, the time elapsed since `started` and the rows per second.
    pub(super) fn finish(mut self, reading: &SharedReading, started: Instant) -> Self {
        let mut file = reading.found(std::mem::take(&mut self.left_out));
        let by_town = self.located.get(Precision::Town.name());
        warn_of_streets(&mut file, by_town.copied().unwrap_or_default());
        warn_of_towns(&mut file, self.without_town, self.located.values().sum());
        self.files = vec![file];
        self.seconds = started.elapsed().as_secs_f64();
        self.rows_per_second = self.rows as f64 / self.seconds.max(f64::MIN_POSITIVE);
        self
    }

    pub(super) fn price(&mut self, estimate: &Estimate) {
        self.valued += 1;
        let confidence = estimate.confidence.as_str();
        *self.confidence.entry(confidence.into()).or_default() += 1;
        let fallback = estimate.fallback.as_str();
        *self.fallback.entry(fallback.into()).or_default() += 1;
        if let Some(warning) = estimate.warning {
            *self.warning.entry(warning.as_str().into()).or_default() += 1;
        }
    }

    pub(super) fn add(&mut self, other: &BulkEstimateReport) {
        self.rows += other.rows;
        self.valued += other.valued;
        self.errors += other.errors;
        self.without_town += other.without_town;
        self.left_out.append(other.left_out.clone());
        for (own, added) in [
            (&mut self.status, &other.status),
            (&mut self.confidence, &other.confidence),
            (&mut self.fallback, &other.fallback),
            (&mut self.warning, &other.warning),
            (&mut self.located, &other.located),
        ] {
            for (word, count) in added {
                *own.entry(word.clone()).or_default() += count;
            }
        }
    }
}
