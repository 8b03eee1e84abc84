//! Two fingerprints, field by field: levels of agreement, their bits, and what they come to.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::blocks::compatible;
use super::few::Few;
use super::fingerprint::{Fingerprint, Period, SellerKind, Spot};
use super::images;
use super::text;
use super::weights::{DIFFERENT_BITS, FIELDS, Field, PRIOR_BITS, SAME_BITS, WEIGHTS};
use crate::geo::distance::planar_distance_m;
use crate::wire::enums::EnumPropertyClass as Class;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// One asset.
    Same,
    /// Too alike to be sure they are two, not enough to join them.
    Unsure,
    /// Two assets.
    Different,
}

/// Why two adverts are not one asset whatever else agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bar {
    /// Other classes or offers.
    Kind,
    /// One portal shows both at the same time, and no strong evidence says they are one.
    OnlineTogether,
    /// Alike flats of one programme, and nothing that tells them to be the same one.
    Programme,
}

/// One field's part in a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The field.
    pub field: Field,
    /// Index of the level in the field's table.
    pub level: u8,
    /// What it is worth, bits.
    pub bits: f32,
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            field: Field::Place,
            level: 0,
            bits: 0.0,
        }
    }
}

impl Evidence {
    /// What was found.
    pub fn about(self) -> &'static str {
        WEIGHTS[self.field as usize].levels[usize::from(self.level)].about
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Evidence", 3)?;
        fields.serialize_field("field", &self.field)?;
        fields.serialize_field("found", self.about())?;
        fields.serialize_field("bits", &self.bits)?;
        fields.end()
    }
}

/// What two adverts have in common, and what that says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Binary logarithm of the odds that both are one asset.
    pub bits: f32,
    /// Why they are not, whatever the bits.
    pub bar: Option<Bar>,
    /// Whether both are of one seller: then other weights hold.
    pub one_seller: bool,
    /// Whether both are of new-build programmes: then what a programme's flats share counts for nothing.
    pub programme: bool,
    /// Field by field, in the order of the table; fields that either leaves open are missing.
    pub evidence: Few<Evidence, FIELDS>,
}

impl Comparison {
    /// Probability that both are one asset, 0 to 1.
    pub fn probability(&self) -> f64 {
        match self.bar {
            Some(_) => 0.0,
            None => 1.0 / (1.0 + (-f64::from(self.bits)).exp2()),
        }
    }

    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match self.bar {
            Some(_) => Verdict::Different,
            None if self.bits >= SAME_BITS => Verdict::Same,
            None if self.bits <= DIFFERENT_BITS => Verdict::Different,
            None => Verdict::Unsure,
        }
    }

    /// The level of a field, when it was compared.
    pub fn level(&self, field: Field) -> Option<u8> {
        let found = self.evidence.iter().find(|one| one.field == field);
        found.map(|one| one.level)
    }
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Comparison", 6)?;
        fields.serialize_field("verdict", &self.verdict())?;
        fields.serialize_field("probability", &self.probability())?;
        fields.serialize_field("bits", &self.bits)?;
        fields.serialize_field("priorBits", &PRIOR_BITS)?;
        fields.serialize_field("bar", &self.bar)?;
        fields.serialize_field("evidence", &*self.evidence)?;
        fields.end()
    }
}

/// Compares two adverts; the same whichever comes first. Below a microsecond, no allocation.
pub fn compare(one: &Fingerprint, other: &Fingerprint) -> Comparison {
    let mut comparison = Comparison {
        bits: PRIOR_BITS,
        bar: None,
        one_seller: false,
        programme: of_programme(one, other),
        evidence: Few::default(),
    };
    if !compatible(one, other) {
        comparison.bar = Some(Bar::Kind);
        comparison.bits = f32::NEG_INFINITY;
        return comparison;
    }
    let seller = seller(one, other);
    let one_seller = matches!(seller, Some(ONE_AGENCY | ONE_NETWORK | ONE_PERSON));
    comparison.one_seller = one_seller;
    let levels = [
        (Field::Place, place(one, other)),
        (Field::Surface, surface(one, other)),
        (Field::Land, land(one, other)),
        (Field::Rooms, apart(one.rooms, other.rooms)),
        (Field::Bedrooms, apart(one.bedrooms, other.bedrooms)),
        (Field::Floor, apart(one.floor, other.floor)),
        (Field::Building, building(one, other)),
        (Field::Price, price(one, other)),
        (Field::Energy, energy(one, other)),
        (Field::Amenities, amenities(one, other)),
        (Field::Text, description(one, other)),
        (Field::Figures, figures(one, other)),
        (Field::Photos, photos(one, other)),
        (Field::Seller, seller),
        (Field::Reference, reference(one, other)),
        (Field::Portal, portal(one, other)),
    ];
    for (field, level) in levels {
        if let Some(level) = level {
            let entry = &WEIGHTS[field as usize].levels[usize::from(level)];
            let shared_by_all = comparison.programme
                && matches!(field, Field::Text | Field::Figures | Field::Photos);
            let bits = entry.bits[usize::from(one_seller)];
            let bits = if shared_by_all { bits.min(0.0) } else { bits };
            comparison.bits += bits;
            comparison.evidence.push(Evidence { field, level, bits });
        }
    }
    comparison.bar = bar(&comparison);
    comparison
}

