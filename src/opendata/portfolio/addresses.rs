//! Address columns of a portfolio: finds them, reads the address of a row, and builds the output columns that say how
//! the address was understood.
//!
//! A row may give an address instead of a position. Rows of a block with the same address are searched once. Number and
//! street may be in columns of their own, which are joined.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray};
use arrow::datatypes::{DataType, Field};

use crate::source::Block;
use crate::source::cell::{PLACE_CODE_CHARS, place_code};
use toise_contract::columns::{STREET, STREET_PARTS, looks_like_street, street_line};
use toise_geo::communes::{fits_restored_code, record_place};
use toise_geocode::resolve::{PostalAddress, Resolved};
use toise_input::ReadFile;

/// Start of the reason of a row whose address was not located.
pub const ADDRESS_FAULT: &str = "address: ";
/// Fields of an address: the line with number and street, the postal code under two names, the commune, its INSEE code.
pub const ADDRESS_FIELDS: [&str; 5] = ["address", "postcode", "postal_code", "city", INSEE_CODE];
/// Columns of an address: [`ADDRESS_FIELDS`], then the parts of the line with number and street.
pub const ADDRESS_COLUMNS: [&str; 9] = {
    let mut all = [""; 9];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at.checked_sub(ADDRESS_FIELDS.len()) {
            Some(part) => STREET_PARTS[part],
            None => ADDRESS_FIELDS[at],
        };
        at += 1;
    }
    all
};
/// The field of the INSEE code.
pub const INSEE_CODE: &str = "insee_code";
/// The field of the INSEE code where [`INSEE_CODE`] is a filter.
pub const COMMUNE_CODE: &str = "code_insee";

/// The columns of a portfolio that give an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressColumns {
    /// House number and street, or the whole address.
    pub address: Option<usize>,
    /// The parts of the line with number and street ([`STREET_PARTS`]), used in rows without such a line.
    pub parts: [Option<usize>; STREET_PARTS.len()],
    /// Postal code.
    pub postal_code: Option<usize>,
    /// Commune.
    pub city: Option<usize>,
    /// INSEE code of the commune that the address must be in.
    pub insee_code: Option<usize>,
}

impl AddressColumns {
    /// Finds the address columns among named columns; `postcode` takes precedence over `postal_code`.
    pub fn find<'n>(named: impl Iterator<Item = (usize, &'n str)> + Clone) -> Self {
        let of = |wanted: &str| {
            let mut columns = named.clone();
            let found = columns.find(|(_, name)| *name == wanted);
            found.map(|(column, _)| column)
        };
        Self {
            address: of("address"),
            parts: STREET_PARTS.map(of),
            postal_code: of("postcode").or_else(|| of("postal_code")),
            city: of("city"),
            insee_code: of(INSEE_CODE).or_else(|| of(COMMUNE_CODE)),
        }
    }

    /// Returns whether there are any.
    pub fn are_given(&self) -> bool {
        let [.., street] = self.parts;
        let town = [self.postal_code, self.city, self.insee_code];
        [self.address, street]
            .iter()
            .chain(&town)
            .any(Option::is_some)
    }

    /// Prepares the addresses of a block. Joins the parts of each row if there are such columns.
    pub fn of_block(self, block: &Block) -> BlockAddresses<'_> {
        let rows = |is_needed: bool| 0..if is_needed { block.len() } else { 0 };
        let lines = rows(self.parts.iter().any(Option::is_some));
        let of = |column, row| cell(block, row, column);
        BlockAddresses {
            lines: lines.map(|row| self.line(block, row)).collect(),
            postal_codes: rows(self.postal_code.is_some())
                .map(|row| postal_code(of(self.postal_code, row), of(self.city, row)))
                .collect(),
            insee_codes: rows(self.insee_code.is_some())
                .map(|row| insee_code(of(self.insee_code, row)))
                .collect(),
            columns: self,
            block,
        }
    }

    /// Joins the parts of a row; empty without a street.
    fn line(&self, block: &Block, row: usize) -> String {
        let cells = self.parts.map(|column| cell(block, row, column));
        let [number, repetition, kind, street] = cells;
        if street.is_empty() {
            return String::new();
        }
        let number = number.strip_suffix(".0").unwrap_or(number);
        street_line([number, repetition, kind, street])
    }
}

