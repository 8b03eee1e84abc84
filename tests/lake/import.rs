//! Imports: their changes, in any order and number, and the table as other programs see it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use arrow::array::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use toise::lake::data_file::DataFile;
use toise::lake::id_index::{self, RowVersions};
use toise::lake::{Error, Lake, RowSink, Slice};
use toise::opendata::Dataset;

use crate::support::draw::Draw;
use crate::support::rows::{self, Record, id_of, import};

/// Record texts by id, read from the folder's Parquet files as any other program would; no id may occur twice.
pub fn contents(lake: &Lake, dataset: Dataset) -> BTreeMap<String, String> {
    let mut contents = BTreeMap::new();
    for file in std::fs::read_dir(lake.shared_folder(dataset.schema())).unwrap() {
        let path = file.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "parquet")
        {
            continue;
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap());
        for batch in reader.unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let text = |name| {
                batch
                    .column_by_name(name)
                    .unwrap()
                    .as_string::<i32>()
                    .clone()
            };
            let (ids, records) = (text(rows::id_column(dataset)), text("record"));
            for (id, record) in ids.iter().zip(&records) {
                let former = contents.insert(id.unwrap().to_owned(), record.unwrap().to_owned());
                assert!(former.is_none(), "{} is there twice", id.unwrap());
            }
        }
    }
    assert_eq!(
        contents.len() as u64,
        lake.snapshot(dataset.schema()).unwrap().rows()
    );
    contents
}

/// The expected content of a table of these records.
fn expected(dataset: Dataset, records: &[Record]) -> BTreeMap<String, String> {
    records
        .iter()
        .map(|record| {
            (
                id_of(dataset, record).to_owned(),
                serde_json::to_string(record).unwrap(),
            )
        })
        .collect()
}

fn lake() -> (tempfile::TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    (folder, lake)
}

fn runs(lake: &Lake, dataset: Dataset) -> usize {
    let snapshot = lake.snapshot(dataset.schema()).unwrap();
    snapshot
        .parts
        .iter()
        .map(|part| part.run)
        .collect::<BTreeSet<_>>()
        .len()
}

/// The versions of every row by the digest of its id.
fn versions(lake: &Lake, dataset: Dataset) -> BTreeMap<u128, RowVersions> {
    let schema = dataset.schema();
    let files = lake.snapshot(schema).unwrap().parts;
    let entries = files.iter().flat_map(|entry| {
        let file = DataFile::open(&lake.folder(schema), entry, schema).unwrap();
        file.id_index().entries().unwrap()
    });
    entries.map(|entry| (entry.id, entry.versions)).collect()
}

#[test]
fn rows_keep_the_versions_in_which_they_were_added_and_changed() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let (_folder, lake) = lake();
        let mut draw = Draw::new(8);
        let (mut records, mut former) = (Vec::new(), BTreeMap::new());
        let mut expected: BTreeMap<u128, RowVersions> = BTreeMap::new();
        let mut replaced = 0;
        for size in [300, 20, 600, 5, 40] {
            let more = rows::records(dataset, records.len(), size, &mut draw);
            let again = records.iter().take(25);
            let changed =
                again.map(|record| rows::record(dataset, id_of(dataset, record), &mut draw));
            let pushed: Vec<Record> = changed.chain(more.clone()).collect();
            replaced += import(&lake, dataset, &pushed, Vec::new()).replaced;
            records.extend(more);
            let version = lake.snapshot(dataset.schema()).unwrap().sequence as u32;
            let now = contents(&lake, dataset);
            for (id, text) in &now {
                let new = RowVersions {
                    added: version,
                    changed: version,
                };
                let known = expected.entry(id_index::digest(id)).or_insert(new);
                if former.get(id).is_some_and(|before| before != text) {
                    known.changed = version;
                }
            }
            former = now;
            assert_eq!(versions(&lake, dataset), expected);
        }
        assert!(replaced > 10, "{replaced}");
        lake.compact(dataset.schema(), &|_| {}).unwrap();
        assert_eq!(versions(&lake, dataset), expected);
    }
}

