//! The modelled columns: name, and how a certificate's value is written. Dwelling, dates and address are in
//! `dwelling_cells`, consumption and equipment in `energy_cells`.

use super::certificate::Certificate;
use super::number::Number;
use super::{dwelling_cells, energy_cells};

/// Writes one cell, or nothing where the value is missing.
pub type Writer = fn(&Certificate, &mut Vec<u8>);

/// The writer of a column, if the column is modelled.
pub fn writer(column: &str) -> Option<Writer> {
    dwelling_cells::WRITERS
        .iter()
        .chain(&energy_cells::WRITERS)
        .find(|(name, _)| *name == column)
        .map(|(_, writer)| *writer)
}

/// Appends a text that needs no quotes.
pub fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends a number, if there is one.
pub fn number(number: Option<Number>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        out.extend_from_slice(number.as_bytes());
    }
}

/// Appends 0 or 1.
pub fn flag(bit: u64, out: &mut Vec<u8>) {
    out.push(if bit == 0 { b'0' } else { b'1' });
}
