//! Two servers on a data folder. The one that dispatches is stopped (SIGSTOP): the other one delivers within 20
//! seconds, and the stopped one gives up its role when it is continued. Every notification arrives, and repeated
//! deliveries are identical.
//!
//! A server that is stopped during a commit keeps SQLite's lock, so that the other one cannot write. The test ends such
//! a stop, counts it and repeats it.

use std::collections::{BTreeSet, HashMap};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;

use crate::support::alerts::{body, flat, with};
use crate::support::http_client;
use crate::support::process::{Server, new_key};
use crate::support::receiver::{Act, Receiver};

/// Maximum time until deliveries continue.
const GO_ON_WITHIN: Duration = Duration::from_secs(20);
/// Maximum time until a continued server notices that another one dispatches, which is one turn after it runs again.
const STEPS_BACK_WITHIN: Duration = Duration::from_secs(10);
/// Maximum time of a call that writes, unless the other server is stopped during a commit.
const WRITES_WITHIN: Duration = Duration::from_secs(3);
/// Maximum time until a notification arrives while a server dispatches.
const ARRIVES_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);
const ALLOWED: [&str; 2] = ["--allow-webhook-hosts", "127.0.0.1"];
const WAITS_FOR: &str = "x-toise-waits-for";

struct Pair {
    servers: [Server; 2],
    key: String,
    receiver: Receiver,
    /// Identifiers of the adverts that were sent.
    sent: BTreeSet<String>,
    /// Stops that hit a commit.
    in_commits: usize,
    _folder: tempfile::TempDir,
}

