//! The work of the dispatcher while it holds the lease: each turn receives messages, plans, commits and sends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use rusqlite::Transaction;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::attempt::DeliveryAttempt;
use super::orphans;
use super::plan::{self, DeliveryBatch, DispatchPlan, plan_round};
use super::recorder::{
    DispatchWrites, SentBatch, SettledAttempt, bound_waits, release_leases, shift_waits,
};
use super::state::{DeliveryEnd, DispatchState};
use super::transaction::{CleanupOutcome, DispatchTransaction};
use super::verdict::{AttemptVerdict, JudgedAttempt};
use super::{DispatcherContext, DispatcherMessage, DispatcherStats, LEASE};
use crate::retention::{self, PendingEvictions};
use crate::schedule;
use toise_base::clock::ClockJumps;
use toise_net::webhook_client::PostOutcome;
use toise_store as store;
use toise_store::leader::{LeaderTask, Notifier, Stop};
use toise_store::lease::Lease;

/// Interval of the upkeep: evictions from the outbox, lost attempts, idle endpoints, orphans.
const UPKEEP_EVERY: Duration = Duration::from_secs(10);

struct InFlightDelivery {
    batch: SentBatch,
    /// Time of the oldest match in it, Unix milliseconds; set only for its first attempt.
    matched_at_ms: Option<i64>,
    lost_at: Instant,
}

/// The dispatcher's state between turns.
pub(super) struct DispatchWorker {
    setup: DispatcherContext,
    runtime: Handle,
    back: Notifier<DispatcherMessage>,
    woken: Arc<AtomicBool>,
    state: DispatchState,
    sent: HashMap<Uuid, InFlightDelivery>,
    settlements: Vec<SettledAttempt>,
    upkeep_at: Instant,
    due: PendingEvictions,
    jumps: ClockJumps,
    /// Whether the store contains orphans.
    has_orphans: bool,
    stats: Arc<DispatcherStats>,
}

impl LeaderTask for DispatchWorker {
    type Message = DispatcherMessage;
    type Error = store::Error;

    /// Takes over from the previous dispatching process.
    fn begin(&mut self, lease: &Lease) -> store::Result<()> {
        // The previous process has already shifted the waits for earlier jumps of the clock.
        self.jumps = ClockJumps::watch(self.setup.clock.clone());
        let now_ms = self.setup.clock.now().timestamp_millis();
        let voided = lease.write(move |transaction| {
            bound_waits(transaction, now_ms, schedule::wait_max_ms())?;
            release_leases(transaction)
        })?;
        if voided > 0 {
            tracing::info!(
                deliveries = voided,
                "resending deliveries that a previous process left in flight"
            );
        }
        let (state, now) = (&mut self.state, self.setup.clock.now());
        self.setup
            .store
            .read_snapshot(|connection| plan::begin(connection, state, now))
    }

    /// Forgets the deliveries in flight: the process that dispatches now sends them again under the same identifiers.
    fn step_back(&mut self) {
        self.state = DispatchState::default();
        self.sent.clear();
        self.settlements.clear();
        self.due = PendingEvictions::default();
        self.has_orphans = false;
        self.stats.under_way.store(0, Ordering::Relaxed);
        self.stats.open_circuits.store(0, Ordering::Relaxed);
    }

    fn take(&mut self, message: DispatcherMessage) {
        match message {
            DispatcherMessage::Committed => self.woken.store(false, Ordering::Release),
            DispatcherMessage::Ended {
                delivery_id,
                posted,
                sent_at,
            } => self.ended(delivery_id, &posted, sent_at),
        }
    }

    /// Runs one turn: read, commit, send.
    fn turn(&mut self, lease: &Lease) -> store::Result<()> {
        let plan = self.plan(lease)?;
        self.carry_out(lease, plan)
    }

    /// Records ended attempts. Returns [`Stop::Done`] once none is in flight.
    fn stop(&mut self, lease: &Lease) -> store::Result<Stop> {
        self.carry_out(lease, DispatchPlan::default())?;
        Ok(match self.state.under_way() {
            0 => Stop::Done,
            _ => Stop::Waiting,
        })
    }
}

impl DispatchWorker {
    pub(super) fn new(
        setup: DispatcherContext,
        runtime: Handle,
        back: Notifier<DispatcherMessage>,
        woken: Arc<AtomicBool>,
        stats: Arc<DispatcherStats>,
    ) -> Self {
        Self {
            jumps: ClockJumps::watch(setup.clock.clone()),
            setup,
            runtime,
            back,
            woken,
            stats,
            state: DispatchState::default(),
            sent: HashMap::new(),
            settlements: Vec::new(),
            upkeep_at: Instant::now(),
            due: PendingEvictions::default(),
            has_orphans: false,
        }
    }

