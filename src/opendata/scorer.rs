//! Scores candidates: a scorer is prepared once per request and run over columns. The endpoint, bulk matching and SQL
//! all use it.
//!
//! Scales and weights come from [`super::score`]. Terms are added column by column, so a row costs one pass per target
//! (1–10 ns each) without allocation. All callers share this code, so their scores are bit-identical.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type};

use super::score::{
    Measure, NEUTRAL, PLACE_SCALE, PLACE_WEIGHT, SURFACE_SCALE, SURFACE_SCALE_M2_MIN,
    SURFACE_WEIGHT, TargetEvidence, rules, surface_column, to_tenths,
};
use super::{Dataset, MatchRequest, TargetValue, dpe};
use toise_contract::filter::ClauseTest;
use toise_geo::distance::planar_distance_m;
use toise_lake::schema::{LATITUDE, LONGITUDE};

/// One term of a score, bound to the columns it reads.
#[derive(Clone, Debug)]
struct Term {
    weight: f64,
    columns: Vec<&'static str>,
    matcher: TermMatcher,
}

#[derive(Clone, Debug)]
enum TermMatcher {
    Number { target: f64, scale: f64 },
    Class { rank: f64 },
    Category(String),
    Period { rank: Option<usize>, text: String },
    Flag(bool),
    Pin { lat: f64, lon: f64, scale: f64 },
}

/// The score of one request, ready to run over columns.
#[derive(Clone, Debug)]
pub struct Scorer {
    terms: Vec<Term>,
    total_weight: f64,
    evidence: TargetEvidence,
    rivals: Option<Rivals>,
}

/// Range of a column's values within the error of the requested value.
#[derive(Clone, Debug)]
struct Rivals {
    column: &'static str,
    values: RangeInclusive<f64>,
}

/// Returns the similarity at a distance: a Gaussian that is 0.5 at `scale`, which is above 0. Divides before it squares:
/// clients send the largest double for "no upper bound", and its square is infinite.
#[inline]
fn similarity(distance: f64, scale: f64) -> f64 {
    let scales = distance / scale;
    (-scales * scales * LN_2).exp()
}

impl Scorer {
    /// Prepares the scorer of a request.
    pub fn new(dataset: Dataset, request: &MatchRequest) -> Self {
        let mut terms = Vec::new();
        let mut bits: BTreeMap<&str, f64> = BTreeMap::new();
        let mut error_weight = 0.0;
        let mut rivals = None;
        for target in &request.targets {
            let Some(rule) = rules(dataset)
                .iter()
                .find(|rule| rule.column == target.column)
            else {
                continue;
            };
            if let Some(matcher) = matcher(rule.measure, &target.goal) {
                let most = bits.entry(rule.about).or_default();
                *most = most.max(rule.bits);
                if let (TermMatcher::Number { target, .. }, true) =
                    (&matcher, rule.rival_error > 0.0)
                {
                    let ends = [1.0 + rule.rival_error, 1.0 - rule.rival_error];
                    let [least, most] = ends.map(|factor| target / factor);
                    rivals = Some(Rivals {
                        column: rule.column,
                        values: least..=most,
                    });
                }
                error_weight += rule.weight * matcher.lost_to_error(rule.error);
                terms.push(Term {
                    weight: rule.weight,
                    columns: vec![rule.column],
                    matcher,
                });
            }
        }
        for clause in &request.filter {
            match &clause.test {
                ClauseTest::Number {
                    min: Some(min),
                    max: Some(max),
                } if clause.column == surface_column(dataset) => {
                    let scale = ((max - min) * SURFACE_SCALE).max(SURFACE_SCALE_M2_MIN);
                    let matcher = TermMatcher::Number {
                        target: min / 2.0 + max / 2.0,
                        scale,
                    };
                    terms.push(Term {
                        weight: SURFACE_WEIGHT,
                        columns: vec![surface_column(dataset)],
                        matcher,
                    });
                }
                ClauseTest::Within { lat, lon, radius_m } => {
                    let matcher = TermMatcher::Pin {
                        lat: *lat,
                        lon: *lon,
                        scale: radius_m * PLACE_SCALE,
                    };
                    terms.push(Term {
                        weight: PLACE_WEIGHT,
                        columns: vec![LATITUDE, LONGITUDE],
                        matcher,
                    });
                }
                _ => {}
            }
        }
        let total_weight: f64 = terms.iter().map(|term| term.weight).sum();
        let evidence = TargetEvidence {
            bits: bits.values().sum(),
            error_points: 100.0 * error_weight / total_weight.max(f64::MIN_POSITIVE),
            rivals: 0,
        };
        Self {
            terms,
            total_weight,
            evidence,
            rivals,
        }
    }

    /// Returns the columns that the scorer reads, without repetition.
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

    /// Returns the evidence of the request's targets, given the number of rivals among the candidates
    /// ([`Scorer::count_rivals`]).
    pub fn evidence(&self, rivals: u64) -> TargetEvidence {
        TargetEvidence {
            rivals,
            ..self.evidence
        }
    }

