//! What recorded sales cannot teach, because they do not tell it: balcony, lift, condition and the like enter as
//! documented, bounded offsets on the logarithm of the price.
//!
//! A model learns from sales that tell nothing of these, so its price is that of a home which has each of them as often
//! as homes do. Something worth `e` (log) that a share `p` of homes has therefore adds `(1 - p) e` to a home that has
//! it, takes `p e` from one that has it not, and leaves alone a home of which it is unknown. Half of each published
//! effect is taken ([`CARRIED`]): the other half is already in the place, the building's sales and the period of
//! construction, which go along with it. The sum is bounded by [`SUM_MAX`].
//!
//! Sources:
//! - MeilleursAgents, study of 17 February 2022 on 150,000 sales since 2019 in the 51 largest cities, all else equal:
//!   a balcony or terrace adds 9.6 % to a flat, a lift 3.5 %; a pool adds 8 % to a house, an outdoor space 4.5 %, a
//!   parking space 3.6 %.
//! - INSEE Méthodes 128 (2014), "Les indices Notaires-Insee de prix des logements anciens": that such offsets on the
//!   logarithm, stratum by stratum, are how French prices are brought to equal quality. Its coefficients are not used.
//! - Where no figure is published (cellar, condition, furniture, all shares) a value is an order of magnitude, chosen
//!   on the careful side, and its row says so.

use super::{Class, Condition, Furniture, Home};

/// Part of a published effect that is not yet in what sales around the home say.
pub const CARRIED: f64 = 0.5;
/// Most the adjustments of a home come to, on the logarithm: a fifth of its price, about.
pub const SUM_MAX: f64 = 0.2;
/// Storey at which a lift is worth what it is on average; in proportion below and above it.
const LIFT_MEAN_FLOOR: f64 = 2.0;
/// A lift is worth at most this many times its average.
const LIFT_TIMES_MAX: f64 = 2.0;

/// What something is worth, and to how many.
struct Worth {
    /// Share it adds to the price.
    adds: f64,
    /// Share of homes that have it.
    share: f64,
}

impl Worth {
    /// The offset where it is known whether the home has it.
    fn offset(&self, has: Option<bool>) -> f64 {
        let effect = CARRIED * self.adds.ln_1p();
        match has {
            Some(true) => (1.0 - self.share) * effect,
            Some(false) => -self.share * effect,
            None => 0.0,
        }
    }
}

/// Balcony or terrace of a flat: the study; every second flat.
const OUTSIDE_OF_FLAT: Worth = Worth {
    adds: 0.096,
    share: 0.5,
};
/// Terrace or balcony of a house: the study's outdoor space; most houses.
const OUTSIDE_OF_HOUSE: Worth = Worth {
    adds: 0.045,
    share: 0.7,
};
/// Lift: the study; every second flat.
const LIFT: Worth = Worth {
    adds: 0.035,
    share: 0.5,
};
/// Pool of a house: the study; some three million pools on twenty million houses.
const POOL: Worth = Worth {
    adds: 0.08,
    share: 0.15,
};
/// Garage or parking space of a house: the study; two houses in three.
const PARKING_OF_HOUSE: Worth = Worth {
    adds: 0.036,
    share: 0.67,
};
/// Garage or parking space of a flat: taken as of a house; two flats in five.
const PARKING_OF_FLAT: Worth = Worth {
    adds: 0.036,
    share: 0.4,
};
/// Cellar: an order of magnitude; every second home.
const CELLAR: Worth = Worth {
    adds: 0.02,
    share: 0.5,
};

/// Names of all adjustments, in the words of the contract.
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