    /// Evaluates the outcome of an attempt, which is written in the next turn.
    fn ended(&mut self, delivery_id: Uuid, posted: &PostOutcome, sent_at: Option<DateTime<Utc>>) {
        let Some(sent) = self.sent.remove(&delivery_id) else {
            return;
        };
        let now_ms = self.setup.clock.now().timestamp_millis();
        let result = JudgedAttempt::from_post(posted, sent.batch.attempts, now_ms, rand::random());
        let receiver = &sent.batch.receiver;
        let mut was_failing = false;
        let end = match result.verdict {
            AttemptVerdict::Delivered => {
                was_failing = self.state.failing.remove(receiver);
                DeliveryEnd::Accepted
            }
            AttemptVerdict::Gone => DeliveryEnd::Unknown,
            AttemptVerdict::Retry(_) | AttemptVerdict::Dead => {
                self.state.failing.insert(Arc::clone(receiver));
                DeliveryEnd::Failed {
                    asked_ms: result.asked_ms,
                }
            }
        };
        self.state.end(delivery_id, end, now_ms);
        self.state.settling.insert(delivery_id);
        self.count(&sent, &result, sent_at);
        self.settlements.push(SettledAttempt {
            result,
            was_failing,
            batch: sent.batch,
        });
    }

    fn count(
        &self,
        sent: &InFlightDelivery,
        result: &JudgedAttempt,
        sent_at: Option<DateTime<Utc>>,
    ) {
        let metrics = &self.setup.metrics;
        metrics.record_attempt(&sent.batch.receiver.url, result.outcome);
        if result.verdict == AttemptVerdict::Dead {
            metrics.record_dead_letter();
        }
        if let (Some(matched_at_ms), Some(sent_at)) = (sent.matched_at_ms, sent_at) {
            let lag_ms = sent_at.timestamp_millis() - matched_at_ms;
            metrics.record_delivery_lag(Duration::from_millis(u64::try_from(lag_ms).unwrap_or(0)));
        }
        if let Some(error) = &result.error {
            let (delivery_id, attempts) = (sent.batch.delivery_id, sent.batch.attempts);
            let verdict = result.verdict;
            tracing::debug!(%delivery_id, attempts, error, ?verdict, "not delivered");
        }
    }

    /// Reads what is new or due. If reading fails, the planned parts are requeued.
    fn plan(&mut self, lease: &Lease) -> store::Result<DispatchPlan> {
        if let Some(jump_ms) = self.jumps.since_last() {
            tracing::warn!(
                jump_ms,
                "the clock was changed; deliveries wait as long as before"
            );
            let shift = move |transaction: &Transaction<'_>| shift_waits(transaction, jump_ms);
            lease.write(shift)?;
            self.state.shift(jump_ms);
        }
        let now = self.setup.clock.now();
        let mut plan = DispatchPlan::default();
        self.run_upkeep(now)?;
        let (state, planned) = (&mut self.state, &mut plan);
        let looked = self
            .setup
            .store
            .read(|connection| plan_round(connection, state, planned, now));
        match looked {
            Ok(()) => Ok(plan),
            Err(error) => {
                self.roll_back_plan(&plan);
                Err(error)
            }
        }
    }

    /// Commits the plan and the settled attempts, then sends the new deliveries. If the commit fails, both are
    /// requeued.
    fn carry_out(&mut self, lease: &Lease, plan: DispatchPlan) -> store::Result<()> {
        let is_tidy = self.due.is_empty() && !self.has_orphans;
        if plan.is_empty() && self.settlements.is_empty() && is_tidy {
            return Ok(());
        }
        let work = Arc::new(DispatchTransaction {
            plan,
            settlements: std::mem::take(&mut self.settlements),
            due: self.due.clone(),
            has_orphans: self.has_orphans,
            retention: self.setup.retention,
            clock: self.setup.clock.clone(),
            prices: Arc::clone(&self.setup.prices),
        });
        let writing = Arc::clone(&work);
        match lease.write(move |transaction| writing.write(transaction)) {
            Ok((written, cleanup)) => {
                self.apply_written(&work, &written, cleanup);
                self.send(lease, &work.plan, &written);
                Ok(())
            }
            Err(error) => {
                self.settlements = work.settlements.clone();
                self.roll_back_plan(&work.plan);
                Err(error)
            }
        }
    }

