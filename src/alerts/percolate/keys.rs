//! Index keys: texts and cells that a listing must have for an alert to match, so that few alerts have to be tested.
//!
//! All clauses of a filter must hold, so the keys of any one clause suffice. The keys come from the clause that the
//! fewest listings satisfy. A clause on a text column gives its texts as keys, a clause on an area gives the grid cells
//! that cover it, and alternatives give the keys of each. A key only excludes listings on which its clause is false.

use std::collections::HashSet;

use toise_contract::filter::{Clause, ClauseTest, Filter, position_columns};
use toise_geo::distance::covering_span_degrees;
use toise_lake::schema::{ColumnKind, TableSchema};

/// Cell sizes of the grids, in degrees of latitude and longitude: 3 km to 220 km from south to north.
pub(super) const CELL_DEGREES: [f64; 4] = [1.0 / 32.0, 1.0 / 8.0, 0.5, 2.0];
/// Maximum cells that cover an area; an area that needs more uses the next coarser grid.
const CELLS_MAX: f64 = 16.0;
/// Area that contains nearly all listings, square degrees of latitude and longitude: mainland France.
const COUNTRY_SQUARE_DEGREES: f64 = 64.0;
/// Density of listings in searched areas relative to the average.
const CROWDING: f64 = 5.0;
/// Share of listings with one value of a column, by prefix of the column name; the first match applies.
#[rustfmt::skip]
const SHARES: [(&str, f64); 16] = [
    ("location_iris_code", 2e-5), ("location_insee_code", 2e-4), ("location_postal_code", 2e-4),
    ("location_department", 1e-2), ("iris_code", 2e-5), ("insee_code", 2e-4), ("postal_code", 2e-4),
    ("departement_code", 1e-2), ("code_insee_ban", 2e-4), ("code_postal_ban", 2e-4), ("code_departement_ban", 1e-2),
    ("type", 0.3), ("offer_type", 0.5), ("seller_type", 0.5), ("seller_", 1e-4), ("source", 0.1),
];
/// Share of listings with one text of a column with many distinct texts.
const TEXT_SHARE: f64 = 1e-6;
/// Share of listings with one value of any other column.
const VALUE_SHARE: f64 = 0.5;

/// A cell of a grid: index in [`CELL_DEGREES`], then row and column counted from latitude and longitude 0.
pub(super) type GridCell = (u8, i32, i32);

/// A text or cell that a listing must have for an alert to match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum IndexKey {
    /// A text in a column.
    Text(usize, String),
    /// A position, given by its two columns, in a cell.
    Cell([usize; 2], GridCell),
}

/// Returns the cell of a position in a grid.
pub(super) fn grid_cell(grid: usize, latitude: f64, longitude: f64) -> GridCell {
    // Degrees are between -180 and 180.
    let step = |degrees: f64| (degrees / CELL_DEGREES[grid]).floor() as i32;
    (grid as u8, step(latitude), step(longitude))
}

/// Returns the keys of a filter: a listing that it selects has at least one of them. `None` if it may select any
/// listing.
pub(super) fn keys(schema: &TableSchema, filter: &[Clause]) -> Option<Vec<IndexKey>> {
    Some(best(schema, filter)?.keys)
}

/// Keys with the share of listings that have one of them.
struct SelectiveKeys {
    share: f64,
    keys: Vec<IndexKey>,
}

/// Returns the keys of the most selective clause.
fn best(schema: &TableSchema, filter: &[Clause]) -> Option<SelectiveKeys> {
    let all = filter
        .iter()
        .filter_map(|clause| clause_keys(schema, clause));
    all.min_by(|one, other| one.share.total_cmp(&other.share))
}

fn clause_keys(schema: &TableSchema, clause: &Clause) -> Option<SelectiveKeys> {
    match &clause.test {
        ClauseTest::OneOf(texts) => {
            let (column, described) = schema.column(&clause.column)?;
            let share = match described.kind {
                ColumnKind::Text => TEXT_SHARE,
                ColumnKind::Category => share_of_value(&clause.column),
                _ => return None,
            };
            Some(SelectiveKeys {
                share: share * texts.len() as f64,
                keys: texts
                    .iter()
                    .map(|text| IndexKey::Text(column, text.clone()))
                    .collect(),
            })
        }
        ClauseTest::Within { lat, lon, radius_m } => {
            let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
            let (lats, lons) = (
                [lat - lat_span, lat + lat_span],
                [lon - lon_span, lon + lon_span],
            );
            place_keys(schema, &clause.column, lats, lons)
        }
        ClauseTest::InBox {
            top,
            left,
            bottom,
            right,
        } => place_keys(schema, &clause.column, [*bottom, *top], [*left, *right]),
        ClauseTest::InArea(area) => {
            let [south, north, west, east] = area.bounds();
            place_keys(schema, &clause.column, [south, north], [west, east])
        }
        ClauseTest::Any(filters) => alternative_keys(schema, filters),
        // The layer may be replaced by one with another extent while the alert is in the index.
        ClauseTest::InLayer(_)
        | ClauseTest::Number { .. }
        | ClauseTest::Day { .. }
        | ClauseTest::Moment { .. }
        | ClauseTest::Is(_)
        | ClauseTest::SomeItem(_) => None,
    }
}

