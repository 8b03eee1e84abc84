//! Converts the projected coordinates that French sources publish to degrees: Lambert-93 in mainland France, the
//! official projection of each overseas department elsewhere.

use std::sync::LazyLock;

use proj4rs::Proj;
use proj4rs::transform::transform;

const LAMBERT_93: &str = "+proj=lcc +lat_0=46.5 +lon_0=3 +lat_1=49 +lat_2=44 +x_0=700000 +y_0=6600000 +ellps=GRS80 +towgs84=0,0,0,0,0,0,0 +units=m +no_defs";
const DEGREES: &str = "+proj=longlat +ellps=GRS80 +towgs84=0,0,0,0,0,0,0 +no_defs";
/// Universal Transverse Mercator zones of the overseas departments.
const OVERSEAS: [(&str, &str); 5] = [
    ("971", "20"),
    ("972", "20"),
    ("973", "22"),
    ("974", "40 +south"),
    ("976", "38 +south"),
];

/// Boxes around France: latitude from, to, longitude from, to. Mainland and Corsica first.
const BOXES: [[f64; 4]; 6] = [
    [41.2, 51.2, -5.3, 9.7],
    [14.3, 18.2, -63.2, -60.7],
    [2.0, 6.0, -54.7, -51.5],
    [-21.5, -20.8, 55.1, 55.9],
    [-13.1, -12.5, 44.9, 45.4],
    [46.7, 47.2, -56.5, -56.0],
];

struct Projections {
    degrees: Option<Proj>,
    mainland: Option<Proj>,
    overseas: Vec<(&'static str, Option<Proj>)>,
}

impl Projections {
    /// Returns the official projection of a department.
    fn of(&self, department: &str) -> Option<&Proj> {
        let overseas = self.overseas.iter().find(|(code, _)| *code == department);
        overseas.map_or(self.mainland.as_ref(), |(_, projection)| {
            projection.as_ref()
        })
    }
}

fn transverse_mercator(zone: &str) -> String {
    format!("+proj=utm +zone={zone} +ellps=GRS80 +towgs84=0,0,0,0,0,0,0 +units=m +no_defs")
}

static PROJECTIONS: LazyLock<Projections> = LazyLock::new(|| {
    let parse = |definition: &str| Proj::from_proj_string(definition).ok();
    Projections {
        degrees: parse(DEGREES),
        mainland: parse(LAMBERT_93),
        overseas: OVERSEAS
            .iter()
            .map(|(code, zone)| (*code, parse(&transverse_mercator(zone))))
            .collect(),
    }
});

/// Converts a projected point in metres to latitude and longitude in degrees; `None` outside the projection.
pub fn to_degrees(department: &str, x: f64, y: f64) -> Option<(f64, f64)> {
    let projections = &*PROJECTIONS;
    let from = projections.of(department)?;
    let mut point = (x, y, 0.0);
    transform(from, projections.degrees.as_ref()?, &mut point).ok()?;
    let (lon, lat) = (point.0.to_degrees(), point.1.to_degrees());
    // 1e-7 degrees is about a centimetre, more precise than any source, and keeps responses short.
    let rounded = |degrees: f64| (degrees * 1e7).round() / 1e7;
    (lat.is_finite() && lon.is_finite()).then(|| (rounded(lat), rounded(lon)))
}

/// Converts a position in degrees to a projected point, in metres to the centimetre; `None` outside the projection.
pub fn from_degrees(department: &str, lat: f64, lon: f64) -> Option<(f64, f64)> {
    let projections = &*PROJECTIONS;
    let to = projections.of(department)?;
    let mut point = (lon.to_radians(), lat.to_radians(), 0.0);
    transform(projections.degrees.as_ref()?, to, &mut point).ok()?;
    let rounded = |metres: f64| (metres * 100.0).round() / 100.0;
    (point.0.is_finite() && point.1.is_finite()).then(|| (rounded(point.0), rounded(point.1)))
}

/// Returns whether a position is in the boxes around mainland France and its overseas departments.
pub fn in_france(lat: f64, lon: f64) -> bool {
    BOXES.iter().any(|[south, north, west, east]| {
        (*south..=*north).contains(&lat) && (*west..=*east).contains(&lon)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambert_93_agrees_with_published_pairs() {
        // Coordinates and _geopoint of published diagnostics of Lozère and Lyon.
        for (x, y, lat, lon) in [
            (
                721_832.73,
                6_412_098.21,
                44.807_694_968_839_56,
                3.276_120_026_128_596,
            ),
            (
                842_432.78,
                6_520_059.01,
                45.765_261_036_793_21,
                4.832_731_948_250_768,
            ),
        ] {
            let (got_lat, got_lon) = to_degrees("48", x, y).unwrap();
            assert!(
                (got_lat - lat).abs() < 1e-6 && (got_lon - lon).abs() < 1e-6,
                "{got_lat} {got_lon}"
            );
            let (got_x, got_y) = from_degrees("48", lat, lon).unwrap();
            assert!(
                (got_x - x).abs() < 0.1 && (got_y - y).abs() < 0.1,
                "{got_x} {got_y}"
            );
        }
    }

    #[test]
    fn overseas_departments_use_their_own_zone() {
        let (lat, lon) = to_degrees("974", 338_000.0, 7_690_000.0).unwrap();
        assert!(in_france(lat, lon), "{lat} {lon}");
        let (lat, lon) = to_degrees("971", 656_000.0, 1_797_000.0).unwrap();
        assert!(in_france(lat, lon), "{lat} {lon}");
        assert!(!in_france(0.0, 0.0));
    }
}
