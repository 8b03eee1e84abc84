//! Corrects the place of an advert by comparing several of its fields, after the rules of the mapping were applied.

use serde_json::{Value, json};

use toise_geo::communes::{divided_city, fits_restored_code, is_same_town, named_once};
use toise_listings::adverts::left_out::LeftOut;
use toise_page::french::places;

/// Field of the postal code.
pub(super) const POSTAL_CODE: &str = "location.postalCode";

/// Removes a quarter that is only the name of the town: columns of quarters hold it for adverts without a quarter.
pub(super) fn drop_town_as_district(advert: &mut Value) {
    let Some(location) = advert.get_mut("location").and_then(Value::as_object_mut) else {
        return;
    };
    let text = |key: &str| location.get(key).and_then(Value::as_str);
    let names = text("district").zip(text("city"));
    if names.is_some_and(|(district, city)| is_same_town(district, city)) {
        location.remove("district");
    }
}

/// Reads a quarter that is an arrondissement of the town as part of its name: `Lyon` and `1er arrondissement`.
pub(super) fn join_arrondissement(advert: &mut Value) {
    let Some(location) = advert.get_mut("location").and_then(Value::as_object_mut) else {
        return;
    };
    let text = |key: &str| location.get(key).and_then(Value::as_str);
    let Some((district, city)) = text("district").zip(text("city")) else {
        return;
    };
    let place = divided_city(city).and_then(|_| named_once(&format!("{city} {district}")));
    if let Some(place) = place {
        location.insert("city".to_owned(), json!(place.name));
        location.remove("district");
    }
}

/// Reads an address that is a quarter with its town as these: `Chartrons, Bordeaux (33300)` has no street. What other
/// rules read stays.
pub(super) fn move_quarter(advert: &mut Value) {
    let Some(location) = advert.get_mut("location").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(Value::String(address)) = location.get("address") else {
        return;
    };
    let address = address.clone();
    let Some((quarter, place)) = places::quarter(&address) else {
        return;
    };
    location.remove("address");
    let mut add = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            location.entry(key).or_insert_with(|| json!(value));
        }
    };
    add("district", Some(quarter));
    add("city", place.city.as_deref());
    add("postalCode", place.postal_code.as_deref());
}

/// Removes and returns a postal code whose leading zero was restored and that does not fit the town: `1000` next to
/// Bruxelles is not French.
pub(super) fn drop_foreign_code(advert: &mut Value) -> Option<LeftOut> {
    let location = advert.get_mut("location")?.as_object_mut()?;
    let town = location.get("city")?.as_str()?;
    let code = location.get("postalCode")?.as_str()?;
    if fits_restored_code(code, town) {
        return None;
    }
    let reason = format!("is not a French postal code of {town}");
    let code = json!(code.trim_start_matches('0'));
    location.remove("postalCode");
    Some(LeftOut::new(POSTAL_CODE, reason, &code))
}
