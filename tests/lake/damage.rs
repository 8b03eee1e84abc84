//! Damaged files are refused by name, never read as fewer rows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toise::engine::Budget;
use toise::engine::cursor::CursorKey;
use toise::lake::Lake;
use toise::opendata::{Dataset, OpenData};
use toise::wire::opendata::bodies;
use toise::wire::parse_search;

use crate::support::draw::Draw;
use crate::support::rows;

const ROWS: usize = 1_500;

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

/// What opening the data folder says; it must fail and name the file.
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
    // The snapshot is told the length of another, smaller part, but not its rows.
    let (folder, path) = damaged_after(|path| {
        let other = tempfile::tempdir().unwrap();
        let lake = Lake::open(other.path()).unwrap();
        let records = rows::records(Dataset::Dvf, 0, ROWS - 1, &mut Draw::new(1));
        rows::import(&lake, Dataset::Dvf, &records, Vec::new());
        let entry = &lake.snapshot(Dataset::Dvf.schema()).unwrap().parts[0];
        fs::copy(lake.folder(Dataset::Dvf.schema()).join(&entry.file), path).unwrap();
        let snapshot = path.with_file_name("snapshot.json");
        let mut text: Value = serde_json::from_slice(&fs::read(&snapshot).unwrap()).unwrap();
        text["parts"][0]["bytes"] = entry.bytes.into();
        fs::write(&snapshot, text.to_string()).unwrap();
    });
    assert!(refusal(folder.path(), &path).contains("1499 rows, the snapshot says 1500"));
}

#[test]
fn a_flipped_byte_in_the_footer_is_an_error_or_changes_no_answer() {
    let (folder, path) = damaged_after(|_| {});
    let whole = answers(folder.path()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
    let mut draw = Draw::new(2);
    let mut places: Vec<usize> = (length - 8..length).collect();
    places.extend((0..40).map(|_| length - 8 - footer + draw.below(footer)));
    let (mut refused, mut same, mut other) = (0, 0, Vec::new());
    for place in places {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << draw.below(8);
        fs::write(&path, &changed).unwrap();
        match answers(folder.path()) {
            Err(error) => {
                assert!(
                    error.contains(&*path.to_string_lossy()),
                    "{error} names no file"
                );
                refused += 1;
            }
            Ok(answer) if answer == whole => same += 1,
            Ok(_) => other.push(place),
        }
    }
    println!(
        "footer: {refused} refused, {same} without effect, {} wrong at {other:?}",
        other.len()
    );
    assert!(
        other.is_empty(),
        "wrong answers after a flip in the footer at {other:?}"
    );
}

/// Parquet pages written by the `parquet` crate carry no checksum and its zstd frames none either, so a flipped bit
/// may decode to other values. What holds: no panic, no row lost, and what cannot be decoded is refused by name.
#[test]
fn a_flipped_byte_in_a_data_page_never_loses_rows_or_panics() {
    let (folder, path) = damaged_after(|_| {});
    let whole = answers(folder.path()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let data = bytes.len() - 8 - footer as usize;
    let mut draw = Draw::new(3);
    let (mut refused, mut same, mut other) = (0, 0, 0);
    for _ in 0..40 {
        let place = 4 + draw.below(data - 4);
        let mut changed = bytes.clone();
        changed[place] ^= 1 << draw.below(8);
        fs::write(&path, &changed).unwrap();
        match answers(folder.path()) {
            Err(error) => {
                assert!(
                    error.contains(&*path.to_string_lossy()),
                    "{error} names no file"
                );
                refused += 1;
            }
            Ok(answer) if answer == whole => same += 1,
            Ok(answer) => {
                assert_eq!(answer[0], whole[0], "the total after a flip at {place}");
                other += 1;
            }
        }
    }
    println!("data pages: {refused} flips refused, {same} without effect, {other} undetected");
    assert!(refused > 0);
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
        use toise::wire::opendata::FilterKind::*;
        let filter = match field.kind {
            Range => serde_json::json!({"min": 10, "max": 40}),
            Dates => serde_json::json!({"from": "2021-06-01", "to": "2022-03-31"}),
            Flag => true.into(),
            Text | OneOf(_) => "48005".into(),
            AnyOf(values) => serde_json::json!([values[0], values[1]]),
            Place => serde_json::json!({"lat": 44.5, "lon": 3.5, "distance": "5km"}),
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
fn a_snapshot_that_is_no_json_or_of_a_newer_format_is_refused() {
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
    let (folder, path) = damaged_after(|path| {
        let snapshot = path.with_file_name("snapshot.json");
        let mut text: Value = serde_json::from_slice(&fs::read(&snapshot).unwrap()).unwrap();
        text["format"] = 2.into();
        fs::write(&snapshot, text.to_string()).unwrap();
    });
    let error = OpenData::open(folder.path(), Budget::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("newer version"), "{error}");
    assert!(path.exists());
}
