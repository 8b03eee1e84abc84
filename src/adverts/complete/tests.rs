//! Tests which fields completion derives and which it leaves missing.

use super::*;
use serde_json::{Value, json};
use toise_contract::read::read;

fn completed(value: Value) -> (Value, Completion) {
    let mut advert: Advert = read(&value).unwrap();
    let completed = complete(&mut advert, PlaceSources::default());
    (serde_json::to_value(advert).unwrap(), completed)
}

#[test]
fn a_room_of_a_shared_flat_is_marked_and_the_mark_leaves_no_trace() {
    let given = json!({"title": "Chambre n° 3 à Lyon", "offer": {"type": "OFFER_RENT"}});
    let (advert, completed) = completed(given.clone());
    assert_eq!(advert["offer"]["renting"]["isColocation"], true);
    let mut record = advert.as_object().unwrap().clone();
    completed.derived.remove_from(&mut record);
    assert_eq!(record["offer"], given["offer"]);
}

#[test]
fn a_postal_code_and_a_town_complete_the_location() {
    let (advert, completed) =
        completed(json!({"location": {"postalCode": "75013", "city": "PARIS"}}));
    let place = &advert["location"];
    assert_eq!(place["inseeCode"], "75113");
    assert_eq!(place["department"], "75");
    assert_eq!(place["city"], "PARIS", "given values stay");
    assert_eq!(
        place["locationCoordinate"], place["cityCoordinate"],
        "precise to the commune"
    );
    assert_eq!(place["precision"], "TOWN");
    assert!(completed.derived.contains(DerivedFields::POSITION));
    assert!(completed.warnings.is_empty());
    let mut record = advert.as_object().unwrap().clone();
    completed.derived.remove_from(&mut record);
    assert_eq!(
        record["location"],
        json!({"postalCode": "75013", "city": "PARIS"}),
        "what was derived is forgotten before the next sighting"
    );
}

#[test]
fn a_town_or_postal_code_that_names_no_single_commune_gives_the_one_it_surely_means() {
    let geocoder = toise_geocode::Geocoder::new(Vec::new());
    let place = |value: Value| {
        let mut advert: Advert = read(&json!({"location": value})).unwrap();
        let sources = PlaceSources {
            iris: None,
            geocoder: Some(&geocoder),
        };
        complete(&mut advert, sources);
        serde_json::to_value(advert).unwrap()["location"].take()
    };
    let given = place(json!({"locationCoordinate": {"location": [2.35, 48.83]}}));
    assert!(given.get("precision").is_none(), "{given}");
    // Without imported addresses the geocoder does not look up the address; the commune's centre is used without a
    // warning.
    let town = place(json!({"address": "1 rue Haute", "postalCode": "75013", "city": "Paris"}));
    assert_eq!(town["precision"], "TOWN");
    assert_eq!(town["locationCoordinate"], town["cityCoordinate"]);
    let nothing = place(json!({"city": "Xqzzy"}));
    assert!(nothing.get("locationCoordinate").is_none(), "{nothing}");
}

#[test]
fn a_town_alone_is_placed_where_its_name_department_or_position_tells_which() {
    let place = |value: Value| completed(json!({ "location": value })).0["location"].take();
    let toulon = place(json!({"city": "TOULON"}));
    assert_eq!(
        (&toulon["inseeCode"], &toulon["precision"]),
        (&json!("83137"), &json!("TOWN"))
    );
    assert!(
        place(json!({"city": "Saint-Denis"}))
            .get("inseeCode")
            .is_none()
    );
    let by_department = place(json!({"city": "Saint-Denis", "department": "93"}));
    assert_eq!(by_department["inseeCode"], "93066");
    let position = json!({"location": [2.3571, 48.9358]});
    let by_position = place(json!({"city": "Saint-Denis", "locationCoordinate": position}));
    assert_eq!(by_position["inseeCode"], "93066");
    let paris = place(json!({"city": "Paris"}));
    assert_eq!(
        (&paris["department"], &paris["precision"]),
        (&json!("75"), &json!("TOWN"))
    );
    assert!(
        paris.get("inseeCode").is_none(),
        "which arrondissement is not known"
    );
}

#[test]
fn a_position_that_is_the_centre_of_its_commune_says_so() {
    let at = |longitude: f64, latitude: f64| {
        let position = json!({"location": [longitude, latitude]});
        let place = json!({"postalCode": "48000", "city": "Mende", "locationCoordinate": position});
        completed(json!({ "location": place })).0["location"]["precision"].take()
    };
    let (mende, _) = completed(json!({"location": {"inseeCode": "48095"}}));
    let centre = &mende["location"]["cityCoordinate"]["location"];
    let (longitude, latitude) = (centre[0].as_f64().unwrap(), centre[1].as_f64().unwrap());
    assert_eq!(at(longitude + 0.0004, latitude - 0.0003), "TOWN");
    assert_eq!(
        at(longitude + 0.002, latitude),
        Value::Null,
        "as the sender gives it"
    );
}

#[test]
fn an_insee_code_completes_the_location() {
    let (advert, _) = completed(json!({"location": {"inseeCode": "48095"}}));
    let place = &advert["location"];
    assert_eq!(
        (&place["city"], &place["postalCode"], &place["department"]),
        (&json!("Mende"), &json!("48000"), &json!("48"))
    );
}

#[test]
fn a_postal_code_of_several_communes_gives_only_the_department() {
    let (advert, completed) = completed(json!({"location": {"postalCode": "48000"}}));
    let place = advert["location"].as_object().unwrap();
    assert_eq!(place["department"], "48");
    for derived in ["inseeCode", "city", "cityCoordinate", "locationCoordinate"] {
        assert!(!place.contains_key(derived), "{place:?}");
    }
    assert!(completed.warnings.is_empty(), "{:?}", completed.warnings);
}

