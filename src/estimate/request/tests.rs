//! Tests of parsing homes from bodies and cells, and of what is rejected.

use serde_json::{Value, json};

use super::fields::columns;
use super::*;
use crate::{Condition, Extras, Furniture, Grade, HomeClass};

fn today() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 21).unwrap()
}

fn least() -> Value {
    json!({
        "location": {"locationCoordinate": {"location": [2.35, 48.86]}},
        "habitation": {"surface": {"total": 50}, "roomCount": 2, "bedroomCount": 1},
        "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
    })
}

fn of_column(name: &str) -> &'static HomeField {
    columns().find(|field| field.column == name).unwrap()
}

/// The body with one value set at a path of keys.
fn with(path: &str, value: Value) -> Value {
    let mut body = least();
    let mut here = &mut body;
    for key in path.split('.') {
        here = &mut here[key];
    }
    *here = value;
    body
}

/// Parses the home of a body and locates it with a geocoder that knows only communes.
fn located(body: &Value) -> Result<LocatedHome, Fault> {
    parse_estimate(body, today())?.locate(&toise_geocode::Geocoder::new(Vec::new()))
}

fn fault(body: &Value) -> String {
    parse_estimate(body, today()).unwrap_err().to_string()
}

#[test]
fn every_field_of_the_contract_is_read() {
    let body = json!({
        "location": {"locationCoordinate": {"location": [5.93, 43.12]}},
        "habitation": {
            "surface": {"total": 112.5}, "roomCount": 5, "bedroomCount": 3,
            "propertyCondition": {"constructionYear": 1978,
                "generalConditions": ["GENERAL_CONDITION_GOOD", "GENERAL_CONDITION_TO_BE_REFRESHED"]},
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_E", "epcClimate": "GREENHOUSE_CLASSIFICATION_C"},
            "characteristics": {"hasBalcony": false, "hasCellar": true, "hasGarage": true, "hasLift": false,
                "hasParking": true, "hasPool": true, "hasTerrace": true},
            "features": {"furniture": "PARTIALLY_FURNISHED", "propertyFloor": 0, "propertyTotalFloor": 2},
        },
        "land": {"surface": 640},
        "type": "CLASS_HOUSE",
        "offer": {"type": "OFFER_BUY"},
    });
    let home = located(&body).unwrap().home;
    let expected = Home {
        longitude: 5.93,
        latitude: 43.12,
        class: HomeClass::House,
        surface_m2: 112.5,
        rooms: Some(5.0),
        bedrooms: Some(3.0),
        land_m2: Some(640.0),
        construction_year: Some(1978),
        energy: Some(Grade::E),
        climate: Some(Grade::C),
        floor: Some(0.0),
        floors: Some(2.0),
        extras: Extras {
            has_balcony: Some(false),
            has_cellar: Some(true),
            has_garage: Some(true),
            has_lift: Some(false),
            has_parking: Some(true),
            has_pool: Some(true),
            has_terrace: Some(true),
            condition: Some(Condition::ToBeRefreshed),
            furniture: Some(Furniture::Partially),
        },
        date: today(),
    };
    assert_eq!(home, expected);
    let header = columns().map(|field| field.column);
    let cells = [
        "5.93",
        "43.12",
        "Maison",
        "112.5",
        "5",
        "3",
        "640",
        "1978",
        "E",
        "c",
        "0",
        "2026-11-21",
        "2",
        "GENERAL_CONDITION_TO_BE_REFRESHED",
        "PARTIALLY_FURNISHED",
        "false",
        "TRUE",
        "1",
        "0",
        "true",
        "true",
        "true",
    ];
    let row = header
        .zip(cells)
        .map(|(name, cell)| (of_column(name), cell));
    assert_eq!(parse_cells(row, None, NaiveDate::MIN).unwrap(), expected);
}

