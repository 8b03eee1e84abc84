//! Simulations of days on which the clock of the machine is set: a day ahead and back, and by seconds. No price change is
//! dropped, and nothing waits longer than it should.

use std::time::Duration;

use serde_json::{Value, json};
use toise::accounts::audit;
use toise::alerts::delivery::DeliveryStatus;
use toise::alerts::dispatch::{self, DispatcherContext};
use toise::alerts::outbox::Branch;
use toise::base::clock::{AHEAD_MAX, Clock};
use toise::base::supervise::Supervisor;
use toise::contract::enums::EnumAdvertEvent;
use toise::listings::Listings;
use toise::store::Store;
use tokio::runtime::Handle;

use crate::support::alerts::flat;
use crate::support::dispatching::DispatcherFixture;
use crate::support::draw::Draw;
use crate::support::receiver::{Act, Receiver};

const DAY_MS: i64 = 24 * 3_600_000;
/// Time between two rounds of the simulated day.
const ROUND_MS: i64 = 5 * 60_000;
/// Adverts that are seen in each round.
const ADVERTS: u64 = 3;
/// Longest backoff of a delivery that failed once, with its random part.
const FIRST_BACKOFF_MS: i64 = 6_001;

/// A sighting that does not say when it was made.
fn seen(number: u64, price: u64) -> Value {
    let mut advert = flat("un", number, number % 40);
    advert["currentPrice"] = json!({"value": price});
    advert.as_object_mut().unwrap().remove("lastSeenAt");
    advert
}

#[test]
fn no_price_change_is_dropped_on_a_day_of_clock_jumps() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::steered("2026-11-21T12:00:00Z".parse().unwrap());
    // Two servers on one data folder, whose clock is that of the machine.
    let servers = [(); 2].map(|()| {
        let store = Store::open(folder.path()).unwrap();
        Listings::new(store, clock.clone())
    });
    let mut draw = Draw::new(7);
    let mut ahead_ms = 0;
    let mut corrections = 0;
    for round in 0..(DAY_MS / ROUND_MS) as u64 {
        clock.advance_ms(ROUND_MS);
        let jump_ms = match round {
            // A day ahead for two hours, less than a day ahead for an hour, and a day behind for an hour.
            24 | 200 => DAY_MS,
            48 | 188 => -DAY_MS,
            100 => 20 * 3_600_000,
            112 => -20 * 3_600_000,
            // Corrections by seconds, in either direction.
            _ if round % 3 == 0 => draw.below(60_000) as i64 - 30_000,
            _ => 0,
        };
        ahead_ms += jump_ms;
        corrections += usize::from(matches!(round, 48 | 112 | 188));
        clock.jump_ms(jump_ms);
        for number in 0..ADVERTS {
            let server = &servers[draw.below(2)];
            let price = 100_000 + 1_000 * (round % 7) + round;
            let mut outcomes = server.ingest(vec![seen(number, price)]).unwrap();
            let receipt = outcomes.remove(0).unwrap();
            if round == 0 {
                continue;
            }
            let [event] = receipt.events.as_slice() else {
                panic!("round {round}, {ahead_ms} ms ahead: {receipt:?}");
            };
            assert_eq!(event.event_type, EnumAdvertEvent::Price);
            let ahead = event.occurred_at.get() - clock.now();
            assert!(ahead.num_milliseconds().unsigned_abs() <= AHEAD_MAX.as_millis() as u64);
        }
    }
    // Each correction is in the audit log, and nothing is dated in the future.
    let store = Store::open(folder.path()).unwrap();
    let entries = audit::latest(&store, None, 100).unwrap();
    assert_eq!(entries.len(), corrections, "{entries:?}");
    for entry in entries {
        assert_eq!(entry.act.action, "adverts.restamp");
        assert_eq!(entry.act.subject.as_deref(), Some("3 adverts"));
    }
    assert_eq!(audit::verify(&store).unwrap().broken_at, None);
    let latest_ms = clock.now().timestamp_millis() + AHEAD_MAX.as_millis() as i64;
    let sql = "SELECT (SELECT count(*) FROM adverts WHERE max(observed_at_ms, modified_at_ms, online_at_ms) > ?1)
                    + (SELECT count(*) FROM advert_events WHERE occurred_at_ms > ?1)";
    let late: i64 = store
        .read(|connection| connection.query_row(sql, [latest_ms], |row| row.get(0)))
        .unwrap();
    assert_eq!(late, 0);
}

#[test]
fn dates_in_the_future_are_corrected_without_a_further_sighting() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::steered("2026-11-21T12:00:00Z".parse().unwrap());
    let store = Store::open(folder.path()).unwrap();
    let listings = Listings::new(store, clock.clone());
    let mut dated = flat("deux", 200, 20);
    dated["lastSeenAt"] = json!("2026-11-21T13:00:00Z");
    let many: Vec<_> = (0..150).map(|number| seen(number, 200_000)).collect();
    clock.jump_ms(DAY_MS);
    listings.ingest(many).unwrap();
    clock.jump_ms(-DAY_MS);
    assert_eq!(listings.correct_stamps().unwrap(), 150);
    assert_eq!(listings.correct_stamps().unwrap(), 0);
    // A sender's own date, an hour ahead, is the sender's business.
    let receipt = listings.ingest(vec![dated]).unwrap().remove(0).unwrap();
    assert_eq!(listings.correct_stamps().unwrap(), 0);
    let text = listings.advert(receipt.flx_id).unwrap().unwrap();
    assert!(String::from_utf8_lossy(&text).contains("2026-11-21T13:00:00.000Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_waits_no_longer_when_the_clock_is_set_and_another_process_takes_over() {
    for jump_ms in [DAY_MS, -DAY_MS, 20_000, -20_000] {
        let mut sending = DispatcherFixture::start();
        let receiver = Receiver::first(vec![Act::Status(500)]).await;
        let alert = sending.property_alert(&receiver.url());
        sending.tell(alert, Branch::Created, 1);
        sending.delivery(alert, DeliveryStatus::Failed, 1).await;
        let second = DispatcherContext {
            store: Store::open(sending.data()).unwrap(),
            ..sending.setup("127.0.0.1")
        };
        let second = dispatch::start(&Supervisor::default(), second, Handle::current()).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        sending.clock.jump_ms(jump_ms);
        tokio::time::sleep(Duration::from_millis(200)).await;
        sending.pause();
        // The second one takes over within its interval of half a second, and the wait may start again.
        tokio::time::sleep(Duration::from_millis(800)).await;
        let mut waited_ms = 0;
        while receiver.count() < 2 {
            assert!(
                waited_ms <= 2 * FIRST_BACKOFF_MS,
                "after a jump of {jump_ms} ms"
            );
            sending.clock.advance_ms(500);
            waited_ms += 500;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        drop(second);
    }
}
