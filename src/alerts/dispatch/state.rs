//! The dispatcher's state in memory: alerts with waiting notifications, their receivers, and deliveries in flight.
//!
//! All of it can be read again from the store; this module does no I/O. An alert has at most one new delivery in
//! flight, so its items are sent in order. A failed delivery that is retried only holds back notifications of the items
//! it contains; planning skips these. Memory grows with the number of alerts that wait, not with their notifications.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use uuid::Uuid;

use super::slots::{DeliverySlots, SlotClaim};
use crate::endpoint_health::EndpointHealth;
use toise_net::webhook_client::{ConnectionReuse, IDLE_TIMEOUT};

/// Maximum number of idle endpoints that are remembered.
const REMEMBERED_MAX: usize = 10_000;
/// Maximum number of endpoints whose connections are kept open for the next delivery; limits open files.
const KEEP_ALIVE_MAX: usize = 64;

/// A receiver: one URL of one account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReceiverKey {
    pub account_id: Uuid,
    pub url: String,
}

/// A shared receiver.
pub(super) type SharedReceiverKey = Arc<ReceiverKey>;

/// State of an alert with waiting notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AlertStage {
    /// Queued at its endpoint, or among the retired alerts.
    Queued,
    /// A new delivery is in flight; `more` says whether notifications remain.
    Busy { more: bool },
    /// All its notifications wait for deliveries of the same items.
    Blocked,
}

/// An alert with waiting notifications; it has no receiver if it is no longer active.
#[derive(Debug)]
struct PendingAlert {
    receiver: Option<SharedReceiverKey>,
    stage: AlertStage,
}

/// How a delivery ended, for the state of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryEnd {
    /// The receiver accepted it.
    Accepted,
    /// It failed; the receiver may ask for a pause, in milliseconds.
    Failed { asked_ms: i64 },
    /// The outcome says nothing about the endpoint.
    Unknown,
}

#[derive(Debug)]
struct InFlight {
    alert: i64,
    receiver: SharedReceiverKey,
    claim: SlotClaim,
}

/// The dispatcher's state; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct DispatchState {
    endpoints: HashMap<SharedReceiverKey, EndpointHealth>,
    alerts: HashMap<i64, PendingAlert>,
    /// Endpoints with queued alerts, in the order in which they are served.
    endpoint_queue: VecDeque<SharedReceiverKey>,
    /// Queued alerts that are no longer active.
    retired: VecDeque<i64>,
    under_way: HashMap<Uuid, InFlight>,
    slots: DeliverySlots,
    /// Deliveries that ended but are not yet recorded in the store.
    pub settling: HashSet<Uuid>,
    /// Endpoints with open connections, and when they were last used.
    connected: HashMap<SharedReceiverKey, Instant>,
    /// Number of the last notification read.
    pub last_notification: i64,
    /// Sequence of the last alert change read.
    pub last_change: i64,
    /// Endpoints recorded as failing in the store.
    pub failing: HashSet<SharedReceiverKey>,
}

impl DispatchState {
    /// Queues an alert that has waiting notifications.
    pub(super) fn queue_waiting(&mut self, alert: i64, receiver: Option<SharedReceiverKey>) {
        match self.alerts.get(&alert) {
            Some(_) => self.release(alert),
            None => {
                let stage = AlertStage::Blocked;
                self.alerts.insert(alert, PendingAlert { receiver, stage });
                self.queue(alert);
            }
        }
    }

    /// Returns whether an alert is known to have waiting notifications.
    pub(super) fn is_waiting(&self, alert: i64) -> bool {
        self.alerts.contains_key(&alert)
    }

