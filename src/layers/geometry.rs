//! Helpers for geometries in memory: visits their parts, names their type, and builds them from a stream of
//! coordinates.

use flatgeobuf::geozero::GeomProcessor;
use flatgeobuf::geozero::error::{GeozeroError, Result as GeozeroResult};
use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point, Polygon,
};
use toise_geo::wkt::{DEPTH_MAX, polygon_of};

/// A part of a geometry that has no parts itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PartRef<'g> {
    Point(Coord),
    Line(&'g LineString),
    Polygon(&'g Polygon),
}

/// Calls a function for every part of a geometry, in order.
///
/// # Errors
/// The first error of the function, with the number of the part if there are several.
pub(crate) fn each_part<'g>(
    geometry: &'g Geometry,
    visit: &mut dyn FnMut(PartRef<'g>) -> Result<(), String>,
) -> Result<(), String> {
    let mut nth = |index: usize, kind: &str, part: PartRef<'g>| {
        visit(part).map_err(|reason| format!("{kind} {}: {reason}", index + 1))
    };
    match geometry {
        Geometry::Point(point) => visit(PartRef::Point(point.0)),
        Geometry::LineString(line) => visit(PartRef::Line(line)),
        Geometry::Polygon(polygon) => visit(PartRef::Polygon(polygon)),
        Geometry::MultiPoint(points) => {
            let mut points = points.0.iter().enumerate();
            points.try_for_each(|(index, point)| nth(index, "point", PartRef::Point(point.0)))
        }
        Geometry::MultiLineString(lines) => {
            let mut lines = lines.0.iter().enumerate();
            lines.try_for_each(|(index, line)| nth(index, "line", PartRef::Line(line)))
        }
        Geometry::MultiPolygon(polygons) => {
            let mut polygons = polygons.0.iter().enumerate();
            polygons
                .try_for_each(|(index, polygon)| nth(index, "polygon", PartRef::Polygon(polygon)))
        }
        Geometry::GeometryCollection(inner) => {
            for (index, geometry) in inner.0.iter().enumerate() {
                each_part(geometry, visit)
                    .map_err(|reason| format!("geometry {}: {reason}", index + 1))?;
            }
            Ok(())
        }
        // No reader produces these.
        Geometry::Line(_) | Geometry::Rect(_) | Geometry::Triangle(_) => {
            Err("the type is not read".to_owned())
        }
    }
}

/// Returns the name of the type of a geometry, as in GeoJSON.
pub(crate) fn type_name(geometry: &Geometry) -> &'static str {
    match geometry {
        Geometry::Point(_) => "Point",
        Geometry::LineString(_) | Geometry::Line(_) => "LineString",
        Geometry::Polygon(_) | Geometry::Rect(_) | Geometry::Triangle(_) => "Polygon",
        Geometry::MultiPoint(_) => "MultiPoint",
        Geometry::MultiLineString(_) => "MultiLineString",
        Geometry::MultiPolygon(_) => "MultiPolygon",
        Geometry::GeometryCollection(_) => "GeometryCollection",
    }
}

/// Builds geometries from the events of a reader of FlatGeobuf.
#[derive(Debug, Default)]
pub(crate) struct GeometryBuilder {
    coordinates: Vec<Coord>,
    rings: Vec<LineString>,
    lines: Vec<LineString>,
    polygons: Vec<Polygon>,
    /// Completed geometries of each open collection; the first list holds the result.
    open: Vec<Vec<Geometry>>,
    is_multiple: bool,
}

impl GeometryBuilder {
    /// Returns the geometry; `None` if there were no events.
    pub fn finish(mut self) -> Option<Geometry> {
        self.open.pop()?.pop()
    }

    fn add(&mut self, geometry: impl Into<Geometry>) {
        if self.open.is_empty() {
            self.open.push(Vec::new());
        }
        if let Some(inner) = self.open.last_mut() {
            inner.push(geometry.into());
        }
    }

    fn take_line(&mut self) -> LineString {
        LineString(std::mem::take(&mut self.coordinates))
    }
}

impl GeomProcessor for GeometryBuilder {
    fn xy(&mut self, x: f64, y: f64, _: usize) -> GeozeroResult<()> {
        self.coordinates.push(Coord { x, y });
        Ok(())
    }

    fn point_end(&mut self, _: usize) -> GeozeroResult<()> {
        if let Some(position) = self.coordinates.pop() {
            self.add(Point(position));
        }
        Ok(())
    }

    fn multipoint_end(&mut self, _: usize) -> GeozeroResult<()> {
        let points = self.coordinates.drain(..).map(Point).collect();
        self.add(MultiPoint(points));
        Ok(())
    }

    fn linestring_end(&mut self, tagged: bool, _: usize) -> GeozeroResult<()> {
        let line = self.take_line();
        if tagged {
            self.add(line);
        } else if self.is_multiple {
            self.lines.push(line);
        } else {
            self.rings.push(line);
        }
        Ok(())
    }

    fn multilinestring_begin(&mut self, _: usize, _: usize) -> GeozeroResult<()> {
        self.is_multiple = true;
        Ok(())
    }

    fn multilinestring_end(&mut self, _: usize) -> GeozeroResult<()> {
        self.is_multiple = false;
        let lines = std::mem::take(&mut self.lines);
        self.add(MultiLineString(lines));
        Ok(())
    }

    fn polygon_end(&mut self, tagged: bool, _: usize) -> GeozeroResult<()> {
        let rings = std::mem::take(&mut self.rings);
        if let Some(polygon) = polygon_of(rings) {
            if tagged {
                self.add(polygon);
            } else {
                self.polygons.push(polygon);
            }
        }
        Ok(())
    }

    fn multipolygon_end(&mut self, _: usize) -> GeozeroResult<()> {
        let polygons = std::mem::take(&mut self.polygons);
        self.add(MultiPolygon(polygons));
        Ok(())
    }

    fn geometrycollection_begin(&mut self, _: usize, _: usize) -> GeozeroResult<()> {
        if self.open.len() > DEPTH_MAX {
            let reason = "collections are nested too deeply".to_owned();
            return Err(GeozeroError::Geometry(reason));
        }
        if self.open.is_empty() {
            self.open.push(Vec::new());
        }
        self.open.push(Vec::new());
        Ok(())
    }

    fn geometrycollection_end(&mut self, _: usize) -> GeozeroResult<()> {
        let inner = self.open.pop().unwrap_or_default();
        self.add(Geometry::GeometryCollection(GeometryCollection(inner)));
        Ok(())
    }

    fn circularstring_begin(&mut self, _: usize, _: usize) -> GeozeroResult<()> {
        Err(curves())
    }

    fn compoundcurve_begin(&mut self, _: usize, _: usize) -> GeozeroResult<()> {
        Err(curves())
    }

    fn curvepolygon_begin(&mut self, _: usize, _: usize) -> GeozeroResult<()> {
        Err(curves())
    }
}

fn curves() -> GeozeroError {
    GeozeroError::Geometry("curves are not read; convert them to lines".to_owned())
}
