//! Queries of public bug reports: dates near their limits, values that JSON cannot hold, and files that other programs open.

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::ipc::reader::{FileReader, StreamReader};
use flatgeobuf::{FallibleStreamingIterator, FgbReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::support::cases::{case, fails, import};
use crate::support::client::Client;
use crate::support::process::{errors, new_key, run, try_run};

/// The statements of a file of `tests/cases/`, one a line.
fn statements(name: &str) -> Vec<String> {
    let text = fs::read_to_string(case(name)).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(';'));
    lines.map(str::to_owned).collect()
}

/// Writes the rows of a query to a file and returns its path.
fn written(data: &Path, query: &str, name: &str) -> String {
    let path = data.join(name).to_str().unwrap().to_owned();
    let mut arguments = vec!["sql", query, "--output", &path];
    arguments.extend(name.contains("geo.").then_some("--geo"));
    run(data, &arguments);
    path
}

#[test]
fn timestamps_of_different_units_are_compared_exactly() {
    // Timestamps of different units were compared in the coarser one, so 0.123 seconds were nothing.
    let folder = tempfile::tempdir().unwrap();
    let queries = statements("22-sql-timestamp-units/queries.sql");
    let [compared, difference]: [String; 2] = queries.try_into().unwrap();
    let rows = run(folder.path(), &["sql", &compared]);
    assert_eq!(rows, json!([{"must_be_false": false}]));
    let rows = run(folder.path(), &["sql", &difference]);
    assert_eq!(rows, json!([{"must_be_0_9_s": "PT0.9S"}]));
}

#[tokio::test]
async fn dates_beyond_their_limits_are_errors() {
    // Date arithmetic near the limits ended the program, or gave a wrong date without a word.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import(data, "dvf", "41-dvf-float32-prices/edition-2025.csv");
    let queries = statements("23-sql-date-overflow/queries.sql");
    assert_eq!(queries.len(), 6);
    for (number, query) in queries.iter().enumerate() {
        if number == 4 {
            let rows = run(data, &["sql", query]);
            assert_eq!(rows, json!([{"value": 9_223_372_036_854_775_806_i64}]));
            continue;
        }
        let said = errors(&fails(data, &["sql", query]));
        let words = ["overflow", "out of range", "must be non-zero"];
        assert!(
            words.iter().any(|word| said.contains(word)),
            "{query}: {said}"
        );
    }
    let key = new_key(data, &["--scopes", "sql"]);
    let (_server, client) = Client::start(data, &key);
    let (status, body) = client.post("sql", json!({"query": queries[0]})).await;
    assert_eq!(status, 422);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("overflow"), "{body}");
}

/// The only batch of Parquet or Arrow files.
fn only_batch<E: std::fmt::Debug>(
    mut batches: impl Iterator<Item = Result<RecordBatch, E>>,
) -> RecordBatch {
    batches.next().unwrap().unwrap()
}

