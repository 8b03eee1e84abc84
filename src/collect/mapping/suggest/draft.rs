//! A draft rule of a suggested mapping. The draft is tried on the rows of the file, then written as a `[[field]]`, with
//! comments that give its confidence and the number of rows that it reads.

use std::fmt::Write as _;

use serde_json::Value;
use toml::Value as Toml;

use super::super::MappingFile;
use super::super::names::{NamedRow, OwnNames};
use super::super::row::Row;
use super::super::rule::{RowFinding, RowRule};
use super::plausible::is_plausible;

/// Minimum confidence of a rule that is used; a rule below it is commented out.
pub const CONFIDENCE_MIN: f64 = 0.8;
/// Factor for the confidence of a rule if only a part of its column's name was recognised.
pub const PART_OF_NAME: f64 = 0.6;

/// A draft of a rule.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Field of the advert.
    pub field: &'static str,
    /// Columns it reads.
    pub columns: Vec<String>,
    /// Lines of the rule after its path.
    lines: Vec<String>,
    /// Number of rows that have a value for it.
    pub filled: usize,
    /// Number of rows from which it reads a plausible value.
    pub read: usize,
    /// From 0 to 1: the factor for the name of the column, times the share of values that can be read.
    pub confidence: f64,
    /// Explanation for the reader of the file.
    pub reason: String,
}

impl Draft {
    /// Creates a rule for a field.
    pub fn new(field: &'static str) -> Self {
        Self {
            field,
            columns: Vec::new(),
            lines: Vec::new(),
            filled: 0,
            read: 0,
            confidence: 0.0,
            reason: String::new(),
        }
    }

    /// Sets the columns to read; the first with a value is used.
    pub fn from(mut self, columns: &[&str]) -> Self {
        self.columns = columns.iter().map(|&column| column.to_owned()).collect();
        let columns: Vec<Toml> = self.columns.iter().cloned().map(Toml::String).collect();
        match columns.as_slice() {
            [column] => self.lines.push(format!("from = {column}")),
            _ => self.lines.push(format!("from = {}", Toml::Array(columns))),
        }
        self
    }

    /// Adds a key with a string value.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        let value = Toml::String(value.to_owned());
        self.lines.push(format!("{key} = {value}"));
        self
    }

    /// Adds a line unchanged.
    pub fn with_line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Sets the columns that the rule reads through other keys than `from`, such as `template`.
    pub fn reading(mut self, columns: &[&str]) -> Self {
        self.columns = columns.iter().map(|&column| column.to_owned()).collect();
        self
    }

    /// Sets the reason.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Tries the rule on rows. Its confidence becomes the share of the filled rows that it reads, times `name_factor`,
    /// which says how well the column's name was recognised.
    pub fn tried(mut self, rows: &[Row], filled: usize, name_factor: f64) -> Self {
        let values = self.values(rows);
        self.read = values.iter().flatten().count();
        self.filled = filled.max(self.read);
        self.confidence = match self.filled {
            0 => 0.0,
            filled => name_factor * self.read as f64 / filled as f64,
        };
        self
    }

    /// Returns the value read from each row, `None` if it is not plausible; empty if the rule is invalid.
    pub fn values(&self, rows: &[Row]) -> Vec<Option<Value>> {
        let Some(rule) = self.row_rule() else {
            return Vec::new();
        };
        let own = OwnNames::from_columns(&self.columns);
        let value = |row| match rule.find(&NamedRow::new(row, &own), &Value::Null, &[]) {
            RowFinding::Value(value) | RowFinding::ZeroRestored(value) => {
                Some(value).filter(|value| is_plausible(self.field, value))
            }
            _ => None,
        };
        rows.iter().map(value).collect()
    }

    /// Returns the number of rows with a cell that gives a value or cannot be read; 0 if the rule is invalid.
    pub fn answered(&self, rows: &[Row]) -> usize {
        let Some(rule) = self.row_rule() else {
            return 0;
        };
        let own = OwnNames::from_columns(&self.columns);
        let is_answered = |row| {
            let found = rule.find(&NamedRow::new(row, &own), &Value::Null, &[]);
            found != RowFinding::Nothing
        };
        rows.iter().filter(|row| is_answered(*row)).count()
    }

    /// Compiles the rule; `None` if it is invalid.
    fn row_rule(&self) -> Option<RowRule> {
        let file = toml::from_str::<MappingFile>(&self.rule()).ok()?;
        RowRule::new(file.field.first()?).ok()
    }

    /// Returns whether the rule is sure enough to be used.
    pub fn is_sure(&self) -> bool {
        self.confidence >= CONFIDENCE_MIN
    }

    /// Returns the rule as TOML.
    fn rule(&self) -> String {
        let path = Toml::String(self.field.to_owned());
        format!("[[field]]\npath = {path}\n{}\n", self.lines.join("\n"))
    }

    /// Returns the rule with its comments, commented out unless it is sure.
    pub fn to_text(&self, samples: &[String]) -> String {
        let mut text = String::new();
        let columns = match self.columns.as_slice() {
            [] => String::new(),
            [column] => format!(" from column {column},"),
            columns => format!(" from columns {},", columns.join(", ")),
        };
        let percent = (self.confidence * 100.0).floor();
        let counts = match self.filled {
            0 => String::new(),
            filled => format!(" {} of {filled} rows with a value are read;", self.read),
        };
        let head = format!("{}:{columns}{counts} confidence {percent} %", self.field);
        let _ = writeln!(text, "# {}", one_line(&head));
        if !self.reason.is_empty() {
            let _ = writeln!(text, "# {}", one_line(&self.reason));
        }
        if !samples.is_empty() {
            let _ = writeln!(text, "# values: {}", one_line(&samples.join(" | ")));
        }
        if self.is_sure() {
            text.push_str(&self.rule());
        } else {
            text.push_str(
                "# Not sure enough: remove the first # of these lines to use the rule.\n",
            );
            for line in self.rule().lines() {
                let _ = writeln!(text, "#{line}");
            }
        }
        text.push('\n');
        text
    }
}

/// Replaces control characters with spaces, so that the text fits into a comment.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}
