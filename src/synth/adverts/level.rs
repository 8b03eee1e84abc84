//! Noise levels: how strongly portals alter what they show, as probabilities and sizes.

use serde::Serialize;

toise_base::named! {
    /// How much adverts differ from the truth and from one another, mildest first; thin adverts last.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum DistortionLevel {
        /// Every portal copies what the seller wrote.
        Clean = "clean",
        /// Portals round areas, blur some positions and omit little.
        Light = "light",
        /// Texts are truncated or rewritten, pictures recompressed, price changes late, and a second agency sells the
        /// same asset.
        Middle = "middle",
        /// Half of all values are missing or wrong.
        Heavy = "heavy",
        /// As on real portals: several agencies show one home on one portal at the same time, many adverts are thin,
        /// positions are town centres, texts are mostly the agency's boilerplate, pictures cannot be compared, and
        /// flats of one building or programme look alike.
        Market = "market",
        /// A dense city whose adverts show only price, surface, rooms, bedrooms, district and energy class, drawn from
        /// measurements of real adverts; no noise is added.
        Thin = "thin",
    }
}

impl DistortionLevel {
    /// Returns the noise parameters of the level.
    pub const fn noise(self) -> Noise {
        match self {
            DistortionLevel::Clean | DistortionLevel::Thin => CLEAN,
            DistortionLevel::Light => LIGHT,
            DistortionLevel::Middle => MIDDLE,
            DistortionLevel::Heavy => HEAVY,
            DistortionLevel::Market => MARKET,
        }
    }
}

/// Noise parameters: probabilities (0 to 1) per advert, unless stated otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// The area is rounded to whole square metres.
    pub surface_rounded: f64,
    /// The area is measured differently (with a veranda, or without parts below 1.8 m).
    pub surface_moved: f64,
    /// Maximum such difference, as a share of the area.
    pub surface_move_max: f64,
    /// Rooms or bedrooms are counted differently.
    pub rooms_moved: f64,
    /// The floor is counted from the street, or from one.
    pub floor_moved: f64,
    /// An optional field is missing.
    pub field_missing: f64,
    /// An optional field is wrong: an amenity, the land, the year, or the values of another diagnostic.
    pub field_wrong: f64,
    /// The position is replaced by a random one within 300 m.
    pub position_blurred: f64,
    /// The centre of the commune replaces the position.
    pub position_missing: f64,
    /// The postal code is missing; the INSEE code is then given.
    pub postal_code_missing: f64,
    /// The price differs: another agency's fees, or a late price cut.
    pub price_moved: f64,
    /// Maximum such difference, as a share of the price.
    pub price_move_max: f64,
    /// The text is truncated.
    pub text_truncated: f64,
    /// Sentences are replaced.
    pub text_rewritten: f64,
    /// The text is missing.
    pub text_missing: f64,
    /// Maximum number of bits flipped in each picture hash.
    pub photo_bits_max: usize,
    /// A picture is missing.
    pub photo_dropped: f64,
    /// A picture is cropped beyond recognition.
    pub photo_cropped: f64,
    /// All picture hashes are missing.
    pub photos_missing: f64,
    /// The reference is missing.
    pub reference_missing: f64,
    /// A further advert comes from another agency, with its own text and pictures.
    pub second_agency: f64,
    /// Energy values are missing, but classes are given.
    pub scores_missing: f64,
    /// A second agency advertises the asset on a portal that already shows it.
    pub same_portal: f64,
    /// The portal shows only price, area, rooms and town.
    pub thin: f64,
    /// The storey is missing.
    pub floor_missing: f64,
    /// The text begins with what the agency writes about itself.
    pub boilerplate: f64,
    /// The URL has parameters of the search that led to it.
    pub tracked: f64,
    /// A group of assets contains a new-build programme and some of its flats.
    pub programme: f64,
    /// An advert of a new home does not say so in its general conditions.
    pub new_build_unsaid: f64,
}

