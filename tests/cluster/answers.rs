//! Answers of workers, compared with those of one machine: files byte for byte, rows of queries in any order.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::assertions::{assert_has, assert_refused};
use crate::folders::{bytes, data, homes, list, outcome, report, sorted, worker};
use crate::process::{Server, errors, import_sales, run, write_file};

/// Maximum wait for a change on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Runs a bulk command here and on workers, and compares the outputs. Returns the report of the workers.
fn compared(arguments: &[&str], workers: &str, folder: &Path, output: &str) -> Value {
    let path = |side: &str| folder.join(side).join(output).to_str().unwrap().to_owned();
    for side in ["local", "shared"] {
        std::fs::create_dir_all(folder.join(side)).unwrap();
    }
    let with = |output: &str, more: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--output", output]);
        all.extend(more);
        report(data(), &all)
    };
    let local = with(&path("local"), &[]);
    let shared = with(&path("shared"), &["--workers", workers]);
    assert_eq!(
        bytes(&path("local")),
        bytes(&path("shared")),
        "{arguments:?}"
    );
    for (name, value) in local.as_object().unwrap() {
        if !["seconds", "rows_per_second"].contains(&name.as_str()) {
            assert_eq!(&shared[name], value, "{name} of {arguments:?}");
        }
    }
    shared
}

/// The sum of a count over the workers of a report.
fn sum(report: &Value, name: &str) -> u64 {
    let workers = report["cluster"]["workers"].as_array().unwrap();
    workers
        .iter()
        .map(|worker| worker[name].as_u64().unwrap())
        .sum()
}

#[test]
fn estimates_of_workers_are_those_of_one_machine_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (worker(data()), worker(data()));
    let workers = list(&[&one, &two]);
    for (output, rows, more) in [
        ("valued.parquet", 5_000, &["--comparables", "2"][..]),
        ("valued.csv", 2_000, &["--no-adjustments"]),
        ("valued.ndjson", 600, &["--contributions"]),
    ] {
        let input = write_file(folder.path(), "homes.csv", homes(rows));
        let mut arguments = vec!["estimate", "--input", &input];
        arguments.extend(more);
        let report = compared(&arguments, &workers, folder.path(), output);
        assert_eq!(report["rows"], rows);
        assert_eq!(sum(&report, "rows"), rows as u64);
        assert_eq!(report["cluster"]["parts"], rows.div_ceil(512));
        assert_eq!(report["cluster"]["parts"], sum(&report, "parts"));
    }
}

#[test]
fn matches_and_addresses_of_workers_are_those_of_one_machine_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (worker(data()), worker(data()));
    let workers = list(&[&one, &two]);
    let sales = "select id, insee_code, surface_m2, price_eur from dvf limit 700";
    let input = folder.path().join("sales.parquet");
    let input = input.to_str().unwrap();
    run(data(), &["sql", sales, "--output", input]);
    let arguments = ["match", "dvf", "--input", input, "--size", "3"];
    let report = compared(&arguments, &workers, folder.path(), "candidates.csv");
    assert_eq!(report["rows"], 700);
    let addresses = run(
        data(),
        &[
            "sql",
            "select number, name, postal_code, city from ban limit 1200",
        ],
    );
    let mut text = String::from("rue;code;ville\n");
    for (row, address) in addresses.as_array().unwrap().iter().enumerate() {
        let cell = |name: &str| address[name].to_string().replace(['"', ';'], "");
        text.push_str(&match row % 50 {
            9 => format!("\"inachevé;{row}\n"),
            _ => format!(
                "{} {};{};{}\n",
                cell("number"),
                cell("name"),
                cell("postal_code"),
                cell("city")
            ),
        });
    }
    let input = write_file(folder.path(), "customers.csv", text);
    let arguments = [
        "geocode", &input, "--columns", "rue,ville", "--postcode", "code",
    ];
    let report = compared(&arguments, &workers, folder.path(), "located.csv");
    assert_eq!(sum(&report, "parts"), report["cluster"]["parts"]);
}

