//! Addresses in responses: GeoJSON features with the properties of the public service and some of our own.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::index::segment::{Area, HouseNumber, Neighbour, Segment};
use crate::reverse::Near;
use crate::search::{
    FAR_M, Geocoder, Match, Matched, NumberMatch, PartMatch, ResultKind, importance, position,
};
use toise_geo::places::{Place, PlaceKind, Places};
use toise_geo::{departments, projection, regions};

/// Minimum probability of a result with high confidence.
const HIGH_FROM: f32 = 0.9;
/// Minimum probability of a result with medium confidence.
const MEDIUM_FROM: f32 = 0.6;
/// Maximum uncertainty of a result with high confidence, metres: how far the right house number may be from it.
const HIGH_UNCERTAINTY_M: f64 = 500.0;
/// Maximum distance at which the nearest address has high confidence, metres.
const HIGH_WITHIN_M: f64 = 25.0;
/// Maximum distance at which the nearest address has medium confidence, metres.
const MEDIUM_WITHIN_M: f64 = 100.0;
/// Distance at which the score of a reverse search reaches 0, metres: as the public service computes it.
const REVERSE_SCORE_M: f64 = 10_000.0;

toise_base::named! {
    /// How far a result can be trusted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Confidence {
        /// Use it.
        High = "HIGH",
        /// Probably right.
        Medium = "MEDIUM",
        /// A person should check it.
        Low = "LOW",
    }
}

impl Confidence {
    fn of_probability(probability: f32) -> Self {
        match probability {
            p if p >= HIGH_FROM => Confidence::High,
            p if p >= MEDIUM_FROM => Confidence::Medium,
            _ => Confidence::Low,
        }
    }

    /// Returns the confidence of an address at a distance from the queried position, metres.
    pub(crate) fn of_distance(metres: f64) -> Self {
        match metres {
            m if m <= HIGH_WITHIN_M => Confidence::High,
            m if m <= MEDIUM_WITHIN_M => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

toise_base::named! {
    /// Source of an answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum AddressSource {
        /// The index of the imported address base.
        Ban = "ban",
        /// The upstream service, which is queried for addresses that the index does not hold.
        Upstream = "upstream",
    }
}

/// An address in an answer. It serialises as a GeoJSON feature.
#[derive(Clone, Debug)]
pub struct Address<'g> {
    /// Latitude in WGS 84 degrees.
    pub lat: f64,
    /// Longitude in WGS 84 degrees.
    pub lon: f64,
    /// Its properties.
    pub properties: AddressProperties<'g>,
}

/// The properties of an address, with the names of the public service.
#[derive(Clone, Debug, Serialize)]
pub struct AddressProperties<'g> {
    /// One line: number, street, postal code, commune.
    pub label: String,
    /// Search: probability that this is the intended address, 0 to 1. Reverse: 1 at the position, 0 at 10 km.
    pub score: f64,
    /// Identifier in the national address base; the INSEE code of a commune.
    pub id: Cow<'g, str>,
    /// House number and street, street, place or commune.
    pub name: Cow<'g, str>,
    /// House number with its suffix, such as `12bis`.
    #[serde(rename = "housenumber", skip_serializing_if = "Option::is_none")]
    pub house_number: Option<Cow<'g, str>>,
    /// Street.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<Cow<'g, str>>,
    /// Postal code; for a commune, its first.
    #[serde(rename = "postcode", skip_serializing_if = "str_is_empty")]
    pub postal_code: Cow<'g, str>,
    /// INSEE code of the current commune, or of the arrondissement.
    #[serde(rename = "citycode")]
    pub insee_code: Cow<'g, str>,
    /// Commune.
    pub city: Cow<'g, str>,
    /// Arrondissement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub district: Option<Cow<'g, str>>,
    /// Former commune.
    #[serde(rename = "oldcity", skip_serializing_if = "Option::is_none")]
    pub former_city: Option<Cow<'g, str>>,
    /// INSEE code of the former commune.
    #[serde(rename = "oldcitycode", skip_serializing_if = "Option::is_none")]
    pub former_insee_code: Option<Cow<'g, str>>,
    /// Department code, department, region.
    pub context: String,
    /// Kind of result.
    #[serde(rename = "type", serialize_with = "kind_name")]
    pub kind: ResultKind,
    /// Importance of the street or commune, 0 to 1.
    pub importance: f64,
    /// Easting in the official projection (Lambert-93 in mainland France), metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Northing, metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Distance from the queried position, whole metres; reverse searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u64>,
    /// How far the right address may be from the position, whole metres; only for streets, named places, and results
    /// far from the requested position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty_m: Option<u64>,
    /// How far the result can be trusted.
    pub confidence: Confidence,
    /// How its parts agree with the query; forward searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// Source of the answer.
    pub source: AddressSource,
    /// Code of the IRIS that contains it, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iris: Option<String>,
    /// Cadastral parcels, if requested and known to the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parcels: Option<Vec<String>>,
}

