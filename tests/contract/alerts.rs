//! Alerts of accounts through the socket: states, rejections and limits.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::keys::KeyKind;
use toise::alerts::AlertRegistry;
use toise::alerts::settings::AlertLimits;
use toise::contract::listings::filters::ListingKind;
use uuid::Uuid;

use crate::support::alerts::{body, known_names, with};
use crate::support::assertions::{assert_begins, texts_of};
use crate::support::{Service, error_of};

pub(super) const KINDS: [(ListingKind, &str); 2] = [
    (
        ListingKind::Property,
        "/v2/protected/properties/search/alerts",
    ),
    (ListingKind::Advert, "/v2/protected/adverts/search/alerts"),
];
pub(super) const CREATED: &[&str] = &["ALERT_MATCH_CREATED"];

pub(super) async fn service() -> Service {
    Service::start_changed(known_names).await
}

pub(super) async fn read(service: &Service, path: &str) -> Value {
    service.data(Method::GET, path, &Value::Null).await
}

/// Creates an alert and returns its path.
pub(super) async fn make(
    service: &Service,
    listing: ListingKind,
    root: &str,
    filter: &Value,
) -> String {
    let created = service
        .data(Method::PUT, root, &body(listing, filter, CREATED))
        .await;
    assert_eq!(created["alert_id"], created["flxId"]);
    format!("{root}/{}", created["flxId"].as_str().unwrap())
}

/// Ingests adverts as an operator; returns the identifiers of each advert and its property.
pub(super) async fn take(service: &Service, adverts: Value) -> Vec<[String; 2]> {
    let operator = service.key_with("admin");
    let taken = service.ingest(&operator, adverts.as_array().unwrap()).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let outcomes = taken.as_array().unwrap().iter();
    outcomes
        .map(|outcome| [text(&outcome["flxId"]), text(&outcome["propertyFlxId"])])
        .collect()
}

pub(super) fn ids(records: &Value) -> Vec<&str> {
    texts_of(records, "flxId")
}

#[tokio::test]
async fn an_alert_is_active_until_deleted_and_after_a_patch_or_activation() {
    let service = service().await;
    for (listing, root) in KINDS {
        let filter = json!({"type": ["CLASS_FLAT"]});
        let mut sent = body(listing, &filter, CREATED);
        sent["context"] = json!({"metadata": {"customer": 7}});
        let created = service.data(Method::PUT, root, &sent).await;
        let id = created["alert_id"].as_str().unwrap().to_owned();
        assert_eq!(created, json!({"alert_id": id, "flxId": id}));
        let path = format!("{root}/{id}");
        let expected = json!({
            "alert_id": id,
            "flxId": id,
            "activated": true,
            "search_query": {(listing.filter_key()): filter},
            "webhook_url": "https://client.example/hook",
            "search_name": "suivi",
            "match": CREATED,
            "context": {"metadata": {"customer": 7}},
            "created_at": "2026-11-21T15:00:00.000Z",
            "updated_at": "2026-11-21T15:00:00.000Z",
        });
        assert_eq!(read(&service, &path).await, expected);
        assert_eq!(
            read(&service, &format!("{root}/all")).await,
            json!([expected])
        );
        let state = async |after: Value| {
            assert_eq!(after, created);
            read(&service, &path).await
        };
        let nothing = Value::Null;
        let ended = state(service.data(Method::DELETE, &path, &nothing).await).await;
        assert_eq!(ended, with(expected.clone(), json!({"activated": false})));
        let change = json!({"search_name": "autre", "webhook_url": "https://autre.example/"});
        let patched = state(service.data(Method::PATCH, &path, &change).await).await;
        assert_eq!(patched, with(expected, change));
        let nulls = json!({
            "search_query": null, "webhook_url": null, "match": null, "search_name": null, "context": null,
        });
        let unchanged = state(service.data(Method::PATCH, &path, &nulls).await).await;
        assert_eq!(unchanged, patched);
        service.data(Method::DELETE, &path, &nothing).await;
        let activate = format!("{path}/activate");
        let active = state(read(&service, &activate).await).await;
        assert_eq!(active, patched);
        // It is a GET that changes something: if repeated under an idempotency key, it is not executed again.
        for replayed in [None, Some("true")] {
            let request = service
                .keyed(Method::GET, &activate, &service.key)
                .header("idempotency-key", id.as_str());
            let response = request.send().await.unwrap();
            let header = response.headers().get("idempotent-replayed");
            assert_eq!(header.map(|value| value.to_str().unwrap()), replayed);
        }
        // An alert on adverts cannot be read as one on properties.
        let (_, other) = KINDS[usize::from(listing == ListingKind::Property)];
        let elsewhere = service
            .call(Method::GET, &format!("{other}/{id}"), &nothing)
            .await;
        assert_eq!(elsewhere.status(), 404);
    }
}

