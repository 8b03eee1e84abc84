//! A report as a document of blocks, in a language. HTML and PDF are both written from it, so they say the same.

use crate::figure::{Align, Figure};
use crate::language::Language;

/// A document of two pages.
#[derive(Clone, Debug)]
pub struct Document {
    /// Language.
    pub language: Language,
    /// Title.
    pub title: String,
    /// The home, below the title.
    pub subject: String,
    /// Facts of the home, in one line.
    pub facts: String,
    /// The pages.
    pub pages: [Vec<Block>; 2],
    /// Text at the bottom of each page.
    pub footer: String,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A large number with what it is.
    Key {
        /// Meaning of the value.
        label: String,
        /// The number.
        value: String,
        /// Further details.
        more: String,
    },
    /// A paragraph.
    Paragraph(String),
    /// A paragraph in small print.
    Small(String),
    /// Names with values.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A drawing.
    Figure(Figure),
    /// Two columns side by side.
    Columns {
        /// Share of the width for the left column.
        left_share: f32,
        /// Blocks of the left column.
        left: Vec<Block>,
        /// Blocks of the right column.
        right: Vec<Block>,
    },
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// Its rows: one text per column.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Its title.
    pub title: String,
    /// Share of the width of the table.
    pub share: f32,
    /// How its texts are aligned.
    pub align: Align,
}

impl TableColumn {
    /// Creates a column of texts.
    pub fn text(title: &str, share: f32) -> Self {
        Self {
            title: title.to_owned(),
            share,
            align: Align::Start,
        }
    }

    /// Creates a column of numbers.
    pub fn number(title: &str, share: f32) -> Self {
        Self {
            align: Align::End,
            ..Self::text(title, share)
        }
    }
}
