//! Converts geometries of GeoParquet to text cells: well-known binary (WKB), or the columns `x` and `y` of GeoArrow. A
//! point, or a multipoint of one, becomes `POINT (longitude latitude)`; of another geometry only the type is written,
//! so that it is counted as not read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use geo::Geometry;
use toise_geo::reference_system::ReferenceSystem;
use toise_geo::wkt;

/// Type of a point in WKB; 1,000 is added for each kind of extra coordinate.
const POINT: u32 = 1;
/// Type of several points.
const MULTIPOINT: u32 = 4;
/// Types of other geometries, and their names.
const OTHERS: [(u32, &str); 6] = [
    (2, "LINESTRING"),
    (3, "POLYGON"),
    (MULTIPOINT, "MULTIPOINT"),
    (5, "MULTILINESTRING"),
    (6, "MULTIPOLYGON"),
    (7, "GEOMETRYCOLLECTION"),
];
/// Name of a geometry of GeoArrow that is not a point.
const PARTS: &str = "several positions";
/// Flags for extra coordinates and a coordinate system, in the high bits of the type (PostGIS).
const FLAGS: u32 = 0xf000_0000;
/// The flag of a coordinate system, whose number follows the type.
const HAS_SYSTEM: u32 = 0x2000_0000;

/// Converts a column of geometries to text, with points in degrees; `None` if its type cannot hold points.
pub(super) fn cells(
    column: &ArrayRef,
    system: ReferenceSystem,
) -> Result<Option<ArrayRef>, ArrowError> {
    let texts: StringArray = match column.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let views = cast(column, &DataType::BinaryView)?;
            let geometries = views.as_binary_view().iter();
            geometries
                .map(|wkb| wkb.and_then(|wkb| wkb_text(wkb, system)))
                .collect()
        }
        DataType::Struct(_) => {
            let axes = column.as_struct();
            let axis = |name: &str| axes.column_by_name(name)?.as_primitive_opt::<Float64Type>();
            let (Some(x), Some(y)) = (axis("x"), axis("y")) else {
                return Ok(None);
            };
            let rows = (0..axes.len()).map(|row| {
                let is_there = axes.is_valid(row) && x.is_valid(row) && y.is_valid(row);
                is_there.then(|| text((x.value(row), y.value(row)), system))
            });
            rows.collect()
        }
        DataType::List(part) if part.data_type().is_nested() => {
            let lists = column.as_list::<i32>();
            let Some(parts) = cells(lists.values(), system)? else {
                return Ok(None);
            };
            let parts = parts.as_string::<i32>();
            let rows = (0..lists.len()).map(|row| {
                let first = lists.value_offsets()[row] as usize;
                match lists.value_length(row) {
                    _ if lists.is_null(row) => None,
                    0 => None,
                    1 => parts.is_valid(first).then(|| parts.value(first)),
                    _ => Some(PARTS),
                }
            });
            rows.collect()
        }
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(texts)))
}

/// Writes a point; one outside the projection stays as it is, and is not in degrees then.
fn text((x, y): (f64, f64), system: ReferenceSystem) -> String {
    let (y, x) = system.position(x, y).unwrap_or((y, x));
    format!("POINT ({x} {y})")
}

/// Writes a geometry; `None` for an empty point, and other bytes.
fn wkb_text(wkb: &[u8], system: ReferenceSystem) -> Option<String> {
    if let Some(point) = point(wkb) {
        return Some(text(point, system));
    }
    let kind = Wkb::read(wkb)?.kind;
    let other = OTHERS.iter().find(|(known, _)| *known == kind);
    other.map(|(_, name)| (*name).to_owned())
}

/// A geometry in WKB.
struct Wkb<'b> {
    is_little: bool,
    /// Its type, without flags and extra coordinates.
    kind: u32,
    rest: &'b [u8],
}

