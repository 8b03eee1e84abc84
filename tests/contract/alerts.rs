//! Alerts of accounts through the socket: their states, what is refused and why, what they matched.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::keys::{self, Kind};
use toise::alerts::Alerts;
use toise::config;
use toise::config::prices::{Consumption, Prices};
use toise::http::server::Limits;
use toise::wire::listings::filters::Listing;
use uuid::Uuid;

use crate::support::alerts::{body, flat, known_names, with};
use crate::support::{Rows, Service, error_of};

const KINDS: [(Listing, &str); 2] = [
    (Listing::Property, "/v2/protected/properties/search/alerts"),
    (Listing::Advert, "/v2/protected/adverts/search/alerts"),
];
const CREATED: &[&str] = &["ALERT_MATCH_CREATED"];

async fn service() -> Service {
    Service::start_with(Rows::default(), Limits::default(), known_names).await
}

async fn ask(service: &Service, method: Method, path: &str, body: &Value) -> Response {
    let request = service.ask(method, path).header("x-api-key", &service.key);
    request.json(body).send().await.unwrap()
}

/// The `data` of an answer that is a success.
async fn data(service: &Service, method: Method, path: &str, body: &Value) -> Value {
    let response = ask(service, method, path, body).await;
    let status = response.status();
    let answer: Value = response.json().await.unwrap();
    assert!(status.is_success(), "{path} {status} {answer}");
    answer["data"].clone()
}

async fn read(service: &Service, path: &str) -> Value {
    data(service, Method::GET, path, &Value::Null).await
}

/// Makes an alert and gives its path.
async fn make(service: &Service, listing: Listing, root: &str, filter: &Value) -> String {
    let made = data(service, Method::PUT, root, &body(listing, filter, CREATED)).await;
    assert_eq!(made["alert_id"], made["flxId"]);
    format!("{root}/{}", made["flxId"].as_str().unwrap())
}

/// Has an operator bring adverts; gives the identifiers of each and of its property.
async fn take(service: &Service, adverts: Value) -> Vec<[String; 2]> {
    let request = service.ask(Method::POST, "/v2/protected/admin/adverts");
    let request = request.header("x-api-key", service.key_with("admin"));
    let response = request.json(&json!({ "adverts": adverts })).send().await;
    let answer: Value = response.unwrap().json().await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let outcomes = answer["data"].as_array().unwrap().iter();
    outcomes
        .map(|outcome| [text(&outcome["flxId"]), text(&outcome["propertyFlxId"])])
        .collect()
}

