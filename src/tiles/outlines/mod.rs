//! The base map that needs no network: outlines of departments and communes, with labels.
//!
//! The outlines are made from the compiled-in contours, for the current communes: merged communes have a single border.
//! Reading and simplifying the contours takes about a second on first use, and 30 MB of memory from then on. A tile
//! keeps the points that its zoom can show, and is cut to the tile with a margin.

mod clip;
mod dissolve;
mod weight;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fast_mvt::{MvtFeatureBuilder, MvtGeomType, MvtLayerBuilder};

use super::mercator::{TileId, units};
use crate::error::Error;
use clip::{Square, cut};
use dissolve::{dissolved, doubled_area, sides};
use toise_geo::communes::today_of_code;
use toise_geo::contours::{self, Ring, UNITS_PER_DEGREE};
use toise_geo::departments;
use weight::Weights;

/// Name of the tile set.
pub const NAME: &str = "outlines";
/// Highest zoom with tiles; it shows every point.
pub const ZOOM_MAX: u8 = 10;
/// Lowest zoom at which communes are shown.
pub const COMMUNES_ZOOM: u8 = 8;
/// A layer of the tiles.
#[derive(Clone, Copy, Debug)]
pub struct OutlineLayer {
    /// Its name.
    pub id: &'static str,
    /// Its fields, each with its type in TileJSON.
    pub fields: &'static [(&'static str, &'static str)],
    /// Lowest zoom with this layer.
    pub minzoom: u8,
}

/// The layers of the tiles.
pub const LAYERS: [OutlineLayer; 3] = [
    OutlineLayer {
        id: "departments",
        fields: &[("code", "String"), ("name", "String")],
        minzoom: 0,
    },
    OutlineLayer {
        id: "communes",
        fields: &[("code", "String"), ("name", "String")],
        minzoom: COMMUNES_ZOOM,
    },
    OutlineLayer {
        id: "labels",
        fields: &[
            ("code", "String"),
            ("name", "String"),
            ("kind", "String"),
            ("population", "Number"),
        ],
        minzoom: LABELS_ZOOM,
    },
];

/// Lowest zoom with labels.
const LABELS_ZOOM: u8 = 4;
/// Minimum population of a commune whose label is shown, by zoom from [`LABELS_ZOOM`]; 0 at higher zooms.
const POPULATIONS: [u32; 6] = [400_000, 150_000, 80_000, 30_000, 8_000, 2_000];
/// Margin that tiles have around themselves, in tiles, because drawn lines have a width.
const MARGIN: f64 = 1.0 / 64.0;
/// Width of a tile on a map, pixels.
const PIXELS: f64 = 512.0;
/// Maximum distance of a simplified line from the true one, pixels.
const TOLERANCE_PIXELS: f64 = 0.5;

/// A department or a commune.
pub struct Area {
    /// Its code; for a commune, the current code.
    pub code: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Inhabitants; 0 for a department.
    population: u32,
    /// Position of its label: latitude and longitude.
    label: (f64, f64),
    /// West, south, east, north in units of the contours.
    bounds: [i32; 4],
    /// Each outer ring, followed by its holes, with the weight of each point.
    rings: Vec<WeighedRing>,
}

struct WeighedRing {
    points: Vec<((i32, i32), f32)>,
    is_hole: bool,
}

/// All outlines.
struct Outlines {
    departments: Vec<Area>,
    communes: Vec<Area>,
}

static OUTLINES: LazyLock<Outlines> = LazyLock::new(Outlines::read);

/// Returns the areas that tiles of a zoom show: departments below [`COMMUNES_ZOOM`], otherwise communes.
pub fn areas(zoom: u8) -> &'static [Area] {
    if zoom < COMMUNES_ZOOM {
        &OUTLINES.departments
    } else {
        &OUTLINES.communes
    }
}

/// Encodes the tile with outlines and labels; layers that its zoom does not show are omitted.
///
/// # Errors
/// The tile cannot be encoded.
pub fn tile(id: TileId) -> Result<Vec<u8>, Error> {
    let mut tile = area_layer("departments", id, &OUTLINES.departments)?;
    if id.z >= COMMUNES_ZOOM {
        tile.extend(area_layer("communes", id, &OUTLINES.communes)?);
    }
    if id.z >= LABELS_ZOOM {
        tile.extend(label_layer(id)?);
    }
    Ok(tile)
}

