//! Receivers that behave in all ways: each gets what the contract says, and none delays another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chrono::Utc;
use reqwest::header::HeaderMap;
use toise::accounts::account::find_or_create;
use toise::alerts::delivery::{Delivery, DeliveryStatus};
use toise::alerts::outbox::{Branch, enqueue};
use toise::contract::listings::codes::FlxId;
use toise::net::egress::{AllowedHosts, EgressGuard, UrlRefusal};
use toise::net::webhook_client::{ConnectionReuse, PostFailure, WebhookClient};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::support::dispatching::{DispatcherFixture, TestAlert, insert_alert, until};
use crate::support::receiver::{Act, Receiver};

/// Sends one item to a receiver and waits for the end of the first attempt.
async fn first_attempt(
    sending: &DispatcherFixture,
    url: &str,
    status: DeliveryStatus,
) -> (TestAlert, Delivery) {
    let alert = sending.property_alert(url);
    sending.tell(alert, Branch::Created, 1);
    (alert, sending.delivery(alert, status, 1).await)
}

/// Whether an alert is active, and the reason if it is not.
fn state_of(sending: &DispatcherFixture, alert: TestAlert) -> (bool, Option<String>) {
    let sql = "SELECT activated, deactivated_because FROM alerts WHERE alert = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    sending
        .store
        .read(|connection| connection.query_row(sql, [alert.number], read))
        .unwrap()
}

