//! Splits delimited text into cells.
//!
//! A [`Splitter`] finds the delimiter and the header of a text, and creates its reader. It skips lines above the header: a
//! title, the names of groups of columns, or `sep=;`, which spreadsheets write. Lines may end in any usual way. A quotation mark that is never closed is
//! an error, because it would swallow all rows after it.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2};
use toise_base::delimiter::{DELIMITERS, detect_delimiter};

use crate::form::SharedForm;
pub use crate::header_gap::HeaderGap;
use crate::header_gap::{ClosedHeader, header_gap};
use crate::quotes::quotation_mark;
use crate::titles::{TITLE_LINES_MAX, has_split_header, looks_like_row, title_bytes};

/// Start of the line by which spreadsheets name the delimiter.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// Note on a header in two lines.
const SPLIT_HEADER: &str = "warning: the names of columns seem to be in two lines, of which only the first is read: \
    write them in one line";

/// Note on a text without a header.
const ROW_AS_NAMES: &str = "warning: the first line is read as the names of columns, but looks like a row: write a line \
    of names above it";
/// Note on cells between apostrophes.
pub const APOSTROPHES: &str = "cells are quoted by apostrophes";
/// Note on a first column that only the rows have.
const ROW_NUMBERS: &str =
    "the first column has no name in the header: it holds the numbers that R gives to rows";

/// How a delimited text is split into cells.
#[derive(Clone, Debug)]
pub struct Splitter {
    delimiter: u8,
    /// The quotation mark; not used with vertical bars.
    quote: u8,
    /// Bytes above the header.
    preamble: usize,
    /// Where the header lacks a delimiter that all rows have.
    gap: Option<HeaderGap>,
    is_flexible: bool,
    trim: csv::Trim,
    buffer_bytes: Option<usize>,
}

impl Splitter {
    /// Creates the splitter of a text that begins with `start`, and records its delimiter and the line of its header in
    /// `form`. The delimiter is the given one if there is one, otherwise the one that the text names, otherwise the one
    /// detected in the header. In a text with vertical bars, quotation marks have no special meaning: the tax office
    /// writes such files without quoting, and street names may contain quotation marks.
    pub fn new(start: &[u8], delimiter: Option<u8>, form: &SharedForm) -> Self {
        let named = separator_line(start);
        let above = named.map_or(0, |(_, end)| end);
        let delimiter = delimiter.or(named.map(|(delimiter, _)| delimiter));
        let (delimiter, title) = header(&start[above..], delimiter);
        let preamble = above + title;
        form.set_delimiter(delimiter);
        if has_split_header(&start[preamble..], delimiter) {
            form.add_note(SPLIT_HEADER);
        }
        if looks_like_row(&start[preamble..], delimiter) {
            form.add_note(ROW_AS_NAMES);
        }
        if title > 0 {
            let lines = memchr_iter(b'\n', &start[..preamble]).count();
            form.set_header_line(lines as u64 + 1);
        }
        let quote = quotation_mark(&start[preamble..], delimiter);
        let has_apostrophes = quote == b'\'';
        if has_apostrophes {
            form.add_note(APOSTROPHES);
        }
        let gap = header_gap(&start[preamble..], delimiter).map(|gap| gap.after(preamble));
        let gap = gap.filter(|_| !has_apostrophes);
        if matches!(gap, Some(HeaderGap::Start(_))) {
            form.add_note(ROW_NUMBERS);
        }
        Self {
            delimiter,
            quote,
            preamble,
            gap,
            is_flexible: false,
            trim: csv::Trim::None,
            buffer_bytes: None,
        }
    }

    /// Returns the delimiter.
    pub fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Returns the number of bytes above the header, or above the line break before it.
    pub fn preamble(&self) -> usize {
        self.preamble
    }

    /// Returns where the header lacks a delimiter that all rows have: their first or last column has no name.
    pub fn header_gap(&self) -> Option<HeaderGap> {
        self.gap
    }

    /// Accepts rows that are wider or narrower than the header.
    #[must_use]
    pub fn flexible(self) -> Self {
        Self {
            is_flexible: true,
            ..self
        }
    }

