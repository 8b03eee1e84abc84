//! The dispatcher: delivers notifications from the outbox to their receivers.
//!
//! One thread plans and writes to the store; attempts run on the service's runtime and report back to it. A turn
//! consists of one read (`look`: what is new or due, grouped for endpoints with capacity, see `state`) and one
//! transaction (`record`: outcomes of attempts, new deliveries), however many deliveries it contains; then the new
//! deliveries are sent. A delivery is therefore on disk with its identifier before its first byte is sent, and again
//! after it ended. If the process is killed in between, the delivery is sent again under the same identifier.
//!
//! One process per data folder dispatches at a time: the one that holds the lock on [`LOCK_FILE`], which the operating
//! system releases when a process ends. Leases of single deliveries are a second safeguard: an attempt without a
//! reported outcome is due again after 30 s. Turns are triggered by commits of this process and by ends of attempts,
//! and run every 25 ms for commits of other processes. On two cores a delivery costs about 0.1 ms of the thread and its
//! share of a commit.

mod addresses;
mod attempt;
mod leftovers;
mod look;
mod places;
mod record;
mod running;
mod state;
mod verdict;
mod work;

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use uuid::Uuid;

use running::Running;

use super::retention::{self, Retention};
use toise_accounts::prices::Prices;
use toise_base::clock::Clock;
use toise_net::post::{Posted, Poster};
use toise_store::Store;
use toise_telemetry::Metrics;

/// File in the data folder whose lock the dispatching process holds.
pub const LOCK_FILE: &str = "dispatcher.lock";
/// Interval at which commits of other processes are checked.
const TICK: Duration = Duration::from_millis(25);
/// Time after which an attempt without a reported outcome counts as lost; no attempt takes that long.
const LEASE: Duration = Duration::from_secs(30);

/// What a dispatcher needs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The data folder.
    pub data: PathBuf,
    /// The store in the data folder.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Posts deliveries.
    pub poster: Poster,
    /// Prices of deliveries.
    pub prices: Arc<Prices>,
    /// Limits of the outbox.
    pub retention: Retention,
    /// Metrics of the service.
    pub metrics: Metrics,
}

enum Message {
    /// This process committed a change.
    Committed,
    /// An attempt ended.
    Ended {
        delivery_id: Uuid,
        posted: Posted,
        sent_at: Option<DateTime<Utc>>,
    },
    Stop,
}

/// A running dispatcher. Dropping it stops it: no new delivery starts, and those in flight are awaited for up to some
/// seconds.
#[derive(Debug)]
pub struct Dispatcher {
    inbox: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Dispatcher {
    /// Starts dispatching, on a thread of its own and a runtime for the requests.
    ///
    /// # Errors
    /// The thread cannot be started, or the lock file cannot be opened.
    pub fn start(setup: Setup, runtime: Handle) -> std::io::Result<Self> {
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(setup.data.join(LOCK_FILE))?;
        let (inbox, messages) = channel();
        let woken = Arc::new(AtomicBool::new(false));
        let (wake, asleep) = (inbox.clone(), Arc::clone(&woken));
        setup.store.on_commit(move || {
            if !asleep.swap(true, Ordering::AcqRel) {
                // After the dispatcher has ended nothing receives the message.
                let _ = wake.send(Message::Committed);
            }
        });
        let traffic = Arc::<Traffic>::default();
        observe(&setup, Arc::clone(&traffic));
        let running = Running::new(setup, runtime, (inbox.clone(), messages), woken, traffic);
        let thread = std::thread::Builder::new()
            .name("dispatcher".into())
            .spawn(move || running.run(&lock))?;
        Ok(Self {
            inbox,
            thread: Some(thread),
        })
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        // The dispatcher may have ended already.
        let _ = self.inbox.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Registers the gauges of the outbox.
fn observe(setup: &Setup, traffic: Arc<Traffic>) {
    let (store, clock, retention) = (setup.store.clone(), setup.clock.clone(), setup.retention);
    setup.metrics.observe(move |gauges| {
        let Ok(depth) = store.read(retention::depth) else {
            return;
        };
        let age_ms = depth
            .oldest_at_ms
            .map_or(0, |at_ms| clock.now().timestamp_millis() - at_ms);
        for (name, value) in [
            ("toise_outbox_notifications", depth.kept as f64),
            (
                "toise_outbox_notifications_max",
                retention.notifications as f64,
            ),
            ("toise_outbox_waiting", depth.waiting as f64),
            ("toise_outbox_age_seconds", age_ms as f64 / 1e3),
            (
                "toise_outbox_age_max_seconds",
                retention.age_ms as f64 / 1e3,
            ),
            (
                "toise_deliveries_under_way",
                traffic.under_way.load(Ordering::Relaxed) as f64,
            ),
            (
                "toise_endpoints_open",
                traffic.open_circuits.load(Ordering::Relaxed) as f64,
            ),
        ] {
            gauges.set(name, &[], value);
        }
        for (status, count) in [
            ("pending", depth.pending),
            ("failed", depth.failed),
            ("dead", depth.dead),
        ] {
            gauges.set("toise_deliveries", &[("status", status)], count as f64);
        }
    });
}

/// Numbers of the dispatcher, published between turns.
#[derive(Debug, Default)]
struct Traffic {
    under_way: AtomicUsize,
    open_circuits: AtomicUsize,
}
