//! Defines the fields of a home to be valued: the path in a body, the column in a portfolio and in SQL, and the valid
//! values of each.
//!
//! Bodies, rows of a portfolio, arguments of the SQL functions and the OpenAPI document are all read from [`FIELDS`],
//! so all entry points of the estimator agree; [`ESTIMATE`] nests the fields as a body does. Bounds are wide: they
//! reject impossible homes, not rare ones.

use toise_contract::enums::{
    EnumEnergyClassification, EnumFurniture, EnumGreenhouseClassification,
    EnumPropertyGeneralCondition, WireEnum,
};
use toise_contract::fields::{Field, FieldKind, ListOf};
use toise_geocode::request::TEXT_CHARS;

/// Minimum habitable area, m²: smaller rooms are not sold as homes.
pub const SURFACE_M2_MIN: f64 = 5.0;
/// Maximum habitable area, m².
pub const SURFACE_M2_MAX: f64 = 5_000.0;
/// Maximum rooms, and maximum bedrooms.
pub const ROOMS_MAX: i64 = 100;
/// Maximum land sold with a home, m2: a thousand hectares.
pub const LAND_M2_MAX: f64 = 10_000_000.0;
/// Earliest year of construction.
pub const YEAR_MIN: i64 = 1_000;
/// Latest year of construction, in the future because of homes sold off plan.
pub const YEAR_MAX: i64 = 2_100;
/// Lowest storey: basements are negative.
pub const FLOOR_MIN: i64 = -10;
/// Highest storey, and maximum storeys of a building.
pub const FLOOR_MAX: i64 = 200;
/// Maximum number of values in `generalConditions`: one of each.
pub const CONDITIONS_MAX: usize = EnumPropertyGeneralCondition::TABLE.values.len();
/// Classes that can be valued.
pub const CLASSES: [&str; 2] = ["CLASS_FLAT", "CLASS_HOUSE"];
/// Offers that can be valued.
pub const OFFERS: [&str; 1] = ["OFFER_BUY"];
/// The path of the position in a body.
pub const LOCATION: [&str; 3] = ["location", "locationCoordinate", "location"];
/// Columns that give a position.
pub const POSITION_COLUMNS: [&str; 2] = ["longitude", "latitude"];
/// Alternative to the required columns, for a message.
pub const INSTEAD_OF_POSITION: &str =
    ", or an address, postcode or city instead of longitude and latitude";
/// The path of an address in a body.
pub const ADDRESS_PATH: &str = "location.address";
/// Maximum homes in one `_many` call.
pub const ESTIMATE_ITEMS_MAX: usize = 1_000;

/// One characteristic of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table documents them")]
pub enum HomeInput {
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
    Address,
}

/// A field of a home.
#[derive(Clone, Copy, Debug)]
pub struct HomeField {
    /// The characteristic it gives.
    pub input: HomeInput,
    /// Its path in a body; empty if a body does not accept it.
    pub path: &'static [&'static str],
    /// Its column in a portfolio; empty if a portfolio does not accept it.
    pub column: &'static str,
    /// Its name, valid values and description.
    pub field: Field,
}

/// Columns that a portfolio must have; columns of an address can replace the first two.
pub const REQUIRED_COLUMNS: [&str; 4] = ["longitude", "latitude", "type", "surface_m2"];

/// Defines a field that a body must have.
const fn required(
    input: HomeInput,
    path: &'static [&'static str],
    column: &'static str,
    kind: FieldKind,
    about: &'static str,
) -> HomeField {
    let field = Field::required(last(path), kind, about);
    HomeField {
        input,
        path,
        column,
        field,
    }
}

/// Defines a field that a body may have.
const fn optional(
    input: HomeInput,
    path: &'static [&'static str],
    column: &'static str,
    kind: FieldKind,
    about: &'static str,
) -> HomeField {
    let field = Field::optional(last(path), kind, about);
    HomeField {
        input,
        path,
        column,
        field,
    }
}

const fn last(path: &'static [&'static str]) -> &'static str {
    match path.last() {
        Some(key) => key,
        None => "",
    }
}

