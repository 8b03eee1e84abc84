//! Recognises rooms of shared homes by a rent that is too low for the whole home, if the advert's words do not say so.
//!
//! A whole house in the country is cheap too. A rent alone therefore shows a room only if it is below all usual rents.
//! A low one shows it if one portal has several such adverts of the same home.

use super::fingerprint::Fingerprint;
use super::levels::{
    ONLINE_TOGETHER, are_two_sellers, count_difference, differs_elsewhere, portal, surface,
};
use super::rooms::OTHER_CLASSES;
use toise_contract::enums::EnumPropertyOfferType;

/// Minimum rooms of a flat or house that is let by the room.
const SHARED_ROOMS_MIN: u8 = 4;
/// Minimum surface of one, square decimetres.
const SHARED_SURFACE_DM2_MIN: u32 = 8_000;
/// Rents below this are those of a room, EUR per square metre of the whole home and month. Whole houses in the country
/// cost 6 to 8.
const ROOM_RENT_MAX: f64 = 5.5;
/// Rents below this may be those of a room, EUR per square metre of the whole home and month.
const LOW_RENT_MAX: f64 = 10.0;

impl Fingerprint {
    /// Returns whether the rent for a home of many rooms is so low that it is that of one of them.
    pub(super) fn has_rent_of_room(&self) -> bool {
        self.rooms.is_some_and(|rooms| rooms >= SHARED_ROOMS_MIN)
            && rent_per_m2(self).is_some_and(|rent| rent < ROOM_RENT_MAX)
    }
}

/// Returns whether one portal shows two adverts of one large home at the same time, each at a rent that is low for the
/// whole of it: they are rooms of it. Two sellers may show one whole house.
pub(super) fn are_rooms_of_one_home(one: &Fingerprint, other: &Fingerprint) -> bool {
    may_be_room(one)
        && may_be_room(other)
        && portal(one, other) == Some(ONLINE_TOGETHER)
        && !are_two_sellers(one, other)
        && surface(one, other).is_some_and(|level| level <= 2)
        && count_difference(one.rooms, other.rooms).is_none_or(|apart| apart == 0)
        && !differs_elsewhere(one, other)
}

/// Returns whether a home is large, and its rent low for the whole of it.
fn may_be_room(advert: &Fingerprint) -> bool {
    let has_rooms = advert.rooms.is_some_and(|rooms| rooms >= SHARED_ROOMS_MIN);
    let has_surface = advert
        .surface_dm2
        .is_some_and(|surface| surface >= SHARED_SURFACE_DM2_MIN);
    (has_rooms || has_surface) && rent_per_m2(advert).is_some_and(|rent| rent < LOW_RENT_MAX)
}

/// Returns the rent of a home, EUR per square metre and month; `None` if it is for sale.
fn rent_per_m2(advert: &Fingerprint) -> Option<f64> {
    let is_home_for_rent =
        advert.offer == EnumPropertyOfferType::Rent && !OTHER_CLASSES.contains(&advert.class);
    let (rent, surface_dm2) = advert.price_eur.zip(advert.surface_dm2)?;
    is_home_for_rent.then(|| f64::from(rent) * 100.0 / f64::from(surface_dm2))
}
