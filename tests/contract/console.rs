//! Signing in to the console: a key starts a session. Its cookie allows reading and its token changes, until the key or
//! the session ends.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::accounts::key::{KeyChange, KeyKind};
use toise::accounts::keys;
use toise::base::networks::Networks;
use toise::contract::listings::filters::model::leaves;
use toise::contract::listings::filters::{FieldSubset, ListingKind};
use toise::dedup::Contradiction;
use toise::dedup::weights::WEIGHTS;
use toise::opendata::{dpe, dvf};

use toise::service::App;
use toise::service::console_page::ConsolePage;
use toise::service::settings::{ConsoleSettings, ServerSettings};

use crate::support::Service;
use crate::support::assertions::{assert_begins, assert_has};
use crate::support::skip::skipped;

const SESSION: &str = "/console-session";
const SEARCH: &str = "/v2/protected/properties/search/count";

async fn begun(service: &Service, body: Value, origin: Option<&str>) -> Response {
    let mut request = service.ask(Method::POST, SESSION).json(&body);
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    request.send().await.unwrap()
}

fn set_cookie(response: &Response) -> &str {
    response.headers()["set-cookie"].to_str().unwrap()
}

/// The cookie of a response, as a browser returns it.
fn cookie(response: &Response) -> String {
    let set = set_cookie(response);
    for rule in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(rule), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

async fn status(
    service: &Service,
    method: Method,
    path: &str,
    cookie: &str,
    token: Option<&str>,
) -> u16 {
    service.clock.advance_ms(1_000);
    let mut request = service.ask(method.clone(), path).header("cookie", cookie);
    if method == Method::POST {
        request = request.json(&json!({"search": {"filterProperty": {}}}));
    }
    if let Some(token) = token {
        request = request.header("x-console-token", token);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_key_becomes_a_session_that_ends_with_it() {
    let service = Service::start().await;
    let new = service.new_key(KeyKind::Production, "search", "default");
    let elsewhere = Some("https://elsewhere.example");
    for (body, origin, status) in [
        (json!({"key": "nonsense"}), None, 401),
        (json!({"code": "nonsense"}), None, 401),
        (json!({}), None, 422),
        (json!({"key": new.key}), elsewhere, 422),
    ] {
        let refused = begun(&service, body, origin).await;
        assert_eq!(refused.status(), status, "{origin:?}");
    }

    let here = format!("http://{}", service.address);
    let response = begun(&service, json!({"key": new.key}), Some(&here)).await;
    assert_eq!(response.status(), 201);
    let cookie = cookie(&response);
    let told: Value = response.json().await.unwrap();
    let token = told["data"]["token"].as_str().unwrap();
    assert_eq!(told["data"]["scopes"], json!(["search"]));
    assert!(!told.to_string().contains(&new.key));

    // The cookie alone allows reading; anything else needs the token.
    let tiles = "/v2/protected/tiles/properties";
    let get = async |path: &str| status(&service, Method::GET, path, &cookie, None).await;
    let post = async |token| status(&service, Method::POST, SEARCH, &cookie, token).await;
    assert_eq!(get(tiles).await, 200);
    assert_eq!(post(None).await, 401);
    assert_eq!(post(Some("made-up")).await, 401);
    assert_eq!(post(Some(token)).await, 200);
    // The session has exactly the scopes of its key.
    assert_eq!(get("/v2/protected/admin/keys").await, 403);
    assert_eq!(get(SESSION).await, 200);

    // A revoked key ends its sessions.
    let key_id = told["data"]["key_id"].as_str().unwrap();
    let operator = service.key_with("admin");
    let path = format!("/v2/protected/admin/keys/{key_id}");
    let revoked = service
        .keyed(Method::DELETE, &path, &operator)
        .send()
        .await
        .unwrap();
    assert!(revoked.status().is_success(), "{}", revoked.status());
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(get(tiles).await, 401);
}

#[tokio::test]
async fn a_session_is_begun_and_told_only_where_its_key_may_be_used_and_within_its_rate() {
    let proxies = Networks::parse("127.0.0.1").unwrap();
    let service = Service::start_changed(|app| {
        app.access.proxies = Arc::new(proxies);
    })
    .await;
    let new = service.new_key(KeyKind::Test, "search", "default");
    let change = KeyChange {
        allowed_from: Some(Some(Networks::parse("198.51.100.0/24").unwrap())),
        ..KeyChange::default()
    };
    keys::change(&service.store, &new.key, change).unwrap();
    let begin = async |from: &str| {
        let request = service.ask(Method::POST, SESSION);
        let request = request.header("x-forwarded-for", from);
        let body = json!({"key": new.key});
        request.json(&body).send().await.unwrap()
    };
    let refused = begin("192.0.2.1").await;
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("set-cookie"));
    let response = begin("198.51.100.7").await;
    assert_eq!(response.status(), 201);
    let cookie = cookie(&response);
    let tell = async |from: &str| {
        let request = service.ask(Method::GET, SESSION).header("cookie", &cookie);
        let request = request.header("x-forwarded-for", from);
        request.send().await.unwrap().status()
    };
    assert_eq!(tell("198.51.100.7").await, 200);
    assert_eq!(tell("192.0.2.1").await, 403);
    // A test key makes five calls a second.
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(begin("198.51.100.7").await.status());
    }
    assert!(statuses.iter().any(|status| *status == 429), "{statuses:?}");
}

#[tokio::test]
async fn the_base_map_of_the_settings_is_told_and_allowed_and_the_cookie_is_secure_behind_tls() {
    let settings = ConsoleSettings {
        base_map: "https://tiles.example/{z}/{x}/{y}.png".into(),
        attribution: "© Example".into(),
        behind_tls: true,
    };
    let page = Arc::new(ConsolePage::new(&settings, &ServerSettings::default()));
    let change = |app: &mut App| app.web.console = page;
    let service = Service::start_changed(change).await;
    let page = service.ask(Method::GET, "/console/").send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert_has(policy, "connect-src 'self' https://tiles.example;");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let response = begun(&service, json!({"key": service.key}), None).await;
    let set = set_cookie(&response);
    assert!(set.ends_with("; Secure"), "{set}");
    let told: Value = response.json().await.unwrap();
    let expected =
        json!({"address": "https://tiles.example/{z}/{x}/{y}.png", "attribution": "© Example"});
    assert_eq!(told["data"]["base_map"], expected);
    // Without settings the page loads from this service alone, and a cookie over plain HTTP is not Secure.
    let plain = Service::start().await;
    let response = begun(&plain, json!({"key": plain.key}), None).await;
    assert!(!set_cookie(&response).contains("Secure"));
    let told: Value = response.json().await.unwrap();
    assert_eq!(told["data"]["base_map"], Value::Null);
    assert_eq!(told["data"]["has_invented_data"], false);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let service = Service::start().await;
    let response = begun(&service, json!({"key": service.key}), None).await;
    let cookie = cookie(&response);
    let left = service
        .ask(Method::DELETE, SESSION)
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(left.status(), 204);
    assert_has(set_cookie(&left), "Max-Age=0");
    let path = "/v2/protected/consumption";
    let after = status(&service, Method::GET, path, &cookie, None).await;
    assert_eq!(after, 401);
}

#[tokio::test]
async fn the_page_and_its_files_come_under_a_strict_policy() {
    let service = Service::start().await;
    let page = service.ask(Method::GET, "/console/").send().await.unwrap();
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_begins(&policy, "default-src 'none'; script-src 'self';");
    assert!(!policy.contains("unsafe"), "{policy}");
    let html = page.text().await.unwrap();
    // Every file that the page or one of its files names is on this service.
    let mut waiting = vec![("/console/".to_owned(), html)];
    let mut seen = BTreeSet::new();
    while let Some((from, text)) = waiting.pop() {
        let base = url::Url::parse(&format!("http://here{from}")).unwrap();
        let quoted = text.split(['"', '`']).skip(1).step_by(2);
        let is_file = |name: &&str| {
            [".js", ".mjs", ".css"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        for name in quoted.filter(is_file) {
            let file = base.join(name).unwrap();
            assert_eq!(file.host_str(), Some("here"), "{from}: {name}");
            let path = file.path().to_owned();
            if !seen.insert(path.clone()) {
                continue;
            }
            let answer = service.ask(Method::GET, &path).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{from}: {path}");
            let text = answer.text().await.unwrap();
            assert!(!text.is_empty(), "{path}");
            if !path.contains("/vendor/") {
                waiting.push((path, text));
            }
        }
    }
    for part in [
        "screens/query.js",
        "screens/keys.js",
        "screens/pairs.js",
        "filters.js",
        "vendor/maplibre-gl.mjs",
        "vendor/uplot.css",
    ] {
        assert!(
            seen.contains(&format!("/console/{part}")),
            "{part}: {seen:?}"
        );
    }
    let missing = service.ask(Method::GET, "/console/nothing.js");
    assert_eq!(missing.send().await.unwrap().status(), 404);
}

#[test]
fn what_a_comparison_finds_is_said_in_both_languages() {
    let words = include_str!("../../src/console/evidence.js");
    for field in &WEIGHTS {
        let name = json!(field.field);
        let named = format!(" {}: \"", name.as_str().unwrap());
        assert_eq!(words.matches(&named).count(), 2, "{named}");
        // Commands and the console name a field alike.
        let in_english = format!("{named}{}\"", field.field.as_str());
        assert!(words.contains(&in_english), "{in_english}");
        for level in field.levels {
            let said = format!("\n  \"{}\": \"", level.about);
            assert!(words.contains(&said), "{}", level.about);
        }
    }
    for contradiction in Contradiction::ALL {
        let named = format!(" {}: \"", contradiction.as_str());
        assert_eq!(words.matches(&named).count(), 2, "{named}");
    }
}

#[test]
fn every_filter_that_the_console_names_is_one_of_the_contract() {
    let named = include_str!("../../src/console/fieldnames.js");
    let lines = named
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"'));
    let names: Vec<&str> = lines
        .filter_map(|line| Some(line.split_once("\": [")?.0))
        .collect();
    assert!(names.len() > 50, "{names:?}");
    let leaves = leaves(ListingKind::Property.filter_model(), FieldSubset::Whole);
    let paths: Vec<String> = leaves
        .iter()
        .map(|leaf| leaf.path.replace("[]", ""))
        .collect();
    let is_column = |name| {
        [dvf::schema(), dpe::schema()]
            .iter()
            .any(|table| table.column(name).is_some())
    };
    for name in names {
        assert!(
            paths.iter().any(|path| path == name) || is_column(name),
            "{name}"
        );
    }
}

#[test]
fn the_modules_without_markup_pass_their_own_tests() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console/logic.mjs");
    let Ok(output) = Command::new("node").arg("--test").arg(tests).output() else {
        return skipped("node is not installed");
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
