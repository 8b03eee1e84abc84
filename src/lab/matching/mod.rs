//! How good matching is: records of the lake, queried with what a portfolio would know of them.
//!
//! A sample of records is drawn (`sample`); at each level ([`levels`]) each becomes a match body that is a little wrong
//! or incomplete in one way, which goes through validation and [`OpenData::rank`] like any other. Beside what matching
//! found stands what it could find: of the m candidates the query fits equally well, nobody can tell which is meant, so
//! the best top-1 is 1/m, and the best top-5 min(1, 5/m). Each body is also asked with the record meant left out of the
//! answer: whatever is then HIGH is a false alarm (or another record of the same home).

pub mod levels;
mod query;
mod sample;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use levels::Level;
use query::Query;
use sample::Record;
use toise_engine::{self as engine, view::TableView};
use toise_opendata::matching::Ranking;
use toise_opendata::request::parse_match;
use toise_opendata::{Confidence, Dataset, OpenData};

/// Candidates asked for, so that five are left when the record meant is taken out.
const CANDIDATES: usize = 6;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table could not be read.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A query made here was refused: a fault of the level.
    #[error("level {level}: {fault}")]
    Level {
        /// The level.
        level: &'static str,
        /// What is wrong with the body.
        fault: String,
    },
    /// There is nothing to draw from.
    #[error("the table {0} holds no record to evaluate with: import some first")]
    Empty(&'static str),
}

/// What is drawn and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The table.
    pub dataset: Dataset,
    /// Records drawn at most.
    pub sample: usize,
    /// Same seed, same lake: same queries.
    pub seed: u64,
}

/// Answers of one confidence class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Class {
    /// First candidates of the class.
    pub count: u64,
    /// Those that are the record meant.
    pub right: u64,
    /// Share of right ones; `None` without any.
    pub precision: Option<f64>,
}

/// The result of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LevelResult {
    /// Name.
    pub level: &'static str,
    /// What the query carries.
    pub about: &'static str,
    /// Queries asked.
    pub n: u64,
    /// Share of queries whose first candidate is the record meant.
    pub top1: f64,
    /// Best share attainable.
    pub top1_ceiling: f64,
    /// `top1 / top1_ceiling`.
    pub top1_of_ceiling: f64,
    /// Share of queries with the record meant among the first five.
    pub top5: f64,
    /// Best share attainable.
    pub top5_ceiling: f64,
    /// `top5 / top5_ceiling`.
    pub top5_of_ceiling: f64,
    /// First candidates by confidence.
    pub high: Class,
    /// MEDIUM.
    pub medium: Class,
    /// LOW.
    pub low: Class,
    /// REJECT.
    pub reject: Class,
    /// Share of ambiguous answers.
    pub ambiguous: f64,
    /// Share of HIGH when the record meant is left out.
    pub high_when_absent: f64,
}

/// An evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The table.
    pub table: &'static str,
    /// Records drawn.
    pub sample: usize,
    /// The seed.
    pub seed: u64,
    /// The levels.
    pub levels: Vec<LevelResult>,
}

/// Evaluates matching on a sample of the lake. CPU work on the calling thread and its rayon pool.
pub fn run(open_data: &OpenData, options: Options) -> Result<Report, Error> {
    let schema = options.dataset.schema();
    let view = open_data.engine().view(schema)?;
    let records = sample::draw(open_data, &view, options)?;
    if records.is_empty() {
        return Err(Error::Empty(schema.name));
    }
    let mut levels = Vec::new();
    for (number, level) in levels::of(options.dataset).iter().enumerate() {
        let asked: Result<Vec<Option<Asked>>, Error> = records
            .par_iter()
            .map(|record| {
                let mut stream = sample::stream(options.seed, number as u64, &record.id);
                match (level.query)(record, &mut stream) {
                    Some(query) => {
                        ask(open_data, &view, options.dataset, level, record, &query).map(Some)
                    }
                    None => Ok(None),
                }
            })
            .collect();
        let asked: Vec<Asked> = asked?.into_iter().flatten().collect();
        levels.push(summarise(level, &asked));
    }
    Ok(Report {
        table: schema.name,
        sample: records.len(),
        seed: options.seed,
        levels,
    })
}

/// What became of one query.
struct Asked {
    /// Place of the record meant, from 0.
    place: Option<usize>,
    /// Candidates that fit the query as well as the record meant, itself included.
    alike: u64,
    confidence: Confidence,
    ambiguous: bool,
    high_when_absent: bool,
}

fn ask(
    open_data: &OpenData,
    view: &TableView,
    dataset: Dataset,
    level: &Level,
    record: &Record,
    query: &Query,
) -> Result<Asked, Error> {
    let mut request = parse_match(dataset, &query.body(CANDIDATES)).map_err(|fault| {
        let fault = fault.to_string();
        Error::Level {
            level: level.name,
            fault,
        }
    })?;
    let ranking = open_data.rank(dataset, view, &request)?;
    // The same filters with what the targets say as filters too: all records the query could have come from.
    request.targets.clear();
    request.filter.extend(query.fits.iter().cloned());
    let alike = open_data.rank(dataset, view, &request)?.total;
    let place = ranking.best.iter().position(|found| found.id == record.id);
    let confidence = match ranking.best.is_empty() {
        true => Confidence::Reject,
        false => ranking.confidence(0),
    };
    let ambiguous = ranking.ambiguous();
    let others = Ranking {
        best: ranking
            .best
            .into_iter()
            .filter(|found| found.id != record.id)
            .collect(),
        total: ranking.total.saturating_sub(1),
        evidence: ranking.evidence,
    };
    Ok(Asked {
        place: place.filter(|place| *place < 5),
        alike,
        confidence,
        ambiguous,
        high_when_absent: !others.best.is_empty() && others.confidence(0) == Confidence::High,
    })
}

fn summarise(level: &Level, asked: &[Asked]) -> LevelResult {
    let share = |count: f64| {
        if asked.is_empty() {
            0.0
        } else {
            count / asked.len() as f64
        }
    };
    let count =
        |holds: &dyn Fn(&Asked) -> bool| asked.iter().filter(|one| holds(one)).count() as f64;
    let class = |confidence: Confidence| {
        let of_class = || asked.iter().filter(|one| one.confidence == confidence);
        let right = of_class().filter(|one| one.place == Some(0)).count() as u64;
        let count = of_class().count() as u64;
        Class {
            count,
            right,
            precision: (count > 0).then(|| right as f64 / count as f64),
        }
    };
    let top1 = share(count(&|one| one.place == Some(0)));
    let top5 = share(count(&|one| one.place.is_some()));
    // The record meant always fits; a count of 0 would be a fault of the level and shows as a ceiling below top-1.
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
        high: class(Confidence::High),
        medium: class(Confidence::Medium),
        low: class(Confidence::Low),
        reject: class(Confidence::Reject),
        ambiguous: share(count(&|one| one.ambiguous)),
        high_when_absent: share(count(&|one| one.high_when_absent)),
    }
}
