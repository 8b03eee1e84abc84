//! Finds the commune of a position from contours of the communes of 2018, simplified to 100 m.
//!
//! The contours are compiled in (`data/contours_1.bin.gz`, `data/contours_2.bin.gz`; format in `data/contours.py`).
//! Communes merged since 2018 keep their contour, so the answer may be a former commune, which
//! [`Places`](super::places::Places) maps to the current commune. Paris, Lyon and Marseille are one contour each.
//! Reading takes about 50 ms on first use; a query takes about a microsecond.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use super::distance::planar_distance_m;
use super::varint;

/// Units per degree in the files.
const SCALE: f64 = 5_000.0;
const MAGIC: &[u8] = b"TCT1";
/// Maximum distance from a contour at which a position still counts as inside France, in metres. Needed because
/// contours are simplified and exclude quays and islets.
const SHORE_M: f64 = 3_000.0;
/// Metres of one degree of latitude.
const DEGREE_M: f64 = 111_195.0;

type Point = (i32, i32);

/// Points of a ring: longitude and latitude in 1/[`UNITS_PER_DEGREE`] degrees. The last point connects to the first.
pub type Ring = Vec<(i32, i32)>;

/// Units of a [`Ring`] per degree.
pub const UNITS_PER_DEGREE: f64 = SCALE;

/// A commune's contour: rings of points, longitude and latitude in 1/[`SCALE`] degrees.
struct Contour {
    code: [u8; 5],
    rings: Vec<Vec<Point>>,
}

struct Contours {
    contours: Vec<Contour>,
    boxes: RTree<GeomWithData<Rectangle<[f64; 2]>, u32>>,
}

static CONTOURS: LazyLock<Contours> = LazyLock::new(|| {
    let files: [&[u8]; 2] = [
        include_bytes!("../../data/contours_1.bin.gz"),
        include_bytes!("../../data/contours_2.bin.gz"),
    ];
    let mut contours = Vec::new();
    for packed in files {
        let mut bytes = Vec::new();
        let read = GzDecoder::new(packed).read_to_end(&mut bytes);
        if read.is_err() || read_contours(&bytes, &mut contours).is_none() {
            // The tests verify that the built-in contours can be read.
            tracing::error!("the contours of communes cannot be read");
        }
    }
    Contours::index(contours)
});

/// Returns the INSEE code (of 2018) of the commune that contains a position, or of the nearest one within 3 km of it at
/// the coast or a border; `None` abroad and at sea. Degrees, WGS 84.
pub fn commune_at(latitude: f64, longitude: f64) -> Option<&'static str> {
    CONTOURS.find(latitude, longitude)
}

/// Returns the contours of all communes of 2018, with their INSEE codes. Rings run clockwise on the map around the
/// commune's area and counter-clockwise around holes. Neighbours share the points of their border, except along the
/// line where the two files meet.
pub fn all() -> impl Iterator<Item = (&'static str, &'static [Ring])> {
    let contours = CONTOURS.contours.iter();
    contours.filter_map(|contour| {
        let code = std::str::from_utf8(&contour.code).ok()?;
        Some((code, contour.rings.as_slice()))
    })
}

/// Returns the point of a commune's border that is nearest to a position, in degrees, with its distance in metres;
/// `None` if there is no border within `reach_m`. Inside a commune, returns the position itself with distance 0.
pub(crate) fn nearest_border(latitude: f64, longitude: f64, reach_m: f64) -> Option<BorderPoint> {
    CONTOURS.nearest_border(latitude, longitude, reach_m)
}

/// A point of the border of a commune.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BorderPoint {
    /// Distance from the queried position, metres.
    pub(crate) metres: f64,
    /// Latitude, degrees.
    pub(crate) latitude: f64,
    /// Longitude, degrees.
    pub(crate) longitude: f64,
}

impl Contours {
    fn index(contours: Vec<Contour>) -> Self {
        let boxes = contours.iter().enumerate().map(|(index, contour)| {
            let points = || contour.rings.iter().flatten();
            let (west, east) = extent(points().map(|point| point.0));
            let (south, north) = extent(points().map(|point| point.1));
            GeomWithData::new(
                Rectangle::from_corners([west, south], [east, north]),
                index as u32,
            )
        });
        Self {
            boxes: RTree::bulk_load(boxes.collect()),
            contours,
        }
    }

