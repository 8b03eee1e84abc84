//! A server whose large queries run on workers: its answers do not change, even if workers fail.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use crate::files::copy_folder;
use crate::folders::{data, list, sorted, worker};
use crate::process::{Server, errors, import_sales, new_key, run, toise, try_run};

/// Maximum rows of an answer of the server.
const ROWS_MAX: &str = "1500";

/// Queries, and whether the engine cuts them for workers.
const QUERIES: [(&str, bool); 4] = [
    (
        "select property_type, count(*) n, sum(cast(price_eur as bigint)) total from dvf group by 1",
        true,
    ),
    (
        "select d.insee_code, count(*) n from dvf d join dpe e on d.insee_code = e.code_insee_ban group by 1",
        true,
    ),
    (
        "select id, estimate_price(lon, lat, 'flat', surface_m2) value from dvf where surface_m2 between 20 and 30",
        true,
    ),
    ("select flx_id from properties", false),
];

/// A server with workers, on a separate data folder.
struct Served {
    folder: TempDir,
    server: Server,
    key: String,
}

impl Served {
    fn start(workers: &[&Server]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        copy_folder(data(), &path);
        run(&path, &["synth", "--lake", "--adverts", "60"]);
        run(&path, &["compact"]);
        let key = new_key(&path, &["--scopes", "sql"]);
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = toise(&path, &["serve", "--listen", "127.0.0.1:0"]);
        command
            .env("TOISE_CLUSTER__WORKERS", list(workers))
            .env("TOISE_CLUSTER__SQL_SCAN_MIB", "0")
            .env("TOISE_SQL__ROWS_MAX", ROWS_MAX)
            .stderr(Stdio::from(log));
        let server = Server::ready(&mut command);
        Self {
            folder,
            server,
            key,
        }
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    fn ask(&self, query: &str) -> Result<Value, String> {
        let address = &self.server.address;
        let asked = ["sql", "--url", address, "--key", &self.key, query];
        let output = try_run(&self.data(), &asked);
        if output.status.success() {
            Ok(serde_json::from_slice(&output.stdout).unwrap())
        } else {
            Err(errors(&output))
        }
    }

    /// Runs all queries, and compares the answers with those of the command line.
    fn compare(&self) {
        for (query, _) in QUERIES {
            let answered = self.ask(query).unwrap();
            let expected = run(&self.data(), &["sql", query]);
            assert_eq!(sorted(&answered), sorted(&expected), "{query}");
        }
    }

    /// Number of lines of the log with these words.
    fn said(&self, words: &str) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.contains(words)).count()
    }
}

#[test]
fn queries_of_a_server_are_run_by_its_workers_and_give_the_rows_of_one_machine() {
    let (one, two) = (worker(data()), worker(data()));
    let served = Served::start(&[&one, &two]);
    served.compare();
    let shared = QUERIES.iter().filter(|(_, is_shared)| *is_shared).count();
    assert_eq!(served.said("answered with 2 workers"), shared);
    eprintln!(
        "{}",
        fs::read_to_string(served.folder.path().join("log")).unwrap()
    );
    assert_eq!(served.said("workers do not have the table properties"), 1);
    let refused = served.ask("select id from dvf").unwrap_err();
    assert!(refused.contains("more than 1500 rows"), "{refused}");
    let refused = served.ask("select 1/0 from dvf").unwrap_err();
    assert!(
        refused.to_lowercase().contains("divide by zero"),
        "{refused}"
    );
}

#[test]
fn a_server_answers_by_itself_when_its_workers_are_behind_or_dead() {
    let (one, two) = (worker(data()), worker(data()));
    let served = Served::start(&[&one, &two]);
    import_sales(&served.data(), "300", "9");
    served.compare();
    // The workers still have the former sales.
    assert!(served.said("refuses: its table dvf is") >= 2);
    assert_eq!(served.said("answered with 2 workers"), 0);

    let served = Served::start(&[&one, &two]);
    one.signal("-KILL");
    two.signal("-KILL");
    served.compare();
    assert_eq!(served.said("does not answer and is left out"), 2);
    let later = QUERIES.len() - 1;
    assert_eq!(served.said("no worker answered recently"), later);
}
