//! Completion: commune, department, position, price per area and defaults, derived from the advert's other fields.
//!
//! Called when a record is built for the store ([`super::prepare`]). Derived fields are recorded ([`DerivedFields`])
//! and removed before the next update is merged, so that an INSEE code derived from an old postal code does not
//! contradict a new postal code. A derived position has a `precision`; one that is only a commune's centre equals
//! `cityCoordinate`.

use std::borrow::Cow;

pub use super::derived::DerivedFields;
use super::locating::{self, PlaceSources};
use toise_contract::enums::{
    EnumCurrency, EnumPricingScope, EnumPropertyClass, EnumPropertyOfferType,
};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{Department, InseeCode, IrisCode, Position, PostalCode};
use toise_contract::listings::place::{AdCompleteLatLng, AdLocation};
use toise_contract::listings::price::AdvertPrice;
use toise_contract::listings::scalars::EurPerSquareMetre;
use toise_dedup::is_shared_flat;
use toise_geo::iris::IrisIndex;
use toise_geo::places::Place;
use toise_geo::{communes, departments};

/// The result of completing an advert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The fields that were filled in.
    pub derived: DerivedFields,
    /// Warnings about values that could not be derived, for the sender.
    pub warnings: Vec<Cow<'static, str>>,
}

/// Fills in the missing fields that the others determine.
pub fn complete(advert: &mut Advert, sources: PlaceSources<'_>) -> Completion {
    let mut completed = Completion::default();
    let derived = &mut completed.derived;
    fill(
        &mut advert.currency,
        DerivedFields::CURRENCY,
        derived,
        || Some(EnumCurrency::Eur),
    );
    let offer = advert.offer.as_ref().and_then(|offer| offer.offer_type);
    fill(
        &mut advert.scope,
        DerivedFields::SCOPE,
        derived,
        || match offer {
            Some(EnumPropertyOfferType::Rent) => Some(EnumPricingScope::Mensual),
            _ => Some(EnumPricingScope::OneOff),
        },
    );
    let is_shared_flat = is_shared_flat(advert);
    if let Some(offer) = advert.offer.as_mut().filter(|_| is_shared_flat) {
        let renting = offer.renting.get_or_insert_default();
        fill(
            &mut renting.is_colocation,
            DerivedFields::COLOCATION,
            derived,
            || Some(true),
        );
    }
    if let Some(location) = &mut advert.location {
        let (found, unlocated) = locating::locate(location, sources.geocoder, derived);
        let unknown = complete_place(location, sources.iris, derived);
        locating::finish(location, found.as_ref(), sources.geocoder, derived);
        let warnings = unlocated.into_iter().chain(unknown);
        completed.warnings.extend(warnings.map(Cow::Owned));
    }
    if let Some(per_area) = price_per_area(advert) {
        let price = advert
            .current_price
            .get_or_insert_with(AdvertPrice::default);
        price.value_per_area = Some(per_area);
        completed.derived.add(DerivedFields::PRICE_PER_AREA);
    }
    completed
}

fn fill<T>(
    slot: &mut Option<T>,
    field: DerivedFields,
    derived: &mut DerivedFields,
    value: impl FnOnce() -> Option<T>,
) {
    if slot.is_none() {
        *slot = value();
        if slot.is_some() {
            derived.add(field);
        }
    }
}

/// Completes a location; returns a warning if its commune is unknown.
fn complete_place(
    location: &mut AdLocation,
    iris: Option<&IrisIndex>,
    derived: &mut DerivedFields,
) -> Option<String> {
    let position = location
        .location_coordinate
        .as_ref()
        .and_then(|point| point.location);
    let quarter =
        position.and_then(|position| iris?.find(position.latitude(), position.longitude()));
    fill(
        &mut location.iris_code,
        DerivedFields::IRIS_CODE,
        derived,
        || IrisCode::parse(&quarter?.code),
    );
    let of_quarter = location
        .iris_code
        .as_ref()
        .and_then(|code| InseeCode::parse(code.as_str().get(..5)?));
    fill(
        &mut location.insee_code,
        DerivedFields::INSEE_CODE,
        derived,
        || of_quarter,
    );
    let commune = commune_of(location, position);
    let city = commune.or_else(|| city_of(location));
    fill(
        &mut location.insee_code,
        DerivedFields::INSEE_CODE,
        derived,
        || InseeCode::parse(commune?.code),
    );
    let department = department_of(location, position, city);
    fill(
        &mut location.department,
        DerivedFields::DEPARTMENT,
        derived,
        || department,
    );
    fill(&mut location.city, DerivedFields::CITY, derived, || {
        Some(commune?.name.to_owned())
    });
    fill(
        &mut location.postal_code,
        DerivedFields::POSTAL_CODE,
        derived,
        || {
            // The commune has several codes, so none is chosen.
            match commune?.postal_codes.as_slice() {
                [only] => PostalCode::parse(only),
                _ => None,
            }
        },
    );
    let centre = city.and_then(|city| {
        let (latitude, longitude) = city.centre;
        Position::new(longitude, latitude)
    });
    let point = |position: Option<Position>| {
        position.map(|position| AdCompleteLatLng {
            location: Some(position),
        })
    };
    fill_point(
        &mut location.city_coordinate,
        DerivedFields::CITY_COORDINATE,
        derived,
        point(centre),
    );
    let centre = location.city_coordinate.clone();
    fill_point(
        &mut location.location_coordinate,
        DerivedFields::POSITION,
        derived,
        centre,
    );
    let is_named =
        location.insee_code.is_some() || location.postal_code.is_some() || location.city.is_some();
    // A postal code alone may cover several communes, so no warning is needed.
    let is_known = city.is_some()
        || location.insee_code.is_none()
            && location.city.is_none()
            && has_communes(location.postal_code.as_ref());
    (!is_known && is_named).then(|| unknown_commune(location))
}

