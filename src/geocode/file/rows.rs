//! Geocodes the rows of a file, each distinct query once, on all cores.
//!
//! The answers come from a [`RowAnswers`]: the index open in this process, or remote workers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::{ResultColumn, RowStatus};
use super::input_columns::InputColumns;
use crate::address::Address;
use crate::request::{AddressFilter, Operation, ReverseCall, TEXT_CHARS};
use crate::search::{FOUND_FROM, Geocoder, PartMatch, SearchRequest};
use crate::text::fold;
use toise_contract::Fault;
use toise_contract::columns::has_house_number;
use toise_geo::communes::fits_restored_code;
use toise_geo::places::Places;
use toise_input::delimited::unmarked;
use toise_input::missing::{self, MissingCounts};

/// Maximum bytes of answers kept per file in progress, for rows that repeat a query. It may be exceeded by one block of
/// answers.
const ANSWERS_BYTES_MAX: usize = 48 << 20;
/// Overhead of a kept answer in addition to its strings, bytes.
const ANSWER_BYTES: usize = 400;
/// Maximum bytes of the address of a row. The limit leaves room for leading punctuation, which is skipped; the address
/// itself is limited to [`TEXT_CHARS`] characters.
pub const ADDRESS_BYTES_MAX: usize = 4 << 10;
/// Maximum bytes of a cell that holds a code, a kind or a coordinate.
const CELL_BYTES_MAX: usize = 256;
/// Results requested for a row: the first, and the next for its score.
const RESULTS: usize = 2;

/// The cells of a row that make up its query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowCells {
    /// The address.
    pub text: String,
    /// Postal code.
    pub postal_code: String,
    /// INSEE code.
    pub insee_code: String,
    /// Whether the row is searched without its INSEE code if this is of no commune.
    pub is_code_optional: bool,
    /// Kind of result.
    pub kind: String,
    /// Latitude.
    pub lat: String,
    /// Longitude.
    pub lon: String,
}