/// Returns the repaired postal code of a cell. One of four digits stays as it is if the town shows that it is not French.
fn postal_code(cell: &str, town: &str) -> String {
    let repaired = place_code(cell);
    let is_foreign = repaired.strip_prefix('0').is_some_and(|digits| {
        let is_restored = cell.strip_suffix(".0").unwrap_or(cell) == digits;
        is_restored && !fits_restored_code(&repaired, town)
    });
    if is_foreign {
        cell.to_owned()
    } else {
        repaired
    }
}

/// Returns the current INSEE code for the code in a cell; empty if the code is not known. Some files have their own
/// numbers, or only number the communes of a department.
fn insee_code(cell: &str) -> String {
    let code = place_code(cell).to_ascii_uppercase();
    let place = Some(code.as_str()).filter(|code| code.len() == PLACE_CODE_CHARS);
    let place = place.and_then(record_place);
    place.map_or_else(String::new, |place| place.code.to_owned())
}

/// Returns a cell without spaces around it; empty without a column.
fn cell(block: &Block, row: usize, column: Option<usize>) -> &str {
    column.map_or("", |column| block.cell(row, column).trim())
}

/// Returns the text of a row; empty if there are no texts.
fn of_row(texts: &[String], row: usize) -> &str {
    texts.get(row).map_or("", String::as_str)
}

/// The addresses of a block of rows.
pub struct BlockAddresses<'b> {
    columns: AddressColumns,
    block: &'b Block,
    /// The joined parts of each row; empty if the portfolio has no such columns.
    lines: Vec<String>,
    /// The postal code of each row; empty if the portfolio has no such column.
    postal_codes: Vec<String>,
    /// The INSEE code of each row; empty if the portfolio has no such column.
    insee_codes: Vec<String>,
}