fn str_is_empty(text: &str) -> bool {
    text.is_empty()
}

fn kind_name<S: Serializer>(kind: &ResultKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

impl Serialize for Matched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parts = serializer.serialize_struct("matched", 4)?;
        parts.serialize_field("housenumber", self.house_number.as_str())?;
        parts.serialize_field("street", self.street.as_str())?;
        parts.serialize_field("postcode", self.postal_code.as_str())?;
        parts.serialize_field("city", self.city.as_str())?;
        parts.end()
    }
}

#[derive(Serialize)]
struct Point {
    #[serde(rename = "type")]
    kind: &'static str,
    coordinates: [f64; 2],
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut feature = serializer.serialize_struct("Feature", 3)?;
        feature.serialize_field("type", "Feature")?;
        let point = Point {
            kind: "Point",
            coordinates: [self.lon, self.lat],
        };
        feature.serialize_field("geometry", &point)?;
        feature.serialize_field("properties", &self.properties)?;
        feature.end()
    }
}

impl Geocoder {
    /// Converts a match of a search to an address.
    pub fn address(&self, found: &Match) -> Address<'_> {
        let (lat, lon) = position(self, found);
        let mut address = match (found.street, found.place) {
            (Some((segment, street)), _) => {
                let house = match &found.number {
                    NumberMatch::Found(house) | NumberMatch::OtherSuffix(house) => Some(house),
                    NumberMatch::NotAsked | NumberMatch::Missing => None,
                };
                of_street(&self.segments()[segment], street, house, (lat, lon))
            }
            (None, Some(place)) => of_place(place, (lat, lon)),
            // Does not happen: a match always names a street or a place.
            (None, None) => of_place(0, (lat, lon)),
        };
        let properties = &mut address.properties;
        properties.score = rounded(f64::from(found.probability), 1e5);
        properties.confidence = Confidence::of_probability(found.probability);
        // A street other than the requested one never has high confidence, regardless of its probability. The same
        // holds for a result that stands in for a house number some distance away, or that is far from the requested
        // position.
        let sure_m = match found.number {
            NumberMatch::Missing => HIGH_UNCERTAINTY_M,
            _ => FAR_M,
        };
        let is_unsure = found.uncertainty_m.is_some_and(|metres| metres > sure_m)
            || found.matched.street == PartMatch::Conflict;
        if is_unsure && properties.confidence == Confidence::High {
            properties.confidence = Confidence::Medium;
        }
        properties.uncertainty_m = found.uncertainty_m.map(|metres| metres.round() as u64);
        properties.matched = Some(found.matched);
        address
    }

    /// Converts a result of a reverse search at a position to an address.
    pub fn address_near(&self, near: &Near, lat: f64, lon: f64) -> Address<'_> {
        match near {
            Near::Address(segment, neighbour) => {
                self.address_of_neighbour(&self.segments()[*segment], neighbour)
            }
            Near::Commune(place) => {
                let centre = Places::get()
                    .place(*place)
                    .map_or((lat, lon), |place| place.centre);
                let mut address = of_place(*place, centre);
                let metres =
                    toise_geo::distance::planar_distance_m(lat, lon, address.lat, address.lon);
                set_distance(&mut address.properties, metres);
                // Only the commune is known, so confidence is low even if its centre is near.
                address.properties.confidence = Confidence::Low;
                address
            }
        }
    }

    fn address_of_neighbour<'g>(
        &'g self,
        segment: &'g Segment,
        neighbour: &Neighbour,
    ) -> Address<'g> {
        let house = neighbour.number.as_ref();
        let at = house.map_or_else(
            || segment.street_position(neighbour.street),
            |house| (house.lat, house.lon),
        );
        let mut address = of_street(segment, neighbour.street, house, at);
        set_distance(&mut address.properties, neighbour.metres);
        address
    }
}

