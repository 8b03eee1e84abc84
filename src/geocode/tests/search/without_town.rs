//! Tests of searches for streets without their town, or with a town in their name.

use toise_geocode::Geocoder;
use toise_geocode::index::builder::AddressRow;
use toise_geocode::search::{ResultKind, SearchRequest, position};

use crate::base::{in_commune, in_mende, label, rows, search, segment, town_halls};

#[test]
fn a_street_that_may_lie_in_several_towns_is_never_certain() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let found = search(&geocoder, "19 avenue de la gare", false);
    assert_eq!(found[0].kind, ResultKind::HouseNumber);
    assert!(found[0].probability <= 0.5, "{}", found[0].probability);
}

#[test]
fn of_many_streets_of_one_name_the_nearest_comes_first() {
    let rows = town_halls();
    assert!(rows.len() > 80, "{}", rows.len());
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
fn of_many_streets_of_one_name_the_one_with_the_house_number_is_found() {
    let mut rows = town_halls();
    rows[70].number = Some(95);
    rows[70].id = format!("{}_0900_00095", rows[70].insee_code);
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = &search(&geocoder, "95 place de la mairie", false)[0];
    let expected = format!("95 Place de la Mairie, {}", rows[70].insee_code);
    assert_eq!(label(&geocoder, found), expected);
    assert!(found.probability > 0.9, "{}", found.probability);
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
    #[rustfmt::skip]
    let cases = [
        ("9 Rue Henri Saumande", false, "9 Rue Henri Saumande, 48092"),
        ("9 rue henri saumende", false, "9 Rue Henri Saumande, 48092"),
        ("9 rue henri saumande xqzville", false, "9 Rue Henri Saumande, 48092"),
        ("9 rue henri sau", true, "9 Rue Henri Saumande, 48092"),
        ("47 Avenue Pierre Mendès France", false, "47 Avenue Pierre Mendès France, 48092"),
    ];
    for (text, autocomplete, expected) in cases {
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
fn a_street_whose_name_consists_of_street_types_is_found_without_its_town() {
    let rows = [
        in_mende("0010", "Rue du Pont", Some(12), ""),
        in_commune("48092", "Marvejols", "Grand Rue", 14, 44.5),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("12 rue du pont", "12 Rue du Pont, 48095"),
        ("14 grand rue", "14 Grand Rue, 48092"),
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
    let elsewhere = search(&geocoder, "12 rue du pont marvejols", false);
    assert!(
        elsewhere.iter().all(|one| one.probability < 0.5),
        "{elsewhere:?}"
    );
}

#[test]
fn a_street_type_before_the_beginning_of_a_town_names_no_street() {
    let rows = [
        in_commune("09207", "Montgaillard", "Avenue de Paris", 35, 42.9),
        in_commune("48092", "Marvejols", "Avenue de Mondon", 35, 44.5),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = search(&geocoder, "35 avenue de mon", true);
    let expected = "35 Avenue de Mondon, 48092";
    assert_eq!(label(&geocoder, &found[0]), expected, "{found:?}");
}

#[test]
fn a_street_type_alone_is_completed_to_streets() {
    let rows = [
        in_mende("0010", "Rue du Pont", Some(2), ""),
        in_commune("48092", "Marvejols", "Rue du Barry", 2, 44.5),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let at_barry = Some((rows[1].lat, rows[1].lon));
    for (text, near, expected) in [
        ("2 Rue du", None, "2 Rue du Pont, 48095"),
        ("2 Rue du", at_barry, "2 Rue du Barry, 48092"),
        ("2 Rue d", at_barry, "2 Rue du Barry, 48092"),
    ] {
        let request = SearchRequest {
            text: text.into(),
            limit: 5,
            autocomplete: true,
            near,
            ..SearchRequest::default()
        };
        let found = geocoder.search(&request);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
        let is_house = found.iter().all(|one| one.kind == ResultKind::HouseNumber);
        assert!(is_house && found.len() == 2, "{found:?}");
    }
}

#[test]
fn a_street_is_found_while_its_town_is_begun_as_thousands_are() {
    let rows = [
        in_mende("0010", "Voie Romaine", Some(1), ""),
        in_commune("48140", "Saint-Chély-d'Apcher", "Voie Romaine", 1, 44.8),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for text in ["1 voie romaine sai", "1 voie romaine saint"] {
        let found = search(&geocoder, text, true);
        let first = found.first().map(|one| label(&geocoder, one));
        assert_eq!(first.as_deref(), Some("1 Voie Romaine, 48140"), "{text}");
    }
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
    // An unknown word makes the search look for misspelled words too; each street is still found once.
    let of_unknown_town = SearchRequest {
        text: "1 place de la mairie xqzville".into(),
        autocomplete: true,
        ..request.clone()
    };
    let houses = geocoder.search(&of_unknown_town).into_iter();
    let houses = houses.filter(|one| one.kind == ResultKind::HouseNumber);
    assert_eq!(houses.count(), 30);
    // The share does not depend on the number of results asked for.
    request.limit = 1;
    assert!(geocoder.search(&request)[0].probability <= 1.0 / 30.0);
    // Streets that the search finds but does not keep count too.
    let all = Geocoder::new(vec![segment(&town_halls())]);
    assert!(all.search(&request)[0].probability <= 1.0 / 100.0);
    request.limit = 50;
    assert_eq!(all.search(&request).len(), 50);
    request.near = Some((rows[7].lat, rows[7].lon));
    let first = &geocoder.search(&request)[0];
    assert_eq!(position(&geocoder, first).0, rows[7].lat);
    assert!(first.probability > 0.4, "{}", first.probability);
}
