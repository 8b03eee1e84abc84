//! Reads well-known text (WKT), in which databases and spreadsheets export geometries. Heights are ignored.

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon,
    Point, Polygon,
};

/// Maximum depth of nested collections.
pub const DEPTH_MAX: usize = 8;

/// Makes a polygon from its rings, the outer one first; `None` if there is none.
pub fn polygon_of(rings: Vec<LineString>) -> Option<Polygon> {
    let mut rings = rings.into_iter();
    let outer = rings.next()?;
    Some(Polygon::new(outer, rings.collect()))
}

/// Reads a geometry, with or without `SRID=…;` in front; `None` for an empty one.
///
/// # Errors
/// The text is not WKT, or its type is not supported.
pub fn read(text: &str) -> Result<Option<Geometry>, String> {
    let text = text.trim();
    let text = match text.get(..5) {
        Some(start) if start.eq_ignore_ascii_case("SRID=") => {
            text.split_once(';').map_or(text, |(_, rest)| rest)
        }
        _ => text,
    };
    let mut reader = Reader { rest: text };
    let geometry = reader.geometry(0)?;
    match reader.rest.trim_start() {
        "" => Ok(geometry),
        _ => Err(reader.fault("the end")),
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn fault(&self, expected: &str) -> String {
        let rest: String = self.rest.trim_start().chars().take(20).collect();
        format!("WKT: expected {expected}, found {rest:?}")
    }

    /// Takes a character if it comes next.
    fn take_if_next(&mut self, character: char) -> bool {
        match self.rest.trim_start().strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        if self.take_if_next(character) {
            Ok(())
        } else {
            Err(self.fault(&format!("{character:?}")))
        }
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest.trim_start();
        let end = rest
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Takes `EMPTY` if it comes next.
    fn is_empty(&mut self) -> bool {
        let before = self.rest;
        let is_empty = self.word().eq_ignore_ascii_case("EMPTY");
        if !is_empty {
            self.rest = before;
        }
        is_empty
    }

    fn number(&mut self) -> Option<f64> {
        let rest = self.rest.trim_start();
        let end = rest
            .find(|character: char| {
                character.is_whitespace() || matches!(character, ',' | '(' | ')')
            })
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let number = number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())?;
        self.rest = after;
        Some(number)
    }

    fn position(&mut self) -> Result<Coord, String> {
        let (Some(x), Some(y)) = (self.number(), self.number()) else {
            return Err(self.fault("two numbers"));
        };
        // Skips a height and a measure.
        let _ = self.number().and_then(|_| self.number());
        Ok(Coord { x, y })
    }

    /// Reads items in parentheses, separated by commas.
    fn list<T>(
        &mut self,
        item: &mut dyn FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        self.expect('(')?;
        let mut items = Vec::new();
        loop {
            items.push(item(self)?);
            if !self.take_if_next(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(items)
    }

    fn line(&mut self) -> Result<LineString, String> {
        Ok(LineString(self.list(&mut Self::position)?))
    }

    fn polygon(&mut self) -> Result<Option<Polygon>, String> {
        Ok(polygon_of(self.list(&mut Self::line)?))
    }

    fn geometry(&mut self, depth: usize) -> Result<Option<Geometry>, String> {
        if depth > DEPTH_MAX {
            return Err("collections are nested too deeply".to_owned());
        }
        let kind = self.word().to_ascii_uppercase();
        let before = self.rest;
        if !matches!(self.word().to_ascii_uppercase().as_str(), "Z" | "M" | "ZM") {
            self.rest = before;
        }
        Ok(match kind.trim_end_matches(['Z', 'M']) {
            "POINT" => {
                let positions = self.list(&mut Self::position)?;
                positions.first().map(|position| Point(*position).into())
            }
            "LINESTRING" => some(self.line()?, |line| line.0.is_empty()),
            "POLYGON" => self.polygon()?.map(Geometry::from),
            "MULTIPOINT" => {
                let points = self.list(&mut |reader| {
                    let has_parentheses = reader.take_if_next('(');
                    let position = reader.position()?;
                    if has_parentheses {
                        reader.expect(')')?;
                    }
                    Ok(Point(position))
                })?;
                some(MultiPoint(points), |points| points.0.is_empty())
            }
            "MULTILINESTRING" => {
                let lines = MultiLineString(self.list(&mut Self::line)?);
                some(lines, |lines| lines.0.is_empty())
            }
            "MULTIPOLYGON" => {
                let polygons = self.list(&mut Self::polygon)?;
                let polygons = MultiPolygon(polygons.into_iter().flatten().collect());
                some(polygons, |polygons| polygons.0.is_empty())
            }
            "GEOMETRYCOLLECTION" => {
                let inner = self.list(&mut |reader| reader.geometry(depth + 1))?;
                let inner: Vec<Geometry> = inner.into_iter().flatten().collect();
                (!inner.is_empty())
                    .then_some(Geometry::GeometryCollection(GeometryCollection(inner)))
            }
            "" => return Err(self.fault("a type such as POINT or POLYGON")),
            other => return Err(format!("WKT: {other} is not read")),
        })
    }
}

fn some<G: Into<Geometry>>(geometry: G, is_empty: impl Fn(&G) -> bool) -> Option<Geometry> {
    (!is_empty(&geometry)).then(|| geometry.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_databases_are_read() {
        let point = Some(Geometry::Point(Point::new(2.0, 48.5)));
        for text in [
            "POINT(2 48.5)",
            "  point ( 2  48.5 ) ",
            "SRID=4326;POINT Z (2 48.5 30)",
            "POINTZ(2 48.5 30)",
            "POINT ZM (2 48.5 30 1)",
        ] {
            assert_eq!(read(text).unwrap(), point, "{text}");
        }
        assert_eq!(read("POLYGON EMPTY").unwrap(), None);
        assert_eq!(
            read("MULTIPOINT(2 48, 3 49)").unwrap(),
            read("MULTIPOINT((2 48), (3 49))").unwrap()
        );
        for (text, expected) in [
            ("Paris", "WKT: PARIS is not read"),
            ("POINT(2)", "WKT: expected two numbers"),
            ("POINT(2 inf)", "WKT: expected two numbers"),
            ("POINT(2,5 48,5)", "WKT: expected two numbers"),
            ("POLYGON((2 48, 3 49)", "WKT: expected ')'"),
            ("POINT(2 48) x", "WKT: expected the end"),
            (
                "CIRCULARSTRING(0 0, 1 1, 1 0)",
                "WKT: CIRCULARSTRING is not read",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
