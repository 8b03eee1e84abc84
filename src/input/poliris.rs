//! Converts the feed format of French agencies (Poliris, the portals' `Annonces.csv`) to CSV with a header.
//!
//! A line is an advert: up to 334 cells in quotation marks, separated by `!#`, whose order alone says what they are.
//! Later versions of the format only append cells. Some programs write no quotation marks, end the line with a
//! separator, or break lines in descriptions. The columns with a meaning for adverts get names here; the others, such
//! as the owner's address and the agent's private notes, are left out. `<BR>` stands for a line break. At most two
//! adverts are held. A feed that ends in the middle of an advert is refused, because a feed holds all adverts of its
//! agency: those that are missing would go offline.
//!
//! Source of the ranks: SeLoger, « Spécifications techniques d'exportation », version 4.09 of 31 May 2021.

use std::io::{self, BufRead, Read};

use crate::form::SharedForm;

/// Separator of cells.
const SEPARATOR: &str = "!#";
/// Separators before the description, which is cell 21. Every advert has further cells after it.
const SEPARATORS_BEFORE_TEXT: usize = 20;
/// Cells of an advert in the version of the format that is known here.
const CELLS: usize = 334;
/// Maximum cells of an advert. More are several adverts whose ends were not recognised.
const CELLS_MAX: usize = 400;
/// Maximum bytes of an advert: the longest text has 4,000 letters.
const ADVERT_BYTES_MAX: usize = 1 << 20;

/// Rank of a cell, from 1, and the name of its column.
#[rustfmt::skip]
const COLUMNS: [(usize, &str); 94] = [
    (1, "identifiant_agence"), (2, "reference"), (3, "type_annonce"), (4, "type_bien"), (5, "code_postal"),
    (6, "ville"), (7, "pays"), (8, "adresse"), (9, "quartier"), (11, "prix"), (13, "loyer_cc"), (15, "honoraires"),
    (16, "surface"), (17, "surface_terrain"), (18, "nb_pieces"), (19, "nb_chambres"), (20, "libelle"),
    (21, "descriptif"), (22, "date_disponibilite"), (23, "charges"), (24, "etage"), (25, "nb_etages"),
    (26, "meuble"), (27, "annee_construction"), (29, "nb_salles_de_bain"), (30, "nb_salles_d_eau"), (31, "nb_wc"),
    (39, "nb_balcons"), (40, "surface_balcon"), (41, "ascenseur"), (42, "cave"), (43, "nb_parkings"),
    (44, "nb_boxes"), (45, "digicode"), (46, "interphone"), (47, "gardien"), (48, "terrasse"), (61, "alarme"),
    (65, "piscine"), (68, "cheminee"), (83, "mandat_exclusif"), (85, "photo_1"), (86, "photo_2"), (87, "photo_3"),
    (88, "photo_4"), (89, "photo_5"), (90, "photo_6"), (91, "photo_7"), (92, "photo_8"), (93, "photo_9"),
    (104, "url_visite_virtuelle"), (106, "contact"), (108, "code_postal_reel"), (109, "ville_reelle"),
    (112, "numero_mandat"), (161, "depot_de_garantie"), (164, "photo_10"), (165, "photo_11"), (166, "photo_12"),
    (167, "photo_13"), (168, "photo_14"), (169, "photo_15"), (170, "photo_16"), (171, "photo_17"),
    (172, "photo_18"), (173, "photo_19"), (174, "photo_20"), (175, "identifiant_technique"),
    (176, "consommation_energie"), (177, "classe_energie"), (178, "emissions_ges"), (179, "classe_ges"),
    (181, "sous_type"), (185, "prix_bouquet"), (186, "rente_mensuelle"), (201, "prix_masque"),
    (258, "en_copropriete"), (259, "nombre_lots"), (260, "charges_annuelles"), (264, "photo_21"), (265, "photo_22"),
    (266, "photo_23"), (267, "photo_24"), (268, "photo_25"), (269, "photo_26"), (270, "photo_27"),
    (271, "photo_28"), (272, "photo_29"), (273, "photo_30"), (298, "latitude"), (299, "longitude"),
    (303, "prix_hors_honoraires"), (324, "date_dpe"), (329, "surface_terrasse"),
];

