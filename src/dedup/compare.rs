//! Two fingerprints, field by field: levels of agreement, their bits, and what they come to.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::blocks::compatible;
use super::fingerprint::Fingerprint;
use super::inline_vec::InlineVec;
use super::levels::{
    ONE_AGENCY, ONE_NETWORK, ONE_PERSON, amenities, building, count_difference, description,
    energy, figures, land, photos, place, portal, price, reference, seller, surface,
};
use super::weights::{ComparedField, DIFFERENT_BITS, FIELDS, PRIOR_BITS, SAME_BITS, WEIGHTS};
use toise_contract::enums::EnumPropertyClass as Class;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DedupVerdict {
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
pub enum Veto {
    /// Other classes or offers.
    Kind,
    /// One portal shows both at the same time, and no strong evidence says they are one.
    OnlineTogether,
    /// Alike flats of one programme, and nothing that tells them to be the same one.
    Programme,
}

/// One field's part in a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldEvidence {
    /// The field.
    pub field: ComparedField,
    /// Index of the level in the field's table.
    pub level: u8,
    /// What it is worth, bits.
    pub bits: f32,
}

impl Default for FieldEvidence {
    fn default() -> Self {
        Self {
            field: ComparedField::Place,
            level: 0,
            bits: 0.0,
        }
    }
}

impl FieldEvidence {
    /// What was found.
    pub fn about(self) -> &'static str {
        WEIGHTS[self.field as usize].levels[usize::from(self.level)].about
    }
}

impl Serialize for FieldEvidence {
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
    pub bar: Option<Veto>,
    /// Whether both are of one seller: then other weights hold.
    pub one_seller: bool,
    /// Whether both are of new-build programmes: then what a programme's flats share counts for nothing.
    pub programme: bool,
    /// Field by field, in the order of the table; fields that either leaves open are missing.
    pub evidence: InlineVec<FieldEvidence, FIELDS>,
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
    pub fn verdict(&self) -> DedupVerdict {
        match self.bar {
            Some(_) => DedupVerdict::Different,
            None if self.bits >= SAME_BITS => DedupVerdict::Same,
            None if self.bits <= DIFFERENT_BITS => DedupVerdict::Different,
            None => DedupVerdict::Unsure,
        }
    }

    /// The level of a field, when it was compared.
    pub fn level(&self, field: ComparedField) -> Option<u8> {
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
        evidence: InlineVec::default(),
    };
    if !compatible(one, other) {
        comparison.bar = Some(Veto::Kind);
        comparison.bits = f32::NEG_INFINITY;
        return comparison;
    }
    let seller = seller(one, other);
    let one_seller = matches!(seller, Some(ONE_AGENCY | ONE_NETWORK | ONE_PERSON));
    comparison.one_seller = one_seller;
    let levels = [
        (ComparedField::Place, place(one, other)),
        (ComparedField::Surface, surface(one, other)),
        (ComparedField::Land, land(one, other)),
        (
            ComparedField::Rooms,
            count_difference(one.rooms, other.rooms),
        ),
        (
            ComparedField::Bedrooms,
            count_difference(one.bedrooms, other.bedrooms),
        ),
        (
            ComparedField::Floor,
            count_difference(one.floor, other.floor),
        ),
        (ComparedField::Building, building(one, other)),
        (ComparedField::Price, price(one, other)),
        (ComparedField::Energy, energy(one, other)),
        (ComparedField::Amenities, amenities(one, other)),
        (ComparedField::Text, description(one, other)),
        (ComparedField::Figures, figures(one, other)),
        (ComparedField::Photos, photos(one, other)),
        (ComparedField::Seller, seller),
        (ComparedField::Reference, reference(one, other)),
        (ComparedField::Portal, portal(one, other)),
    ];
    for (field, level) in levels {
        if let Some(level) = level {
            let bits = worth(field, level, one_seller, comparison.programme);
            comparison.bits += bits;
            comparison
                .evidence
                .push(FieldEvidence { field, level, bits });
        }
    }
    comparison.bar = bar(&comparison);
    comparison
}

/// What a level of a field is worth, bits.
pub(super) fn worth(field: ComparedField, level: u8, one_seller: bool, programme: bool) -> f32 {
    let entry = &WEIGHTS[field as usize].levels[usize::from(level)];
    let bits = entry.bits[usize::from(one_seller)];
    let shared_by_all = programme
        && matches!(
            field,
            ComparedField::Text | ComparedField::Figures | ComparedField::Photos
        );
    if shared_by_all { bits.min(0.0) } else { bits }
}

fn bar(comparison: &Comparison) -> Option<Veto> {
    let alike =
        |field: ComparedField, upto: u8| comparison.level(field).is_some_and(|level| level <= upto);
    let unlike =
        |field: ComparedField, from: u8| comparison.level(field).is_some_and(|level| level >= from);
    let by_reference = comparison.one_seller && alike(ComparedField::Reference, 0);
    if unlike(ComparedField::Portal, 2) && !by_reference {
        let by_pictures = alike(ComparedField::Photos, 0)
            && alike(ComparedField::Price, 1)
            && alike(ComparedField::Surface, 2);
        if !by_pictures || unlike(ComparedField::Floor, 1) || unlike(ComparedField::Reference, 1) {
            return Some(Veto::OnlineTogether);
        }
    }
    if comparison.programme && !by_reference {
        let own = alike(ComparedField::Price, 0)
            && (alike(ComparedField::Surface, 2) || alike(ComparedField::Floor, 0));
        let contradicted = unlike(ComparedField::Surface, 5) || unlike(ComparedField::Floor, 1);
        if !own || contradicted || (comparison.one_seller && unlike(ComparedField::Reference, 1)) {
            return Some(Veto::Programme);
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
