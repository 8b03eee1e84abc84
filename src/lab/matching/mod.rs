//! Evaluates matching: records of the lake are queried with what a portfolio would contain about them.
//!
//! A sample of records is drawn (`sample`). At each level ([`levels`]) every record becomes a match body that is
//! slightly wrong or incomplete in one way, and passes through validation and [`OpenData::rank`] like any request.
//! Results are compared with the best attainable ones: if m candidates fit the query equally well, the target record
//! cannot be distinguished, so the best top-1 rate is 1/m and the best top-5 rate min(1, 5/m). Each body is also
//! evaluated with the target record removed from the results; a HIGH candidate is then a false alarm (or another record
//! of the same home).

pub mod levels;
mod query;
mod sample;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use levels::EvaluationLevel;
use query::EvaluationQuery;
use sample::SampledRecord;
use toise_engine::{self as engine, view::TableView};
use toise_opendata::matching::Ranking;
use toise_opendata::request::parse_match;
use toise_opendata::{Dataset, MatchConfidence, OpenData};

/// Number of candidates requested, so that five are left after removing the target record.
const CANDIDATES: usize = 6;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table cannot be read.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A generated query was rejected, which is a bug of the level.
    #[error("level {level}: {fault}")]
    Level {
        /// Name of the level.
        level: &'static str,
        /// The fault in the body.
        fault: String,
    },
    /// The table is empty.
    #[error("the table {0} has no records to evaluate; import some first")]
    Empty(&'static str),
}

/// Options of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationOptions {
    /// The table to evaluate.
    pub dataset: Dataset,
    /// Maximum number of records drawn.
    pub sample: usize,
    /// Random seed; equal seeds on the same lake give the same queries.
    pub seed: u64,
}

/// Statistics of one confidence class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ConfidenceStats {
    /// Number of best candidates in the class.
    pub count: u64,
    /// Number of these that are the target record.
    pub right: u64,
    /// `right / count`; `None` if the class is empty.
    pub precision: Option<f64>,
}

/// The result of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LevelResult {
    /// Name of the level.
    pub level: &'static str,
    /// Description of its queries.
    pub about: &'static str,
    /// Number of queries.
    pub n: u64,
    /// Share of queries whose best candidate is the target record.
    pub top1: f64,
    /// Best attainable `top1`.
    pub top1_ceiling: f64,
    /// `top1 / top1_ceiling`.
    pub top1_of_ceiling: f64,
    /// Share of queries with the target record among the five best.
    pub top5: f64,
    /// Best attainable `top5`.
    pub top5_ceiling: f64,
    /// `top5 / top5_ceiling`.
    pub top5_of_ceiling: f64,
    /// Best candidates with HIGH confidence.
    pub high: ConfidenceStats,
    /// Best candidates with MEDIUM confidence.
    pub medium: ConfidenceStats,
    /// Best candidates with LOW confidence.
    pub low: ConfidenceStats,
    /// Best candidates with REJECT confidence.
    pub reject: ConfidenceStats,
    /// Share of ambiguous results.
    pub ambiguous: f64,
    /// Share of HIGH results when the target record is removed.
    pub high_when_absent: f64,
}

/// The report of an evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationReport {
    /// Name of the table.
    pub table: &'static str,
    /// Number of records drawn.
    pub sample: usize,
    /// Random seed.
    pub seed: u64,
    /// Result of each level.
    pub levels: Vec<LevelResult>,
}

/// Evaluates matching on a sample of the lake. CPU-bound, on the calling thread and its rayon pool.
pub fn run(open_data: &OpenData, options: EvaluationOptions) -> Result<EvaluationReport, Error> {
    let schema = options.dataset.schema();
    let view = open_data.engine().view(schema)?;
    let records = sample::draw(open_data, &view, options)?;
    if records.is_empty() {
        return Err(Error::Empty(schema.name));
    }
    let mut levels = Vec::new();
    for (number, level) in levels::of(options.dataset).iter().enumerate() {
        let asked: Result<Vec<Option<QueryOutcome>>, Error> = records
            .par_iter()
            .map(|record| {
                let stream = sample::stream(options.seed, number as u64, &record.id);
                let query = EvaluationQuery::new(options.dataset, record, stream);
                match (level.query)(query) {
                    Some(query) => {
                        ask(open_data, &view, options.dataset, level, record, &query).map(Some)
                    }
                    None => Ok(None),
                }
            })
            .collect();
        let asked: Vec<QueryOutcome> = asked?.into_iter().flatten().collect();
        levels.push(summarise(level, &asked));
    }
    Ok(EvaluationReport {
        table: schema.name,
        sample: records.len(),
        seed: options.seed,
        levels,
    })
}

