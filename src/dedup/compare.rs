//! Two fingerprints, field by field: levels of agreement, their bits, and what they come to.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::blocks::compatible;
use super::few::Few;
use super::fingerprint::Fingerprint;
use super::levels::{
    ONE_AGENCY, ONE_NETWORK, ONE_PERSON, amenities, apart, building, description, energy, figures,
    land, photos, place, portal, price, reference, seller, surface,
};
use super::weights::{DIFFERENT_BITS, FIELDS, Field, PRIOR_BITS, SAME_BITS, WEIGHTS};
use toise_contract::enums::EnumPropertyClass as Class;

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

/// Compares two adverts; the same whichever comes first (`benches/dedup.rs`).
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
            let bits = worth(field, level, one_seller, comparison.programme);
            comparison.bits += bits;
            comparison.evidence.push(Evidence { field, level, bits });
        }
    }
    comparison.bar = bar(&comparison);
    comparison
}

/// What a level of a field is worth, bits.
pub(super) fn worth(field: Field, level: u8, one_seller: bool, programme: bool) -> f32 {
    let entry = &WEIGHTS[field as usize].levels[usize::from(level)];
    let bits = entry.bits[usize::from(one_seller)];
    let shared_by_all = programme && matches!(field, Field::Text | Field::Figures | Field::Photos);
    if shared_by_all { bits.min(0.0) } else { bits }
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
pub(super) fn of_programme(one: &Fingerprint, other: &Fingerprint) -> bool {
    let is = |advert: &Fingerprint| advert.new_build || advert.class == Class::Program;
    is(one) && is(other)
}
