//! Comparison of two fingerprints field by field: levels of agreement, their bits, and the verdict.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::blocks::{classes_differ, compatible};
use super::fingerprint::Fingerprint;
use super::inline_vec::InlineVec;
use super::levels::{
    ENERGY_CLASSES_EQUAL, MEASURED_AGAIN, NEARLY_ONE_TEXT, ONE_AGENCY, ONE_NETWORK, ONE_PERSON,
    ONLINE_TOGETHER, OTHER_NAME, SURFACE_NEAR, SURFACE_ROUNDED, WITHIN_350_M, amenities,
    are_rentals_of_one_seller, are_two_units, bedrooms, building, condominium, count_difference,
    description, district, energy, figures, floor, identifier, kind, land, photos, place, portal,
    previous_price, price, reference, seller, street_address, surface, titles,
};
use super::portals::RATE_BITS_MAX;
use super::rarity::{RARITY_BITS_MAX, Surroundings};
use super::thresholds::{DedupVerdict, Thresholds};
use super::weights::{ComparedField, FIELDS, THIN_BITS, THIN_DISTRICT_BITS, WEIGHED_BITS, WEIGHTS};
use toise_contract::enums::EnumPropertyClass as Class;

/// A rule that keeps two adverts apart even if everything else agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Veto {
    /// Different classes or offers.
    Kind,
    /// Similar flats of new-build programmes, rooms let alone or parking places, without evidence that they are the same;
    /// or two units of one page.
    Programme,
}

/// The contribution of one field to a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldEvidence {
    /// The field.
    pub field: ComparedField,
    /// Index of the level in the field's table.
    pub level: u8,
    /// Its weight in bits, including that of its rarity.
    pub bits: f32,
    /// Bits that the rarity of an equal value adds to the weight; `None` if the values are not equal, and for the address
    /// of a programme.
    pub rarity_bits: Option<f32>,
}

impl Default for FieldEvidence {
    fn default() -> Self {
        Self {
            field: ComparedField::Place,
            level: 0,
            bits: 0.0,
            rarity_bits: None,
        }
    }
}

impl FieldEvidence {
    /// Returns the description of the level.
    pub fn about(self) -> &'static str {
        WEIGHTS[self.field as usize].levels[usize::from(self.level)].about
    }
}

impl Serialize for FieldEvidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Evidence", 4)?;
        fields.serialize_field("field", &self.field)?;
        fields.serialize_field("found", self.about())?;
        fields.serialize_field("bits", &self.bits)?;
        fields.serialize_field("rarityBits", &self.rarity_bits)?;
        fields.end()
    }
}

/// The result of comparing two adverts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Binary logarithm of the odds that both are the same asset.
    pub bits: f32,
    /// The part of `bits` that is known before anything is compared: it decreases with the number of adverts around,
    /// and also depends on the pair of portals.
    pub prior_bits: f32,
    /// The part of `bits` due to other homes of the same price and surface; 0 or less.
    pub lookalike_bits: f32,
    /// The part of `bits` that is subtracted because little more than price and surface speaks for one home; 0 or less.
    pub thin_bits: f32,
    /// The veto that keeps them apart regardless of the bits, if any.
    pub veto: Option<Veto>,
    /// Whether both have the same seller; other weights then apply.
    pub one_seller: bool,
    /// Whether both are of new-build programmes or lots of one sale, or one is a room let alone. Evidence that all flats
    /// of a programme or rooms of a flat share then adds no bits.
    pub programme: bool,
    /// Whether both have the same text and price, so that a mistake in the commune or energy class of one advert is more
    /// likely than a second home. The text must be long or have figures, and not be that of a programme. A long text may
    /// differ in a few words if surface and plot are the same.
    pub is_one_text: bool,
    /// Whether both texts are long and nearly the same.
    pub is_one_long_text: bool,
    /// The evidence of each field in the order of the table, without fields that are missing in either advert.
    pub evidence: InlineVec<FieldEvidence, FIELDS>,
}

impl Comparison {
    /// Returns the probability that both are the same asset, 0 to 1.
    pub fn probability(&self) -> f64 {
        match self.veto {
            Some(_) => 0.0,
            None => 1.0 / (1.0 + (-f64::from(self.bits)).exp2()),
        }
    }

    /// Returns the bits without the prior bits.
    pub fn evidence_bits(&self) -> f32 {
        self.bits - self.prior_bits
    }

