//! Finds the IRIS (statistical quarter of INSEE) of a position. Contours come from GeoJSON files, plain or gzip.
//!
//! An R-tree over the bounding boxes finds the polygons that may contain a position, and each is then tested. A lookup
//! takes about a microsecond.

use std::io::Read;
use std::path::Path;

use geo::{BoundingRect, Contains, Coord, MultiPolygon, Point};
use geojson::{Feature, FeatureCollection};
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};
use toise_base::bounded::unpack;

/// Maximum size of a contour file, in bytes after decompression; the national file has about 200 MB.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// Errors of contour files.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is not GeoJSON with IRIS contours.
    #[error("{path}: {reason}")]
    Malformed {
        /// Path of the file.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
}

/// One IRIS.
#[derive(Clone, Debug)]
pub struct Iris {
    /// Code, nine characters.
    pub code: String,
    /// Type: `H` housing, `A` activity, `D` other, `Z` a commune that is not divided.
    pub kind: Option<String>,
    contour: MultiPolygon<f64>,
}

/// A spatial index of IRIS contours.
pub struct IrisIndex {
    quarters: Vec<Iris>,
    boxes: RTree<GeomWithData<Rectangle<[f64; 2]>, usize>>,
}

impl IrisIndex {
    /// Reads a GeoJSON file of polygons in degrees, with the properties `code_iris` and `typ_iris` in any letter case.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |source| Error::Io {
            path: name.clone(),
            source,
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut text = Vec::new();
        unpack(file)
            .and_then(|source| source.take(FILE_BYTES_MAX + 1).read_to_end(&mut text))
            .map_err(failed)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(Error::Malformed {
                path: name,
                reason: format!("longer than {FILE_BYTES_MAX} bytes after decompression"),
            });
        }
        Self::parse(&text, &name)
    }

    /// Parses GeoJSON text; `name` identifies it in errors.
    pub fn parse(text: &[u8], name: &str) -> Result<Self, Error> {
        let malformed = |reason: String| Error::Malformed {
            path: name.to_owned(),
            reason,
        };
        let collection: FeatureCollection = serde_json::from_slice(text)
            .map_err(|error| malformed(format!("not a GeoJSON feature collection: {error}")))?;
        let mut quarters = Vec::with_capacity(collection.features.len());
        for (index, feature) in collection.features.into_iter().enumerate() {
            let quarter = quarter(feature)
                .map_err(|reason| malformed(format!("feature {}: {reason}", index + 1)))?;
            quarters.push(quarter);
        }
        if quarters.is_empty() {
            return Err(malformed("no contours".into()));
        }
        let boxes = quarters
            .iter()
            .enumerate()
            .filter_map(|(index, quarter)| {
                let bounds = quarter.contour.bounding_rect()?;
                let (Coord { x: west, y: south }, Coord { x: east, y: north }) =
                    (bounds.min(), bounds.max());
                Some(GeomWithData::new(
                    Rectangle::from_corners([west, south], [east, north]),
                    index,
                ))
            })
            .collect();
        Ok(Self {
            quarters,
            boxes: RTree::bulk_load(boxes),
        })
    }

    /// Returns the number of IRIS.
    pub fn len(&self) -> usize {
        self.quarters.len()
    }

    /// Returns whether the index is empty; never true for a parsed file.
    pub fn is_empty(&self) -> bool {
        self.quarters.is_empty()
    }

    /// Returns the IRIS that contains a position in degrees.
    pub fn find(&self, lat: f64, lon: f64) -> Option<&Iris> {
        let point = Point::new(lon, lat);
        self.boxes
            .locate_in_envelope_intersecting(&AABB::from_point([lon, lat]))
            .map(|found| &self.quarters[found.data])
            .find(|quarter| quarter.contour.contains(&point))
    }
}

fn quarter(feature: Feature) -> Result<Iris, String> {
    let property = |name: &str| {
        let properties = feature.properties.as_ref()?;
        let (_, value) = properties
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        value
            .as_str()
            .map(str::to_owned)
            .or_else(|| value.as_u64().map(|code| format!("{code:09}")))
    };
    let code = property("code_iris").ok_or("no property code_iris")?;
    let kind = property("typ_iris");
    let geometry = feature.geometry.ok_or("no geometry")?;
    let shape = geo::Geometry::<f64>::try_from(geometry).map_err(|error| error.to_string())?;
    let contour = match shape {
        geo::Geometry::Polygon(polygon) => MultiPolygon::new(vec![polygon]),
        geo::Geometry::MultiPolygon(polygons) => polygons,
        _ => return Err("the geometry is not a polygon".into()),
    };
    let in_degrees = contour
        .bounding_rect()
        .is_none_or(|bounds| bounds.max().x.abs() <= 180.0 && bounds.max().y.abs() <= 90.0);
    if !in_degrees {
        return Err("coordinates are not in degrees; convert the file to WGS 84".into());
    }
    Ok(Iris {
        code,
        kind,
        contour,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_base::bounded::UNPACKED_BYTES_LEAST;

    const SQUARE: &str = r#"{"type":"FeatureCollection","features":[{"type":"Feature",
        "properties":{"CODE_IRIS":"751010101","TYP_IRIS":"H"},
        "geometry":{"type":"Polygon","coordinates":[[[2,48],[3,48],[3,49],[2,49],[2,48]]]}}]}"#;

    #[test]
    fn a_position_finds_its_quarter() {
        let index = IrisIndex::parse(SQUARE.as_bytes(), "square").unwrap();
        let found = index.find(48.5, 2.5).unwrap();
        assert_eq!(
            (&*found.code, found.kind.as_deref()),
            ("751010101", Some("H"))
        );
        assert!(index.find(48.5, 3.5).is_none());
    }

    #[test]
    fn a_decompression_bomb_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iris.geojson.gz");
        let file = std::fs::File::create(&path).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::best());
        let mut blanks = std::io::repeat(b' ').take(2 * UNPACKED_BYTES_LEAST);
        std::io::copy(&mut blanks, &mut packed).unwrap();
        packed.finish().unwrap();
        let refused = IrisIndex::open(&path).err().unwrap().to_string();
        assert!(
            refused.contains("iris.geojson.gz") && refused.contains("times its size"),
            "{refused}"
        );
    }

    #[test]
    fn a_file_without_codes_is_refused_by_name() {
        let wrong = SQUARE.replace("CODE_IRIS", "CODE");
        let message = IrisIndex::parse(wrong.as_bytes(), "x.geojson")
            .err()
            .unwrap()
            .to_string();
        assert_eq!(message, "x.geojson: feature 1: no property code_iris");
    }
}
