//! `toise sql` as users run it, over a data folder and against a server, and Flight SQL with its clients.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::assertions::{assert_has, texts_of};
use crate::support::process::{Server, errors, new_key, run, toise, write_file};
use crate::support::skip::skipped;

/// Runs `toise sql` on statements from standard input.
fn piped(data: &Path, arguments: &[&str], statements: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toise"));
    command.arg("--data").arg(data).arg("sql").args(arguments);
    let mut child = command
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(statements.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", errors(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn statements_files_and_formats_are_read_and_written_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "50"]);
    let homes = data.join("homes.csv");
    std::fs::write(&homes, "id;name\n1;a\n20;\"b;c\"\n").unwrap();
    let file = format!("homes={}", homes.display());
    let several =
        "select name from homes where id > 1; -- a comment\nselect [1, 2] as l, 'x;y' as t;";
    let output = piped(data, &["--file", &file, "--format", "csv"], several);
    assert_eq!(printed(&output), "name\nb;c\nl,t\n\"[1,2]\",x;y\n");
    // With JSON, what was understood of the files is JSON too.
    let output = toise(data, &["sql", "--file", &file, "select 1"]).output();
    let said: serde_json::Value = serde_json::from_slice(&output.unwrap().stderr).unwrap();
    assert_eq!(said["files"][0]["form"]["delimiter"], ";");
    let none = piped(
        data,
        &["--format", "csv"],
        "select id, price_eur from dvf where false",
    );
    assert_eq!(printed(&none), "id,price_eur\n");
    // Numbers are right-aligned, and wide columns cut.
    let table = piped(
        data,
        &["--max-width", "5"],
        "select 7 as number, 'abcdefgh' as t",
    );
    let table = printed(&table);
    assert!(table.contains("      7   abcd…"), "{table}");
    let statements = write_file(data, "statements.sql", "select 1 as n;\nselect 2 as n;");
    let output = piped(data, &["-f", &statements, "--format", "ndjson"], "");
    assert_eq!(printed(&output), "{\"n\":1}\n{\"n\":2}\n");
    for extension in ["parquet", "arrow"] {
        let written = data.join(format!("out.{extension}"));
        let query = "select id, price_eur, [1] as l from dvf";
        run(data, &["sql", query, "--output", written.to_str().unwrap()]);
        let file = format!("mine={}", written.display());
        if extension == "parquet" {
            let count = "select count(*) as n from mine join dvf using (id)";
            let output = piped(data, &["--file", &file, "--format", "csv"], count);
            let all = piped(data, &["--format", "csv"], "select count(*) as n from dvf");
            assert_eq!(printed(&output), printed(&all));
        }
    }
}

#[test]
fn safe_csv_has_no_formula_for_a_spreadsheet() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "20"]);
    let query = "select '=1+1' as t, -1 as n";
    let (plain, safe) = ("t,n\n=1+1,-1\n", "t,n\n'=1+1,-1\n");
    assert_eq!(printed(&piped(data, &["--format", "csv"], query)), plain);
    let output = piped(data, &["--format", "csv", "--safe-csv"], query);
    assert_eq!(printed(&output), safe);
    let written = data.join("out.csv");
    let to = written.to_str().unwrap();
    run(data, &["sql", query, "--safe-csv", "--output", to]);
    assert_eq!(std::fs::read_to_string(&written).unwrap(), safe);
}

#[test]
fn parquet_files_of_others_are_examined_before_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let parts = data.join("parts.parquet");
    std::fs::create_dir_all(parts.join("year=2024")).unwrap();
    for (part, rows) in [("a.parquet", 2), ("year=2024/b.parquet", 3)] {
        let written = parts.join(part);
        let query = format!("select n from range({rows}) as t(n)");
        run(
            data,
            &["sql", &query, "--output", written.to_str().unwrap()],
        );
    }
    let count = "select count(*) as n from mine";
    let asked = |path: &std::path::Path| {
        let file = format!("mine={}", path.display());
        piped(data, &["--file", &file, "--format", "csv"], count)
    };
    assert_eq!(printed(&asked(&parts)), "n\n5\n");
    assert_eq!(printed(&asked(&parts.join("*.parquet"))), "n\n5\n");
    assert_eq!(printed(&asked(&parts.join("a*.parquet"))), "n\n2\n");

    // A text of 40 MiB that takes a few kilobytes.
    let text = arrow::array::StringArray::from(vec!["x".repeat(40 << 20)]);
    let text: arrow::array::ArrayRef = std::sync::Arc::new(text);
    let batch = arrow::array::RecordBatch::try_from_iter([("text", text)]).unwrap();
    let compression = parquet::basic::Compression::ZSTD(parquet::basic::ZstdLevel::default());
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(compression)
        .build();
    let bomb = parts.join("year=2024/bomb.parquet");
    let file = std::fs::File::create(&bomb).unwrap();
    let writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties));
    let mut writer = writer.unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for path in [&bomb, &parts, &parts.join("*.parquet")] {
        let refused = asked(path);
        assert_eq!(refused.status.code(), Some(1));
        let told = format!("{}: row group 1, column \"text\": ", bomb.display());
        assert!(errors(&refused).contains(&told), "{}", errors(&refused));
    }
    let none = asked(&data.join("none.parquet"));
    assert!(errors(&none).contains("none.parquet: no such file"));
}

