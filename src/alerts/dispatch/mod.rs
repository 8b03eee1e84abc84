//! The dispatcher: takes notifications from the outbox to their receivers.
//!
//! One thread decides and talks to the store; attempts run on the service's runtime and tell it how they ended. A turn
//! is one reading (`look`: what is new or due, grouped for endpoints with room, see `state`) and one transaction
//! (`record`: how attempts ended, which deliveries begin), however many deliveries it holds; then the new ones are
//! sent. So a delivery is on disk with its identifier before its first byte leaves, and again when it ended: whatever is
//! killed in between is sent once more under the same identifier.
//!
//! One process of a data folder dispatches at a time: the one that holds the lock on [`LOCK_FILE`], which the system
//! gives back when a process dies. Leases of single deliveries back that up: an attempt that nobody tells the end of is
//! due again after 30 s. Turns come with commits of this process, with ends of attempts, and every [`TICK`] for what
//! other processes commit. On two cores a delivery costs about 0.1 ms of the thread and its share of a commit.

mod attempt;
mod look;
mod record;
mod state;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use uuid::Uuid;

use attempt::Attempt;
use look::{Parcel, Plan, look};
use record::{Settlement, Turn, Verdict, Written, void_leases};
use state::{End, State};

use super::retention::{self, Retention, Swept};
use super::schedule::{RETRY_AFTER_MAX, wait};
use crate::clock::Clock;
use crate::config::prices::Prices;
use crate::net::post::{Failure, Posted, Poster};
use crate::store::{self, Store};
use crate::telemetry::{DeliveryOutcome, Metrics};

/// The file whose lock the dispatching process holds, in the data folder.
pub const LOCK_FILE: &str = "dispatcher.lock";
/// How often what other processes commit is looked for.
const TICK: Duration = Duration::from_millis(25);
/// How often a process that does not dispatch tries to.
const LOCK_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked for what has to leave the outbox, and idle endpoints are forgotten.
const UPKEEP_EVERY: Duration = Duration::from_secs(10);
/// Pause after the store failed.
const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// How long attempts under way are waited for at the end: as long as one can take, and a commit.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// After how long an attempt whose end nobody tells counts as lost; no attempt takes so long.
const LEASE: Duration = Duration::from_secs(30);

/// What a dispatcher works with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The data folder.
    pub data: PathBuf,
    /// Its store.
    pub store: Store,
    /// Tells the time.
    pub clock: Clock,
    /// Sends.
    pub poster: Poster,
    /// What deliveries cost.
    pub prices: Arc<Prices>,
    /// What the outbox keeps.
    pub retention: Retention,
    /// What the service counts.
    pub metrics: Metrics,
}

enum Message {
    /// Something was committed in this process.
    Committed,
    /// An attempt ended.
    Ended {
        delivery_id: Uuid,
        posted: Posted,
        sent_at: Option<DateTime<Utc>>,
    },
    Stop,
}

/// A running dispatcher. Dropping it ends it: nothing new begins, and what is under way is waited for, some seconds at
/// most.
#[derive(Debug)]
pub struct Dispatcher {
    inbox: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Dispatcher {
    /// Starts dispatching, on a thread of its own and a runtime for the requests.
    ///
    /// # Errors
    /// A thread or the lock's file that cannot be had.
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
                // After the end of the dispatcher nobody listens.
                let _ = wake.send(Message::Committed);
            }
        });
        let traffic = Arc::<Traffic>::default();
        observe(&setup, Arc::clone(&traffic));
        let running = Running {
            back: inbox.clone(),
            traffic,
            setup,
            runtime,
            messages,
            woken,
            state: State::default(),
            sent: HashMap::new(),
            settlements: Vec::new(),
            stopping: false,
            upkeep_at: Instant::now(),
            sweeping: false,
        };
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
        // It may have ended already.
        let _ = self.inbox.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Has the depth of the outbox told when the numbers are asked for.
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

/// A delivery under way.
struct Sent {
    settlement: Settlement,
    /// When the oldest of its items was matched; `None` when this is not its first attempt.
    matched_at_ms: Option<i64>,
    lost_at: Instant,
}

