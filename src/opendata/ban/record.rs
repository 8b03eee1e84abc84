//! Converts rows of addresses to batches of the table `ban`.
//!
//! Values stay as published; the leading zeros that a spreadsheet removed from codes are restored, and suffixes are
//! lower case. A position comes from longitude and latitude, otherwise from the projected columns. A row without an
//! identifier, name, commune or position is rejected and counted. So is a row whose house number cannot be read,
//! because without the number it would become a street. In local bases, the number 99999 marks a named place. Local
//! bases have no postal codes; an address without one gets the postal code of its commune if there is only one. Local
//! bases may have several rows for one address, one per position; the position of the entrance is used. Their keys
//! (`cle_interop`) begin with the code of the commune, which version 1.1 writes nowhere else.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch};
use arrow::error::ArrowError;

use super::columns::{BanColumns, BanField};
use super::house_number::house_number;
use super::identity::identifier;
use crate::conversion::{
    FAR_FROM_COMMUNE, distance_shown, filled, is_wanted, numbers, text_lists, texts,
};
use crate::report::{ConversionFindings, Converted};
use crate::source::cell::{code, decimal, without_accents};
use crate::source::{Block, SourceLocation};
use toise_geo::departments;
use toise_geo::places::Places;
use toise_geo::plausible::far_from_commune_m;
use toise_geo::projection::{in_france, to_degrees};
use toise_geocode::table::{self, ADDRESS, PLACE};
use toise_input::{is_encoded_twice, words};

/// Separators of parcels.
const PARCEL_SEPARATORS: [char; 2] = ['|', ','];

/// Kinds of positions without accents, best one for the address first. Local bases have a row for each.
const POSITION_TYPES: [&str; 8] = [
    "entree",
    "delivrance postale",
    "batiment",
    "cage d'escalier",
    "logement",
    "parcelle",
    "service technique",
    "segment",
];

/// An address or a named place, as it is stored. Its other values are copied from its row.
struct AddressRow<'b> {
    row: usize,
    id: Cow<'b, str>,
    /// House number; `None` for a named place.
    number: Option<i32>,
    suffix: String,
    postal_code: Option<Cow<'b, str>>,
    insee_code: Cow<'b, str>,
    former_insee_code: Option<Cow<'b, str>>,
    department: &'static str,
    position: (f64, f64),
}

