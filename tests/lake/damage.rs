//! Damaged files are refused by name, never read as fewer rows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toise::contract::cursor::CursorKey;
use toise::engine::Budget;
use toise::engine::view::RowRef;
use toise::lake::checksums::whole_digest;
use toise::lake::data_file::DataFile;
use toise::lake::snapshot::Snapshot;
use toise::lake::{Lake, RowSink};
use toise::opendata::request::bodies::bodies;
use toise::opendata::request::parse_search;
use toise::opendata::{Dataset, OpenData};
use toise::sql::plan::plan;

use crate::support::assertions::assert_has;
use crate::support::draw::Draw;
use crate::support::rows;
use crate::support::sql::session_over;

const ROWS: usize = 600;

/// A data folder with one part, and the part's path.
fn damaged_after(change: impl FnOnce(&Path)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open(folder.path()).unwrap();
    let records = rows::records(Dataset::Dvf, 0, ROWS, &mut Draw::new(1));
    rows::import(&lake, Dataset::Dvf, &records, Vec::new());
    let entry = &lake.snapshot(Dataset::Dvf.schema()).unwrap().parts[0];
    let path = lake.folder(Dataset::Dvf.schema()).join(&entry.file);
    change(&path);
    (folder, path)
}

/// The error of opening the data folder, which must fail and name the file.
fn refusal(folder: &Path, file: &Path) -> String {
    let error = OpenData::open(folder, Budget::default())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&*file.to_string_lossy()),
        "{error} does not name {}",
        file.display()
    );
    // An import must not build on a damaged file either.
    let lake = Lake::open(folder).unwrap();
    let before = lake.snapshot(Dataset::Dvf.schema()).unwrap();
    let import = lake.import(Dataset::Dvf.schema()).unwrap();
    assert!(
        import.publish(Vec::new(), Vec::new()).is_err(),
        "an import over a damaged table"
    );
    assert_eq!(lake.snapshot(Dataset::Dvf.schema()).unwrap(), before);
    error
}

#[test]
fn a_part_of_another_length_is_refused() {
    for cut in [1, 100, 5_000] {
        let (folder, path) = damaged_after(|path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() - cut]).unwrap();
        });
        assert!(refusal(folder.path(), &path).contains("damaged"));
    }
    let (folder, path) = damaged_after(|path| {
        let mut bytes = fs::read(path).unwrap();
        bytes.push(0);
        fs::write(path, bytes).unwrap();
    });
    assert!(refusal(folder.path(), &path).contains("damaged"));
    let (folder, path) = damaged_after(|path| fs::write(path, b"").unwrap());
    assert!(refusal(folder.path(), &path).contains("damaged"));
}

#[test]
fn a_part_that_is_gone_is_refused() {
    let (folder, path) = damaged_after(|path| fs::remove_file(path).unwrap());
    refusal(folder.path(), &path);
}

#[test]
fn a_part_with_fewer_rows_than_the_snapshot_says_is_refused() {
    // The snapshot has the length and checksums of another, smaller part, but not its number of rows.
    let (folder, path) = damaged_after(|path| {
        let other = tempfile::tempdir().unwrap();
        let lake = Lake::open(other.path()).unwrap();
        let records = rows::records(Dataset::Dvf, 0, ROWS - 1, &mut Draw::new(1));
        rows::import(&lake, Dataset::Dvf, &records, Vec::new());
        let entry = &lake.snapshot(Dataset::Dvf.schema()).unwrap().parts[0];
        let from = lake.folder(Dataset::Dvf.schema()).join(&entry.file);
        for extension in ["parquet", "sums"] {
            let to = path.with_extension(extension);
            fs::copy(from.with_extension(extension), to).unwrap();
        }
        let own = path.with_file_name("snapshot.json");
        let mut snapshot: Snapshot = serde_json::from_slice(&fs::read(&own).unwrap()).unwrap();
        snapshot.parts[0].bytes = entry.bytes;
        snapshot.parts[0].sums = entry.sums.clone();
        snapshot.checksum = String::new();
        snapshot.checksum = whole_digest(&serde_json::to_vec(&snapshot).unwrap());
        fs::write(&own, serde_json::to_vec(&snapshot).unwrap()).unwrap();
    });
    assert!(refusal(folder.path(), &path).contains("599 rows, expected 600 as in the snapshot"));
}

