//! Collects the properties that the cells of a column of delimited text have in common, which determine its type.
//!
//! Codes stay text: columns named like codes, and columns in which a number starts with a zero or has more digits than
//! fit an integer. A column whose numbers can be read in two ways is read with the decimal mark of the other columns.

use arrow::compute::kernels::cast_utils::{Parser, string_to_timestamp_nanos};
use arrow::datatypes::Date32Type;

use crate::SharedForm;
use crate::day;
use crate::delimited::{marked_text, unmarked};
use crate::missing;
use crate::number::{self, DecimalEvidence, LoneSeparator};

/// Bytes of the longest day in digits: `2024-12-31`.
const DAY_LENGTH_MAX: usize = 10;
/// Maximum digits for which every whole number fits into 64 bits.
pub(crate) const INTEGER_DIGITS_MAX: usize = 18;
/// Words in the name of a column that holds codes, in lower case without accents.
#[rustfmt::skip]
const CODE_WORDS: [&str; 28] = [
    "code", "codes", "insee", "cp", "postal", "postcode", "zip", "zipcode", "siren", "siret",
    "parcelle", "parcel", "section", "iris", "fantoir", "rivoli", "cog", "departement",
    "department", "tel", "telephone", "codepostal", "codeinsee", "codecommune", "postalcode",
    "inseecode", "depcom", "codgeo",
];
/// Those of the words that do not name a code next to a word for an area: `surface_parcelle`.
const PARCEL_WORDS: [&str; 2] = ["parcelle", "parcel"];
/// Words in names of areas.
const AREA_WORDS: [&str; 6] = ["surface", "superficie", "contenance", "area", "sqft", "m2"];
/// Those of the words that say nothing about the code: `code_version` may hold `1.0`.
const VAGUE_CODE_WORDS: [&str; 3] = ["code", "codes", "section"];
/// Minimum digits of a code that is not a version.
const CODE_DIGITS_MIN: usize = 4;
/// The suffix that some programs add to a code that they store as a number.
const CODE_DECIMALS: &str = ".0";
const MILLISECOND_NANOS: i64 = 1_000_000;

/// Columns that are always text, even if all cells are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TextColumns {
    /// Columns named like codes.
    #[default]
    Codes,
    /// Columns named like codes, and these.
    Named(Vec<String>),
    /// All columns.
    All,
}

impl std::str::FromStr for TextColumns {
    type Err = std::convert::Infallible;

    /// Parses `all`, or names separated by commas; none if empty.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text.trim() == "all" {
            Self::All
        } else if text.trim().is_empty() {
            Self::Codes
        } else {
            Self::Named(text.split(',').map(|name| name.trim().to_owned()).collect())
        })
    }
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Flag,
    Integer,
    Number(LoneSeparator),
    Day,
    /// A timestamp, with or without a time zone.
    Moment {
        is_utc: bool,
    },
    Text,
}

/// Common properties of the cells of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnEvidence {
    pub(crate) is_code: bool,
    /// Whether the user named the column as text.
    is_named: bool,
    /// Whether the codes are whole numbers: its name has a word for such codes, or one of them is long.
    is_whole_code: bool,
    keeps_missing: bool,
    pub(crate) values: u64,
    /// Cells of a code that end in [`CODE_DECIMALS`].
    decimal_codes: u64,
    integers: u64,
    numbers: u64,
    flags: u64,
    days: u64,
    moments: u64,
    zoned: u64,
    /// Whether there is a cell whose lone comma can be read in two ways.
    has_ambiguous_comma: bool,
    /// Whether there is a cell whose lone point can be read in two ways.
    has_ambiguous_point: bool,
    pub(crate) decimals: DecimalEvidence,
    /// Meaning of a lone separator, from the other columns.
    pub(crate) of_file: LoneSeparator,
}