#[test]
fn queries_on_workers_give_the_rows_of_one_machine() {
    let (one, two) = (worker(data()), worker(data()));
    let workers = list(&[&one, &two]);
    let mut shares = 0;
    for query in [
        "select property_type, count(*) n, min(price_eur) low, max(price_eur) high, sum(cast(price_eur as bigint)) total \
         from dvf group by 1",
        "select d.insee_code, count(*) n, max(e.surface_habitable_logement) surface from dvf d join dpe e \
         on d.insee_code = e.code_insee_ban group by 1",
        "select d.id, e.numero_dpe from dvf d join dpe e on d.insee_code = e.code_insee_ban \
         where d.surface_m2 = e.surface_habitable_logement or e.surface_habitable_logement < 20",
        "select id, geo_distance(48.86, 2.35, lat, lon) metres, property_type || ' in ' || city what from dvf \
         where price_eur > 100000",
        "select id, estimate_price(lon, lat, 'flat', surface_m2) value from dvf where surface_m2 between 20 and 60",
        "select year(transaction_date) y, median(price_eur) m, count(distinct city) c from dvf group by 1",
        "select departement_code from dvf union select code_departement_ban from dpe",
        "select * from (select id, price_eur, row_number() over (partition by insee_code order by price_eur, id) r \
         from dvf) where r = 1",
        "select count(*) from dvf where insee_code in (select code_insee_ban from dpe)",
    ] {
        let local = run(data(), &["sql", query]);
        let shared = outcome(data(), &["sql", query, "--workers", &workers]);
        assert!(shared.status.success(), "{query}: {}", errors(&shared));
        // The engine decides whether to cut a plan over few rows. Most plans are cut.
        let said = errors(&shared);
        let is_shared = said.contains("answered with 2 workers");
        assert!(
            is_shared || said.contains("does not split"),
            "{query}: {said}"
        );
        shares += usize::from(is_shared);
        let rows: Value = serde_json::from_slice(&shared.stdout).unwrap();
        assert_ne!(local, json!([]), "{query}");
        assert_eq!(sorted(&local), sorted(&rows), "{query}");
    }
    assert!(shares >= 7, "{shares}");
    let ordered = "select id, price_eur from dvf order by price_eur desc, id limit 100";
    let local = run(data(), &["sql", ordered]);
    assert_eq!(
        report(data(), &["sql", ordered, "--workers", &workers]),
        local
    );
}

#[test]
fn what_workers_cannot_run_is_answered_here_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let mine = write_file(folder.path(), "mine.csv", "id,price\na,1\nb,2\n");
    let one = worker(data());
    let named = format!("mine={mine}");
    let arguments = [
        "sql",
        "select sum(price) total from mine",
        "--file",
        &named,
        "--workers",
        &one.address,
    ];
    let answered = outcome(data(), &arguments);
    let rows: Value = serde_json::from_slice(&answered.stdout).unwrap();
    assert_eq!(rows, json!([{"total": 3}]));
    assert!(
        errors(&answered)
            .contains("answered here, without workers: workers do not have the files of file:///")
    );
    // The engine has no distributed plan of such a subquery.
    let query = "select departement_code, (select count(*) from dpe) n from dvf \
                 union select 'none', 0 order by 1";
    let answered = outcome(data(), &["sql", query, "--workers", &one.address]);
    let rows: Value = serde_json::from_slice(&answered.stdout).unwrap();
    assert_eq!(rows, run(data(), &["sql", query]));
    let said = errors(&answered);
    assert_has(&said, "answered here, without workers: no plan for workers");
    let wrong = outcome(
        data(),
        &["sql", "select 1/0 from dvf", "--workers", &one.address],
    );
    assert!(!wrong.status.success());
    assert!(
        errors(&wrong).to_lowercase().contains("divide by zero"),
        "{}",
        errors(&wrong)
    );
}

#[test]
fn input_and_output_may_be_objects() {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "homes.csv", homes(1_500));
    let one = worker(data());
    let place = |name: &str| format!("file://{}/{name}", folder.path().display());
    let input = folder.path().join("homes.csv");
    let local = folder.path().join("local.csv");
    let (input, local) = (input.to_str().unwrap(), local.to_str().unwrap());
    report(data(), &["estimate", "--input", input, "--output", local]);
    let (from, to) = (place("homes.csv"), place("shared.csv"));
    let arguments = [
        "estimate", "--input", &from, "--output", &to, "--workers", &one.address,
    ];
    report(data(), &arguments);
    let shared = folder.path().join("shared.csv");
    assert_eq!(bytes(local), bytes(shared.to_str().unwrap()));
    let again = outcome(data(), &arguments);
    assert_has(&errors(&again), "nothing to do");
}

#[test]
fn a_worker_of_a_replica_follows_its_writer_and_refuses_while_it_is_behind() {
    let outer = tempfile::tempdir().unwrap();
    let (data, bucket) = (outer.path().join("data"), outer.path().join("bucket"));
    let url = format!("file://{}", bucket.display());
    import_sales(&data, "300", "1");
    run(&data, &["publish", &url]);
    let replica = outer.path().join("replica");
    let follower = Server::start_with(&replica, "worker", &["--replica", &url], Stdio::inherit());
    let query = "select insee_code, count(*) n from dvf group by 1 order by 1";
    let asked = || outcome(&data, &["sql", query, "--workers", &follower.address]);
    let expected = || run(&data, &["sql", query]);
    let rows = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(rows(&asked()), expected());
    import_sales(&data, "300", "2");
    let behind = asked();
    assert_refused(&behind, "its table dvf is");
    run(&data, &["publish", &url]);
    let published = Instant::now();
    let answered = loop {
        let answered = asked();
        if answered.status.success() {
            break answered;
        }
        assert!(published.elapsed() < LONG, "{}", errors(&answered));
    };
    assert_eq!(rows(&answered), expected());
}
