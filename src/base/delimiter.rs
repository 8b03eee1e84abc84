//! Detection of the delimiter of a delimited text from its header.

/// Delimiters to look for; the first is the default for a header without any.
pub const DELIMITERS: [u8; 4] = *b",;\t|";

/// Returns the delimiter that splits the first line of a text into the most cells; quoted text does not count.
///
/// A line break inside quotes does not end the line. On a tie, the first of [`DELIMITERS`] wins.
pub fn detect_delimiter(text: &[u8]) -> u8 {
    let mut counts = [0usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in text {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'\n' | b'\r' => break,
            byte => {
                if let Some(index) = DELIMITERS.iter().position(|known| known == byte) {
                    counts[index] += 1;
                }
            }
        }
    }
    let mut best = 0;
    for index in 1..DELIMITERS.len() {
        if counts[index] > counts[best] {
            best = index;
        }
    }
    DELIMITERS[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_and_later_lines_do_not_count() {
        assert_eq!(detect_delimiter(b"\"a;b;c\",d\n1;2;3;4"), b',');
        assert_eq!(detect_delimiter(b"a;\"b\n,,,,\";c\n"), b';');
    }

    #[test]
    fn one_column_is_separated_by_commas() {
        assert_eq!(detect_delimiter(b"address\n1;2"), b',');
    }
}
