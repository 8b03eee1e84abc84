//! Publications by the executable, to a folder and to an S3 server: killed, concurrent, repeated, and with garbage
//! collection.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::draw::Draw;
use crate::support::process::{errors, import_sales, run, sql_number, toise, try_run, variable};
use crate::support::s3::S3Server;

/// The URL of a folder.
pub fn url_of(folder: &Path) -> String {
    url::Url::from_directory_path(folder).unwrap().to_string()
}

/// Number of sales, and total bytes of their records.
pub fn content(data: &Path) -> [i64; 2] {
    [
        sql_number(data, "select count(*) from dvf"),
        sql_number(
            data,
            "select cast(sum(octet_length(record)) as bigint) from dvf",
        ),
    ]
}

/// The content of a replica that starts empty.
async fn replicated(url: &str) -> [i64; 2] {
    use toise::publish::holdings::Holdings;
    use toise::publish::remote::Remote;
    use toise::publish::replica::Replica;
    use toise::publish::retry::RetryPolicy;
    let data = tempfile::tempdir().unwrap();
    let remote = Remote::open(url, RetryPolicy::default()).unwrap();
    let mut replica = Replica::open(data.path(), remote, Holdings::default()).unwrap();
    let store = toise::store::Store::open(data.path()).unwrap();
    let bar = indicatif::ProgressBar::hidden();
    let manifest = replica.poll(&store, &bar).await.unwrap().unwrap();
    replica.install(manifest, &store).unwrap();
    drop((replica, store));
    content(data.path())
}

#[tokio::test]
async fn a_publication_killed_at_any_moment_leaves_the_former_snapshot_and_the_next_goes_on() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = url_of(&bucket);
    import_sales(&data, "2000", "1");
    let started = Instant::now();
    let first = run(&data, &["publish", &url]);
    let takes = started.elapsed();
    assert_eq!(pick(&first, ["number", "is_new"]), json!([1, true]));
    let before = content(&data);
    import_sales(&data, "2000", "2");
    let after = content(&data);
    assert_ne!(before, after);
    let mut draw = Draw::new(std::process::id().into());
    let mut killed = 0;
    for attempt in 0..variable("TOISE_KILLS", 6_usize) {
        let mut command = toise(&data, &["publish", &url]);
        let mut publishing = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first one is killed at once: after a completed publication, the next ones would have nothing to do.
        let share = if attempt == 0 {
            0.0
        } else {
            draw.below(1_000) as f64 / 1_000.0
        };
        std::thread::sleep(takes.mul_f64(share));
        publishing.kill().unwrap();
        killed += usize::from(!publishing.wait().unwrap().success());
        let shown = replicated(&url).await;
        assert!(shown == before || shown == after, "{shown:?}");
    }
    assert!(killed > 0);
    run(&data, &["publish", &url]);
    assert_eq!(replicated(&url).await, after);
    let again = run(&data, &["publish", &url]);
    assert_eq!(pick(&again, ["is_new", "uploaded"]), json!([false, 0]));
    // Leftovers of killed publications are found, and deleted once they are old enough.
    let collected = run(
        &data,
        &["gc", &url, "--keep", "1", "--grace-hours", "0", "--dry-run"],
    );
    assert_eq!(collected["dry_run"], json!(true));
    assert!(collected["objects"].as_u64().unwrap() > 0, "{collected}");
    let young = run(&data, &["gc", &url, "--keep", "1"]);
    assert_eq!(young["objects"], json!(0));
    let deleted = run(&data, &["gc", &url, "--keep", "1", "--grace-hours", "0"]);
    assert_eq!(deleted["objects"], collected["objects"]);
    assert_eq!(replicated(&url).await, after);
}

#[test]
fn refusals_say_what_is_wrong() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let refused = |data: &Path, arguments: &[&str]| {
        let output = try_run(data, arguments);
        assert!(!output.status.success());
        errors(&output)
    };
    std::fs::create_dir_all(&data).unwrap();
    let url = url_of(&bucket);
    assert!(refused(&data, &["publish", &url]).contains("no data found"));
    assert!(refused(&data, &["gc", &url]).contains("nothing is published there"));
    assert!(refused(&data, &["publish", "nowhere"]).starts_with("error: nowhere: "));
    import_sales(&data, "50", "1");
    let own = refused(&data, &["serve", "--replica", &url]);
    assert!(own.contains("did not come from a publication"), "{own}");
}

fn with(server: &S3Server, data: &Path, arguments: &[&str]) -> Command {
    let mut command = toise(data, arguments);
    command.envs(server.environment());
    command
}

fn answer(output: Output) -> Value {
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_s3_server_takes_publications_and_of_two_publishers_one_wins() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let url = "s3://toise/some/prefix";
    let outer = tempfile::tempdir().unwrap();
    let folders = ["a", "b", "c"].map(|name| outer.path().join(name));
    for (data, seed) in folders.iter().zip(["1", "2", "3"]) {
        import_sales(data, "300", seed);
    }
    let publish = |data: &Path| with(&server, data, &["publish", url]).output().unwrap();
    let first = answer(publish(&folders[0]));
    assert_eq!(pick(&first, ["number", "is_new"]), json!([1, true]));
    assert_eq!(answer(publish(&folders[0]))["is_new"], json!(false));
    // Repeats until two of them have met.
    let longest = Instant::now() + Duration::from_secs(120);
    loop {
        let publishers: Vec<_> = folders
            .iter()
            .map(|data| {
                let mut command = with(&server, data, &["publish", url]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        let outputs: Vec<Output> = publishers
            .into_iter()
            .map(|publisher| publisher.wait_with_output().unwrap())
            .collect();
        let lost: Vec<String> = outputs
            .iter()
            .filter(|output| !output.status.success())
            .map(errors)
            .collect();
        assert!(lost.len() < outputs.len(), "{lost:?}");
        for error in &lost {
            assert!(
                error.contains("was published by") && error.contains("process"),
                "{error}"
            );
        }
        if !lost.is_empty() {
            break;
        }
        assert!(Instant::now() < longest, "publishers never met");
    }
    let last = answer(publish(&folders[2]));
    let replica = outer.path().join("replica");
    let mut command = with(&server, &replica, &["serve", "--listen", "127.0.0.1:0"]);
    let serving = crate::support::process::Server::ready(command.args(["--replica", url]));
    assert_eq!(content(&replica), content(&folders[2]));
    drop(serving);
    let gc = with(
        &server,
        &replica,
        &["gc", url, "--keep", "1", "--grace-hours", "0"],
    );
    let collected = answer({ gc }.output().unwrap());
    assert_eq!(collected["kept"], json!([last["number"]]));
    assert_eq!(answer(publish(&folders[2]))["is_new"], json!(false));
}
