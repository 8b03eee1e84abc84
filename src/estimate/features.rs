//! What the trees are shown: a home's own features, and for the second trees its surroundings against the level it was
//! put at. Prices never fall with surface, land or a better energy class: the trees are bound to it, and nothing of the
//! surroundings depends on these.

use super::home::{Class, Home};
use super::market::Surroundings;
use super::place::Position;
use super::trees::Direction;

/// A home's own features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Flat or house.
    pub class: Class,
    /// Living surface, square metres.
    pub surface_m2: f64,
    /// Main rooms; NaN where unknown, as all that follow.
    pub rooms: f32,
    /// Land, square metres.
    pub land_m2: f32,
    /// Energy class, 0 for A to 6 for G.
    pub energy: f32,
    /// Year of construction.
    pub construction_year: f32,
}

impl From<&Home> for Own {
    fn from(home: &Home) -> Self {
        // Main rooms are bedrooms and a living room where only the former are known.
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

/// Part of a price a feature speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Location,
    Comparables,
    Surface,
    Rooms,
    Land,
    Energy,
    ConstructionYear,
    Date,
}

/// Features a home has of itself.
pub const OWN: [(Topic, Direction); 6] = [
    (Topic::Surface, Direction::Free),
    (Topic::Surface, Direction::Up),
    (Topic::Rooms, Direction::Free),
    (Topic::Land, Direction::Up),
    (Topic::Energy, Direction::Down),
    (Topic::ConstructionYear, Direction::Free),
];

/// Features of its surroundings, after its own.
pub const AROUND: [(Topic, Direction); 19] = [
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Location, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Comparables, Direction::Free),
    (Topic::Date, Direction::Free),
];

/// Features of the second trees.
pub const ALL: usize = OWN.len() + AROUND.len();

/// The features a home has of itself.
pub fn own(own: &Own) -> [f32; OWN.len()] {
    [
        f32::from(own.class as u8),
        own.surface_m2.ln() as f32,
        own.rooms,
        own.land_m2.ln_1p(),
        own.energy,
        own.construction_year,
    ]
}

/// All features.
pub fn all(home: &Own, position: Position, around: &Surroundings) -> [f32; ALL] {
    let mut row = [f32::NAN; ALL];
    row[..OWN.len()].copy_from_slice(&own(home));
    let against = |level: f64| (level - around.level) as f32;
    let values = [
        position.longitude() as f32,
        position.latitude() as f32,
        around.level as f32,
        against(around.cells[0]),
        against(around.cells[1]),
        against(around.cells[2]),
        around.cell_weight.ln_1p() as f32,
        against(around.wide),
        against(around.narrow),
        against(around.middle),
        against(around.alike),
        against(around.same_place),
        around.same_place_weight as f32,
        around.spread as f32,
        around.slope as f32,
        around.radius_m.ln_1p() as f32,
        around.age as f32,
        around.comparables as f32,
        around.horizon as f32,
    ];
    row[OWN.len()..].copy_from_slice(&values);
    row
}

/// The direction each feature may move the price in.
pub fn directions(of: &[(Topic, Direction)]) -> impl Iterator<Item = Direction> {
    of.iter().map(|(_, direction)| *direction)
}
