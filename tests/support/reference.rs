//! A reference implementation of the contract's search and match over plain records, which the engine must agree
//! with.
//!
//! It uses nothing of the engine, the wire layer or the scorer, except the published table of scales and weights,
//! since the contract leaves their values to the scorer.

use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use toise::opendata::Dataset;
use toise::opendata::score::{self, Measure};

use super::areas;
use super::rows::{Record, id_of};

/// Whether a record matches the `filters` of a body.
pub fn matches(record: &Record, filters: &Value) -> bool {
    filters.as_object().is_none_or(|filters| {
        filters
            .iter()
            .all(|(name, filter)| holds(record, name, filter))
    })
}

fn holds(record: &Record, name: &str, filter: &Value) -> bool {
    let constrains = match filter {
        Value::Array(any) => !any.is_empty(),
        Value::Object(bounds) => !bounds.is_empty(),
        _ => true,
    };
    if !constrains {
        return true;
    }
    // A record whose field is missing does not match a filter on that field.
    let column = if name == "area" { "location" } else { name };
    let Some(value) = record.get(column) else {
        return false;
    };
    match filter {
        Value::Array(any) => match value {
            Value::Array(values) => values.iter().any(|value| any.contains(value)),
            value => any.contains(value),
        },
        Value::Object(_) if name == "area" => {
            let degrees = |key: &str| value[key].as_f64().unwrap();
            areas::contains(filter, degrees("lat"), degrees("lon"))
        }
        Value::Object(_) if name == "location" => {
            let radius_m = metres(filter["distance"].as_str().unwrap());
            distance_m(&filter["lat"], &filter["lon"], value) <= radius_m
        }
        Value::Object(bounds) => bounds.iter().all(|(bound, limit)| match bound.as_str() {
            "min" => value.as_f64() >= limit.as_f64(),
            "max" => value.as_f64() <= limit.as_f64(),
            "from" => midnight(value) >= start(limit.as_str().unwrap()),
            "to" => midnight(value) <= end(limit.as_str().unwrap()),
            other => panic!("{other}"),
        }),
        exact => exact == value,
    }
}

/// Midnight of a record's day.
fn midnight(value: &Value) -> DateTime<Utc> {
    start(&value.as_str().unwrap()[..10])
}

fn start(text: &str) -> DateTime<Utc> {
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => day.and_hms_opt(0, 0, 0).unwrap().and_utc(),
        Err(_) => DateTime::parse_from_rfc3339(text).unwrap().to_utc(),
    }
}

/// The last second of a moment's range; a bare date includes the whole day.
fn end(text: &str) -> DateTime<Utc> {
    match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        Ok(day) => day.and_hms_opt(23, 59, 59).unwrap().and_utc(),
        Err(_) => DateTime::parse_from_rfc3339(text).unwrap().to_utc(),
    }
}

fn metres(distance: &str) -> f64 {
    // The number may have an exponent: `4e3yd`.
    let number = distance.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &distance[number.len()..];
    let number: f64 = number.parse().unwrap();
    number
        * match unit {
            "m" => 1.0,
            "km" => 1_000.0,
            "mi" => 1_609.344,
            "ft" => 0.3048,
            "yd" => 0.9144,
            "nmi" => 1_852.0,
            other => panic!("{other}"),
        }
}

/// Planar distance from a pin to a `{lat, lon}`, on the local equirectangular plane of the pin.
pub fn distance_m(pin_lat: &Value, pin_lon: &Value, place: &Value) -> f64 {
    let degrees = |value: &Value| value.as_f64().unwrap();
    let (pin_lat, pin_lon) = (degrees(pin_lat), degrees(pin_lon));
    let north = (degrees(&place["lat"]) - pin_lat).to_radians();
    let east = (degrees(&place["lon"]) - pin_lon).to_radians() * pin_lat.to_radians().cos();
    6_371_008.8 * (north * north + east * east).sqrt()
}

/// Records that match, in the requested order: missing sort values last in both orders, ties by id ascending.
pub fn search<'r>(
    dataset: Dataset,
    records: &'r [Record],
    filters: &Value,
    sort_by: &str,
    descending: bool,
) -> Vec<&'r Record> {
    let mut found: Vec<&Record> = records
        .iter()
        .filter(|record| matches(record, filters))
        .collect();
    found.sort_by(|a, b| {
        let by_value = match (a.get(sort_by), b.get(sort_by)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => {
                let ascending = match (a.as_f64(), b.as_f64()) {
                    (Some(a), Some(b)) => a.partial_cmp(&b).unwrap(),
                    _ => a.as_str().cmp(&b.as_str()),
                };
                if descending {
                    ascending.reverse()
                } else {
                    ascending
                }
            }
        };
        by_value.then_with(|| id_of(dataset, a).cmp(id_of(dataset, b)))
    });
    found
}

