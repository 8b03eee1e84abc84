//! A home has the same value everywhere: over HTTP alone and among many, in a portfolio of each format, and in SQL.

use std::fs::File;
use std::path::Path;

use serde_json::{Map, Value, json};
use toise::base::formula::Formulas;
use toise::base::progress::Progress;
use toise::engine::{Budget, Engine};
use toise::estimate::bulk::{self, BulkEstimateOptions, BulkEstimateReport};
use toise::estimate::functions::scalar_functions;
use toise::estimate::live::LiveModel;
use toise::estimate::request::fields::columns;
use toise::estimate::valuer::{Adjustments, Valuer};
use toise::estimate::{Detail, Model, store};
use toise::opendata::dvf;

use crate::support::Service;
use crate::support::assertions::assert_has;
use crate::support::draw::Draw;
use crate::support::files::json_lines;
use crate::support::homes::{body_of, cell, drawn, trained};
use crate::support::sql::{answered, session_over};

/// Homes drawn.
const HOMES: usize = 60;

/// `price lower upper confidence fallback` of each row of an answer, or its error.
fn values(path: &Path) -> Vec<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let line = |row: &Map<String, Value>| match row.get("error").and_then(Value::as_str) {
        Some(error) if !error.is_empty() => error.to_owned(),
        _ => ["price", "lower", "upper", "confidence", "fallback"]
            .map(|name| text(&row[name]))
            .join(" "),
    };
    rows(path).iter().map(line).collect()
}

/// The rows of an output file in any format.
fn rows(path: &Path) -> Vec<Map<String, Value>> {
    let file = File::open(path).unwrap();
    match path.extension().unwrap().to_str().unwrap() {
        "csv" => {
            let mut reader = csv::Reader::from_reader(file);
            let header = reader.headers().unwrap().clone();
            let row = |cells: csv::StringRecord| {
                let cells = header.iter().zip(&cells);
                cells
                    .map(|(name, cell)| (name.to_owned(), json!(cell)))
                    .collect()
            };
            reader.records().map(|cells| row(cells.unwrap())).collect()
        }
        "ndjson" => json_lines(&std::io::read_to_string(file).unwrap()),
        _ => {
            let builder =
                parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
            let mut lines = arrow::json::LineDelimitedWriter::new(Vec::new());
            for batch in builder.unwrap().build().unwrap() {
                lines.write(&batch.unwrap()).unwrap();
            }
            lines.finish().unwrap();
            json_lines(&String::from_utf8(lines.into_inner()).unwrap())
        }
    }
}

fn estimate(valuer: &Valuer, input: &Path, output: &Path, day: &str) -> BulkEstimateReport {
    let options = BulkEstimateOptions {
        formulas: Formulas::Kept,
        input: input.to_owned(),
        output: output.to_owned(),
        renames: vec![("ref".into(), "id".into())],
        detail: Detail::default(),
        today: day.parse().unwrap(),
        geocoder: toise::geocode::resolve::LazyGeocoder::default(),
        progress: Progress::silent(),
    };
    bulk::run(valuer, &options).unwrap()
}

/// A portfolio as CSV text.
fn as_csv(homes: &[Map<String, Value>]) -> String {
    let header: Vec<&str> = columns().map(|field| field.column).collect();
    let mut text = format!("ref,{}\n", header.join(","));
    for (number, home) in homes.iter().enumerate() {
        let cells: Vec<String> = header.iter().map(|name| cell(home.get(*name))).collect();
        text.push_str(&format!("h{number},{}\n", cells.join(",")));
    }
    text
}

