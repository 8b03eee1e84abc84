//! What each agreement is worth, in bits: the one table of the comparison.
//!
//! A level's weight is the binary logarithm of how much more often it occurs between two adverts of one asset than
//! between two adverts of different assets that met in a block (Fellegi and Sunter, 1969), as far as the other fields
//! do not say so already. Weights are added to [`PRIOR_BITS`]; each point doubles or halves the odds that both are one
//! asset. `toise evaluate dedup --fit` derives them from made-up adverts of training seeds and prints them beside those
//! in use; where the table departs from it, the field's reason says why.

use serde::Serialize;

/// A field of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ComparedField {
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
    /// Figures in the descriptions.
    Figures,
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
pub const FIELDS: usize = 16;

/// One level of agreement.
#[derive(Clone, Copy, Debug)]
pub struct AgreementLevel {
    /// What was found.
    pub about: &'static str,
    /// What it is worth, bits, below 0 when it speaks against one asset: first between adverts of sellers not known to
    /// be one, then between adverts of one seller.
    pub bits: [f32; 2],
}

/// The levels of a field, from the closest agreement on.
#[derive(Clone, Copy, Debug)]
pub struct FieldWeights {
    /// The field.
    pub field: ComparedField,
    /// Why its weights are what they are.
    pub why: &'static str,
    /// Its levels.
    pub levels: &'static [AgreementLevel],
}

const fn level(about: &'static str, of_others: f32, of_one_seller: f32) -> AgreementLevel {
    AgreementLevel {
        about,
        bits: [of_others, of_one_seller],
    }
}

/// Binary logarithm of the odds that two adverts which met in a block are one asset, before anything is compared.
pub const PRIOR_BITS: f32 = -4.7;
/// Bits above which both are one asset: about 89 in 100 of the pairs just above it. On the training seeds at the middle
/// level ingestion as a whole then has 99.7 of its joined pairs in 100 right and finds 97.4 of the true ones;
/// lower, what it finds more costs more precision than it is worth.
pub const SAME_BITS: f32 = 3.0;
/// Bits above which properties that are known already are joined, when an advert fits both or one alone in its own says
/// something new. That is asked again with every advert and every sighting, so errors add up: with [`SAME_BITS`] for
/// these too, ingestion as a whole loses 0.3 points of precision on the training seeds and gains 0.2 of recall.
pub const JOIN_BITS: f32 = 5.5;
/// Bits below which they surely are not: 2 in 100.
pub const DIFFERENT_BITS: f32 = -5.6;
/// What another advert of a property adds when it speaks for the new one, and at most together.
pub const SUPPORT_BITS: (f32, f32) = (0.75, 1.5);
/// What another advert of a property takes when it surely is of another asset.
pub const CONTRADICTION_BITS: f32 = 3.0;
/// What it takes when a rule bars it from the new one.
pub const BARRED_BITS: f32 = 6.0;

