//! Searches of properties through the socket: what was taken is found within a second, page by page, whole and in short.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toise::synth::adverts::level::Level;
use toise::synth::adverts::{Market, Request};
use toise::wire::listings::{LiteProperty, Property};
use toise::wire::read::read;

use crate::support::{Service, error_of};

const SEARCH: &str = "/v2/protected/properties/search";

async fn taken(adverts: u64) -> (Service, u64) {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let market = Market::new(Request::new(adverts, 3, Level::Middle));
    let mut documents: Vec<Value> = market
        .observations()
        .map(|seen| serde_json::to_value(seen.advert).unwrap())
        .collect();
    while !documents.is_empty() {
        let rest = documents.split_off(documents.len().min(200));
        let response = service
            .ask(Method::POST, "/v2/protected/admin/adverts")
            .header("x-api-key", &operator)
            .body(json!({ "adverts": documents }).to_string());
        assert_eq!(response.send().await.unwrap().status(), 200);
        documents = rest;
    }
    let properties = service.stored("SELECT count(*) FROM properties WHERE document IS NOT NULL");
    (service, properties[0] as u64)
}

async fn asked(service: &Service, path: &str, body: &Value) -> Value {
    let response = service.post(path, body.to_string()).await;
    assert_eq!(response.status(), 200, "{body}");
    let mut answer: Value = response.json().await.unwrap();
    answer["data"].take()
}

/// Waits until searches show as many properties as the store holds; they have to soon.
async fn shown(service: &Service, properties: u64) {
    let until = Instant::now() + Duration::from_secs(20);
    let all = json!({"search": {"filterProperty": {}}});
    while asked(service, &format!("{SEARCH}/count"), &all).await["count"] != properties {
        assert!(Instant::now() < until, "not all of {properties} are shown");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn body(filter: Value, size: usize) -> Value {
    json!({"size": size, "sortBy": "PRICE", "orderBy": "ASC", "search": {"filterProperty": filter}})
}

#[tokio::test]
async fn pages_hold_every_property_once_in_order_whole_and_in_short() {
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

#[tokio::test]
async fn a_price_change_is_found_by_its_new_price_and_no_more_by_the_old() {
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
        let taken = service
            .ask(Method::POST, "/v2/protected/admin/adverts")
            .header("x-api-key", &operator)
            .body(json!({"adverts": [advert]}).to_string());
        assert_eq!(taken.send().await.unwrap().status(), 200);
        find(price, 1).await;
    }
    find(200_000, 0).await;
}

#[tokio::test]
async fn what_is_wrong_in_a_search_is_named_by_its_path() {
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
                "search": {"filterProperty": {}, "keywords": ["jardin"]}}),
            "search.keywords: must be empty",
        ),
    ] {
        let (status, code, found) = error_of(service.post(path, body.to_string()).await).await;
        assert_eq!((status, code), (422, 10002), "{found}");
        assert!(found.starts_with(message), "{found}");
    }
}
