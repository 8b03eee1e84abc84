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
    /// What it is worth, bits, below 0 when it speaks against one asset: between adverts of several sellers or of sellers
    /// not known to be one, and between adverts of one seller.
    pub bits: [f32; 2],
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

const fn level(about: &'static str, of_others: f32, of_one_seller: f32) -> Level {
    Level {
        about,
        bits: [of_others, of_one_seller],
    }
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
        why: "Twins and neighbours are as near as an asset is to itself, so nearness is worth little more than 2 \
              bits. Portals blur by 300 m: up to 700 m two blurred positions may be one. Beyond that only a \
              mistake explains it: set by hand, milder than fitted.",
        levels: &[
            level("within 40 m", 2.4, 2.4),
            level("within 150 m", 2.4, 2.4),
            level("within 350 m, as blurred", 2.3, 2.3),
            level("within 700 m, as both blurred", 0.3, 0.3),
            level("within 1.5 km", -4.0, -4.0),
            level("farther apart", -6.0, -6.0),
            level("one commune", 0.0, 0.0),
            level("one postal code", 0.0, 0.0),
            level("another commune", -3.0, -3.0),
        ],
    },
    Weights {
        field: Field::Surface,
        why: "Hundredths are rare to coincide by chance, but flats of one plan share them. Rounding and cutting \
              to whole metres keeps its weight; measuring otherwise moves up to 8 %.",
        levels: &[
            level("equal to the decimetre", 3.6, 3.6),
            level("equal", 4.3, 4.3),
            level("equal when rounded", 2.8, 2.8),
            level("within 2.5 %", 1.4, 1.4),
            level("within 6 %", -0.2, -0.2),
            level("within 12 %", -3.3, -3.3),
            level("different", -4.4, -4.4),
        ],
    },
    Weights {
        field: Field::Land,
        why: "Parcels have areas of their own: the best evidence a house has. Some portals round to ten metres.",
        levels: &[
            level("equal", 7.0, 7.0),
            level("within 3 %", 4.3, 4.3),
            level("within 12 %", 0.9, 0.9),
            level("different", -2.9, -2.9),
        ],
    },
    Weights {
        field: Field::Rooms,
        why: "Blocks hold assets of one size, so equal says nothing; counting the kitchen explains one more, \
              hardly two.",
        levels: &[
            level("equal", -0.4, -0.4),
            level("one more", -1.8, -1.8),
            level("different", -5.4, -5.4),
        ],
    },
    Weights {
        field: Field::Bedrooms,
        why: "As rooms.",
        levels: &[
            level("equal", -0.1, -0.1),
            level("one more", -1.5, -1.5),
            level("different", -5.4, -5.4),
        ],
    },
    Weights {
        field: Field::Floor,
        why: "What tells twins apart. Counting from the street explains one more or less, nothing explains two.",
        levels: &[
            level("equal", 1.0, 1.0),
            level("one apart", -4.4, -4.4),
            level("different", -7.0, -7.0),
        ],
    },
    Weights {
        field: Field::Building,
        why: "Neighbours share a building as twins do: agreement is worth little, another building is another \
              asset.",
        levels: &[
            level("year and storeys equal", 0.2, 0.2),
            level("one of them equal", 0.2, 0.2),
            level("different", -3.8, -3.8),
        ],
    },
    Weights {
        field: Field::Price,
        why: "One asset asks one price on most portals; cuts that came late and other fees explain up to 10 %. \
              Farther apart is set by hand, milder than fitted: the generator never lets two portals drift that \
              far.",
        levels: &[
            level("equal", 3.9, 3.9),
            level("within 1 %", 0.4, 0.4),
            level("within 4 %", 0.2, 0.2),
            level("within 10 %", -0.4, -0.4),
            level("within 20 %", -4.0, -4.0),
            level("within 35 %", -6.0, -6.0),
            level("different", -7.0, -7.0),
        ],
    },
    Weights {
        field: Field::Energy,
        why: "Two scores of three digits coincide by chance once in hundreds, but twins may share them. Unlike \
              scores mean another diagnostic: rare within a year or two.",
        levels: &[
            level("both scores equal", 2.3, 2.3),
            level("one score equal", -2.6, -2.6),
            level("scores within 3 %", -3.8, -3.8),
            level("classes equal", 1.0, 1.0),
            level("classes next to each other", -3.2, -3.2),
            level("different", -5.4, -5.4),
        ],
    },
    Weights {
        field: Field::Amenities,
        why: "Most say nothing of most: agreement is common, contradiction is a mistake on one side.",
        levels: &[
            level("four or more, all alike", 0.6, 0.6),
            level("a few, all alike", 0.0, 0.0),
            level("one unlike", -1.1, -1.1),
            level("several unlike", -2.9, -2.9),
        ],
    },
    Weights {
        field: Field::Text,
        why: "Two sellers rarely copy from one another, and then of the same asset. One agency writes alike of \
              alike assets: only nearly equal texts speak for one, and texts that differ in their figures speak \
              for two. Writing anew is no evidence.",
        levels: &[
            level("nine tenths in common", 6.0, 6.0),
            level("six tenths in common", 1.9, 1.9),
            level("three tenths in common", 0.8, 0.8),
            level("a tenth in common", 0.2, 0.2),
            level("written anew", -0.5, -0.5),
        ],
    },
    Weights {
        field: Field::Photos,
        why: "Shared pictures are of one asset, but for fronts, logos and the drawings of a programme, which are \
              few or barred by rule. Fitted beside texts, which travel with them, they are worth half of what \
              they are alone.",
        levels: &[
            level("most in common", 4.0, 4.0),
            level("several in common", 4.0, 4.0),
            level("one in common", -0.1, -0.1),
            level("none in common", -1.4, -1.4),
        ],
    },
    Weights {
        field: Field::Seller,
        why: "An agency has hundreds of assets, and two agencies share one in five. A private person has one; \
              set by hand below the fitted bound, for numbers are mistyped.",
        levels: &[
            level("one agency", -0.6, -0.6),
            level("one network", 1.2, 1.2),
            level("one private person", 6.5, 6.5),
            level("other professionals", 0.5, 0.5),
            level("professional and private", -0.2, -0.2),
        ],
    },
    Weights {
        field: Field::Reference,
        why: "An agency numbers its assets: the same number is the same asset, another one nearly always \
              another. Numbers of two agencies coincide by chance.",
        levels: &[level("one in common", 0.5, 8.0), level("others", 0.0, -6.5)],
    },
    Weights {
        field: Field::Portal,
        why: "Most assets are once on a portal: other portals speak for one. Online together on one portal needs \
              the evidence that the rule asks for, and is held against it even so.",
        levels: &[
            level("other portals", 1.9, 1.9),
            level("one portal, one after the other", 0.2, 0.2),
            level("one portal, both online together", -6.0, -6.0),
        ],
    },
];
