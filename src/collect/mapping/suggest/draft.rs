//! A rule that is tried on the rows before it is written: the text of a `[[field]]`, how many rows it reads, and what
//! is said of it in the file.

use std::fmt::Write as _;

use serde_json::Value;
use toml::Value as Toml;

use super::super::MappingFile;
use super::super::names::NamedRow;
use super::super::row::Row;
use super::super::rule::{RowFinding, RowRule};
use super::plausible::is_plausible;

/// Confidence from which a rule is written to be used; below, it is commented out.
pub const CONFIDENCE_MIN: f64 = 0.8;
/// What a rule is worth whose column has only a part of a known name.
pub const PART_OF_NAME: f64 = 0.6;

/// A rule in the making.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Field of the advert.
    pub field: &'static str,
    /// Columns it reads.
    pub columns: Vec<String>,
    /// Lines of the rule after its path.
    lines: Vec<String>,
    /// Rows that have a value for it.
    pub filled: usize,
    /// Rows whose value it reads, and that is plausible for the field.
    pub read: usize,
    /// From 0 to 1: how far the name is known, and which part of the values is read.
    pub confidence: f64,
    /// Why it is what it is, for the reader of the file.
    pub reason: String,
}

impl Draft {
    /// A rule for a field.
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

    /// The same rule, which reads columns, the first with a value.
    pub fn from(mut self, columns: &[&str]) -> Self {
        self.columns = columns.iter().map(|&column| column.to_owned()).collect();
        let columns: Vec<Toml> = self.columns.iter().cloned().map(Toml::String).collect();
        match columns.as_slice() {
            [column] => self.lines.push(format!("from = {column}")),
            _ => self.lines.push(format!("from = {}", Toml::Array(columns))),
        }
        self
    }

    /// The same rule with another key.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        let value = Toml::String(value.to_owned());
        self.lines.push(format!("{key} = {value}"));
        self
    }

    /// The same rule with a line as it is.
    pub fn with_line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// The same rule, which reads these columns though its lines do not name them in `from`.
    pub fn of(mut self, columns: &[&str]) -> Self {
        self.columns = columns.iter().map(|&column| column.to_owned()).collect();
        self
    }

    /// The same rule with a reason.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Tries the rule on rows: its confidence is the part of the filled rows that it reads, times what its name is worth.
    pub fn tried(mut self, rows: &[Row], filled: usize, worth: f64) -> Self {
        let values = self.values(rows);
        self.read = values.iter().flatten().count();
        self.filled = filled.max(self.read);
        self.confidence = match self.filled {
            0 => 0.0,
            filled => worth * self.read as f64 / filled as f64,
        };
        self
    }

    /// The value of each row, `None` where it reads none that is plausible.
    pub fn values(&self, rows: &[Row]) -> Vec<Option<Value>> {
        let rule = toml::from_str::<MappingFile>(&self.rule())
            .ok()
            .and_then(|file| file.field.first().and_then(|rule| RowRule::new(rule).ok()));
        let Some(rule) = rule else {
            return Vec::new();
        };
        let value = |row| match rule.find(&NamedRow::new(row, &self.columns), &[]) {
            RowFinding::Value(value) => Some(value).filter(|value| is_plausible(self.field, value)),
            _ => None,
        };
        rows.iter().map(value).collect()
    }

    /// Whether it is sure enough to be used.
    pub fn is_sure(&self) -> bool {
        self.confidence >= CONFIDENCE_MIN
    }

    /// The rule as TOML.
    fn rule(&self) -> String {
        let path = Toml::String(self.field.to_owned());
        format!("[[field]]\npath = {path}\n{}\n", self.lines.join("\n"))
    }

    /// The rule with what is said of it, commented out unless it is sure.
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

/// A text without what a comment must not hold.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .collect()
}
