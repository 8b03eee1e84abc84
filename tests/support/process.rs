//! The executable as users run it.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The executable: the one built with the tests, or that of `TOISE_EXECUTABLE`, such as a release build.
pub fn executable() -> OsString {
    let given = std::env::var_os("TOISE_EXECUTABLE");
    given.unwrap_or_else(|| env!("CARGO_BIN_EXE_toise").into())
}

/// The command with a data folder, without input and with JSON output.
pub fn toise(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(executable());
    command
        .arg("--data")
        .arg(data)
        .arg("--json")
        .args(arguments);
    command.stdin(Stdio::null()).env_remove("RUST_LOG");
    command
}

/// Runs the command to its end, which may be a failure.
pub fn try_run(data: &Path, arguments: &[&str]) -> Output {
    toise(data, arguments).output().unwrap()
}

/// Runs the command to its end and parses its output.
pub fn run(data: &Path, arguments: &[&str]) -> Value {
    let output = try_run(data, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        errors(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// Writes a file into a folder and returns its path, as an argument of a command.
pub fn write_file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes invented sales into a folder and returns the path of the file.
pub fn write_sales(folder: &Path, sales: &str, seed: &str) -> String {
    let output = folder.to_str().unwrap();
    run(
        folder,
        &["synth", "--dvf", sales, "--seed", seed, "--output", output],
    );
    format!("{output}/dvf-synth.csv")
}

/// Imports invented sales and returns the report.
pub fn import_sales(data: &Path, sales: &str, seed: &str) -> Value {
    let files = tempfile::tempdir().unwrap();
    let file = write_sales(files.path(), sales, seed);
    run(data, &["import", "dvf", &file])
}

/// Creates a key with some options of `keys create`.
pub fn new_key(data: &Path, options: &[&str]) -> String {
    let made = run(data, &[&["keys", "create"], options].concat());
    made["key"].as_str().unwrap().to_owned()
}

/// An environment variable, or a default where it is not set.
pub fn variable<T: FromStr<Err: Debug>>(name: &str, otherwise: T) -> T {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().unwrap())
}

/// The standard error output of a command.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A number returned by an SQL query.
pub fn sql_number(data: &Path, query: &str) -> i64 {
    let rows = run(data, &["sql", query]);
    let first = rows[0]
        .as_object()
        .unwrap_or_else(|| panic!("{query}: {rows}"));
    first.values().next().unwrap().as_i64().unwrap()
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    /// Its address, `http://…`.
    pub address: String,
    /// The line it printed when it became ready.
    pub ready: Value,
}

impl Server {
    /// Starts `serve` or `demo` on a free port and waits until it is ready.
    pub fn start(data: &Path, command: &str) -> Self {
        Self::start_with(data, command, &[], Stdio::null())
    }

    /// Starts a server with more arguments and the given standard error.
    pub fn start_with(data: &Path, command: &str, more: &[&str], stderr: Stdio) -> Self {
        let mut command = toise(data, &[command, "--listen", "127.0.0.1:0"]);
        Self::ready(command.args(more).stderr(stderr))
    }

    /// Runs a command that serves, and waits until it is ready.
    pub fn ready(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = ready["address"].as_str().unwrap().to_owned();
        Self {
            child,
            address,
            ready,
        }
    }

    /// The identifier of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.address.split("//").nth(1).unwrap()
    }

    /// Sends a signal (`-HUP`).
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .arg(signal)
            .arg(self.child.id().to_string())
            .status();
        assert!(sent.unwrap().success());
    }

    /// Sends SIGTERM and returns the exit code, within five seconds.
    pub fn terminate(self) -> Option<i32> {
        self.signal("-TERM");
        self.ended()
    }

    /// Waits up to five seconds for the process to end and returns its exit code.
    pub fn ended(self) -> Option<i32> {
        self.ends_within(Duration::from_secs(5), || {})
    }

    /// Waits up to `longest` for the process to end and returns its exit code; calls `look` while waiting.
    pub fn ends_within(mut self, longest: Duration, mut look: impl FnMut()) -> Option<i32> {
        let asked = Instant::now();
        while asked.elapsed() < longest {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            look();
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("still running {longest:?} later");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
