//! Finds the column that a mapping means if the file names it differently: `Prix` for `prix`, `PostalCode` for
//! `code_postal`.
//!
//! A column with exactly the wanted name is always preferred. A column that the mapping names anywhere never stands in
//! for another one. Names are folded once per row, and only for rows that lack a column of the mapping; this takes a
//! tenth of a microsecond per column.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde_json::Value;

use super::row::{FoldedName, Row, RowPath};

/// Columns whose names do not appear in a mapping.
pub(super) struct OtherNames<'c>(Vec<(&'c str, FoldedName)>);

impl<'c> OtherNames<'c> {
    /// Folds the columns except for those that the mapping names itself.
    pub fn new(columns: impl Iterator<Item = &'c str>, own: &[String]) -> Self {
        let others = columns.filter(|column| !own.iter().any(|name| name == column));
        Self(
            others
                .map(|column| (column, FoldedName::new(column)))
                .collect(),
        )
    }

    /// Returns the column that a path means: the one with the same folded name, else the best-ranked one with the same
    /// meaning.
    pub fn find(&self, path: &RowPath) -> Option<&'c str> {
        let wanted = path.folded.as_ref()?;
        let same_name = self.0.iter().find(|(_, name)| name.name == wanted.name);
        let same_meaning = || {
            let field = wanted.meaning?.field;
            let ranked = self.0.iter().filter_map(|(column, name)| {
                let meaning = name.meaning.filter(|meaning| meaning.field == field)?;
                Some((meaning.rank, *column))
            });
            ranked.min().map(|(_, column)| column)
        };
        same_name.map(|(column, _)| *column).or_else(same_meaning)
    }
}

/// A row whose columns are found by any of their names.
pub(super) struct NamedRow<'r> {
    row: &'r Row,
    own: &'r [String],
    others: OnceCell<OtherNames<'r>>,
}

impl<'r> NamedRow<'r> {
    /// Wraps a row; `own` holds the columns that the mapping names.
    pub fn new(row: &'r Row, own: &'r [String]) -> Self {
        Self {
            row,
            own,
            others: OnceCell::new(),
        }
    }

    /// Returns the row itself.
    pub fn row(&self) -> &'r Row {
        self.row
    }

    /// Returns the values at a path, like [`RowPath::find`], else those of the column that the path means.
    pub fn find(&self, path: &'r RowPath) -> Vec<(&'r str, Cow<'r, Value>)> {
        let found = path.find(self.row);
        if !found.is_empty() || path.folded.is_none() {
            return found;
        }
        let others = self
            .others
            .get_or_init(|| OtherNames::new(self.row.keys().map(String::as_str), self.own));
        let column = others.find(path);
        let value = column.and_then(|column| self.row.get_key_value(column));
        // An object is a part of a JSON document, not a column.
        let value = value.filter(|(_, value)| !value.is_object());
        value
            .map(|(column, value)| (column.as_str(), Cow::Borrowed(value)))
            .into_iter()
            .collect()
    }
}
