//! The clustering key of rows: department, Hilbert position, class, date.
//!
//! It is one 128-bit number per row, so that sorting and merging compare integers: 64 bits for department and position
//! ([`toise_geo::order::cluster_key`]), the first four bytes of the class, 32 bits of date.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Date32Type, Float64Type, TimestampMillisecondType};

use super::schema::{LATITUDE, LONGITUDE, TableSchema};
use toise_geo::order;

/// Milliseconds per day.
const DAY_MS: i64 = 86_400_000;

/// Returns the clustering keys of the rows of a batch in the table's Arrow schema.
pub fn keys(schema: &TableSchema, batch: &RecordBatch) -> Vec<u128> {
    let text = |name| {
        batch
            .column_by_name(name)
            .and_then(|column| column.as_string_opt::<i32>())
    };
    let number = |name| {
        batch
            .column_by_name(name)
            .and_then(|column| column.as_primitive_opt::<Float64Type>())
    };
    let department = text(schema.department);
    let class = text(schema.class);
    let (lat, lon) = (number(LATITUDE), number(LONGITUDE));
    let date = batch.column_by_name(schema.date);
    let days = date.and_then(|column| column.as_primitive_opt::<Date32Type>());
    let moments = date.and_then(|column| column.as_primitive_opt::<TimestampMillisecondType>());
    let day_of = |row: usize| match (days, moments) {
        (Some(days), _) => days.is_valid(row).then(|| days.value(row)),
        (_, Some(moments)) => moments
            .is_valid(row)
            .then(|| i32::try_from(moments.value(row).div_euclid(DAY_MS)).unwrap_or(i32::MAX)),
        _ => None,
    };
    let mut last_department: (Option<&str>, u64) = (None, 0);
    (0..batch.num_rows())
        .map(|row| {
            let department = department
                .filter(|column| column.is_valid(row))
                .map(|column| column.value(row));
            let position = match (lat, lon) {
                (Some(lat), Some(lon)) if lat.is_valid(row) && lon.is_valid(row) => {
                    Some((lat.value(row), lon.value(row)))
                }
                _ => None,
            };
            // Consecutive rows mostly share the department: its rank is looked up once for each sequence of equal
            // values.
            if last_department.0 != department {
                last_department = (department, order::cluster_key(department, None));
            }
            let place = last_department.1 | order::cluster_key(None, position);
            let class = class
                .filter(|column| column.is_valid(row))
                .map_or(0, |column| {
                    let mut first = [0u8; 4];
                    for (to, from) in first.iter_mut().zip(column.value(row).bytes()) {
                        *to = from;
                    }
                    u32::from_be_bytes(first)
                });
            // Shifted so that days before 1970 sort before later ones.
            let day = day_of(row).map_or(0, |day| (i64::from(day) - i64::from(i32::MIN)) as u32);
            u128::from(place) << 64 | u128::from(class) << 32 | u128::from(day)
        })
        .collect()
}
