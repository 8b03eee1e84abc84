//! Alerts from creation to deactivation: created over HTTP, delivered, replayed, and ended by the receiver.

use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use toise::contract::listings::filters::ListingKind;

use crate::support::alerts::{body, flat, with};
use crate::support::assertions::{assert_refused, texts_of};
use crate::support::client::Client;
use crate::support::process::{Server, new_key, run, try_run};
use crate::support::receiver::{Act, Received, Receiver};

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_created_delivered_replayed_and_ended_by_its_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let receiver =
        Receiver::start(|number, _| Act::Status(if number < 4 { 200 } else { 410 })).await;
    let key = new_key(data, &["--scopes", "search,alerts,admin"]);
    let allow = [
        "--allow-webhook-hosts",
        "127.0.0.1",
        "--price",
        "WEBHOOK_ALERT_ADVERTS=2",
    ];
    let server = Server::start_with(data, "serve", &allow, Stdio::null());
    let client = Client::new(&server, &key);
    let mut paths = Vec::new();
    for (listing, kind) in [
        (ListingKind::Advert, "adverts"),
        (ListingKind::Property, "properties"),
    ] {
        let filter = json!({"type": ["CLASS_FLAT"]});
        let alert = body(listing, &filter, &["ALERT_MATCH_CREATED"]);
        let alert = with(alert, json!({"webhook_url": receiver.url()}));
        let root = format!("{kind}/search/alerts");
        let created = client.data(Method::PUT, &root, alert).await;
        paths.push((root, created["alert_id"].as_str().unwrap().to_owned()));
    }
    let (root, alert) = &paths[0];
    let alert_path = format!("{root}/{alert}");
    let taken = client
        .data(
            Method::POST,
            "admin/adverts",
            json!({"adverts": [flat("a", 1, 1)]}),
        )
        .await;
    until("both are delivered", async || receiver.count() == 2).await;
    let told = |branch: &str| -> Vec<String> {
        let all = receiver.received();
        all.iter().flat_map(|one| one.items(branch)).collect()
    };
    let items = told("created");
    for id in ["flxId", "propertyFlxId"] {
        assert!(items.contains(&taken[0][id].as_str().unwrap().to_owned()));
    }
    let deliveries = format!("{alert_path}/deliveries");
    until("the delivery is recorded", async || {
        client.get(&deliveries).await["data"][0]["status"] == "delivered"
    })
    .await;
    let history = client.get(&format!("{root}/history/{alert}")).await;
    assert_eq!(history["data"][0]["flxId"], taken[0]["flxId"]);

    let shown = run(data, &["alerts", "show", alert]);
    assert_eq!(
        (
            &shown["matches"],
            &shown["deliveries"]["delivered"],
            &shown["about"]
        ),
        (&json!(1), &json!(1), &json!("adverts"))
    );
    let listed = run(data, &["alerts", "list", "--account", "default"]);
    let ids: Vec<&str> = paths.iter().rev().map(|(_, id)| id.as_str()).collect();
    let listed = texts_of(&listed, "alert_id");
    assert_eq!(listed, ids, "the newest first");

    let window = json!({"from": "2020-01-01", "to": "2100-01-01"});
    let replay = format!("{alert_path}/replay");
    let replayed = async || {
        let (status, mut begun) = client.post(&replay, &window).await;
        assert_eq!(status, 202, "{begun}");
        begun["data"]["items"].take()
    };
    assert_eq!(replayed().await, 1);
    until("the replay is delivered", async || receiver.count() == 3).await;
    let received = receiver.received();
    let own: Vec<&Received> = received
        .iter()
        .filter(|one| one.json().to_string().contains(alert.as_str()))
        .collect();
    assert_eq!(own[0].json(), own[1].json(), "in the same format");
    assert_ne!(own[0].id(), own[1].id(), "under an identifier of its own");
    // The receiver gets a delivery before its outcome and its cost are stored.
    until("both deliveries are charged", async || {
        let consumed = client.get("consumption").await;
        let per_type = consumed["data"]["consumption_per_type"].as_array().unwrap();
        let of_webhooks = per_type
            .iter()
            .find(|one| one["type"] == "WEBHOOK_ALERT_ADVERTS");
        of_webhooks.unwrap()["credits"] == 4
    })
    .await;

    replayed().await;
    until("the second replay is delivered", async || {
        receiver.count() == 4
    })
    .await;
    replayed().await;
    until("410 ends it", async || {
        client.get(&alert_path).await["data"]["activated"] == false
    })
    .await;
    let ended = run(data, &["alerts", "show", alert]);
    assert_eq!(ended["deactivated_because"], "gone");
    assert_eq!(server.terminate(), Some(0));

    for (arguments, complaint) in [
        (
            ["alerts", "show", "019bb126-cee2-7a45-a98c-3cba58e89b2d"].as_slice(),
            "no alert 019bb126",
        ),
        (
            &["alerts", "list", "--account", "nobody"],
            "account \"nobody\"",
        ),
    ] {
        let output = try_run(data, arguments);
        assert_refused(&output, complaint);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_that_takes_a_property_apart_tells_receivers_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let receiver = Receiver::start(|_, _| Act::Status(200)).await;
    let key = new_key(data, &["--scopes", "search,alerts,admin"]);
    let lenient = [
        "--allow-webhook-hosts",
        "127.0.0.1",
        "--set",
        "dedup.same_probability=0.5",
    ];
    let server = Server::start_with(data, "serve", &lenient, Stdio::null());
    let client = Client::new(&server, &key);
    for (listing, kind, events) in [
        (
            ListingKind::Advert,
            "adverts",
            ["ALERT_MATCH_CREATED", "ALERT_MATCH_ADVERT_EVENT"],
        ),
        (
            ListingKind::Property,
            "properties",
            ["ALERT_MATCH_CREATED", "ALERT_MATCH_MERGED"],
        ),
    ] {
        let alert = body(listing, &json!({"type": ["CLASS_FLAT"]}), &events);
        let alert = with(alert, json!({"webhook_url": receiver.url()}));
        client
            .data(Method::PUT, &format!("{kind}/search/alerts"), alert)
            .await;
    }
    let thin = |number: u32| {
        json!({
            "url": format!("https://thin.example/annonce/{number}"), "source": "thin.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 310_000}, "lastSeenAt": "2026-11-01T08:00:00Z",
            "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
            "habitation": {"surface": {"total": 31}, "roomCount": 2},
        })
    };
    let adverts = json!({"adverts": [thin(1), thin(2)]});
    let taken = client.data(Method::POST, "admin/adverts", adverts).await;
    assert_eq!(taken[0]["propertyFlxId"], taken[1]["propertyFlxId"]);
    until("both kinds of alert are told", async || {
        receiver.count() >= 2
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = receiver.count();

    let rebuilt = run(data, &["properties", "rebuild"]);
    assert_eq!(rebuilt["propertiesSplit"], 1);
    let adverts = json!({"adverts": [flat("a", 1, 1)]});
    let next = client.data(Method::POST, "admin/adverts", adverts).await;
    let next = next[0]["propertyFlxId"].as_str().unwrap();
    until("the next advert is told", async || {
        receiver.count() >= before + 2
    })
    .await;
    for told in &receiver.received()[before..] {
        let told = told.json().to_string();
        assert!(told.contains(next), "{told}");
    }
}
