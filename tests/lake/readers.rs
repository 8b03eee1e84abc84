//! Readers during writes: open views keep their state, and later queries see the new table.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use toise::contract::cursor::CursorKey;
use toise::engine::Budget;
use toise::engine::view::{RowRef, TableView};
use toise::lake::Lake;
use toise::opendata::request::parse_search;
use toise::opendata::{Dataset, DatasetSearchRequest, OpenData};
use toise::sql::plan::plan;

use crate::support::draw::Draw;
use crate::support::rows::{self, Record, import};
use crate::support::sql::session_over;

const DATASET: Dataset = Dataset::Dvf;

fn start(count: usize) -> (tempfile::TempDir, Lake, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let records = rows::records(DATASET, 0, count, &mut Draw::new(1));
    import(&lake, DATASET, &records, Vec::new());
    (folder, lake, records)
}

/// Prices with this difference also differ in single precision, in which an import compares them.
const PRICE_STEP: u32 = 1_024;

/// Changes every row, so that no file survives; `version` distinguishes the changes.
fn change_all(lake: &Lake, records: &[Record], version: u32) {
    // Above any price drawn.
    let price = 2_000_000_000 + PRICE_STEP * version;
    let mut changed = records.to_vec();
    for record in &mut changed {
        record.insert("price_eur".into(), price.into());
    }
    assert_eq!(
        import(lake, DATASET, &changed, Vec::new()).replaced,
        records.len() as u64
    );
}

fn everything() -> DatasetSearchRequest {
    let body = json!({"size": 100, "sortBy": "id", "sortOrder": "asc"});
    parse_search(DATASET, &body, &CursorKey::new([0; 32])).unwrap()
}

fn records_of(view: &TableView) -> Vec<String> {
    let mut texts = Vec::new();
    for (part, open) in view.parts().iter().enumerate() {
        let rows: Vec<RowRef> = (0..open.data_file.entry().rows as u32)
            .map(|row| RowRef {
                data_file: part as u32,
                row,
            })
            .collect();
        let found = view.records(&rows).unwrap();
        texts.extend(
            found
                .iter()
                .map(|text| String::from_utf8(text.to_vec()).unwrap()),
        );
    }
    texts.sort();
    texts
}

#[test]
fn an_open_view_keeps_answering_over_later_publications() {
    let (folder, lake, records) = start(400);
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let view = open_data.engine().view(DATASET.schema()).unwrap();
    // Nothing of it has been read when the files are deleted.
    for version in [1, 2, 3] {
        change_all(&lake, &records, version);
    }
    let mut expected: Vec<String> = records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap())
        .collect();
    expected.sort();
    assert_eq!(records_of(&view), expected);
    let price = DATASET.schema().column("price_eur").unwrap().0;
    for chunk in view.chunks() {
        let column = view
            .column(open_data.engine().cache(), chunk, price)
            .unwrap();
        assert_eq!(column.values.len() as u32, chunk.rows);
    }
}

#[test]
fn a_publication_becomes_visible_to_questions_within_a_second() {
    let (folder, lake, records) = start(100);
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    for version in 1..6 {
        change_all(&lake, &records, version);
        let published = Instant::now();
        loop {
            let answer = open_data.search(DATASET, &everything()).unwrap();
            assert_eq!((answer.total, answer.records.len()), (100, 100));
            let first: Record = serde_json::from_slice(&answer.records[0]).unwrap();
            if first.get("price_eur") == Some(&json!(2_000_000_000u32 + PRICE_STEP * version)) {
                break;
            }
            assert!(
                published.elapsed() < Duration::from_secs(1),
                "version {version} is not seen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn questions_during_many_publications_see_whole_tables_only() {
    let (folder, lake, records) = start(90);
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for version in 1..=12 {
                change_all(&lake, &records, version);
            }
        });
        while !writer.is_finished() {
            let answer = open_data.search(DATASET, &everything()).unwrap();
            assert_eq!((answer.total, answer.records.len()), (90, 90));
            let prices: BTreeSet<&str> = answer
                .records
                .iter()
                .map(|text| str::from_utf8(text).unwrap())
                .filter_map(|text| text.split_once("\"price_eur\":20000000"))
                .map(|(_, rest)| &rest[..2])
                .collect();
            assert!(prices.len() <= 1, "a mix of tables: {prices:?}");
            std::thread::sleep(Duration::from_millis(60));
        }
    });
}

#[tokio::test]
async fn a_sql_query_keeps_the_table_it_was_planned_on() {
    let (folder, lake, records) = start(300);
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let session = session_over(open_data.engine(), Vec::new(), Vec::new()).unwrap();
    let sum =
        "select count(*), count(price_eur) from dvf where price_eur is distinct from 2000000001";
    let planned = plan(&session, sum, None).await.unwrap();
    let before = plan(&session, sum, None)
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    for _ in 0..2 {
        change_all(&lake, &records, 1);
        change_all(&lake, &records, 2);
    }
    let after = planned.collect().await.unwrap();
    assert_eq!(after, before);
    assert_eq!(
        plan(&session, sum, None)
            .await
            .unwrap()
            .collect()
            .await
            .unwrap(),
        before
    );
}

#[tokio::test]
async fn a_folder_with_an_odd_name_is_queried_like_any_other() {
    let outer = tempfile::tempdir().unwrap();
    for name in ["my data", "a[b]c", "100% é", "x?y*z", "#frag"] {
        let folder = outer.path().join(name);
        let lake = Lake::open(&folder).unwrap();
        let records = rows::records(DATASET, 0, 20, &mut Draw::new(1));
        import(&lake, DATASET, &records, Vec::new());
        let open_data = OpenData::open(&folder, Budget::default()).unwrap();
        let session = session_over(open_data.engine(), Vec::new(), Vec::new()).unwrap();
        let rows = plan(&session, "select id from dvf", None)
            .await
            .unwrap()
            .count()
            .await;
        assert_eq!(rows.map_err(|error| format!("{name}: {error}")), Ok(20));
    }
}
