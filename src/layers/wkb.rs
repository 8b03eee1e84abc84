//! Reads and writes well-known binary (WKB). Reads the forms of OGC, ISO and PostGIS in both byte orders, and ignores
//! heights. Writes the form that GeoParquet requires.

use geo::{
    Coord, CoordsIter, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint,
    MultiPolygon, Point, Polygon,
};

use toise_geo::wkt::{DEPTH_MAX, polygon_of};

/// Flags of PostGIS in the type: heights, measures, reference system.
const FLAG_Z: u32 = 0x8000_0000;
const FLAG_M: u32 = 0x4000_0000;
const FLAG_SRID: u32 = 0x2000_0000;
/// Added to the type by ISO for heights and measures.
const ISO_STEP: u32 = 1_000;

/// Message for a multiple geometry with parts of another type.
const MIXED: &str = "a part of the WKB has a different type from the geometry";

/// Reads a geometry; `None` for one without positions. Empty parts are left out, as in WKT and GeoJSON.
///
/// # Errors
/// It is truncated, or its type is not supported.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Geometry>, String> {
    let mut reader = Reader { bytes, depth: 0 };
    let geometry = reader.geometry()?;
    Ok(geometry.filter(|geometry| geometry.coords_iter().next().is_some()))
}

struct Reader<'b> {
    bytes: &'b [u8],
    depth: usize,
}

/// Byte order and number of ordinates of a geometry.
#[derive(Clone, Copy)]
struct Form {
    is_little: bool,
    extra: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self
            .bytes
            .split_first_chunk::<N>()
            .ok_or("the WKB is cut off")?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn number(&mut self, form: Form) -> Result<u32, String> {
        let bytes = self.take()?;
        Ok(if form.is_little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        })
    }

    fn ordinate(&mut self, form: Form) -> Result<f64, String> {
        let bytes = self.take()?;
        Ok(if form.is_little {
            f64::from_le_bytes(bytes)
        } else {
            f64::from_be_bytes(bytes)
        })
    }

    fn position(&mut self, form: Form) -> Result<Coord, String> {
        let (x, y) = (self.ordinate(form)?, self.ordinate(form)?);
        for _ in 0..form.extra {
            self.ordinate(form)?;
        }
        Ok(Coord { x, y })
    }

    /// Reads a number of items that have at least `bytes_least` bytes each.
    fn count(&mut self, form: Form, bytes_least: usize) -> Result<usize, String> {
        let count = self.number(form)? as usize;
        if count > self.bytes.len() / bytes_least {
            return Err("the WKB is cut off".to_owned());
        }
        Ok(count)
    }

    fn line(&mut self, form: Form) -> Result<LineString, String> {
        let count = self.count(form, (2 + form.extra) * size_of::<f64>())?;
        let positions = (0..count).map(|_| self.position(form));
        Ok(LineString(positions.collect::<Result<_, _>>()?))
    }

    /// Reads a polygon; `None` for one without rings.
    fn polygon(&mut self, form: Form) -> Result<Option<Polygon>, String> {
        let count = self.count(form, size_of::<u32>())?;
        let rings: Vec<LineString> = (0..count)
            .map(|_| self.line(form))
            .collect::<Result<_, _>>()?;
        Ok(polygon_of(rings))
    }

    /// Reads the geometries inside another.
    fn inner(&mut self, form: Form) -> Result<Vec<Geometry>, String> {
        let count = self.count(form, 1 + size_of::<u32>())?;
        let mut inner = Vec::with_capacity(count);
        for _ in 0..count {
            inner.extend(self.geometry()?);
        }
        Ok(inner)
    }

    fn geometry(&mut self) -> Result<Option<Geometry>, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("collections are nested too deeply".to_owned());
        }
        let is_little = match self.take::<1>()? {
            [0] => false,
            [1] => true,
            _ => return Err("this is not WKB".to_owned()),
        };
        let mut form = Form {
            is_little,
            extra: 0,
        };
        let kind = self.number(form)?;
        if kind & FLAG_SRID != 0 {
            self.number(form)?;
        }
        let plain = kind & !(FLAG_Z | FLAG_M | FLAG_SRID);
        let iso = match plain / ISO_STEP {
            0 => 0,
            1 | 2 => 1,
            3 => 2,
            _ => return Err(format!("the WKB has the unknown type {kind}")),
        };
        let flags = usize::from(kind & FLAG_Z != 0) + usize::from(kind & FLAG_M != 0);
        form.extra = iso.max(flags);
        let geometry = match plain % ISO_STEP {
            1 => {
                let position = self.position(form)?;
                let is_empty = position.x.is_nan() && position.y.is_nan();
                (!is_empty).then_some(Geometry::Point(Point(position)))
            }
            2 => {
                let line = self.line(form)?;
                (!line.0.is_empty()).then(|| line.into())
            }
            3 => self.polygon(form)?.map(Geometry::from),
            4 => {
                let points = self.inner(form)?.into_iter().map(Point::try_from);
                Some(MultiPoint(points.collect::<Result<_, _>>().map_err(|_| MIXED)?).into())
            }
            5 => {
                let lines = self.inner(form)?.into_iter().map(LineString::try_from);
                Some(MultiLineString(lines.collect::<Result<_, _>>().map_err(|_| MIXED)?).into())
            }
            6 => {
                let polygons = self.inner(form)?.into_iter().map(Polygon::try_from);
                Some(MultiPolygon(polygons.collect::<Result<_, _>>().map_err(|_| MIXED)?).into())
            }
            7 => Some(Geometry::GeometryCollection(GeometryCollection(
                self.inner(form)?,
            ))),
            other => return Err(format!("the WKB has the type {other}, which is not read")),
        };
        self.depth -= 1;
        Ok(geometry)
    }
}

