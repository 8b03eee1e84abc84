//! Compares searches with a plain implementation of the contract: any filter, any order, page by page.

use std::collections::HashSet;

use datafusion::prelude::DataFrame;
use serde_json::{Value, json};
use toise::contract::cursor::{CursorKey, query_digest};
use toise::engine::predicate::filter_expr;
use toise::engine::session::Session;
use toise::engine::{Budget, Error};
use toise::lake::Lake;
use toise::opendata::request::bodies::bodies;
use toise::opendata::request::parse_search;
use toise::opendata::{Dataset, OpenData};

use crate::support::draw::Draw;
use crate::support::filters::filters;
use crate::support::reference;
use crate::support::rows::{self, Record, id_of};
use crate::support::sql::session_over;

/// A lake with several runs, from imports of very different sizes, and its records.
struct Table {
    dataset: Dataset,
    records: Vec<Record>,
    open_data: OpenData,
    _folder: tempfile::TempDir,
}

impl Table {
    fn new(dataset: Dataset, sizes: &[usize], draw: &mut Draw) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        let mut records = Vec::new();
        for size in sizes {
            let more = rows::records(dataset, records.len(), *size, draw);
            rows::import(&lake, dataset, &more, Vec::new());
            records.extend(more);
        }
        let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
        Self {
            dataset,
            records,
            open_data,
            _folder: folder,
        }
    }
}

/// Compares up to `pages_max` pages of the answers to a body with the plain implementation.
fn compare(table: &Table, body: &Value, pages_max: usize, page_sizes: &mut dyn FnMut() -> usize) {
    let dataset = table.dataset;
    let sort_by = body["sortBy"].as_str().unwrap();
    let descending = body["sortOrder"] == "desc";
    let expected = reference::search(
        dataset, &table.records, &body["filters"], sort_by, descending,
    );
    let key = CursorKey::new([9; 32]);
    let mut body = body.clone();
    let mut place = 0;
    for page in 0.. {
        if page == pages_max {
            return;
        }
        let size = page_sizes();
        body["size"] = size.into();
        let request =
            parse_search(dataset, &body, &key).unwrap_or_else(|fault| panic!("{fault}: {body}"));
        let answer = table.open_data.search(dataset, &request).unwrap();
        assert_eq!(answer.total, expected.len() as u64, "total of {body}");
        let last = (place + size).min(expected.len());
        let ids: Vec<&str> = expected[place..last]
            .iter()
            .map(|record| id_of(dataset, record))
            .collect();
        let records: Vec<Record> = answer
            .records
            .iter()
            .map(|record| serde_json::from_slice(record).unwrap())
            .collect();
        let found: Vec<&str> = records
            .iter()
            .map(|record| id_of(dataset, record))
            .collect();
        assert_eq!(found, ids, "rows {place}.. of {body}");
        for (record, expected) in records.iter().zip(&expected[place..last]) {
            assert_eq!(&record, expected, "{body}");
        }
        place = last;
        let Some(next) = answer.next else { break };
        assert!(place < expected.len(), "a page after the last of {body}");
        let digest = query_digest(
            dataset.name(),
            &request.filter,
            request.sort_by,
            request.descending,
        );
        body["cursor"] = key.encode(&next, &digest).into();
    }
    assert_eq!(place, expected.len(), "the pages of {body} end early");
}

#[test]
fn a_page_after_a_correction_is_refused_unless_rows_are_sorted_by_identifier() {
    for (dataset, corrected) in [
        (Dataset::Dvf, "surface_m2"),
        (Dataset::Dpe, "conso_5_usages_par_m2_ep"),
    ] {
        let mut draw = Draw::new(51);
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(folder.path()).unwrap();
        let records = rows::records(dataset, 0, 60, &mut draw);
        rows::import(&lake, dataset, &records, Vec::new());
        let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
        let refresh = || open_data.engine().refresh_now(dataset.schema()).unwrap();
        let key = CursorKey::new([9; 32]);
        let page = |sort_by: &str, cursor: Option<&str>| {
            let body = json!({"sortBy": sort_by, "size": 10, "cursor": cursor});
            let request = parse_search(dataset, &body, &key).unwrap();
            let digest = query_digest(
                dataset.name(),
                &request.filter,
                request.sort_by,
                request.descending,
            );
            let answer = open_data.search(dataset, &request)?;
            let next = answer.next.map(|next| key.encode(&next, &digest));
            Ok::<String, Error>(next.unwrap())
        };
        let by_id = rows::id_column(dataset);
        let sorted = [corrected, by_id];
        let [value, id] = sorted.map(|sort_by| page(sort_by, None).unwrap());
        let more = rows::records(dataset, 60, 20, &mut draw);
        rows::import(&lake, dataset, &more, Vec::new());
        refresh();
        assert!(page(corrected, Some(value.as_str())).is_ok());
        let mut record = records[0].clone();
        record.insert(corrected.into(), json!(987_654.5));
        let outcome = rows::import(&lake, dataset, &[record], Vec::new());
        assert_eq!(outcome.replaced, 1);
        refresh();
        let refused = page(corrected, Some(value.as_str())).unwrap_err();
        assert!(matches!(refused, Error::RowsChanged), "{refused}");
        assert!(page(by_id, Some(id.as_str())).is_ok());
        let value = page(corrected, None).unwrap();
        assert!(page(corrected, Some(value.as_str())).is_ok());
    }
}

