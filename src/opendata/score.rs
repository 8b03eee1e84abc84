//! Match scoring: one table of scales and weights, one kernel for HTTP, bulk and SQL.
//!
//! Per target a similarity in [0, 1]; the score is 100 × their weighted mean, rounded to one decimal. A missing value
//! on the record is neutral (0.5). Numbers: `exp(-d²·ln 2/scale²)`, 0.5 at one scale. Classes A–G: by rank distance.
//! Categories: 1 or 0, neighbouring construction periods 0.5. A surface range or a place among the filters takes part
//! by nearness to the middle and to the pin, with a smaller weight, so that a request without targets still ranks.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type};

use super::{Confidence, Dataset, Goal, MatchRequest, dpe};
use crate::engine::filter::Test;
use crate::geo::distance::planar_distance_m;
use crate::lake::schema::{LATITUDE, LONGITUDE};

/// How a target compares with a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Gaussian decay, 0.5 at one `scale` (in the column's unit).
    Number {
        /// Distance at which the similarity is one half.
        scale: f64,
    },
    /// Gaussian decay of the relative distance, 0.5 at one `scale` (a share of the target).
    Share {
        /// Share of the target at which the similarity is one half.
        scale: f64,
    },
    /// A to G, by rank distance.
    Class,
    /// Equal or not.
    Category,
    /// Construction period: equal, neighbouring or not.
    Period,
    /// Yes or no.
    Flag,
}

/// One row of the table: a target and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Column of the table, which is also the target's name.
    pub column: &'static str,
    /// How it compares.
    pub measure: Measure,
    /// How much it counts beside the others.
    pub weight: f64,
}

const fn rule(column: &'static str, measure: Measure, weight: f64) -> Rule {
    Rule {
        column,
        measure,
        weight,
    }
}

/// Targets of a diagnostic match. The order is that of the SQL function's arguments.
pub const DPE_RULES: [Rule; 8] = [
    rule(
        "conso_5_usages_par_m2_ep",
        Measure::Number { scale: 6.0 },
        3.0,
    ),
    rule(
        "emission_ges_5_usages_par_m2",
        Measure::Number { scale: 2.0 },
        2.0,
    ),
    rule("etiquette_dpe", Measure::Class, 1.0),
    rule("etiquette_ges", Measure::Class, 1.0),
    rule(
        "nombre_niveau_immeuble",
        Measure::Number { scale: 1.0 },
        0.7,
    ),
    rule(
        "numero_etage_appartement",
        Measure::Number { scale: 1.0 },
        1.0,
    ),
    rule("periode_construction", Measure::Period, 1.0),
    rule(
        "nombre_niveau_logement",
        Measure::Number { scale: 1.0 },
        0.7,
    ),
];

/// Targets of a sale match. The order is that of the SQL function's arguments.
pub const DVF_RULES: [Rule; 4] = [
    rule("price_eur", Measure::Share { scale: 0.03 }, 3.0),
    rule("main_rooms", Measure::Number { scale: 1.0 }, 1.0),
    rule("is_new_build", Measure::Flag, 0.5),
    rule("transaction_type", Measure::Category, 0.5),
];

/// Weight of nearness to the middle of a surface range; its scale is a quarter of the range.
pub const SURFACE_WEIGHT: f64 = 1.0;
/// Weight of nearness to the pin; its scale is a third of the radius.
pub const PLACE_WEIGHT: f64 = 0.5;
/// Similarity of a missing value.
pub const NEUTRAL: f64 = 0.5;
/// Two best scores this close, or closer, are ambiguous.
pub const AMBIGUOUS_GAP: f64 = 5.0;

/// The table of a dataset.
pub fn rules(dataset: Dataset) -> &'static [Rule] {
    match dataset {
        Dataset::Dpe => &DPE_RULES,
        Dataset::Dvf => &DVF_RULES,
    }
}

/// The surface column of a dataset.
pub fn surface_column(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "surface_habitable_logement",
        Dataset::Dvf => "surface_m2",
    }
}

/// One term of a score, bound to the columns it reads.
#[derive(Clone, Debug)]
struct Term {
    weight: f64,
    columns: Vec<&'static str>,
    seek: Seek,
}

#[derive(Clone, Debug)]
enum Seek {
    Number { target: f64, decay: f64 },
    Class { rank: f64 },
    Category(String),
    Period { rank: Option<usize>, text: String },
    Flag(bool),
    Pin { lat: f64, lon: f64, decay: f64 },
}

/// The score of one request, ready to run over columns.
#[derive(Clone, Debug)]
pub struct Scorer {
    terms: Vec<Term>,
    total_weight: f64,
}