/// Returns whether a text begins like a feed of adverts: its first line has as many separators as an advert.
pub(crate) fn is_feed(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let start = start.trim_ascii_start();
    let is_markup = start.first().is_none_or(|first| b"<{[".contains(first));
    let line = start.split(|byte| matches!(byte, b'\n' | b'\r')).next();
    !is_markup && line.is_some_and(|line| separators_in(line) >= SEPARATORS_BEFORE_TEXT)
}

fn separators_in(line: &[u8]) -> usize {
    let pairs = line.windows(SEPARATOR.len());
    pairs.filter(|pair| *pair == SEPARATOR.as_bytes()).count()
}

/// Some lines of a feed, without the end of the last.
struct FeedText {
    text: String,
    /// Number of the first line, from 1.
    line: u64,
    separators: usize,
}

impl FeedText {
    /// Adds a further line.
    ///
    /// # Errors
    /// The advert gets longer than any.
    fn add(&mut self, next: &Self) -> io::Result<()> {
        self.text.push('\n');
        self.text.push_str(&next.text);
        self.separators += next.separators;
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        let line = self.line;
        if self.text.len() > ADVERT_BYTES_MAX {
            return Err(refused(format!(
                "line {line}: an advert is longer than {ADVERT_BYTES_MAX} bytes"
            )));
        }
        if self.separators >= CELLS_MAX {
            return Err(refused(format!(
                "line {line}: an advert has more than {CELLS_MAX} cells, and the format has {CELLS}"
            )));
        }
        Ok(())
    }

    /// Returns whether an advert may end here: it has all cells that every advert has, and its last cell is closed.
    fn is_complete(&self) -> bool {
        let last = self.text.rsplit(SEPARATOR).next().unwrap_or_default();
        self.separators > SEPARATORS_BEFORE_TEXT && is_closed(last.trim())
    }

    /// Returns whether it is a whole advert of the agency of another, which is then complete regardless of its end.
    fn is_of_agency_of(&self, other: &Self) -> bool {
        let agency = self.text.split_inclusive(SEPARATOR).next();
        self.separators > SEPARATORS_BEFORE_TEXT
            && agency.is_some_and(|agency| other.text.starts_with(agency))
    }

    /// Returns whether it begins like an advert. In a feed without quotation marks, the rest of a description looks
    /// like one too, except that its third cell, the charges, is not a word.
    fn begins_advert(&self, is_quoted: bool) -> bool {
        let mut cells = self.text.split(SEPARATOR).map(str::trim);
        let first = cells.next().unwrap_or_default();
        if self.separators == 0 {
            return false;
        }
        if is_quoted {
            let inner = first
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            return inner.is_some_and(|inner| !inner.contains('"'));
        }
        let kind = cells.nth(1).unwrap_or_default();
        self.separators >= SEPARATORS_BEFORE_TEXT
            && !first.is_empty()
            && !first.contains(|character: char| character == '"' || character.is_whitespace())
            && kind.starts_with(char::is_alphabetic)
    }
}

/// Returns whether a cell is empty, in quotation marks, or without any.
fn is_closed(cell: &str) -> bool {
    !cell.contains('"') || (cell.len() > 1 && cell.starts_with('"') && cell.ends_with('"'))
}

