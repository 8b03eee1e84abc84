//! A server killed while it delivers: every notification that was committed arrives, again only under the identifier
//! it came under before.

use std::collections::{HashMap, HashSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toise::accounts::DEFAULT_ACCOUNT;
use toise::accounts::account::find_or_create;
use toise::alerts::outbox::{Branch, enqueue};
use toise::clock::Clock;
use toise::store::Store;
use toise::wire::listings::codes::FlxId;
use uuid::Uuid;

use crate::support::draw::Draw;
use crate::support::process::Server;
use crate::support::receiver::{Act, Receiver};
use crate::support::sending::{TestAlert, insert_alert, until};

/// Kills, unless `TOISE_KILLS` says otherwise.
const KILLS: usize = 6;
/// Alerts, in turn at each of the receivers.
const ALERTS: usize = 12;
const ALLOWED: [&str; 2] = ["--allow-webhook-hosts", "127.0.0.1"];

/// Commits notifications without pause until told to stop; gives the alert and item of each.
fn commit(store: &Store, alerts: &[TestAlert], stop: &AtomicBool) -> Vec<(String, String)> {
    let mut committed = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let told: Vec<(TestAlert, FlxId)> = alerts
            .iter()
            .map(|alert| (*alert, FlxId(Uuid::now_v7())))
            .collect();
        let telling = told.clone();
        let at_ms = Clock::system().now().timestamp_millis();
        store
            .write(move |transaction| {
                telling.iter().try_for_each(|(alert, item)| {
                    enqueue(
                        transaction,
                        alert.number,
                        Branch::Created,
                        *item,
                        None,
                        at_ms,
                    )
                })
            })
            .unwrap();
        committed.extend(
            told.iter()
                .map(|(alert, item)| (alert.id.to_string(), item.to_string())),
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    committed
}

/// The identifiers under which each item of each alert came.
fn arrived(receivers: &[Receiver]) -> HashMap<(String, String), HashSet<String>> {
    let mut arrived: HashMap<_, HashSet<String>> = HashMap::new();
    for request in receivers.iter().flat_map(Receiver::received) {
        let alert = request.json()["data"]["created"][0]["alert_id"]
            .as_str()
            .unwrap()
            .to_owned();
        for item in request.items("created") {
            arrived
                .entry((alert.clone(), item))
                .or_default()
                .insert(request.id().to_owned());
        }
    }
    arrived
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_arrives_and_again_only_under_the_same_identifier() {
    let kills = std::env::var("TOISE_KILLS").ok();
    let kills = kills.map_or(KILLS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let store = Store::open(data).unwrap();
    let account = find_or_create(&store, &Clock::system(), DEFAULT_ACCOUNT).unwrap();
    let mut receivers = Vec::new();
    for delay_ms in [0, 5, 40] {
        let act = Act::After(Duration::from_millis(delay_ms), 200);
        receivers.push(Receiver::always(act).await);
    }
    let alerts: Vec<TestAlert> = (0..ALERTS)
        .map(|index| {
            insert_alert(
                &store,
                &account,
                "PROPERTY",
                &receivers[index % 3].url(),
                None,
            )
        })
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let committed: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let writing = {
        let (store, stop, committed) = (store.clone(), Arc::clone(&stop), Arc::clone(&committed));
        let alerts = alerts.clone();
        std::thread::spawn(move || *committed.lock().unwrap() = commit(&store, &alerts, &stop))
    };
    let mut draw = Draw::new(std::process::id().into());
    for _ in 0..kills {
        let before: usize = receivers.iter().map(Receiver::count).sum();
        let server = Server::start_with(data, "serve", &ALLOWED, Stdio::null());
        let count = || receivers.iter().map(Receiver::count).sum::<usize>();
        until(
            "deliveries",
            || (count() > before + 3).then_some(()),
            || count().to_string(),
        )
        .await;
        tokio::time::sleep(Duration::from_micros(draw.below(150_000) as u64)).await;
        drop(server);
    }
    stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    let committed = committed.lock().unwrap().clone();
    let server = Server::start_with(data, "serve", &ALLOWED, Stdio::null());
    let missing = || {
        let arrived = arrived(&receivers);
        committed
            .iter()
            .filter(|item| !arrived.contains_key(*item))
            .count()
    };
    let state = || {
        let sql = "SELECT group_concat(status || ' ' || attempts || ' ' || error || ' ' || n, '; ') FROM (
                SELECT coalesce(status, 'waiting') AS status, coalesce(attempts, 0) AS attempts,
                    coalesce(last_error, '') AS error, count(*) AS n
                FROM outbox LEFT JOIN deliveries USING (delivery) GROUP BY 1, 2, 3)";
        let read =
            |connection: &rusqlite::Connection| connection.query_row(sql, [], |row| row.get(0));
        let states: String = store.read(read).unwrap();
        format!("{} of {} missing: {states}", missing(), committed.len())
    };
    until("arrivals", || (missing() == 0).then_some(()), state).await;
    assert_eq!(server.terminate(), Some(0));
    let arrived = arrived(&receivers);
    assert_eq!(arrived.len(), committed.len());
    for (item, identifiers) in &arrived {
        assert_eq!(identifiers.len(), 1, "{item:?} came under {identifiers:?}");
    }
    let requests: usize = receivers.iter().map(Receiver::count).sum();
    let delivered: i64 = store
        .read(|connection| {
            connection.query_row(
                "SELECT count(*) FROM deliveries WHERE status = 'delivered'",
                [],
                |row| row.get(0),
            )
        })
        .unwrap();
    println!(
        "{kills} kills: {} notifications committed, all arrived, each under one identifier; {requests} requests for \
         {delivered} deliveries",
        committed.len()
    );
}
