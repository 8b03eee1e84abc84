//! Tests a table that got columns after files were written: old files are read, merged and compacted with missing
//! values.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;

use super::schema::{Column, ColumnKind, TableSchema};
use super::{Error, Lake, RowSink, Slice};

fn table(more: &[(&str, ColumnKind)], department: &'static str) -> TableSchema {
    let own = [
        ("id", ColumnKind::Text),
        ("department", ColumnKind::Category),
        ("commune", ColumnKind::Category),
        ("class", ColumnKind::Category),
        ("date", ColumnKind::Date),
    ];
    let columns = own.iter().chain(more).map(|(name, kind)| Column {
        name: (*name).into(),
        kind: *kind,
        filterable: true,
    });
    let columns = columns.collect();
    TableSchema::new(
        "sales", columns, "id", None, department, "commune", "class", "date", None,
    )
}

static OLD: LazyLock<TableSchema> = LazyLock::new(|| table(&[], "department"));
static NEW: LazyLock<TableSchema> = LazyLock::new(|| {
    let more = [("kind", ColumnKind::Category), ("label", ColumnKind::Text)];
    table(&more, "department")
});
/// A wrong description: its department column is not one of its columns.
static WRONG: LazyLock<TableSchema> = LazyLock::new(|| table(&[], "dept"));

/// Returns rows with these ids; columns that the old table does not have hold `x`.
fn rows(schema: &TableSchema, ids: &[&str]) -> RecordBatch {
    let texts = |value: &dyn Fn(&str) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            ids.iter().map(|id| value(id)),
        ))
    };
    let columns = schema.columns.iter().map(|column| match &*column.name {
        "id" => texts(&|id| id.to_owned()),
        "department" => texts(&|_| "48".to_owned()),
        "commune" => texts(&|_| "48095".to_owned()),
        "date" => Arc::new(Date32Array::from(vec![19_000; ids.len()])),
        "record" => texts(&|id| format!(r#"{{"id":"{id}"}}"#)),
        _ => texts(&|_| "x".to_owned()),
    });
    RecordBatch::try_new(Arc::clone(schema.arrow()), columns.collect()).unwrap()
}

fn import(lake: &Lake, schema: &'static TableSchema, ids: &[&str], slices: Vec<Slice>) {
    let mut import = lake.import(schema).unwrap();
    import.push(rows(schema, ids)).unwrap();
    import.publish(Vec::new(), slices).unwrap();
}

/// Returns the ids with the values of the new columns, null as `-`, sorted.
fn contents(lake: &Lake) -> Vec<(String, String, String)> {
    let snapshot = lake.snapshot(&NEW).unwrap();
    let mut found = Vec::new();
    for entry in &snapshot.parts {
        let file = super::data_file::DataFile::open(&lake.folder(&NEW), entry, &NEW).unwrap();
        for batch in file.batches(100).unwrap() {
            let batch = batch.unwrap();
            assert_eq!(&batch.schema(), NEW.arrow());
            for row in 0..batch.num_rows() {
                let text = |name: &str| {
                    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
                    if column.is_null(row) {
                        "-"
                    } else {
                        column.value(row)
                    }
                    .to_owned()
                };
                found.push((text("id"), text("kind"), text("label")));
            }
        }
        let kinds = file.read_column(0, NEW.column("kind").unwrap().0).unwrap();
        assert_eq!(
            kinds.as_dictionary::<Int32Type>().len(),
            file.entry().rows as usize
        );
        let ids = file.read_column(0, 0).unwrap();
        assert_eq!(ids.as_string::<i32>().null_count(), 0);
    }
    found.sort();
    found
}

fn row(id: &str, value: &str) -> (String, String, String) {
    (id.into(), value.into(), value.into())
}

#[test]
fn files_written_before_a_column_was_added_stay_readable() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    import(
        &lake,
        &OLD,
        &["a", "b", "c", "d", "e", "f", "g"],
        Vec::new(),
    );
    assert!(contents(&lake).iter().all(|(_, kind, _)| kind == "-"));
    import(&lake, &NEW, &["h"], Vec::new());
    assert_eq!(lake.snapshot(&NEW).unwrap().parts.len(), 2);
    let mut expected: Vec<_> = ["a", "b", "c", "d", "e", "f", "g"]
        .map(|id| row(id, "-"))
        .to_vec();
    expected.push(row("h", "x"));
    assert_eq!(contents(&lake), expected);
    // Merged into one file, with the current columns.
    assert_eq!(lake.compact(&NEW, &|_| {}).unwrap(), 8);
    assert_eq!(lake.snapshot(&NEW).unwrap().parts.len(), 1);
    assert_eq!(contents(&lake), expected);
}

#[test]
fn stored_rows_are_found_by_id_in_the_order_asked() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let empty = lake.import(&NEW).unwrap();
    assert!(empty.stored_rows().unwrap().unwrap().is_empty());
    drop(empty);
    import(&lake, &OLD, &["a", "b", "c", "d", "e"], Vec::new());
    import(&lake, &NEW, &["f"], Vec::new());
    let importing = lake.import(&NEW).unwrap();
    let stored = importing.stored_rows().unwrap().unwrap();
    let found = stored.records(&["f", "none", "b", "", "f"]).unwrap();
    let texts: Vec<Option<&str>> = found
        .iter()
        .map(|record| Some(std::str::from_utf8(record.as_ref()?).unwrap()))
        .collect();
    let (f, b) = (Some(r#"{"id":"f"}"#), Some(r#"{"id":"b"}"#));
    assert_eq!(texts, [f, None, b, None, f]);
}

#[test]
fn an_edition_of_a_table_without_its_department_column_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    import(&lake, &OLD, &["a", "b"], Vec::new());
    let mut edition = lake.import(&WRONG).unwrap();
    edition.push(rows(&WRONG, &["a"])).unwrap();
    let slice = Slice {
        place: "48".into(),
        year: None,
    };
    let error = edition.publish(Vec::new(), vec![slice]).unwrap_err();
    assert!(
        matches!(&error, Error::UnknownColumn { table: "sales", column } if column == "dept"),
        "{error}"
    );
    assert_eq!(lake.snapshot(&OLD).unwrap().rows(), 2);
}
