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
        Noise::of(match self {
            DistortionLevel::Clean | DistortionLevel::Thin => 0,
            DistortionLevel::Light => 1,
            DistortionLevel::Middle => 2,
            DistortionLevel::Heavy => 3,
            DistortionLevel::Market => 4,
        })
    }
}

/// Declares the noise parameters, each with its values at the levels clean, light, middle, heavy and market.
macro_rules! noise {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $values:expr;)+) => {
        /// Noise parameters: probabilities (0 to 1) per advert, unless stated otherwise.
        #[derive(Clone, Copy, Debug)]
        pub struct Noise {
            $($(#[$about])* pub $name: $kind,)+
        }

        impl Noise {
            /// Returns the parameters of the level with this number.
            const fn of(level: usize) -> Self {
                $(let $name: [$kind; 5] = $values;)+
                Self {
                    $($name: $name[level],)+
                }
            }
        }
    };
}

noise! {
    /// The area is rounded to whole square metres.
    surface_rounded: f64 = [0.0, 0.35, 0.6, 0.75, 0.75];
    /// The area is measured differently (with a veranda, or without parts below 1.8 m).
    surface_moved: f64 = [0.0, 0.01, 0.04, 0.12, 0.05];
    /// Maximum such difference, as a share of the area.
    surface_move_max: f64 = [0.0, 0.03, 0.05, 0.08, 0.05];
    /// Rooms or bedrooms are counted differently.
    rooms_moved: f64 = [0.0, 0.01, 0.02, 0.08, 0.06];
    /// The floor is counted from the street, or from one.
    floor_moved: f64 = [0.0, 0.01, 0.02, 0.08, 0.02];
    /// An optional field is missing.
    field_missing: f64 = [0.0, 0.06, 0.1, 0.3, 0.25];
    /// An optional field is wrong: an amenity, the land, the year, or the values of another diagnostic.
    field_wrong: f64 = [0.0, 0.01, 0.02, 0.08, 0.02];
    /// The position is replaced by a random one within 300 m.
    position_blurred: f64 = [0.0, 0.3, 0.6, 0.6, 0.4];
    /// The centre of the commune replaces the position.
    position_missing: f64 = [0.0, 0.05, 0.08, 0.35, 0.4];
    /// The postal code is missing; the INSEE code is then given.
    postal_code_missing: f64 = [0.0, 0.02, 0.05, 0.1, 0.3];
    /// The price differs: another agency's fees, or a late price cut.
    price_moved: f64 = [0.0, 0.05, 0.12, 0.35, 0.15];
    /// Maximum such difference, as a share of the price.
    price_move_max: f64 = [0.0, 0.03, 0.05, 0.1, 0.06];
    /// The text is truncated.
    text_truncated: f64 = [0.0, 0.12, 0.25, 0.3, 0.3];
    /// Sentences are replaced.
    text_rewritten: f64 = [0.0, 0.08, 0.25, 0.5, 0.2];
    /// The text is missing.
    text_missing: f64 = [0.0, 0.01, 0.02, 0.1, 0.2];
    /// Maximum number of bits flipped in each picture hash.
    photo_bits_max: usize = [0, 3, 6, 9, 0];
    /// A picture is missing.
    photo_dropped: f64 = [0.0, 0.08, 0.15, 0.3, 0.0];
    /// A picture is cropped beyond recognition.
    photo_cropped: f64 = [0.0, 0.01, 0.05, 0.2, 0.0];
    /// All picture hashes are missing.
    photos_missing: f64 = [0.0, 0.03, 0.08, 0.3, 0.97];
    /// The reference is missing.
    reference_missing: f64 = [0.0, 0.2, 0.45, 0.75, 0.6];
    /// A further advert comes from another agency, with its own text and pictures.
    second_agency: f64 = [0.0, 0.15, 0.2, 0.5, 0.35];
    /// Energy values are missing, but classes are given.
    scores_missing: f64 = [0.0, 0.1, 0.2, 0.5, 0.6];
    /// A second agency advertises the asset on a portal that already shows it.
    same_portal: f64 = [0.04, 0.04, 0.04, 0.04, 0.5];
    /// The portal shows only price, area, rooms and town.
    thin: f64 = [0.0, 0.0, 0.0, 0.0, 0.35];
    /// The storey is missing.
    floor_missing: f64 = [0.0, 0.0, 0.0, 0.0, 0.4];
    /// The text begins with what the agency writes about itself.
    boilerplate: f64 = [0.0, 0.0, 0.0, 0.0, 0.6];
    /// The URL has parameters of the search that led to it.
    tracked: f64 = [0.0, 0.0, 0.0, 0.0, 0.4];
    /// A group of assets contains a new-build programme and some of its flats.
    programme: f64 = [0.15, 0.15, 0.15, 0.15, 0.3];
    /// An advert of a new home does not say so in its general conditions.
    new_build_unsaid: f64 = [0.0, 0.0, 0.0, 0.0, 0.5];
}
