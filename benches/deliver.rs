//! "How fast do matches reach their receivers?": deliveries per second, the time from commit to receipt, and the
//! slowdown for the others when one receiver in fifty hangs. Receivers run in the same process, on the same cores.
//!
//! `cargo bench --bench deliver`; `TOISE_ROUNDS` sets the number of measured rounds.

use std::collections::HashMap;
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../tests/support/dispatching.rs"]
mod dispatching;
#[path = "support/figures.rs"]
mod figures;
#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../tests/support/receiver.rs"]
mod receiver;

use dispatching::{DispatcherFixture, TestAlert};
use receiver::{Act, Receiver};
use toise::alerts::outbox::Branch;

/// The time of the fixed clock.
pub const START: &str = "2026-11-21T15:00:00Z";
/// Receivers, each with its own URL.
const RECEIVERS: usize = 50;
/// Alerts per receiver.
const ALERTS_EACH: usize = 40;
/// Rounds, each with one notification for every alert.
const ROUNDS: usize = 5;
/// Notifications per second while latencies are measured.
const STEADY_PER_S: u64 = 500;
/// Duration of the latency measurement.
const STEADY: Duration = Duration::from_secs(4);
/// Pairs of runs with and without a receiver that hangs.
const PAIRS: usize = 5;
/// The names of the recorded times, without and with a receiver that hangs.
const RECEIPT_IDS: [&str; 2] = [
    "deliver/commit_to_receipt",
    "deliver/commit_to_receipt_one_hanging",
];

/// A dispatcher, receivers, and alerts distributed among them.
struct Stage {
    fixture: DispatcherFixture,
    receivers: Vec<Receiver>,
    alerts: Vec<TestAlert>,
}

impl Stage {
    /// Sets up `hanging` receivers that hang; the others respond at once.
    async fn set(hanging: usize) -> Self {
        let fixture = DispatcherFixture::start();
        let mut receivers = Vec::new();
        for index in 0..RECEIVERS {
            let act = if index < hanging {
                Act::Hang
            } else {
                Act::Status(200)
            };
            receivers.push(Receiver::always(act).await);
        }
        let alerts = (0..RECEIVERS * ALERTS_EACH)
            .map(|index| fixture.property_alert(&receivers[index % RECEIVERS].url()))
            .collect();
        Self {
            fixture,
            receivers,
            alerts,
        }
    }

    fn requests(&self) -> usize {
        self.receivers.iter().map(Receiver::count).sum()
    }

    async fn until_requests(&self, count: usize) {
        while self.requests() < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Measures deliveries of one item each, per second.
    async fn deliveries_per_s(&self, rounds: usize) -> f64 {
        let started = Instant::now();
        let before = self.requests();
        for round in 1..=rounds {
            // One transaction for all, as for a full group of adverts.
            let alerts = self.alerts.clone();
            self.fixture.write(move |transaction| {
                alerts.iter().try_for_each(|alert| {
                    let item = toise::contract::listings::codes::FlxId(uuid::Uuid::now_v7());
                    let now_ms = START
                        .parse::<chrono::DateTime<chrono::Utc>>()
                        .unwrap_or_default()
                        .timestamp_millis();
                    toise::alerts::outbox::enqueue(
                        transaction,
                        alert.number,
                        Branch::Created,
                        item,
                        None,
                        now_ms,
                    )
                })
            });
            self.until_requests(before + round * self.alerts.len())
                .await;
        }
        (rounds * self.alerts.len()) as f64 / started.elapsed().as_secs_f64()
    }

    /// Measures the milliseconds from commit to receipt under a steady stream, for the receivers that respond. Returns
    /// them in ascending order.
    async fn times_ms(&self, hanging: usize) -> Vec<f64> {
        let mut committed: HashMap<String, Instant> = HashMap::new();
        let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / STEADY_PER_S));
        let started = Instant::now();
        let mut index = 0;
        while started.elapsed() < STEADY {
            ticks.tick().await;
            let alert = self.alerts[index % self.alerts.len()];
            index += 1;
            let items =
                tokio::task::block_in_place(|| self.fixture.tell(alert, Branch::Created, 1));
            if (index - 1) % RECEIVERS >= hanging {
                committed.insert(items[0].clone(), Instant::now());
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut times_ms = Vec::new();
        for request in self.receivers[hanging..]
            .iter()
            .flat_map(Receiver::received)
        {
            for item in request.items("created") {
                let Some(at) = committed.remove(&item) else {
                    continue;
                };
                times_ms.push(request.at.saturating_duration_since(at).as_secs_f64() * 1e3);
            }
        }
        assert!(committed.is_empty(), "{} did not arrive", committed.len());
        times_ms.sort_by(f64::total_cmp);
        times_ms
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

#[tokio::main]
async fn main() {
    let rounds = std::env::var("TOISE_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let stage = Stage::set(0).await;
    stage.deliveries_per_s(1).await;
    let per_s = stage.deliveries_per_s(rounds.unwrap_or(ROUNDS)).await;
    println!("{per_s:.0} deliveries/s of one item to {RECEIVERS} receivers");
    figures::record("deliver/deliveries", "median", per_s, "a second");
    drop(stage);

    let mut ratios = Vec::new();
    let mut p99_ms = [Vec::new(), Vec::new()];
    for _ in 0..rounds.unwrap_or(PAIRS) {
        let mut p99 = [0.0; 2];
        for hanging in [0, 1] {
            let stage = Stage::set(hanging).await;
            let times_ms = stage.times_ms(hanging).await;
            p99[hanging] = percentile(&times_ms, 0.99);
            p99_ms[hanging].push(p99[hanging]);
            println!(
                "{hanging} of {RECEIVERS} hanging, {STEADY_PER_S}/s: from commit to receipt \
                 p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
                percentile(&times_ms, 0.5),
                p99[hanging],
                percentile(&times_ms, 1.0),
            );
        }
        ratios.push((p99[1] / p99[0], p99[1] - p99[0]));
    }
    for (mut p99_ms, id) in p99_ms.into_iter().zip(RECEIPT_IDS) {
        p99_ms.sort_by(f64::total_cmp);
        figures::record(id, "p99", percentile(&p99_ms, 0.5), "ms");
    }
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, difference) = ratios[ratios.len() / 2];
    println!(
        "one hanging: p99 of the others {ratio:.2} times, {difference:+.1} ms (median of {})",
        ratios.len()
    );
}