async fn sql_count(session: &Session, table: &Table, body: &Value) -> usize {
    let request = parse_search(table.dataset, body, &CursorKey::new([9; 32])).unwrap();
    let schema = table.dataset.schema();
    let rows: DataFrame = session.context().table(schema.name).await.unwrap();
    let filter = filter_expr(schema, &request.filter).unwrap();
    rows.filter(filter).unwrap().count().await.unwrap()
}

fn check(dataset: Dataset, sizes: &[usize], seed: u64, questions: usize) {
    let mut draw = Draw::new(seed);
    let table = Table::new(dataset, sizes, &mut draw);
    let view = table.open_data.engine().view(dataset.schema()).unwrap();
    let runs: HashSet<u64> = view.snapshot().parts.iter().map(|part| part.run).collect();
    assert!(runs.len() >= 3, "{} runs", runs.len());
    for question in 0..questions {
        let sort_by = bodies(dataset).sort_keys[question % bodies(dataset).sort_keys.len()];
        let order = *draw.one_of(&["asc", "desc"]);
        let body = json!({"filters": filters(dataset, &table.records, &mut draw), "sortBy": sort_by, "sortOrder": order});
        let mut sizes = draw.clone();
        compare(&table, &body, usize::MAX, &mut || {
            *sizes.one_of(&[7, 33, 100, 100, 100, 100])
        });
    }
}

#[test]
fn any_search_of_sales_answers_as_the_contract_reads() {
    check(Dataset::Dvf, &[1_200, 500, 200, 80, 30, 7], 11, 100);
}

#[test]
fn any_search_of_diagnostics_answers_as_the_contract_reads() {
    check(Dataset::Dpe, &[700, 250, 100, 40, 9], 12, 100);
}

#[test]
fn every_sort_key_in_both_orders_pages_through_the_whole_table() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let table = Table::new(dataset, &[200, 70, 20], &mut Draw::new(5));
        for sort_by in bodies(dataset).sort_keys {
            for order in ["asc", "desc"] {
                for size in [10, 100] {
                    let body = json!({"filters": {}, "sortBy": sort_by, "sortOrder": order});
                    compare(&table, &body, usize::MAX, &mut || size);
                }
            }
        }
    }
}

#[tokio::test]
async fn sql_with_the_same_filter_counts_the_same_rows() {
    for (dataset, seed) in [(Dataset::Dvf, 21), (Dataset::Dpe, 22)] {
        let mut draw = Draw::new(seed);
        let table = Table::new(dataset, &[500, 150, 40], &mut draw);
        let session = session_over(table.open_data.engine(), Vec::new(), Vec::new()).unwrap();
        for _ in 0..25 {
            let body = json!({"filters": filters(dataset, &table.records, &mut draw)});
            let expected = table
                .records
                .iter()
                .filter(|record| reference::matches(record, &body["filters"]))
                .count();
            assert_eq!(sql_count(&session, &table, &body).await, expected, "{body}");
        }
    }
}

/// Sales with a few columns only, so that a table can be large: four row groups and the parallel scan.
fn many(count: usize, draw: &mut Draw) -> Vec<Record> {
    (0..count)
        .map(|number| {
            let (lat, lon) = rows::position(draw);
            let mut record = Record::new();
            record.insert(
                "id".into(),
                format!("{:08}", (number * 7_919) % 1_000_003).into(),
            );
            let date = format!("{}T00:00:00.000Z", rows::day(draw));
            record.insert("transaction_date".into(), date.into());
            if !draw.once_in(9) {
                record.insert("price_eur".into(), json!(draw.below(5_000)));
            }
            record.insert(
                "property_type".into(),
                (*draw.one_of(&["Maison", "Appartement"])).into(),
            );
            record.insert("location".into(), json!({"lat": lat, "lon": lon}));
            record
        })
        .collect()
}

#[test]
fn a_table_of_many_row_groups_is_searched_on_all_threads_and_pages_alike() {
    let mut draw = Draw::new(41);
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let records = many(270_000, &mut draw);
    rows::import(&lake, Dataset::Dvf, &records, Vec::new());
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let view = open_data.engine().view(Dataset::Dvf.schema()).unwrap();
    assert!(
        view.chunks().len() >= 4,
        "{} row groups",
        view.chunks().len()
    );
    let table = Table {
        dataset: Dataset::Dvf,
        records,
        open_data,
        _folder: folder,
    };
    for (filters, sort_by, order) in [
        (json!({}), "price_eur", "desc"),
        (json!({}), "id", "asc"),
        (
            json!({"property_type": ["Maison"], "price_eur": {"min": 4_990}}),
            "transaction_date",
            "asc",
        ),
        (
            json!({"location": {"lat": 44.5, "lon": 3.5, "distance": "1km"}}),
            "price_eur",
            "asc",
        ),
    ] {
        let body = json!({"filters": filters, "sortBy": sort_by, "sortOrder": order});
        compare(&table, &body, 3, &mut || 100);
    }
}
