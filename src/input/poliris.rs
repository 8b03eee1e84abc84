//! Converts the feed format of French agencies (Poliris, the portals' `Annonces.csv`) to CSV with a header.
//!
//! A line is an advert: up to 334 cells in quotation marks, separated by `!#`, and identified only by their order.
//! Later versions of the format only append cells. Columns that matter for adverts get names here; the others, such as
//! the owner's address and the agent's private notes, are dropped. `<BR>` stands for a line break.
//!
//! Source of the ranks: SeLoger, « Spécifications techniques d'exportation », version 4.09 of 31 May 2021.

use std::io::{self, BufRead, Read};

/// Separator of cells.
const SEPARATOR: &str = "!#";
/// Minimum separators of a line; the description, which every advert has, is cell 21.
const SEPARATORS_MIN: usize = 20;
/// Maximum bytes of an advert; its longest text has 4,000 characters.
const ADVERT_BYTES_MAX: usize = 1 << 20;

/// Rank of a cell, from 1, and the name of its column.
const COLUMNS: [(usize, &str); 62] = [
    (1, "identifiant_agence"),
    (2, "reference"),
    (3, "type_annonce"),
    (4, "type_bien"),
    (5, "code_postal"),
    (6, "ville"),
    (7, "pays"),
    (8, "adresse"),
    (9, "quartier"),
    (11, "prix"),
    (13, "loyer_cc"),
    (15, "honoraires"),
    (16, "surface"),
    (17, "surface_terrain"),
    (18, "nb_pieces"),
    (19, "nb_chambres"),
    (20, "libelle"),
    (21, "descriptif"),
    (22, "date_disponibilite"),
    (23, "charges"),
    (24, "etage"),
    (25, "nb_etages"),
    (26, "meuble"),
    (27, "annee_construction"),
    (29, "nb_salles_de_bain"),
    (30, "nb_salles_d_eau"),
    (31, "nb_wc"),
    (39, "nb_balcons"),
    (41, "ascenseur"),
    (42, "cave"),
    (43, "nb_parkings"),
    (44, "nb_boxes"),
    (45, "digicode"),
    (46, "interphone"),
    (47, "gardien"),
    (48, "terrasse"),
    (61, "alarme"),
    (65, "piscine"),
    (68, "cheminee"),
    (83, "mandat_exclusif"),
    (85, "photo_1"),
    (104, "url_visite_virtuelle"),
    (106, "contact"),
    (108, "code_postal_reel"),
    (109, "ville_reelle"),
    (112, "numero_mandat"),
    (161, "depot_de_garantie"),
    (175, "identifiant_technique"),
    (176, "consommation_energie"),
    (177, "classe_energie"),
    (178, "emissions_ges"),
    (179, "classe_ges"),
    (181, "sous_type"),
    (185, "prix_bouquet"),
    (186, "rente_mensuelle"),
    (258, "en_copropriete"),
    (259, "nombre_lots"),
    (260, "charges_annuelles"),
    (298, "latitude"),
    (299, "longitude"),
    (303, "prix_hors_honoraires"),
    (324, "date_dpe"),
];

/// Returns whether a text begins like a feed of adverts.
pub(crate) fn is_feed(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let line = start.trim_ascii_start().split(|byte| *byte == b'\n').next();
    line.is_some_and(|line| {
        line.starts_with(b"\"")
            && line
                .windows(SEPARATOR.len())
                .filter(|pair| *pair == SEPARATOR.as_bytes())
                .count()
                >= SEPARATORS_MIN
    })
}

/// A reader of the feed as CSV, separated by commas. The text must be UTF-8.
pub(crate) struct FeedReader<R> {
    source: R,
    csv: Vec<u8>,
    returned: usize,
    is_begun: bool,
}

impl<R: BufRead> FeedReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            csv: Vec::new(),
            returned: 0,
            is_begun: false,
        }
    }

    /// Reads the next advert; if a description has a line break, the advert continues until a line ends with a
    /// quotation mark.
    fn next_advert(&mut self) -> io::Result<Option<String>> {
        let mut advert = String::new();
        loop {
            let begin = advert.len();
            let left = (ADVERT_BYTES_MAX + 1).saturating_sub(begin) as u64;
            let read = (&mut self.source).take(left).read_line(&mut advert)?;
            if advert.len() > ADVERT_BYTES_MAX {
                let reason = format!("an advert is longer than {ADVERT_BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            if read == 0 {
                return Ok((!advert.trim().is_empty()).then_some(advert));
            }
            if advert.trim().is_empty() {
                advert.clear();
            } else if advert.trim_end().ends_with('"')
                && advert.matches(SEPARATOR).count() >= SEPARATORS_MIN
            {
                return Ok(Some(advert));
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.csv.clear();
        self.returned = 0;
        let mut row: Vec<String> = Vec::with_capacity(COLUMNS.len());
        if !self.is_begun {
            self.is_begun = true;
            row.extend(COLUMNS.iter().map(|(_, name)| (*name).to_owned()));
        } else if let Some(advert) = self.next_advert()? {
            let cells: Vec<&str> = advert.trim().split(SEPARATOR).collect();
            for (rank, _) in COLUMNS {
                row.push(
                    cells
                        .get(rank - 1)
                        .map_or_else(String::new, |cell| plain(cell)),
                );
            }
        }
        if row.is_empty() {
            return Ok(());
        }
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

    #[test]
    fn a_feed_becomes_csv_with_a_header() {
        let first = line(
            &[
                (1, "ag"),
                (2, "VE950"),
                (11, "250000"),
                (21, "Vue mer,<BR>'calme'"),
                (299, "5.93"),
                (328, "2021"),
            ],
            334,
        );
        // An older version of the format, with a line break in a text and blanks around the separator.
        let second = line(&[(2, "VE951"), (21, "Rez de\njardin")], 180).replace(SEPARATOR, " !# ");
        let feed = format!("{first}\r\n{second}\r\n\r\n");
        assert!(is_feed(feed.as_bytes()));
        let mut rows = csv::Reader::from_reader(FeedReader::new(feed.as_bytes()));
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
        assert_eq!(
            (cell(1, "reference"), cell(1, "descriptif")),
            ("VE951".into(), "Rez de\njardin".into())
        );
        assert_eq!(cell(1, "latitude"), "");
    }

    #[test]
    fn other_texts_are_no_feed() {
        assert!(!is_feed(b"\"a\";\"b\"\n"));
        assert!(!is_feed(b"a!#b!#c\n"));
        assert!(!is_feed(b""));
    }

    #[test]
    fn columns_stand_in_the_order_of_their_ranks() {
        assert!(COLUMNS.is_sorted_by(|one, other| one.0 < other.0));
    }
}
