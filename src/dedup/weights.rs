//! Match weights: the evidence in bits of each level of agreement, in one table.
//!
//! A level's weight is the binary logarithm of how much more often it occurs between two adverts of the same asset
//! than between two adverts of different assets that share a block (Fellegi and Sunter, 1969), in addition to what
//! the other fields already contribute. Weights are added to [`PRIOR_BITS`]; each bit doubles or halves the odds that
//! both are the same asset. `toise evaluate dedup --fit --pairs FILE` derives them from pairs of real adverts that people
//! read and from synthetic adverts of training seeds, and prints them next to those in use. Where the table departs from the fit, the field's `why` gives the reason.

use serde::Serialize;

/// A field of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ComparedField {
    /// Place.
    Place,
    /// Habitable area, or plot area for land.
    Surface,
    /// Plot area of anything but land.
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
    /// Energy and climate: scores and classes.
    Energy,
    /// Amenities that both mention.
    Amenities,
    /// Description.
    Text,
    /// Figures in the descriptions.
    Figures,
    /// Pictures.
    Photos,
    /// Seller.
    Seller,
    /// Mandate references.
    Reference,
    /// Portals, and when the adverts were online.
    Portal,
    /// Numbers in the addresses of the adverts.
    Identifier,
    /// Lots and charges of the condominium.
    Condominium,
    /// District.
    District,
    /// Classes that differ.
    Kind,
}

/// Number of fields.
pub const FIELDS: usize = 20;

/// One level of agreement.
#[derive(Clone, Copy, Debug)]
pub struct AgreementLevel {
    /// Description of the level.
    pub about: &'static str,
    /// Weight in bits, negative if it is evidence against one asset: first between adverts not known to have the same
    /// seller, then between adverts of the same seller.
    pub bits: [f32; 2],
}

/// The levels of a field, closest agreement first.
#[derive(Clone, Copy, Debug)]
pub struct FieldWeights {
    /// The field.
    pub field: ComparedField,
    /// The reason for its weights.
    pub why: &'static str,
    /// Its levels.
    pub levels: &'static [AgreementLevel],
}

const fn level(about: &'static str, other_sellers: f32, same_seller: f32) -> AgreementLevel {
    AgreementLevel {
        about,
        bits: [other_sellers, same_seller],
    }
}

/// Binary logarithm of the odds that two adverts which share a block are the same asset, before anything is compared.
pub const PRIOR_BITS: f32 = -4.2;
/// Minimum bits for the same asset. One bit less finds 3 % more of the real pairs read to fit the weights, and costs a
/// point of precision among made-up adverts.
pub const SAME_BITS: f32 = 3.4;
/// Minimum bits to merge properties that already exist: when an advert matches both, or when the only advert of one
/// changes. This is evaluated with every advert and every sighting, so errors accumulate.
pub const JOIN_BITS: f32 = 5.8;
/// Bits below which an advert leaves a property that it joined when less was known of it: as likely another asset.
pub const LEAVE_BITS: f32 = 0.0;
/// By how many bits another property must fit an advert better than its own before it moves there.
pub const MOVE_BITS: f32 = 3.0;
/// Bits below which the assets are certainly different: a pair just at this value is the same asset in 2 % of cases.
pub const DIFFERENT_BITS: f32 = -5.6;
/// What each further advert of a property adds if it supports the match, and the maximum for all together.
pub const SUPPORT_BITS: (f32, f32) = (0.75, 1.5);
/// What each further advert of a property subtracts if it is certainly of another asset.
pub const CONTRADICTION_BITS: f32 = 6.0;
/// Share of the bits against one asset that each further advert subtracts where it is not certain.
pub const DOUBT_SHARE: f32 = 0.5;
/// What it subtracts if a veto keeps it apart from the new one.
pub const BARRED_BITS: f32 = 8.0;

