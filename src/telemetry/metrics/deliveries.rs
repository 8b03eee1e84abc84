//! Metrics of webhook deliveries.
//!
//! The label `endpoint` is the host of a receiver, for the first [`ENDPOINTS_MAX`] hosts of a process. Paths and
//! queries may contain secrets of the receivers' owners, and the number of series must not grow with customers.

use std::collections::HashSet;
use std::time::Duration;

use metrics::{Counter, Histogram, Label};
use parking_lot::Mutex;

use super::{Metric, Metrics};

/// Maximum hosts with their own series; the others share one.
const ENDPOINTS_MAX: usize = 100;
/// Label of the shared series.
const OTHER_ENDPOINTS: &str = "other";

const ATTEMPTS: Metric<Counter> = Metric::counter(
    "toise_delivery_attempts_total",
    "Attempts to deliver to webhooks, by receiver host and outcome.",
);
const LAG: Metric<Histogram> = Metric::seconds(
    "toise_delivery_lag_seconds",
    "Time from a match to the first byte of its first delivery.",
);
const DEAD: Metric<Counter> = Metric::counter(
    "toise_deliveries_dead_total",
    "Deliveries whose last attempt failed.",
);
const EXPIRED: Metric<Counter> = Metric::counter(
    "toise_outbox_expired_total",
    "Notifications evicted from the outbox before they were delivered, because of their age or number.",
);

toise_base::named! {
    /// Outcome of a delivery attempt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeliveryOutcome {
        /// The receiver accepted it.
        Delivered = "delivered",
        /// The receiver responded with a status that is not a success.
        Refused = "refused",
        /// No connection or no response in time.
        Timeout = "timeout",
        /// The connection failed or broke off.
        Unreachable = "unreachable",
        /// The receiver responded with 410.
        Gone = "gone",
    }
}

/// The hosts with their own series.
#[derive(Debug, Default)]
pub(super) struct EndpointLabels(Mutex<HashSet<String>>);

impl EndpointLabels {
    /// Returns the label for a receiver's URL.
    fn label(&self, url: &str) -> String {
        let host = url::Url::parse(url).ok().and_then(|url| {
            let host = url.host_str()?.to_owned();
            Some(match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host,
            })
        });
        let mut known = self.0.lock();
        match host {
            Some(host) if known.contains(&host) => host,
            Some(host) if known.len() < ENDPOINTS_MAX => {
                known.insert(host.clone());
                host
            }
            _ => OTHER_ENDPOINTS.to_owned(),
        }
    }
}

impl Metrics {
    /// Counts an attempt to deliver to a URL.
    pub fn record_attempt(&self, url: &str, outcome: DeliveryOutcome) {
        let labels = vec![
            Label::new("endpoint", self.0.endpoints.label(url)),
            Label::from_static_parts("outcome", outcome.as_str()),
        ];
        self.series_with_labels(ATTEMPTS, labels).increment(1);
    }

    /// Records the time from a match to the first byte of its first delivery.
    pub fn record_delivery_lag(&self, lag: Duration) {
        self.series(LAG, &[]).record(lag.as_secs_f64());
    }

    /// Counts a delivery that became a dead letter.
    pub fn record_dead_letter(&self) {
        self.series(DEAD, &[]).increment(1);
    }

    /// Counts notifications evicted before they were delivered.
    pub fn record_expired_notifications(&self, notifications: u64) {
        self.series(EXPIRED, &[]).increment(notifications);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_host_and_outcome_for_a_bounded_number_of_hosts() {
        let metrics = Metrics::new().unwrap();
        metrics.record_attempt(
            "https://hooks.example.com:8443/secret?token=1",
            DeliveryOutcome::Delivered,
        );
        metrics.record_attempt(
            "https://hooks.example.com:8443/other",
            DeliveryOutcome::Delivered,
        );
        for host in 0..2 * ENDPOINTS_MAX {
            metrics.record_attempt(
                &format!("https://host{host}.example.com/"),
                DeliveryOutcome::Timeout,
            );
        }
        metrics.record_delivery_lag(Duration::from_millis(7));
        let text = metrics.render();
        let series = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(series(ATTEMPTS.name()), ENDPOINTS_MAX + 1);
        let both = r#"{endpoint="hooks.example.com:8443",outcome="delivered"} 2"#;
        let attempts = ATTEMPTS.name();
        assert!(text.contains(&format!("{attempts}{both}")), "{text}");
        let others = format!(
            r#"{{endpoint="other",outcome="timeout"}} {}"#,
            ENDPOINTS_MAX + 1
        );
        assert!(text.contains(&format!("{attempts}{others}")), "{text}");
        assert!(!text.contains("secret"));
        assert!(text.contains(&format!("{}_count 1", LAG.name())), "{text}");
    }
}
