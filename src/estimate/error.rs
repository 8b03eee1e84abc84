//! Why a model cannot be made, opened or asked.

/// Why a model cannot be opened or asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No model was trained yet.
    #[error("{folder}: no model; train one: toise train")]
    Missing {
        /// Where it was looked for.
        folder: String,
    },
    /// No recorded sale was imported yet.
    #[error(
        "{folder}: no recorded sales; import them: toise import dvf, or look at invented ones: toise demo"
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
        /// Sales there are.
        sales: usize,
        /// Sales needed.
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
    /// No sale to judge a model on.
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
    /// The lake cannot be read.
    #[error(transparent)]
    Lake(#[from] toise_lake::Error),
    /// The trees refused.
    #[error("trees: {0}")]
    Trees(String),
}
