//! Reports how a file of rows was interpreted: its form, its columns, the markers for missing values in it, and the
//! values that were left out. All commands that read files report this in the same shape, as JSON and on the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::form::FileForm;
use crate::missing::MissingCounts;

/// Maximum examples per reason.
pub const EXAMPLES_MAX: usize = 3;
/// Maximum different reasons; further ones are counted together.
const REASONS_MAX: usize = 200;
/// Reason under which further ones are counted.
const OTHER_REASONS: &str = "other reasons";
/// Maximum characters of a value in an example.
const VALUE_CHARS_MAX: usize = 80;
/// Maximum columns that the terminal lists.
const COLUMNS_SHOWN: usize = 40;

/// A column and the field that it is read as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnUse {
    /// Name of the column in the file.
    pub column: String,
    /// The field.
    pub field: String,
}

/// A value that was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutExample {
    /// Number of its line; of its row or record in files without lines.
    pub line: u64,
    /// Its column; empty if the reason concerns the whole row.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub column: String,
    /// The value, truncated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// How often values were left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCount {
    /// Number of values.
    pub count: u64,
    /// The first of them, at most [`EXAMPLES_MAX`].
    pub examples: Vec<LeftOutExample>,
}

/// Values that were left out, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeftOutValues(pub BTreeMap<String, LeftOutCount>);

impl LeftOutValues {
    /// Returns whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a value.
    pub fn add(&mut self, reason: &str, line: u64, column: &str, value: &str) {
        let found = self.of(reason);
        found.count += 1;
        if found.examples.len() < EXAMPLES_MAX {
            found.examples.push(LeftOutExample {
                line,
                column: column.to_owned(),
                value: value.chars().take(VALUE_CHARS_MAX).collect(),
            });
        }
    }

    /// Adds the values of a later part of the file.
    pub fn append(&mut self, later: Self) {
        for (reason, more) in later.0 {
            let found = self.of(&reason);
            found.count += more.count;
            let room = EXAMPLES_MAX.saturating_sub(found.examples.len());
            found.examples.extend(more.examples.into_iter().take(room));
        }
    }

    fn of(&mut self, reason: &str) -> &mut LeftOutCount {
        let is_counted = self.0.contains_key(reason) || self.0.len() < REASONS_MAX;
        let reason = if is_counted { reason } else { OTHER_REASONS };
        self.0.entry(reason.to_owned()).or_default()
    }
}

/// How a file was interpreted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileReading {
    /// Its containers, its encoding, its delimiter and its decimal mark.
    pub form: FileForm,
    /// Number of cells by marker for a missing value, such as `na`, in lower case.
    pub missing_texts: BTreeMap<String, u64>,
    /// Columns that are read, in the order of the file, and the field of each.
    pub columns_used: Vec<ColumnUse>,
    /// Columns that are not read.
    pub columns_unused: Vec<String>,
    /// Further remarks about the columns for the user, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Values that were left out, and rows that could not be read, by reason.
    pub left_out: LeftOutValues,
}

impl FileReading {
    /// Counts the markers for missing values in a part of the file.
    pub fn add_missing(&mut self, counts: &MissingCounts) {
        for (text, count) in counts.found() {
            *self.missing_texts.entry(text.to_owned()).or_default() += u64::from(count);
        }
    }

    /// Adds a column that is not read, once.
    pub fn add_unused(&mut self, column: &str) {
        if !column.is_empty() && !self.columns_unused.iter().any(|known| known == column) {
            self.columns_unused.push(column.to_owned());
        }
    }

    fn is_understood_like(&self, other: &Self) -> bool {
        self.form == other.form
            && self.columns_used == other.columns_used
            && self.columns_unused == other.columns_unused
            && self.notes == other.notes
    }
}

/// A file that a command read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadFile {
    /// Name of the file, or address it was downloaded from.
    pub name: String,
    /// Number of rows read.
    pub rows: u64,
    /// How it was interpreted.
    #[serde(flatten)]
    pub reading: FileReading,
}

/// Formats how files were interpreted. Files that were interpreted alike are named together.
pub fn to_text<'f>(files: impl Iterator<Item = &'f ReadFile>) -> String {
    let mut groups: Vec<Vec<&ReadFile>> = Vec::new();
    for file in files {
        let mut known = groups.iter_mut();
        match known.find(|group| group[0].reading.is_understood_like(&file.reading)) {
            Some(group) => group.push(file),
            None => groups.push(vec![file]),
        }
    }
    let mut text = String::new();
    for group in groups {
        write_group(&mut text, &group);
    }
    text
}

