//! Open data: recorded sales (DVF) and energy diagnostics (DPE), searched and matched.
//!
//! A request arrives here validated; it becomes one question to the engine, and the rows found become the JSON texts
//! stored beside the columns. Everything here is CPU work: callers run it on the engine's pool, never on a reactor.

pub mod bulk;
mod dataset;
pub mod dpe;
pub mod dvf;
pub mod fetch;
#[cfg(test)]
mod fetch_tests;
pub mod functions;
pub mod import;
#[cfg(test)]
mod import_tests;
pub mod json_text;
pub mod matching;
pub mod portfolio;
pub mod report;
pub mod request;
pub mod score;
pub mod scorer;
pub mod search;
pub mod source;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub use dataset::Dataset;
use toise_contract::filter::Filter;
pub use toise_contract::position::{Position, SortValue};
use toise_engine::interrupt::Interrupt;
use toise_engine::{self as engine, Budget, Engine};

/// The open-data tables, ready for questions; cheap to clone.
#[derive(Clone, Debug)]
pub struct OpenData {
    engine: Arc<Engine>,
    interrupt: Interrupt,
}

impl OpenData {
    /// Opens the open-data tables under a data folder.
    pub fn open(data: &Path, budget: Budget) -> Result<Self, engine::Error> {
        let engine = Engine::open(data, &[dvf::schema(), dpe::schema()], budget)?;
        Ok(Self::over(Arc::new(engine)))
    }

    /// The open-data tables of an engine that was opened with them.
    pub fn over(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            interrupt: Interrupt::default(),
        }
    }

    /// The same tables for one question, which stops soon after the flag is raised.
    pub fn interruptible(&self, interrupt: &Interrupt) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            interrupt: interrupt.clone(),
        }
    }

    /// What stops the questions asked through this handle.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// The engine behind.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

/// A validated search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// Conditions.
    pub filter: Filter,
    /// Column to sort by.
    pub sort_by: &'static str,
    /// Greatest first.
    pub descending: bool,
    /// Rows to return, 1 to 100.
    pub size: usize,
    /// Where the former page ended.
    pub after: Option<Position>,
}

/// A page of records.
#[derive(Clone, Debug)]
pub struct SearchAnswer {
    /// Records, as JSON texts.
    pub records: Vec<Bytes>,
    /// All rows that match, whatever the page.
    pub total: u64,
    /// Where the next page starts, when there is one.
    pub next: Option<Position>,
}

/// A validated match request.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchRequest {
    /// Conditions that restrict the candidates.
    pub filter: Filter,
    /// What candidates are ranked by.
    pub targets: Vec<Target>,
    /// Candidates to return, 1 to 20.
    pub size: usize,
}

/// One scoring target.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Column of the table.
    pub column: &'static str,
    /// The value sought.
    pub goal: Goal,
}

/// The value a scoring target seeks.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// A number.
    Number(f64),
    /// A class letter, a period, a transaction type.
    Text(String),
    /// A flag.
    Flag(bool),
}

/// How far a candidate can be trusted to be the record sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Not the record sought.
    Reject,
    /// A guess.
    Low,
    /// Likely among a few.
    Medium,
    /// Right at least 95 times in 100.
    High,
}

impl Confidence {
    /// The contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Reject => "REJECT",
            Confidence::Low => "LOW",
            Confidence::Medium => "MEDIUM",
            Confidence::High => "HIGH",
        }
    }
}

/// One ranked candidate.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// 0 to 100, one decimal.
    pub score: f64,
    /// How far to trust it.
    pub confidence: Confidence,
    /// Identifier of the record.
    pub id: String,
    /// The record, as JSON text.
    pub record: Bytes,
}

/// The ranked candidates of one match request.
#[derive(Clone, Debug)]
pub struct MatchAnswer {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// The two best scores are 5 or less apart.
    pub ambiguous: bool,
    /// Candidates that passed the filters.
    pub total: u64,
}