fn refused(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The lines of a text, which end with LF, CRLF or CR.
struct FeedLines<R> {
    source: R,
    number: u64,
    /// Whether the line that was read last has an end.
    is_ended: bool,
}

impl<R: BufRead> FeedLines<R> {
    /// Returns the next line. Holds at most one line of [`ADVERT_BYTES_MAX`] and a buffer of the source.
    fn next_line(&mut self) -> io::Result<Option<FeedText>> {
        self.number += 1;
        let mut bytes = Vec::new();
        let mut is_ended = false;
        while !is_ended && bytes.len() <= ADVERT_BYTES_MAX {
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let length = end.unwrap_or(buffer.len());
            bytes.extend_from_slice(&buffer[..length]);
            let is_return = buffer.get(length) == Some(&b'\r');
            is_ended = end.is_some();
            self.source.consume(length + usize::from(is_ended));
            if is_return && self.source.fill_buf()?.first() == Some(&b'\n') {
                self.source.consume(1);
            }
        }
        // Programs for DOS end a file with the byte 1A.
        while bytes.len() <= ADVERT_BYTES_MAX && bytes.last().is_some_and(u8::is_ascii_control) {
            bytes.pop();
        }
        if bytes.is_empty() && !is_ended {
            return Ok(None);
        }
        self.is_ended = is_ended;
        let line = FeedText {
            separators: separators_in(&bytes),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            line: self.number,
        };
        line.check()?;
        Ok(Some(line))
    }
}

/// A reader of the feed as CSV, separated by commas. The text must be UTF-8.
pub(crate) struct FeedReader<R> {
    lines: FeedLines<R>,
    /// The line after the advert that was read last.
    next: Option<FeedText>,
    is_quoted: bool,
    /// The fewest separators of an advert so far.
    separators_min: usize,
    csv: Vec<u8>,
    returned: usize,
    is_begun: bool,
    form: SharedForm,
}

impl<R: BufRead> FeedReader<R> {
    /// Reads a feed, and notes in `form` the lines at which its adverts begin.
    pub(crate) fn new(source: R, form: SharedForm) -> Self {
        Self {
            lines: FeedLines {
                source,
                number: 0,
                is_ended: false,
            },
            next: None,
            is_quoted: false,
            separators_min: 0,
            csv: Vec::new(),
            returned: 0,
            is_begun: false,
            form,
        }
    }

    /// Returns the header of the CSV, after reading the first line that is not empty.
    fn begin(&mut self) -> io::Result<Vec<String>> {
        self.is_begun = true;
        loop {
            self.next = self.lines.next_line()?;
            let is_blank = |line: &FeedText| line.text.trim().is_empty();
            if !self.next.as_ref().is_some_and(is_blank) {
                break;
            }
        }
        let first = self.next.as_ref().map_or("", |line| line.text.trim_start());
        self.is_quoted = first.starts_with('"');
        Ok(COLUMNS.iter().map(|(_, name)| (*name).to_owned()).collect())
    }

    /// Reads the next advert. A text with a line break spans several lines. An advert ends if the next line begins like
    /// an advert, and the advert is complete or the next line is of the same agency.
    ///
    /// # Errors
    /// The advert is too long, or the last one and cut off.
    fn next_advert(&mut self) -> io::Result<Option<FeedText>> {
        let Some(mut advert) = self.next.take() else {
            return Ok(None);
        };
        while let Some(line) = self.lines.next_line()? {
            if line.begins_advert(self.is_quoted)
                && (advert.is_complete() || line.is_of_agency_of(&advert))
            {
                self.next = Some(line);
                break;
            }
            advert.add(&line)?;
        }
        if self.next.is_none() {
            self.check_last(&advert)?;
        }
        self.separators_min = match self.separators_min {
            0 => advert.separators,
            fewest => fewest.min(advert.separators),
        };
        Ok(Some(advert))
    }

    /// Checks that the last advert is whole. If it is complete and its line has an end, it may have fewer cells than the
    /// others: a feed may be joined from those of several programs.
    fn check_last(&self, advert: &FeedText) -> io::Result<()> {
        let line = advert.line;
        let last = advert.text.rsplit(SEPARATOR).next().unwrap_or_default();
        if self.is_quoted && !is_closed(last.trim()) {
            return Err(refused(format!(
                "line {line}: the file ends early, in a cell of its last advert; it looks cut off"
            )));
        }
        let (cells, fewest) = (advert.separators + 1, self.separators_min + 1);
        let is_whole = self.lines.is_ended && advert.is_complete();
        if cells < fewest && !is_whole {
            return Err(refused(format!(
                "line {line}: the file ends early: its last advert has {cells} cells, and every other at least {fewest}; it \
                 looks cut off"
            )));
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        self.csv.clear();
        self.returned = 0;
        let row = if !self.is_begun {
            self.begin()?
        } else if let Some(advert) = self.next_advert()? {
            self.form.add_source_line(advert.line);
            let cells: Vec<&str> = advert.text.trim().split(SEPARATOR).collect();
            let cell = |rank: usize| {
                cells
                    .get(rank - 1)
                    .map_or_else(String::new, |cell| plain(cell))
            };
            COLUMNS.iter().map(|(rank, _)| cell(*rank)).collect()
        } else {
            return Ok(());
        };
        let mut writer = csv::Writer::from_writer(&mut self.csv);
        writer.write_record(&row).map_err(io::Error::other)?;
        writer.flush()
    }
}

/// Returns a cell without its quotation marks, with line breaks for `<BR>`.
fn plain(cell: &str) -> String {
    let cell = cell.trim();
    let cell = cell.strip_prefix('"').unwrap_or(cell);
    let cell = cell.strip_suffix('"').unwrap_or(cell).trim();
    let mut text = cell.to_owned();
    for mark in ["<BR>", "<br>", "<br/>", "<br />", "<BR/>", "<BR />"] {
        text = text.replace(mark, "\n");
    }
    text
}

impl<R: BufRead> Read for FeedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.returned == self.csv.len() {
            self.fill()?;
        }
        let rest = &self.csv[self.returned..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.returned += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[(usize, &str)], width: usize) -> String {
        let cell = |rank: usize| {
            let found = cells.iter().find(|(known, _)| *known == rank);
            format!("\"{}\"", found.map_or("", |(_, text)| *text))
        };
        (1..=width).map(cell).collect::<Vec<_>>().join(SEPARATOR)
    }

    fn reader(feed: &str) -> FeedReader<&[u8]> {
        FeedReader::new(feed.as_bytes(), SharedForm::default())
    }

    /// Reads a feed and returns the cells of a column.
    fn column(feed: &str, name: &str) -> Vec<String> {
        assert!(is_feed(feed.as_bytes()), "{feed}");
        let mut rows = csv::Reader::from_reader(reader(feed));
        let header = rows.headers().unwrap();
        let at = header.iter().position(|column| column == name).unwrap();
        rows.records()
            .map(|row| row.unwrap()[at].to_owned())
            .collect()
    }

    /// The line of an advert: its reference, and a description.
    fn advert(reference: &str, text: &str) -> String {
        let cells = [
            (1, "ag"),
            (2, reference),
            (3, "Vente"),
            (21, text),
            (22, "01/02/2026"),
        ];
        line(&cells, 180)
    }

    #[test]
    fn a_feed_becomes_csv_with_a_header() {
        let first = line(
            &[
                (1, "ag"),
                (2, "VE950"),
                (11, "250000"),
                (21, "Vue mer,<BR>'calme'"),
                (264, "https://photos.example/21.jpg"),
                (299, "5.93"),
                (328, "2021"),
            ],
            334,
        );
        // An older version of the format, with a line break in a text and spaces around the separator.
        let second = line(&[(2, "VE951"), (21, "Rez de\njardin")], 180).replace(SEPARATOR, " !# ");
        let feed = format!("{first}\r\n{second}\r\n\r\n");
        assert!(is_feed(feed.as_bytes()));
        let mut rows = csv::Reader::from_reader(reader(&feed));
        let header = rows.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.unwrap()).collect();
        let cell = |row: usize, name: &str| {
            let at = header.iter().position(|column| column == name).unwrap();
            rows[row][at].to_owned()
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(cell(0, "reference"), "VE950");
        assert_eq!(cell(0, "prix"), "250000");
        assert_eq!(cell(0, "descriptif"), "Vue mer,\n'calme'");
        assert_eq!(cell(0, "longitude"), "5.93");
        assert_eq!(cell(0, "photo_21"), "https://photos.example/21.jpg");
        assert_eq!(
            (cell(1, "reference"), cell(1, "descriptif")),
            ("VE951".into(), "Rez de\njardin".into())
        );
        assert_eq!(cell(1, "latitude"), "");
    }

    #[test]
    fn lines_that_end_with_a_separator_are_adverts() {
        let feed = format!("{}!#\r\n{}!#\r\n\x1a", advert("A", "Vue"), advert("B", ""));
        assert_eq!(column(&feed, "reference"), ["A", "B"]);
    }

    #[test]
    fn a_line_of_a_description_may_end_with_a_quotation_mark() {
        let first = advert("A", "Dit \"le grand\"\nsuite\n\n\"ou\" fin");
        let feed = format!("{first}\n{}", advert("B", "calme"));
        assert_eq!(column(&feed, "reference"), ["A", "B"]);
        assert_eq!(
            column(&feed, "descriptif")[0],
            "Dit \"le grand\"\nsuite\n\n\"ou\" fin"
        );
    }

    #[test]
    fn a_feed_without_quotation_marks_is_read() {
        let first = advert("A", "Rez de\njardin").replace('"', "");
        let second = advert("B", "calme").replace('"', "");
        let feed = format!("{first}\n{second}\n");
        assert_eq!(column(&feed, "reference"), ["A", "B"]);
        assert_eq!(column(&feed, "descriptif"), ["Rez de\njardin", "calme"]);
        let feed = format!("{second}!#\r{second}!#\r");
        assert_eq!(column(&feed, "descriptif"), ["calme", "calme"]);
    }

    #[test]
    fn an_advert_that_is_cut_off_does_not_take_the_next_along() {
        let cut = advert("A", "");
        let feed = format!("{}\n{}\n", &cut[..cut.len() - 1], advert("B", ""));
        assert_eq!(column(&feed, "reference"), ["A", "B"]);
    }

    #[test]
    fn a_feed_that_ends_in_an_advert_is_refused() {
        let whole = format!("{}\n{}\n", advert("A", "Vue"), advert("B", "calme"));
        let last = advert("C", "près\nde tout");
        let read = |feed: &str| reader(feed).read_to_end(&mut Vec::new());
        assert!(read(&format!("{whole}{last}")).is_ok());
        let (in_text, in_mark) = (last.find("tout").unwrap(), last.len() - 1);
        let before_cell = last.len() - "!#\"\"".len();
        for end in [in_text, before_cell, in_mark] {
            let cut = format!("{whole}{}", &last[..end]);
            for feed in [cut.clone(), cut + "\n"] {
                // The end of the line shows that a shorter advert is whole.
                if end == before_cell && feed.ends_with('\n') {
                    assert!(read(&feed).is_ok());
                    continue;
                }
                let error = read(&feed).unwrap_err().to_string();
                assert!(error.starts_with("line 3: the file ends early"), "{error}");
            }
        }
        let plain = format!("{whole}{}", &last[..in_text]).replace('"', "");
        assert_eq!(
            read(&plain).unwrap_err().to_string(),
            "line 3: the file ends early: its last advert has 21 cells, and every other at least 180; it looks cut off"
        );
    }

    #[test]
    fn adverts_keep_the_numbers_of_their_lines() {
        let first = advert("A", "un<BR>deux<BR>trois");
        let second = advert("B", "un\r\ndeux");
        let feed = format!("\n{first}\r\n{second}\r\n\r\n{first}\r\n");
        let form = SharedForm::default();
        let source = FeedReader::new(feed.as_bytes(), form.clone());
        let mut rows = csv::Reader::from_reader(source);
        let lines: Vec<u64> = rows
            .records()
            .map(|row| form.line_of(row.unwrap().position()))
            .collect();
        assert_eq!(lines, [2, 3, 6]);
    }

    #[test]
    fn an_advert_with_far_more_cells_than_the_format_is_refused_with_its_line() {
        // The first cells of the adverts are not closed, so their beginnings are not seen.
        let unusual = advert("A", "").replacen("\"ag\"", "\"a\"g\"", 1);
        let feed = format!("{}\n{}", advert("A", ""), vec![unusual; 3].join("\n"));
        let error = reader(&feed).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1: an advert has more than 400 cells, and the format has 334"
        );
    }

    #[test]
    fn other_texts_are_no_feed() {
        assert!(!is_feed(b"\"a\";\"b\"\n"));
        assert!(!is_feed(b"a!#b!#c\n"));
        assert!(!is_feed(b""));
        let separators = SEPARATOR.repeat(40);
        assert!(!is_feed(format!("<a>{separators}</a>").as_bytes()));
    }

    #[test]
    fn columns_stand_in_the_order_of_their_ranks() {
        assert!(COLUMNS.is_sorted_by(|one, other| one.0 < other.0));
    }
}
