//! A server killed during collection: no job is lost and no page is charged twice.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures::future::join_all;
use rusqlite::Connection;
use toise::store::Store;

use crate::support::draw::Draw;
use crate::support::portal::{Act, Portal, flat_page, query};
use crate::support::process::{Server, new_key, variable};

/// Number of kills, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 4;
/// URLs requested between two kills.
const ROUND: usize = 30;
/// Maximum wait for the first job.
const BEGUN_MAX: Duration = Duration::from_secs(20);
const FLAGS: [&str; 8] = [
    "--allow-collect-hosts",
    "127.0.0.1",
    "--set",
    "collect.host_delay_ms=0",
    "--set",
    "collect.per_host_max=8",
    "--set",
    "collect.wait_s=5",
];

fn number(data: &Path, sql: &str) -> i64 {
    let reading = |connection: &Connection| connection.query_row(sql, [], |row| row.get(0));
    Store::open(data).unwrap().read(reading).unwrap()
}

fn credits(data: &Path) -> i64 {
    let sum = "SELECT coalesce(sum(credits), 0) FROM ledger";
    let reading = |connection: &Connection| connection.query_row(sum, [], |row| row.get(0));
    let store = Store::open(data).unwrap();
    store.ledger().read(reading).unwrap()
}

/// Requests a URL; returns the status, or `None` if the server was gone.
async fn ask(server: String, key: String, url: String) -> Option<u16> {
    let request = crate::support::http_client()
        .get(format!("{server}/v2/protected/adverts/url?{}", query(&url)))
        .header("x-api-key", key)
        .timeout(Duration::from_secs(20));
    Some(request.send().await.ok()?.status().as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_requested_page_is_lost_and_none_is_charged_twice() {
    let kills = variable("TOISE_KILLS", KILLS);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let portal = Portal::start().await;
    let key = new_key(data, &["--scopes", "refetch", "--rate", "100000"]);
    let mut draw = Draw::new(std::process::id().into());
    let (mut asked, mut paid) = (0, 0);
    for round in 0..kills {
        let server = Server::start_with(data, "serve", &FLAGS, Stdio::null());
        let calls: Vec<_> = (round * ROUND..(round + 1) * ROUND)
            .map(|number| {
                let path = format!("/{number}");
                let page = Box::new(flat_page(number, 200_000 + number as u64));
                portal.set(
                    &path,
                    Act::After(Duration::from_millis(draw.below(150) as u64), page),
                );
                tokio::spawn(ask(server.address.clone(), key.clone(), portal.url(&path)))
            })
            .collect();
        asked += ROUND as i64;
        tokio::time::sleep(Duration::from_millis(50 + draw.below(700) as u64)).await;
        // On a busy machine nothing may have begun by then, and a kill before the first job proves nothing.
        let waited = Instant::now();
        while number(data, "SELECT count(*) FROM jobs") == 0 && waited.elapsed() < BEGUN_MAX {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(server);
        let statuses = join_all(calls).await;
        paid += statuses
            .iter()
            .filter(|status| matches!(status, Ok(Some(200))))
            .count() as i64;
    }
    let jobs = number(data, "SELECT count(*) FROM jobs");
    let charged = credits(data);
    assert!(
        jobs > 0 && paid <= charged && charged <= asked,
        "{paid} answered, {charged} charged of {asked}"
    );
    // Without further calls, every requested page is collected and nothing more is charged.
    let _server = Server::start_with(data, "serve", &FLAGS, Stdio::null());
    let started = Instant::now();
    while number(
        data,
        "SELECT count(*) FROM jobs WHERE due_at_ms IS NOT NULL",
    ) > 0
    {
        assert!(started.elapsed() < Duration::from_secs(60), "jobs are left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        number(
            data,
            "SELECT count(*) FROM jobs WHERE outcome = 'collected'"
        ),
        jobs
    );
    let addresses: HashSet<i64> = HashSet::from([
        number(data, "SELECT count(DISTINCT url) FROM jobs"),
        number(data, "SELECT count(*) FROM adverts"),
    ]);
    assert_eq!(addresses.len(), 1, "one advert for each URL: {addresses:?}");
    assert_eq!(credits(data), charged);
    println!(
        "{kills} kills: {jobs} jobs, all collected; {paid} responses received, {charged} charged of {asked} calls"
    );
}