/// Converts the rows of the wanted departments, or all if `wanted` is empty, to records. CPU-bound.
///
/// # Errors
/// The arrays do not fit the table, which would be a defect.
pub fn convert(
    block: &Block,
    columns: &BanColumns,
    file: &str,
    wanted: &[String],
) -> Result<Converted, ArrowError> {
    let mut findings = ConversionFindings::default();
    let mut rows_not_asked_for = 0;
    let mut places = BTreeSet::new();
    let mut rows = Vec::new();
    let further = further_positions(block, columns);
    for row in 0..block.len() {
        if further.contains(&row) {
            let column = columns.position(BanField::PositionType).unwrap_or_default();
            let place = SourceLocation::line(file, block.line(row)).column("position");
            let value = block.cell(row, column);
            findings.drop_value(
                "further position of the address before or after",
                &place,
                value,
            );
            continue;
        }
        let cell = |field| columns.cell(block, row, field);
        let place = || SourceLocation::line(file, block.line(row));
        let insee_code = match cell(BanField::InseeCode) {
            "" => Cow::Owned(commune_of_key(cell(BanField::Key))),
            insee_code => code(insee_code, 5),
        };
        let Some(department) = departments::for_commune(&insee_code) else {
            findings.reject(
                "commune missing or unknown",
                &place().column("code_insee"),
                &insee_code,
            );
            continue;
        };
        if !is_wanted(wanted, department) {
            rows_not_asked_for += 1;
            continue;
        }
        let id = identifier(&cell);
        if id.is_empty() {
            findings.reject("identifier missing", &place().column("id"), "");
            continue;
        }
        if cell(BanField::Name).is_empty() {
            findings.reject(
                "name of the street missing",
                &place().column("nom_voie"),
                "",
            );
            continue;
        }
        let Some(position) = position(department, &cell) else {
            let value = format!("{} {}", cell(BanField::Lat), cell(BanField::Lon));
            findings.reject(
                "position missing or outside France",
                &place().column("lat"),
                value.trim(),
            );
            continue;
        };
        if let Some(metres) = far_from_commune_m(&insee_code, position.0, position.1) {
            findings.reject(
                FAR_FROM_COMMUNE,
                &place().column("lat"),
                &distance_shown(position, metres, &insee_code),
            );
            continue;
        }
        let Some(house) = house_number(cell(BanField::Number)) else {
            let number = cell(BanField::Number);
            findings.reject("house number unreadable", &place().column("numero"), number);
            continue;
        };
        if house.is_range {
            let range = cell(BanField::Number);
            findings.drop_value(
                "range of house numbers, read as its first",
                &place().column("numero"),
                range,
            );
        }
        let names = [
            (BanField::Name, "nom_voie"),
            (BanField::City, "nom_commune"),
        ];
        let mut names = names.into_iter();
        if let Some((field, column)) = names.find(|(field, _)| is_encoded_twice(cell(*field))) {
            findings.count_encoded_twice(&place().column(column), cell(field));
        }
        places.insert((insee_code.to_string(), 0));
        let suffix = filled(cell(BanField::Suffix)).unwrap_or(house.suffix);
        let code_of = |field| filled(cell(field)).map(|text| code(text, 5));
        let postal_code = code_of(BanField::PostalCode);
        rows.push(AddressRow {
            row,
            id,
            number: house.number,
            suffix: suffix.to_lowercase(),
            postal_code: postal_code.or_else(|| only_postal_code(&insee_code).map(Cow::Borrowed)),
            former_insee_code: code_of(BanField::FormerInseeCode),
            insee_code,
            department,
            position,
        });
    }
    let batch = batch(block, columns, &rows)?;
    Ok(Converted {
        rows_kept: batch.num_rows() as u64,
        batch,
        rows_not_asked_for,
        placed: 0,
        findings,
        places,
    })
}

/// Returns the rows that repeat an address with a worse position than another of its rows.
fn further_positions(block: &Block, columns: &BanColumns) -> BTreeSet<usize> {
    let mut further = BTreeSet::new();
    let Some(kind) = columns.position(BanField::PositionType) else {
        return further;
    };
    let id = |row| identifier(&|field| columns.cell(block, row, field));
    let rank = |row: usize| {
        let kind = without_accents(block.cell(row, kind).trim()).to_lowercase();
        let known = POSITION_TYPES.iter().position(|known| *known == kind);
        known.unwrap_or(POSITION_TYPES.len())
    };
    // The best row of the address so far.
    let mut best = 0;
    for row in 1..block.len() {
        let (own, other) = (id(row), id(best));
        if own.is_empty() || own != other {
            best = row;
        } else if rank(row) < rank(best) {
            further.insert(best);
            best = row;
        } else {
            further.insert(row);
        }
    }
    further
}

/// Returns the code of the commune in a key such as `2a004_0100_00012`; empty if the key has another form.
fn commune_of_key(key: &str) -> String {
    let code = key.split_once('_').map_or("", |(code, _)| code);
    match code.len() {
        5 => code.to_ascii_uppercase(),
        _ => String::new(),
    }
}

/// Returns the postal code of a commune that has only one.
fn only_postal_code(insee_code: &str) -> Option<&'static str> {
    let places = Places::get();
    let commune = places.place(places.find(insee_code)?)?;
    match commune.postal_codes.as_slice() {
        [code] => Some(code),
        _ => None,
    }
}

