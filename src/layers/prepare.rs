//! Features ready to be written: in degrees, checked, in the order of a space-filling curve.

use geo::{BoundingRect, CoordsIter, Geometry};
use rayon::prelude::*;
use toise_geo::area::Area;
use toise_geo::order::cluster_key;
use toise_geo::plausible::is_swapped;

use crate::geometry::{PartRef, each_part};
use crate::reference_system::ReferenceSystem;

/// Maximum vertices of a layer, which bounds its index in memory to about 0.7 GB.
pub(crate) const VERTICES_MAX: u64 = 8_000_000;

/// A feature with a valid geometry.
#[derive(Debug)]
pub(crate) struct Feature {
    /// Place in the file, from 0.
    pub place: usize,
    /// Its geometry in degrees.
    pub geometry: Geometry,
    /// Western, southern, eastern and northern edge of its box.
    pub bbox: [f64; 4],
}

/// What happens to features whose geometry is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidFeatures {
    /// The file is refused.
    Refused,
    /// They are left out and counted.
    LeftOut,
}

/// The features of a file.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub system: ReferenceSystem,
    pub features: Vec<Feature>,
    pub without_geometry: u64,
    pub invalid: u64,
    pub vertices: u64,
    /// Western, southern, eastern and northern edge of the box around all features.
    pub bbox: [f64; 4],
}

/// Converts, checks and sorts the geometries of a file, on all cores.
///
/// # Errors
/// The reference system is not known, a geometry is not valid, there are too many vertices, or latitude and longitude seem
/// to be swapped. The message names the feature.
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
        checked(geometry, system)
            .map(|(geometry, bbox)| Feature {
                place,
                geometry,
                bbox,
            })
            .map_err(|reason| format!("feature {}: {reason}", place + 1))
    });
    let checked: Vec<Result<Feature, String>> = checked.collect();
    let (mut features, mut left_out) = (Vec::with_capacity(checked.len()), 0);
    let mut first_fault = None;
    for one in checked {
        match (one, invalid) {
            (Ok(feature), _) => features.push(feature),
            (Err(fault), InvalidFeatures::LeftOut) => {
                left_out += 1;
                first_fault.get_or_insert(fault);
            }
            (Err(fault), InvalidFeatures::Refused) => {
                return Err(format!(
                    "{fault} (to leave out features that are not valid: --skip-invalid)"
                ));
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
        invalid: left_out,
        vertices,
        bbox,
    })
}

/// Returns the box around two.
fn around(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    [
        one[0].min(other[0]),
        one[1].min(other[1]),
        one[2].max(other[2]),
        one[3].max(other[3]),
    ]
}

/// Decides the reference system: the one that the file names, unless its coordinates cannot be degrees.
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

/// Converts a geometry to degrees and checks it. Returns its box, too.
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
    use crate::wkt;

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
            let kept = prepared(&[good, bad], InvalidFeatures::LeftOut).unwrap();
            assert_eq!((kept.features.len(), kept.invalid), (1, 1));
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
