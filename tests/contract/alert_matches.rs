//! History, preview, deliveries and replay of alerts, through the socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::keys;
use toise::accounts::prices::{Consumption, Prices};
use uuid::Uuid;

use super::alerts::{KINDS, ids, make, read, service, take};
use crate::support::alerts::{flat, known_names, with};
use crate::support::assertions::pick;
use crate::support::{Service, error_of};

#[tokio::test]
async fn a_history_returns_current_records_newest_match_first_and_is_charged() {
    let service = Service::start_changed(|app| {
        known_names(app);
        let mut prices = Prices::default();
        prices.set(Consumption::PropertiesGetAlertHistory, 3);
        app.billing.prices = Arc::new(prices);
    })
    .await;
    let early = take(&service, json!([flat("a", 9, 9)])).await;
    let mut paths = Vec::new();
    for (listing, root) in KINDS {
        let path = make(&service, listing, root, &json!({"type": ["CLASS_FLAT"]})).await;
        paths.push(path.replace("/alerts/", "/alerts/history/"));
    }
    let first = take(&service, json!([flat("a", 1, 1)])).await;
    service.clock.advance_ms(1_000);
    let later = take(&service, json!([flat("b", 2, 1), flat("a", 3, 2)])).await;
    let changed = with(
        flat("a", 3, 2),
        json!({"title": "Autre titre", "lastSeenAt": "2026-11-02T08:00:00Z"}),
    );
    take(&service, json!([changed])).await;
    assert_eq!(later[0][1], first[0][1], "adverts of one asset");

    let properties = service.call(Method::GET, &paths[0], &Value::Null).await;
    assert_eq!(properties.headers()["x-credits"], "3");
    let properties: Value = properties.json().await.unwrap();
    assert_eq!(ids(&properties["data"]), [&later[1][1], &first[0][1]]);
    let adverts = read(&service, &paths[1]).await;
    assert_eq!(ids(&adverts), [&later[1][0], &later[0][0], &first[0][0]]);
    assert_eq!(adverts[0]["title"], "Autre titre");
    let advert = read(&service, &format!("/v2/protected/adverts/{}", later[1][0])).await;
    assert_eq!(adverts[0], advert);
    assert!(
        !adverts.to_string().contains(&early[0][0]),
        "earlier adverts are not matched"
    );

    let page = read(&service, &format!("{}?skip=1&take=1", paths[1])).await;
    assert_eq!(ids(&page), [&later[0][0]]);
    assert_eq!(
        read(&service, &format!("{}?skip=3", paths[1])).await,
        json!([])
    );
    for (query, message) in [
        ("take=101", "take: must be an integer between 1 and 100"),
        ("skip=x", "skip: must be an integer between 0 and 1000000"),
        (
            "page=2",
            "page: unknown parameter; must be one of: skip, take",
        ),
    ] {
        let response = service
            .call(Method::GET, &format!("{}?{query}", paths[1]), &Value::Null)
            .await;
        assert_eq!(error_of(response).await, (422, 10002, message.into()));
    }
    let consumed = read(&service, "/v2/protected/consumption").await;
    assert_eq!(consumed["total_credits"], 3);
    let history = &consumed["consumption_per_type"][0];
    assert_eq!(history["type"], "API_ADVERTS_GET_ALERT_HISTORY");
    assert_eq!(history["calls"], 3);
}

#[tokio::test]
async fn a_history_survives_changes_of_its_alert() {
    let service = service().await;
    let (listing, root) = KINDS[1];
    let path = make(&service, listing, root, &json!({})).await;
    let history = path.replace("/alerts/", "/alerts/history/");
    let before = take(&service, json!([flat("a", 1, 1)])).await;
    service.data(Method::DELETE, &path, &Value::Null).await;
    take(&service, json!([flat("a", 2, 2)])).await;
    assert_eq!(ids(&read(&service, &history).await), [&before[0][0]]);
    let other = json!({"search_query": {"filterAd": {"type": ["CLASS_HOUSE"]}}});
    service.data(Method::PATCH, &path, &other).await;
    take(&service, json!([flat("a", 3, 3)])).await;
    assert_eq!(ids(&read(&service, &history).await), [&before[0][0]]);
}

