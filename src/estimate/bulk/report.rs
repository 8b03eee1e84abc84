//! The result of a bulk estimate in numbers: rows by outcome, and the time taken.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Estimate;
use toise_input::FileForm;
use toise_opendata::portfolio::{InferredColumn, OpenPortfolio};

/// Maximum distinct error reasons in a report; further ones are counted together.
const REASONS_MAX: usize = 50;
/// Reason under which errors beyond [`REASONS_MAX`] are counted.
const OTHER_REASONS: &str = "other reasons";

/// Contract words and how often each was the answer.
type Count = BTreeMap<Cow<'static, str>, u64>;

/// Result of a bulk estimate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BulkEstimateReport {
    /// Rows read from the portfolio.
    pub rows: u64,
    /// Rows with a price.
    pub valued: u64,
    /// Rows that could not be valued.
    pub errors: u64,
    /// Rows that could not be valued, by reason.
    pub errors_by_reason: BTreeMap<String, u64>,
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
    /// Portfolio columns whose field was inferred from their name.
    pub inferred_columns: Vec<InferredColumn>,
    /// Portfolio columns that were ignored.
    pub ignored_columns: Vec<String>,
    /// Containers and encoding of the portfolio.
    pub form: FileForm,
    /// Elapsed time from opening the portfolio until the output is on disk, in seconds.
    pub seconds: f64,
    /// Portfolio rows processed per second.
    pub rows_per_second: f64,
}

impl BulkEstimateReport {
    /// Creates an empty report that lists the inferred and the ignored columns of a portfolio.
    pub(super) fn ignoring(opened: &OpenPortfolio) -> Self {
        Self {
            inferred_columns: opened.columns.inferred.clone(),
            ignored_columns: opened.columns.ignored.clone(),
            form: opened.understood.found(),
            ..Self::default()
        }
    }

    /// Sets the time elapsed since `started` and the rows per second.
    pub(super) fn took(mut self, started: Instant) -> Self {
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

    pub(super) fn error(&mut self, error: &str, count: u64) {
        self.errors += count;
        // Unreadable rows: the message starts with the row's location, which is not part of the reason.
        let reason = match error
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
        {
            Some((_, reason)) => reason,
            None => error,
        };
        let is_known = self.errors_by_reason.contains_key(reason);
        let reason = if is_known || self.errors_by_reason.len() < REASONS_MAX {
            reason
        } else {
            OTHER_REASONS
        };
        *self.errors_by_reason.entry(reason.to_owned()).or_default() += count;
    }

    pub(super) fn add(&mut self, other: &BulkEstimateReport) {
        self.rows += other.rows;
        self.valued += other.valued;
        for (reason, count) in &other.errors_by_reason {
            self.error(reason, *count);
        }
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
