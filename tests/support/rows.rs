//! Rows that provoke edge cases: missing values everywhere, ties in every column, texts with long common prefixes,
//! negative numbers, days before 1970, positions on a coarse grid.
//!
//! A row is a record as in responses; [`batch`] converts records into the columns of a table by column kind alone,
//! without the importer.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, ListBuilder, RecordBatch,
    StringArray, StringBuilder,
};
use chrono::NaiveDate;
use serde_json::{Map, Value, json};
use toise::contract::fields::{CodeFormat, FieldKind, ListOf};
use toise::lake::schema::{ColumnKind, RECORD};
use toise::lake::{ImportOutcome, Lake, RowSink, Slice};
use toise::opendata::Dataset;
use toise::opendata::request::bodies::bodies;

use super::draw::Draw;

/// A record.
pub type Record = Map<String, Value>;

/// Name of the column that identifies a record.
pub fn id_column(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dvf => "id",
        Dataset::Dpe => "numero_dpe",
    }
}

/// Identifier of a record.
pub fn id_of(dataset: Dataset, record: &Record) -> &str {
    record[id_column(dataset)].as_str().unwrap()
}

/// Centre of the grid of positions.
pub const CENTRE: (f64, f64) = (44.5, 3.5);

/// A record with a given identifier; all other values are random and often missing.
pub fn record(dataset: Dataset, id: &str, draw: &mut Draw) -> Record {
    let mut record = Record::new();
    record.insert(id_column(dataset).into(), id.into());
    for field in bodies(dataset).search_filters {
        // An area or a layer is a condition on the position, not a column.
        if [id_column(dataset), "area", "layer"].contains(&field.name) || draw.once_in(4) {
            continue;
        }
        let value = match field.kind {
            FieldKind::Text => text(field.name, draw).into(),
            FieldKind::Code(code) => place_code(code, draw).into(),
            FieldKind::List(of) => match column_kind(dataset, field.name) {
                ColumnKind::TextList => (0..draw.below(4)).map(|_| item(of, draw)).collect(),
                _ => item(of, draw),
            },
            FieldKind::AnyOf(values) | FieldKind::OneOf(values) => (*draw.one_of(values)).into(),
            FieldKind::Range if field.name == "flx_id" => json!(draw.bits() >> 11),
            FieldKind::Range => number(draw),
            FieldKind::Dates => match dataset {
                Dataset::Dvf => format!("{}T00:00:00.000Z", day(draw)).into(),
                Dataset::Dpe => day(draw).to_string().into(),
            },
            FieldKind::Flag => draw.once_in(2).into(),
            FieldKind::Place => {
                let (lat, lon) = position(draw);
                json!({"lat": lat, "lon": lon})
            }
            other => panic!("{other:?} is not a filter"),
        };
        record.insert(field.name.into(), value);
    }
    if dataset == Dataset::Dpe && !draw.once_in(3) {
        record.insert(
            "numero_etage_appartement".into(),
            json!(draw.below(12) as i64 - 2),
        );
    }
    record
}

/// Records numbered from `first`, shuffled.
pub fn records(dataset: Dataset, first: usize, count: usize, draw: &mut Draw) -> Vec<Record> {
    let mut records: Vec<Record> = (first..first + count)
        // Many share the first eight bytes, so that ties must be resolved by the rest.
        .map(|number| {
            record(
                dataset,
                &format!("2148E{:06}X", number * 7_919 % 1_000_000),
                draw,
            )
        })
        .collect();
    draw.shuffle(&mut records);
    records
}

fn column_kind(dataset: Dataset, name: &str) -> ColumnKind {
    dataset.schema().column(name).unwrap().1.kind
}

/// An item of a list of codes.
pub fn item(of: &ListOf, draw: &mut Draw) -> Value {
    match of.item {
        FieldKind::Code(code) => place_code(code, draw).into(),
        other => panic!("{other:?} is not an item of a filter"),
    }
}

/// Numbers of communes of Lozère, without those of communes that joined another.
const CODES_OF_TODAY: [usize; 17] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19];

/// A code of its format, one of a few.
pub fn place_code(format: &CodeFormat, draw: &mut Draw) -> String {
    // Only current codes, because a search for a former commune uses more than this field.
    let number = *draw.one_of(&CODES_OF_TODAY);
    let department = *draw.one_of(&["48", "2A", "2B", "974", "75"]);
    let codes = [
        department.to_owned(),
        format!("{:05}", 48_000 + number),
        format!("{:09}", 480_950_000 + number),
        format!("{:05}000AB000{}", 48_000 + number, number % 3),
        format!("8XBEW7VVWG4{}", 1 + number % 9),
    ];
    let valid = codes
        .into_iter()
        .find(|code| (format.refusal)(code).is_none());
    valid.unwrap_or_else(|| panic!("no code of {}", format.pattern))
}