#[tokio::test]
async fn a_preview_returns_recent_matches_and_their_number_per_day() {
    let service = service().await;
    let seen = |advert: Value, at: &str| with(advert, json!({"firstSeenAt": at, "lastSeenAt": at}));
    let taken = take(
        &service,
        json!([
            seen(flat("a", 1, 1), "2026-11-21T14:00:00Z"),
            seen(flat("a", 2, 2), "2026-11-19T00:00:00Z"),
            seen(flat("a", 3, 3), "2026-11-18T23:59:59Z"),
        ]),
    )
    .await;
    for (place, (listing, root)) in KINDS.into_iter().enumerate() {
        let path = format!("{root}/preview");
        let query =
            |filter: Value| json!({"search_query": {(listing.filter_key()): filter}, "days": 3});
        let body = query(json!({"type": ["CLASS_FLAT"]}));
        let started = Instant::now();
        // Properties are found within a second of their acknowledgement.
        let found = loop {
            let found = service.data(Method::POST, &path, &body).await;
            if found["count"] == 2 {
                break found;
            }
            assert!(started.elapsed() < Duration::from_secs(10), "{found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            service.clock.advance_ms(50);
        };
        let expected = json!([
            {"date": "2026-11-19", "count": 1},
            {"date": "2026-11-20", "count": 0},
            {"date": "2026-11-21", "count": 1},
        ]);
        assert_eq!(found["per_day"], expected);
        let id = |advert: usize| &taken[advert][1 - place];
        assert_eq!(ids(&found["items"]), [id(0), id(1)]);
        let record = read(
            &service,
            &format!("{}/{}", root.replace("/search/alerts", ""), id(0)),
        )
        .await;
        assert_eq!(found["items"][0], record);
        let houses = service
            .data(
                Method::POST,
                &path,
                &query(json!({"type": ["CLASS_HOUSE"]})),
            )
            .await;
        assert_eq!(pick(&houses, ["count", "items"]), json!([0, []]));
        let month = json!({"search_query": {(listing.filter_key()): {}}});
        let month = service.data(Method::POST, &path, &month).await;
        assert_eq!(month["count"], 3);
        assert_eq!(month["per_day"].as_array().unwrap().len(), 30);
        for (body, message) in [
            (json!({}), "search_query: is required"),
            (
                with(query(json!({})), json!({"days": 0})),
                "days: must be an integer between 1 and 365",
            ),
        ] {
            let response = service.call(Method::POST, &path, &body).await;
            assert_eq!(error_of(response).await, (422, 10002, message.into()));
        }
    }
    // Changes since the last preview are in the next one.
    let gone = with(
        flat("a", 1, 1),
        json!({"isOnline": false, "lastSeenAt": "2026-11-21T14:30:00Z"}),
    );
    take(
        &service,
        json!([gone, seen(flat("a", 4, 4), "2026-11-21T14:40:00Z")]),
    )
    .await;
    let online = json!({"search_query": {"filterAd": {"isOnline": true}}, "days": 1});
    let path = format!("{}/preview", KINDS[1].1);
    assert_eq!(service.data(Method::POST, &path, &online).await["count"], 1);
}

#[tokio::test]
async fn an_invalid_replay_is_rejected() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let path = make(&service, listing, root, &json!({})).await;
    let replay = format!("{path}/replay");
    let window = json!({"from": "2026-11-01", "to": "2026-11-21"});
    let begun = service.call(Method::POST, &replay, &window).await;
    assert_eq!(begun.status(), 202);
    let begun: Value = begun.json().await.unwrap();
    assert_eq!(begun["data"]["items"], 0);
    assert!(Uuid::try_parse(begun["data"]["replay_id"].as_str().unwrap()).is_ok());
    let refused = async |body: Value, message: &str| {
        let (status, code, told) = error_of(service.call(Method::POST, &replay, &body).await).await;
        assert_eq!((status, code), (422, 10002), "{told}");
        assert!(told.starts_with(message), "{told}");
    };
    refused(
        json!({"from": "2026-11-21", "to": "2026-11-01"}),
        "from: must not be after to",
    )
    .await;
    refused(json!({"from": "2026-11-21"}), "to: is required").await;
    refused(
        with(window.clone(), json!({"max_items": 10_001})),
        "max_items: must be an integer",
    )
    .await;
    service.data(Method::DELETE, &path, &Value::Null).await;
    refused(
        window,
        "alertId: the alert is not active: activate it first",
    )
    .await;
    let deliveries = format!("{path}/deliveries");
    assert_eq!(
        read(&service, &format!("{deliveries}?status=dead&take=5")).await,
        json!([])
    );
    let lost = service
        .call(
            Method::GET,
            &format!("{deliveries}?status=lost"),
            &Value::Null,
        )
        .await;
    let (status, _, told) = error_of(lost).await;
    assert_eq!(status, 422);
    assert_eq!(
        told,
        "status: must be one of: pending, delivered, failed, dead"
    );
}

