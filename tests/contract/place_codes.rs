//! If a town, department or region is named where its code is required, the error gives the code, on every endpoint and
//! on the command line.

use reqwest::Method;
use serde_json::{Value, json};

use toise::contract::listings::filters::ListingKind;

use super::alerts;
use super::searches;
use crate::support::alerts::{flat, with};
use crate::support::assertions::assert_begins;
use crate::support::process::{errors, try_run};
use crate::support::{Service, error_of};

/// The end of the message for a town in place of its INSEE code.
const MENDE: &str = "; Mende is 48095 (postal code 48000)";

/// Asserts that a request is refused at a path, with a hint at the end of the message.
async fn is_told(service: &Service, method: Method, path: &str, body: Value, at: &str, hint: &str) {
    // Fifty requests per second on the test's clock.
    service.clock.advance_ms(20);
    let path = format!("/v2/protected/{path}");
    let (status, code, told) = error_of(service.call(method, &path, &body).await).await;
    assert_eq!((status, code), (422, 10002), "{path} {body}: {told}");
    assert!(
        told.starts_with(&format!("{at}: ")),
        "{path} {body}: {told}"
    );
    assert!(told.ends_with(hint), "{path} {body}: {told}");
}

#[tokio::test]
async fn searches_of_listings_tell_the_code_of_a_place() {
    let service = Service::start().await;
    let filters = [
        ("inseeCode", "mende", MENDE),
        (
            "postalCode",
            "Mende",
            "must be five digits; Mende is 48000 (INSEE code 48095)",
        ),
        ("department", "Lozere", "; Lozère is 48"),
        (
            "department",
            "Normandie",
            "; Normandie is the region of the departments 14, 27, 50, 61 and 76",
        ),
        (
            "inseeCode",
            "Marvejol",
            "; did you mean Marvejols, 48092 (postal code 48100)?",
        ),
    ];
    for path in [
        "properties/search",
        "properties/search/lite",
        "properties/search/count",
        "analytics/property/search",
    ] {
        for (field, name, hint) in filters {
            let body = json!({"search": {"filterProperty": {"location": [{}, {field: name}]}}});
            let at = format!("search.filterProperty.location[1].{field}");
            is_told(&service, Method::POST, path, body, &at, hint).await;
        }
    }
    let circle =
        json!({"location": {"geoInseeCodeDistance": {"inseeCode": "Mende", "distanceKm": 5}}});
    let body =
        json!({"search": {"filterProperty": {"location": [{"locationCoordinate": circle}]}}});
    let at = "search.filterProperty.location[0].locationCoordinate.location.geoInseeCodeDistance.inseeCode";
    is_told(&service, Method::POST, "properties/search", body, at, MENDE).await;
}

#[tokio::test]
async fn a_place_given_only_by_the_name_of_a_town_is_refused_with_its_code() {
    let service = Service::start().await;
    let told =
        |code: &str| format!("is not searched, and nothing else is given: use inseeCode{code}");
    for (name, code) in [
        ("Zzzz", String::new()),
        ("Mende", MENDE.to_owned()),
        (
            "Lyon",
            "; Lyon is 69123, or 69381 to 69389 by arrondissement".to_owned(),
        ),
    ] {
        let told = told(&code);
        let places =
            json!([{"postalCode": "48000", "city": name}, {"city": name, "inseeCode": null}]);
        for path in [
            "properties/search",
            "properties/search/lite",
            "properties/search/count",
            "analytics/property/search",
        ] {
            let body = json!({"search": {"filterProperty": {"location": places}}});
            let at = "search.filterProperty.location[1].city";
            is_told(&service, Method::POST, path, body, at, &told).await;
        }
        for (listing, key, places, at) in [
            ("properties", "filterProperty", places, "location[1]"),
            ("adverts", "filterAd", json!({"city": name}), "location"),
        ] {
            let path = format!("{listing}/search/alerts");
            let query = json!({key: {"location": places, "type": ["CLASS_FLAT"]}});
            let body = json!({"search_query": query});
            let at = format!("search_query.{key}.{at}.city");
            is_told(&service, Method::PUT, &path, body.clone(), &at, &told).await;
            let path = format!("{path}/preview");
            is_told(&service, Method::POST, &path, body, &at, &told).await;
        }
    }
    let location = json!([{"city": "Lyon", "postalCode": "48000"}]);
    let body = json!({"search": {"filterProperty": {"location": location}}});
    let path = "/v2/protected/properties/search/count";
    assert_eq!(service.call(Method::POST, path, &body).await.status(), 200);
}