#[test]
fn importing_again_changes_nothing() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let (_folder, lake) = lake();
        let records = rows::records(dataset, 0, 300, &mut Draw::new(1));
        let first = import(&lake, dataset, &records, Vec::new());
        assert_eq!((first.added, first.total, first.unchanged), (300, 300, 0));
        let before = lake.snapshot(dataset.schema()).unwrap();
        let again = import(&lake, dataset, &records, Vec::new());
        assert_eq!((again.added, again.replaced, again.removed), (0, 0, 0));
        assert_eq!((again.unchanged, again.total), (300, 300));
        let some = import(&lake, dataset, &records[20..90], Vec::new());
        assert_eq!(
            (some.added, some.replaced, some.unchanged, some.total),
            (0, 0, 70, 300)
        );
        assert_eq!(lake.snapshot(dataset.schema()).unwrap(), before);
        assert_eq!(contents(&lake, dataset), expected(dataset, &records));
    }
}

#[test]
fn the_same_record_twice_in_one_import_is_kept_once() {
    let (_folder, lake) = lake();
    let records = rows::records(Dataset::Dvf, 0, 50, &mut Draw::new(2));
    let outcome = import(
        &lake,
        Dataset::Dvf,
        &[records.clone(), records.clone()].concat(),
        Vec::new(),
    );
    assert_eq!(
        (outcome.added, outcome.duplicates, outcome.total),
        (50, 50, 50)
    );
    assert_eq!(
        contents(&lake, Dataset::Dvf),
        expected(Dataset::Dvf, &records)
    );
}

#[test]
fn many_small_imports_in_any_order_make_the_table_of_one_big_one() {
    for (dataset, seed) in [(Dataset::Dvf, 3), (Dataset::Dpe, 4)] {
        let mut draw = Draw::new(seed);
        let records = rows::records(dataset, 0, 400, &mut draw);
        let (_folder, big) = lake();
        import(&big, dataset, &records, Vec::new());
        let whole = contents(&big, dataset);
        for _ in 0..2 {
            // Overlapping pieces, so that most rows arrive several times.
            let mut pieces: Vec<&[Record]> = records.chunks(23).collect();
            pieces.extend(records.chunks(90));
            draw.shuffle(&mut pieces);
            let (_folder, small) = lake();
            let mut added = 0;
            for piece in pieces {
                added += import(&small, dataset, piece, Vec::new()).added;
            }
            assert_eq!(added, 400);
            assert_eq!(contents(&small, dataset), whole);
        }
    }
}

#[test]
fn of_two_diagnostics_with_one_number_the_later_modification_stays_in_any_order() {
    let dated = |day: &str, surface: u32| {
        let mut record = Record::new();
        record.insert("numero_dpe".into(), "2148E0000001A".into());
        record.insert("date_derniere_modification_dpe".into(), day.into());
        record.insert("surface_habitable_logement".into(), json!(surface));
        record
    };
    let versions = [
        dated("2022-03-01", 1),
        dated("2024-01-05", 2),
        dated("2023-07-09", 3),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let latest = expected(Dataset::Dpe, &versions[1..2]);
        let ordered: Vec<Record> = order
            .iter()
            .map(|version| versions[*version].clone())
            .collect();
        let (_folder, one_by_one) = lake();
        for version in &ordered {
            import(
                &one_by_one,
                Dataset::Dpe,
                std::slice::from_ref(version),
                Vec::new(),
            );
        }
        assert_eq!(contents(&one_by_one, Dataset::Dpe), latest, "{order:?}");
        let (_folder, at_once) = lake();
        import(&at_once, Dataset::Dpe, &ordered, Vec::new());
        assert_eq!(contents(&at_once, Dataset::Dpe), latest, "{order:?}");
    }
}

