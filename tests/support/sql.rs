//! Queries over all tables of a data folder, and files of queries with their answers.
//!
//! The form of the files is a small part of sqllogictest's: blocks between blank lines, `#` comments; `query` or
//! `error WORD` on the first line, then the SQL, then `----` and the rows, values between blanks, `NULL` where missing.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use toise::contract::listings::filters::Listing;
use toise::engine::session::Session;
use toise::engine::{Budget, Engine};
use toise::listings::Listings;
use toise::listings::columns::{adverts, properties};
use toise::listings::search::projection::now;
use toise::opendata::{dpe, dvf};

/// A session over the tables as they are now.
pub fn session(data: &Path, listings: &Listings) -> Session {
    let tables = [dvf::schema(), dpe::schema(), properties(), adverts()];
    let engine = Engine::open(data, &tables, Budget::default()).unwrap();
    let both = [Listing::Property, Listing::Advert];
    let changed = now::tables(listings, &engine, &both).unwrap();
    Session::open_changed(&engine, changed, Vec::new()).unwrap()
}

/// The rows a query answers, or its error; run on a thread of its own, so that any test can ask.
pub fn answered(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let frame = session
                    .query(sql)
                    .await
                    .map_err(|error| error.to_string())?;
                let batches = frame.collect().await.map_err(|error| error.to_string())?;
                Ok(lines(&batches))
            })
        });
        asking.join().unwrap()
    })
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

/// Holds a session against every block of a file in `tests/engine`; gives how many there are.
pub fn holds(session: &Session, file: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/engine")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut blocks = 0;
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
        let found = answered(session, &sql);
        match head.split_once(' ') {
            None if *head == "query" => {
                let found = found.unwrap_or_else(|error| panic!("{file}: {sql}: {error}"));
                assert_eq!(found, expected, "{file}: {sql}");
            }
            Some(("error", word)) => {
                let error = found.expect_err(&format!("{file}: {sql}"));
                assert!(error.contains(word), "{file}: {sql}: {error}");
            }
            _ => panic!("{file}: {head}"),
        }
        blocks += 1;
    }
    blocks
}