/// Every field in the order of [`ComparedField`].
pub static WEIGHTS: [FieldWeights; FIELDS] = [
    FieldWeights {
        field: ComparedField::Place,
        why: "Twins and neighbours are as near as an asset is to itself, so nearness is worth 3 bits at \
              most. Portals blur by 300 m: up to 700 m two blurred positions may be one. Beyond that only \
              a mistake explains it; set by hand, milder than fitted, for portals do make it.",
        levels: &[
            level("within 40 m", 3.1, 2.1),
            level("within 150 m", 2.5, 2.1),
            level("within 350 m, as blurred", 2.1, 2.2),
            level("within 700 m, as both blurred", -0.8, 1.8),
            level("within 1.5 km", -5.0, -5.0),
            level("farther apart", -6.5, -6.5),
            level("one commune", -1.5, 1.5),
            level("one postal code", -1.1, 1.0),
            level("another commune", -3.0, -3.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Surface,
        why: "Hundredths rarely coincide by chance, but flats of one plan share them, and one agency sells \
              them. Rounding and cutting to whole metres keep most of the weight; measuring otherwise \
              moves up to 8 %.",
        levels: &[
            level("equal to the decimetre", 3.2, 2.0),
            level("equal", 5.5, 3.2),
            level("equal when rounded", 3.1, 1.0),
            level("within 2.5 %", 2.6, 1.1),
            level("within 6 %", 0.5, -0.8),
            level("within 12 %", -4.9, -4.0),
            level("different", -4.2, -5.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Land,
        why: "Parcels have areas of their own: the best evidence a house has. Some portals round to ten metres.",
        levels: &[
            level("equal", 8.0, 7.8),
            level("within 3 %", 4.7, 4.2),
            level("within 12 %", 1.3, 0.0),
            level("different", -2.1, -3.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Rooms,
        why: "Blocks hold assets of one size, so equal says nothing; counting the kitchen explains one more, \
              hardly two.",
        levels: &[
            level("equal", -1.5, -1.4),
            level("one more", -2.8, -1.4),
            level("different", -5.9, -5.1),
        ],
    },
    FieldWeights {
        field: ComparedField::Bedrooms,
        why: "As rooms.",
        levels: &[
            level("equal", -0.3, -0.1),
            level("one more", -2.1, -1.9),
            level("different", -6.9, -5.4),
        ],
    },
    FieldWeights {
        field: ComparedField::Floor,
        why: "What tells twins apart, most of all where one agency sells them. Counting from the street \
              explains one more or less, nothing explains two.",
        levels: &[
            level("equal", 4.6, 4.6),
            level("one apart", -6.3, -5.6),
            level("different", -7.0, -7.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Building,
        why: "Neighbours share a building as twins do: agreement is worth little, another building is \
              another asset.",
        levels: &[
            level("year and storeys equal", -0.1, -1.3),
            level("one of them equal", 0.3, -0.4),
            level("different", -4.2, -3.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Price,
        why: "One asset asks one price on most portals; cuts that came late and other fees explain up to \
              10 %. Farther apart is set by hand, milder than fitted: the generator never lets two portals \
              drift that far.",
        levels: &[
            level("equal", 4.3, 4.5),
            level("within 1 %", 0.7, 0.4),
            level("within 4 %", 0.4, 0.7),
            level("within 10 %", -1.4, 0.0),
            level("within 20 %", -4.5, -4.0),
            level("within 35 %", -6.0, -6.0),
            level("different", -7.0, -7.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Energy,
        why: "Two scores of three digits coincide by chance once in hundreds; twins sold by one agency may \
              share them. Unlike scores mean another diagnostic: rare within two years.",
        levels: &[
            level("both scores equal", 4.2, 2.9),
            level("one score equal", -4.0, -3.4),
            level("scores within 3 %", -5.1, -4.6),
            level("classes equal", 1.2, 0.7),
            level("classes next to each other", -4.3, -4.4),
            level("different", -6.2, -3.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Amenities,
        why: "Most say nothing of most: agreement is common, contradiction is a mistake on one side.",
        levels: &[
            level("four or more, all alike", 0.2, -0.4),
            level("a few, all alike", -0.3, -0.9),
            level("one unlike", -1.9, -1.7),
            level("several unlike", -5.6, -3.7),
        ],
    },
    FieldWeights {
        field: ComparedField::Text,
        why: "Two sellers rarely copy from one another, and then of the same asset. One agency writes \
              alike of alike assets: only nearly equal texts speak for one asset, and texts that differ in \
              their figures speak for two.",
        levels: &[
            level("nine tenths in common", 4.2, 1.5),
            level("six tenths in common", -0.2, -1.1),
            level("three tenths in common", 0.3, 0.2),
            level("a tenth in common", 0.0, 0.2),
            level("written anew", -0.6, 0.2),
        ],
    },
    FieldWeights {
        field: ComparedField::Figures,
        why: "Rewriting leaves the areas of rooms, the scores and the year as they are. Two assets share a \
              few by chance, flats of one plan most of them; set a little lower by hand, for two agencies \
              may measure twice.",
        levels: &[
            level("most, three or more in common", 3.0, 1.7),
            level("two or more in common", 2.0, 0.9),
            level("one in common", 0.8, -0.3),
            level("none in common", -3.0, -3.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Photos,
        why: "Pictures that two sellers share are of one asset. Fitted at the bound, as the generator's \
              sellers never share others; set lower by hand, for some show the same street or map. One \
              seller's adverts share logos and fronts, so one picture says nothing, but none in common \
              says much.",
        levels: &[
            level("most in common", 7.0, 6.0),
            level("several in common", 6.0, 5.7),
            level("one in common", 2.0, -1.4),
            level("none in common", -0.5, -4.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Seller,
        why: "That both are of one seller decides which weights hold; the rest is who it is. An agency has \
              hundreds of assets, a private person has one: set by hand below the fitted bound, for \
              numbers are mistyped.",
        levels: &[
            level("one agency", 0.0, 0.8),
            level("one network", 0.0, 2.3),
            level("one private person", 0.0, 6.5),
            level("other professionals", 0.3, 0.0),
            level("professional and private", -0.6, 0.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Reference,
        why: "An agency numbers its assets: the same number is the same asset, another one mostly another; \
              milder than the ratio, for relisting gives new numbers. Numbers of two agencies coincide by \
              chance.",
        levels: &[
            level("one in common", 0.5, 8.0),
            level("others", -0.5, -5.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Portal,
        why: "One agency shows an asset once on each portal. Online together on one portal needs the \
              evidence that the rule asks for, and is held against it even so; set by hand, as pairs the \
              rule bars were left out of the fit.",
        levels: &[
            level("other portals", -0.2, 1.6),
            level("one portal, one after the other", -1.0, 1.6),
            level("one portal, both online together", -6.0, -5.0),
        ],
    },
];
