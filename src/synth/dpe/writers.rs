//! The modelled columns: name, and the function that writes a diagnostic's value. Dwelling, dates and address are in
//! `dwelling_cells`, consumption and equipment in `energy_cells`.

use super::certificate::Certificate;
use super::number::CertificateNumber;
use super::{dwelling_cells, energy_cells};

/// A function that writes one cell; it writes nothing if the value is missing.
pub type CellWriter = fn(&Certificate, &mut Vec<u8>);

/// A column of numbers with its decimals.
macro_rules! figure {
    ($name:literal, $it:ident => $value:expr, $decimals:literal) => {
        ($name, |$it, out| push_number(out, $value, $decimals))
    };
}
pub(super) use figure;

/// A column of texts that need no quoting.
macro_rules! label {
    ($name:literal, $it:ident => $value:expr) => {
        ($name, |$it, out| text($value, out))
    };
}
pub(super) use label;

/// Returns the writer of a column; `None` if the column is not modelled.
pub fn writer(column: &str) -> Option<CellWriter> {
    dwelling_cells::WRITERS
        .iter()
        .chain(&energy_cells::WRITERS)
        .find(|(name, _)| *name == column)
        .map(|(_, writer)| *writer)
}

/// Appends a text that needs no quoting.
pub fn text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends a number, if there is one.
pub fn number(number: Option<CertificateNumber>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        out.extend_from_slice(number.as_bytes());
    }
}

/// Appends 0 or 1.
pub fn flag(bit: u64, out: &mut Vec<u8>) {
    out.push(if bit == 0 { b'0' } else { b'1' });
}
