//! Tests with files as people send them: encodings, delimiters, quoted line breaks, broken rows, repeated queries.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use toise_base::formula::Formulas;
use toise_geocode::Geocoder;
use toise_geocode::file::bulk::{FileJob, run};
use toise_geocode::file::csv::{CsvPlan, RowCounts, next_block};
use toise_geocode::file::records::{RecordReader, cells};
use toise_geocode::file::request::{COLUMNS_MAX, FileRequest, UnnamedColumns};
use toise_geocode::file::text::TextEncoding;
use toise_geocode::index::builder::{AddressRow, SegmentBuilder};
use toise_geocode::index::segment::Segment;
use toise_geocode::request::Operation;

/// Returns a geocoder without segments, which knows only the communes.
fn communes() -> Geocoder {
    Geocoder::new(Vec::new())
}

fn request(columns: &[&str]) -> FileRequest {
    FileRequest {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        result_columns: vec!["result_citycode".into(), "result_status".into()],
        ..FileRequest::default()
    }
}

#[test]
fn a_body_is_read_and_its_nulls_are_absent_fields() {
    let body = json!({"operation": "search", "columns": ["town"], "delimiter": ";"});
    let read = FileRequest::parse(&body).unwrap();
    assert_eq!(read.columns, ["town"]);
    assert_eq!(read.delimiter.as_deref(), Some(";"));
    let mut nulls = json!({"operation": "search"});
    let nothing = FileRequest::parse(&nulls).unwrap();
    for name in FileRequest::FIELDS {
        nulls[name] = Value::Null;
    }
    assert_eq!(FileRequest::parse(&nulls).unwrap(), nothing);
    #[rustfmt::skip]
    let cases = [
        (json!([]), "body: must be an object"),
        (json!({}), "operation: must be one of: search, reverse"),
        (json!({"operation": null}), "operation: must be one of: search, reverse"),
        (json!({"operation": "search", "column": null}), "column: unknown field; must be one of: operation, columns,"),
        (json!({"operation": "search", "columns": "town"}), "columns: must be an array"),
        (json!({"operation": "search", "columns": ["town", 1]}), "columns[1]: must be a string"),
        (json!({"operation": "search", "lat": 1}), "lat: must be a string"),
    ];
    for (body, message) in cases {
        let refused = FileRequest::parse(&body).unwrap_err().to_string();
        assert!(refused.starts_with(message), "{refused}");
    }
}

/// Returns the job that writes the results of a file to another.
fn job<'a>(input: &'a Path, output: &'a Path, request: &'a FileRequest) -> FileJob<'a> {
    FileJob {
        input,
        output,
        request,
        formulas: Formulas::Kept,
        progress: &|_| {},
    }
}

fn geocoded(file: &[u8], request: &FileRequest) -> Result<(Vec<u8>, RowCounts), String> {
    geocoded_by(&communes(), file, request)
}

fn geocoded_by(
    geocoder: &Geocoder,
    file: &[u8],
    request: &FileRequest,
) -> Result<(Vec<u8>, RowCounts), String> {
    let encoding = TextEncoding::detect(file).unwrap();
    let plan = CsvPlan::read(file, request, encoding).map_err(|error| error.to_string())?;
    let first = plan.first_record_at();
    let mut records = plan.records(&file[first as usize..], first);
    let mut rows = plan.rows().unwrap();
    let (mut text, mut counts) = (plan.header().to_vec(), RowCounts::default());
    while let Some(block) = next_block(&plan, &mut records, &mut rows, geocoder).unwrap() {
        text.extend(block.text);
        counts.add(&block.counts);
    }
    Ok((text, counts))
}

fn text(file: &str, request: &FileRequest) -> String {
    String::from_utf8(geocoded(file.as_bytes(), request).unwrap().0).unwrap()
}

