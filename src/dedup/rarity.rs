//! Rarity: the rarer an equal value is around an advert, the stronger the evidence.
//!
//! Two flats at 250,000 euros in one town are weak evidence, two at 187,430 nearly proof; thirty flats of a new
//! building share their surface. [`Surroundings`] counts the following among the adverts that share a block with the
//! new one:
//!
//! - how many there are: each may agree by accident, so the odds before any comparison decrease with their number;
//! - how often a value occurs among adverts that are *other homes* for another reason: a price among adverts of another
//!   surface, a surface among adverts of another price, everything else among either. Copies of the advert itself would
//!   make its own values look common, and are not counted;
//! - how many share price *and* surface with it but contradict it elsewhere: proof that the combination is common here,
//!   however rare the single values are.
//!
//! The prior estimate of the chance weighs as much as [`EXPECTED_ADVERTS`] counted adverts. This is the term-frequency
//! adjustment of record linkage, with the prior of Fellegi and Sunter made explicit.

use super::fingerprint::Fingerprint;
use super::levels::{self, energy, relative_gap, surface};
use super::portals::PortalRates;
use super::street;
use super::weights::{ADVERTS_AROUND, ComparedField, EXPECTED_COPIES};
use toise_contract::enums::{EnumPropertyClass as Class, EnumPropertyOfferType};

/// The expected chance of a value weighs at least as much as this number of counted adverts.
const EXPECTED_ADVERTS: f32 = 20.0;
/// Rarity at which an equal value has the weight of the table, bits; in the order of [`CountedField`].
const USUAL_BITS: [f32; COUNTED] = [6.0, 4.5, 7.0, 2.3, 6.0, 2.5, 6.0];
/// Bits that a bit of rarity adds to the weight: less than one if other fields of the comparison repeat the evidence.
const BITS_PER_BIT: [f32; COUNTED] = [0.9, 0.7, 0.5, 0.6, 1.0, 0.6, 0.6];
/// Maximum bits that rarity adds to a weight.
pub(super) const RARITY_BITS_MAX: f32 = 5.0;
/// Maximum bits that rarity takes from a weight, as a negative number.
const RARITY_BITS_MIN: f32 = -6.0;
/// Minimum for the expected number of accidental agreements in price and surface around an advert. Smaller numbers
/// cannot be estimated reliably.
const ACCIDENTS_MIN: f32 = 0.1;
/// Maximum bits that other homes of the same price and surface take from an agreement in both.
const LOOKALIKE_BITS_MAX: f32 = 8.0;

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
/// Share of prices that are rounded only to whole euros.
const PRICE_TO_THE_EURO: f32 = 0.01;
/// Like [`PRICE_STEPS`], for rents a month; two portals differ by up to 3 points.
const RENT_STEPS: [(u32, f32); 4] = [(100, 0.12), (50, 0.11), (10, 0.33), (5, 0.17)];
/// Share of rents that are rounded only to whole euros.
const RENT_TO_THE_EURO: f32 = 0.27;
/// Adverts in one block have surfaces within this share of one another.
const SURFACE_RANGE: f32 = 0.2;
/// Share of surfaces that are given with decimals.
const SURFACE_WITH_DECIMALS: f32 = 0.3;
/// Chance that another home of the block has the same floor plan, and so the same surface to the hundredth of a square
/// metre.
const SAME_PLAN_CHANCE: f32 = 0.004;
/// Chance that two diagnostics of one town have the same two scores.
const ENERGY_CHANCE: f32 = 0.004;
/// Chance that two flats are on the same storey.
const FLOOR_CHANCE: f32 = 0.2;
/// Chance that two homes are shown at exactly the same point, before it is known that an agent shows all homes there.
const POINT_CHANCE: f32 = 0.01;
/// Chance that two homes of one block are in a district of the same name.
const DISTRICT_CHANCE: f32 = 0.2;
/// Chance that two homes of one block have the same house number and street.
const ADDRESS_CHANCE: f32 = 0.01;
/// Prices or surfaces that differ by more than this share of the greater count as those of two homes.
const CLEARLY_OTHER: [f64; 2] = [0.1, 0.06];

/// A field whose values are counted; its number is the index into the tables above.
#[derive(Clone, Copy)]
enum CountedField {
    Price,
    Surface,
    Energy,
    Floor,
    Point,
    District,
    Address,
}

/// Number of fields whose values are counted.
const COUNTED: usize = 7;

/// The agreement of an advert's value with that of another; two bits in [`Agreements`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Unknown = 0,
    Other = 1,
    Near = 2,
    Equal = 3,
}

