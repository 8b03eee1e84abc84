//! Operations on deliveries: listing, retrying and limiting them; and the state after a crash.

use serde_json::json;
use toise::accounts::account::find_or_create;
use toise::alerts::deliveries::{self, Error, PageParams};
use toise::alerts::delivery::DeliveryStatus;
use toise::alerts::outbox::Branch;
use toise::alerts::replay::{self, REPLAYS_MAX, ReplayWindow, replay};
use toise::alerts::retention::Retention;
use toise::contract::listings::codes::FlxId;
use toise::store::new_id::NewId;
use uuid::Uuid;

use crate::support::dispatching::{DispatcherFixture, TestAlert, insert_alert, until};
use crate::support::receiver::{Act, Receiver};

/// Counts notifications that were not delivered.
const UNDELIVERED: &str = "SELECT count(*) FROM outbox LEFT JOIN deliveries USING (delivery)
    WHERE coalesce(status, 'none') != 'delivered'";

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_the_past_is_sent_again_in_the_same_format() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.advert_alert(&receiver.url(), "null");
    let other = sending.property_alert(&receiver.url());
    let mut moments = Vec::new();
    for price in [100, 90, 80, 70] {
        moments.push(sending.clock.now().timestamp_millis());
        let advert = json!({"flxId": Uuid::now_v7(), "currentPrice": {"value": price}});
        sending.tell_advert(&[alert], Branch::Created, &advert);
        sending.tell(other, Branch::Created, 1);
        sending.until_number(UNDELIVERED, 0).await;
        sending.clock.advance_ms(60_000);
    }
    let window = ReplayWindow {
        from_ms: moments[1],
        to_ms: moments[2],
    };
    let before = receiver.count();
    for (items_max, expected) in [(100, vec![90, 80]), (1, vec![90])] {
        let begun = replay(
            &sending.store,
            &sending.clock,
            alert.id,
            window,
            items_max,
            NewId::Random,
        )
        .unwrap();
        assert_eq!(begun.items, expected.len());
        sending.until_number(UNDELIVERED, 0).await;
        let body = receiver.received().last().unwrap().json();
        let prices: Vec<i64> = body["data"]["created"][0]["adverts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|advert| advert["currentPrice"]["value"].as_i64().unwrap())
            .collect();
        assert_eq!(prices, expected);
    }
    assert_eq!(receiver.count(), before + 2);
    let ids: std::collections::HashSet<String> = receiver
        .received()
        .iter()
        .map(|request| request.id().to_owned())
        .collect();
    assert_eq!(
        ids.len(),
        receiver.count(),
        "each replay has identifiers of its own"
    );

    let nobody = replay(
        &sending.store,
        &sending.clock,
        FlxId(Uuid::now_v7()),
        window,
        1,
        NewId::Random,
    );
    assert!(matches!(nobody, Err(replay::Error::NoAlert)));
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_deliveries_are_listed_and_sent_again_under_their_identifier() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::start(|index, _| Act::Status(if index < 9 { 500 } else { 200 })).await;
    let alert = sending.property_alert(&receiver.url());
    sending.tell(alert, Branch::Created, 1);
    for attempts in 1..9 {
        sending
            .delivery(alert, DeliveryStatus::Failed, attempts)
            .await;
        sending.clock.advance_ms(12 * 3_600_001);
    }
    let dead = sending.delivery(alert, DeliveryStatus::Dead, 9).await;
    let page = PageParams { skip: 0, take: 10 };
    assert_eq!(
        deliveries::dead(&sending.store, page).unwrap(),
        std::slice::from_ref(&dead)
    );
    let of_status =
        |status| deliveries::list_for_alert(&sending.store, alert.id, Some(status), page).unwrap();
    assert_eq!(of_status(DeliveryStatus::Dead), std::slice::from_ref(&dead));
    assert_eq!(of_status(DeliveryStatus::Delivered), []);

    deliveries::retry(&sending.store, &sending.clock, dead.delivery_id.0).unwrap();
    sending.delivery(alert, DeliveryStatus::Delivered, 1).await;
    assert_eq!(receiver.received()[9].id(), dead.delivery_id.to_string());
    assert_eq!(deliveries::dead(&sending.store, page).unwrap(), []);
    let again = deliveries::retry(&sending.store, &sending.clock, dead.delivery_id.0);
    assert!(matches!(
        again,
        Err(Error::NotDead(DeliveryStatus::Delivered))
    ));
    let unknown = deliveries::retry(&sending.store, &sending.clock, Uuid::now_v7());
    assert!(matches!(unknown, Err(Error::NoDelivery)));
    assert_eq!(
        deliveries::retry_all(&sending.store, &sending.clock).unwrap(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_outbox_lets_go_of_the_oldest_and_says_what_was_lost() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    let dead = Receiver::always(Act::Status(500)).await;
    let (alert, failing) = (
        sending.advert_alert(&receiver.url(), "null"),
        sending.property_alert(&dead.url()),
    );
    sending.retention = Retention {
        age_ms: 3_600_000,
        notifications: 1_500,
    };
    for _ in 0..5 {
        sending.tell_advert(
            &[alert, alert],
            Branch::Created,
            &json!({"flxId": Uuid::now_v7()}),
        );
    }
    sending.tell(failing, Branch::Created, 30);
    sending.resume("127.0.0.1");
    sending.delivery(alert, DeliveryStatus::Delivered, 1).await;
    sending.delivery(failing, DeliveryStatus::Failed, 1).await;
    let numbers = sending.metrics.render();
    for line in [
        "toise_outbox_notifications 40",
        "toise_outbox_notifications_max 1500",
        "toise_outbox_age_max_seconds 3600",
    ] {
        assert!(
            numbers.lines().any(|found| found == line),
            "{line}: {numbers}"
        );
    }
    sending.pause();

    // By age: delivered and undelivered ones.
    sending.clock.advance_ms(3_600_001);
    sending.tell(alert, Branch::Created, 3);
    sending.resume("127.0.0.1");
    sending
        .until_number("SELECT min(notification) FROM outbox", 41)
        .await;
    sending.until_count("snapshots", 0).await;
    sending.until_count("deliveries", 1).await;
    let expired = "toise_outbox_expired_total 30";
    until(
        expired,
        || sending.metrics.render().contains(expired).then_some(()),
        || sending.metrics.render(),
    )
    .await;
    sending.pause();

    // By number.
    sending.tell(failing, Branch::Created, 3_000);
    sending.resume("127.0.0.1");
    sending.until_count("outbox", 1_500).await;
    let of =
        |alert: TestAlert| format!("SELECT count(*) FROM outbox WHERE alert = {}", alert.number);
    assert_eq!(sending.number(&of(alert)), 0, "what was delivered first");
    // The number that have started by now depends on timing.
    let begun = sending
        .number("SELECT count(*) FROM outbox JOIN deliveries USING (delivery) WHERE items = 100");
    assert_eq!(begun % 100, 0, "a delivery is whole: {begun}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_fills_the_outbox_loses_its_own_and_no_other_account_does() {
    let mut sending = DispatcherFixture::idle();
    let hanging = Receiver::always(Act::Hang).await;
    let dead = Receiver::always(Act::Status(500)).await;
    let quiet = find_or_create(&sending.store, &sending.clock, "quiet").unwrap();
    let other = insert_alert(&sending.store, &quiet, "PROPERTY", &hanging.url(), None);
    let flooded = [(); 3].map(|()| sending.property_alert(&dead.url()));
    sending.retention.notifications = 1_000;
    sending.tell(other, Branch::Created, 250);
    for alert in flooded {
        sending.tell(alert, Branch::Created, 1_500);
    }
    sending.resume("127.0.0.1");
    sending.until_count("outbox", 1_000).await;
    let own = format!("SELECT count(*) FROM outbox WHERE alert = {}", other.number);
    assert_eq!(sending.number(&own), 250);
    let lost = "toise_outbox_expired_total 3750";
    let numbers = || sending.metrics.render();
    until(lost, || numbers().contains(lost).then_some(()), numbers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_waits_for_the_one_before_and_an_account_has_so_many() {
    let mut sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alerts: Vec<TestAlert> = (0..=REPLAYS_MAX)
        .map(|_| sending.property_alert(&receiver.url()))
        .collect();
    for alert in &alerts {
        sending.tell(*alert, Branch::Created, 2);
    }
    sending.until_number(UNDELIVERED, 0).await;
    sending.pause();
    let window = ReplayWindow {
        from_ms: 0,
        to_ms: i64::MAX,
    };
    let (store, clock) = (sending.store.clone(), sending.clock.clone());
    let again = |alert: TestAlert| replay(&store, &clock, alert.id, window, 10, NewId::Random);
    assert_eq!(again(alerts[0]).unwrap().items, 2);
    assert!(matches!(again(alerts[0]), Err(replay::Error::StillWaits)));
    for alert in &alerts[1..REPLAYS_MAX] {
        again(*alert).unwrap();
    }
    let another = again(alerts[REPLAYS_MAX]);
    assert!(matches!(another, Err(replay::Error::TooMany)));
    sending.resume("127.0.0.1");
    sending.until_number(UNDELIVERED, 0).await;
    assert_eq!(again(alerts[REPLAYS_MAX]).unwrap().items, 2);
    assert_eq!(
        again(alerts[0]).unwrap().items,
        2,
        "no more than the first time"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_holds_up_nothing_and_its_receiver_learns_which_it_was() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.advert_alert(&receiver.url(), "null");
    let adverts: Vec<_> = (0..3)
        .map(|_| json!({"flxId": Uuid::now_v7(), "title": "T3"}))
        .collect();
    for advert in &adverts {
        sending.tell_advert(&[alert], Branch::Created, advert);
    }
    sending.write(|transaction| {
        transaction.execute(
            "UPDATE snapshots SET document = x'01' WHERE snapshot = 1",
            [],
        )?;
        transaction.execute("DELETE FROM snapshots WHERE snapshot = 2", [])
    });
    sending.resume("127.0.0.1");
    sending.delivery(alert, DeliveryStatus::Delivered, 1).await;
    let body = receiver.received()[0].json();
    let expected = json!([
        {"flxId": adverts[0]["flxId"]},
        {"flxId": adverts[1]["flxId"]},
        adverts[2],
    ]);
    assert_eq!(body["data"]["created"][0]["adverts"], expected);
}