#[test]
fn every_byte_of_the_file_comes_back_with_results_behind_it() {
    let file = "\u{feff}\"id\";town;note\r\n1;Mende;\"a \"\"quoted\"\"\r\nline; break\"\r\n2;  Marvejols ;\r\n";
    let wanted = "\u{feff}\"id\";town;note;result_citycode;result_status\r\n\
        1;Mende;\"a \"\"quoted\"\"\r\nline; break\";48095;ok\r\n2;  Marvejols ;;48092;ok\r\n";
    assert_eq!(text(file, &request(&["town"])), wanted);
}

#[test]
fn lines_above_the_header_are_copied_and_skipped() {
    let header = "Réf;town;CP;note\r\n";
    for above in [
        "Liste des immeubles\r\n\r\n",
        "\u{feff}Liste des immeubles;;;\r\nau 5 mars;2026;;\r\n",
        "sep=;\r\n",
    ] {
        let file = format!("{above}{header}1;Mende;48000;=1+1\r\n");
        let wanted = format!(
            "{above}Réf;town;CP;note;result_citycode;result_status\r\n1;Mende;48000;=1+1;48095;ok\r\n"
        );
        assert_eq!(text(&file, &request(&["town"])), wanted);
        let plan = CsvPlan::read(
            file.as_bytes(),
            &request(&["town"]),
            TextEncoding::parse("utf-8").unwrap(),
        );
        let plan = plan.unwrap().with_formulas(Formulas::Escaped);
        assert!(plan.header().starts_with(above.as_bytes()));
    }
    let file = "Immeubles\nid,town,cp,x\n1,Mende,48000,1\n";
    let plan = CsvPlan::read(
        file.as_bytes(),
        &request(&["town"]),
        TextEncoding::parse("utf-8").unwrap(),
    );
    assert_eq!(plan.unwrap().reading().form.header_line, Some(2));
}

#[test]
fn rows_that_a_delimiter_closes_have_a_last_column_without_a_name() {
    let file = "town;note\nMende;5;\nMarvejols;4; \n";
    let wanted =
        "town;note;;result_citycode;result_status\nMende;5;;48095;ok\nMarvejols;4; ;48092;ok\n";
    assert_eq!(text(file, &request(&["town"])), wanted);
}

#[test]
fn a_file_in_windows_1252_stays_in_it() {
    let mut wanted = request(&["ville"]);
    wanted.result_columns.push("result_city".into());
    let file = b"ville\tprix \x80\nSaint-\xc9tienne\t1\n";
    let (found, _) = geocoded(file, &wanted).unwrap();
    let expected = b"ville\tprix \x80\tresult_citycode\tresult_status\tresult_city\n\
        Saint-\xc9tienne\t1\t42218\tok\tSaint-\xc9tienne\n";
    assert_eq!(found, expected);
}

#[test]
fn bad_rows_have_a_status_and_do_not_stop_the_file() {
    let file = "id,town\n1,Mende\n2\n3,Mende,more\n4,\n\n5,Xyzzyville\n6,\"Mende\n7,Mende\n8,Mende";
    let (found, counts) = geocoded(file.as_bytes(), &request(&["town"])).unwrap();
    let wanted = "id,town,result_citycode,result_status\n1,Mende,48095,ok\n2,,,error\n3,Mende,more,,error\n\
        4,,,skipped\n\n5,Xyzzyville,,not-found\n6,\"Mende,,error\n7,Mende,48095,ok\n8,Mende,48095,ok";
    assert_eq!(String::from_utf8(found).unwrap(), wanted);
    let expected = RowCounts {
        ok: 3,
        not_found: 1,
        skipped: 1,
        error: 3,
        without_town: 0,
    };
    assert_eq!(counts, expected);
}

