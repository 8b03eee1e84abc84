//! Alerts on sales and diagnostics through the socket: they live like alerts on listings.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toise::lake::{Lake, id_index};
use toise::opendata::Dataset;
use uuid::Uuid;

use super::alerts::{CREATED, read, service};
use crate::support::alerts::with;
use crate::support::rows;
use crate::support::{ROWS, error_of};

const ROOTS: [(&str, &str, &str); 2] = [
    (
        "/v2/protected/opendata/dvf/search/alerts",
        "insee_code",
        "48095",
    ),
    (
        "/v2/protected/opendata/dpe/search/alerts",
        "code_departement_ban",
        "48",
    ),
];

fn body(filters: Value) -> Value {
    json!({"search_query": {"filters": filters}, "match": CREATED, "search_name": "suivi",
        "webhook_url": "https://client.example/hook"})
}

#[tokio::test]
async fn an_alert_on_open_data_is_created_read_changed_ended_and_activated() {
    let service = service().await;
    for (root, column, value) in ROOTS {
        let sent = body(json!({ column: value }));
        let created = service.data(Method::PUT, root, &sent).await;
        let id = created["alert_id"].as_str().unwrap().to_owned();
        assert_eq!(created, json!({"alert_id": id, "flxId": id}));
        let path = format!("{root}/{id}");
        let expected = with(
            sent.clone(),
            json!({"alert_id": id, "flxId": id, "activated": true,
                "created_at": "2026-11-21T15:00:00.000Z", "updated_at": "2026-11-21T15:00:00.000Z"}),
        );
        assert_eq!(read(&service, &path).await, expected);
        assert_eq!(
            read(&service, &format!("{root}/all")).await,
            json!([expected])
        );
        let change = json!({"match": ["ALERT_MATCH_CHANGED"], "search_query": {}});
        assert_eq!(service.data(Method::PATCH, &path, &change).await, created);
        assert_eq!(read(&service, &path).await, with(expected, change));
        assert_eq!(
            service.data(Method::DELETE, &path, &Value::Null).await,
            created
        );
        assert_eq!(read(&service, &path).await["activated"], false);
        assert_eq!(read(&service, &format!("{path}/activate")).await, created);
        assert_eq!(read(&service, &path).await["activated"], true);
        for list in [format!("{root}/history/{id}"), format!("{path}/deliveries")] {
            assert_eq!(read(&service, &list).await, json!([]));
        }
        let window = json!({"from": "2026-11-01", "to": "2026-11-21"});
        let replay = service
            .data(Method::POST, &format!("{path}/replay"), &window)
            .await;
        assert_eq!(replay["items"], 0);
        let many = json!({"alerts": [sent, {"match": 1}]});
        let many = service
            .data(Method::PUT, &format!("{root}/many"), &many)
            .await;
        assert!(many["alerts"][0]["success"].is_string());
        assert!(many["alerts"][1]["failed"]["message"].is_string());
        // A preview is the first page of the search.
        let query = json!({"search_query": {"filters": {column: value}}});
        let preview = service
            .data(Method::POST, &format!("{root}/preview"), &query)
            .await;
        assert_eq!(preview["count"], ROWS);
        assert_eq!(preview["items"].as_array().unwrap().len(), 10);
        assert_eq!(preview["items"][0]["id"], "r000");
        // An alert on sales cannot be read as one on anything else.
        for (other, ..) in ROOTS.iter().filter(|(other, ..)| *other != root) {
            let elsewhere = service
                .call(Method::GET, &format!("{other}/{id}"), &json!(null))
                .await;
            assert_eq!(elsewhere.status(), 404);
        }
        let unknown = format!("{root}/{}", Uuid::now_v7());
        assert_eq!(
            service
                .call(Method::GET, &unknown, &json!(null))
                .await
                .status(),
            404
        );
    }
}

