//! What the dispatcher keeps in memory: which alerts have something to tell, to whom, and what is under way.
//!
//! Everything here can be read again from the store; nothing here does I/O. An alert has one new delivery under way at
//! a time, so its items leave in order; what failed and is tried again holds back only items it contains (the reading
//! leaves them out). Memory grows with alerts that wait, never with what they wait to tell.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use uuid::Uuid;

use super::places::{Claim, Places};
use crate::endpoint::Endpoint;
use toise_net::post::{Connection, IDLE_TIMEOUT};

/// Endpoints that are remembered though nothing is sent to them at the moment.
const REMEMBERED_MAX: usize = 10_000;
/// Endpoints whose connections are kept for the next delivery: with what is kept for each that bounds open files.
const KEPT_MAX: usize = 64;

/// A receiver: one URL of one account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Receiver {
    pub account_id: Uuid,
    pub url: String,
}

/// A receiver, shared.
pub(super) type Key = Arc<Receiver>;

/// Where an alert with notifications that wait for a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In line at its endpoint, or among the retired.
    Queued,
    /// It has a new delivery under way; whether notifications are left.
    Busy { more: bool },
    /// All that is left waits for deliveries of the same items.
    Held,
}

/// An alert with notifications that wait; no receiver once it is not active any more.
#[derive(Debug)]
struct Waiting {
    receiver: Option<Key>,
    stage: Stage,
}

/// How a delivery ended, for what is thought of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was taken.
    Taken,
    /// It was not; the receiver may ask for a pause, in milliseconds.
    Failed { asked_ms: i64 },
    /// That says nothing of the endpoint.
    Unknown,
}

#[derive(Debug)]
struct UnderWay {
    alert: i64,
    receiver: Key,
    claim: Claim,
}

/// What the dispatcher knows. See the module's text.
#[derive(Debug, Default)]
pub(super) struct State {
    endpoints: HashMap<Key, Endpoint>,
    alerts: HashMap<i64, Waiting>,
    /// Endpoints with alerts in line, in turn.
    turns: VecDeque<Key>,
    /// Alerts in line that are not active any more.
    retired: VecDeque<i64>,
    under_way: HashMap<Uuid, UnderWay>,
    places: Places,
    /// Deliveries that ended and of which the store does not know yet.
    pub settling: HashSet<Uuid>,
    /// Endpoints whose connections are kept, and when they were last used.
    kept: HashMap<Key, Instant>,
    /// Last notification seen.
    pub last_notification: i64,
    /// Last change of an alert seen.
    pub last_change: i64,
    /// Endpoints the store knows as failing.
    pub failing: HashSet<Key>,
}

impl State {
    /// An alert has notifications that wait.
    pub(super) fn note(&mut self, alert: i64, receiver: Option<Key>) {
        match self.alerts.get(&alert) {
            Some(_) => self.release(alert),
            None => {
                let stage = Stage::Held;
                self.alerts.insert(alert, Waiting { receiver, stage });
                self.queue(alert);
            }
        }
    }

    /// Whether an alert has notifications that wait, as far as is known.
    pub(super) fn knows(&self, alert: i64) -> bool {
        self.alerts.contains_key(&alert)
    }

