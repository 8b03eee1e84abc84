//! The delivery window and circuit breaker of one endpoint, so that a slow or dead receiver does not slow down the
//! others.
//!
//! An endpoint is one URL of one account. Its window is the number of deliveries it may have in flight: it grows with
//! each success and is halved with each failure. After [`FAILURES_TO_OPEN`] failures in a row its circuit breaker
//! opens. Then at most one delivery is in flight at a time, and new deliveries are sent only as probes, at growing
//! intervals, until one succeeds. Failed deliveries keep their own schedule. A pause that the receiver asks for applies
//! to all its deliveries, even if it accepts others in the meantime. This module does no I/O and reads no clock.

use std::collections::VecDeque;

/// Initial window of an unknown endpoint, deliveries in flight.
const WINDOW_FIRST: usize = 8;
/// Maximum window of an endpoint, deliveries in flight.
const WINDOW_MAX: usize = 64;
/// Consecutive failures that open the circuit breaker.
const FAILURES_TO_OPEN: u32 = 5;
/// First pause between two probes, in milliseconds; it doubles with each failed probe.
const PROBE_PAUSE_MS_FIRST: i64 = 5_000;
/// Maximum pause between two probes, in milliseconds.
const PROBE_PAUSE_MS_MAX: i64 = 600_000;
/// How long an idle endpoint is remembered: three days, in milliseconds.
const REMEMBERED_MS: i64 = 3 * 24 * 3_600_000;

/// The state of an endpoint.
#[derive(Debug)]
pub(super) struct EndpointHealth {
    window: usize,
    under_way: usize,
    failures_in_a_row: u32,
    /// Earliest time of a new delivery, because of an open circuit breaker; Unix milliseconds.
    probe_at_ms: i64,
    /// Earliest time of any delivery, because the receiver asked for a pause; Unix milliseconds.
    retry_after_until_ms: i64,
    probe_pause_ms: i64,
    /// Whether the last attempt succeeded.
    is_healthy: bool,
    /// Time of the last response or failure, Unix milliseconds.
    used_at_ms: i64,
    /// Whether the endpoint is in the queue of endpoints, on behalf of its alerts.
    pub(super) is_queued: bool,
    /// Alerts with pending notifications, in the order in which they are served.
    pub(super) waiting: VecDeque<i64>,
}

impl Default for EndpointHealth {
    /// Returns the state of an unknown endpoint.
    fn default() -> Self {
        Self {
            window: WINDOW_FIRST,
            under_way: 0,
            failures_in_a_row: 0,
            probe_at_ms: i64::MIN,
            retry_after_until_ms: i64::MIN,
            probe_pause_ms: PROBE_PAUSE_MS_FIRST,
            is_healthy: false,
            used_at_ms: i64::MIN,
            is_queued: false,
            waiting: VecDeque::new(),
        }
    }
}

impl EndpointHealth {
    /// Returns how many new deliveries may start.
    pub(super) fn capacity(&self, now_ms: i64) -> usize {
        if now_ms < self.probe_at_ms {
            0
        } else {
            self.retry_capacity(now_ms)
        }
    }

    /// Returns how many failed deliveries may be retried.
    pub(super) fn retry_capacity(&self, now_ms: i64) -> usize {
        if now_ms < self.retry_after_until_ms {
            0
        } else {
            self.window.saturating_sub(self.under_way)
        }
    }

    /// Returns whether the last attempt succeeded, so that the endpoint may use slots that other endpoints may not.
    pub(super) fn is_healthy(&self) -> bool {
        self.is_healthy
    }

    /// Returns whether the circuit breaker is open.
    pub(super) fn is_open(&self) -> bool {
        self.failures_in_a_row >= FAILURES_TO_OPEN
    }

    /// Returns the delay of a retry that finds no capacity, in milliseconds.
    pub(super) fn retry_delay_ms(&self, now_ms: i64) -> i64 {
        let pause_ms = if self.is_open() {
            self.probe_pause_ms
        } else {
            1_000
        };
        pause_ms.max(self.retry_after_until_ms.saturating_sub(now_ms))
    }