struct Running {
    setup: Setup,
    runtime: Handle,
    messages: Inbox<Message>,
    back: Sender<Message>,
    woken: Arc<AtomicBool>,
    state: State,
    sent: HashMap<Uuid, Sent>,
    settlements: Vec<Settlement>,
    stopping: bool,
    upkeep_at: Instant,
    sweeping: bool,
    traffic: Arc<Traffic>,
}

/// What the dispatcher tells of itself between turns.
#[derive(Debug, Default)]
struct Traffic {
    under_way: AtomicUsize,
    open_circuits: AtomicUsize,
}

impl Running {
    fn run(mut self, lock: &File) {
        while lock.try_lock().is_err() {
            self.hear(LOCK_EVERY);
            if self.stopping {
                return;
            }
        }
        while let Err(error) = self.begin() {
            tracing::error!(%error, "deliveries cannot begin");
            self.hear(ERROR_PAUSE);
            if self.stopping {
                return;
            }
        }
        let mut stop_by = None;
        loop {
            if let Err(error) = self.turn() {
                tracing::error!(%error, "deliveries wait for the store");
                std::thread::sleep(ERROR_PAUSE);
            }
            if self.stopping {
                let stop_by = *stop_by.get_or_insert_with(|| Instant::now() + STOP_TIMEOUT);
                let is_done = self.state.under_way() == 0 && self.settlements.is_empty();
                if is_done || Instant::now() > stop_by {
                    return;
                }
            }
            self.hear(TICK);
        }
    }

    /// Takes over from whoever dispatched before.
    fn begin(&mut self) -> store::Result<()> {
        let voided = self.setup.store.write(void_leases)?;
        if voided > 0 {
            tracing::info!(
                deliveries = voided,
                "sending again what a former process left under way"
            );
        }
        let state = &mut self.state;
        self.setup
            .store
            .read(|connection| look::begin(connection, state))
    }

