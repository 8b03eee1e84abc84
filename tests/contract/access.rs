//! Access and formats of responses: bearer tokens, addresses, pages of other origins, compression, the root, and the
//! audit log.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::audit;
use toise::accounts::key::KeyChange;
use toise::accounts::keys::{self, KeyKind};
use toise::base::networks::Networks;
use toise::transport::cors::AllowedOrigins;

use crate::support::flight;
use crate::support::{Service, error_of};

const SEARCH: &str = "/v2/protected/opendata/dvf/search";
const KEYS: &str = "/v2/protected/admin/keys";

#[tokio::test]
async fn a_key_may_be_sent_as_bearer_token() {
    let service = Service::start().await;
    let bearer = format!("Bearer {}", service.key);
    let request = service
        .ask(Method::POST, SEARCH)
        .header("authorization", bearer);
    assert_eq!(request.body("{}").send().await.unwrap().status(), 200);
    let request = service
        .ask(Method::POST, SEARCH)
        .header("authorization", "Basic eDp5");
    let refused = request.body("{}").send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "ApiKey, Bearer");
    assert_eq!(error_of(refused).await.0, 401);
}

#[tokio::test]
async fn a_key_with_networks_is_taken_from_them_alone_also_behind_a_proxy() {
    let mut shared = None;
    let service = Service::start_changed(|app| {
        app.access.proxies = Arc::new(Networks::parse("127.0.0.1").unwrap());
        shared = Some(app.clone());
    })
    .await;
    let flight = flight::start(shared.unwrap()).await;
    let key = service.key_with("search,sql");
    let restrict = |networks: &str| {
        let change = KeyChange {
            allowed_from: Some(Networks::parse(networks).ok()),
            ..KeyChange::default()
        };
        keys::change(&service.store, &key, change).unwrap();
    };
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let statuses = async |client: &str| {
        // A server applies a change within a second.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let status = async |path: &str, body: &str| {
            let request = service
                .keyed(Method::POST, path, &key)
                .header("accept", "application/json, text/event-stream")
                .header("content-type", "application/json")
                .header("x-forwarded-for", client);
            let response = request.body(body.to_owned()).send().await;
            response.unwrap().status().as_u16()
        };
        let headers = [("x-api-key", key.as_str()), ("x-forwarded-for", client)];
        let over_flight = flight::handshake(flight, &headers).await;
        let over_http = [status(SEARCH, "{}").await, status("/mcp", &list).await];
        (over_http, over_flight)
    };
    let refused = ([403, 403], Err(flight::PERMISSION_DENIED));
    restrict("192.0.2.0/24");
    assert_eq!(statuses("192.0.2.7").await, ([200, 200], Ok(())));
    assert_eq!(statuses("198.51.100.7").await, refused);
    restrict("198.51.100.0/24");
    assert_eq!(statuses("198.51.100.7").await, ([200, 200], Ok(())));
}

#[tokio::test]
async fn pages_of_named_origins_may_call() {
    let service = Service::start_changed(|app| {
        app.web.origins = Arc::new(AllowedOrigins::parse("https://app.example.com").unwrap())
    })
    .await;
    let preflight = async |origin: &str| {
        let request = service
            .ask(Method::OPTIONS, SEARCH)
            .header("origin", origin)
            .header("access-control-request-method", "POST");
        request.send().await.unwrap()
    };
    let allowed = preflight("https://app.example.com").await;
    assert_eq!(allowed.status(), 204);
    let origin = &allowed.headers()["access-control-allow-origin"];
    assert_eq!(origin, "https://app.example.com");
    assert_eq!(preflight("https://evil.example.com").await.status(), 405);
    let request = service
        .ask(Method::POST, SEARCH)
        .header("origin", "https://app.example.com")
        .header("x-api-key", &service.key);
    let response = request.body("{}").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let exposed = response.headers()["access-control-expose-headers"]
        .to_str()
        .unwrap();
    let exposed: Vec<&str> = exposed.split(", ").collect();
    for name in [
        "x-request-id",
        "allow",
        "content-disposition",
        "x-toise-as-of",
        "x-toise-snapshots",
        "idempotent-recomputed",
    ] {
        assert!(exposed.contains(&name), "{name}: {exposed:?}");
    }
}