    /// Returns the evidence that an advert is of the home of a property which another advert shows, bits. An advert with
    /// few fields does not contradict that, so [`Comparison::thin_bits`] are left out.
    pub fn member_bits(&self) -> f32 {
        self.evidence_bits() - self.thin_bits
    }

    /// Returns the verdict that follows from veto and probability.
    pub fn verdict(&self, thresholds: Thresholds) -> DedupVerdict {
        match self.veto {
            Some(_) => DedupVerdict::Different,
            None => thresholds.verdict(self.bits),
        }
    }

    /// Returns whether the home is identified by something other than its features: pictures shown by two sellers, a
    /// shared reference of one seller, or the same number in both URLs. This outweighs a single contradiction. Pictures
    /// of one seller do not count, because a seller may show the same pictures for several flats of a building; on one
    /// portal, sellers that are not known may be one. Two sellers hardly ever write one long text, so a reference counts
    /// with such a text and one price, too.
    pub fn is_identified(&self) -> bool {
        let seller = self.level(ComparedField::Seller);
        let are_two_sellers = match seller {
            Some(_) => !self.one_seller,
            None => self.is_at_most(ComparedField::Portal, 0),
        };
        let is_one_price = self.is_at_most(ComparedField::Price, 0);
        let are_one_seller =
            self.one_seller || self.is_one_long_text && is_one_price && !self.is_series();
        !self.programme
            && ((are_two_sellers && self.shares_pictures())
                || self.is_at_most(ComparedField::Identifier, 0)
                || (are_one_seller && self.is_at_most(ComparedField::Reference, 0)))
    }

    /// Returns whether two sellers ask one price for a house on a plot of the same area, which is nearly unique unless it
    /// is rounded. One of them then measured the house again, or read another diagnostic. One seller, whose adverts have
    /// one text, may sell several plots of one area.
    pub fn is_one_plot(&self) -> bool {
        !self.programme
            && !self.one_seller
            && !self.is_at_most(ComparedField::Text, NEARLY_ONE_TEXT)
            && self.is_at_most(ComparedField::Land, 0)
            && self.is_at_most(ComparedField::Price, 0)
            && self.is_at_most(ComparedField::Surface, MEASURED_AGAIN)
    }

    /// Returns whether two sellers show a flat on one storey within 350 m, with one price and one surface. One of them then
    /// has another diagnostic. One seller may sell several flats of one plan.
    pub fn is_one_flat(&self) -> bool {
        let are_two_sellers = self.level(ComparedField::Seller).is_some() && !self.one_seller;
        are_two_sellers
            && !self.programme
            && self.is_at_most(ComparedField::Place, WITHIN_350_M)
            && self.is_at_most(ComparedField::Floor, 0)
            && self.is_at_most(ComparedField::Price, 0)
            && self.is_at_most(ComparedField::Surface, SURFACE_ROUNDED)
    }

    /// Returns whether the titles show two homes of a series. A common text, its figures, and the rarity of a common
    /// price or surface then add no bits.
    pub fn is_series(&self) -> bool {
        self.level(ComparedField::Title)
            .is_some_and(|level| level >= OTHER_NAME)
    }

    /// Returns whether several pictures are the same, outside programmes.
    pub fn shares_pictures(&self) -> bool {
        !self.programme && self.is_at_most(ComparedField::Photos, 1)
    }

    fn is_at_most(&self, field: ComparedField, level: u8) -> bool {
        self.level(field).is_some_and(|found| found <= level)
    }

    /// Returns the level of a field; `None` if it was not compared.
    pub fn level(&self, field: ComparedField) -> Option<u8> {
        let found = self.evidence.iter().find(|one| one.field == field);
        found.map(|one| one.level)
    }
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Comparison", 8)?;
        fields.serialize_field("probability", &self.probability())?;
        fields.serialize_field("bits", &self.bits)?;
        fields.serialize_field("priorBits", &self.prior_bits)?;
        fields.serialize_field("lookalikeBits", &self.lookalike_bits)?;
        fields.serialize_field("veto", &self.veto)?;
        fields.serialize_field("oneSeller", &self.one_seller)?;
        fields.serialize_field("programme", &self.programme)?;
        fields.serialize_field("evidence", &*self.evidence)?;
        fields.end()
    }
}

/// Compares two adverts without regard to other adverts; the result does not depend on their order. Cost:
/// `benches/dedup.rs`.
pub fn compare(one: &Fingerprint, other: &Fingerprint) -> Comparison {
    compare_among(one, other, &Surroundings::default())
}