/// Candidates of a match body, best first, with their scores; superseded diagnostics are not candidates.
pub fn candidates<'r>(
    dataset: Dataset,
    records: &'r [Record],
    body: &Value,
) -> Vec<(f64, &'r Record)> {
    let superseded: std::collections::HashSet<&str> = records
        .iter()
        .filter_map(|record| {
            let named = record.get("numero_dpe_remplace")?.as_str()?;
            (named != id_of(dataset, record)).then_some(named)
        })
        .collect();
    let mut found: Vec<(f64, &Record)> = records
        .iter()
        .filter(|record| matches(record, &body["filters"]))
        .filter(|record| !superseded.contains(id_of(dataset, record)))
        .map(|record| (score(dataset, record, body), record))
        .collect();
    found.sort_by(|a, b| {
        let by_score = b.0.total_cmp(&a.0);
        by_score.then_with(|| id_of(dataset, a.1).cmp(id_of(dataset, b.1)))
    });
    found
}

/// 100 × the weighted mean of the similarities, rounded to one decimal; 50 if nothing is requested.
fn score(dataset: Dataset, record: &Record, body: &Value) -> f64 {
    let mut terms: Vec<(f64, f64)> = Vec::new();
    for (name, target) in body["scoring_targets"].as_object().into_iter().flatten() {
        let rule = score::rules(dataset)
            .iter()
            .find(|rule| rule.column == name)
            .unwrap();
        terms.push((
            rule.weight,
            similarity(rule.measure, record.get(name), target),
        ));
    }
    for (name, filter) in body["filters"].as_object().into_iter().flatten() {
        let near = |distance: f64, scale: f64| 0.5f64.powf((distance / scale).powi(2));
        if name == "location" {
            let radius_m = metres(filter["distance"].as_str().unwrap());
            let similarity = record.get(name).map_or(0.5, |place| {
                near(
                    distance_m(&filter["lat"], &filter["lon"], place),
                    radius_m * score::PLACE_SCALE,
                )
            });
            terms.push((score::PLACE_WEIGHT, similarity));
        }
        if name.starts_with("surface")
            && let (Some(min), Some(max)) = (filter["min"].as_f64(), filter["max"].as_f64())
        {
            let similarity = record
                .get(name)
                .and_then(Value::as_f64)
                .map_or(0.5, |surface| {
                    let scale = (max - min) * score::SURFACE_SCALE;
                    near(
                        surface - (min + max) / 2.0,
                        scale.max(score::SURFACE_SCALE_M2_MIN),
                    )
                });
            terms.push((score::SURFACE_WEIGHT, similarity));
        }
    }
    let weight: f64 = terms.iter().map(|(weight, _)| weight).sum();
    if weight == 0.0 {
        return 50.0;
    }
    let mean = terms
        .iter()
        .map(|(weight, value)| weight * value)
        .sum::<f64>()
        / weight;
    (1_000.0 * mean).round() / 10.0
}

fn similarity(measure: Measure, value: Option<&Value>, target: &Value) -> f64 {
    let Some(value) = value else { return 0.5 };
    let apart = || value.as_f64().unwrap() - target.as_f64().unwrap();
    let near = |distance: f64, scale: f64| 0.5f64.powf((distance / scale).powi(2));
    let equal = f64::from(u8::from(value == target));
    let rank = |ladder: &[&str], text: &Value| {
        let rank = ladder.iter().position(|step| Some(*step) == text.as_str());
        rank.unwrap() as f64
    };
    match measure {
        Measure::Number { scale } => near(apart(), scale),
        Measure::Share { share } => near(apart(), share * target.as_f64().unwrap().abs().max(1.0)),
        Measure::Class => {
            let ladder = ["A", "B", "C", "D", "E", "F", "G"];
            1.0 - (rank(&ladder, value) - rank(&ladder, target)).abs() / 6.0
        }
        Measure::Category | Measure::Flag => equal,
        Measure::Period => {
            let ladder = toise::opendata::dpe::CONSTRUCTION_PERIODS;
            match (rank(&ladder, value) - rank(&ladder, target)).abs() {
                0.0 => 1.0,
                1.0 => 0.5,
                _ => 0.0,
            }
        }
    }
}
