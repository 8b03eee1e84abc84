//! Adjusts estimates for what sales do not record (balcony, lift, condition and the like), by documented, bounded
//! offsets on the logarithm of the price.
//!
//! A model trained on sales without these fields prices every home like an average home, which has each characteristic
//! with some probability. A characteristic that is worth `e` (in log price) and that a share `p` of homes has therefore
//! adds `(1 - p) e` if the home has it, subtracts `p e` if it does not, and changes nothing if this is unknown. Only
//! half of each published effect is applied ([`EFFECT_SHARE`]): the location, the sales of the building and the period
//! of construction are correlated with it and already carry the other half. The sum is bounded by [`SUM_MAX`].
//!
//! Sources:
//! - MeilleursAgents, study of 17 February 2022 on 150,000 sales since 2019 in the 51 largest cities, all else equal: a
//!   balcony or terrace adds 9.6 % to a flat, a lift 3.5 %; a pool adds 8 % to a house, an outdoor space 4.5 %, a
//!   parking space 3.6 %.
//! - INSEE Méthodes 128 (2014), "Les indices Notaires-Insee de prix des logements anciens": adjusts French prices to
//!   constant quality with such offsets on the logarithm, stratum by stratum. Its coefficients are not used.
//! - Where no figure is published (cellar, condition, furniture, all shares) the value is a conservative order of
//!   magnitude, and its row says so.

use super::{Condition, Furniture, Home, HomeClass};

/// Share of a published effect that is applied; nearby sales already carry the rest.
pub const EFFECT_SHARE: f64 = 0.5;
/// Maximum absolute sum of a home's adjustments, in log price: about a fifth of the price.
pub const SUM_MAX: f64 = 0.2;
/// Storey at which a lift has its average effect; the effect is proportional to the storey.
const LIFT_MEAN_FLOOR: f64 = 2.0;
/// Maximum effect of a lift, as a multiple of its average.
const LIFT_TIMES_MAX: f64 = 2.0;

/// The effect of a characteristic and how common it is.
struct CharacteristicEffect {
    /// Relative price increase it brings.
    adds: f64,
    /// Share of homes that have it, 0 to 1.
    share: f64,
}

impl CharacteristicEffect {
    const fn new(adds: f64, share: f64) -> Self {
        Self { adds, share }
    }

    /// Returns the offset in log price; 0 if it is unknown whether the home has it.
    fn offset(&self, has: Option<bool>) -> f64 {
        let effect = EFFECT_SHARE * self.adds.ln_1p();
        match has {
            Some(true) => (1.0 - self.share) * effect,
            Some(false) => -self.share * effect,
            None => 0.0,
        }
    }
}

/// Balcony or terrace of a flat: effect from the study; every second flat has one.
const OUTSIDE_OF_FLAT: CharacteristicEffect = CharacteristicEffect::new(0.096, 0.5);
/// Terrace or balcony of a house: the study's outdoor space; most houses have one.
const OUTSIDE_OF_HOUSE: CharacteristicEffect = CharacteristicEffect::new(0.045, 0.7);
/// Lift: effect from the study; every second flat has one.
const LIFT: CharacteristicEffect = CharacteristicEffect::new(0.035, 0.5);
/// Pool of a house: effect from the study; about three million pools on twenty million houses.
const POOL: CharacteristicEffect = CharacteristicEffect::new(0.08, 0.15);
/// Garage or parking space of a house: effect from the study; two houses in three have one.
const PARKING_OF_HOUSE: CharacteristicEffect = CharacteristicEffect::new(0.036, 0.67);
/// Garage or parking space of a flat: effect taken from houses; two flats in five have one.
const PARKING_OF_FLAT: CharacteristicEffect = CharacteristicEffect::new(0.036, 0.4);
/// Cellar: an order of magnitude; every second home has one.
const CELLAR: CharacteristicEffect = CharacteristicEffect::new(0.02, 0.5);

/// Names of all adjustments, as in the contract.
pub const NAMES: [&str; 9] = [
    "hasBalcony",
    "hasTerrace",
    "hasLift",
    "hasGarage",
    "hasParking",
    "hasPool",
    "hasCellar",
    "generalConditions",
    "furniture",
];

/// Returns the non-zero adjustments of a home: contract name and offset in log price. Their sum is within ±[`SUM_MAX`].
pub fn of(home: &Home) -> impl Iterator<Item = (&'static str, f64)> {
    let extras = &home.extras;
    let (outside, parking) = match home.class {
        HomeClass::Flat => (OUTSIDE_OF_FLAT, PARKING_OF_FLAT),
        HomeClass::House => (OUTSIDE_OF_HOUSE, PARKING_OF_HOUSE),
    };
    let is_flat = home.class == HomeClass::Flat;
    let (balcony, terrace) = without_lesser(extras.has_balcony, extras.has_terrace);
    let (place, garage) = without_lesser(extras.has_parking, extras.has_garage);
    let offsets = [
        outside.offset(balcony),
        outside.offset(terrace),
        lift_times(home.floor) * LIFT.offset(extras.has_lift.filter(|_| is_flat)),
        parking.offset(garage),
        parking.offset(place),
        POOL.offset(extras.has_pool.filter(|_| !is_flat)),
        CELLAR.offset(extras.has_cellar),
        extras.condition.map_or(0.0, condition_offset),
        extras.furniture.map_or(0.0, furniture_offset),
    ];
    let sum: f64 = offsets.iter().sum();
    let scale = if sum.abs() > SUM_MAX {
        SUM_MAX / sum.abs()
    } else {
        1.0
    };
    NAMES
        .into_iter()
        .zip(offsets)
        .filter(|(_, offset)| *offset != 0.0)
        .map(move |(name, offset)| (name, scale * offset))
}

