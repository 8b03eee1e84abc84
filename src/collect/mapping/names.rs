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
use toise_contract::columns::narrower;

/// The columns that a mapping names.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnNames {
    names: Vec<String>,
    /// Their meanings, each once.
    meanings: Vec<&'static str>,
}

impl OwnNames {
    /// Collects the columns of paths.
    pub fn new<'p>(paths: impl Iterator<Item = &'p RowPath>) -> Self {
        let mut own = Self::default();
        for path in paths {
            own.names.push(path.name.clone());
            let meaning = path.folded.as_ref().and_then(|name| name.meaning);
            own.add_meaning(meaning.map(|meaning| meaning.field));
        }
        own
    }

    /// Takes these columns.
    pub fn from_columns(names: &[String]) -> Self {
        Self {
            names: names.to_vec(),
            meanings: Vec::new(),
        }
    }

    /// Adds the names of another mapping.
    pub fn append(&mut self, other: Self) {
        self.names.extend(other.names);
        for meaning in other.meanings {
            self.add_meaning(Some(meaning));
        }
    }

    fn add_meaning(&mut self, meaning: Option<&'static str>) {
        let new = meaning.filter(|meaning| !self.meanings.contains(meaning));
        self.meanings.extend(new);
    }
}

/// Columns whose names do not appear in a mapping.
pub(super) struct OtherNames<'c, 'o> {
    others: Vec<(&'c str, FoldedName)>,
    own: &'o OwnNames,
}

impl<'c, 'o> OtherNames<'c, 'o> {
    /// Folds the columns except for those that the mapping names itself.
    pub fn new(columns: impl Iterator<Item = &'c str>, own: &'o OwnNames) -> Self {
        let others = columns.filter(|column| !own.names.iter().any(|name| name == column));
        Self {
            others: others
                .map(|column| (column, FoldedName::new(column)))
                .collect(),
            own,
        }
    }

    /// Returns the column that a path means. In this order: the column with the same folded name; the best-ranked
    /// column with the same meaning; a column with a narrower meaning that the mapping does not name, such as a rent
    /// for a price.
    pub fn find(&self, path: &RowPath) -> Option<&'c str> {
        let wanted = path.folded.as_ref()?;
        let mut others = self.others.iter();
        let same_name = others.find(|(_, name)| name.name == wanted.name);
        let by_meaning = || {
            let field = wanted.meaning?.field;
            let narrow = || narrower(field).filter(|narrow| !self.own.meanings.contains(narrow));
            self.best(field).or_else(|| self.best(narrow()?))
        };
        same_name.map(|(column, _)| *column).or_else(by_meaning)
    }

    /// Returns the best-ranked column with a meaning.
    fn best(&self, field: &str) -> Option<&'c str> {
        let ranked = self.others.iter().filter_map(|(column, name)| {
            let meaning = name.meaning.filter(|meaning| meaning.field == field)?;
            Some((meaning.rank, *column))
        });
        ranked.min().map(|(_, column)| column)
    }
}

/// A row whose columns are found by any of their names.
pub(super) struct NamedRow<'r> {
    row: &'r Row,
    own: &'r OwnNames,
    others: OnceCell<OtherNames<'r, 'r>>,
}

impl<'r> NamedRow<'r> {
    /// Wraps a row; `own` holds the columns that the mapping names.
    pub fn new(row: &'r Row, own: &'r OwnNames) -> Self {
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

    /// Returns the values at a path, like [`RowPath::find`], otherwise those of the column that the path means.
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