#[tokio::test]
async fn a_fault_in_an_alert_on_open_data_is_reported_with_its_path() {
    let service = service().await;
    for (root, column, _) in ROOTS {
        for (field, value, message) in [
            (
                "search_query",
                json!({"filters": {column: "9"}}),
                format!("search_query.filters.{column}: "),
            ),
            (
                "search_query",
                json!({"filters": {"colour": "red"}}),
                "search_query.filters.colour: unknown field".into(),
            ),
            (
                "search_query",
                json!({"filterProperty": {}}),
                "search_query.filterProperty: unknown field; must be one of: filters".into(),
            ),
            (
                "search_query",
                json!({"filters": {"location": {"lat": 3.5, "lon": 44.5, "distance": "1km"}}}),
                "search_query.filters.location".into(),
            ),
            (
                "match",
                json!(["ALERT_MATCH_MERGED"]),
                "match[0]: must be one of: ALERT_MATCH_CREATED, ALERT_MATCH_CHANGED".into(),
            ),
            (
                "webhook_url",
                json!("https://inside.example/"),
                "webhook_url: must name a public host".into(),
            ),
        ] {
            let wrong = with(body(json!({})), json!({ field: value }));
            let response = service.call(Method::PUT, root, &wrong).await;
            let (status, code, told) = error_of(response).await;
            assert_eq!((status, code), (422, 10002), "{told}");
            assert!(told.starts_with(&message), "{told}, not {message}");
        }
        let days = json!({"search_query": {}, "days": 3});
        let (status, _, told) = error_of(
            service
                .call(Method::POST, &format!("{root}/preview"), &days)
                .await,
        )
        .await;
        assert_eq!(
            (status, told.starts_with("days: unknown field")),
            (422, true),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_history_without_removed_records_has_full_pages() {
    let service = service().await;
    let (root, column, value) = ROOTS[0];
    let sent = body(json!({ column: value }));
    service.data(Method::PUT, root, &sent).await;
    let alert = service.stored("SELECT alert FROM alerts")[0];
    let stored: Vec<rows::Record> = (0..10)
        .map(|nth| serde_json::from_value(json!({"id": format!("sale{nth}")})).unwrap())
        .collect();
    let lake = Lake::open(service.folder()).unwrap();
    rows::import(&lake, Dataset::Dvf, &stored, Vec::new());
    // Half of the matches are of sales that are not stored, the latest four among them.
    let insert = move |transaction: &rusqlite::Transaction<'_>| {
        for nth in 0..20_i64 {
            let is_stored = nth < 16 && nth % 8 < 5;
            let number = 5 * (nth / 8) + nth % 8;
            let id = if is_stored {
                format!("sale{number}")
            } else {
                format!("gone{nth}")
            };
            let item = Uuid::from_u128(id_index::digest(&id));
            transaction.execute(
                "INSERT INTO open_data_matches (item, alert, version, matched_at_ms) VALUES (?1, ?2, 1, ?3)",
                (item.as_bytes(), alert, nth),
            )?;
        }
        Ok(())
    };
    service.store.write(insert).unwrap();
    let id = service
        .data(Method::GET, &format!("{root}/all"), &Value::Null)
        .await[0]["alert_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let started = Instant::now();
    loop {
        service.clock.advance_ms(50);
        let all = read(&service, &format!("{root}/history/{id}?take=100")).await;
        if all.as_array().unwrap().len() == stored.len() {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{all}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut found = Vec::new();
    for (skip, count) in [(0, 4), (4, 4), (8, 2), (12, 0)] {
        service.clock.advance_ms(50);
        let path = format!("{root}/history/{id}?skip={skip}&take=4");
        let page = read(&service, &path).await;
        let page = page.as_array().unwrap();
        assert_eq!(page.len(), count, "{skip}");
        found.extend(page.iter().map(|record| record["id"].clone()));
    }
    let expected: Vec<Value> = (0..10)
        .rev()
        .map(|nth| json!(format!("sale{nth}")))
        .collect();
    assert_eq!(found, expected);
}
