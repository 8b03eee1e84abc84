//! Search, match and `match/_many` over HTTP: envelopes, pages, cursors.

use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::keys::KeyKind;

use crate::support::{ROWS, Service, error_of};

const SEARCH: &str = "/v2/protected/opendata/dvf/search";

#[tokio::test]
async fn records_are_returned_byte_for_byte() {
    let service = Service::start().await;
    let text = service
        .post(SEARCH, r#"{"size": 1}"#)
        .await
        .text()
        .await
        .unwrap();
    let start = r#"{"data":[{"id":"r000","odd spacing" : 1.50}],"total":45,"size":1,"hasMore":true,"cursor":""#;
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test]
async fn following_cursors_returns_every_row_once() {
    let service = Service::start().await;
    let mut seen = Vec::new();
    let mut body = json!({"filters": {"postal_code": "48000"}});
    loop {
        let response = service.post(SEARCH, body.to_string()).await;
        assert_eq!(response.headers()["x-credits"], "0");
        let page: Value = response.json().await.unwrap();
        assert_eq!(page["total"], ROWS);
        let rows = page["data"].as_array().unwrap();
        seen.extend(
            rows.iter()
                .map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        assert_eq!(page["hasMore"], page.get("cursor").is_some());
        match page.get("cursor") {
            Some(cursor) => body["cursor"] = cursor.clone(),
            None => break,
        }
        body["size"] = json!(7);
    }
    seen.dedup();
    assert_eq!(seen.len(), ROWS);
}

#[tokio::test]
async fn a_tampered_cursor_or_one_of_another_query_is_422() {
    let service = Service::start().await;
    let page: Value = service.post(SEARCH, "{}").await.json().await.unwrap();
    let cursor = page["cursor"].as_str().unwrap();
    let tampered = format!("{}A", &cursor[..cursor.len() - 1]);
    let swapped = cursor.replacen(
        &cursor[2..3],
        if &cursor[2..3] == "x" { "y" } else { "x" },
        1,
    );
    let dpe = "/v2/protected/opendata/dpe/search";
    for (path, body) in [
        (SEARCH, json!({"cursor": ""})),
        (SEARCH, json!({"cursor": swapped})),
        (SEARCH, json!({"cursor": format!("{tampered}B")})),
        (SEARCH, json!({"cursor": cursor, "sortOrder": "asc"})),
        (SEARCH, json!({"cursor": cursor, "sortBy": "id"})),
        (
            SEARCH,
            json!({"cursor": cursor, "filters": {"is_new_build": true}}),
        ),
        (dpe, json!({"cursor": cursor})),
    ] {
        let (status, code, message) = error_of(service.post(path, body.to_string()).await).await;
        assert_eq!((status, code), (422, 10002), "{body}");
        assert!(message.starts_with("cursor: "), "{message}");
    }
    let other = service.new_key(KeyKind::Production, "search", "another account");
    let request = service.keyed(Method::POST, SEARCH, &other.key);
    let of_another = request.json(&json!({"cursor": cursor})).send().await;
    let (status, code, message) = error_of(of_another.unwrap()).await;
    assert_eq!((status, code), (422, 10002));
    assert!(message.starts_with("cursor: "), "{message}");
}

#[tokio::test]
async fn a_match_wraps_each_record_under_the_name_of_its_table() {
    let service = Service::start().await;
    for table in ["dvf", "dpe"] {
        let path = format!("/v2/protected/opendata/{table}/match");
        let answer: Value = service.post(&path, "{}").await.json().await.unwrap();
        let first = &answer["data"][0];
        assert_eq!(first["score"], 97.5);
        assert_eq!(first["confidence"], "MEDIUM");
        assert_eq!(first[table]["id"], "r000");
        assert_eq!(answer["meta"], json!({"ambiguous": true, "total": ROWS}));
    }
}

#[tokio::test]
async fn many_matches_are_answered_in_order_and_one_fault_rejects_them_all() {
    let service = Service::start().await;
    let path = "/v2/protected/opendata/dpe/match/_many";
    let body = json!({"items": [{"size": 1}, {"size": 2}, {}]});
    let answer: Value = service
        .post(path, body.to_string())
        .await
        .json()
        .await
        .unwrap();
    let counts: Vec<usize> = answer["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["data"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [1, 2, 2]);
    let body = json!({"items": [{}, {}, {}, {"filters": {"type_batiment": "tour"}}]});
    let (status, _, message) = error_of(service.post(path, body.to_string()).await).await;
    assert_eq!(status, 422);
    let expected = "items[3].filters.type_batiment: must be one of: appartement, maison, immeuble";
    assert_eq!(message, expected);
    for items in [json!([]), json!(vec![json!({}); 1_001])] {
        let body = json!({"items": items}).to_string();
        let (_, _, message) = error_of(service.post(path, body).await).await;
        assert_eq!(message, "items: must hold 1 to 1000 items");
    }
    let body = json!({"items": vec![json!({}); 1_000]}).to_string();
    assert_eq!(service.post(path, body).await.status(), 200);
}
