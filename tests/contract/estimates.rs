//! Estimates over HTTP: responses, rejections, charges and concurrency.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::key::{Allowance, KeyKind};
use toise::accounts::sql_limits::SqlLimits;
use toise::estimate::live::LiveModel;
use toise::estimate::valuer::Adjustments;

use crate::support::assertions::{assert_begins, pick};
use crate::support::homes::{IN_PARIS, body, trained};
use crate::support::{Service, data_of, error_of};

const LITE: &str = "/v2/protected/estimate/property/lite";
const MANY: &str = "/v2/protected/estimate/property/lite/_many";

/// A service with a model; the data folder is deleted with the returned value.
async fn with_model() -> (Service, Arc<TempDir>) {
    let folder = trained();
    let models = LiveModel::open(folder.path(), Adjustments::On);
    let service = Service::start_changed(|app| app.data.models = models);
    (service.await, folder)
}

/// A home with a value set at a dotted path.
fn with(path: &str, value: Value) -> Value {
    let mut home = body(IN_PARIS, "CLASS_FLAT", 50.0);
    let mut here = &mut home;
    for key in path.split('.') {
        here = &mut here[key];
    }
    *here = value;
    home
}

#[tokio::test]
async fn a_home_is_valued_with_contributions_and_comparables() {
    let (service, _folder) = with_model().await;
    let home = with("habitation.characteristics.hasTerrace", json!(true));
    let response = service.post(LITE, home.to_string()).await;
    assert_eq!(response.headers()["x-credits"], "1");
    let answer = data_of(response).await;
    let price = answer["price"].as_i64().unwrap();
    let range = &answer["priceRange"];
    assert!(range["lower"].as_i64().unwrap() <= price && price <= range["upper"].as_i64().unwrap());
    let about = &answer["metadata"];
    assert_eq!(pick(about, ["coverage", "fallback"]), json!([0.8, "none"]));
    assert!(["HIGH", "MEDIUM", "LOW"].contains(&about["confidence"].as_str().unwrap()));
    assert!(about["model"]["version"].is_string() && about["model"]["data_through"].is_string());
    let parts = about["contributions"].as_object().unwrap();
    let sum: i64 = parts.values().map(|part| part.as_i64().unwrap()).sum();
    assert_eq!(sum, price);
    assert!(parts["hasTerrace"].as_i64().unwrap() > 0, "{parts:?}");
    let sales = about["comparables"].as_array().unwrap();
    assert!((1..=5).contains(&sales.len()));
    for sale in sales {
        assert_eq!(sale.as_object().unwrap().len(), 5, "{sale}");
        assert!(sale["date"].as_str().unwrap().ends_with("T00:00:00.000Z"));
    }
    // Without a terrace its value is lower. A position in the sea gets the national fallback and a warning.
    let without = with("habitation.characteristics.hasTerrace", json!(false));
    let without = data_of(service.post(LITE, without.to_string()).await).await;
    assert!(without["price"].as_i64().unwrap() < price);
    let at_sea = body([-5.0, 46.0], "CLASS_FLAT", 50.0);
    let at_sea = data_of(service.post(LITE, at_sea.to_string()).await).await;
    assert_eq!(at_sea["metadata"]["fallback"], "national");
    assert_eq!(at_sea["metadata"]["warning"], "outside_france");
    let swapped = body([48.8566, 2.3522], "CLASS_FLAT", 50.0);
    let swapped = data_of(service.post(LITE, swapped.to_string()).await).await;
    assert_eq!(swapped["metadata"]["warning"], "coordinates_swapped?");
    assert!(at_sea["price"].as_i64().unwrap() > 0);
}

