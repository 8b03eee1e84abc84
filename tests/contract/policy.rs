//! Access policy: every endpoint with no key and with a malformed, expired, revoked, wrong and right key; endpoints
//! of account data also with another account's key. The result is printed as a table.

use comfy_table::Table;
use reqwest::Method;
use serde_json::{Value, json};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::keys::{self, KeyKind};
use toise::accounts::scopes::Scope;
use toise::http::endpoint::BodyRule;
use toise::http::endpoint::{Access, Endpoint};
use toise::http::resources;
use uuid::Uuid;

use crate::support::Service;
use crate::support::alerts::known_names;

const COLUMNS: [&str; 11] = [
    "endpoint",
    "scope",
    "no key",
    "not a key",
    "unknown",
    "expired",
    "revoked",
    "other scopes",
    "right scope",
    "other account's",
    "own",
];

/// Calls an endpoint with a random id and a body that may be invalid: only access is checked.
async fn status(service: &Service, endpoint: &Endpoint, key: Option<&str>, id: Uuid) -> u16 {
    let method = Method::from_bytes(endpoint.method.as_str().as_bytes()).unwrap();
    let path: Vec<String> = endpoint
        .path
        .split('/')
        .map(|segment| {
            if segment.starts_with('{') {
                id.to_string()
            } else {
                segment.to_owned()
            }
        })
        .collect();
    let body = if endpoint.path.ends_with("/replay") {
        r#"{"from":"2026-11-01","to":"2026-11-02"}"#
    } else {
        "{}"
    };
    let media_type = match endpoint.body {
        BodyRule::Form { .. } => "multipart/form-data; boundary=x",
        _ => "application/json",
    };
    let mut request = service
        .ask(method, &path.join("/"))
        .header("content-type", media_type)
        .body(body);
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    request.send().await.unwrap().status().as_u16()
}

/// The path under which the alert that a path names is created.
fn root_of_alert(path: &str) -> Option<&str> {
    let names_one = path.contains("/search/alerts/") && path.contains("{alertId}");
    let (before, _) = path.split_once("/alerts/")?;
    names_one.then(|| &path[..before.len() + "/alerts".len()])
}

/// Creates an alert of the account that owns the service's key.
async fn alert_of(service: &Service, root: &str) -> Uuid {
    let request = service.keyed(Method::PUT, root, &service.key);
    let filter = match root.split('/').nth(3) {
        Some("properties") => "filterProperty",
        Some("adverts") => "filterAd",
        _ => "filters",
    };
    let body = json!({"search_query": {filter: {}}, "match": ["ALERT_MATCH_CREATED"], "search_name": "suivi",
        "webhook_url": "https://client.example/hook"});
    let made: Value = request
        .json(&body)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    made["data"]["alert_id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_endpoint_admits_the_right_keys_only() {
    let service = Service::start_changed(known_names).await;
    let every_scope = Scope::NAMES.join(",");
    let trial_scopes = KeyKind::Test.default_scopes().to_string();
    let expired = service
        .new_key(KeyKind::Test, &trial_scopes, DEFAULT_ACCOUNT)
        .key;
    let revoked = service.key_with(&every_scope);
    keys::revoke(&service.store, &service.clock, &revoked).unwrap();
    service.clock.advance_ms(8 * 24 * 3_600_000);
    // Well-formed, but of another installation.
    let unknown = Service::start().await.key.clone();
    let stranger = service
        .new_key(KeyKind::Production, "alerts", "stranger")
        .key;
    let mut table = Table::new();
    table.set_header(COLUMNS);
    let mut of_alerts = 0;
    for endpoint in resources::endpoints() {
        let (wrong, right) = match endpoint.access {
            Access::Scoped(scope, _) => {
                let others = Scope::ALL.into_iter().filter(|other| *other != scope);
                let others: Vec<&str> = others.map(Scope::as_str).collect();
                (others.join(","), scope.as_str())
            }
            Access::Keyed | Access::Public => (String::new(), ""),
        };
        let wrong = service.key_with(&wrong);
        let right_key = service.key_with(right);
        let mut statuses = Vec::new();
        for key in [
            None,
            Some("x"),
            Some(unknown.as_str()),
            Some(expired.as_str()),
            Some(revoked.as_str()),
            Some(wrong.as_str()),
            Some(right_key.as_str()),
        ] {
            statuses.push(status(&service, endpoint, key, Uuid::now_v7()).await);
            service.clock.advance_ms(1_000);
        }
        let owned = root_of_alert(endpoint.path);
        let mut of_accounts = Vec::new();
        if let Some(root) = owned {
            let id = alert_of(&service, root).await;
            for key in [&stranger, &service.key] {
                of_accounts.push(status(&service, endpoint, Some(key), id).await);
            }
        }
        let mut row = vec![
            format!("{} {}", endpoint.method, endpoint.path),
            right.to_owned(),
        ];
        row.extend(statuses.iter().chain(&of_accounts).map(u16::to_string));
        table.add_row(row);
        if owned.is_some() {
            of_alerts += 1;
            assert!(
                of_accounts[0] == 404 && [200, 202].contains(&of_accounts[1]),
                "{table}"
            );
        }
        let refused = |statuses: &[u16]| statuses.iter().all(|status| *status == 401);
        match endpoint.access {
            Access::Public => {
                assert!(
                    statuses.iter().all(|status| *status == statuses[0]
                        && (*status < 400
                            || endpoint.path.contains('{')
                            // A session begins with a key in the body, not in a header.
                            || endpoint.path == "/console-session" && *status == 422)),
                    "{table}"
                )
            }
            Access::Keyed => assert!(
                refused(&statuses[..5]) && statuses[5] == 200 && statuses[6] == 200,
                "{table}"
            ),
            Access::Scoped(..) => assert!(
                refused(&statuses[..5])
                    && statuses[5] == 403
                    && [200, 404, 422].contains(&statuses[6]),
                "{table}"
            ),
        }
    }
    assert_eq!(of_alerts, 32, "endpoints that name an alert");
    println!("{table}");
}