fn text(column: &str, draw: &mut Draw) -> String {
    if column.contains("departement") {
        return (*draw.one_of(&["48", "2A", "2B", "974", "75"])).into();
    }
    match draw.below(12) {
        0 => "48095".into(),
        1 => "48095_0100_00001".into(),
        2 => "48095_0100_00001_bis".into(),
        3 => "48095_0100_00002".into(),
        4 => "é".into(),
        _ => format!("{:05}", 48_000 + draw.below(20)),
    }
}

/// Numbers with many ties, fractions, negatives and a few very large ones; whole ones are written as integers.
pub fn number(draw: &mut Draw) -> Value {
    match draw.below(10) {
        0 => json!(0),
        1 => json!(-(draw.below(40) as i64)),
        2 => json!(draw.below(1_000) as f64 / 8.0 + 0.125),
        3 => json!(draw.below(1_000_000_000)),
        _ => json!(draw.below(60)),
    }
}

/// A day, sometimes long ago.
pub fn day(draw: &mut Draw) -> NaiveDate {
    let start = if draw.once_in(20) { 1962 } else { 2021 };
    NaiveDate::from_ymd_opt(start, 1, 1).unwrap() + chrono::Days::new(draw.below(900) as u64)
}

/// A position on a grid of about 500 m around [`CENTRE`].
pub fn position(draw: &mut Draw) -> (f64, f64) {
    let step = |draw: &mut Draw| (draw.below(40) as f64 - 20.0) / 200.0;
    (CENTRE.0 + step(draw), CENTRE.1 + step(draw))
}

/// Records as the columns of a table.
pub fn batch(dataset: Dataset, records: &[Record]) -> RecordBatch {
    let schema = dataset.schema();
    let place = |record: &Record, axis: &str| record.get("location")?.get(axis)?.as_f64();
    let columns = schema.columns.iter().map(|column| -> ArrayRef {
        let name = column.name.as_str();
        let values = records.iter().map(|record| record.get(name));
        let texts = |values: Vec<Option<String>>| Arc::new(StringArray::from(values)) as ArrayRef;
        match (name, column.kind) {
            (RECORD, _) => texts(
                records
                    .iter()
                    .map(|record| Some(serde_json::to_string(record).unwrap()))
                    .collect(),
            ),
            ("lat" | "lon", _) => Arc::new(
                records
                    .iter()
                    .map(|record| place(record, name))
                    .collect::<Float64Array>(),
            ),
            (_, ColumnKind::Text | ColumnKind::Category) => {
                texts(values.map(|value| Some(value?.as_str()?.into())).collect())
            }
            (_, ColumnKind::Number) => Arc::new(
                values
                    .map(|value| value?.as_f64())
                    .collect::<Float64Array>(),
            ),
            (_, ColumnKind::Integer) => {
                Arc::new(values.map(|value| value?.as_i64()).collect::<Int64Array>())
            }
            (_, ColumnKind::Flag) => Arc::new(
                values
                    .map(|value| value?.as_bool())
                    .collect::<BooleanArray>(),
            ),
            (_, ColumnKind::Date) => Arc::new(
                values
                    .map(|value| Some(days(value?.as_str()?)))
                    .collect::<Date32Array>(),
            ),
            (_, ColumnKind::TextList) => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for value in values {
                    for item in value.and_then(Value::as_array).into_iter().flatten() {
                        lists.values().append_value(item.as_str().unwrap());
                    }
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            (_, other) => panic!("no table of open data holds {other:?}"),
        }
    });
    RecordBatch::try_new(Arc::clone(schema.arrow()), columns.collect()).unwrap()
}

/// A record's date in days since 1970.
pub fn days(text: &str) -> i32 {
    let day = NaiveDate::parse_from_str(&text[..10], "%Y-%m-%d").unwrap();
    day.signed_duration_since(NaiveDate::default()).num_days() as i32
}

/// Imports records; `slices` is passed to [`toise::lake::import::Import::publish`].
pub fn import(
    lake: &Lake,
    dataset: Dataset,
    records: &[Record],
    slices: Vec<Slice>,
) -> ImportOutcome {
    let mut import = lake.import(dataset.schema()).unwrap();
    for chunk in records.chunks(700) {
        import.push(batch(dataset, chunk)).unwrap();
    }
    import.publish(Vec::new(), slices).unwrap()
}
