//! Vector tiles of a map: sales, diagnostics and properties, as points at high zooms and as hexagons or areas at low
//! ones.
//!
//! A tile is computed from the columns that searches read, with the filters that searches have, and cached under the
//! version of its table. From zoom [`POINTS_ZOOM`] on, each row is a point of the layer `points`. At lower zooms, rows
//! are gathered in hexagons of the layer `hexagons`, with their number and a figure: the median price, or the share of
//! poor energy classes. On request, the layer `areas` has departments or communes with the same values instead
//! ([`areas`]).
//!
//! [`outlines`] is the base map, which does not need a data folder.

#![forbid(unsafe_code)]

pub mod areas;
mod error;
mod hexagons;
pub mod mercator;
pub mod outlines;
mod source;

use std::sync::Arc;

use bytes::Bytes;
use fast_mvt::{MvtGeomType, MvtLayerBuilder};
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use areas::{AreaFigures, AreaScan};
pub use error::Error;
use hexagons::{Hexagons, MARGIN};
use mercator::{TileId, units};
pub use source::TileSource;
use source::{Figure, MapPoint, SourceView};
use toise_base::clock::Clock;
use toise_contract::filter::{Clause, ClauseTest, Filter, POSITION};
use toise_engine::Engine;
use toise_engine::cancellation::Interrupt;
use toise_opendata::Dataset;

/// Lowest zoom at which each row is a point.
pub const POINTS_ZOOM: u8 = 14;
/// Maximum points of a tile; the first rows of the table are taken.
pub const POINTS_MAX: usize = 5_000;
/// Media type of a tile.
pub const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";
/// Memory for cached tiles, bytes.
const CACHE_BYTES: u64 = 64 << 20;
/// Memory for cached figures of areas, bytes.
const FIGURES_BYTES: u64 = 32 << 20;
/// Approximate memory of the figures of one area, bytes.
const FIGURE_BYTES: usize = 80;
/// Maximum concurrent scans for figures of areas: a map requests many tiles that need the same one.
const SCANS_MAX: usize = 2;

/// How rows are gathered below zoom [`POINTS_ZOOM`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// In hexagons.
    Hexagons,
    /// In departments below zoom [`outlines::COMMUNES_ZOOM`], then in communes.
    Areas,
}

/// Computes tiles. Cheap to clone.
#[derive(Clone)]
pub struct Tiles {
    engine: Arc<Engine>,
    clock: Clock,
    cache: Cache<String, Bytes>,
    figures: Cache<String, Arc<AreaFigures>>,
    scans: Arc<Semaphore>,
}

impl Tiles {
    /// Creates the tiles of an engine's tables.
    pub fn new(engine: Arc<Engine>, clock: Clock) -> Self {
        let weigh =
            |key: &String, tile: &Bytes| u32::try_from(key.len() + tile.len()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CACHE_BYTES).weigher(weigh);
        let weigh_figures = |key: &String, figures: &Arc<AreaFigures>| {
            u32::try_from(key.len() + figures.count() * FIGURE_BYTES).unwrap_or(u32::MAX)
        };
        let figures = Cache::builder()
            .max_capacity(FIGURES_BYTES)
            .weigher(weigh_figures);
        Self {
            engine,
            clock,
            cache: cache.build(),
            figures: figures.build(),
            scans: Arc::new(Semaphore::new(SCANS_MAX)),
        }
    }

    /// Returns a permit to compute a tile of areas, waiting for other scans if necessary; `None` if its figures are
    /// cached. The permit must be held while [`Self::tile`] runs.
    pub async fn scan_permit(
        &self,
        source: &TileSource,
        filter: &Filter,
    ) -> Option<OwnedSemaphorePermit> {
        let key = self.figures_key(source, filter).ok()?;
        if self.figures.contains_key(&key) {
            return None;
        }
        // The semaphore is never closed.
        Arc::clone(&self.scans).acquire_owned().await.ok()
    }

