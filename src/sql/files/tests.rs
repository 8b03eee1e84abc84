//! Tests of files as tables: types are decided over the whole file, and codes stay text.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use datafusion::prelude::SessionContext;

use super::*;

struct Answer {
    types: Vec<(String, DataType)>,
    rows: Vec<Vec<String>>,
    note: Option<String>,
}

fn read_as(name: &str, bytes: &[u8], text_columns: &TextColumns) -> Result<Answer, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    let table = FileTable {
        name: "f".into(),
        path: path.display().to_string(),
    };
    let ready = ReadyFile::new(&table, text_columns).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let batches: Vec<RecordBatch> = runtime.block_on(async {
        let context = SessionContext::new();
        ready.register(&context).await.unwrap();
        context
            .sql("select * from f")
            .await
            .unwrap()
            .collect()
            .await
            .unwrap()
    });
    let schema = batches[0].schema();
    let fields = schema.fields().iter();
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter();
            rows.push(
                cells
                    .map(|column| array_value_to_string(column, row).unwrap())
                    .collect(),
            );
        }
    }
    Ok(Answer {
        types: fields
            .map(|field| (field.name().clone(), field.data_type().clone()))
            .collect(),
        rows,
        note: ready.note,
    })
}

fn read(bytes: &[u8]) -> Answer {
    read_as("f.csv", bytes, &TextColumns::Codes).unwrap()
}

fn types(answer: &Answer) -> Vec<&DataType> {
    answer.types.iter().map(|(_, kind)| kind).collect()
}

#[test]
fn codes_stay_text_and_types_are_those_of_the_whole_file() {
    let mut csv = String::from("ref,insee,cp,parcelle,prix,note\n");
    for row in 0..3_000 {
        csv.push_str(&format!(
            "{row},{:05},01000,01053000AB{row:04},{},{row}\n",
            1_001 + row,
            100_000 + row
        ));
    }
    csv.push_str("3000,2A004,20000,2A004000AB0001,1.5,last\n");
    let answer = read(csv.as_bytes());
    use DataType::{Float64, Int64, Utf8View};
    assert_eq!(
        types(&answer),
        [&Int64, &Utf8View, &Utf8View, &Utf8View, &Float64, &Utf8View]
    );
    assert_eq!(answer.rows.len(), 3_001);
    assert!(
        answer
            .rows
            .iter()
            .any(|row| row[1] == "01001" && row[2] == "01000")
    );
    assert!(
        answer
            .note
            .unwrap()
            .contains("kept as text: insee, cp, parcelle")
    );
}

#[test]
fn the_area_of_a_parcel_is_a_number() {
    let answer = read(b"parcelle;surface_parcelle\n12;412,5\n13;650\n");
    assert_eq!(types(&answer), [&DataType::Utf8View, &DataType::Float64]);
}

#[test]
fn rows_that_repeat_the_header_are_left_out_with_a_note() {
    let answer = read(b"n,price\n1,1.5\nn,price\n2,2.5\nn,price\n");
    assert_eq!(types(&answer), [&DataType::Int64, &DataType::Float64]);
    assert_eq!(answer.rows, [["1", "1.5"], ["2", "2.5"]]);
    let note = answer.note.unwrap();
    assert!(
        note.ends_with(": rows that repeat the header, left out: 2"),
        "{note}"
    );
}

#[test]
fn codes_that_a_program_held_as_numbers_lose_their_decimals() {
    let csv = b"code_postal,depcom,version,prix\n83000.0,83137.0,1.0,5.0\n,83069.0,2.5,6.0\n";
    let answer = read(csv);
    use DataType::{Float64, Utf8View};
    assert_eq!(types(&answer), [&Utf8View, &Utf8View, &Float64, &Float64]);
    assert_eq!(answer.rows[0], ["83000", "83137", "1.0", "5.0"]);
    assert_eq!(answer.rows[1], ["", "83069", "2.5", "6.0"]);
    let note = answer.note.unwrap();
    assert!(
        note.contains("codes read without .0: code_postal, depcom"),
        "{note}"
    );
    let kept = read(b"code,prix\n1.0,5\n1.5,6\n");
    assert_eq!(kept.rows[0], ["1.0", "5"]);
    let all = read_as("f.csv", csv, &TextColumns::All).unwrap();
    assert_eq!(all.rows[0][0], "83000.0");
    let vague = read(b"code_version,code_dep,departement\n1.0,83000.0,83.0\n12.0,83137.0,6.0\n");
    assert_eq!(vague.rows[0], ["1.0", "83000", "83"]);
    assert_eq!(vague.rows[1], ["12.0", "83137", "6"]);
}