impl ColumnEvidence {
    pub(crate) fn new(name: &str, text_columns: &TextColumns) -> Self {
        let is_named = match text_columns {
            TextColumns::Codes => false,
            TextColumns::Named(names) => names.iter().any(|one| one.eq_ignore_ascii_case(name)),
            TextColumns::All => true,
        };
        let mut code_words = words(name);
        let has = |words: &[&str], word: &String| words.contains(&word.as_str());
        let is_area = code_words.iter().any(|word| has(&AREA_WORDS, word));
        code_words.retain(|word| has(&CODE_WORDS, word) && !(is_area && has(&PARCEL_WORDS, word)));
        let is_vague = |word: &String| VAGUE_CODE_WORDS.contains(&word.as_str());
        Self {
            is_code: is_named || !code_words.is_empty(),
            is_named,
            is_whole_code: !code_words.iter().all(is_vague),
            keeps_missing: missing::may_name_section(name),
            values: 0,
            decimal_codes: 0,
            integers: 0,
            numbers: 0,
            flags: 0,
            days: 0,
            moments: 0,
            zoned: 0,
            has_ambiguous_comma: false,
            has_ambiguous_point: false,
            decimals: DecimalEvidence::default(),
            of_file: LoneSeparator::Unknown,
        }
    }

    /// Returns the cell, or `None` if it has no value.
    pub(crate) fn value<'c>(&self, cell: &'c str) -> Option<&'c str> {
        let cell = unmarked(cell);
        let is_missing = cell.trim().is_empty() || !self.keeps_missing && missing::is_missing(cell);
        (!is_missing).then_some(cell)
    }

    /// Returns the cell as it is written, or `None` if it has no value: a code without its decimals.
    pub(crate) fn written<'c>(&self, cell: &'c str) -> Option<&'c str> {
        let cell = self.value(cell)?;
        let whole = self.has_decimal_codes().then(|| whole_code(cell));
        Some(whole.flatten().unwrap_or(cell))
    }

    /// Returns whether all cells are codes that a program held as numbers: `83000.0`.
    pub(crate) fn has_decimal_codes(&self) -> bool {
        self.is_code
            && !self.is_named
            && self.is_whole_code
            && self.values > 0
            && self.decimal_codes == self.values
    }

    pub(crate) fn observe(&mut self, cell: &str) {
        let is_marked = marked_text(cell).is_some();
        let Some(cell) = self.value(cell) else {
            return;
        };
        self.is_code |= is_marked;
        let cell = cell.trim();
        self.values += 1;
        if let Some(code) = whole_code(cell) {
            self.decimal_codes += 1;
            self.is_whole_code |= code.len() >= CODE_DIGITS_MIN;
        }
        if self.is_code {
            return;
        }
        let digits = cell.trim_start_matches(['-', '+']);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole
            && (digits.len() > 1 && digits.starts_with('0') || digits.len() > INTEGER_DIGITS_MAX)
        {
            self.is_code = true;
            return;
        }
        self.integers += u64::from(is_whole);
        if is_whole || number::read(cell, LoneSeparator::Decimals).is_some() {
            self.numbers += 1;
            self.decimals.observe(cell);
            if number::read(cell, LoneSeparator::Unknown).is_none() {
                self.has_ambiguous_comma |= cell.contains(',');
                self.has_ambiguous_point |= cell.contains('.');
            }
        } else if cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false") {
            self.flags += 1;
        } else if day_number(cell).is_some() {
            self.days += 1;
        } else if moment(cell).is_some() {
            self.moments += 1;
            self.zoned += u64::from(is_zoned(cell));
        }
    }

    /// Returns whether a lone separator can be read in two ways.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.has_ambiguous_comma || self.has_ambiguous_point
    }

    /// Returns whether no cell of the column shows which separator marks decimals.
    pub(crate) fn is_undecided(&self) -> bool {
        self.decimals == DecimalEvidence::default()
    }

    /// Returns whether all cells are numbers.
    pub(crate) fn is_number(&self) -> bool {
        !self.is_code && self.numbers == self.values
    }

    /// Returns what a lone separator means, from the evidence of the column, or otherwise of the whole file.
    pub(crate) fn lone_separator(&self) -> LoneSeparator {
        if self.is_undecided() {
            self.of_file
        } else {
            self.decimals.lone_separator()
        }
    }

    pub(crate) fn kind(&self) -> ColumnKind {
        let all = |count: u64| count == self.values && self.values > 0;
        if self.is_code {
            ColumnKind::Text
        } else if all(self.integers) {
            ColumnKind::Integer
        } else if all(self.numbers) {
            let lone = match self.lone_separator() {
                // All separators are followed by three digits, and the file does not show what they mean. Assumes
                // decimals, as programs write them.
                LoneSeparator::Unknown
                    if self.is_undecided()
                        && !(self.has_ambiguous_comma && self.has_ambiguous_point) =>
                {
                    LoneSeparator::Decimals
                }
                lone => lone,
            };
            if self.is_ambiguous() && lone == LoneSeparator::Unknown {
                ColumnKind::Text
            } else {
                ColumnKind::Number(lone)
            }
        } else if all(self.flags) {
            ColumnKind::Flag
        } else if all(self.days) {
            ColumnKind::Day
        } else if all(self.days + self.moments) {
            ColumnKind::Moment {
                is_utc: self.zoned > 0,
            }
        } else {
            ColumnKind::Text
        }
    }
}