    /// Returns a tile of the base map as a Mapbox Vector Tile. Does CPU work on the calling thread.
    ///
    /// # Errors
    /// The tile cannot be encoded.
    pub fn outlines(&self, tile: TileId) -> Result<Bytes, Error> {
        let key = format!("{} {tile:?}", outlines::NAME);
        if let Some(tile) = self.cache.get(&key) {
            return Ok(tile);
        }
        let made = Bytes::from(outlines::tile(tile)?);
        self.cache.insert(key, made.clone());
        Ok(made)
    }

    /// Returns the cache key of the figures of areas. It includes the day, because the sales to compare with depend on
    /// their age.
    fn figures_key(&self, source: &TileSource, filter: &Filter) -> Result<String, Error> {
        let sold = version_of_sales(source, &self.engine)?;
        Ok(format!(
            "{} {} {sold:?} {} {filter:?}",
            source.name(),
            self.version(source)?,
            self.today()
        ))
    }

    /// Returns the current day, in days since 1970-01-01.
    fn today(&self) -> i32 {
        (self.clock.now().timestamp() / 86_400) as i32
    }

    /// Returns the figures of areas of a source with a filter, from the cache or by a scan.
    fn area_figures(
        &self,
        source: &TileSource,
        filter: &Filter,
        interrupt: &Interrupt,
    ) -> Result<Arc<AreaFigures>, Error> {
        let key = self.figures_key(source, filter)?;
        if let Some(known) = self.figures.get(&key) {
            return Ok(known);
        }
        let scan = AreaScan {
            has_sales: version_of_sales(source, &self.engine)?.is_some(),
            engine: &self.engine,
            interrupt,
            today: self.today(),
        };
        let figures = Arc::new(scan.figures(source, filter)?);
        self.figures.insert(key, Arc::clone(&figures));
        Ok(figures)
    }

    /// Returns the version of a source, which changes whenever a row does.
    ///
    /// # Errors
    /// There is no such table.
    pub fn version(&self, source: &TileSource) -> Result<i64, Error> {
        Ok(source.view(&self.engine)?.version())
    }

    /// Returns the tile of a source with a filter as a Mapbox Vector Tile; empty if it shows nothing. Does CPU work on
    /// the calling thread and its rayon pool. From zoom [`POINTS_ZOOM`] on, `gathering` has no effect.
    ///
    /// # Errors
    /// The table cannot be read, or the query is cancelled.
    pub fn tile(
        &self,
        source: &TileSource,
        tile: TileId,
        filter: &Filter,
        gathering: Gathering,
        interrupt: &Interrupt,
    ) -> Result<Bytes, Error> {
        if gathering == Gathering::Areas && tile.z < POINTS_ZOOM {
            let key = format!("areas {} {tile:?}", self.figures_key(source, filter)?);
            if let Some(tile) = self.cache.get(&key) {
                return Ok(tile);
            }
            let figures = self.area_figures(source, filter, interrupt)?;
            let made = Bytes::from(area_layer(tile, &figures, source.figure())?);
            self.cache.insert(key, made.clone());
            return Ok(made);
        }
        let view = source.view(&self.engine)?;
        let key = format!("{} {} {tile:?} {filter:?}", source.name(), view.version());
        if let Some(tile) = self.cache.get(&key) {
            return Ok(tile);
        }
        let made = Bytes::from(self.rows_tile(source, &view, tile, filter, interrupt)?);
        self.cache.insert(key, made.clone());
        Ok(made)
    }