const ENERGY: FieldKind = FieldKind::OneOf(EnumEnergyClassification::TABLE.values);
const CLIMATE: FieldKind = FieldKind::OneOf(EnumGreenhouseClassification::TABLE.values);
const FURNITURE: FieldKind = FieldKind::OneOf(EnumFurniture::TABLE.values);
static CONDITIONS: ListOf = ListOf {
    item: FieldKind::OneOf(EnumPropertyGeneralCondition::TABLE.values),
    least: 0,
    most: Some(CONDITIONS_MAX),
};
const YEAR: FieldKind = FieldKind::Integer(YEAR_MIN, YEAR_MAX);
const SURFACE: FieldKind = FieldKind::Between(SURFACE_M2_MIN, SURFACE_M2_MAX);

/// All fields of a home, in the order of a portfolio's columns and of the arguments in SQL.
pub static FIELDS: [HomeField; 24] = TABLE;

#[rustfmt::skip]
const TABLE: [HomeField; 24] = [
    required(HomeInput::Longitude, &["location", "locationCoordinate", "location", "longitude"], "longitude", FieldKind::Between(-180.0, 180.0),
        "Longitude, degrees (WGS 84)"),
    required(HomeInput::Latitude, &["location", "locationCoordinate", "location", "latitude"], "latitude", FieldKind::Between(-90.0, 90.0),
        "Latitude, degrees (WGS 84)"),
    required(HomeInput::Class, &["type"], "type", FieldKind::OneOf(&CLASSES),
        "Class of asset; only flats and houses are valued"),
    required(HomeInput::Surface, &["habitation", "surface", "total"], "surface_m2", SURFACE,
        "Living surface, m2"),
    required(HomeInput::Rooms, &["habitation", "roomCount"], "room_count", FieldKind::Integer(0, ROOMS_MAX),
        "Number of main rooms; 0 if unknown"),
    required(HomeInput::Bedrooms, &["habitation", "bedroomCount"], "bedroom_count", FieldKind::Integer(0, ROOMS_MAX),
        "Number of bedrooms, not more than the main rooms"),
    optional(HomeInput::Land, &["land", "surface"], "land_surface_m2", FieldKind::Between(0.0, LAND_M2_MAX),
        "Land that comes with the home, m2"),
    optional(HomeInput::Year, &["habitation", "propertyCondition", "constructionYear"], "construction_year",
        YEAR, "Year of construction"),
    optional(HomeInput::Energy, &["habitation", "climate", "epcEnergy"], "epc_energy", ENERGY,
        "Energy class of the diagnostic; NC and UNKNOWN count as not given"),
    optional(HomeInput::Climate, &["habitation", "climate", "epcClimate"], "epc_climate", CLIMATE,
        "Climate class of the diagnostic; NC and UNKNOWN count as not given"),
    optional(HomeInput::Floor, &["habitation", "features", "propertyFloor"], "floor", FieldKind::Integer(FLOOR_MIN, FLOOR_MAX),
        "Storey of the home; 0 is the ground floor, basements are negative"),
    optional(HomeInput::Date, &[], "valuation_date", FieldKind::Moment,
        "Day to value the home at, by default today; nothing later is taken into account"),
    optional(HomeInput::Floors, &["habitation", "features", "propertyTotalFloor"], "total_floor", FieldKind::Integer(0, FLOOR_MAX),
        "Storeys of the building, not fewer than the storey of the home"),
    optional(HomeInput::Conditions, &["habitation", "propertyCondition", "generalConditions"], "general_condition", FieldKind::List(&CONDITIONS),
        "General condition; if there are several, the worst counts"),
    optional(HomeInput::Furniture, &["habitation", "features", "furniture"], "furniture", FURNITURE,
        "Whether it is sold furnished"),
    optional(HomeInput::Balcony, &["habitation", "characteristics", "hasBalcony"], "has_balcony", FieldKind::Flag, "A balcony"),
    optional(HomeInput::Cellar, &["habitation", "characteristics", "hasCellar"], "has_cellar", FieldKind::Flag, "A cellar"),
    optional(HomeInput::Garage, &["habitation", "characteristics", "hasGarage"], "has_garage", FieldKind::Flag, "A garage"),
    optional(HomeInput::Lift, &["habitation", "characteristics", "hasLift"], "has_lift", FieldKind::Flag, "A lift"),
    optional(HomeInput::Parking, &["habitation", "characteristics", "hasParking"], "has_parking", FieldKind::Flag, "A parking space"),
    optional(HomeInput::Pool, &["habitation", "characteristics", "hasPool"], "has_pool", FieldKind::Flag, "A pool"),
    optional(HomeInput::Terrace, &["habitation", "characteristics", "hasTerrace"], "has_terrace", FieldKind::Flag, "A terrace"),
    required(HomeInput::Offer, &["offer", "type"], "", FieldKind::OneOf(&OFFERS),
        "Type of offer; only sales are valued"),
    optional(HomeInput::Address, &["location", "address"], "", FieldKind::Words(*TEXT_CHARS.end()),
        "Address in one line, with postal code and commune, instead of `locationCoordinate`, which takes precedence \
         if both are given. `metadata.address` says how the address was understood. 422 if it is not found with \
         enough certainty. If only the town of the home is known, the confidence is LOW"),
];