    /// Runs the periodic upkeep: lost attempts, idle endpoints, retention, orphans.
    fn run_upkeep(&mut self, now: DateTime<Utc>) -> store::Result<()> {
        self.stats
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
                .end(delivery_id, DeliveryEnd::Unknown, now.timestamp_millis());
        }
        self.state.release_all();
        self.state.forget_idle(now.timestamp_millis());
        let open_circuits = self.state.open_circuits();
        self.stats
            .open_circuits
            .store(open_circuits, Ordering::Relaxed);
        let retention = self.setup.retention;
        let now_ms = now.timestamp_millis();
        (self.due, self.has_orphans) = self.setup.store.read(|connection| {
            let due = retention::due(connection, retention, now_ms)?;
            Ok((due, orphans::any_exist(connection, now_ms)?))
        })?;
        Ok(())
    }

    fn apply_written(
        &mut self,
        work: &DispatchTransaction,
        written: &DispatchWrites,
        cleanup: CleanupOutcome,
    ) {
        let metrics = &self.setup.metrics;
        for charge in &written.charges {
            metrics.record_consumption(charge.consumption.as_str(), charge.credits, 1);
        }
        for (receiver, alerts) in &written.ended {
            self.state.failing.remove(receiver);
            tracing::warn!(account = %receiver.account_id, alerts, "a receiver failed for days; its alerts have been deactivated");
        }
        for dead_letters in &work.plan.dead_letters {
            self.state.queue(dead_letters.alert);
        }
        for settlement in &work.settlements {
            self.state.settling.remove(&settlement.batch.delivery_id);
            self.state.release(settlement.batch.alert);
        }
        for receiver in &cleanup.forgotten {
            self.state.failing.remove(receiver);
        }
        self.has_orphans = false;
        self.due = cleanup.swept.left;
        let notifications = cleanup.swept.undelivered;
        if notifications > 0 {
            metrics.record_expired_notifications(notifications as u64);
            tracing::warn!(
                notifications,
                "undelivered notifications were evicted: the outbox is full, or they were too old"
            );
        }
    }

    /// Requeues what was planned but not written.
    fn roll_back_plan(&mut self, plan: &DispatchPlan) {
        let dead_letters = plan
            .dead_letters
            .iter()
            .map(|dead_letters| dead_letters.alert);
        for alert in plan.picked.iter().copied().chain(dead_letters) {
            self.state.queue(alert);
        }
        for batch in &plan.batches {
            self.state.end(batch.delivery_id, DeliveryEnd::Unknown, 0);
            if batch.delivery.is_none() {
                self.state
                    .queue_waiting(batch.alert, Some(Arc::clone(&batch.receiver)));
            }
        }
    }

    fn send(&mut self, lease: &Lease, plan: &DispatchPlan, written: &DispatchWrites) {
        let mut new = written.deliveries.iter().copied();
        for batch in &plan.batches {
            let Some(delivery) = batch.delivery.or_else(|| new.next()) else {
                continue;
            };
            self.send_one(lease, batch, delivery);
        }
    }

    fn send_one(&mut self, lease: &Lease, batch: &DeliveryBatch, delivery: i64) {
        let delivery_id = batch.delivery_id;
        let attempt = DeliveryAttempt {
            delivery_id,
            url: batch.receiver.url.clone(),
            body: batch.body.clone(),
            credentials: Arc::clone(&batch.credentials),
            connection: self.state.connection(&batch.receiver),
        };
        let first = batch.items.iter().map(|item| item.created_at_ms).min();
        let sent = InFlightDelivery {
            matched_at_ms: first.filter(|_| batch.delivery.is_none()),
            lost_at: Instant::now() + LEASE,
            batch: SentBatch {
                delivery,
                delivery_id,
                alert: batch.alert,
                subject: batch.subject,
                receiver: Arc::clone(&batch.receiver),
                counts: batch.counts,
                attempts: batch.attempts + 1,
            },
        };
        self.sent.insert(delivery_id, sent);
        let (poster, clock, back, lease) = (
            self.setup.poster.clone(),
            self.setup.clock.clone(),
            self.back.clone(),
            lease.clone(),
        );
        self.runtime.spawn(async move {
            // The process may have been suspended since the commit and lost the lease; then the next one sends the
            // delivery.
            if !lease.is_certain() {
                return;
            }
            // An attempt may outlast the dispatcher, and must not keep the store open.
            drop(lease);
            let (posted, sent_at) = attempt.make(&poster, &clock).await;
            // If the dispatcher has ended, nobody receives this message, and the next one sends the delivery again.
            back.notify(DispatcherMessage::Ended {
                delivery_id,
                posted,
                sent_at,
            });
        });
    }
}