#[test]
fn what_does_not_exist_is_answered_with_what_does() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(data, &["synth", "--lake", "--dvf", "20"]);
    for (query, told) in [
        ("select price from dvf", "there is price_eur"),
        (
            "select 1 from dfv",
            "the tables are adverts, ban, dfi, dpe, dvf, market, properties, rnb",
        ),
        ("select medan(1)", "there is median"),
        ("select 1 +", "line 1, column 11"),
        ("drop table dvf", "only queries are allowed"),
    ] {
        let output = piped(data, &[query], "");
        assert_eq!(output.status.code(), Some(1), "{query}");
        assert!(
            errors(&output).contains(told),
            "{query}: {}",
            errors(&output)
        );
    }
    let summary = run(data, &["sql", "summarize dvf"]);
    let of_price = summary.as_array().unwrap().iter();
    let mut of_price = of_price.filter(|row| row["column_name"] == "price_eur");
    let row = of_price.next().unwrap();
    assert!(
        row["q50"].as_f64().unwrap() > 0.0 && row["column_type"] == "Float64",
        "{row}"
    );
}

#[test]
fn names_that_duckdb_has_work() {
    let folder = tempfile::tempdir().unwrap();
    let query = "select year(d) as y, strftime(d, '%Y/%m') as s, date_diff('month', date '2023-12-31', d) as m, \
        len('é') as c, len([1, 2]) as l, regexp_extract('ab12', '[0-9]+') as r, list_sum([1, 2]) as ls, \
        quantile(x, 0.5) as q, arg_max(x, z) as a, count_if(x > 1) as i, count(*) filter (where x > 1) as f, \
        median(x) as md, 'a' || 'b' as ab from (values (date '2024-02-01', 1, 2), (date '2024-02-01', 3, 1)) \
        as t(d, x, z) group by all";
    let row = &run(folder.path(), &["sql", query])[0];
    let expected = serde_json::json!({
        "y": 2024, "s": "2024/02", "m": 2, "c": 1, "l": 2, "r": "12", "ls": 3.0, "q": 2.0, "a": 1, "i": 1, "f": 1,
        "md": 2.0, "ab": "ab",
    });
    assert_eq!(*row, expected);
    let from_first = "from range(3) as t(n) select * exclude (n), n + 1 as m qualify row_number() over (order by n) = 2";
    assert_eq!(run(folder.path(), &["sql", from_first])[0]["m"], 2);
}

/// A key with these scopes.
fn key(data: &Path, scopes: &str) -> String {
    // A quick client makes more calls a second than keys have by default.
    new_key(data, &["--scopes", scopes, "--rate", "1000"])
}

#[test]
fn a_server_answers_the_same_command_and_logs_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(
        data,
        &["synth", "--lake", "--dvf", "100", "--adverts", "50"],
    );
    let server = Server::start(data, "serve");
    let key = key(data, "sql");
    let query =
        "select id, price_eur, is_new_build from dvf order by id; select count(*) from properties";
    let local = piped(data, &[query, "--format", "ndjson"], "");
    let remote = [
        "--url", &server.address, "--key", &key, "--format", "ndjson",
    ];
    let answered = piped(data, &[&remote[..], &[query]].concat(), "");
    assert_eq!(printed(&answered), printed(&local));
    let refused = piped(
        data,
        &[&remote[..], &["select 1 from\nnowhere"]].concat(),
        "",
    );
    assert_has(&errors(&refused), "line 2, column 1");
    let audit = run(data, &["sql", "--audit", "10"]);
    let outcomes = texts_of(&audit, "outcome");
    assert_eq!(outcomes, ["failed", "finished", "finished"]);
}

/// The Python with the clients: `TOISE_PYTHON`, or `python3`; `None` if it lacks them.
fn python_with_clients() -> Option<String> {
    let python = std::env::var("TOISE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&python)
        .args(["-c", "import adbc_driver_flightsql.dbapi, pyarrow"])
        .output();
    imported
        .is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[test]
fn flight_sql_clients_query_prepare_and_look_around() {
    let Some(python) = python_with_clients() else {
        skipped(
            "no python3 with adbc-driver-flightsql and pyarrow (TOISE_PYTHON names another one)",
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    run(
        data,
        &["synth", "--lake", "--dvf", "300", "--adverts", "50"],
    );
    let elsewhere = ["--scopes", "sql", "--allow-from", "192.0.2.0/24"];
    let absent = new_key(data, &elsewhere);
    let slow = new_key(data, &["--scopes", "sql", "--rate", "20"]);
    let listen = ["--set", "flight.listen=127.0.0.1:0"];
    let server = Server::start_with(data, "serve", &listen, Stdio::null());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flight/clients.py");
    let output = Command::new(python)
        .arg(script)
        .arg(server.ready["flight"].as_str().unwrap())
        .args([key(data, "sql"), key(data, "search"), absent, slow])
        .output()
        .unwrap();
    for line in printed(&output).lines() {
        if let Some(reason) = line.strip_prefix("skipped: ") {
            skipped(reason);
        }
    }
    let audit = run(data, &["sql", "--audit", "100"]);
    let entries = audit.as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["protocol"] == "flight"));
    let refused = entries.iter().filter(|entry| entry["outcome"] == "refused");
    assert_eq!(refused.count(), 2);
    assert_eq!(server.terminate(), Some(0));
}
