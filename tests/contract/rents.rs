//! Rents over HTTP: from adverts, from the map, from both, and what is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::base::splitmix::SplitMix64;
use toise::estimate::live::LiveModel;
use toise::estimate::valuer::Adjustments;
use toise::market::rents::Rents;
use toise::market::rents::map::{MapFile, MapKind, import};

use super::searches::shown;
use crate::support::assertions::pick;
use crate::support::homes::{IN_PARIS, trained};
use crate::support::{Service, data_of, error_of};

const RENT: &str = "/v2/protected/estimate/rent";
/// Mende, longitude and latitude.
const IN_MENDE: [f64; 2] = [3.4989, 44.5181];
/// Header and rows of the official map of flats of 2024, as published: Civray and Ruffec with adverts of their own,
/// Champagné-le-Sec with those of its neighbours.
const MAP_ROWS: &str = "\"id_zone\";\"INSEE_C\";\"LIBGEO\";\"EPCI\";\"DEP\";\"REG\";\"loypredm2\";\"lwr.IPm2\";\"upr.IPm2\";\
\"TYPPRED\";\"nbobs_com\";\"nbobs_mail\";\"R2_adj\"
\"1\";\"86051\";\"Champagn\u{e9}-le-Sec\";\"200070035\";\"86\";\"75\";8,48108601820233;6,60248185247569;10,8942094284101;\"maille\";0;1044;0,719908446134695
\"1\";\"86078\";\"Civray\";\"200070035\";\"86\";\"75\";7,98847434284606;6,21894742514612;10,2614989263734;\"commune\";273;1044;0,719908446134695
\"1\";\"16292\";\"Ruffec\";\"200043016\";\"16\";\"75\";8,89344292438159;6,92536107538249;11,4208235770385;\"commune\";710;1044;0,719908446134695
";
/// Civray, longitude and latitude.
const IN_CIVRAY: [f64; 2] = [0.2951, 46.1486];

fn body(position: [f64; 2], class: &str, surface_m2: f64) -> Value {
    json!({
        "location": {"locationCoordinate": {"location": position}},
        "habitation": {"surface": {"total": surface_m2}},
        "type": class,
    })
}

async fn asked(service: &Service, body: &Value) -> Response {
    service.clock.advance_ms(20);
    service.post(RENT, body.to_string()).await
}

async fn estimated(service: &Service, body: &Value) -> Value {
    data_of(asked(service, body).await).await
}

/// Writes a file as its publisher does: in the encoding of Windows.
fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    let bytes = encoding_rs::WINDOWS_1252.encode(text).0;
    std::fs::write(&path, bytes).unwrap();
    path
}

fn with_map(service: &Service, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = MapFile {
        path: written(folder.path(), "pred-app-mef-dhup.csv", text),
        kind: MapKind::Flats,
        year: 2024,
        licence: Some("Licence Ouverte 2.0".to_owned()),
        source: None,
    };
    import(&service.store, &[file], &service.clock).unwrap();
}

/// Adverts of homes to rent in Mende and Paris; each home is on two portals. Rents per square metre are 10 and 30 EUR for
/// 50 m², fall with the surface to the power -0.3, and vary by 15 % up and down.
fn adverts(homes: usize) -> Vec<Value> {
    let mut draws = SplitMix64::new(7);
    let mut unit = move || draws.unit();
    let mut adverts = Vec::new();
    for nth in 0..homes {
        let (city, per_m2, [lon, lat]) = match nth % 2 {
            0 => ("48095", 10.0, IN_MENDE),
            _ => ("75111", 30.0, IN_PARIS),
        };
        let surface = (18.0 + 90.0 * unit()).round();
        let rent = surface * per_m2 * (surface / 50.0_f64).powf(-0.3) * (0.85 + 0.3 * unit());
        let position = json!([lon + 0.01 * (unit() - 0.5), lat + 0.008 * (unit() - 0.5)]);
        for portal in ["a", "b"] {
            adverts.push(json!({
                "url": format!("https://{portal}.example/annonces/{nth}"),
                "source": format!("{portal}.example"),
                "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_RENT"},
                "title": format!("Appartement {nth} à louer"),
                "reference": format!("REF-{nth}"),
                "currentPrice": {"value": rent.round()},
                "habitation": {"surface": {"total": surface}, "roomCount": (surface / 22.0).ceil()},
                "location": {"inseeCode": city, "locationCoordinate": {"location": position}},
            }));
        }
    }
    adverts
}

