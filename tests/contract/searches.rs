//! Searches of properties through the socket: ingested adverts are found within a second, page by page, complete
//! and lite.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toise::contract::listings::{LiteProperty, Property};
use toise::contract::read::read;
use toise::geo::distance::planar_distance_m;
use toise::synth::adverts::level::DistortionLevel;
use toise::synth::adverts::{AdvertsRequest, MarketGenerator};

use crate::support::areas::{self, Judge};
use crate::support::assertions::texts_of;
use crate::support::draw::Draw;
use crate::support::{Service, data_of, error_of};

const SEARCH: &str = "/v2/protected/properties/search";

pub async fn taken(adverts: u64) -> (Service, u64) {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let market = MarketGenerator::new(AdvertsRequest::new(adverts, 3, DistortionLevel::Middle));
    let mut documents: Vec<Value> = market
        .observations()
        .map(|seen| serde_json::to_value(seen.advert).unwrap())
        .collect();
    while !documents.is_empty() {
        let rest = documents.split_off(documents.len().min(200));
        service.ingest(&operator, &documents).await;
        documents = rest;
    }
    let properties = service.stored("SELECT count(*) FROM properties WHERE merged_into IS NULL");
    (service, properties[0] as u64)
}

async fn asked(service: &Service, path: &str, body: &Value) -> Value {
    // Fifty requests per second on the test's clock.
    service.clock.advance_ms(20);
    data_of(service.post(path, body.to_string()).await).await
}

/// Waits until searches return as many properties as the store holds.
pub async fn shown(service: &Service, properties: u64) {
    let until = Instant::now() + Duration::from_secs(20);
    let all = json!({"search": {"filterProperty": {}}});
    while asked(service, &format!("{SEARCH}/count"), &all).await["count"] != properties {
        assert!(
            Instant::now() < until,
            "not all of the {properties} properties are found"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn body(filter: Value, size: usize) -> Value {
    json!({"size": size, "sortBy": "PRICE", "orderBy": "ASC", "search": {"filterProperty": filter}})
}

#[tokio::test]
async fn pages_contain_every_property_once_in_order_complete_and_lite() {
    let (service, properties) = taken(120).await;
    shown(&service, properties).await;
    for (path, size) in [(SEARCH.to_owned(), 33), (format!("{SEARCH}/lite"), 25)] {
        let mut page = body(json!({}), size);
        let (mut ids, mut prices) = (Vec::new(), Vec::new());
        loop {
            let data = asked(&service, &path, &page).await;
            assert_eq!(data["count"], properties);
            for item in data["items"].as_array().unwrap() {
                if size == 25 {
                    read::<LiteProperty>(item).unwrap_or_else(|fault| panic!("{fault}: {item}"));
                    assert!(item.get("description").is_none());
                } else {
                    read::<Property>(item).unwrap_or_else(|fault| panic!("{fault}: {item}"));
                }
                ids.push(item["flxId"].as_str().unwrap().to_owned());
                let price = &item["price"]["latest"]["value"];
                prices.push(price.as_f64().unwrap_or(f64::INFINITY));
            }
            let Some(cursor) = data.get("searchAfterHash") else {
                break;
            };
            page["searchAfterHash"] = cursor.clone();
        }
        assert!(prices.is_sorted());
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len() as u64, properties);
    }
}

/// Every property, complete.
pub async fn all(service: &Service) -> Vec<Value> {
    let (mut page, mut records) = (body(json!({}), 100), Vec::new());
    loop {
        let mut data = asked(service, SEARCH, &page).await;
        records.append(data["items"].as_array_mut().unwrap());
        let Some(cursor) = data.get("searchAfterHash") else {
            return records;
        };
        page["searchAfterHash"] = cursor.clone();
    }
}

pub fn number(record: &Value, pointer: &str) -> Option<f64> {
    record.pointer(pointer).and_then(Value::as_f64)
}

/// Latitude and longitude of a record.
pub fn position(record: &Value) -> Option<(f64, f64)> {
    let place = record.pointer("/location/locationCoordinate/location")?;
    Some((place[1].as_f64()?, place[0].as_f64()?))
}

/// Distance of two properties in features, as the reference defines it, and in metres.
fn units(one: &Value, other: &Value) -> (f64, f64) {
    let [(lat, lon), (other_lat, other_lon)] = [one, other].map(|record| position(record).unwrap());
    let metres = planar_distance_m(lat, lon, other_lat, other_lon);
    let share = |path: &str| match (number(one, path), number(other, path)) {
        (Some(own), Some(other)) if own > 0.0 => (other - own).abs() / own / 0.2,
        _ => 1.0,
    };
    let rooms = "/habitation/roomCount";
    let rooms = match (number(one, rooms), number(other, rooms)) {
        (Some(own), Some(other)) => (other - own).abs(),
        _ => 1.0,
    };
    let values = share("/habitation/surface/total") + share("/price/latest/value");
    (values + rooms + metres / 2_000.0, metres)
}

/// The three nearest properties to one, of its class and offer around it, among those that `keep` keeps.
fn nearest<'r>(records: &'r [Value], model: &Value, keep: impl Fn(&Value) -> bool) -> Vec<&'r str> {
    let mut found: Vec<(f64, &str)> = records
        .iter()
        .filter(|record| position(record).is_some() && keep(record))
        .filter(|record| record["type"] == model["type"])
        .filter(|record| record["offer"]["type"] == model["offer"]["type"])
        .filter(|record| record["flxId"] != model["flxId"])
        .map(|record| (units(model, record), record["flxId"].as_str().unwrap()))
        .filter(|((_, metres), _)| *metres <= 10_000.0)
        .map(|((units, _), id)| (units, id))
        .collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
    found.into_iter().take(3).map(|(_, id)| id).collect()
}

