//! The position of a row in a sort order: by its key, then by its text if keys are equal, then by its id.

use std::cmp::Ordering;

use super::keys::{MISSING, day_key, number_of, ordered, text_key};
use crate::view::{RowRef, TableView};
use toise_contract::position::{CursorPosition, SortValue};

/// The position of a row at which pages are cut: its key, its text if the sort value is a text, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    pub(super) key: u64,
    pub(super) text: Option<String>,
    pub(super) descending: bool,
    pub(super) id: String,
}

impl SortKey {
    /// Converts a cursor's position.
    pub fn from_position(position: &CursorPosition, descending: bool) -> Self {
        let (key, text) = match &position.value {
            None => (MISSING, None),
            Some(value) => {
                let (key, text) = match value {
                    SortValue::Number(number) => (ordered(*number), None),
                    SortValue::Day(day) => (day_key(*day), None),
                    SortValue::Text(text) => (text_key(text), Some(text.clone())),
                };
                (if descending { !key } else { key }, text)
            }
        };
        Self {
            key,
            text,
            descending,
            id: position.id.clone(),
        }
    }

    pub(super) fn compare(&self, key: u64, text: Option<&str>, id: &str) -> Ordering {
        let texts = || {
            let order = self.text.as_deref().cmp(&text);
            if self.descending {
                order.reverse()
            } else {
                order
            }
        };
        self.key
            .cmp(&key)
            .then_with(texts)
            .then_with(|| self.id.as_str().cmp(id))
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other.key, other.text.as_deref(), &other.id)
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A row found, with its position in the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Its position.
    pub place: SortKey,
    /// Chunk of the view.
    pub chunk: usize,
    /// Row in the chunk.
    pub row: usize,
}

impl Hit {
    /// Returns the number by which it was offered, if its key encodes a number.
    pub fn number(&self, descending: bool) -> f64 {
        number_of(self.place.key, descending)
    }

    /// Returns its row in the files of the view in which it was found.
    pub fn row_in(&self, view: &TableView) -> RowRef {
        let chunk = &view.chunks()[self.chunk];
        RowRef {
            data_file: chunk.data_file,
            row: chunk.first_row + self.row as u32,
        }
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.place.id
    }
}
