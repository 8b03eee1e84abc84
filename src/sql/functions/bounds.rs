//! Limits on what the functions of a session return: bytes of one value, and of all values of a batch of rows.
//!
//! A query with many expressions may copy each value many times, so both are lower for a large query
//! (`sql/expansion.rs`). They are set once the query is measured, and hold for constants, which are computed while a
//! query is planned, as well as for rows.

use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};

/// Maximum bytes that one call returns for a batch of rows, in any query.
pub(crate) const RESULT_BYTES_MAX: usize = 64 << 20;

/// The bounds of one session.
#[derive(Debug)]
pub(crate) struct Bounds {
    value_bytes: AtomicUsize,
    call_bytes: AtomicUsize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            value_bytes: AtomicUsize::new(RESULT_BYTES_MAX),
            call_bytes: AtomicUsize::new(RESULT_BYTES_MAX),
        }
    }
}

impl Bounds {
    /// Sets the bounds: bytes of one value and of all values of a batch.
    pub fn set(&self, value_bytes: usize, call_bytes: usize) {
        self.value_bytes.store(value_bytes, Ordering::Relaxed);
        self.call_bytes.store(call_bytes, Ordering::Relaxed);
    }

    /// Returns the maximum bytes of one value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes.load(Ordering::Relaxed)
    }

    /// Checks the size of what a call would return.
    ///
    /// # Errors
    /// A value is too long ([`DataFusionError::Execution`]), or all of them together are: then fewer rows at a time may
    /// fit ([`TooManyRows`]).
    pub(super) fn check(&self, function: &str, made: &ResultSize) -> Result<()> {
        let value_bytes = self.value_bytes() as f64;
        let call_bytes = self.call_bytes.load(Ordering::Relaxed) as f64;
        if made.largest.is_nan() || made.total.is_nan() || made.largest > value_bytes {
            return exec_err!("{function} would make a value of more than {value_bytes} bytes");
        }
        if made.total <= call_bytes {
            return Ok(());
        }
        let message = format!("{function} would return more than {call_bytes} bytes at once");
        if made.largest > call_bytes {
            return Err(DataFusionError::Execution(message));
        }
        let rows_max = made.rows as f64 * call_bytes / made.total;
        Err(TooManyRows::error(rows_max as usize, message))
    }
}

/// Bytes that a call would return.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResultSize {
    rows: usize,
    largest: f64,
    total: f64,
}

impl ResultSize {
    /// Sums up the bytes of each value.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        values.fold(Self::default(), |made, bytes| Self {
            rows: made.rows + 1,
            // A NaN value makes the total NaN.
            largest: made.largest.max(bytes),
            total: made.total + bytes,
        })
    }

    /// Returns the bytes of all values together.
    pub fn total(self) -> f64 {
        self.total
    }
}

/// A batch has too many rows for the size of its results; a smaller one may fit.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct TooManyRows {
    /// Rows that may fit.
    pub rows_max: usize,
    message: String,
}

impl TooManyRows {
    /// Returns it as an error of the engine.
    pub fn error(rows_max: usize, message: String) -> DataFusionError {
        let rows_max = rows_max.max(1);
        DataFusionError::External(Box::new(Self { rows_max, message }))
    }

    /// Returns the rows that may fit, if the error says that a batch has too many.
    pub fn rows_of(error: &DataFusionError) -> Option<usize> {
        match error.find_root() {
            DataFusionError::External(error) => {
                let found = error.downcast_ref::<Self>();
                found.map(|found| found.rows_max)
            }
            _ => None,
        }
    }
}
