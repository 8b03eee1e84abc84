//! Who may ask: every route with no key, bad, expired, revoked, wrong and right keys.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::keys::{self, Kind};
use toise::accounts::scopes::Scope;
use toise::http::routes::{Access, ROUTES, Route};

use crate::support::{Service, error_of};

async fn status_with(service: &Service, route: &Route, key: Option<&str>) -> StatusCode {
    let method = Method::from_bytes(route.method.as_str().as_bytes()).unwrap();
    let mut request = service.ask(method, route.path).body(r#"{"items": [{}]}"#);
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn every_route_admits_the_right_keys_only() {
    let service = Service::start().await;
    let kind = Kind::Test;
    let scopes = kind.default_scopes();
    let test_key = keys::create(
        &service.store,
        &service.clock,
        kind,
        scopes,
        DEFAULT_ACCOUNT,
    )
    .unwrap();
    let revoked = service.key_with("search");
    keys::revoke(&service.store, &service.clock, &revoked).unwrap();
    for route in &ROUTES {
        let Access::Scoped(scope) = route.access else {
            assert_eq!(
                status_with(&service, route, None).await,
                200,
                "{}",
                route.path
            );
            continue;
        };
        let others: Vec<&str> = Scope::ALL
            .iter()
            .filter(|other| **other != scope)
            .map(|other| other.as_str())
            .collect();
        let wrong = service.key_with(&others.join(","));
        let right = service.key_with(scope.as_str());
        let mistyped = right.replace("toise_live_", "toise_test_");
        for key in [
            None,
            Some(""),
            Some("x"),
            Some(mistyped.as_str()),
            Some(revoked.as_str()),
        ] {
            assert_eq!(
                status_with(&service, route, key).await,
                401,
                "{} {key:?}",
                route.path
            );
        }
        assert_eq!(
            status_with(&service, route, Some(&wrong)).await,
            403,
            "{}",
            route.path
        );
        for key in [&right, &test_key.key] {
            let status = status_with(&service, route, Some(key)).await;
            assert!(status == 200 || status == 422, "{} {status}", route.path);
        }
    }
    service.clock.advance_ms(8 * 24 * 3_600_000);
    for route in ROUTES.iter().filter(|route| route.access != Access::Public) {
        let status = status_with(&service, route, Some(&test_key.key)).await;
        assert_eq!(status, 401, "{} on the eighth day", route.path);
    }
}

#[tokio::test]
async fn refused_keys_get_the_codes_of_the_contract() {
    let service = Service::start().await;
    let path = "/v2/protected/opendata/dpe/search";
    let (status, code, message) =
        error_of(service.ask(Method::POST, path).send().await.unwrap()).await;
    assert_eq!(
        (status, code, message.as_str()),
        (401, 10001, "x-api-key: is required")
    );
    let key = service.key_with("geocoding");
    let request = service.ask(Method::POST, path).header("x-api-key", key);
    let response = request.body("{}").send().await.unwrap();
    assert_eq!(response.headers()["x-credits"], "0");
    let (status, code, _) = error_of(response).await;
    assert_eq!((status, code), (403, 10004));
}

#[tokio::test]
async fn a_running_service_notices_a_revocation_within_a_second() {
    let service = Service::start().await;
    let path = "/v2/protected/opendata/dvf/search";
    assert_eq!(service.post(path, "{}").await.status(), 200);
    keys::revoke(&service.store, &service.clock, &service.key).unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(service.post(path, "{}").await.status(), 401);
}