#[tokio::test]
async fn a_fault_in_an_alert_is_reported_with_its_path_and_nothing_is_created() {
    let service = service().await;
    for (listing, root) in KINDS {
        let valid = body(listing, &json!({}), CREATED);
        let path = make(&service, listing, root, &json!({})).await;
        let key = listing.filter_key();
        for (field, value, message) in [
            (
                "webhook_url",
                json!("http://client.example/hook"),
                "webhook_url: must begin with https://",
            ),
            (
                "webhook_url",
                json!("https://127.0.0.1/hook"),
                "webhook_url: must name a public host",
            ),
            (
                "webhook_url",
                json!("https://[::ffff:10.0.0.1]/"),
                "webhook_url: must name a public host",
            ),
            (
                "webhook_url",
                json!("https://inside.example/"),
                "webhook_url: must name a public host",
            ),
            (
                "webhook_url",
                json!("https://unknown.example/"),
                "webhook_url: must name a host that resolves",
            ),
            ("webhook_url", json!("hook"), "webhook_url: must be a URL"),
            (
                "match",
                json!(["ALERT_MATCH_UNKNOWN"]),
                "match[0]: must be one of: ALERT_MATCH_CREATED",
            ),
            ("search_name", json!(7), "search_name: must be a string"),
            (
                "name",
                json!("x"),
                "name: unknown field; must be one of: search_query",
            ),
            (
                "search_query",
                json!({ key: {"colour": "red"} }),
                &format!("search_query.{key}.colour: unknown field"),
            ),
        ] {
            let wrong = with(valid.clone(), json!({ field: value }));
            let patch = json!({ field: value });
            for (method, path, body) in [
                (Method::PUT, root, wrong),
                (Method::PATCH, path.as_str(), patch),
            ] {
                let response = service.call(method, path, &body).await;
                assert_eq!(response.headers()["x-credits"], "0");
                let (status, code, told) = error_of(response).await;
                assert_eq!((status, code), (422, 10002), "{told}");
                assert!(told.starts_with(message), "{told}");
            }
        }
        let missing = service.call(Method::PUT, root, &json!({})).await;
        assert_eq!(
            error_of(missing).await,
            (422, 10002, "search_query: is required".into())
        );
        let request = service.keyed(Method::PUT, root, &service.key);
        let (status, code, _) = error_of(request.body("{").send().await.unwrap()).await;
        assert_eq!((status, code), (400, 10002));
        assert_eq!(
            read(&service, &format!("{root}/all"))
                .await
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }
}

#[tokio::test]
async fn an_unknown_alert_is_404_and_a_literal_path_has_its_own_methods() {
    let service = service().await;
    let replay = json!({"from": "2026-11-01", "to": "2026-11-02"});
    for (_, root) in KINDS {
        for id in [Uuid::now_v7().to_string(), "suivi".into()] {
            for (method, path, body) in [
                (Method::GET, format!("{root}/{id}"), json!(null)),
                (
                    Method::PATCH,
                    format!("{root}/{id}"),
                    json!({"webhook_url": "https://unknown.example/"}),
                ),
                (Method::DELETE, format!("{root}/{id}"), json!(null)),
                (Method::GET, format!("{root}/{id}/activate"), json!(null)),
                (Method::GET, format!("{root}/history/{id}"), json!(null)),
                (Method::GET, format!("{root}/{id}/deliveries"), json!(null)),
                (Method::POST, format!("{root}/{id}/replay"), replay.clone()),
            ] {
                let (status, code, told) = error_of(service.call(method, &path, &body).await).await;
                assert_eq!(
                    (status, code, told.as_str()),
                    (404, 10003, "no such alert"),
                    "{path}"
                );
            }
        }
        for (method, path) in [
            (Method::GET, "many"),
            (Method::DELETE, "all"),
            (Method::GET, "preview"),
        ] {
            let response = service
                .call(method, &format!("{root}/{path}"), &json!(null))
                .await;
            assert_eq!(response.status(), 405, "{path}");
        }
    }
}

#[tokio::test]
async fn each_of_several_alerts_is_accepted_or_rejected_separately() {
    let limits = AlertLimits {
        per_account_max: 2,
        kept_per_account_max: 3,
        conditions_max: 3,
    };
    let service = Service::start_changed(|app| {
        known_names(app);
        app.data.alerts = AlertRegistry::new(app.store.clone(), app.clock.clone(), limits);
    })
    .await;
    let (listing, root) = KINDS[0];
    let one = body(listing, &json!({}), CREATED);
    let classes = json!(["CLASS_FLAT", "CLASS_HOUSE", "CLASS_LAND", "CLASS_SHOP"]);
    let wide = body(listing, &json!({ "type": classes }), CREATED);
    let inside = with(
        one.clone(),
        json!({"webhook_url": "https://inside.example/"}),
    );
    let many = format!("{root}/many");
    let sent = json!({"alerts": [one, {"match": 1}, inside, wide, one, one]});
    let answer = service.data(Method::PUT, &many, &sent).await;
    let outcomes = answer["alerts"].as_array().unwrap();
    assert_eq!(outcomes.len(), 6);
    for (place, message) in [
        (1, "alerts[1].match: must be an array"),
        (2, "alerts[2].webhook_url: must name a public host"),
        (
            3,
            "alerts[3].search_query: must not hold more than 3 conditions",
        ),
        (5, "alerts: the account has 2 active alerts"),
    ] {
        let failed = &outcomes[place]["failed"];
        let told = failed["message"].as_str().unwrap();
        assert!(told.starts_with(message), "{told}");
        assert_eq!(failed["code"], 10002);
        assert!(outcomes[place].get("success").is_none());
    }
    let all = read(&service, &format!("{root}/all")).await;
    assert_eq!(
        ids(&all),
        [&outcomes[0]["success"], &outcomes[4]["success"]]
    );
    for (sent, message) in [
        (json!({"alerts": []}), "alerts: must hold 1 to 100 items"),
        (
            json!({"alerts": vec![one.clone(); 101]}),
            "alerts: must hold 1 to 100 items",
        ),
        (json!({}), "alerts: is required"),
    ] {
        let (status, _, told) = error_of(service.call(Method::PUT, &many, &sent).await).await;
        assert_eq!((status, told.as_str()), (422, message));
    }
    // A third active alert is rejected, however it would become active.
    let path = format!("{root}/{}", ids(&all)[0]);
    service.data(Method::DELETE, &path, &Value::Null).await;
    make(&service, listing, root, &json!({})).await;
    for (method, path) in [
        (Method::GET, format!("{path}/activate")),
        (Method::PATCH, path),
    ] {
        let (status, code, told) = error_of(service.call(method, &path, &json!({})).await).await;
        assert_eq!((status, code), (422, 10002));
        assert_begins(&told, "alerts: the account has 2 active alerts");
    }
}

#[tokio::test]
async fn a_single_grant_allows_its_operation_and_test_keys_have_no_alerts() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let grants = BTreeSet::from(["alerts.list", "alerts.get"]);
    let path = make(&service, listing, root, &json!({})).await;
    let status = async |key: &str, method: Method, path: &str| {
        let request = service.keyed(method, path, key);
        request
            .json(&json!({}))
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    let narrow = service.key_with(&Vec::from_iter(grants).join(","));
    assert_eq!(
        status(&narrow, Method::GET, &format!("{root}/all")).await,
        200
    );
    assert_eq!(status(&narrow, Method::GET, &path).await, 200);
    assert_eq!(status(&narrow, Method::DELETE, &path).await, 403);
    let scopes = KeyKind::Test.default_scopes().to_string();
    let trial = service.new_key(KeyKind::Test, &scopes, "default").key;
    assert_eq!(status(&trial, Method::PUT, root).await, 403);
}
