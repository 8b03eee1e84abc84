//! Outlines: the 50 bytes of a fingerprint that rule out most candidates, stored with each block key of an advert.
//!
//! Of a hundred candidates, ninety clearly differ in price, floor, area or energy. Their outlines are adjacent under
//! the key, whereas each fingerprint costs a random page read. An outline only rules out what
//! [`compare`](super::compare()) would rule out: a field that it lacks counts as the closest possible agreement. A
//! changed price or area changes the outline; a sighting does not, because the outline has no period and no text.

use std::sync::LazyLock;

use super::blocks::compatible;
use super::codec::ByteReader;
use super::compare::{level_weight, of_programme};
use super::fingerprint::{ApproximatePosition, Fingerprint, USUAL_BLUR_M, index_of, value_at};
use super::identifiers::UnitAddress;
use super::inline_vec::InlineVec;
use super::levels::{
    KIND_OF_ONE_TEXT, NEIGHBOURING_COMMUNE, amenities, bedrooms, building, condominium,
    count_difference, district, energy, floor, kind, land, place, price, street_address, surface,
};
use super::portals::RATE_BITS_MAX;
use super::rarity::{Agreements, RARITY_BITS_MAX, Surroundings, is_equality};
use super::seller::SELLER_KEYS_MAX;
use super::title;
use super::weights::{ComparedField, FIELDS, WEIGHED_BITS, WEIGHTS};

/// Version of the encoding; an outline of another version rules nothing out.
const VERSION: u8 = 5;
/// The bits of other fields come after those of the numbers.
const SPOT_BIT: u32 = 1 << 16;
const NEW_BUILD_BIT: u32 = SPOT_BIT << 1;
const TEXT_BIT: u32 = NEW_BUILD_BIT << 1;
const FIGURES_BIT: u32 = TEXT_BIT << 1;
const PHOTOS_BIT: u32 = FIGURES_BIT << 1;
const COMMUNE_BIT: u32 = PHOTOS_BIT << 1;
const DISTRICT_BIT: u32 = COMMUNE_BIT << 1;
const STREET_ADDRESS_BIT: u32 = DISTRICT_BIT << 1;
const UNIT_BIT: u32 = STREET_ADDRESS_BIT << 1;
/// Tolerance for the rounding of a sum that is added in another order, with a margin.
const ROUNDING_BITS: f32 = 0.01;

/// A decoded outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// The fields that the outline has; all others are missing. The position is set only if it is precise.
    known: Fingerprint,
    /// The low bits of the digests of the seller's identities.
    seller: InlineVec<u16, SELLER_KEYS_MAX>,
    has_text: bool,
    has_figures: bool,
    has_photos: bool,
}

impl Fingerprint {
    /// Encodes the outline.
    pub fn outline(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&[
            VERSION,
            0,
            0,
            0,
            0,
            index_of(self.class),
            index_of(self.offer),
        ]);
        let kept = Self {
            postal_code: None,
            ..*self
        };
        let mut given = kept.write_numbers(&mut out);
        if let Some(spot) = self.precise() {
            given |= SPOT_BIT;
            out.extend_from_slice(&spot.lat_e6.to_le_bytes());
            out.extend_from_slice(&spot.lon_e6.to_le_bytes());
        }
        if let Some(commune) = self.commune {
            given |= COMMUNE_BIT;
            out.extend_from_slice(&commune);
        }
        if let Some(district) = self.district {
            given |= DISTRICT_BIT;
            out.extend_from_slice(&district.to_le_bytes());
        }
        if let Some(address) = self.street_address {
            given |= STREET_ADDRESS_BIT;
            out.extend_from_slice(&address.to_le_bytes());
        }
        if let Some(unit) = self.unit {
            given |= UNIT_BIT;
            out.extend_from_slice(&unit.page.to_le_bytes());
            out.extend_from_slice(&unit.unit.to_le_bytes());
        }
        out.extend_from_slice(&self.portal.to_le_bytes());
        // There are fifteen amenities, so 16 bits are enough.
        out.extend_from_slice(&(self.amenities_known as u16).to_le_bytes());
        out.extend_from_slice(&(self.amenities as u16).to_le_bytes());
        for key in self.seller.iter() {
            out.extend_from_slice(&(*key as u16).to_le_bytes());
        }
        let flags = [
            (NEW_BUILD_BIT, self.new_build),
            (TEXT_BIT, self.text.is_some()),
            (FIGURES_BIT, !self.figures.is_empty()),
            (PHOTOS_BIT, self.has_pictures()),
        ];
        for (bit, is_set) in flags {
            given |= if is_set { bit } else { 0 };
        }
        out[1..5].copy_from_slice(&given.to_le_bytes());
        out
    }

    /// Returns whether a comparison with the advert of an outline would certainly find different assets.
    pub fn certainly_differs(&self, other: &Outline) -> bool {
        let known = &other.known;
        if !compatible(self, known) {
            return true;
        }
        let maybe_one_seller = |key: &u64| other.seller.contains(&(*key as u16));
        if self.seller.iter().any(maybe_one_seller) {
            // Other weights apply to adverts of the same seller, and a shared reference outweighs nearly everything.
            return false;
        }
        let has_text = self.text.is_some();
        let programme = of_programme(self, known);
        let levels = [
            (ComparedField::Place, place(self, known)),
            (ComparedField::Address, street_address(self, known)),
            (ComparedField::Surface, surface(self, known)),
            (ComparedField::Land, land(self, known)),
            (
                ComparedField::Rooms,
                count_difference(self.rooms, known.rooms),
            ),
            (ComparedField::Bedrooms, bedrooms(self, known)),
            (ComparedField::Floor, floor(self, known)),
            (ComparedField::Building, building(self, known)),
            (ComparedField::Price, price(self, known)),
            (ComparedField::Energy, energy(self, known)),
            (ComparedField::Amenities, amenities(self, known)),
            (ComparedField::Condominium, condominium(self, known)),
            (ComparedField::District, district(self, known)),
            (ComparedField::Kind, kind(self, known)),
        ];
        let known_bits = levels.into_iter().filter_map(|(field, level)| {
            let level = level?;
            // Centres of communes are not in the outline, so a different commune may be a neighbouring one.
            let level = match field {
                ComparedField::Place => level.min(NEIGHBOURING_COMMUNE),
                // Texts, which the outline does not have, may show that another class is a mistake.
                ComparedField::Kind if level == 0 && other.has_text && has_text => KIND_OF_ONE_TEXT,
                _ => level,
            };
            // The rarity of an equal value depends on the adverts around.
            let rarity = if is_equality(field, level) {
                RARITY_BITS_MAX
            } else {
                0.0
            };
            Some(level_weight(field, level, false, programme) + rarity)
        });
        // Titles are not in the outline.
        let is_titled = !has_text && !other.has_text && title::is_long(&self.title);
        let open = [
            (ComparedField::Text, has_text && other.has_text),
            (ComparedField::Title, is_titled),
            (
                ComparedField::Figures,
                other.has_figures && !self.figures.is_empty(),
            ),
            (
                ComparedField::Photos,
                other.has_photos && self.has_pictures(),
            ),
            (ComparedField::Seller, true),
            (ComparedField::Reference, !self.references.is_empty()),
            (ComparedField::Portal, true),
            (ComparedField::Identifier, self.address_number.is_some()),
            (
                ComparedField::PreviousPrice,
                self.previous_price_eur.is_some(),
            ),
        ];
        let open_bits = open
            .into_iter()
            .filter(|(_, is_compared)| *is_compared)
            .map(|(field, _)| at_most(field, programme));
        let most = known_bits.sum::<f32>() + open_bits.sum::<f32>() + RATE_BITS_MAX;
        Surroundings::default().prior_bits() + most < WEIGHED_BITS - ROUNDING_BITS
    }
}

