//! Prepares features to be written: converts them to degrees, checks them, and sorts them along a space-filling curve.

use geo::{BooleanOps, BoundingRect, CoordsIter, Geometry, MultiPolygon, Polygon};
use rayon::prelude::*;
use toise_geo::area::Area;
use toise_geo::order::cluster_key;
use toise_geo::plausible::is_swapped;

use crate::geometry::{PartRef, each_part};
use toise_geo::reference_system::ReferenceSystem;

/// Maximum vertices of a layer, which bounds its index in memory to about 0.7 GB.
pub(crate) const VERTICES_MAX: u64 = 8_000_000;

/// A feature with a valid geometry.
#[derive(Debug)]
pub(crate) struct Feature {
    /// Index in the file, from 0.
    pub place: usize,
    /// Its geometry in degrees.
    pub geometry: Geometry,
    /// Western, southern, eastern and northern edge of its box.
    pub bbox: [f64; 4],
}

/// The treatment of features whose geometry is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidFeatures {
    /// The file is refused.
    Refused,
    /// Polygons are repaired: the area that their borders enclose is kept. Features that cannot be repaired are skipped
    /// and counted.
    Mended,
}

/// The features of a file.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub system: ReferenceSystem,
    pub features: Vec<Feature>,
    pub without_geometry: u64,
    pub mended: u64,
    pub invalid: u64,
    pub vertices: u64,
    /// Western, southern, eastern and northern edge of the box around all features.
    pub bbox: [f64; 4],
}

/// Converts, checks and sorts the geometries of a file, on all cores.
///
/// # Errors
/// The reference system is unknown, a geometry is not valid, there are too many vertices, or latitude and longitude
/// seem to be swapped. The message names the feature.
pub(crate) fn prepare(
    geometries: Vec<Option<Geometry>>,
    named: Option<ReferenceSystem>,
    invalid: InvalidFeatures,
) -> Result<Prepared, String> {
    let vertices: usize = geometries
        .iter()
        .flatten()
        .map(CoordsIter::coords_count)
        .sum();
    if vertices as u64 > VERTICES_MAX {
        return Err(format!(
            "its geometries have {vertices} vertices; a layer may have {VERTICES_MAX}: split the file, for example by \
             department, or simplify its borders"
        ));
    }
    let system = system(&geometries, named)?;
    let total = geometries.len();
    let placed = geometries.into_iter().enumerate();
    let placed: Vec<(usize, Geometry)> = placed
        .filter_map(|(place, geometry)| Some((place, geometry?)))
        .collect();
    let without_geometry = (total - placed.len()) as u64;
    let checked = placed.into_par_iter().map(|(place, geometry)| {
        let (outcome, is_mended) = match (checked(geometry.clone(), system), invalid) {
            (Err(_), InvalidFeatures::Mended) => (checked(mended(geometry), system), true),
            (outcome, _) => (outcome, false),
        };
        let (geometry, bbox) =
            outcome.map_err(|reason| format!("feature {}: {reason}", place + 1))?;
        let feature = Feature {
            place,
            geometry,
            bbox,
        };
        Ok((feature, is_mended))
    });
    let checked: Vec<Result<(Feature, bool), String>> = checked.collect();
    let (mut features, mut mended, mut left_out) = (Vec::with_capacity(checked.len()), 0, 0);
    let mut first_fault = None;
    for one in checked {
        match (one, invalid) {
            (Ok((feature, is_mended)), _) => {
                features.push(feature);
                mended += u64::from(is_mended);
            }
            (Err(fault), InvalidFeatures::Mended) => {
                left_out += 1;
                first_fault.get_or_insert(fault);
            }
            (Err(fault), InvalidFeatures::Refused) => {
                return Err(format!("{fault} (--mend repairs invalid polygons)"));
            }
        }
    }
    let Some(bbox) = features.iter().map(|feature| feature.bbox).reduce(around) else {
        return Err(first_fault.unwrap_or_else(|| "it has no features".to_owned()));
    };
    if is_swapped((bbox[1] + bbox[3]) / 2.0, (bbox[0] + bbox[2]) / 2.0) {
        return Err("latitude and longitude seem to be swapped".to_owned());
    }
    features.sort_by_cached_key(|feature| {
        let [west, south, east, north] = feature.bbox;
        cluster_key(None, Some(((south + north) / 2.0, (west + east) / 2.0)))
    });
    let vertices = features
        .iter()
        .map(|feature| feature.geometry.coords_count() as u64)
        .sum();
    Ok(Prepared {
        system,
        features,
        without_geometry,
        mended,
        invalid: left_out,
        vertices,
        bbox,
    })
}