    /// Removes spaces around cells.
    #[must_use]
    pub fn trimmed(self) -> Self {
        Self {
            trim: csv::Trim::All,
            ..self
        }
    }

    /// Reads this number of bytes at a time.
    #[must_use]
    pub fn buffered(self, bytes: usize) -> Self {
        Self {
            buffer_bytes: Some(bytes),
            ..self
        }
    }

    /// Returns the reader of the text, from its first byte on.
    pub fn reader<R: Read>(&self, source: R) -> csv::Reader<EvenText<R>> {
        let has_quotes = self.delimiter != b'|';
        let mut builder = csv::ReaderBuilder::new();
        builder
            .delimiter(self.delimiter)
            .quoting(has_quotes)
            .quote(self.quote)
            .flexible(self.is_flexible)
            .trim(self.trim);
        if let Some(bytes) = self.buffer_bytes {
            builder.buffer_capacity(bytes);
        }
        builder.from_reader(EvenText {
            inner: ClosedHeader::new(source, self.gap, self.delimiter),
            delimiter: has_quotes.then_some(self.delimiter),
            quote: self.quote,
            preamble: self.preamble,
            place: Place::Start,
            is_after_return: false,
            newlines: 0,
        })
    }
}

/// Returns the text of a cell that somebody marked as text for a spreadsheet: `="01002"` or `'01002`.
pub(crate) fn marked_text(cell: &str) -> Option<&str> {
    let cell = cell.trim();
    let formula = cell
        .strip_prefix("=\"")
        .and_then(|cell| cell.strip_suffix('"'));
    let quoted = cell
        .strip_prefix('\'')
        .filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    formula.or(quoted)
}

/// Returns a cell without the mark by which somebody made it text for a spreadsheet: `01002` for `="01002"` and `'01002`.
pub fn unmarked(cell: &str) -> &str {
    marked_text(cell).unwrap_or(cell)
}

/// Returns what a row of another width than the header is about: the name of its first column without a cell, or its
/// first cell without a column. The other text is empty.
pub fn misfit<'t>(names: &'t [String], row: &'t csv::StringRecord) -> (&'t str, &'t str) {
    let column = names.get(row.len()).map_or("", String::as_str);
    (column, row.get(names.len()).unwrap_or_default())
}

/// Returns the end of a message on a row of another width than the header ([`misfit`]); empty if nothing is known.
pub fn misfit_note(names: &[String], row: &csv::StringRecord) -> String {
    match misfit(names, row) {
        ("", "") => String::new(),
        ("", cell) => format!("; the first cell beyond them is {cell:?}"),
        (column, _) => format!("; the column {column:?} has none"),
    }
}

/// Returns the delimiter that the first line names, and where that line ends.
fn separator_line(start: &[u8]) -> Option<(u8, usize)> {
    let end = start
        .iter()
        .position(|byte| matches!(byte, b'\r' | b'\n'))?;
    let line = start[..end].trim_ascii();
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let line = line.strip_suffix(b"\"").unwrap_or(line);
    let (name, delimiter) = line.split_at_checked(SEPARATOR_LINE.len())?;
    let is_named = name.eq_ignore_ascii_case(SEPARATOR_LINE);
    match delimiter {
        [delimiter] if is_named && DELIMITERS.contains(delimiter) => Some((*delimiter, end)),
        [] if is_named && start.get(end - 1) == Some(&b'\t') => Some((b'\t', end)),
        _ => None,
    }
}

/// Returns the delimiter of a text and the bytes above its header, which are 0 unless its first lines are titles.
fn header(text: &[u8], delimiter: Option<u8>) -> (u8, usize) {
    let delimiter = delimiter.or_else(|| has_names_between_blanks(text).then_some(b' '));
    let detected = delimiter.unwrap_or_else(|| detect_delimiter(text));
    if let Some(title) = title_bytes(text, detected) {
        return (detected, title);
    }
    if delimiter.is_none() && !splits_second_record(text, detected) {
        // The delimiter of a title is none of the rows below it, which may have one of their own.
        for (at, _) in memchr_iter(b'\n', text).zip(0..TITLE_LINES_MAX) {
            let found = detect_delimiter(&text[at + 1..]);
            if let Some(title) = title_bytes(text, found) {
                return (found, title);
            }
        }
    }
    (detected, 0)
}