/// Appends a geometry, in little-endian order.
pub(crate) fn write(geometry: &Geometry, out: &mut Vec<u8>) {
    let begin = |out: &mut Vec<u8>, kind: u32| {
        out.push(1);
        out.extend(kind.to_le_bytes());
    };
    match geometry {
        Geometry::Point(point) => {
            begin(out, 1);
            write_position(point.0, out);
        }
        Geometry::LineString(line) => {
            begin(out, 2);
            write_line(line, out);
        }
        Geometry::Polygon(polygon) => {
            begin(out, 3);
            write_polygon(polygon, out);
        }
        Geometry::MultiPoint(points) => {
            begin(out, 4);
            write_count(points.0.len(), out);
            for point in &points.0 {
                begin(out, 1);
                write_position(point.0, out);
            }
        }
        Geometry::MultiLineString(lines) => {
            begin(out, 5);
            write_count(lines.0.len(), out);
            for line in &lines.0 {
                begin(out, 2);
                write_line(line, out);
            }
        }
        Geometry::MultiPolygon(polygons) => {
            begin(out, 6);
            write_count(polygons.0.len(), out);
            for polygon in &polygons.0 {
                begin(out, 3);
                write_polygon(polygon, out);
            }
        }
        Geometry::GeometryCollection(inner) => {
            begin(out, 7);
            write_count(inner.0.len(), out);
            for geometry in &inner.0 {
                write(geometry, out);
            }
        }
        Geometry::Line(line) => write(&LineString(vec![line.start, line.end]).into(), out),
        Geometry::Rect(rect) => write(&rect.to_polygon().into(), out),
        Geometry::Triangle(triangle) => write(&triangle.to_polygon().into(), out),
    }
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    // A layer has fewer vertices than fit into 32 bits.
    out.extend((count as u32).to_le_bytes());
}

fn write_position(position: Coord, out: &mut Vec<u8>) {
    out.extend(position.x.to_le_bytes());
    out.extend(position.y.to_le_bytes());
}

fn write_line(line: &LineString, out: &mut Vec<u8>) {
    write_count(line.0.len(), out);
    line.0.iter().for_each(|one| write_position(*one, out));
}

fn write_polygon(polygon: &Polygon, out: &mut Vec<u8>) {
    write_count(1 + polygon.interiors().len(), out);
    write_line(polygon.exterior(), out);
    polygon
        .interiors()
        .iter()
        .for_each(|ring| write_line(ring, out));
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_geo::wkt;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "POINT (2.5 48.5)",
            "LINESTRING (2 48, 3 49, 3 50)",
            "POLYGON ((2 48, 4 48, 4 50, 2 48), (3 48.2, 3.5 48.2, 3.5 48.5, 3 48.2))",
            "MULTIPOINT ((2 48), (3 49))",
            "MULTILINESTRING ((2 48, 3 49), (4 50, 5 51, 6 52))",
            "MULTIPOLYGON (((2 48, 4 48, 4 50, 2 48)), ((5 48, 6 48, 6 50, 5 48)))",
            "GEOMETRYCOLLECTION (POINT (2 48), LINESTRING (2 48, 3 49))",
        ] {
            let geometry = wkt::read(text).unwrap().unwrap();
            let mut bytes = Vec::new();
            write(&geometry, &mut bytes);
            assert_eq!(read(&bytes).unwrap().unwrap(), geometry, "{text}");
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end]).is_err(), "{text} {end}");
            }
        }
    }

    #[test]
    fn empty_geometries_are_none_and_empty_parts_are_left_out() {
        let empty = |kind: u8| vec![1, kind, 0, 0, 0, 0, 0, 0, 0];
        for kind in 2..=7 {
            assert_eq!(read(&empty(kind)), Ok(None), "{kind}");
        }
        let polygon = wkt::read("POLYGON ((2 48, 4 48, 4 50, 2 48))")
            .unwrap()
            .unwrap();
        let mut bytes = vec![1, 6, 0, 0, 0, 2, 0, 0, 0];
        bytes.extend(empty(3));
        write(&polygon, &mut bytes);
        let Geometry::Polygon(polygon) = polygon else {
            panic!()
        };
        let expected = Geometry::MultiPolygon(MultiPolygon(vec![polygon]));
        assert_eq!(read(&bytes), Ok(Some(expected)));
    }

    #[test]
    fn heights_and_the_forms_of_other_programs_are_read() {
        let number = |value: f64, is_little: bool| {
            if is_little {
                value.to_le_bytes()
            } else {
                value.to_be_bytes()
            }
        };
        let point = |order: u8, kind: [u8; 4], srid: &[u8], ordinates: &[f64]| {
            let mut bytes = vec![order];
            bytes.extend(kind);
            bytes.extend(srid);
            bytes.extend(ordinates.iter().flat_map(|one| number(*one, order == 1)));
            read(&bytes).unwrap()
        };
        let expected = Some(Geometry::Point(Point::new(2.0, 48.0)));
        let big = 1001u32.to_be_bytes();
        assert_eq!(point(0, big, &[], &[2.0, 48.0, 9.0]), expected);
        let flagged = (1 | FLAG_Z | FLAG_SRID).to_le_bytes();
        let srid = 4326u32.to_le_bytes();
        assert_eq!(point(1, flagged, &srid, &[2.0, 48.0, 9.0]), expected);
        let empty = point(1, 1u32.to_le_bytes(), &[], &[f64::NAN, f64::NAN]);
        assert_eq!(empty, None);
    }
}
