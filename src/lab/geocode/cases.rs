//! Judges queries with expected results that others collected, in the CSV format of geocoder-tester, and writes our own
//! questions in that format, so that any geocoder can be judged by them.
//!
//! Columns: `query`; `lat`, `lon` to prefer a position; `limit` (number of results considered, 1 by default);
//! `citycode`, `postcode`, `autocomplete` as in a request; `class` or `file` to group by; and the expectations; one
//! result must meet them all: `expected_name`, `expected_housenumber`, `expected_street`, `expected_postcode`,
//! `expected_city` (the former commune counts), `expected_citycode`, `expected_type`, `expected_coordinate`
//! (`lat,lon,metres`). If `expected_lat` and `expected_lon` are given, a result within 100 m is right even if names
//! differ, because two bases may spell a street in two ways; with `expected_housenumber`, it must also be a house.
//! Names are compared without case, accents and punctuation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::classes::{CLASSES, Wanted};
use super::judge::{HOUSE_M, commune, house_number, label, name, postal_code};
use super::{Asked, Failure};
use toise_geo::departments;
use toise_geo::departments::for_postal_code;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geocode::Geocoder;
use toise_geocode::search::{Match, ResultKind, SearchRequest, position};
use toise_geocode::text::fold::{folded, tokens};

/// Maximum distance of a right result from `expected_lat` and `expected_lon`, metres.
const POSITION_M: f64 = 100.0;
/// Maximum results considered.
const LIMIT_MAX: usize = 50;

/// Why cases cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written as CSV.
    #[error("{path}: {source}")]
    Csv {
        /// Path of the file.
        path: PathBuf,
        /// The fault, for the message.
        source: csv::Error,
    },
    /// A row cannot be judged.
    #[error("{path}, row {row}: {reason}")]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row, the first after the header being 1.
        row: usize,
        /// The fault, for the message.
        reason: &'static str,
    },
}

/// The cases of one group.
#[derive(Clone, Debug, Serialize)]
pub struct CaseGroup {
    /// Name of the group: the column `class` or `file`, or the name of the file.
    pub group: String,
    /// Number of cases whose department is in the index or unknown.
    pub n: u64,
    /// Share of them that pass.
    pub right: f64,
    /// Cases of departments that are not in the index; not judged.
    pub not_covered: u64,
    /// Some of those that fail.
    pub failures: Vec<Failure>,
}

/// A row of a file of cases. Columns with other names are ignored.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Case {
    #[serde(skip_serializing)]
    file: Option<String>,
    class: Option<String>,
    query: String,
    #[serde(skip_serializing)]
    lat: Option<f64>,
    #[serde(skip_serializing)]
    lon: Option<f64>,
    #[serde(skip_serializing)]
    limit: Option<usize>,
    citycode: Option<String>,
    #[serde(skip_serializing)]
    postcode: Option<String>,
    autocomplete: Option<u8>,
    #[serde(skip_serializing)]
    expected_name: Option<String>,
    #[serde(skip_serializing)]
    expected_housenumber: Option<String>,
    expected_street: Option<String>,
    #[serde(skip_serializing)]
    expected_postcode: Option<String>,
    #[serde(skip_serializing)]
    expected_city: Option<String>,
    expected_citycode: Option<String>,
    expected_type: Option<String>,
    expected_coordinate: Option<String>,
    #[serde(skip_serializing)]
    expected_lat: Option<f64>,
    #[serde(skip_serializing)]
    expected_lon: Option<f64>,
}