/// Returns whether the first line has names in quotation marks with a blank between them, as R writes them by default.
fn has_names_between_blanks(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let inner = first
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""));
    let inner = String::from_utf8_lossy(inner.unwrap_or_default());
    let mut names = inner.split("\" \"");
    inner.contains("\" \"") && names.all(|name| !name.contains('"'))
}

fn splits_second_record(text: &[u8], delimiter: u8) -> bool {
    let lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
    let second = lines.filter(|line| !line.trim_ascii().is_empty()).nth(1);
    second.is_none_or(|line| line.contains(&delimiter))
}

/// Where a reader is in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of a cell.
    Start,
    /// In a cell without quotation marks, or after one with them.
    Cell,
    /// Between quotation marks; with the line of the first.
    Quoted(u64),
    /// After a quotation mark that closes the cell, unless another one follows.
    Closing(u64),
}

/// A reader of delimited text whose lines all end alike, without what is above the header. Fails at the end of a text in
/// which a quotation mark is open.
pub struct EvenText<R> {
    inner: ClosedHeader<R>,
    /// The delimiter of a text with quotation marks.
    delimiter: Option<u8>,
    quote: u8,
    /// Bytes above the header that have not been read. Only their line ends are returned, so that lines keep their numbers.
    preamble: usize,
    place: Place,
    /// Whether the last byte was a carriage return, which was returned as a line feed.
    is_after_return: bool,
    newlines: u64,
}

impl<R> EvenText<R> {
    /// Makes line ends even in place; returns the number of bytes that are left.
    fn even(&mut self, bytes: &mut [u8]) -> usize {
        let (mut read, mut written) = self.skip_preamble(bytes);
        while read < bytes.len() {
            if std::mem::take(&mut self.is_after_return) && bytes[read] == b'\n' {
                read += 1;
                continue;
            }
            let rest = &bytes[read..];
            let run = match (self.place, self.delimiter) {
                (Place::Quoted(_), _) => memchr(self.quote, rest),
                (Place::Closing(_), _) => Some(0),
                (_, Some(_)) => memchr2(self.quote, b'\r', rest),
                (_, None) => memchr(b'\r', rest),
            };
            let run = run.unwrap_or(rest.len());
            self.newlines += memchr_iter(b'\n', &rest[..run]).count() as u64;
            if let (Place::Start | Place::Cell, Some(last)) = (self.place, rest[..run].last()) {
                self.place = self.place_after(*last);
            }
            bytes.copy_within(read..read + run, written);
            (read, written) = (read + run, written + run);
            if read < bytes.len() {
                bytes[written] = self.take(bytes[read]);
                (read, written) = (read + 1, written + 1);
            }
        }
        written
    }

    /// Takes a quotation mark, a carriage return, or the byte after a quotation mark. Returns what stands for it.
    fn take(&mut self, byte: u8) -> u8 {
        match (self.place, byte) {
            (Place::Quoted(line), mark) if mark == self.quote => self.place = Place::Closing(line),
            (Place::Closing(line), mark) if mark == self.quote => self.place = Place::Quoted(line),
            (Place::Start, mark) if mark == self.quote && self.delimiter.is_some() => {
                self.place = Place::Quoted(self.newlines + 1);
            }
            (_, b'\r') => {
                self.is_after_return = true;
                self.newlines += 1;
                self.place = Place::Start;
                return b'\n';
            }
            (_, byte) => {
                self.newlines += u64::from(byte == b'\n');
                self.place = self.place_after(byte);
            }
        }
        byte
    }

    fn place_after(&self, byte: u8) -> Place {
        if byte == b'\n' || Some(byte) == self.delimiter {
            Place::Start
        } else {
            Place::Cell
        }
    }