/// Index of the first limit that the value does not exceed; one more than the last when it exceeds all.
fn band(value: f64, limits: &[f64]) -> u8 {
    limits.iter().take_while(|limit| value > **limit).count() as u8
}

/// By how much the greater exceeds the lesser, as a share of the greater.
fn gap(one: u32, other: u32) -> f64 {
    f64::from(one.abs_diff(other)) / f64::from(one.max(other).max(1))
}

fn place(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    const LIMITS_M: [f64; 5] = [40.0, 150.0, 350.0, 700.0, 1_500.0];
    if let (Some(first), Some(second)) = (one.precise(), other.precise()) {
        return Some(band(metres(first, second), &LIMITS_M));
    }
    let after = LIMITS_M.len() as u8;
    match (one.commune, other.commune) {
        (Some(first), Some(second)) if first == second => return Some(after + 1),
        (Some(_), Some(_)) => return Some(after + 3),
        _ => {}
    }
    match (one.postal_code, other.postal_code) {
        (Some(first), Some(second)) if first == second => Some(after + 2),
        (Some(_), Some(_)) => Some(after + 3),
        _ => None,
    }
}

fn metres(one: Spot, other: Spot) -> f64 {
    let degrees = |e6: i32| f64::from(e6) / 1e6;
    // The parallel halfway between makes the distance the same both ways.
    let parallel = (degrees(one.lat_e6) + degrees(other.lat_e6)) / 2.0;
    let north = degrees(one.lat_e6) - degrees(other.lat_e6);
    let east = degrees(one.lon_e6) - degrees(other.lon_e6);
    planar_distance_m(parallel, 0.0, parallel + north, east)
}

fn surface(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.class == Class::Land {
        let gap = gap(one.land_m2?, other.land_m2?);
        // Land is given in whole square metres: equal is equal when rounded.
        return Some(if gap == 0.0 {
            1
        } else {
            3 + band(gap, &[0.025, 0.06, 0.12])
        });
    }
    let (first, second) = (one.surface_dm2?, other.surface_dm2?);
    let whole = |area: u32| area.is_multiple_of(100);
    if first == second {
        return Some(u8::from(whole(first)));
    }
    // Rounded or cut to whole square metres on one side.
    let (lesser, greater) = (first.min(second), first.max(second));
    if (whole(first) || whole(second)) && greater - lesser < 100 {
        return Some(2);
    }
    Some(3 + band(gap(first, second), &[0.025, 0.06, 0.12]))
}

fn land(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.class == Class::Land {
        return None;
    }
    Some(band(gap(one.land_m2?, other.land_m2?), &[0.0, 0.03, 0.12]))
}

fn apart<T: Into<i64>>(one: Option<T>, other: Option<T>) -> Option<u8> {
    let apart = (one?.into() - other?.into()).abs();
    Some(apart.min(2) as u8)
}

fn building(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let years = one
        .year
        .zip(other.year)
        .map(|(first, second)| first == second);
    let floors = one
        .floors
        .zip(other.floors)
        .map(|(first, second)| first == second);
    match (years, floors) {
        (None, None) => None,
        (Some(true), Some(true)) => Some(0),
        (Some(true), _) | (_, Some(true)) => Some(1),
        _ => Some(2),
    }
}

fn price(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let gap = gap(one.price_eur?, other.price_eur?);
    Some(band(gap, &[0.0, 0.01, 0.04, 0.1, 0.2, 0.35]))
}

fn energy(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let scores = one.energy_score.zip(other.energy_score);
    let gases = one.climate_score.zip(other.climate_score);
    let equal = |pair: Option<(u16, u16)>| pair.is_some_and(|(first, second)| first == second);
    let near = |pair: Option<(u16, u16)>| {
        pair.is_none_or(|(first, second)| {
            gap(first.into(), second.into()) <= 0.03 || first.abs_diff(second) <= 1
        })
    };
    let classes = [
        one.energy_class.zip(other.energy_class),
        one.climate_class.zip(other.climate_class),
    ];
    let apart = classes
        .iter()
        .flatten()
        .map(|(first, second)| first.abs_diff(*second))
        .max();
    if equal(scores) && equal(gases) {
        return Some(0);
    }
    let scored = scores.is_some() || gases.is_some();
    if scored && near(scores) && near(gases) {
        return Some(if equal(scores) || equal(gases) { 1 } else { 2 });
    }
    match apart {
        None if scored => Some(5),
        None => None,
        // Scores that differ speak louder than the class they share.
        Some(0) if scored => Some(4),
        Some(0) => Some(3),
        Some(1) => Some(4),
        Some(_) => Some(5),
    }
}