async fn ingested(service: &Service, mut adverts: Vec<Value>) {
    let operator = service.key_with("admin");
    while !adverts.is_empty() {
        let rest = adverts.split_off(adverts.len().min(200));
        service.ingest(&operator, &adverts).await;
        adverts = rest;
    }
    let properties = service.stored("SELECT count(*) FROM properties WHERE merged_into IS NULL");
    shown(service, properties[0] as u64).await;
}

#[tokio::test]
async fn rents_are_learned_from_adverts_with_their_interval_and_the_yield() {
    let folder = trained();
    let models = LiveModel::open(folder.path(), Adjustments::On);
    let service = Service::start_changed(|app| {
        let properties = Arc::clone(&app.data.properties);
        app.data.rents = Rents::new(
            properties.shared_engine(),
            Arc::new(move || Some(properties.view())),
            Some(app.store.clone()),
            models,
            app.clock.clone(),
        );
    })
    .await;
    ingested(&service, adverts(240)).await;

    let small = estimated(&service, &body(IN_PARIS, "CLASS_FLAT", 30.0)).await;
    let paris = estimated(&service, &body(IN_PARIS, "CLASS_FLAT", 50.0)).await;
    let mende = estimated(&service, &body(IN_MENDE, "CLASS_FLAT", 50.0)).await;
    let rent = |answer: &Value| answer["rent"].as_f64().unwrap();
    for (answer, truth) in [(&paris, 1_500.0), (&mende, 500.0)] {
        assert!((rent(answer) / truth - 1.0).abs() < 0.1, "{answer}");
        let range = &answer["rentRange"];
        let [lower, upper] = ["lower", "upper"].map(|end| range[end].as_f64().unwrap());
        assert!(lower < rent(answer) && rent(answer) < upper);
        // Four fifths of rents within 15 % are within 12 %.
        let width = (upper / lower).ln() / 2.0;
        assert!((0.08..0.25).contains(&width), "{width}: {answer}");
        let about = &answer["metadata"];
        assert_eq!(about["method"], "adverts");
        assert_eq!(about["coverage"], 0.8);
        assert!(about.get("rent_map").is_none());
        let parts = about["contributions"].as_object().unwrap();
        let sum: i64 = parts.values().map(|part| part.as_i64().unwrap()).sum();
        assert_eq!(sum as f64, rent(answer), "{parts:?}");
    }
    assert_eq!(mende["metadata"]["commune"]["inseeCode"], "48095");
    let adverts = &mende["metadata"]["adverts"];
    // Both adverts of a home are one property.
    let known = adverts["all"].as_u64().unwrap();
    assert!((200..=240).contains(&known), "{adverts}");
    assert!(adverts["commune"].as_u64().unwrap() <= 120, "{adverts}");
    assert_eq!(adverts["nearest"], 24);
    assert!(adverts["nearest_m"].as_u64().unwrap() < 1_000);
    // The smaller flat is dearer per square metre, and cheaper.
    assert!(small["rentPerArea"].as_f64() > paris["rentPerArea"].as_f64());
    assert!(rent(&small) < rent(&paris));

    let found = &paris["grossYield"];
    assert_eq!(found["price_from"], "estimate");
    let expected = 1_200.0 * rent(&paris) / found["price"].as_f64().unwrap();
    assert!((found["percent"].as_f64().unwrap() - expected).abs() < 0.01);
    let mut priced = body(IN_PARIS, "CLASS_FLAT", 50.0);
    priced["price"] = json!(450_000);
    let priced = estimated(&service, &priced).await;
    let found = &priced["grossYield"];
    assert_eq!(
        pick(found, ["price", "price_from"]),
        json!([450_000, "request"])
    );
    let expected = 1_200.0 * rent(&priced) / 450_000.0;
    assert!((found["percent"].as_f64().unwrap() - expected).abs() < 0.01);

    // A place without an advert, in a department without one.
    let elsewhere = asked(&service, &body(IN_CIVRAY, "CLASS_FLAT", 50.0)).await;
    let (status, code, message) = error_of(elsewhere).await;
    assert_eq!((status, code), (422, 10002), "{message}");
    let start =
        "location: too few adverts of homes to rent: 0 in Civray (86078) or near it and 0 in";
    assert!(message.starts_with(start), "{message}");
}

