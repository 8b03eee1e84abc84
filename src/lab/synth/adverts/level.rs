//! How much portals change what they show: four levels, each a set of probabilities and sizes.

use serde::Serialize;

/// How far adverts are from the truth and from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Every portal copies what the seller wrote.
    Clean,
    /// Portals round areas, blur some positions and leave little out.
    Light,
    /// Texts are cut or rewritten, pictures recompressed, prices lag, a second agency sells the same asset.
    Middle,
    /// Half of everything is missing or wrong.
    Heavy,
}

impl Level {
    /// Every level, the mildest first.
    pub const ALL: [Level; 4] = [Level::Clean, Level::Light, Level::Middle, Level::Heavy];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Clean => "clean",
            Level::Light => "light",
            Level::Middle => "middle",
            Level::Heavy => "heavy",
        }
    }

    /// What it changes.
    pub const fn noise(self) -> Noise {
        match self {
            Level::Clean => CLEAN,
            Level::Light => LIGHT,
            Level::Middle => MIDDLE,
            Level::Heavy => HEAVY,
        }
    }
}

/// Probabilities (0 to 1) of what an advert suffers, unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Area rounded to whole square metres.
    pub surface_rounded: f64,
    /// Area measured otherwise (with a veranda, without what is below 1.8 m).
    pub surface_moved: f64,
    /// Largest such move, share of the area.
    pub surface_move_max: f64,
    /// Rooms or bedrooms counted otherwise.
    pub rooms_moved: f64,
    /// Floor counted from the street or from one.
    pub floor_moved: f64,
    /// A field that is not essential left out.
    pub field_missing: f64,
    /// A field that is not essential wrong: an amenity, the land, the year, scores of another diagnostic.
    pub field_wrong: f64,
    /// Position drawn anew within 300 m.
    pub position_blurred: f64,
    /// Centre of the commune instead of a position.
    pub position_missing: f64,
    /// Postal code left out (the INSEE code is there then).
    pub postal_code_missing: f64,
    /// A price of its own: fees of another agency, a cut that came late.
    pub price_moved: f64,
    /// Largest such move, share of the price.
    pub price_move_max: f64,
    /// Text cut short.
    pub text_truncated: f64,
    /// Sentences replaced.
    pub text_rewritten: f64,
    /// Text left out.
    pub text_missing: f64,
    /// Bits flipped of each picture hash, at most.
    pub photo_bits_max: usize,
    /// A picture left out.
    pub photo_dropped: f64,
    /// A picture cropped beyond recognition.
    pub photo_cropped: f64,
    /// No hashes at all.
    pub photos_missing: f64,
    /// Reference left out.
    pub reference_missing: f64,
    /// A further advert comes from another agency, with its own text and pictures.
    pub second_agency: f64,
    /// Scores of energy left out, classes kept.
    pub scores_missing: f64,
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
};
