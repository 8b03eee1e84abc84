//! Rejected keys: their codes, and how soon a revocation takes effect.

use std::time::Duration;

use reqwest::Method;
use toise::accounts::keys;

use crate::support::{Service, error_of};

#[tokio::test]
async fn rejected_keys_get_the_codes_of_the_contract() {
    let service = Service::start().await;
    let path = "/v2/protected/opendata/dpe/search";
    let (status, code, message) =
        error_of(service.ask(Method::POST, path).send().await.unwrap()).await;
    assert_eq!(
        (status, code, message.as_str()),
        (
            401,
            10001,
            "x-api-key: is required, or the same key as bearer token in authorization"
        )
    );
    let key = service.key_with("geocoding");
    let request = service.keyed(Method::POST, path, &key);
    let response = request.body("{}").send().await.unwrap();
    assert_eq!(response.headers()["x-credits"], "0");
    let (status, code, _) = error_of(response).await;
    assert_eq!((status, code), (403, 10004));
}

#[tokio::test]
async fn a_running_service_applies_a_revocation_within_a_second() {
    let service = Service::start().await;
    let path = "/v2/protected/opendata/dvf/search";
    assert_eq!(service.post(path, "{}").await.status(), 200);
    keys::revoke(&service.store, &service.clock, &service.key).unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(service.post(path, "{}").await.status(), 401);
}
