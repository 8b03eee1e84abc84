//! Vector tiles of a map: sales, diagnostics and properties as points where they are few, as hexagons where they are
//! many.
//!
//! A tile is computed from the columns that searches read, with the filters that searches have, and cached under the
//! version of its table. From [`POINTS_ZOOM`] on each row is a point of the layer `points`; above, rows are gathered in
//! hexagons of the layer `hexagons`, with their number and a figure: the median price, or the share of poor energy
//! classes.

mod hexagons;
pub mod mercator;
mod source;

use std::sync::Arc;

use bytes::Bytes;
use fast_mvt::{MvtGeomType, MvtLayerBuilder};
use moka::sync::Cache;

use hexagons::{Hexagons, MARGIN};
use mercator::{TileId, units};
pub use source::TileSource;
use source::{Figure, Spot};
use toise_contract::filter::{Clause, ClauseTest, Filter, POSITION};
use toise_engine::Engine;
use toise_engine::cancellation::Interrupt;

/// Zoom from which each row is a point.
pub const POINTS_ZOOM: u8 = 14;
/// Maximum points of a tile; the first rows of the table are taken.
pub const POINTS_MAX: usize = 5_000;
/// Media type of a tile.
pub const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";
/// Memory for tiles, bytes.
const CACHE_BYTES: u64 = 64 << 20;

/// Why there is no tile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table cannot be read, or the caller has gone away.
    #[error(transparent)]
    Engine(#[from] toise_engine::Error),
    /// A tile cannot be written.
    #[error(transparent)]
    Encoding(#[from] fast_mvt::MvtError),
}

/// Computes tiles. Cheap to clone.
#[derive(Clone)]
pub struct Tiles {
    engine: Arc<Engine>,
    cache: Cache<String, Bytes>,
}

impl Tiles {
    /// Tiles of the tables of an engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        let weigh =
            |key: &String, tile: &Bytes| u32::try_from(key.len() + tile.len()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CACHE_BYTES).weigher(weigh);
        Self {
            engine,
            cache: cache.build(),
        }
    }

    /// The version of a source: it changes whenever a row does.
    ///
    /// # Errors
    /// There is no such table.
    pub fn version(&self, source: &TileSource) -> Result<i64, Error> {
        Ok(source.view(&self.engine)?.version())
    }

    /// The tile of a source with a filter, as Mapbox Vector Tile; empty if it shows nothing. CPU work on the calling
    /// thread and its rayon pool.
    ///
    /// # Errors
    /// The table cannot be read, or the query is cancelled.
    pub fn tile(
        &self,
        source: &TileSource,
        tile: TileId,
        filter: &Filter,
        interrupt: &Interrupt,
    ) -> Result<Bytes, Error> {
        let view = source.view(&self.engine)?;
        let key = format!("{} {} {tile:?} {filter:?}", source.name(), view.version());
        if let Some(tile) = self.cache.get(&key) {
            return Ok(tile);
        }
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
        let made = if tile.z < POINTS_ZOOM {
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
            hexagon_layer(all, source.figure())?
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
            let mut points: Vec<Spot> = states.into_iter().flatten().collect();
            points.sort_unstable_by_key(|spot| spot.row);
            points.truncate(POINTS_MAX);
            let ids = view.ids(source, &self.engine, &points)?;
            point_layer(tile, &points, &ids, source.figure())?
        };
        let made = Bytes::from(made);
        self.cache.insert(key, made.clone());
        Ok(made)
    }
}

/// Hexagons with `count` and the figure, where something has one.
fn hexagon_layer(hexagons: Hexagons, figure: Figure) -> Result<Vec<u8>, Error> {
    let mut layer = MvtLayerBuilder::new("hexagons")?;
    for (corners, mut cell) in hexagons.filled() {
        let mut feature = layer.feature_of(MvtGeomType::Polygon);
        feature.ring(corners.map(|(x, y)| (units(x), units(y)).into()), true)?;
        feature.tag("count", u64::from(cell.count))?;
        if let Some(value) = figure.gathered(&mut cell.values) {
            feature.tag(figure.of_hexagon, value)?;
        }
        layer = feature.end();
    }
    Ok(layer.encode())
}

/// Points with `id` and the figure, where the row has one.
fn point_layer(
    tile: TileId,
    points: &[Spot],
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
