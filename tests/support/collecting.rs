//! Calls for listings by URL, to a service that may fetch from loopback.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::Value;
use toise::accounts::key::{KeyChange, RATE_PER_S_MAX};
use toise::accounts::keys;
use toise::collect::Collector;
use toise::collect::portals;
use toise::collect::settings::CollectSettings;
use toise::net::egress::{AllowedHosts, EgressGuard};

use super::Service;
use super::portal::{PORTAL_NAME, query};

const UNTIL_MAX: Duration = Duration::from_secs(60);

/// A service that may fetch from loopback and resolves a name to a private address.
pub async fn service(change: impl FnOnce(&mut CollectSettings)) -> Service {
    let mut settings = CollectSettings {
        host_delay_ms: 0,
        per_host_max: 8,
        ..CollectSettings::default()
    };
    change(&mut settings);
    service_with_portals(&settings, &[]).await
}

/// The same with settings, and with portals that have these hosts.
pub async fn service_with_portals(settings: &CollectSettings, hosts: &[&str]) -> Service {
    let service = Service::start_changed(|app| {
        let folder = app.store.folder().join(portals::FOLDER);
        for host in hosts {
            let text = format!("name = \"{host}\"\nhosts = [\"{host}\"]\n");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{host}.toml")), text).unwrap();
        }
        let allowed = AllowedHosts::parse(&format!("127.0.0.1, {PORTAL_NAME}")).unwrap();
        let gate = EgressGuard::asking(allowed, |name| {
            let address: Option<[u8; 4]> = match name {
                "inside.example" => Some([10, 0, 0, 1]),
                PORTAL_NAME => Some([127, 0, 0, 1]),
                _ => None,
            };
            Ok(Vec::from_iter(address.map(IpAddr::from)))
        });
        let listings = app.data.properties.listings().clone();
        app.data.collector = Collector::with_gate(
            gate.with_page_rules(false),
            app.store.clone(),
            listings,
            settings,
        )
        .unwrap();
    })
    .await;
    // The clock stands still, so the key's rate would be exhausted within its first second.
    let rate = KeyChange {
        rate_per_s: Some(RATE_PER_S_MAX),
        ..KeyChange::default()
    };
    keys::change(&service.store, &service.key, rate).unwrap();
    service
}

pub async fn get(service: &Service, path: &str, url: &str) -> Response {
    get_with(service, &service.key, path, url, None).await
}

pub async fn get_with(
    service: &Service,
    key: &str,
    path: &str,
    url: &str,
    name: Option<&str>,
) -> Response {
    let mut request = service.keyed(
        Method::GET,
        &format!("/v2/protected/{path}/url?{}", query(url)),
        key,
    );
    if let Some(name) = name {
        request = request.header("idempotency-key", name);
    }
    request.send().await.unwrap()
}

/// Credits and data of a response with an expected status.
pub async fn told(response: Response, status: u16) -> (i64, Value) {
    let credits = response.headers()["x-credits"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(!response.headers().contains_key("retry-after"));
    let found = response.status();
    let body: Value = response.json().await.unwrap();
    assert_eq!(found, status, "{body}");
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    (credits, body["data"].clone())
}

pub async fn post(service: &Service, path: &str, body: Value) -> Value {
    let (_, data) = told(service.post(path, body.to_string()).await, 200).await;
    data
}

pub async fn record(service: &Service, kind: &str, id: &Value) -> Value {
    let path = format!("/v2/protected/{kind}/{}", id.as_str().unwrap());
    told(service.get(&path).await, 200).await.1
}

/// Waits until a condition holds, long enough for a busy machine.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < UNTIL_MAX, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
