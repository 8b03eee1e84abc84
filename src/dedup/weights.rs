//! Match weights: the evidence in bits of each level of agreement, in one table.
//!
//! A level's weight is the binary logarithm of a ratio (Fellegi and Sunter, 1969): its frequency between two adverts of
//! the same asset, divided by its frequency between two adverts of different assets that share a block. The weight is
//! the part that the other fields do not contribute already. Each bit doubles or halves the odds that both are the same
//! asset. The odds before any comparison come from the number of adverts around
//! ([`Surroundings::prior_bits`](super::Surroundings)).
//!
//! The weights in use were set by hand so that probabilities are right both for pairs of real adverts that people
//! reviewed and for adverts with few fields in a dense city. `toise-lab fit --pairs FILE` estimates weights from such
//! pairs and from the unlabelled adverts of a store, and prints them next to those in use.

use serde::Serialize;

toise_base::named! {
    /// A field of the comparison, with its name in the output of commands; the console uses the same names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum ComparedField {
        /// Position or commune.
        Place = "Place",
        /// House number and street.
        Address = "Address",
        /// Habitable area, or plot area for land.
        Surface = "Surface",
        /// Plot area of anything but land.
        Land = "Land",
        /// Main rooms.
        Rooms = "Rooms",
        /// Bedrooms.
        Bedrooms = "Bedrooms",
        /// Storey.
        Floor = "Storey",
        /// Year and storeys of the building.
        Building = "Building",
        /// Price.
        Price = "Price",
        /// Energy and climate: scores and classes.
        Energy = "Energy",
        /// Amenities that both mention.
        Amenities = "Amenities",
        /// Description.
        Text = "Description",
        /// Title.
        Title = "Title",
        /// Figures in the descriptions.
        Figures = "Figures in the description",
        /// Pictures.
        Photos = "Pictures",
        /// Seller.
        Seller = "Seller",
        /// Mandate references.
        Reference = "Seller’s reference",
        /// Portals, and when the adverts were online.
        Portal = "Portal",
        /// Numbers in the URLs of the adverts.
        Identifier = "Number in the URL",
        /// Lots and charges of the condominium.
        Condominium = "Condominium",
        /// District.
        District = "District",
        /// Classes that differ.
        Kind = "Type",
        /// Price before the last change.
        PreviousPrice = "Price change",
    }
}

/// Number of fields.
pub const FIELDS: usize = ComparedField::ALL.len();

