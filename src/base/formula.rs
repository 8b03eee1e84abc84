//! Cells of CSV that spreadsheets run as formulas, and how they are escaped.
//!
//! A spreadsheet that opens a CSV file runs a cell such as `=HYPERLINK(…)`, even if a stranger wrote it, for example in
//! the text of an advert. An apostrophe in front makes the cell a text.

use std::borrow::Cow;

/// The treatment of cells that a spreadsheet would run as formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulas {
    /// They stay as they are.
    #[default]
    Kept,
    /// They get a leading apostrophe.
    Escaped,
}

impl Formulas {
    /// Returns the text of a cell, escaped if it has to be.
    pub fn cell(self, text: &str) -> Cow<'_, str> {
        if self.escapes(text.as_bytes()) {
            Cow::Owned(format!("'{text}"))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Returns whether a cell, in any encoding that contains ASCII, gets an apostrophe.
    pub fn escapes(self, cell: &[u8]) -> bool {
        self == Formulas::Escaped && is_formula(cell)
    }
}

/// Returns whether a spreadsheet would run a cell as a formula. A negative number is not a formula.
fn is_formula(cell: &[u8]) -> bool {
    match cell.first() {
        Some(b'-') => !is_number(&cell[1..]),
        Some(b'=' | b'+' | b'@' | b'\t' | b'\r') => true,
        _ => false,
    }
}

/// Returns whether a text is an unsigned decimal number, such as `12`, `1.5`, `1,5` or `2.1e-7`.
fn is_number(text: &[u8]) -> bool {
    let exponent = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (digits, exponent) = match exponent {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let point = digits.iter().position(|byte| matches!(byte, b'.' | b','));
    let (whole, fraction) = match point {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_exponent = |text: &[u8]| {
        let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+"));
        are_digits(unsigned.unwrap_or(text))
    };
    are_digits(whole) && fraction.is_none_or(are_digits) && exponent.is_none_or(is_exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_get_an_apostrophe_and_negative_numbers_stay() {
        for formula in [
            "=1+1", "+33 4", "+1", "-1+1", "-", "-a", "-1.", "-1e", "-.5", "-1.2.3", "@SUM(A1)",
            "\t=1", "\r=1",
        ] {
            assert_eq!(Formulas::Escaped.cell(formula), format!("'{formula}"));
            assert_eq!(Formulas::Kept.cell(formula), formula);
        }
        for text in [
            "", "a=b", "'=1", " =1", "12", "-12", "-1.5", "-1,5", "-2.1e-7", "-1E+10",
        ] {
            assert_eq!(Formulas::Escaped.cell(text), text);
        }
    }
}
