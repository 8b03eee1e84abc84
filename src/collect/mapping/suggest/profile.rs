//! Profiles the columns of a file from its first rows: their paths, how many rows fill them, and sample values.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::super::row::{Row, RowPath};
use super::super::rule::is_empty;
use toise_contract::columns::{ColumnMeaning, advert_meaning};

/// Maximum number of distinct values of a column that are shown.
pub const SAMPLES: usize = 10;
/// Maximum length of a shown value, in characters.
const SAMPLE_CHARS_MAX: usize = 40;
/// Maximum depth to which objects are followed.
const DEPTH_MAX: usize = 4;
/// Maximum number of columns; documents that use data as keys may have any number.
const COLUMNS_MAX: usize = 400;

/// Markers for unknown values in files of adverts, besides those that every mapping knows.
const UNKNOWN: [&str; 8] = [
    "Non précisé",
    "Non disponible",
    "Inconnu",
    "Unknown",
    "-1",
    "Prix sur demande",
    "Nous consulter",
    "Price on request",
];

/// A column, or a path into the objects of JSON rows.
#[derive(Clone, Debug)]
pub struct ColumnProfile {
    /// Its path, as a rule names it.
    pub path: String,
    /// Meaning of its name. For a path whose name has none, the meaning of its last key.
    pub meaning: Option<ColumnMeaning>,
    /// Whether its name can be written in a rule.
    pub is_nameable: bool,
    /// Rows in which it has a value.
    pub filled: usize,
    /// Distinct values.
    pub distinct: usize,
    /// The first distinct values, each on one line.
    pub samples: Vec<String>,
    /// Whether every value is the URL of a page, not of a picture.
    pub is_pages: bool,
    /// Those of its values that are markers for unknown values.
    pub unknown: BTreeSet<&'static str>,
}

impl ColumnProfile {
    fn new(path: String) -> Self {
        let last = path.rsplit('.').next().unwrap_or_default();
        Self {
            meaning: advert_meaning(&path).or_else(|| advert_meaning(last)),
            is_nameable: RowPath::parse(&path).is_ok(),
            filled: 0,
            distinct: 0,
            samples: Vec::new(),
            is_pages: true,
            unknown: BTreeSet::new(),
            path,
        }
    }

    /// Returns whether the column has this meaning by the table of names, is filled and can be named by a rule.
    pub fn means(&self, field: &str) -> bool {
        self.is_nameable
            && self.filled > 0
            && self.meaning.is_some_and(|found| found.field == field)
    }
}

/// Profiles the columns of rows: first those of the header in its order, then others in order of first occurrence.
pub fn profiles(header: &[String], rows: &[Row]) -> Vec<ColumnProfile> {
    let mut paths: Vec<String> = header.to_vec();
    let mut known: HashSet<String> = paths.iter().cloned().collect();
    for row in rows {
        for (column, value) in row {
            collect(column, value, 1, &mut |path| {
                if paths.len() < COLUMNS_MAX && known.insert(path.to_owned()) {
                    paths.push(path.to_owned());
                }
            });
        }
    }
    // A column of objects is followed into its keys.
    let profiles = paths.into_iter().map(|path| profile(path, rows));
    profiles.collect()
}

fn collect(path: &str, value: &Value, depth: usize, add: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) if depth < DEPTH_MAX => {
            for (key, inner) in fields {
                collect(&format!("{path}.{key}"), inner, depth + 1, add);
            }
        }
        _ => add(path),
    }
}

fn profile(path: String, rows: &[Row]) -> ColumnProfile {
    let mut profile = ColumnProfile::new(path);
    let Ok(parsed) = RowPath::parse(&profile.path) else {
        return profile;
    };
    let mut seen = HashSet::new();
    for row in rows {
        let found = parsed.find(row).into_iter();
        let mut values = found.filter(|(_, value)| !is_empty(value, &[]));
        let Some((_, value)) = values.next() else {
            continue;
        };
        profile.filled += 1;
        let text = match value.as_ref() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        profile.is_pages &= is_page(&text);
        let unknown = UNKNOWN.iter().find(|unknown| **unknown == text.trim());
        profile.unknown.extend(unknown);
        if profile.samples.len() < SAMPLES && !seen.contains(&text) {
            profile.samples.push(on_one_line(&text));
        }
        seen.insert(text);
    }
    profile.distinct = seen.len();
    profile
}

/// Returns whether a value is the URL of a page.
fn is_page(value: &str) -> bool {
    let mut pictures = [
        ".jpg", ".jpeg", ".png", ".webp", "/image", "/photo", "//media",
    ]
    .iter();
    value.starts_with("http")
        && !value.contains([' ', ',', '['])
        && !pictures.any(|sign| value.to_lowercase().contains(sign))
}

/// Returns the beginning of a text on one line, for a comment.
fn on_one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(SAMPLE_CHARS_MAX)
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .collect();
    match text.chars().nth(SAMPLE_CHARS_MAX) {
        None => plain.trim().to_owned(),
        Some(_) => format!("{}…", plain.trim()),
    }
}