impl RowCells {
    /// Reads a row's cells; `cell` returns the one at a position. A marker for a missing value is read as empty and
    /// counted in `met`. Returns `None` if a cell is longer than any address, code or coordinate.
    pub fn read<'c>(
        columns: &InputColumns,
        met: &mut MissingCounts,
        cell: impl Fn(usize) -> Cow<'c, str>,
    ) -> Option<Self> {
        let mut one = |at: Option<usize>| {
            let Some(at) = at else {
                return Some(String::new());
            };
            let cell = cell(at);
            let cell = missing::counted_or_empty(unmarked(cell.trim()), met);
            (cell.len() <= CELL_BYTES_MAX).then(|| cell.to_owned())
        };
        let codes = [
            one(columns.postal_code)?,
            one(columns.insee_code)?,
            one(columns.kind)?,
            one(columns.lat)?,
            one(columns.lon)?,
        ];
        let mut text = String::new();
        let mut number_end = 0;
        let mut street_end = 0;
        // The words after the postal code in an address that has it.
        let mut after_code: Option<Vec<String>> = None;
        for (place, at) in columns.text.iter().enumerate() {
            let part = cell(*at);
            let part = missing::counted_or_empty(unmarked(part.trim()), met);
            let [is_code, is_city] = columns.town.map(|column| column == Some(*at));
            let part = if is_code {
                let town = columns.town[1].map_or(Cow::Borrowed(""), &cell);
                Cow::Owned(postal_code(part, unmarked(town.trim())))
            } else {
                Cow::Borrowed(part)
            };
            let part: &str = &part;
            if is_code {
                after_code = fold::words_after(&text, part);
            }
            let is_said = after_code
                .as_ref()
                .is_some_and(|words| is_code || is_city && fold::begin_with(words, part));
            if !part.is_empty() && !is_said {
                if !text.is_empty() {
                    text.push(' ');
                }
                if text.len() + part.len() > ADDRESS_BYTES_MAX {
                    return None;
                }
                text.push_str(part);
            }
            if place < columns.house_numbers {
                number_end = text.len();
                street_end = number_end;
            } else if street_end == number_end {
                street_end = text.len();
            }
        }
        let street = text[number_end..street_end].trim_start();
        // Digits alone are a postal code: the row has no street.
        let is_number = |street: &str| street.bytes().all(|byte| byte.is_ascii_digit());
        if number_end > 0 && !street.is_empty() && (has_house_number(street) || is_number(street)) {
            // With the space after it.
            text.drain(..=number_end);
        }
        let [postal_code, insee_code, kind, lat, lon] = codes;
        Some(Self {
            text,
            postal_code,
            insee_code,
            is_code_optional: columns.is_code_meant,
            kind,
            lat,
            lon,
        })
    }

    /// Returns the INSEE code if it is of no commune and the row is searched without it.
    pub(super) fn ignored_code(&self) -> Option<&str> {
        let code = padded(&self.insee_code).to_ascii_uppercase();
        let is_ignored =
            self.is_code_optional && !code.is_empty() && Places::get().find(&code).is_none();
        is_ignored.then_some(self.insee_code.as_str())
    }

    /// Returns the INSEE code of the commune that results must be in; empty if there is none.
    fn commune(&self) -> String {
        match self.ignored_code() {
            Some(_) => String::new(),
            None => padded(&self.insee_code),
        }
    }

    /// Returns why these cells are not a valid query, and the cell at fault. Call it only for the cells of a row in
    /// error.
    pub(super) fn fault(&self) -> (&'static str, String) {
        match filter(self) {
            Err(fault) if fault.path == "postcode" => (
                "no valid query: the postal code is none",
                self.postal_code.clone(),
            ),
            Err(fault) if fault.path == "citycode" => (
                "no valid query: the INSEE code is none",
                self.insee_code.clone(),
            ),
            Err(_) => (
                "no valid query: the type of result is none",
                self.kind.clone(),
            ),
            Ok(_) if self.has_position() && position(self).is_err() => (
                "no valid query: latitude and longitude must be degrees",
                format!("{}, {}", self.lat, self.lon),
            ),
            Ok(_) => (
                "no valid query: the address is too short or too long",
                self.text.clone(),
            ),
        }
    }

    /// Returns whether latitude or longitude is given.
    fn has_position(&self) -> bool {
        !self.lat.is_empty() || !self.lon.is_empty()
    }

    /// Returns the number of bytes of its strings.
    fn bytes(&self) -> usize {
        let texts = [
            &self.text,
            &self.postal_code,
            &self.insee_code,
            &self.kind,
            &self.lat,
            &self.lon,
        ];
        texts.iter().map(|text| text.len()).sum()
    }
}

/// The answer to a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAnswer {
    /// Status of the row.
    pub status: RowStatus,
    /// Whether it has a result although it names neither town nor postal code.
    pub is_without_town: bool,
    /// Values of the columns to append, in order.
    pub values: Vec<String>,
}

impl RowAnswer {
    /// Returns the number of bytes of its strings.
    fn bytes(&self) -> usize {
        self.values.iter().map(String::len).sum()
    }
}

/// The parameters that all rows of a file share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowParameters {
    /// Operation on each row.
    pub operation: Operation,
    /// The columns to append.
    pub appended: Vec<ResultColumn>,
}

/// A source of answers to rows.
pub trait RowAnswers {
    /// Returns one answer for each row, in order.
    ///
    /// # Errors
    /// The workers that answer cannot be reached.
    fn answer(
        &self,
        question: &RowParameters,
        rows: &[&RowCells],
    ) -> io::Result<Vec<Arc<RowAnswer>>>;
}

