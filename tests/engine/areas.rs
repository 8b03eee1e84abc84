//! Areas drawn at random: searches, matches, SQL, tiles and market indicators select the rows that `geo` selects.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use serde_json::{Value, json};
use toise::base::clock::Clock;
use toise::contract::cursor::CursorKey;
use toise::engine::Budget;
use toise::engine::cancellation::Interrupt;
use toise::engine::session::Session;
use toise::estimate::live::LiveModel;
use toise::estimate::valuer::Adjustments;
use toise::lake::Lake;
use toise::market::{Market, parse_market};
use toise::opendata::request::{parse_match, parse_search};
use toise::opendata::{Dataset, OpenData};
use toise::tiles::mercator::TileId;
use toise::tiles::{Gathering, TileSource, Tiles};

use crate::support::areas::{self, Judge};
use crate::support::draw::Draw;
use crate::support::mvt::{gathered, point_ids};
use crate::support::rows::{self, Record, id_column, id_of};
use crate::support::sql::{answered, session_over};

/// Areas that are compared in each table.
const AREAS: usize = 200;
/// Maximum records of a page, and of a match.
const PAGE: usize = 100;
const CANDIDATES: usize = 20;
/// A zoom of which a tile shows single rows.
const POINTS: u8 = 14;

/// A table in several files, and everything that reads it.
struct Table {
    dataset: Dataset,
    records: Vec<Record>,
    open_data: OpenData,
    session: Session,
    tiles: Tiles,
    market: Market,
    _folder: tempfile::TempDir,
}

/// Latitude and longitude of a record.
fn position(record: &Record) -> Option<(f64, f64)> {
    let place = record.get("location")?;
    Some((place["lat"].as_f64()?, place["lon"].as_f64()?))
}

/// The tile that shows a position.
fn tile_at((lat, lon): (f64, f64)) -> TileId {
    let origin = TileId {
        z: POINTS,
        x: 0,
        y: 0,
    };
    let (x, y) = origin.world(lat, lon);
    TileId {
        x: x as u32,
        y: y as u32,
        ..origin
    }
}