/// An address where nothing listens. A port that was just free may belong to another test by now.
const CLOSED: &str = "127.0.0.1:1";

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_answer_has_its_outcome_and_the_log_says_why() {
    use DeliveryStatus::{Dead, Delivered, Failed};

    let sending = DispatcherFixture::start();
    let late = "no answer within 1 s";
    let wait = |ms: u64| Act::After(Duration::from_millis(ms), 200);
    let tempers = [
        (Act::Status(200), Delivered, Some(200), ""),
        (Act::Status(299), Delivered, Some(299), ""),
        (wait(300), Delivered, Some(200), ""),
        (Act::DripBody, Delivered, Some(200), ""),
        (Act::Flood, Delivered, Some(200), ""),
        (Act::Status(500), Failed, Some(500), ""),
        (Act::Status(404), Failed, Some(404), ""),
        (Act::Status(301), Failed, Some(301), ""),
        (Act::Status(410), Dead, Some(410), ""),
        (wait(1_300), Failed, None, late),
        (Act::Hang, Failed, None, late),
        (Act::DripHead, Failed, None, late),
        (Act::Close, Failed, None, "the connection was lost"),
    ];
    for (act, status, last_status, error) in tempers {
        let receiver = Receiver::always(act.clone()).await;
        let (_, delivery) = first_attempt(&sending, &receiver.url(), status).await;
        assert_eq!(delivery.last_status, last_status, "{act:?}");
        let error = match last_status {
            Some(code) if status != Delivered => format!("the receiver answered {code}"),
            _ => error.to_owned(),
        };
        let said = delivery.last_error.unwrap_or_default();
        assert!(
            said.starts_with(&error) && said.is_empty() == error.is_empty(),
            "{act:?}: {said}"
        );
        assert_eq!(receiver.count(), 1, "{act:?}");
    }
    let url = format!("http://{CLOSED}/hook");
    let (_, delivery) = first_attempt(&sending, &url, DeliveryStatus::Failed).await;
    let said = delivery.last_error.unwrap();
    assert!(said.starts_with("no connection:"), "{said}");
    assert!(!said.contains("/hook"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_accepts_and_never_shakes_hands_is_given_three_seconds() {
    let sending = DispatcherFixture::start();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/hook", silent.local_addr().unwrap());
    let begun = std::time::Instant::now();
    let (_, delivery) = first_attempt(&sending, &url, DeliveryStatus::Failed).await;
    assert_eq!(
        delivery.last_error.as_deref(),
        Some("no connection within 3 s")
    );
    let took = begun.elapsed();
    assert!((2_900..4_500).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let sending = DispatcherFixture::start();
    let inside = Receiver::always(Act::Status(200)).await;
    let line: &'static str = Box::leak(format!("location: {}", inside.url()).into_boxed_str());
    for status in [301, 302, 307, 308] {
        let receiver = Receiver::always(Act::With(status, line)).await;
        let (_, delivery) = first_attempt(&sending, &receiver.url(), DeliveryStatus::Failed).await;
        assert_eq!(delivery.last_status, Some(status));
    }
    assert_eq!(inside.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_may_not_be_reached_is_not_when_it_comes_to_sending() {
    let mut sending = DispatcherFixture::idle();
    let receiver = Receiver::always(Act::Status(200)).await;
    sending.resume("");
    for url in [
        receiver.url(),
        receiver
            .url()
            .replace("http://127.0.0.1", "https://localhost"),
    ] {
        let (_, delivery) = first_attempt(&sending, &url, DeliveryStatus::Failed).await;
        let said = delivery.last_error.unwrap();
        assert!(said.starts_with("the address must"), "{said}");
    }
    assert_eq!(receiver.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_points_inside_once_it_was_checked_is_not_connected_to() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://rebind.example.com:{}/hook",
        inside.local_addr().unwrap().port()
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&asked);
    let gate = EgressGuard::asking(AllowedHosts::default(), move |_| {
        let first = counting.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { "8.8.8.8" } else { "127.0.0.1" };
        Ok(vec![address.parse().unwrap()])
    });
    gate.check(&url).await.unwrap();
    let poster = WebhookClient::new(gate).unwrap();
    let posted = poster
        .post(
            &url,
            HeaderMap::new(),
            Bytes::new(),
            ConnectionReuse::Keep,
            Utc::now(),
        )
        .await;
    let refused = UrlRefusal::ResolvesToPrivate("rebind.example.com".into());
    assert_eq!(posted.outcome, Err(PostFailure::Refused(refused)));
    assert_eq!((posted.sent_at, asked.load(Ordering::SeqCst)), (None, 2));
    let connected = tokio::time::timeout(Duration::from_millis(100), inside.accept()).await;
    assert!(connected.is_err(), "nobody came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_asks_for_time_is_left_alone_for_as_long() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::first(vec![Act::With(429, "retry-after: 120")]).await;
    let (alert, delivery) = first_attempt(&sending, &receiver.url(), DeliveryStatus::Failed).await;
    let wait = delivery.next_attempt_at.unwrap().get() - sending.clock.now();
    assert_eq!(wait.num_seconds(), 120);
    sending.tell(alert, Branch::Created, 1);
    sending.clock.advance_ms(119_000);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.count(), 1, "neither the same nor another");
    sending.clock.advance_ms(1_000);
    sending
        .until_count("deliveries WHERE status = 'delivered'", 2)
        .await;

    let greedy = Receiver::first(vec![Act::With(503, "retry-after: 999999")]).await;
    let (_, delivery) = first_attempt(&sending, &greedy.url(), DeliveryStatus::Failed).await;
    let wait = delivery.next_attempt_at.unwrap().get() - sending.clock.now();
    assert_eq!(wait.num_seconds(), 3_600, "an hour at most");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_ends_its_alert_and_what_waits_is_dead() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(410)).await;
    let (alert, _) = first_attempt(&sending, &receiver.url(), DeliveryStatus::Dead).await;
    assert_eq!(state_of(&sending, alert), (false, Some("gone".into())));
    assert_eq!(sending.number("SELECT max(change) FROM alerts"), 2);
    sending.tell(alert, Branch::Created, 150);
    sending
        .until_count("deliveries WHERE status = 'dead'", 3)
        .await;
    let newest = &sending.deliveries(alert)[0];
    assert_eq!(
        newest.last_error.as_deref(),
        Some("not sent: the alert is not active")
    );
    assert_eq!(receiver.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_follow_an_alert_that_moves_or_ends() {
    let sending = DispatcherFixture::start();
    let (old, new) = (
        Receiver::always(Act::Status(500)).await,
        Receiver::always(Act::Status(200)).await,
    );
    let (alert, _) = first_attempt(&sending, &old.url(), DeliveryStatus::Failed).await;
    let url = new.url();
    let change = "UPDATE alerts SET webhook_url = ?2, change = change + 1 WHERE alert = ?1";
    sending.write(move |transaction| transaction.execute(change, (alert.number, url)));
    sending.clock.advance_ms(6_001);
    sending.delivery(alert, DeliveryStatus::Delivered, 2).await;
    assert_eq!((old.count(), new.count()), (1, 1));

    let (ended, _) = first_attempt(&sending, &old.url(), DeliveryStatus::Failed).await;
    let end = "UPDATE alerts SET activated = 0, deactivated_because = 'deleted', change = change + 9 WHERE alert = ?1";
    sending.write(move |transaction| transaction.execute(end, [ended.number]));
    sending.clock.advance_ms(6_001);
    sending.delivery(ended, DeliveryStatus::Dead, 1).await;
    assert_eq!(old.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_410_from_where_an_alert_was_sends_the_delivery_to_where_it_is() {
    let sending = DispatcherFixture::start();
    let old = Receiver::always(Act::After(Duration::from_millis(300), 410)).await;
    let alert = sending.property_alert(&old.url());
    sending.tell(alert, Branch::Created, 1);
    until(
        "a request",
        || (old.count() == 1).then_some(()),
        String::new,
    )
    .await;
    let new = Receiver::always(Act::Status(200)).await;
    let url = new.url();
    let change = "UPDATE alerts SET webhook_url = ?2, change = change + 1 WHERE alert = ?1";
    sending.write(move |transaction| transaction.execute(change, (alert.number, url)));
    sending.delivery(alert, DeliveryStatus::Delivered, 2).await;
    assert_eq!(state_of(&sending, alert), (true, None));
    assert_eq!(new.received()[0].id(), old.received()[0].id());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_only_fails_for_five_days_ends_its_alerts() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(500)).await;
    let healthy = Receiver::always(Act::Status(200)).await;
    let alerts = [
        sending.property_alert(&receiver.url()),
        sending.property_alert(&receiver.url()),
    ];
    let other = sending.property_alert(&healthy.url());
    let hours = |count: i64| count * 3_600_000;
    for round in 1..=10 {
        sending.tell(alerts[0], Branch::Created, 1);
        let failed = format!(
            "SELECT count(*) FROM failing_endpoints WHERE last_ms = {}",
            sending.clock.now().timestamp_millis()
        );
        sending.until_number(&failed, 1).await;
        assert!(state_of(&sending, alerts[0]).0, "round {round}");
        sending.clock.advance_ms(hours(12));
    }
    sending.tell(alerts[0], Branch::Created, 1);
    let ended = format!(
        "SELECT count(*) FROM alerts WHERE activated = 0 AND alert IN ({}, {})",
        alerts[0].number, alerts[1].number
    );
    sending.until_number(&ended, 2).await;
    assert_eq!(
        state_of(&sending, alerts[1]),
        (false, Some("failing".into()))
    );
    assert_eq!(state_of(&sending, other), (true, None));
    sending
        .until_count("outbox WHERE delivery IS NULL", 0)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_answers_once_begins_anew_and_one_that_is_asked_seldom_does_not() {
    let sending = DispatcherFixture::start();
    let receiver =
        Receiver::start(|index, _| Act::Status(if index == 1 { 200 } else { 500 })).await;
    let alert = sending.property_alert(&receiver.url());
    let days = |count: i64| count * 24 * 3_600_000;
    sending.tell(alert, Branch::Created, 1);
    sending.until_count("failing_endpoints", 1).await;
    sending.tell(alert, Branch::Created, 1);
    sending.until_count("failing_endpoints", 0).await;
    sending.clock.advance_ms(days(6));
    sending.until_count("failing_endpoints", 1).await;
    assert!(state_of(&sending, alert).0);
    sending.clock.advance_ms(days(6));
    sending.until_count("alerts WHERE activated = 0", 1).await;
    assert_eq!(state_of(&sending, alert), (false, Some("failing".into())));
    assert_eq!(sending.number("SELECT count(*) FROM failing_endpoints"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_where_no_alert_goes_any_more_are_forgotten() {
    let mut sending = DispatcherFixture::start();
    let receiver = Receiver::always(Act::Status(500)).await;
    let (alert, _) = first_attempt(&sending, &receiver.url(), DeliveryStatus::Failed).await;
    sending.pause();
    let change = "UPDATE alerts SET webhook_url = 'http://127.0.0.1:9/', change = change + 1 WHERE alert = ?1";
    sending.write(move |transaction| transaction.execute(change, [alert.number]));
    assert_eq!(sending.number("SELECT count(*) FROM failing_endpoints"), 1);
    sending.resume("127.0.0.1");
    sending.until_count("failing_endpoints", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_was_asked_for_holds_for_retries_too_whatever_is_answered_meanwhile() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::start(|index, _| match index {
        0 => Act::Status(500),
        1 => Act::With(429, "retry-after: 600"),
        2 => Act::After(Duration::from_millis(300), 200),
        _ => Act::Status(200),
    })
    .await;
    let alerts = [(); 3].map(|()| sending.property_alert(&receiver.url()));
    sending.tell(alerts[0], Branch::Created, 1);
    sending.delivery(alerts[0], DeliveryStatus::Failed, 1).await;
    let at_ms = sending.clock.now().timestamp_millis();
    // Both are in flight when the receiver asks for the pause.
    sending.write(move |transaction| {
        alerts[1..].iter().try_for_each(|alert| {
            let item = FlxId(Uuid::now_v7());
            enqueue(
                transaction,
                alert.number,
                Branch::Created,
                item,
                None,
                at_ms,
            )
        })
    });
    let taken = "SELECT count(*) FROM deliveries WHERE status = 'delivered'";
    sending.until_number(taken, 1).await;
    // The schedule of the first one is 5 s.
    sending.clock.advance_ms(10_000);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(receiver.count(), 3);
    sending.clock.advance_ms(590_000);
    sending.until_number(taken, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_endpoint_is_tried_now_and_then_and_gets_all_when_it_is_back() {
    let sending = DispatcherFixture::start();
    let receiver = Receiver::start(|index, _| Act::Status(if index < 8 { 500 } else { 200 })).await;
    let alert = sending.property_alert(&receiver.url());
    for _ in 0..40 {
        sending.tell(alert, Branch::Created, 1);
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    let failed = receiver.count();
    assert!(
        (5..=6).contains(&failed),
        "{failed} requests before the circuit opened"
    );
    assert!(
        sending.number("SELECT count(*) FROM outbox WHERE delivery IS NULL") >= 30,
        "what waits is not split up"
    );
    for _ in 0..60 {
        sending.clock.advance_ms(10_000);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    sending
        .until_count(
            "deliveries WHERE status = 'delivered'",
            sending.number("SELECT count(*) FROM deliveries"),
        )
        .await;
    let delivered: usize = receiver.received()[8..]
        .iter()
        .map(|request| request.items("created").len())
        .sum();
    assert_eq!(delivered, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_that_hang_delay_no_other() {
    let sending = DispatcherFixture::start();
    let mut hanging = Vec::new();
    for _ in 0..10 {
        let receiver = Receiver::always(Act::Hang).await;
        for _ in 0..10 {
            sending.tell(sending.property_alert(&receiver.url()), Branch::Created, 1);
        }
        hanging.push(receiver);
    }
    let receiver = Receiver::always(Act::Status(200)).await;
    let alert = sending.property_alert(&receiver.url());
    for round in 1..=20 {
        let asked = std::time::Instant::now();
        sending.tell(alert, Branch::Created, 1);
        let come = || (receiver.count() == round).then_some(());
        until("a request", come, || receiver.count().to_string()).await;
        let lag = receiver.received()[round - 1].at - asked;
        assert!(lag < Duration::from_millis(400), "{lag:?} in round {round}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_receiver_is_reached_though_another_account_has_hundreds_that_hang() {
    let sending = DispatcherFixture::start();
    let healthy = Receiver::always(Act::Status(200)).await;
    let quiet = find_or_create(&sending.store, &sending.clock, "quiet").unwrap();
    let own = insert_alert(&sending.store, &quiet, "PROPERTY", &healthy.url(), None);
    sending.tell(own, Branch::Created, 1);
    sending.delivery(own, DeliveryStatus::Delivered, 1).await;
    let hanging = Receiver::always(Act::Hang).await;
    for number in 0..300 {
        let url = format!("{}?{number}", hanging.url());
        sending.tell(sending.property_alert(&url), Branch::Created, 1);
    }
    let many = || (hanging.count() > 50).then_some(());
    until("requests that hang", many, || hanging.count().to_string()).await;
    let stranger = Receiver::always(Act::Status(200)).await;
    let new = insert_alert(&sending.store, &quiet, "PROPERTY", &stranger.url(), None);
    for (alert, receiver, round) in [(own, &healthy, 2), (new, &stranger, 1)] {
        let asked = std::time::Instant::now();
        sending.tell(alert, Branch::Created, 1);
        let come = || (receiver.count() == round).then_some(());
        until("a request", come, || receiver.count().to_string()).await;
        let lag = receiver.received()[round - 1].at - asked;
        assert!(lag < Duration::from_millis(400), "{lag:?}");
    }
}