/// A sale in a commune and a year.
fn sale(id: &str, commune: &str, year: i32, price: u32) -> Record {
    let department = if commune.starts_with("97") {
        &commune[..3]
    } else {
        &commune[..2]
    };
    let mut record = Record::new();
    record.insert("id".into(), id.into());
    record.insert(
        "transaction_date".into(),
        format!("{year}-05-31T00:00:00.000Z").into(),
    );
    record.insert("price_eur".into(), price.into());
    record.insert("insee_code".into(), commune.into());
    record.insert("departement_code".into(), department.into());
    record
}

fn slice(place: &str, year: i32) -> Slice {
    Slice {
        place: place.into(),
        year: Some(year),
    }
}

#[test]
fn an_edition_replaces_its_slices_only_and_counts_what_it_removed() {
    let (_folder, lake) = lake();
    let dataset = Dataset::Dvf;
    let old = [
        sale("a", "48095", 2023, 1),
        sale("b", "48095", 2023, 2),
        sale("c", "48001", 2023, 3),
        sale("d", "48095", 2022, 4),
        sale("e", "83137", 2023, 5),
    ];
    // In two imports, so that the slices are in more than one file.
    import(&lake, dataset, &old[..2], Vec::new());
    import(&lake, dataset, &old[2..], Vec::new());
    let new = [
        sale("a", "48095", 2023, 1),
        sale("b", "48095", 2023, 20),
        sale("f", "48001", 2023, 6),
    ];
    let outcome = import(&lake, dataset, &new, vec![slice("48", 2023)]);
    assert_eq!(
        (
            outcome.added,
            outcome.replaced,
            outcome.unchanged,
            outcome.removed
        ),
        (1, 1, 1, 1)
    );
    assert_eq!(outcome.total, 5);
    let after = [&new[..], &old[3..]].concat();
    assert_eq!(contents(&lake, dataset), expected(dataset, &after));
    // The same edition again changes nothing.
    let sequence = lake.snapshot(dataset.schema()).unwrap().sequence;
    let again = import(&lake, dataset, &new, vec![slice("48", 2023)]);
    assert_eq!(
        (again.added, again.replaced, again.removed, again.unchanged),
        (0, 0, 0, 3)
    );
    assert_eq!(lake.snapshot(dataset.schema()).unwrap().sequence, sequence);
    // An edition without rows of a commune removes its rows.
    let outcome = import(&lake, dataset, &[], vec![slice("48001", 2023)]);
    assert_eq!((outcome.removed, outcome.total), (1, 4));
    let left = [&new[..2], &old[3..]].concat();
    assert_eq!(contents(&lake, dataset), expected(dataset, &left));
}

#[test]
fn an_edition_without_most_rows_of_a_slice_is_refused_on_request() {
    let (_folder, lake) = lake();
    let dataset = Dataset::Dvf;
    let sales = |ids: std::ops::Range<u32>, year: i32| {
        let sales = ids.map(|id| sale(&format!("{year}-{id}"), "48095", year, id));
        sales.collect::<Vec<_>>()
    };
    let held = [sales(0..40, 2023), sales(0..40, 2024)].concat();
    import(&lake, dataset, &held, Vec::new());
    let guarded = |records: &[Record]| {
        let mut import = lake.import(dataset.schema()).unwrap();
        import.push(rows::batch(dataset, records)).unwrap();
        import.refuse_shrunk_slices();
        import.publish(Vec::new(), vec![slice("48", 2024)])
    };
    // The file of another year.
    let error = guarded(&sales(0..40, 2023)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the new edition has at most 0 of the 40 rows of 48 2024; nothing was changed"
    );
    assert!(guarded(&sales(0..19, 2024)).is_err());
    assert_eq!(contents(&lake, dataset), expected(dataset, &held));
    // New identifiers of as many rows, and half of the rows.
    assert_eq!(guarded(&sales(100..140, 2024)).unwrap().removed, 40);
    assert_eq!(guarded(&sales(100..120, 2024)).unwrap().removed, 20);
}