/// Writes how files were interpreted that were all interpreted alike.
fn write_group(text: &mut String, group: &[&ReadFile]) {
    let (name, first) = (&group[0].name, &group[0].reading);
    let others = match group.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let _ = writeln!(text, "read {name}{others}: {}", first.form);
    let used = first.columns_used.iter().map(|used| {
        if used.column == used.field {
            used.column.clone()
        } else {
            format!("{} as {}", used.column, used.field)
        }
    });
    write_list(text, "columns used", used);
    write_list(
        text,
        "columns not used",
        first.columns_unused.iter().cloned(),
    );
    for note in &first.notes {
        let _ = writeln!(text, "  {note}");
    }
    let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
    for (met, count) in group.iter().flat_map(|file| &file.reading.missing_texts) {
        *missing.entry(met).or_default() += count;
    }
    let missing = missing.into_iter();
    write_list(
        text,
        "read as missing",
        missing.map(|(met, count)| format!("\"{met}\" {count}")),
    );
    for ReadFile { name, reading, .. } in group {
        for (reason, found) in &reading.left_out.0 {
            let _ = writeln!(text, "  left out: {reason}: {}", found.count);
            for example in &found.examples {
                let LeftOutExample {
                    line,
                    column,
                    value,
                } = example;
                let _ = write!(text, "    {name}, line {line}");
                if !column.is_empty() {
                    let _ = write!(text, ", column \"{column}\"");
                }
                let _ = match value.as_str() {
                    "" => writeln!(text),
                    value => writeln!(text, ": {value}"),
                };
            }
        }
    }
}

/// Writes a list after its title, if it has items.
fn write_list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items: Vec<String> = items.collect();
    let count = items.len();
    if count == 0 {
        return;
    }
    if count > COLUMNS_SHOWN {
        items.truncate(COLUMNS_SHOWN);
        items.push(format!("and {} more", count - COLUMNS_SHOWN));
    }
    let _ = writeln!(text, "  {title}: {}", items.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_understood_alike_are_named_together() {
        let mut first = FileReading {
            columns_used: vec![
                ColumnUse {
                    column: "Prix".into(),
                    field: "price_eur".into(),
                },
                ColumnUse {
                    column: "id".into(),
                    field: "id".into(),
                },
            ],
            missing_texts: BTreeMap::from([("na".into(), 2)]),
            ..FileReading::default()
        };
        first.notes = vec!["the price is taken from Prix".into()];
        first.form.encoding = Some("windows-1252".into());
        first.form.delimiter = Some(';');
        first.form.decimal_mark = Some(',');
        let mut second = first.clone();
        for line in 2..7 {
            second
                .left_out
                .add("can be read in two ways", line, "Prix", "1.200");
        }
        let other = FileReading::default();
        let file = |name: &str, reading| ReadFile {
            name: name.into(),
            rows: 7,
            reading,
        };
        let files = [
            file("a.csv", first),
            file("b.csv", second),
            file("c.parquet", other),
        ];
        let expected = "\
read a.csv and 1 more: windows-1252, cells separated by ;, decimals after ,
  columns used: Prix as price_eur, id
  the price is taken from Prix
  read as missing: \"na\" 4
  left out: can be read in two ways: 5
    b.csv, line 2, column \"Prix\": 1.200
    b.csv, line 3, column \"Prix\": 1.200
    b.csv, line 4, column \"Prix\": 1.200
read c.parquet: by column
";
        assert_eq!(to_text(files.iter()), expected);
    }

    #[test]
    fn reasons_beyond_a_bound_are_counted_together() {
        let mut left_out = LeftOutValues::default();
        for number in 0..2 * REASONS_MAX {
            left_out.add(&format!("reason {number}"), 1, "", "");
        }
        assert_eq!(left_out.0.len(), REASONS_MAX + 1);
        let mut more = left_out.clone();
        more.append(left_out);
        assert_eq!(more.0["reason 0"].count, 2);
        assert_eq!(more.0[OTHER_REASONS].count, 2 * REASONS_MAX as u64);
    }
}