#[tokio::test]
async fn similar_properties_are_the_nearest_of_the_class_and_offer_around() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    let records = all(&service).await;
    let similars = "/v2/protected/properties/similars";
    let mut draw = Draw::new(73);
    let (mut compared, mut in_areas) = (0, 0);
    let placed = records.iter().filter(|record| position(record).is_some());
    for model in placed.take(60) {
        let mut body = json!({"flxId": model["flxId"], "similarityStrategy": "SEARCH", "size": 3});
        let found = asked(&service, similars, &body).await;
        let expected = nearest(&records, model, |_| true);
        assert_eq!(texts_of(&found, "flxId"), expected, "{body}");
        compared += expected.len();
        let (lat, lon) = position(model).unwrap();
        for _ in 0..4 {
            let radius = *draw.one_of(&[0.01, 0.05, 0.2]);
            let area = areas::area(&mut draw, lat, lon, radius);
            let judge = Judge::new(&area);
            let is_within = |record: &Value| {
                position(record).is_some_and(|(lat, lon)| judge.contains(lat, lon))
            };
            body["filterProperty"] =
                json!({"location": [{"locationCoordinate": {"location": {"area": area}}}]});
            let found = asked(&service, similars, &body).await;
            let expected = nearest(&records, model, is_within);
            assert_eq!(texts_of(&found, "flxId"), expected, "{body}");
            in_areas += expected.len();
        }
    }
    assert!(compared > 0 && in_areas > 0);
    let nobody = json!({"flxId": uuid::Uuid::now_v7(), "similarityStrategy": "SEARCH", "size": 3});
    let response = service.post(similars, nobody.to_string());
    assert_eq!(error_of(response.await).await.0, 404);
}

#[tokio::test]
async fn statistics_match_the_records_found() {
    let (service, properties) = taken(120).await;
    shown(&service, properties).await;
    let records = all(&service).await;
    for (studied, pointer) in [
        ("PRICE", "/price/latest/value"),
        ("PRICE_PER_AREA", "/price/latest/valuePerArea"),
        ("SURFACE", "/habitation/surface/total"),
    ] {
        let filter = json!({"offer": [{"type": "OFFER_BUY"}]});
        let found: Vec<&Value> = records
            .iter()
            .filter(|record| record["offer"]["type"] == "OFFER_BUY")
            .collect();
        let values: Vec<f64> = found
            .iter()
            .filter_map(|record| number(record, pointer))
            .collect();
        let body = json!({"search": {"filterProperty": filter}, "studiedData": studied});
        let figures = asked(&service, "/v2/protected/analytics/property/search", &body).await;
        assert_eq!(figures["count"], found.len());
        assert_eq!(figures["valued"], values.len());
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!(
            (figures["mean"].as_f64().unwrap() - mean).abs() < 0.01,
            "{studied}"
        );
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(
            (figures["min"].as_f64().unwrap() - least).abs() < 0.01,
            "{studied}"
        );
    }
    let body = json!({"search": {"filterProperty": {}}, "studiedData": "TIME_ON_MARKET"});
    let days = asked(&service, "/v2/protected/analytics/property/search", &body).await;
    assert_eq!(days["valued"], properties);
    assert!(days["min"].as_f64().unwrap() >= 0.0 && days["max"].as_f64().unwrap() < 800.0);
}

