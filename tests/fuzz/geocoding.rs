//! Files of addresses, and the forms in which they are sent.

use std::fs;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrow::array::{ArrayRef, Float64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use proptest::prelude::*;
use reqwest::Method;
use serde_json::Value;
use toise::base::formula::Formulas;
use toise::geocode::file::bulk::{FileJob, run};
use toise::geocode::file::csv::{CsvPlan, RowCounts, next_block};
use toise::geocode::file::request::FileRequest;
use toise::geocode::file::text::TextEncoding;
use toise::geocode::request::Operation;
use toise::geocode::search::Geocoder;
use toise::lake::foreign::ForeignParquet;

use super::mutation::{mutated, samples};
use super::{quick, slow};
use crate::support::Service;

const CORPUS: &str = "tests/fuzz/corpus";

/// Without segments, it knows the communes.
static GEOCODER: LazyLock<Geocoder> = LazyLock::new(|| Geocoder::new(Vec::new()));

/// A Parquet file of addresses with a list and numbers.
static PARQUET: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let towns = ["Mende", "Mende", "Marvejols", ""];
    let rooms = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1)]),
        None,
        Some(vec![]),
        Some(vec![None]),
    ]);
    let columns: [(&str, ArrayRef); 3] = [
        ("town", Arc::new(StringArray::from(towns.to_vec()))),
        (
            "lat",
            Arc::new(Float64Array::from(vec![44.5, 44.6, f64::NAN, 1e300])),
        ),
        ("rooms", Arc::new(rooms)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut file = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
});

/// A running service and what its calls run on.
static SERVICE: LazyLock<Mutex<(tokio::runtime::Runtime, Service)>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = runtime.block_on(Service::start());
    Mutex::new((runtime, service))
});

/// The form that a file is sent in.
fn form() -> Vec<u8> {
    let part = |name: &str, value: &str| {
        format!("--frontier\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = part(
        "data\"; filename=\"a.csv",
        "town;x\r\nMende;1\r\nMarvejols;2\r\n",
    );
    format!(
        "{}{}{file}--frontier--\r\n",
        part("columns", "town"),
        part("delimiter", ";")
    )
    .into_bytes()
}

/// The message about a file on the command line; a refusal names the file.
fn run_on(name: &str, bytes: &[u8], operation: Operation) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join(name), folder.path().join("output"));
    fs::write(&input, bytes).unwrap();
    let request = FileRequest {
        operation,
        ..FileRequest::default()
    };
    let job = FileJob {
        input: &input,
        output: &output,
        request: &request,
        formulas: Formulas::Kept,
        progress: &|_| (),
    };
    match run(&job, &*GEOCODER) {
        Ok(_) => {
            let written = fs::read(&output).unwrap();
            // The output of any line is JSON, unless the file was read as CSV.
            if bytes.trim_ascii_start().starts_with(b"{") {
                for line in written
                    .split(|byte| *byte == b'\n')
                    .filter(|line| !line.is_empty())
                {
                    prop_assert!(serde_json::from_slice::<Value>(line).is_ok());
                }
            }
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.contains(name), "{}", message);
            prop_assert!(!output.exists());
        }
    }
    // No draft or other file is left behind.
    prop_assert!(fs::read_dir(folder.path()).unwrap().count() <= 2);
    Ok(())
}

proptest! {
    #![proptest_config(quick())]

    #[test]
    fn each_row_of_a_file_comes_back(bytes in mutated(samples(CORPUS, "addresses.csv"))) {
        let request = FileRequest::default();
        let encoding = TextEncoding::detect(&bytes[..]).unwrap();
        let Ok(plan) = CsvPlan::read(&bytes[..], &request, encoding) else {
            return Ok(());
        };
        let first = plan.first_record_at();
        let rows = plan.count(&bytes[first as usize..]).unwrap();
        let mut records = plan.records(&bytes[first as usize..], first);
        let mut geocoder = plan.rows().unwrap();
        let mut counts = RowCounts::default();
        while let Some(block) = next_block(&plan, &mut records, &mut geocoder, &*GEOCODER).unwrap() {
            counts.add(&block.counts);
        }
        prop_assert_eq!(counts.rows(), rows);
        prop_assert_eq!(records.position(), bytes.len() as u64);
    }

    #[test]
    fn a_changed_parquet_file_is_read_or_refused(bytes in mutated(vec![PARQUET.clone()])) {
        let Ok(rows) = ForeignParquet::open(bytes::Bytes::from(bytes), 2) else {
            return Ok(());
        };
        let schema = Arc::clone(rows.schema());
        for batch in rows {
            let Ok(batch) = batch else { break };
            let _ = ForeignParquet::restored(&schema, &batch);
        }
    }
}

proptest! {
    #![proptest_config(slow())]

    #[test]
    fn files_of_the_command_line_are_geocoded_or_refused_by_name(
        rows in mutated(samples(CORPUS, "addresses.ndjson")),
        table in mutated(samples(CORPUS, "addresses.csv")),
        columns in mutated(vec![PARQUET.clone()]),
    ) {
        for operation in Operation::ALL {
            run_on("mutated.ndjson", &rows, operation)?;
            run_on("mutated.csv", &table, operation)?;
            run_on("mutated.parquet", &columns, operation)?;
        }
    }

    #[test]
    fn forms_are_answered_or_refused(body in mutated(vec![form()])) {
        let shared = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
        let (runtime, service) = &*shared;
        // The key has a rate per second.
        service.clock.advance_ms(1_000);
        let request = service
            .ask(Method::POST, "/geocoding/search/csv")
            .header("x-api-key", &service.key)
            .header("content-type", "multipart/form-data; boundary=frontier");
        let is_whole = body == form();
        let status = runtime.block_on(async {
            let answer = request.body(body).send().await.unwrap();
            let status = answer.status().as_u16();
            answer.bytes().await.unwrap();
            status
        });
        prop_assert!(status == 200 || (status == 422 && !is_whole), "{}", status);
    }
}