#[test]
fn a_part_of_another_table_is_refused_whole_as_it_is() {
    // Rows, id index and checksums agree with each other, but the snapshot names others.
    let (folder, path) = damaged_after(|path| {
        let other = tempfile::tempdir().unwrap();
        let lake = Lake::open(other.path()).unwrap();
        let records = rows::records(Dataset::Dvf, 0, ROWS, &mut Draw::new(2));
        rows::import(&lake, Dataset::Dvf, &records, Vec::new());
        let entry = &lake.snapshot(Dataset::Dvf.schema()).unwrap().parts[0];
        for name in entry.files() {
            let from = lake.folder(Dataset::Dvf.schema()).join(&name);
            fs::copy(from, path.with_file_name(&name)).unwrap();
        }
    });
    let reason = refusal(folder.path(), &path.with_extension("sums"));
    assert_has(&reason, "not the checksum file of the snapshot");
}

/// Flips one bit in a file of the table, at random places and at both ends.
fn flips(bytes: &[u8], count: usize, draw: &mut Draw) -> Vec<(usize, Vec<u8>)> {
    let ends = (0..8).chain(bytes.len() - 8..bytes.len());
    let drawn: Vec<usize> = (0..count).map(|_| draw.below(bytes.len())).collect();
    ends.chain(drawn)
        .map(|place| {
            let mut changed = bytes.to_vec();
            changed[place] ^= 1 << draw.below(8);
            (place, changed)
        })
        .collect()
}

/// Every way to read rows, each on newly opened files; returns the rows or the error.
type Reading = fn(&Path) -> Result<Vec<String>, String>;
const READINGS: [(&str, Reading); 4] = [
    ("search", answers),
    ("records and ids", rows_one_by_one),
    ("batches", batches),
    ("sql", sql),
];

#[test]
fn a_flipped_bit_anywhere_is_refused_by_name_or_changes_nothing_and_a_check_finds_it() {
    let (folder, path) = damaged_after(|_| {});
    let lake = Lake::open(folder.path()).unwrap();
    let wholes = READINGS.map(|(_, read)| read(folder.path()).unwrap());
    let mut draw = Draw::new(2);
    for (extension, count) in [("parquet", 150), ("ids", 40), ("sums", 20), ("json", 40)] {
        let path = match extension {
            "json" => path.with_file_name("snapshot.json"),
            _ => path.with_extension(extension),
        };
        let bytes = fs::read(&path).unwrap();
        let (mut refused, mut same) = ([0; READINGS.len()], [0; READINGS.len()]);
        for (place, changed) in flips(&bytes, count, &mut draw) {
            fs::write(&path, &changed).unwrap();
            for (index, (name, read)) in READINGS.iter().enumerate() {
                match read(folder.path()) {
                    Err(error) => {
                        let named = error.contains(&*path.to_string_lossy());
                        assert!(named, "{name} does not name {}: {error}", path.display());
                        refused[index] += 1;
                    }
                    Ok(rows) => {
                        let equal = rows == wholes[index];
                        assert!(equal, "{name}: other rows after {extension} byte {place}");
                        same[index] += 1;
                    }
                }
            }
            let found = lake.check(Dataset::Dvf.schema()).run(&|_| {});
            let files: Vec<&str> = found.damaged.iter().map(|it| &*it.file).collect();
            assert!(!files.is_empty(), "unseen: {extension} byte {place}");
            assert!(
                files.iter().all(|file| *file == path.to_string_lossy()),
                "{files:?}"
            );
        }
        fs::write(&path, &bytes).unwrap();
        println!("{extension}: refused {refused:?}, without effect {same:?}");
        assert!(refused.iter().all(|count| *count > 0));
    }
    assert_eq!(lake.check(Dataset::Dvf.schema()).run(&|_| {}).damaged, []);
}