fn position<'c>(department: &str, cell: &impl Fn(BanField) -> &'c str) -> Option<(f64, f64)> {
    let degrees = decimal(cell(BanField::Lat)).zip(decimal(cell(BanField::Lon)));
    let projected = || {
        let (x, y) = decimal(cell(BanField::X)).zip(decimal(cell(BanField::Y)))?;
        to_degrees(department, x, y)
    };
    degrees
        .or_else(projected)
        .filter(|(lat, lon)| in_france(*lat, *lon))
}

/// Returns the rows of addresses of a block, with the columns in the order of the table.
fn batch(
    block: &Block,
    columns: &BanColumns,
    rows: &[AddressRow<'_>],
) -> Result<RecordBatch, ArrowError> {
    let cell = |row: &AddressRow<'_>, field| columns.cell(block, row.row, field);
    let copied = |field| texts(rows, move |row| filled(cell(row, field)));
    let parcels = |row: &AddressRow<'_>| {
        let parcels = cell(row, BanField::Parcels).split(PARCEL_SEPARATORS);
        parcels.map(str::trim).filter(|parcel| !parcel.is_empty())
    };
    let kind = |row: &AddressRow<'_>| if row.number.is_some() { ADDRESS } else { PLACE };
    let certified = rows
        .iter()
        .map(|row| words::flag(cell(row, BanField::Certified)));
    let arrays: Vec<ArrayRef> = vec![
        texts(rows, |row| Some(&*row.id)),
        texts(rows, |row| Some(kind(row))),
        Arc::new(rows.iter().map(|row| row.number).collect::<Int32Array>()),
        texts(rows, |row| filled(&row.suffix)),
        copied(BanField::Name),
        texts(rows, |row| row.postal_code.as_deref()),
        texts(rows, |row| Some(&*row.insee_code)),
        copied(BanField::City),
        texts(rows, |row| row.former_insee_code.as_deref()),
        copied(BanField::FormerCity),
        texts(rows, |row| Some(row.department)),
        numbers(rows, |row| Some(row.position.0)),
        numbers(rows, |row| Some(row.position.1)),
        copied(BanField::PositionType),
        copied(BanField::Locality),
        copied(BanField::DeliveryLabel),
        copied(BanField::Alias),
        text_lists(rows, parcels),
        Arc::new(certified.collect::<BooleanArray>()),
        copied(BanField::Source),
    ];
    RecordBatch::try_new(table::schema().arrow().clone(), arrays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;

    #[test]
    fn an_address_far_from_its_commune_is_rejected() {
        let header = "cle_interop;numero;voie_nom;commune_insee;lat;long";
        let lines = [
            "a;1;Rue du Lavoir;29128;48.47;-4.1",
            "b;2;Rue du Lavoir;29128;43.12;5.93",
        ];
        let block = Block::of_lines(header, &lines);
        let columns = BanColumns::find(&block.header, "f").unwrap();
        let converted = convert(&block, &columns, "f", &[]).unwrap();
        assert_eq!(converted.rows_kept, 1);
        let rejected = &converted.findings.rejected[FAR_FROM_COMMUNE];
        let value = &rejected.examples[0].value;
        assert!(value.starts_with("43.12, 5.93 is "), "{value}");
        assert!(value.ends_with(" km from 29128"), "{value}");
    }

    #[test]
    fn the_entrance_is_the_position_of_an_address() {
        let header = "cle_interop;numero;voie_nom;commune_insee;position;lat;long";
        let lines = [
            "a;1;Rue du Lavoir;29128;segment;48.1;-4.1",
            "a;1;Rue du Lavoir;29128;Entrée;48.2;-4.1",
            "a;1;Rue du Lavoir;29128;délivrance postale;48.3;-4.1",
            "b;1;Rue du Lavoir;29128;;48.4;-4.1",
            "b;1;Rue du Lavoir;29128;;48.5;-4.1",
        ];
        let block = Block::of_lines(header, &lines);
        let columns = BanColumns::find(&block.header, "f").unwrap();
        let converted = convert(&block, &columns, "f", &[]).unwrap();
        let lats = converted.batch.column_by_name("lat").unwrap();
        let lats = lats.as_primitive::<arrow::datatypes::Float64Type>();
        assert_eq!(lats.values(), &[48.2, 48.4]);
        let (_, dropped) = converted.findings.dropped.0.iter().next().unwrap();
        assert_eq!(dropped.count, 3);
    }

    #[test]
    fn streets_that_share_a_key_are_kept_apart() {
        let header = "cle_interop;numero;voie_nom;commune_insee;position;lat;long";
        let lines = [
            "29128_xxxx_00001;1;Rue du Lavoir;29128;segment;48.2;-4.1",
            "29128_xxxx_00001;1;Rue du Lavoir;29128;entrée;48.2;-4.1",
            "29128_xxxx_00001;1;Rue Haute;29128;entrée;48.21;-4.1",
        ];
        let block = Block::of_lines(header, &lines);
        let columns = BanColumns::find(&block.header, "f").unwrap();
        let converted = convert(&block, &columns, "f", &[]).unwrap();
        let ids = converted.batch.column_by_name("id").unwrap();
        let ids: Vec<_> = ids.as_string::<i32>().iter().flatten().collect();
        assert_eq!(
            ids,
            [
                "xxxx_29128 rue du lavoir_00001",
                "xxxx_29128 rue haute_00001"
            ]
        );
    }

    #[test]
    fn local_bases_of_versions_1_1_and_1_5_are_read() {
        let (address, place) = ("3c87abe4-887b-46ee-9192", "8a3bab10-f329-4ce3-9c7d");
        let converted = |names: &str, rows: &[String]| {
            let block = Block::of_lines(names, rows);
            let columns = BanColumns::find(&block.header, "f").unwrap();
            let batch = convert(&block, &columns, "f", &[]).unwrap().batch;
            let texts = |name| {
                let texts = batch.column_by_name(name).unwrap().as_string::<i32>();
                let texts = texts.iter().map(|text| text.unwrap().to_owned());
                texts.collect::<Vec<_>>()
            };
            texts("id").into_iter().zip(texts("insee_code")).collect()
        };
        let first: Vec<(String, String)> = converted(
            "cle_interop;voie_nom;numero;position;lat;long",
            &[
                "29128_0100_00001;Rue du Lavoir;1;entrée;48.2;-4.1".to_owned(),
                "2a004_0100_00001;Rue du Lavoir;1;entrée;41.92;8.73".to_owned(),
                "key;Rue du Lavoir;1;entrée;48.2;-4.1".to_owned(),
            ],
        );
        let pair = |id: &str, commune: &str| (id.to_owned(), commune.to_owned());
        assert_eq!(
            first,
            [
                pair("29128_0100_00001", "29128"),
                pair("2a004_0100_00001", "2A004")
            ]
        );
        let fifth: Vec<(String, String)> = converted(
            "id_ban_toponyme;id_ban_adresse;commune_insee;toponyme;numero;position;lat;long",
            &[
                format!("{place};{address};29128;Rue du Lavoir;1;segment;48.2;-4.1"),
                format!("{place};{address};29128;Rue du Lavoir;1;entrée;48.2;-4.1"),
                format!("{place};;29128;Le Lavoir;99999;segment;48.2;-4.1"),
                format!("{place};;29128;Rue du Lavoir;2;segment;48.2;-4.1"),
            ],
        );
        assert_eq!(fifth, [pair(address, "29128"), pair(place, "29128")]);
    }

    #[test]
    fn a_commune_with_several_postal_codes_gives_none() {
        assert_eq!(only_postal_code("29128"), Some("29400"));
        assert_eq!(only_postal_code("83137"), None);
        assert_eq!(only_postal_code("99999"), None);
    }
}