/// Returns the box around two boxes.
fn around(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [
        one[0].min(other[0]),
        one[1].min(other[1]),
        one[2].max(other[2]),
        one[3].max(other[3]),
    ]
}

/// Decides the reference system: the projection that the file names, otherwise the system that the coordinates suggest.
fn system(
    geometries: &[Option<Geometry>],
    named: Option<ReferenceSystem>,
) -> Result<ReferenceSystem, String> {
    if let Some(ReferenceSystem::Projected(code)) = named {
        return Ok(ReferenceSystem::Projected(code));
    }
    let boxes = geometries.iter().flatten().filter_map(bounds);
    match boxes.reduce(around) {
        Some(all) => ReferenceSystem::guess(all),
        None => Ok(ReferenceSystem::Degrees),
    }
}

/// Returns the western, southern, eastern and northern edge of a geometry; `None` for one without positions.
fn bounds(geometry: &Geometry) -> Option<[f64; 4]> {
    let bounds = geometry.bounding_rect()?;
    let (min, max) = (bounds.min(), bounds.max());
    Some([min.x, min.y, max.x, max.y])
}

/// Converts a geometry to degrees and checks it. Also returns its box.
fn checked(geometry: Geometry, system: ReferenceSystem) -> Result<(Geometry, [f64; 4]), String> {
    if let Some(position) = geometry
        .coords_iter()
        .find(|position| !position.x.is_finite() || !position.y.is_finite())
    {
        return Err(format!(
            "the position ({}, {}) is not finite",
            position.x, position.y
        ));
    }
    let geometry = system.to_degrees(geometry)?;
    each_part(&geometry, &mut |part| match part {
        PartRef::Point(_) => Ok(()),
        PartRef::Line(line) if line.0.len() < 2 => Err("a line must have two positions".to_owned()),
        PartRef::Line(_) => Ok(()),
        PartRef::Polygon(polygon) => area_of(polygon).map(drop),
    })?;
    let bbox = bounds(&geometry).ok_or("it has no positions")?;
    let [west, south, east, north] = bbox;
    if west < -180.0 || east > 180.0 || south < -90.0 || north > 90.0 {
        return Err(format!(
            "({west}, {south}) to ({east}, {north}) is not on the earth"
        ));
    }
    Ok((geometry, bbox))
}

/// Mends the polygons of a geometry that are not valid: what their borders enclose is kept. Polygons that enclose
/// nothing are dropped. Other parts stay as they are.
fn mended(geometry: Geometry) -> Geometry {
    let mend = |polygon: Polygon| match area_of(&polygon) {
        Ok(_) => vec![polygon],
        // A union with an empty geometry keeps the areas inside an odd number of borders.
        Err(_) => polygon.union(&MultiPolygon::empty()).0,
    };
    match geometry {
        Geometry::Polygon(polygon) => MultiPolygon(mend(polygon)).into(),
        Geometry::MultiPolygon(polygons) => {
            MultiPolygon(polygons.0.into_iter().flat_map(mend).collect()).into()
        }
        other => other,
    }
}

