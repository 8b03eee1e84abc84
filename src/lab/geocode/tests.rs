//! Tests of the evaluation on an index of a few streets: drawing addresses, writing queries, judging results.

use std::sync::Arc;

use super::*;
use toise_base::splitmix::SplitMix64;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::Segment;

const STREETS: [(&str, &str, &str, [&str; 2]); 5] = [
    (
        "48095_0100",
        "Rue de la République",
        "48000",
        ["48095", "Mende"],
    ),
    (
        "48095_0300",
        "Avenue du Maréchal Foch",
        "48000",
        ["48095", "Mende"],
    ),
    (
        "48092_0010",
        "Avenue de la Gare",
        "48100",
        ["48092", "Marvejols"],
    ),
    (
        "48092_0020",
        "Chemin des Écureuils",
        "48100",
        ["48092", "Marvejols"],
    ),
    (
        "48009_0010",
        "Route de Saint-Chély",
        "48130",
        ["48009", "Peyre en Aubrac"],
    ),
];

/// A department of five streets with three houses each, one of them `2bis`.
fn segment(department: &str) -> Arc<Segment> {
    let mut builder = SegmentBuilder::default();
    for (index, (id, name, postal_code, [code, commune])) in STREETS.iter().enumerate() {
        for (at, (number, suffix)) in [(1, ""), (2, "bis"), (14, "")].into_iter().enumerate() {
            let tail = if suffix.is_empty() { "" } else { "_bis" };
            builder.push(&AddressRow {
                id: format!("{id}_{number:05}{tail}"),
                number: Some(number),
                suffix: suffix.into(),
                name: (*name).into(),
                postal_code: (*postal_code).into(),
                insee_code: (*code).into(),
                commune: (*commune).into(),
                lat: 44.5 + index as f64 * 0.01,
                lon: 3.5 + at as f64 * 0.001,
                ..AddressRow::default()
            });
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(department);
    let mut bytes = Vec::new();
    builder.write(department, &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    Arc::new(Segment::open(&path).unwrap())
}

fn options() -> GeocodeOptions {
    GeocodeOptions {
        sample: 10,
        without: 4,
        seed: 1,
        departments: Vec::new(),
        left_out: Vec::new(),
        cases: Vec::new(),
        write_cases: None,
        failures: 5,
    }
}

fn address() -> Address {
    Address {
        key: 7,
        department: "48".into(),
        number: 12,
        suffix: "bis",
        street: "Rue du Général de Gaulle".into(),
        postal_code: "48130".into(),
        insee_code: "48009".into(),
        commune: "Peyre en Aubrac".into(),
        former_commune: "Aumont-Aubrac".into(),
        lat: 44.7,
        lon: 3.3,
    }
}

/// Returns the queries of a class about the address.
fn written(class: &str, address: &Address) -> Vec<String> {
    let class = CLASSES.iter().find(|one| one.name == class).unwrap();
    (class.queries)(address, &mut SplitMix64::new(3))
}

#[test]
fn each_class_changes_what_it_says() {
    for (class, expected) in [
        (
            "clean",
            "12 bis Rue du Général de Gaulle 48130 Peyre en Aubrac",
        ),
        (
            "upper case",
            "12 BIS RUE DU GENERAL DE GAULLE 48130 PEYRE EN AUBRAC",
        ),
        (
            "abbreviated",
            "12 bis r du gal de Gaulle 48130 Peyre en Aubrac",
        ),
        (
            "no postcode",
            "12 bis Rue du Général de Gaulle Peyre en Aubrac",
        ),
        ("no city", "12 bis Rue du Général de Gaulle 48130"),
        (
            "city first",
            "48130 Peyre en Aubrac 12 bis Rue du Général de Gaulle",
        ),
        (
            "no street type",
            "12 bis du Général de Gaulle 48130 Peyre en Aubrac",
        ),
        (
            "wrong type",
            "12 bis Avenue du Général de Gaulle 48130 Peyre en Aubrac",
        ),
        (
            "glued postcode",
            "12 bis Rue du Général de Gaulle, 48130Peyre en Aubrac",
        ),
        (
            "former commune",
            "12 bis Rue du Général de Gaulle Aumont-Aubrac",
        ),
        (
            "title left out",
            "12 bis Rue de Gaulle 48130 Peyre en Aubrac",
        ),
        (
            "street only",
            "Rue du Général de Gaulle 48130 Peyre en Aubrac",
        ),
    ] {
        assert_eq!(written(class, &address()), [expected], "{class}");
    }
    assert_eq!(written("bis", &address()).len(), 5);
    assert!(written("cedex", &address())[0].ends_with(" Peyre en Aubrac CEDEX"));
    let begun = written("prefix", &address());
    assert!(
        "12 bis Rue du Général de Gaulle".starts_with(&begun[0]),
        "{begun:?}"
    );
}

#[test]
fn people_leave_names_out_and_add_others() {
    let jean = Address {
        street: "Rue Jean-Baptiste Clément".into(),
        ..address()
    };
    for (class, expected) in [
        (
            "first name left out",
            "12 bis Rue Clément 48130 Peyre en Aubrac",
        ),
        ("initial", "12 bis Rue J.-B. Clément 48130 Peyre en Aubrac"),
    ] {
        assert_eq!(written(class, &jean), [expected], "{class}");
    }
    let official = "12 bis Rue Jean-Baptiste Clément 48130 Peyre en Aubrac";
    assert!(written("words before", &jean)[0].ends_with(official));
    assert!(written("words behind", &jean)[0].starts_with(official));
    assert!(written("care of", &jean)[0].ends_with(official));
    let between = &written("words between", &jean)[0];
    assert!(
        between.starts_with("12 bis Rue Jean-Baptiste Clément") && between.len() > official.len()
    );
    // A saint's name is not a first name, and a name of one word is not shortened.
    for street in ["Rue Saint Jean Baptiste", "Rue Victor", "Rue du Maréchal"] {
        let plain = Address {
            street: street.into(),
            ..address()
        };
        let asked = written("title left out", &plain).len() + written("initial", &plain).len();
        assert_eq!(asked, 0, "{street}");
    }
}

#[test]
fn a_typing_error_changes_one_word_and_only_that() {
    let official = "12 bis Rue du Général de Gaulle 48130 Peyre en Aubrac";
    for class in ["typo in street", "two typos in street"] {
        let wrong = &written(class, &address())[0];
        let pairs = wrong.split(' ').zip(official.split(' '));
        let changed: Vec<&str> = pairs
            .filter(|(one, other)| one != other)
            .map(|(_, other)| other)
            .collect();
        assert_eq!(changed, ["Général"], "{wrong}");
    }
}

#[test]
fn classes_that_do_not_apply_ask_nothing() {
    let plain = Address {
        suffix: "",
        street: "Lozeret".into(),
        former_commune: String::new(),
        ..address()
    };
    for class in [
        "no street type", "wrong type", "former commune", "bis", "prefix", "glued words",
    ] {
        assert_eq!(written(class, &plain), [""; 0], "{class}");
    }
}

#[test]
fn the_same_seed_draws_the_same_and_a_larger_sample_contains_a_smaller() {
    let segments = [segment("48")];
    let draw = |count, seed| sample::draw(&segments, |_| true, count, seed);
    assert_eq!(draw(6, 1), draw(6, 1));
    assert_eq!(draw(6, 1), draw(10, 1)[..6]);
    assert_ne!(draw(10, 1), draw(10, 2));
    assert_eq!(
        draw(100, 1).len(),
        2 * STREETS.len(),
        "two houses of a street"
    );
}

#[test]
fn official_addresses_are_right_and_withheld_ones_are_not_invented() {
    let geocoder = Geocoder::new(vec![segment("48")]);
    let report = evaluate(&geocoder, &options()).unwrap();
    let class = |name| report.classes.iter().find(|one| one.class == name).unwrap();
    for name in [
        "clean", "upper case", "no postcode", "city first", "street only",
    ] {
        assert_eq!(class(name).right, 1.0, "{name}: {:?}", class(name).failures);
    }
    assert_eq!(report.sample, 10);
    let withheld: Vec<&str> = report.absent.iter().map(|one| one.withheld).collect();
    assert_eq!(
        withheld,
        ["streets", "streets", "departments", "departments"]
    );
    for one in &report.absent {
        assert_eq!(one.right, 0.0, "{one:?}");
        let shares = one.other_town + one.same_town + one.town_alone + one.declined + one.right;
        assert!((shares - 1.0).abs() < 1e-9, "{one:?}");
    }
    assert!(report.calibration.n > 200 && report.calibration.absent > 0.1);
    assert_eq!(report.speed.len(), 4);
    let report = serde_json::to_value(&report).unwrap();
    assert_eq!(report["classes"][0]["class"], "clean");
}

#[test]
fn without_streets_nothing_else_is_lost() {
    let segments = [segment("48")];
    let drawn = sample::draw(&segments, |_| true, 1, 1);
    let lacking = sample::without_streets(&segments, &drawn).unwrap();
    let rest = &lacking.segments()[0];
    assert_eq!(rest.streets(), STREETS.len() - 1);
    let names: Vec<&str> = (0..rest.streets() as u32)
        .map(|street| rest.street_name(street))
        .collect();
    assert!(!names.contains(&drawn[0].street.as_str()));
    let official = format!(
        "2 bis {} {} {}",
        STREETS[0].1, STREETS[0].2, STREETS[0].3[1]
    );
    if drawn[0].street != STREETS[0].1 {
        let found = lacking.search(&toise_geocode::search::SearchRequest {
            text: official,
            limit: 1,
            ..toise_geocode::search::SearchRequest::default()
        });
        assert_eq!(judge::house_number(&found[0]), "2bis");
    }
}

#[test]
fn departments_that_are_not_there_or_both_judged_and_left_out_are_refused() {
    let geocoder = Geocoder::new(vec![segment("48"), segment("12")]);
    let refused = |departments: &[&str], left_out: &[&str]| {
        let list = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
        let options = GeocodeOptions {
            departments: list(departments),
            left_out: list(left_out),
            ..options()
        };
        evaluate(&geocoder, &options).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&["75"], &[]),
        "department 75 is not in the index; it has 48, 12"
    );
    assert!(refused(&["48"], &["48"]).contains("both evaluated and left out"));
    assert!(refused(&[], &["48", "12"]).contains("no addresses"));
    let empty = evaluate(&Geocoder::new(Vec::new()), &options());
    assert!(empty.unwrap_err().to_string().contains("toise import ban"));
}

#[test]
fn cases_are_judged_by_what_they_expect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.csv");
    let rows = [
        "file,query,limit,expected_housenumber,expected_street,expected_city,expected_postcode,expected_coordinate",
        "good.csv,14 rue de la republique mende,,14,Rue de la République,Mende,48000,",
        "good.csv,2 bis avenue de la gare marvejols,5,2bis,,,,\"44.52,3.501,20\"",
        "bad.csv,14 rue de la republique mende,,,,Marvejols,,",
        "bad.csv,14 rue de la republique mende,,,,,,\"44.6,3.5,20\"",
        "bad.csv,1 rue de la paix 75002 paris,,,,,,",
    ];
    std::fs::write(&path, rows.join("\n")).unwrap();
    let geocoder = Geocoder::new(vec![segment("48")]);
    let groups = cases::judge(&geocoder, &path, 1).unwrap();
    let names: Vec<_> = groups
        .iter()
        .map(|one| {
            (
                one.group.as_str(),
                one.n,
                one.right,
                one.not_covered,
                one.failures.len(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("bad.csv", 2, 0.0, 1, 1), ("good.csv", 2, 1.0, 0, 0)]
    );

    std::fs::write(&path, "query,expected_coordinate\nmende,44.5").unwrap();
    let error = cases::judge(&geocoder, &path, 1).unwrap_err().to_string();
    assert!(
        error.ends_with("row 1: expected_coordinate is not lat,lon,metres"),
        "{error}"
    );
    std::fs::write(&path, "text\nmende").unwrap();
    let error = cases::judge(&geocoder, &path, 1).unwrap_err().to_string();
    assert!(error.contains("the column query is missing"), "{error}");
}

#[test]
fn questions_that_were_written_are_judged_alike_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("questions.csv");
    let geocoder = Geocoder::new(vec![segment("48")]);
    let options = GeocodeOptions {
        write_cases: Some(path.clone()),
        ..options()
    };
    let report = evaluate(&geocoder, &options).unwrap();
    let groups = cases::judge(&geocoder, &path, 0).unwrap();
    assert_eq!(groups.len(), report.classes.len());
    for class in &report.classes {
        let group = groups.iter().find(|one| one.group == class.class).unwrap();
        assert_eq!(
            (group.n, group.right),
            (class.n, class.right),
            "{}",
            class.class
        );
    }
}
