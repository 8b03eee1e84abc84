//! Errors of training, opening and querying models.

/// An error of a model: it cannot be trained, opened or queried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No model has been trained yet.
    #[error("{folder}: no model; train one: toise train")]
    Missing {
        /// The folder that was searched.
        folder: String,
    },
    /// No recorded sale has been imported yet.
    #[error(
        "{folder}: no recorded sales; import them: toise import dvf, or try synthetic ones: toise demo"
    )]
    NoSales {
        /// The data folder.
        folder: String,
    },
    /// Too few sales to learn from.
    #[error(
        "{sales} sales of homes to learn from, {needed} are needed; import more: toise import dvf"
    )]
    TooFew {
        /// Number of sales found.
        sales: usize,
        /// Number of sales needed.
        needed: usize,
    },
    /// No sale of a class is known at all.
    #[error("type: no sale of a {class} is known, so none can be valued")]
    NothingOfClass {
        /// Flat or house.
        class: &'static str,
    },
    /// No sale of a class is known before a day.
    #[error(
        "valuation_date: must be after {first}, when the first known sale of a {class} was made"
    )]
    NothingBefore {
        /// Flat or house.
        class: &'static str,
        /// Day of the first sale: `YYYY-MM-DD`.
        first: String,
    },
    /// No sale to evaluate a model on.
    #[error(
        "no sale from {from} to {to} that the model did not train on; import later sales, or train until earlier"
    )]
    NothingToJudge {
        /// First day.
        from: String,
        /// Last day.
        to: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The content of a file differs from what was written.
    #[error("{path}: damaged: {reason}; train again: toise train")]
    Damaged {
        /// The file.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
    /// The lake cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// Trees cannot be grown or stored.
    #[error("trees: {0}")]
    Trees(String),
}
