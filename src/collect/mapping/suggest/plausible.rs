//! Checks whether values are plausible for the fields of a home. The bounds are meant to reject columns of another
//! meaning, not unusual homes.

use serde_json::Value;

/// Prices and rents, EUR.
const PRICE_EUR: (f64, f64) = (50.0, 100_000_000.0);
/// Prices and rents for a square metre, EUR.
const PRICE_PER_M2_EUR: (f64, f64) = (1.0, 100_000.0);
/// Areas of a dwelling, square metres.
const SURFACE_M2: (f64, f64) = (4.0, 5_000.0);
/// Areas of land, square metres.
const LAND_M2: (f64, f64) = (1.0, 10_000_000.0);
/// Rooms of a dwelling.
const ROOMS: (f64, f64) = (0.0, 60.0);
/// Storeys.
const FLOORS: (f64, f64) = (-5.0, 60.0);
/// Years of construction.
const YEARS: (f64, f64) = (1_000.0, 2_040.0);
/// Longitudes and latitudes of metropolitan France, degrees.
const FRANCE: ((f64, f64), (f64, f64)) = ((-5.5, 10.0), (41.0, 51.6));
/// Longitudes and latitudes of the overseas departments, degrees.
const OVERSEAS: ((f64, f64), (f64, f64)) = ((-64.0, 56.0), (-22.0, 17.0));
/// Longest name of a town or quarter, in characters.
const NAME_CHARS_MAX: usize = 80;

/// Returns whether a value is plausible for a field of a home.
pub fn is_plausible(field: &str, value: &Value) -> bool {
    let within = |(least, most): (f64, f64)| {
        value
            .as_f64()
            .is_some_and(|number| (least..=most).contains(&number))
    };
    let text = value.as_str().unwrap_or_default();
    match field {
        "currentPrice.value" => within(PRICE_EUR),
        "currentPrice.valuePerArea" => within(PRICE_PER_M2_EUR),
        "habitation.surface.total" => within(SURFACE_M2),
        "land.surface" => within(LAND_M2),
        "habitation.roomCount" | "habitation.bedroomCount" | "habitation.bathroomCount" => {
            within(ROOMS)
        }
        "habitation.floor" | "habitation.features.propertyTotalFloor" => within(FLOORS),
        "habitation.propertyCondition.constructionYear" => within(YEARS),
        "location.locationCoordinate.location" => {
            let at = |place: usize| value[place].as_f64().unwrap_or(f64::NAN);
            [FRANCE, OVERSEAS]
                .iter()
                .any(|((west, east), (south, north))| {
                    (*west..=*east).contains(&at(0)) && (*south..=*north).contains(&at(1))
                })
        }
        "location.postalCode" => text.get(..2).is_some_and(|start| start != "00"),
        "location.city" | "location.district" | "seller.name" => {
            text.chars().any(char::is_alphabetic) && text.chars().count() <= NAME_CHARS_MAX
        }
        "title" | "description" | "location.address" => text.chars().any(char::is_alphabetic),
        "url" => text.starts_with("http"),
        _ => true,
    }
}