    /// An alert goes to another receiver from now on, or to none.
    pub(super) fn move_to(&mut self, alert: i64, receiver: Option<Key>) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        if waiting.receiver == receiver {
            return;
        }
        let former = std::mem::replace(&mut waiting.receiver, receiver);
        if waiting.stage == Stage::Queued {
            let line = match former {
                Some(former) => self
                    .endpoints
                    .get_mut(&former)
                    .map(|endpoint| &mut endpoint.waiting),
                None => Some(&mut self.retired),
            };
            if let Some(line) = line {
                line.retain(|other| *other != alert);
            }
            self.queue(alert);
        }
    }

    fn queue(&mut self, alert: i64) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        waiting.stage = Stage::Queued;
        match waiting.receiver.clone() {
            None => self.retired.push_back(alert),
            Some(receiver) => {
                let endpoint = self.endpoints.entry(Arc::clone(&receiver)).or_default();
                endpoint.waiting.push_back(alert);
                if !endpoint.in_turn {
                    endpoint.in_turn = true;
                    self.turns.push_back(receiver);
                }
            }
        }
    }

    /// Takes the next alert whose endpoint has room for a new delivery out of its line; endpoints come in turn.
    pub(super) fn pick(&mut self, now_ms: i64) -> Option<(i64, Key)> {
        for _ in 0..self.turns.len() {
            let receiver = self.turns.pop_front()?;
            let has_place = self.places.has_room(self.claim(&receiver, false));
            let Some(endpoint) = self.endpoints.get_mut(&receiver) else {
                continue;
            };
            let picked = match has_place && endpoint.room(now_ms) > 0 {
                true => endpoint.waiting.pop_front(),
                false => None,
            };
            endpoint.in_turn = !endpoint.waiting.is_empty();
            if endpoint.in_turn {
                self.turns.push_back(Arc::clone(&receiver));
            }
            if let Some(alert) = picked {
                return Some((alert, receiver));
            }
        }
        None
    }

    /// Takes the next alert that is not active any more out of its line.
    pub(super) fn pick_retired(&mut self) -> Option<i64> {
        self.retired.pop_front()
    }

    /// Whether a delivery that failed before may begin again.
    pub(super) fn may_retry(&self, receiver: &Key, now_ms: i64) -> bool {
        let has_room = |endpoint: &Endpoint| endpoint.room_to_retry(now_ms) > 0;
        self.places.has_room(self.claim(receiver, true))
            && self.endpoints.get(receiver).is_none_or(has_room)
    }

    /// How long a retry that may not begin is put off.
    pub(super) fn put_off_ms(&self, receiver: &Key, now_ms: i64) -> i64 {
        match self.endpoints.get(receiver) {
            Some(endpoint) => endpoint.put_off_ms(now_ms),
            None => Endpoint::default().put_off_ms(now_ms),
        }
    }

    /// What a delivery takes places as.
    fn claim(&self, receiver: &Key, is_retry: bool) -> Claim {
        let endpoint = self.endpoints.get(receiver);
        Claim {
            account: receiver.account_id,
            is_unproven: !endpoint.is_some_and(Endpoint::is_proven),
            is_retry,
        }
    }

    /// Whether a delivery is under way, or the store does not know yet that it ended.
    pub(super) fn is_under_way(&self, delivery_id: Uuid) -> bool {
        self.under_way.contains_key(&delivery_id) || self.settling.contains(&delivery_id)
    }

    /// Deliveries under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Endpoints whose circuit is open.
    pub(super) fn open_circuits(&self) -> usize {
        self.endpoints
            .values()
            .filter(|endpoint| endpoint.is_open())
            .count()
    }

    /// A delivery begins. For a new one of an alert that was picked, `more` says whether notifications are left.
    pub(super) fn begin(
        &mut self,
        delivery_id: Uuid,
        alert: i64,
        receiver: &Key,
        more: Option<bool>,
    ) {
        let claim = self.claim(receiver, more.is_none());
        self.places.take(claim);
        let endpoint = self.endpoints.entry(Arc::clone(receiver)).or_default();
        endpoint.begin();
        if let Some(more) = more {
            self.set_stage(alert, Stage::Busy { more });
        }
        let under_way = UnderWay {
            alert,
            receiver: Arc::clone(receiver),
            claim,
        };
        self.under_way.insert(delivery_id, under_way);
    }

    /// An alert that was picked has nothing to tell now; `left` says whether something waits for other deliveries.
    pub(super) fn set_aside(&mut self, alert: i64, left: bool) {
        match left {
            true => self.set_stage(alert, Stage::Held),
            false => {
                self.alerts.remove(&alert);
            }
        }
    }

    /// An alert that was picked goes back in line.
    pub(super) fn put_back(&mut self, alert: i64) {
        self.queue(alert);
    }

    fn set_stage(&mut self, alert: i64, stage: Stage) {
        if let Some(waiting) = self.alerts.get_mut(&alert) {
            waiting.stage = stage;
        }
    }

    /// A delivery ends; its alert goes on.
    pub(super) fn end(&mut self, delivery_id: Uuid, end: End, now_ms: i64) {
        let Some(ended) = self.under_way.remove(&delivery_id) else {
            return;
        };
        self.places.give_back(ended.claim);
        if let Some(endpoint) = self.endpoints.get_mut(&ended.receiver) {
            match end {
                End::Taken => endpoint.taken(now_ms),
                End::Failed { asked_ms } => endpoint.failed(now_ms, asked_ms),
                End::Unknown => endpoint.abandon(),
            }
        }
        if ended.claim.is_retry {
            return;
        }
        match self.alerts.get(&ended.alert).map(|waiting| waiting.stage) {
            Some(Stage::Busy { more: true }) => self.queue(ended.alert),
            Some(Stage::Busy { more: false }) => {
                self.alerts.remove(&ended.alert);
            }
            _ => {}
        }
    }

    /// A delivery of an alert stands as ended in the store: what waited for it may be free now.
    pub(super) fn release(&mut self, alert: i64) {
        let Some(waiting) = self.alerts.get_mut(&alert) else {
            return;
        };
        match &mut waiting.stage {
            Stage::Queued => {}
            Stage::Busy { more } => *more = true,
            Stage::Held => self.queue(alert),
        }
    }

    /// Has all that waits for other deliveries looked at again.
    pub(super) fn release_all(&mut self) {
        let held =
            |(alert, waiting): (&i64, &Waiting)| (waiting.stage == Stage::Held).then_some(*alert);
        let held: Vec<i64> = self.alerts.iter().filter_map(held).collect();
        held.into_iter().for_each(|alert| self.queue(alert));
    }

    /// Whether the connection of a delivery about to be sent is kept: for as many endpoints in use as there may be.
    pub(super) fn connection(&mut self, receiver: &Key) -> Connection {
        let now = Instant::now();
        if self.kept.len() >= KEPT_MAX && !self.kept.contains_key(receiver) {
            self.kept
                .retain(|_, used| now.duration_since(*used) < IDLE_TIMEOUT);
        }
        if self.kept.len() >= KEPT_MAX && !self.kept.contains_key(receiver) {
            return Connection::Close;
        }
        self.kept.insert(Arc::clone(receiver), now);
        Connection::Keep
    }

    /// Forgets endpoints that nothing was sent to for days, and those least worth remembering where there are many.
    pub(super) fn forget_idle(&mut self, now_ms: i64) {
        self.endpoints
            .retain(|_, endpoint| !endpoint.is_idle() || endpoint.is_remembered(now_ms));
        let idle = self
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.is_idle());
        let mut idle: Vec<_> = idle
            .map(|(key, endpoint)| (endpoint.worth(), Arc::clone(key)))
            .collect();
        let Some(excess) = idle.len().checked_sub(REMEMBERED_MAX + 1) else {
            return;
        };
        idle.select_nth_unstable_by_key(excess, |(worth, _)| *worth);
        for (_, key) in &idle[..=excess] {
            self.endpoints.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
