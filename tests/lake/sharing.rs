//! A table as other programs see it: the folder of its name, its Delta log, and the kept versions.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use toise::engine::session::Session;
use toise::engine::{Budget, Error};
use toise::lake::Lake;
use toise::opendata::{Dataset, OpenData};
use toise::sql::plan::plan;

use crate::lake::import::contents;
use crate::support::draw::Draw;
use crate::support::rows::{self, Record, import};
use crate::support::sql::session_over;

const DATASET: Dataset = Dataset::Dvf;

fn lake(folder: &Path) -> Lake {
    Lake::open(folder).unwrap()
}

/// Names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Publishes a version in which all prices differ in single precision, with fewer rows than the last one.
fn publish(lake: &Lake, records: &[Record], version: usize) {
    let mut changed = records.to_vec();
    for record in &mut changed {
        record.insert("price_eur".into(), json!(2_000_000_000 + 1_024 * version));
    }
    import(lake, DATASET, &changed, Vec::new());
}

fn entry_name(version: u64) -> String {
    format!("{version:020}.json")
}

/// The actions of one kind in an entry of a table's Delta log.
fn actions(lake: &Lake, version: u64, kind: &str) -> Vec<Value> {
    let log = lake.shared_folder(DATASET.schema()).join("_delta_log");
    let text = fs::read_to_string(log.join(entry_name(version))).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

#[test]
fn the_folder_holds_the_files_of_the_snapshot_and_names_that_readers_skip() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let records = rows::records(DATASET, 0, 300, &mut Draw::new(1));
    for piece in records.chunks(100) {
        import(&lake, DATASET, piece, Vec::new());
        let snapshot = lake.snapshot(DATASET.schema()).unwrap();
        let shown = names(&lake.shared_folder(DATASET.schema()));
        let (hidden, seen): (Vec<String>, Vec<String>) =
            shown.into_iter().partition(|name| name.starts_with('_'));
        let live: BTreeSet<String> = snapshot.parts.iter().map(|it| it.file.clone()).collect();
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), live);
        assert_eq!(hidden, ["_delta_log", "_files", "_snapshot.json"]);
    }
    assert_eq!(contents(&lake, DATASET).len(), 300);
    // Data files are links: they take no space.
    use std::os::unix::fs::MetadataExt;
    for entry in lake.snapshot(DATASET.schema()).unwrap().parts {
        let own = lake.folder(DATASET.schema()).join(&entry.file);
        assert!(fs::metadata(own).unwrap().nlink() >= 3);
    }
}

/// Prices in a folder of Parquet files, read as another program would: list, then open, then read. `None` if a file
/// went missing in between.
fn prices(folder: &Path) -> Option<Vec<f64>> {
    let mut prices = Vec::new();
    let listed: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .map(|it| it.unwrap().path())
        .collect();
    for path in listed {
        if path.extension().is_none_or(|end| end != "parquet") {
            continue;
        }
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            file => file.unwrap(),
        };
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let column = batch.column_by_name("price_eur").unwrap();
            prices.extend(column.as_primitive::<Float64Type>().values());
        }
    }
    Some(prices)
}

#[test]
fn a_program_that_reads_the_folder_during_imports_sees_one_snapshot_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let records = rows::records(DATASET, 0, 60, &mut Draw::new(1));
    publish(&lake, &records, 0);
    let shared = lake.shared_folder(DATASET.schema());
    let (mut whole, mut failed) = (0, 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..=40).for_each(|version| publish(&lake, &records, version)));
        while !writer.is_finished() {
            let Some(prices) = prices(&shared) else {
                failed += 1;
                continue;
            };
            assert_eq!(prices.len(), 60, "rows of two snapshots, or of none");
            assert!(
                prices.iter().all(|price| *price == prices[0]),
                "a mix of snapshots"
            );
            whole += 1;
        }
    });
    println!("{whole} reads of the folder were whole, {failed} failed because a file was gone");
    assert!(whole > 0);
}

#[test]
fn as_many_versions_as_wanted_are_kept_with_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path()).keeping(3);
    let records = rows::records(DATASET, 0, 40, &mut Draw::new(1));
    let schema = DATASET.schema();
    for version in 1..=6 {
        publish(&lake, &records, version);
        let kept: Vec<u64> = lake
            .versions(schema)
            .unwrap()
            .iter()
            .map(|it| it.sequence)
            .collect();
        let first = (version as u64).saturating_sub(2).max(1);
        assert_eq!(kept, (first..=version as u64).collect::<Vec<_>>());
        let log = names(&lake.shared_folder(schema).join("_delta_log"));
        // Entries of deleted versions remain for readers that know of them.
        let mut expected: Vec<String> = (1..=version as u64).map(entry_name).collect();
        expected.extend((1..=first).map(|version| format!("{version:020}.checkpoint.parquet")));
        expected.push("_last_checkpoint".into());
        expected.sort();
        assert_eq!(log, expected);
        let hint = lake
            .shared_folder(schema)
            .join("_delta_log/_last_checkpoint");
        let hint: Value = serde_json::from_slice(&fs::read(hint).unwrap()).unwrap();
        assert_eq!(hint, json!({"version": first, "size": 3}));
    }
    // Six files of one row group each were written, three are left.
    let data_files = names(&lake.folder(schema));
    let data_files = data_files.iter().filter(|name| name.ends_with(".parquet"));
    assert_eq!(data_files.count(), 3);
    let gone = lake.snapshot_at(schema, 3).unwrap_err().to_string();
    assert!(gone.contains("no version 3; kept: 4, 5, 6"), "{gone}");
    // If fewer versions are to be kept, the next publication deletes the others.
    let lake = Lake::open(folder.path()).unwrap().keeping(1);
    publish(&lake, &records, 7);
    assert_eq!(lake.versions(schema).unwrap().len(), 1);
    assert_eq!(names(&lake.shared_folder(schema).join("_files")).len(), 1);
}