/// Returns a polygon as an area.
///
/// # Errors
/// It is not valid; the message names the vertex.
pub(crate) fn area_of(polygon: &geo::Polygon) -> Result<Area, String> {
    let rings = std::iter::once(polygon.exterior()).chain(polygon.interiors());
    let rings = rings.map(|ring| ring.0.clone()).collect();
    Area::from_rings(vec![rings]).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_geo::wkt;

    fn prepared(texts: &[&str], invalid: InvalidFeatures) -> Result<Prepared, String> {
        let geometries = texts.iter().map(|text| wkt::read(text).unwrap());
        prepare(geometries.collect(), None, invalid)
    }

    #[test]
    fn a_geometry_that_is_not_valid_is_refused_with_its_feature() {
        let good = "POINT (2 48)";
        for (bad, expected) in [
            (
                "POLYGON ((2 48, 3 49, 3 48, 2 49, 2 48))",
                "feature 2: coordinates[0][2]: the border crosses itself after this vertex",
            ),
            (
                "POLYGON ((2 48, 3 49, 2 48))",
                "feature 2: coordinates[0]: must have at least three",
            ),
            (
                "MULTIPOLYGON (((2 48, 3 48, 3 49, 2 48)), ((2 48, 3 48, 3 49, 2 48), (5 48, 6 48, 6 49, 5 48)))",
                "feature 2: polygon 2: coordinates[1][0]: the hole is outside its polygon",
            ),
            (
                "LINESTRING (2 48)",
                "feature 2: a line must have two positions",
            ),
        ] {
            let fault = prepared(&[good, bad], InvalidFeatures::Refused).unwrap_err();
            assert!(fault.starts_with(expected), "{bad}: {fault}");
        }
    }

    #[test]
    fn polygons_are_mended_and_what_cannot_be_mended_is_left_out() {
        let bow_tie = "POLYGON ((2 48, 3 49, 3 48, 2 49, 2 48))";
        let touching = "POLYGON ((2 48, 4 48, 4 49, 3 48, 2 49, 2 48))";
        for (bad, east) in [(bow_tie, 2.95), (touching, 3.95)] {
            let found = prepared(&["POINT (2 48)", bad], InvalidFeatures::Mended).unwrap();
            assert_eq!(
                (found.features.len(), found.mended, found.invalid),
                (2, 1, 0),
                "{bad}"
            );
            let is_polygons =
                |feature: &Feature| matches!(feature.geometry, Geometry::MultiPolygon(_));
            let mended = found
                .features
                .iter()
                .find(|feature| is_polygons(feature))
                .unwrap();
            let Geometry::MultiPolygon(polygons) = &mended.geometry else {
                panic!()
            };
            let inside = |lat: f64, lon: f64| {
                let mut areas = polygons.0.iter().map(|polygon| area_of(polygon).unwrap());
                areas.any(|area| area.contains(lat, lon))
            };
            assert!(inside(48.4, 2.1) && !inside(48.9, 2.5), "{bad}");
            assert!(inside(48.5, east), "{bad}");
        }
        for bad in ["POLYGON ((2 48, 3 49, 2 48))", "LINESTRING (2 48)"] {
            let found = prepared(&["POINT (2 48)", bad], InvalidFeatures::Mended).unwrap();
            assert_eq!(
                (found.features.len(), found.mended, found.invalid),
                (1, 0, 1),
                "{bad}"
            );
        }
    }

    #[test]
    fn swapped_and_foreign_coordinates_are_refused_and_lambert_is_converted() {
        let swapped = prepared(&["POINT (48.85 2.35)"], InvalidFeatures::Refused);
        assert!(swapped.unwrap_err().contains("swapped"));
        let mixed = prepared(
            &["POINT (2 48)", "POINT (652000 6862000)"],
            InvalidFeatures::Refused,
        );
        assert!(
            mixed
                .unwrap_err()
                .contains("neither degrees nor Lambert-93")
        );
        let lambert = prepared(
            &["POINT (652000 6862000)", "POLYGON EMPTY"],
            InvalidFeatures::Refused,
        );
        let lambert = lambert.unwrap();
        assert_eq!(lambert.system, ReferenceSystem::Projected(2154));
        assert_eq!(lambert.without_geometry, 1);
        assert!((lambert.bbox[1] - 48.86).abs() < 0.01, "{:?}", lambert.bbox);
    }
}