/// Returns the digits of a code before its decimals: `83000` of `83000.0`.
fn whole_code(cell: &str) -> Option<&str> {
    let digits = cell.trim().strip_suffix(CODE_DECIMALS)?;
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole.then_some(digits)
}

/// Returns the words of a column's name in lower case, without the accents of codes: `code`, `postal` of `codePostal`.
fn words(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len());
    let mut is_after_small = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || is_after_small && character.is_uppercase() {
            spaced.push(' ');
        }
        if character.is_alphanumeric() {
            spaced.extend(character.to_lowercase());
        }
        is_after_small = character.is_lowercase();
    }
    let words = spaced.split_whitespace();
    words.map(|word| word.replace('é', "e")).collect()
}

/// Parses a day as days since 1970-01-01. Digits alone are a number, and a text with a time of day is not a day.
pub(crate) fn day_number(cell: &str) -> Option<i32> {
    let is_day = cell.len() <= DAY_LENGTH_MAX && !cell.bytes().all(|byte| byte.is_ascii_digit());
    Date32Type::parse(&is_day.then(|| day::iso(cell)).flatten()?)
}

/// Parses a timestamp as milliseconds since 1970-01-01.
pub(crate) fn moment(cell: &str) -> Option<i64> {
    let begins_with_day = cell.len() >= 10 && cell.as_bytes()[4] == b'-';
    begins_with_day
        .then(|| string_to_timestamp_nanos(cell).ok())
        .flatten()
        .map(|nanos| nanos.div_euclid(MILLISECOND_NANOS))
}

fn is_zoned(cell: &str) -> bool {
    cell.ends_with('Z') || cell.get(10..).is_some_and(|time| time.contains(['+', '-']))
}

/// Returns how the number columns of a file write decimals. In a spreadsheet, a point shows nothing: number cells are
/// always written with one.
pub(crate) fn decimals_of_file(evidence: &[ColumnEvidence], form: &SharedForm) -> DecimalEvidence {
    let numbers = evidence.iter().filter(|column| column.is_number());
    let sum: DecimalEvidence = numbers.map(|column| column.decimals).sum();
    let points = if form.found().is_spreadsheet() {
        0
    } else {
        sum.points
    };
    DecimalEvidence { points, ..sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_named_like_codes_are_text() {
        let is_code = |name: &str| ColumnEvidence::new(name, &TextColumns::Codes).is_code;
        for name in [
            "code_postal",
            "codePostal",
            "CodePostal",
            "CODEPOSTAL",
            "postalCode",
            "Département",
            "N° Téléphone",
            "INSEE",
            "DEPCOM",
        ] {
            assert!(is_code(name), "{name}");
        }
        for name in ["prix", "nbPieces", "decode", "Codes2"] {
            assert!(!is_code(name), "{name}");
        }
    }
}