    fn find(&'static self, latitude: f64, longitude: f64) -> Option<&'static str> {
        if !latitude.is_finite() || !longitude.is_finite() {
            return None;
        }
        let contour = self.containing(latitude, longitude).or_else(|| {
            let (_, contour) = self.nearest(latitude, longitude, SHORE_M)?;
            Some(contour)
        })?;
        std::str::from_utf8(&contour.code).ok()
    }

    fn nearest_border(&self, latitude: f64, longitude: f64, reach_m: f64) -> Option<BorderPoint> {
        if !latitude.is_finite() || !longitude.is_finite() {
            return None;
        }
        if self.containing(latitude, longitude).is_some() {
            return Some(BorderPoint {
                metres: 0.0,
                latitude,
                longitude,
            });
        }
        self.nearest(latitude, longitude, reach_m)
            .map(|(point, _)| point)
    }

    fn containing(&self, latitude: f64, longitude: f64) -> Option<&Contour> {
        let (x, y) = (longitude * SCALE, latitude * SCALE);
        let around = self
            .boxes
            .locate_in_envelope_intersecting(&AABB::from_point([x, y]));
        around
            .map(|found| &self.contours[found.data as usize])
            .find(|contour| contour.contains(x, y))
    }

    /// Finds the contour whose border is nearest to a position outside all contours, within `reach_m`.
    fn nearest(
        &self,
        latitude: f64,
        longitude: f64,
        reach_m: f64,
    ) -> Option<(BorderPoint, &Contour)> {
        let north = reach_m / DEGREE_M;
        let east = north / latitude.to_radians().cos().max(f64::EPSILON);
        let corner = |sign: f64| {
            [
                (longitude + sign * east) * SCALE,
                (latitude + sign * north) * SCALE,
            ]
        };
        let envelope = AABB::from_corners(corner(-1.0), corner(1.0));
        let near = self.boxes.locate_in_envelope_intersecting(&envelope);
        near.map(|found| &self.contours[found.data as usize])
            .map(|contour| (contour.nearest_point(latitude, longitude), contour))
            .filter(|(point, _)| point.metres <= reach_m)
            .min_by(|one, other| one.0.metres.total_cmp(&other.0.metres))
    }
}

fn extent(values: impl Iterator<Item = i32>) -> (f64, f64) {
    let (least, greatest) = values.fold((i32::MAX, i32::MIN), |(least, greatest), value| {
        (least.min(value), greatest.max(value))
    });
    (f64::from(least), f64::from(greatest))
}

/// Returns the sides of a closed ring.
fn sides(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    let next = ring.iter().cycle().skip(1);
    ring.iter().copied().zip(next.copied())
}

impl Contour {
    /// Applies the even-odd rule over all rings, so that holes are outside.
    fn contains(&self, x: f64, y: f64) -> bool {
        let mut inside = false;
        for ring in &self.rings {
            for ((ax, ay), (bx, by)) in sides(ring) {
                let (ay, by) = (f64::from(ay), f64::from(by));
                if (ay > y) != (by > y) {
                    let (ax, bx) = (f64::from(ax), f64::from(bx));
                    inside ^= x < (bx - ax) * (y - ay) / (by - ay) + ax;
                }
            }
        }
        inside
    }

    /// Returns the point of the border that is nearest to a position.
    fn nearest_point(&self, latitude: f64, longitude: f64) -> BorderPoint {
        let cos = latitude.to_radians().cos();
        let (x, y) = (longitude * SCALE * cos, latitude * SCALE);
        let mut least = (f64::INFINITY, 0.0, 0.0);
        for ((ax, ay), (bx, by)) in self.rings.iter().flat_map(|ring| sides(ring)) {
            let (ax, ay) = (f64::from(ax) * cos, f64::from(ay));
            let (dx, dy) = (f64::from(bx) * cos - ax, f64::from(by) - ay);
            let length = dx * dx + dy * dy;
            let share = if length > 0.0 {
                (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0)
            } else {
                0.0
            };
            let (px, py) = (ax + share * dx, ay + share * dy);
            let squared = (px - x).powi(2) + (py - y).powi(2);
            if squared < least.0 {
                least = (squared, px / cos / SCALE, py / SCALE);
            }
        }
        let (_, east, north) = least;
        BorderPoint {
            metres: planar_distance_m(latitude, longitude, north, east),
            latitude: north,
            longitude: east,
        }
    }
}

/// Reads one file; `None` if it is truncated or malformed.
fn read_contours(bytes: &[u8], contours: &mut Vec<Contour>) -> Option<()> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut arcs: Vec<Vec<Point>> = Vec::new();
    let (mut x, mut y) = (0, 0);
    for _ in 0..varint::take(&mut rest)? {
        let count = varint::take(&mut rest)?;
        let mut arc = Vec::with_capacity(count as usize);
        for _ in 0..count {
            x += varint::unzigzag(varint::take(&mut rest)?);
            y += varint::unzigzag(varint::take(&mut rest)?);
            arc.push((x, y));
        }
        arcs.push(arc);
    }
    let mut reference = 0;
    for _ in 0..varint::take(&mut rest)? {
        let (code, after) = rest.split_first_chunk::<5>()?;
        rest = after;
        let mut rings = Vec::new();
        for _ in 0..varint::take(&mut rest)? {
            let mut ring = Vec::new();
            for _ in 0..varint::take(&mut rest)? {
                reference += varint::unzigzag(varint::take(&mut rest)?);
                let arc = arcs.get((reference >> 1) as usize)?;
                // The last point of an arc is the first of the next.
                let length = arc.len().checked_sub(1)?;
                match reference & 1 {
                    0 => ring.extend(&arc[..length]),
                    _ => ring.extend(arc[1..].iter().rev()),
                }
            }
            rings.push(ring);
        }
        contours.push(Contour { code: *code, rings });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{PlaceKind, Places};

    #[test]
    fn positions_give_their_commune() {
        for (lat, lon, code) in [
            (44.518, 3.501, Some("48095")),
            (48.8566, 2.3522, Some("75056")),
            (43.2965, 5.3698, Some("13055")),
            (-21.277, 55.515, Some("97422")),
            // At sea, in London, and not a number.
            (46.0, -6.0, None),
            (51.5, -0.12, None),
            (f64::NAN, 2.0, None),
        ] {
            assert_eq!(commune_at(lat, lon), code, "{lat} {lon}");
        }
    }

    #[test]
    fn the_centre_of_nearly_every_commune_lies_in_it() {
        let places = Places::get();
        let communes =
            places.all().iter().enumerate().filter(|(_, place)| {
                place.kind == PlaceKind::Commune && !place.department.is_empty()
            });
        let (mut right, mut all) = (0, 0);
        for (index, commune) in communes {
            let found = commune_at(commune.centre.0, commune.centre.1)
                .and_then(|code| places.find(code))
                .map(|found| places.place(found).unwrap().parent.unwrap_or(found));
            all += 1;
            right += usize::from(found == Some(index as u32));
        }
        assert!(right * 1_000 > all * 970, "{right} of {all}");
    }
}