#[test]
fn a_row_in_two_slices_of_an_edition_is_removed_and_counted_once() {
    let (_folder, lake) = lake();
    let dataset = Dataset::Dvf;
    import(
        &lake,
        dataset,
        &[sale("a", "48095", 2023, 1), sale("b", "83137", 2023, 2)],
        Vec::new(),
    );
    let slices = vec![slice("48", 2023), slice("48095", 2023)];
    let outcome = import(&lake, dataset, &[], slices);
    assert_eq!((outcome.removed, outcome.total), (1, 1));
}

#[test]
fn forty_small_imports_leave_few_runs_and_compaction_leaves_one() {
    let dataset = Dataset::Dvf;
    let (_folder, lake) = lake();
    let mut draw = Draw::new(7);
    let records = rows::records(dataset, 0, 800, &mut draw);
    for (number, piece) in records.chunks(20).enumerate() {
        import(&lake, dataset, piece, Vec::new());
        let rows = (number + 1) * 20;
        let bound = (rows as f64 / 20.0).log2().ceil() as usize + 1;
        assert!(
            runs(&lake, dataset) <= bound,
            "{} runs of {rows} rows",
            runs(&lake, dataset)
        );
    }
    // Imports of falling sizes stay separate runs, so there is something to compact.
    for size in [200, 60, 18, 5] {
        let more = rows::records(dataset, 10_000 + size * 10, size, &mut draw);
        import(&lake, dataset, &more, Vec::new());
    }
    let before = contents(&lake, dataset);
    assert!(runs(&lake, dataset) > 2);
    assert_eq!(
        lake.compact(dataset.schema(), &|_| {}).unwrap(),
        before.len() as u64
    );
    assert_eq!(runs(&lake, dataset), 1);
    assert_eq!(contents(&lake, dataset), before);
    let sequence = lake.snapshot(dataset.schema()).unwrap().sequence;
    assert_eq!(lake.compact(dataset.schema(), &|_| {}).unwrap(), 0);
    assert_eq!(lake.snapshot(dataset.schema()).unwrap().sequence, sequence);
}

#[test]
fn rows_of_a_run_lie_in_clustering_order() {
    let dataset = Dataset::Dpe;
    let (_folder, lake) = lake();
    for size in [300, 100, 60] {
        let records = rows::records(dataset, size * 100, size, &mut Draw::new(size as u64));
        import(&lake, dataset, &records, Vec::new());
    }
    let folder = lake.folder(dataset.schema());
    for entry in lake.snapshot(dataset.schema()).unwrap().parts {
        let part =
            toise::lake::data_file::DataFile::open(&folder, &entry, dataset.schema()).unwrap();
        let mut keys = Vec::new();
        for batch in part.batches(64).unwrap() {
            keys.extend(toise::lake::cluster::keys(
                dataset.schema(),
                &batch.unwrap(),
            ));
        }
        assert!(keys.is_sorted(), "{}", entry.file);
        let range = [keys[0], keys[keys.len() - 1]].map(|key| format!("{key:032x}"));
        assert_eq!([entry.key_range.0, entry.key_range.1], range);
    }
}

#[test]
fn one_import_at_a_time_and_an_abandoned_one_leaves_no_trace() {
    use toise::lake::RowSink;
    let dataset = Dataset::Dvf;
    let (_folder, lake) = lake();
    let records = rows::records(dataset, 0, 30, &mut Draw::new(8));
    import(&lake, dataset, &records, Vec::new());
    let before = contents(&lake, dataset);
    let mut open = lake.import(dataset.schema()).unwrap();
    open.push(rows::batch(
        dataset,
        &rows::records(dataset, 100, 30, &mut Draw::new(9)),
    ))
    .unwrap();
    assert!(matches!(
        lake.import(dataset.schema()),
        Err(Error::Busy { .. })
    ));
    assert!(matches!(
        lake.compact(dataset.schema(), &|_| {}),
        Err(Error::Busy { .. })
    ));
    // The other table is free.
    drop(lake.import(Dataset::Dpe.schema()).unwrap());
    drop(open);
    assert_eq!(contents(&lake, dataset), before);
    assert!(!lake.folder(dataset.schema()).join("incoming").exists());
    drop(lake.import(dataset.schema()).unwrap());
}