impl RowAnswers for Geocoder {
    /// Computes on the global rayon pool; never fails.
    fn answer(
        &self,
        question: &RowParameters,
        rows: &[&RowCells],
    ) -> io::Result<Vec<Arc<RowAnswer>>> {
        let rows = rows.par_iter();
        Ok(rows
            .map(|cells| Arc::new(question.answer_one(self, cells)))
            .collect())
    }
}

/// Geocodes rows and remembers the answers.
pub struct RowGeocoder {
    question: RowParameters,
    answers: HashMap<RowCells, Arc<RowAnswer>>,
    /// Bytes of `answers`.
    bytes: usize,
}

impl RowGeocoder {
    /// Creates a geocoder that appends these columns.
    pub fn new(operation: Operation, appended: Vec<ResultColumn>) -> Self {
        let question = RowParameters {
            operation,
            appended,
        };
        Self {
            question,
            answers: HashMap::new(),
            bytes: 0,
        }
    }

    /// Returns the columns it appends.
    pub fn appended(&self) -> &[ResultColumn] {
        &self.question.appended
    }

    /// Answers rows in order; `None` is a row that cannot be read.
    ///
    /// # Errors
    /// The workers that answer cannot be reached.
    pub fn answer(
        &mut self,
        answers: &(impl RowAnswers + ?Sized),
        rows: &[Option<RowCells>],
    ) -> io::Result<Vec<Arc<RowAnswer>>> {
        if self.bytes > ANSWERS_BYTES_MAX {
            self.answers.clear();
            self.bytes = 0;
        }
        let mut fresh: Vec<&RowCells> = rows
            .iter()
            .flatten()
            .filter(|cells| !self.answers.contains_key(*cells))
            .collect();
        let mut seen = std::collections::HashSet::with_capacity(fresh.len());
        fresh.retain(|cells| seen.insert(*cells));
        let found = answers.answer(&self.question, &fresh)?;
        let found: Vec<(RowCells, Arc<RowAnswer>)> =
            fresh.into_iter().cloned().zip(found).collect();
        let bytes = found
            .iter()
            .map(|(cells, answer)| ANSWER_BYTES + cells.bytes() + answer.bytes());
        self.bytes += bytes.sum::<usize>();
        self.answers.extend(found);
        let broken = Arc::new(self.question.without_result(RowStatus::Error));
        let known = |row: &Option<RowCells>| {
            let answer = row.as_ref().and_then(|cells| self.answers.get(cells));
            Arc::clone(answer.unwrap_or(&broken))
        };
        Ok(rows.iter().map(known).collect())
    }
}

impl RowParameters {
    fn answer_one(&self, geocoder: &Geocoder, cells: &RowCells) -> RowAnswer {
        let addresses = match self.operation {
            Operation::Search if cells.text.is_empty() => {
                return self.without_result(RowStatus::Skipped);
            }
            Operation::Reverse if cells.lat.is_empty() && cells.lon.is_empty() => {
                return self.without_result(RowStatus::Skipped);
            }
            Operation::Search => search(geocoder, cells),
            Operation::Reverse => reverse(geocoder, cells),
        };
        let Ok(addresses) = addresses else {
            return self.without_result(RowStatus::Error);
        };
        // If many streets share the name, each is too improbable to be a result for a file.
        let is_found = |one: &&Address<'_>| {
            self.operation == Operation::Reverse || one.properties.score >= f64::from(FOUND_FROM)
        };
        let Some(first) = addresses.first().filter(is_found) else {
            return self.without_result(RowStatus::NotFound);
        };
        let next = addresses.get(1).map(|next| next.properties.score);
        let values = self
            .appended
            .iter()
            .map(|column| column.value(first, next))
            .collect();
        RowAnswer {
            status: RowStatus::Ok,
            is_without_town: cells.postal_code.is_empty()
                && cells.commune().is_empty()
                && first.properties.matched.is_some_and(|matched| {
                    [matched.postal_code, matched.city] == [PartMatch::Missing; 2]
                }),
            values,
        }
    }

    fn without_result(&self, status: RowStatus) -> RowAnswer {
        let value = |column: &ResultColumn| match column {
            ResultColumn::Status => status.as_str().to_owned(),
            _ => String::new(),
        };
        RowAnswer {
            status,
            is_without_town: false,
            values: self.appended.iter().map(value).collect(),
        }
    }
}