#[tokio::test]
async fn answers_are_compressed_for_clients_that_accept_it() {
    let service = Service::start().await;
    let request = service
        .ask(Method::POST, SEARCH)
        .header("accept-encoding", "zstd")
        .header("x-api-key", &service.key);
    let response = request.body(r#"{"size": 45}"#).send().await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "zstd");
    assert_eq!(response.headers()["vary"], "accept-encoding");
    // The client here decodes gzip by itself.
    let request = service.keyed(Method::POST, SEARCH, &service.key);
    let response = request.body(r#"{"size": 45}"#).send().await.unwrap();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["size"], 45);
}

#[tokio::test]
async fn a_file_has_one_tag_however_often_and_in_whatever_form_it_is_sent() {
    let service = Service::start().await;
    let get = async |coding: &str, known: Option<&str>| {
        let request = service.ask(Method::GET, "/docs/swagger-ui.css");
        let request = request.header("accept-encoding", coding);
        let request = known.iter().fold(request, |request, tag| {
            request.header("if-none-match", *tag)
        });
        let response = request.send().await.unwrap();
        let of = |name: &str| {
            let value = response.headers().get(name);
            value.map(|value| value.to_str().unwrap().to_owned())
        };
        let (status, tag, coding) = (response.status(), of("etag"), of("content-encoding"));
        let body = response.bytes().await.unwrap();
        (status.as_u16(), tag.unwrap(), coding, body)
    };
    let (_, strong, coding, plain) = get("identity", None).await;
    assert_eq!(coding, None);
    assert!(strong.starts_with('"'), "{strong}");
    for name in ["zstd", "gzip"] {
        for _ in 0..2 {
            let (status, tag, coding, body) = get(name, None).await;
            // The bytes differ from those of the plain file, their content does not.
            assert_eq!((status, tag), (200, format!("W/{strong}")));
            match coding {
                Some(coding) => assert!(coding == name && body.len() < plain.len()),
                // The client here decodes gzip by itself.
                None => assert!(name == "gzip" && body == plain),
            }
        }
        for known in [strong.clone(), format!("W/{strong}")] {
            let (status, _, coding, body) = get(name, Some(&known)).await;
            assert_eq!((status, coding, body.len()), (304, None, 0), "{known}");
        }
    }
    assert_eq!(get("identity", None).await.1, strong);
}

#[tokio::test]
async fn the_root_leads_to_the_documentation() {
    let service = Service::start().await;
    let response = service.ask(Method::GET, "/").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.url().path().starts_with("/docs"));
}

#[tokio::test]
async fn search_engines_are_kept_away() {
    let service = Service::start().await;
    let response = service
        .ask(Method::GET, "/robots.txt")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.text().await.unwrap(),
        "User-agent: *\nDisallow: /\n"
    );
    for path in ["/docs/", "/v2/protected/identity", "/healthz"] {
        let response = service.ask(Method::GET, path).send().await.unwrap();
        assert_eq!(response.headers()["x-robots-tag"], "noindex", "{path}");
    }
}