/// Judges the cases of a file, by group.
///
/// # Errors
/// The file cannot be read as CSV, or a row has no query or an unreadable position.
pub fn judge(geocoder: &Geocoder, path: &Path, failures: usize) -> Result<Vec<CaseGroup>, Error> {
    let cases = read(path)?;
    let indexed: Vec<&str> = geocoder
        .segments()
        .iter()
        .map(|one| one.department())
        .collect();
    let is_covered = |case: &Case| {
        let department = case.department();
        department.is_none_or(|code| indexed.contains(&code))
    };
    let judged: Vec<Option<(bool, Failure)>> = cases
        .par_iter()
        .map(|case| is_covered(case).then(|| case.judge(geocoder)))
        .collect();
    let stem = path.file_stem().map(|name| name.to_string_lossy());
    let mut groups: BTreeMap<String, (Vec<Failure>, u64, u64, u64)> = BTreeMap::new();
    for (case, judged) in cases.iter().zip(judged) {
        let named = case.class.as_ref().or(case.file.as_ref());
        let group = named.map_or_else(|| stem.as_deref().unwrap_or("cases"), String::as_str);
        let (failed, n, right, not_covered) = groups.entry(group.to_owned()).or_default();
        match judged {
            None => *not_covered += 1,
            Some((is_right, failure)) => {
                *n += 1;
                *right += u64::from(is_right);
                if !is_right && failed.len() < failures {
                    failed.push(failure);
                }
            }
        }
    }
    let results = groups.into_iter();
    let results = results.map(|(group, (failures, n, right, not_covered))| CaseGroup {
        group,
        n,
        right: right as f64 / n.max(1) as f64,
        not_covered,
        failures,
    });
    Ok(results.collect())
}

fn read(path: &Path) -> Result<Vec<Case>, Error> {
    let failed = |source| Error::Csv {
        path: path.to_owned(),
        source,
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .from_path(path)
        .map_err(failed)?;
    let mut cases = Vec::new();
    for (row, case) in reader.deserialize::<Case>().enumerate() {
        let case = case.map_err(failed)?;
        let wrong = |reason| Error::Row {
            path: path.to_owned(),
            row: row + 1,
            reason,
        };
        if case.query.is_empty() {
            return Err(wrong("the column query is missing or empty"));
        }
        if case.expected_coordinate.is_some() && case.coordinate().is_none() {
            return Err(wrong("expected_coordinate is not lat,lon,metres"));
        }
        cases.push(case);
    }
    Ok(cases)
}

impl Case {
    /// Returns latitude, longitude and tolerance in metres of `expected_coordinate`.
    fn coordinate(&self) -> Option<[f64; 3]> {
        let text = self.expected_coordinate.as_deref()?;
        let mut numbers = text.split(',').map(|part| part.trim().parse::<f64>());
        match [numbers.next()?, numbers.next()?, numbers.next()?] {
            [Ok(lat), Ok(lon), Ok(metres)] => Some([lat, lon, metres]),
            _ => None,
        }
    }

    /// Returns the department that the case is about; `None` if it is unknown.
    fn department(&self) -> Option<&'static str> {
        let of_code = self
            .expected_citycode
            .as_deref()
            .or(self.citycode.as_deref());
        if let Some(code) = of_code {
            return departments::for_commune(code);
        }
        let postal_code = self
            .expected_postcode
            .as_deref()
            .or(self.postcode.as_deref());
        if let Some(code) = postal_code {
            return for_postal_code(code);
        }
        let words = tokens(&self.query).into_iter();
        let mut codes = words.filter(|word| word.is_number() && word.text.len() == 5);
        codes.find_map(|word| for_postal_code(&word.text))
    }

    fn judge(&self, geocoder: &Geocoder) -> (bool, Failure) {
        let limit = self.limit.unwrap_or(1).clamp(1, LIMIT_MAX);
        let found = geocoder.search(&SearchRequest {
            text: self.query.clone(),
            limit,
            autocomplete: self.autocomplete == Some(1),
            near: self.lat.zip(self.lon),
            postal_code: self.postcode.clone(),
            insee_code: self.citycode.clone(),
            ..SearchRequest::default()
        });
        let failure = Failure {
            query: self.query.clone(),
            meant: self.meant(),
            given: found
                .first()
                .map_or_else(String::new, |one| label(geocoder, one)),
            score: found.first().map_or(0.0, |one| one.probability),
        };
        let is_right = found.iter().any(|one| self.is_met(geocoder, one));
        (is_right, failure)
    }

    fn meant(&self) -> String {
        let parts = [
            &self.expected_housenumber,
            &self.expected_street,
            &self.expected_name,
            &self.expected_postcode,
            &self.expected_city,
            &self.expected_citycode,
        ];
        let texts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        texts.join(" ")
    }

    /// Returns whether a result meets every expectation.
    fn is_met(&self, geocoder: &Geocoder, one: &Match) -> bool {
        let (lat, lon) = position(geocoder, one);
        let is_near = |[expected_lat, expected_lon, metres]: [f64; 3]| {
            planar_distance_m(expected_lat, expected_lon, lat, lon) <= metres
        };
        if let (Some(lat), Some(lon)) = (self.expected_lat, self.expected_lon) {
            let is_house = one.kind == ResultKind::HouseNumber;
            return is_near([lat, lon, POSITION_M])
                && (is_house || self.expected_housenumber.is_none());
        }
        let same = |expected: &Option<String>, value: &str| {
            let expected = expected.as_deref().map(folded);
            expected.is_none_or(|expected| expected == folded(value))
        };
        let own_name = match one.kind {
            ResultKind::HouseNumber => "",
            _ => name(geocoder, one),
        };
        same(&self.expected_name, own_name)
            && same(&self.expected_housenumber, &house_number(one))
            && same(&self.expected_street, name(geocoder, one))
            && same(&self.expected_citycode, commune(geocoder, one))
            && same(&self.expected_type, one.kind.as_str())
            && self.is_postal_code_met(geocoder, one)
            && self.is_city_met(geocoder, one)
            && self.coordinate().is_none_or(is_near)
    }

    fn is_postal_code_met(&self, geocoder: &Geocoder, one: &Match) -> bool {
        let Some(expected) = self.expected_postcode.as_deref() else {
            return true;
        };
        let place = one.place.and_then(|place| Places::get().place(place));
        match one.street {
            Some(_) => postal_code(geocoder, one) == expected,
            None => place.is_some_and(|place| place.postal_codes.contains(&expected)),
        }
    }

    fn is_city_met(&self, geocoder: &Geocoder, one: &Match) -> bool {
        let Some(expected) = self.expected_city.as_deref().map(folded) else {
            return true;
        };
        let place = one.place.and_then(|place| Places::get().place(place));
        let former = one.street.is_some_and(|(segment, street)| {
            let segment = &geocoder.segments()[segment];
            folded(segment.area(segment.area_of(street)).former_name) == expected
        });
        former || place.is_some_and(|place| folded(place.name) == expected)
    }
}

