//! The requests that the documentation prints, sent by curl to a server over the data of the stage.
//!
//! A request must be understood and answered. Only parcels and buildings may be unknown, because the data is small.
//! Lines with `…`, which stand for several requests, are left out.

use std::process::{Command, Stdio};

use super::stage::Stage;
use super::{TIME_S_MAX, documentation};
use crate::support::process::{Server, errors, new_key, run};
use crate::support::skip::skipped;

/// Address of the server in the documentation.
const PRINTED: &str = "127.0.0.1:8080";
/// Receiver of webhooks in the documentation, whose name does not resolve, and one on this machine, where none listens.
const RECEIVER: &str = "https://client.example";
const LOCAL_RECEIVER: &str = "http://127.0.0.1:9";
/// Paths of records that the data may not have.
const MAYBE_UNKNOWN: [&str; 2] = ["/parcels/", "/buildings/"];
/// Scopes of the key.
const SCOPES: &str = "search,refetch,analytics,ai,geocoding,alerts,sql,admin";
/// Minimum number of requests: fewer mean that they are not found.
const SENT_MIN: usize = 20;
/// Makes curl end standard error with the status of the response.
const WITH_STATUS: &str = r#"curl() { command curl -sS -w '%{stderr}\n%{http_code}' "$@"; }"#;

/// Returns whether an example is a request that this test sends.
pub fn is_request(example: &str) -> bool {
    example.starts_with("curl ") && example.contains(PRINTED) && !example.contains('…')
}

#[test]
fn the_requests_of_the_documentation_are_answered() {
    if Command::new("curl").arg("--version").output().is_err() {
        skipped("curl is not installed");
        return;
    }
    let stage = Stage::build();
    let data = stage.data();
    let key = new_key(&data, &["--scopes", SCOPES]);
    let found = run(&data, &["sql", "select flx_id from properties limit 1"]);
    let property = found[0]["flx_id"].as_str().unwrap();
    let allowed = ["--allow-webhook-hosts", "127.0.0.1"];
    let server = Server::start_with(&data, "serve", &allowed, Stdio::null());
    let (mut failed, mut sent) = (Vec::new(), 0);
    for page in documentation() {
        for example in page.examples.iter().filter(|one| is_request(one)) {
            let request = example.replace(PRINTED, server.host());
            let request = request.replace("FLX_ID", property);
            let request = request.replace(RECEIVER, LOCAL_RECEIVER);
            let mut shell = Command::new("timeout");
            shell.args([TIME_S_MAX, "sh", "-c", &format!("{WITH_STATUS}\n{request}")]);
            shell.stdin(Stdio::null());
            shell.env("KEY", &key).env("ADMIN_KEY", &key);
            let output = stage.within(&mut shell).output().unwrap();
            sent += 1;
            let told = errors(&output);
            let status = told.lines().next_back().unwrap_or_default();
            let may_be_unknown = MAYBE_UNKNOWN.iter().any(|path| example.contains(path));
            if !(status.starts_with('2') || may_be_unknown && status == "404") {
                let body = String::from_utf8_lossy(&output.stdout);
                failed.push(format!("{}: {example}\n  {told} {body}", page.name));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {sent} requests fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert!(sent >= SENT_MIN, "only {sent} requests are sent");
}
