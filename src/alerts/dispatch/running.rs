//! What the dispatcher does as a leader: hears what happens, reads, writes, sends; turn after turn.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use uuid::Uuid;

use super::attempt::Attempt;
use super::leftovers;
use super::look::{self, Parcel, Plan, look};
use super::record::{SentParcel, Settlement, Written, void_leases};
use super::state::{End, State};
use super::verdict::{Judged, Verdict};
use super::work::{Tidied, Work};
use super::{LEASE, Message, Setup, Traffic};
use crate::retention::{self, Due};
use toise_base::leader::{Duty, Notifier, Stop};
use toise_net::post::Posted;
use toise_store as store;

/// How often it is looked for what has to leave the outbox, and idle endpoints are forgotten.
const UPKEEP_EVERY: Duration = Duration::from_secs(10);

/// A delivery in flight.
struct Sent {
    parcel: SentParcel,
    /// Time of the oldest match in it, Unix milliseconds; only on its first attempt.
    matched_at_ms: Option<i64>,
    lost_at: Instant,
}

/// The dispatcher's state between turns.
pub(super) struct Running {
    setup: Setup,
    runtime: Handle,
    back: Notifier<Message>,
    woken: Arc<AtomicBool>,
    state: State,
    sent: HashMap<Uuid, Sent>,
    settlements: Vec<Settlement>,
    upkeep_at: Instant,
    due: Due,
    /// Whether the store contains orphans.
    untidy: bool,
    traffic: Arc<Traffic>,
}

impl Duty for Running {
    type Message = Message;
    type Error = store::Error;

    /// Takes over from the process that dispatched before.
    fn begin(&mut self) -> store::Result<()> {
        let voided = self.setup.store.write(void_leases)?;
        if voided > 0 {
            tracing::info!(
                deliveries = voided,
                "resending deliveries that a previous process left in flight"
            );
        }
        let (state, now) = (&mut self.state, self.setup.clock.now());
        self.setup
            .store
            .read(|connection| look::begin(connection, state, now))
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Committed => self.woken.store(false, Ordering::Release),
            Message::Ended {
                delivery_id,
                posted,
                sent_at,
            } => self.ended(delivery_id, &posted, sent_at),
        }
    }

    /// One reading, one transaction, and off they go.
    fn turn(&mut self) -> store::Result<()> {
        let plan = self.plan()?;
        self.carry_out(plan)
    }

    /// Writes how attempts ended, until none is under way.
    fn stop(&mut self) -> store::Result<Stop> {
        self.carry_out(Plan::default())?;
        Ok(match self.state.under_way() {
            0 => Stop::Done,
            _ => Stop::Waiting,
        })
    }
}