/// Compares an advert with another one nearby. Values that are common in the surroundings are weaker evidence.
pub fn compare_among(one: &Fingerprint, other: &Fingerprint, around: &Surroundings) -> Comparison {
    let prior_bits = around.prior_bits() + around.portal_bits(other);
    let lookalike_bits = around.lookalike_bits(one, other);
    let mut comparison = Comparison {
        bits: prior_bits + lookalike_bits,
        prior_bits,
        lookalike_bits,
        thin_bits: 0.0,
        veto: None,
        one_seller: false,
        programme: of_programme(one, other),
        is_one_text: false,
        is_one_long_text: false,
        evidence: InlineVec::default(),
    };
    if !compatible(one, other) {
        comparison.veto = Some(Veto::Kind);
        comparison.bits = f32::NEG_INFINITY;
        return comparison;
    }
    let seller = seller(one, other);
    let one_seller = matches!(seller, Some(ONE_AGENCY | ONE_NETWORK | ONE_PERSON));
    comparison.one_seller = one_seller;
    let title = titles(one, other);
    let is_series = title.is_some_and(|level| level >= OTHER_NAME);
    let levels = [
        (ComparedField::Place, place(one, other)),
        (ComparedField::Address, street_address(one, other)),
        (ComparedField::Surface, surface(one, other)),
        (ComparedField::Land, land(one, other)),
        (
            ComparedField::Rooms,
            count_difference(one.rooms, other.rooms),
        ),
        (ComparedField::Bedrooms, bedrooms(one, other)),
        (ComparedField::Floor, floor(one, other)),
        (ComparedField::Building, building(one, other)),
        (ComparedField::Price, price(one, other)),
        (ComparedField::Energy, energy(one, other)),
        (ComparedField::Amenities, amenities(one, other)),
        (ComparedField::Text, description(one, other)),
        (ComparedField::Title, title),
        (ComparedField::Figures, figures(one, other)),
        (ComparedField::Photos, photos(one, other)),
        (ComparedField::Seller, seller),
        (ComparedField::Reference, reference(one, other)),
        (ComparedField::Portal, portal(one, other)),
        (ComparedField::Identifier, identifier(one, other)),
        (ComparedField::Condominium, condominium(one, other)),
        (ComparedField::District, district(one, other)),
        (ComparedField::Kind, kind(one, other)),
        (ComparedField::PreviousPrice, previous_price(one, other)),
    ];
    let are_rooms = one.is_room || other.is_room;
    let name_lots = one.names_lots && other.names_lots;
    comparison.programme |= are_rooms || shown_as_lots(&levels, name_lots);
    let are_thin = are_thin(&levels, one_seller, comparison.programme);
    // Flats of one plan and price that a portal shows together are no copies, however rare the price is elsewhere.
    let are_lots_shown_together = comparison.programme
        && portal(one, other) == Some(ONLINE_TOGETHER)
        && floor(one, other) != Some(0);
    let are_rentals_of_one_seller = are_rentals_of_one_seller(one, other);
    let have_one_diagnostic = !one_seller && have_one_diagnostic(&levels);
    for (field, level) in levels {
        if let Some(level) = level {
            // All homes of a programme have its address.
            let is_shared_address = comparison.programme && field == ComparedField::Address;
            let rarity_bits = around
                .rarity_bits(field, level, one, other)
                .filter(|_| !is_shared_address)
                .map(|bits| match field {
                    ComparedField::Price | ComparedField::Surface
                        if are_lots_shown_together || is_series =>
                    {
                        bits.min(0.0)
                    }
                    _ => bits,
                });
            let thin_bits = if are_thin {
                thin_bits(field, level)
            } else {
                0.0
            };
            // One seller writes similar texts for similar homes.
            let is_similar_text = field == ComparedField::Text && level > NEARLY_ONE_TEXT;
            let is_of_one_seller = one_seller || is_similar_text && are_rentals_of_one_seller;
            let weight = level_weight(field, level, is_of_one_seller, comparison.programme);
            let bits = weight + rarity_bits.unwrap_or_default() + thin_bits;
            let is_of_text = matches!(field, ComparedField::Text | ComparedField::Figures);
            let is_shared = are_rooms && is_of_whole_flat(field) || is_series && is_of_text;
            let bits = if is_shared { bits.min(0.0) } else { bits };
            // Two agencies choose other figures for one home.
            let is_excused = field == ComparedField::Figures && have_one_diagnostic;
            let bits = if is_excused { bits.max(0.0) } else { bits };
            comparison.bits += bits;
            comparison.thin_bits += thin_bits;
            comparison.evidence.push(FieldEvidence {
                field,
                level,
                bits,
                rarity_bits,
            });
        }
    }
    let is_long = |advert: &Fingerprint| advert.text.is_some_and(|text| text.is_long());
    comparison.is_one_long_text = is_long(one)
        && is_long(other)
        && comparison.is_at_most(ComparedField::Text, NEARLY_ONE_TEXT);
    comparison.is_one_text = is_one_text(&comparison);
    comparison.veto = if are_two_units(one, other) || are_two_places(&comparison, one, other) {
        Some(Veto::Programme)
    } else {
        veto(&comparison, are_rooms)
    };
    comparison
}

