//! Converts answers of the upstream service to addresses, and determines their confidence.
//!
//! Nothing in an answer is trusted: a feature is dropped if it lacks properties that our contract promises, if its
//! score is not valid, or if its position is too far from its commune. The score stays as given. The public service's
//! score measures how similar two texts are, not how probable the address is, so [`Confidence`] is derived from it
//! conservatively: high confidence also requires that the query names the town.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::address::{self, Address, AddressProperties, AddressSource, Confidence};
use crate::request::{LIMITS, ReverseCall, SearchCall, is_insee_code, is_postal_code, parse_kind};
use crate::search::{ResultKind, SearchRequest};
use crate::text::fold;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geo::{departments, projection};

/// Minimum score of a result that can have high confidence.
pub const HIGH_FROM: f64 = 0.95;
/// Minimum score of a result with medium confidence.
pub const MEDIUM_FROM: f64 = 0.75;
/// Maximum length of a property, bytes.
const TEXT_BYTES_MAX: usize = 500;
/// Maximum distance of an address from the centre of its commune, metres; the largest communes, in French Guiana,
/// extend that far.
const COMMUNE_REACH_M_MAX: f64 = 200_000.0;

/// An address that the upstream service found, as stored in the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    lat: f64,
    lon: f64,
    label: String,
    score: f64,
    id: String,
    name: String,
    house_number: Option<String>,
    street: Option<String>,
    postal_code: String,
    insee_code: String,
    city: String,
    district: Option<String>,
    former_city: Option<String>,
    former_insee_code: Option<String>,
    context: Option<String>,
    kind: String,
    importance: f64,
}

/// Parses the body of an answer; features that cannot be used are dropped.
///
/// # Errors
/// It is not a GeoJSON feature collection.
pub fn read(body: &[u8]) -> Result<Vec<Found>, &'static str> {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Err("its answer is not JSON");
    };
    let is_collection = body.get("type").and_then(Value::as_str) == Some("FeatureCollection");
    match body.get("features").and_then(Value::as_array) {
        Some(features) if is_collection => Ok(features
            .iter()
            .filter_map(Found::read)
            .take(*LIMITS.end())
            .collect()),
        _ => Err("its answer is not a GeoJSON feature collection"),
    }
}

impl Found {
    fn read(feature: &Value) -> Option<Self> {
        let coordinates = feature.get("geometry")?.get("coordinates")?.as_array()?;
        let [lon, lat] = coordinates.get(..2)? else {
            return None;
        };
        let properties = feature.get("properties")?.as_object()?;
        let given = |name| text(properties, name);
        let label = given("label")?;
        let found = Self {
            lat: lat.as_f64()?,
            lon: lon.as_f64()?,
            score: properties.get("score")?.as_f64()?,
            id: given("id")?,
            name: given("name").unwrap_or_else(|| label.clone()),
            house_number: given("housenumber"),
            street: given("street"),
            postal_code: given("postcode").unwrap_or_default(),
            insee_code: given("citycode")?,
            city: given("city")?,
            district: given("district"),
            former_city: given("oldcity"),
            former_insee_code: given("oldcitycode"),
            context: given("context"),
            kind: given("type")?,
            importance: properties
                .get("importance")
                .and_then(Value::as_f64)
                .map_or(0.0, |importance| importance.clamp(0.0, 1.0)),
            label,
        };
        found.is_plausible().then_some(found)
    }

    fn is_plausible(&self) -> bool {
        (0.0..=1.0).contains(&self.score)
            && is_insee_code(&self.insee_code)
            && (self.postal_code.is_empty() || is_postal_code(&self.postal_code))
            && parse_kind(&self.kind).is_ok()
            && self.is_near_its_commune()
    }

    /// Returns whether the position is near the commune, or in France if the commune is unknown.
    fn is_near_its_commune(&self) -> bool {
        if !(self.lat.abs() <= 90.0 && self.lon.abs() <= 180.0) {
            return false;
        }
        let places = Places::get();
        let found = places.find(&self.insee_code);
        match found.and_then(|place| places.place(place)) {
            Some(place) => {
                let (lat, lon) = place.centre;
                planar_distance_m(lat, lon, self.lat, self.lon) <= COMMUNE_REACH_M_MAX
            }
            None => projection::in_france(self.lat, self.lon),
        }
    }

    fn kind(&self) -> Option<ResultKind> {
        parse_kind(&self.kind).ok()
    }