#[test]
fn entries_of_the_delta_log_never_change_and_foreign_ones_are_not_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path()).keeping(10);
    let records = rows::records(DATASET, 0, 40, &mut Draw::new(1));
    let log = lake.shared_folder(DATASET.schema()).join("_delta_log");
    let entry = |version: u64| fs::read_to_string(log.join(entry_name(version))).unwrap();
    let mut written = Vec::new();
    for version in 1..=4 {
        publish(&lake, &records, version);
        written.push(entry(version as u64));
    }
    for (version, text) in (1..).zip(&written) {
        assert_eq!(entry(version), *text, "entry {version}");
    }
    let sizes = |kind: &str| actions(&lake, 4, kind).len();
    assert_eq!(
        (
            sizes("add"),
            sizes("remove"),
            sizes("metaData"),
            sizes("protocol")
        ),
        (1, 1, 1, 0)
    );
    let added = &actions(&lake, 4, "add")[0];
    let path = lake
        .shared_folder(DATASET.schema())
        .join(added["path"].as_str().unwrap());
    assert_eq!(json!(fs::metadata(path).unwrap().len()), added["size"]);
    let statistics: Value = serde_json::from_str(added["stats"].as_str().unwrap()).unwrap();
    assert_eq!(statistics["numRecords"], 40);
    assert_eq!(statistics["maxValues"]["price_eur"], 2_000_004_096.0);
    assert_eq!(statistics["nullCount"]["price_eur"], 0);
    // Another program wrote an entry.
    fs::write(log.join(entry_name(5)), "{\"commitInfo\":{}}\n").unwrap();
    publish(&lake, &records, 5);
    assert_eq!(actions(&lake, 5, "add").len(), 1);
    // And it damaged one of ours, until the log is rebuilt.
    fs::remove_file(log.join(entry_name(3))).unwrap();
    fs::write(log.join(entry_name(3)), "").unwrap();
    lake.rebuild_delta_log(DATASET.schema()).unwrap();
    assert_eq!(entry(3), written[2]);
}

#[tokio::test]
async fn sql_reads_a_former_version_by_clause_or_for_the_whole_session() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake(folder.path());
    let records = rows::records(DATASET, 0, 50, &mut Draw::new(1));
    publish(&lake, &records[..30], 1);
    publish(&lake, &records, 2);
    let open_data = OpenData::open(folder.path(), Budget::default()).unwrap();
    let mut session = session_over(open_data.engine(), Vec::new(), Vec::new()).unwrap();
    let ask = async |session: &Session, sql: &str| -> Result<String, String> {
        let planned = plan(session, sql, None)
            .await
            .map_err(|error| error.to_string())?;
        let rows = planned.collect().await.map_err(|error| error.to_string())?;
        Ok(arrow::util::pretty::pretty_format_batches(&rows)
            .unwrap()
            .to_string())
    };
    let count = "select count(*), max(price_eur) from dvf";
    let now = ask(&session, count).await.unwrap();
    assert!(now.contains("50") && now.contains("2000002048"), "{now}");
    for then in [
        "select count(*), max(price_eur) from dvf for version as of 1",
        "select count(d.id), max(dvf.price_eur) from dvf for version as of 1 join \"dvf\" FOR VERSION\nAS OF 1 as d \
         using (id)",
        "with t as (select * from dvf for version as of 1) select count(*), max(price_eur) from t",
    ] {
        let then = ask(&session, then).await.unwrap();
        assert!(then.contains("30") && then.contains("2000001024"), "{then}");
    }
    let new = "select count(*) from dvf left anti join dvf for version as of 1 as former on dvf.id = former.id";
    assert!(ask(&session, new).await.unwrap().contains("20"));
    let gone = ask(&session, "select 1 from dvf for version as of 9")
        .await
        .unwrap_err();
    assert!(gone.contains("no version 9; kept: 1, 2"), "{gone}");
    let odd = ask(&session, "select 1 from (select 1) for version as of 1")
        .await
        .unwrap_err();
    assert!(odd.contains("column 26"), "{odd}");
    assert!(
        ask(&session, "select * from prices for version as of 1")
            .await
            .is_err()
    );
    assert!(
        ask(&session, "drop table dvf for version as of 1")
            .await
            .is_err()
    );

    session.set_version("dvf", 1).unwrap();
    assert!(ask(&session, count).await.unwrap().contains("30"));
    let named = "select count(*) from dvf for version as of 2";
    assert!(ask(&session, named).await.unwrap().contains("50"));
    let own = "with dvf as (select 77 as n) select n from dvf";
    assert!(ask(&session, own).await.unwrap().contains("77"));
    assert!(
        ask(&session, "explain select * from dvf")
            .await
            .unwrap()
            .contains("dvf")
    );
    assert!(matches!(session.set_version("dvf", 8), Err(Error::Lake(_))));
    assert!(matches!(
        session.set_version("sales", 1),
        Err(Error::UnknownTable(_))
    ));
}
