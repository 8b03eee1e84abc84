//! Tests of towns, former communes and codes that locate a street.

use toise_geo::places::Places;
use toise_geocode::Geocoder;
use toise_geocode::index::builder::AddressRow;
use toise_geocode::request::{parse_reverse, parse_search};
use toise_geocode::reverse::Near;
use toise_geocode::search::{NumberMatch, PartMatch, ResultKind, position};

use crate::base::{in_commune, in_mende, label, rows, search, segment};

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
fn the_centre_of_a_town_is_the_town_unless_a_place_is_called_so() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for text in [
        "le bourg 48000 mende",
        "centre ville 48000 Mende",
        "au bourg, mende",
        "le bourg, 48000 Mende, Lozère, France",
    ] {
        let town = &search(&geocoder, text, false)[0];
        assert_eq!(town.kind, ResultKind::Municipality, "{text}");
        let probability = town.probability;
        assert!((0.6..0.9).contains(&probability), "{text}: {probability}");
    }
    let rows = [in_mende("0010", "Le Bourg", Some(3), "")];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = search(&geocoder, "le bourg 48000 mende", false);
    assert_eq!(label(&geocoder, &found[0]), "Le Bourg, 48095");
}

#[test]
fn a_town_in_the_name_of_its_street_belongs_to_the_street() {
    let row = |street: &str, name: &str, lat: f64| AddressRow {
        id: format!("48128_{street}_00002"),
        ..in_commune("48128", "Rimeize", name, 2, lat)
    };
    let rows = [
        row("0010", "Impasse de la Vallée", 44.76),
        row("0020", "Vallée de la Rimeize", 44.77),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("2 vallee de la rimeize 48200", "2 Vallée de la Rimeize"),
        ("2 vallée de la Rimeize", "2 Vallée de la Rimeize"),
        (
            "2 impasse de la vallée 48200 Rimeize",
            "2 Impasse de la Vallée",
        ),
        ("2 impasse de la vallée Rimeize", "2 Impasse de la Vallée"),
    ] {
        let found = &search(&geocoder, text, false)[0];
        assert_eq!(
            label(&geocoder, found),
            format!("{expected}, 48128"),
            "{text}"
        );
        assert!(found.probability > 0.8, "{text}: {}", found.probability);
    }
}

#[test]
fn a_town_with_two_typing_errors_is_found_with_its_street() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let found = &search(&geocoder, "19 avenue de la gare marbejolz", false)[0];
    assert_eq!(label(&geocoder, found), "19 Avenue de la Gare, 48092");
    assert_eq!(found.matched.city, PartMatch::Fuzzy);
    let probability = found.probability;
    assert!((0.5..0.9).contains(&probability), "{probability}");
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
        ("1 place de l'église javols, peyre en aubrac", 44.62),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(position(&geocoder, &found[0]).0, lat, "{text}");
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
fn the_first_words_of_a_town_name_it() {
    let row = in_commune("04070", "Digne-les-Bains", "Avenue Colonel Noël", 12, 44.1);
    let geocoder = Geocoder::new(vec![segment(&[row])]);
    for town in [
        "digne",
        "digne (04)",
        "04005 digne cedex",
        "04990 DIGNE CEDEX 9",
    ] {
        let text = format!("12 avenue colonel noel {town}");
        let found = search(&geocoder, &text, false);
        let expected = "12 Avenue Colonel Noël, 04070";
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
        let matched = found[0].matched;
        assert_eq!(matched.city, PartMatch::Fuzzy, "{text}");
        assert_ne!(matched.postal_code, PartMatch::Conflict, "{text}");
        let probability = found[0].probability;
        assert!(probability > 0.5, "{text}: {probability}");
    }
}

#[test]
fn the_first_words_of_a_town_name_it_although_another_town_is_called_so() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    // Two communes of other departments are called Aumont.
    for (town, is_sure) in [
        ("48130 aumont", true),
        ("aumont 48130", true),
        ("aumont (48)", true),
        ("aumont", false),
    ] {
        let text = format!("19 avenue de la gare {town}");
        let found = &search(&geocoder, &text, false)[0];
        let expected = "19 Avenue de la Gare, 48009";
        assert_eq!(label(&geocoder, found), expected, "{text}");
        let probability = found.probability;
        assert_eq!(probability > 0.5, is_sure, "{text}: {probability}");
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
fn a_department_behind_the_town_is_read() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for town in [
        "Mende (48)",
        "Mende 48",
        "Mende, 48 France",
        "48000 Mende (48)",
        "Mende, Lozère",
        "48000 Mende, Lozère, Occitanie, France",
        "Mende, Lozère, Occitanie, France métropolitaine, 48000, France",
    ] {
        let found = &search(&geocoder, &format!("12 rue de la république {town}"), false)[0];
        let expected = "12 Rue de la République, 48095";
        assert_eq!(label(&geocoder, found), expected, "{town}");
        assert!(found.probability > 0.9, "{town}: {}", found.probability);
    }
    let nothing = Geocoder::new(Vec::new());
    for (text, code) in [
        ("Mende 48000 France", "48095"),
        ("Mende, Lozère, Occitanie, France", "48095"),
        ("Marseille 13 (13001)", "13201"),
        ("Marseille 13 13013", "13213"),
        ("Marseille 13", "13213"),
        ("Ajaccio (2A)", "2A004"),
    ] {
        let found = search(&nothing, text, false);
        assert_eq!(label(&nothing, &found[0]), format!(", {code}"), "{text}");
    }
    // A number behind the name of a street is its house number.
    let street = in_commune("48092", "Marvejols", "Rue Vieille de Mende", 48, 44.5);
    let geocoder = Geocoder::new(vec![segment(&[street])]);
    let found = search(&geocoder, "rue vieille de mende 48", false);
    let expected = "48 Rue Vieille de Mende, 48092";
    assert_eq!(label(&geocoder, &found[0]), expected);
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
        ("Vileneufe", 43.15),
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
fn the_postal_code_of_a_whole_city_finds_its_arrondissements() {
    let paix = "Rue de la Paix";
    let geocoder = Geocoder::new(vec![segment(&[
        in_commune("75102", "Paris 2e Arrondissement", paix, 12, 48.87),
        in_commune("69383", "Lyon 3e Arrondissement", paix, 12, 45.75),
        in_commune("48095", "Mende", paix, 12, 44.52),
    ])]);
    let parameters = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(pair).collect()
    };
    for (postal_code, other, expected) in [
        ("75000", ("type", "housenumber"), Some("75102")),
        ("69000", ("type", "housenumber"), Some("69383")),
        ("75000", ("citycode", "75102"), Some("75102")),
        ("75000", ("city", "Paris"), Some("75102")),
        ("75000", ("city", "Lyon"), None),
        ("75000", ("citycode", "69383"), None),
    ] {
        let text = ("q", "12 rue de la paix");
        let asked = parameters(&[text, ("postcode", postal_code), other]);
        let found = geocoder.search(&parse_search(&asked).unwrap().request);
        let found = found.first().map(|one| label(&geocoder, one));
        let expected = expected.map(|code| format!("12 {paix}, {code}"));
        assert_eq!(found, expected, "{postal_code} {other:?}");
    }
    for (postal_code, count) in [("75000", 1), ("69000", 0)] {
        let asked = [("lat", "48.87"), ("lon", "3.5"), ("postcode", postal_code)];
        let asked = parse_reverse(&parameters(&asked)).unwrap();
        let near = geocoder.reverse_filtered(&asked);
        let addresses = near.iter().filter(|one| matches!(one, Near::Address(..)));
        assert_eq!(addresses.count(), count, "{postal_code}");
    }
}
