//! What is known of a home to be valued.
//!
//! A [`Home`] is made by the doors (HTTP, a portfolio, SQL), each of which refuses what is absurd first; the estimator
//! trusts it. What is unknown is `None`: a value is never invented to fill a gap.

use chrono::NaiveDate;

/// The two classes that are valued, each judged by its own trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A flat.
    Flat,
    /// A house.
    House,
}

/// A letter of a diagnostic, of energy or of climate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// Best.
    A,
    #[allow(missing_docs)]
    B,
    #[allow(missing_docs)]
    C,
    #[allow(missing_docs)]
    D,
    #[allow(missing_docs)]
    E,
    #[allow(missing_docs)]
    F,
    /// Worst.
    G,
}

/// A home, as of the day its value is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Home {
    /// Degrees east, WGS 84.
    pub longitude: f64,
    /// Degrees north, WGS 84.
    pub latitude: f64,
    /// Flat or house.
    pub class: Class,
    /// Living surface in square metres, above zero.
    pub surface_m2: f64,
    /// Main rooms.
    pub rooms: Option<f64>,
    /// Bedrooms.
    pub bedrooms: Option<f64>,
    /// Land that comes with the home, in square metres.
    pub land_m2: Option<f64>,
    /// Year of construction.
    pub construction_year: Option<i32>,
    /// Energy class of its diagnostic.
    pub energy: Option<Grade>,
    /// Climate class of its diagnostic.
    pub climate: Option<Grade>,
    /// Storey the home is on; the ground floor is 0.
    pub floor: Option<f64>,
    /// Storeys of the building.
    pub floors: Option<f64>,
    /// What open data cannot teach.
    pub extras: Extras,
    /// The day the value is asked for: nothing later is looked at.
    pub date: NaiveDate,
}

/// What recorded sales do not tell; each enters as a bounded adjustment.
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
    /// Furniture that is sold with it.
    pub furniture: Option<Furniture>,
}

/// General condition, from worst to best, as the contract names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    #[allow(missing_docs)]
    Decrepit,
    #[allow(missing_docs)]
    ToBeRenovated,
    #[allow(missing_docs)]
    ToBeRefreshed,
    #[allow(missing_docs)]
    Good,
    #[allow(missing_docs)]
    Renovated,
    #[allow(missing_docs)]
    Excellent,
    #[allow(missing_docs)]
    BrandNew,
    #[allow(missing_docs)]
    ToBeBuilt,
}

/// How a home is furnished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Furniture {
    #[allow(missing_docs)]
    Unfurnished,
    #[allow(missing_docs)]
    Partially,
    #[allow(missing_docs)]
    Fully,
}