/// Number of adverts around an advert that have its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ValueCount {
    /// Adverts with the same value.
    same: u32,
    /// Adverts with any value.
    known: u32,
}

/// Counts how common the values of an advert are among the adverts around it, which are those it shares a block with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surroundings {
    adverts: u32,
    values: [ValueCount; COUNTED],
    lookalikes: u32,
    portals: PortalRates,
}

/// The contribution of one advert to [`Surroundings`]: how each counted value agrees, and whether others contradict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreements(u16);

/// The bit of [`Agreements`] for equal price and surface with a contradiction elsewhere.
const CONTRADICTS_BIT: u16 = 1 << (2 * COUNTED);

impl Agreements {
    /// Compares the values of an advert with those of another one around it.
    pub fn between(advert: &Fingerprint, other: &Fingerprint) -> Self {
        let equal = |is_equal: Option<bool>| match is_equal {
            None => Agreement::Unknown,
            Some(false) => Agreement::Other,
            Some(true) => Agreement::Equal,
        };
        let floors = advert.floor.zip(other.floor);
        let districts = advert.district.zip(other.district);
        let addresses = advert.street_address.zip(other.street_address);
        let agreements = [
            price_agreement(advert, other),
            surface_agreement(advert, other),
            equal(energy(advert, other).map(|level| level == 0)),
            equal(floors.map(|(one, two)| one == two)),
            equal(same_point(advert, other)),
            equal(districts.map(|(one, two)| one == two)),
            equal(addresses.and_then(|(one, two)| street::is_one(one, two))),
        ];
        let bits = agreements
            .iter()
            .rev()
            .fold(0, |bits, agreement| (bits << 2) | *agreement as u16);
        let is_alike =
            matches!(agreements[0], Agreement::Equal) && matches!(agreements[1], Agreement::Equal);
        if is_alike && levels::differs_elsewhere(advert, other) {
            return Self(bits | CONTRADICTS_BIT);
        }
        Self(bits)
    }

    fn of(self, field: CountedField) -> Agreement {
        match (self.0 >> (2 * field as u16)) & 3 {
            0 => Agreement::Unknown,
            1 => Agreement::Other,
            2 => Agreement::Near,
            _ => Agreement::Equal,
        }
    }
}

fn price_agreement(advert: &Fingerprint, other: &Fingerprint) -> Agreement {
    match (advert.price_eur, other.price_eur) {
        (Some(one), Some(two)) if one == two => Agreement::Equal,
        (Some(one), Some(two)) if relative_gap(one, two) > CLEARLY_OTHER[0] => Agreement::Other,
        (Some(_), Some(_)) => Agreement::Near,
        _ => Agreement::Unknown,
    }
}

fn surface_agreement(advert: &Fingerprint, other: &Fingerprint) -> Agreement {
    match surface(advert, other) {
        None => Agreement::Unknown,
        Some(0..3) => Agreement::Equal,
        Some(3 | 4) => Agreement::Near,
        Some(_) => Agreement::Other,
    }
}

impl FromIterator<Agreements> for Surroundings {
    fn from_iter<I: IntoIterator<Item = Agreements>>(agreements: I) -> Self {
        use CountedField::{Address, District, Energy, Floor, Point, Price, Surface};
        let mut around = Self::default();
        for one in agreements {
            around.adverts += 1;
            let (price, surface) = (one.of(Price), one.of(Surface));
            let [other_price, other_surface] = [price, surface].map(|it| it == Agreement::Other);
            around.lookalikes += u32::from(one.0 & CONTRADICTS_BIT != 0);
            let counted = [
                (Price, other_surface),
                (Surface, other_price),
                (Energy, other_price || other_surface),
                (Floor, other_price || other_surface),
                (Point, other_price || other_surface),
                (District, other_price || other_surface),
                (Address, other_price || other_surface),
            ];
            for (field, is_another_home) in counted {
                let agreement = one.of(field);
                if is_another_home && agreement != Agreement::Unknown {
                    let count = &mut around.values[field as usize];
                    count.known += 1;
                    count.same += u32::from(agreement == Agreement::Equal);
                }
            }
        }
        around
    }
}

impl Surroundings {
    /// Returns the number of adverts around: those that share a block.
    pub fn adverts(&self) -> u32 {
        self.adverts
    }

    /// Returns the number of adverts around that share price and surface but contradict elsewhere: other homes that
    /// look alike.
    pub fn lookalikes(&self) -> u32 {
        self.lookalikes
    }

