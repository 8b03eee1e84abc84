//! Similar properties: same class and offer nearby, ranked by distance in surface, rooms, price and position.
//!
//! "Nearby" means within [`RADIUS_M`] of the property's position. Without a position, it means the same commune;
//! without a commune, the same postal code; without that, the same department.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type};

use crate::columns::{ID, properties};
use crate::properties::record_key::RecordKey;
use crate::search::page::column;
use crate::search::projection::view::SelectedRows;
use crate::search::projection::{Projection, Result};
use toise_contract::enums::WireEnum;
use toise_contract::filter::{Clause, ClauseTest, Filter, POSITION};
use toise_contract::listings::Property;
use toise_contract::listings::codes::FlxId;
use toise_engine::Error;
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::topk::{Part, TopPage, number_key};
use toise_geo::distance::planar_distance_m;
use toise_lake::schema::{LATITUDE, LONGITUDE};

/// Search radius, metres.
pub const RADIUS_M: f64 = 10_000.0;
/// Relative difference in surface or price that counts as one unit.
pub const SHARE_UNIT: f64 = 0.2;
/// Distance that counts as one unit, metres.
pub const DISTANCE_UNIT_M: f64 = 2_000.0;
/// Units for a value that either property lacks. A difference of one room is one unit.
pub const MISSING_UNITS: f64 = 1.0;

/// The values by which properties are compared.
struct ComparedFigures {
    surface: Option<f64>,
    rooms: Option<f64>,
    price: Option<f64>,
    position: Option<(f64, f64)>,
}

impl ComparedFigures {
    fn from_property(property: &Property) -> Self {
        let habitation = property.habitation.as_ref();
        let price = property
            .price
            .as_ref()
            .and_then(|price| price.latest.as_ref());
        let place = property.location.as_ref();
        Self {
            surface: habitation
                .and_then(|dwelling| dwelling.surface.as_ref()?.total)
                .map(|surface| surface.get()),
            rooms: habitation
                .and_then(|dwelling| dwelling.room_count)
                .map(|rooms| rooms.get()),
            price: price.and_then(|price| price.value).map(|value| value.get()),
            position: place
                .and_then(|place| place.location_coordinate.as_ref()?.location)
                .map(|position| (position.latitude(), position.longitude())),
        }
    }

    /// Returns the distance between two properties, in units.
    fn units_to(&self, other: &Self) -> f64 {
        let share = |own: Option<f64>, other: Option<f64>| match (own, other) {
            (Some(own), Some(other)) if own > 0.0 => (other - own).abs() / own / SHARE_UNIT,
            _ => MISSING_UNITS,
        };
        let rooms = match (self.rooms, other.rooms) {
            (Some(own), Some(other)) => (other - own).abs(),
            _ => MISSING_UNITS,
        };
        let distance = match (self.position, other.position) {
            (Some((lat, lon)), Some((other_lat, other_lon))) => {
                planar_distance_m(lat, lon, other_lat, other_lon) / DISTANCE_UNIT_M
            }
            _ => MISSING_UNITS,
        };
        share(self.surface, other.surface) + rooms + share(self.price, other.price) + distance
    }
}

/// Builds the filter for candidates: same class, same offer, nearby.
fn around(property: &Property, model: &ComparedFigures) -> Filter {
    let mut filter = Filter::new();
    let mut equal = |column: &'static str, value: Option<String>| {
        let is_known = value.is_some();
        filter.extend(value.map(|value| Clause::new(column, ClauseTest::OneOf(vec![value]))));
        is_known
    };
    equal(
        "type",
        property.class.map(|class| class.as_str().to_owned()),
    );
    let offer = property.offer.as_ref();
    equal(
        "offer_type",
        offer.and_then(|offer| Some(offer.offer_type?.as_str().to_owned())),
    );
    if let Some((lat, lon)) = model.position {
        let near = ClauseTest::Within {
            lat,
            lon,
            radius_m: RADIUS_M,
        };
        filter.push(Clause::new(POSITION, near));
        return filter;
    }
    if let Some(place) = &property.location {
        let text = |code: Option<&str>| code.map(str::to_owned);
        let _known = equal(
            "location_insee_code",
            text(place.insee_code.as_ref().map(|code| code.as_str())),
        ) || equal(
            "location_postal_code",
            text(place.postal_code.as_ref().map(|code| code.as_str())),
        ) || equal(
            "location_department",
            text(place.department.as_ref().map(|code| code.as_str())),
        );
    }
    filter
}

/// The columns that candidates are compared on.
struct CandidateColumns {
    id: usize,
    surface: usize,
    rooms: usize,
    price: usize,
    lat: usize,
    lon: usize,
}

impl CandidateColumns {
    fn new() -> Result<Self> {
        Ok(Self {
            id: column(ID)?,
            surface: column("habitation_surface_total")?,
            rooms: column("habitation_room_count")?,
            price: column("price_latest_value")?,
            lat: column(LATITUDE)?,
            lon: column(LONGITUDE)?,
        })
    }

    /// Offers the selected rows to the top-k of the nearest.
    fn offer(
        &self,
        rows: &SelectedRows<'_>,
        model: &ComparedFigures,
        nearest: &mut Part<'_>,
    ) -> std::result::Result<(), Error> {
        let ids = rows.column(self.id)?;
        let ids = ids.values.as_string::<i32>();
        let decoded =
            [self.surface, self.price, self.lat, self.lon].map(|column| rows.column(column));
        let [surface, price, lat, lon] = decoded;
        let (surface, price, lat, lon) = (surface?, price?, lat?, lon?);
        let rooms = rows.column(self.rooms)?;
        let numbers = |values: &dyn Array, row: usize| {
            let values = values.as_primitive::<Float64Type>();
            values.is_valid(row).then(|| values.value(row))
        };
        let rooms = rooms.values.as_primitive::<Int32Type>();
        rows.selected.for_each(|row| {
            let candidate = ComparedFigures {
                surface: numbers(&surface.values, row),
                rooms: rooms.is_valid(row).then(|| f64::from(rooms.value(row))),
                price: numbers(&price.values, row),
                position: numbers(&lat.values, row).zip(numbers(&lon.values, row)),
            };
            let units = model.units_to(&candidate);
            nearest.offer_scored(rows.index, row, number_key(units, false), ids);
        });
        Ok(())
    }
}

impl Projection {
    /// Returns the record keys of the properties most similar to one that satisfy a filter, itself excluded, nearest
    /// first; ties are ordered by identifier. CPU work on the calling thread and its rayon pool.
    ///
    /// # Errors
    /// A column cannot be read, or the query is cancelled.
    pub fn similar(
        &self,
        property: &Property,
        mut filter: Filter,
        size: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordKey>> {
        let model = ComparedFigures::from_property(property);
        filter.extend(around(property, &model));
        let predicate = Predicate::compile(properties(), &filter).map_err(Error::from)?;
        let columns = CandidateColumns::new()?;
        // One more than wanted, because the property itself is among the results.
        let nearest = TopPage::new(size + 1, None);
        let view = self.view();
        let parts = view.scan(
            self.engine(),
            &predicate,
            interrupt,
            || nearest.part(),
            |part, rows| columns.offer(&rows, &model, part),
        )?;
        let is_itself = |id: &str| FlxId::parse(id).is_some_and(|id| Some(id) == property.flx_id);
        let nearest = nearest.finish(parts);
        let others = nearest.hits.iter().filter(|hit| !is_itself(hit.id()));
        let found = others.take(size).map(|hit| self.key_of(&view, hit));
        found.collect()
    }
}