    /// Changes the receiver of an alert, or removes it.
    pub(super) fn change_receiver(&mut self, alert: i64, receiver: Option<SharedReceiverKey>) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        if waiting.receiver == receiver {
            return;
        }
        let former = std::mem::replace(&mut waiting.receiver, receiver);
        if waiting.stage == AlertStage::Queued {
            let queue = match former {
                Some(former) => self
                    .endpoints
                    .get_mut(&former)
                    .map(|endpoint| &mut endpoint.waiting),
                None => Some(&mut self.retired),
            };
            if let Some(queue) = queue {
                queue.retain(|other| *other != alert);
            }
            self.queue(alert);
        }
    }

    /// Queues a known alert, such as one that was picked.
    pub(super) fn queue(&mut self, alert: i64) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        waiting.stage = AlertStage::Queued;
        match waiting.receiver.clone() {
            None => self.retired.push_back(alert),
            Some(receiver) => {
                let endpoint = self.endpoints.entry(Arc::clone(&receiver)).or_default();
                endpoint.waiting.push_back(alert);
                if !endpoint.is_queued {
                    endpoint.is_queued = true;
                    self.endpoint_queue.push_back(receiver);
                }
            }
        }
    }

    /// Dequeues the next alert whose endpoint can start a new delivery; endpoints take turns.
    pub(super) fn pick(&mut self, now_ms: i64) -> Option<(i64, SharedReceiverKey)> {
        for _ in 0..self.endpoint_queue.len() {
            let receiver = self.endpoint_queue.pop_front()?;
            let has_slot = self.slots.has_room(self.claim(&receiver, false));
            let Some(endpoint) = self.endpoints.get_mut(&receiver) else {
                continue;
            };
            let picked = if has_slot && endpoint.capacity(now_ms) > 0 {
                endpoint.waiting.pop_front()
            } else {
                None
            };
            endpoint.is_queued = !endpoint.waiting.is_empty();
            if endpoint.is_queued {
                self.endpoint_queue.push_back(Arc::clone(&receiver));
            }
            if let Some(alert) = picked {
                return Some((alert, receiver));
            }
        }
        None
    }

    /// Dequeues the next alert that is no longer active.
    pub(super) fn pick_retired(&mut self) -> Option<i64> {
        self.retired.pop_front()
    }

    /// Returns whether a failed delivery may be retried now.
    pub(super) fn may_retry(&self, receiver: &SharedReceiverKey, now_ms: i64) -> bool {
        let has_room = |endpoint: &EndpointHealth| endpoint.retry_capacity(now_ms) > 0;
        self.slots.has_room(self.claim(receiver, true))
            && self.endpoints.get(receiver).is_none_or(has_room)
    }

    /// Returns the delay of a retry that cannot start now, in milliseconds.
    pub(super) fn retry_delay_ms(&self, receiver: &SharedReceiverKey, now_ms: i64) -> i64 {
        match self.endpoints.get(receiver) {
            Some(endpoint) => endpoint.retry_delay_ms(now_ms),
            None => EndpointHealth::default().retry_delay_ms(now_ms),
        }
    }

    /// Returns the slots that a delivery takes.
    fn claim(&self, receiver: &SharedReceiverKey, is_retry: bool) -> SlotClaim {
        let endpoint = self.endpoints.get(receiver);
        SlotClaim {
            account: receiver.account_id,
            is_unhealthy: !endpoint.is_some_and(EndpointHealth::is_healthy),
            is_retry,
        }
    }

    /// Returns whether a delivery is in flight, or ended but not yet recorded in the store.
    pub(super) fn is_under_way(&self, delivery_id: Uuid) -> bool {
        self.under_way.contains_key(&delivery_id) || self.settling.contains(&delivery_id)
    }

    /// Returns the number of deliveries in flight.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Shifts the times that endpoints wait for, after the clock was set forward by `by_ms`.
    pub(super) fn shift(&mut self, by_ms: i64) {
        self.endpoints
            .values_mut()
            .for_each(|endpoint| endpoint.shift(by_ms));
    }

    /// Returns the number of endpoints whose circuit breaker is open.
    pub(super) fn open_circuits(&self) -> usize {
        self.endpoints
            .values()
            .filter(|endpoint| endpoint.is_open())
            .count()
    }

    /// Records the start of a delivery. For a new delivery of a picked alert, `more` says whether notifications remain.
    pub(super) fn begin(
        &mut self,
        delivery_id: Uuid,
        alert: i64,
        receiver: &SharedReceiverKey,
        more: Option<bool>,
    ) {
        let claim = self.claim(receiver, more.is_none());
        self.slots.acquire(claim);
        let endpoint = self.endpoints.entry(Arc::clone(receiver)).or_default();
        endpoint.begin();
        if let Some(more) = more {
            self.set_stage(alert, AlertStage::Busy { more });
        }
        let under_way = InFlight {
            alert,
            receiver: Arc::clone(receiver),
            claim,
        };
        self.under_way.insert(delivery_id, under_way);
    }

    /// Marks a picked alert as having nothing to send now. `left` says whether it has notifications that wait for other
    /// deliveries.
    pub(super) fn mark_idle(&mut self, alert: i64, left: bool) {
        if left {
            self.set_stage(alert, AlertStage::Blocked)
        } else {
            self.alerts.remove(&alert);
        }
    }

    fn set_stage(&mut self, alert: i64, stage: AlertStage) {
        if let Some(waiting) = self.alerts.get_mut(&alert) {
            waiting.stage = stage;
        }
    }

    /// Records the end of a delivery; its alert continues.
    pub(super) fn end(&mut self, delivery_id: Uuid, end: DeliveryEnd, now_ms: i64) {
        let Some(ended) = self.under_way.remove(&delivery_id) else {
            return;
        };
        self.slots.release(ended.claim);
        if let Some(endpoint) = self.endpoints.get_mut(&ended.receiver) {
            match end {
                DeliveryEnd::Accepted => endpoint.record_success(now_ms),
                DeliveryEnd::Failed { asked_ms } => endpoint.record_failure(now_ms, asked_ms),
                DeliveryEnd::Unknown => endpoint.abandon(),
            }
        }
        if ended.claim.is_retry {
            return;
        }
        match self.alerts.get(&ended.alert).map(|waiting| waiting.stage) {
            Some(AlertStage::Busy { more: true }) => self.queue(ended.alert),
            Some(AlertStage::Busy { more: false }) => {
                self.alerts.remove(&ended.alert);
            }
            _ => {}
        }
    }

    /// Releases notifications that waited for a delivery of the alert, once its end is recorded in the store.
    pub(super) fn release(&mut self, alert: i64) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        match &mut waiting.stage {
            AlertStage::Queued => {}
            AlertStage::Busy { more } => *more = true,
            AlertStage::Blocked => self.queue(alert),
        }
    }

    /// Requeues all alerts whose notifications wait for other deliveries, so that they are checked again.
    pub(super) fn release_all(&mut self) {
        let held = |(alert, waiting): (&i64, &PendingAlert)| {
            (waiting.stage == AlertStage::Blocked).then_some(*alert)
        };
        let held: Vec<i64> = self.alerts.iter().filter_map(held).collect();
        held.into_iter().for_each(|alert| self.queue(alert));
    }

    /// Decides whether to keep the connection open after a delivery: yes for at most [`KEEP_ALIVE_MAX`] endpoints in
    /// use.
    pub(super) fn connection(&mut self, receiver: &SharedReceiverKey) -> ConnectionReuse {
        let now = Instant::now();
        if self.connected.len() >= KEEP_ALIVE_MAX && !self.connected.contains_key(receiver) {
            self.connected
                .retain(|_, used| now.duration_since(*used) < IDLE_TIMEOUT);
        }
        if self.connected.len() >= KEEP_ALIVE_MAX && !self.connected.contains_key(receiver) {
            return ConnectionReuse::Close;
        }
        self.connected.insert(Arc::clone(receiver), now);
        ConnectionReuse::Keep
    }

    /// Forgets endpoints that have been idle for days, and the least valuable ones if there are too many.
    pub(super) fn forget_idle(&mut self, now_ms: i64) {
        self.endpoints
            .retain(|_, endpoint| !endpoint.is_idle() || endpoint.is_remembered(now_ms));
        let idle = self
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.is_idle());
        let mut idle: Vec<_> = idle
            .map(|(key, endpoint)| (endpoint.retention_rank(), Arc::clone(key)))
            .collect();
        let Some(excess) = idle.len().checked_sub(REMEMBERED_MAX + 1) else {
            return;
        };
        idle.select_nth_unstable_by_key(excess, |(rank, _)| *rank);
        for (_, key) in &idle[..=excess] {
            self.endpoints.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