    /// Returns the binary logarithm of the odds, before anything is compared, that an advert around is of the same
    /// asset: the expected copies divided by the adverts around.
    pub fn prior_bits(&self) -> f32 {
        EXPECTED_COPIES.log2() - self.adverts_counted().log2()
    }

    /// Sets how often the advert's portal and others show one home.
    #[must_use]
    pub fn with_portals(self, portals: PortalRates) -> Self {
        Self { portals, ..self }
    }

    /// Returns the bits that the pair of portals adds to the odds before anything is compared.
    pub fn portal_bits(&self, other: &Fingerprint) -> f32 {
        self.portals.with(other.portal)
    }

    /// Returns the number of adverts around, or the minimum that counts.
    fn adverts_counted(&self) -> f32 {
        (self.adverts as f32).max(ADVERTS_AROUND)
    }

    /// Returns the bits that the rarity of an equal value adds to its weight in the table; `None` if the level is not
    /// equality.
    pub(super) fn rarity_bits(
        &self,
        field: ComparedField,
        level: u8,
        one: &Fingerprint,
        other: &Fingerprint,
    ) -> Option<f32> {
        if !is_equality(field, level) {
            return None;
        }
        let counted = counted(field)?;
        let chance = self.chance(counted, one, other)?;
        let bits = BITS_PER_BIT[counted as usize] * (-chance.log2() - USUAL_BITS[counted as usize]);
        // Parking places have no feature but their price, and few different prices.
        let is_bare = field == ComparedField::Price && surface(one, other).is_none();
        let bits = if is_bare { bits.min(0.0) } else { bits };
        Some(bits.clamp(RARITY_BITS_MIN, RARITY_BITS_MAX))
    }

    /// Returns the chance that another home around has the value that two adverts share.
    fn chance(&self, field: CountedField, one: &Fingerprint, other: &Fingerprint) -> Option<f32> {
        let expected = match field {
            CountedField::Price => price_chance(one, other),
            // If one side is rounded, the agreement is as common as the rounded value.
            CountedField::Surface => surface_chance(one).max(surface_chance(other)),
            CountedField::Energy => ENERGY_CHANCE,
            CountedField::Point if same_point(one, other) != Some(true) => return None,
            CountedField::Point => POINT_CHANCE,
            CountedField::Floor => FLOOR_CHANCE,
            CountedField::District => DISTRICT_CHANCE,
            CountedField::Address => ADDRESS_CHANCE,
        };
        let ValueCount { same, known } = self.values[field as usize];
        // The prior stands for at least one accidental agreement, because it is weak evidence that none has occurred
        // yet.
        let adverts = EXPECTED_ADVERTS.max(1.0 / expected);
        Some((same as f32 + adverts * expected) / (known as f32 + adverts))
    }

    /// Returns the bits that other homes of the same price and surface take from an agreement in both: never above 0.
    /// Compares their number with the number of accidental agreements expected from the two values alone.
    pub(super) fn lookalike_bits(&self, one: &Fingerprint, other: &Fingerprint) -> f32 {
        let is_alike = surface_agreement(one, other) == Agreement::Equal
            && price_agreement(one, other) == Agreement::Equal;
        // The other advert of the pair may be one of them.
        let others = u32::from(levels::differs_elsewhere(one, other));
        let found = self.lookalikes.saturating_sub(others) as f32;
        if !is_alike || found == 0.0 {
            return 0.0;
        }
        let chances = [CountedField::Price, CountedField::Surface]
            .map(|field| self.chance(field, one, other).unwrap_or(1.0));
        let expected = (self.adverts_counted() * chances[0] * chances[1]).max(ACCIDENTS_MIN);
        -((expected + found) / expected)
            .log2()
            .min(LOOKALIKE_BITS_MAX)
    }
}

/// Returns whether a level means that the values are equal, so that their rarity counts.
pub(super) fn is_equality(field: ComparedField, level: u8) -> bool {
    match field {
        ComparedField::Surface => level < 3,
        field => counted(field).is_some() && level == 0,
    }
}

fn counted(field: ComparedField) -> Option<CountedField> {
    match field {
        ComparedField::Price => Some(CountedField::Price),
        ComparedField::Surface => Some(CountedField::Surface),
        ComparedField::Energy => Some(CountedField::Energy),
        ComparedField::Floor => Some(CountedField::Floor),
        ComparedField::Place => Some(CountedField::Point),
        ComparedField::District => Some(CountedField::District),
        ComparedField::Address => Some(CountedField::Address),
        _ => None,
    }
}

/// Returns whether two adverts are shown at exactly the same point.
fn same_point(one: &Fingerprint, other: &Fingerprint) -> Option<bool> {
    let (one, other) = (one.precise()?, other.precise()?);
    Some((one.lat_e6, one.lon_e6) == (other.lat_e6, other.lon_e6))
}