fn ids(records: &Value) -> Vec<&str> {
    let records = records.as_array().unwrap().iter();
    records
        .map(|record| record["flxId"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_alert_is_active_until_deleted_and_again_when_patched_or_activated() {
    let service = service().await;
    for (listing, root) in KINDS {
        let filter = json!({"type": ["CLASS_FLAT"]});
        let mut sent = body(listing, &filter, CREATED);
        sent["context"] = json!({"metadata": {"customer": 7}});
        let made = data(&service, Method::PUT, root, &sent).await;
        let id = made["alert_id"].as_str().unwrap().to_owned();
        assert_eq!(made, json!({"alert_id": id, "flxId": id}));
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
            assert_eq!(after, made);
            read(&service, &path).await
        };
        let nothing = Value::Null;
        let ended = state(data(&service, Method::DELETE, &path, &nothing).await).await;
        assert_eq!(ended, with(expected.clone(), json!({"activated": false})));
        let change = json!({"search_name": "autre", "webhook_url": "https://autre.example/"});
        let patched = state(data(&service, Method::PATCH, &path, &change).await).await;
        assert_eq!(patched, with(expected, change));
        data(&service, Method::DELETE, &path, &nothing).await;
        let activate = format!("{path}/activate");
        let active = state(read(&service, &activate).await).await;
        assert_eq!(active, patched);
        // An alert on adverts is none on properties.
        let (_, other) = KINDS[usize::from(listing == Listing::Property)];
        let elsewhere = ask(&service, Method::GET, &format!("{other}/{id}"), &nothing).await;
        assert_eq!(elsewhere.status(), 404);
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_alert_is_told_by_its_path_and_nothing_is_made() {
    let service = service().await;
    for (listing, root) in KINDS {
        let sound = body(listing, &json!({}), CREATED);
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
            ("search_name", json!(null), "search_name: must be a string"),
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
            let wrong = with(sound.clone(), json!({ field: value }));
            let patch = json!({ field: value });
            for (method, path, body) in [
                (Method::PUT, root, wrong),
                (Method::PATCH, path.as_str(), patch),
            ] {
                let response = ask(&service, method, path, &body).await;
                assert_eq!(response.headers()["x-credits"], "0");
                let (status, code, told) = error_of(response).await;
                assert_eq!((status, code), (422, 10002), "{told}");
                assert!(told.starts_with(message), "{told}");
            }
        }
        let missing = ask(&service, Method::PUT, root, &json!({})).await;
        assert_eq!(
            error_of(missing).await,
            (422, 10002, "search_query: is required".into())
        );
        let request = service
            .ask(Method::PUT, root)
            .header("x-api-key", &service.key);
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
async fn what_names_no_alert_is_404_and_a_literal_path_knows_its_methods() {
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
                let (status, code, told) =
                    error_of(ask(&service, method, &path, &body).await).await;
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
            let response = ask(&service, method, &format!("{root}/{path}"), &json!(null)).await;
            assert_eq!(response.status(), 405, "{path}");
        }
    }
}

#[tokio::test]
async fn of_several_alerts_each_is_taken_or_refused_in_its_place() {
    let limits = config::Alerts {
        per_account_max: 2,
        conditions_max: 3,
    };
    let service = Service::start_with(Rows::default(), Limits::default(), |app| {
        known_names(app);
        app.alerts = Alerts::new(app.store.clone(), app.clock.clone(), limits);
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
    let answer = data(&service, Method::PUT, &many, &sent).await;
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
        let (status, _, told) = error_of(ask(&service, Method::PUT, &many, &sent).await).await;
        assert_eq!((status, told.as_str()), (422, message));
    }
    // No room for a third active one, whichever way.
    let path = format!("{root}/{}", ids(&all)[0]);
    data(&service, Method::DELETE, &path, &Value::Null).await;
    make(&service, listing, root, &json!({})).await;
    for (method, path) in [
        (Method::GET, format!("{path}/activate")),
        (Method::PATCH, path),
    ] {
        let (status, code, told) = error_of(ask(&service, method, &path, &json!({})).await).await;
        assert_eq!((status, code), (422, 10002));
        assert!(
            told.starts_with("alerts: the account has 2 active alerts"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_history_shows_each_match_as_it_is_now_newest_first_for_its_price() {
    let service = Service::start_with(Rows::default(), Limits::default(), |app| {
        known_names(app);
        let mut prices = Prices::default();
        prices.set(Consumption::PropertiesGetAlertHistory, 3);
        app.prices = Arc::new(prices);
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

    let properties = ask(&service, Method::GET, &paths[0], &Value::Null).await;
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
        "what came before is not matched"
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
        let response = ask(
            &service,
            Method::GET,
            &format!("{}?{query}", paths[1]),
            &Value::Null,
        )
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
async fn a_history_survives_what_happens_to_its_alert() {
    let service = service().await;
    let (listing, root) = KINDS[1];
    let path = make(&service, listing, root, &json!({})).await;
    let history = path.replace("/alerts/", "/alerts/history/");
    let before = take(&service, json!([flat("a", 1, 1)])).await;
    data(&service, Method::DELETE, &path, &Value::Null).await;
    take(&service, json!([flat("a", 2, 2)])).await;
    assert_eq!(ids(&read(&service, &history).await), [&before[0][0]]);
    let other = json!({"search_query": {"filterAd": {"type": ["CLASS_HOUSE"]}}});
    data(&service, Method::PATCH, &path, &other).await;
    take(&service, json!([flat("a", 3, 3)])).await;
    assert_eq!(ids(&read(&service, &history).await), [&before[0][0]]);
}

#[tokio::test]
async fn a_preview_tells_what_was_first_seen_lately_day_by_day() {
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
            let found = data(&service, Method::POST, &path, &body).await;
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
        let houses = data(
            &service,
            Method::POST,
            &path,
            &query(json!({"type": ["CLASS_HOUSE"]})),
        )
        .await;
        assert_eq!(
            (&houses["count"], &houses["items"]),
            (&json!(0), &json!([]))
        );
        let month = json!({"search_query": {(listing.filter_key()): {}}});
        let month = data(&service, Method::POST, &path, &month).await;
        assert_eq!(month["count"], 3);
        assert_eq!(month["per_day"].as_array().unwrap().len(), 30);
        for (body, message) in [
            (json!({}), "search_query: is required"),
            (
                with(query(json!({})), json!({"days": 0})),
                "days: must be an integer between 1 and 365",
            ),
        ] {
            let response = ask(&service, Method::POST, &path, &body).await;
            assert_eq!(error_of(response).await, (422, 10002, message.into()));
        }
    }
    // What changed since the last preview is in the next.
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
    assert_eq!(
        data(&service, Method::POST, &path, &online).await["count"],
        1
    );
}

#[tokio::test]
async fn a_replay_is_refused_for_what_it_cannot_send() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let path = make(&service, listing, root, &json!({})).await;
    let replay = format!("{path}/replay");
    let window = json!({"from": "2026-11-01", "to": "2026-11-21"});
    let begun = ask(&service, Method::POST, &replay, &window).await;
    assert_eq!(begun.status(), 202);
    let begun: Value = begun.json().await.unwrap();
    assert_eq!(begun["data"]["items"], 0);
    assert!(Uuid::try_parse(begun["data"]["replay_id"].as_str().unwrap()).is_ok());
    let refused = async |body: Value, message: &str| {
        let (status, code, told) =
            error_of(ask(&service, Method::POST, &replay, &body).await).await;
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
    data(&service, Method::DELETE, &path, &Value::Null).await;
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
    let lost = ask(
        &service,
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
async fn a_single_grant_opens_its_operation_and_test_keys_have_no_alerts() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let grants = BTreeSet::from(["alerts.list", "alerts.get"]);
    let path = make(&service, listing, root, &json!({})).await;
    let status = async |key: &str, method: Method, path: &str| {
        let request = service.ask(method, path).header("x-api-key", key);
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
    let scopes = Kind::Test.default_scopes().to_string();
    let trial = service.new_key(Kind::Test, &scopes, "default").key;
    assert_eq!(status(&trial, Method::PUT, root).await, 403);
}

#[tokio::test]
async fn operators_see_alerts_of_every_account_and_have_what_was_given_up_sent_again() {
    let service = service().await;
    let (listing, root) = KINDS[0];
    let path = make(&service, listing, root, &json!({})).await;
    let alert = path.rsplit('/').next().unwrap();
    let admin = service.key_with("admin");
    let operate = async |method: Method, path: &str| {
        let request = service.ask(method, &format!("/v2/protected/admin/alerts{path}"));
        request.header("x-api-key", &admin).send().await.unwrap()
    };
    let answer = async |path: &str| -> Value {
        let mut answer: Value = operate(Method::GET, path).await.json().await.unwrap();
        answer["data"].take()
    };
    let account = keys::get(&service.store, &service.key).unwrap().account_id;
    let listed = answer(&format!("?account_id={account}&take=1")).await;
    assert_eq!(ids(&listed), [alert]);
    assert_eq!(
        (&listed[0]["account_id"], &listed[0]["about"]),
        (&json!(account), &json!("properties"))
    );
    assert_eq!(
        answer(&format!("?account_id={}", Uuid::now_v7())).await,
        json!([])
    );
    data(&service, Method::DELETE, &path, &Value::Null).await;
    take(&service, json!([flat("a", 1, 1)])).await;
    let shown = answer(&format!("/{alert}")).await;
    let deliveries = json!({"pending": 0, "delivered": 0, "failed": 0, "dead": 0});
    assert_eq!(
        (&shown["deactivated_because"], &shown["matches"]),
        (&json!("deleted"), &json!(0))
    );
    assert_eq!(
        (&shown["deliveries"], &shown["waiting"]),
        (&deliveries, &json!(0))
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
        (&dead[0]["delivery_id"], &dead[0]["status"]),
        (&json!(delivery), &json!("dead"))
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