    /// Computes the tile of points or hexagons.
    fn rows_tile(
        &self,
        source: &TileSource,
        view: &SourceView,
        tile: TileId,
        filter: &Filter,
        interrupt: &Interrupt,
    ) -> Result<Vec<u8>, Error> {
        let margin = if tile.z < POINTS_ZOOM { MARGIN } else { 0.0 };
        let shown = tile.degrees(margin);
        let mut filter = filter.clone();
        let test = ClauseTest::InBox {
            top: shown.top,
            left: shown.left,
            bottom: shown.bottom,
            right: shown.right,
        };
        filter.push(Clause::new(POSITION, test));
        if tile.z < POINTS_ZOOM {
            let states = view.scan(
                source,
                &self.engine,
                &filter,
                interrupt,
                || Hexagons::over(tile),
                |hexagons, spot| {
                    hexagons.add(spot.lat, spot.lon, spot.figure);
                },
            )?;
            let mut all = Hexagons::over(tile);
            states.into_iter().for_each(|state| all.merge(state));
            hexagon_layer(all, source.figure())
        } else {
            let states = view.scan(
                source,
                &self.engine,
                &filter,
                interrupt,
                Vec::new,
                |kept, spot| {
                    if kept.len() < POINTS_MAX {
                        kept.push(spot);
                    }
                },
            )?;
            let mut points: Vec<MapPoint> = states.into_iter().flatten().collect();
            points.sort_unstable_by_key(|spot| spot.row);
            points.truncate(POINTS_MAX);
            let ids = view.ids(source, &self.engine, &points)?;
            point_layer(tile, &points, &ids, source.figure())
        }
    }
}

/// Returns the version of the sales that a source is compared with; `None` if it is not compared, or there is no such
/// table.
fn version_of_sales(source: &TileSource, engine: &Engine) -> Result<Option<i64>, Error> {
    let sales = match source {
        TileSource::OpenData(_) => return Ok(None),
        TileSource::Properties(_) => TileSource::OpenData(Dataset::Dvf).view(engine),
    };
    match sales {
        Ok(sales) => Ok(Some(sales.version())),
        Err(toise_engine::Error::UnknownTable(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Encodes departments or communes that have a row, with `code`, `name`, `count` and the figures.
fn area_layer(tile: TileId, figures: &AreaFigures, figure: Figure) -> Result<Vec<u8>, Error> {
    let mut layer = MvtLayerBuilder::new("areas")?;
    for area in outlines::areas(tile.z) {
        let Some(known) = figures.of(area.code) else {
            continue;
        };
        layer = area.write(tile, layer, |feature, area| {
            feature.tag("code", area.code)?;
            feature.tag("name", area.name)?;
            feature.tag("count", u64::from(known.count))?;
            if let Some(value) = known.figure {
                feature.tag(figure.of_hexagon, value)?;
            }
            if let Some(value) = known.over_sold {
                feature.tag("over_sold", value.round())?;
            }
            Ok(())
        })?;
    }
    Ok(layer.encode())
}

/// Encodes hexagons with `count`, and with the figure if a row has one.
fn hexagon_layer(hexagons: Hexagons, figure: Figure) -> Result<Vec<u8>, Error> {
    let mut layer = MvtLayerBuilder::new("hexagons")?;
    for (corners, mut cell) in hexagons.filled() {
        let mut feature = layer.feature_of(MvtGeomType::Polygon);
        feature.ring(corners.map(|(x, y)| (units(x), units(y)).into()), true)?;
        feature.tag("count", u64::from(cell.count))?;
        if let Some(value) = figure.aggregated(&mut cell.values) {
            feature.tag(figure.of_hexagon, value)?;
        }
        layer = feature.end();
    }
    Ok(layer.encode())
}

/// Encodes points with `id`, and with the figure if the row has one.
fn point_layer(
    tile: TileId,
    points: &[MapPoint],
    ids: &[String],
    figure: Figure,
) -> Result<Vec<u8>, Error> {
    let mut layer = MvtLayerBuilder::new("points")?;
    for (point, id) in points.iter().zip(ids) {
        let (x, y) = tile.place(point.lat, point.lon);
        let mut feature = layer.feature_of(MvtGeomType::Point);
        feature.points([(units(x), units(y)).into()])?;
        feature.tag("id", id.as_str())?;
        if let Some(value) = point.figure {
            feature.tag(figure.of_row, value.round())?;
        }
        layer = feature.end();
    }
    Ok(layer.encode())
}
