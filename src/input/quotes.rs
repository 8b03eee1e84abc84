//! Finds the quotation mark of a delimited text: `"`, or `'` as databases and some programs write it.

use memchr::memchr;

/// Maximum lines that are examined.
const LINES_MAX: usize = 20;
/// Minimum names of a header that show which mark is used.
const NAMES_MIN: usize = 2;

/// Returns the quotation mark of a text that begins with its header. It is `'` if all names are between two of these,
/// and the rows have others only before and after a cell, or doubled. With vertical bars, no mark has a meaning.
pub(crate) fn quotation_mark(text: &[u8], delimiter: u8) -> u8 {
    let lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
    let lines = lines.map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty()).take(LINES_MAX);
    let is_quoted = |cell: &[u8]| {
        let inner = cell.trim_ascii().strip_prefix(b"'");
        inner.is_some_and(|inner| inner.ends_with(b"'"))
    };
    let has_quoted_names = lines.next().is_some_and(|header| {
        let names = header.split(|byte| *byte == delimiter);
        names.clone().count() >= NAMES_MIN && names.clone().all(is_quoted)
    });
    if delimiter != b'|' && has_quoted_names && lines.all(|line| has_outer_marks(line, delimiter)) {
        b'\''
    } else {
        b'"'
    }
}

/// Returns whether the apostrophes of a line stand before or after a cell, or are doubled.
fn has_outer_marks(line: &[u8], delimiter: u8) -> bool {
    let mut at = 0;
    while let Some(found) = memchr(b'\'', &line[at..]) {
        let place = at + found;
        if line.get(place + 1) == Some(&b'\'') {
            at = place + 2;
            continue;
        }
        let is_first = place == 0 || line[place - 1] == delimiter;
        let is_last = line.get(place + 1).is_none_or(|next| *next == delimiter);
        if !is_first && !is_last {
            return false;
        }
        at = place + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_the_one_around_all_names() {
        for (text, mark) in [
            ("'id';'rue'\r\n1;'12 rue d''Alger; A'\r\n'';'x'\r\n", b'\''),
            ("'id';'rue'\n1;'12 rue d'Alger'\n", b'"'),
            ("'id';rue\n1;'x'\n", b'"'),
            ("\"id\";\"l'adresse\"\n1;\"x\"\n", b'"'),
            ("'id'\n'1'\n", b'"'),
            ("", b'"'),
        ] {
            assert_eq!(quotation_mark(text.as_bytes(), b';'), mark, "{text}");
        }
    }
}