impl BlockAddresses<'_> {
    /// Returns the address of a row; a part is empty if its cell is empty or there is no column.
    pub fn of_row(&self, row: usize) -> PostalAddress<'_> {
        let cell = |column| cell(self.block, row, column);
        let whole = Some(cell(self.columns.address)).filter(|line| !line.is_empty());
        PostalAddress {
            address: whole.unwrap_or_else(|| of_row(&self.lines, row)),
            postal_code: of_row(&self.postal_codes, row),
            city: cell(self.columns.city),
            insee_code: of_row(&self.insee_codes, row),
        }
    }

    /// Returns the address of a row in one line, for messages.
    pub fn shown(&self, row: usize) -> String {
        let address = self.of_row(row);
        let parts = [
            address.address,
            address.postal_code,
            address.city,
            address.insee_code,
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

/// Adds a warning to the report of a portfolio for each unread column that looks like a street. Does nothing if
/// `by_town`, the number of rows located by their town alone, is 0.
pub fn warn_of_streets(file: &mut ReadFile, by_town: u64) {
    if by_town == 0 {
        return;
    }
    let reading = &mut file.reading;
    let unread = reading.columns_unused.iter();
    let streets = unread.filter(|column| looks_like_street(column));
    reading.notes.extend(streets.map(|column| {
        format!(
            "warning: rows located by their town alone: {by_town}; the column {column:?} was not read; if it holds the \
             street, add --map {STREET}={column:?}"
        )
    }));
}

/// Adds a warning to what was understood of a portfolio if most of its `located` rows have an address without a town,
/// which is usually a mistake.
pub fn warn_of_towns(file: &mut ReadFile, without_town: u64, located: u64) {
    if without_town * 2 <= located {
        return;
    }
    file.reading.notes.push(format!(
        "warning: {without_town} of {located} located rows have an address without a town next to the street, so the \
         town may be wrong; add its column with --map city=… or --map postcode=…"
    ));
}

/// Returns the fields of [`address_columns`].
pub fn address_fields() -> [Field; 4] {
    [
        Field::new("address_label", DataType::Utf8, true),
        Field::new("address_score", DataType::Float64, true),
        Field::new("address_confidence", DataType::Utf8, true),
        Field::new("address_precision", DataType::Utf8, true),
    ]
}

/// Makes the output columns about addresses: the result of geocoding the address of each row, or nulls if no address was
/// used.
pub fn address_columns<'r>(
    found: impl Iterator<Item = Option<&'r Resolved>> + Clone,
) -> [ArrayRef; 4] {
    let texts = |text: fn(&'r Resolved) -> &'r str| -> ArrayRef {
        let texts = found.clone().map(|one| one.map(text));
        Arc::new(texts.collect::<StringArray>())
    };
    let scores = found.clone().map(|one| one.map(|one| one.probability));
    let scores: ArrayRef = Arc::new(scores.collect::<Float64Array>());
    [
        texts(|one| one.label.as_str()),
        scores,
        texts(|one| one.confidence.as_str()),
        texts(|one| one.precision.name()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_an_address_are_found_by_name() {
        let found = |names: &[&str]| AddressColumns::find(names.iter().copied().enumerate());
        let both = found(&["id", "postal_code", "postcode", "city"]);
        assert_eq!((both.postal_code, both.city), (Some(2), Some(3)));
        assert!(both.are_given() && both.address.is_none());
        assert!(!found(&["lat", "lon"]).are_given());
        assert_eq!(found(&["postal_code"]).postal_code, Some(0));
        assert!(found(&["street"]).are_given());
        assert!(!found(&["house_number"]).are_given());
        assert!(found(&["insee_code"]).are_given());
    }

    #[test]
    fn a_code_of_a_commune_gets_its_zero_back_and_a_shorter_number_is_none() {
        for (cell, code) in [
            ("48095", "48095"),
            ("1053.0", "01053"),
            ("2a004", "2A004"),
            ("95", ""),
            ("", ""),
        ] {
            assert_eq!(insee_code(cell), code);
        }
    }

    #[test]
    fn the_parts_of_a_row_are_joined_if_it_has_no_whole_address() {
        let names = [
            "address",
            "city",
            "house_number",
            "house_number_suffix",
            "street_type",
            "street",
        ];
        let columns = AddressColumns::find(names.iter().copied().enumerate());
        let mut block = Block::new(Arc::new(crate::source::Header::new(
            names.map(str::to_owned).to_vec(),
        )));
        for cells in [
            ["", "Mende", "12.0", "bis", "avenue", " Foch "],
            ["3 rue X", "Mende", "12", "", "", "Foch"],
            ["", "Mende", "12", "", "", ""],
            ["", "Mende", "1", "", "", "12 Avenue Foch"],
        ] {
            block.start_row(1);
            cells.iter().for_each(|cell| block.push_cell(cell));
        }
        let given = columns.of_block(&block);
        let lines = [0, 1, 2, 3].map(|row| given.of_row(row).address);
        let expected = ["12 bis avenue Foch", "3 rue X", "", "12 Avenue Foch"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn codes_are_read_as_codes() {
        let header = "postal_code;insee_code";
        let columns = AddressColumns::find(header.split(';').enumerate());
        let block = Block::of_lines(header, &["1000.0;1053"]);
        let given = columns.of_block(&block);
        let address = given.of_row(0);
        assert_eq!(
            (address.postal_code, address.insee_code),
            ("01000", "01053")
        );
        assert_eq!((address.address, address.city), ("", ""));
        let columns = AddressColumns::find("postal_code;city".split(';').enumerate());
        let rows = [
            "1000;Bruxelles",
            "1000.0;Bourg-en-Bresse",
            "01000;Bruxelles",
        ];
        let block = Block::of_lines("postal_code;city", &rows);
        let given = columns.of_block(&block);
        let codes = [0, 1, 2].map(|row| given.of_row(row).postal_code);
        assert_eq!(codes, ["1000", "01000", "01000"]);
    }

    #[test]
    fn rows_without_a_town_are_a_warning_if_they_are_most() {
        let mut file = ReadFile::default();
        warn_of_towns(&mut file, 0, 0);
        warn_of_towns(&mut file, 2, 4);
        assert!(file.reading.notes.is_empty());
        warn_of_towns(&mut file, 3, 4);
        assert!(file.reading.notes[0].starts_with("warning: 3 of 4 located rows"));
    }

    #[test]
    fn a_town_in_place_of_a_street_that_was_not_read_is_a_warning() {
        let mut file = ReadFile::default();
        file.reading.columns_unused = ["Voirie", "Notes"].map(str::to_owned).to_vec();
        warn_of_streets(&mut file, 0);
        assert!(file.reading.notes.is_empty());
        warn_of_streets(&mut file, 7);
        assert_eq!(
            file.reading.notes,
            [
                "warning: rows located by their town alone: 7; the column \"Voirie\" was not read; if it holds the \
                 street, add --map street=\"Voirie\""
            ]
        );
    }
}
