//! Tables and geodata opened by common programs of data teams, if they are installed.
//!
//! `TOISE_PYTHON` names a Python with some of pandas, pyarrow, duckdb, polars, deltalake, pyiceberg, pyspark and
//! geopandas; the default is `python3`. Missing ones are reported and skipped.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::assertions::pick;
use crate::support::process::{Server, run, sql_number, write_sales};
use crate::support::skip::skipped;

/// Runs a script of `tests/other_engines/`; `None` if its programs are not installed.
fn python(script: &str, arguments: &[&str]) -> Option<Value> {
    let python = std::env::var("TOISE_PYTHON").unwrap_or_else(|_| "python3".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/other_engines");
    let mut command = Command::new(&python);
    let Ok(output) = command.arg(folder.join(script)).args(arguments).output() else {
        skipped(&format!("there is no {python}"));
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ModuleNotFoundError") {
        skipped(said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{script}: {said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn says(saw: &Value, engine: &str, expected: &[(&str, i64)]) {
    let Some(of_engine) = saw.get(engine) else {
        skipped(&format!("{engine} is not installed"));
        return;
    };
    for (what, number) in expected {
        assert_eq!(of_engine[what], *number, "{engine}: {what} in {of_engine}");
    }
    println!("{engine}: {of_engine}");
}

/// The result that every engine must have for a table with these rows, and for its former version.
fn all_agree(data: &Path, table: &str, former: u64) {
    let lake = data.join("lake");
    let count = |clause: &str| sql_number(data, &format!("select count(*) from {table} {clause}"));
    let (now, then) = (
        count(&format!("for version as of {}", former + 1)),
        count(&format!("for version as of {former}")),
    );
    assert_ne!(now, then);
    let version = former.to_string();
    let Some(saw) = python("read.py", &[lake.to_str().unwrap(), table, &version]) else {
        return;
    };
    let rows = ("rows", now);
    let north = ("rows_north", count("where lat > 46.5"));
    let both = [rows, north, ("rows_of_the_former_version", then)];
    says(&saw, "pandas", &[rows]);
    says(&saw, "pyarrow", &[rows, north]);
    says(&saw, "duckdb", &[rows, north]);
    says(&saw, "polars", &both);
    let of_log = [("rows_by_statistics", now), ("version", former as i64 + 1)];
    says(&saw, "deltalake", &[&both[..], &of_log[..]].concat());
    says(&saw, "pyiceberg", &[rows]);
    says(&saw, "pyspark", &[rows, north]);
}

#[test]
fn every_table_opens_by_its_folder_and_by_its_delta_log() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    for (seed, size) in [("1", "400"), ("2", "300")] {
        let files = outer.path().join(seed);
        let output = files.to_str().unwrap();
        run(
            &data,
            &[
                "synth", "--dvf", size, "--dpe", size, "--seed", seed, "--output", output,
            ],
        );
        for (table, file) in [("dvf", "dvf-synth.csv"), ("dpe", "dpe-synth.csv")] {
            let file = files.join(file);
            assert!(file.exists(), "{}", file.display());
            run(&data, &["import", table, file.to_str().unwrap()]);
        }
    }
    all_agree(&data, "dvf", 1);
    all_agree(&data, "dpe", 1);
    let rebuilt = run(&data, &["compact", "dvf", "--delta"]);
    assert_eq!(rebuilt["tables"][0]["versions"], json!([1, 2]));
    all_agree(&data, "dvf", 1);
    // Listings: lists of structs, and only rows that are in the files.
    let listings = outer.path().join("listings");
    run(&listings, &["synth", "--adverts", "300", "--lake"]);
    let server = Server::start(&listings, "serve");
    drop(server);
    let lake = listings.join("lake");
    for table in ["properties", "adverts"] {
        let rows = sql_number(&listings, &format!("select count(*) from {table}"));
        let version =
            run(&listings, &["compact", table, "--delta"])["tables"][0]["versions"][0].to_string();
        let Some(saw) = python("read.py", &[lake.to_str().unwrap(), table, &version]) else {
            return;
        };
        for engine in [
            "pandas", "pyarrow", "duckdb", "polars", "deltalake", "pyiceberg",
        ] {
            says(&saw, engine, &[("rows", rows)]);
        }
    }
}

#[test]
fn geopandas_opens_what_sql_writes_as_geodata() {
    let outer = tempfile::tempdir().unwrap();
    let (data, files) = (outer.path().join("data"), outer.path().join("files"));
    run(&data, &["import", "dvf", &write_sales(&files, "500", "1")]);
    let query = "select id, price_eur, transaction_date, property_type, is_sold_together, lon, lat from dvf";
    let written = ["rows.parquet", "rows.geojson", "rows.fgb"].map(|name| {
        let path = files.join(name).to_str().unwrap().to_owned();
        let mut arguments = vec!["sql", query, "--output", &path];
        arguments.extend(name.ends_with(".parquet").then_some("--geo"));
        run(&data, &arguments);
        path
    });
    let rows = sql_number(&data, "select count(*) from dvf");
    let placed = sql_number(&data, "select count(*) from dvf where lon is not null");
    let Some(saw) = python("geo.py", &written.each_ref().map(String::as_str)) else {
        return;
    };
    for (kind, rows, crs) in [
        ("parquet", rows, "OGC:CRS84"),
        ("geojson", rows, "EPSG:4326"),
        ("fgb", placed, "EPSG:4326"),
    ] {
        let of_kind = &saw[kind];
        assert_eq!(
            pick(of_kind, ["rows", "placed"]),
            json!([rows, placed]),
            "{kind}"
        );
        assert_eq!(
            pick(of_kind, ["crs", "agrees"]),
            json!([crs, true]),
            "{kind}"
        );
    }
    assert!(saw["parquet"]["in_a_box"].as_i64().unwrap() > 0);
    assert_eq!(saw["parquet"]["in_a_box"], saw["parquet"]["in_the_box"]);
    println!("{saw}");
}