#[test]
fn absurd_values_are_rejected_with_their_path() {
    let number = "must be a number between";
    for (path, value, message) in [
        (
            "habitation.surface.total",
            json!(-50),
            format!("{number} 5 and 5000"),
        ),
        (
            "habitation.surface.total",
            json!(0),
            format!("{number} 5 and 5000"),
        ),
        (
            "habitation.surface.total",
            json!(1e12),
            format!("{number} 5 and 5000"),
        ),
        (
            "habitation.surface.total",
            json!("50"),
            format!("{number} 5 and 5000"),
        ),
        (
            "habitation.surface.total",
            json!(null),
            format!("{number} 5 and 5000"),
        ),
        (
            "habitation.roomCount",
            json!(-1),
            "must be an integer between 0 and 100".into(),
        ),
        (
            "habitation.roomCount",
            json!(2.5),
            "must be an integer between 0 and 100".into(),
        ),
        (
            "habitation.bedroomCount",
            json!(3),
            "must not be above habitation.roomCount".into(),
        ),
        (
            "type",
            json!("CLASS_LAND"),
            "must be one of: CLASS_FLAT, CLASS_HOUSE".into(),
        ),
        (
            "offer.type",
            json!("OFFER_RENT"),
            "must be one of: OFFER_BUY".into(),
        ),
        (
            "land.surface",
            json!(-1),
            format!("{number} 0 and 10000000"),
        ),
        (
            "habitation.features.propertyFloor",
            json!(999),
            "must be an integer between -10 and 200".into(),
        ),
        (
            "habitation.characteristics.hasLift",
            json!("yes"),
            "must be true or false".into(),
        ),
        (
            "habitation.propertyCondition.constructionYear",
            json!(20019),
            "must be an integer between 1000 and 2100".into(),
        ),
        (
            "location.locationCoordinate.location",
            json!([2.35]),
            "must be two numbers: longitude, latitude".into(),
        ),
        (
            "habitation.features.hasLift",
            json!(true),
            "unknown field; must be one of: propertyFloor, propertyTotalFloor, furniture".into(),
        ),
        (
            "valuation_date",
            json!("2020-01-01"),
            "unknown field; must be one of: location, type, habitation, land, offer".into(),
        ),
    ] {
        assert_eq!(fault(&with(path, value)), format!("{path}: {message}"));
    }
    let swapped = with(
        "location.locationCoordinate.location",
        json!([48.86, 92.35]),
    );
    assert_eq!(
        fault(&swapped),
        "location.locationCoordinate.location[1]: must be a number between -90 and 90"
    );
    let conditions = with(
        "habitation.propertyCondition.generalConditions",
        json!(["GOOD"]),
    );
    assert!(
        fault(&conditions)
            .starts_with("habitation.propertyCondition.generalConditions[0]: must be one of: ")
    );
}

#[test]
fn missing_required_fields_are_reported_by_path() {
    for (path, shown) in [
        ("location", "location.locationCoordinate.location"),
        ("habitation", "habitation.surface.total"),
        ("type", "type"),
        ("offer", "offer.type"),
    ] {
        let mut body = least();
        body.as_object_mut().unwrap().remove(path);
        assert_eq!(fault(&body), format!("{shown}: is required"));
    }
    assert!(parse_estimate(&least(), today()).is_ok());
}