    /// Returns whether the endpoint has no deliveries in flight and no pending notifications.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.waiting.is_empty() && !self.is_queued
    }

    /// Returns whether an idle endpoint should still be remembered.
    pub(super) fn is_remembered(&self, now_ms: i64) -> bool {
        now_ms < self.used_at_ms.saturating_add(REMEMBERED_MS)
    }

    /// Returns the rank for eviction: healthy endpoints and those used more recently rank higher and stay longer.
    pub(super) fn retention_rank(&self) -> (bool, i64) {
        (self.is_healthy, self.used_at_ms)
    }

    /// Shifts all stored times, after the clock was set forward by `by_ms`.
    pub(super) fn shift(&mut self, by_ms: i64) {
        for moment in [
            &mut self.probe_at_ms,
            &mut self.retry_after_until_ms,
            &mut self.used_at_ms,
        ] {
            *moment = moment.saturating_add(by_ms);
        }
    }

    /// Records the start of a delivery.
    pub(super) fn begin(&mut self) {
        self.under_way += 1;
    }

    /// Records the end of a delivery without an attempt at the receiver.
    pub(super) fn abandon(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Records a successful delivery.
    pub(super) fn record_success(&mut self, now_ms: i64) {
        self.abandon();
        self.used_at_ms = now_ms;
        self.window = (self.window + 1).min(WINDOW_MAX);
        self.failures_in_a_row = 0;
        self.probe_at_ms = i64::MIN;
        self.probe_pause_ms = PROBE_PAUSE_MS_FIRST;
        self.is_healthy = true;
    }

    /// Records a failed delivery; `asked_ms` is the pause the receiver asks for, in milliseconds.
    pub(super) fn record_failure(&mut self, now_ms: i64, asked_ms: i64) {
        self.abandon();
        self.used_at_ms = now_ms;
        self.is_healthy = false;
        self.window = (self.window / 2).max(1);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.retry_after_until_ms = self
            .retry_after_until_ms
            .max(now_ms.saturating_add(asked_ms));
        if self.is_open() {
            self.window = 1;
            let probe_at_ms = now_ms.saturating_add(self.probe_pause_ms);
            self.probe_at_ms = self.probe_at_ms.max(probe_at_ms);
            self.probe_pause_ms = (2 * self.probe_pause_ms).min(PROBE_PAUSE_MS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_success_and_shrinks_with_failure() {
        let mut endpoint = EndpointHealth::default();
        assert_eq!(endpoint.capacity(0), WINDOW_FIRST);
        for _ in 0..100 {
            endpoint.begin();
            endpoint.record_success(0);
        }
        assert_eq!(endpoint.capacity(0), WINDOW_MAX);
        assert!(endpoint.is_healthy());
        endpoint.begin();
        endpoint.begin();
        assert_eq!(endpoint.capacity(0), WINDOW_MAX - 2);
        endpoint.record_failure(0, 0);
        assert_eq!(endpoint.capacity(0), WINDOW_MAX / 2 - 1);
        assert!(!endpoint.is_healthy() && !endpoint.is_open());
    }

    #[test]
    fn an_open_circuit_sends_single_probes_at_growing_intervals_until_one_succeeds() {
        let mut endpoint = EndpointHealth::default();
        for _ in 0..FAILURES_TO_OPEN {
            endpoint.begin();
            endpoint.record_failure(0, 0);
        }
        assert!(endpoint.is_open());
        assert_eq!((endpoint.capacity(4_999), endpoint.capacity(5_000)), (0, 1));
        assert_eq!(
            endpoint.retry_capacity(0),
            1,
            "what failed keeps its own schedule"
        );
        endpoint.begin();
        endpoint.record_failure(5_000, 0);
        assert_eq!(
            (endpoint.capacity(14_999), endpoint.capacity(15_000)),
            (0, 1)
        );
        for _ in 0..20 {
            endpoint.begin();
            endpoint.record_failure(20_000, 0);
        }
        assert_eq!(endpoint.capacity(20_000 + PROBE_PAUSE_MS_MAX - 1), 0);
        assert_eq!(endpoint.capacity(20_000 + PROBE_PAUSE_MS_MAX), 1);
        endpoint.begin();
        endpoint.record_success(0);
        assert!(!endpoint.is_open());
        assert_eq!(endpoint.capacity(20_001), 2);
    }

    #[test]
    fn a_requested_pause_applies_to_all_deliveries_whatever_the_receiver_responds_meanwhile() {
        let mut endpoint = EndpointHealth::default();
        endpoint.begin();
        endpoint.begin();
        endpoint.record_failure(1_000, 60_000);
        endpoint.record_success(1_001);
        for capacity in [EndpointHealth::capacity, EndpointHealth::retry_capacity] {
            assert_eq!(
                (capacity(&endpoint, 60_999), capacity(&endpoint, 61_000)),
                (0, 5)
            );
        }
        assert_eq!(endpoint.retry_delay_ms(21_000), 40_000);
    }

    #[test]
    fn an_endpoint_is_remembered_for_days_after_its_last_use() {
        let mut endpoint = EndpointHealth::default();
        assert!(endpoint.is_idle() && !endpoint.is_remembered(0));
        endpoint.begin();
        endpoint.record_success(1_000);
        let over = 1_000 + REMEMBERED_MS;
        assert!(endpoint.is_remembered(over - 1) && !endpoint.is_remembered(over));
    }
}