/// Returns the chance that another home nearby asks the same price, among the plausible prices with the same rounding.
fn price_chance(one: &Fingerprint, other: &Fingerprint) -> f32 {
    // The net price of one may be the price of the other.
    let ours = [one.price_eur, one.net_price_eur].into_iter().flatten();
    let theirs = [other.price_eur, other.net_price_eur];
    let Some(price) = ours.filter(|price| theirs.contains(&Some(*price))).min() else {
        return 1.0;
    };
    let is_rent = one.offer == EnumPropertyOfferType::Rent;
    let (steps, to_the_euro): (&[(u32, f32)], f32) = if is_rent {
        (&RENT_STEPS, RENT_TO_THE_EURO)
    } else {
        (&PRICE_STEPS, PRICE_TO_THE_EURO)
    };
    let step = steps.iter().find(|(step, _)| price.is_multiple_of(*step));
    let (step, share) = step.copied().unwrap_or((1, to_the_euro));
    (share * step as f32 / (PRICE_RANGE * price as f32)).min(1.0)
}

/// Returns the chance that another home of its block has the same surface.
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
    (share / values.max(1.0)).clamp(SAME_PLAN_CHANCE, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{fingerprint, flat};

    fn priced(price: u32, surface_dm2: u32) -> Fingerprint {
        Fingerprint {
            price_eur: Some(price),
            surface_dm2: Some(surface_dm2),
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
        let of = |price: u32| bits(&priced(price, 6_135), &around);
        assert!(of(187_430) > of(187_000));
        assert!(of(187_000) > of(200_000));
    }

    #[test]
    fn a_round_rent_shows_little_however_few_adverts_are_around() {
        let rent = |rent: u32| {
            let advert = Fingerprint {
                offer: EnumPropertyOfferType::Rent,
                ..priced(rent, 2_700)
            };
            let neighbour = Fingerprint {
                price_eur: Some(rent + 300),
                ..advert
            };
            let around = [Agreements::between(&advert, &neighbour); 15];
            bits(&advert, &around.into_iter().collect())
        };
        assert!(rent(700) < 0.0 && rent(650) < 0.0);
        assert!(rent(650) < rent(720) && rent(720) < 1.0);
        assert!(rent(720) < rent(655) && rent(655) < rent(653));
    }

    #[test]
    fn a_price_that_other_homes_ask_shows_less_and_that_of_copies_no_less() {
        let advert = priced(187_000, 6_135);
        let around = |same: usize, surface_dm2: u32| -> Surroundings {
            let others = (0..100).map(|number| {
                let price = if number < same {
                    187_000
                } else {
                    100_000 + number as u32
                };
                priced(price, surface_dm2)
            });
            others
                .map(|other| Agreements::between(&advert, &other))
                .collect()
        };
        assert!(bits(&advert, &around(1, 7_000)) > bits(&advert, &around(5, 7_000)));
        assert!(bits(&advert, &around(5, 7_000)) > bits(&advert, &around(50, 7_000)));
        assert_eq!(
            bits(&advert, &around(1, 6_135)),
            bits(&advert, &around(50, 6_135))
        );
    }

    #[test]
    fn each_advert_around_is_a_chance_to_agree_by_accident() {
        let advert = priced(187_000, 6_135);
        let among = |count: usize| -> Surroundings {
            std::iter::repeat_n(Agreements::between(&advert, &priced(300_000, 9_000)), count)
                .collect()
        };
        assert_eq!(among(100).prior_bits() - 1.0, among(200).prior_bits());
        assert_eq!(among(0).prior_bits(), among(1).prior_bits());
    }

    #[test]
    fn other_homes_of_the_same_price_and_surface_take_from_an_agreement_in_both() {
        let advert = Fingerprint {
            floor: Some(3),
            ..priced(160_000, 1_500)
        };
        let lookalike = Fingerprint {
            floor: Some(5),
            ..advert
        };
        let around = |count: usize| -> Surroundings {
            std::iter::repeat_n(Agreements::between(&advert, &lookalike), count).collect()
        };
        assert_eq!(around(0).lookalike_bits(&advert, &advert), 0.0);
        assert!(around(1).lookalike_bits(&advert, &advert) < -0.5);
        assert!(
            around(4).lookalike_bits(&advert, &advert) < around(1).lookalike_bits(&advert, &advert)
        );
        let dearer = priced(170_000, 1_500);
        assert_eq!(around(4).lookalike_bits(&advert, &dearer), 0.0);
    }
}
