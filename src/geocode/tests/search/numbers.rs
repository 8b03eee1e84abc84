//! House numbers, their suffixes and ranges, and numbers in the names of streets.

use toise_geocode::Geocoder;
use toise_geocode::index::builder::AddressRow;
use toise_geocode::reverse::Near;
use toise_geocode::search::{NumberMatch, ResultKind};

use crate::base::{in_commune, in_mende, label, rows, search, segment};

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
fn a_house_number_of_five_digits_is_no_postal_code() {
    let street = "Rue de la Martinique";
    let row = in_commune("97105", "Basse-Terre", street, 10_575, 16.0);
    let geocoder = Geocoder::new(vec![segment(&[row])]);
    for text in [
        "10575 rue de la martinique basse-terre",
        "97100 basse-terre 10575 rue de la martinique",
    ] {
        let found = search(&geocoder, text, false);
        let expected = format!("10575 {street}, 97105");
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
}

#[test]
fn a_number_in_the_name_leaves_the_house_number() {
    let rows = [
        in_mende("0550", "Chemin des Quatre Vents", Some(4), ""),
        in_mende("0560", "Rue du 152 Ieme Ri", Some(1), ""),
        in_mende("0570", "Place Saint-François 3", Some(27), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    #[rustfmt::skip]
    let cases = [
        ("4 chemin des uatre vents 48000 mende", "4 Chemin des Quatre Vents, 48095"),
        ("1 rue du 152 iemxe ri 48000 mende", "1 Rue du 152 Ieme Ri, 48095"),
        ("27 place saint-françois 3, bâtiment les érables, 48000 mende", "27 Place Saint-François 3, 48095"),
        ("27 place saint-françois 3 mende centre", "27 Place Saint-François 3, 48095"),
    ];
    for (text, expected) in cases {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
}

#[test]
fn dates_are_no_house_numbers_and_france_may_be_a_name() {
    let rows = [
        in_mende("0530", "Rue du Onze Novembre", Some(4), ""),
        in_mende("0540", "Rue de France", Some(5), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    #[rustfmt::skip]
    let cases = [
        ("11 novembre 1918 48000 mende", "Rue du Onze Novembre, 48095"),
        ("4 rue du 11 novembre 1918 mende", "4 Rue du Onze Novembre, 48095"),
        ("5 de France 48000 mende", "5 Rue de France, 48095"),
        ("48000 mende 5 rue de france", "5 Rue de France, 48095"),
    ];
    for (text, expected) in cases {
        let found = search(&geocoder, text, false);
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
    assert_eq!(
        search(&geocoder, "11 novembre 1918 48000 mende", false)[0].number,
        NumberMatch::NotAsked
    );
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
fn a_regiment_is_found_by_its_letters() {
    let names = [
        "Rue du 86e Régiment d'Infanterie",
        "Place du 157 Eme R.I.A",
        "Avenue de la 2e Division Blindée",
        "Rue des Combattants d'Afrique du Nord",
    ];
    let rows = names.iter().enumerate();
    let rows = rows.map(|(at, name)| in_mende(&format!("07{at:02}"), name, Some(57), ""));
    let geocoder = Geocoder::new(vec![segment(&rows.collect::<Vec<_>>())]);
    for (text, expected) in [
        ("rue du 86e RI", names[0]),
        ("rue du 86ème R.I.", names[0]),
        ("place du 157e RIA", names[1]),
        ("av de la 2e DB", names[2]),
        ("rue des combattants d'AFN", names[3]),
    ] {
        let found = &search(&geocoder, &format!("57 {text} 48000 mende"), false)[0];
        let expected = format!("57 {expected}, 48095");
        assert_eq!(label(&geocoder, found), expected, "{text}");
        assert!(found.probability > 0.8, "{text}: {}", found.probability);
    }
}

#[test]
fn a_house_number_is_not_the_number_of_the_street() {
    let rows = [
        in_mende("0710", "Avenue du 8 Mai 1945", Some(8), ""),
        in_mende("0720", "Rue du 1er Bataillon", Some(1), "a"),
        in_mende("0730", "Avenue du Onze Novembre", Some(11), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("8 avenue du huit mai 1945", "8 Avenue du 8 Mai 1945"),
        ("8 avenue du 8 mai 1945", "8 Avenue du 8 Mai 1945"),
        ("1a rue du premier bataillon", "1a Rue du 1er Bataillon"),
        ("11 avenue du 11 novembre", "11 Avenue du Onze Novembre"),
    ] {
        let found = search(&geocoder, &format!("{text} 48000 mende"), false);
        let expected = format!("{expected}, 48095");
        assert_eq!(label(&geocoder, &found[0]), expected, "{text}");
    }
}

#[test]
fn an_abbreviated_road_is_found_by_its_number() {
    let rows = [
        in_mende("0710", "Route Nationale 88", Some(25), ""),
        in_commune("48104", "Nasbinals", "Route de Mende", 25, 44.6),
        in_mende("0720", "Rue Notre-Dame", Some(10), ""),
        in_mende("0730", "Route Départementale 901", Some(25), ""),
    ];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for (text, expected) in [
        ("25 RN 88 mende", "25 Route Nationale 88"),
        ("25 RN88 48000 mende", "25 Route Nationale 88"),
        ("25 R.N. 88 48000 mende", "25 Route Nationale 88"),
        ("25 N88 mende", "25 Route Nationale 88"),
        ("25 D901 mende", "25 Route Départementale 901"),
        ("25 D 901 48000 mende", "25 Route Départementale 901"),
        ("10 rue ND mende", "10 Rue Notre-Dame"),
    ] {
        let found = &search(&geocoder, text, false)[0];
        let expected = format!("{expected}, 48095");
        assert_eq!(label(&geocoder, found), expected, "{text}");
        assert!(found.probability > 0.8, "{text}: {}", found.probability);
    }
    // The number after `nationale` is the road's, not a house number.
    let roads = [
        in_mende("0710", "Route Nationale 88", Some(25), ""),
        in_mende("0740", "Route Nationale", Some(88), ""),
    ];
    let roads = Geocoder::new(vec![segment(&roads)]);
    let found = search(&roads, "route nationale 88 mende", false);
    assert_eq!(label(&roads, &found[0]), "Route Nationale 88, 48095");
    let found = search(&geocoder, "25 RN 99 mende", false);
    let mut labels = found.iter().map(|one| label(&geocoder, one));
    assert!(!labels.any(|label| label.ends_with("48104")), "{found:?}");
}

#[test]
fn a_date_is_not_a_street_that_resembles_its_month() {
    let rows = [in_mende("0710", "Route du Mas", Some(12), "")];
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    let found = search(&geocoder, "12 rue du 19 mars 1962 mende", false);
    assert!(found.iter().all(|one| one.probability < 0.6), "{found:?}");
}

#[test]
fn a_year_decides_between_two_streets_of_one_date() {
    let mut rows = vec![in_mende("0710", "Avenue du 19 Mars 1962", Some(24), "")];
    rows.extend((20..30).map(|at| in_mende("0720", "Avenue du 19 Mars", Some(at), "")));
    rows.iter_mut().skip(1).for_each(|row| row.lon = 3.7);
    let geocoder = Geocoder::new(vec![segment(&rows)]);
    for name in ["Avenue du 19 Mars 1962", "Avenue du 19 Mars"] {
        let found = search(&geocoder, &format!("24 {name} 48000 Mende"), false);
        let expected = format!("24 {name}, 48095");
        assert_eq!(label(&geocoder, &found[0]), expected);
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
        ("14-16-18", "14"),
        ("14/16/18/20", "14"),
        ("10-12-14-16", "14"),
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