#[test]
fn each_of_many_homes_has_its_own_fault() {
    let body = json!({"items": [least(), with("habitation.roomCount", json!("two")), 7]});
    let homes = parse_estimate_many(&body, today()).unwrap();
    assert!(homes[0].is_ok());
    let faults: Vec<String> = homes[1..]
        .iter()
        .map(|home| home.clone().unwrap_err().to_string())
        .collect();
    assert_eq!(
        faults,
        [
            "items[1].habitation.roomCount: must be an integer between 0 and 100",
            "items[2]: must be an object"
        ]
    );
    for (body, message) in [
        (json!({}), "items: is required"),
        (json!({"items": []}), "items: must hold 1 to 1000 items"),
        (
            json!({"items": vec![0; 1_001]}),
            "items: must hold 1 to 1000 items",
        ),
        (
            json!({"homes": []}),
            "homes: unknown field; must be one of: items",
        ),
    ] {
        assert_eq!(
            parse_estimate_many(&body, today()).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn a_row_needs_position_class_and_surface_and_names_its_columns() {
    let read = |cells: &[(&str, &'static str)]| {
        let row = cells.iter().map(|(name, cell)| (of_column(name), *cell));
        parse_cells(row, None, today()).map_err(|fault| fault.to_string())
    };
    let row = [
        ("longitude", "2.35"),
        ("latitude", "48.86"),
        ("type", "flat"),
        ("surface_m2", "50"),
    ];
    assert_eq!(read(&row).unwrap().rooms, None);
    let with = |name, cell| {
        let mut row = row.to_vec();
        row.retain(|(known, _)| *known != name);
        row.push((name, cell));
        read(&row)
    };
    assert_eq!(with("room_count", "0").unwrap().rooms, None);
    assert_eq!(
        with("valuation_date", "2024-05-31")
            .unwrap()
            .date
            .to_string(),
        "2024-05-31"
    );
    for (name, cell, message) in [
        ("surface_m2", "NaN", "must be a number between 5 and 5000"),
        ("surface_m2", "inf", "must be a number between 5 and 5000"),
        ("surface_m2", "", "is required"),
        (
            "type",
            "castle",
            "must be one of: CLASS_FLAT, CLASS_HOUSE, or a word for one such as Appartement or Maison",
        ),
        ("valuation_date", "soon", toise_contract::dates::DATE_RULE),
    ] {
        assert_eq!(with(name, cell).unwrap_err(), format!("{name}: {message}"));
    }
}

#[test]
fn an_address_stands_for_the_coordinate_which_wins_where_both_are_given() {
    let both_given = with("location.address", json!("48000 Mende"));
    let home = located(&both_given).unwrap();
    assert_eq!((home.home.longitude, home.home.latitude), (2.35, 48.86));
    assert_eq!(
        (home.address, home.position_from),
        (None, Some("locationCoordinate"))
    );

    let alone = with("location", json!({"address": "48000 Mende"}));
    let home = located(&alone).unwrap();
    let address = home.address.unwrap();
    assert_eq!(
        (home.home.latitude, home.home.longitude),
        address.position()
    );
    assert_eq!(address.precision.name(), "TOWN");
    assert_eq!(home.position_from, Some("address"));

    let unknown = with("location", json!({"address": "Xqzzy Wvut"}));
    let refused = located(&unknown).unwrap_err();
    assert_eq!(refused.path, "location.address");
    for (value, message) in [
        (json!(" "), "must hold 1 to 200 characters, not only spaces"),
        (json!({"city": "Mende"}), "must be a string"),
    ] {
        let body = with("location", json!({"address": value}));
        assert_eq!(fault(&body), format!("location.address: {message}"));
    }
    let neither = with("location", json!({}));
    assert_eq!(
        fault(&neither),
        "location.locationCoordinate.location: is required"
    );
}

#[test]
fn the_position_of_an_address_stands_for_the_cells_of_a_row() {
    let cells = [("type", "flat"), ("surface_m2", "50")];
    let row = || cells.iter().map(|(name, cell)| (of_column(name), *cell));
    let home = parse_cells(row(), Some((44.5, 3.5)), today()).unwrap();
    assert_eq!((home.latitude, home.longitude), (44.5, 3.5));
    assert!(parse_cells(row(), None, today()).is_err());
}

#[test]
fn the_class_of_a_diagnostic_is_read_with_its_score_and_may_be_absent() {
    let read = |class: &'static str| {
        let row = [
            ("type", "flat"),
            ("surface_m2", "50"),
            ("epc_energy", class),
        ];
        let row = row.map(|(name, cell)| (of_column(name), cell));
        parse_cells(row.into_iter(), Some((44.5, 3.5)), today()).map(|home| home.energy)
    };
    for class in ["D", "d", "D (180)", "ENERGY_CLASSIFICATION_D"] {
        assert_eq!(read(class).unwrap(), Some(Grade::D), "{class}");
    }
    for class in ["Vierge", "H", "N"] {
        assert_eq!(read(class).unwrap(), None, "{class}");
    }
    assert!(read("HH").is_err());
    let energy = of_column("epc_energy");
    assert!(is_without_class(energy, "N") && !is_without_class(energy, "D"));
    assert!(!is_without_class(of_column("type"), "N"));
}

#[test]
fn the_class_of_a_row_is_read_in_every_usual_spelling() {
    let read = |class: &'static str| {
        let row = [("type", class), ("surface_m2", "50")];
        let row = row.map(|(name, cell)| (of_column(name), cell));
        parse_cells(row.into_iter(), Some((44.5, 3.5)), today())
    };
    let flat = read("CLASS_FLAT").unwrap();
    for class in ["Appt", "APT.", "App.", "T2", "F3", "studio", "appartement"] {
        assert_eq!(read(class).unwrap(), flat, "{class}");
    }
    let house = read("CLASS_HOUSE").unwrap();
    for class in ["villa", "Pavillon", "maison de ville", "UNE MAISON"] {
        assert_eq!(read(class).unwrap(), house, "{class}");
    }
    for class in ["parking", "local commercial", "immeuble", "Yourte"] {
        assert!(read(class).is_err(), "{class}");
    }
}

#[test]
fn a_row_abroad_at_sea_or_swapped_has_a_status_and_no_home() {
    let read = |longitude: &'static str, latitude: &'static str| {
        let row = [
            ("longitude", longitude),
            ("latitude", latitude),
            ("type", "flat"),
            ("surface_m2", "50"),
        ];
        let row = row.map(|(name, cell)| (of_column(name), cell));
        parse_cells(row.into_iter(), None, today())
    };
    for (longitude, latitude, status) in [
        ("-0.1278", "51.5074", "outside_france"),
        ("-6", "46", "outside_france"),
        ("48.8566", "2.3522", "coordinates_swapped?"),
        ("2.35", "x", "error"),
    ] {
        let fault = read(longitude, latitude).unwrap_err();
        assert_eq!(fault.status(), status, "{fault}");
    }
    let fault = read("-6", "46").unwrap_err().to_string();
    assert_eq!(
        fault,
        "longitude, latitude: outside_france: the position is abroad or at sea"
    );
    assert!(read("55.45", "-20.88").is_ok());
}