const CLEAN: Noise = Noise {
    surface_rounded: 0.0,
    surface_moved: 0.0,
    surface_move_max: 0.0,
    rooms_moved: 0.0,
    floor_moved: 0.0,
    field_missing: 0.0,
    field_wrong: 0.0,
    position_blurred: 0.0,
    position_missing: 0.0,
    postal_code_missing: 0.0,
    price_moved: 0.0,
    price_move_max: 0.0,
    text_truncated: 0.0,
    text_rewritten: 0.0,
    text_missing: 0.0,
    photo_bits_max: 0,
    photo_dropped: 0.0,
    photo_cropped: 0.0,
    photos_missing: 0.0,
    reference_missing: 0.0,
    second_agency: 0.0,
    scores_missing: 0.0,
    same_portal: 0.04,
    thin: 0.0,
    floor_missing: 0.0,
    boilerplate: 0.0,
    tracked: 0.0,
    programme: 0.15,
    new_build_unsaid: 0.0,
};

const LIGHT: Noise = Noise {
    surface_rounded: 0.35,
    surface_moved: 0.01,
    surface_move_max: 0.03,
    rooms_moved: 0.01,
    floor_moved: 0.01,
    field_missing: 0.06,
    field_wrong: 0.01,
    position_blurred: 0.3,
    position_missing: 0.05,
    postal_code_missing: 0.02,
    price_moved: 0.05,
    price_move_max: 0.03,
    text_truncated: 0.12,
    text_rewritten: 0.08,
    text_missing: 0.01,
    photo_bits_max: 3,
    photo_dropped: 0.08,
    photo_cropped: 0.01,
    photos_missing: 0.03,
    reference_missing: 0.2,
    second_agency: 0.15,
    scores_missing: 0.1,
    ..CLEAN
};

const MIDDLE: Noise = Noise {
    surface_rounded: 0.6,
    surface_moved: 0.04,
    surface_move_max: 0.05,
    rooms_moved: 0.02,
    floor_moved: 0.02,
    field_missing: 0.1,
    field_wrong: 0.02,
    position_blurred: 0.6,
    position_missing: 0.08,
    postal_code_missing: 0.05,
    price_moved: 0.12,
    price_move_max: 0.05,
    text_truncated: 0.25,
    text_rewritten: 0.25,
    text_missing: 0.02,
    photo_bits_max: 6,
    photo_dropped: 0.15,
    photo_cropped: 0.05,
    photos_missing: 0.08,
    reference_missing: 0.45,
    second_agency: 0.2,
    scores_missing: 0.2,
    ..CLEAN
};

const HEAVY: Noise = Noise {
    surface_rounded: 0.75,
    surface_moved: 0.12,
    surface_move_max: 0.08,
    rooms_moved: 0.08,
    floor_moved: 0.08,
    field_missing: 0.3,
    field_wrong: 0.08,
    position_blurred: 0.6,
    position_missing: 0.35,
    postal_code_missing: 0.1,
    price_moved: 0.35,
    price_move_max: 0.1,
    text_truncated: 0.3,
    text_rewritten: 0.5,
    text_missing: 0.1,
    photo_bits_max: 9,
    photo_dropped: 0.3,
    photo_cropped: 0.2,
    photos_missing: 0.3,
    reference_missing: 0.75,
    second_agency: 0.5,
    scores_missing: 0.5,
    ..CLEAN
};

const MARKET: Noise = Noise {
    surface_rounded: 0.75,
    surface_moved: 0.05,
    surface_move_max: 0.05,
    rooms_moved: 0.06,
    floor_moved: 0.02,
    field_missing: 0.25,
    field_wrong: 0.02,
    position_blurred: 0.4,
    position_missing: 0.4,
    postal_code_missing: 0.3,
    price_moved: 0.15,
    price_move_max: 0.06,
    text_truncated: 0.3,
    text_rewritten: 0.2,
    text_missing: 0.2,
    photos_missing: 0.97,
    reference_missing: 0.6,
    second_agency: 0.35,
    scores_missing: 0.6,
    same_portal: 0.5,
    thin: 0.35,
    floor_missing: 0.4,
    boilerplate: 0.6,
    tracked: 0.4,
    programme: 0.3,
    new_build_unsaid: 0.5,
    ..CLEAN
};
