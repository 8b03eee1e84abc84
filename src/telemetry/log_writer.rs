//! The writer behind log lines. It accepts every line without blocking and never fails, even if standard error does.
//!
//! Lines wait in a queue for a separate thread, so a reader that stalls, a full disk or a dead pipe delays no request.
//! Lines are left out when the queue is full, when they exceed [`BYTES_PER_S_MAX`], or when they cannot be written. A
//! separate line reports how many once lines can be written again, and so does [`LogWriter::left_out`].

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing_subscriber::fmt::MakeWriter;

/// Maximum length of a line, bytes. Longer lines are cut.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// Maximum bytes of log lines per second.
pub const BYTES_PER_S_MAX: u64 = 2 << 20;
/// Capacity of a bucket, in seconds of its rate.
const BURST_S: u64 = 2;
/// Maximum lines that wait to be written.
const QUEUE_LINES_MAX: usize = 8_192;
/// Maximum wait for lines to be written when the process ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Lines are written together up to this many bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Pause in which lines gather, so that a request seldom has to wake the thread.
const GATHERING: Duration = Duration::from_millis(5);
/// Interval between lines that report how many were left out.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Bounded, non-blocking writer of log lines. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LogWriter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: SyncSender<Message>,
    format: LogFormat,
    began: Instant,
    lines: Mutex<Bucket>,
    left_out: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    /// Writes everything sent before it, then notifies the sender.
    Flush(SyncSender<()>),
}

/// A token bucket of bytes.
#[derive(Debug)]
struct Bucket {
    bytes_per_s: u64,
    /// Bytes that may be taken now.
    available: u64,
    filled_at: Duration,
}

impl Bucket {
    fn new(bytes_per_s: u64) -> Self {
        Self {
            bytes_per_s,
            available: bytes_per_s * BURST_S,
            filled_at: Duration::ZERO,
        }
    }

    /// Takes bytes from the allowance as of a given time and returns `true`; takes none and returns `false` if too few
    /// are left.
    fn take(&mut self, bytes: usize, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled_at);
        let fresh = passed.as_micros() * u128::from(self.bytes_per_s) / 1_000_000;
        // Keeps fractions of a byte: `filled_at` changes only when at least one byte is added.
        if fresh > 0 {
            let full = self.bytes_per_s * BURST_S;
            let fresh = u64::try_from(fresh).unwrap_or(full);
            self.available = self.available.saturating_add(fresh).min(full);
            self.filled_at = now;
        }
        let left = self.available.checked_sub(bytes as u64);
        self.available = left.unwrap_or(self.available);
        left.is_some()
    }
}