/// Every field in the order of [`ComparedField`].
pub static WEIGHTS: [FieldWeights; FIELDS] = [
    FieldWeights {
        field: ComparedField::Place,
        why: "Twins and neighbours are as close as two adverts of one asset, and agents show all their homes at \
              one point, so proximity is worth 3 bits at most. Portals blur by 300 m: two blurred positions up to 700 m apart may be the same place. Larger \
              distances are mistakes, which portals do make; set by hand, milder than fitted.",
        levels: &[
            level("within 40 m", 1.0, 1.6),
            level("within 150 m", 2.5, 2.1),
            level("within 350 m, as blurred", 2.8, 2.3),
            level("within 700 m, as both blurred", -0.1, 1.5),
            level("within 1.5 km", -5.0, -5.0),
            level("farther apart", -6.5, -6.5),
            level("one commune", -1.3, 1.0),
            level("one postal code", -1.1, 1.0),
            level("another commune", -3.0, -3.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Surface,
        why: "Hundredths rarely coincide by chance, but flats with the same plan share them, and one agency sells \
              them. Areas rounded or truncated to whole metres keep most of the weight; another measurement \
              differs by up to 8 %.",
        levels: &[
            level("equal to the decimetre", 3.1, 1.2),
            level("equal", 5.1, 3.4),
            level("equal when rounded", 3.4, 1.6),
            level("within 2.5 %", 2.1, 0.1),
            level("within 6 %", -0.5, -1.0),
            level("within 12 %", -2.9, -2.3),
            level("different", -5.1, -7.4),
        ],
    },
    FieldWeights {
        field: ComparedField::Land,
        why: "Plot areas are nearly unique: the best evidence for a house. Some portals round to ten metres.",
        levels: &[
            level("equal", 8.0, 7.8),
            level("within 3 %", 5.1, 4.1),
            level("within 12 %", 0.4, 1.0),
            level("different", -4.4, -3.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Rooms,
        why: "Assets in a block have similar sizes, so equality is no evidence; counting the kitchen explains a \
              difference of one, hardly of two.",
        levels: &[
            level("equal", -0.9, -1.5),
            level("one more", -2.2, -2.1),
            level("different", -5.9, -5.1),
        ],
    },
    FieldWeights {
        field: ComparedField::Bedrooms,
        why: "As rooms.",
        levels: &[
            level("equal", 0.3, -0.4),
            level("one more", -1.8, -1.2),
            level("different", -6.1, -6.9),
        ],
    },
    FieldWeights {
        field: ComparedField::Floor,
        why: "Distinguishes twins, above all if the same agency sells them. Set by hand beyond the fit, which \
              leaves out the flats of programmes: six in a hundred real pairs of one asset differ, twins nearly always.",
        levels: &[
            level("equal", 2.5, 3.3),
            level("one apart", -9.5, -7.5),
            level("different", -10.0, -9.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Building,
        why: "Neighbours share a building as twins do, so agreement is worth little; another building means \
              another asset.",
        levels: &[
            level("year and storeys equal", -2.3, -1.9),
            level("one of them equal", 0.0, -0.6),
            level("different", -4.5, -3.2),
        ],
    },
    FieldWeights {
        field: ComparedField::Price,
        why: "An asset has the same price on most portals; late price cuts and other fees explain up to 10 %. \
              Larger differences are set by hand, milder than fitted: the generator never lets two portals \
              drift that far.",
        levels: &[
            level("equal", 5.7, 5.2),
            level("within 1 %", -0.6, -0.8),
            level("within 4 %", -0.3, 0.0),
            level("within 10 %", -0.5, 1.2),
            level("within 20 %", -4.5, -4.0),
            level("within 35 %", -6.0, -6.0),
            level("different", -7.0, -7.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Energy,
        why: "Two scores of three digits rarely coincide by chance, once in hundreds; twins sold by one agency \
              may share them. Different scores mean another diagnostic, which is rare within two years.",
        levels: &[
            level("both scores equal", 6.5, 1.2),
            level("one score equal, the other near", -4.0, -3.4),
            level("scores within 3 %", -5.1, -4.6),
            level("classes equal, or the only score known", 2.9, 0.3),
            level("classes next to each other", -3.9, -3.1),
            level("different", -6.5, -4.9),
        ],
    },
    FieldWeights {
        field: ComparedField::Amenities,
        why: "Most adverts do not mention most amenities: agreement is common, contradiction is a mistake on one \
              side.",
        levels: &[
            level("four or more, all alike", 0.2, -0.3),
            level("a few, all alike", 0.1, -0.7),
            level("one unlike", -1.0, -1.1),
            level("several unlike", -2.5, -2.2),
        ],
    },
    FieldWeights {
        field: ComparedField::Text,
        why: "Two sellers rarely copy from one another, and if so for the same asset. One agency writes similar \
              texts for similar assets: only nearly equal texts are evidence for one asset, and texts with \
              different figures are evidence for two.",
        levels: &[
            level("nine tenths in common", 3.5, 0.5),
            level("six tenths in common", 0.2, -1.4),
            level("three tenths in common", 1.7, -0.1),
            level("a tenth in common", 0.8, -0.1),
            level("written independently", -0.1, 0.2),
        ],
    },
    FieldWeights {
        field: ComparedField::Figures,
        why: "Rewriting leaves the areas of rooms, the scores and the year unchanged. Two assets share a few by \
              chance, flats with the same plan most of them; set a little lower by hand, because two agencies may \
              measure separately.",
        levels: &[
            level("most, three or more in common", 5.3, 3.2),
            level("two or more in common", 3.8, 1.7),
            level("one in common", 0.8, -0.9),
            level("none in common", -3.5, -3.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Photos,
        why: "Pictures that two sellers share are of one asset. The fit is at its bound, because the generator's \
              sellers never share other pictures; set lower by hand, because some show the same street or map. \
              Adverts of one seller share logos and façades, so one common picture is no evidence, but none in \
              common is strong evidence.",
        levels: &[
            level("most in common", 7.0, 6.0),
            level("several in common", 6.0, 5.7),
            level("one in common", 2.0, -1.4),
            level("none in common", -0.8, -3.9),
        ],
    },
    FieldWeights {
        field: ComparedField::Seller,
        why: "Whether both have the same seller decides which weights apply; the rest depends on the kind of \
              seller. An agency has hundreds of assets, a private person one: set by hand below the fitted \
              bound, because numbers are mistyped.",
        levels: &[
            level("one agency", 0.0, 0.6),
            level("one network", 0.0, 2.0),
            level("one private person", 0.0, 6.5),
            level("other professionals", -0.7, -0.6),
            level("professional and private", -1.2, -0.1),
        ],
    },
    FieldWeights {
        field: ComparedField::Reference,
        why: "An agency numbers its assets: the same number means the same asset, a different one mostly another \
              asset; milder than the ratio, because relisting assigns new numbers. Numbers of two agencies \
              coincide by chance.",
        levels: &[
            level("one in common", 0.5, 8.0),
            level("others", -0.3, -5.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Portal,
        why: "Several agencies show one home on one portal at the same time, so this counts little against one \
              asset; one agency shows an asset once on each portal.",
        levels: &[
            level("other portals", 0.1, 1.2),
            level("one portal, one after the other", -2.3, 0.9),
            level("one portal, both online together", -0.3, -2.4),
        ],
    },
    FieldWeights {
        field: ComparedField::Identifier,
        why: "Portals that belong together keep the number of an advert; numbers of others coincide by chance, which \
              seven digits make rare.",
        levels: &[level("one number in both addresses", 6.0, 6.0)],
    },
    FieldWeights {
        field: ComparedField::Condominium,
        why: "All flats of a building have its number of lots, but charges follow the flat. Agencies state charges of \
              other years.",
        levels: &[
            level("lots and charges equal", 4.0, 3.0),
            level("charges equal", 3.0, 2.0),
            level("lots equal", 1.2, 0.2),
            level("different", -1.6, -1.6),
        ],
    },
    FieldWeights {
        field: ComparedField::District,
        why: "Sellers name districts as they like, so another name shows little.",
        levels: &[level("equal", 1.2, 0.3), level("different", -1.5, -0.8)],
    },
    FieldWeights {
        field: ComparedField::Kind,
        why: "Sellers choose another class for the ground floor of a villa, and portals for the lot of a programme; \
              both are rare, and adverts of different classes only meet with equal price and area.",
        levels: &[
            level("house and flat", -3.0, -3.0),
            level("lot of a programme", -1.0, -1.0),
        ],
    },
];