    /// Skips what is above the header except for line feeds. Returns the numbers of bytes read and written.
    fn skip_preamble(&mut self, bytes: &mut [u8]) -> (usize, usize) {
        let above = self.preamble.min(bytes.len());
        self.preamble -= above;
        let lines = memchr_iter(b'\n', &bytes[..above]).count();
        bytes[..lines].fill(b'\n');
        self.newlines += lines as u64;
        (above, lines)
    }
}

impl<R: Read> Read for EvenText<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.inner.read(out)?;
            if let (0, Place::Quoted(line)) = (count, self.place)
                && !out.is_empty()
            {
                let reason = format!("line {line}: a quotation mark is opened and never closed");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            let left = self.even(&mut out[..count]);
            if left > 0 || count == 0 {
                return Ok(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Rows = Result<Vec<(u64, Vec<String>)>, String>;

    /// Returns the rows of a text below its header, with their lines, read a few bytes at a time.
    fn rows(text: &[u8], given: Option<u8>, bytes: usize) -> (Rows, SharedForm) {
        let form = SharedForm::default();
        let splitter = Splitter::new(text, given, &form).flexible().buffered(bytes);
        let mut reader = splitter.reader(text);
        let rows = reader.records().map(|row| {
            let row = row.map_err(|error| error.to_string())?;
            let line = row.position().map_or(0, csv::Position::line);
            Ok((line, row.iter().map(str::to_owned).collect()))
        });
        (rows.collect(), form)
    }

    #[test]
    fn the_delimiter_is_detected_noted_and_can_be_given() {
        for (text, given, delimiter, cells) in [
            ("a;b\n\"1;2\";3\n", None, ';', ["1;2", "3"]),
            ("a|b\n\"1|3\n", None, '|', ["\"1", "3"]),
            ("a;b,c\n1;2,3\n", Some(b','), ',', ["1;2", "3"]),
            ("sep=;\r\na;b\r\n1,5;3\r\n", None, ';', ["1,5", "3"]),
            ("\"SEP=,\"\na,b\n1;2,3\n", None, ',', ["1;2", "3"]),
            ("sep=\t\na\tb\n1\t3\n", None, '\t', ["1", "3"]),
        ] {
            let (rows, form) = rows(text.as_bytes(), given, 64);
            assert_eq!(rows.unwrap()[0].1, cells, "{text}");
            assert_eq!(form.found().delimiter, Some(delimiter));
        }
    }

    #[test]
    fn a_table_of_r_is_separated_by_blanks() {
        let text =
            b"\"rue\" \"prix\"\n\"1\" \"12 avenue Foch\" 210000\n\"2\" \"3 rue Basse\" 245000\n";
        let (found, form) = rows(text, None, 64);
        assert_eq!(found.unwrap()[0].1, ["1", "12 avenue Foch", "210000"]);
        assert_eq!(form.found().delimiter, Some(' '));
        assert_eq!(form.found().notes, [ROW_NUMBERS]);
        for text in ["\"a b\";\"c d\"\n1;2\n", "\"a b\"\n1\n", "a b\n1 2\n"] {
            assert!(!has_names_between_blanks(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn cells_may_be_quoted_by_apostrophes() {
        for bytes in [1, 3, 64] {
            let text = b"'rue';'prix'\r\n'12 rue d''Alger; A';210000\r\n'x\ny';2\r\n";
            let (found, form) = rows(text, None, bytes);
            let cells: Vec<_> = found.unwrap().into_iter().map(|(_, cells)| cells).collect();
            assert_eq!(cells, [["12 rue d'Alger; A", "210000"], ["x\ny", "2"]]);
            assert_eq!(form.found().notes, [APOSTROPHES]);
        }
    }

    #[test]
    fn a_quotation_mark_that_is_never_closed_is_an_error_with_its_line() {
        for bytes in [1, 3, 64] {
            let text = b"a;b\r\n\"x \"\"y\"\"\";2\r\n3;\"villa\r\n5;6\r\n";
            let found = rows(text, None, bytes).0.unwrap_err();
            assert!(found.contains("line 3: a quotation mark"), "{found}");
            // In the middle of a cell, it is an ordinary character.
            let found = rows(b"a;b\n1;12\" tube\n3;4\n", None, bytes).0.unwrap();
            assert_eq!(found.len(), 2);
        }
    }

    #[test]
    fn lines_are_counted_alike_whatever_ends_them() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["a;b", "1;2", "\"x\ny\";4", "5;6", ""].join(end);
            for bytes in [1, 2, 5, 64] {
                let found = rows(text.as_bytes(), None, bytes).0.unwrap();
                let lines: Vec<u64> = found.iter().map(|row| row.0).collect();
                assert_eq!(lines, [2, 3, 5], "{end:?}");
                assert_eq!(found[1].1, ["x\ny", "4"]);
            }
        }
    }

    #[test]
    fn a_row_of_another_width_names_its_column_or_cell() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let row = |cells: &[&str]| csv::StringRecord::from(cells.to_vec());
        let note = |cells: &[&str]| misfit_note(&names, &row(cells));
        assert_eq!(note(&["1"]), "; the column \"b\" has none");
        assert_eq!(
            note(&["1", "2", "3", "rue", "5"]),
            "; the first cell beyond them is \"rue\""
        );
        assert_eq!(note(&["1", "2", "3", ""]), "");
        assert_eq!(misfit(&names, &row(&["1", "2", "3", "x"])), ("", "x"));
    }

    #[test]
    fn titles_above_the_header_are_skipped_and_noted() {
        for text in [
            "Export du 5 mars\n\nid;type;surface;prix\n1;flat;65;210000\n",
            "Portefeuille;;;\nAu 5 mars;2026;;\nid;type;surface;prix\n1;flat;65;210000\n",
            "Export du 5 mars, siège\r\n\r\nid;type;surface;prix\r\n1;flat;65;210000\r\n",
        ] {
            let (rows, form) = rows(text.as_bytes(), None, 64);
            let rows = rows.unwrap();
            assert_eq!(
                rows,
                [(4, ["1", "flat", "65", "210000"].map(str::to_owned).to_vec())]
            );
            assert_eq!(form.found().header_line, Some(3));
        }
        let pages = "Page\n\n".repeat(6);
        let (names, row) = ("a;b;c;d;e;f;g;h;i;j;k;l", "1;2;3;4;5;6;7;8;9;10;11;12");
        for text in [
            format!("{pages}Liste 41\n\ndep;commune;taux;base\n01;Bourg;12;300\n"),
            format!("{pages}DGFiP;;;Impôts;;;Liste;;;;;\nÉtat;;;;2024;;;;;;;\n{names}\n{row}\n"),
            format!("{pages}DGFiP;;;41;;;Liste;;;;;\n\n{names}\n{row}\n"),
            format!("{pages}LISTE 41; ;10;BONDY;;;;;;;;\n;;;;;;;;;;;\n{names}\n{row}\n"),
        ] {
            let (rows, form) = rows(text.as_bytes(), None, 64);
            assert_eq!(rows.unwrap().len(), 1, "{text}");
            assert_eq!(form.found().header_line, Some(15), "{text}");
        }
        for text in [
            "id;prix\n1;2\n",
            "note\nid,type,surface,prix\n",
            "a;b\n1;2;3;4;5\n6;7;8;9;10\n",
            "a;b;c;d;e;f\n1;2;;;;\nA;B;C;D;E;\n3;4;5;6;7;8\n",
            "nom;rue;ville;type;;;;;;;;;\nA;4;Mende;flat;;;;;;;;;\nB;C;Mende;flat;;;;;;;;;\nD;5;Mende;flat;;;;;;;;;\n",
            "adresse\nRue A, Mende, Lozère, France\nRue B, Mende, Lozère, France\n",
            "adresse\n4 rue A, Mende, Lozère, France, Europe\n5 rue B, Mende, Lozère, France, Europe\n",
        ] {
            let form = SharedForm::default();
            assert_eq!(
                Splitter::new(text.as_bytes(), None, &form).preamble,
                0,
                "{text}"
            );
        }
    }

    #[test]
    fn names_of_columns_in_two_lines_are_noted() {
        let notes = |text: &str| rows(text.as_bytes(), None, 64).1.found().notes;
        for text in [
            "Réf;Type;Prix;;DPE;\n;;vente;charges;classe;score\nA1;Maison;210000;90;C;180\n",
            "Réf;Type;Prix;\r;;vente;charges\rA1;Maison;210000;90\r",
        ] {
            assert_eq!(notes(text), [SPLIT_HEADER], "{text}");
        }
        for text in [
            "Réf;Type;Prix;Charges\nA1;Maison;;\n",
            ";nom;ville;type\na;Durand;;Maison\n",
            "Réf;Type;Prix;\nA1;Maison;210000;à voir\n",
            "Bien;;Prix;;DPE;\nid;type;prix;charges;dpe;ges\nA1;flat;210000;90;C;D\n",
        ] {
            assert!(notes(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_row_in_the_place_of_the_names_is_noted() {
        let notes = |text: &str| rows(text.as_bytes(), None, 64).1.found().notes;
        for text in [
            "A1;vente;84220;2950000.00\nA2;location;84870;950,5\nA3;vente;84220;99000.00\n",
            "12 rue A;48000;Mende\n13 rue A;48000;Mende\n",
        ] {
            assert_eq!(notes(text), [ROW_AS_NAMES], "{text}");
        }
        for text in [
            "id;ville;2019.0;2020\n1;Mende;5;6\n",
            "ville;75001;75002\nMende;5;6\n",
            "ville;ref 84220\nville;84220\n",
        ] {
            assert!(notes(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn groups_above_the_names_of_columns_are_skipped_and_noted() {
        for text in [
            "Bien;;;Prix;;\nid;type;surface;prix;charges;taxe\n1;flat;65;210000;90;800\n",
            "Bien;;Prix;;DPE;\nid;type;prix;charges;dpe;ges\nA1;flat;210000;90;C;D\n",
            "Bien,,Prix,,DPE\nid,type,prix,charges,dpe,ges\nA1,flat,210000,90,C,D\n",
            "Bien;;Prix;;DPE\nid;type;prix;charges;dpe;ges\nA1;flat;sur demande;;C;D\n",
            "Bien;;Prix;;DPE;;\nid;type;prix;prix;dpe;ges;\nA1;flat;210000;90;C;D;\n",
        ] {
            let (rows, form) = rows(text.as_bytes(), None, 64);
            let rows = rows.unwrap();
            assert_eq!((rows.len(), rows[0].0), (1, 3), "{text}");
            assert!(rows[0].1.len() >= 6, "{text}");
            assert_eq!(form.found().header_line, Some(2), "{text}");
        }
        let below_title =
            "Export\nBien;;Prix;;DPE;\nid;type;prix;charges;dpe;ges\nA;b;210000;90;C;D\n";
        let (_, form) = rows(below_title.as_bytes(), None, 64);
        assert_eq!(form.found().header_line, Some(3));
        for text in [
            "ref;type;ville;;\nA12;flat;Mende;sold;x\nA13;house;Mende;12;y\n",
            "ref;type;ville;\nA12;flat;Mende;sold\nA13;house;Mende;12\n",
            ";ref;type;prix\n0;A;flat;100\n1;B;flat;200\n",
        ] {
            let (_, form) = rows(text.as_bytes(), None, 64);
            assert_eq!(form.found().header_line, None, "{text}");
        }
    }

    proptest! {
        /// The csv crate reads the same cells from the text as it is.
        #[test]
        fn cells_stay_as_they_are(text in "[ab;\"\n]{0,60}", bytes in 1usize..9) {
            let text = format!("h;i\n{text}");
            let mut plain = csv::ReaderBuilder::new();
            let plain = plain.delimiter(b';').flexible(true).from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> = plain
                .into_records()
                .map(|row| row.unwrap().iter().map(str::to_owned).collect())
                .collect();
            if let Ok(found) = rows(text.as_bytes(), Some(b';'), bytes).0 {
                let found: Vec<Vec<String>> = found.into_iter().map(|row| row.1).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