fn set_distance(properties: &mut AddressProperties<'_>, metres: f64) {
    properties.distance = Some(metres.round() as u64);
    properties.score = rounded((1.0 - metres / REVERSE_SCORE_M).max(0.0), 1e5);
    properties.confidence = Confidence::of_distance(metres);
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Formats a house number with its suffix as the base writes it: `12bis`.
pub fn number_text(house: &HouseNumber) -> String {
    let suffix = house.suffix_label();
    // `12bis`, but `6 2`: without a space, two numbers would read as one.
    let joint = if suffix.starts_with(|first: char| first.is_ascii_digit()) {
        " "
    } else {
        ""
    };
    format!("{}{joint}{suffix}", house.number)
}

/// Returns the identifier of a house number: its own, otherwise that of its street, followed by number and suffix.
fn number_id(street_id: &str, house: &HouseNumber) -> String {
    if let Some(id) = &house.id {
        return id.clone();
    }
    let suffix = house.suffix_label();
    let joint = if suffix.is_empty() { "" } else { "_" };
    format!("{street_id}_{:05}{joint}{suffix}", house.number)
}

fn of_street<'g>(
    segment: &'g Segment,
    street: u32,
    house: Option<&HouseNumber>,
    (lat, lon): (f64, f64),
) -> Address<'g> {
    let area = segment.area(segment.area_of(street));
    let name = segment.street_name(street);
    let of_house = house.map_or(0, |house| house.postal_code);
    let of_street = segment.street_postal_code(street);
    let postal_code = match if of_house == 0 { of_street } else { of_house } {
        0 => String::new(),
        code => format!("{code:05}"),
    };
    let kind = match house {
        Some(_) => ResultKind::HouseNumber,
        None if segment.is_place(street) => ResultKind::Locality,
        None => ResultKind::Street,
    };
    let number = house.map(number_text);
    let full_name = match &number {
        Some(number) => Cow::Owned(format!("{number} {name}")),
        None => Cow::Borrowed(name),
    };
    let district = district(area.insee_code);
    let city = district.map_or(area.commune, |(city, _)| city);
    let label_name = if has_twin(segment, street, &area) {
        format!("{full_name} ({})", area.former_name)
    } else {
        full_name.to_string()
    };
    let id = match house {
        Some(house) => Cow::Owned(number_id(segment.street_id(street), house)),
        None => Cow::Borrowed(segment.street_id(street)),
    };
    let given = |text: &'g str| (!text.is_empty()).then_some(Cow::Borrowed(text));
    let department = segment.department();
    let (x, y) = projection::from_degrees(department, lat, lon).unzip();
    let mut address = empty(lat, lon);
    address.properties = AddressProperties {
        label: label(&label_name, &postal_code, city),
        id,
        name: full_name,
        house_number: number.map(Cow::Owned),
        street: (kind != ResultKind::Locality).then_some(Cow::Borrowed(name)),
        postal_code: Cow::Owned(postal_code),
        insee_code: Cow::Borrowed(area.insee_code),
        city: Cow::Borrowed(city),
        district: district.map(|(_, district)| Cow::Borrowed(district)),
        former_city: given(area.former_name),
        former_insee_code: given(area.former_code),
        context: context(department),
        kind,
        importance: importance_of(area.insee_code, segment.street_numbers(street)),
        x,
        y,
        ..address.properties
    };
    address
}