#[test]
fn columns_of_the_same_name_are_numbered_and_unknown_ones_are_named() {
    let mut wanted = request(&["town"]);
    wanted.result_columns = vec!["latitude".into()];
    let found = text("town,latitude\nMende,1\n", &wanted);
    assert!(
        found.starts_with("town,latitude,latitude_2\nMende,1,44.5"),
        "{found}"
    );
    let refused =
        |file: &str, request: &FileRequest| geocoded(file.as_bytes(), request).unwrap_err();
    assert_eq!(
        refused("a,b\n", &request(&["town"])),
        "columns[0]: the file has no column \"town\"; its columns are: a, b"
    );
    assert_eq!(
        refused("", &request(&[])),
        "data: is empty or has no readable header"
    );
    wanted.result_columns = vec!["price".into()];
    assert!(
        refused("town\n", &wanted).starts_with("result_columns[0]: must be one of: latitude, ")
    );
    wanted.encoding = Some("utf-16".into());
    wanted.result_columns.clear();
    assert!(refused("town\n", &wanted).starts_with("encoding: must be utf-8 or"));
}

#[test]
fn codes_that_a_spreadsheet_shortened_are_filled_up() {
    let wanted = FileRequest {
        insee_code: Some("code".into()),
        ..request(&["town"])
    };
    let found = text(
        "town,code\nBourg-en-Bresse,1053\nBourg-en-Bresse,1053.0\nBourg-en-Bresse,x\n",
        &wanted,
    );
    assert!(
        found.ends_with(
            "1053,01053,ok\nBourg-en-Bresse,1053.0,01053,ok\nBourg-en-Bresse,x,,error\n"
        ),
        "{found}"
    );
}

#[test]
fn positions_are_turned_into_communes() {
    let wanted = FileRequest {
        operation: Operation::Reverse,
        ..request(&[])
    };
    let found = text("Lat;Lon\n44,518;3,501\n0;0\nx;1\n;\n", &wanted);
    assert!(
        found.ends_with("44,518;3,501;48095;ok\n0;0;;not-found\nx;1;;error\n;;;skipped\n"),
        "{found}"
    );
    let refused = geocoded(b"a;b\n", &wanted).unwrap_err();
    assert!(
        refused.starts_with("lat: must name the column"),
        "{refused}"
    );
}

#[test]
fn an_encoding_is_detected_across_pieces() {
    let long = format!("{}é", "x".repeat((256 << 10) - 1));
    assert_eq!(
        TextEncoding::detect(long.as_bytes()).unwrap().name(),
        "UTF-8"
    );
    assert_eq!(
        TextEncoding::detect(&b"caf\xe9"[..]).unwrap().name(),
        "windows-1252"
    );
    assert_eq!(
        TextEncoding::detect(&b"caf\xc3"[..]).unwrap().name(),
        "windows-1252"
    );
}

#[test]
fn formulas_are_escaped_on_demand_and_other_rows_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let file = "\u{feff}=n,town\r\n\"-1\",Mende\r\n=1+1,Mende\r\n\"@a\"\"b,c\",Mende\r\n";
    std::fs::write(&input, file).unwrap();
    let wanted = request(&["town"]);
    let geocoded = |formulas| {
        let job = job(&input, &output, &wanted);
        run(&FileJob { formulas, ..job }, &communes()).unwrap();
        std::fs::read_to_string(&output).unwrap()
    };
    let rest = [
        "result_citycode,result_status",
        "48095,ok",
        "48095,ok",
        "48095,ok",
    ];
    let expected = |cells: [&str; 4]| {
        let lines = cells.iter().zip(rest);
        let lines: Vec<String> = lines
            .map(|(cells, rest)| format!("{cells},{rest}\r\n"))
            .collect();
        lines.concat()
    };
    assert_eq!(
        geocoded(Formulas::Kept),
        expected([
            "\u{feff}=n,town",
            "\"-1\",Mende",
            "=1+1,Mende",
            "\"@a\"\"b,c\",Mende"
        ])
    );
    assert_eq!(
        geocoded(Formulas::Escaped),
        expected([
            "\u{feff}'=n,town",
            "\"-1\",Mende",
            "'=1+1,Mende",
            "\"'@a\"\"b,c\",Mende"
        ])
    );
}