#[test]
fn damage_is_told_by_column_and_row_group() {
    let (folder, path) = damaged_after(|_| {});
    let view = OpenData::open(folder.path(), Budget::default()).unwrap();
    let view = view.engine().view(Dataset::Dvf.schema()).unwrap();
    let part = &view.parts()[0].data_file;
    let price = part.metadata().row_group(0).columns().iter();
    let price = price
        .clone()
        .find(|it| it.column_path().string() == "price_eur")
        .unwrap();
    let place = price.byte_range().0 + price.byte_range().1 - 1;
    let mut bytes = fs::read(&path).unwrap();
    bytes[place as usize] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let expected = "damaged: column `price_eur` of row group 0 does not match its checksum";
    let column = Dataset::Dvf.schema().column("price_eur").unwrap().0;
    // The file is already open: only what is read now counts.
    let error = part.read_column(0, column).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    let error = batches(folder.path()).unwrap_err();
    assert!(error.contains(expected), "{error}");
    let error = sql(folder.path()).unwrap_err();
    assert!(error.contains(expected), "{error}");
    // Other columns and records are not affected.
    part.read_column(0, column + 1).unwrap();
    assert_eq!(part.records(&[0, 7]).unwrap().len(), 2);
    // Nothing is built on it.
    let lake = Lake::open(folder.path()).unwrap();
    let more = rows::records(Dataset::Dvf, 9_000, 800, &mut Draw::new(4));
    let mut import = lake.import(Dataset::Dvf.schema()).unwrap();
    import.push(rows::batch(Dataset::Dvf, &more)).unwrap();
    let error = import
        .publish(Vec::new(), Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

/// Every record by number and by id.
fn rows_one_by_one(folder: &Path) -> Result<Vec<String>, String> {
    let open_data = OpenData::open(folder, Budget::default()).map_err(|error| error.to_string())?;
    let view = open_data.engine().view(Dataset::Dvf.schema());
    let view = view.map_err(|error| error.to_string())?;
    let all: Vec<RowRef> = (0..ROWS as u32)
        .map(|row| RowRef { data_file: 0, row })
        .collect();
    let mut texts = Vec::new();
    for record in view.records(&all).map_err(|error| error.to_string())? {
        let record: rows::Record = serde_json::from_slice(&record).unwrap();
        let id = rows::id_of(Dataset::Dvf, &record);
        let row = view.row_of(id).map_err(|error| error.to_string())?;
        texts.push(format!("{row:?} {}", Value::from(record)));
    }
    for entry in view.parts()[0]
        .data_file
        .id_index()
        .entries()
        .map_err(|error| error.to_string())?
    {
        texts.push(format!("{entry:?}"));
    }
    Ok(texts)
}

/// Every row as merging reads it.
fn batches(folder: &Path) -> Result<Vec<String>, String> {
    let lake = Lake::open(folder).unwrap();
    let schema = Dataset::Dvf.schema();
    let snapshot = lake.snapshot(schema).map_err(|error| error.to_string())?;
    let mut texts = Vec::new();
    for entry in &snapshot.parts {
        let part = DataFile::open(&lake.folder(schema), entry, schema);
        let batches = part.and_then(|part| part.batches(500));
        for batch in batches.map_err(|error| error.to_string())? {
            texts.push(format!("{:?}", batch.map_err(|error| error.to_string())?));
        }
    }
    Ok(texts)
}

/// Every row and a few counts by SQL.
fn sql(folder: &Path) -> Result<Vec<String>, String> {
    let open_data = OpenData::open(folder, Budget::default()).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let session = session_over(open_data.engine(), Vec::new(), Vec::new());
        let session = session.map_err(|error| error.to_string())?;
        let mut texts = Vec::new();
        for query in [
            "select * from dvf order by id",
            "select count(*) from dvf where price_eur > 30",
            "select record from dvf where id = '2148E000000'",
        ] {
            let planned = plan(&session, query, None)
                .await
                .map_err(|error| error.to_string())?;
            let rows = planned.collect().await.map_err(|error| error.to_string())?;
            texts.push(format!("{rows:?}"));
        }
        Ok(texts)
    })
}

