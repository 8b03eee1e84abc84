//! Skips the rows of other departments before they are grouped and parsed, so that a file of the whole country is
//! read without parsing every row.
//!
//! The remaining rows are collected into blocks of the usual size, because the first block decides which order the file
//! is assumed to have. A row whose commune is unknown is kept, and the conversion reports it.

use super::columns::{DvfColumns, DvfField, commune_code};
use super::place::{department, row_place};
use crate::source::Block;

/// Collects the rows of some departments.
pub struct DepartmentSieve<'d> {
    departments: &'d [String],
    kept: Block,
    skipped: u64,
}

impl<'d> DepartmentSieve<'d> {
    /// Keeps the rows of these departments, or all rows if there are none.
    pub fn new(departments: &'d [String]) -> Self {
        Self {
            departments,
            kept: Block::default(),
            skipped: 0,
        }
    }

    /// Takes a block, and returns one to group once enough rows are kept.
    pub fn push(&mut self, block: Block, columns: &DvfColumns) -> Option<Block> {
        if self.departments.is_empty() {
            return Some(block);
        }
        if self.kept.is_empty() {
            self.kept = Block::new(block.header.clone());
        }
        self.kept.header = block.header.clone();
        for row in 0..block.len() {
            if self.is_wanted(&block, row, columns) {
                self.kept.push_row_of(&block, row);
            } else {
                self.skipped += 1;
            }
        }
        self.kept.is_full().then(|| std::mem::take(&mut self.kept))
    }

    /// Returns the remaining rows, and the number of rows that were skipped.
    pub fn finish(self) -> (Block, u64) {
        (self.kept, self.skipped)
    }

    fn is_wanted(&self, block: &Block, row: usize, columns: &DvfColumns) -> bool {
        let cell = |field| columns.position(field).map_or("", |at| block.cell(row, at));
        let published = commune_code(
            columns.form,
            cell(DvfField::DepartmentCode),
            cell(DvfField::CommuneCode),
        );
        if published.len() != 5 {
            return true;
        }
        let commune = row_place(published, "".into(), "").commune;
        self.departments
            .iter()
            .any(|code| code == department(&commune))
    }
}
