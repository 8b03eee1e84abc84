//! How a test reports that it cannot run on this machine.
//!
//! Part of `tests/support`. Crates whose unit tests need it include this file by its path.

use std::fs::OpenOptions;
use std::io::{self, Write};

/// Reports that the running test, or a part of it, is skipped. Fails the test if `TOISE_REQUIRE=all`.
///
/// The line goes to standard error, and to the end of the file named by `TOISE_SKIPPED`, which `.ci/run` reads.
#[track_caller]
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped: {test}: {reason}\n");
    // Not `println!` or `eprintln!`: the test harness hides what a test prints through them when it passes.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("TOISE_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "TOISE_SKIPPED: {written:?}");
    }
    let is_required = std::env::var("TOISE_REQUIRE").as_deref() == Ok("all");
    assert!(!is_required, "TOISE_REQUIRE=all, but {line}");
}
