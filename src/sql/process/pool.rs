//! The server's pool of the processes that run queries: starts them, keeps some ready for the next query, and ends
//! them.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::messages::{Order, Report};
use super::shared::{Place, SharedReader};
use super::{Launch, SPILL_PREFIX, frames};
use crate::SqlError;
use crate::limits::Limit;
use toise_base::staging::Stage;

/// Processes that wait for a query.
const IDLE_MAX: usize = 2;
/// Bytes of a result that the pipe buffers, so that a process continues while the server passes them on. This is the
/// most that Linux allows without privileges.
#[cfg(target_os = "linux")]
const PIPE_BYTES: i32 = 1 << 20;
/// Last messages of a process that are kept, to explain its end.
const MESSAGES_MAX: usize = 20;
/// Maximum bytes of a message that are kept. An error of the engine may quote values of any length.
const LINE_BYTES_MAX: usize = 4 << 10;
/// Maximum wait for the exit status of a process that has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// The runtime's message when the operating system refuses memory.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// The runtime's message when a stack overflows.
const STACK_OVERFLOW: &str = "has overflowed its stack";
/// Messages that the runtime writes before a process ends.
const ENDS: [&str; 2] = [OUT_OF_MEMORY, STACK_OVERFLOW];
/// Number of the signal for too much time on the processor.
const SIGXCPU: i32 = 24;
/// Number of the signal by which the system ends a process when its memory is exhausted.
const SIGKILL: i32 = 9;

/// Processes that are ready for a query. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    launch: Launch,
    idle: Mutex<Vec<QueryProcess>>,
    is_starting: AtomicBool,
}

impl Pool {
    pub fn new(launch: Launch) -> Self {
        Self(Arc::new(Inner {
            launch,
            idle: Mutex::default(),
            is_starting: AtomicBool::default(),
        }))
    }

    /// Returns a process for one query, and starts another one for the next.
    ///
    /// # Errors
    /// The process cannot be started.
    pub async fn take(&self, handle: &Handle) -> io::Result<QueryProcess> {
        let process = match self.ready() {
            Some(process) => process,
            None => QueryProcess::start(&self.0.launch).await?,
        };
        self.prepare(handle);
        Ok(process)
    }

    /// Returns a process that waits for a query. The system may have ended one in the meantime, for its memory.
    fn ready(&self) -> Option<QueryProcess> {
        let mut idle = self.0.idle.lock();
        while let Some(mut process) = idle.pop() {
            if process.is_running() {
                return Some(process);
            }
        }
        None
    }

    /// Starts a process in the background, unless one is ready.
    pub fn prepare(&self, handle: &Handle) {
        let inner = Arc::clone(&self.0);
        if !inner.idle.lock().is_empty() || inner.is_starting.swap(true, Ordering::AcqRel) {
            return;
        }
        handle.spawn(async move {
            match QueryProcess::start(&inner.launch).await {
                // New processes are used last: processes that have run a query have files open already and know which
                // other machines respond.
                Ok(process) => inner.idle.lock().insert(0, process),
                Err(error) => tracing::error!(%error, "cannot start a process for queries"),
            }
            inner.is_starting.store(false, Ordering::Release);
        });
    }

    /// Takes back a process whose query has ended.
    pub fn give_back(&self, process: QueryProcess) {
        let mut idle = self.0.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(process);
        }
    }
}

/// A process that runs queries, one at a time; it ends when this is dropped.
pub(crate) struct QueryProcess {
    child: Child,
    orders: Arc<tokio::sync::Mutex<ChildStdin>>,
    reports: BufReader<ChildStdout>,
    messages: JoinHandle<String>,
    shared: Option<SharedReader>,
    /// The folder it spills to; removed with it.
    _spill: Stage,
}

/// Sends orders to a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Orders(Arc<tokio::sync::Mutex<ChildStdin>>);

impl Orders {
    pub(super) async fn send(&self, order: &Order, body: &[u8]) -> io::Result<()> {
        frames::write(&mut *self.0.lock().await, order, body).await
    }
}

