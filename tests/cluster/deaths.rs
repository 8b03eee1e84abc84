//! Workers and commands that die during a job: no row is missing or repeated, and finished answers are kept.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::assertions::assert_has;
use crate::folders::{bytes, command, data, homes, list, outcome, report, worker};
use crate::process::{errors, run, variable, write_file};

/// Maximum wait for a step on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Number of kills, unless `TOISE_KILLS` overrides it.
const KILLS: usize = 4;

/// Number of answers stored next to an output.
fn kept(output: &str) -> usize {
    let folder = std::fs::read_dir(format!("{output}.parts"));
    folder.map_or(0, |files| {
        let names = files.map(|file| file.unwrap().file_name());
        let answers = names.filter(|name| Path::new(name).extension().is_some_and(|e| e == "part"));
        answers.count()
    })
}

/// Waits until this number of answers is stored.
fn until_kept(output: &str, answers: usize) {
    let begun = Instant::now();
    while kept(output) < answers {
        assert!(begun.elapsed() < LONG, "{} answers", kept(output));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A portfolio, its output from one machine, and the path of the output of workers.
struct Job {
    _folder: tempfile::TempDir,
    input: String,
    local: String,
    shared: String,
}

impl Job {
    fn new(rows: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let input = write_file(folder.path(), "homes.csv", homes(rows));
        let (local, shared) = (path("local.csv"), path("shared.csv"));
        run(
            data(),
            &[
                "estimate", "--input", &input, "--output", &local, "--comparables", "3",
            ],
        );
        Self {
            _folder: folder,
            input,
            local,
            shared,
        }
    }

    fn arguments<'a>(&'a self, workers: &'a str) -> [&'a str; 9] {
        let (input, output) = (&self.input, &self.shared);
        [
            "estimate", "--input", input, "--output", output, "--comparables", "3", "--workers",
            workers,
        ]
    }

    fn start(&self, workers: &str) -> Child {
        let mut command = command(data(), &self.arguments(workers));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn assert_equal(&self) {
        assert!(
            bytes(&self.local) == bytes(&self.shared),
            "the outputs differ"
        );
    }
}

#[test]
fn one_of_two_workers_dies_and_its_parts_go_to_the_other() {
    let job = Job::new(8_000);
    let (one, two) = (worker(data()), worker(data()));
    let child = job.start(&list(&[&one, &two]));
    until_kept(&job.shared, 2);
    one.signal("-KILL");
    let output = child.wait_with_output().unwrap();
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    let named = format!("the worker {}/ failed and is dropped", one.address);
    assert!(said.contains(&named), "{said}");
    job.assert_equal();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lost = |at: usize| {
        report["cluster"]["workers"][at]["is_lost"]
            .as_bool()
            .unwrap()
    };
    assert_eq!([lost(0), lost(1)], [true, false]);
}

#[test]
fn a_query_whose_worker_dies_is_run_again_without_it() {
    let query = "select d.insee_code, count(*) n, max(estimate_price(d.lon, d.lat, 'flat', d.surface_m2)) v \
                 from dvf d join dpe e on d.insee_code = e.code_insee_ban group by 1 order by 1";
    let local = run(data(), &["sql", query]);
    let (one, two) = (worker(data()), worker(data()));
    let workers = list(&[&one, &two]);
    let child = command(data(), &["sql", query, "--workers", &workers])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    one.signal("-KILL");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows, local);
    // The dead worker is left out from the start.
    let again = outcome(data(), &["sql", query, "--workers", &workers]);
    assert_has(&errors(&again), "does not answer and is left out");
    assert_eq!(
        serde_json::from_slice::<Value>(&again.stdout).unwrap(),
        local
    );
}

#[test]
fn no_row_is_missing_or_twice_when_workers_are_killed_at_random() {
    let job = Job::new(3_000);
    let mut seed = u64::from(std::process::id());
    let survivor = worker(data());
    for _ in 0..variable("TOISE_KILLS", KILLS) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let _ = std::fs::remove_file(&job.shared);
        let _ = std::fs::remove_dir_all(format!("{}.parts", job.shared));
        let victim = worker(data());
        let child = job.start(&list(&[&survivor, &victim]));
        std::thread::sleep(Duration::from_millis((seed >> 33) % 1_500));
        victim.signal("-KILL");
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        job.assert_equal();
        assert_eq!(kept(&job.shared), 0);
    }
}

#[test]
fn a_job_without_workers_ends_with_an_error_and_its_repetition_does_what_is_missing() {
    let job = Job::new(6_000);
    let one = worker(data());
    let child = job.start(&one.address);
    until_kept(&job.shared, 3);
    one.signal("-KILL");
    let output = child.wait_with_output().unwrap();
    let said = errors(&output);
    assert!(
        !output.status.success() && said.contains("no worker is left"),
        "{said}"
    );
    assert!(said.contains("run the command again to continue"), "{said}");
    assert!(!Path::new(&job.shared).exists());
    let two = worker(data());
    // The command itself dies too.
    let before = kept(&job.shared);
    let mut child = job.start(&two.address);
    until_kept(&job.shared, before + 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let found = kept(&job.shared) as u64;
    let last = report(data(), &job.arguments(&two.address));
    job.assert_equal();
    let shares = &last["cluster"];
    assert!(shares["parts_found"].as_u64().unwrap() >= found, "{shares}");
    assert_eq!(shares["parts"], 12);
    let again = outcome(data(), &job.arguments(&two.address));
    assert!(errors(&again).contains("nothing to do"));
    assert_eq!(
        serde_json::from_slice::<Value>(&again.stdout).unwrap(),
        last
    );
}
