//! Tests of the limits on files: decompressed size, line length, number of columns, repeated columns.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use toise_base::bounded::{FILE_COLUMNS_MAX, UNPACKED_BYTES_LEAST};
use toise_base::formula::Formulas;
use toise_contract::Fault;
use toise_geocode::Geocoder;
use toise_geocode::file::bulk::{FileJob, run};
use toise_geocode::file::csv::CsvPlan;
use toise_geocode::file::records::RECORD_BYTES_MAX;
use toise_geocode::file::request::FileRequest;
use toise_geocode::file::text::TextEncoding;

fn request(columns: &[&str]) -> FileRequest {
    FileRequest {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        result_columns: vec!["result_status".into()],
        ..FileRequest::default()
    }
}

fn geocoded(input: &Path, request: &FileRequest) -> Result<String, String> {
    let output = input.with_extension("out");
    let job = FileJob {
        input,
        output: &output,
        request,
        formulas: Formulas::Kept,
        progress: &|_| (),
    };
    // Without segments, a geocoder knows only the communes.
    run(&job, &Geocoder::new(Vec::new())).map_err(|error| error.to_string())?;
    Ok(std::fs::read_to_string(output).unwrap())
}

fn planned(file: &[u8], request: &FileRequest) -> Result<CsvPlan, String> {
    let encoding = TextEncoding::parse("utf-8").unwrap();
    CsvPlan::read(file, request, encoding).map_err(|error| error.to_string())
}

#[test]
fn a_compressed_file_that_becomes_endless_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begin) in [("a.csv.gz", "town\n"), ("a.ndjson.gz", "{\"town\": \"")] {
        let path = folder.path().join(name);
        let mut packed = GzEncoder::new(File::create(&path).unwrap(), Compression::best());
        packed.write_all(begin.as_bytes()).unwrap();
        let mut rest = io::repeat(b'a').take(2 * UNPACKED_BYTES_LEAST);
        io::copy(&mut rest, &mut packed).unwrap();
        packed.finish().unwrap();
        let refused = geocoded(&path, &request(&["town"])).unwrap_err();
        assert!(
            refused.contains(name) && refused.contains("times its size"),
            "{refused}"
        );
        assert!(!path.with_extension("out.part").exists());
    }
}

#[test]
fn a_line_that_is_too_long_or_not_utf_8_has_a_status_and_does_not_stop_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ndjson");
    let long = "a".repeat(2 * RECORD_BYTES_MAX);
    let mut file = format!("{{\"town\": \"Mende\"}}\n{{\"town\": \"{long}\"}}\n").into_bytes();
    file.extend_from_slice(b"{\"town\": \"\xe9\"}\n{\"town\": \"Mende\"}\n");
    std::fs::write(&path, file).unwrap();
    let text = geocoded(&path, &request(&["town"])).unwrap();
    let statuses = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["result_status"].as_str().unwrap().to_owned()
    });
    let statuses: Vec<String> = statuses.collect();
    assert_eq!(statuses, ["ok", "error", "error", "ok"]);
    assert!(text.len() < RECORD_BYTES_MAX + 1_000);
}

#[test]
fn a_file_has_a_bounded_number_of_columns_and_names_few_of_them() {
    let header = |columns: usize| format!("town{}\nMende\n", ",column".repeat(columns - 1));
    let file = header(FILE_COLUMNS_MAX);
    assert!(planned(file.as_bytes(), &request(&["town"])).is_ok());
    let unknown = planned(file.as_bytes(), &request(&["city"])).err().unwrap();
    assert!(
        unknown.len() < 3_000 && unknown.ends_with(" more"),
        "{unknown}"
    );
    let file = header(FILE_COLUMNS_MAX + 1);
    let refused = planned(file.as_bytes(), &request(&["city"])).err().unwrap();
    assert_eq!(refused, "data: has 2001 columns; at most 2000 are read");
}

#[test]
fn a_column_is_named_once() {
    let check = |request: &FileRequest| request.check().map_err(|Fault { path, .. }| path);
    assert_eq!(
        check(&request(&["a", "b", "a"])),
        Err("columns[2]".to_owned())
    );
    let mut repeated = request(&["a"]);
    repeated.result_columns.push("result_status".into());
    assert_eq!(check(&repeated), Err("result_columns[1]".to_owned()));
}
