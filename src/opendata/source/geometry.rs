//! Converts points of GeoParquet to text cells, `POINT (longitude latitude)`: well-known binary (WKB), or the columns
//! `x` and `y` of GeoArrow. Other geometries give no cell.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;

/// Type of a point in WKB; 1,000 is added for each kind of extra coordinate.
const POINT: u32 = 1;
/// Flags for extra coordinates and a coordinate system, in the high bits of the type (PostGIS).
const FLAGS: u32 = 0xf000_0000;
/// The flag of a coordinate system, whose number follows the type.
const HAS_SYSTEM: u32 = 0x2000_0000;

/// Converts a column of points to text; `None` if its type cannot hold points.
pub(super) fn cells(column: &ArrayRef) -> Result<Option<ArrayRef>, ArrowError> {
    let texts: StringArray = match column.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let views = cast(column, &DataType::BinaryView)?;
            let points = views.as_binary_view().iter();
            points.map(|wkb| wkb.and_then(point).map(text)).collect()
        }
        DataType::Struct(_) => {
            let axes = column.as_struct();
            let axis = |name: &str| axes.column_by_name(name)?.as_primitive_opt::<Float64Type>();
            let (Some(x), Some(y)) = (axis("x"), axis("y")) else {
                return Ok(None);
            };
            let rows = (0..axes.len()).map(|row| {
                let is_there = axes.is_valid(row) && x.is_valid(row) && y.is_valid(row);
                is_there.then(|| text((x.value(row), y.value(row))))
            });
            rows.collect()
        }
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(texts)))
}

fn text((x, y): (f64, f64)) -> String {
    format!("POINT ({x} {y})")
}

/// Returns the coordinates of a WKB point; `None` for other geometries, an empty point, and other bytes.
fn point(wkb: &[u8]) -> Option<(f64, f64)> {
    let (order, rest) = wkb.split_first()?;
    let is_little = match order {
        0 => false,
        1 => true,
        _ => return None,
    };
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let kind = if is_little {
        u32::from_le_bytes(*kind)
    } else {
        u32::from_be_bytes(*kind)
    };
    if (kind & !FLAGS) % 1_000 != POINT {
        return None;
    }
    let system_bytes = if kind & HAS_SYSTEM == 0 { 0 } else { 4 };
    let (x, rest) = rest.get(system_bytes..)?.split_first_chunk::<8>()?;
    let (y, _) = rest.split_first_chunk::<8>()?;
    let number = |bytes: &[u8; 8]| {
        if is_little {
            f64::from_le_bytes(*bytes)
        } else {
            f64::from_be_bytes(*bytes)
        }
    };
    let (x, y) = (number(x), number(y));
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

/// Returns the coordinates of a point written as text, as decimals: longitude, then latitude.
pub fn parse(cell: &str) -> Option<(&str, &str)> {
    let inner = cell.strip_prefix("POINT")?.trim();
    let inner = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut numbers = inner.split_ascii_whitespace();
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wkb(order: u8, kind: u32, system: Option<u32>, numbers: &[f64]) -> Vec<u8> {
        let mut bytes = vec![order];
        for word in [Some(kind), system].into_iter().flatten() {
            bytes.extend(match order {
                1 => word.to_le_bytes(),
                _ => word.to_be_bytes(),
            });
        }
        for number in numbers {
            bytes.extend(match order {
                1 => number.to_le_bytes(),
                _ => number.to_be_bytes(),
            });
        }
        bytes
    }

    #[test]
    fn points_are_read_in_every_dialect_of_wkb() {
        let toulon = Some((5.928, 43.124));
        assert_eq!(point(&wkb(1, 1, None, &[5.928, 43.124])), toulon);
        assert_eq!(point(&wkb(0, 1, None, &[5.928, 43.124])), toulon);
        assert_eq!(point(&wkb(1, 1_001, None, &[5.928, 43.124, 12.0])), toulon);
        let postgis = wkb(1, 0x2000_0001, Some(4_326), &[5.928, 43.124]);
        assert_eq!(point(&postgis), toulon);
        assert_eq!(point(&wkb(1, 1, None, &[f64::NAN, f64::NAN])), None);
        assert_eq!(point(&wkb(1, 2, None, &[5.928, 43.124])), None);
        assert_eq!(point(&postgis[..12]), None);
        assert_eq!(point(b""), None);
    }

    #[test]
    fn a_point_is_read_from_the_text_that_is_written() {
        assert_eq!(parse(&text((5.928, 43.124))), Some(("5.928", "43.124")));
        assert_eq!(parse("POINT(5.928 43.124)"), Some(("5.928", "43.124")));
        assert_eq!(parse("POINT EMPTY"), None);
        assert_eq!(parse("POLYGON ((1 2, 3 4, 1 2))"), None);
    }
}
