//! Tests of locating addresses in a base of two streets: what they mean, how precisely, and what is refused.

use std::fs::File;
use std::io::BufWriter;

use super::*;
use crate::index::builder::{AddressRow, SegmentBuilder};
use crate::index::segment::Segment;

fn geocoder() -> Geocoder {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("48.segment");
    let mut builder = SegmentBuilder::default();
    for (id, name, number, lon) in [
        ("48095_0100", "Rue de la République", 12, 3.5),
        ("48095_0100", "Rue de la République", 14, 3.502),
        ("48095_0200", "Rue de Mende", 3, 3.51),
    ] {
        builder.push(&AddressRow {
            id: format!("{id}_{number:05}"),
            name: name.into(),
            number: Some(number),
            postal_code: "48000".into(),
            insee_code: "48095".into(),
            commune: "Mende".into(),
            lat: 44.52,
            lon,
            ..AddressRow::default()
        });
    }
    let mut file = BufWriter::new(File::create(&path).unwrap());
    builder.write("48", &mut file).unwrap();
    drop(file);
    Geocoder::new(vec![Arc::new(Segment::open(&path).unwrap())])
}

fn asked<'a>(address: &'a str, postal_code: &'a str, city: &'a str) -> PostalAddress<'a> {
    PostalAddress {
        address,
        postal_code,
        city,
        ..PostalAddress::default()
    }
}

#[test]
fn an_address_is_located_as_precisely_as_it_is_known() {
    let geocoder = geocoder();
    #[rustfmt::skip]
    let cases = [
        (asked("12 rue de la republique", "48000", "mende"), Precision::Address, "12 Rue de la République 48000 Mende"),
        (
            PostalAddress::line("12 rue de la République, 48000 Mende"),
            Precision::Address,
            "12 Rue de la République 48000 Mende",
        ),
        (asked("rue de la republique", "48000", "Mende"), Precision::Street, "Rue de la République 48000 Mende"),
        (asked("", "48000", "Mende"), Precision::Town, "48000 Mende"),
    ];
    for (given, precision, label) in cases {
        let found = geocoder.locate(given).unwrap();
        assert_eq!(found.precision, precision, "{given:?}: {found:?}");
        assert!(found.confidence != Confidence::Low, "{found:?}");
        if precision != Precision::Town {
            assert_eq!(found.label, label);
        }
        assert_eq!(found.insee_codes(), ["48095"]);
    }
}

#[test]
fn what_the_line_says_already_is_not_said_twice() {
    let text = |address, postal_code, city| asked(address, postal_code, city).text().unwrap();
    let line = "3 rue de Mende 48000 Mende";
    assert_eq!(text(line, "48000", "MENDE"), line);
    assert_eq!(text("3 rue de Mende", "48000", "Mende"), line);
    // A street named after its town does not name the town.
    assert_eq!(text("3 rue de Mende", "", "Mende"), "3 rue de Mende Mende");
    // A spreadsheet removes the zero of the first nine departments.
    assert_eq!(text("3 rue Haute", "1000", ""), "3 rue Haute 01000");
    assert_eq!(
        text("3 rue Haute", "1000", "Bruxelles"),
        "3 rue Haute 1000 Bruxelles"
    );
}

