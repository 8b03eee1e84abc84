//! Recognises markers for missing values: what R, pandas, SQL and French forms write in an empty cell, and markers that
//! the command line adds.

use std::sync::OnceLock;

/// The markers, in lower case; they are compared without regard to case.
#[rustfmt::skip]
pub const TEXTS: [&str; 23] = [
    "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "(null)", "none", "nil", "nd", "n.d.", "nc",
    "n.c.", "n.c", "-", "--", "?", "non communiqué", "non renseigné",
    // Days of databases and programs that have none.
    "00/00/0000", "0000-00-00", "0000-00-00 00:00:00",
];

/// Beginnings of the markers that are days.
const ZERO_DAYS: [&[u8]; 2] = [b"00/00/0000", b"0000-00-00"];

/// Units that may follow a marker, as in `n.c. €`.
const UNITS: [&str; 3] = ["€", "m²", "m2"];

/// Maximum bytes of a marker and a unit.
const BYTES_MAX: usize = 20;

/// Maximum markers that [`add`] takes.
const ADDED_MAX: usize = 32;

/// The markers added by [`add`], in lower case.
static ADDED: OnceLock<Vec<String>> = OnceLock::new();

/// Adds markers for all files that this process reads. To be called once, before the first file is read. They are
/// compared without regard to case, like [`TEXTS`].
///
/// # Errors
/// A marker is empty, there are more than 32, or markers were already added.
pub fn add(texts: &[String]) -> Result<(), String> {
    let texts: Vec<String> = texts
        .iter()
        .map(|text| text.trim().to_lowercase())
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    if texts.iter().any(String::is_empty) {
        return Err("a text must not be empty: an empty cell never has a value".into());
    }
    if texts.len() > ADDED_MAX {
        return Err(format!("at most {ADDED_MAX} texts"));
    }
    ADDED.set(texts).map_err(|_| "can be given once".to_owned())
}

/// Returns the markers added by [`add`], in lower case.
pub fn added() -> &'static [String] {
    ADDED.get().map_or(&[], Vec::as_slice)
}

/// Returns whether a cell is a marker for a missing value. An empty cell is not one.
pub fn is_missing(cell: &str) -> bool {
    position(cell).is_some()
}

/// Returns the cell, or an empty string if it is a marker for a missing value, which is counted.
pub fn counted_or_empty<'c>(cell: &'c str, counts: &mut MissingCounts) -> &'c str {
    match position(cell) {
        None => cell,
        Some(position) => {
            counts.count(position);
            ""
        }
    }
}

/// Returns the index of a cell's marker in [`TEXTS`]; added markers follow.
pub fn position(cell: &str) -> Option<usize> {
    usual_position(cell).or_else(|| {
        let added = ADDED.get()?;
        let cell = cell.trim().to_lowercase();
        let place = added.iter().position(|text| *text == cell)?;
        Some(TEXTS.len() + place)
    })
}

fn usual_position(cell: &str) -> Option<usize> {
    let bytes = cell.as_bytes();
    // Most cells are numbers, codes or longer texts and end here.
    if bytes.len() > BYTES_MAX
        || !matches!(
            bytes.first(),
            Some(b'N' | b'n' | b'#' | b'<' | b'(' | b'-' | b'?' | b' ')
        ) && !ZERO_DAYS.iter().any(|day| bytes.starts_with(day))
    {
        return None;
    }
    let cell = cell.trim();
    let without_unit = UNITS.iter().find_map(|unit| cell.strip_suffix(unit));
    let cell = without_unit.unwrap_or(cell).trim_end();
    TEXTS.iter().position(|text| {
        text.len() == cell.len() && (text.eq_ignore_ascii_case(cell) || text.to_uppercase() == cell)
    })
}

/// Returns whether a column may hold cadastral sections, which run from A to ZZ and include `NA` and `NC`: these are
/// not missing values.
pub fn may_name_section(column: &str) -> bool {
    let name = column.trim().to_ascii_lowercase();
    name == "section"
        || name.ends_with("_section")
        || name.starts_with("section_")
        || name == "code section"
}

/// How often each marker for a missing value was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCounts([u32; TEXTS.len() + ADDED_MAX]);

impl Default for MissingCounts {
    fn default() -> Self {
        Self([0; TEXTS.len() + ADDED_MAX])
    }
}

impl MissingCounts {
    /// Counts a marker by its [`position`].
    pub fn count(&mut self, position: usize) {
        if let Some(count) = self.0.get_mut(position) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds the counts of another part of the file.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns the markers that were found, with their counts.
    pub fn found(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let added = ADDED.get().into_iter().flatten().map(String::as_str);
        let counts = TEXTS.into_iter().chain(added).zip(self.0);
        counts.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_for_missing_are_recognised_in_any_case_and_nothing_else_is() {
        for text in [
            "NA",
            "nan",
            "NaN",
            "NULL",
            "None",
            "n.c.",
            "N/A",
            "-",
            " NA ",
            "Non communiqué",
            "n.c. €",
            "- €",
            "NC m²",
            "00/00/0000",
            "0000-00-00 00:00:00",
        ] {
            assert!(is_missing(text), "{text}");
        }
        for text in [
            "", "N", "NANTES", "-3", "-3 €", "€", "Nadaud", "none of these", "N°1", "0", "0000",
            "0000-00-00-7",
        ] {
            assert!(!is_missing(text), "{text}");
        }
        assert!(TEXTS.iter().all(|text| text.len() <= BYTES_MAX));
    }

    #[test]
    fn sections_of_the_cadastre_keep_their_letters() {
        assert!(may_name_section("Section") && may_name_section("code_section"));
        assert!(!may_name_section("id_parcelle") && !may_name_section("intersection"));
    }
}
