//! Reads the cell of a house number in a file of addresses.

use crate::source::cell::whole;

/// House number that local bases use for a place without house numbers.
pub(super) const NO_NUMBER: i32 = 99_999;
/// Characters between the two numbers of a range.
const RANGE_MARKS: [char; 4] = ['-', '/', 'à', '–'];

/// The cell of a house number.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HouseCell<'c> {
    /// The number; `None` for a named place.
    pub number: Option<i32>,
    /// The suffix written after the number; empty if there is none.
    pub suffix: &'c str,
    /// Whether the cell holds several numbers; this is the first.
    pub is_range: bool,
}

/// Reads the cell of a house number, as `12`, `12bis` or `12-14`; `None` if it cannot be read.
pub(super) fn house_number(cell: &str) -> Option<HouseCell<'_>> {
    let cell = whole(cell);
    let digits = cell.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = cell.split_at(digits);
    let rest = rest.trim();
    if cell.is_empty() {
        return Some(HouseCell::default());
    }
    let number: i32 = number.parse().ok()?;
    let is_suffix = rest.chars().all(char::is_alphabetic);
    let is_range = rest
        .trim_start_matches(RANGE_MARKS)
        .trim_start()
        .starts_with(|first: char| first.is_ascii_digit())
        && rest.starts_with(RANGE_MARKS);
    if !is_suffix && !is_range {
        return None;
    }
    Some(HouseCell {
        number: Some(number).filter(|number| *number != NO_NUMBER),
        suffix: if is_suffix { rest } else { "" },
        is_range,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_house_number_is_read_with_its_suffix_or_not_at_all() {
        let read = |cell| house_number(cell).map(|it| (it.number, it.suffix, it.is_range));
        assert_eq!(read(""), Some((None, "", false)));
        assert_eq!(read("99999"), Some((None, "", false)));
        assert_eq!(read("00012"), Some((Some(12), "", false)));
        for whole in ["12", "12.0", "12,00", "12,0000000000"] {
            assert_eq!(read(whole), Some((Some(12), "", false)), "{whole}");
        }
        assert_eq!(read("99999,0000000000"), Some((None, "", false)));
        assert_eq!(read("12bis"), Some((Some(12), "bis", false)));
        assert_eq!(read("12 B"), Some((Some(12), "B", false)));
        for range in ["16-18", "16 - 18", "16/18", "16 à 18"] {
            assert_eq!(read(range), Some((Some(16), "", true)), "{range}");
        }
        for unreadable in ["bis", "-1", "12.5", "12,0500", "3000000000", "12 #4"] {
            assert_eq!(read(unreadable), None, "{unreadable}");
        }
    }
}
