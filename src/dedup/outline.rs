//! Outlines: what of a fingerprint tells most other adverts apart, in about 50 bytes, kept beside each key of an advert.
//!
//! Of a hundred adverts that one meets, ninety differ plainly in price, floor, area or energy. Their outlines lie next
//! to each other under the key, where each fingerprint costs a page read at random. An outline only ever rules out what
//! [`compare`](super::compare()) would: what it leaves out counts as the closest agreement there is. Prices and areas
//! change the outline, sightings do not: no period, no text.

use super::blocks::compatible;
use super::codec::{ByteReader, numbers};
use super::compare::{of_programme, worth};
use super::fingerprint::{ApproximatePosition, Fingerprint, USUAL_BLUR_M, index_of, value_at};
use super::inline_vec::InlineVec;
use super::levels::{amenities, building, count_difference, energy, land, place, price, surface};
use super::seller::SELLER_KEYS_MAX;
use super::text::TextFigures;
use super::weights::{ComparedField, DIFFERENT_BITS, PRIOR_BITS, WEIGHTS};

/// Version of the form below; another one is an outline that rules nothing out.
const VERSION: u8 = 1;
/// Bits of what is no plain number, after those of the numbers.
const SPOT_BIT: u32 = 1 << 16;
const NEW_BUILD_BIT: u32 = SPOT_BIT << 1;
const TEXT_BIT: u32 = NEW_BUILD_BIT << 1;
const FIGURES_BIT: u32 = TEXT_BIT << 1;
const PHOTOS_BIT: u32 = FIGURES_BIT << 1;
/// What adding bits in another order may make of their sum, and more.
const ROUNDING_BITS: f32 = 0.01;

/// What an outline tells of an advert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// The fields that are kept, all others open; the position when it is precise.
    known: Fingerprint,
    /// The low bits of what identifies the seller.
    seller: InlineVec<u16, SELLER_KEYS_MAX>,
    has_text: bool,
    has_figures: bool,
    has_photos: bool,
}

impl Fingerprint {
    /// The outline as bytes.
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
        // There are fifteen amenities.
        out.extend_from_slice(&(self.amenities_known as u16).to_le_bytes());
        out.extend_from_slice(&(self.amenities as u16).to_le_bytes());
        for key in self.seller.iter() {
            out.extend_from_slice(&(*key as u16).to_le_bytes());
        }
        let flags = [
            (NEW_BUILD_BIT, self.new_build),
            (TEXT_BIT, self.text.is_some()),
            (FIGURES_BIT, !self.figures.is_empty()),
            (PHOTOS_BIT, !self.photos.is_empty()),
        ];
        for (bit, is_set) in flags {
            given |= if is_set { bit } else { 0 };
        }
        out[1..5].copy_from_slice(&given.to_le_bytes());
        out
    }

    /// Whether comparing with the advert of an outline would surely say that they are two assets.
    pub fn certainly_differs(&self, other: &Outline) -> bool {
        let known = &other.known;
        if !compatible(self, known) {
            return true;
        }
        let maybe_one_seller = |key: &u64| other.seller.contains(&(*key as u16));
        if self.seller.iter().any(maybe_one_seller) {
            // Between adverts of one seller other weights hold, and a shared reference outweighs nearly all.
            return false;
        }
        let programme = of_programme(self, known);
        let told = [
            (ComparedField::Place, place(self, known)),
            (ComparedField::Surface, surface(self, known)),
            (ComparedField::Land, land(self, known)),
            (
                ComparedField::Rooms,
                count_difference(self.rooms, known.rooms),
            ),
            (
                ComparedField::Bedrooms,
                count_difference(self.bedrooms, known.bedrooms),
            ),
            (
                ComparedField::Floor,
                count_difference(self.floor, known.floor),
            ),
            (ComparedField::Building, building(self, known)),
            (ComparedField::Price, price(self, known)),
            (ComparedField::Energy, energy(self, known)),
            (ComparedField::Amenities, amenities(self, known)),
        ];
        let told = told
            .into_iter()
            .filter_map(|(field, level)| Some(worth(field, level?, false, programme)));
        let open = [
            (ComparedField::Text, self.text.is_some() && other.has_text),
            (
                ComparedField::Figures,
                other.has_figures && !self.figures.is_empty(),
            ),
            (
                ComparedField::Photos,
                other.has_photos && !self.photos.is_empty(),
            ),
            (ComparedField::Seller, true),
            (ComparedField::Reference, !self.references.is_empty()),
            (ComparedField::Portal, true),
        ];
        let open = open
            .into_iter()
            .filter(|(_, is_compared)| *is_compared)
            .map(|(field, _)| at_most(field, programme));
        PRIOR_BITS + told.sum::<f32>() + open.sum::<f32>() < DIFFERENT_BITS - ROUNDING_BITS
    }
}

/// The most a field may be worth between adverts of sellers that are not one; nothing when it is left open.
fn at_most(field: ComparedField, programme: bool) -> f32 {
    let levels = 0..WEIGHTS[field as usize].levels.len() as u8;
    levels.fold(0.0, |most, level| {
        most.max(worth(field, level, false, programme))
    })
}

impl Outline {
    /// Reads what [`Fingerprint::outline`] wrote; `None` of what another version wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let mut rest = ByteReader(rest);
        let given = u32::from_le_bytes(rest.take()?);
        let has = |bit: u32| given & bit != 0;
        let class = value_at(rest.byte()?)?;
        let offer = value_at(rest.byte()?)?;
        let numbers = numbers(&mut rest, given)?;
        let spot = match has(SPOT_BIT) {
            true => Some(ApproximatePosition {
                lat_e6: i32::from_le_bytes(rest.take()?),
                lon_e6: i32::from_le_bytes(rest.take()?),
                blur_m: USUAL_BLUR_M,
            }),
            false => None,
        };
        let amenities_known = u16::from_le_bytes(rest.take()?).into();
        let amenities = u16::from_le_bytes(rest.take()?).into();
        let mut seller = InlineVec::default();
        while let Some(key) = rest.take() {
            seller.push(u16::from_le_bytes(key)).then_some(())?;
        }
        Some(Self {
            known: Fingerprint {
                class,
                offer,
                commune: None,
                postal_code: None,
                spot,
                surface_dm2: numbers.surface_dm2,
                land_m2: numbers.land_m2,
                rooms: numbers.rooms,
                bedrooms: numbers.bedrooms,
                floor: numbers.floor,
                floors: numbers.floors,
                year: numbers.year,
                price_eur: numbers.price_eur,
                energy_class: numbers.energy_class,
                climate_class: numbers.climate_class,
                energy_score: numbers.energy_score,
                climate_score: numbers.climate_score,
                amenities_known,
                amenities,
                text: None,
                figures: TextFigures::default(),
                photos: InlineVec::default(),
                seller_kind: None,
                seller: InlineVec::default(),
                references: InlineVec::default(),
                new_build: has(NEW_BUILD_BIT),
                portal: 0,
                period: None,
            },
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
    fn an_outline_of_another_version_or_cut_off_is_none() {
        let bytes = fingerprint(&flat()).outline();
        assert!(Outline::decode(&bytes).is_some());
        assert_eq!(Outline::decode(&[]), None);
        assert_eq!(Outline::decode(&bytes[..20]), None);
        let newer = [&[VERSION + 1], &bytes[1..]].concat();
        assert_eq!(Outline::decode(&newer), None);
    }
}