fn area_layer(name: &str, id: TileId, areas: &[Area]) -> Result<Vec<u8>, Error> {
    let mut layer = MvtLayerBuilder::new(name)?;
    for area in areas {
        layer = area.write(id, layer, |feature, area| {
            feature.tag("code", area.code)?;
            feature.tag("name", area.name)?;
            Ok(())
        })?;
    }
    Ok(layer.encode())
}

fn label_layer(id: TileId) -> Result<Vec<u8>, Error> {
    let least = POPULATIONS
        .get(usize::from(id.z - LABELS_ZOOM))
        .copied()
        .unwrap_or(0);
    let named = OUTLINES.departments.iter().map(|area| (area, "department"));
    let communes = OUTLINES
        .communes
        .iter()
        .filter(|area| area.population >= least);
    let mut layer = MvtLayerBuilder::new("labels")?;
    for (area, kind) in named.chain(communes.map(|area| (area, "commune"))) {
        let (x, y) = id.place(area.label.0, area.label.1);
        if !(0.0..1.0).contains(&x) || !(0.0..1.0).contains(&y) {
            continue;
        }
        let mut feature = layer.feature_of(MvtGeomType::Point);
        feature.points([(units(x), units(y)).into()])?;
        feature.tag("code", area.code)?;
        feature.tag("name", area.name)?;
        feature.tag("kind", kind)?;
        feature.tag("population", u64::from(area.population))?;
        layer = feature.end();
    }
    Ok(layer.encode())
}

impl Area {
    /// Adds the part of the area that a tile shows to a layer, with the properties that `tag` sets. Adds nothing if the
    /// tile does not show the area.
    ///
    /// # Errors
    /// The feature cannot be encoded.
    pub fn write(
        &self,
        id: TileId,
        layer: MvtLayerBuilder,
        tag: impl FnOnce(&mut MvtFeatureBuilder, &Self) -> Result<(), Error>,
    ) -> Result<MvtLayerBuilder, Error> {
        let parts = self.parts(id);
        if parts.is_empty() {
            return Ok(layer);
        }
        let mut feature = layer.feature_of(MvtGeomType::Polygon);
        for (points, is_hole) in parts {
            let points = points.into_iter().map(|(x, y)| (units(x), units(y)).into());
            feature.ring(points, !is_hole)?;
        }
        tag(&mut feature, self)?;
        Ok(feature.end())
    }

    /// Returns the rings that a tile shows, in tiles from its north-west corner, and whether each is a hole.
    fn parts(&self, id: TileId) -> Vec<(Vec<(f64, f64)>, bool)> {
        let shown = id.degrees(MARGIN);
        let degrees = |units: i32| f64::from(units) / UNITS_PER_DEGREE;
        let [west, south, east, north] = self.bounds.map(degrees);
        if west > shown.right || east < shown.left || south > shown.top || north < shown.bottom {
            return Vec::new();
        }
        let frame = Square {
            min: -MARGIN,
            max: 1.0 + MARGIN,
        };
        let tolerance = tolerance(id.z);
        let mut parts = Vec::new();
        let mut is_shown = true;
        for ring in &self.rings {
            // A hole is only shown with the ring around it.
            if ring.is_hole && !is_shown {
                continue;
            }
            let kept = ring
                .points
                .iter()
                .filter(|(_, weight)| *weight >= tolerance);
            let placed = kept.map(|((x, y), _)| id.place(degrees(*y), degrees(*x)));
            let points = cut(placed.collect(), frame);
            let is_drawn = has_area(&points);
            if !ring.is_hole {
                is_shown = is_drawn;
            }
            if is_drawn {
                parts.push((points, ring.is_hole));
            }
        }
        parts
    }
}

/// Returns whether a ring still has an area after its points are rounded to the grid of tiles.
fn has_area(points: &[(f64, f64)]) -> bool {
    let grid: Ring = points.iter().map(|(x, y)| (units(*x), units(*y))).collect();
    doubled_area(&grid) != 0.0
}

/// Returns the minimum weight of the points that a zoom shows, in units of the contours.
fn tolerance(zoom: u8) -> f32 {
    if zoom >= ZOOM_MAX {
        return 0.0;
    }
    let units_per_pixel = 360.0 / f64::from(1_u32 << zoom) / PIXELS * UNITS_PER_DEGREE;
    (units_per_pixel * TOLERANCE_PIXELS) as f32
}

