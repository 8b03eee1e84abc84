//! The parts of an address: what is irrelevant, how each part agrees, and how far from a result the address may be.

use toise_geocode::Geocoder;
use toise_geocode::address::Confidence;
use toise_geocode::index::builder::AddressRow;
use toise_geocode::search::{Match, NumberMatch, PartMatch, ResultKind, SearchRequest};

use crate::base::{in_commune, in_mende, label, rows, search, segment};

use PartMatch::{Conflict, Exact, Fuzzy, Missing};

/// Returns how house number, street, postal code and commune agree.
fn agreement(one: &Match) -> [PartMatch; 4] {
    let matched = one.matched;
    [
        matched.house_number,
        matched.street,
        matched.postal_code,
        matched.city,
    ]
}

#[test]
fn each_part_agrees_as_it_is_written() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    #[rustfmt::skip]
    let cases = [
        ("12 rue de la république 48000 mende", [Exact, Exact, Exact, Exact]),
        ("99 rue de la république 48000 mende", [Missing, Exact, Exact, Exact]),
        ("rue de la république mende", [Missing, Exact, Missing, Exact]),
        ("12 rue de la république 48100 mende", [Exact, Exact, Conflict, Exact]),
        // The number of a post box is not a house number, and the base has no CEDEX codes.
        ("12 rue de la république BP 30 48005 Mende CEDEX", [Exact, Exact, Fuzzy, Exact]),
        ("12 rue de la république 48005 Mende CEDEX 9", [Exact, Exact, Fuzzy, Exact]),
        // An INSEE code is not a postal code.
        ("12 rue de la république 48095", [Exact, Exact, Missing, Exact]),
        ("12 rue de la république 48095 mende", [Exact, Exact, Missing, Exact]),
        ("19 avenue de la gare 48130 aumont-aubrac", [Exact, Exact, Exact, Exact]),
        ("19 avenue de la gare aumont aubrac", [Exact, Exact, Missing, Exact]),
        ("12 rue de la république marvejols", [Missing, Exact, Missing, Exact]),
    ];
    for (text, expected) in cases {
        let found = search(&geocoder, text, false);
        assert_eq!(agreement(&found[0]), expected, "{text}: {found:?}");
    }
}

#[test]
fn the_beginning_of_a_town_is_not_its_exact_name() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let text = "12 rue de la république mend";
    let found = &search(&geocoder, text, true)[0];
    assert_eq!(label(&geocoder, found), "12 Rue de la République, 48095");
    assert_eq!(found.matched.city, Fuzzy);
}

#[test]
fn an_insee_code_selects_its_commune() {
    let street = in_commune("48092", "Marvejols", "Rue des Tanneries", 12, 44.5);
    let geocoder = Geocoder::new(vec![segment(&rows()), segment(&[street])]);
    let in_marvejols = "12 Rue des Tanneries, 48092";
    let found = search(&geocoder, "12 rue des tanneries 48092", false);
    assert_eq!(label(&geocoder, &found[0]), in_marvejols);
    for found in search(&geocoder, "12 rue des tanneries 48095", false) {
        assert_ne!(label(&geocoder, &found), in_marvejols);
    }
}

#[test]
fn a_box_is_no_house_number_and_a_cedex_falls_back_to_its_town() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for text in [
        "B.P. 12 48100 MARVEJOLS CEDEX",
        "BP12 48103 Marvejols CEDEX",
        "CS 30001 48103 Marvejols Cedex 3",
    ] {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), ", 48092", "{text}");
        assert_eq!(found[0].number, NumberMatch::NotAsked, "{text}");
        assert_eq!(found[0].matched.city, Exact, "{text}");
    }
    let nothing = Geocoder::new(Vec::new());
    let found = search(&nothing, "75775 Paris CEDEX 16", false);
    assert_eq!(label(&nothing, &found[0]), ", 75116");
}

#[test]
fn buildings_and_floors_cost_nothing() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let plain = &search(&geocoder, "12 rue de la république 48000 mende", false)[0];
    for text in [
        "3e étage 12 rue de la république 48000 mende",
        "12 rue de la république bât B 48000 mende",
        "12 rue de la république appt n° 12 48000 mende",
        "Résidence les Tilleuls 12 rue de la république 48000 mende",
        "12 rue de la république résidence les Tilleuls 48000 mende",
        "Rés. les Pins esc. C 2ème étage porte 14, 12 rue de la république 48000 mende",
    ] {
        let found = &search(&geocoder, text, false)[0];
        assert_eq!(
            label(&geocoder, found),
            "12 Rue de la République, 48095",
            "{text}"
        );
        assert!((found.score - plain.score).abs() < 1e-4, "{text}");
        assert!(
            (found.probability - plain.probability).abs() < 1e-3,
            "{text}"
        );
    }
}

/// Returns a named place of Mende without house numbers.
fn hamlet(street: &str, name: &str, lat: f64) -> AddressRow {
    AddressRow {
        lat,
        ..in_mende(street, name, None, "")
    }
}