#[test]
fn ndjson_and_parquet_keep_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (
        folder.path().join("a.ndjson"),
        folder.path().join("b.ndjson"),
    );
    std::fs::write(&input, "{\"town\": \"Mende\", \"n\": 1.50}\nnonsense\n{}\n").unwrap();
    let wanted = request(&["town"]);
    let job = job(&input, &output, &wanted);
    let report = run(&job, &communes()).unwrap();
    assert_eq!(
        (report.rows, report.counts.ok, report.counts.error),
        (3, 1, 1)
    );
    let found = std::fs::read_to_string(&output).unwrap();
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(
        lines[0],
        "{\"town\": \"Mende\", \"n\": 1.50,\"result_citycode\":\"48095\",\"result_status\":\"ok\"}"
    );
    assert_eq!(
        lines[1],
        "{\"line\":\"nonsense\",\"result_status\":\"error\"}"
    );
    assert_eq!(lines[2], "{\"result_status\":\"skipped\"}");
    std::fs::write(&input, "[\n {\"town\": \"Mende\",\n \"n\": 1.50},\n {}]\n").unwrap();
    let report = run(&job, &communes()).unwrap();
    assert_eq!((report.rows, report.counts.ok), (2, 1));
    let of_array = std::fs::read_to_string(&output).unwrap();
    assert_eq!(of_array.lines().collect::<Vec<_>>(), [lines[0], lines[2]]);
    let array = FileJob {
        output: &folder.path().join("b.json"),
        ..job
    };
    run(&array, &communes()).unwrap();
    let written = std::fs::read_to_string(array.output).unwrap();
    let expected = [lines[0], lines[2]].map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(
        serde_json::from_str::<Vec<Value>>(&written).unwrap(),
        expected
    );
    let document = "{\"towns\": [\n {\"town\": \"Mende\",\n \"n\": 1.50},\n {}],\n \"total\": 2}\n";
    std::fs::write(&input, document).unwrap();
    assert_eq!(run(&job, &communes()).unwrap().rows, 2);
    let of_document = std::fs::read_to_string(&output).unwrap();
    assert_eq!(of_document, of_array);
    std::fs::write(&input, "[{\"town\": \"Mende\"}, {").unwrap();
    let error = run(&job, &communes()).unwrap_err().to_string();
    assert!(error.contains("the file ends early"), "{error}");
}

#[test]
fn rows_in_error_are_named_by_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let read = |name: &str, text: &str, wanted: FileRequest| {
        let input = folder.path().join(name);
        std::fs::write(&input, text).unwrap();
        let job = job(&input, &output, &wanted);
        let report = run(&job, &communes()).unwrap();
        let mut reasons = report.files[0].reading.left_out.0.iter();
        let (reason, found) = reasons.next().unwrap();
        let example = &found.examples[0];
        (reason.clone(), example.line, example.value.clone())
    };
    let long_row = "town,code\nMende,x,y\n";
    let (_, _, text) = read("long.csv", long_row, request(&["town"]));
    assert_eq!(text, "Mende,x,y");
    let line = |name: &str, text: &str| {
        let (reason, line, _) = read(name, text, request(&["town"]));
        assert!(reason.starts_with("the row cannot be read:"), "{reason}");
        line
    };
    let csv = "id;town;cp;x\n1;Mende;48000;\"a\nb\"\n\n2;Mende;48000\n";
    assert_eq!(line("a.csv", &format!("Immeubles\n\n{csv}")), 7);
    assert_eq!(line("b.csv", &csv.replace('\n', "\r\n")), 5);
    assert_eq!(line("c.csv", &csv.replace('\n', "\r")), 5);
    assert_eq!(line("a.ndjson", "{\"town\": \"Mende\"}\n\nx\n"), 3);
    let of_code = FileRequest {
        insee_code: Some("code".into()),
        ..request(&["town"])
    };
    assert_eq!(
        read("d.csv", "town,code\nMende,x\n", of_code),
        (
            "no valid query: the INSEE code is none".to_owned(),
            2,
            "x".to_owned()
        )
    );
}