/// The adjustments of a home, each in the words of the contract with its offset on the logarithm of the price; those of
/// 0 are left out. They sum to [`SUM_MAX`] at most, either way.
pub fn of(home: &Home) -> impl Iterator<Item = (&'static str, f64)> {
    let extras = &home.extras;
    let (outside, parking) = match home.class {
        Class::Flat => (OUTSIDE_OF_FLAT, PARKING_OF_FLAT),
        Class::House => (OUTSIDE_OF_HOUSE, PARKING_OF_HOUSE),
    };
    let is_flat = home.class == Class::Flat;
    let (balcony, terrace) = once(extras.has_balcony, extras.has_terrace);
    let (place, garage) = once(extras.has_parking, extras.has_garage);
    let offsets = [
        outside.offset(balcony),
        outside.offset(terrace),
        lift_times(home.floor) * LIFT.offset(extras.has_lift.filter(|_| is_flat)),
        parking.offset(garage),
        parking.offset(place),
        POOL.offset(extras.has_pool.filter(|_| !is_flat)),
        CELLAR.offset(extras.has_cellar),
        extras.condition.map_or(0.0, of_condition),
        extras.furniture.map_or(0.0, of_furniture),
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

/// Of two things of which one does for the other: who has a terrace does not miss a balcony, nor who has a garage a
/// parking space. The pair counts once, by the one that the home has.
fn once(lesser: Option<bool>, greater: Option<bool>) -> (Option<bool>, Option<bool>) {
    match (lesser, greater) {
        (_, Some(true)) => (None, Some(true)),
        (Some(true), _) => (Some(true), None),
        (Some(false), Some(false)) => (None, Some(false)),
        unknown => unknown,
    }
}

/// How many times its average a lift is worth on a storey: nothing on the ground floor.
fn lift_times(floor: Option<f64>) -> f64 {
    floor.map_or(1.0, |floor| {
        (floor / LIFT_MEAN_FLOOR).clamp(0.0, LIFT_TIMES_MAX)
    })
}

/// General condition against the good one most homes are sold in: orders of magnitude, about half of what agencies
/// tell, because the period of construction and the diagnostic tell part of it.
fn of_condition(condition: Condition) -> f64 {
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

/// Furniture sold with the home: an order of magnitude, below the twentieth of a price it is commonly declared at.
fn of_furniture(furniture: Furniture) -> f64 {
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

    fn home(class: Class, extras: Extras) -> Home {
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
    fn what_is_unknown_changes_nothing() {
        assert_eq!(of(&home(Class::Flat, Extras::default())).count(), 0);
        assert_eq!(of(&home(Class::House, Extras::default())).count(), 0);
    }

    #[test]
    fn having_something_adds_and_missing_it_takes() {
        type Change = fn(&mut Extras, Option<bool>);
        let with = |change: Change, class, has| {
            let mut extras = Extras::default();
            change(&mut extras, Some(has));
            sum(&home(class, extras))
        };
        let changes: [(Change, Class); 7] = [
            (|extras, has| extras.has_balcony = has, Class::Flat),
            (|extras, has| extras.has_terrace = has, Class::House),
            (|extras, has| extras.has_lift = has, Class::Flat),
            (|extras, has| extras.has_garage = has, Class::House),
            (|extras, has| extras.has_parking = has, Class::Flat),
            (|extras, has| extras.has_pool = has, Class::House),
            (|extras, has| extras.has_cellar = has, Class::Flat),
        ];
        for (change, class) in changes {
            assert!(with(change, class, true) > 0.0 && with(change, class, false) < 0.0);
        }
        assert_eq!(
            with(|extras, has| extras.has_pool = has, Class::Flat, true),
            0.0
        );
        assert_eq!(
            with(|extras, has| extras.has_lift = has, Class::House, true),
            0.0
        );
    }

    #[test]
    fn pairs_count_once_and_a_lift_by_its_storey() {
        let outside = |balcony, terrace| {
            let extras = Extras {
                has_balcony: balcony,
                has_terrace: terrace,
                ..Extras::default()
            };
            sum(&home(Class::Flat, extras))
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
                ..home(Class::Flat, extras)
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
            Decrepit,
            ToBeRenovated,
            ToBeRefreshed,
            Good,
            Renovated,
            Excellent,
            BrandNew,
            ToBeBuilt,
        ];
        for class in [Class::Flat, Class::House] {
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