#[test]
fn a_french_spreadsheet_gives_numbers_days_and_nulls() {
    let csv = b"r\xe9f;prix;surface;date;vu;ascenseur;vide\n\
        1;210 000,50;65,5;31/12/2024;2026-03-07T10:00:00Z;true;NA\n\
        2;310000;1.200;2024-01-02;2026-03-07;FALSE;\n\
        3;NA;42,25;n.c.;;;-\n";
    let answer = read(csv);
    let names: Vec<&str> = answer.types.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["réf", "prix", "surface", "date", "vu", "ascenseur", "vide"]
    );
    assert_eq!(
        answer.rows[0],
        [
            "1",
            "210000.5",
            "65.5",
            "2024-12-31",
            "2026-03-07T10:00:00Z",
            "true",
            ""
        ]
    );
    assert_eq!(answer.rows[1][1..4], ["310000.0", "1200.0", "2024-01-02"]);
    assert_eq!(answer.rows[2], ["3", "", "42.25", "", "", "", ""]);
    let note = answer.note.unwrap();
    assert!(
        note.contains("windows-1252") && note.contains("decimal commas: prix, surface"),
        "{note}"
    );
}

#[test]
fn numbers_with_two_readings_are_named_or_stay_text() {
    let csv = b"code,prix,surface\n=\"01002\",245.000,1.200\n'01000,310.000,\"1,050\"\n=\"\",=\"\",=\"NA\"\n";
    let answer = read(csv);
    let (text, number) = (&DataType::Utf8View, &DataType::Float64);
    assert_eq!(types(&answer), [text, number, text]);
    assert_eq!(answer.rows[0], ["01002", "245.0", "1.200"]);
    assert_eq!(answer.rows[1], ["01000", "310.0", "1,050"]);
    assert_eq!(answer.rows[2], ["", "", ""]);
    let note = answer.note.unwrap();
    assert!(
        note.contains("read as decimals, though they may be thousands: prix"),
        "{note}"
    );
}

#[test]
fn numbers_with_two_readings_are_read_with_the_decimal_mark_of_the_file() {
    for (surface, expected) in [("65,5", "1200.0"), ("65.5", "1.2")] {
        let csv = format!("nom;prix;surface\n1.50 m;1.200;{surface}\nb;3.400;70\n");
        let answer = read(csv.as_bytes());
        assert_eq!(answer.rows[0][1..], [expected, "65.5"]);
        let note = answer.note.unwrap();
        assert!(note.contains("as in the other columns: prix"), "{note}");
    }
}

#[test]
fn columns_are_text_on_request() {
    let csv = b"a,b\n1,2\n";
    let all = read_as("f.csv", csv, &TextColumns::All).unwrap();
    assert_eq!(types(&all), [&DataType::Utf8View; 2]);
    let one = read_as("f.csv", csv, &"B".parse().unwrap()).unwrap();
    assert_eq!(types(&one), [&DataType::Int64, &DataType::Utf8View]);
    let unknown = read_as("f.csv", csv, &"c".parse().unwrap()).err().unwrap();
    assert!(
        unknown.ends_with("--text-columns: no column \"c\"; columns: a, b"),
        "{unknown}"
    );
}

#[test]
fn every_container_gives_the_same_rows() {
    let csv = b"a,b\n1,x\n2,y\n";
    let expected = [["1", "x"], ["2", "y"]];
    let utf16: Vec<u8> = "a,b\n1,x\n2,y\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let batch = RecordBatch::try_from_iter([
        (
            "a",
            std::sync::Arc::new(arrow::array::Int64Array::from(vec![1, 2]))
                as arrow::array::ArrayRef,
        ),
        (
            "b",
            std::sync::Arc::new(arrow::array::StringArray::from(vec!["x", "y"])),
        ),
    ])
    .unwrap();
    let mut stream =
        arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let stream = stream.into_inner().unwrap();
    let mut file = arrow::ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let file = file.into_inner().unwrap();
    for (name, bytes) in [
        ("f.csv", csv.to_vec()),
        ("f.txt", csv.to_vec()),
        ("f.csv", utf16),
        ("f.csv.zst", zstd::encode_all(&csv[..], 1).unwrap()),
        (
            "f.ndjson",
            b"{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n".to_vec(),
        ),
        (
            "f.json",
            b"[{\"a\":1,\n\"b\":\"x\"},{\"a\":2,\"b\":\"y\"}]".to_vec(),
        ),
        ("f.arrows", stream),
        ("f.arrow", file),
    ] {
        let answer = read_as(name, &bytes, &TextColumns::Codes).unwrap();
        assert_eq!(answer.rows, expected, "{name}");
    }
}