fn amenities(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let known = one.amenities_known & other.amenities_known;
    let unlike = (one.amenities ^ other.amenities) & known;
    match (known.count_ones(), unlike.count_ones()) {
        (0, _) => None,
        (4.., 0) => Some(0),
        (_, 0) => Some(1),
        (_, 1) => Some(2),
        _ => Some(3),
    }
}

fn description(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    const LIMITS: [f64; 4] = [0.1, 0.4, 0.7, 0.9];
    let common = one.text.as_ref()?.containment(other.text.as_ref()?);
    Some(4 - band(common, &LIMITS))
}

fn figures(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let of = one.figures.len().min(other.figures.len());
    match (text::shared_figures(&one.figures, &other.figures), of) {
        (_, 0) | (0, 1) => None,
        (0, _) => Some(3),
        (1, _) => Some(2),
        (shared @ 3.., of) if 5 * shared >= 3 * of => Some(0),
        _ => Some(1),
    }
}

/// From so many pictures on both sides it says something that none is shared.
const PHOTOS_TELLING: usize = 3;

fn photos(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let shared = images::shared(&one.photos, &other.photos);
    match (shared.matched, shared.of) {
        (_, 0) => None,
        // Of a few, the other may just not show them.
        (0, ..PHOTOS_TELLING) => None,
        (0, _) => Some(3),
        (1, 2..) => Some(2),
        (matched, of) if 3 * matched >= 2 * of => Some(0),
        _ => Some(1),
    }
}

const ONE_AGENCY: u8 = 0;
const ONE_NETWORK: u8 = 1;
const ONE_PERSON: u8 = 2;
const OTHER_PROFESSIONALS: u8 = 3;
const PROFESSIONAL_AND_PRIVATE: u8 = 4;

fn seller(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    let shared = one.seller.iter().any(|key| other.seller.contains(key));
    let kinds = (one.seller_kind, other.seller_kind);
    let either = |kind: SellerKind| kinds.0 == Some(kind) || kinds.1 == Some(kind);
    if shared {
        return Some(if either(SellerKind::Network) {
            ONE_NETWORK
        } else if either(SellerKind::Private) {
            ONE_PERSON
        } else {
            ONE_AGENCY
        });
    }
    match (kinds.0?, kinds.1?) {
        (SellerKind::Private, SellerKind::Private) => None,
        (SellerKind::Private, _) | (_, SellerKind::Private) => Some(PROFESSIONAL_AND_PRIVATE),
        _ if one.seller.is_empty() || other.seller.is_empty() => None,
        _ => Some(OTHER_PROFESSIONALS),
    }
}

fn reference(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.references.is_empty() || other.references.is_empty() {
        return None;
    }
    let shared = one
        .references
        .iter()
        .any(|reference| other.references.contains(reference));
    Some(u8::from(!shared))
}

fn portal(one: &Fingerprint, other: &Fingerprint) -> Option<u8> {
    if one.portal != other.portal {
        return Some(0);
    }
    Some(match together(one.period?, other.period?) {
        false => 1,
        true => 2,
    })
}

/// Whether both were online at one moment; adverts online now are online from their first sighting on.
fn together(one: Period, other: Period) -> bool {
    let end = |period: Period| {
        if period.online {
            u32::MAX
        } else {
            period.last_s
        }
    };
    one.first_s < end(other) && other.first_s < end(one)
}

fn bar(comparison: &Comparison) -> Option<Bar> {
    let alike = |field: Field, upto: u8| comparison.level(field).is_some_and(|level| level <= upto);
    let unlike =
        |field: Field, from: u8| comparison.level(field).is_some_and(|level| level >= from);
    let by_reference = comparison.one_seller && alike(Field::Reference, 0);
    if unlike(Field::Portal, 2) && !by_reference {
        let by_pictures =
            alike(Field::Photos, 0) && alike(Field::Price, 1) && alike(Field::Surface, 2);
        if !by_pictures || unlike(Field::Floor, 1) || unlike(Field::Reference, 1) {
            return Some(Bar::OnlineTogether);
        }
    }
    if comparison.programme && !by_reference {
        let own = alike(Field::Price, 0) && (alike(Field::Surface, 2) || alike(Field::Floor, 0));
        let contradicted = unlike(Field::Surface, 5) || unlike(Field::Floor, 1);
        if !own || contradicted || (comparison.one_seller && unlike(Field::Reference, 1)) {
            return Some(Bar::Programme);
        }
    }
    None
}

/// Whether both are of a programme: then texts, figures and pictures are the programme's, and only what is a flat's own
/// (price with area or floor) tells it from the others.
fn of_programme(one: &Fingerprint, other: &Fingerprint) -> bool {
    let is = |advert: &Fingerprint| advert.new_build || advert.class == Class::Program;
    is(one) && is(other)
}
