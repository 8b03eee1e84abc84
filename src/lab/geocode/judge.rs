//! Asks a geocoder and judges its first results.

use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geocode::Geocoder;
use toise_geocode::search::{Match, NumberMatch, ResultKind, SearchRequest, position};
use toise_geocode::text::{fold::folded, lexicon};

use super::classes::{Class, Wanted};
use super::sample::Address;

/// Distance within which a house counts as the one meant, metres.
pub const HOUSE_M: f64 = 30.0;
/// Number of results asked for.
pub const RESULTS: usize = 5;

/// A query and the expected result.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The request.
    pub request: SearchRequest,
    /// The address that is meant.
    pub address: &'a Address,
    /// Whether the house or the street should be found.
    pub wanted: Wanted,
}

/// The judged results of a question.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the first result is the one meant.
    pub is_right: bool,
    /// Whether the first result is right at its own precision, even if a house was expected: a street alone counts if
    /// it is the right street. A town alone never counts, because a street is asked for.
    pub is_true: bool,
    /// Whether one of the first five is right.
    pub is_among: bool,
    /// Probability that the geocoder assigns to its first result; 0 without one.
    pub probability: f32,
    /// Whether there is a first result in another commune.
    pub is_other_town: bool,
    /// Whether the first result is a street or a house.
    pub is_street: bool,
    /// Label of the first result; empty without one.
    pub label: String,
}

impl<'a> Question<'a> {
    /// Creates the question for a query of a class about an address.
    pub fn new(class: &Class, address: &'a Address, text: String) -> Self {
        Self {
            request: SearchRequest {
                text,
                limit: RESULTS,
                autocomplete: class.is_typing,
                insee_code: class.is_typing.then(|| address.insee_code.clone()),
                ..SearchRequest::default()
            },
            address,
            wanted: class.wanted,
        }
    }

    /// Asks the geocoder and judges its results.
    pub fn ask(&self, geocoder: &Geocoder) -> Outcome {
        let found = geocoder.search(&self.request);
        let first = found.first();
        let is_right = |one: &Match| self.is_right(geocoder, one);
        Outcome {
            is_right: first.is_some_and(is_right),
            is_true: first.is_some_and(|one| self.is_true(geocoder, one)),
            is_among: found.iter().any(is_right),
            probability: first.map_or(0.0, |one| one.probability),
            is_other_town: first.is_some_and(|one| {
                commune_of_today(commune(geocoder, one))
                    != commune_of_today(&self.address.insee_code)
            }),
            is_street: first.is_some_and(|one| one.street.is_some()),
            label: first.map_or_else(String::new, |one| label(geocoder, one)),
        }
    }

    /// Returns whether a result is right at the precision of its kind.
    fn is_true(&self, geocoder: &Geocoder, one: &Match) -> bool {
        let meant = self.address;
        let code = commune(geocoder, one);
        match one.kind {
            ResultKind::HouseNumber => self.is_right(geocoder, one),
            ResultKind::Street | ResultKind::Locality => {
                code == meant.insee_code && folded(name(geocoder, one)) == folded(&meant.street)
            }
            // Every question names a street, so its town alone is not an answer.
            ResultKind::Municipality => false,
        }
    }

    /// Returns whether a result is the expected one. A house is right within [`HOUSE_M`] of the expected house, because
    /// two addresses may share a door. A street is right if its name and commune agree.
    fn is_right(&self, geocoder: &Geocoder, one: &Match) -> bool {
        let meant = self.address;
        match self.wanted {
            Wanted::House => {
                let (lat, lon) = position(geocoder, one);
                one.kind == ResultKind::HouseNumber
                    && planar_distance_m(meant.lat, meant.lon, lat, lon) <= HOUSE_M
            }
            Wanted::Street => {
                one.kind != ResultKind::HouseNumber
                    && commune(geocoder, one) == meant.insee_code
                    && folded(name(geocoder, one)) == folded(&meant.street)
            }
        }
    }
}

/// Returns the INSEE code of a result.
pub fn commune<'g>(geocoder: &'g Geocoder, one: &Match) -> &'g str {
    match one.street {
        Some((segment, street)) => {
            let segment = &geocoder.segments()[segment];
            segment.area(segment.area_of(street)).insee_code
        }
        None => one
            .place
            .and_then(|place| Places::get().place(place))
            .map_or("", |place| place.code),
    }
}

/// Returns the index of the current commune of a code of any year; for an arrondissement, of its city.
fn commune_of_today(code: &str) -> Option<u32> {
    let places = Places::get();
    let place = places.find(code)?;
    places.place(place)?.parent.or(Some(place))
}

/// Returns the name of the street or commune of a result.
pub fn name<'g>(geocoder: &'g Geocoder, one: &Match) -> &'g str {
    match one.street {
        Some((segment, street)) => geocoder.segments()[segment].street_name(street),
        None => one
            .place
            .and_then(|place| Places::get().place(place))
            .map_or("", |place| place.name),
    }
}

/// Returns the house number of a result with its suffix; empty without one.
pub fn house_number(one: &Match) -> String {
    match &one.number {
        NumberMatch::Found(house) | NumberMatch::OtherSuffix(house) => {
            format!("{}{}", house.number, lexicon::suffix_text(house.suffix))
        }
        NumberMatch::NotAsked | NumberMatch::Missing => String::new(),
    }
}

/// Returns the postal code of a result; empty for a commune.
pub fn postal_code(geocoder: &Geocoder, one: &Match) -> String {
    one.street.map_or_else(String::new, |(segment, street)| {
        let code = geocoder.segments()[segment].street_postal_code(street);
        format!("{code:05}")
    })
}

/// Formats a result for people: `12bis Rue de la République 48000 Mende`.
pub fn label(geocoder: &Geocoder, one: &Match) -> String {
    let city = one
        .place
        .and_then(|place| Places::get().place(place))
        .map_or("", |place| place.name);
    let parts = match one.street {
        Some(_) => vec![
            house_number(one),
            name(geocoder, one).to_owned(),
            postal_code(geocoder, one),
            city.to_owned(),
        ],
        None => vec![city.to_owned()],
    };
    let texts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    texts.join(" ")
}
