//! Tests of searches in a base of a few streets: texts that people write, and texts that must not be answered.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::index::builder::{AddressRow, SegmentBuilder};
use crate::reverse::{METRES_MAX, Near};
use toise_geo::distance::planar_distance_m;

/// Street identifier, name, postal code, commune code and name, former commune, house numbers.
type StreetRow = (
    &'static str,
    &'static str,
    &'static str,
    [&'static str; 2],
    [&'static str; 2],
    &'static [&'static str],
);

const STREETS: &[StreetRow] = &[
    (
        "48095_0100",
        "Rue de la République",
        "48000",
        ["48095", "Mende"],
        ["", ""],
        &["1", "2", "2bis", "12", "14b"],
    ),
    (
        "48095_0200",
        "Rue du 8 Mai 1945",
        "48000",
        ["48095", "Mende"],
        ["", ""],
        &["8", "10"],
    ),
    (
        "48095_0300",
        "Avenue du Maréchal Foch",
        "48000",
        ["48095", "Mende"],
        ["", ""],
        &["3", "5"],
    ),
    (
        "48095_0310",
        "Place Urbain V",
        "48000",
        ["48095", "Mende"],
        ["", ""],
        &["1"],
    ),
    (
        "48095_0320",
        "Chemin de Saint-Ilpide",
        "48000",
        ["48095", "Mende"],
        ["", ""],
        &["241"],
    ),
    (
        "48009_0010",
        "Avenue de la Gare",
        "48130",
        ["48009", "Peyre en Aubrac"],
        ["48009", "Aumont-Aubrac"],
        &["19"],
    ),
    (
        "48092_0010",
        "Avenue de la Gare",
        "48100",
        ["48092", "Marvejols"],
        ["", ""],
        &["19", "21"],
    ),
    (
        "48092_0020",
        "Rue de la République",
        "48100",
        ["48092", "Marvejols"],
        ["", ""],
        &["4"],
    ),
    (
        "48092_B001",
        "Le Pré de Suzon",
        "48100",
        ["48092", "Marvejols"],
        ["", ""],
        &[],
    ),
];

fn rows() -> Vec<AddressRow> {
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
            let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
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

fn segment(rows: &[AddressRow]) -> Arc<Segment> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("48.segment");
    let mut builder = SegmentBuilder::default();
    rows.iter().for_each(|row| builder.push(row));
    builder
        .write("48", &mut BufWriter::new(File::create(&path).unwrap()))
        .unwrap();
    Arc::new(Segment::open(&path).unwrap())
}

fn search(geocoder: &Geocoder, text: &str, autocomplete: bool) -> Vec<Match> {
    let request = SearchRequest {
        text: text.into(),
        limit: 5,
        autocomplete,
        ..SearchRequest::default()
    };
    geocoder.search(&request)
}

/// Formats a match as `12bis Rue …, 48095`.
fn label(geocoder: &Geocoder, one: &Match) -> String {
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

#[test]
fn an_address_is_found_however_it_is_written() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for (text, expected) in [
        (
            "12 Rue de la République 48000 Mende",
            "12 Rue de la République, 48095",
        ),
        (
            "12 R DE LA REPUBLIQUE 48000 MENDE",
            "12 Rue de la République, 48095",
        ),
        (
            "48000 Mende 12 rue de la république",
            "12 Rue de la République, 48095",
        ),
        (
            "12 rue de la républiqeu, mende",
            "12 Rue de la République, 48095",
        ),
        (
            "12 république 48000 Mende",
            "12 Rue de la République, 48095",
        ),
        (
            "4 rue de la république marvjols",
            "4 Rue de la République, 48092",
        ),
        (
            "2 bis rue de la république 48000 mende",
            "2bis Rue de la République, 48095",
        ),
        (
            "2b rue de la république mende cedex",
            "2bis Rue de la République, 48095",
        ),
        ("8 rue du 8 mai 1945 mende", "8 Rue du 8 Mai 1945, 48095"),
        ("rue du huit mai 1945 mende", "Rue du 8 Mai 1945, 48095"),
        (
            "3 av mal foch 48000 mende",
            "3 Avenue du Maréchal Foch, 48095",
        ),
        (
            "241 ch de st ilpide mende",
            "241 Chemin de Saint-Ilpide, 48095",
        ),
        (
            "Résidence les Tilleuls Bât C Apt 3 19 avenue de la gare 48100 Marvejols",
            "19 Avenue de la Gare, 48092",
        ),
        (
            "19 avenue de la gare aumont-aubrac",
            "19 Avenue de la Gare, 48009",
        ),
        (
            "19 avenue de la gare 48130 peyre en aubrac",
            "19 Avenue de la Gare, 48009",
        ),
        ("le pré de suzon marvejols", "Le Pré de Suzon, 48092"),
        (
            "19 avenue de lagare marvejols",
            "19 Avenue de la Gare, 48092",
        ),
        (
            "12 ruedelarepublique 48000 mende",
            "12 Rue de la République, 48095",
        ),
        (
            "12 rue de la république 48000 mende france",
            "12 Rue de la République, 48095",
        ),
        (
            "241 r de st ilpide mende",
            "241 Chemin de Saint-Ilpide, 48095",
        ),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(
            found.first().map(|one| label(&geocoder, one)).as_deref(),
            Some(expected),
            "{text}"
        );
        assert!(
            found[0].probability > 0.5,
            "{text}: {}",
            found[0].probability
        );
    }
}

/// Returns an address in Mende.
fn in_mende(street: &str, name: &str, number: Option<u32>, suffix: &str) -> AddressRow {
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

#[test]
fn a_suffix_comes_back_as_the_base_writes_it() {
    let suffixes = ["", "2", "rep", "a bis", "b1", "bis", "qua"];
    let rows: Vec<AddressRow> = suffixes
        .iter()
        .map(|suffix| in_mende("0500", "Rue du Collège", Some(6), suffix))
        .collect();
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("6", ""),
        ("6 2", "2"),
        ("6 rep", "rep"),
        ("6 A bis", "a bis"),
        ("6B1", "b1"),
        ("6 b 1", "b1"),
        ("6bis", "bis"),
        ("6 qua", "qua"),
    ] {
        let text = format!("{text} rue du collège mende");
        let found = search(&geocoder, &text, false);
        let NumberMatch::Found(house) = &found[0].number else {
            panic!("{text}: {:?}", found[0].number);
        };
        assert_eq!(
            (house.number, house.suffix_label()),
            (6, expected),
            "{text}"
        );
    }
}

#[test]
fn a_house_number_has_its_own_postal_code() {
    let mut rows: Vec<AddressRow> = (1..40)
        .map(|number| in_mende("0510", "Route de Langogne", Some(number), ""))
        .collect();
    for row in &mut rows[30..] {
        row.postal_code = "48190".into();
    }
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (number, code) in [(1, 48_000), (30, 48_000), (31, 48_190), (39, 48_190)] {
        let text = format!("{number} route de langogne {code} mende");
        let found = search(&geocoder, &text, false);
        let NumberMatch::Found(house) = &found[0].number else {
            panic!("{text}: {:?}", found[0].number);
        };
        assert_eq!(house.postal_code, code, "{text}");
        assert_eq!(found[0].matched.postal_code, PartMatch::Exact, "{text}");
    }
    assert_eq!(
        geocoder.segments()[0].area_postal_codes(0),
        [48_000, 48_190]
    );
}

#[test]
fn provisional_numbers_are_not_offered() {
    let rows = [Some(0), Some(99_999), None, Some(3)]
        .map(|number| in_mende("0520", "Rue Basse", number, ""));
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    assert_eq!(geocoder.segments()[0].streets(), 1);
    for text in ["0 rue basse mende", "99999 rue basse mende"] {
        let found = search(&geocoder, text, false);
        assert_eq!(found[0].kind, ResultKind::Street, "{text}");
    }
    let near = geocoder.reverse(44.6, 3.6, 5, 1_000.0);
    let is_three = |one: &Near| matches!(one, Near::Address(_, one) if one.number.as_ref().is_some_and(|house| house.number == 3));
    assert!(near.iter().all(is_three), "{near:?}");
}

#[test]
fn dates_are_no_house_numbers_and_france_may_be_a_name() {
    let rows = [
        in_mende("0530", "Rue du Onze Novembre", Some(4), ""),
        in_mende("0540", "Rue de France", Some(5), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        (
            "11 novembre 1918 48000 mende",
            "Rue du Onze Novembre, 48095",
        ),
        (
            "4 rue du 11 novembre 1918 mende",
            "4 Rue du Onze Novembre, 48095",
        ),
        ("5 de France 48000 mende", "5 Rue de France, 48095"),
        ("48000 mende 5 rue de france", "5 Rue de France, 48095"),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
    assert_eq!(
        search(&geocoder, "11 novembre 1918 48000 mende", false)[0].number,
        NumberMatch::NotAsked
    );
}

#[test]
fn a_title_left_out_and_words_added_leave_the_answer_sure() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for (text, expected) in [
        ("av foch mende", "Avenue du Maréchal Foch"),
        ("3 avenue foch 48000 mende", "3 Avenue du Maréchal Foch"),
        (
            "rue de la République MENDE \"centre\"",
            "Rue de la République",
        ),
        (
            "12 rue de la République, quartier de la Gare, Mende",
            "12 Rue de la République",
        ),
        (
            "Cabinet Foch, 12 rue de la République 48000 Mende",
            "12 Rue de la République",
        ),
        (
            "12 rue de la République chez M. Martin Mende centre ville",
            "12 Rue de la République",
        ),
    ] {
        let found = search(&geocoder, text, false);
        let first = found.first().unwrap_or_else(|| panic!("{text}"));
        assert!(
            label(&geocoder, first).starts_with(expected),
            "{text}: {}",
            label(&geocoder, first)
        );
        assert!(first.probability > 0.8, "{text}: {}", first.probability);
    }
}

#[test]
fn a_town_alone_is_no_sure_answer_to_a_street() {
    for geocoder in [
        Geocoder::new(vec![segment(&rows())]),
        Geocoder::new(Vec::new()),
    ] {
        for text in [
            "12 rue Xyz, Mende",
            "12 rue de la Xqzzy 48000 Mende",
            "rue Xqzzy Mende",
        ] {
            let found = search(&geocoder, text, false);
            let unsure = found.iter().all(|one| one.probability < 0.45);
            assert!(unsure, "{text}: {found:?}");
        }
    }
    let town = &search(
        &Geocoder::new(vec![segment(&rows())]),
        "Mende centre",
        false,
    )[0];
    assert!(
        town.kind == ResultKind::Municipality && town.probability > 0.6,
        "{town:?}"
    );
}

#[test]
fn a_former_commune_tells_two_streets_of_one_name_apart() {
    let former = |street: &str, code: &str, name: &str, lat: f64| AddressRow {
        insee_code: "48009".into(),
        commune: "Peyre en Aubrac".into(),
        postal_code: "48130".into(),
        former_code: code.into(),
        former_name: name.into(),
        lat,
        ..in_mende(street, "Place de l'Église", Some(1), "")
    };
    let rows = [
        former("0600", "", "", 44.60),
        former("0610", "48009", "Aumont-Aubrac", 44.61),
        former("0620", "48076", "Javols", 44.62),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, lat) in [
        ("1 place de l'église 48130 javols", 44.62),
        ("1 place de l'église aumont-aubrac", 44.61),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(position(&geocoder, &found[0]).0, lat, "{text}");
    }
}

#[test]
fn a_street_that_may_lie_in_several_towns_is_never_certain() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let found = search(&geocoder, "19 avenue de la gare", false);
    assert_eq!(found[0].kind, ResultKind::HouseNumber);
    assert!(found[0].probability <= 0.5, "{}", found[0].probability);
}

/// Returns a Place de la Mairie in each of some communes, one to the north of the other.
fn town_halls() -> Vec<AddressRow> {
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

#[test]
fn of_many_streets_of_one_name_the_nearest_comes_first() {
    let rows = town_halls();
    assert!(rows.len() > 2 * KEPT_OF_READING, "{}", rows.len());
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let wanted = &rows[70];
    for autocomplete in [false, true] {
        let request = SearchRequest {
            text: "place de la mairie".into(),
            limit: 5,
            autocomplete,
            near: Some((wanted.lat, wanted.lon)),
            ..SearchRequest::default()
        };
        let found = geocoder.search(&request);
        let expected = format!("Place de la Mairie, {}", wanted.insee_code);
        assert_eq!(label(&geocoder, &found[0]), expected, "{autocomplete}");
        assert!(found[0].probability <= 0.5, "{}", found[0].probability);
    }
}

#[test]
fn a_commune_merged_since_the_edition_is_a_former_one_of_its_commune() {
    // Aumont-Aubrac (48009) is the seat of Peyre en Aubrac now; Javols (48076) was merged into it.
    let mut row = in_mende("0010", "Rue de Toulouse", Some(2), "");
    (row.insee_code, row.commune, row.postal_code) =
        ("48076".into(), "Javols".into(), "48130".into());
    let geocoder = Geocoder::new(vec![segment(&[row])]);
    for text in [
        "2 rue de toulouse 48130 javols",
        "2 rue de toulouse 48130 peyre en aubrac",
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(
            label(&geocoder, &found[0]),
            "2 Rue de Toulouse, 48009",
            "{text}"
        );
    }
}

#[test]
fn a_town_is_also_known_by_the_name_that_its_addresses_give_it() {
    // The official name of 09207 is Montgailhard.
    let mut row = in_mende("0010", "Route de Foix", Some(2), "");
    (row.insee_code, row.commune) = ("09207".into(), "Montgaillard".into());
    row.postal_code = "09330".into();
    let other = in_mende("0020", "Route de Foix", Some(2), "");
    let geocoder = Geocoder::new(vec![segment(&[row, other])]);
    for text in [
        "2 route de foix montgaillard",
        "2 route de foix montgailard",
        "2 route de foix montgailhard",
    ] {
        let found = search(&geocoder, text, false);
        let expected = "2 Route de Foix, 09207";
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
    let found = search(&geocoder, "2 route de foix montgail", true);
    assert_eq!(label(&geocoder, &found[0]), "2 Route de Foix, 09207");
}

#[test]
fn a_collectivity_overseas_is_found_by_its_name() {
    let mut row = in_mende("0010", "Rue de Hollande", Some(26), "");
    (row.insee_code, row.commune) = ("97801".into(), "Saint-Martin".into());
    row.postal_code = "97150".into();
    let geocoder = Geocoder::new(vec![segment(&[row])]);
    let found = search(&geocoder, "26 rue de hollande saint martin", false);
    let expected = "26 Rue de Hollande, 97801";
    assert_eq!(label(&geocoder, &found[0]), expected);
    assert!(found[0].probability > 0.5, "{}", found[0].probability);
}

#[test]
fn a_street_named_after_a_town_is_found_elsewhere() {
    let mut row = in_mende("0010", "Route de Marvejols", Some(12), "");
    (row.insee_code, row.commune) = ("48061".into(), "Florac Trois Rivières".into());
    let geocoder = Geocoder::new(vec![segment(&[row])]);
    let found = search(&geocoder, "12 route de marvejols", false);
    assert_eq!(label(&geocoder, &found[0]), "12 Route de Marvejols, 48061");
}

#[test]
fn a_house_number_that_is_not_there_leaves_the_street() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let found = search(&geocoder, "99 rue de la république 48000 mende", false);
    assert_eq!(label(&geocoder, &found[0]), "Rue de la République, 48095");
    assert_eq!(
        (found[0].kind, &found[0].number),
        (ResultKind::Street, &NumberMatch::Missing)
    );
}

#[test]
fn a_street_of_another_town_is_never_offered_as_certain() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    // The place is in Mende, and Lyon is not in the base.
    for text in [
        "1 place urbain v 48100 marvejols",
        "1 place urbain v 69001 Lyon",
    ] {
        for one in search(&geocoder, text, false) {
            let is_place = one.street.is_some_and(|(_, street)| {
                geocoder.segments()[0].street_name(street) == "Place Urbain V"
            });
            assert!(
                !is_place || one.probability < 0.3,
                "{text}: {}",
                one.probability
            );
        }
    }
}

#[test]
fn a_commune_is_found_before_anything_is_imported() {
    let geocoder = Geocoder::new(Vec::new());
    for (text, code) in [
        ("Mende", "48095"),
        ("13013 marseille", "13213"),
        ("saint étienne 42000", "42218"),
        ("conques 12320", "12218"),
    ] {
        let found = search(&geocoder, text, false);
        let place = found
            .first()
            .and_then(|one| Places::get().place(one.place?));
        let root = place
            .and_then(|place| place.parent)
            .and_then(|parent| Places::get().place(parent));
        let codes = [place.map(|place| place.code), root.map(|place| place.code)];
        assert!(codes.contains(&Some(code)), "{text}: {codes:?}");
    }
}

#[test]
fn what_is_being_typed_is_completed() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for (text, expected) in [
        ("12 rue de la rép mende", "12 Rue de la République, 48095"),
        ("3 avenue du mar", "3 Avenue du Maréchal Foch, 48095"),
        (
            "12 rue de la république men",
            "12 Rue de la République, 48095",
        ),
    ] {
        let found = search(&geocoder, text, true);
        assert_eq!(
            found.first().map(|one| label(&geocoder, one)).as_deref(),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn a_position_gives_its_neighbours_or_its_commune() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let near = geocoder.reverse(44.5001, 3.50005, 2, METRES_MAX);
    let names: Vec<(&str, Option<u32>)> = near
        .iter()
        .map(|one| match one {
            Near::Address(number, one) => {
                let name = geocoder.segments()[*number].street_name(one.street);
                (name, one.number.as_ref().map(|house| house.number))
            }
            Near::Commune(_) => ("", None),
        })
        .collect();
    assert_eq!(
        names,
        [
            ("Rue de la République", Some(1)),
            ("Rue de la République", Some(2))
        ]
    );
    let code = |lat, lon| match geocoder.reverse(lat, lon, 1, METRES_MAX).as_slice() {
        [Near::Commune(place)] => Places::get().place(*place).map(|place| place.code),
        _ => None,
    };
    assert_eq!(code(48.8566, 2.3522), Some("75056"));
    assert_eq!(code(46.0, -6.0), None);
}

#[test]
fn hostile_texts_are_answered_or_find_nothing() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let long = "a".repeat(10_000);
    let words = "rue ".repeat(2_500);
    for text in [
        "",
        "48000",
        "1234567890123456789012",
        "🏠🏠",
        "e\u{301}\u{301}\u{301}",
        "شارع",
        long.as_str(),
        words.as_str(),
    ] {
        for autocomplete in [false, true] {
            let found = search(&geocoder, text, autocomplete);
            assert!(
                found
                    .iter()
                    .all(|one| (0.0..=1.0).contains(&one.probability))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_a_search_fail(text in "\\PC{0,60}", autocomplete: bool) {
        thread_local! {
            static GEOCODER: Geocoder = Geocoder::new(vec![segment(&rows())]);
        }
        GEOCODER.with(|geocoder| {
            let found = search(geocoder, &text, autocomplete);
            let sorted = found.windows(2).all(|pair| pair[0].probability >= pair[1].probability);
            prop_assert!(sorted);
            Ok(())
        })?;
    }

    #[test]
    fn the_nearest_are_the_nearest(points in prop::collection::vec((0_i32..20_000, 0_i32..20_000), 1..60), lat in 0_i32..20_000, lon in 0_i32..20_000, count in 1_usize..8) {
        let degrees = |parts: i32, base: f64| base + f64::from(parts) / 1e6;
        let rows: Vec<AddressRow> = points
            .iter()
            .enumerate()
            .map(|(index, (lat, lon))| AddressRow {
                id: format!("48095_{:04}_{:05}", index % 5, index + 1),
                number: Some(index as u32 + 1),
                name: format!("Rue {}", index % 5),
                insee_code: "48095".into(),
                lat: degrees(*lat, 44.5),
                lon: degrees(*lon, 3.5),
                ..AddressRow::default()
            })
            .collect();
        let (lat, lon) = (degrees(lat, 44.5), degrees(lon, 3.5));
        let found = segment(&rows).nearest(lat, lon, count, f64::INFINITY);
        let mut expected: Vec<f64> = rows.iter().map(|row| planar_distance_m(lat, lon, row.lat, row.lon)).collect();
        expected.sort_by(f64::total_cmp);
        expected.truncate(count);
        prop_assert_eq!(found.len(), expected.len());
        for (one, metres) in found.iter().zip(expected) {
            prop_assert!((one.metres - metres).abs() < 0.2, "{} {}", one.metres, metres);
        }
    }
}

/// Returns an address of a commune, at a latitude.
fn in_commune(code: &str, commune: &str, name: &str, number: u32, lat: f64) -> AddressRow {
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

#[test]
fn a_street_whose_name_is_like_a_town_is_found_without_its_town() {
    let rows = [
        in_commune("48092", "Marvejols", "Rue Henri Saumande", 9, 44.5),
        in_commune(
            "48092",
            "Marvejols",
            "Avenue Pierre Mendès France",
            47,
            44.6,
        ),
        in_mende("0010", "Rue Henri Rivière", Some(9), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, autocomplete, expected) in [
        ("9 Rue Henri Saumande", false, "9 Rue Henri Saumande, 48092"),
        ("9 rue henri saumende", false, "9 Rue Henri Saumande, 48092"),
        (
            "9 rue henri saumande xqzville",
            false,
            "9 Rue Henri Saumande, 48092",
        ),
        ("9 rue henri sau", true, "9 Rue Henri Saumande, 48092"),
        (
            "47 Avenue Pierre Mendès France",
            false,
            "47 Avenue Pierre Mendès France, 48092",
        ),
    ] {
        let found = search(&geocoder, text, autocomplete);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
    let sure = &search(&geocoder, "9 Rue Henri Saumande", false)[0];
    assert!(sure.probability > 0.9, "{}", sure.probability);
    let begun = search(&geocoder, "9 rue hen", true);
    let streets = begun
        .iter()
        .filter(|one| one.kind == ResultKind::HouseNumber);
    assert_eq!(streets.count(), 2, "{begun:?}");
}

#[test]
fn a_street_named_with_its_town_is_not_looked_for_elsewhere() {
    let rows = [
        in_commune("48092", "Marvejols", "Rue de Mende", 12, 44.5),
        in_mende("0010", "Rue Basse", Some(12), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = search(&geocoder, "12 rue de la paix mende", false);
    assert!(found.iter().all(|one| one.probability < 0.5), "{found:?}");
}

#[test]
fn streets_of_one_name_share_their_probability() {
    let rows: Vec<AddressRow> = town_halls().into_iter().take(30).collect();
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let mut request = SearchRequest {
        text: "1 place de la mairie".into(),
        limit: 30,
        ..SearchRequest::default()
    };
    let found = geocoder.search(&request);
    assert_eq!(found.len(), 30);
    assert!(found.iter().all(|one| one.probability <= 1.0 / 30.0));
    // The share does not depend on the number of results asked for.
    request.limit = 1;
    assert!(geocoder.search(&request)[0].probability <= 1.0 / 30.0);
    // Streets beyond those that are kept count too.
    let all = Geocoder::new(vec![segment(&town_halls())]);
    assert!(all.search(&request)[0].probability <= 1.0 / 100.0);
    request.near = Some((rows[7].lat, rows[7].lon));
    let first = &geocoder.search(&request)[0];
    assert_eq!(position(&geocoder, first).0, rows[7].lat);
    assert!(first.probability > 0.4, "{}", first.probability);
}

#[test]
fn the_postal_code_is_that_of_the_address() {
    let row = |id: &str, code: &str, former: [&str; 2], lat: f64| AddressRow {
        id: format!("69149_{id}_00002"),
        postal_code: code.into(),
        former_code: former[0].into(),
        former_name: former[1].into(),
        ..in_commune(
            "69149",
            "Oullins-Pierre-Bénite",
            "Boulevard de l'Europe",
            2,
            lat,
        )
    };
    let geocoder = Geocoder::new(vec![segment(&[
        row("a1b2c3", "69600", ["69149", "Oullins"], 45.7143),
        row("d4e5f6", "69310", ["69152", "Pierre-Bénite"], 45.7033),
    ])]);
    for (town, lat) in [
        ("69310 Oullins-Pierre-Bénite", 45.7033),
        ("69600 Oullins-Pierre-Bénite", 45.7143),
        ("69310 Pierre-Bénite", 45.7033),
        ("69600 Oullins", 45.7143),
        ("Pierre Bénite", 45.7033),
    ] {
        let found = search(
            &geocoder,
            &format!("2 boulevard de l'Europe, {town}"),
            false,
        );
        assert_eq!(position(&geocoder, &found[0]).0, lat, "{town}");
        assert!(
            found[0].probability > 0.9,
            "{town}: {}",
            found[0].probability
        );
        if town.starts_with('6') {
            assert_eq!(found[0].matched.postal_code, PartMatch::Exact, "{town}");
            let other = found.iter().find(|one| position(&geocoder, one).0 != lat);
            let other = other.filter(|one| one.kind == ResultKind::HouseNumber);
            assert!(
                other.is_none_or(|one| one.matched.postal_code == PartMatch::Conflict),
                "{town}"
            );
        }
    }
}

#[test]
fn the_town_decides_between_two_streets_of_one_postal_code() {
    let rows = [
        AddressRow {
            postal_code: "09100".into(),
            ..in_commune(
                "09265",
                "Saint-Jean-du-Falga",
                "Avenue des Pyrénées",
                22,
                43.09,
            )
        },
        AddressRow {
            postal_code: "09100".into(),
            ..in_commune(
                "09339",
                "Villeneuve-du-Paréage",
                "Avenue des Pyrénées",
                22,
                43.15,
            )
        },
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (town, lat) in [
        ("Saint-Jean-du-Falga", 43.09),
        ("Villeneuve du Pareage", 43.15),
        ("Villeneuve", 43.15),
        ("Falga", 43.09),
    ] {
        let found = search(
            &geocoder,
            &format!("22 Avenue des Pyrénées 09100 {town}"),
            false,
        );
        assert_eq!(position(&geocoder, &found[0]).0, lat, "{town}");
        assert!(
            found[0].probability > 0.6,
            "{town}: {}",
            found[0].probability
        );
    }
}

#[test]
fn an_insee_code_names_its_commune() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for (text, code) in [
        ("2A001", "2A001"),
        ("2b033", "2B033"),
        ("01053", "01053"),
        ("48095", "48095"),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), format!(", {code}"), "{text}");
        assert!(
            found[0].probability > 0.9,
            "{text}: {}",
            found[0].probability
        );
    }
    let found = search(&geocoder, "12 rue de la république 48095", false);
    assert_eq!(
        label(&geocoder, &found[0]),
        "12 Rue de la République, 48095"
    );
}

#[test]
fn numbers_are_read_in_words_and_digits() {
    let names = [
        "Avenue du 30e Corps",
        "Rue du 8 Mai",
        "Rue François 1er",
        "RN 599",
        "Rue Louis XIV",
        "Rue du Dix-Huit Juin",
        "Route Départementale 12",
    ];
    let rows: Vec<AddressRow> = names
        .iter()
        .enumerate()
        .map(|(at, name)| in_mende(&format!("07{at:02}"), name, Some(57), ""))
        .collect();
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("Avenue Trentieme Corps", names[0]),
        ("avenue du XXXe corps", names[0]),
        ("rue du huit mai", names[1]),
        ("rue françois premier", names[2]),
        ("rue françois Ier", names[2]),
        ("nationale 599", names[3]),
        ("route nationale 599", names[3]),
        ("rue louis quatorze", names[4]),
        ("rue louis 14", names[4]),
        ("rue du 18 juin", names[5]),
        ("D 12", names[6]),
        ("RD 12", names[6]),
    ] {
        let found = search(&geocoder, &format!("57 {text} 48000 mende"), false);
        assert_eq!(
            label(&geocoder, &found[0]),
            format!("57 {expected}, 48095"),
            "{text}"
        );
        assert!(
            found[0].probability > 0.6,
            "{text}: {}",
            found[0].probability
        );
    }
}

#[test]
fn suffixes_and_ranges_of_house_numbers_are_read() {
    let mut rows: Vec<AddressRow> = ["", "ter"]
        .map(|suffix| in_mende("0800", "Rue de la Terrasse", Some(14), suffix))
        .into();
    rows.push(in_mende("0800", "Rue de la Terrasse", Some(16), ""));
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("14TER", "14ter"),
        ("14 ter", "14ter"),
        ("14t", "14ter"),
        ("14/16", "14"),
        ("14 à 16", "14"),
        ("14-16", "14"),
        ("16-18", "16"),
    ] {
        let found = search(
            &geocoder,
            &format!("{text} rue de la terrasse 48000 mende"),
            false,
        );
        assert_eq!(
            label(&geocoder, &found[0]),
            format!("{expected} Rue de la Terrasse, 48095"),
            "{text}"
        );
    }
}
