//! The servers under test: started, stopped, and restarted after a fault ended them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use super::answers::{CHARGED, PRICE};
use super::faults::Faults;
use crate::support::process::toise;

/// Maximum wait for a server to start, to end, or to be ready again. It is long, because a busy machine may be slow.
const WITHIN: Duration = Duration::from_secs(240);
/// The peak memory of a process.
const MEMORY_MAX: &str = "VmHWM:";
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes of the log that a failure shows.
const LOG_BYTES: usize = 4_000;

/// A server that runs.
pub struct Running {
    child: Child,
    /// Its address.
    pub address: String,
}

impl Running {
    /// The identifier of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal (`-STOP`).
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .arg(signal)
            .arg(self.id().to_string())
            .status();
        assert!(sent.unwrap().success(), "{signal}");
    }

    /// A size of its memory, in KiB: `VmSize:`, or [`MEMORY_MAX`].
    pub fn memory_kib(&self, what: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(what));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.map_or(0, |number| number.parse().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The servers of a folder, one most of the time.
pub struct Servers {
    /// The data folder.
    pub data: PathBuf,
    /// Their faults.
    pub faults: Arc<Faults>,
    /// Those that run.
    pub running: Vec<Running>,
    /// How often one was started.
    pub starts: usize,
    /// The peak memory of any of them, in KiB.
    pub memory_kib: u64,
    /// The longest start.
    pub longest_start: Duration,
    log: PathBuf,
    addresses: watch::Sender<Vec<String>>,
}

impl Servers {
    /// None that runs yet.
    pub fn new(data: PathBuf, log: PathBuf, faults: Arc<Faults>) -> Self {
        Self {
            data,
            faults,
            running: Vec::new(),
            starts: 0,
            memory_kib: 0,
            longest_start: Duration::ZERO,
            log,
            addresses: watch::Sender::new(Vec::new()),
        }
    }

    /// The addresses of running servers, which clients follow.
    pub fn addresses(&self) -> watch::Receiver<Vec<String>> {
        self.addresses.subscribe()
    }

    /// The end of their logs.
    pub fn logged(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let end = &log[log.len().saturating_sub(LOG_BYTES)..];
        String::from_utf8_lossy(end).into_owned()
    }

    /// Starts one.
    ///
    /// # Errors
    /// It ended, or did not become ready in time.
    pub async fn start(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let mut options = OpenOptions::new();
        let log: File = options.create(true).append(true).open(&self.log).unwrap();
        let mut command = toise(&self.data, &["serve", "--listen", "127.0.0.1:0"]);
        command
            .args(["--allow-webhook-hosts", "127.0.0.1"])
            .args(["--allow-collect-hosts", "127.0.0.1"])
            .args(["--price", &format!("{CHARGED}={PRICE}")])
            .args(["--set", "collect.host_delay_ms=0"])
            .args(["--set", "collect.wait_s=2"])
            .args(["--set", "server.disk_free_min_mib=1"])
            .args(["--set", "log.level=warn"])
            .args(["--set", "sql.time_s=2"])
            .stdout(Stdio::piped())
            .stderr(log);
        self.faults.preload(&mut command, &self.data);
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let mut running = Running {
            child,
            address: String::new(),
        };
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            let mut output = BufReader::new(output);
            output.read_line(&mut line).map(|_| line)
        });
        let line = match tokio::time::timeout(WITHIN, reading).await {
            Ok(line) => line.unwrap().unwrap_or_default(),
            Err(_) => return Err(format!("a server is not ready {WITHIN:?} after its start")),
        };
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            return Err(format!("a server does not start: {}", self.logged()));
        };
        running.address = ready["address"].as_str().unwrap().to_owned();
        self.running.push(running);
        self.starts += 1;
        self.longest_start = self.longest_start.max(began.elapsed());
        self.publish();
        Ok(())
    }

    /// Kills one.
    pub fn kill(&mut self, place: usize) {
        let killed = self.running.remove(place);
        self.memory_kib = self.memory_kib.max(killed.memory_kib(MEMORY_MAX));
        drop(killed);
        self.publish();
    }

    /// Asks one to end, and returns how it ended.
    ///
    /// # Errors
    /// It did not end in time.
    pub async fn terminate(&mut self, place: usize) -> Result<Option<i32>, String> {
        let mut ending = self.running.remove(place);
        self.memory_kib = self.memory_kib.max(ending.memory_kib(MEMORY_MAX));
        self.publish();
        ending.signal("-TERM");
        let asked = Instant::now();
        while asked.elapsed() < WITHIN {
            if let Some(status) = ending.child.try_wait().unwrap() {
                return Ok(status.code());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(format!("a server runs on {WITHIN:?} after SIGTERM"))
    }

    /// Waits until the first server is ready; starts it again if it ended and that is allowed.
    ///
    /// # Errors
    /// It ended by itself although it must not, or does not become ready.
    pub async fn revive(&mut self, may_end: bool) -> Result<(), String> {
        let client = crate::support::http_client();
        let since = Instant::now();
        let mut said = String::from("nothing");
        while since.elapsed() < WITHIN {
            if let Some(status) = self.ended() {
                if !may_end {
                    let log = self.logged();
                    return Err(format!("the server ended by itself ({status}): {log}"));
                }
                self.running.remove(0);
                self.publish();
                self.start().await?;
            }
            let url = format!("{}/healthz", self.running[0].address);
            if let Ok(answer) = client.get(url).timeout(WITHIN / 10).send().await {
                if answer.status() == 200 {
                    self.memory_kib = self.memory_kib.max(self.running[0].memory_kib(MEMORY_MAX));
                    return Ok(());
                }
                said = answer.text().await.unwrap_or_default();
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let log = self.logged();
        Err(format!("not ready again within {WITHIN:?}: {said}; {log}"))
    }

    /// How the first server ended, if it did.
    fn ended(&mut self) -> Option<ExitStatus> {
        self.running[0].child.try_wait().unwrap()
    }

    fn publish(&self) {
        let addresses = self.running.iter().map(|running| running.address.clone());
        self.addresses.send_replace(addresses.collect());
    }
}
