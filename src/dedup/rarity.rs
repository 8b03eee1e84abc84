//! How much an exact agreement shows: the rarer a value is around an advert, the more.
//!
//! Two flats at 250,000 euros in one town show little, two at 187,430 nearly everything; thirty flats of a new building
//! share their surface. A value's chance of occurring by accident is counted among the adverts met in the blocks, beside a
//! chance expected before anything is counted, which stands for [`EXPECTED_ADVERTS`] adverts. The weight of an equal
//! value is that of the table for a value as rare as [`USUAL_BITS`], and moves with its rarity.

use super::fingerprint::Fingerprint;
use super::levels::{energy, surface};
use super::weights::ComparedField;
use toise_contract::enums::EnumPropertyClass as Class;

/// Adverts that the expected chance of a value counts as.
const EXPECTED_ADVERTS: f32 = 20.0;
/// Rarity at which an equal value has the weight of the table, bits: price, surface, energy, storey, position.
const USUAL_BITS: [f32; COUNTED] = [6.0, 5.0, 7.0, 2.3, 6.0];
/// What a bit of rarity adds to the weight, bits.
const BITS_PER_BIT: [f32; COUNTED] = [0.4, 0.6, 0.3, 0.6, 2.0];
/// Most that rarity moves a weight, bits.
pub(super) const RARITY_BITS_MAX: f32 = 3.0;
/// Fields whose values are counted.
const COUNTED: usize = 5;

/// Prices within this share of one another are plausible for one home.
const PRICE_RANGE: f32 = 0.4;
/// Steps to which prices are rounded, EUR, with the share of prices that are rounded to it and no further.
const PRICE_STEPS: [(u32, f32); 7] = [
    (50_000, 0.06),
    (10_000, 0.14),
    (5_000, 0.25),
    (1_000, 0.38),
    (500, 0.06),
    (100, 0.06),
    (10, 0.04),
];
/// Share of prices that are rounded to whole euros only.
const PRICE_TO_THE_EURO: f32 = 0.01;
/// Adverts in one block have surfaces within this share of one another.
const SURFACE_RANGE: f32 = 0.2;
/// Share of surfaces that are given with decimals.
const SURFACE_WITH_DECIMALS: f32 = 0.3;
/// Chance that two diagnostics of one town have both scores alike.
const ENERGY_CHANCE: f32 = 0.004;
/// Chance that two flats lie on one storey.
const FLOOR_CHANCE: f32 = 0.2;
/// Chance that two homes are shown at exactly the same point, before it is seen that all homes of an agent are.
const POINT_CHANCE: f32 = 0.01;

/// How many adverts around an advert have its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueCount {
    /// Adverts with the same value.
    pub same: u32,
    /// Adverts with any.
    pub known: u32,
}

/// How common the values of an advert are among the adverts around it: those it shares a block with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings([ValueCount; COUNTED]);

/// What one advert adds to [`Surroundings`]: two bits a field, whether it has a value and whether it is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreements(u16);

impl Agreements {
    /// How the values of an advert agree with those of another around it.
    pub fn between(advert: &Fingerprint, other: &Fingerprint) -> Self {
        let equal = |one: Option<u32>, two: Option<u32>| Some(one? == two?);
        let counted = [
            equal(advert.price_eur, other.price_eur),
            surface(advert, other).map(|level| level < 2),
            energy(advert, other).map(|level| level == 0),
            equal(
                advert.floor.map(|floor| floor as u32),
                other.floor.map(|floor| floor as u32),
            ),
            same_point(advert, other),
        ];
        let bits = counted.iter().rev().fold(0, |bits, agreement| {
            let is_known = u16::from(agreement.is_some());
            let is_same = u16::from(*agreement == Some(true));
            (bits << 2) | (is_same << 1) | is_known
        });
        Self(bits)
    }
}

impl FromIterator<Agreements> for Surroundings {
    fn from_iter<I: IntoIterator<Item = Agreements>>(agreements: I) -> Self {
        let mut counts = [ValueCount::default(); COUNTED];
        for Agreements(bits) in agreements {
            for (field, count) in counts.iter_mut().enumerate() {
                let of_field = bits >> (2 * field);
                count.known += u32::from(of_field & 1);
                count.same += u32::from((of_field >> 1) & 1);
            }
        }
        Self(counts)
    }
}

impl Surroundings {
    /// How many adverts around have the value that an advert has in a field; `None` for fields that are not counted.
    pub fn count(&self, field: ComparedField) -> Option<ValueCount> {
        Some(self.0[index(field)?])
    }