    /// Converts it to an address whose confidence and distance, which depend on the query, are not set yet.
    fn address(self) -> Option<Address<'static>> {
        let kind = self.kind()?;
        let department = departments::for_commune(&self.insee_code).unwrap_or_default();
        let (x, y) = projection::from_degrees(department, self.lat, self.lon).unzip();
        let mut found = address::empty(self.lat, self.lon);
        found.properties = AddressProperties {
            label: self.label,
            score: self.score,
            id: Cow::Owned(self.id),
            name: Cow::Owned(self.name),
            house_number: self.house_number.map(Cow::Owned),
            street: self.street.map(Cow::Owned),
            postal_code: Cow::Owned(self.postal_code),
            insee_code: Cow::Owned(self.insee_code),
            city: Cow::Owned(self.city),
            district: self.district.map(Cow::Owned),
            former_city: self.former_city.map(Cow::Owned),
            former_insee_code: self.former_insee_code.map(Cow::Owned),
            context: self.context.unwrap_or_else(|| address::context(department)),
            kind,
            importance: self.importance,
            x,
            y,
            source: AddressSource::Upstream,
            ..found.properties
        };
        Some(found)
    }
}

/// Returns a text property; `None` if it is empty or too long to be part of an address.
fn text(properties: &Map<String, Value>, name: &str) -> Option<String> {
    let text = properties.get(name)?.as_str()?.trim();
    (!text.is_empty() && text.len() <= TEXT_BYTES_MAX).then(|| text.to_owned())
}

/// Returns the answer to a search, highest score first.
pub fn of_search(found: Vec<Found>, call: &SearchCall) -> Vec<Address<'static>> {
    let request = &call.request;
    let within = request.within.as_ref().map(|places| {
        let all = Places::get();
        let codes = |place: &u32| {
            let own = all.place(*place).map(|place| place.code);
            all.address_codes(*place).into_iter().chain(own)
        };
        places.iter().flat_map(codes).collect::<Vec<&str>>()
    });
    let is_wanted = |one: &Found| {
        let is_within = within
            .as_ref()
            .is_none_or(|codes| codes.contains(&one.insee_code.as_str()));
        is_within && request.kind.is_none_or(|kind| one.kind() == Some(kind))
    };
    let wanted = found.into_iter().filter(is_wanted);
    let mut addresses: Vec<Address<'static>> = wanted.filter_map(Found::address).collect();
    for address in &mut addresses {
        address.properties.confidence = confidence(&address.properties, request);
    }
    addresses.sort_by(|one, other| other.properties.score.total_cmp(&one.properties.score));
    addresses.truncate(request.limit);
    addresses
}

/// Returns the answer to a reverse search, nearest first. The service's own distances are not trusted.
pub fn of_reverse(found: Vec<Found>, call: &ReverseCall) -> Vec<Address<'static>> {
    let mut near: Vec<(f64, Address<'static>)> = found
        .into_iter()
        .filter(|one| call.filter.kind.is_none_or(|kind| one.kind() == Some(kind)))
        .filter_map(Found::address)
        .map(|address| {
            let metres = planar_distance_m(call.lat, call.lon, address.lat, address.lon);
            (metres, address)
        })
        .filter(|(metres, _)| call.metres_max.is_none_or(|most| *metres <= most))
        .collect();
    near.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    near.truncate(call.limit);
    let placed = |(metres, mut address): (f64, Address<'static>)| {
        let properties = &mut address.properties;
        properties.distance = Some(metres.round() as u64);
        // Only the commune is known, so confidence is low even if its centre is near.
        properties.confidence = match properties.kind {
            ResultKind::Municipality => Confidence::Low,
            _ => Confidence::of_distance(metres),
        };
        address
    };
    near.into_iter().map(placed).collect()
}

/// Returns the confidence of a result. It is high for a score of at least [`HIGH_FROM`] if the query names the town and
/// the result has the requested house number. It is medium for a score of at least [`MEDIUM_FROM`]. A result outside
/// the postal codes that the query names always has low confidence.
fn confidence(properties: &AddressProperties<'_>, request: &SearchRequest) -> Confidence {
    let words: Vec<String> = fold::tokens(&request.text)
        .into_iter()
        .map(|token| token.text)
        .collect();
    let mut codes = words.iter().filter(|word| is_postal_code(word)).peekable();
    let names_code = codes.peek().is_some();
    let own = [&properties.postal_code, &properties.insee_code];
    if names_code && !codes.any(|code| own.iter().any(|own| ***own == **code)) {
        return Confidence::Low;
    }
    let names_city = || {
        let city = fold::tokens(&properties.city);
        !city.is_empty() && city.iter().all(|token| words.contains(&token.text))
    };
    let names_place = names_code
        || request.postal_code.is_some()
        || request.insee_code.is_some()
        || request.within.is_some()
        || names_city();
    let asks_number = words.first().is_some_and(|word| {
        word.bytes().all(|byte| byte.is_ascii_digit()) && !is_postal_code(word)
    });
    let lacks_number = asks_number && properties.house_number.is_none();
    match properties.score {
        score if score >= HIGH_FROM && names_place && !lacks_number => Confidence::High,
        score if score >= MEDIUM_FROM => Confidence::Medium,
        _ => Confidence::Low,
    }
}
