//! Queries of a key that exceed their limits: the server continues, the memory of all its processes stays limited, and
//! queries of other keys are answered.
//!
//! `TOISE_STATEMENTS` is the number of statements drawn from the grammar (40 by default), and `TOISE_STATEMENTS_SEED`
//! the seed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::draw::Draw;
use crate::support::process::{Server, new_key, run, variable};
use crate::support::skip::skipped;
use crate::support::{http_client, statements};

/// Statements drawn, unless `TOISE_STATEMENTS` overrides it.
const STATEMENTS: u64 = 40;
/// Maximum memory of the server and its processes together, bytes.
const MEMORY_MAX: u64 = 1_536 << 20;
/// Maximum time until a process that runs queries has started.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
/// Time limit of a query in this test, seconds.
const QUERY_SECONDS: &str = "sql.time_s=2";
/// Statuses that a statement may be answered with: rows, or a refusal that names the reason.
const ANSWERS: [u16; 4] = [200, 400, 422, 429];

fn key(data: &Path) -> String {
    new_key(data, &["--scopes", "sql", "--rate", "1000"])
}

/// Returns the children of a process; none where the system does not tell.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let of_task = |task: std::fs::DirEntry| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let children = children.split_whitespace().map(str::parse);
        children.filter_map(Result::ok).collect::<Vec<u32>>()
    };
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.flat_map(of_task).collect()
}

/// Returns the anonymous memory of a process and its children, in bytes; 0 where the system does not tell.
fn memory_of(process: u32) -> u64 {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else {
        return 0;
    };
    let own = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .and_then(|text| {
            text.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<u64>()
                .ok()
        })
        .unwrap_or(0);
    (own << 10) + children(process).into_iter().map(memory_of).sum::<u64>()
}

/// Returns the network of a process; `None` where the system does not tell.
fn network(process: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_run_queries_have_no_network() {
    let left = Command::new("unshare").args(["--net", "true"]).status();
    if !left.is_ok_and(|status| status.success()) {
        skipped("no process may leave the network here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let key = key(data);
    let (server, client) = Client::start(data, &key);
    let (status, answer) = client.post("sql", &json!({"query": "select 1"})).await;
    assert_eq!(status, 200, "{answer}");
    let shared = network(server.id()).unwrap();
    let asked = Instant::now();
    loop {
        let processes = children(server.id());
        let networks: Vec<_> = processes.into_iter().map(network).collect();
        // A process that has just started still has the network.
        if !networks.is_empty() && networks.iter().flatten().all(|own| *own != shared) {
            if networks.contains(&None) {
                skipped("the system does not tell the networks of processes");
            }
            break;
        }
        assert!(asked.elapsed() < STARTED_WITHIN, "{networks:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_the_system_ended_while_it_waited_fails_no_query() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "100"]);
    let key = key(data);
    let server = Server::start(data, "serve");
    let client = http_client();
    for _ in 0..3 {
        let request = client
            .post(format!("{}/v2/protected/sql", server.address))
            .header("x-api-key", &key)
            .json(&json!({"query": "select 1 as one"}));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        // The next process is being started.
        tokio::time::sleep(Duration::from_millis(500)).await;
        for process in children(server.id()) {
            let process = process.to_string();
            // It may have ended by itself.
            let _ = Command::new("kill").args(["-9", &process]).status();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_that_run_all_they_may_leave_room_for_a_third() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "100"]);
    let (busy, other) = ([key(data), key(data)], key(data));
    let (server, client) = Client::start(data, &other);
    let endless = json!({"query": "select count(*) as n from range(1, 1000000000000)"});
    let asked: Vec<_> = busy
        .iter()
        .chain(&busy)
        .map(|key| {
            let busy = Client::new(&server, key);
            let endless = endless.clone();
            tokio::spawn(async move { busy.post("sql", endless).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..3 {
        let (status, answer) = client.post("sql", json!({"query": "select 1"})).await;
        assert_eq!(status, 200, "{answer}");
    }
    for query in asked {
        query.abort();
    }
    assert_eq!(server.terminate(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_takes_the_server_or_another_keys_queries_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "2000"]);
    let (hostile, other) = (key(data), key(data));
    let server = Server::start_with(
        data,
        "serve",
        &["--set", QUERY_SECONDS],
        std::process::Stdio::null(),
    );
    let address = format!("{}/v2/protected/sql", server.address);
    let client = http_client();
    let ask = {
        let (client, address) = (client.clone(), address.clone());
        move |key: String, query: String| {
            let request = client
                .post(&address)
                .header("x-api-key", key)
                .json(&json!({"query": query}));
            async move {
                let answer = request.send().await.map_err(|error| error.to_string())?;
                let status = answer.status().as_u16();
                let text = answer.text().await;
                // A query that fails after its first rows ends its answer early.
                Ok::<_, String>((status, text.unwrap_or_default()))
            }
        }
    };
    let (ends, memory) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let watcher = {
        let (ends, memory, process) = (ends.clone(), memory.clone(), server.id());
        std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                memory.fetch_max(memory_of(process), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let pinging = {
        let (ask, ends) = (ask.clone(), ends.clone());
        tokio::spawn(async move {
            let mut times = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let (status, text) = ask(other.clone(), "select 1 as one".into()).await?;
                if status != 200
                    || serde_json::from_str::<Value>(&text).map_err(|error| error.to_string())?["data"]
                        [0]["one"]
                        != 1
                {
                    return Err(format!("select 1: {status} {text}"));
                }
                times.push(begun.elapsed());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(times)
        })
    };
    let seed = variable("TOISE_STATEMENTS_SEED", 36);
    let mut draw = Draw::new(seed);
    let drawn = (0..variable("TOISE_STATEMENTS", STATEMENTS)).map(|_| statements::drawn(&mut draw));
    let mut counts = std::collections::BTreeMap::new();
    for statement in statements::by_hand().into_iter().chain(drawn) {
        let shown: String = statement.chars().take(300).collect();
        let (status, text) = ask(hostile.clone(), statement)
            .await
            .unwrap_or_else(|error| {
                panic!("seed {seed}: {shown}: {error}");
            });
        assert!(
            ANSWERS.contains(&status),
            "seed {seed}: {shown}: {status} {text}"
        );
        *counts.entry(status).or_insert(0) += 1;
    }
    ends.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    let mut times = pinging.await.unwrap().unwrap();
    times.sort();
    let memory = memory.load(Ordering::Relaxed);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_millis();
    println!(
        "statuses {counts:?}; memory {} MiB; select 1 of another key: {} times, p50 {} ms, p99 {} ms",
        memory >> 20,
        times.len(),
        at(0.5),
        at(0.99)
    );
    assert!(memory < MEMORY_MAX, "{memory} bytes");
    assert_eq!(server.terminate(), Some(0));
}