#[tokio::test]
async fn what_operators_do_is_in_a_log_that_shows_what_is_missing() {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let ask = async |method: Method, path: &str, body: Value| {
        let request = service.keyed(method, path, &operator);
        let request = if body.is_null() {
            request
        } else {
            request.json(&body)
        };
        request.send().await.unwrap()
    };
    let made = ask(Method::POST, KEYS, json!({"kind": "production"})).await;
    let made: Value = made.json().await.unwrap();
    let key_id = made["data"]["key_id"].as_str().unwrap();
    assert!(
        made["data"]["key"]
            .as_str()
            .unwrap()
            .starts_with(made["data"]["prefix"].as_str().unwrap())
    );
    let path = format!("{KEYS}/{key_id}");
    assert_eq!(
        ask(Method::PATCH, &path, json!({"rate": 7})).await.status(),
        200
    );
    assert_eq!(
        ask(Method::PATCH, &path, json!({"rate": 0})).await.status(),
        422
    );
    assert_eq!(ask(Method::DELETE, &path, Value::Null).await.status(), 200);
    // A refused call of a valid key is recorded as an act; a call without a valid key is not.
    for (key, status) in [(service.key.as_str(), 403), ("nonsense", 401)] {
        let refused = service.keyed(Method::DELETE, &path, key);
        assert_eq!(refused.send().await.unwrap().status(), status);
    }
    let log = ask(Method::GET, "/v2/protected/admin/audit", Value::Null).await;
    let log: Value = log.json().await.unwrap();
    let acts: Vec<(&str, &str)> = log["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let (patch, delete) = (format!("PATCH {path}"), format!("DELETE {path}"));
    let created = format!("POST {KEYS}");
    let expected = [
        (delete.as_str(), "403"),
        (delete.as_str(), "200"),
        (delete.as_str(), "begun"),
        (patch.as_str(), "422"),
        (patch.as_str(), "begun"),
        (patch.as_str(), "200"),
        (patch.as_str(), "begun"),
        (created.as_str(), "200"),
        (created.as_str(), "begun"),
    ];
    assert_eq!(acts, expected);
    assert_eq!(log["data"][0]["origin"], "127.0.0.1");
    assert_eq!(log["data"][7]["subject"], format!("key {key_id}"));
    assert_eq!(audit::verify(&service.store).unwrap().broken_at, None);
}

#[tokio::test]
async fn an_idempotency_key_holds_for_administration_and_keeps_the_secret_for_its_caller() {
    let service = Service::start().await;
    let operator = service.key_with("admin");
    let other = service.key_with("admin");
    let make = async |key: &str| {
        let request = service
            .keyed(Method::POST, KEYS, key)
            .header("idempotency-key", "once");
        request
            .json(&json!({"kind": "production"}))
            .send()
            .await
            .unwrap()
    };
    let first: Value = make(&operator).await.json().await.unwrap();
    let again = make(&operator).await;
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    let again: Value = again.json().await.unwrap();
    assert_eq!(again, first);
    assert_eq!(error_of(make(&other).await).await.0, 409);
    // A repeated response is not an act.
    let acts = audit::latest(&service.store, None, 10).unwrap();
    let outcomes: Vec<&str> = acts.iter().map(|one| one.act.outcome.as_str()).collect();
    assert_eq!(outcomes, ["200", "begun"]);
    let text = first["data"]["key"].as_str().unwrap().to_owned();
    let shown = service.store.ledger().read(move |connection| {
        let sql = "SELECT count(*) FROM stored_answers WHERE instr(body, CAST(?1 AS BLOB)) > 0";
        connection.query_row(sql, [text], |row| row.get::<_, i64>(0))
    });
    assert_eq!(shown.unwrap(), 0);
}

#[tokio::test]
async fn a_key_with_one_endpoint_of_administration_takes_nothing_from_a_mightier_one() {
    let service = Service::start().await;
    let mighty = service.new_key(KeyKind::Production, "admin", "operators");
    let revoker = service.key_with("admin.keys.revoke,search");
    let path = format!("{KEYS}/{}", mighty.key_id);
    let request = service.keyed(Method::DELETE, &path, &revoker);
    assert_eq!(error_of(request.send().await.unwrap()).await.0, 403);
    let weak = service.new_key(KeyKind::Production, "search", "customers");
    let path = format!("{KEYS}/{}", weak.key_id);
    let request = service.keyed(Method::DELETE, &path, &revoker);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_operators_key_with_bounds_gives_operators_no_more_than_its_own() {
    let service = Service::start().await;
    let bounded = service.new_key(KeyKind::Production, "admin", "operators");
    let end = service.clock.now() + chrono::TimeDelta::days(30);
    let at = |days: i64| (end + chrono::TimeDelta::days(days)).to_rfc3339();
    let change = KeyChange {
        expires_at: Some(Some(end)),
        allowed_from: Some(Networks::parse("127.0.0.0/8,10.1.0.0/16").ok()),
        ..KeyChange::default()
    };
    keys::change(&service.store, &bounded.key, change).unwrap();
    // A server applies a change within a second.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let ask = async |method: Method, path: &str, body: Value| {
        let request = service.keyed(method, path, &bounded.key);
        request.json(&body).send().await.unwrap()
    };
    let own = format!("{KEYS}/{}", bounded.key_id);
    let (inside, outside) = (json!(["10.1.2.0/24"]), json!(["10.0.0.0/8"]));
    for beyond in [
        json!({"expires_at": at(1)}),
        json!({"allowed_from": []}),
        json!({"allowed_from": outside}),
        json!({"allowed_from": ["127.0.0.1", "192.0.2.7"]}),
    ] {
        let (status, code, _) = error_of(ask(Method::PATCH, &own, beyond.clone()).await).await;
        assert_eq!((status, code), (403, 10004), "{beyond}");
    }
    let create = async |grants: &str, expires_at: Option<String>, allowed_from: &Value| {
        let mut body =
            json!({"kind": "production", "grants": [grants], "allowed_from": allowed_from});
        if let Some(expires_at) = expires_at {
            body["expires_at"] = json!(expires_at);
        }
        ask(Method::POST, KEYS, body).await
    };
    for grants in ["admin", "admin.keys.create"] {
        for (expires_at, allowed_from) in [
            (None, &inside),
            (Some(at(1)), &inside),
            (Some(at(0)), &outside),
            (Some(at(0)), &json!([])),
        ] {
            let refused = create(grants, expires_at, allowed_from).await;
            assert_eq!(error_of(refused).await.0, 403, "{grants} {allowed_from}");
        }
        assert_eq!(create(grants, Some(at(-1)), &inside).await.status(), 200);
    }
    // Keys of customers are not restricted, until they become keys of operators.
    let free = create("search", None, &json!([])).await;
    assert_eq!(free.status(), 200);
    let free: Value = free.json().await.unwrap();
    let path = format!("{KEYS}/{}", free["data"]["key_id"].as_str().unwrap());
    let raise = json!({"grants": ["search", "admin"]});
    assert_eq!(
        error_of(ask(Method::PATCH, &path, raise.clone()).await)
            .await
            .0,
        403
    );
    let mut within = raise;
    within["expires_at"] = json!(at(-1));
    within["allowed_from"] = inside.clone();
    assert_eq!(ask(Method::PATCH, &path, within).await.status(), 200);
    // A caller may reduce its own rights, and nothing else has changed.
    let rate = ask(Method::PATCH, &own, json!({"rate": 60})).await;
    assert_eq!(rate.status(), 200);
    let less = json!({"expires_at": at(-1), "allowed_from": ["127.0.0.1"]});
    assert_eq!(ask(Method::PATCH, &own, less).await.status(), 200);
}

#[tokio::test]
async fn refused_attempts_of_a_key_do_not_flood_the_log() {
    let service = Service::start().await;
    for _ in 0..60 {
        // They count against the rate of the key.
        service.clock.advance_ms(100);
        let refused = service.keyed(Method::GET, KEYS, &service.key);
        assert_eq!(refused.send().await.unwrap().status(), 403);
    }
    let listed = audit::latest(&service.store, None, 100).unwrap().len();
    assert_eq!(listed, 20);
    service.clock.advance_ms(3_600_000);
    let refused = service.keyed(Method::GET, KEYS, &service.key);
    assert_eq!(refused.send().await.unwrap().status(), 403);
    let next = audit::latest(&service.store, None, 1).unwrap();
    let expected = "403, after 40 refusals that are not listed";
    assert_eq!(next[0].act.outcome, expected);
}
