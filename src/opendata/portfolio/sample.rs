//! Chooses between columns whose names may both mean the class of a home, by their cells in the first rows.

use std::fs::File;

use serde_json::{Map, Value};

use super::columns::VAGUE;
use super::input::LINE_BYTES_MAX;
use super::{Error, Portfolio};
use crate::source::cell::plain_name;
use crate::source::{self, ByteMeter, SourceFormat};
use toise_base::bounded::Lines;
use toise_contract::columns::{OFFER, meaning};
use toise_input::json;
use toise_input::words::names_class;

/// Maximum rows whose cells decide between columns.
pub(super) const SAMPLE_ROWS: usize = 200;

/// Returns the name of a column to read as the field [`VAGUE`] although its name means the offer: `Nature`, if more of
/// its cells in the first rows name a class than of a column `Type`, which then holds `T4` or `Ancien`. `None` if a
/// column has a better name, or the user renamed one. Calls `rows` only if there is such a column.
///
/// # Errors
/// Those of `rows`.
pub(super) fn class_column(
    portfolio: &Portfolio,
    columns: &[String],
    rows: impl FnOnce() -> Result<Vec<csv::StringRecord>, Error>,
) -> Result<Option<String>, Error> {
    let is_renamed = portfolio.renames.iter().any(|(_, field)| field == VAGUE);
    if is_renamed || !portfolio.inferable.iter().any(|field| field == VAGUE) {
        return Ok(None);
    }
    let of = |field: &'static str| {
        let meant = columns.iter().enumerate();
        meant.filter(move |(_, name)| meaning(name).is_some_and(|found| found.field == field))
    };
    if of(VAGUE).any(|(_, name)| plain_name(name) != VAGUE) {
        return Ok(None);
    }
    let Some((column, name)) = of(OFFER).next() else {
        return Ok(None);
    };
    let is_used = portfolio
        .renames
        .iter()
        .map(|(ours, _)| ours)
        .chain(&portfolio.keys)
        .any(|used| plain_name(used) == plain_name(name));
    if is_used {
        return Ok(None);
    }
    let rows = rows()?;
    let classes = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.filter(|cell| names_class(cell)).count()
    };
    let least = of(VAGUE).map(|(column, _)| classes(column)).max();
    let is_better = classes(column) > least.unwrap_or_default();
    Ok(is_better.then(|| name.clone()))
}

/// Returns the first rows of a file that is read with the importer's reader.
pub(super) fn imported_sample(
    portfolio: &Portfolio,
    name: &str,
    format: SourceFormat,
) -> Result<Vec<csv::StringRecord>, Error> {
    let file = File::open(&portfolio.input).map_err(Error::io(name))?;
    let mut reader = source::open(file, name, format, &ByteMeter::default())?;
    let block = reader.next_block()?.unwrap_or_default();
    let rows = 0..block.len().min(SAMPLE_ROWS);
    Ok(rows.map(|row| block.cells(row).collect()).collect())
}

/// Returns the keys of the first readable object in the beginning of a file, and their texts in the first objects.
pub(super) fn json_sample(probe: &[u8]) -> (Vec<String>, Vec<csv::StringRecord>) {
    let mut keys: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    let mut lines = Lines::new(probe, LINE_BYTES_MAX);
    while rows.len() < SAMPLE_ROWS
        && let Ok(Some(line)) = lines.next_line()
    {
        let Ok(object) = json::read::<Map<String, Value>>(line.bytes) else {
            continue;
        };
        let text = |key: &String| object.get(key).and_then(Value::as_str).unwrap_or_default();
        if keys.is_empty() {
            keys.extend(object.keys().cloned());
        }
        rows.push(keys.iter().map(text).collect());
    }
    (keys, rows)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch, StringArray};

    use super::super::{OpenPortfolio, PortfolioColumns};
    use super::*;

    fn portfolio(input: PathBuf) -> Portfolio {
        let fields = ["type", "surface_m2"].map(str::to_owned);
        Portfolio {
            input,
            row_noun: "a home".into(),
            fields: fields.to_vec(),
            inferable: fields.to_vec(),
            only_if_named: Vec::new(),
            numbers: Vec::new(),
            renames: Vec::new(),
            keys: Vec::new(),
            default_keys: &["id"],
        }
    }

    #[test]
    fn a_column_nature_is_read_as_the_type_if_its_cells_are_classes() {
        let columns = |names: &str| names.split(';').map(str::to_owned).collect::<Vec<_>>();
        for (names, rows, expected) in [
            ("Nature;Type", "Maison;T4|Appartement;T2", Some("Nature")),
            ("nature;type", "Maison;Ancien", Some("nature")),
            ("Nature;id", "Maison;1", Some("Nature")),
            ("Nature;Type", "Vente;Appartement|Vente;T2", None),
            ("Nature;Type", "Maison;Villa", None),
            ("Nature;Type", "Vente;T4", None),
            ("Nature;Type de bien", "Maison;Plain-pied", None),
        ] {
            let rows: Vec<csv::StringRecord> = rows
                .split('|')
                .map(|row| csv::StringRecord::from(row.split(';').collect::<Vec<_>>()))
                .collect();
            let names = columns(names);
            let mut homes = portfolio("p.csv".into());
            let sample = || Ok(rows.clone());
            let found = class_column(&homes, &names, sample).unwrap();
            assert_eq!(found.as_deref(), expected, "{names:?} {rows:?}");
            if let Some(found) = found {
                homes.renames.push((found.clone(), VAGUE.to_owned()));
                let used = PortfolioColumns::new(&homes, &names).unwrap().used;
                let mut classes = used.iter().filter(|one| one.field == VAGUE);
                assert_eq!(classes.next().map(|one| &one.column), Some(&found));
                assert!(classes.next().is_none());
                let again = class_column(&homes, &names, sample).unwrap();
                assert_eq!(again, None, "renamed");
            }
        }
    }

    /// Writes two homes as CSV, NDJSON, a JSON array and Parquet, and returns the files.
    fn in_every_form(folder: &Path, rows: [[&str; 2]; 2]) -> [PathBuf; 4] {
        let csv = rows.map(|row| row.join(";")).join("\n");
        let objects =
            rows.map(|[nature, kind]| format!(r#"{{"Nature": "{nature}", "Type": "{kind}"}}"#));
        let files = ["p.csv", "p.ndjson", "p.json", "p.parquet"].map(|name| folder.join(name));
        std::fs::write(&files[0], format!("Nature;Type\n{csv}\n")).unwrap();
        std::fs::write(&files[1], objects.join("\n")).unwrap();
        std::fs::write(&files[2], format!("[{}]", objects.join(",\n"))).unwrap();
        let column = |at: usize| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.map(|row| row[at])))
        };
        let batch =
            RecordBatch::try_from_iter([("Nature", column(0)), ("Type", column(1))]).unwrap();
        let file = File::create(&files[3]).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        files
    }

    #[test]
    fn a_column_nature_of_classes_is_read_in_every_form() {
        let folder = tempfile::tempdir().unwrap();
        for (rows, expected) in [
            ([["Maison", "T4"], ["Appartement", "T2"]], "Nature"),
            ([["Vente", "Maison"], ["Vente", "T2"]], "Type"),
        ] {
            for input in in_every_form(folder.path(), rows) {
                let portfolio = portfolio(input.clone());
                let columns = OpenPortfolio::new(&portfolio).unwrap().columns;
                let used = columns.used.iter().map(|one| (&*one.column, &*one.field));
                let used: Vec<_> = used.collect();
                assert_eq!(used, [(expected, "type")], "{}", input.display());
            }
        }
    }
}