#[test]
fn a_missing_house_number_is_uncertain_by_a_distance() {
    let houses = (1..30).map(|number| AddressRow {
        lat: 44.5 + f64::from(number) * 0.0001,
        ..in_mende("0900", "Rue du Moulin", Some(number), "")
    });
    let mut rows: Vec<AddressRow> = houses.collect();
    rows.push(hamlet("B010", "Les Fontanelles", 44.56));
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    #[rustfmt::skip]
    let cases = [
        ("12 les fontanelles 48000 mende", ResultKind::Locality, 1_000, 1_000, Confidence::Medium),
        ("les fontanelles 48000 mende", ResultKind::Locality, 1_000, 1_000, Confidence::High),
        ("99 rue du moulin 48000 mende", ResultKind::Street, 100, 400, Confidence::High),
    ];
    for (text, kind, at_least, at_most, confidence) in cases {
        let found = search(&geocoder, text, false);
        let properties = geocoder.address(&found[0]).properties;
        assert_eq!(properties.kind, kind, "{text}");
        let metres = properties.uncertainty_m.unwrap();
        assert!((at_least..=at_most).contains(&metres), "{text}: {metres}");
        // A result can be sure enough without having high confidence.
        assert!(
            properties.confidence == confidence
                || (confidence == Confidence::High && properties.confidence != Confidence::Low),
            "{text}: {properties:?}"
        );
    }
    // A hamlet of the street's name is another place that may be meant.
    rows.push(hamlet("B020", "Le Moulin", 44.55));
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = search(&geocoder, "99 rue du moulin 48000 mende", false);
    let properties = geocoder.address(&found[0]).properties;
    assert_eq!(properties.kind, ResultKind::Street);
    assert!(properties.uncertainty_m.unwrap() > 4_000, "{properties:?}");
    assert!(properties.confidence != Confidence::High);
    let house = search(&geocoder, "12 rue du moulin 48000 mende", false);
    let properties = geocoder.address(&house[0]).properties;
    assert_eq!(properties.uncertainty_m, None);
}

#[test]
fn a_hamlet_is_sure_whatever_it_is_called() {
    let rows = [
        hamlet("B010", "Les Fontanelles", 44.56),
        in_mende("0900", "Rue du Moulin", Some(1), ""),
        in_mende("0910", "Lieu-dit le Viala", Some(11), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for before in ["", "Hameau", "Ham.", "Lieu-dit", "Lieudit", "Village"] {
        let text = format!("{before} les Fontanelles 48000 Mende");
        let found = &search(&geocoder, &text, false)[0];
        assert_eq!(label(&geocoder, found), "Les Fontanelles, 48095", "{text}");
        assert!(found.probability > 0.95, "{text}: {}", found.probability);
    }
    for text in ["11 le viala", "11 lieudit le viala", "11 hameau le viala"] {
        let found = &search(&geocoder, &format!("{text} 48000 mende"), false)[0];
        assert_eq!(
            label(&geocoder, found),
            "11 Lieu-dit le Viala, 48095",
            "{text}"
        );
    }
}

#[test]
fn the_only_match_is_not_sure_if_it_is_far_from_the_position() {
    let rows = [in_commune(
        "48092",
        "Marvejols",
        "Rue Henri Saumande",
        9,
        44.5,
    )];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let confidence = |text: &str, near| {
        let request = SearchRequest {
            text: text.into(),
            limit: 1,
            near,
            ..SearchRequest::default()
        };
        let properties = geocoder.address(&geocoder.search(&request)[0]).properties;
        (properties.confidence, properties.uncertainty_m)
    };
    let (paris, here) = (Some((48.85, 2.35)), Some((44.51, 3.5)));
    let street = "9 rue henri saumande";
    assert_eq!(confidence(street, None), (Confidence::High, None));
    assert_eq!(confidence(street, here), (Confidence::High, None));
    let (far, metres) = confidence(street, paris);
    assert_eq!(far, Confidence::Medium);
    assert!(metres.unwrap() > 400_000, "{metres:?}");
    let with_town = "9 rue henri saumande marvejols";
    assert_eq!(confidence(with_town, paris), (Confidence::High, None));
}

#[test]
fn a_text_like_nothing_finds_nothing() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    for text in ["xqzzy wvvk", "12 zzz qqq", "lorem ipsum dolor sit amet"] {
        assert_eq!(search(&geocoder, text, false).len(), 0, "{text}");
    }
}

#[test]
fn a_town_that_exists_may_be_another_one_misspelled() {
    let rows = [in_commune("15119", "Maurs", "Rue Ampère", 4, 44.7)];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    // Murs is a commune too.
    let found = &search(&geocoder, "4 rue ampère murs", false)[0];
    assert_eq!(label(&geocoder, found), "4 Rue Ampère, 15119");
    assert!(found.probability < 0.5, "{}", found.probability);
}

#[test]
fn a_town_of_four_letters_may_be_misspelled_at_the_end() {
    let rows = [
        in_commune("09122", "Foix", "Rue Louis Aragon", 6, 42.96),
        in_commune("48095", "Mende", "Rue Louis Aragon", 6, 44.5),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for town in ["fonx", "foxi", "fhoix", "fix"] {
        let text = format!("6 rue louis aragon {town}");
        let found = &search(&geocoder, &text, false)[0];
        assert_eq!(
            label(&geocoder, found),
            "6 Rue Louis Aragon, 09122",
            "{town}"
        );
        assert!(found.probability < 0.5, "{town}: {}", found.probability);
    }
}
