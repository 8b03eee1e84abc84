//! How much a receiver is asked at once, so that a slow or dead one takes nothing from the others.
//!
//! An endpoint is one URL of one account. It may have a window of deliveries under way: the window grows with each that
//! is taken and halves with each that is not. After [`FAILURES_TO_OPEN`] failures in a row its circuit is open: one
//! delivery at a time, and new ones only as trials, ever more seldom, until one is taken. Deliveries that failed keep
//! their own schedule. A pause that it asks for holds for all of them, whatever else it answers meanwhile. Nothing here
//! does I/O or asks the time.

use std::collections::VecDeque;

/// Deliveries under way at an endpoint nothing is known of.
const WINDOW_FIRST: usize = 8;
/// Deliveries under way at an endpoint that takes all it gets.
const WINDOW_MAX: usize = 64;
/// Failures in a row that open the circuit.
const FAILURES_TO_OPEN: u32 = 5;
/// First pause between two trials; it doubles with each that fails.
const TRIAL_PAUSE_MS_FIRST: i64 = 5_000;
/// Longest pause between two trials.
const TRIAL_PAUSE_MS_MAX: i64 = 600_000;
/// For how long an endpoint that nothing is sent to is remembered: three days.
const REMEMBERED_MS: i64 = 3 * 24 * 3_600_000;

/// What is known of a receiver.
#[derive(Debug)]
pub(super) struct Endpoint {
    window: usize,
    under_way: usize,
    failures_in_a_row: u32,
    /// No new delivery before: the pause of an open circuit.
    resumes_at_ms: i64,
    /// Nothing before: the pause it asked for.
    asked_until_ms: i64,
    trial_pause_ms: i64,
    /// Whether the last answer was a good one.
    proven: bool,
    /// When it last answered or failed to.
    used_at_ms: i64,
    /// Whether it is in line itself, for its alerts.
    pub(super) in_turn: bool,
    /// Alerts with something to tell it, in turn.
    pub(super) waiting: VecDeque<i64>,
}

impl Default for Endpoint {
    /// One nothing is known of.
    fn default() -> Self {
        Self {
            window: WINDOW_FIRST,
            under_way: 0,
            failures_in_a_row: 0,
            resumes_at_ms: i64::MIN,
            asked_until_ms: i64::MIN,
            trial_pause_ms: TRIAL_PAUSE_MS_FIRST,
            proven: false,
            used_at_ms: i64::MIN,
            in_turn: false,
            waiting: VecDeque::new(),
        }
    }
}

impl Endpoint {
    /// New deliveries that may begin.
    pub(super) fn room(&self, now_ms: i64) -> usize {
        match now_ms < self.resumes_at_ms {
            true => 0,
            false => self.room_to_retry(now_ms),
        }
    }

    /// Deliveries that failed before and may begin again.
    pub(super) fn room_to_retry(&self, now_ms: i64) -> usize {
        match now_ms < self.asked_until_ms {
            true => 0,
            false => self.window.saturating_sub(self.under_way),
        }
    }

    /// Whether its last answer was a good one: it may use what is kept from the others.
    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    /// Whether the circuit is open.
    pub(super) fn is_open(&self) -> bool {
        self.failures_in_a_row >= FAILURES_TO_OPEN
    }

    /// How long a retry that finds no room is put off.
    pub(super) fn put_off_ms(&self, now_ms: i64) -> i64 {
        let pause_ms = match self.is_open() {
            true => self.trial_pause_ms,
            false => 1_000,
        };
        pause_ms.max(self.asked_until_ms.saturating_sub(now_ms))
    }