#[tokio::test]
async fn operators_see_alerts_of_every_account_and_retry_dead_letters() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let path = make(&service, listing, root, &json!({})).await;
    let alert = path.rsplit('/').next().unwrap();
    let admin = service.key_with("admin");
    let operate = async |method: Method, path: &str| {
        let path = format!("/v2/protected/admin/alerts{path}");
        let request = service.keyed(method, &path, &admin);
        request.send().await.unwrap()
    };
    let answer = async |path: &str| -> Value {
        let mut answer: Value = operate(Method::GET, path).await.json().await.unwrap();
        answer["data"].take()
    };
    let account = keys::get(&service.store, &service.key).unwrap().account_id;
    let listed = answer(&format!("?account_id={account}&take=1")).await;
    assert_eq!(ids(&listed), [alert]);
    assert_eq!(
        pick(&listed[0], ["account_id", "about"]),
        json!([account, "properties"])
    );
    assert_eq!(
        answer(&format!("?account_id={}", Uuid::now_v7())).await,
        json!([])
    );
    service.data(Method::DELETE, &path, &Value::Null).await;
    take(&service, json!([flat("a", 1, 1)])).await;
    let shown = answer(&format!("/{alert}")).await;
    let deliveries = json!({"pending": 0, "delivered": 0, "failed": 0, "dead": 0});
    assert_eq!(
        pick(&shown, ["deactivated_because", "matches"]),
        json!(["deleted", 0])
    );
    assert_eq!(
        pick(&shown, ["deliveries", "waiting"]),
        json!([deliveries, 0])
    );

    let delivery = Uuid::now_v7();
    let number = service.stored("SELECT alert FROM alerts")[0];
    let insert = move |transaction: &rusqlite::Transaction<'_>| {
        transaction.execute(
            "INSERT INTO deliveries (delivery_id, alert, status, attempts, items, created_at_ms, last_error)
             VALUES (?1, ?2, 'dead', 9, 1, 0, 'no answer')",
            (delivery.as_bytes(), number),
        )
    };
    service.store.write(insert).unwrap();
    let dead = answer("/dead-letters").await;
    assert_eq!(
        pick(&dead[0], ["delivery_id", "status"]),
        json!([delivery, "dead"])
    );
    let retry = format!("/dead-letters/{delivery}/retry");
    let (status, _, told) = error_of(operate(Method::POST, &retry).await).await;
    assert_eq!(
        (status, told.as_str()),
        (
            422,
            "deliveryId: the alert is not active: activate it first"
        )
    );
    read(&service, &format!("{path}/activate")).await;
    assert_eq!(operate(Method::POST, &retry).await.status(), 200);
    assert_eq!(answer("/dead-letters").await, json!([]));
    let (status, _, told) = error_of(operate(Method::POST, &retry).await).await;
    assert_eq!(
        (status, told.as_str()),
        (
            422,
            "deliveryId: the delivery is pending: only dead ones are sent again"
        )
    );
    for (method, path) in [
        (Method::GET, format!("/{}", Uuid::now_v7())),
        (
            Method::POST,
            format!("/dead-letters/{}/retry", Uuid::now_v7()),
        ),
    ] {
        assert_eq!(operate(method, &path).await.status(), 404);
    }
    let mine = format!("{path}/deliveries?status=pending");
    assert_eq!(
        read(&service, &mine).await[0]["delivery_id"],
        json!(delivery)
    );
}