/// Fills a point; a point without a position counts as missing.
fn fill_point(
    slot: &mut Option<AdCompleteLatLng>,
    field: DerivedFields,
    derived: &mut DerivedFields,
    point: Option<AdCompleteLatLng>,
) {
    if slot.as_ref().is_some_and(|point| point.location.is_none()) {
        *slot = None;
    }
    fill(slot, field, derived, || point);
}

fn unknown_commune(location: &AdLocation) -> String {
    let parts = [
        location.insee_code.as_ref().map(InseeCode::as_str),
        location.postal_code.as_ref().map(PostalCode::as_str),
        location.city.as_deref(),
    ];
    let named: Vec<&str> = parts.into_iter().flatten().collect();
    format!("location: unknown commune ({})", named.join(" "))
}

fn has_communes(postal_code: Option<&PostalCode>) -> bool {
    postal_code.is_some_and(|code| {
        communes::find_by_postal_code(code.as_str())
            .next()
            .is_some()
    })
}

/// Returns whether the town of a location, with its department and position, identifies a commune or a city with
/// arrondissements.
pub(super) fn names_a_town(location: &AdLocation) -> bool {
    commune_of(location, None).is_some() || city_of(location).is_some()
}

fn commune_of(location: &AdLocation, position: Option<Position>) -> Option<&'static Place> {
    if let Some(code) = &location.insee_code {
        return communes::find_by_code(code.as_str());
    }
    let department = location.department.as_ref().map(Department::as_str);
    match (&location.postal_code, &location.city) {
        (Some(code), Some(city)) if communes::names_other_arrondissement(code.as_str(), city) => {
            None
        }
        (Some(postal_code), Some(city)) => {
            let postal_code = postal_code.as_str();
            let of_department = || {
                let department =
                    department.or_else(|| departments::for_postal_code(postal_code))?;
                communes::named(city, department)
            };
            communes::find_by_postal_code_and_name(postal_code, city)
                .or_else(of_department)
                .or_else(|| communes::find_by_postal_code_and_likeness(postal_code, city))
        }
        (Some(postal_code), None) => {
            // The town name fits several communes, so none is chosen.
            let mut found = communes::find_by_postal_code(postal_code.as_str());
            let first = found.next()?;
            found.next().is_none().then_some(first)
        }
        (None, Some(city)) => match (department, position) {
            (Some(department), _) => communes::named(city, department),
            (None, Some(position)) => {
                communes::named_near(city, position.latitude(), position.longitude())
            }
            (None, None) => communes::named_once(city),
        },
        (None, None) => None,
    }
}

/// Returns Paris, Lyon or Marseille if the location does not name an arrondissement.
fn city_of(location: &AdLocation) -> Option<&'static Place> {
    let is_open = location.insee_code.is_none() && location.postal_code.is_none();
    let city = location.city.as_deref().filter(|_| is_open)?;
    let city = communes::divided_city(city)?;
    let department = location.department.as_ref().map(Department::as_str);
    department
        .is_none_or(|department| department == city.department)
        .then_some(city)
}

fn department_of(
    location: &AdLocation,
    position: Option<Position>,
    city: Option<&Place>,
) -> Option<Department> {
    let for_commune = location
        .insee_code
        .as_ref()
        .and_then(|code| departments::for_commune(code.as_str()));
    let find_by_postal_code =
        || departments::for_postal_code(location.postal_code.as_ref()?.as_str());
    let of_position = || communes::department_at(position?.latitude(), position?.longitude());
    let code = for_commune
        .or_else(find_by_postal_code)
        .or_else(of_position)
        .or_else(|| city.map(|city| city.department))?;
    Department::parse(code)
}

/// Returns the area that a price is divided by, m², above 0: the plot for land, otherwise the habitable area.
pub fn priced_area(advert: &Advert) -> Option<f64> {
    let habitable = || advert.habitation.as_ref()?.surface.as_ref()?.total;
    let land = || advert.land.as_ref()?.surface;
    let area = match advert.class {
        Some(EnumPropertyClass::Land) => land(),
        _ => habitable(),
    };
    area.map(|area| area.get()).filter(|area| *area > 0.0)
}

/// Removes the sender's price per area if price and area determine it.
pub fn forget_price_per_area(advert: &mut Advert) {
    if price_per_area(advert).is_some()
        && let Some(price) = &mut advert.current_price
    {
        price.value_per_area = None;
    }
}

fn price_per_area(advert: &Advert) -> Option<EurPerSquareMetre> {
    per_area(
        advert.current_price.as_ref()?.value?.get(),
        priced_area(advert)?,
    )
}

/// Returns an amount per area, rounded to cents.
pub fn per_area(amount: f64, area: f64) -> Option<EurPerSquareMetre> {
    EurPerSquareMetre::new((amount / area * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests;
