//! Timeouts of one connection, by phase: request head, idle.
//!
//! hyper limits the request head and the idle time before it with one timeout, and has none before the first byte.
//! Here they are separate: a head that has begun must be complete within a short time, while a connection between
//! requests may wait longer. [`timed`] records when bytes are read and written, [`Activity::request`] when requests
//! run, and [`Activity::timed_out`] resolves once the connection has exceeded its time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Version;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::io::{InspectReader, InspectWriter};

/// Maximum bytes of one HTTP/2 control write: a ping, an acknowledgement, a window update.
const UPKEEP_BYTES_MAX: usize = 64;

/// Timeouts of a connection by phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// Maximum time for a complete request head, from its first byte; also for the first byte of a new connection.
    pub head: Duration,
    /// Maximum time between a response and the next request.
    pub idle: Duration,
}

/// The state of a connection. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Mutex<ActivityState>>);

#[derive(Debug)]
struct ActivityState {
    /// Requests in progress; over HTTP/2 there may be several.
    running: usize,
    /// When the current phase began.
    since: Instant,
    phase: ConnectionPhase,
    /// Whether bytes between requests begin a head. Over HTTP/2 they may also be a ping.
    bytes_begin_heads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    /// Waiting for a head or receiving one.
    Head,
    /// Nothing has been received since the last response.
    Idle,
}

impl Activity {
    /// Returns the state of a connection that was just accepted.
    pub(super) fn begin(now: Instant) -> Self {
        let state = ActivityState {
            running: 0,
            since: now,
            phase: ConnectionPhase::Head,
            bytes_begin_heads: true,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Marks a request as running for as long as the returned value lives.
    pub(super) fn request(&self, version: Version) -> RunningRequest {
        let mut state = self.state();
        state.running += 1;
        state.bytes_begin_heads = version < Version::HTTP_2;
        RunningRequest(self.clone())
    }

    /// Resolves when the connection has exceeded its time; never while a request runs.
    pub(super) async fn timed_out(&self, timeouts: Timeouts) {
        loop {
            let now = Instant::now();
            let deadline = self.deadline(timeouts, now);
            if deadline <= now {
                return;
            }
            // An event in the meantime may move the deadline closer than the one just computed.
            let next_check = now + timeouts.head.min(timeouts.idle);
            tokio::time::sleep_until(deadline.min(next_check)).await;
        }
    }

    /// Returns the end of the current phase's time, or a time after `now` while a request runs.
    fn deadline(&self, timeouts: Timeouts, now: Instant) -> Instant {
        let state = self.state();
        match state.phase {
            _ if state.running > 0 => now + timeouts.head.min(timeouts.idle),
            ConnectionPhase::Head => state.since + timeouts.head,
            ConnectionPhase::Idle => state.since + timeouts.idle,
        }
    }

    fn bytes_read(&self, now: Instant) {
        let mut state = self.state();
        if state.running == 0 && state.phase == ConnectionPhase::Idle && state.bytes_begin_heads {
            state.phase = ConnectionPhase::Head;
            state.since = now;
        }
    }

    /// Restarts the idle time, so that a long response on a slow line does not count as idle.
    fn bytes_written(&self, bytes: usize, now: Instant) {
        let mut state = self.state();
        if state.phase == ConnectionPhase::Idle && bytes > UPKEEP_BYTES_MAX {
            state.since = now;
        }
    }

    fn request_ended(&self, now: Instant) {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        state.phase = ConnectionPhase::Idle;
        state.since = now;
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        // Nothing panics while the lock is held, so the state is valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct RunningRequest(Activity);

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.request_ended(Instant::now());
    }
}

/// Returns a stream that records when bytes are read and written.
pub(super) fn timed<S>(
    stream: S,
    activity: Activity,
) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let reading = activity.clone();
    let stream = InspectReader::new(stream, move |bytes: &[u8]| {
        // Empty at the end of the stream.
        if !bytes.is_empty() {
            reading.bytes_read(Instant::now());
        }
    });
    InspectWriter::new(stream, move |bytes: &[u8]| {
        activity.bytes_written(bytes.len(), Instant::now());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        head: Duration::from_secs(30),
        idle: Duration::from_secs(75),
    };

    /// Returns the seconds from `start` until the connection times out in its current state.
    fn until_s(activity: &Activity, start: Instant) -> u64 {
        (activity.deadline(TIMEOUTS, start) - start).as_secs()
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_head_and_an_idle_connection_have_separate_timeouts() {
        let start = Instant::now();
        let activity = Activity::begin(start);
        activity.bytes_read(after(start, 10));
        assert_eq!(until_s(&activity, start), 30);

        let _running = activity.request(Version::HTTP_11);
        activity.request_ended(start);
        assert_eq!(until_s(&activity, start), 75);

        // The first byte of the next head ends the idle time; further bytes do not extend the head's.
        activity.bytes_read(after(start, 60));
        activity.bytes_read(after(start, 70));
        assert_eq!(until_s(&activity, start), 90);
    }

    #[test]
    fn a_connection_does_not_time_out_while_a_request_runs_or_a_response_is_written() {
        let start = Instant::now();
        let activity = Activity::begin(start);
        let _running = activity.request(Version::HTTP_11);
        let late = after(start, 10_000);
        assert!(activity.deadline(TIMEOUTS, late) > late);
        activity.request_ended(start);
        activity.bytes_written(4_096, after(start, 70));
        assert_eq!(until_s(&activity, start), 145);
    }

    #[test]
    fn pings_between_requests_of_http2_do_not_change_the_idle_time() {
        let start = Instant::now();
        let activity = Activity::begin(start);
        let _running = activity.request(Version::HTTP_2);
        activity.request_ended(start);
        activity.bytes_read(after(start, 40));
        activity.bytes_written(17, after(start, 40));
        assert_eq!(until_s(&activity, start), 75);
    }
}