#[test]
fn keys_of_json_with_values_of_several_types_are_text() {
    let first = r#"{"a": {"b": 1, "c": 1}, "list": ["x"], "n": 1, "prix": 250000}"#;
    let second = r#"{"a": {"b": true, "c": 2}, "list": [2], "n": 2.5, "prix": "180 000"}"#;
    let third = r#"{"a": null, "list": null, "n": null, "prix": null}"#;
    for text in [
        format!("{first}\n\n{second}\n{third}\n"),
        format!("[{first},\n{second},{third}]"),
    ] {
        let answer = read_as("f.json", text.as_bytes(), &TextColumns::Codes).unwrap();
        let expected = [
            ["{b: 1, c: 1}", "[x]", "1.0", "250000"],
            ["{b: true, c: 2}", "[2]", "2.5", "180 000"],
            ["", "", "", ""],
        ];
        assert_eq!(answer.rows, expected);
        let note = answer.note.unwrap();
        assert!(note.ends_with("kept as text: a.b, list[], prix"), "{note}");
    }
    let even = read_as("f.json", b"[{\"a\": 1}, {\"a\": 2.5}]", &TextColumns::Codes);
    assert_eq!(even.unwrap().note, None);
}

#[test]
fn the_list_of_a_json_document_is_its_rows() {
    let json = b"{\n \"total\": 2,\n \"dpe\": [\n {\"a\": 1},\n {\"a\": 2}\n ]\n}\n";
    let answer = read_as("f.json", json, &TextColumns::Codes).unwrap();
    assert_eq!(answer.rows, [["1"], ["2"]]);
    let features =
        br#"{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1},
        "geometry":{"type":"Point","coordinates":[3.5,44.5]}},{"type":"Feature","properties":{"a":2},
        "geometry":{"type":"Point","coordinates":[3.6,44.6]}}]}"#;
    let line: Vec<u8> = features
        .iter()
        .copied()
        .filter(|byte| *byte != b'\n')
        .collect();
    let answer = read_as("f.geojson", &line, &TextColumns::Codes).unwrap();
    assert_eq!(answer.rows.len(), 2);
}

#[test]
fn long_integers_of_json_are_kept_as_text() {
    let first = r#"{"id": 12345678901234567890123, "n": 1}"#;
    let second = r#"{"id": 7, "n": 2}"#;
    for text in [
        format!("{first}\n{second}\n"),
        format!("[{first},{second}]"),
    ] {
        let answer = read_as("f.json", text.as_bytes(), &TextColumns::Codes).unwrap();
        assert_eq!(answer.types[1].1, DataType::Int64);
        assert_eq!(answer.rows, [["12345678901234567890123", "1"], ["7", "2"]]);
    }
}

#[test]
fn several_files_of_json_are_read_like_one() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = folder.path().join("*.json").display().to_string();
    let ready = |pattern: &str| {
        let (name, path) = ("f".into(), pattern.into());
        let ready = ReadyFile::new(&FileTable { name, path }, &TextColumns::Codes);
        ready.map_err(|error| error.to_string())
    };
    std::fs::write(folder.path().join("0.json"), "").unwrap();
    assert!(ready(&pattern).unwrap_err().contains(NO_ROWS));
    let first = r#"{"id": 12345678901234567890123, "n": 1}"#;
    std::fs::write(folder.path().join("1.json"), first).unwrap();
    std::fs::write(folder.path().join("2.json"), r#"[{"id": "7", "n": NaN}]"#).unwrap();
    let both = ready(&pattern).unwrap();
    let copy = std::fs::read_to_string(&both.path).unwrap();
    let rows: Vec<serde_json::Value> = copy
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows[0]["id"], "12345678901234567890123");
    assert_eq!(rows[1], serde_json::json!({"id": "7", "n": null}));
    std::fs::write(folder.path().join("3.json"), "[{\"id\"").unwrap();
    let error = ready(&pattern).unwrap_err();
    assert!(error.contains("3.json: the file ends early"), "{error}");
}