#[test]
fn what_is_not_sure_is_refused_with_the_reason() {
    let geocoder = geocoder();
    let refused = |given| geocoder.locate(given).unwrap_err();
    let unsure = refused(PostalAddress::line("7 impasse des Peupliers Noirs"));
    assert!(
        matches!(unsure, Unlocated::Unsure(_) | Unlocated::NotFound),
        "{unsure}"
    );
    assert_eq!(refused(asked("", "", "Xqzzy")), Unlocated::NotFound);
    let long = "x".repeat(1_000);
    assert_eq!(refused(PostalAddress::line(&long)), Unlocated::TooLong);
    let nothing = Geocoder::new(Vec::new());
    let error = nothing
        .locate(PostalAddress::line("12 rue de la République"))
        .unwrap_err();
    assert!(error.to_string().contains("toise import ban"), "{error}");
    // Communes are known before anything is imported: if the street is unknown, a separately given town is used
    // instead, and the precision shows it. A town that is not given separately is never a sure result for a street.
    let street = asked("12 rue de la République", "48000", "Mende");
    assert_eq!(nothing.locate(street).unwrap().precision, Precision::Town);
    let town = nothing.resolve(street).unwrap();
    assert_eq!(town.precision, Precision::Town);
    assert!(town.probability < 0.5, "{town:?}");
    let town = nothing.locate(asked("", "48000", "Mende")).unwrap();
    assert_eq!(town.precision, Precision::Town);
}

#[test]
fn a_code_restricts_an_address_and_stands_for_its_town() {
    let geocoder = geocoder();
    let coded = |address, insee_code| PostalAddress {
        address,
        insee_code,
        ..PostalAddress::default()
    };
    let street = "12 rue de la République";
    for (given, precision, code) in [
        (coded(street, "48095"), Precision::Address, "48095"),
        (coded("", "48095"), Precision::Town, "48095"),
        (coded("", "75111"), Precision::Town, "75111"),
        (coded("", "75056"), Precision::Town, "75056"),
        (coded("rue Xqzzy Wvut", "48095"), Precision::Town, "48095"),
    ] {
        let found = geocoder.locate(given).unwrap();
        let seen = (found.precision, found.insee_code.as_str());
        assert_eq!(seen, (precision, code), "{given:?}");
    }
    for nowhere in [coded("", ""), coded("", "00000"), coded(street, "00000")] {
        assert_eq!(geocoder.locate(nowhere), Err(Unlocated::NotFound));
    }
    assert!(coded("", "").is_empty() && !coded("", "48095").is_empty());
}

#[test]
fn an_address_without_a_town_is_marked() {
    let geocoder = geocoder();
    let street = "12 rue de la République";
    for (given, is_without) in [
        (PostalAddress::line(street), true),
        (PostalAddress::line("Le Mende"), true),
        (PostalAddress::line("12 rue de la République, Mende"), false),
        (PostalAddress::line("12 rue de la République 48000"), false),
        (asked(street, "", "Mende"), false),
        (asked("", "", "Mende"), false),
    ] {
        let found = geocoder.resolve(given).unwrap();
        assert_eq!(found.is_without_town, is_without, "{given:?}");
    }
}

#[test]
fn paris_is_all_of_its_arrondissements() {
    let found = Geocoder::new(Vec::new())
        .locate(asked("", "", "Paris"))
        .unwrap();
    let codes = found.insee_codes();
    assert_eq!((codes.len(), codes[0].as_str()), (20, "75101"));
}

#[test]
fn a_repeated_address_gives_the_same_answer() {
    let geocoder = geocoder();
    let mut block = RepeatedAddresses::new(&geocoder);
    let given = asked("12 rue de la République", "48000", "Mende");
    let first = block.locate(given).clone();
    assert!(first.is_ok());
    assert_eq!(*block.locate(given), first);
    assert_eq!(block.known.len(), 1);
}

#[test]
fn a_town_that_is_the_whole_address_of_a_row_is_less_sure() {
    let geocoder = geocoder();
    let mut block = RepeatedAddresses::new(&geocoder);
    let line = PostalAddress::line("Langogne");
    let alone = geocoder.locate(line).unwrap();
    assert_eq!(
        (alone.precision, alone.confidence),
        (Precision::Town, Confidence::High)
    );
    let mut confidence = |given| block.locate(given).as_ref().unwrap().confidence;
    assert_eq!(confidence(line), Confidence::Medium);
    assert_eq!(confidence(asked("", "", "Langogne")), Confidence::High);
    assert_eq!(
        confidence(PostalAddress::line("48300 Langogne")),
        Confidence::High
    );
}