impl Running {
    pub(super) fn new(
        setup: Setup,
        runtime: Handle,
        back: Notifier<Message>,
        woken: Arc<AtomicBool>,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            setup,
            runtime,
            back,
            woken,
            traffic,
            state: State::default(),
            sent: HashMap::new(),
            settlements: Vec::new(),
            upkeep_at: Instant::now(),
            due: Due::default(),
            untidy: false,
        }
    }

    /// Takes what became of an attempt; it is written in the next turn.
    fn ended(&mut self, delivery_id: Uuid, posted: &Posted, sent_at: Option<DateTime<Utc>>) {
        let Some(sent) = self.sent.remove(&delivery_id) else {
            return;
        };
        let now_ms = self.setup.clock.now().timestamp_millis();
        let judged = Judged::of(posted, sent.parcel.attempts, now_ms, rand::random());
        let receiver = &sent.parcel.receiver;
        let mut was_failing = false;
        let end = match judged.verdict {
            Verdict::Delivered => {
                was_failing = self.state.failing.remove(receiver);
                End::Taken
            }
            Verdict::Gone => End::Unknown,
            Verdict::Retry(_) | Verdict::Dead => {
                self.state.failing.insert(Arc::clone(receiver));
                End::Failed {
                    asked_ms: judged.asked_ms,
                }
            }
        };
        self.state.end(delivery_id, end, now_ms);
        self.state.settling.insert(delivery_id);
        self.count(&sent, &judged, sent_at);
        self.settlements.push(Settlement {
            judged,
            was_failing,
            parcel: sent.parcel,
        });
    }

    fn count(&self, sent: &Sent, judged: &Judged, sent_at: Option<DateTime<Utc>>) {
        let metrics = &self.setup.metrics;
        metrics.record_attempt(&sent.parcel.receiver.url, judged.outcome);
        if judged.verdict == Verdict::Dead {
            metrics.record_dead_delivery();
        }
        if let (Some(matched_at_ms), Some(sent_at)) = (sent.matched_at_ms, sent_at) {
            let lag_ms = sent_at.timestamp_millis() - matched_at_ms;
            metrics.record_delivery_lag(Duration::from_millis(u64::try_from(lag_ms).unwrap_or(0)));
        }
        if let Some(error) = &judged.error {
            let (delivery_id, attempts) = (sent.parcel.delivery_id, sent.parcel.attempts);
            let verdict = judged.verdict;
            tracing::debug!(%delivery_id, attempts, error, ?verdict, "not delivered");
        }
    }

    /// Reads what is new or due. What was planned is given back when the reading fails.
    fn plan(&mut self) -> store::Result<Plan> {
        let now = self.setup.clock.now();
        let mut plan = Plan::default();
        self.keep_up(now)?;
        let (state, planned) = (&mut self.state, &mut plan);
        let looked = self
            .setup
            .store
            .read(|connection| look(connection, state, planned, now));
        match looked {
            Ok(()) => Ok(plan),
            Err(error) => {
                self.undo(&plan);
                Err(error)
            }
        }
    }

    /// One transaction, and off they go.
    fn carry_out(&mut self, plan: Plan) -> store::Result<()> {
        let is_tidy = self.due.is_empty() && !self.untidy;
        if plan.is_empty() && self.settlements.is_empty() && is_tidy {
            return Ok(());
        }
        let work = Arc::new(Work {
            plan,
            settlements: std::mem::take(&mut self.settlements),
            due: self.due.clone(),
            untidy: self.untidy,
            retention: self.setup.retention,
            clock: self.setup.clock.clone(),
            prices: Arc::clone(&self.setup.prices),
        });
        let writing = Arc::clone(&work);
        let outcome = self
            .setup
            .store
            .write(move |transaction| writing.write(transaction));
        match outcome {
            Ok((written, tidied)) => {
                self.conclude(&work, &written, tidied);
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

    /// Runs the periodic upkeep: lost attempts, idle endpoints, retention, orphans.
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
        self.state.forget_idle(now.timestamp_millis());
        let open_circuits = self.state.open_circuits();
        self.traffic
            .open_circuits
            .store(open_circuits, Ordering::Relaxed);
        let retention = self.setup.retention;
        let now_ms = now.timestamp_millis();
        (self.due, self.untidy) = self.setup.store.read(|connection| {
            let due = retention::due(connection, retention, now_ms)?;
            Ok((due, leftovers::are_there(connection)?))
        })?;
        Ok(())
    }

    fn conclude(&mut self, work: &Work, written: &Written, tidied: Tidied) {
        let metrics = &self.setup.metrics;
        for charge in &written.charges {
            metrics.record_consumption(charge.consumption.as_str(), charge.credits, 1);
        }
        for (receiver, alerts) in &written.ended {
            self.state.failing.remove(receiver);
            tracing::warn!(account = %receiver.account_id, alerts, "a receiver failed for days; its alerts have been deactivated");
        }
        for buried in &work.plan.buried {
            self.state.put_back(buried.alert);
        }
        for settlement in &work.settlements {
            self.state.settling.remove(&settlement.parcel.delivery_id);
            self.state.release(settlement.parcel.alert);
        }
        for receiver in &tidied.forgotten {
            self.state.failing.remove(receiver);
        }
        self.untidy = false;
        self.due = tidied.swept.left;
        let notifications = tidied.swept.undelivered;
        if notifications > 0 {
            metrics.record_expired_notifications(notifications as u64);
            tracing::warn!(
                notifications,
                "undelivered notifications were evicted: the outbox is full, or they were too old"
            );
        }
    }

    /// Requeues what was planned but not written.
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
            matched_at_ms: first.filter(|_| parcel.delivery.is_none()),
            lost_at: Instant::now() + LEASE,
            parcel: SentParcel {
                delivery,
                delivery_id,
                alert: parcel.alert,
                listing: parcel.listing,
                receiver: Arc::clone(&parcel.receiver),
                counts: parcel.counts,
                attempts: parcel.attempts + 1,
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
            back.notify(Message::Ended {
                delivery_id,
                posted,
                sent_at,
            });
        });
    }
}