    /// Waits for a message, takes all there are.
    fn hear(&mut self, patience: Duration) {
        match self.messages.recv_timeout(patience) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.stopping = true,
        }
        while let Ok(message) = self.messages.try_recv() {
            self.take(message);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Committed => self.woken.store(false, Ordering::Release),
            Message::Stop => self.stopping = true,
            Message::Ended {
                delivery_id,
                posted,
                sent_at,
            } => self.ended(delivery_id, &posted, sent_at),
        }
    }

    /// Judges an attempt; what it came to is written in the next turn.
    fn ended(&mut self, delivery_id: Uuid, posted: &Posted, sent_at: Option<DateTime<Utc>>) {
        let Some(sent) = self.sent.remove(&delivery_id) else {
            return;
        };
        let now_ms = self.setup.clock.now().timestamp_millis();
        let mut settlement = sent.settlement;
        let asked = posted
            .outcome
            .as_ref()
            .ok()
            .and_then(|answer| answer.retry_after);
        settlement.status = posted.outcome.as_ref().ok().map(|answer| answer.status);
        settlement.error = match &posted.outcome {
            Ok(answer) if (200..300).contains(&answer.status) => None,
            Ok(answer) => Some(format!("the receiver answered {}", answer.status)),
            Err(failure) => Some(failure.to_string()),
        };
        settlement.verdict = match (settlement.status, &settlement.error) {
            (_, None) => Verdict::Delivered,
            (Some(410), _) => Verdict::Gone,
            _ => match wait(settlement.attempts, asked, rand::random()) {
                Some(wait) => Verdict::Retry(now_ms + wait.as_millis() as i64),
                None => Verdict::Dead,
            },
        };
        let end = match settlement.verdict {
            Verdict::Delivered => End::Taken,
            Verdict::Gone => End::Unknown,
            Verdict::Retry(_) | Verdict::Dead => End::Failed {
                asked_ms: asked.unwrap_or_default().min(RETRY_AFTER_MAX).as_millis() as i64,
            },
        };
        settlement.was_failing = match end {
            End::Taken => self.state.failing.remove(&settlement.receiver),
            End::Failed { .. } => self.state.failing.insert(Arc::clone(&settlement.receiver)),
            End::Unknown => false,
        };
        self.state.end(delivery_id, end, now_ms);
        self.state.settling.insert(delivery_id);
        self.count(&settlement, posted, sent.matched_at_ms, sent_at);
        self.settlements.push(settlement);
    }

    fn count(
        &self,
        settlement: &Settlement,
        posted: &Posted,
        matched_at_ms: Option<i64>,
        sent_at: Option<DateTime<Utc>>,
    ) {
        let outcome = match (&settlement.verdict, &posted.outcome) {
            (Verdict::Delivered, _) => DeliveryOutcome::Delivered,
            (Verdict::Gone, _) => DeliveryOutcome::Gone,
            (_, Ok(_)) => DeliveryOutcome::Refused,
            (_, Err(Failure::AnswerTimeout | Failure::ConnectTimeout)) => DeliveryOutcome::Timeout,
            (_, Err(_)) => DeliveryOutcome::Unreachable,
        };
        let metrics = &self.setup.metrics;
        metrics.record_attempt(&settlement.receiver.url, outcome);
        if settlement.verdict == Verdict::Dead {
            metrics.record_dead_delivery();
        }
        if let (Some(matched_at_ms), Some(sent_at)) = (matched_at_ms, sent_at) {
            let lag_ms = sent_at.timestamp_millis() - matched_at_ms;
            metrics.record_delivery_lag(Duration::from_millis(u64::try_from(lag_ms).unwrap_or(0)));
        }
        if let Some(error) = &settlement.error {
            let (delivery_id, attempts) = (settlement.delivery_id, settlement.attempts);
            let verdict = &settlement.verdict;
            tracing::debug!(%delivery_id, attempts, error, ?verdict, "not delivered");
        }
    }

    /// One reading, one transaction, and off they go.
    fn turn(&mut self) -> store::Result<()> {
        let now = self.setup.clock.now();
        let mut plan = Plan::default();
        if !self.stopping {
            let (state, planned) = (&mut self.state, &mut plan);
            let looked = self
                .setup
                .store
                .read(|connection| look(connection, state, planned, now));
            if let Err(error) = looked {
                self.undo(&plan);
                return Err(error);
            }
            self.keep_up(now)?;
        }
        if plan.is_empty() && self.settlements.is_empty() && !self.sweeping {
            return Ok(());
        }
        let work = Arc::new(Work {
            plan,
            settlements: std::mem::take(&mut self.settlements),
            sweep: self.sweeping.then_some(self.setup.retention),
            clock: self.setup.clock.clone(),
            prices: Arc::clone(&self.setup.prices),
        });
        let writing = Arc::clone(&work);
        let outcome = self
            .setup
            .store
            .write(move |transaction| writing.write(transaction));
        match outcome {
            Ok((written, swept)) => {
                self.conclude(&work, &written, swept);
                self.send(&work.plan, &written);
                Ok(())
            }
            Err(error) => {
                self.settlements = work.settlements.clone();
                self.undo(&work.plan);
                Err(error)
            }
        }
    }

    /// Looks from time to time for what has to leave.
    fn keep_up(&mut self, now: DateTime<Utc>) -> store::Result<()> {
        self.traffic
            .under_way
            .store(self.state.under_way(), Ordering::Relaxed);
        if Instant::now() < self.upkeep_at {
            return Ok(());
        }
        self.upkeep_at = Instant::now() + UPKEEP_EVERY;
        let lost: Vec<Uuid> = self
            .sent
            .extract_if(|_, sent| sent.lost_at < Instant::now())
            .map(|(delivery_id, _)| delivery_id)
            .collect();
        for delivery_id in lost {
            self.state
                .end(delivery_id, End::Unknown, now.timestamp_millis());
        }
        self.state.release_all();
        self.state.forget_idle();
        let open_circuits = self.state.open_circuits();
        self.traffic
            .open_circuits
            .store(open_circuits, Ordering::Relaxed);
        let retention = self.setup.retention;
        let is_due =
            |connection: &_| retention::is_due(connection, retention, now.timestamp_millis());
        self.sweeping |= self.setup.store.read(is_due)?;
        Ok(())
    }

    fn conclude(&mut self, work: &Work, written: &Written, swept: Swept) {
        let metrics = &self.setup.metrics;
        for charge in &written.charges {
            metrics.record_consumption(charge.consumption.as_str(), charge.credits, 1);
        }
        for (receiver, alerts) in &written.ended {
            self.state.failing.remove(receiver);
            tracing::warn!(account = %receiver.account_id, alerts, "a receiver failed for days: its alerts have ended");
        }
        for buried in &work.plan.buried {
            self.state.put_back(buried.alert);
        }
        for settlement in &work.settlements {
            self.state.settling.remove(&settlement.delivery_id);
            self.state.release(settlement.alert);
        }
        self.sweeping = swept.more;
        if swept.undelivered > 0 {
            metrics.record_expired_notifications(swept.undelivered as u64);
            let notifications = swept.undelivered;
            tracing::warn!(
                notifications,
                "notifications left the outbox undelivered: it is full, or they were too old"
            );
        }
    }

    /// Gives back what was planned and not written.
    fn undo(&mut self, plan: &Plan) {
        let buried = plan.buried.iter().map(|buried| buried.alert);
        for alert in plan.picked.iter().copied().chain(buried) {
            self.state.put_back(alert);
        }
        for parcel in &plan.parcels {
            self.state.end(parcel.delivery_id, End::Unknown, 0);
            if parcel.delivery.is_none() {
                self.state
                    .note(parcel.alert, Some(Arc::clone(&parcel.receiver)));
            }
        }
    }

    fn send(&mut self, plan: &Plan, written: &Written) {
        let mut new = written.deliveries.iter().copied();
        for parcel in &plan.parcels {
            let Some(delivery) = parcel.delivery.or_else(|| new.next()) else {
                continue;
            };
            self.send_one(parcel, delivery);
        }
    }

    fn send_one(&mut self, parcel: &Parcel, delivery: i64) {
        let delivery_id = parcel.delivery_id;
        let attempt = Attempt {
            delivery_id,
            url: parcel.receiver.url.clone(),
            body: parcel.body.clone(),
            credentials: Arc::clone(&parcel.credentials),
            connection: self.state.connection(&parcel.receiver),
        };
        let first = parcel.items.iter().map(|item| item.created_at_ms).min();
        let sent = Sent {
            matched_at_ms: first.filter(|_| parcel.attempts == 0),
            lost_at: Instant::now() + LEASE,
            settlement: Settlement {
                delivery,
                delivery_id,
                alert: parcel.alert,
                listing: parcel.listing,
                receiver: Arc::clone(&parcel.receiver),
                counts: parcel.counts,
                attempts: parcel.attempts + 1,
                // Until it is known better.
                verdict: Verdict::Dead,
                status: None,
                error: None,
                was_failing: false,
            },
        };
        self.sent.insert(delivery_id, sent);
        let (poster, clock, back) = (
            self.setup.poster.clone(),
            self.setup.clock.clone(),
            self.back.clone(),
        );
        self.runtime.spawn(async move {
            let (posted, sent_at) = attempt.make(&poster, &clock).await;
            // After the end of the dispatcher nobody listens; the delivery is sent again by the next one.
            let _ = back.send(Message::Ended {
                delivery_id,
                posted,
                sent_at,
            });
        });
    }
}

/// What one transaction writes.
struct Work {
    plan: Plan,
    settlements: Vec<Settlement>,
    sweep: Option<Retention>,
    clock: Clock,
    prices: Arc<Prices>,
}

impl Work {
    fn write(&self, transaction: &rusqlite::Transaction<'_>) -> rusqlite::Result<(Written, Swept)> {
        let mut turn = Turn::new(transaction, &self.clock, &self.prices);
        for settlement in &self.settlements {
            turn.settle(settlement)?;
        }
        for parcel in &self.plan.parcels {
            turn.begin(parcel)?;
        }
        for buried in &self.plan.buried {
            turn.bury(buried)?;
        }
        for delivery in &self.plan.lapsed {
            turn.lapse(*delivery)?;
        }
        for (delivery, until_ms) in &self.plan.put_off {
            turn.put_off(*delivery, *until_ms)?;
        }
        let swept = match self.sweep {
            Some(retention) => {
                retention::sweep(transaction, retention, self.clock.now().timestamp_millis())?
            }
            None => Swept::default(),
        };
        Ok((turn.written(), swept))
    }
}