impl Outlines {
    fn read() -> Self {
        let mut of_commune: BTreeMap<&str, (&toise_geo::places::Place, Vec<&Ring>)> =
            BTreeMap::new();
        for (code, rings) in contours::all() {
            if let Some(commune) = today_of_code(code) {
                of_commune
                    .entry(commune.code)
                    .or_insert((commune, Vec::new()))
                    .1
                    .extend(rings);
            }
        }
        let mut of_department: BTreeMap<&str, Vec<&Ring>> = BTreeMap::new();
        for (commune, rings) in of_commune.values() {
            of_department
                .entry(commune.department)
                .or_default()
                .extend(rings);
        }
        let communes: Vec<(Area, Vec<Ring>)> = of_commune
            .into_values()
            .map(|(commune, rings)| {
                let area = Area::new(
                    commune.code,
                    commune.name,
                    commune.population,
                    Some(commune.centre),
                );
                (area, dissolved(rings.into_iter()))
            })
            .collect();
        let departments: Vec<(Area, Vec<Ring>)> = of_department
            .into_iter()
            .map(|(code, rings)| {
                let area = Area::new(code, departments::name(code).unwrap_or(code), 0, None);
                (area, dissolved(rings.into_iter()))
            })
            .collect();
        Self {
            departments: weighed(departments),
            communes: weighed(communes),
        }
    }
}

/// Completes areas with bounds, rings and missing labels; the points of all areas are weighed together.
fn weighed(areas: Vec<(Area, Vec<Ring>)>) -> Vec<Area> {
    let weights = Weights::of(areas.iter().flat_map(|(_, rings)| rings));
    let weighed = areas.into_iter().map(|(mut area, rings)| {
        let points = || rings.iter().flatten();
        let least = |of: fn(&(i32, i32)) -> i32| points().map(of).min().unwrap_or_default();
        let most = |of: fn(&(i32, i32)) -> i32| points().map(of).max().unwrap_or_default();
        area.bounds = [
            least(|at| at.0),
            least(|at| at.1),
            most(|at| at.0),
            most(|at| at.1),
        ];
        let weigh = |ring: &Ring| {
            ring.iter()
                .map(|point| (*point, weights.get(*point)))
                .collect()
        };
        let (around, holes): (Vec<Ring>, Vec<Ring>) = rings
            .iter()
            .cloned()
            .partition(|ring| doubled_area(ring) > 0.0);
        if area.label == (0.0, 0.0) {
            area.label = around
                .iter()
                .max_by_key(|ring| doubled_area(ring) as i64)
                .map_or((0.0, 0.0), middle);
        }
        for ring in around {
            let own = holes.iter().filter(|hole| contains(&ring, hole));
            let own = own
                .map(|hole| WeighedRing {
                    points: weigh(hole),
                    is_hole: true,
                })
                .collect::<Vec<_>>();
            area.rings.push(WeighedRing {
                points: weigh(&ring),
                is_hole: false,
            });
            area.rings.extend(own);
        }
        area
    });
    weighed.collect()
}

/// Returns whether a ring contains another, by the inner ring's first point that is not also a point of the outer one.
fn contains(ring: &Ring, inner: &Ring) -> bool {
    let Some((x, y)) = inner.iter().find(|point| !ring.contains(point)).copied() else {
        return false;
    };
    let crossed = sides(ring).filter(|((ax, ay), (bx, by))| {
        let (x, y) = (f64::from(x), f64::from(y));
        let (ax, ay, bx, by) = (
            f64::from(*ax),
            f64::from(*ay),
            f64::from(*bx),
            f64::from(*by),
        );
        (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
    });
    crossed.count() % 2 == 1
}

/// Returns the centre of gravity of a ring: latitude and longitude in degrees.
fn middle(ring: &Ring) -> (f64, f64) {
    let (mut x, mut y, mut area) = (0.0, 0.0, 0.0);
    for ((ax, ay), (bx, by)) in sides(ring) {
        let (ax, ay, bx, by) = (f64::from(ax), f64::from(ay), f64::from(bx), f64::from(by));
        let part = ax * by - bx * ay;
        (x, y, area) = (x + (ax + bx) * part, y + (ay + by) * part, area + part);
    }
    (
        y / (3.0 * area) / UNITS_PER_DEGREE,
        x / (3.0 * area) / UNITS_PER_DEGREE,
    )
}

impl Area {
    fn new(
        code: &'static str,
        name: &'static str,
        population: u32,
        label: Option<(f64, f64)>,
    ) -> Self {
        Self {
            code,
            name,
            population,
            label: label.unwrap_or_default(),
            bounds: [0; 4],
            rings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