#[tokio::test]
async fn many_homes_are_valued_in_order_and_only_estimates_are_charged() {
    let (service, _folder) = with_model().await;
    let mut homes: Vec<Value> = (9..=400)
        .step_by(17)
        .map(|surface_m2| body(IN_PARIS, "CLASS_FLAT", f64::from(surface_m2)))
        .collect();
    homes.insert(2, with("habitation.surface.total", json!(-1)));
    homes.push(json!("home"));
    let response = service
        .post(MANY, json!({"items": homes}).to_string())
        .await;
    assert_eq!(response.headers()["x-credits"], "24");
    let mut answers = data_of(response).await.as_array().unwrap().clone();
    assert_eq!(answers.len(), homes.len());
    let error = |answer: Value| {
        let error = answer["error"].as_object().unwrap().clone();
        (
            error["code"].as_u64().unwrap(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    let last = error(answers.pop().unwrap());
    assert_eq!(last, (10002, "items[25]: must be an object".into()));
    let second = error(answers.remove(2));
    let message = "items[2].habitation.surface.total: must be a number between 5 and 5000";
    assert_eq!(second, (10002, message.into()));
    let prices: Vec<i64> = answers
        .iter()
        .map(|answer| answer["price"].as_i64().unwrap())
        .collect();
    assert!(
        prices.is_sorted(),
        "a greater flat is never worth less: {prices:?}"
    );
    let alone = data_of(service.post(LITE, homes[0].to_string()).await).await;
    assert_eq!(alone, answers[0]);
    // If all are faulty, the call is answered, counted and free.
    let response = service.post(MANY, json!({"items": [{}]}).to_string()).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-credits"]),
        (200, &"0".parse().unwrap())
    );
    for faulty in [json!({"items": []}), json!([])] {
        let (status, code, _) = error_of(service.post(MANY, faulty.to_string()).await).await;
        assert_eq!((status, code), (422, 10002));
    }
}

#[tokio::test]
async fn an_absurd_value_is_rejected_with_its_path_before_the_model_is_needed() {
    let service = Service::start().await;
    for (path, value) in [
        ("habitation.surface.total", json!(-50)),
        ("habitation.surface.total", json!("NaN")),
        ("habitation.surface.total", json!(1e300)),
        ("habitation.roomCount", json!(1_000)),
        (
            "location.locationCoordinate.location",
            json!([48.86, 2.35, 0.0]),
        ),
        ("offer.type", json!("OFFER_RENT")),
        ("habitation.climate.epcEnergy", json!("H")),
    ] {
        let (status, code, message) =
            error_of(service.post(LITE, with(path, value).to_string()).await).await;
        assert_eq!((status, code), (422, 10002));
        assert_begins(&message, &format!("{path}: must be "));
    }
    // Values that are not numbers, as many clients write them, and one too large for a double.
    let text = body(IN_PARIS, "CLASS_FLAT", 50.5).to_string();
    for number in ["NaN", "Infinity", "-Infinity", "1e999"] {
        let faulty = text.replace("50.5", number);
        let (status, code, message) = error_of(service.post(LITE, faulty).await).await;
        assert_eq!((status, code), (422, 10002), "{number}");
        let is_named = message.starts_with("habitation.surface.total: must be a number");
        assert_eq!(is_named, number != "1e999", "{message}");
    }
    let (status, code, _) = error_of(service.post(LITE, text.replace("50.5", "nan")).await).await;
    assert_eq!((status, code), (400, 10002));
}

#[tokio::test]
async fn a_null_for_what_is_optional_stands_for_its_absence() {
    let (service, _folder) = with_model().await;
    let priced = async |home: Value| data_of(service.post(LITE, home.to_string()).await).await;
    let plain = priced(body(IN_PARIS, "CLASS_FLAT", 50.0)).await;
    let mut homes = Vec::new();
    for path in [
        "location.address",
        "land",
        "land.surface",
        "habitation.propertyCondition",
        "habitation.propertyCondition.constructionYear",
        "habitation.propertyCondition.generalConditions",
        "habitation.climate",
        "habitation.climate.epcEnergy",
        "habitation.climate.epcClimate",
        "habitation.features",
        "habitation.features.furniture",
        "habitation.features.propertyFloor",
        "habitation.characteristics",
        "habitation.characteristics.hasLift",
    ] {
        let home = with(path, Value::Null);
        assert_eq!(
            priced(home.clone()).await["price"],
            plain["price"],
            "{path}"
        );
        homes.push(home);
        service.clock.advance_ms(1_000);
    }
    let body = json!({ "items": homes }).to_string();
    for valued in data_of(service.post(MANY, body).await)
        .await
        .as_array()
        .unwrap()
    {
        assert_eq!(valued["price"], plain["price"]);
    }
}

#[tokio::test]
async fn without_a_model_the_response_says_how_to_train_one() {
    let service = Service::start().await;
    let home = body(IN_PARIS, "CLASS_FLAT", 50.0);
    for (path, body) in [(LITE, home.clone()), (MANY, json!({"items": [home]}))] {
        let response = service.post(path, body.to_string()).await;
        assert_eq!(response.headers()["x-credits"], "0");
        assert!(response.headers().contains_key("retry-after"));
        let (status, code, message) = error_of(response).await;
        assert_eq!((status, code), (503, 10000));
        assert!(message.contains("toise train"), "{message}");
    }
}

#[tokio::test]
async fn a_key_runs_two_estimates_at_once_and_a_few_wait() {
    let mut meters = None;
    let service = Service::start_changed(|app| {
        meters = Some(app.access.meters.clone());
    });
    let service = service.await;
    let key = service.new_key(KeyKind::Production, "ai", DEFAULT_ACCOUNT);
    let allowance = Allowance {
        rate_per_s: 50,
        monthly_quota: None,
        estimates_max: 2,
        sql: SqlLimits::default(),
    };
    let meter = meters.unwrap().of(key.key_id, allowance);
    let turns = [
        meter.acquire_estimate().await.unwrap(),
        meter.acquire_estimate().await.unwrap(),
    ];
    let home = body(IN_PARIS, "CLASS_FLAT", 50.0);
    let mut calls: FuturesUnordered<_> = (0..12)
        .map(|_| {
            let request = service.keyed(Method::POST, LITE, &key.key);
            request.json(&home).send()
        })
        .collect();
    // Eight wait for one of the two permits; the others are rejected at once.
    for _ in 0..4 {
        let response = calls.next().await.unwrap().unwrap();
        assert_eq!(response.headers()["retry-after"], "1");
        let (status, code, message) = error_of(response).await;
        assert_eq!((status, code), (429, 10005));
        assert!(message.contains("estimates at once"), "{message}");
    }
    drop(turns);
    while let Some(response) = calls.next().await {
        assert_eq!(
            response.unwrap().status(),
            503,
            "it got a permit, but there is no model"
        );
    }
}
