//! Reads a file of the official map of rents: CSV with `;`, decimal commas and Windows encoding. The files of the four
//! kinds of home have the same columns.

use std::fs::File;
use std::path::Path;

use super::map::{CommuneRent, MapError};
use toise_input::TextConversion;
use toise_input::delimited::Splitter;
use toise_input::number::{self, LoneSeparator};
use toise_opendata::source::cell;

/// Columns that a file must have: commune, rent, and both ends of its interval.
const REQUIRED: [&str; 4] = ["INSEE_C", "loypredm2", "lwr.IPm2", "upr.IPm2"];
/// Further columns that are read: level that the prediction was made at, and number of adverts in the commune.
const OPTIONAL: [&str; 2] = ["TYPPRED", "nbobs_com"];
/// Accepted rents, EUR per square metre and month.
const RENT_PER_M2: std::ops::RangeInclusive<f64> = 1.0..=200.0;
/// Maximum rows of a file: there are 35,000 communes.
const ROWS_MAX: usize = 100_000;
/// Characters of an INSEE code.
const CODE_CHARS: usize = 5;

/// The rows of a file.
#[derive(Debug)]
pub(super) struct RentFile {
    /// Rents by INSEE code of the file's year.
    pub rents: Vec<(String, CommuneRent)>,
    /// Number of rows without a plausible rent.
    pub left_out: u64,
}

/// Reads a file. Blocks.
///
/// # Errors
/// It cannot be read, a column is missing, or no row has a rent.
pub(super) fn read(path: &Path) -> Result<RentFile, MapError> {
    let failed = |reason: String| MapError::File {
        path: path.display().to_string(),
        reason,
    };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let input = toise_input::open(file, TextConversion::Utf8);
    let mut input = input.map_err(|error| failed(error.to_string()))?;
    if input.is_parquet {
        return Err(failed("expected the CSV file of the publisher".to_owned()));
    }
    let start = input
        .reader
        .fill_buf()
        .map_err(|error| failed(error.to_string()))?;
    let mut rows = Splitter::new(start, None, &input.form).reader(input.reader);
    let header = rows.headers().map_err(|error| failed(error.to_string()))?;
    let index_of = |name: &str| header.iter().position(|column| column.trim() == name);
    let missing: Vec<&str> = REQUIRED
        .into_iter()
        .filter(|name| index_of(name).is_none())
        .collect();
    if !missing.is_empty() {
        return Err(failed(format!(
            "no map of rents: it has no column {}",
            missing.join(", ")
        )));
    }
    let required = REQUIRED.map(index_of);
    let optional = OPTIONAL.map(index_of);
    let (mut rents, mut left_out) = (Vec::new(), 0);
    for row in rows.records() {
        let row = row.map_err(|error| failed(error.to_string()))?;
        if rents.len() >= ROWS_MAX {
            return Err(failed(format!("it has more than {ROWS_MAX} rows")));
        }
        let text = |column: Option<usize>| column.and_then(|index| row.get(index)).unwrap_or("");
        let number = |column| number::read(text(column), LoneSeparator::Decimals);
        let [rent, lower, upper] = [required[1], required[2], required[3]].map(number);
        let code = cell::code(text(required[0]), CODE_CHARS).to_uppercase();
        match (rent, lower, upper) {
            (Some(rent), Some(lower), Some(upper))
                if RENT_PER_M2.contains(&rent) && 0.0 < lower && lower <= rent && rent <= upper =>
            {
                let [rent, lower, upper] = [rent, lower, upper].map(rounded);
                let rent = CommuneRent {
                    rent,
                    lower,
                    upper,
                    adverts: number(optional[1]).unwrap_or(0.0).max(0.0),
                    level: text(optional[0]).trim().to_lowercase(),
                };
                rents.push((code, rent));
            }
            _ => left_out += 1,
        }
    }
    if rents.is_empty() {
        return Err(failed("no row has a rent".to_owned()));
    }
    Ok(RentFile { rents, left_out })
}

/// Rounds to hundredths of a cent, because the files have fifteen digits.
fn rounded(eur: f64) -> f64 {
    (eur * 1e4).round() / 1e4
}
