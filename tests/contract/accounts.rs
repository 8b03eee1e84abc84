//! Keys over time and after changes, as seen by a running service.

use std::time::Duration;

use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::grants::Grants;
use toise::accounts::keys::{self, GrantChange, KeyChange, KeyKind};

use crate::support::Service;

const SEARCH: &str = "/v2/protected/opendata/dpe/search";
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

async fn status(service: &Service, key: &str) -> u16 {
    let request = service.keyed(reqwest::Method::POST, SEARCH, key).body("{}");
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_test_key_is_valid_until_the_end_of_its_seventh_day() {
    let service = Service::start().await;
    let scopes = KeyKind::Test.default_scopes();
    let (store, clock) = (&service.store, &service.clock);
    let key = keys::create(store, clock, KeyKind::Test, scopes, DEFAULT_ACCOUNT)
        .unwrap()
        .key;
    assert_eq!(status(&service, &key).await, 200);
    service.clock.advance_ms(7 * DAY_MS - MINUTE_MS);
    assert_eq!(
        status(&service, &key).await,
        200,
        "seven days less a minute"
    );
    service.clock.advance_ms(2 * MINUTE_MS);
    assert_eq!(status(&service, &key).await, 401, "the eighth day");
    service.clock.advance_ms(365 * DAY_MS);
    assert_eq!(status(&service, &service.key).await, 200, "production");
}

#[tokio::test]
async fn a_running_service_applies_key_changes_and_rotations_within_a_second() {
    let service = Service::start().await;
    let store = &service.store;
    let key = service.key_with("search");
    assert_eq!(status(&service, &key).await, 200);
    let id = keys::get(store, &key).unwrap().key_id.to_string();
    let only = |grants: &str| KeyChange {
        grants: Some(GrantChange::Set(Grants::parse(grants).unwrap())),
        ..KeyChange::default()
    };
    keys::change(store, &id, only("geocoding")).unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(status(&service, &key).await, 403);

    keys::change(store, &id, only("search")).unwrap();
    let next = keys::rotate(store, &service.clock, &id).unwrap().key;
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(status(&service, &key).await, 401);
    assert_eq!(status(&service, &next).await, 200);
}