/// Decay constant of a gaussian that is one half at `scale`.
fn decay(scale: f64) -> f64 {
    std::f64::consts::LN_2 / (scale * scale).max(f64::MIN_POSITIVE)
}

impl Scorer {
    /// Prepares the score of a request.
    pub fn new(dataset: Dataset, request: &MatchRequest) -> Self {
        let mut terms = Vec::new();
        for target in &request.targets {
            let Some(rule) = rules(dataset)
                .iter()
                .find(|rule| rule.column == target.column)
            else {
                continue;
            };
            if let Some(seek) = seek(rule.measure, &target.goal) {
                terms.push(Term {
                    weight: rule.weight,
                    columns: vec![rule.column],
                    seek,
                });
            }
        }
        for clause in &request.filter {
            match &clause.test {
                Test::Number {
                    min: Some(min),
                    max: Some(max),
                } if clause.column == surface_column(dataset) => {
                    let scale = ((max - min) / 4.0).max(0.5);
                    let seek = Seek::Number {
                        target: (min + max) / 2.0,
                        decay: decay(scale),
                    };
                    terms.push(Term {
                        weight: SURFACE_WEIGHT,
                        columns: vec![surface_column(dataset)],
                        seek,
                    });
                }
                Test::Within { lat, lon, radius_m } => {
                    let seek = Seek::Pin {
                        lat: *lat,
                        lon: *lon,
                        decay: decay(radius_m / 3.0),
                    };
                    terms.push(Term {
                        weight: PLACE_WEIGHT,
                        columns: vec![LATITUDE, LONGITUDE],
                        seek,
                    });
                }
                _ => {}
            }
        }
        let total_weight = terms.iter().map(|term| term.weight).sum();
        Self {
            terms,
            total_weight,
        }
    }

    /// Columns the score reads, each once.
    pub fn columns(&self) -> Vec<&'static str> {
        let mut columns: Vec<&'static str> = self
            .terms
            .iter()
            .flat_map(|term| term.columns.iter().copied())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Sum of the weights of the targets given: how much evidence the score rests on.
    pub fn evidence(&self) -> f64 {
        self.total_weight
    }

    /// Scores rows of columns: `column` gives each column named by [`Scorer::columns`], `rows` the rows to score.
    /// Without any term every row scores 50.
    pub fn score(&self, column: impl Fn(&str) -> Option<ArrayRef>, rows: &[usize]) -> Vec<f64> {
        let mut sums = vec![0.0; rows.len()];
        for term in &self.terms {
            let values: Vec<Option<ArrayRef>> =
                term.columns.iter().map(|name| column(name)).collect();
            term.add(&values, rows, &mut sums);
        }
        for sum in &mut sums {
            let mean = if self.total_weight > 0.0 {
                *sum / self.total_weight
            } else {
                NEUTRAL
            };
            *sum = round_score(100.0 * mean);
        }
        sums
    }
}

/// Rounds to one decimal.
fn round_score(score: f64) -> f64 {
    (score * 10.0).round() / 10.0
}

fn seek(measure: Measure, goal: &Goal) -> Option<Seek> {
    Some(match (measure, goal) {
        (Measure::Number { scale }, Goal::Number(target)) => Seek::Number {
            target: *target,
            decay: decay(scale),
        },
        (Measure::Share { scale }, Goal::Number(target)) => Seek::Number {
            target: *target,
            decay: decay(scale * target.abs().max(1.0)),
        },
        (Measure::Class, Goal::Text(class)) => Seek::Class {
            rank: class_rank(class)?,
        },
        (Measure::Category, Goal::Text(text)) => Seek::Category(text.clone()),
        (Measure::Period, Goal::Text(text)) => Seek::Period {
            rank: period_rank(text),
            text: text.clone(),
        },
        (Measure::Flag, Goal::Flag(flag)) => Seek::Flag(*flag),
        _ => return None,
    })
}

fn class_rank(class: &str) -> Option<f64> {
    dpe::CLASSES
        .iter()
        .position(|known| *known == class)
        .map(|rank| rank as f64)
}

fn period_rank(period: &str) -> Option<usize> {
    dpe::CONSTRUCTION_PERIODS
        .iter()
        .position(|known| *known == period)
}