/// Answers that read every filterable column and every record of the table.
fn answers(folder: &Path) -> Result<Vec<String>, String> {
    let open_data = OpenData::open(folder, Budget::default()).map_err(|error| error.to_string())?;
    let key = CursorKey::new([0; 32]);
    let mut answers = Vec::new();
    let mut ask = |body: Value| {
        let mut request = parse_search(Dataset::Dvf, &body, &key).unwrap();
        loop {
            let answer = open_data
                .search(Dataset::Dvf, &request)
                .map_err(|error| error.to_string())?;
            answers.push(format!("{body} {}", answer.total));
            answers.extend(
                answer
                    .records
                    .iter()
                    .map(|text| String::from_utf8_lossy(text).into_owned()),
            );
            request.after = answer.next;
            if request.after.is_none() || body["size"] == 1 {
                return Ok::<(), String>(());
            }
        }
    };
    ask(serde_json::json!({"size": 100}))?;
    for field in bodies(Dataset::Dvf).search_filters {
        use toise::contract::fields::FieldKind::*;
        let filter = match field.kind {
            Range => serde_json::json!({"min": 10, "max": 40}),
            Dates => serde_json::json!({"from": "2021-06-01", "to": "2022-03-31"}),
            Flag => true.into(),
            Code(_) if field.name.contains("departement") => "48".into(),
            Text | OneOf(_) | Code(_) => "48005".into(),
            AnyOf(values) => serde_json::json!([values[0], values[1]]),
            List(_) => serde_json::json!(["48005000AB0001"]),
            Place => serde_json::json!({"lat": 44.5, "lon": 3.5, "distance": "5km"}),
            Area => serde_json::json!({"type": "Polygon",
                "coordinates": [[[3.4, 44.4], [3.6, 44.4], [3.5, 44.6], [3.4, 44.4]]]}),
            Layer => continue,
            other => panic!("{other:?} is no filter"),
        };
        ask(serde_json::json!({"filters": {field.name: filter}, "size": 1}))?;
    }
    Ok(answers)
}

#[test]
fn a_damaged_id_index_is_refused() {
    for change in [0, 1, 2] {
        let (folder, path) = damaged_after(|path| {
            let ids = path.with_extension("ids");
            let mut bytes = fs::read(&ids).unwrap();
            match change {
                0 => drop(bytes.pop()),
                1 => bytes[0] ^= 1,
                _ => bytes[9] ^= 1,
            }
            fs::write(&ids, bytes).unwrap();
        });
        refusal(folder.path(), &path.with_extension("ids"));
    }
}

#[test]
fn a_snapshot_that_is_no_json_or_of_another_format_is_refused() {
    for (text, word) in [
        ("{\"format\": 1", "damaged"),
        ("", "damaged"),
        ("[]", "damaged"),
    ] {
        let (folder, path) = damaged_after(|path| {
            fs::write(path.with_file_name("snapshot.json"), text).unwrap();
        });
        let snapshot = path.with_file_name("snapshot.json");
        let error = OpenData::open(folder.path(), Budget::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&*snapshot.to_string_lossy()) && error.contains(word),
            "{error}"
        );
        let lake = Lake::open(folder.path()).unwrap();
        assert!(lake.import(Dataset::Dvf.schema()).is_err());
        assert!(
            path.exists(),
            "an import swept the files of a snapshot it could not read"
        );
    }
    for (format, words) in [
        (
            4,
            "newer version (format 4, this one reads 3); use that version",
        ),
        (
            1,
            "older version (format 1, this one reads 3); delete the table's folder",
        ),
    ] {
        let (folder, path) = damaged_after(|path| {
            let snapshot = path.with_file_name("snapshot.json");
            let mut text: Value = serde_json::from_slice(&fs::read(&snapshot).unwrap()).unwrap();
            text["format"] = format.into();
            fs::write(&snapshot, text.to_string()).unwrap();
        });
        let error = OpenData::open(folder.path(), Budget::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
        assert!(path.exists());
    }
}
