//! Configures how delimited text is split into cells.

use toise_base::delimiter::detect_delimiter;

use crate::form::SharedForm;

/// Returns a reader of delimited text that begins with `start`, and records its delimiter in `form`. The delimiter is
/// the given one, else the one detected in the header. In a text with vertical bars, quotation marks have no special
/// meaning: the tax office writes such files without quoting, and street names may contain quotation marks.
pub fn builder(start: &[u8], delimiter: Option<u8>, form: &SharedForm) -> csv::ReaderBuilder {
    let delimiter = delimiter.unwrap_or_else(|| detect_delimiter(start));
    form.set_delimiter(delimiter);
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(delimiter).quoting(delimiter != b'|');
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_detected_noted_and_can_be_given() {
        for (text, given, delimiter, cells) in [
            ("a;b\n\"1;2\";3\n", None, ';', ["1;2", "3"]),
            ("a|b\n\"1|3\n", None, '|', ["\"1", "3"]),
            ("a;b,c\n1;2,3\n", Some(b','), ',', ["1;2", "3"]),
        ] {
            let form = SharedForm::default();
            let mut rows = builder(text.as_bytes(), given, &form).from_reader(text.as_bytes());
            let row = rows.records().next().unwrap().unwrap();
            assert_eq!(row.iter().collect::<Vec<_>>(), cells);
            assert_eq!(form.found().delimiter, Some(delimiter));
        }
    }
}