fn search<'g>(geocoder: &'g Geocoder, cells: &RowCells) -> Result<Vec<Address<'g>>, Fault> {
    let filter = filter(cells)?;
    // Skips punctuation before the address, such as the bracket in `(ancienne école) 12 rue …`.
    let text = cells
        .text
        .trim_start_matches(|character: char| !character.is_alphanumeric());
    if !TEXT_CHARS.contains(&text.chars().count()) {
        return Err(Fault::new("columns", "too short or too long"));
    }
    let near = if cells.lat.is_empty() || cells.lon.is_empty() {
        None
    } else {
        Some(position(cells)?)
    };
    let request = SearchRequest {
        text: text.to_owned(),
        limit: RESULTS,
        near,
        postal_code: filter.postal_code,
        insee_code: filter.insee_code,
        kind: filter.kind,
        ..SearchRequest::default()
    };
    let found = geocoder.search(&request);
    Ok(found.iter().map(|one| geocoder.address(one)).collect())
}

fn reverse<'g>(geocoder: &'g Geocoder, cells: &RowCells) -> Result<Vec<Address<'g>>, Fault> {
    let (lat, lon) = position(cells)?;
    let call = ReverseCall {
        lat,
        lon,
        filter: filter(cells)?,
        limit: 1,
        metres_max: None,
        with: Default::default(),
    };
    let near = geocoder.reverse_filtered(&call);
    let address = |one| geocoder.address_near(one, lat, lon);
    Ok(near.iter().map(address).collect())
}

fn filter(cells: &RowCells) -> Result<AddressFilter, Fault> {
    let mut parameters = Vec::new();
    for (name, cell) in [
        ("postcode", padded(&cells.postal_code)),
        ("citycode", cells.commune()),
        ("type", cells.kind.clone()),
    ] {
        if !cell.is_empty() {
            parameters.push((name.to_owned(), cell));
        }
    }
    AddressFilter::parse(&parameters)
}

/// Repairs a code that a spreadsheet changed: without its leading zero, or with `.0`.
fn padded(code: &str) -> String {
    let code = code.strip_suffix(".0").unwrap_or(code);
    if code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("0{code}")
    } else {
        code.to_owned()
    }
}

/// Repairs a postal code like [`padded`], without its zero if the town shows that it is not French.
fn postal_code(code: &str, town: &str) -> String {
    let town = if missing::is_missing(town) { "" } else { town };
    let mut repaired = padded(code);
    let is_restored = repaired.starts_with('0') && !code.starts_with('0');
    if is_restored && !fits_restored_code(&repaired, town) {
        repaired.remove(0);
    }
    repaired
}

