//! Locates an advert without a position: by its address, otherwise by its town or postal code, with the precision.
//!
//! Called by completion, before and after a location is completed from its commune. A house number determines the IRIS
//! and the commune, from which the other fields follow; the middle of a street only replaces the centre of the commune.
//! If nothing is found, the sender gets a warning, and the position is never guessed.

use super::derived::DerivedFields;
use toise_contract::enums::EnumLocationPrecision;
use toise_contract::listings::codes::{InseeCode, Position, PostalCode};
use toise_contract::listings::place::{AdCompleteLatLng, AdLocation};
use toise_geo::iris::IrisIndex;
use toise_geo::places::is_centre;
use toise_geocode::Geocoder;
use toise_geocode::address::Confidence;
use toise_geocode::resolve::{PostalAddress, Precision, Resolved};

/// Data from which an advert's location is completed.
#[derive(Clone, Copy, Default)]
pub struct PlaceSources<'s> {
    /// Contours that give the IRIS and commune of a position.
    pub iris: Option<&'s IrisIndex>,
    /// Gives the position of an address.
    pub geocoder: Option<&'s Geocoder>,
}

impl<'s> PlaceSources<'s> {
    /// Creates sources with contours only.
    pub fn contours(iris: Option<&'s IrisIndex>) -> Self {
        Self {
            iris,
            geocoder: None,
        }
    }
}

fn has_position(location: &AdLocation) -> bool {
    let point = location.location_coordinate.as_ref();
    point.is_some_and(|point| point.location.is_some())
}

fn postal_address_of(location: &AdLocation) -> PostalAddress<'_> {
    PostalAddress {
        address: location.address.as_deref().unwrap_or_default().trim(),
        postal_code: location.postal_code.as_ref().map_or("", PostalCode::as_str),
        city: location.city.as_deref().unwrap_or_default(),
        insee_code: location.insee_code.as_ref().map_or("", InseeCode::as_str),
    }
}

/// Geocodes the address of a location without a position; returns the result, or a warning if the address was not
/// found. A house number sets the position, and the commune if the geocoder's confidence is high.
pub(super) fn locate(
    location: &mut AdLocation,
    geocoder: Option<&Geocoder>,
    derived: &mut DerivedFields,
) -> (Option<Resolved>, Option<String>) {
    let asked = postal_address_of(location);
    let Some(geocoder) = geocoder.filter(|geocoder| !geocoder.segments().is_empty()) else {
        return (None, None);
    };
    if asked.address.is_empty() || has_position(location) {
        return (None, None);
    }
    let found = match geocoder.locate(asked) {
        Ok(found) => found,
        Err(reason) => return (None, Some(format!("location.address: {reason}"))),
    };
    if found.precision == Precision::Town {
        return (
            None,
            Some("location.address: only its town is known".into()),
        );
    }
    if found.precision == Precision::Address {
        set_position(location, &found, derived);
    }
    if location.insee_code.is_none() && found.confidence == Confidence::High {
        location.insee_code = InseeCode::parse(&found.insee_code);
        if location.insee_code.is_some() {
            derived.add(DerivedFields::INSEE_CODE);
        }
    }
    (Some(found), None)
}

/// Finishes a location that was completed from its commune, and sets its precision. The street `found` replaces the
/// centre of the commune. A town or postal code that does not name a single commune gives the position of the commune
/// that it most probably means. A position from the sender gets the precision of a town if it is the centre of the
/// commune.
pub(super) fn finish(
    location: &mut AdLocation,
    found: Option<&Resolved>,
    geocoder: Option<&Geocoder>,
    derived: &mut DerivedFields,
) {
    let is_given = has_position(location) && !derived.contains(DerivedFields::POSITION);
    if is_given {
        if location.precision.is_none() && is_at_centre(location) {
            location.precision = Some(EnumLocationPrecision::Town);
            derived.add(DerivedFields::PRECISION);
        }
        return;
    }
    if let Some(found) = found.filter(|found| found.precision == Precision::Street) {
        set_position(location, found, derived);
    }
    if !has_position(location)
        && let Some(town) = geocoder.and_then(|geocoder| town(location, geocoder))
    {
        set_position(location, &town, derived);
    }
    if has_position(location) {
        location.precision = Some(match found.map(|found| found.precision) {
            Some(Precision::Address) => EnumLocationPrecision::Address,
            Some(Precision::Street) => EnumLocationPrecision::Street,
            Some(Precision::Town) | None => EnumLocationPrecision::Town,
        });
        derived.add(DerivedFields::PRECISION);
    }
}

/// Returns whether a position is the centre of its commune.
fn is_at_centre(location: &AdLocation) -> bool {
    let of = |point: &Option<AdCompleteLatLng>| point.as_ref().and_then(|point| point.location);
    let position = of(&location.location_coordinate).zip(of(&location.city_coordinate));
    let degrees = |position: Position| (position.latitude(), position.longitude());
    position.is_some_and(|(position, centre)| is_centre(degrees(position), degrees(centre)))
}

/// Returns the commune that a location most probably means, if the geocoder is sure.
fn town(location: &AdLocation, geocoder: &Geocoder) -> Option<Resolved> {
    let asked = PostalAddress {
        address: "",
        ..postal_address_of(location)
    };
    let found = (!asked.is_empty()).then(|| geocoder.resolve(asked))??;
    let is_sure = found.confidence == Confidence::High && found.precision == Precision::Town;
    is_sure.then_some(found)
}

fn set_position(location: &mut AdLocation, found: &Resolved, derived: &mut DerivedFields) {
    let position = Position::new(found.lon, found.lat);
    if position.is_some() {
        location.location_coordinate = Some(AdCompleteLatLng { location: position });
        derived.add(DerivedFields::POSITION);
    }
}
