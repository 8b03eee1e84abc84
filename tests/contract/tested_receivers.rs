//! Tests of receivers: one empty delivery, and what the receiver answered.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use toise::net::egress::{AllowedHosts, EgressGuard};
use toise::service::receivers::ReceiverChecker;
use tokio::sync::Semaphore;

use super::alerts::{CREATED, KINDS, read};
use crate::support::Service;
use crate::support::alerts::{body, with};
use crate::support::assertions::pick;
use crate::support::receiver::{Act, Receiver};

/// Starts a service that posts at most `at_once_max` tests at the same time.
async fn service(at_once_max: usize) -> Service {
    Service::start_changed(|app| {
        app.capacity.receiver_tests = Arc::new(Semaphore::new(at_once_max));
        let gate = EgressGuard::new(AllowedHosts::parse("127.0.0.1").unwrap());
        app.data.receivers = ReceiverChecker::new(gate).unwrap();
    })
    .await
}

#[tokio::test]
async fn a_test_posts_one_empty_signed_delivery_and_is_not_kept() {
    let service = service(1).await;
    for (listing, root) in KINDS {
        let receiver = Receiver::first(vec![Act::Status(204), Act::Status(500), Act::Close]).await;
        let to = json!({"webhook_url": receiver.url()});
        let alert = with(body(listing, &json!({}), CREATED), to);
        let made = service.data(Method::PUT, root, &alert).await;
        let path = format!("{root}/{}", made["alert_id"].as_str().unwrap());
        let test = format!("{path}/test");

        let tested = service.data(Method::POST, &test, &Value::Null).await;
        assert_eq!(
            pick(&tested, ["delivered", "status", "error"]),
            json!([true, 204, null])
        );
        assert!(tested["duration_ms"].as_i64().unwrap() >= 0);
        let received = receiver.received();
        assert_eq!(
            received[0].json(),
            json!({"data": {"created": [], "updated": []}})
        );
        assert!(!received[0].headers["x-webhook-key"].is_empty());
        assert!(received[0].headers["webhook-signature"].starts_with("v1,"));

        let refused = service.data(Method::POST, &test, &Value::Null).await;
        assert_eq!(refused["delivered"], false);
        assert_eq!(refused["status"], 500);
        assert_eq!(refused["error"], "the receiver answered 500");
        let lost = service.data(Method::POST, &test, &Value::Null).await;
        assert_eq!(lost["status"], Value::Null);
        assert!(
            lost["error"].as_str().unwrap().contains("connection"),
            "{lost}"
        );
        assert_eq!(receiver.count(), 3, "a failed test is not tried again");

        // An ended alert can be tested before it is activated again.
        service.data(Method::DELETE, &path, &Value::Null).await;
        let tested = service.data(Method::POST, &test, &Value::Null).await;
        assert_eq!(tested["delivered"], true);
        assert_eq!(
            read(&service, &format!("{path}/deliveries")).await,
            json!([])
        );
    }
    assert_eq!(
        service.stored("SELECT count(*) FROM ledger WHERE credits > 0"),
        [0]
    );
}

#[tokio::test]
async fn a_test_that_finds_no_room_in_time_is_refused_and_posts_nothing() {
    let service = service(0).await;
    let (listing, root) = KINDS[0];
    let receiver = Receiver::first(vec![Act::Status(204)]).await;
    let to = json!({"webhook_url": receiver.url()});
    let alert = with(body(listing, &json!({}), CREATED), to);
    let made = service.data(Method::PUT, root, &alert).await;
    let test = format!("{root}/{}/test", made["alert_id"].as_str().unwrap());
    let refused = service.call(Method::POST, &test, &Value::Null).await;
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(receiver.count(), 0);
}
