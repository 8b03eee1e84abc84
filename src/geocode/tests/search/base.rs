//! A base of a few streets, and searches in it.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use toise_geo::places::{Place, PlaceKind, Places};
use toise_geocode::Geocoder;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::Segment;
use toise_geocode::search::{Match, NumberMatch, SearchRequest};

/// Street identifier, name, postal code, commune code and name, former commune, house numbers.
type StreetRow = (
    &'static str,
    &'static str,
    &'static str,
    [&'static str; 2],
    [&'static str; 2],
    &'static [&'static str],
);

#[rustfmt::skip]
const STREETS: &[StreetRow] = &[
    ("48095_0100", "Rue de la République", "48000", ["48095", "Mende"], ["", ""], &["1", "2", "2bis", "12", "14b"]),
    ("48095_0200", "Rue du 8 Mai 1945", "48000", ["48095", "Mende"], ["", ""], &["8", "10"]),
    ("48095_0300", "Avenue du Maréchal Foch", "48000", ["48095", "Mende"], ["", ""], &["3", "5"]),
    ("48095_0310", "Place Urbain V", "48000", ["48095", "Mende"], ["", ""], &["1"]),
    ("48095_0320", "Chemin de Saint-Ilpide", "48000", ["48095", "Mende"], ["", ""], &["241"]),
    ("48009_0010", "Avenue de la Gare", "48130", ["48009", "Peyre en Aubrac"], ["48009", "Aumont-Aubrac"], &["19"]),
    ("48092_0010", "Avenue de la Gare", "48100", ["48092", "Marvejols"], ["", ""], &["19", "21"]),
    ("48092_0020", "Rue de la République", "48100", ["48092", "Marvejols"], ["", ""], &["4"]),
    ("48092_B001", "Le Pré de Suzon", "48100", ["48092", "Marvejols"], ["", ""], &[]),
];

pub fn rows() -> Vec<AddressRow> {
    let mut rows = Vec::new();
    for (index, (id, name, postal_code, [code, commune], [former_code, former_name], numbers)) in
        STREETS.iter().enumerate()
    {
        let row = AddressRow {
            id: (*id).into(),
            name: (*name).into(),
            postal_code: (*postal_code).into(),
            insee_code: (*code).into(),
            commune: (*commune).into(),
            former_code: (*former_code).into(),
            former_name: (*former_name).into(),
            lat: 44.5 + index as f64 * 0.01,
            lon: 3.5,
            ..AddressRow::default()
        };
        for (at, text) in numbers.iter().enumerate() {
            let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
            let suffix = &text[digits.len()..];
            let tail = if suffix.is_empty() {
                String::new()
            } else {
                format!("_{suffix}")
            };
            rows.push(AddressRow {
                id: format!("{id}_{digits:0>5}{tail}"),
                number: digits.parse().ok(),
                suffix: suffix.into(),
                lon: 3.5 + at as f64 * 0.0002,
                ..row.clone()
            });
        }
        if numbers.is_empty() {
            rows.push(row);
        }
    }
    rows
}

pub fn segment(rows: &[AddressRow]) -> Arc<Segment> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("48.segment");
    let mut builder = SegmentBuilder::default();
    rows.iter().for_each(|row| builder.push(row));
    builder
        .write("48", &mut BufWriter::new(File::create(&path).unwrap()))
        .unwrap();
    Arc::new(Segment::open(&path).unwrap())
}

pub fn search(geocoder: &Geocoder, text: &str, autocomplete: bool) -> Vec<Match> {
    let request = SearchRequest {
        text: text.into(),
        limit: 5,
        autocomplete,
        ..SearchRequest::default()
    };
    geocoder.search(&request)
}

/// Formats a match as `12bis Rue …, 48095`.
pub fn label(geocoder: &Geocoder, one: &Match) -> String {
    let place = one
        .place
        .and_then(|place| Places::get().place(place))
        .map_or("", |place| place.code);
    let number = match &one.number {
        NumberMatch::Found(house) | NumberMatch::OtherSuffix(house) => {
            format!("{}{} ", house.number, house.suffix_label())
        }
        NumberMatch::NotAsked | NumberMatch::Missing => String::new(),
    };
    let name = one.street.map_or("", |(segment, street)| {
        geocoder.segments()[segment].street_name(street)
    });
    format!("{number}{name}, {place}")
}

/// Returns an address in Mende.
pub fn in_mende(street: &str, name: &str, number: Option<u32>, suffix: &str) -> AddressRow {
    let tail = if suffix.is_empty() {
        String::new()
    } else {
        format!("_{suffix}")
    };
    AddressRow {
        id: format!("48095_{street}_{:05}{tail}", number.unwrap_or(99_999)),
        number,
        suffix: suffix.into(),
        name: name.into(),
        postal_code: "48000".into(),
        insee_code: "48095".into(),
        commune: "Mende".into(),
        lat: 44.6 + f64::from(number.unwrap_or(0)) * 0.001 + suffix.len() as f64 * 0.0001,
        lon: 3.6,
        ..AddressRow::default()
    }
}

/// Returns a Place de la Mairie in each of some communes, one to the north of the other.
pub fn town_halls() -> Vec<AddressRow> {
    let communes = Places::get().all().iter();
    let communes =
        communes.filter(|place| place.department == "48" && place.kind == PlaceKind::Commune);
    let row = |(at, place): (usize, &Place)| AddressRow {
        id: format!("{}_0900_00001", place.code),
        name: "Place de la Mairie".into(),
        number: Some(1),
        postal_code: place.postal_codes[0].into(),
        insee_code: place.code.into(),
        commune: place.name.into(),
        lat: 44.0 + at as f64 * 0.01,
        lon: 3.5,
        ..AddressRow::default()
    };
    communes.enumerate().map(row).collect()
}

/// Returns an address of a commune, at a latitude.
pub fn in_commune(code: &str, commune: &str, name: &str, number: u32, lat: f64) -> AddressRow {
    let place = Places::get()
        .find(code)
        .and_then(|at| Places::get().place(at));
    AddressRow {
        id: format!("{code}_{:04}_{number:05}", name.len()),
        number: Some(number),
        name: name.into(),
        postal_code: place.map_or("", |place| place.postal_codes[0]).into(),
        insee_code: code.into(),
        commune: commune.into(),
        lat,
        lon: 3.5,
        ..AddressRow::default()
    }
}
