//! The tables that commands print, in one style. On a terminal they fit its width: wide cells are wrapped, and a table
//! with too many columns for that is printed row by row.

use std::fmt;
use std::ops::{Deref, DerefMut, RangeBounds};

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table, TableComponent};
use serde::Serialize;

use super::{CommandResult, Common};

/// Characters that a column of a wrapped table has at least, with the space around it.
const COLUMN_CHARS_MIN: usize = 10;

/// A table that fits the terminal it is printed to. Without a terminal it is as wide as its content.
#[derive(Debug)]
pub struct FittedTable(Table);

impl FittedTable {
    /// Aligns a range of columns to the right. Columns exist from the header or the first row on.
    pub fn align_right(&mut self, columns: impl RangeBounds<usize>) {
        for (place, column) in self.column_iter_mut().enumerate() {
            if columns.contains(&place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
}

impl Deref for FittedTable {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.0
    }
}

impl DerefMut for FittedTable {
    fn deref_mut(&mut self) -> &mut Table {
        &mut self.0
    }
}

impl fmt::Display for FittedTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.width() {
            Some(width) => out.write_str(&fitted(&self.0, width)),
            None => self.0.fmt(out),
        }
    }
}

/// Creates an empty table in the style of every command: lines around the header only.
pub fn table() -> FittedTable {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .remove_style(TableComponent::LeftBorderIntersections)
        .remove_style(TableComponent::RightBorderIntersections);
    FittedTable(table)
}

/// Creates a table whose header names these columns, which `|` separates.
pub fn table_of(columns: &str) -> FittedTable {
    let mut table = table();
    table.set_header(columns.split('|'));
    table
}

/// Prints a list: as JSON the answers, and otherwise a table of the columns, or the text `none` if the list is empty.
pub(crate) fn print_list<R: Into<Row>>(
    common: &Common,
    answers: &[impl Serialize],
    none: &str,
    columns: &str,
    rows: impl Iterator<Item = R>,
) -> CommandResult {
    if common.json {
        println!("{}", serde_json::to_string(answers)?);
    } else if answers.is_empty() {
        println!("{none}");
    } else {
        let mut table = table_of(columns);
        table.add_rows(rows);
        println!("{table}");
    }
    Ok(())
}

/// Formats a table for a terminal of `width` characters.
fn fitted(table: &Table, width: u16) -> String {
    let columns = usize::from(width);
    let whole = table.to_string();
    if whole.lines().all(|line| line.chars().count() <= columns) {
        return whole;
    }
    let named = table.header().map_or(0, |header| header.cell_count());
    if named * COLUMN_CHARS_MIN > columns {
        return row_by_row(table);
    }
    let mut wrapped = table.clone();
    wrapped
        .set_width(width)
        .set_content_arrangement(ContentArrangement::Dynamic);
    wrapped.to_string()
}

/// Formats each row as lines of a name and a value, without those that are empty.
fn row_by_row(table: &Table) -> String {
    let header = table.header().map(|row| row.cell_iter());
    let names: Vec<String> = header
        .into_iter()
        .flatten()
        .map(|cell| cell.content())
        .collect();
    let longest = names.iter().map(|name| name.chars().count()).max();
    let longest = longest.unwrap_or_default();
    let rows = table.row_iter().map(|row| {
        let named = names.iter().zip(row.cell_iter());
        let lines = named
            .map(|(name, cell)| (name, cell.content()))
            .filter(|(_, content)| !content.is_empty())
            .map(|(name, content)| format!("{name:longest$}  {content}"));
        lines.collect::<Vec<_>>().join("\n")
    });
    rows.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_columns(columns: usize) -> FittedTable {
        let mut made = table();
        made.set_header((0..columns).map(|column| format!("column {column}")));
        made.add_row((0..columns).map(|column| format!("a value of column {column}, in words")));
        made
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let is_fitting =
            |text: &str, width: usize| text.lines().all(|line| line.chars().count() <= width);
        let narrow = of_columns(2);
        assert_eq!(fitted(&narrow, 100), narrow.to_string());
        let wrapped = fitted(&narrow, 40);
        assert!(is_fitting(&wrapped, 40), "{wrapped}");
        assert!(wrapped.contains("column 1"), "{wrapped}");
        let rows = fitted(&of_columns(10), 80);
        assert!(is_fitting(&rows, 80), "{rows}");
        assert_eq!(rows.lines().count(), 10, "{rows}");
        assert!(rows.starts_with("column 0  a value of column 0"), "{rows}");
    }
}