/// Result of one query.
struct QueryOutcome {
    /// Rank of the target record, from 0; `None` if it was not found.
    place: Option<usize>,
    /// Number of candidates that fit the query as well as the target record, including it.
    alike: u64,
    confidence: MatchConfidence,
    ambiguous: bool,
    high_when_absent: bool,
}

fn ask(
    open_data: &OpenData,
    view: &TableView,
    dataset: Dataset,
    level: &EvaluationLevel,
    record: &SampledRecord,
    query: &EvaluationQuery<'_>,
) -> Result<QueryOutcome, Error> {
    let mut request = parse_match(dataset, &query.body(CANDIDATES)).map_err(|fault| {
        let fault = fault.to_string();
        Error::Level {
            level: level.name,
            fault,
        }
    })?;
    let ranking = open_data.rank(dataset, view, &request)?;
    // Converts the targets to filters as well, which selects all records the query could have been derived from.
    request.targets.clear();
    request.filter.extend(query.fits.iter().cloned());
    let alike = open_data.rank(dataset, view, &request)?.total;
    let place = ranking.best.iter().position(|found| found.id == record.id);
    let confidence = if ranking.best.is_empty() {
        MatchConfidence::Reject
    } else {
        ranking.confidence(0)
    };
    let ambiguous = ranking.ambiguous();
    let mut evidence = ranking.evidence;
    // The record itself counts as a rival, because the error of the query explains it.
    evidence.rivals = evidence.rivals.saturating_sub(1);
    let others = Ranking {
        best: ranking
            .best
            .into_iter()
            .filter(|found| found.id != record.id)
            .collect(),
        total: ranking.total.saturating_sub(1),
        evidence,
    };
    Ok(QueryOutcome {
        place: place.filter(|place| *place < 5),
        alike,
        confidence,
        ambiguous,
        high_when_absent: !others.best.is_empty() && others.confidence(0) == MatchConfidence::High,
    })
}

fn summarise(level: &EvaluationLevel, asked: &[QueryOutcome]) -> LevelResult {
    let share = |count: f64| {
        if asked.is_empty() {
            0.0
        } else {
            count / asked.len() as f64
        }
    };
    let count = |holds: &dyn Fn(&QueryOutcome) -> bool| {
        asked.iter().filter(|one| holds(one)).count() as f64
    };
    let class = |confidence: MatchConfidence| {
        let of_class = || asked.iter().filter(|one| one.confidence == confidence);
        let right = of_class().filter(|one| one.place == Some(0)).count() as u64;
        let count = of_class().count() as u64;
        ConfidenceStats {
            count,
            right,
            precision: (count > 0).then(|| right as f64 / count as f64),
        }
    };
    let top1 = share(count(&|one| one.place == Some(0)));
    let top5 = share(count(&|one| one.place.is_some()));
    // The target record always fits; a count of 0 would be a bug of the level and show as a ceiling below top-1.
    let ceiling = |k: f64| {
        let each = asked.iter().filter(|one| one.alike > 0);
        share(each.map(|one| (k / one.alike as f64).min(1.0)).sum())
    };
    let (top1_ceiling, top5_ceiling) = (ceiling(1.0), ceiling(5.0));
    let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    LevelResult {
        level: level.name,
        about: level.about,
        n: asked.len() as u64,
        top1,
        top1_ceiling,
        top1_of_ceiling: of(top1, top1_ceiling),
        top5,
        top5_ceiling,
        top5_of_ceiling: of(top5, top5_ceiling),
        high: class(MatchConfidence::High),
        medium: class(MatchConfidence::Medium),
        low: class(MatchConfidence::Low),
        reject: class(MatchConfidence::Reject),
        ambiguous: share(count(&|one| one.ambiguous)),
        high_when_absent: share(count(&|one| one.high_when_absent)),
    }
}