impl QueryProcess {
    async fn start(launch: &Launch) -> io::Result<Self> {
        // Also deletes the folders that killed servers left behind, which may take seconds.
        let spilling =
            tokio::task::spawn_blocking(|| Stage::create(SPILL_PREFIX, &std::env::temp_dir()));
        let spill = spilling.await.map_err(io::Error::other)?;
        let spill = spill.map_err(io::Error::other)?;
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            .env_clear()
            .env("TMPDIR", spill.path())
            // Without this, memory would count towards the limit of the process before it is used.
            .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let orders = child.stdin.take().ok_or_else(missing)?;
        let reports = child.stdout.take().ok_or_else(missing)?;
        let messages = child.stderr.take().ok_or_else(missing)?;
        let shared = SharedReader::create();
        let path = shared.as_ref().and_then(|shared| shared.path().to_str());
        let path = path.unwrap_or_default().to_owned();
        let process = Self {
            child,
            orders: Arc::new(tokio::sync::Mutex::new(orders)),
            reports: BufReader::new(widened(reports)),
            messages: tokio::spawn(copy_to_log(messages)),
            shared,
            _spill: spill,
        };
        let setup = &launch.setup;
        frames::write(&mut *process.orders.lock().await, setup, path.as_bytes()).await?;
        Ok(process)
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn orders(&self) -> Orders {
        Orders(Arc::clone(&self.orders))
    }

    /// Returns the next message; `None` if the process has ended.
    pub(super) async fn report(&mut self) -> io::Result<Option<(Report, Bytes)>> {
        frames::read(&mut self.reports).await
    }

    /// Copies a piece of a result from the shared memory, and frees its slot.
    ///
    /// # Errors
    /// There is no such piece, or the process has ended.
    pub(super) async fn copied(&self, place: Place) -> io::Result<Bytes> {
        let shared = self.shared.as_ref().ok_or(io::ErrorKind::InvalidData)?;
        let piece = shared.read(place)?;
        let index = place.index;
        self.orders().send(&Order::Copied { index }, &[]).await?;
        Ok(piece)
    }

    /// Returns the error of a query whose process has ended by itself.
    pub async fn ended(mut self) -> SqlError {
        let Ok(Ok(status)) = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await else {
            return SqlError::internal("a query process closed its output");
        };
        let messages = tokio::time::timeout(EXIT_TIMEOUT, self.messages).await;
        let messages = messages.ok().and_then(Result::ok).unwrap_or_default();
        reason(status, &messages)
    }
}

/// Makes a pipe hold [`PIPE_BYTES`], if the system allows it.
#[cfg(target_os = "linux")]
fn widened(pipe: ChildStdout) -> ChildStdout {
    use nix::fcntl::{FcntlArg, fcntl};
    if let Err(error) = fcntl(&pipe, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES)) {
        tracing::debug!(%error, "a pipe keeps its size");
    }
    pipe
}

#[cfg(not(target_os = "linux"))]
fn widened(pipe: ChildStdout) -> ChildStdout {
    pipe
}

/// Returns the error of a query whose process ended with a status and these last messages.
fn reason(status: ExitStatus, messages: &str) -> SqlError {
    let signal = status.signal();
    if messages.contains(OUT_OF_MEMORY) || signal == Some(SIGKILL) {
        return SqlError::Limit(Limit::Memory);
    }
    if messages.contains(STACK_OVERFLOW) {
        return SqlError::invalid("the query is nested too deeply");
    }
    if signal == Some(SIGXCPU) {
        return SqlError::Limit(Limit::Processor);
    }
    SqlError::internal(format!("a query process ended: {status}: {messages}"))
}

/// Copies the messages of a process to the log until it ends, and returns the last of them.
async fn copy_to_log(from: impl AsyncRead + Unpin) -> String {
    let mut from = BufReader::new(from);
    let mut last = VecDeque::new();
    while let Some(line) = next_line(&mut from).await {
        // These messages are not logged: the caller learns from the error how the process ended.
        if last.is_empty() && !ENDS.iter().any(|end| line.contains(end)) {
            tracing::info!("{line}");
            continue;
        }
        last.push_back(line);
        if last.len() > MESSAGES_MAX {
            last.pop_front();
        }
    }
    Vec::from(last).join("\n")
}

/// Returns the next line, cut after [`LINE_BYTES_MAX`]; `None` at the end.
async fn next_line(from: &mut (impl AsyncBufRead + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    let mut has_ended = false;
    while !has_ended {
        let bytes = from.fill_buf().await.ok()?;
        if bytes.is_empty() {
            if line.is_empty() {
                return None;
            }
            break;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let of_line = &bytes[..end.unwrap_or(bytes.len())];
        let room = LINE_BYTES_MAX.saturating_sub(line.len());
        line.extend_from_slice(&of_line[..of_line.len().min(room)]);
        has_ended = end.is_some();
        let read = of_line.len() + usize::from(has_ended);
        from.consume(read);
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_of_any_length_and_bytes_are_read_to_the_end() {
        let long = "x".repeat(10 * LINE_BYTES_MAX);
        let written = [
            b"one\n\n".as_slice(),
            long.as_bytes(),
            b"\n\xff\nlast".as_slice(),
        ]
        .concat();
        let mut from = BufReader::new(written.as_slice());
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut from).await {
            lines.push(line);
        }
        assert_eq!(lines.len(), 5);
        assert_eq!([&*lines[0], &*lines[1]], ["one", ""]);
        assert_eq!(lines[2], long[..LINE_BYTES_MAX]);
        assert_eq!([&*lines[3], &*lines[4]], ["\u{fffd}", "last"]);
    }
}
