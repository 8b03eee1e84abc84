//! Whoever names a town, department or region where a code is required is told the code, at every door.

use reqwest::Method;
use serde_json::{Value, json};

use super::alerts::ask;
use crate::support::process::{errors, toise};
use crate::support::{Service, error_of};

/// The end of the message for a town in place of its INSEE code.
const MENDE: &str = "; Mende is 48095 (postal code 48000)";

/// Asserts that a request is refused at a path, with a hint at the end of the message.
async fn is_told(service: &Service, method: Method, path: &str, body: Value, at: &str, hint: &str) {
    // Fifty requests per second on the test's clock.
    service.clock.advance_ms(20);
    let (status, code, told) = error_of(ask(service, method, path, &body).await).await;
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
            let path = format!("/v2/protected/{path}");
            is_told(&service, Method::POST, &path, body, &at, hint).await;
        }
    }
    let circle =
        json!({"location": {"geoInseeCodeDistance": {"inseeCode": "Mende", "distanceKm": 5}}});
    let body =
        json!({"search": {"filterProperty": {"location": [{"locationCoordinate": circle}]}}});
    let at = "search.filterProperty.location[0].locationCoordinate.location.geoInseeCodeDistance.inseeCode";
    is_told(
        &service,
        Method::POST,
        "/v2/protected/properties/search",
        body,
        at,
        MENDE,
    )
    .await;
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
        let path = format!("/v2/protected/{path}/search/alerts");
        let body = json!({"search_query": {key: {"location": places}}});
        let at = format!("search_query.{key}.{at}.inseeCode");
        is_told(&service, Method::PUT, &path, body, &at, MENDE).await;
    }
    let operator = service.key_with("admin");
    let advert = json!({"url": "https://p.example/1", "location": {"inseeCode": "Mende"}});
    let response = service
        .ask(Method::POST, "/v2/protected/admin/adverts")
        .header("x-api-key", &operator)
        .json(&json!({"adverts": [advert]}));
    let answer: Value = response.send().await.unwrap().json().await.unwrap();
    let told = answer["data"][0]["error"]["message"].as_str().unwrap();
    assert!(
        told.starts_with("adverts[0].location.inseeCode: "),
        "{told}"
    );
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
                let path = format!("/v2/protected/opendata/{table}/{door}");
                is_told(&service, Method::POST, &path, filters.clone(), &at, hint).await;
            }
            let path = format!("/v2/protected/opendata/{table}/match/_many");
            let body = json!({"items": [{}, filters]});
            is_told(
                &service,
                Method::POST,
                &path,
                body,
                &format!("items[1].{at}"),
                hint,
            )
            .await;
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
            let output = toise(data.path(), &arguments).output().unwrap();
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
    let ended = toise(data.path(), &arguments).output().unwrap();
    let rows = std::fs::read_to_string(&output).unwrap_or_else(|_| panic!("{}", errors(&ended)));
    let row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let told = row["error"].as_str().unwrap();
    assert!(told.starts_with("filters.insee_code: "), "{told}");
    assert!(told.ends_with(MENDE), "{told}");
}