/// Returns the field of an input; [`HomeInput`] and [`FIELDS`] have the same order.
pub(super) const fn of(input: HomeInput) -> Field {
    TABLE[input as usize].field
}

pub(super) const fn within(
    name: &'static str,
    fields: &'static [Field],
    about: &'static str,
) -> Field {
    Field::optional(name, FieldKind::Object(fields), about)
}

pub(super) const fn made_required(field: Field) -> Field {
    Field {
        is_required: true,
        ..field
    }
}

const POSITION: [Field; 2] = [of(HomeInput::Longitude), of(HomeInput::Latitude)];
const PIN: [Field; 1] = [Field::required(
    "location",
    FieldKind::Pair(&POSITION),
    "Longitude, then latitude. A point outside France is valued at the national average",
)];
pub(super) const PLACE: [Field; 2] = [
    within(
        "locationCoordinate",
        &PIN,
        "Position of the home; required unless an address is given",
    ),
    of(HomeInput::Address),
];
pub(super) const TOTAL: [Field; 1] = [of(HomeInput::Surface)];
pub(super) const CONDITION: [Field; 2] = [of(HomeInput::Year), of(HomeInput::Conditions)];
pub(super) const DIAGNOSTIC: [Field; 2] = [of(HomeInput::Energy), of(HomeInput::Climate)];
const FEATURES: [Field; 3] = [
    of(HomeInput::Floor),
    of(HomeInput::Floors),
    of(HomeInput::Furniture),
];
pub(super) const CHARACTERISTICS: [Field; 7] = [
    of(HomeInput::Balcony),
    of(HomeInput::Cellar),
    of(HomeInput::Garage),
    of(HomeInput::Lift),
    of(HomeInput::Parking),
    of(HomeInput::Pool),
    of(HomeInput::Terrace),
];
const HABITATION: [Field; 7] = [
    made_required(within("surface", &TOTAL, "Its surface")),
    of(HomeInput::Rooms),
    of(HomeInput::Bedrooms),
    within("propertyCondition", &CONDITION, "Its age and condition"),
    within("climate", &DIAGNOSTIC, "Its diagnostic"),
    within("features", &FEATURES, "Its storey and furniture"),
    within(
        "characteristics",
        &CHARACTERISTICS,
        "Amenities; what is not stated counts as unknown, not as missing",
    ),
];
pub(super) const LAND: [Field; 1] = [of(HomeInput::Land)];
const OFFER: [Field; 1] = [of(HomeInput::Offer)];

/// The body of an estimate.
pub static ESTIMATE: [Field; 5] = [
    made_required(within("location", &PLACE, "Location of the home")),
    of(HomeInput::Class),
    made_required(within("habitation", &HABITATION, "The home itself")),
    within("land", &LAND, "The land that comes with it"),
    made_required(within("offer", &OFFER, "The offer")),
];

static ITEMS: ListOf = ListOf {
    item: FieldKind::Later("EstimateRequest"),
    least: 1,
    most: Some(ESTIMATE_ITEMS_MAX),
};

/// The body of a `_many` call.
pub static ESTIMATE_MANY: [Field; 1] = [Field::required(
    "items",
    FieldKind::List(&ITEMS),
    "Homes; each is checked and valued on its own",
)];

impl HomeField {
    /// Returns its path in a body.
    pub fn path_in_body(&self) -> String {
        match self.input {
            HomeInput::Longitude => format!("{}[0]", LOCATION.join(".")),
            HomeInput::Latitude => format!("{}[1]", LOCATION.join(".")),
            _ => self.path.join("."),
        }
    }
}

/// Returns the fields that a portfolio and the SQL functions accept, in order.
pub fn columns() -> impl Iterator<Item = &'static HomeField> {
    FIELDS.iter().filter(|field| !field.column.is_empty())
}