#[test]
fn texts_of_json_that_mean_a_missing_value_are_null() {
    let first = r#"{"lot": {"n": " "}, "prix": 250000, "section": "NA", "ville": "NA"}"#;
    let second = r#"{"lot": {"n": "x"}, "prix": "n.c.", "section": "AB", "ville": ""}"#;
    let third = r#"{"lot": {"n": "NULL"}, "prix": 1, "section": "", "ville": "Mende"}"#;
    for text in [
        format!("{first}\n{second}\n{third}\n"),
        format!("[{first},{second},{third}]"),
    ] {
        let answer = read_as("f.json", text.as_bytes(), &TextColumns::Codes).unwrap();
        assert_eq!(answer.types[1], ("prix".into(), DataType::Int64));
        let expected = [
            ["{n: }", "250000", "NA", ""],
            ["{n: x}", "", "AB", ""],
            ["{n: }", "1", "", "Mende"],
        ];
        assert_eq!(answer.rows, expected);
        assert_eq!(answer.note, None);
    }
}

#[test]
fn parquet_keeps_its_texts_unless_more_texts_are_missing() {
    let texts = arrow::array::StringArray::from(vec![" XX ", "NA", "Mende"]);
    let sections = arrow::array::StringArray::from(vec!["XX", "NA", "AB"]);
    let columns: [(&str, arrow::array::ArrayRef); 2] = [
        ("Ville", std::sync::Arc::new(texts)),
        ("section", std::sync::Arc::new(sections)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let nulls = |missing: &[String]| {
        runtime.block_on(async {
            let context = SessionContext::new();
            context.register_batch("f", batch.clone()).unwrap();
            make_null(&context, "f", missing).await.unwrap();
            let sql = "select \"Ville\", section from f";
            let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
            rows[0]
                .columns()
                .iter()
                .map(|column| column.null_count())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(nulls(&[]), [0, 0]);
    assert_eq!(nulls(&["xx".to_owned()]), [1, 0]);
}

#[test]
fn the_row_numbers_of_r_are_a_column() {
    let csv = b"\"ville\";\"prix\"\n\"3\";\"Mende\";5\n\"1\";\"Florac\";6\n";
    let answer = read_as("f.csv", csv, &TextColumns::Codes).unwrap();
    assert_eq!(answer.rows, [["3", "Mende", "5"], ["1", "Florac", "6"]]);
    assert_eq!(answer.types[1].0, "ville");
    assert!(
        answer
            .note
            .unwrap()
            .contains("the first column has no name")
    );
}

#[test]
fn what_is_no_table_is_refused_with_its_place() {
    for (bytes, expected) in [
        (&b""[..], "no rows"),
        (b" \n\n", "no rows"),
        (b"a;b\n", "no rows"),
        (
            b"a;b\n1;2\n3\n",
            "line 3: the row has 1 cells where the header has 2; the column \"b\" has none",
        ),
        (
            b"a;b\n1;2\n3;4;rue\n",
            "line 3: the row has 3 cells where the header has 2; the first cell beyond them is \"rue\"",
        ),
        (b"%PDF-1.7", "this is a PDF"),
        (b"[{]", "must be JSON"),
        (b"{\n\"a\": 1\n}", "the rows must be a list of objects"),
        (b"[{\"a\": 1}, {\"a", "ends early, at line 1, column 14"),
    ] {
        let error = read_as("f.csv", bytes, &TextColumns::Codes).err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn several_csv_files_come_with_a_note_that_they_are_not_examined() {
    let ready = |path: &str| {
        let (name, path) = ("f".into(), path.into());
        ReadyFile::new(&FileTable { name, path }, &TextColumns::Codes).unwrap()
    };
    let note = ready("exports/*.csv").note.unwrap();
    assert!(
        note.starts_with("exports/*.csv: several CSV files"),
        "{note}"
    );
    assert_eq!(ready("exports/*.parquet").note, None);
}
