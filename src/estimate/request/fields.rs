//! The fields of a home to be valued: for each one its path in a body, its column in a portfolio and in SQL, and its
//! valid values.
//!
//! Bodies, portfolio rows, arguments of the SQL functions and the OpenAPI document are all derived from [`FIELDS`], so
//! they cannot disagree. Bounds are wide: they exclude the impossible, not the rare.

use toise_contract::enums::{
    EnumEnergyClassification, EnumFurniture, EnumGreenhouseClassification,
    EnumPropertyGeneralCondition, WireEnum,
};

/// Minimum habitable area, m²: smaller rooms are not sold as homes.
pub const SURFACE_M2_MIN: f64 = 5.0;
/// Maximum habitable area, m².
pub const SURFACE_M2_MAX: f64 = 5_000.0;
/// Maximum number of rooms, and of bedrooms.
pub const ROOMS_MAX: f64 = 100.0;
/// Maximum land sold with a home, m²: a thousand hectares.
pub const LAND_M2_MAX: f64 = 10_000_000.0;
/// Earliest year of construction.
pub const YEAR_MIN: f64 = 1_000.0;
/// Latest year of construction: off-plan sales lie in the future.
pub const YEAR_MAX: f64 = 2_100.0;
/// Lowest storey: basements are negative.
pub const FLOOR_MIN: f64 = -10.0;
/// Highest storey, and maximum number of storeys.
pub const FLOOR_MAX: f64 = 200.0;
/// Maximum values in `generalConditions`: all that exist.
pub const CONDITIONS_MAX: usize = EnumPropertyGeneralCondition::TABLE.values.len();
/// Classes that can be valued.
pub const CLASSES: [&str; 2] = ["CLASS_FLAT", "CLASS_HOUSE"];
/// Offers that can be valued.
pub const OFFERS: [&str; 1] = ["OFFER_BUY"];
/// Path of the position in a body.
pub const POSITION_PATH: &str = "location.locationCoordinate.location";

/// One characteristic of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table tells")]
pub enum Input {
    Longitude,
    Latitude,
    Class,
    Surface,
    Rooms,
    Bedrooms,
    Land,
    Year,
    Energy,
    Climate,
    Floor,
    Date,
    Floors,
    Conditions,
    Furniture,
    Balcony,
    Cellar,
    Garage,
    Lift,
    Parking,
    Pool,
    Terrace,
    Offer,
}

/// The valid values of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number between two bounds, both included.
    Number(f64, f64),
    /// A whole number between two bounds, both included.
    Whole(f64, f64),
    /// True or false.
    Flag,
    /// One value of a closed set.
    OneOf(&'static [&'static str]),
    /// A list of values of a closed set; in a portfolio a single one.
    Some(&'static [&'static str]),
    /// A day.
    Day,
}

/// A field of a home to be valued.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The characteristic it sets.
    pub input: Input,
    /// Its path in a body; empty if a body has no such field.
    pub path: &'static str,
    /// Its column in a portfolio; empty if a portfolio has no such column.
    pub column: &'static str,
    /// Its valid values.
    pub kind: Kind,
    /// Whether a body must contain it.
    pub is_required: bool,
    /// Its description, with the unit.
    pub about: &'static str,
}

/// Columns that a portfolio must have.
pub const REQUIRED_COLUMNS: [&str; 4] = ["longitude", "latitude", "type", "surface_m2"];

const fn required(
    input: Input,
    path: &'static str,
    column: &'static str,
    kind: Kind,
    about: &'static str,
) -> Field {
    Field {
        input,
        path,
        column,
        kind,
        is_required: true,
        about,
    }
}

const fn optional(
    input: Input,
    path: &'static str,
    column: &'static str,
    kind: Kind,
    about: &'static str,
) -> Field {
    Field {
        input,
        path,
        column,
        kind,
        is_required: false,
        about,
    }
}

const ENERGY: Kind = Kind::OneOf(EnumEnergyClassification::TABLE.values);
const CLIMATE: Kind = Kind::OneOf(EnumGreenhouseClassification::TABLE.values);
const FURNITURE: Kind = Kind::OneOf(EnumFurniture::TABLE.values);
const CONDITIONS: Kind = Kind::Some(EnumPropertyGeneralCondition::TABLE.values);