/// Returns whether another part of the commune has a street of the same name. If so, the former commune distinguishes
/// them.
fn has_twin(segment: &Segment, street: u32, area: &Area<'_>) -> bool {
    if area.former_name.is_empty() {
        return false;
    }
    let name = segment.street_name(street);
    let own = segment.area_of(street);
    let others = (0..segment.areas())
        .filter(|other| *other != own && segment.area(*other).insee_code == area.insee_code);
    others
        .flat_map(|other| segment.area_streets(other))
        .any(|other| segment.street_name(other) == name)
}

/// Returns the city and the arrondissement for the code of an arrondissement.
fn district(insee_code: &str) -> Option<(&'static str, &'static str)> {
    let places = Places::get();
    let place = places.place(places.find(insee_code)?)?;
    let city = places.place(place.parent?)?;
    (place.kind == PlaceKind::Arrondissement).then_some((city.name, place.name))
}

fn of_place(index: u32, (lat, lon): (f64, f64)) -> Address<'static> {
    let places = Places::get();
    let Some(place) = places.place(index).or_else(|| places.place(0)) else {
        // The table is compiled in and never empty.
        return empty(lat, lon);
    };
    let parent = place.parent.and_then(|parent| places.place(parent));
    // For a former commune, the result names the current commune and adds the former one.
    let is_former = matches!(place.kind, PlaceKind::Former | PlaceKind::FormerCode);
    let commune: &Place = parent.filter(|_| is_former).unwrap_or(place);
    let city = match place.kind {
        PlaceKind::Arrondissement => parent.map_or(place.name, |city| city.name),
        _ => commune.name,
    };
    let postal_code = place.postal_codes.first().copied().unwrap_or_default();
    let given = |text: &'static str| (!text.is_empty() && is_former).then_some(Cow::Borrowed(text));
    let (x, y) = projection::from_degrees(place.department, lat, lon).unzip();
    let name = if place.name.is_empty() {
        commune.name
    } else {
        place.name
    };
    let mut address = empty(lat, lon);
    address.properties = AddressProperties {
        label: name.to_owned(),
        id: Cow::Borrowed(commune.code),
        name: Cow::Borrowed(name),
        postal_code: Cow::Borrowed(postal_code),
        insee_code: Cow::Borrowed(commune.code),
        city: Cow::Borrowed(city),
        district: (place.kind == PlaceKind::Arrondissement).then_some(Cow::Borrowed(place.name)),
        former_city: given(place.name),
        former_insee_code: given(place.code),
        context: context(place.department),
        importance: importance_of(place.code, 0),
        x,
        y,
        ..address.properties
    };
    address
}

/// Returns an address with only a position.
pub(crate) fn empty(lat: f64, lon: f64) -> Address<'static> {
    Address {
        lat,
        lon,
        properties: AddressProperties {
            label: String::new(),
            score: 0.0,
            id: Cow::Borrowed(""),
            name: Cow::Borrowed(""),
            house_number: None,
            street: None,
            postal_code: Cow::Borrowed(""),
            insee_code: Cow::Borrowed(""),
            city: Cow::Borrowed(""),
            district: None,
            former_city: None,
            former_insee_code: None,
            context: String::new(),
            kind: ResultKind::Municipality,
            importance: 0.0,
            x: None,
            y: None,
            distance: None,
            uncertainty_m: None,
            confidence: Confidence::Low,
            matched: None,
            source: AddressSource::Ban,
            iris: None,
            parcels: None,
        },
    }
}

fn importance_of(insee_code: &str, numbers: u32) -> f64 {
    let places = Places::get();
    let place = places.find(insee_code).and_then(|at| places.place(at));
    let population = place.map_or(0, |place| place.population);
    rounded(f64::from(importance(population, numbers)), 1e5)
}

fn label(name: &str, postal_code: &str, city: &str) -> String {
    let parts = [name, postal_code, city];
    let given: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    given.join(" ")
}

/// Formats a department with its name and region: `48, Lozère, Occitanie`.
pub(crate) fn context(department: &str) -> String {
    let region = regions::for_department(department).map(|region| region.name);
    match (departments::name(department), region) {
        (Some(name), Some(region)) if name == region => format!("{department}, {name}"),
        (Some(name), Some(region)) => format!("{department}, {name}, {region}"),
        _ => department.to_owned(),
    }
}
