//! Builds the feature vectors of the trees.
//!
//! The trees of own features use the home alone. The trees of place also use its position, and the residual trees also
//! its surroundings relative to the level assigned to it. Prices never fall with surface, land or a better energy
//! class, because the trees are constrained to be monotonic and no surroundings feature depends on these three.

use std::f64::consts::{FRAC_PI_3, FRAC_PI_6};

use super::boosting::Direction;
use super::grid::GridPosition;
use super::home::{Home, HomeClass};
use super::market::Surroundings;
use super::sale::SaleColumns;

/// A home's own features, without its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnFeatures {
    /// Flat or house.
    pub class: HomeClass,
    /// Habitable area, square metres.
    pub surface_m2: f64,
    /// Main rooms; NaN where unknown, as for all fields below.
    pub rooms: f32,
    /// Land, square metres.
    pub land_m2: f32,
    /// Energy class, 0 for A to 6 for G.
    pub energy: f32,
    /// Year of construction.
    pub construction_year: f32,
}

impl From<&Home> for OwnFeatures {
    fn from(home: &Home) -> Self {
        // Main rooms are estimated as bedrooms plus a living room if only the bedrooms are known.
        let rooms = home.rooms.or(home.bedrooms.map(|bedrooms| bedrooms + 1.0));
        let number = |value: Option<f64>| value.map_or(f32::NAN, |value| value as f32);
        Self {
            class: home.class,
            surface_m2: home.surface_m2,
            rooms: number(rooms),
            land_m2: number(home.land_m2),
            energy: home.energy.map_or(f32::NAN, |grade| f32::from(grade as u8)),
            construction_year: home.construction_year.map_or(f32::NAN, |year| year as f32),
        }
    }
}

toise_base::named! {
    /// The part of a price that a feature explains.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Topic {
        Location = "location",
        Comparables = "comparables",
        Surface = "surface",
        Rooms = "roomCount",
        Land = "landSurface",
        Energy = "epcEnergy",
        ConstructionYear = "constructionYear",
        Date = "date",
    }
}

/// Topic and direction of a home's own features.
pub const OWN_FEATURES: [(Topic, Direction); 6] = [
    (Topic::Surface, Direction::Free),
    (Topic::Surface, Direction::Up),
    (Topic::Rooms, Direction::Free),
    (Topic::Land, Direction::Up),
    (Topic::Energy, Direction::Down),
    (Topic::ConstructionYear, Direction::Free),
];

/// Additional axes along which the position is measured, in radians from east: trees can only split perpendicular to
/// the given axes, and towns are not aligned with meridians.
const AXES: [f64; 4] = [FRAC_PI_6, FRAC_PI_3, -FRAC_PI_6, -FRAC_PI_3];
/// Length of a degree of longitude relative to a degree of latitude, in the middle of France.
const LONGITUDE_SHARE: f64 = 0.69;

/// Number of place features: longitude, latitude and the axes.
const PLACE_FEATURES: usize = 2 + AXES.len();

/// Number of features of the trees of place: own features and place features.
pub const PLACED_FEATURES: usize = OWN_FEATURES.len() + PLACE_FEATURES;

/// Returns topic and direction of a feature of the trees of place.
pub fn placed_feature(feature: usize) -> (Topic, Direction) {
    let place = (Topic::Location, Direction::Free);
    OWN_FEATURES.get(feature).copied().unwrap_or(place)
}

/// Number of surroundings features, which follow the own and place features.
const SURROUNDINGS_FEATURES: usize = 18;

/// Returns topic and direction of a feature of the residual trees. The last feature is the prediction of the trees of
/// place, which increases with surface.
pub fn residual_feature(feature: usize) -> (Topic, Direction) {
    match feature.checked_sub(PLACED_FEATURES) {
        None => placed_feature(feature),
        Some(0..5) => (Topic::Location, Direction::Free),
        Some(5..16) => (Topic::Comparables, Direction::Free),
        Some(16) => (Topic::Date, Direction::Free),
        Some(_) => (Topic::Location, Direction::Up),
    }
}

/// Number of features of the residual trees.
pub const RESIDUAL_FEATURES: usize = PLACED_FEATURES + SURROUNDINGS_FEATURES;

/// Returns a home's own features as a row.
pub fn own_row(own: &OwnFeatures) -> [f32; OWN_FEATURES.len()] {
    [
        f32::from(own.class as u8),
        own.surface_m2.ln() as f32,
        own.rooms,
        own.land_m2.ln_1p(),
        own.energy,
        own.construction_year,
    ]
}

/// Returns a home's own and place features as a row.
pub fn placed_row(home: &OwnFeatures, position: GridPosition) -> [f32; PLACED_FEATURES] {
    let mut row = [f32::NAN; PLACED_FEATURES];
    row[..OWN_FEATURES.len()].copy_from_slice(&own_row(home));
    let (longitude, latitude) = (position.longitude(), position.latitude());
    row[OWN_FEATURES.len()] = longitude as f32;
    row[OWN_FEATURES.len() + 1] = latitude as f32;
    for (along, axis) in row[OWN_FEATURES.len() + 2..].iter_mut().zip(AXES) {
        *along = (LONGITUDE_SHARE * longitude * axis.cos() + latitude * axis.sin()) as f32;
    }
    row
}

/// Returns the full row of the residual trees: the features of the trees of place (`home_row`), the surroundings, and
/// the prediction of the trees of place (`placed`) in log price above the level of the country.
pub fn residual_row(
    home_row: &[f32; PLACED_FEATURES],
    around: &Surroundings,
    placed: f64,
) -> [f32; RESIDUAL_FEATURES] {
    let mut row = [f32::NAN; RESIDUAL_FEATURES];
    row[..PLACED_FEATURES].copy_from_slice(home_row);
    let against = |level: f64| (level - around.level) as f32;
    let values = [
        around.level as f32,
        against(around.cells[0]),
        against(around.cells[1]),
        against(around.cells[2]),
        around.cell_weight.ln_1p() as f32,
        against(around.wide),
        against(around.narrow),
        against(around.weighted_median),
        against(around.similar_rooms),
        against(around.same_place),
        around.same_place_weight as f32,
        around.spread as f32,
        around.slope as f32,
        around.radius_m.ln_1p() as f32,
        around.age as f32,
        around.comparables as f32,
        around.horizon as f32,
        against(around.country + placed),
    ];
    row[PLACED_FEATURES..].copy_from_slice(&values);
    row
}

/// Returns the row of a home as of the day of the last known sale. The width of the error is learned and predicted from
/// this row. The interval therefore widens with the horizon only by the possible drift of the market.
pub fn at_last_sale(
    row: &[f32; RESIDUAL_FEATURES],
    around: &Surroundings,
) -> [f32; RESIDUAL_FEATURES] {
    let mut row = *row;
    row[PLACED_FEATURES + LEVEL] -= around.course as f32;
    row[PLACED_FEATURES + AGE] -= around.horizon as f32;
    row[PLACED_FEATURES + HORIZON] = 0.0;
    row
}

/// Indexes of three features among the surroundings features.
const LEVEL: usize = 0;
const AGE: usize = 14;
const HORIZON: usize = 16;

/// Returns the own features of a recorded sale.
pub fn own_features_of(sales: &SaleColumns, row: usize) -> OwnFeatures {
    OwnFeatures {
        class: sales.class(row),
        surface_m2: f64::from(sales.surface_m2[row]),
        rooms: sales.rooms[row],
        land_m2: sales.land_m2[row],
        energy: sales.energy[row],
        construction_year: sales.construction_year[row],
    }
}