/// Returns whether little more than commune, price, surface, rooms and energy class speaks for one home. A value that
/// speaks against it does not make the others stronger.
fn are_thin(
    levels: &[(ComparedField, Option<u8>); FIELDS],
    one_seller: bool,
    programme: bool,
) -> bool {
    levels.iter().all(|(field, level)| match (field, level) {
        (_, None)
        | (
            ComparedField::Surface
            | ComparedField::Rooms
            | ComparedField::Bedrooms
            | ComparedField::Building
            | ComparedField::Price
            | ComparedField::Amenities
            | ComparedField::Seller
            | ComparedField::Portal
            | ComparedField::District
            | ComparedField::Kind,
            _,
        )
        | (ComparedField::Energy, Some(ENERGY_CLASSES_EQUAL)) => true,
        (_, Some(level)) => level_weight(*field, *level, one_seller, programme) <= 0.0,
    })
}

/// Returns whether both energy scores are equal, and the surfaces equal or nearly so.
fn have_one_diagnostic(levels: &[(ComparedField, Option<u8>); FIELDS]) -> bool {
    let is_at_most = |wanted: ComparedField, most: u8| {
        let found = |(field, level): &(ComparedField, Option<u8>)| {
            *field == wanted && level.is_some_and(|level| level <= most)
        };
        levels.iter().any(found)
    };
    is_at_most(ComparedField::Energy, 0) && is_at_most(ComparedField::Surface, SURFACE_NEAR)
}

/// Returns the bits added to a level of a field between thin adverts.
fn thin_bits(field: ComparedField, level: u8) -> f32 {
    match (field, level) {
        (ComparedField::Surface, 3..) | (ComparedField::Price, 1..) => THIN_BITS,
        (ComparedField::District, 2) => THIN_DISTRICT_BITS,
        _ => 0.0,
    }
}

/// Returns whether all rooms of a shared flat agree in a field.
fn is_of_whole_flat(field: ComparedField) -> bool {
    matches!(
        field,
        ComparedField::Place
            | ComparedField::Address
            | ComparedField::Surface
            | ComparedField::Rooms
            | ComparedField::Bedrooms
            | ComparedField::Floor
            | ComparedField::Building
            | ComparedField::Energy
            | ComparedField::Amenities
            | ComparedField::Condominium
            | ComparedField::District
    )
}

/// Decides [`Comparison::is_one_text`].
fn is_one_text(comparison: &Comparison) -> bool {
    let is_at_most = |field: ComparedField, level: u8| comparison.is_at_most(field, level);
    let is_one_house =
        is_at_most(ComparedField::Surface, SURFACE_ROUNDED) && is_at_most(ComparedField::Land, 0);
    let is_same = comparison.is_one_long_text
        && (is_at_most(ComparedField::Text, 0) || is_one_house)
        || is_at_most(ComparedField::Text, NEARLY_ONE_TEXT)
            && is_at_most(ComparedField::Figures, 0);
    is_same
        && !comparison.programme
        && !comparison.is_series()
        && comparison.is_at_most(ComparedField::Price, 0)
}

/// Returns whether two adverts could be the same asset, however common their values are in their surroundings.
pub fn may_be_same(one: &Fingerprint, other: &Fingerprint) -> bool {
    let comparison = compare(one, other);
    let rarity = comparison.evidence.iter().filter_map(|one| one.rarity_bits);
    let room: f32 = rarity.map(|bits| RARITY_BITS_MAX - bits).sum();
    comparison.veto.is_none() && comparison.bits + room + RATE_BITS_MAX > WEIGHED_BITS
}