#[tokio::test]
async fn the_code_of_a_divided_city_finds_what_lies_in_its_arrondissements() {
    let service = alerts::service().await;
    let cities = [
        ("75056", "75000", "75111", "75011"),
        ("69123", "69000", "69383", "69003"),
        ("13055", "13000", "13201", "13001"),
    ];
    let mut waiting = Vec::new();
    for (whole, post, _, _) in cities {
        for filter in [json!({"inseeCode": whole}), json!({"postalCode": post})] {
            for (listing, root) in alerts::KINDS {
                let filter = match listing {
                    ListingKind::Property => json!({"location": [filter]}),
                    ListingKind::Advert => json!({"location": filter}),
                };
                waiting.push((whole, alerts::make(&service, listing, root, &filter).await));
            }
        }
    }
    let adverts: Vec<Value> = cities
        .into_iter()
        .zip(0..)
        .map(|((_, _, insee, post), asset)| {
            let location = json!({"inseeCode": insee, "postalCode": post});
            with(flat("un", asset, asset), json!({"location": location}))
        })
        .collect();
    let taken = alerts::take(&service, Value::Array(adverts)).await;
    searches::shown(&service, 3).await;
    for ((whole, post, _, _), [_, property]) in cities.into_iter().zip(&taken) {
        for place in [json!({"inseeCode": whole}), json!({"postalCode": post})] {
            let search = json!({"filterProperty": {"location": [place]}});
            let body = json!({"size": 5, "sortBy": "PRICE", "orderBy": "ASC", "search": search});
            let path = "/v2/protected/properties/search";
            let found = service.data(Method::POST, path, &body).await;
            assert_eq!(alerts::ids(&found["items"]), [property], "{place}");
        }
    }
    for (whole, alert) in waiting {
        let place = cities.iter().position(|city| city.0 == whole).unwrap();
        let (root, id) = alert.rsplit_once('/').unwrap();
        let history = alerts::read(&service, &format!("{root}/history/{id}")).await;
        let found = alerts::ids(&history);
        assert_eq!(found.len(), 1, "{alert}: {history}");
        assert!(taken[place].iter().any(|id| id == found[0]), "{alert}");
    }
}

#[tokio::test]
async fn swapped_coordinates_are_refused_in_every_filter() {
    let service = Service::start().await;
    let told =
        "the position is outside France, but inside it if latitude and longitude are swapped";
    let pin = json!({"lat": 2.35, "lon": 48.86});
    let shapes = [
        ("geoDistance", json!({"pin": pin, "distanceKm": 1}), ".pin"),
        (
            "geoBoundingBox",
            json!({"topLeft": {"lat": 2.2, "lon": 48.9}, "bottomRight": {"lat": 2.4, "lon": 48.8}}),
            "",
        ),
        (
            "geoBoundingBox",
            json!({"topLeft": {"lat": 2.4, "lon": 48.8}, "bottomRight": {"lat": 2.2, "lon": 48.9}}),
            "",
        ),
    ];
    for (shape, given, inner) in shapes {
        let place = json!({"locationCoordinate": {"location": {shape: given}}});
        let body = json!({"search": {"filterProperty": {"location": [place]}}});
        let at =
            format!("search.filterProperty.location[0].locationCoordinate.location.{shape}{inner}");
        let path = "properties/search/count";
        is_told(&service, Method::POST, path, body, &at, told).await;
    }
    let circle = json!({"geoDistance": {"pin": pin, "distanceKm": 1}});
    let place = json!({"locationCoordinate": {"location": circle}});
    for (listing, key, places, at) in [
        (
            "properties",
            "filterProperty",
            json!([place]),
            "location[0]",
        ),
        ("adverts", "filterAd", place.clone(), "location"),
    ] {
        let path = format!("{listing}/search/alerts");
        let body = json!({"search_query": {key: {"location": places}}});
        let at = format!("search_query.{key}.{at}.locationCoordinate.location.geoDistance.pin");
        is_told(&service, Method::PUT, &path, body.clone(), &at, told).await;
        let preview = format!("{path}/preview");
        is_told(&service, Method::POST, &preview, body, &at, told).await;
    }
    let around = json!({"lat": 2.35, "lon": 48.86, "distance": "1km"});
    for table in ["dpe", "dvf"] {
        for door in ["search", "match"] {
            let path = format!("opendata/{table}/{door}");
            let body = json!({"filters": {"location": around}});
            is_told(
                &service,
                Method::POST,
                &path,
                body,
                "filters.location",
                told,
            )
            .await;
        }
    }
    let body = json!({"level": "commune", "location": {"around": around}});
    let path = "analytics/market";
    is_told(&service, Method::POST, path, body, "location.around", told).await;
}