/// One level of agreement.
#[derive(Clone, Copy, Debug)]
pub struct AgreementLevel {
    /// Description of the level.
    pub about: &'static str,
    /// Weight in bits, negative if it is evidence against one asset: the first for adverts not known to have the same
    /// seller, the second for adverts of the same seller.
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

/// Expected copies of an advert among those around it, before anything is compared.
pub const EXPECTED_COPIES: f32 = 1.45;
/// Minimum number of adverts that count as around an advert: a town with few adverts in the store may still have many
/// homes.
pub const ADVERTS_AROUND: f32 = 12.0;
/// Bits that a comparison must be able to reach for its property to be compared in full.
pub const WEIGHED_BITS: f32 = -2.0;
/// Minimum evidence between a new advert and each advert of the property that it joins, in bits without the prior.
/// Below it, the two disagree more than they agree, and only a third advert similar to both would join them.
pub const MEMBER_EVIDENCE_MIN: f32 = -1.0;
/// Bits below which an advert leaves a property that it joined when less was known: another asset is then likelier.
pub const LEAVE_BITS: f32 = 0.0;
/// Bits by which another property must fit an advert better than its own before it moves there.
pub const MOVE_BITS: f32 = 3.0;
/// Bits that each further advert of a property adds if it supports the match, and the maximum for all together.
pub const SUPPORT_BITS: (f32, f32) = (0.75, 1.5);
/// Bits added to the weight of a price or surface that is not equal if the adverts agree in nothing else that
/// distinguishes homes, such as a storey or a text. Homes that are equal in all but one of them are then mostly two.
pub const THIN_BITS: f32 = -2.5;
/// Like [`THIN_BITS`], for districts of other names on two portals.
pub const THIN_DISTRICT_BITS: f32 = -1.0;
/// Share of the bits against one asset that each further advert subtracts.
pub const DOUBT_SHARE: f32 = 0.5;

/// Every field in the order of [`ComparedField`].
pub static WEIGHTS: [FieldWeights; FIELDS] = [
    FieldWeights {
        field: ComparedField::Place,
        why: "Twins and neighbours are as close as two adverts of one asset, and agents show all their homes at one point. Portals blur by 300 m. Another commune is all but exclusive: homes that agree in price and size by accident are found in every commune of a city.",
        levels: &[
            level("within 40 m", 1.0, 1.0),
            level("within 150 m", 2.0, 1.8),
            level("within 350 m", 1.3, 1.3),
            level("within 700 m", -0.5, 0.0),
            level("within 1.5 km", -3.8, -3.8),
            level("farther apart", -6.0, -6.0),
            level("same commune", 0.0, 0.0),
            level("same postal code", 0.0, 0.0),
            level("one in an arrondissement of the other's city", -2.5, -2.5),
            level("a neighbouring commune", -6.0, -6.0),
            level("another commune", -9.0, -9.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Address,
        why: "A home has one address: another number, or another suffix such as bis and ter, is all but exclusive, apart from adverts with the address of the agency. One number in two streets is not compared. All flats of a building share theirs: an equal one counts by its rarity around, and adds little to one position.",
        levels: &[
            level("same number and street", 3.0, 2.0),
            level("same number and street, like the position", 0.5, 0.2),
            level("another number", -7.0, -8.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Surface,
        why: "Adverts in a block have similar areas. Hundredths rarely coincide by accident, whole metres often: an equal value counts by its rarity. Another measurement differs by up to 8 %.",
        levels: &[
            level("equal, decimals included", 5.0, 1.8),
            level("equal", 3.6, 2.3),
            level("equal when rounded", 3.0, 2.0),
            level("within 2.5 %", 0.2, -1.5),
            level("within 6 %", -1.8, -3.5),
            level("within 12 %", -4.5, -4.5),
            level("different", -6.5, -7.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Land,
        why: "Plot areas are nearly unique: the best evidence for a house, less so where they are rounded. Flats have none of their own.",
        levels: &[
            level("equal", 6.5, 6.0),
            level("equal, rounded", 4.0, 3.5),
            level("within 3 %", 3.0, 2.5),
            level("within 12 %", -0.5, -0.5),
            level("different", -4.5, -4.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Rooms,
        why: "Assets in a block have similar sizes, so equality is little evidence; counting the kitchen explains a difference of one, hardly of two.",
        levels: &[
            level("equal", 0.3, 0.1),
            level("one more or less", -1.0, -1.6),
            level("different", -5.8, -5.8),
        ],
    },
    FieldWeights {
        field: ComparedField::Bedrooms,
        why: "They follow from the rooms: equal ones show something only where the rooms are unknown.",
        levels: &[
            level("equal", 0.5, 0.3),
            level("equal, like the rooms", 0.1, 0.0),
            level("one more or less", -2.2, -2.2),
            level("different", -5.0, -5.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Floor,
        why: "Distinguishes twins, above all if the same agency sells them; six in a hundred pairs of one asset differ.",
        levels: &[
            level("equal", 2.2, 2.5),
            level("one storey apart", -4.5, -9.0),
            level("different", -6.5, -11.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Building,
        why: "Neighbours share a building as twins do, so agreement is worth little; another building means another asset.",
        levels: &[
            level("year and storeys equal", 0.3, 0.2),
            level("year or storeys equal", 0.2, 0.0),
            level("different", -3.2, -3.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Price,
        why: "An asset has the same price on most portals; late price cuts and other fees explain up to 10 %. An equal price counts by its rarity around.",
        levels: &[
            level("equal", 4.5, 3.8),
            level("within 1 %", 0.6, 0.3),
            level("within 4 %", -0.2, 0.0),
            level("within 10 %", -1.7, -0.8),
            level("within 20 %", -3.5, -3.0),
            level("within 35 %", -5.5, -5.5),
            level("different", -8.0, -8.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Energy,
        why: "Two scores of three digits rarely coincide by accident; twins sold by one agency may share them. Portals round scores, and classes one step apart come from new rules and mistakes.",
        levels: &[
            level("both scores equal", 7.2, 2.8),
            level("one score equal, the other near", 2.0, 0.5),
            level("scores within 3 %", 0.5, 0.0),
            level("classes equal, or the only known score", 1.7, 1.0),
            level("classes next to each other", -1.7, -1.7),
            level("different scores", -2.7, -2.7),
            level("classes two or more apart", -4.5, -4.5),
        ],
    },
    FieldWeights {
        field: ComparedField::Amenities,
        why: "Most adverts do not mention most amenities: agreement is common, contradiction is a mistake on one \
              side.",
        levels: &[
            level("four or more, all equal", 0.2, -0.3),
            level("a few, all equal", 0.1, -0.7),
            level("one differs", -1.0, -1.1),
            level("several differ", -2.5, -2.2),
        ],
    },
    FieldWeights {
        field: ComparedField::Text,
        why: "Two sellers rarely copy from one another, and if so for the same asset. One agency writes similar texts for similar assets, and the same text only for one: it changes a word at least. It rarely writes two long texts for one home and shows both, but two agencies do; rentals of unknown sellers mostly have one. Texts that stand on many homes are not compared.",
        levels: &[
            level("the same text", 5.5, 6.0),
            level("more than 90 % in common", 5.0, 2.6),
            level("more than 70 % in common", 1.3, 0.2),
            level("more than 40 % in common", 1.3, 0.0),
            level("more than 10 % in common", 1.0, 0.0),
            level("little in common", 0.2, -0.6),
            level("long texts of one seller, little in common", -1.5, -2.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Title,
        why: "A seller numbers or names the homes of a residence in titles that are otherwise the same; a common text then shows nothing. A long title counts only where there is no text.",
        levels: &[
            level("no texts, the same long title", 3.0, 2.0),
            level("titles that differ in a name alone", -2.5, -2.5),
            level("titles that differ in a number alone", -6.0, -6.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Figures,
        why: "Rewriting leaves the areas of rooms, the scores and the year unchanged. Two assets share a few by accident, flats with the same plan most of them. Texts of two agencies without a common figure show nothing if both have one diagnostic.",
        levels: &[
            level("most in common, at least three", 3.6, 2.4),
            level("at least two in common", 2.5, 1.2),
            level("one in common", 0.9, -0.5),
            level("none in common", -2.0, -2.5),
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
            level("several in common", 6.0, 4.5),
            level("one in common", 2.0, -1.4),
            level("none in common", -0.8, -6.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Seller,
        why: "Whether both have the same seller decides which weights apply; the rest depends on the kind of seller. An agency has hundreds of assets, a private person one.",
        levels: &[
            level("same agency", 0.0, 0.6),
            level("same agency network", 0.0, 1.5),
            level("same private person", 0.0, 5.5),
            level("different professionals", -0.7, -0.6),
            level("one professional, one private", -1.2, -0.1),
        ],
    },
    FieldWeights {
        field: ComparedField::Reference,
        why: "An agency numbers its assets: the same number means the same asset, a different one mostly another asset; relisting assigns new numbers. Numbers of two agencies coincide by accident. Two homes that one agency starts to sell together have consecutive numbers, which two agencies hardly ever give one home.",
        levels: &[
            level("same reference", 0.5, 8.0),
            level("different references", 0.6, -5.0),
            level("consecutive references", -5.0, -7.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Portal,
        why: "Several agencies show one home on one portal at the same time, so this counts little against one asset; one agency shows an asset once on each portal.",
        levels: &[
            level("different portals", 2.5, 3.0),
            level("same portal, one after the other", -0.7, 0.9),
            level("same portal, online at the same time", -0.5, -2.4),
        ],
    },
    FieldWeights {
        field: ComparedField::Identifier,
        why: "Portals that belong together keep the number of an advert; numbers of others coincide by chance, which \
              seven digits make rare.",
        levels: &[level("same number in both URLs", 6.0, 6.0)],
    },
    FieldWeights {
        field: ComparedField::Condominium,
        why: "All flats of a building have its number of lots, but charges follow the flat. Agencies state charges of other years.",
        levels: &[
            level("lots and charges equal", 3.2, 2.5),
            level("charges equal", 2.4, 1.8),
            level("lots equal", 0.5, 0.2),
            level("different", -1.4, -1.4),
        ],
    },
    FieldWeights {
        field: ComparedField::District,
        why: "A portal names districts by one rule, so another name there means another place; between portals it shows little, and a common word for the place is evidence of one. An equal name counts by its rarity around.",
        levels: &[
            level("equal", 1.8, 1.4),
            level("different, on the same portal", -2.7, -2.7),
            level("different", -1.2, -1.2),
            level("different, with one word for the place", 1.0, 1.0),
        ],
    },
    FieldWeights {
        field: ComparedField::Kind,
        why: "Sellers choose another class for the ground floor of a villa, and portals for the lot of a programme; \
              both are rare, and adverts of different classes only meet with equal price and area.",
        levels: &[
            level("house and flat", -3.5, -3.5),
            level("home and new-build programme", -1.0, -1.0),
            level("house and flat, one long text and surface", -0.2, -0.2),
        ],
    },
    FieldWeights {
        field: ComparedField::PreviousPrice,
        why: "A seller changes the price on all portals within days. Two homes that ask the same price rarely came from \
              the same one, unless both prices are round.",
        levels: &[level("same price before and after a change", 2.5, 2.0)],
    },
];
