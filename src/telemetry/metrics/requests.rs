//! Metrics of requests: responses and their durations, consumption, refusals, connections.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};

use super::{Metric, Metrics};

const REQUESTS: Metric<Counter> = Metric::counter(
    "toise_http_requests_total",
    "Requests answered, by route, method and status class.",
);
const DURATIONS: Metric<Histogram> = Metric::seconds(
    "toise_http_request_duration_seconds",
    "Time from request to response, by route, method and status class.",
);
const CREDITS: Metric<Counter> = Metric::counter(
    "toise_credits_total",
    "Credits charged, by consumption type.",
);
const CALLS: Metric<Counter> = Metric::counter(
    "toise_calls_total",
    "Billable or counted calls, by consumption type.",
);
const REFUSALS: Metric<Counter> = Metric::counter(
    "toise_refusals_total",
    "Requests refused because there were too many, by reason: rate, quota, concurrency, overload, connections or \
     unkeyed.",
);
pub(super) const CONNECTIONS: Metric<Gauge> =
    Metric::gauge("toise_connections", "Open connections.");

/// The route label of requests that match no route.
const UNMATCHED: &str = "unmatched";
/// The method label of methods outside [`METHODS`].
const OTHER_METHOD: &str = "other";
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

toise_base::named! {
    /// The limit that a request exceeded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refusal {
        /// The key's requests per second.
        Rate = "rate",
        /// The key's calls per month.
        Quota = "quota",
        /// The key's concurrent requests.
        Concurrency = "concurrency",
        /// The service's queue of calls.
        Overload = "overload",
        /// The open connections of one address.
        Connections = "connections",
        /// The requests of one address without a valid key.
        Unkeyed = "unkeyed",
    }
}

/// Route, method, class of status.
pub(super) type RequestLabels = (&'static str, &'static str, &'static str);

/// The series of requests with the same labels.
#[derive(Clone)]
pub(super) struct RequestSeries {
    count: Counter,
    duration: Histogram,
}

impl Metrics {
    /// Counts an answered request; `route` is the path in the table of routes, `None` if no route matched.
    pub fn record_request(
        &self,
        route: Option<&'static str>,
        method: &str,
        status: u16,
        duration: Duration,
    ) {
        let method = METHODS
            .into_iter()
            .find(|known| *known == method)
            .unwrap_or(OTHER_METHOD);
        let class = match status {
            100..=199 => "1xx",
            200..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        let labels = (route.unwrap_or(UNMATCHED), method, class);
        let series = self.request_series(labels);
        series.count.increment(1);
        series.duration.record(duration.as_secs_f64());
    }

    fn request_series(&self, labels: RequestLabels) -> RequestSeries {
        let requests = &self.0.requests;
        let known = requests.read();
        if let Some(series) = known.get(&labels) {
            return series.clone();
        }
        drop(known);
        let (route, method, class) = labels;
        let pairs = [("route", route), ("method", method), ("status", class)];
        let series = RequestSeries {
            count: self.series(REQUESTS, &pairs),
            duration: self.series(DURATIONS, &pairs),
        };
        let mut known = requests.write();
        known.entry(labels).or_insert(series).clone()
    }

    /// Counts what a call consumed: its type, the credits charged and the calls counted.
    pub fn record_consumption(&self, consumption_type: &'static str, credits: u64, calls: u64) {
        let pairs = [("type", consumption_type)];
        self.series(CREDITS, &pairs).increment(credits);
        self.series(CALLS, &pairs).increment(calls);
    }

    /// Counts a request refused for exceeding a limit.
    pub fn record_refusal(&self, refusal: Refusal) {
        let pairs = [("reason", refusal.as_str())];
        self.series(REFUSALS, &pairs).increment(1);
    }

    /// Counts a connection as open until the returned value is dropped.
    pub fn connection(&self) -> OpenConnection {
        let connections = self.series(CONNECTIONS, &[]);
        connections.increment(1.0);
        OpenConnection(connections)
    }
}

/// An open connection; dropping it ends the count.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::value;

    #[test]
    fn requests_are_counted_and_timed_by_route_method_and_class() {
        let metrics = Metrics::new().unwrap();
        for (status, ms) in [(200, 3), (204, 30), (422, 1)] {
            metrics.record_request(Some("/version"), "GET", status, Duration::from_millis(ms));
        }
        metrics.run_upkeep();
        metrics.record_request(None, "BREW", 405, Duration::from_millis(1));
        let text = metrics.render();
        let labels = r#"{route="/version",method="GET",status="2xx"}"#;
        assert_eq!(
            value(&text, &format!("{}{labels}", REQUESTS.name())),
            Some(2.0),
            "{text}"
        );
        assert_eq!(
            value(&text, &format!("{}_count{labels}", DURATIONS.name())),
            Some(2.0)
        );
        let within = r#"{route="/version",method="GET",status="2xx",le="0.005"}"#;
        assert_eq!(
            value(&text, &format!("{}_bucket{within}", DURATIONS.name())),
            Some(1.0)
        );
        let unmatched = r#"{route="unmatched",method="other",status="4xx"}"#;
        assert_eq!(
            value(&text, &format!("{}{unmatched}", REQUESTS.name())),
            Some(1.0)
        );
    }

    #[test]
    fn consumption_refusals_and_connections_add_up() {
        let metrics = Metrics::new().unwrap();
        metrics.record_consumption("API_PROPERTIES_GET_BY_ID", 7, 1);
        metrics.record_consumption("API_PROPERTIES_GET_BY_ID", 2, 1);
        metrics.record_refusal(Refusal::Rate);
        let open = metrics.connection();
        drop(metrics.connection());
        let text = metrics.render();
        let by_type = r#"{type="API_PROPERTIES_GET_BY_ID"}"#;
        assert_eq!(
            value(&text, &format!("{}{by_type}", CREDITS.name())),
            Some(9.0),
            "{text}"
        );
        assert_eq!(
            value(&text, &format!("{}{by_type}", CALLS.name())),
            Some(2.0)
        );
        assert_eq!(
            value(&text, r#"toise_refusals_total{reason="rate"}"#),
            Some(1.0)
        );
        assert_eq!(value(&text, "toise_connections "), Some(1.0));
        drop(open);
        assert_eq!(value(&metrics.render(), "toise_connections "), Some(0.0));
    }
}
