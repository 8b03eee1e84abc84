//! Parses the request for the rent of a home: the same home as for its value, but with fewer required fields, and a
//! price for the yield.
//!
//! Fields that only matter for the value are accepted too, because the yield needs the value of the same home.

use chrono::NaiveDate;
use serde_json::Value;

use super::fields::{
    CHARACTERISTICS, CONDITION, DIAGNOSTIC, HomeField, HomeInput, LAND, PLACE, TOTAL,
    made_required, of, within,
};
use super::home_of;
use super::located::HomeRequest;
use toise_contract::fault::Fault;
use toise_contract::fields::{Field, FieldKind, read_part};
use toise_contract::walk::JsonPath;

/// Offers whose rent can be estimated.
pub const RENT_OFFERS: [&str; 1] = ["OFFER_RENT"];
/// Lowest and highest price of a home, EUR.
const PRICE_EUR: (f64, f64) = (1_000.0, 1e9);

const fn made_optional(field: Field) -> Field {
    Field {
        is_required: false,
        ..field
    }
}

const FURNITURE: Field = Field::optional(
    "furniture",
    of(HomeInput::Furniture).kind,
    "Whether it is let furnished; partly furnished counts as furnished",
);
const FEATURES: [Field; 3] = [of(HomeInput::Floor), of(HomeInput::Floors), FURNITURE];
const HABITATION: [Field; 7] = [
    made_required(within("surface", &TOTAL, "Its surface")),
    made_optional(of(HomeInput::Rooms)),
    made_optional(of(HomeInput::Bedrooms)),
    within(
        "propertyCondition",
        &CONDITION,
        "Its age and condition; only the value for the yield uses them",
    ),
    within(
        "climate",
        &DIAGNOSTIC,
        "Its diagnostic; only the value for the yield uses it",
    ),
    within("features", &FEATURES, "Its storey and furniture"),
    within(
        "characteristics",
        &CHARACTERISTICS,
        "Amenities; only the value for the yield uses them",
    ),
];
const OFFER: [Field; 1] = [Field::optional(
    "type",
    FieldKind::OneOf(&RENT_OFFERS),
    "Type of offer",
)];

/// The body of an estimate of a rent.
pub static RENT: [Field; 6] = [
    made_required(within("location", &PLACE, "Location of the home")),
    of(HomeInput::Class),
    made_required(within("habitation", &HABITATION, "The home itself")),
    within("land", &LAND, "The land that comes with it"),
    within("offer", &OFFER, "The offer"),
    Field::optional(
        "price",
        FieldKind::Between(PRICE_EUR.0, PRICE_EUR.1),
        "Price of the home, EUR, for the yield; by default its value is estimated",
    ),
];

/// A valid request for the rent of a home.
#[derive(Clone, Debug, PartialEq)]
pub struct RentRequest {
    /// The home; not yet located if it is given by an address.
    pub home: HomeRequest,
    /// Price of the home, EUR, for the yield.
    pub price_eur: Option<f64>,
}

/// Parses the body of an estimate of a rent. Does not locate its address yet.
///
/// # Errors
/// The first fault in document order; missing required fields are reported after all others.
pub fn parse_rent(body: &Value, today: NaiveDate) -> Result<RentRequest, Fault> {
    let at = JsonPath::Body;
    // Missing values are reported by `home_of`, after the whole body has been read, with their own path.
    let mut values = read_part(body, &RENT, at)?;
    Ok(RentRequest {
        home: home_of(&values, is_required, today, at)?,
        price_eur: values.take("price"),
    })
}

fn is_required(field: &HomeField) -> bool {
    matches!(
        field.input,
        HomeInput::Longitude | HomeInput::Latitude | HomeInput::Class | HomeInput::Surface
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn least() -> Value {
        json!({
            "location": {"locationCoordinate": {"location": [2.35, 48.86]}},
            "habitation": {"surface": {"total": 45}},
            "type": "CLASS_FLAT",
        })
    }

    fn parsed(change: impl FnOnce(&mut Value)) -> Result<RentRequest, String> {
        let mut body = least();
        change(&mut body);
        parse_rent(&body, NaiveDate::MIN).map_err(|fault| fault.to_string())
    }

    #[test]
    fn position_class_and_surface_are_enough_and_only_rentals_are_accepted() {
        assert_eq!(parsed(|_| {}).unwrap().price_eur, None);
        let priced = parsed(|body| body["price"] = json!(200_000)).unwrap();
        assert_eq!(priced.price_eur, Some(200_000.0));
        assert!(parsed(|body| body["offer"] = json!({"type": "OFFER_RENT"})).is_ok());
        let sale = parsed(|body| body["offer"] = json!({"type": "OFFER_BUY"}));
        assert_eq!(sale.unwrap_err(), "offer.type: must be one of: OFFER_RENT");
        let missing = parsed(|body| body["habitation"] = json!({"roomCount": 2}));
        assert_eq!(
            missing.unwrap_err(),
            "habitation.surface.total: is required"
        );
        let free = parsed(|body| body["price"] = json!(0));
        assert!(free.unwrap_err().starts_with("price: must be a number"));
    }
}