impl Table {
    fn new(dataset: Dataset, draw: &mut Draw) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let lake = Lake::open(data).unwrap();
        let mut records = Vec::new();
        for size in [400, 150, 40] {
            let more = rows::records(dataset, records.len(), size, draw);
            rows::import(&lake, dataset, &more, Vec::new());
            records.extend(more);
        }
        let open_data = OpenData::open(data, Budget::default()).unwrap();
        let engine = open_data.engine();
        let models = LiveModel::open(data, Adjustments::On);
        Self {
            dataset,
            records,
            session: session_over(engine, Vec::new(), Vec::new()).unwrap(),
            tiles: Tiles::new(Arc::clone(engine), Clock::system()),
            market: Market::new(
                Arc::clone(engine),
                Arc::new(|| None),
                models,
                Clock::system(),
            ),
            open_data,
            _folder: folder,
        }
    }

    /// The records in an area, in the order of their identifiers.
    fn within(&self, area: &Value) -> Vec<&Record> {
        let judge = Judge::new(area);
        let is_within =
            |record: &&Record| position(record).is_some_and(|(lat, lon)| judge.contains(lat, lon));
        let mut found: Vec<&Record> = self.records.iter().filter(is_within).collect();
        found.sort_by(|one, other| id_of(self.dataset, one).cmp(id_of(self.dataset, other)));
        found
    }

    fn compare_search(&self, area: &Value, expected: &[&str]) {
        let body = json!({"filters": {"area": area}, "sortBy": id_column(self.dataset), "sortOrder": "asc",
            "size": PAGE});
        let request = parse_search(self.dataset, &body, &CursorKey::new([9; 32])).unwrap();
        let answer = self.open_data.search(self.dataset, &request).unwrap();
        assert_eq!(answer.total, expected.len() as u64, "search: {area}");
        let records = answer.records.iter();
        let records: Vec<Record> = records
            .map(|record| serde_json::from_slice(record).unwrap())
            .collect();
        let found = records.iter().map(|record| id_of(self.dataset, record));
        assert!(
            found.eq(expected.iter().take(PAGE).copied()),
            "search: {area}"
        );
    }

    fn compare_match(&self, area: &Value, expected: &[&str]) {
        let body = json!({"filters": {"area": area}, "size": CANDIDATES});
        let request = parse_match(self.dataset, &body).unwrap();
        let answer = self.open_data.find_matches(self.dataset, &request).unwrap();
        assert_eq!(answer.total, expected.len() as u64, "match: {area}");
        // Without targets all scores are equal, and equal scores rank by identifier.
        let found = answer.candidates.iter().map(|one| one.id.as_str());
        assert!(
            found.eq(expected.iter().take(CANDIDATES).copied()),
            "match: {area}"
        );
    }

    fn compare_sql(&self, area: &Value, expected: &[&str]) {
        let (id, table) = (id_column(self.dataset), self.dataset.schema().name);
        let query =
            format!("select {id} from {table} where in_area(lat, lon, '{area}') order by 1");
        assert_eq!(
            answered(&self.session, &query).unwrap(),
            expected,
            "{query}"
        );
    }

    /// Compares the tile of the world, and one that shows single rows.
    fn compare_tiles(&self, area: &Value, expected: &[&Record], at: (f64, f64)) {
        let body = json!({"filters": {"area": area}});
        let request = parse_search(self.dataset, &body, &CursorKey::new([9; 32])).unwrap();
        let source = TileSource::OpenData(self.dataset);
        let tile = |id| {
            let made = self.tiles.tile(
                &source,
                id,
                &request.filter,
                Gathering::Hexagons,
                &Interrupt::default(),
            );
            made.unwrap()
        };
        let world = tile(TileId { z: 0, x: 0, y: 0 });
        assert_eq!(gathered(&world), expected.len(), "tile: {area}");
        let shown = tile_at(at);
        let on_tile = expected
            .iter()
            .filter(|record| position(record).map(tile_at) == Some(shown));
        let on_tile: BTreeSet<String> = on_tile
            .map(|record| id_of(self.dataset, record).to_owned())
            .collect();
        assert_eq!(point_ids(&tile(shown)), on_tile, "{shown:?}: {area}");
    }

    /// Compares the number of homes sold.
    fn compare_market(&self, area: &Value, expected: &[&Record]) {
        let body = json!({"level": "department", "offer": "OFFER_BUY", "location": {"area": area}});
        let request = parse_market(&body).unwrap();
        let report = self.market.report(&request, &Interrupt::default()).unwrap();
        let sales = report.rows.column_by_name("sales").unwrap();
        let sales: i64 = sales.as_primitive::<Int64Type>().values().iter().sum();
        let is_counted = |record: &&&Record| {
            let kind = record.get("property_type").and_then(Value::as_str);
            kind.is_some_and(|kind| ["Appartement", "Maison"].contains(&kind))
                && record.get("is_open_market") == Some(&json!(true))
                && record.contains_key("transaction_date")
                && record.contains_key("departement_code")
        };
        let expected = expected.iter().filter(is_counted).count();
        assert_eq!(sales, expected as i64, "market: {area}");
    }
}

fn check(dataset: Dataset, seed: u64) {
    let mut draw = Draw::new(seed);
    let table = Table::new(dataset, &mut draw);
    let (mut found, mut left_out) = (0, 0);
    for _ in 0..AREAS {
        let (lat, lon) = rows::position(&mut draw);
        let radius = *draw.one_of(&[0.01, 0.03, 0.1, 2.0]);
        let area = areas::area(&mut draw, lat, lon, radius);
        let expected = table.within(&area);
        let ids: Vec<&str> = expected
            .iter()
            .map(|record| id_of(dataset, record))
            .collect();
        table.compare_search(&area, &ids);
        table.compare_match(&area, &ids);
        table.compare_sql(&area, &ids);
        table.compare_tiles(&area, &expected, (lat, lon));
        if dataset == Dataset::Dvf {
            table.compare_market(&area, &expected);
        }
        found += expected.len();
        left_out += table.records.len() - expected.len();
    }
    assert!(found > 5_000 && left_out > 5_000, "{found} {left_out}");
}

#[test]
fn everything_that_takes_an_area_selects_the_sales_that_geo_selects() {
    check(Dataset::Dvf, 71);
}

#[test]
fn everything_that_takes_an_area_selects_the_diagnostics_that_geo_selects() {
    check(Dataset::Dpe, 72);
}