#[tokio::test]
async fn alerts_and_adverts_tell_the_code_of_a_place() {
    let service = Service::start().await;
    for (path, key, places, at) in [
        (
            "properties",
            "filterProperty",
            json!([{"inseeCode": "Mende"}]),
            "location[0]",
        ),
        (
            "adverts",
            "filterAd",
            json!({"inseeCode": "Mende"}),
            "location",
        ),
    ] {
        let path = format!("{path}/search/alerts");
        let body = json!({"search_query": {key: {"location": places}}});
        let at = format!("search_query.{key}.{at}.inseeCode");
        is_told(&service, Method::PUT, &path, body, &at, MENDE).await;
    }
    let operator = service.key_with("admin");
    let advert = json!({"url": "https://p.example/1", "location": {"inseeCode": "Mende"}});
    let taken = service.ingest(&operator, &[advert]).await;
    let told = taken[0]["error"]["message"].as_str().unwrap();
    assert_begins(told, "adverts[0].location.inseeCode: ");
    assert!(told.ends_with(MENDE), "{told}");
}

#[tokio::test]
async fn open_data_tells_the_code_of_a_place() {
    let service = Service::start().await;
    for (table, insee, postal, department) in [
        (
            "dpe",
            "code_insee_ban",
            "code_postal_ban",
            "code_departement_ban",
        ),
        ("dvf", "insee_code", "postal_code", "departement_code"),
    ] {
        for (field, name, hint) in [
            (insee, "Mende", MENDE),
            (postal, "MENDE", "; Mende is 48000 (INSEE code 48095)"),
            (department, "Mende", "; Mende is in department 48 (Lozère)"),
            ("city", "Mende", MENDE),
        ] {
            let filters = json!({"filters": {field: name}});
            let at = format!("filters.{field}");
            for door in ["search", "match"] {
                let path = format!("opendata/{table}/{door}");
                is_told(&service, Method::POST, &path, filters.clone(), &at, hint).await;
            }
            let path = format!("opendata/{table}/match/_many");
            let (body, at) = (json!({"items": [{}, filters]}), format!("items[1].{at}"));
            is_told(&service, Method::POST, &path, body, &at, hint).await;
        }
    }
}

#[test]
fn the_command_line_tells_the_code_of_a_department() {
    let data = tempfile::tempdir().unwrap();
    for table in ["dvf", "dpe", "ban"] {
        for (named, hint) in [
            ("48,Haute Loire", "unknown department; Haute-Loire is 43"),
            (
                "mende",
                "unknown department; Mende is in department 48 (Lozère)",
            ),
            ("Losère", "unknown department; did you mean Lozère, 48?"),
            ("20", "unknown department"),
        ] {
            let arguments = ["import", table, "--departments", named];
            let output = try_run(data.path(), &arguments);
            let told = errors(&output);
            assert_eq!(output.status.code(), Some(2), "{told}");
            assert!(told.contains(&format!(": {hint}\n")), "{told}");
        }
    }
}

#[test]
fn a_row_of_a_portfolio_tells_the_code_of_its_town() {
    let data = tempfile::tempdir().unwrap();
    let (input, output) = (
        data.path().join("flats.csv"),
        data.path().join("found.ndjson"),
    );
    std::fs::write(&input, "id,insee_code\n1,Mende\n").unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let arguments = ["match", "dvf", "--input", from, "--output", to];
    let ended = try_run(data.path(), &arguments);
    let rows = std::fs::read_to_string(&output).unwrap_or_else(|_| panic!("{}", errors(&ended)));
    let row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let told = row["error"].as_str().unwrap();
    assert!(told.starts_with("filters.insee_code: "), "{told}");
    assert!(told.ends_with(MENDE), "{told}");
}