/// Writes questions as a file of cases. Those about withheld addresses have the class `absent` and expect only a result
/// in the commune of `expected_citycode`.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_questions(
    path: &Path,
    present: &[Asked<'_>],
    absent: &[Asked<'_>],
) -> Result<(), Error> {
    let failed = |source| Error::Csv {
        path: path.to_owned(),
        source,
    };
    let mut writer = csv::Writer::from_path(path).map_err(failed)?;
    for (class, question) in present {
        let address = question.address;
        let is_house = question.wanted == Wanted::House;
        let street = (!is_house).then(|| address.street.clone());
        let at = format!("{:.6},{:.6},{HOUSE_M}", address.lat, address.lon);
        let case = Case {
            class: Some(CLASSES[*class].name.to_owned()),
            query: question.request.text.clone(),
            citycode: question.request.insee_code.clone(),
            autocomplete: question.request.autocomplete.then_some(1),
            expected_citycode: street.is_some().then(|| address.insee_code.clone()),
            expected_type: Some(if is_house { "housenumber" } else { "street" }.to_owned()),
            expected_coordinate: is_house.then_some(at),
            expected_street: street,
            ..Case::default()
        };
        writer.serialize(case).map_err(failed)?;
    }
    for (_, question) in absent {
        let case = Case {
            class: Some("absent".to_owned()),
            query: question.request.text.clone(),
            citycode: question.request.insee_code.clone(),
            autocomplete: question.request.autocomplete.then_some(1),
            expected_citycode: Some(question.address.insee_code.clone()),
            ..Case::default()
        };
        writer.serialize(case).map_err(failed)?;
    }
    writer.flush().map_err(|error| failed(error.into()))
}