impl LogWriter {
    /// Creates a writer to `to` that runs on its own thread. If the thread cannot start, every line is left out.
    pub fn start(format: LogFormat, to: impl Write + Send + 'static) -> Self {
        let (queue, waiting) = sync_channel(QUEUE_LINES_MAX);
        let left_out = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&left_out);
        let _ = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || write_all(to, format, &waiting, &counted));
        Self(Arc::new(Shared {
            queue,
            format,
            began: Instant::now(),
            lines: Mutex::new(Bucket::new(BYTES_PER_S_MAX)),
            left_out,
        }))
    }

    /// Returns the number of lines left out so far.
    pub fn left_out(&self) -> u64 {
        self.0.left_out.load(Ordering::Relaxed)
    }

    /// Waits until the lines accepted so far are written, for two seconds at most.
    pub fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.0.queue.try_send(Message::Flush(done)).is_ok() {
            // Lines that are not written in time are lost.
            let _ = written.recv_timeout(CLOSE_TIMEOUT);
        }
    }

    fn put(&self, line: &[u8]) {
        let line = bounded(line, self.0.format);
        let is_taken = self.0.lines.lock().take(line.len(), self.0.began.elapsed());
        if !is_taken || self.0.queue.try_send(Message::Line(line)).is_err() {
            self.0.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Cuts a line to at most [`LINE_BYTES_MAX`] bytes.
fn bounded(line: &[u8], format: LogFormat) -> Vec<u8> {
    if line.len() <= LINE_BYTES_MAX {
        return line.to_vec();
    }
    // In JSON, a byte may take up to six bytes.
    let kept = match format {
        LogFormat::Text => LINE_BYTES_MAX - 64,
        LogFormat::Json => LINE_BYTES_MAX / 6 - 64,
    };
    let begin = String::from_utf8_lossy(&line[..kept]);
    match format {
        LogFormat::Text => format!("{begin}… ({} bytes)\n", line.len()),
        LogFormat::Json => {
            let cut = serde_json::json!({"level": "WARN", "cut": begin, "bytes": line.len()});
            format!("{cut}\n")
        }
    }
    .into_bytes()
}

fn write_all(
    mut to: impl Write,
    format: LogFormat,
    waiting: &Receiver<Message>,
    left_out: &AtomicU64,
) {
    let mut reported = 0;
    let mut reported_at = Instant::now();
    let mut text = Vec::new();
    loop {
        let first = match waiting.recv_timeout(REPORT_INTERVAL) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut lines = 0;
        let mut flushed = None;
        text.clear();
        for message in first.into_iter().chain(waiting.try_iter()) {
            match message {
                Message::Line(line) => {
                    text.extend(line);
                    lines += 1;
                }
                Message::Flush(done) => flushed = Some(done),
            }
            if flushed.is_some() || text.len() >= TEXT_BYTES_MAX {
                break;
            }
        }
        if lines > 0 && to.write_all(&text).is_err() {
            left_out.fetch_add(lines, Ordering::Relaxed);
        }
        if let Some(done) = flushed {
            let _ = to.flush();
            let _ = done.try_send(());
        } else if lines > 0 {
            std::thread::sleep(GATHERING);
        }
        let now = left_out.load(Ordering::Relaxed);
        if now > reported && reported_at.elapsed() >= REPORT_INTERVAL {
            reported_at = Instant::now();
            if to.write_all(&gap(now - reported, format)).is_ok() {
                reported = now;
            }
        }
    }
}

/// Returns the log line that says how many lines are missing.
fn gap(lines: u64, format: LogFormat) -> Vec<u8> {
    let message = "log lines were dropped";
    match format {
        LogFormat::Text => format!("WARN toise_telemetry: {message} lines={lines}\n"),
        LogFormat::Json => {
            let line = serde_json::json!({"level": "WARN", "message": message, "lines": lines});
            format!("{line}\n")
        }
    }
    .into_bytes()
}

impl Write for &LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for LogWriter {
    type Writer = &'w LogWriter;

    fn make_writer(&'w self) -> Self::Writer {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores what is written, or fails.
    #[derive(Clone, Default)]
    struct Sink {
        written: Arc<Mutex<Vec<u8>>>,
        fails: bool,
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.fails {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            self.written.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Runs `work` under a subscriber like the service's.
    fn logged(writer: &LogWriter, work: impl FnOnce()) {
        let subscriber = tracing_subscriber::fmt()
            .with_writer(writer.clone())
            .log_internal_errors(false)
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        writer.flush();
    }

    #[test]
    fn lines_that_cannot_be_written_fail_nobody_and_are_counted() {
        let sink = Sink {
            fails: true,
            ..Sink::default()
        };
        let writer = LogWriter::start(LogFormat::Text, sink);
        logged(&writer, || {
            for _ in 0..10 {
                tracing::info!("answered");
            }
        });
        assert_eq!(writer.left_out(), 10);
    }

    #[test]
    fn a_stalled_reader_delays_nobody() {
        let (read, write) = io::pipe().unwrap();
        let writer = LogWriter::start(LogFormat::Text, write);
        let line = [b'x'; 1_000];
        for _ in 0..2 * QUEUE_LINES_MAX {
            writer.put(&line);
        }
        assert!(writer.left_out() > 0);
        drop(read);
    }

    #[test]
    fn lines_beyond_the_rate_are_left_out_and_counted() {
        let mut bucket = Bucket::new(1_000);
        let second = Duration::from_secs(1);
        assert!(bucket.take(2_000, Duration::ZERO));
        assert!(!bucket.take(1, Duration::ZERO));
        assert!(bucket.take(500, second / 2));
        assert!(!bucket.take(1, second / 2));
        assert!(bucket.take(2_000, 100 * second));
        assert!(!bucket.take(1, 100 * second));

        let sink = Sink::default();
        let writer = LogWriter::start(LogFormat::Text, sink.clone());
        let path = "/x".repeat(4_000);
        logged(&writer, || {
            for _ in 0..1_000 {
                tracing::info!(path, "answered");
            }
        });
        let written = String::from_utf8(sink.written.lock().clone()).unwrap();
        let bound = (BURST_S + 1) * BYTES_PER_S_MAX;
        assert!(written.len() as u64 <= bound, "{} bytes", written.len());
        assert!(writer.left_out() > 0);
    }

    #[test]
    fn a_long_line_is_cut_and_stays_json() {
        let line = vec![0x01; 10 * LINE_BYTES_MAX];
        let text = bounded(&line, LogFormat::Text);
        assert!(text.len() <= LINE_BYTES_MAX && text.ends_with(b"bytes)\n"));
        let json = bounded(&line, LogFormat::Json);
        assert!(json.len() <= LINE_BYTES_MAX);
        let read: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(read["bytes"], 10 * LINE_BYTES_MAX);
    }
}