#[test]
fn columns_without_a_type_and_days_are_exported_in_every_format() {
    // A column of nulls or of days broke exports.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    import(data, "dvf", "41-dvf-float32-prices/edition-2025.csv");
    let query = statements("25-null-columns-in-exports/query.sql").remove(0);
    let written = |name: &str| written(data, &query, name);
    let parquet = |name: &str| {
        let file = File::open(written(name)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        only_batch(reader.build().unwrap())
    };
    let arrow = File::open(written("n.arrow")).unwrap();
    let arrow = only_batch(FileReader::try_new(arrow, None).unwrap());
    for (form, batch) in [
        ("parquet", parquet("n.parquet")),
        ("geoparquet", parquet("geo.parquet")),
        ("arrow", arrow),
    ] {
        assert_eq!(batch.num_rows(), 2, "{form}");
        assert_eq!(batch["vide"].logical_null_count(), 2, "{form}");
        assert_eq!(
            batch["transaction_date"].data_type(),
            &DataType::Date32,
            "{form}"
        );
    }
    let text = |name: &str| fs::read_to_string(written(name)).unwrap();
    let row = json!({"vide": null, "lon": 5.9, "lat": 43.1, "transaction_date": "2024-03-14", "is_new_build": false});
    let is_row = |found: &Value| {
        let fields = row.as_object().unwrap();
        fields.iter().all(|(name, value)| found[name] == *value)
    };
    let rows: Value = serde_json::from_str(&text("n.json")).unwrap();
    assert!(is_row(&rows[0]) && is_row(&rows[1]), "{rows}");
    let lines = text("n.ndjson");
    let rows = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(rows.filter(is_row).count(), 2, "{lines}");
    let features: Value = serde_json::from_str(&text("n.geojson")).unwrap();
    let feature = &features["features"][1];
    assert!(is_row(&feature["properties"]), "{features}");
    assert_eq!(feature["geometry"]["coordinates"], json!([5.9, 43.1]));
    let csv = text("n.csv");
    let begin = "vide,lon,lat,transaction_date,is_new_build,price_eur\n,5.9,43.1,2024-03-14,false,";
    assert!(csv.starts_with(begin), "{csv}");
    assert_eq!(fgb_features(&written("n.fgb")), 2);
}

#[test]
fn a_query_without_rows_gives_a_flatgeobuf_with_a_layer() {
    // GDAL listed no layer, because the header announced an index that the file does not have.
    let folder = tempfile::tempdir().unwrap();
    let query = "select 1.5 as lon, 2.5 as lat, 'x' as name limit 0";
    let path = written(folder.path(), query, "none.fgb");
    let file = File::open(&path).unwrap();
    let reader = FgbReader::open(std::io::BufReader::new(file)).unwrap();
    let header = reader.header();
    let columns = header.columns().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    assert_eq!(names, ["lon", "lat", "name"]);
    assert_eq!((header.features_count(), header.index_node_size()), (0, 0));
    assert_eq!(fgb_features(&path), 0);
}

/// Number of features that a FlatGeobuf file has.
fn fgb_features(path: &str) -> u64 {
    let bytes = fs::read(path).unwrap();
    let reader = FgbReader::open(Cursor::new(bytes)).unwrap();
    let declared = reader.header().features_count();
    let mut features = reader.select_all_seq().unwrap();
    let mut read = 0;
    while features.next().unwrap().is_some() {
        read += 1;
    }
    assert_eq!(declared, read);
    read
}

#[test]
fn numbers_that_json_cannot_hold_are_null() {
    // NaN and infinity in JSON made the file unreadable.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let queries = statements("37-sql-nan-json/queries.sql");
    let [ratios, places]: [String; 2] = queries.try_into().unwrap();
    let print = |format: &str| {
        let output = try_run(data, &["sql", &ratios, "--format", format]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(print("json").trim_end(), r#"[{"a":null,"b":null}]"#);
    assert_eq!(print("csv"), "a,b\nNaN,inf\n");
    let geojson = fs::read_to_string(written(data, &places, "x.geojson")).unwrap();
    let geojson: Value = serde_json::from_str(&geojson).unwrap();
    let features = geojson["features"].as_array().unwrap();
    assert_eq!(features.len(), 2);
    for feature in features {
        let expected = match feature["properties"]["a"].as_i64() {
            Some(1) => (Value::Null, Value::Null),
            _ => (json!(5.9), json!([5.9, 43.1])),
        };
        let coordinates = &feature["geometry"]["coordinates"];
        assert_eq!(
            (&feature["properties"]["lon"], coordinates),
            (&expected.0, &expected.1)
        );
    }
    // FlatGeobuf has no feature without geometry.
    assert_eq!(fgb_features(&written(data, &places, "x.fgb")), 1);
    let file = File::open(written(data, &places, "geo.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batch = only_batch(reader.build().unwrap());
    assert_eq!((batch.num_rows(), batch["geometry"].null_count()), (2, 1));
}

#[test]
fn arrow_files_have_the_format_of_their_extension() {
    // A stream in a file named .arrow has no footer, which readers of Arrow files look for.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let query = "select 1 as a";
    for name in ["n.arrow", "n.feather"] {
        let file = File::open(written(data, query, name)).unwrap();
        let reader = FileReader::try_new(file, None).unwrap();
        assert_eq!(
            (reader.num_batches(), only_batch(reader).num_rows()),
            (1, 1),
            "{name}"
        );
    }
    let stream = File::open(written(data, query, "n.arrows")).unwrap();
    assert_eq!(
        only_batch(StreamReader::try_new(stream, None).unwrap()).num_rows(),
        1
    );
    // toise reads all of them.
    for name in ["n.arrow", "n.feather", "n.arrows"] {
        let table = format!("t={}", data.join(name).display());
        let rows = run(data, &["sql", "--file", &table, "select a from t"]);
        assert_eq!(rows, json!([{"a": 1}]), "{name}");
    }
}