#[test]
fn a_village_has_a_centre_and_a_former_commune_is_known() {
    let (advert, completed) =
        completed(json!({"location": {"postalCode": "10200", "city": "AILLEVILLE"}}));
    let place = &advert["location"];
    assert_eq!(place["inseeCode"], "10002");
    assert_eq!(place["locationCoordinate"], place["cityCoordinate"]);
    assert!(place.get("locationCoordinate").is_some());
    assert!(completed.warnings.is_empty());

    let (advert, completed) = self::completed(
        json!({"location": {"postalCode": "93380", "city": "Pierrefitte sur Seine"}}),
    );
    assert_eq!(
        advert["location"]["inseeCode"], "93066",
        "Saint-Denis since 2025"
    );
    assert!(completed.warnings.is_empty());
    let (advert, _) = self::completed(json!({"location": {"inseeCode": "93059"}}));
    assert_eq!(advert["location"]["city"], "Pierrefitte-sur-Seine");
    assert!(completed.warnings.is_empty());
}

#[test]
fn an_unknown_commune_gives_a_warning_and_its_department() {
    let (advert, completed) =
        completed(json!({"location": {"postalCode": "48190", "city": "Nullepart"}}));
    assert_eq!(
        completed.warnings,
        ["location: unknown commune (48190 Nullepart)"]
    );
    assert_eq!(advert["location"]["department"], "48");
    assert!(advert["location"].get("locationCoordinate").is_none());
}

#[test]
fn a_town_without_its_article_or_with_a_wrong_letter_is_known_by_its_postal_code() {
    for (postal_code, city, insee_code) in [
        ("33110", "Bouscat", "33069"),
        ("76620", "Havre", "76351"),
        ("92160", "Anthony", "92002"),
    ] {
        let place = json!({"location": {"postalCode": postal_code, "city": city}});
        let (advert, completed) = completed(place);
        assert_eq!(advert["location"]["inseeCode"], insee_code, "{city}");
        assert!(completed.warnings.is_empty(), "{city}");
    }
    let elsewhere = json!({"location": {"postalCode": "92160", "city": "Massy"}});
    let (advert, completed) = completed(elsewhere);
    assert!(advert["location"].get("inseeCode").is_none());
    assert_eq!(
        completed.warnings,
        ["location: unknown commune (92160 Massy)"]
    );
}

#[test]
fn an_arrondissement_that_contradicts_the_postal_code_gives_no_commune_but_a_warning() {
    let (advert, completed) =
        completed(json!({"location": {"postalCode": "13001", "city": "Marseille 13"}}));
    assert!(advert["location"].get("inseeCode").is_none());
    assert_eq!(advert["location"]["department"], "13");
    assert_eq!(
        completed.warnings,
        ["location: unknown commune (13001 Marseille 13)"]
    );
}

#[test]
fn contours_give_the_iris_and_commune_of_a_position() {
    let contours = json!({"type": "FeatureCollection", "features": [{
        "type": "Feature", "properties": {"code_iris": "751135125", "typ_iris": "H"},
        "geometry": {"type": "Polygon", "coordinates": [[[2.3, 48.8], [2.4, 48.8], [2.4, 48.9], [2.3, 48.9], [2.3, 48.8]]]},
    }]});
    let iris = IrisIndex::parse(contours.to_string().as_bytes(), "contours").unwrap();
    let mut advert: Advert =
        read(&json!({"location": {"locationCoordinate": {"location": [2.35, 48.83]}}})).unwrap();
    complete(&mut advert, PlaceSources::contours(Some(&iris)));
    let place = advert.location.unwrap();
    assert_eq!(place.iris_code.unwrap().as_str(), "751135125");
    assert_eq!(place.insee_code.unwrap().as_str(), "75113");
    assert_eq!(place.city.unwrap(), "Paris 13e Arrondissement");
    assert_eq!(
        place
            .location_coordinate
            .unwrap()
            .location
            .unwrap()
            .longitude(),
        2.35
    );
}

#[test]
fn price_per_area_uses_the_dwelling_or_the_land() {
    let (flat, _) = completed(
        json!({"currentPrice": {"value": 250_000}, "habitation": {"surface": {"total": 61.35}}}),
    );
    assert_eq!(flat["currentPrice"]["valuePerArea"], 4074.98);
    let (land, _) = completed(json!({
        "type": "CLASS_LAND", "currentPrice": {"value": 50_000}, "land": {"surface": 1_000},
        "habitation": {"surface": {"total": 10}},
    }));
    assert_eq!(land["currentPrice"]["valuePerArea"], 50);
    let (none, completed) =
        completed(json!({"currentPrice": {"value": 1}, "habitation": {"surface": {"total": 0}}}));
    assert!(none["currentPrice"].get("valuePerArea").is_none());
    assert!(!completed.derived.contains(DerivedFields::PRICE_PER_AREA));
}

#[test]
fn derived_fields_are_removed_and_given_ones_stay() {
    let given = json!({"offer": {"type": "OFFER_RENT"}, "location": {"postalCode": "75013", "city": "Paris"}, "tags": []});
    let (advert, completed) = completed(given.clone());
    assert_eq!(advert["scope"], "PRICING_MENSUAL");
    let mut record = advert.as_object().unwrap().clone();
    completed.derived.remove_from(&mut record);
    assert_eq!(Value::Object(record), given);
}
