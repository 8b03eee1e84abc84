//! Describes a home to be valued by its characteristics.
//!
//! A [`Home`] is built by the callers (HTTP, a portfolio, SQL), which reject absurd values first; the estimator does
//! not check them again. An unknown value is `None` and is never replaced by an invented one.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// The two classes that can be valued. The class is a feature of the trees; levels and comparables are separate by
/// class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HomeClass {
    /// A flat.
    Flat,
    /// A house.
    House,
}

/// A class of an energy diagnostic, A to G, for energy or climate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// The best class.
    A,
    /// Class B.
    B,
    /// Class C.
    C,
    /// Class D.
    D,
    /// Class E.
    E,
    /// Class F.
    F,
    /// The worst class.
    G,
}

impl Grade {
    /// All classes, best first.
    pub const ALL: [Self; 7] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
    ];

    /// Returns the letter of the class.
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
            Self::F => 'F',
            Self::G => 'G',
        }
    }
}

/// A home on its valuation date.
#[derive(Clone, Debug, PartialEq)]
pub struct Home {
    /// Degrees east, WGS 84.
    pub longitude: f64,
    /// Degrees north, WGS 84.
    pub latitude: f64,
    /// Class: flat or house.
    pub class: HomeClass,
    /// Habitable area in square metres, above zero.
    pub surface_m2: f64,
    /// Number of main rooms.
    pub rooms: Option<f64>,
    /// Number of bedrooms.
    pub bedrooms: Option<f64>,
    /// Land sold with the home, in square metres.
    pub land_m2: Option<f64>,
    /// Year of construction.
    pub construction_year: Option<i32>,
    /// Energy class of its diagnostic.
    pub energy: Option<Grade>,
    /// Climate class of its diagnostic.
    pub climate: Option<Grade>,
    /// Storey the home is on; the ground floor is 0.
    pub floor: Option<f64>,
    /// Number of storeys of the building.
    pub floors: Option<f64>,
    /// Characteristics that recorded sales do not contain.
    pub extras: Extras,
    /// The valuation date; later sales are ignored.
    pub date: NaiveDate,
}

/// Characteristics that recorded sales do not contain; each one becomes a bounded adjustment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// A balcony.
    pub has_balcony: Option<bool>,
    /// A cellar.
    pub has_cellar: Option<bool>,
    /// A garage.
    pub has_garage: Option<bool>,
    /// A lift.
    pub has_lift: Option<bool>,
    /// A parking space.
    pub has_parking: Option<bool>,
    /// A pool.
    pub has_pool: Option<bool>,
    /// A terrace.
    pub has_terrace: Option<bool>,
    /// General condition.
    pub condition: Option<Condition>,
    /// Furniture sold with the home.
    pub furniture: Option<Furniture>,
}

/// General condition, from worst to best, with the contract's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    /// Barely habitable.
    Decrepit,
    /// Needs a renovation.
    ToBeRenovated,
    /// Needs painting and small repairs.
    ToBeRefreshed,
    /// In good condition.
    Good,
    /// Renovated.
    Renovated,
    /// In excellent condition.
    Excellent,
    /// Never lived in.
    BrandNew,
    /// Sold before it is built.
    ToBeBuilt,
}

/// How a home is furnished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Furniture {
    /// Without furniture.
    Unfurnished,
    /// Partly furnished.
    Partially,
    /// Furnished.
    Fully,
}
