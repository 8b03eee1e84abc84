//! Parsers of bytes or documents.

use arrow::array::RecordBatch;
use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::Value;
use toise::alerts::request::{parse_alert, parse_patch};
use toise::collect::extract::{PageInput, extract};
use toise::collect::mapping::Mapping;
use toise::collect::request::parse_report;
use toise::contract::cursor::CursorKey;
use toise::contract::listings::filters::{
    FieldSubset, ListingKind, parse_analytics, parse_count, parse_search as parse_listing_search,
    parse_search_query, parse_similars,
};
use toise::contract::position::{CursorPosition, SortValue};
use toise::estimate::request::rent::parse_rent;
use toise::estimate::request::{parse_estimate, parse_estimate_many};
use toise::lake::{self, RowSink};
use toise::listings::load::request::parse_adverts;
use toise::market::request::parse_market;
use toise::opendata::import::{ImportOptions, import_reader};
use toise::opendata::report::ImportReport;
use toise::opendata::request::{parse_match, parse_match_many, parse_search};
use toise::opendata::source::SourceFormat;
use toise::opendata::{Dataset, ImportTable};

use super::mutation::{mutated, samples};
use super::quick;

const CORPUS: &str = "tests/fuzz/corpus";

/// Counts rows.
#[derive(Default)]
struct Counting(usize);

impl RowSink for Counting {
    fn push(&mut self, batch: RecordBatch) -> Result<(), lake::Error> {
        self.0 += batch.num_rows();
        Ok(())
    }
}

/// Reads a source as a table. This may fail, with a message.
fn import(table: ImportTable, bytes: &[u8]) {
    for format in [SourceFormat::Detect, SourceFormat::Delimited] {
        let (mut sink, mut report) = (Counting::default(), ImportReport::default());
        let options = ImportOptions::default();
        let imported = import_reader(
            table, bytes, "mutated", format, &mut sink, &options, &mut report,
        );
        if let Err(error) = imported {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// The bodies of `data/examples/requests.json`.
fn bodies() -> Vec<Vec<u8>> {
    let text = samples("data/examples", "requests.json").remove(0);
    let examples: Value = serde_json::from_slice(&text).unwrap();
    let bodies = examples.as_object().unwrap().values();
    bodies.map(|body| body.to_string().into_bytes()).collect()
}

proptest! {
    #![proptest_config(quick())]

    #[test]
    fn sales_and_diagnostics_are_read_or_refused(bytes in mutated(samples(CORPUS, ".csv").into_iter()
        .chain(samples(CORPUS, ".txt")).chain(samples(CORPUS, ".json")).collect())) {
        import(Dataset::Dvf.into(), &bytes);
        import(Dataset::Dpe.into(), &bytes);
    }

    #[test]
    fn addresses_are_read_or_refused(bytes in mutated(samples(CORPUS, "bal.csv").into_iter()
        .chain(samples(CORPUS, "ban.csv")).collect())) {
        import(ImportTable::Ban, &bytes);
    }

    #[test]
    fn pages_are_read_or_rejected(bytes in mutated(samples(CORPUS, ".html"))) {
        for content_type in [None, Some("text/html; charset=utf-16"), Some("text/html; charset=windows-1252")] {
            extract(&PageInput { url: "https://portal.example/1", content_type, bytes: &bytes }, None);
        }
    }

    #[test]
    fn bodies_are_parsed_or_refused(bytes in mutated(bodies())) {
        let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
            return Ok(());
        };
        let cursors = CursorKey::new([7; 32]);
        let today = NaiveDate::from_ymd_opt(2026, 11, 23).unwrap();
        for dataset in [Dataset::Dvf, Dataset::Dpe] {
            let _ = parse_search(dataset, &body, &cursors);
            let _ = parse_match(dataset, &body);
            let _ = parse_match_many(dataset, &body);
            let _ = parse_alert(dataset, &body);
            let _ = parse_patch(dataset, &body);
        }
        for listing in [ListingKind::Advert, ListingKind::Property] {
            let _ = parse_alert(listing, &body);
            let _ = parse_patch(listing, &body);
            let _ = parse_search_query(listing, &body);
        }
        let _ = parse_listing_search(FieldSubset::Whole, &body, &cursors);
        let _ = parse_count(&body);
        let _ = parse_analytics(&body);
        let _ = parse_similars(&body);
        let _ = parse_estimate(&body, today);
        let _ = parse_estimate_many(&body, today);
        let _ = parse_rent(&body, today);
        let _ = parse_report(&body);
        let _ = parse_market(&body);
        let _ = parse_adverts(body);
    }

    #[test]
    fn a_changed_cursor_is_refused(bytes in mutated(vec![cursor().into_bytes()])) {
        let text = String::from_utf8_lossy(&bytes);
        let (key, digest) = (CursorKey::new([7; 32]), digest());
        if let Ok(position) = key.decode(&text, &digest) {
            prop_assert_eq!(key.encode(&position, &digest), cursor());
        }
    }

    #[test]
    fn mappings_are_parsed_or_refused(bytes in mutated(samples("data/mappings", ".toml"))) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = Mapping::parse("mine.toml", &text) {
            prop_assert!(error.to_string().contains("mine.toml"), "{}", error);
        }
    }
}

fn digest() -> toise::contract::cursor::QueryDigest {
    toise::contract::cursor::query_digest("dvf", &Default::default(), "DATE", true)
}

fn cursor() -> String {
    let position = CursorPosition {
        value: Some(SortValue::Number(1.5)),
        id: "2024-1".to_owned(),
        state: Some(3),
    };
    CursorKey::new([7; 32]).encode(&position, &digest())
}
