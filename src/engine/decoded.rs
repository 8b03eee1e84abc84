//! A decoded column: its values, its zone map and, for a list, the offsets of each row's items.
//!
//! A zone is 1,024 rows. For a number column the zone map holds the minimum and maximum of each zone; for a category it
//! holds, for each distinct value, one bit per zone in which it occurs. A list column holds the values of all rows
//! concatenated.

use arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
};

/// Rows per zone.
pub const ZONE_ROWS: usize = 1_024;
/// Maximum rows of a row group, and of any batch that queries run over: one bit per zone fits into a word.
pub const CHUNK_ROWS_MAX: usize = 64 * ZONE_ROWS;

/// A decoded column of one row group or batch.
#[derive(Debug)]
pub struct DecodedColumn {
    /// The values; for a list column, those of all rows.
    pub values: ArrayRef,
    /// Zone map.
    pub zones: ZoneMap,
    /// For a list column, the items of each row.
    pub items: Option<ListOffsets>,
}

/// Which values of a list column belong to which row.
#[derive(Debug)]
pub struct ListOffsets {
    /// Offset of each row's first value, and the end of the last row's values.
    pub offsets: OffsetBuffer<i32>,
    /// Marks rows without a list.
    pub nulls: Option<NullBuffer>,
}

/// Zone map of a column.
#[derive(Debug)]
pub enum ZoneMap {
    /// No bounds known.
    Unknown,
    /// Minimum and maximum of each zone; `min > max` if all values are missing.
    Bounds(Vec<(f64, f64)>),
    /// For each dictionary code, the zones it occurs in.
    Codes(Vec<u64>),
}

impl DecodedColumn {
    /// Builds the column with its zone map. For a list of structs only the first field is retained: fields are read one
    /// at a time.
    pub fn new(values: ArrayRef) -> Self {
        let Some(list) = values.as_list_opt::<i32>() else {
            let zones = zones(&values);
            return Self {
                values,
                zones,
                items: None,
            };
        };
        let items = ListOffsets {
            offsets: list.offsets().clone(),
            nulls: list.nulls().cloned(),
        };
        let values = match list.values().as_struct_opt() {
            Some(structs) => struct_field(structs, 0),
            None => list.values().clone(),
        };
        Self {
            values,
            zones: ZoneMap::Unknown,
            items: Some(items),
        }
    }

    pub(super) fn bytes(&self) -> u32 {
        let zones = match &self.zones {
            ZoneMap::Unknown => 0,
            ZoneMap::Bounds(bounds) => bounds.len() * 16,
            ZoneMap::Codes(codes) => codes.len() * 8,
        };
        let items = self
            .items
            .as_ref()
            .map_or(0, |items| items.offsets.len() * 4);
        u32::try_from(self.values.get_array_memory_size() + zones + items).unwrap_or(u32::MAX)
    }
}

/// Returns a field of structs, with nulls where the struct is null.
pub(super) fn struct_field(structs: &StructArray, field: usize) -> ArrayRef {
    let values = structs.column(field);
    if structs.nulls().is_none() {
        return values.clone();
    }
    let nulls = NullBuffer::union(structs.nulls(), values.nulls());
    let masked = values.to_data().into_builder().nulls(nulls).build();
    // Nulls of the same length as the values are always valid.
    masked.map_or_else(|_| values.clone(), make_array)
}

fn zones(values: &ArrayRef) -> ZoneMap {
    match values.data_type() {
        DataType::Float64 => {
            let column = values.as_primitive::<Float64Type>();
            bounds(column, |row| column.value(row))
        }
        DataType::Int32 => {
            let column = values.as_primitive::<Int32Type>();
            bounds(column, |row| f64::from(column.value(row)))
        }
        DataType::Int64 => {
            let column = values.as_primitive::<Int64Type>();
            bounds(column, |row| column.value(row) as f64)
        }
        DataType::Date32 => {
            let column = values.as_primitive::<Date32Type>();
            bounds(column, |row| f64::from(column.value(row)))
        }
        DataType::Timestamp(..) => match values.as_primitive_opt::<TimestampMillisecondType>() {
            Some(column) => bounds(column, |row| column.value(row) as f64),
            None => ZoneMap::Unknown,
        },
        DataType::Dictionary(..) => {
            let column = values.as_dictionary::<Int32Type>();
            let mut codes = vec![0u64; column.values().len()];
            for row in 0..column.len() {
                if let Some(code) = column.key(row) {
                    codes[code] |= 1 << (row / ZONE_ROWS).min(63);
                }
            }
            ZoneMap::Codes(codes)
        }
        _ => ZoneMap::Unknown,
    }
}

fn bounds(column: &dyn Array, value: impl Fn(usize) -> f64) -> ZoneMap {
    let zone = |first: usize| {
        let last = (first + ZONE_ROWS).min(column.len());
        (first..last)
            .filter(|row| column.is_valid(*row))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), row| {
                (min.min(value(row)), max.max(value(row)))
            })
    };
    ZoneMap::Bounds((0..column.len()).step_by(ZONE_ROWS).map(zone).collect())
}