impl Term {
    /// Adds this term, weighted, to the sum of each row.
    fn add(&self, columns: &[Option<ArrayRef>], rows: &[usize], sums: &mut [f64]) {
        let mut each = |similarity: &mut dyn FnMut(usize) -> f64| {
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum += self.weight * similarity(*row);
            }
        };
        let number = |nth: usize| columns.get(nth).and_then(Option::as_ref).map(as_numbers);
        match &self.seek {
            Seek::Number { target, decay } => match number(0).flatten() {
                Some(values) => each(&mut |row| {
                    if values.is_null(row) {
                        return NEUTRAL;
                    }
                    let distance = values.value(row) - target;
                    (-distance * distance * decay).exp()
                }),
                None => each(&mut |_| NEUTRAL),
            },
            Seek::Pin { lat, lon, decay } => match (number(0).flatten(), number(1).flatten()) {
                (Some(lats), Some(lons)) => each(&mut |row| {
                    if lats.is_null(row) || lons.is_null(row) {
                        return NEUTRAL;
                    }
                    let distance = planar_distance_m(*lat, *lon, lats.value(row), lons.value(row));
                    (-distance * distance * decay).exp()
                }),
                _ => each(&mut |_| NEUTRAL),
            },
            Seek::Flag(flag) => match columns
                .first()
                .and_then(Option::as_ref)
                .and_then(|c| c.as_boolean_opt())
            {
                Some(values) => each(&mut |row| {
                    if values.is_null(row) {
                        NEUTRAL
                    } else {
                        f64::from(u8::from(values.value(row) == *flag))
                    }
                }),
                None => each(&mut |_| NEUTRAL),
            },
            Seek::Class { .. } | Seek::Category(_) | Seek::Period { .. } => {
                let Some(column) = columns.first().and_then(Option::as_ref) else {
                    return each(&mut |_| NEUTRAL);
                };
                match column.data_type() {
                    DataType::Dictionary(..) => {
                        let column = column.as_dictionary::<Int32Type>();
                        let texts = column.values().as_string::<i32>();
                        let by_code: Vec<f64> =
                            texts.iter().map(|text| self.of_text(text)).collect();
                        each(&mut |row| column.key(row).map_or(NEUTRAL, |code| by_code[code]));
                    }
                    DataType::Utf8 => {
                        let texts = column.as_string::<i32>();
                        each(&mut |row| {
                            self.of_text(texts.is_valid(row).then(|| texts.value(row)))
                        });
                    }
                    _ => each(&mut |_| NEUTRAL),
                }
            }
        }
    }

    fn of_text(&self, text: Option<&str>) -> f64 {
        let Some(text) = text else { return NEUTRAL };
        match &self.seek {
            Seek::Class { rank } => {
                class_rank(text).map_or(NEUTRAL, |found| 1.0 - (found - rank).abs() / 6.0)
            }
            Seek::Category(sought) => f64::from(u8::from(text == sought)),
            Seek::Period { rank, text: sought } => match (rank, period_rank(text)) {
                _ if text == sought => 1.0,
                (Some(sought), Some(found)) if sought.abs_diff(found) == 1 => 0.5,
                _ => 0.0,
            },
            _ => NEUTRAL,
        }
    }
}

fn as_numbers(column: &ArrayRef) -> Option<Arc<arrow::array::Float64Array>> {
    column
        .as_primitive_opt::<Float64Type>()
        .map(|values| Arc::new(values.clone()))
}

/// What the confidence of a first candidate needs: calibrated by `toise evaluate match`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Least evidence, in weights of the targets given.
    pub evidence: f64,
    /// Least score.
    pub score: f64,
    /// Least gap to the second.
    pub gap: f64,
}

/// A first candidate is HIGH when it meets all of this.
pub const HIGH: Threshold = Threshold {
    evidence: 5.0,
    score: 92.0,
    gap: 12.0,
};
/// … MEDIUM when it meets this.
pub const MEDIUM: Threshold = Threshold {
    evidence: 2.0,
    score: 75.0,
    gap: 2.0,
};
/// … LOW from this score, REJECT below.
pub const LOW_SCORE: f64 = 40.0;

/// Confidence of a candidate: of the first by score, gap to the second and evidence; of another by its own score,
/// capped by its gap to the first.
pub fn confidence(
    rank: usize,
    score: f64,
    best: f64,
    second: Option<f64>,
    evidence: f64,
) -> Confidence {
    let meets = |threshold: Threshold, gap: f64| {
        evidence >= threshold.evidence && score >= threshold.score && gap >= threshold.gap
    };
    if score < LOW_SCORE {
        return Confidence::Reject;
    }
    if rank > 0 {
        let close = best - score <= AMBIGUOUS_GAP;
        let medium = evidence >= MEDIUM.evidence && score >= MEDIUM.score;
        return if close && medium {
            Confidence::Medium
        } else {
            Confidence::Low
        };
    }
    let gap = second.map_or(f64::INFINITY, |second| score - second);
    if meets(HIGH, gap) && gap > AMBIGUOUS_GAP {
        Confidence::High
    } else if meets(MEDIUM, gap) {
        Confidence::Medium
    } else {
        Confidence::Low
    }
}
