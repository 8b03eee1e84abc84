//! `toise mcp` as an agent starts it: lines of JSON on standard input and output, over a data folder.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::process::{errors, run, toise, try_run};

#[test]
fn an_agent_works_on_a_data_folder_with_a_key_that_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["accounts", "create", "agents"]);
    let mut child = toise(data, &["mcp", "--account", "agents"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |message: Value| -> Value {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let begun = ask(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }}),
    );
    assert_eq!(begun["result"]["serverInfo"]["name"], "toise");
    let call = |id: u32, tool: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments,
        }})
    };
    let rows = ask(call(2, "sql", json!({"query": "select 1 as one"})));
    let rows = &rows["result"]["structuredContent"];
    assert_eq!(rows, &json!({"data": [{"one": 1}]}));
    let search = json!({"search": {"filterProperty": {}}});
    let found = ask(call(3, "search_properties", search));
    assert_eq!(found["result"]["structuredContent"]["data"]["count"], 0);
    let key = &run(data, &["keys", "list"])[0];
    assert_eq!(pick(key, ["account", "name"]), json!(["agents", "mcp"]));
    assert!(!key.to_string().contains("\"admin\""), "{key}");
    assert_eq!(key["revoked_at"], Value::Null);
    drop(input);
    assert!(child.wait().unwrap().success());
    let key = &run(data, &["keys", "list"])[0];
    assert!(key["revoked_at"].is_string(), "{key}");
    let subject = format!("key {}", key["key_id"].as_str().unwrap());
    let acts = run(data, &["audit"]);
    for (place, action) in [(0, "mcp: revoke its key"), (2, "mcp: create its key")] {
        let act = &acts["entries"][place];
        assert_eq!(pick(act, ["action", "subject"]), json!([action, subject]));
        assert_eq!(act["outcome"], "done");
    }
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("typo");
    let output = try_run(&missing, &["mcp"]);
    assert!(!output.status.success());
    let message = errors(&output);
    assert!(message.contains("no data folder"), "{message}");
    assert!(!missing.exists());
}
