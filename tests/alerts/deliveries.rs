//! Notifications reach their receivers: in the contract's format, signed, in order, charged, and retried until
//! accepted.

use std::time::Duration;

use serde_json::json;
use toise::accounts::account::{
    SECRET_OVERLAP, rotate_secret, rotate_webhook_key, signing_secrets,
};
use toise::accounts::prices::Consumption;
use toise::accounts::usage::{DayRange, UsageScope, by_key, by_type};
use toise::alerts::delivery::DeliveryStatus;
use toise::alerts::dispatch::{self, DispatcherContext};
use toise::alerts::outbox::{Branch, enqueue};
use toise::alerts::signature::verify;
use toise::base::supervise::Supervisor;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::deliveries::{AdvertDelivery, PropertyDelivery};
use toise::store::Store;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::support::dispatching::{DispatcherFixture, until};
use crate::support::receiver::{Act, Received, Receiver};

async fn received(receiver: &Receiver, count: usize) -> Vec<Received> {
    let enough = || (receiver.count() >= count).then(|| receiver.received());
    until("requests", enough, || receiver.count().to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_property_alert_is_told_identifiers_in_one_signed_request() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    let ids: Vec<FlxId> = (0..3).map(|_| FlxId(Uuid::now_v7())).collect();
    let (told, again) = (ids.clone(), ids[0]);
    let at_ms = sending.clock.now().timestamp_millis();
    sending.write(move |transaction| {
        for id in &told {
            enqueue(transaction, alert.number, Branch::Created, *id, None, at_ms)?;
        }
        enqueue(
            transaction,
            alert.number,
            Branch::Updated,
            again,
            None,
            at_ms,
        )
    });
    let request = &received(&receiver, 1).await[0];
    let expected = json!({"data": {
        "created": [{"alert_id": alert.id, "properties": ids}],
        "updated": [{"alert_id": alert.id, "properties": [ids[0]]}],
    }});
    assert_eq!(request.json(), expected);
    let _: PropertyDelivery = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(
        request.headers["content-length"],
        request.body.len().to_string()
    );
    assert_eq!(
        request.headers["x-webhook-key"],
        sending.account.webhook_key.reveal()
    );
    let now = sending.clock.now();
    let secrets = signing_secrets(&sending.store, sending.account.account_id, now).unwrap();
    let (timestamp, signature) = (
        &request.headers["webhook-timestamp"],
        &request.headers["webhook-signature"],
    );
    assert_eq!(signature.split(' ').count(), 1);
    let secret = secrets[0].secret.bytes();
    assert_eq!(
        verify(
            secret,
            request.id(),
            timestamp,
            &request.body,
            signature,
            now
        ),
        Ok(())
    );

    let delivery = sending.delivery(alert, DeliveryStatus::Delivered, 1).await;
    assert_eq!(delivery.delivery_id.to_string(), request.id());
    assert_eq!(
        (delivery.items, delivery.last_status, delivery.last_error),
        (4, Some(200), None)
    );
    assert_eq!(delivery.delivered_at.map(|at| at.get()), Some(now));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_advert_alert_is_told_records_as_they_were_with_its_context() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(204)).await;
    let context = json!({"metadata": {"client": "c-17"}});
    let alerts = [(), ()].map(|()| sending.advert_alert(&receiver.url(), &context.to_string()));
    let samples: serde_json::Value =
        serde_json::from_str(include_str!("../../data/samples/webhook_adverts.json")).unwrap();
    let advert = &samples["data"]["created"][0]["adverts"][0];
    let update = &samples["data"]["updated"][0]["adverts"][0];
    sending.tell_advert(&alerts, Branch::Created, advert);
    sending.tell_advert(&alerts, Branch::Updated, update);
    for alert in alerts {
        let delivered = format!(
            "SELECT count(*) FROM outbox JOIN deliveries USING (delivery)
             WHERE outbox.alert = {} AND status = 'delivered'",
            alert.number
        );
        sending.until_number(&delivered, 2).await;
        let requests = receiver.received();
        let of_alert: Vec<_> = requests
            .iter()
            .filter(|request| request.json().to_string().contains(&alert.id.to_string()))
            .collect();
        let entry = |branch: &str| {
            let entries = of_alert
                .iter()
                .flat_map(|request| request.json()["data"][branch].as_array().unwrap().clone());
            let entries: Vec<_> = entries.collect();
            assert_eq!(entries.len(), 1);
            entries[0].clone()
        };
        for (branch, record) in [("created", advert), ("updated", update)] {
            let expected = json!({"alert_id": alert.id, "context": context, "adverts": [record]});
            assert_eq!(entry(branch), expected);
        }
        for request in of_alert {
            let _: AdvertDelivery = serde_json::from_slice(&request.body).unwrap();
        }
    }
    assert_eq!(
        sending.number("SELECT count(*) FROM snapshots"),
        2,
        "shared by both alerts"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_items_come_in_order_a_hundred_at_a_time() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    let told = sending.tell(alert, Branch::Created, 250);
    sending.resume("127.0.0.1");
    let requests = received(&receiver, 3).await;
    let items: Vec<Vec<String>> = requests
        .iter()
        .map(|request| request.items("created"))
        .collect();
    assert_eq!(
        items.iter().map(Vec::len).collect::<Vec<_>>(),
        [100, 100, 50]
    );
    assert_eq!(items.concat(), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_records_are_told_fewer_at_a_time() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.advert_alert(&receiver.url(), "null");
    let mut told = Vec::new();
    for bytes in [100_000; 12].into_iter().chain([700_000, 10]) {
        let id = Uuid::now_v7();
        let advert = json!({"flxId": id, "description": "x".repeat(bytes)});
        sending.tell_advert(&[alert], Branch::Created, &advert);
        told.push(id.to_string());
    }
    sending.resume("127.0.0.1");
    let requests = received(&receiver, 5).await;
    let items: Vec<Vec<String>> = requests
        .iter()
        .map(|request| request.items("created"))
        .collect();
    let counts: Vec<usize> = items.iter().map(Vec::len).collect();
    assert_eq!((counts, items.concat()), (vec![5, 5, 2, 1, 1], told));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_begins_nothing_new_while_fifty_deliveries_are_to_be_taken() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    let in_an_hour = sending.clock.now().timestamp_millis() + 3_600_000;
    sending.write(move |transaction| {
        for minute in 0..50 {
            transaction.execute(
                "INSERT INTO deliveries (delivery_id, alert, status, attempts, items, created_at_ms, next_attempt_at_ms)
                 VALUES (randomblob(16), ?1, 'failed', 1, 1, 0, ?2)",
                (alert.number, in_an_hour + minute * 60_000),
            )?;
            transaction.execute(
                "INSERT INTO outbox (alert, branch, item, created_at_ms, delivery)
                 VALUES (?1, 'created', randomblob(16), ?2, last_insert_rowid())",
                (alert.number, in_an_hour),
            )?;
        }
        Ok(())
    });
    let new = sending.tell(alert, Branch::Created, 1);
    sending.resume("127.0.0.1");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(receiver.count(), 0);
    sending.clock.advance_ms(3_600_000);
    let requests = received(&receiver, 2).await;
    assert_eq!(requests[1].items("created"), new);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_secrets_sign_and_both_keys_are_carried_for_a_day_after_they_were_replaced() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    let account_id = sending.account.account_id;
    rotate_secret(&sending.store, &sending.clock, account_id).unwrap();
    let secrets = signing_secrets(&sending.store, account_id, sending.clock.now()).unwrap();
    let rotated =
        rotate_webhook_key(&sending.store, &sending.clock, account_id, SECRET_OVERLAP).unwrap();
    let next = rotated.next_webhook_key.unwrap().key;
    sending.tell(alert, Branch::Created, 1);
    let request = &received(&receiver, 1).await[0];
    assert_eq!(
        request.headers["x-webhook-key"],
        sending.account.webhook_key.reveal()
    );
    assert_eq!(request.headers["x-webhook-key-next"], next.reveal());
    let (timestamp, signature) = (
        &request.headers["webhook-timestamp"],
        &request.headers["webhook-signature"],
    );
    assert_eq!((signature.split(' ').count(), secrets.len()), (2, 2));
    for signing in &secrets {
        let secret = signing.secret.bytes();
        let verified = verify(
            secret,
            request.id(),
            timestamp,
            &request.body,
            signature,
            sending.clock.now(),
        );
        assert_eq!(verified, Ok(()));
    }
    sending.clock.advance_ms(24 * 3_600_000);
    sending.tell(alert, Branch::Created, 1);
    let request = &received(&receiver, 2).await[1];
    assert_eq!(request.headers["webhook-signature"].split(' ').count(), 1);
    assert_eq!(request.headers["x-webhook-key"], next.reveal());
    assert!(!request.headers.contains_key("x-webhook-key-next"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_again_under_the_same_identifier_on_the_schedule_of_the_contract() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(500)).await;
    let alert = sending.property_alert(&receiver.url());
    sending.tell(alert, Branch::Created, 1);
    let waits_s = [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000];
    for (attempts, wait_s) in (1..).zip(waits_s) {
        let delivery = sending
            .delivery(alert, DeliveryStatus::Failed, attempts)
            .await;
        assert_eq!(
            delivery.last_error.as_deref(),
            Some("the receiver answered 500")
        );
        let wait = delivery.next_attempt_at.unwrap().get() - sending.clock.now();
        let share = wait.num_milliseconds() as f64 / (wait_s * 1_000) as f64;
        assert!((0.8..=1.2).contains(&share), "attempt {attempts}: {wait}");
        // Not a moment before.
        sending.clock.advance_ms(wait.num_milliseconds() - 1);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(receiver.count(), attempts as usize);
        sending.clock.advance_ms(1);
    }
    let dead = sending.delivery(alert, DeliveryStatus::Dead, 9).await;
    assert_eq!((dead.next_attempt_at, dead.last_status), (None, Some(500)));
    let requests = receiver.received();
    assert_eq!(requests.len(), 9);
    assert!(
        requests
            .iter()
            .all(|request| request.id() == dead.delivery_id.to_string())
    );
    assert!(
        requests
            .iter()
            .all(|request| request.body == requests[0].body)
    );
    let timestamps: std::collections::HashSet<_> = requests
        .iter()
        .map(|request| &request.headers["webhook-timestamp"])
        .collect();
    assert_eq!(timestamps.len(), 9, "each attempt carries its own moment");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_event_of_an_item_waits_for_the_earlier_one_and_other_items_do_not() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::first(vec![Act::Status(500)]).await;
    let alert = sending.property_alert(&receiver.url());
    let (poisoned, other) = (FlxId(Uuid::now_v7()), FlxId(Uuid::now_v7()));
    sending.tell_of(alert, Branch::Created, vec![poisoned]);
    sending.delivery(alert, DeliveryStatus::Failed, 1).await;
    sending.tell_of(alert, Branch::Updated, vec![poisoned]);
    sending.tell_of(alert, Branch::Created, vec![other]);
    let requests = received(&receiver, 2).await;
    assert_eq!(requests[1].items("created"), [other.to_string()]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.count(), 2, "the event waits");
    sending.clock.advance_ms(6_001);
    let requests = received(&receiver, 4).await;
    assert_eq!(requests[2].items("created"), [poisoned.to_string()]);
    assert_eq!(requests[2].id(), requests[0].id());
    assert_eq!(requests[3].items("updated"), [poisoned.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_priced_by_item_and_kind_of_match_once() {
    let mut sending = DispatcherFixture::idle();
    for (consumption, credits) in [
        (Consumption::WebhookAlertAdverts, 3),
        (Consumption::WebhookAlertPropertiesMatchCreated, 5),
        (Consumption::WebhookAlertPropertiesMatchMerged, 7),
    ] {
        sending.prices.set(consumption, credits);
    }
    let receiver = Receiver::first(vec![Act::Status(500)]).await;
    let properties = sending.property_alert(&receiver.url());
    let adverts = sending.advert_alert(&receiver.url(), "{}");
    sending.tell(properties, Branch::Created, 2);
    sending.tell(properties, Branch::Updated, 1);
    sending.tell_advert(
        &[adverts],
        Branch::Created,
        &json!({"flxId": Uuid::now_v7()}),
    );
    sending.resume("127.0.0.1");
    sending
        .until_count("deliveries WHERE status = 'delivered'", 1)
        .await;
    sending.clock.advance_ms(6_001);
    sending
        .until_count("deliveries WHERE status = 'delivered'", 2)
        .await;
    let day = sending.clock.now().date_naive();
    let consumer = UsageScope::Account(sending.account.account_id);
    let usage = by_key(&sending.store, consumer, DayRange { from: day, to: day }).unwrap();
    let usage: Vec<(String, u64, u64)> = by_type(&usage)
        .into_iter()
        .map(|of| (of.consumption, of.credits, of.calls))
        .collect();
    let expected = [
        ("WEBHOOK_ALERT_ADVERTS", 3, 1),
        ("WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED", 10, 1),
        ("WEBHOOK_ALERT_PROPERTIES_MATCH_MERGED", 7, 1),
    ];
    assert_eq!(
        usage,
        expected.map(|(name, credits, calls)| (name.to_owned(), credits, calls))
    );
    assert_eq!(sending.number("SELECT count(*) FROM ledger"), 3);
    let numbers = sending.metrics.render();
    assert!(
        numbers
            .contains(r#"toise_credits_total{type="WEBHOOK_ALERT_PROPERTIES_MATCH_CREATED"} 10"#)
    );
    assert!(numbers.contains(r#"outcome="delivered"} 2"#), "{numbers}");
    assert!(numbers.contains(r#"outcome="refused"} 1"#), "{numbers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_commits_is_sent_within_a_moment() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    let other = Store::open(sending.data()).unwrap();
    let id = FlxId(Uuid::now_v7());
    let at_ms = sending.clock.now().timestamp_millis();
    other
        .write(move |transaction| {
            enqueue(transaction, alert.number, Branch::Created, id, None, at_ms)
        })
        .unwrap();
    let committed = std::time::Instant::now();
    let request = &received(&receiver, 1).await[0];
    assert!(
        request.at - committed < Duration::from_millis(500),
        "{:?}",
        request.at - committed
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_dispatches_at_a_time_and_the_next_takes_over() {
    let mut sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    sending.tell(alert, Branch::Created, 1);
    received(&receiver, 1).await;
    let second = DispatcherContext {
        store: Store::open(sending.data()).unwrap(),
        ..sending.setup("127.0.0.1")
    };
    let second = dispatch::start(&Supervisor::default(), second, Handle::current()).unwrap();
    sending.tell(alert, Branch::Created, 1);
    received(&receiver, 2).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.count(), 2, "not sent twice");
    sending.pause();
    sending.tell(alert, Branch::Created, 1);
    received(&receiver, 3).await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_waits_as_long_when_the_clock_is_set_meanwhile() {
    let day_ms = 24 * 3_600_000;
    for jump_ms in [-day_ms, day_ms] {
        let sending = DispatcherFixture::start();
        let receiver = Receiver::first(vec![Act::Status(500)]).await;
        let alert = sending.property_alert(&receiver.url());
        sending.tell(alert, Branch::Created, 1);
        sending.delivery(alert, DeliveryStatus::Failed, 1).await;
        sending.clock.jump_ms(jump_ms);
        // Neither at once after a jump forward ...
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(receiver.count(), 1, "{jump_ms}");
        // ... nor a day later after one back.
        sending.clock.advance_ms(6_001);
        assert_eq!(received(&receiver, 2).await.len(), 2, "{jump_ms}");
        sending.delivery(alert, DeliveryStatus::Delivered, 2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_waits_as_long_when_the_clock_is_set_while_no_server_runs() {
    let mut sending = DispatcherFixture::start();
    let receiver = Receiver::first(vec![Act::Status(500)]).await;
    let alert = sending.property_alert(&receiver.url());
    sending.tell(alert, Branch::Created, 1);
    sending.delivery(alert, DeliveryStatus::Failed, 1).await;
    sending.pause();
    // The clock was a day ahead, and is correct again when the next server starts.
    sending.clock.jump_ms(-24 * 3_600_000);
    sending.resume("127.0.0.1");
    // The wait starts again when the next server takes over, a moment later.
    for _ in 0..200 {
        if receiver.count() == 2 {
            return;
        }
        sending.clock.advance_ms(1_000);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the retry waits for the day to pass");
}