#[tokio::test]
async fn a_property_is_found_by_its_new_price_and_not_by_its_old_one() {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let advert = json!({
        "url": "https://portal.example/1", "source": "portal.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 200_000},
        "location": {"postalCode": "48000"},
    });
    let find = async |price: u64, expected: u64| {
        let exact = json!({"price": {"latest": {"value": {"min": price, "max": price}}}});
        let until = Instant::now() + Duration::from_secs(20);
        while asked(&service, SEARCH, &body(exact.clone(), 5)).await["count"] != expected {
            assert!(Instant::now() < until, "{price}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    for price in [200_000, 190_000] {
        let mut advert = advert.clone();
        advert["currentPrice"]["value"] = json!(price);
        service.clock.advance_ms(1_000);
        service.ingest(&operator, &[advert]).await;
        find(price, 1).await;
    }
    find(200_000, 0).await;
}

#[tokio::test]
async fn texts_are_found_with_tolerance_and_sorted_by_relevance() {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let advert = |number: usize, title: &str, description: &str| {
        json!({
            "url": format!("https://portal.example/{number}"), "source": "portal.example", "type": "CLASS_HOUSE",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 * number},
            "location": {"postalCode": "48000"}, "habitation": {"surface": {"total": 40 * number}},
            "title": title, "description": description,
        })
    };
    let adverts = [
        advert(
            1,
            "Maison avec piscine",
            "Piscine chauffée, piscine couverte.",
        ),
        advert(
            2,
            "Villa",
            "Une piscine et un grand jardin arboré, cuisine équipée, proche des commerces.",
        ),
        advert(3, "Ferme", "Grange à rénover."),
    ];
    service.ingest(&operator, &adverts).await;
    shown(&service, 3).await;
    let find = async |texts: Value, size: usize| {
        let mut page = body(json!({}), size);
        page["sortBy"] = json!("RELEVANCE");
        page["orderBy"] = json!("DESC");
        page["search"]["keywords"] = texts["keywords"].clone();
        page["search"]["fullTexts"] = texts["fullTexts"].clone();
        page["search"]
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        let mut titles = Vec::new();
        loop {
            let data = asked(&service, SEARCH, &page).await;
            let items = data["items"].as_array().unwrap();
            titles.extend(
                items
                    .iter()
                    .map(|item| item["title"].as_str().unwrap().to_owned()),
            );
            let Some(cursor) = data.get("searchAfterHash") else {
                return titles;
            };
            page["searchAfterHash"] = cursor.clone();
        }
    };
    let both = ["Maison avec piscine", "Villa"];
    assert_eq!(find(json!({"keywords": ["PISCINE"]}), 1).await, both);
    assert_eq!(find(json!({"fullTexts": ["picsine"]}), 5).await.len(), 2);
    assert_eq!(
        find(json!({"fullTexts": ["jardins arborés", "grange"]}), 1)
            .await
            .len(),
        2
    );
    assert_eq!(find(json!({"keywords": ["piscines"]}), 5).await, [""; 0]);
    assert_eq!(
        find(json!({"keywords": ["piscine"], "fullTexts": ["jardin"]}), 5).await,
        ["Villa"]
    );
}

/// Takes houses by number and price, and waits until searches find as many.
async fn take_houses(service: &Service, houses: &[(usize, u64)], found: u64) {
    let adverts: Vec<Value> = houses
        .iter()
        .map(|(number, price)| {
            json!({
                "url": format!("https://portal.example/{number}"), "source": "portal.example",
                "type": "CLASS_HOUSE", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": price},
                "location": {"postalCode": "48000"}, "habitation": {"surface": {"total": 40 * number}},
            })
        })
        .collect();
    let operator = service.key_with("admin");
    service.ingest(&operator, &adverts).await;
    shown(service, found).await;
}

#[tokio::test]
async fn a_page_whose_snapshot_is_gone_is_refused_if_properties_changed() {
    const SIX_MINUTES_MS: i64 = 6 * 60_000;
    let service = Service::start().await;
    let houses: Vec<_> = (1..=5)
        .map(|number| (number, 100_000 * number as u64))
        .collect();
    take_houses(&service, &houses, 5).await;
    let prices = |page: &Value| -> Vec<f64> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| number(item, "/price/latest/value").unwrap())
            .collect()
    };
    let mut page = body(json!({}), 2);
    let first = asked(&service, SEARCH, &page).await;
    assert_eq!(prices(&first), [100_000.0, 200_000.0]);
    page["searchAfterHash"] = first["searchAfterHash"].clone();

    // Nothing changed: the next page is exact, however long the pause.
    service.clock.advance_ms(SIX_MINUTES_MS);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(
        prices(&asked(&service, SEARCH, &page).await),
        [300_000.0, 400_000.0]
    );

    // The cheapest property becomes the most expensive: the following pages do not contain it.
    let first = asked(&service, SEARCH, &body(json!({}), 2)).await;
    page["searchAfterHash"] = first["searchAfterHash"].clone();
    take_houses(&service, &[(1, 900_000)], 5).await;
    let until = Instant::now() + Duration::from_secs(20);
    while prices(&asked(&service, SEARCH, &body(json!({}), 2)).await)[0] != 200_000.0 {
        assert!(Instant::now() < until, "the new price is not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        prices(&asked(&service, SEARCH, &page).await),
        [300_000.0, 400_000.0]
    );

    // Once the old state is gone, the page is refused.
    service.clock.advance_ms(SIX_MINUTES_MS);
    loop {
        let answer = service.post(SEARCH, page.to_string()).await;
        if answer.status() == 422 {
            let (_, code, message) = error_of(answer).await;
            assert_eq!(
                (code, message.as_str()),
                (10009, "cursor expired, start the search again")
            );
            break;
        }
        // A request for the page keeps its state for another five minutes.
        service.clock.advance_ms(SIX_MINUTES_MS);
        assert!(Instant::now() < until, "the page is not refused");
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
}

#[tokio::test]
async fn a_fault_in_a_search_is_reported_with_its_path() {
    let service = Service::start().await;
    for (path, body, message) in [
        (SEARCH, body(json!({}), 101), "size: must be"),
        (
            "/v2/protected/properties/search/lite",
            body(json!({}), 26),
            "size: must be",
        ),
        (
            SEARCH,
            body(
                json!({"price": {"latest": {"value": {"min": 2, "max": 1}}}}),
                1,
            ),
            "search.filterProperty.price.latest.value",
        ),
        (
            SEARCH,
            json!({"size": 1, "sortBy": "PRICE", "orderBy": "ASC",
                "search": {"filterProperty": {}, "keywords": vec!["jardin"; 21]}}),
            "search.keywords: must hold at most 20",
        ),
    ] {
        let (status, code, found) = error_of(service.post(path, body.to_string()).await).await;
        assert_eq!((status, code), (422, 10002), "{found}");
        assert!(found.starts_with(message), "{found}");
    }
}

#[tokio::test]
async fn a_null_in_a_place_is_an_absent_condition() {
    let service = Service::start().await;
    let round = json!({"pin": {"lat": 45.76, "lon": 4.85}, "distanceKm": 2});
    let place = json!({"geoDistance": round, "geoBoundingBox": null, "geoInseeCodeDistance": null});
    let filter = json!({
        "location": [{"locationCoordinate": {"location": place}, "cityCoordinate": {"location": null}}],
        "adverts": [{"location": place}],
    });
    asked(&service, SEARCH, &body(filter.clone(), 1)).await;
    let location = json!([{"locationCoordinate": {"location": place}}]);
    let lite = body(json!({ "location": location }), 1);
    asked(&service, &format!("{SEARCH}/lite"), &lite).await;
    let search = json!({"filterProperty": filter, "keywords": null, "fullTexts": null});
    asked(
        &service,
        &format!("{SEARCH}/count"),
        &json!({ "search": search }),
    )
    .await;
    let studied = json!({"search": search, "studiedData": "PRICE"});
    asked(
        &service,
        "/v2/protected/analytics/property/search",
        &studied,
    )
    .await;
    let preview = json!({"search_query": search, "days": null});
    asked(&service, &format!("{SEARCH}/alerts/preview"), &preview).await;
}