/// Combines two amenities so that the pair counts once: the greater replaces the lesser, such as a terrace a balcony,
/// or a garage a parking space. Returns both values with one of them cleared.
fn without_lesser(lesser: Option<bool>, greater: Option<bool>) -> (Option<bool>, Option<bool>) {
    match (lesser, greater) {
        (_, Some(true)) => (None, Some(true)),
        (Some(true), _) => (Some(true), None),
        (Some(false), Some(false)) => (None, Some(false)),
        unknown => unknown,
    }
}

/// Returns the effect of a lift at a storey as a multiple of its average; 0 on the ground floor.
fn lift_times(floor: Option<f64>) -> f64 {
    floor.map_or(1.0, |floor| {
        (floor / LIFT_MEAN_FLOOR).clamp(0.0, LIFT_TIMES_MAX)
    })
}

/// Returns the offset for the general condition, relative to the good condition in which most homes are sold. These are
/// orders of magnitude, about half of what agencies quote, because the period of construction and the diagnostic
/// explain part of it.
fn condition_offset(condition: Condition) -> f64 {
    match condition {
        Condition::Decrepit => -0.15,
        Condition::ToBeRenovated => -0.10,
        Condition::ToBeRefreshed => -0.04,
        Condition::Good => 0.0,
        Condition::Renovated => 0.03,
        Condition::Excellent => 0.05,
        Condition::BrandNew | Condition::ToBeBuilt => 0.06,
    }
}

/// Returns the offset for furniture sold with the home: an order of magnitude, below the usual declared value of a
/// twentieth of the price.
fn furniture_offset(furniture: Furniture) -> f64 {
    match furniture {
        Furniture::Unfurnished => 0.0,
        Furniture::Partially => 0.01,
        Furniture::Fully => 0.02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extras;
    use chrono::NaiveDate;

    fn home(class: HomeClass, extras: Extras) -> Home {
        Home {
            longitude: 2.35,
            latitude: 48.86,
            class,
            surface_m2: 50.0,
            rooms: None,
            bedrooms: None,
            land_m2: None,
            construction_year: None,
            energy: None,
            climate: None,
            floor: None,
            floors: None,
            extras,
            date: NaiveDate::default(),
        }
    }

    fn sum(home: &Home) -> f64 {
        of(home).map(|(_, offset)| offset).sum()
    }

    fn every(has: bool, condition: Condition) -> Extras {
        let has = Some(has);
        Extras {
            has_balcony: has,
            has_cellar: has,
            has_garage: has,
            has_lift: has,
            has_parking: has,
            has_pool: has,
            has_terrace: has,
            condition: Some(condition),
            furniture: Some(Furniture::Fully),
        }
    }

    #[test]
    fn unknown_characteristics_change_nothing() {
        assert_eq!(of(&home(HomeClass::Flat, Extras::default())).count(), 0);
        assert_eq!(of(&home(HomeClass::House, Extras::default())).count(), 0);
    }

    #[test]
    fn a_present_amenity_adds_and_an_absent_one_subtracts() {
        type Change = fn(&mut Extras, Option<bool>);
        let with = |change: Change, class, has| {
            let mut extras = Extras::default();
            change(&mut extras, Some(has));
            sum(&home(class, extras))
        };
        let changes: [(Change, HomeClass); 7] = [
            (|extras, has| extras.has_balcony = has, HomeClass::Flat),
            (|extras, has| extras.has_terrace = has, HomeClass::House),
            (|extras, has| extras.has_lift = has, HomeClass::Flat),
            (|extras, has| extras.has_garage = has, HomeClass::House),
            (|extras, has| extras.has_parking = has, HomeClass::Flat),
            (|extras, has| extras.has_pool = has, HomeClass::House),
            (|extras, has| extras.has_cellar = has, HomeClass::Flat),
        ];
        for (change, class) in changes {
            assert!(with(change, class, true) > 0.0 && with(change, class, false) < 0.0);
        }
        assert_eq!(
            with(|extras, has| extras.has_pool = has, HomeClass::Flat, true),
            0.0
        );
        assert_eq!(
            with(|extras, has| extras.has_lift = has, HomeClass::House, true),
            0.0
        );
    }

    #[test]
    fn pairs_count_once_and_a_lift_counts_by_storey() {
        let outside = |balcony, terrace| {
            let extras = Extras {
                has_balcony: balcony,
                has_terrace: terrace,
                ..Extras::default()
            };
            sum(&home(HomeClass::Flat, extras))
        };
        let both = outside(Some(true), Some(true));
        for one in [
            outside(Some(true), None),
            outside(None, Some(true)),
            outside(Some(true), Some(false)),
        ] {
            assert_eq!(one, both);
        }
        let lift = |floor| {
            let extras = Extras {
                has_lift: Some(false),
                ..Extras::default()
            };
            sum(&Home {
                floor: Some(floor),
                ..home(HomeClass::Flat, extras)
            })
        };
        assert_eq!(lift(0.0), 0.0);
        assert!(lift(5.0) < lift(1.0) && lift(1.0) < 0.0);
        assert_eq!(lift(90.0), lift(4.0));
    }

    #[test]
    fn the_sum_is_bounded_and_better_conditions_never_lower_it() {
        use Condition::*;
        let conditions = [
            Decrepit, ToBeRenovated, ToBeRefreshed, Good, Renovated, Excellent, BrandNew, ToBeBuilt,
        ];
        for class in [HomeClass::Flat, HomeClass::House] {
            for has in [false, true] {
                let sums = conditions.map(|condition| sum(&home(class, every(has, condition))));
                assert!(sums.is_sorted(), "{sums:?}");
                assert!(
                    sums.iter().all(|sum| sum.abs() <= SUM_MAX + 1e-12),
                    "{sums:?}"
                );
            }
        }
    }
}