    /// Counts the rows whose value differs from the requested one by no more than the error that HIGH is calibrated
    /// for; a missing value counts too. 0 if no target has such an error. `column` is that of [`Scorer::score`].
    pub fn count_rivals(&self, column: impl Fn(&str) -> Option<ArrayRef>, rows: &[usize]) -> u64 {
        let Some(rivals) = &self.rivals else {
            return 0;
        };
        let Some(values) = column(rivals.column).as_ref().and_then(as_numbers) else {
            return rows.len() as u64;
        };
        let is_rival =
            |row: &&usize| values.is_null(**row) || rivals.values.contains(&values.value(**row));
        rows.iter().filter(is_rival).count() as u64
    }

    /// Scores the given rows. `column` returns a column named by [`Scorer::columns`]; `None` counts as missing values.
    /// Without targets and filters to score by, every row scores 50.
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
            *sum = to_tenths(100.0 * mean);
        }
        sums
    }
}

fn matcher(measure: Measure, goal: &TargetValue) -> Option<TermMatcher> {
    Some(match (measure, goal) {
        (Measure::Number { scale }, TargetValue::Number(target)) => TermMatcher::Number {
            target: *target,
            scale,
        },
        (Measure::Share { share }, TargetValue::Number(target)) => TermMatcher::Number {
            target: *target,
            scale: share * target.abs().max(1.0),
        },
        (Measure::Class, TargetValue::Text(class)) => TermMatcher::Class {
            rank: class_rank(class)?,
        },
        (Measure::Category, TargetValue::Text(text)) => TermMatcher::Category(text.clone()),
        (Measure::Period, TargetValue::Text(text)) => TermMatcher::Period {
            rank: period_rank(text),
            text: text.clone(),
        },
        (Measure::Flag, TargetValue::Flag(flag)) => TermMatcher::Flag(*flag),
        _ => return None,
    })
}

impl TermMatcher {
    /// Returns the similarity that the correct record loses if the requested value is off by `share` of the record's
    /// value.
    fn lost_to_error(&self, share: f64) -> f64 {
        match self {
            Self::Number { target, scale } => {
                1.0 - similarity(target * share / (1.0 - share), *scale)
            }
            _ => 0.0,
        }
    }
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
    /// Adds a weighted similarity to the sum of each row; compiled to one loop per kind of similarity.
    fn each(&self, rows: &[usize], sums: &mut [f64], similarity: impl Fn(usize) -> f64) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum += self.weight * similarity(*row);
        }
    }

    /// Adds the weighted similarity of this term to the sum of each row.
    fn add(&self, columns: &[Option<ArrayRef>], rows: &[usize], sums: &mut [f64]) {
        let number = |nth: usize| columns.get(nth).and_then(Option::as_ref).map(as_numbers);
        match &self.matcher {
            TermMatcher::Number { target, scale } => match number(0).flatten() {
                Some(values) => self.each(rows, sums, |row| {
                    if values.is_null(row) {
                        return NEUTRAL;
                    }
                    similarity(values.value(row) - target, *scale)
                }),
                None => self.each(rows, sums, |_| NEUTRAL),
            },
            TermMatcher::Pin { lat, lon, scale } => {
                match (number(0).flatten(), number(1).flatten()) {
                    (Some(lats), Some(lons)) => self.each(rows, sums, |row| {
                        if lats.is_null(row) || lons.is_null(row) {
                            return NEUTRAL;
                        }
                        let distance =
                            planar_distance_m(*lat, *lon, lats.value(row), lons.value(row));
                        similarity(distance, *scale)
                    }),
                    _ => self.each(rows, sums, |_| NEUTRAL),
                }
            }
            TermMatcher::Flag(flag) => match columns
                .first()
                .and_then(Option::as_ref)
                .and_then(|c| c.as_boolean_opt())
            {
                Some(values) => self.each(rows, sums, |row| {
                    if values.is_null(row) {
                        NEUTRAL
                    } else {
                        f64::from(u8::from(values.value(row) == *flag))
                    }
                }),
                None => self.each(rows, sums, |_| NEUTRAL),
            },
            TermMatcher::Class { .. } | TermMatcher::Category(_) | TermMatcher::Period { .. } => {
                let Some(column) = columns.first().and_then(Option::as_ref) else {
                    return self.each(rows, sums, |_| NEUTRAL);
                };
                match column.data_type() {
                    DataType::Dictionary(..) => {
                        let column = column.as_dictionary::<Int32Type>();
                        let texts = column.values().as_string::<i32>();
                        let by_code: Vec<f64> =
                            texts.iter().map(|text| self.of_text(text)).collect();
                        self.each(rows, sums, |row| {
                            column.key(row).map_or(NEUTRAL, |code| by_code[code])
                        });
                    }
                    DataType::Utf8 => {
                        let texts = column.as_string::<i32>();
                        self.each(rows, sums, |row| {
                            self.of_text(texts.is_valid(row).then(|| texts.value(row)))
                        });
                    }
                    _ => self.each(rows, sums, |_| NEUTRAL),
                }
            }
        }
    }

    fn of_text(&self, text: Option<&str>) -> f64 {
        let Some(text) = text else { return NEUTRAL };
        match &self.matcher {
            TermMatcher::Class { rank } => {
                class_rank(text).map_or(NEUTRAL, |found| 1.0 - (found - rank).abs() / 6.0)
            }
            TermMatcher::Category(sought) => f64::from(u8::from(text == sought)),
            TermMatcher::Period { rank, text: sought } => match (rank, period_rank(text)) {
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
