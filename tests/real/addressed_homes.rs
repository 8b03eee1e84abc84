//! Diagnostics of a whole department, geocoded by their address: the results are near the position given by their
//! publisher.
//!
//! Lozère: half of its diagnostics have the identifier of a house number of the address base. The query is the text of
//! that address, in capitals and without accents as in portfolios. Runs if `TOISE_REAL_DATA` names the folder of real
//! rows.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use toise::geo::distance::planar_distance_m;
use toise::geocode::address::Confidence;
use toise::geocode::folder as index;
use toise::geocode::resolve::{LazyGeocoder, PostalAddress, Precision};
use toise::opendata::placing::place;
use toise::opendata::source::cell::without_accents;

use super::open_data::{folder, text};
use crate::support::process::run;

/// Maximum distance between an address and its diagnostic.
const NEAR_M: f64 = 100.0;
/// One diagnostic out of this many is queried.
const STEP: usize = 5;
/// One street out of this many is left out of the base.
const WITHHELD: usize = 10;

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Number and street, postal code and commune of the house numbers of a base, by identifier.
fn addresses(path: &Path) -> HashMap<String, [String; 3]> {
    let bytes = unpacked(path);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b';')
        .from_reader(&*bytes);
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let [id, number, suffix, street, code, city] = [
        "id", "numero", "rep", "nom_voie", "code_postal", "nom_commune",
    ]
    .map(at);
    let rows = reader.records().map(Result::unwrap).map(|row| {
        let line = format!("{}{} {}", &row[number], &row[suffix], &row[street]);
        (
            row[id].to_owned(),
            [line, row[code].to_owned(), row[city].to_owned()],
        )
    });
    rows.collect()
}

#[test]
fn diagnostics_of_a_department_asked_by_their_address_land_near_their_position() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let base = real.join("ban/adresses-48.csv.gz");
    run(data.path(), &["import", "ban", text(&base)]);
    let geocoder = index::open(data.path()).unwrap();
    let addresses = addresses(&base);
    let bytes = unpacked(&real.join("dpe/dpe48_lozere_v1names_5224.csv.gz"));
    let mut diagnostics = csv::Reader::from_reader(&*bytes);
    let header = diagnostics.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (id, point) = (at("Identifiant__BAN"), at("_geopoint"));
    let (mut all, mut sure, mut near, mut exact) = (0, 0, 0, 0);
    for row in diagnostics.records().map(Result::unwrap).step_by(STEP) {
        let Some([line, code, city]) = addresses.get(&row[id]) else {
            continue;
        };
        let (lat, lon) = row[point].split_once(',').unwrap();
        let expected: (f64, f64) = (lat.parse().unwrap(), lon.parse().unwrap());
        let (line, city) = [line, city]
            .map(|text| without_accents(text).to_uppercase())
            .into();
        all += 1;
        let asked = PostalAddress {
            address: &line,
            postal_code: code,
            city: &city,
            ..PostalAddress::default()
        };
        let Ok(found) = geocoder.locate(asked) else {
            continue;
        };
        let is_sure = found.confidence == Confidence::High && found.precision == Precision::Address;
        let metres = planar_distance_m(expected.0, expected.1, found.lat, found.lon);
        sure += usize::from(is_sure);
        near += usize::from(is_sure && metres <= NEAR_M);
        exact += usize::from(is_sure && found.is_street_exact);
    }
    println!("{all} asked, {sure} surely found, {exact} of them exactly, {near} within {NEAR_M} m");
    assert!(all > 300, "{all}");
    assert!(sure * 100 >= all * 95, "{sure} of {all} surely found");
    assert!(exact * 100 >= sure * 95, "{exact} of {sure} exactly");
    assert!(
        near * 100 >= sure * 95,
        "{near} of {sure} within {NEAR_M} m"
    );
}

#[test]
fn a_sale_whose_street_is_not_in_the_base_is_rarely_placed_elsewhere() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let base = unpacked(&real.join("ban/adresses-48.csv.gz"));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b';')
        .from_reader(&*base);
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (name, code, commune) = (at("nom_voie"), at("code_insee"), at("nom_commune"));
    let (number, postal_code) = (at("numero"), at("code_postal"));
    let mut streets: HashMap<(String, String), usize> = HashMap::new();
    let file = data.path().join("adresses-48.csv");
    let mut writer = csv::WriterBuilder::new()
        .delimiter(b';')
        .from_path(&file)
        .unwrap();
    writer.write_record(&header).unwrap();
    let mut absent = Vec::new();
    for row in reader.records().map(Result::unwrap) {
        let key = (row[code].to_owned(), row[name].to_owned());
        let next = streets.len();
        let (is_first, street) = match streets.get(&key) {
            Some(street) => (false, *street),
            None => (true, next),
        };
        streets.insert(key, street);
        match street % WITHHELD {
            0 if is_first => absent.push(row),
            0 => {}
            _ => writer.write_record(&row).unwrap(),
        }
    }
    drop(writer);
    run(data.path(), &["import", "ban", text(&file)]);
    let geocoder = LazyGeocoder::new(data.path().to_owned());
    let (mut placed, mut high) = (0, 0);
    for row in &absent {
        let line = without_accents(&format!("{} {}", &row[number], &row[name])).to_uppercase();
        let address = PostalAddress {
            address: &line,
            postal_code: &row[postal_code],
            city: &row[commune],
            insee_code: &row[code],
        };
        let found = geocoder.get().unwrap().locate(address);
        high += usize::from(found.is_ok_and(|found| {
            found.confidence == Confidence::High && found.precision != Precision::Town
        }));
        placed += usize::from(place(&geocoder, address).is_some());
    }
    println!(
        "{placed} of {} absent streets placed; {high} are found elsewhere with high confidence",
        absent.len()
    );
    assert!(absent.len() > 400, "{}", absent.len());
    assert!(
        placed * 100 <= absent.len() * 2,
        "{placed} of {}",
        absent.len()
    );
}
