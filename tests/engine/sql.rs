//! SQL-level behaviour from text files: a query, then the rows it must answer, or the word its error must hold.
//!
//! The form is a small part of sqllogictest's: blocks between blank lines, `#` comments; `query` or `error WORD` on the
//! first line, then the SQL, then `----` and the rows, values between blanks, `NULL` where missing.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::json;
use toise::engine::Budget;
use toise::engine::session::Session;
use toise::lake::Lake;
use toise::opendata::{Dataset, OpenData};

use crate::support::rows::{self, Record};

/// Three sales by a pin, one far away and one without position.
fn sales() -> Vec<Record> {
    let places = [
        ("a", Some((44.5, 3.5)), Some(100_000)),
        ("b", Some((44.51, 3.5)), Some(250_000)),
        ("c", Some((44.5, 3.51)), None),
        ("d", Some((48.8566, 2.3522)), Some(900_000)),
        ("e", None, Some(50_000)),
    ];
    places
        .into_iter()
        .map(|(id, place, price)| {
            let mut record = Record::new();
            record.insert("id".into(), id.into());
            record.insert("property_type".into(), "Maison".into());
            if let Some(price) = price {
                record.insert("price_eur".into(), json!(price));
            }
            if let Some((lat, lon)) = place {
                record.insert("location".into(), json!({"lat": lat, "lon": lon}));
            }
            record
        })
        .collect()
}

fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            lines.push(values.join(" "));
        }
    }
    lines
}

async fn answer(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    let frame = session
        .query(sql)
        .await
        .map_err(|error| error.to_string())?;
    Ok(lines(
        &frame.collect().await.map_err(|error| error.to_string())?,
    ))
}

#[tokio::test]
async fn text_files_of_queries_answer_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    rows::import(&lake, Dataset::Dvf, &sales(), Vec::new());
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let session = Session::open(open_data.engine(), Vec::new()).unwrap();
    let mut blocks = 0;
    for file in
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine")).unwrap()
    {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "slt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("\n\n") {
            let block: Vec<&str> = block
                .lines()
                .filter(|line| !line.starts_with('#') && !line.is_empty())
                .collect();
            let Some((head, rest)) = block.split_first() else {
                continue;
            };
            let mut parts = rest.splitn(2, |line| *line == "----");
            let sql = parts.next().unwrap_or_default().join("\n");
            let expected: Vec<&str> = parts.next().unwrap_or_default().to_vec();
            let found = answer(&session, &sql).await;
            match head.split_once(' ') {
                None if *head == "query" => {
                    assert_eq!(
                        found.as_deref(),
                        Ok(&expected
                            .iter()
                            .map(|row| row.to_string())
                            .collect::<Vec<_>>()[..]),
                        "{}: {sql}",
                        path.display()
                    );
                }
                Some(("error", word)) => {
                    let error = found.expect_err(&format!("{}: {sql}", path.display()));
                    assert!(error.contains(word), "{}: {sql}: {error}", path.display());
                }
                _ => panic!("{}: {head}", path.display()),
            }
            blocks += 1;
        }
    }
    assert!(blocks >= 20, "{blocks} blocks");
    // Nothing that was refused left a trace.
    assert_eq!(
        answer(&session, "select count(*) from dvf").await.unwrap(),
        ["5"]
    );
    assert!(!Path::new("/tmp/toise-refused.csv").exists());
}
