//! Detects the delimiter of a delimited text from its header and first records.

/// Delimiters to look for; the first is the default for a header without any.
pub const DELIMITERS: [u8; 4] = *b",;\t|";

/// Records that are compared with the header.
const RECORDS_COMPARED: usize = 20;
/// Share of the records that must have as many cells as the header, in tenths.
const AGREEING_TENTHS: usize = 9;

/// Returns the delimiter of a text, which begins with its header.
///
/// Prefers a delimiter that splits the other records into as many cells as the header. Among equals, the one that
/// splits the header into the most cells wins, then any delimiter other than the comma, which also marks decimals.
/// Quoted text does not count, and a line break inside quotes does not end a record.
pub fn detect_delimiter(text: &[u8]) -> u8 {
    let records = counts(text);
    let Some((header, rows)) = records.split_first() else {
        return DELIMITERS[0];
    };
    let rank = |index: usize| {
        let agreeing = rows
            .iter()
            .filter(|row| row[index] == header[index])
            .count();
        let agrees = agreeing * 10 >= rows.len() * AGREEING_TENTHS;
        let is_split = header[index] > 0;
        (is_split, agrees, header[index], is_split && index > 0)
    };
    let mut best = 0;
    for index in 1..DELIMITERS.len() {
        if rank(index) > rank(best) {
            best = index;
        }
    }
    DELIMITERS[best]
}

/// Counts each delimiter in the first records; a record that is cut off does not count, unless it is the header.
fn counts(text: &[u8]) -> Vec<[usize; DELIMITERS.len()]> {
    let mut records = Vec::new();
    let mut counts = [0; DELIMITERS.len()];
    let mut is_quoted = false;
    let mut is_blank = true;
    for byte in text {
        match byte {
            b'\n' | b'\r' if !is_quoted => {
                if !is_blank {
                    records.push(std::mem::take(&mut counts));
                }
                is_blank = true;
                if records.len() > RECORDS_COMPARED {
                    return records;
                }
                continue;
            }
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            byte => {
                if let Some(index) = DELIMITERS.iter().position(|known| known == byte) {
                    counts[index] += 1;
                }
            }
        }
        is_blank = false;
    }
    if records.is_empty() {
        records.push(counts);
    }
    records
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
    fn records_decide_between_the_delimiters_of_a_header() {
        let text = b"ref;prix, en euros, net\n1;210000\n2;199900\n";
        assert_eq!(detect_delimiter(text), b';');
        assert_eq!(detect_delimiter(b"a;b\r\n1,5;2,5\r\n"), b';');
        assert_eq!(detect_delimiter(b"ref\ta,b\n1\t2,5\n"), b'\t');
        assert_eq!(detect_delimiter(b"adresse\n4 rue A; Mende\n"), b',');
    }

    #[test]
    fn one_column_is_separated_by_commas() {
        assert_eq!(detect_delimiter(b"address\n1;2"), b',');
    }
}