/// All fields, in the order of a portfolio's columns and of the SQL arguments.
#[rustfmt::skip]
pub static FIELDS: [Field; 23] = [
    required(Input::Longitude, "location.locationCoordinate.location[0]", "longitude", Kind::Number(-180.0, 180.0),
        "Longitude, degrees (WGS 84)"),
    required(Input::Latitude, "location.locationCoordinate.location[1]", "latitude", Kind::Number(-90.0, 90.0),
        "Latitude, degrees (WGS 84)"),
    required(Input::Class, "type", "type", Kind::OneOf(&CLASSES),
        "What is valued: flats and houses are"),
    required(Input::Surface, "habitation.surface.total", "surface_m2", Kind::Number(SURFACE_M2_MIN, SURFACE_M2_MAX),
        "Living surface, m2"),
    required(Input::Rooms, "habitation.roomCount", "room_count", Kind::Whole(0.0, ROOMS_MAX),
        "Main rooms; 0 for unknown"),
    required(Input::Bedrooms, "habitation.bedroomCount", "bedroom_count", Kind::Whole(0.0, ROOMS_MAX),
        "Bedrooms, not more than the main rooms"),
    optional(Input::Land, "land.surface", "land_surface_m2", Kind::Number(0.0, LAND_M2_MAX),
        "Land that comes with the home, m2"),
    optional(Input::Year, "habitation.propertyCondition.constructionYear", "construction_year",
        Kind::Whole(YEAR_MIN, YEAR_MAX), "Year of construction"),
    optional(Input::Energy, "habitation.climate.epcEnergy", "epc_energy", ENERGY,
        "Energy class of the diagnostic; NC and UNKNOWN tell nothing"),
    optional(Input::Climate, "habitation.climate.epcClimate", "epc_climate", CLIMATE,
        "Climate class of the diagnostic; NC and UNKNOWN tell nothing"),
    optional(Input::Floor, "habitation.features.propertyFloor", "floor", Kind::Whole(FLOOR_MIN, FLOOR_MAX),
        "Storey the home is on; 0 is the ground floor, basements are negative"),
    optional(Input::Date, "", "valuation_date", Kind::Day,
        "Day the value is asked for, today where it is not said: nothing later is looked at"),
    optional(Input::Floors, "habitation.features.propertyTotalFloor", "total_floor", Kind::Whole(0.0, FLOOR_MAX),
        "Storeys of the building, not fewer than the storey of the home"),
    optional(Input::Conditions, "habitation.propertyCondition.generalConditions", "general_condition", CONDITIONS,
        "General condition; of several the worst counts"),
    optional(Input::Furniture, "habitation.features.furniture", "furniture", FURNITURE,
        "How far it is sold furnished"),
    optional(Input::Balcony, "habitation.characteristics.hasBalcony", "has_balcony", Kind::Flag, "A balcony"),
    optional(Input::Cellar, "habitation.characteristics.hasCellar", "has_cellar", Kind::Flag, "A cellar"),
    optional(Input::Garage, "habitation.characteristics.hasGarage", "has_garage", Kind::Flag, "A garage"),
    optional(Input::Lift, "habitation.characteristics.hasLift", "has_lift", Kind::Flag, "A lift"),
    optional(Input::Parking, "habitation.characteristics.hasParking", "has_parking", Kind::Flag, "A parking space"),
    optional(Input::Pool, "habitation.characteristics.hasPool", "has_pool", Kind::Flag, "A pool"),
    optional(Input::Terrace, "habitation.characteristics.hasTerrace", "has_terrace", Kind::Flag, "A terrace"),
    required(Input::Offer, "offer.type", "", Kind::OneOf(&OFFERS),
        "How it is offered: only sales are valued"),
];

impl Field {
    /// The field of a portfolio column; `None` for an unknown column.
    pub fn of_column(column: &str) -> Option<&'static Field> {
        columns().find(|field| field.column == column)
    }
}

/// The fields that portfolios and SQL functions accept, in order.
pub fn columns() -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|field| !field.column.is_empty())
}