    /// What the rarity of an equal value adds to its weight in the table, bits; `None` for a level that is not equality.
    pub(super) fn rarity_bits(
        &self,
        field: ComparedField,
        level: u8,
        one: &Fingerprint,
        other: &Fingerprint,
    ) -> Option<f32> {
        let index = index(field).filter(|_| is_equality(field, level))?;
        if field == ComparedField::Place && same_point(one, other) != Some(true) {
            return None;
        }
        let expected = match field {
            ComparedField::Price => price_chance(one, other),
            ComparedField::Surface => surface_chance(one),
            ComparedField::Energy => ENERGY_CHANCE,
            ComparedField::Place => POINT_CHANCE,
            _ => FLOOR_CHANCE,
        };
        let ValueCount { same, known } = self.0[index];
        // The other advert of the pair is one of those around.
        let (same, known) = (
            same.saturating_sub(1) as f32,
            known.saturating_sub(1) as f32,
        );
        let chance = (same + EXPECTED_ADVERTS * expected) / (known + EXPECTED_ADVERTS);
        let bits = BITS_PER_BIT[index] * (-chance.log2() - USUAL_BITS[index]);
        // Places for cars have nothing but their price, and few prices.
        let is_bare = field == ComparedField::Price && surface(one, other).is_none();
        let bits = if is_bare { bits.min(0.0) } else { bits };
        Some(bits.clamp(-RARITY_BITS_MAX, RARITY_BITS_MAX))
    }
}

/// Whether a level says that the values are equal, so that their rarity counts.
pub(super) fn is_equality(field: ComparedField, level: u8) -> bool {
    match field {
        ComparedField::Surface => level < 2,
        field => index(field).is_some() && level == 0,
    }
}

fn index(field: ComparedField) -> Option<usize> {
    match field {
        ComparedField::Price => Some(0),
        ComparedField::Surface => Some(1),
        ComparedField::Energy => Some(2),
        ComparedField::Floor => Some(3),
        ComparedField::Place => Some(4),
        _ => None,
    }
}

/// Whether two adverts are shown at exactly the same point.
fn same_point(one: &Fingerprint, other: &Fingerprint) -> Option<bool> {
    let (one, other) = (one.precise()?, other.precise()?);
    Some((one.lat_e6, one.lon_e6) == (other.lat_e6, other.lon_e6))
}

/// Chance that another home of the place asks the same price: of the plausible prices that are rounded as this is.
fn price_chance(one: &Fingerprint, other: &Fingerprint) -> f32 {
    // The net price of one may be the price of the other.
    let ours = [one.price_eur, one.net_price_eur].into_iter().flatten();
    let theirs = [other.price_eur, other.net_price_eur];
    let Some(price) = ours.filter(|price| theirs.contains(&Some(*price))).min() else {
        return 1.0;
    };
    let step = PRICE_STEPS
        .iter()
        .find(|(step, _)| price.is_multiple_of(*step));
    let (step, share) = step.copied().unwrap_or((1, PRICE_TO_THE_EURO));
    (share * step as f32 / (PRICE_RANGE * price as f32)).min(1.0)
}

/// Chance that another home of its block has the same surface.
fn surface_chance(one: &Fingerprint) -> f32 {
    let (values, share) = match (one.class, one.surface_dm2, one.land_m2) {
        (Class::Land, _, Some(land)) => (SURFACE_RANGE * land as f32, 1.0),
        (_, Some(area), _) if area.is_multiple_of(100) => (
            SURFACE_RANGE * area as f32 / 100.0,
            1.0 - SURFACE_WITH_DECIMALS,
        ),
        (_, Some(area), _) => (SURFACE_RANGE * area as f32, SURFACE_WITH_DECIMALS),
        _ => return 1.0,
    };
    (share / values.max(1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{fingerprint, flat};

    fn priced(price: u32) -> Fingerprint {
        Fingerprint {
            price_eur: Some(price),
            ..fingerprint(&flat())
        }
    }

    fn bits(advert: &Fingerprint, around: &Surroundings) -> f32 {
        let bits = around.rarity_bits(ComparedField::Price, 0, advert, advert);
        bits.unwrap()
    }

    #[test]
    fn an_odd_price_shows_more_than_a_round_one() {
        let around = Surroundings::default();
        assert!(bits(&priced(187_430), &around) > bits(&priced(187_000), &around));
        assert!(bits(&priced(187_000), &around) > bits(&priced(200_000), &around));
    }

    #[test]
    fn what_is_common_around_shows_less() {
        let advert = priced(187_000);
        let around = |same: usize| -> Surroundings {
            let others = (0..100).map(|number| {
                priced(if number < same {
                    187_000
                } else {
                    1_000 + number as u32
                })
            });
            others
                .map(|other| Agreements::between(&advert, &other))
                .collect()
        };
        assert!(bits(&advert, &around(1)) > bits(&advert, &around(5)));
        assert!(bits(&advert, &around(5)) > bits(&advert, &around(50)));
    }
}