/// Parses a position; a decimal comma is accepted.
fn position(cells: &RowCells) -> Result<(f64, f64), Fault> {
    let degrees = |name: &str, cell: &str, most: f64| {
        let value = cell.replace(',', ".").parse().ok();
        value
            .filter(|value: &f64| value.abs() <= most)
            .ok_or_else(|| Fault::new(name, "must be degrees"))
    };
    Ok((
        degrees("lat", &cells.lat, 90.0)?,
        degrees("lon", &cells.lon, 180.0)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_file_is_bounded_by_bytes() {
        let geocoder = Geocoder::new(Vec::new());
        let mut rows = RowGeocoder::new(Operation::Search, vec![ResultColumn::Status]);
        let block_bytes = 1_000 * (ADDRESS_BYTES_MAX - 8);
        for block in 0..2 * ANSWERS_BYTES_MAX / block_bytes {
            let row = |row| {
                let text = format!("{block:03}{row:04}{}", "x".repeat(ADDRESS_BYTES_MAX - 8));
                Some(RowCells {
                    text,
                    ..RowCells::default()
                })
            };
            let asked: Vec<_> = (0..1_000).map(row).collect();
            let answers = rows.answer(&geocoder, &asked).unwrap();
            assert!(answers.iter().all(|one| one.status == RowStatus::Error));
            let texts: usize = rows.answers.keys().map(RowCells::bytes).sum();
            assert!(texts <= ANSWERS_BYTES_MAX + 2 * block_bytes, "{texts}");
        }
    }

    #[test]
    fn a_number_is_not_put_before_a_street_that_has_one() {
        let columns = InputColumns {
            text: vec![0, 1, 2],
            house_numbers: 1,
            ..InputColumns::default()
        };
        for (cells, text) in [
            (["1", "12 Avenue Foch", "Mende"], "12 Avenue Foch Mende"),
            (["1", "Avenue Foch", "Mende"], "1 Avenue Foch Mende"),
            (["", "12 Avenue Foch", "Mende"], "12 Avenue Foch Mende"),
            (["1", "8 mai 1945", "48000"], "1 8 mai 1945 48000"),
            (["12", "4 Chemins", "Mende"], "12 4 Chemins Mende"),
            (["1", "12 4 Chemins", "Mende"], "12 4 Chemins Mende"),
            (["1", "", "Mende"], "1 Mende"),
            (["'1", "=\"Avenue Foch\"", "Mende"], "1 Avenue Foch Mende"),
        ] {
            let mut met = MissingCounts::default();
            let read = RowCells::read(&columns, &mut met, |at| cells[at].into());
            assert_eq!(read.unwrap().text, text);
        }
    }

    #[test]
    fn a_postal_code_is_repaired_and_not_repeated_with_its_town_after_an_address_that_has_it() {
        let columns = InputColumns {
            text: vec![0, 1, 2],
            town: [Some(1), Some(2)],
            ..InputColumns::default()
        };
        let whole = "3 Rue de Mende 48000 Mende";
        for (cells, text) in [
            ([whole, "48000", "MENDE"], whole),
            (["3 Rue de Mende", "48000", "Mende"], whole),
            (["3 Rue de Mende 48000", "48000", "Mende"], whole),
            (["3 Rue de Mende", "", "Mende"], "3 Rue de Mende Mende"),
            (["", "48000", "Mende"], "48000 Mende"),
            ([whole, "", ""], whole),
            (["3 rue Haute", "1000", "Bourg"], "3 rue Haute 01000 Bourg"),
            (["3 rue Haute", "1000", ""], "3 rue Haute 01000"),
            (
                ["3 rue Haute", "1000.0", "Bruxelles"],
                "3 rue Haute 1000 Bruxelles",
            ),
            (
                ["3 rue Haute", "48000.0", "Mende"],
                "3 rue Haute 48000 Mende",
            ),
        ] {
            let mut met = MissingCounts::default();
            let read = RowCells::read(&columns, &mut met, |at| cells[at].into());
            assert_eq!(read.unwrap().text, text);
        }
    }

    #[test]
    fn a_cell_that_is_longer_than_any_address_is_not_asked() {
        let columns = InputColumns {
            text: vec![0, 1],
            postal_code: Some(2),
            ..InputColumns::default()
        };
        let read = |bytes: [usize; 3]| {
            let mut met = MissingCounts::default();
            let cells = RowCells::read(&columns, &mut met, |at| "x".repeat(bytes[at]).into());
            cells.map(|cells| cells.bytes())
        };
        let half = ADDRESS_BYTES_MAX / 2;
        assert_eq!(read([half, half - 1, 5]), Some(ADDRESS_BYTES_MAX + 5));
        assert_eq!(read([half, half, 5]), None);
        assert_eq!(read([9, 9, CELL_BYTES_MAX + 1]), None);
    }
}
