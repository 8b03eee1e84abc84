//! Drafts the storey of a home, from a column whose values show it or from texts. Also checks the number of storeys of
//! its building, because some programs fill it with the digits of the storey: `Étage 1/3` becomes 13.

use serde_json::Value;

use super::super::row::{Row, RowPath};
use super::draft::{CONFIDENCE_MIN, Draft};
use super::fields::{FLAT, FLOOR, Sampled, TITLE, is_sure};
use super::profile::ColumnProfile;
use super::texts::holds_details;
use toise_page::french;
use toise_page::french::tokens::tokens;

/// The field of the number of storeys of the building.
const TOTAL: &str = "habitation.features.propertyTotalFloor";
/// Words that name a storey.
const STOREY_WORDS: [&str; 3] = ["etage", "rdc", "rez"];
/// Maximum tokens of a cell that names a storey and nothing else.
const CELL_TOKENS_MAX: usize = 8;
/// Minimum share of shown values that name a storey in a column of storeys.
const STOREYS_MIN: f64 = 0.5;
/// Minimum number of rows in which two columns are compared.
const COMPARED_MIN: usize = 3;
/// Minimum share of these rows in which a number has the digits of the storey.
const SAME_DIGITS_MIN: f64 = 0.9;
/// Maximum share of buildings with fewer storeys than that of the home.
const TOO_LOW_MAX: f64 = 0.1;

impl Sampled<'_> {
    /// Drafts the storey from the column with the most values that name one, if no column is certain by its name.
    pub(super) fn storey_by_values(&self, drafts: &[Draft]) -> Option<Draft> {
        if is_sure(drafts, FLOOR) {
            return None;
        }
        let columns = self.storey_columns().filter(|column| {
            column
                .meaning
                .is_none_or(|meaning| [FLOOR, TOTAL].contains(&meaning.field))
        });
        let found = columns.map(|column| self.of_column(FLOOR, Some("floor"), column, 1.0));
        let best = found.max_by_key(|draft| draft.read)?;
        Some(best.because("Its values are storeys.")).filter(|draft| draft.read > 0)
    }

    /// Drafts the storey from titles, details and the description, if no column has it. The text about a house names the
    /// storeys of its rooms.
    pub(super) fn storeys_in_texts(&self, drafts: &[Draft]) -> Vec<Draft> {
        if is_sure(drafts, FLOOR) {
            return Vec::new();
        }
        let details = self.columns.iter().filter(|column| {
            let is_free = column.meaning.is_none() && column.is_nameable && !column.is_files;
            is_free && holds_details(column)
        });
        let texts = self.of("description").into_iter().take(1);
        let texts = self.of(TITLE).into_iter().chain(details).chain(texts);
        let mut found: Vec<Draft> = Vec::new();
        for column in texts {
            let draft = Draft::new(FLOOR).from(&[&column.path]).with("as", "words");
            let mut draft = draft
                .tried(self.rows, column.filled, 1.0)
                .because("For texts that name one storey.");
            let is_known = found.iter().any(|known| known.columns == draft.columns);
            if draft.read == 0 || is_known {
                continue;
            }
            draft.confidence = draft.confidence.max(CONFIDENCE_MIN);
            if is_sure(drafts, "type") {
                draft = draft.with("when", &format!("type={FLAT}"));
            }
            found.push(draft);
        }
        found
    }

    /// Drops a draft of the number of storeys that reads a column of storeys. A draft becomes unsure if its values have
    /// the digits of such a column, or are lower than the storey in many rows.
    pub(super) fn check_total_floors(&self, drafts: &mut Vec<Draft>) {
        let storeys: Vec<&ColumnProfile> = self.storey_columns().collect();
        let is_storey = |draft: &Draft| {
            let mut paths = storeys.iter().map(|column| &column.path);
            draft.field == TOTAL && paths.any(|path| draft.columns.contains(path))
        };
        drafts.retain(|draft| !is_storey(draft));
        let mut floors = drafts.iter().filter(|draft| draft.field == FLOOR);
        let floors = floors.find(|draft| draft.is_sure());
        let floors = floors.map_or_else(Vec::new, |draft| draft.values(self.rows));
        for draft in drafts.iter_mut().filter(|draft| draft.field == TOTAL) {
            let [column] = draft.columns.as_slice() else {
                continue;
            };
            let mut sources = storeys.iter().map(|storeys| storeys.path.as_str());
            if let Some(source) = sources.find(|source| self.has_digits_of(column, source)) {
                draft.confidence = 0.0;
                draft.reason = format!("Its values are the digits of {source}.");
            } else if is_too_low(&draft.values(self.rows), &floors) {
                draft.confidence = 0.0;
                draft.reason = "It is lower than the storey of the home in many rows.".into();
            }
        }
    }

    /// Returns the columns whose values name storeys, whatever they are called.
    fn storey_columns(&self) -> impl Iterator<Item = &ColumnProfile> {
        let columns = self.columns.iter();
        columns.filter(|column| column.is_nameable && names_storeys(column))
    }

    /// Returns whether the numbers of a column are the digits of the cells of another.
    fn has_digits_of(&self, column: &str, source: &str) -> bool {
        let (Ok(column), Ok(source)) = (RowPath::parse(column), RowPath::parse(source)) else {
            return false;
        };
        let pairs = self.rows.iter().filter_map(|row| {
            let [number, digits] = [&column, &source].map(|path| digits_at(row, path));
            Some(number? == digits?)
        });
        let pairs: Vec<bool> = pairs.collect();
        let same = pairs.iter().filter(|is_same| **is_same).count();
        pairs.len() >= COMPARED_MIN && same as f64 >= SAME_DIGITS_MIN * pairs.len() as f64
    }
}

/// Returns whether the values of a column name storeys: `Étage 1/5`, `RDC`, `1er étage`, but not `5 étages`.
fn names_storeys(column: &ColumnProfile) -> bool {
    let is_storey = |cell: &&String| {
        let tokens = tokens(cell);
        tokens.len() <= CELL_TOKENS_MAX
            && tokens.iter().any(|token| token.is_any(&STOREY_WORDS))
            && french::floor(cell).is_some()
    };
    let storeys = column.samples.iter().filter(is_storey).count();
    storeys > 0 && storeys as f64 >= STOREYS_MIN * column.samples.len() as f64
}

/// Returns the digits of the cell at a path; `None` if it has none.
fn digits_at(row: &Row, path: &RowPath) -> Option<String> {
    let (_, value) = path.find(row).into_iter().next()?;
    let text = match value.as_ref() {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let whole = text.strip_suffix(".0").unwrap_or(&text);
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    Some(digits).filter(|digits| !digits.is_empty())
}

/// Returns whether buildings have fewer storeys than that of the home in too many rows that have both.
fn is_too_low(totals: &[Option<Value>], floors: &[Option<Value>]) -> bool {
    let pairs = totals.iter().zip(floors);
    let pairs = pairs
        .filter_map(|(total, floor)| Some(total.as_ref()?.as_f64()? < floor.as_ref()?.as_f64()?));
    let pairs: Vec<bool> = pairs.collect();
    let low = pairs.iter().filter(|is_low| **is_low).count();
    pairs.len() >= COMPARED_MIN && low as f64 > TOO_LOW_MAX * pairs.len() as f64
}