#[tokio::test]
async fn a_home_has_one_value_whichever_way_it_is_asked() {
    let (folder, files) = (trained(), tempfile::tempdir().unwrap());
    let (data, files) = (folder.path(), files.path());
    let mut draw = Draw::new(6);
    let homes: Vec<Map<String, Value>> = (0..HOMES).map(|_| drawn(&mut draw)).collect();

    let models = LiveModel::open(data, Adjustments::On);
    let service = Service::start_changed(|app| app.data.models = models).await;
    let day = service.clock.now().date_naive().to_string();
    let bodies: Vec<Value> = homes.iter().map(body_of).collect();
    let path = "/v2/protected/estimate/property/lite";
    let many = service
        .post(
            &format!("{path}/_many"),
            json!({"items": bodies}).to_string(),
        )
        .await;
    let many: Value = many.json().await.unwrap();
    let line = |answer: &Value| {
        let (range, about) = (&answer["priceRange"], &answer["metadata"]);
        let words = [&about["confidence"], &about["fallback"]].map(|word| word.as_str().unwrap());
        format!(
            "{} {} {} {}",
            answer["price"],
            range["lower"],
            range["upper"],
            words.join(" ")
        )
    };
    let expected: Vec<String> = many["data"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(expected.len(), HOMES);
    for (body, expected) in bodies.iter().zip(&expected).step_by(10) {
        let alone: Value = service
            .post(path, body.to_string())
            .await
            .json()
            .await
            .unwrap();
        assert_eq!(line(&alone["data"]), *expected);
        service.clock.advance_ms(1_000);
    }

    // The same homes as CSV, then each format converted from the one before.
    let model = Model::open(&data.join(store::FOLDER)).unwrap();
    let valuer = Valuer::new(std::sync::Arc::new(model), Adjustments::On);
    let csv = files.join("homes.csv");
    std::fs::write(&csv, as_csv(&homes)).unwrap();
    let ndjson = files.join("homes.ndjson");
    let lines = homes.iter().enumerate().map(|(number, home)| {
        let mut home = home.clone();
        home.insert("ref".into(), json!(format!("h{number}")));
        Value::Object(home).to_string()
    });
    std::fs::write(&ndjson, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let parquet = files.join("homes.parquet");
    into_parquet(&ndjson, &parquet);
    for (input, form) in [(&csv, "parquet"), (&ndjson, "csv"), (&parquet, "ndjson")] {
        let output = files.join(format!("valued.{form}"));
        let report = estimate(&valuer, input, &output, &day);
        assert_eq!((report.rows, report.valued), (HOMES as u64, HOMES as u64));
        assert_eq!(values(&output), expected, "{input:?}");
        let ids: Vec<Value> = rows(&output).iter().map(|row| row["id"].clone()).collect();
        assert_eq!(
            ids[HOMES - 1],
            json!(format!("h{}", HOMES - 1)),
            "rows keep their order"
        );
    }

    // In SQL, with all arguments.
    let engine = Engine::open(data, &[dvf::schema()], Budget::default()).unwrap();
    let functions = scalar_functions(data, Adjustments::On, day.parse().unwrap());
    let session = session_over(&engine, Vec::new(), functions).unwrap();
    let table: Vec<String> = homes
        .iter()
        .map(|home| format!("({})", arguments(home)))
        .collect();
    let names: Vec<String> = (0..columns().count()).map(|at| format!("c{at}")).collect();
    let names = names.join(", ");
    let sql = format!(
        "select e['price'], e['lower'], e['upper'], e['confidence'], e['fallback'], p \
         from (select estimate({names}) as e, estimate_price({names}) as p from (values {}) as homes({names}))",
        table.join(", ")
    );
    let found = answered(&session, &sql).unwrap();
    for (found, expected) in found.iter().zip(&expected) {
        let price = expected.split(' ').next().unwrap();
        assert_eq!(found.replace(".0", ""), format!("{expected} {price}"));
    }
    assert_eq!(found.len(), HOMES);
}

/// A home as the arguments of the functions.
fn arguments(home: &Map<String, Value>) -> String {
    let argument = |name: &str| match home.get(name) {
        None => "null".to_owned(),
        Some(Value::String(text)) => format!("'{text}'"),
        Some(other) => other.to_string(),
    };
    let arguments: Vec<String> = columns().map(|field| argument(field.column)).collect();
    arguments.join(", ")
}

/// Converts the rows of an NDJSON file to typed columns.
fn into_parquet(ndjson: &Path, parquet: &Path) {
    let text = File::open(ndjson).unwrap();
    let mut reader = std::io::BufReader::new(text);
    let (schema, _) =
        arrow::json::reader::infer_json_schema_from_seekable(&mut reader, None).unwrap();
    let schema = std::sync::Arc::new(schema);
    let batches = arrow::json::ReaderBuilder::new(schema.clone())
        .build(reader)
        .unwrap();
    let file = File::create(parquet).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, schema, None).unwrap();
    for batch in batches {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn the_zeros_of_unknown_values_are_left_out() {
    let (folder, files) = (trained(), tempfile::tempdir().unwrap());
    let (data, files) = (folder.path(), files.path());
    let model = Model::open(&data.join(store::FOLDER)).unwrap();
    let valuer = Valuer::new(std::sync::Arc::new(model), Adjustments::On);
    let input = files.join("homes.csv");
    let text = "ref;longitude;latitude;type;surface_m2;floor;total_floor;construction_year\n\
        a;2.38;48.86;flat;50;3;0;0\nb;2.38;48.86;flat;50;3;;\nc;2.38;48.86;flat;50;0;0;1950\n";
    std::fs::write(&input, text).unwrap();
    let output = files.join("valued.ndjson");
    let report = estimate(&valuer, &input, &output, "2026-11-21");
    assert_eq!((report.valued, report.errors), (3, 0));
    let found = values(&output);
    assert_eq!(found[0], found[1]);
    let left_out = &report.files[0].reading.left_out.0["0 stands for an unknown value"];
    assert_eq!(left_out.count, 2);
}

#[test]
fn a_row_that_is_no_home_has_its_error_and_the_others_their_values() {
    let (folder, files) = (trained(), tempfile::tempdir().unwrap());
    let (data, files) = (folder.path(), files.path());
    let model = Model::open(&data.join(store::FOLDER)).unwrap();
    let valuer = Valuer::new(std::sync::Arc::new(model), Adjustments::On);
    let input = files.join("homes.csv");
    let text = "ref;longitude;latitude;type;surface_m2;valuation_date;colour\n\
        a;2.38;48.86;flat;50;;red\nb;2.38;48.86;flat;NaN;;\nc;2.38;48.86;castle;50;;\nd;2.38\n\
        e;2.38;48.86;Appartement;50;2024-01-31;\nf;2.38;48.86;flat;-3;;\n";
    std::fs::write(&input, text).unwrap();
    let output = files.join("valued.ndjson");
    let report = estimate(&valuer, &input, &output, "2026-11-21");
    assert_eq!((report.rows, report.valued, report.errors), (6, 2, 4));
    let surface = "surface_m2: must be a number between 5 and 5000";
    let missing = "surface_m2: is required";
    let reading = &report.files[0].reading;
    let reasons: Vec<(&str, u64)> = reading
        .left_out
        .0
        .iter()
        .map(|(reason, found)| (reason.as_str(), found.count))
        .collect();
    assert_eq!(
        reasons,
        [
            (missing, 1),
            (surface, 1),
            ("the row has 2 cells where the header has 7", 1),
            (
                "type: must be one of: CLASS_FLAT, CLASS_HOUSE, or a word for one such as Appartement or Maison",
                1
            ),
        ]
    );
    let of_surface = &reading.left_out.0[surface].examples[0];
    assert_eq!(
        (of_surface.column.as_str(), of_surface.value.as_str()),
        ("surface_m2", "-3")
    );
    let of_short_row = &reading.left_out.0["the row has 2 cells where the header has 7"];
    assert_eq!(of_short_row.examples[0].column, "latitude");
    assert_eq!(reading.columns_unused, ["colour"]);
    let found = values(&output);
    assert_eq!((&*found[1], &*found[5]), (missing, surface));
    assert_eq!(
        found[3],
        "line 5: the row has 2 cells where the header has 7"
    );
    assert!(
        found[0].ends_with(" none") && found[4].ends_with(" none"),
        "{found:?}"
    );
    let missing = files.join("missing.csv");
    std::fs::write(&missing, "longitude,latitude,type\n1,2,flat\n").unwrap();
    let options = BulkEstimateOptions {
        formulas: Formulas::Kept,
        input: missing,
        output,
        renames: Vec::new(),
        detail: Detail::default(),
        today: "2026-11-21".parse().unwrap(),
        geocoder: toise::geocode::resolve::LazyGeocoder::default(),
        progress: Progress::silent(),
    };
    let error = bulk::run(&valuer, &options).unwrap_err().to_string();
    assert_has(&error, ": the portfolio has no column surface_m2");
    assert!(
        error.ends_with("; it has longitude, latitude, type"),
        "{error}"
    );
}

#[test]
fn comparables_and_contributions_come_as_columns_and_adjustments_can_be_left_out() {
    let (folder, files) = (trained(), tempfile::tempdir().unwrap());
    let (data, files) = (folder.path(), files.path());
    let model = std::sync::Arc::new(Model::open(&data.join(store::FOLDER)).unwrap());
    let input = files.join("homes.csv");
    let text = "longitude,latitude,type,surface_m2,has_terrace\n2.38,48.86,flat,50,true\n2.38,48.86,flat,50,\n";
    std::fs::write(&input, text).unwrap();
    let output = files.join("valued.ndjson");
    let valued = |adjustments| {
        let options = BulkEstimateOptions {
            formulas: Formulas::Kept,
            input: input.clone(),
            output: output.clone(),
            renames: Vec::new(),
            detail: Detail {
                comparables: 2,
                has_contributions: true,
            },
            today: "2026-11-21".parse().unwrap(),
            geocoder: toise::geocode::resolve::LazyGeocoder::default(),
            progress: Progress::silent(),
        };
        bulk::run(&Valuer::new(model.clone(), adjustments), &options).unwrap();
        rows(&output)
    };
    let with = valued(Adjustments::On);
    assert_eq!([&with[0]["id"], &with[1]["id"]], ["1", "2"]);
    let price = |row: &Map<String, Value>| row["price"].as_i64().unwrap();
    assert!(price(&with[0]) > price(&with[1]));
    let parsed = |row: &Map<String, Value>, name: &str| -> Value {
        serde_json::from_str(row[name].as_str().unwrap()).unwrap()
    };
    let parts = parsed(&with[0], "contributions");
    let sum: i64 = parts
        .as_object()
        .unwrap()
        .values()
        .map(|part| part.as_i64().unwrap())
        .sum();
    assert_eq!(sum, price(&with[0]));
    assert_eq!(parsed(&with[0], "comparables").as_array().unwrap().len(), 2);
    let without = valued(Adjustments::Off);
    assert_eq!(price(&without[0]), price(&with[1]));
    assert_eq!(price(&without[1]), price(&with[1]));
}