/// Returns the weight of a level of a field, bits.
pub(super) fn level_weight(
    field: ComparedField,
    level: u8,
    one_seller: bool,
    programme: bool,
) -> f32 {
    let entry = &WEIGHTS[field as usize].levels[usize::from(level)];
    let bits = entry.bits[usize::from(one_seller)];
    let shared_by_all = programme
        && matches!(
            field,
            ComparedField::Address
                | ComparedField::Text
                | ComparedField::Figures
                | ComparedField::Photos
        );
    if shared_by_all { bits.min(0.0) } else { bits }
}

/// Returns whether two parking places or garages must count as two. One car park has many of one price, surface, text and
/// picture. A portal shows one place once, and two portals show it at one price; a reference or a number in the URLs
/// identifies it.
fn are_two_places(comparison: &Comparison, one: &Fingerprint, other: &Fingerprint) -> bool {
    let are_places = one.class == Class::Parking && other.class == Class::Parking;
    let is_one_reference =
        comparison.one_seller && comparison.is_at_most(ComparedField::Reference, 0);
    let is_one_place = is_one_reference || comparison.is_at_most(ComparedField::Identifier, 0);
    let may_be_copies =
        one.portal != other.portal && comparison.is_at_most(ComparedField::Price, 0);
    are_places && !is_one_place && !may_be_copies
}

fn veto(comparison: &Comparison, are_rooms: bool) -> Option<Veto> {
    let alike =
        |field: ComparedField, upto: u8| comparison.level(field).is_some_and(|level| level <= upto);
    let unlike =
        |field: ComparedField, from: u8| comparison.level(field).is_some_and(|level| level >= from);
    let by_reference = comparison.one_seller && alike(ComparedField::Reference, 0);
    if comparison.programme && !by_reference {
        let own = alike(ComparedField::Price, 0)
            && (are_rooms || alike(ComparedField::Surface, 2) || alike(ComparedField::Floor, 0));
        // Rooms of one flat may have one rent, so two that a portal shows at the same time are two.
        let are_two_rooms = are_rooms
            && (unlike(ComparedField::Surface, 3)
                || comparison.level(ComparedField::Portal) == Some(ONLINE_TOGETHER));
        let contradicted =
            are_two_rooms || unlike(ComparedField::Surface, 5) || unlike(ComparedField::Floor, 1);
        if !own || contradicted || (comparison.one_seller && unlike(ComparedField::Reference, 1)) {
            return Some(Veto::Programme);
        }
    }
    None
}

/// Returns whether both adverts are of a new-build programme, or lots of one sale. Texts, figures and pictures then
/// belong to the programme. Only the features of a single flat (price with area or floor) distinguish it from the
/// others.
pub(super) fn of_programme(one: &Fingerprint, other: &Fingerprint) -> bool {
    let is = |advert: &Fingerprint| advert.new_build || advert.class == Class::Program;
    let is_series = one.lot_series.is_some() && one.lot_series == other.lot_series;
    // If one portal says programme and the other flat or house, the advert is a lot of the programme.
    let is_lot = classes_differ(one, other) && (is(one) || is(other));
    is_series || is_lot || (is(one) && is(other))
}

/// Returns whether two adverts are lots of one seller. They have the same text, which names several homes, and different
/// prices or one portal that shows both at the same time. If the text does not name several homes, they have different
/// prices and surfaces, and one portal shows both at the same time.
fn shown_as_lots(levels: &[(ComparedField, Option<u8>); FIELDS], name_lots: bool) -> bool {
    let level = |wanted: ComparedField| {
        let found = levels.iter().find(|(field, _)| *field == wanted);
        found.and_then(|(_, level)| *level)
    };
    let are_shown_together = level(ComparedField::Portal) == Some(ONLINE_TOGETHER);
    let has_other =
        |field: ComparedField, from: u8| level(field).is_some_and(|level| level >= from);
    let has_other_price = has_other(ComparedField::Price, 1);
    let has_other_surface = has_other(ComparedField::Surface, SURFACE_NEAR);
    level(ComparedField::Text).is_some_and(|level| level <= NEARLY_ONE_TEXT)
        && if name_lots {
            has_other_price || are_shown_together
        } else {
            has_other_price && has_other_surface && are_shown_together
        }
}