#[test]
fn a_row_is_searched_without_a_code_of_no_commune_in_a_column_that_is_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let rows = "Mende;48095\nMende;2A4\nMende;99999\nMende;nan\nAmbérieu-en-Bugey;1004\n";
    std::fs::write(&input, format!("rue;depcom\n{rows}")).unwrap();
    let wanted = FileRequest {
        unnamed: UnnamedColumns::ByMeaning,
        ..request(&[])
    };
    let job = FileJob {
        input: &input,
        output: &output,
        request: &wanted,
        formulas: Formulas::Kept,
        progress: &|_| {},
    };
    let report = run(&job, &communes()).unwrap();
    assert_eq!((report.rows, report.counts.ok), (5, 5));
    let left_out = &report.files[0].reading.left_out.0;
    let found = &left_out["no commune has the INSEE code, so the row is searched without it"];
    let examples: Vec<(u64, &str)> = found
        .examples
        .iter()
        .map(|example| (example.line, example.value.as_str()))
        .collect();
    assert_eq!((left_out.len(), found.count), (1, 2));
    assert_eq!(examples, [(3, "2A4"), (4, "99999")]);
}

#[test]
fn an_output_whose_extension_names_another_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = request(&["town"]);
    for (input, text, fitting, others) in [
        (
            "a.csv",
            "town\nMende\n",
            "b.tsv",
            ["b.xlsx", "b.parquet", "b.csv.gz"],
        ),
        (
            "a.ndjson",
            "{\"town\": \"Mende\"}\n",
            "b.json",
            ["b.CSV", "b.ods", "b.arrow"],
        ),
    ] {
        let input = folder.path().join(input);
        std::fs::write(&input, text).unwrap();
        let geocoded = |output: &str| {
            let output = folder.path().join(output);
            run(&job(&input, &output, &wanted), &communes()).map_err(|error| error.to_string())
        };
        for other in others {
            let refused = geocoded(other).unwrap_err();
            assert!(refused.contains("the extension must be"), "{refused}");
            assert!(!folder.path().join(other).exists());
        }
        assert_eq!(geocoded(fitting).unwrap().counts.ok, 1);
        assert_eq!(geocoded("plain").unwrap().counts.ok, 1);
    }
}

#[test]
fn geojson_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("a.geojson"), folder.path().join("out"));
    let feature = r#"{"type": "Feature", "properties": {"town": "Mende"}, "geometry": null}"#;
    for text in [
        format!(
            "{{\n\"type\": \"FeatureCollection\",\n\"features\": [\n{feature},\n{feature}\n]\n}}\n"
        ),
        format!("{{\"type\":\"FeatureCollection\",\"features\":[{feature}]}}"),
    ] {
        std::fs::write(&input, text).unwrap();
        let refused = run(&job(&input, &output, &request(&["town"])), &communes()).unwrap_err();
        assert!(refused.to_string().contains("this is GeoJSON"), "{refused}");
    }
    std::fs::write(&input, "[\"1 rue Basse 48000 Mende\"]").unwrap();
    let refused = run(&job(&input, &output, &request(&["town"])), &communes()).unwrap_err();
    assert!(
        refused.to_string().contains("JSON array of texts"),
        "{refused}"
    );
}

