//! What each agreement is worth, in bits: the one table of the comparison.
//!
//! A level's weight is the binary logarithm of how much more often it occurs between two adverts of one asset than
//! between two adverts of different assets that met in a block (Fellegi and Sunter, 1969). Weights add up to
//! [`PRIOR_BITS`]; each point doubles or halves the odds that both are one asset.

use serde::Serialize;

/// A field of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Field {
    /// Where both are.
    Place,
    /// Habitable area, or of the land for land.
    Surface,
    /// Land of a house.
    Land,
    /// Main rooms.
    Rooms,
    /// Bedrooms.
    Bedrooms,
    /// Storey.
    Floor,
    /// Year and storeys of the building.
    Building,
    /// Price.
    Price,
    /// Energy and greenhouse gas: scores and classes.
    Energy,
    /// What both say to have or not.
    Amenities,
    /// Description.
    Text,
    /// Pictures.
    Photos,
    /// Who sells.
    Seller,
    /// References of advert or mandate.
    Reference,
    /// Portals and when both were there.
    Portal,
}

/// Number of fields.
pub const FIELDS: usize = 15;

/// One level of agreement.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// What was found.
    pub about: &'static str,
    /// What it is worth, bits; below 0 when it speaks against one asset.
    pub bits: f32,
}

/// The levels of a field, from the closest agreement on.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// The field.
    pub field: Field,
    /// Why its weights are what they are.
    pub why: &'static str,
    /// Its levels.
    pub levels: &'static [Level],
}

const fn level(about: &'static str, bits: f32) -> Level {
    Level { about, bits }
}

/// Binary logarithm of the odds that two adverts which met in a block are one asset, before anything is compared.
pub const PRIOR_BITS: f32 = -6.0;
/// Bits above which both are one asset: 98 in 100.
pub const SAME_BITS: f32 = 5.6;
/// Bits below which they surely are not: 2 in 100.
pub const DIFFERENT_BITS: f32 = -5.6;

/// Every field in the order of [`Field`].
pub static WEIGHTS: [Weights; FIELDS] = [
    Weights {
        field: Field::Place,
        why: "",
        levels: &[
            level("within 40 m", 3.0),
            level("within 150 m", 2.0),
            level("within 350 m, as blurred", 1.0),
            level("within 700 m, as both blurred", 0.0),
            level("within 1.5 km", -3.0),
            level("farther apart", -6.0),
            level("one commune", 0.0),
            level("one postal code", 0.0),
            level("another commune", -4.0),
        ],
    },
    Weights {
        field: Field::Surface,
        why: "",
        levels: &[
            level("equal to the decimetre", 3.5),
            level("equal", 2.5),
            level("equal when rounded", 2.0),
            level("within 2.5 %", 0.0),
            level("within 6 %", -2.0),
            level("within 12 %", -4.0),
            level("different", -6.0),
        ],
    },
    Weights {
        field: Field::Land,
        why: "",
        levels: &[
            level("equal", 4.0),
            level("within 3 %", 2.0),
            level("within 12 %", -1.0),
            level("different", -4.0),
        ],
    },
    Weights {
        field: Field::Rooms,
        why: "",
        levels: &[
            level("equal", 0.6),
            level("one more", -2.0),
            level("different", -5.0),
        ],
    },
    Weights {
        field: Field::Bedrooms,
        why: "",
        levels: &[
            level("equal", 0.5),
            level("one more", -1.5),
            level("different", -4.0),
        ],
    },
    Weights {
        field: Field::Floor,
        why: "",
        levels: &[
            level("equal", 1.8),
            level("one apart", -2.5),
            level("different", -6.0),
        ],
    },
    Weights {
        field: Field::Building,
        why: "",
        levels: &[
            level("year and storeys equal", 3.0),
            level("one of them equal", 2.0),
            level("different", -3.0),
        ],
    },
    Weights {
        field: Field::Price,
        why: "",
        levels: &[
            level("equal", 4.0),
            level("within 1 %", 2.5),
            level("within 4 %", 1.5),
            level("within 10 %", 0.5),
            level("within 20 %", -1.5),
            level("within 35 %", -4.0),
            level("different", -7.0),
        ],
    },
    Weights {
        field: Field::Energy,
        why: "",
        levels: &[
            level("both scores equal", 5.0),
            level("one score equal", 3.0),
            level("scores within 3 %", 1.0),
            level("classes equal", 0.8),
            level("classes next to each other", -2.0),
            level("different", -4.0),
        ],
    },
    Weights {
        field: Field::Amenities,
        why: "",
        levels: &[
            level("four or more, all alike", 1.0),
            level("a few, all alike", 0.4),
            level("one unlike", -0.5),
            level("several unlike", -2.0),
        ],
    },
    Weights {
        field: Field::Text,
        why: "",
        levels: &[
            level("nine tenths in common", 7.0),
            level("six tenths in common", 5.0),
            level("three tenths in common", 3.0),
            level("a tenth in common", 1.0),
            level("written anew", -0.5),
            level("one seller, nine tenths in common", 4.0),
            level("one seller, six tenths in common", 1.0),
            level("one seller, three tenths in common", -1.0),
            level("one seller, a tenth in common", -2.0),
            level("one seller, written anew", -3.0),
        ],
    },
    Weights {
        field: Field::Photos,
        why: "",
        levels: &[
            level("most in common", 9.0),
            level("several in common", 6.0),
            level("one in common", 1.0),
            level("none in common", -1.5),
        ],
    },
    Weights {
        field: Field::Seller,
        why: "",
        levels: &[
            level("one agency", 1.5),
            level("one network", 0.5),
            level("one private person", 6.0),
            level("other professionals", -1.0),
            level("professional and private", -2.0),
        ],
    },
    Weights {
        field: Field::Reference,
        why: "",
        levels: &[
            level("one seller's reference", 10.0),
            level("a reference in common", 6.0),
            level("one seller, other references", -4.0),
            level("other references", -0.3),
        ],
    },
    Weights {
        field: Field::Portal,
        why: "",
        levels: &[
            level("other portals", 0.8),
            level("one portal, one after the other", 0.0),
            level("one portal, both online together", -5.0),
        ],
    },
];
