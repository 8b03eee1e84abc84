//! Compares the index with `geo` over all features, on random layers and positions.

use geo::{Distance, Euclidean, Geometry, Intersects, MapCoords, Point};
use proptest::prelude::*;

use super::*;
use toise_geo::wkt;

/// An index over geometries, which are the features 1, 2, ….
fn index(geometries: &[Geometry]) -> LayerIndex {
    let (mut parts, mut features) = (Vec::new(), Vec::new());
    for (number, geometry) in (1..).zip(geometries) {
        let mut bytes = Vec::new();
        wkb::write(geometry, &mut bytes);
        let of_feature = parts_of(&bytes).unwrap();
        features.extend(std::iter::repeat_n(number, of_feature.len()));
        parts.extend(of_feature);
    }
    LayerIndex::over(parts, features).unwrap()
}

/// The distance by `geo`, on the plane at the position.
fn distance_m(geometry: &Geometry, lat: f64, lon: f64) -> f64 {
    let plane = Plane::at(lat, lon);
    let on_plane = geometry.map_coords(|position| plane.offset_m(position));
    Euclidean.distance(&on_plane, &Geometry::from(Point::new(0.0, 0.0)))
}

#[test]
fn borders_holes_lines_and_points_are_as_documented() {
    let features = [
        "POLYGON ((2 48, 4 48, 4 50, 2 50, 2 48), (2.5 48.5, 3.5 48.5, 3.5 49.5, 2.5 49.5, 2.5 48.5))",
        "LINESTRING (6 48, 7 48, 7 49)",
        "MULTIPOINT ((8 48), (9 48))",
    ];
    let features = features.map(|text| wkt::read(text).unwrap().unwrap());
    let index = index(&features);
    for (lon, lat, expected) in [
        (2.2, 48.2, true),
        (2.0, 49.0, true),
        (3.0, 49.0, false),
        (2.5, 49.0, true),
        (6.5, 48.0, true),
        (6.5, 48.000_001, false),
        (9.0, 48.0, true),
        (f64::NAN, 48.0, false),
    ] {
        assert_eq!(index.contains(lat, lon), expected, "{lon} {lat}");
    }
    let near = index.nearest(48.0, 8.4).unwrap();
    assert_eq!(near.feature, 3);
    assert!((near.distance_m - 29_763.0).abs() < 50.0, "{near:?}");
    assert_eq!(
        index.nearest(48.2, 2.2),
        Some(Nearest {
            feature: 1,
            distance_m: 0.0
        })
    );
    assert_eq!(index.nearest(f64::INFINITY, 2.0), None);
}

#[test]
fn boxes_without_a_part_are_excluded_and_no_others() {
    let features = ["POLYGON ((2 48, 3 48, 3 49, 2 49, 2 48))", "POINT (5 44)"];
    let features = features.map(|text| wkt::read(text).unwrap().unwrap());
    let index = index(&features);
    assert_eq!(index.bounds(), [2.0, 44.0, 5.0, 49.0]);
    assert!(index.has_polygons());
    for (bounds, expected) in [
        ([2.5, 48.5, 2.6, 48.6], true),
        ([3.0, 49.0, 4.0, 50.0], true),
        ([3.1, 45.0, 4.9, 47.0], false),
        ([5.0, 44.0, 5.0, 44.0], true),
        ([-10.0, 40.0, 10.0, 50.0], true),
    ] {
        assert_eq!(index.may_meet(bounds), expected, "{bounds:?}");
    }
}

#[test]
fn of_equal_distances_the_lowest_number_is_taken() {
    let squares = vec![
        wkt::read("POLYGON ((2 48, 4 48, 4 50, 2 50, 2 48))")
            .unwrap()
            .unwrap();
        40
    ];
    let index = index(&squares);
    assert_eq!(index.nearest(49.0, 3.0).unwrap().feature, 1);
    assert_eq!(index.nearest(49.0, 5.0).unwrap().feature, 1);
}

/// A star-shaped ring around a centre, which never crosses itself.
fn ring(lon: f64, lat: f64, reaches: &[f64]) -> Vec<(f64, f64)> {
    let step = std::f64::consts::TAU / reaches.len() as f64;
    let corners = reaches.iter().enumerate();
    corners
        .map(|(nth, reach)| {
            let angle = step * nth as f64;
            (lon + reach * angle.cos(), lat + reach * angle.sin())
        })
        .collect()
}

fn feature() -> impl Strategy<Value = Geometry> {
    let centre = (1.0..6.0f64, 44.0..49.0f64);
    let reaches = prop::collection::vec(0.05..0.6f64, 3..90);
    (centre, reaches, 0..5u8).prop_map(|((lon, lat), reaches, kind)| {
        let corners = ring(lon, lat, &reaches);
        match kind {
            0 => Point::new(lon, lat).into(),
            1 => geo::LineString::from(corners).into(),
            2 => {
                let small: Vec<f64> = reaches.iter().map(|_| 0.01).collect();
                let hole = ring(lon, lat, &small).into();
                geo::Polygon::new(corners.into(), vec![hole]).into()
            }
            3 => {
                let other = ring(lon + 2.0, lat, &reaches);
                let polygons =
                    [corners, other].map(|ring| geo::Polygon::new(ring.into(), Vec::new()));
                geo::MultiPolygon(polygons.into()).into()
            }
            _ => geo::Polygon::new(corners.into(), Vec::new()).into(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn answers_are_those_of_geo_over_all_features(
        features in prop::collection::vec(feature(), 1..60),
        positions in prop::collection::vec((0.0..9.0f64, 43.0..50.0f64), 30),
    ) {
        let index = index(&features);
        // Random positions, and vertices, which are on borders.
        let vertices = features.iter().filter_map(|feature| {
            use geo::CoordsIter;
            feature.coords_iter().next().map(|vertex| (vertex.x, vertex.y))
        });
        for (lon, lat) in positions.iter().copied().chain(vertices) {
            let point = Point::new(lon, lat);
            let expected = features.iter().any(|feature| feature.intersects(&point));
            prop_assert_eq!(index.contains(lat, lon), expected, "{} {}", lon, lat);
            let distances = features.iter().map(|feature| distance_m(feature, lat, lon));
            let nearest = distances.fold(f64::INFINITY, f64::min);
            let found = index.nearest(lat, lon).unwrap();
            let own = distance_m(&features[found.feature as usize - 1], lat, lon);
            prop_assert!((found.distance_m - nearest).abs() < 1e-3, "{} {}: {:?} {}", lon, lat, found, nearest);
            prop_assert!((own - nearest).abs() < 1e-3, "{} {}: {:?}", lon, lat, found);
            prop_assert_eq!(found.distance_m == 0.0, expected);
            let metres = found.distance_m;
            for meters in [metres, metres + 0.01, metres * 2.0 + 1.0] {
                prop_assert!(index.is_within(lat, lon, meters), "{} {} {}", lon, lat, meters);
            }
            prop_assert!(metres == 0.0 || !index.is_within(lat, lon, metres - 0.01_f64.min(metres / 2.0)));
        }
    }
}