#[test]
fn parquet_keeps_its_columns() {
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
    use std::fs::File;
    use std::sync::Arc;

    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (
        folder.path().join("a.parquet"),
        folder.path().join("b.parquet"),
    );
    let columns: [(&str, ArrayRef); 2] = [
        (
            "town",
            Arc::new(StringArray::from(vec![Some("Mende"), None])),
        ),
        ("code", Arc::new(Int32Array::from(vec![48_095, 48_095]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&input).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let wanted = FileRequest {
        insee_code: Some("code".into()),
        result_columns: vec!["latitude".into(), "result_label".into()],
        ..request(&["town"])
    };
    let job = job(&input, &output, &wanted);
    run(&job, &communes()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&output).unwrap()).unwrap();
    let found = reader.build().unwrap().next().unwrap().unwrap();
    assert_eq!(found.column(1), batch.column(1));
    let latitudes = found
        .column(2)
        .as_primitive::<arrow::datatypes::Float64Type>();
    assert!((latitudes.value(0) - 44.5).abs() < 0.1 && found.column(2).is_null(1));
    assert_eq!(found.column(3).as_string::<i32>().value(0), "Mende");
}

proptest! {
    /// Splitting loses and changes nothing, wherever reads end.
    #[test]
    fn records_are_the_file(file in "[a\",;\r\n]{0,60}", step in 1usize..7) {
        struct Slow<'b>(&'b [u8], usize);
        impl std::io::Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.1.min(self.0.len()).min(buffer.len());
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut records = RecordReader::new(Slow(file.as_bytes(), step), b',', 0);
        let mut joined = Vec::new();
        while let Some(record) = records.next_record().unwrap() {
            joined.extend_from_slice(record.bytes);
            joined.extend_from_slice(record.line_break);
        }
        prop_assert_eq!(joined.as_slice(), file.as_bytes());
        prop_assert_eq!(records.position(), file.len() as u64);
    }

    /// A record written by a CSV library is split as it was written.
    #[test]
    fn cells_are_read_as_others_write_them(row in prop::collection::vec("[a\",;\n é]{0,6}", 1..5)) {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(&row).unwrap();
        let written = writer.into_inner().unwrap();
        let mut records = RecordReader::new(written.as_slice(), b',', 0);
        let record = records.next_record().unwrap().unwrap();
        let found: Vec<Vec<u8>> = cells(record.bytes, b',').iter().map(|cell| cell.to_vec()).collect();
        let wanted: Vec<Vec<u8>> = row.iter().map(|cell| cell.clone().into_bytes()).collect();
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn empty_fields_say_nothing_but_count_against_the_bound() {
    let set = |count: usize| {
        let mut request = FileRequest::default();
        for _ in 0..count {
            assert!(request.set("result_columns", String::new()));
        }
        request.set("postcode", String::new());
        request.checked()
    };
    assert_eq!(set(1).unwrap(), FileRequest::default());
    assert_eq!(set(2).unwrap_err().path, "result_columns[1]");
    let fault = set(COLUMNS_MAX + 1).unwrap_err();
    assert_eq!(fault.path, "result_columns");
}

#[test]
fn a_file_without_towns_is_geocoded_and_warned_of() {
    let row = |name: &str, number: u32| AddressRow {
        id: format!("48095_0100_{number:05}"),
        number: Some(number),
        name: name.into(),
        postal_code: "48000".into(),
        insee_code: "48095".into(),
        commune: "Mende".into(),
        lat: 44.5,
        lon: 3.5,
        ..AddressRow::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("48");
    let mut builder = SegmentBuilder::default();
    builder.push(&row("Rue Henri Saumande", 9));
    let mut segment = Vec::new();
    builder.write("48", &mut segment).unwrap();
    std::fs::write(&path, segment).unwrap();
    let geocoder = Geocoder::new(vec![Arc::new(Segment::open(&path).unwrap())]);
    let file: &[u8] =
        b"street,town\n9 rue Henri Saumande,Mende\nrue Henri Saumande,Mende\n12 zzz qqq,Mende\n";
    let counted = |columns: &[&str]| geocoded_by(&geocoder, file, &request(columns)).unwrap().1;
    let without = counted(&["street"]);
    assert_eq!((without.ok, without.not_found), (2, 1));
    assert_eq!(without.without_town, 2);
    assert!(without.town_warning().unwrap().contains("2 of 2"));
    let with = counted(&["street", "town"]);
    assert_eq!((with.without_town, with.town_warning()), (0, None));
}
