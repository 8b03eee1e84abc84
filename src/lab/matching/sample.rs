//! Draws the records of an evaluation from the decoded columns, and provides the random numbers of its perturbations.

use std::collections::{BTreeSet, HashMap};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Date32Type, Float64Type, Int32Type};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Error, EvaluationOptions};
use toise_engine as engine;
use toise_engine::view::{RowRef, TableView};
use toise_opendata::score::{rules, surface_column};
use toise_opendata::{Dataset, OpenData};

/// Rows drawn per wanted record: some are superseded, and some are buildings, land and the like.
const ROWS_PER_RECORD: usize = 3;

/// The values of a record that a query may use.
#[derive(Clone, Debug, Default)]
pub struct SampledRecord {
    /// Identifier of the record.
    pub id: String,
    numbers: HashMap<&'static str, f64>,
    texts: HashMap<&'static str, String>,
}

impl SampledRecord {
    /// A number, or a day as days since 1970-01-01; `None` if missing.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.numbers.get(column).copied()
    }

    /// A string; `None` if missing.
    pub fn text(&self, column: &str) -> Option<&str> {
        self.texts.get(column).map(String::as_str)
    }
}

/// The random stream of one query, derived only from seed, level and record.
pub fn stream(seed: u64, level: u64, id: &str) -> StdRng {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&level.to_le_bytes());
    hasher.update(id.as_bytes());
    StdRng::from_seed(*hasher.finalize().as_bytes())
}

/// Draws records that a portfolio could refer to: homes in a known commune and of a known kind, not superseded.
pub fn draw(
    open_data: &OpenData,
    view: &TableView,
    options: EvaluationOptions,
) -> Result<Vec<SampledRecord>, Error> {
    let rows: u64 = view
        .chunks()
        .iter()
        .map(|chunk| u64::from(chunk.rows))
        .sum();
    if rows == 0 {
        return Ok(Vec::new());
    }
    let drawn = draw_rows(options, rows);
    let superseded = view.superseded().map_err(engine::Error::from)?;
    let mut records = Vec::new();
    let mut first = 0;
    for chunk in view.chunks() {
        let last = first + u64::from(chunk.rows);
        let here: Vec<usize> = drawn
            .range(first..last)
            .map(|row| (row - first) as usize)
            .collect();
        first = last;
        if here.is_empty() {
            continue;
        }
        let mut columns = Vec::new();
        for name in column_names(options.dataset) {
            if let Some((index, _)) = view.schema().column(name) {
                let decoded = view
                    .column(open_data.engine().cache(), chunk, index)
                    .map_err(engine::Error::from)?;
                columns.push((name, decoded));
            }
        }
        for row in here {
            let at = RowRef {
                data_file: chunk.data_file,
                row: chunk.first_row + row as u32,
            };
            let mut record = SampledRecord::default();
            for (name, decoded) in &columns {
                read(&mut record, name, &decoded.values, row);
            }
            record.id = record.text(view.schema().id).unwrap_or_default().to_owned();
            if !superseded.contains(at.data_file, at.row) && is_eligible(options.dataset, &record) {
                records.push(record);
            }
        }
    }
    keep_sample(&mut records, options);
    Ok(records)
}

/// Draws more rows than wanted records, or all rows if there are not as many.
fn draw_rows(options: EvaluationOptions, rows: u64) -> BTreeSet<u64> {
    let mut random = stream(options.seed, u64::MAX, "sample");
    let wanted = options.sample.saturating_mul(ROWS_PER_RECORD);
    if wanted as u64 >= rows {
        return (0..rows).collect();
    }
    let mut drawn = BTreeSet::new();
    while drawn.len() < wanted {
        drawn.insert(random.random_range(0..rows));
    }
    drawn
}

/// Keeps the wanted number of records: those whose ids have the smallest digests, so that the sample does not depend on
/// the order of rows.
fn keep_sample(records: &mut Vec<SampledRecord>, options: EvaluationOptions) {
    records.sort_by_cached_key(|record| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&options.seed.to_le_bytes());
        hasher.update(record.id.as_bytes());
        *hasher.finalize().as_bytes()
    });
    records.truncate(options.sample);
}

fn column_names(dataset: Dataset) -> Vec<&'static str> {
    let schema = dataset.schema();
    let mut names = vec![
        schema.id,
        schema.commune,
        schema.class,
        schema.date,
        surface_column(dataset),
        toise_lake::schema::LATITUDE,
        toise_lake::schema::LONGITUDE,
    ];
    names.extend(rules(dataset).iter().map(|rule| rule.column));
    names
}

fn read(record: &mut SampledRecord, name: &'static str, column: &ArrayRef, row: usize) {
    if column.is_null(row) {
        return;
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        record.numbers.insert(name, numbers.value(row));
    } else if let Some(days) = column.as_primitive_opt::<Date32Type>() {
        record.numbers.insert(name, f64::from(days.value(row)));
    } else if let Some(texts) = column.as_string_opt::<i32>() {
        record.texts.insert(name, texts.value(row).to_owned());
    } else if let Some(category) = column.as_dictionary_opt::<Int32Type>() {
        if let Some(code) = category.key(row) {
            let text = category.values().as_string::<i32>().value(code);
            record.texts.insert(name, text.to_owned());
        }
    } else if let Some(flags) = column.as_boolean_opt() {
        record
            .numbers
            .insert(name, f64::from(u8::from(flags.value(row))));
    }
}

fn is_eligible(dataset: Dataset, record: &SampledRecord) -> bool {
    let schema = dataset.schema();
    let kind = record.text(schema.class);
    record.text(schema.commune).is_some()
        && match dataset {
            Dataset::Dpe => kind.is_some(),
            // A symbolic price carries no information; land and premises are not homes.
            Dataset::Dvf => {
                matches!(kind, Some("Appartement" | "Maison"))
                    && record.number("price_eur").is_some_and(|price| price > 1.0)
            }
        }
}