/// The maximum weight of each field between adverts of different sellers, at least 0 because the field may be missing:
/// outside programmes, and within one.
static MOST: LazyLock<[[f32; FIELDS]; 2]> = LazyLock::new(|| {
    [false, true].map(|programme| {
        WEIGHTS.each_ref().map(|weights| {
            let levels = 0..weights.levels.len() as u8;
            let bits = levels.map(|level| level_weight(weights.field, level, false, programme));
            bits.fold(0.0, f32::max)
        })
    })
});

fn at_most(field: ComparedField, programme: bool) -> f32 {
    MOST[usize::from(programme)][field as usize]
}

impl Outline {
    /// Compares the values of an advert with those of the outline's advert.
    pub fn agreements(&self, advert: &Fingerprint) -> Agreements {
        Agreements::between(advert, &self.known)
    }

    /// Decodes what [`Fingerprint::outline`] wrote; `None` for another version or malformed bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let mut rest = ByteReader(rest);
        let given = u32::from_le_bytes(rest.take()?);
        let has = |bit: u32| given & bit != 0;
        let mut known = Fingerprint::empty(value_at(rest.byte()?)?, value_at(rest.byte()?)?);
        known.read_numbers(&mut rest, given)?;
        if has(SPOT_BIT) {
            known.spot = Some(ApproximatePosition {
                lat_e6: i32::from_le_bytes(rest.take()?),
                lon_e6: i32::from_le_bytes(rest.take()?),
                blur_m: USUAL_BLUR_M,
            });
        }
        if has(COMMUNE_BIT) {
            known.commune = Some(rest.take()?);
        }
        if has(DISTRICT_BIT) {
            known.district = Some(u32::from_le_bytes(rest.take()?));
        }
        if has(STREET_ADDRESS_BIT) {
            known.street_address = Some(u32::from_le_bytes(rest.take()?));
        }
        if has(UNIT_BIT) {
            known.unit = Some(UnitAddress {
                page: u32::from_le_bytes(rest.take()?),
                unit: u32::from_le_bytes(rest.take()?),
            });
        }
        known.portal = u32::from_le_bytes(rest.take()?);
        known.amenities_known = u16::from_le_bytes(rest.take()?).into();
        known.amenities = u16::from_le_bytes(rest.take()?).into();
        known.new_build = has(NEW_BUILD_BIT);
        let mut seller = InlineVec::default();
        while let Some(key) = rest.take() {
            seller.push(u16::from_le_bytes(key)).then_some(())?;
        }
        rest.0.is_empty().then_some(())?;
        Some(Self {
            known,
            seller,
            has_text: has(TEXT_BIT),
            has_figures: has(FIGURES_BIT),
            has_photos: has(PHOTOS_BIT),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{fingerprint, flat};

    #[test]
    fn an_outline_of_another_version_or_truncated_is_refused() {
        let bytes = fingerprint(&flat()).outline();
        assert!(Outline::decode(&bytes).is_some());
        assert_eq!(Outline::decode(&[]), None);
        assert_eq!(Outline::decode(&bytes[..20]), None);
        let newer = [&[VERSION + 1], &bytes[1..]].concat();
        assert_eq!(Outline::decode(&newer), None);
    }
}