fn share_of_value(column: &str) -> f64 {
    let known = SHARES.iter().find(|(start, _)| column.starts_with(start));
    known.map_or(VALUE_SHARE, |(_, share)| *share)
}

/// Returns the keys of all alternatives, because one of them must hold; `None` if an alternative has no keys.
fn alternative_keys(schema: &TableSchema, filters: &[Filter]) -> Option<SelectiveKeys> {
    let (mut share, mut keys) = (0.0, HashSet::new());
    for filter in filters {
        let one = best(schema, filter)?;
        share += one.share;
        keys.extend(one.keys);
    }
    Some(SelectiveKeys {
        share,
        keys: keys.into_iter().collect(),
    })
}

/// Returns the cells that cover a box of latitudes and longitudes, in the finest grid that needs at most [`CELLS_MAX`].
fn place_keys(
    schema: &TableSchema,
    position: &str,
    lats: [f64; 2],
    lons: [f64; 2],
) -> Option<SelectiveKeys> {
    let [lat, lon] = position_columns(position);
    let columns = [schema.column(&lat)?.0, schema.column(&lon)?.0];
    let steps = |[least, greatest]: [f64; 2], edge: f64| {
        ((least / edge).floor(), (greatest / edge).floor())
    };
    for (grid, edge) in CELL_DEGREES.into_iter().enumerate() {
        let (rows, cells) = (steps(lats, edge), steps(lons, edge));
        let count = (rows.1 - rows.0 + 1.0) * (cells.1 - cells.0 + 1.0);
        if count > CELLS_MAX {
            continue;
        }
        let whole = |(first, last): (f64, f64)| first as i32..=last as i32;
        let keys = whole(rows)
            .flat_map(|row| whole(cells).map(move |column| (grid as u8, row, column)))
            .map(|cell| IndexKey::Cell(columns, cell));
        return Some(SelectiveKeys {
            share: count * edge * edge / COUNTRY_SQUARE_DEGREES * CROWDING,
            keys: keys.collect(),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use toise_contract::listings::filters::{ListingKind, parse_search_query};
    use toise_listings::columns::properties;

    fn keys_of(filter: Value) -> Option<Vec<IndexKey>> {
        let query = json!({ "filterProperty": filter });
        let filter = parse_search_query(ListingKind::Property, &query).unwrap();
        keys(properties(), &filter)
    }

    fn text(column: &str, text: &str) -> IndexKey {
        IndexKey::Text(properties().column(column).unwrap().0, text.into())
    }

    #[test]
    fn the_most_selective_clause_gives_the_keys() {
        let asked = json!({"type": ["CLASS_FLAT"], "location": [{"postalCode": "69003"}, {"postalCode": "69006"}],
            "offer": [{"type": "OFFER_BUY"}], "price": {"latest": {"value": {"max": 300_000}}}});
        let codes = ["69003", "69006"].map(|code| text("location_postal_code", code));
        assert_eq!(keys_of(asked), Some(codes.to_vec()));
        let national = json!({"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}]});
        assert_eq!(keys_of(national), Some(vec![text("type", "CLASS_FLAT")]));
        assert_eq!(
            keys_of(json!({"habitation": {"roomCount": {"min": 3}}})),
            None
        );
        assert_eq!(keys_of(json!({})), None);
    }

    #[test]
    fn alternatives_give_the_keys_of_each_unless_one_has_none() {
        let circle = json!({"locationCoordinate": {"location": {"geoDistance":
            {"pin": {"lat": 45.75, "lon": 4.85}, "distanceKm": 2}}}});
        let mixed = keys_of(json!({"location": [{"inseeCode": "48095"}, circle]})).unwrap();
        assert!(mixed.contains(&text("location_insee_code", "48095")));
        let cells = mixed.iter().filter(|key| matches!(key, IndexKey::Cell(..)));
        assert!((1..=16).contains(&cells.count()));
        let far = json!({"locationCoordinate": {"location": {"geoDistance":
            {"pin": {"lat": 45.75, "lon": 4.85}, "distanceKm": 2_000}}}});
        assert_eq!(
            keys_of(json!({"location": [{"inseeCode": "48095"}, far]})),
            None
        );
    }

    #[test]
    fn every_position_in_a_place_lies_in_one_of_its_cells() {
        for km in [0.1, 1.0, 7.0, 40.0, 200.0] {
            for (lat, lon) in [(48.85, 2.35), (0.0, 0.0), (-21.1, 55.5), (14.6, -61.0)] {
                let asked = json!({"location": [{"locationCoordinate": {"location": {"geoDistance":
                    {"pin": {"lat": lat, "lon": lon}, "distanceKm": km}}}}]});
                let keys = keys_of(asked).unwrap();
                let (lat_span, lon_span) = covering_span_degrees(lat, km * 1_000.0);
                for step in -20..=20 {
                    for other in -20..=20 {
                        let share = |step: i32| f64::from(step) / 20.0;
                        let at = (lat + lat_span * share(step), lon + lon_span * share(other));
                        let is_kept = |key: &IndexKey| match key {
                            IndexKey::Cell(_, cell) => {
                                *cell == grid_cell(cell.0.into(), at.0, at.1)
                            }
                            IndexKey::Text(..) => false,
                        };
                        assert!(
                            keys.iter().any(is_kept),
                            "{at:?} of {km} km around {lat}, {lon}"
                        );
                    }
                }
            }
        }
    }
}
