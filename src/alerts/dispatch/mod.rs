//! The dispatcher: delivers notifications from the outbox to their receivers.
//!
//! One thread plans and writes to the store; attempts run on the service's runtime and report back to it. A turn
//! consists of one read (`look`: what is new or due, grouped for endpoints with capacity, see `state`) and one
//! transaction (`record`: outcomes of attempts, new deliveries), however many deliveries it contains. Then the new
//! deliveries are sent. A delivery is therefore on disk with its identifier before its first byte is sent, and its
//! outcome afterwards. If the process is killed in between, the delivery is sent again under the same identifier.
//!
//! One process per data folder dispatches at a time: the one that holds the lease `dispatcher`
//! ([`toise_store::lease`]). Each of its transactions renews the lease; those of a process that lost it are refused,
//! and what it planned is not sent. Leases of single deliveries are a second safeguard: an attempt without a reported
//! outcome is due again after 30 s. Turns are triggered by commits of this process and by ends of attempts, and also
//! run every 25 ms to pick up commits of other processes. On two cores a delivery costs about 0.1 ms of the thread and
//! its share of a commit.

mod attempt;
mod destinations;
mod orphans;
mod plan;
mod recorder;
mod slots;
mod state;
pub mod test_delivery;
mod transaction;
mod verdict;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use uuid::Uuid;

use worker::DispatchWorker;

use super::retention::{self, Retention};
use toise_accounts::prices::Prices;
use toise_base::clock::Clock;
use toise_base::supervise::Supervisor;
use toise_net::webhook_client::{PostOutcome, WebhookClient};
use toise_store::Store;
use toise_store::leader::{self, Leader, Pace, Post};
use toise_telemetry::{Gauge, Metric, Metrics};

/// Name of the lease that the dispatching process holds, and of its thread.
const NAME: &str = "dispatcher";
/// The tick picks up commits of other processes. The stop timeout is as long as an attempt and a commit can take.
const PACE: Pace = Pace {
    tick: Duration::from_millis(25),
    lead_every: Duration::from_millis(500),
    error_pause: Duration::from_millis(500),
    stop_timeout: Duration::from_secs(10),
};
/// Time after which an attempt without a reported outcome counts as lost. No attempt takes so long.
const LEASE: Duration = Duration::from_secs(30);

/// The resources of a dispatcher.
#[derive(Clone, Debug)]
pub struct DispatcherContext {
    /// The store in the data folder.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Posts deliveries.
    pub poster: WebhookClient,
    /// Prices of deliveries.
    pub prices: Arc<Prices>,
    /// Limits of the outbox.
    pub retention: Retention,
    /// Metrics of the service.
    pub metrics: Metrics,
}

enum DispatcherMessage {
    /// This process committed a change.
    Committed,
    /// An attempt ended.
    Ended {
        delivery_id: Uuid,
        posted: PostOutcome,
        sent_at: Option<DateTime<Utc>>,
    },
}

/// Starts the dispatcher on its own thread; `runtime` runs the requests. Dropping the leader stops it: no new delivery
/// starts, and those in flight are awaited for up to ten seconds.
///
/// # Errors
/// The thread cannot be started, or the file of locks cannot be opened.
pub fn start(
    supervisor: &Supervisor,
    setup: DispatcherContext,
    runtime: Handle,
) -> std::io::Result<Leader> {
    let (notifier, inbox) = leader::inbox();
    let woken = Arc::new(AtomicBool::new(false));
    let (wake, asleep) = (notifier.clone(), Arc::clone(&woken));
    setup.store.on_commit(move || {
        if !asleep.swap(true, Ordering::AcqRel) {
            wake.notify(DispatcherMessage::Committed);
        }
    });
    let stats = Arc::<DispatcherStats>::default();
    register_gauges(&setup, Arc::clone(&stats));
    let store = setup.store.clone();
    let post = Post {
        name: NAME,
        store: &store,
        pace: PACE,
    };
    let running = DispatchWorker::new(setup, runtime, notifier.clone(), woken, stats);
    Leader::start(supervisor, post, (notifier, inbox), running)
}

const NOTIFICATIONS: Metric<Gauge> = Metric::gauge(
    "toise_outbox_notifications",
    "Notifications kept in the outbox.",
);
const NOTIFICATIONS_MAX: Metric<Gauge> = Metric::gauge(
    "toise_outbox_notifications_max",
    "Number of notifications above which the oldest are evicted.",
);
const WAITING: Metric<Gauge> = Metric::gauge(
    "toise_outbox_waiting",
    "Notifications waiting for a delivery, counted up to 100,000.",
);
const AGE: Metric<Gauge> = Metric::gauge(
    "toise_outbox_age_seconds",
    "Age of the oldest notification kept.",
);
const AGE_MAX: Metric<Gauge> = Metric::gauge(
    "toise_outbox_age_max_seconds",
    "Age above which notifications are evicted.",
);
const DELIVERIES: Metric<Gauge> = Metric::gauge(
    "toise_deliveries",
    "Deliveries that are pending, failed (to be retried) or dead, by status.",
);
const UNDER_WAY: Metric<Gauge> = Metric::gauge(
    "toise_deliveries_under_way",
    "Requests to receivers in flight.",
);
const ENDPOINTS_OPEN: Metric<Gauge> = Metric::gauge(
    "toise_endpoints_open",
    "Failing receivers that are probed only from time to time.",
);

/// Registers the gauges of the outbox.
fn register_gauges(setup: &DispatcherContext, stats: Arc<DispatcherStats>) {
    let (store, clock, retention) = (setup.store.clone(), setup.clock.clone(), setup.retention);
    setup.metrics.register_gauges(move |gauges| {
        let Ok(depth) = store.read(retention::depth) else {
            return;
        };
        let age_ms = depth
            .oldest_at_ms
            .map_or(0, |at_ms| clock.now().timestamp_millis() - at_ms);
        for (metric, value) in [
            (NOTIFICATIONS, depth.kept as f64),
            (NOTIFICATIONS_MAX, retention.notifications as f64),
            (WAITING, depth.waiting as f64),
            (AGE, age_ms as f64 / 1e3),
            (AGE_MAX, retention.age_ms as f64 / 1e3),
            (UNDER_WAY, stats.under_way.load(Ordering::Relaxed) as f64),
            (
                ENDPOINTS_OPEN,
                stats.open_circuits.load(Ordering::Relaxed) as f64,
            ),
        ] {
            gauges.set(metric, &[], value);
        }
        for (status, count) in [
            ("pending", depth.pending),
            ("failed", depth.failed),
            ("dead", depth.dead),
        ] {
            gauges.set(DELIVERIES, &[("status", status)], count as f64);
        }
    });
}

/// Numbers of the dispatcher, published between turns.
#[derive(Debug, Default)]
struct DispatcherStats {
    under_way: AtomicUsize,
    open_circuits: AtomicUsize,
}