#[tokio::test]
async fn the_map_gives_rents_where_there_is_no_advert() {
    let service = Service::start().await;
    let nothing = asked(&service, &body(IN_CIVRAY, "CLASS_FLAT", 52.0)).await;
    let (status, _, message) = error_of(nothing).await;
    assert_eq!(status, 422);
    assert!(message.contains("toise import rents"), "{message}");

    with_map(&service, MAP_ROWS);
    let civray = estimated(&service, &body(IN_CIVRAY, "CLASS_FLAT", 52.0)).await;
    assert_eq!(civray["rent"], 415, "52 m2 at 7.988 EUR: {civray}");
    // The interval of the map holds 95 %; the answer's 80 %.
    let half = (10.2615_f64 / 6.2189).ln() / 2.0 * 1.2816 / 1.96;
    let lower = civray["rentRange"]["lower"].as_f64().unwrap();
    assert!(
        (lower / (52.0 * 7.9885) - (-half).exp()).abs() < 0.01,
        "{civray}"
    );
    let about = &civray["metadata"];
    assert_eq!(about["method"], "rent_map");
    assert_eq!(about["contributions"], json!({"rent_map": 415}));
    assert_eq!(about["adverts"]["all"], 0);
    assert_eq!(
        about["rent_map"],
        json!({
            "rent_per_m2": 7.99, "lower": 6.22, "upper": 10.26, "coverage": 0.95, "kind": "flats", "year": 2024,
            "adverts": 273, "level": "commune", "licence": "Licence Ouverte 2.0",
        })
    );
    assert!(civray.get("grossYield").is_none());
    for (changed, status, fault) in [
        (
            body([-5.0, 46.0], "CLASS_FLAT", 50.0),
            422,
            "location.locationCoordinate",
        ),
        (
            body([46.1486, 0.2951], "CLASS_FLAT", 50.0),
            422,
            "coordinates_swapped?",
        ),
        // The map of houses was not imported.
        (body(IN_CIVRAY, "CLASS_HOUSE", 90.0), 422, "0 of 30"),
        (
            body(IN_CIVRAY, "CLASS_FLAT", 0.0),
            422,
            "habitation.surface.total",
        ),
        (json!({"type": "CLASS_FLAT"}), 422, "is required"),
    ] {
        let (found, _, message) = error_of(asked(&service, &changed).await).await;
        assert_eq!(found, status, "{changed}: {message}");
        assert!(message.contains(fault), "{changed}: {message}");
    }
    let key = service.key_with("search");
    let request = service.keyed(Method::POST, RENT, &key);
    let response = request.json(&body(IN_CIVRAY, "CLASS_FLAT", 52.0)).send();
    assert_eq!(error_of(response.await.unwrap()).await.0, 403);
}

#[tokio::test]
async fn adverts_correct_the_map() {
    let service = Service::start().await;
    // On the map Mende is a third dearer than adverts are, and Paris costs what they ask.
    let mut map = MAP_ROWS.to_owned();
    for (code, rent) in [("48095", 13.33), ("48092", 9.0), ("75111", 30.0)] {
        let [rent, lower, upper] =
            [rent, rent * 0.75, rent / 0.75].map(|eur: f64| format!("{eur:.4}").replace('.', ","));
        map += &format!(
            "\"1\";\"{code}\";\"X\";\"1\";\"48\";\"76\";{rent};{lower};{upper};\"commune\";10;10;0,8\n"
        );
    }
    with_map(&service, &map);
    let before = estimated(&service, &body(IN_MENDE, "CLASS_FLAT", 52.0)).await;
    assert_eq!(before["metadata"]["method"], "rent_map");
    ingested(&service, adverts(240)).await;
    let after = estimated(&service, &body(IN_MENDE, "CLASS_FLAT", 52.0)).await;
    assert_eq!(after["metadata"]["method"], "adverts_and_rent_map");
    let [before, corrected] = [&before, &after].map(|answer| answer["rent"].as_f64().unwrap());
    assert!((before - 693.0).abs() < 2.0, "{before}");
    assert!((corrected - 514.0).abs() < 40.0, "{after}");
    assert_eq!(after["metadata"]["rent_map"]["rent_per_m2"], 13.33);
    let width = |answer: &Value| {
        let range = &answer["rentRange"];
        (range["upper"].as_f64().unwrap() / range["lower"].as_f64().unwrap()).ln()
    };
    assert!(width(&after) < 0.5, "{after}");
}
