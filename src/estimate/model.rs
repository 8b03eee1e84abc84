//! A trained model: opened from its files, asked from any thread, the same answer to the last bit each time.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Detail, Estimate, Home};

/// Folder of the models in a data folder.
pub const FOLDER: &str = "models";

/// Why a model cannot be opened or asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No model was trained yet.
    #[error("{folder}: no model; train one: toise train")]
    Missing {
        /// Where it was looked for.
        folder: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what was written.
    #[error("{path}: damaged: {reason}; train again: toise train")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The trees refused.
    #[error("trees: {0}")]
    Trees(String),
}

/// What a model says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Digest of the model's files: 16 hexadecimal characters.
    pub version: String,
    /// When it was trained: ISO 8601, UTC.
    pub trained_at: String,
    /// Last day it knows sales of: `YYYY-MM-DD`.
    pub data_through: String,
    /// Share of sales the interval holds.
    pub coverage: f64,
    /// Sales it was trained on.
    pub sales: u64,
    /// Inputs whose effect the sales taught, in the words of the contract.
    pub taught: Vec<String>,
}

/// A trained model.
#[derive(Debug)]
pub struct Model {
    metadata: Metadata,
}

impl Model {
    /// Opens the model in the folder of a data folder's models.
    ///
    /// # Errors
    /// No model there, or one that cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Err(Error::Missing {
            folder: folder.display().to_string(),
        })
    }

    /// What it says of itself.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Values a home. Pure: no input or output, no clock, the same bits from any thread.
    ///
    /// # Errors
    /// The trees refused the row, which a home read at the doors never makes them do.
    pub fn estimate(&self, _home: &Home, _detail: Detail) -> Result<Estimate, Error> {
        Err(Error::Trees("no trees yet".to_owned()))
    }
}
