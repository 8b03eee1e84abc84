//! Reverse search: finds the addresses nearest to a position.
//!
//! Every department's tree is searched for its nearest house numbers and places. For a position inside France without
//! any within reach, the result is its commune, by contour, so an unfiltered result is never empty there.

use crate::index::segment::Neighbour;
use crate::request::{AddressFilter, ReverseCall};
use crate::search::{Geocoder, ResultKind};
use toise_geo::contours::commune_at;
use toise_geo::places::Places;

/// Default distance within which addresses are searched, metres.
pub const METRES_MAX: f64 = 200.0;

/// A result of a reverse search.
#[derive(Clone, Debug, PartialEq)]
pub enum Near {
    /// An address or a named place: the number of its segment, and the address in it.
    Address(usize, Neighbour),
    /// The commune around the position, as an index into the table of places.
    Commune(u32),
}

/// Neighbours examined per requested result if there is a filter.
const FILTERED_SHARE: usize = 20;
/// Maximum number of neighbours examined.
const NEIGHBOURS_MAX: usize = 1_000;

impl Geocoder {
    /// Returns the `count` addresses and places nearest to a position in WGS 84 degrees, nearest first, within
    /// `metres_max`. If there are none, returns the current commune around the position. Empty abroad and at sea.
    pub fn reverse(&self, lat: f64, lon: f64, count: usize, metres_max: f64) -> Vec<Near> {
        let found = self.neighbours(lat, lon, count, metres_max);
        if !found.is_empty() {
            return found;
        }
        commune_around(lat, lon)
            .map(Near::Commune)
            .into_iter()
            .collect()
    }

    /// Searches like [`Self::reverse`], but returns only results that meet a filter: each street once, communes by
    /// their contour. If no address within `metres_max` meets it and the filter names no kind, returns the commune
    /// around the position, provided it meets the filter.
    pub fn reverse_filtered(&self, call: &ReverseCall) -> Vec<Near> {
        let filter = &call.filter;
        let metres_max = call.metres_max.unwrap_or(METRES_MAX);
        let commune = || commune_around(call.lat, call.lon);
        if filter.kind == Some(ResultKind::Municipality) {
            let wanted = commune().filter(|place| filter_wants_commune(filter, *place));
            return wanted.map(Near::Commune).into_iter().collect();
        }
        if *filter == AddressFilter::default() {
            return self.reverse(call.lat, call.lon, call.limit, metres_max);
        }
        let looked_at = (call.limit * FILTERED_SHARE).min(NEIGHBOURS_MAX);
        let codes = filter.insee_code.as_deref().map(|code| {
            let found = Places::get().find(code);
            let codes = found.map(|place| Places::get().address_codes(place));
            codes.unwrap_or_default()
        });
        let mut wanted: Vec<Near> = Vec::new();
        for near in self.neighbours(call.lat, call.lon, looked_at, metres_max) {
            let Near::Address(number, mut neighbour) = near else {
                continue;
            };
            let segment = &self.segments()[number];
            let street = neighbour.street;
            let area = segment.area(segment.area_of(street));
            let code = segment.street_postal_code(street);
            let is_there = codes
                .as_ref()
                .is_none_or(|codes| codes.contains(&area.insee_code))
                && filter
                    .postal_code
                    .as_ref()
                    .is_none_or(|wanted| wanted.parse() == Ok(code));
            let is_kind = match filter.kind {
                Some(ResultKind::HouseNumber) => neighbour.number.is_some(),
                Some(ResultKind::Locality) => segment.is_place(street),
                Some(ResultKind::Street) => !segment.is_place(street),
                _ => true,
            };
            if !is_there || !is_kind {
                continue;
            }
            if filter.kind == Some(ResultKind::Street) {
                // The distance of a street is the distance of its nearest house number.
                neighbour.number = None;
            }
            let is_known = wanted.iter().any(|other| {
                matches!(other, Near::Address(of, other) if *of == number
                    && other.street == street
                    && other.number.is_none()
                    && neighbour.number.is_none())
            });
            if !is_known {
                wanted.push(Near::Address(number, neighbour));
            }
        }
        wanted.truncate(call.limit);
        if wanted.is_empty() && filter.kind.is_none() {
            let found = commune().filter(|place| filter_wants_commune(filter, *place));
            return found.map(Near::Commune).into_iter().collect();
        }
        wanted
    }

    fn neighbours(&self, lat: f64, lon: f64, count: usize, metres_max: f64) -> Vec<Near> {
        let mut found: Vec<(usize, Neighbour)> = Vec::new();
        for (number, segment) in self.segments().iter().enumerate() {
            let near = segment.nearest(lat, lon, count, metres_max);
            found.extend(near.into_iter().map(|one| (number, one)));
        }
        found.sort_by(|(_, one), (_, other)| one.metres.total_cmp(&other.metres));
        found.truncate(count);
        let addresses = found
            .into_iter()
            .map(|(number, one)| Near::Address(number, one));
        addresses.collect()
    }
}

/// Returns the current commune around a position, as an index into the table of places; `None` abroad and at sea.
pub fn commune_around(lat: f64, lon: f64) -> Option<u32> {
    let places = Places::get();
    let of_2018 = commune_at(lat, lon).and_then(|code| places.find(code))?;
    let parent = places.place(of_2018).and_then(|place| place.parent);
    Some(parent.unwrap_or(of_2018))
}

fn filter_wants_commune(filter: &AddressFilter, place: u32) -> bool {
    let places = Places::get();
    let Some(commune) = places.place(place) else {
        return false;
    };
    let is_code = filter.insee_code.as_deref().is_none_or(|code| {
        let root = |index: u32| {
            places
                .place(index)
                .and_then(|one| one.parent)
                .unwrap_or(index)
        };
        places.find(code).is_some_and(|asked| root(asked) == place)
    });
    let is_postal_code = filter
        .postal_code
        .as_deref()
        .is_none_or(|code| commune.postal_codes.contains(&code));
    is_code && is_postal_code
}
