//! Imports, searches and matches open data: recorded sales (DVF), energy diagnostics (DPE), and the registers they
//! refer to.
//!
//! A validated request becomes one engine query; the response contains the JSON records stored next to the columns of
//! the matching rows. Everything here is CPU-bound: callers run it on the engine's pool, never on a reactor.

#![forbid(unsafe_code)]

pub mod address_functions;
pub mod ban;
pub mod bulk;
#[cfg(test)]
mod collecting_sink;
mod conversion;
mod dataset;
pub mod dfi;
pub mod dpe;
pub mod dvf;
pub mod filtered;
pub mod functions;
pub mod history;
pub mod import;
#[cfg(test)]
mod import_tests;
pub mod json_text;
pub mod matching;
#[cfg(test)]
mod partial_tests;
pub mod placing;
#[cfg(test)]
mod placing_tests;
#[cfg(test)]
mod plausible_tests;
pub mod portfolio;
pub mod report;
pub mod request;
pub mod rnb;
#[cfg(test)]
mod sales_tests;
pub mod score;
pub mod scorer;
pub mod search;
#[cfg(test)]
#[path = "../../tests/support/skip.rs"]
mod skip;
pub mod source;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub use dataset::{Dataset, ImportTable, imported};
use toise_contract::filter::{Clause, Filter};
pub use toise_contract::position::{CursorPosition, SortValue};
use toise_engine::cancellation::Interrupt;
use toise_engine::decoded::DecodedColumn;
use toise_engine::predicate::Predicate;
use toise_engine::{self as engine, Budget, Engine};
use toise_lake::schema::TableSchema;

/// The open-data tables, ready for queries; cheap to clone.
#[derive(Clone, Debug)]
pub struct OpenData {
    engine: Arc<Engine>,
    interrupt: Interrupt,
}

impl OpenData {
    /// Opens the open-data tables under a data folder, with caches limited by `budget`.
    pub fn open(data: &Path, budget: Budget) -> Result<Self, engine::Error> {
        let engine = Engine::open(data, &[dvf::schema(), dpe::schema()], budget)?;
        Ok(Self::new(Arc::new(engine)))
    }

    /// Creates a handle to the open-data tables of an engine that was opened with them.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            interrupt: Interrupt::default(),
        }
    }

    /// Returns the same tables for one query, which stops soon after the flag is raised.
    pub fn interruptible(&self, interrupt: &Interrupt) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            interrupt: interrupt.clone(),
        }
    }

    /// Returns the flag that cancels queries made through this handle.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Returns the underlying engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Returns whether sales or diagnostics were generated, even if others are real.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn has_invented_rows(&self) -> Result<bool, engine::Error> {
        for dataset in Dataset::ALL {
            let view = self.engine.view(dataset.schema())?;
            if view.snapshot().has_invented_rows() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl OpenData {
    /// Reads what `read` makes of each row of a table that a clause selects, in no particular order. `read` receives the
    /// named columns and the index of the row in them.
    ///
    /// # Errors
    /// The table cannot be read, or the engine was opened without it.
    pub(crate) fn read_rows<T: Send>(
        &self,
        schema: &'static TableSchema,
        clause: Clause,
        names: &[&str],
        read: impl Fn(&[Arc<DecodedColumn>], usize) -> Option<T> + Sync,
    ) -> Result<Vec<T>, engine::Error> {
        let view = self.engine.view(schema)?;
        let predicate = Predicate::compile(schema, &vec![clause])?;
        let columns = names.iter().map(|name| column_index(schema, name));
        let columns: Vec<usize> = columns.collect::<Result<_, _>>()?;
        let parts = self.engine.scan(
            &view,
            &predicate,
            self.interrupt(),
            Vec::new,
            |found: &mut Vec<T>, visited| {
                let decoded = columns.iter().map(|column| visited.column(*column));
                let decoded: Vec<Arc<DecodedColumn>> = decoded.collect::<Result<_, _>>()?;
                visited
                    .selected
                    .for_each(|row| found.extend(read(&decoded, row)));
                Ok(())
            },
        )?;
        Ok(parts.into_iter().flatten().collect())
    }
}

/// Returns the number of a column of a table.
fn column_index(schema: &TableSchema, column: &str) -> Result<usize, engine::Error> {
    let found = schema.column(column).map(|(index, _)| index);
    found.ok_or_else(|| engine::Error::UnknownTable(format!("{}.{column}", schema.name)))
}

/// A validated search.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSearchRequest {
    /// Conditions on the rows.
    pub filter: Filter,
    /// Column to sort by.
    pub sort_by: &'static str,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Rows per page, 1 to 100.
    pub size: usize,
    /// Position of the last row of the previous page.
    pub after: Option<CursorPosition>,
}

/// A page of records.
#[derive(Clone, Debug)]
pub struct SearchAnswer {
    /// Records as JSON text.
    pub records: Vec<Bytes>,
    /// Number of matching rows on all pages.
    pub total: u64,
    /// Position at which the next page continues; `None` on the last page.
    pub next: Option<CursorPosition>,
}

/// A validated match request.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchRequest {
    /// Conditions that restrict the candidates.
    pub filter: Filter,
    /// An address that becomes one more condition; see [`MatchRequest::locate`].
    pub address: Option<String>,
    /// Values by which candidates are ranked.
    pub targets: Vec<ScoringTarget>,
    /// Number of candidates to return, 1 to 20.
    pub size: usize,
}

/// One scoring target.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoringTarget {
    /// Column to compare.
    pub column: &'static str,
    /// Value to compare with.
    pub goal: TargetValue,
}

/// The value of a scoring target.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetValue {
    /// A number.
    Number(f64),
    /// A class letter, a construction period or a transaction type.
    Text(String),
    /// A flag.
    Flag(bool),
}

toise_base::named! {
    /// Confidence that a candidate is the record sought.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MatchConfidence {
        /// Not the record sought.
        Reject = "REJECT",
        /// Possible, but uncertain.
        Low = "LOW",
        /// Probable, among a few.
        Medium = "MEDIUM",
        /// Correct in at least 95 of 100 cases.
        High = "HIGH",
    }
}

/// One ranked candidate.
#[derive(Clone, Debug)]
pub struct MatchCandidate {
    /// Score from 0 to 100, with one decimal.
    pub score: f64,
    /// Confidence that it is the record sought.
    pub confidence: MatchConfidence,
    /// Identifier of the record.
    pub id: String,
    /// The record as JSON text.
    pub record: Bytes,
}

/// The ranked candidates of one match request.
#[derive(Clone, Debug)]
pub struct MatchAnswer {
    /// The candidates, best first.
    pub candidates: Vec<MatchCandidate>,
    /// Whether the two best scores differ by at most 5 points.
    pub ambiguous: bool,
    /// Number of candidates that passed the filters.
    pub total: u64,
}
