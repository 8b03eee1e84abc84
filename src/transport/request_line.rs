//! The log line of a request.
//!
//! Text that a client chose is truncated. The lines of requests without a valid key get a smaller share of the log,
//! because anybody can send any number of them ([`toise_telemetry::log_writer`]).

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use uuid::Uuid;

use toise_telemetry::log_writer::UNKEYED;

/// Maximum bytes of a path in the log.
const PATH_BYTES_MAX: usize = 200;
/// Maximum bytes of a method in the log.
const METHOD_BYTES_MAX: usize = 16;

/// A request that was answered.
#[derive(Debug)]
pub struct RequestLine<'r> {
    /// Its identifier.
    pub request_id: Uuid,
    /// Address of the client; `None` for a call of this process.
    pub client: Option<IpAddr>,
    /// Method.
    pub method: &'r str,
    /// Path, without the query.
    pub path: &'r str,
    /// Status of the answer.
    pub status: u16,
    /// The key, if it is valid.
    pub key_id: Option<Uuid>,
    /// Credits charged.
    pub credits: u64,
    /// Time from the head to the answer.
    pub duration: Duration,
}

/// Writes the log line of a request.
pub fn write(line: &RequestLine<'_>) {
    macro_rules! line {
        ($target:expr) => {
            tracing::info!(
                target: $target,
                request_id = %line.request_id,
                client = line.client.map(tracing::field::display),
                method = shown(line.method, METHOD_BYTES_MAX).as_ref(),
                path = shown(line.path, PATH_BYTES_MAX).as_ref(),
                status = line.status,
                key_id = line.key_id.map(tracing::field::display),
                credits = line.credits,
                duration_us = line.duration.as_micros() as u64,
                "answered"
            )
        };
    }
    match line.key_id {
        Some(_) => line!(module_path!()),
        None => line!(UNKEYED),
    }
}

/// Truncates a text that a client chose, and appends its length if it was longer.
fn shown(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let begin = &text[..text.floor_char_boundary(bytes_max)];
    Cow::Owned(format!("{begin}… ({} bytes)", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// A subscriber that remembers the targets of lines.
    #[derive(Clone, Default)]
    struct Targets(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Targets {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.lock().push(event.metadata().target().to_owned());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn requests_without_a_valid_key_have_a_part_of_the_log_of_their_own() {
        let targets = Targets::default();
        let of_key = |key_id| RequestLine {
            request_id: Uuid::now_v7(),
            client: None,
            method: "GET",
            path: "/version",
            status: 200,
            key_id,
            credits: 0,
            duration: Duration::ZERO,
        };
        tracing::subscriber::with_default(targets.clone(), || {
            write(&of_key(None));
            write(&of_key(Some(Uuid::now_v7())));
        });
        assert_eq!(
            *targets.0.lock(),
            [UNKEYED, module_path!().trim_end_matches("::tests")]
        );
    }

    #[test]
    fn the_log_shows_the_beginning_of_long_paths() {
        assert_eq!(shown("/version", 8), "/version");
        assert_eq!(shown("/é€", 5), "/é… (6 bytes)");
    }
}