impl<'b> Wkb<'b> {
    /// Reads the byte order and the type; `None` for other bytes.
    fn read(wkb: &'b [u8]) -> Option<Self> {
        let (order, rest) = wkb.split_first()?;
        let is_little = match order {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut found = Self {
            is_little,
            kind: 0,
            rest,
        };
        let kind = found.word()?;
        if kind & HAS_SYSTEM != 0 {
            found.word()?;
        }
        found.kind = (kind & !FLAGS) % 1_000;
        Some(found)
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(if self.is_little {
            u32::from_le_bytes(*word)
        } else {
            u32::from_be_bytes(*word)
        })
    }

    fn number(&mut self) -> Option<f64> {
        let (number, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(if self.is_little {
            f64::from_le_bytes(*number)
        } else {
            f64::from_be_bytes(*number)
        })
    }
}

/// Returns the coordinates of a WKB point, or of a multipoint of one; `None` for other geometries, an empty point, and
/// other bytes.
fn point(wkb: &[u8]) -> Option<(f64, f64)> {
    let mut found = Wkb::read(wkb)?;
    if found.kind == MULTIPOINT && found.word()? == 1 {
        found = Wkb::read(found.rest)?;
    }
    if found.kind != POINT {
        return None;
    }
    let (x, y) = (found.number()?, found.number()?);
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

/// Returns latitude and longitude of a point, or of a multipoint of one, written as text.
pub fn parse(cell: &str) -> Option<(f64, f64)> {
    match wkt::read(cell).ok()?? {
        Geometry::Point(point) => Some((point.y(), point.x())),
        Geometry::MultiPoint(points) => match points.0.as_slice() {
            [point] => Some((point.y(), point.x())),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, ListArray, StructArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::Field;

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
    fn a_multipoint_of_one_is_a_point_and_other_geometries_are_named() {
        let of = |wkb: &[u8]| wkb_text(wkb, ReferenceSystem::Degrees);
        let toulon = wkb(1, 1, None, &[5.928, 43.124]);
        let points = |count: u32| {
            let head = [wkb(1, 4, None, &[]), count.to_le_bytes().to_vec()].concat();
            [head, toulon.repeat(count as usize)].concat()
        };
        assert_eq!(of(&points(1)).as_deref(), Some("POINT (5.928 43.124)"));
        assert_eq!(of(&points(2)).as_deref(), Some("MULTIPOINT"));
        assert_eq!(of(&wkb(1, 3, None, &[])).as_deref(), Some("POLYGON"));
        assert_eq!(of(&wkb(1, 1, None, &[f64::NAN, f64::NAN])), None);
        assert_eq!(of(b"text"), None);
    }

    #[test]
    fn points_of_geoarrow_are_read_alone_and_in_lists() {
        let axis = |numbers: Vec<f64>| Arc::new(Float64Array::from(numbers)) as ArrayRef;
        let field = |name: &str| Arc::new(Field::new(name, DataType::Float64, true));
        let points = StructArray::from(vec![
            (field("x"), axis(vec![5.928, 1.0, 2.0])),
            (field("y"), axis(vec![43.124, 1.0, 2.0])),
        ]);
        let item = Arc::new(Field::new("item", points.data_type().clone(), true));
        let lengths = OffsetBuffer::from_lengths([1, 2, 0]);
        let lists = ListArray::new(item, lengths, Arc::new(points.clone()), None);
        let texts = |column: ArrayRef| {
            let texts = cells(&column, ReferenceSystem::Degrees).unwrap().unwrap();
            let texts = texts.as_string::<i32>().iter();
            texts
                .map(|text| text.map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let toulon = Some("POINT (5.928 43.124)".to_owned());
        assert_eq!(texts(Arc::new(points))[0], toulon);
        let several = Some(PARTS.to_owned());
        assert_eq!(texts(Arc::new(lists)), [toulon, several, None]);
        let numbers = ListArray::from_iter_primitive::<Float64Type, _, _>([Some([Some(1.0)])]);
        let numbers: ArrayRef = Arc::new(numbers);
        let found = cells(&numbers, ReferenceSystem::Degrees).unwrap();
        assert!(found.is_none());
    }

    #[test]
    fn a_point_is_read_from_the_text_that_is_written() {
        let toulon = Some((43.124, 5.928));
        let written = text((5.928, 43.124), ReferenceSystem::Degrees);
        assert_eq!(parse(&written), toulon);
        assert_eq!(parse("POINT(5.928 43.124)"), toulon);
        assert_eq!(parse("MULTIPOINT ((5.928 43.124))"), toulon);
        assert_eq!(parse("POINT EMPTY"), None);
        assert_eq!(parse("POLYGON ((1 2, 3 4, 1 2))"), None);
        assert_eq!(parse("POLYGON"), None);
        let lambert = text((648_237.3, 6_862_271.7), ReferenceSystem::Projected(2154));
        let (lat, lon) = parse(&lambert).unwrap();
        assert!((lat - 48.858).abs() < 0.01 && (lon - 2.294).abs() < 0.01);
    }
}