    /// Whether nothing is under way to it and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty() && !self.in_turn
    }

    /// Whether what is known of an idle one is kept.
    pub(super) fn is_remembered(&self, now_ms: i64) -> bool {
        now_ms < self.used_at_ms.saturating_add(REMEMBERED_MS)
    }

    /// What is kept rather of two: proven ones, and those used later.
    pub(super) fn worth(&self) -> (bool, i64) {
        (self.proven, self.used_at_ms)
    }

    /// A delivery begins.
    pub(super) fn begin(&mut self) {
        self.under_way += 1;
    }

    /// A delivery ends without the receiver being asked.
    pub(super) fn abandon(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// A delivery was taken.
    pub(super) fn taken(&mut self, now_ms: i64) {
        self.abandon();
        self.used_at_ms = now_ms;
        self.window = (self.window + 1).min(WINDOW_MAX);
        self.failures_in_a_row = 0;
        self.resumes_at_ms = i64::MIN;
        self.trial_pause_ms = TRIAL_PAUSE_MS_FIRST;
        self.proven = true;
    }

    /// A delivery was not taken; the receiver may ask for a pause.
    pub(super) fn failed(&mut self, now_ms: i64, asked_ms: i64) {
        self.abandon();
        self.used_at_ms = now_ms;
        self.proven = false;
        self.window = (self.window / 2).max(1);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.asked_until_ms = self.asked_until_ms.max(now_ms.saturating_add(asked_ms));
        if self.is_open() {
            self.window = 1;
            let resumes_at_ms = now_ms.saturating_add(self.trial_pause_ms);
            self.resumes_at_ms = self.resumes_at_ms.max(resumes_at_ms);
            self.trial_pause_ms = (2 * self.trial_pause_ms).min(TRIAL_PAUSE_MS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_that_takes_all_gets_more_and_one_that_fails_gets_less() {
        let mut endpoint = Endpoint::default();
        assert_eq!(endpoint.room(0), WINDOW_FIRST);
        for _ in 0..100 {
            endpoint.begin();
            endpoint.taken(0);
        }
        assert_eq!(endpoint.room(0), WINDOW_MAX);
        assert!(endpoint.is_proven());
        endpoint.begin();
        endpoint.begin();
        assert_eq!(endpoint.room(0), WINDOW_MAX - 2);
        endpoint.failed(0, 0);
        assert_eq!(endpoint.room(0), WINDOW_MAX / 2 - 1);
        assert!(!endpoint.is_proven() && !endpoint.is_open());
    }

    #[test]
    fn an_open_circuit_lets_one_trial_pass_ever_more_seldom_until_one_is_taken() {
        let mut endpoint = Endpoint::default();
        for _ in 0..FAILURES_TO_OPEN {
            endpoint.begin();
            endpoint.failed(0, 0);
        }
        assert!(endpoint.is_open());
        assert_eq!((endpoint.room(4_999), endpoint.room(5_000)), (0, 1));
        assert_eq!(
            endpoint.room_to_retry(0),
            1,
            "what failed keeps its own schedule"
        );
        endpoint.begin();
        endpoint.failed(5_000, 0);
        assert_eq!((endpoint.room(14_999), endpoint.room(15_000)), (0, 1));
        for _ in 0..20 {
            endpoint.begin();
            endpoint.failed(20_000, 0);
        }
        assert_eq!(endpoint.room(20_000 + TRIAL_PAUSE_MS_MAX - 1), 0);
        assert_eq!(endpoint.room(20_000 + TRIAL_PAUSE_MS_MAX), 1);
        endpoint.begin();
        endpoint.taken(0);
        assert!(!endpoint.is_open());
        assert_eq!(endpoint.room(20_001), 2);
    }

    #[test]
    fn a_pause_that_a_receiver_asks_for_holds_for_all_its_deliveries_whatever_it_answers_meanwhile()
    {
        let mut endpoint = Endpoint::default();
        endpoint.begin();
        endpoint.begin();
        endpoint.failed(1_000, 60_000);
        endpoint.taken(1_001);
        for room in [Endpoint::room, Endpoint::room_to_retry] {
            assert_eq!((room(&endpoint, 60_999), room(&endpoint, 61_000)), (0, 5));
        }
        assert_eq!(endpoint.put_off_ms(21_000), 40_000);
    }

    #[test]
    fn an_endpoint_is_remembered_for_days_after_it_was_used() {
        let mut endpoint = Endpoint::default();
        assert!(endpoint.is_idle() && !endpoint.is_remembered(0));
        endpoint.begin();
        endpoint.taken(1_000);
        let over = 1_000 + REMEMBERED_MS;
        assert!(endpoint.is_remembered(over - 1) && !endpoint.is_remembered(over));
    }
}