impl Pair {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let key = new_key(data, &["--scopes", "alerts,admin", "--rate", "100000"]);
        let servers = [(); 2].map(|()| Server::start_with(data, "serve", &ALLOWED, Stdio::null()));
        let receiver = Receiver::always(Act::After(Duration::from_millis(20), 200)).await;
        let alert = body(
            ListingKind::Advert,
            &json!({"type": ["CLASS_FLAT"]}),
            &["ALERT_MATCH_CREATED"],
        );
        let alert = with(alert, json!({"webhook_url": receiver.url()}));
        let url = format!("{}/v2/protected/adverts/search/alerts", servers[0].address);
        let made = http_client()
            .put(url)
            .header("x-api-key", &key)
            .json(&alert);
        assert!(made.send().await.unwrap().status().is_success());
        Self {
            servers,
            key,
            receiver,
            sent: BTreeSet::new(),
            in_commits: 0,
            _folder: folder,
        }
    }

    /// What a server reports that it waits for; empty if it runs all workers itself.
    async fn waits_of(&self, server: usize) -> String {
        let url = format!("{}/healthz", self.servers[server].address);
        let answer = http_client().get(url).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let waits = answer.headers().get(WAITS_FOR);
        waits.map_or(String::new(), |waits| waits.to_str().unwrap().to_owned())
    }

    /// Waits until a server reports that it waits for the other one to dispatch.
    async fn waits(&self, waiting: usize, within: Duration) {
        let expected = format!("dispatcher: process {}", self.servers[1 - waiting].id());
        let since = Instant::now();
        loop {
            let waits = self.waits_of(waiting).await;
            if waits.contains(&expected) {
                return;
            }
            assert!(since.elapsed() < within, "{expected}: {waits:?}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// The server that dispatches.
    async fn dispatching(&self) -> usize {
        let is_waiting = self.waits_of(0).await.contains("dispatcher");
        usize::from(is_waiting)
    }

    /// Sends a new advert to a server; `None` if it does not respond in time. The advert may still be stored.
    async fn send(&mut self, server: usize, number: u64) -> Option<()> {
        let url = format!(
            "{}/v2/protected/admin/adverts",
            self.servers[server].address
        );
        let advert = flat("un", number, number % 40);
        let call = http_client().post(url).header("x-api-key", &self.key);
        let call = call
            .timeout(WRITES_WITHIN)
            .json(&json!({"adverts": [advert]}));
        let answer: Value = call.send().await.ok()?.json().await.ok()?;
        let id = answer["data"][0]["flxId"].as_str();
        self.sent
            .insert(id.unwrap_or_else(|| panic!("{answer}")).to_owned());
        Some(())
    }

    /// The adverts that arrived. Repeated deliveries must be identical.
    fn arrived(&self) -> BTreeSet<String> {
        let mut bodies: HashMap<String, Vec<u8>> = HashMap::new();
        let mut arrived = BTreeSet::new();
        for request in self.receiver.received() {
            arrived.extend(request.items("created"));
            let first = bodies
                .entry(request.id().to_owned())
                .or_insert_with(|| request.body.clone());
            assert_eq!(
                *first,
                request.body,
                "{} came twice and differs",
                request.id()
            );
        }
        arrived
    }

    async fn all_arrive(&self, within: Duration) {
        let since = Instant::now();
        while !self.arrived().is_superset(&self.sent) {
            assert!(
                since.elapsed() < within,
                "nothing was delivered for {within:?}"
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Stops the server that dispatches, outside a commit. Returns its number and when it was stopped.
    async fn stop(&mut self, number: u64) -> (usize, Instant) {
        loop {
            let stopped = self.dispatching().await;
            self.servers[stopped].signal("-STOP");
            let since = Instant::now();
            if self.send(1 - stopped, number).await.is_some() {
                return (stopped, since);
            }
            self.servers[stopped].signal("-CONT");
            self.in_commits += 1;
            tokio::time::sleep(WRITES_WITHIN).await;
        }
    }

    /// Stops the server that dispatches for a time; returns how long deliveries paused.
    async fn stop_for(&mut self, stopped_for: Duration, first: u64) -> Duration {
        let (stopped, since) = self.stop(first).await;
        let other = 1 - stopped;
        self.waits(other, POLL * 20).await;
        self.all_arrive(GO_ON_WITHIN).await;
        let pause = since.elapsed();
        let arrived = Instant::now();
        while self.waits_of(other).await.contains("dispatcher") {
            assert!(arrived.elapsed() < STEPS_BACK_WITHIN, "{other} still waits");
            tokio::time::sleep(POLL).await;
        }
        let mut number = first;
        while since.elapsed() < stopped_for {
            number += 1;
            self.send(other, number).await.unwrap();
            self.all_arrive(ARRIVES_WITHIN).await;
            tokio::time::sleep(POLL * 10).await;
        }
        self.servers[stopped].signal("-CONT");
        self.waits(stopped, STEPS_BACK_WITHIN).await;
        // Both ingest adverts, and the other one still dispatches.
        for server in [stopped, other] {
            number += 1;
            self.send(server, number).await.unwrap();
        }
        self.all_arrive(ARRIVES_WITHIN).await;
        pause
    }
}

async fn stops(count: u64, stopped_for: Duration) {
    let mut pair = Pair::start().await;
    pair.send(0, 0).await.unwrap();
    pair.all_arrive(GO_ON_WITHIN).await;
    for stop in 0..count {
        let pause = pair.stop_for(stopped_for, 1 + stop * 1_000).await;
        println!(
            "stop {stop}: deliveries paused for {:.1} s",
            pause.as_secs_f64()
        );
    }
    let requests = pair.receiver.count();
    let (sent, in_commits) = (pair.sent.len(), pair.in_commits);
    println!("{count} stops, {in_commits} more in commits: {sent} adverts, {requests} requests");
    for server in pair.servers {
        assert_eq!(server.terminate(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_server_delivers_while_one_is_stopped_and_the_stopped_one_steps_back() {
    stops(1, Duration::from_secs(18)).await;
}

/// Takes 20 minutes: run it with `--run-ignored only`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes 20 minutes"]
async fn twenty_stops_of_a_minute_delay_no_delivery_by_more_than_twenty_seconds() {
    stops(20, Duration::from_secs(60)).await;
}
