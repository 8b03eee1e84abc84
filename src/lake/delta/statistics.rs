//! Statistics of a data file in the form of a Delta log: the number of rows and, for each column that queries filter
//! on, minimum, maximum and number of nulls. Readers skip files by them, so a bound that is not certain is omitted.

use std::cmp::Ordering;
use toise_base::clock::iso;

use arrow::datatypes::{DataType, Schema};
use chrono::{DateTime, Duration, NaiveDate};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use serde_json::{Map, Value, json};

/// A bound of the values of a column.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Bound {
    Integer(i64),
    Number(f64),
    Text(String),
}

/// Returns the number of rows, and the minimum, maximum and number of nulls of each column with a page index. Those are
/// the columns that queries filter on, except lists.
pub(super) fn of_file(metadata: &ParquetMetaData, schema: &Schema) -> Value {
    let (mut least, mut greatest, mut nulls) = (Map::new(), Map::new(), Map::new());
    let leaves = metadata.file_metadata().schema_descr().columns();
    for (leaf, column) in leaves.iter().enumerate() {
        let [name] = column.path().parts() else {
            continue;
        };
        let Ok(field) = schema.field_with_name(name) else {
            continue;
        };
        let groups = metadata.row_groups().iter().map(|group| group.column(leaf));
        let groups: Vec<&ColumnChunkMetaData> = groups.collect();
        if groups
            .iter()
            .any(|group| group.column_index_offset().is_none())
        {
            continue;
        }
        let counts: Option<Vec<u64>> = groups.iter().map(|group| null_count(group)).collect();
        if let Some(counts) = counts {
            nulls.insert(name.clone(), counts.iter().sum::<u64>().into());
        }
        if let Some((min, max)) = bounds(&groups) {
            let kind = field.data_type();
            if let (Some(min), Some(max)) = (bound_as_json(&min, kind), bound_as_json(&max, kind)) {
                least.insert(name.clone(), min);
                greatest.insert(name.clone(), max);
            }
        }
    }
    json!({
        "numRecords": metadata.file_metadata().num_rows(),
        "minValues": least,
        "maxValues": greatest,
        "nullCount": nulls,
    })
}

fn null_count(group: &ColumnChunkMetaData) -> Option<u64> {
    group.statistics()?.null_count_opt()
}

/// Returns bounds over all row groups; `None` if a row group has no statistics, or if there are only nulls.
fn bounds(groups: &[&ColumnChunkMetaData]) -> Option<(Bound, Bound)> {
    let mut bounds: Option<(Bound, Bound)> = None;
    for group in groups {
        let statistics = group.statistics()?;
        if statistics.null_count_opt() == u64::try_from(group.num_values()).ok() {
            continue;
        }
        let (min, max) = bounds_of(statistics)?;
        bounds = Some(match bounds {
            None => (min, max),
            Some((least, greatest)) => (
                if min < least { min } else { least },
                if max > greatest { max } else { greatest },
            ),
        });
    }
    bounds
}

fn bounds_of(statistics: &Statistics) -> Option<(Bound, Bound)> {
    let bounds = match statistics {
        Statistics::Double(values) => (
            Bound::Number(*values.min_opt()?),
            Bound::Number(*values.max_opt()?),
        ),
        Statistics::Int64(values) => (
            Bound::Integer(*values.min_opt()?),
            Bound::Integer(*values.max_opt()?),
        ),
        Statistics::Int32(values) => (
            Bound::Integer((*values.min_opt()?).into()),
            Bound::Integer((*values.max_opt()?).into()),
        ),
        Statistics::ByteArray(values) => {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Bound::Text);
            (
                text(values.min_opt()?.data())?,
                text(values.max_opt()?.data())?,
            )
        }
        _ => return None,
    };
    // NaN cannot be compared.
    let comparable = bounds.0.partial_cmp(&bounds.1) != Some(Ordering::Greater)
        && bounds.0.partial_cmp(&bounds.1).is_some();
    comparable.then_some(bounds)
}

/// Returns a bound as JSON, in the form that the type of its column needs.
fn bound_as_json(bound: &Bound, kind: &DataType) -> Option<Value> {
    match (bound, kind) {
        (Bound::Integer(days), DataType::Date32) => {
            let day = NaiveDate::default().checked_add_signed(Duration::try_days(*days)?)?;
            Some(day.to_string().into())
        }
        (Bound::Integer(ms), DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, _)) => {
            let moment = DateTime::from_timestamp_millis(*ms)?;
            Some(iso(moment).into())
        }
        (Bound::Integer(number), DataType::Int32 | DataType::Int64) => Some((*number).into()),
        (Bound::Number(number), DataType::Float64) => {
            Some((*number).into()).filter(Value::is_number)
        }
        (Bound::Text(text), DataType::Utf8) => Some(text.as_str().into()),
        _ => None,
    }
}
