//! Reads values that people write as words in tables: yes and no, storeys, classes of homes and of diagnostics.

/// Spellings of yes, in lower case.
const YES: [&str; 9] = ["1", "1.0", "true", "t", "yes", "y", "oui", "vrai", "o"];
/// Spellings of no, in lower case.
pub const NO: [&str; 10] = [
    "0", "0.0", "false", "f", "no", "non", "faux", "n", "aucun", "aucune",
];
/// Energy and climate classes, best first.
pub const ENERGY_CLASSES: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];
/// Reason for leaving out a cell of a diagnostic without a class; see [`energy_class`].
pub const WITHOUT_ENERGY_CLASS: &str = "diagnostic without a class";
/// Words in place of a diagnostic's class if it has none, in lower case: `vierge` and `non soumis`, also as codes.
const NO_ENERGY_CLASS: [&str; 4] = ["vierge", "vi", "non soumis", "ns"];
/// Beginnings of the ground floor, in lower case.
const GROUND: [&str; 5] = ["rdc", "rez", "ground", "r.d.c", "rch"];
/// Ends of an ordinal number, and words after a storey, in lower case.
const STOREY_ENDS: [&str; 11] = [
    "", "e", "er", "ere", "ère", "eme", "ème", "è", "nd", "st", "th",
];
/// Words for classes of dwellings, in lower case without accents. They are safe to read in texts of any language.
#[rustfmt::skip]
pub const DWELLING_WORDS: [(&str, AssetClass); 17] = [
    ("appartement", AssetClass::Flat), ("appartements", AssetClass::Flat), ("appart", AssetClass::Flat),
    ("studio", AssetClass::Flat), ("studette", AssetClass::Flat), ("duplex", AssetClass::Flat),
    ("triplex", AssetClass::Flat), ("loft", AssetClass::Flat), ("apartment", AssetClass::Flat),
    ("flat", AssetClass::Flat), ("maison", AssetClass::House), ("maisons", AssetClass::House),
    ("villa", AssetClass::House), ("pavillon", AssetClass::House), ("longere", AssetClass::House),
    ("chateau", AssetClass::House), ("house", AssetClass::House),
];
/// Words for other classes, in lower case without accents.
#[rustfmt::skip]
pub const OTHER_CLASS_WORDS: [(&str, AssetClass); 18] = [
    ("terrain", AssetClass::Land), ("terrains", AssetClass::Land), ("parcelle", AssetClass::Land),
    ("parking", AssetClass::Parking), ("parkings", AssetClass::Parking), ("garage", AssetClass::Parking),
    ("garages", AssetClass::Parking), ("box", AssetClass::Parking), ("stationnement", AssetClass::Parking),
    ("bureau", AssetClass::Office), ("bureaux", AssetClass::Office), ("boutique", AssetClass::Shop),
    ("commerce", AssetClass::Shop), ("local", AssetClass::Premises), ("entrepot", AssetClass::Premises),
    ("immeuble", AssetClass::Building), ("immeubles", AssetClass::Building), ("chambre", AssetClass::Room),
];
/// A class at the beginning of a text that may also begin the name of a town.
pub const BAR: &str = "bar";
/// Words that name a class at the beginning of a text, but a place nearby elsewhere in it: `proche restaurant`.
pub const LEADING_CLASS_WORDS: [(&str, AssetClass); 6] = [
    ("restaurant", AssetClass::Shop),
    ("brasserie", AssetClass::Shop),
    (BAR, AssetClass::Shop),
    ("boulangerie", AssetClass::Shop),
    ("pharmacie", AssetClass::Shop),
    ("magasin", AssetClass::Shop),
];
/// Pairs of words for classes, in lower case without accents and without the words that link them.
pub const CLASS_PHRASES: [([&str; 2], AssetClass); 7] = [
    (["hotel", "particulier"], AssetClass::House),
    (["hotels", "particuliers"], AssetClass::House),
    (["murs", "commerciaux"], AssetClass::Premises),
    (["salon", "esthetique"], AssetClass::Shop),
    (["salon", "coiffure"], AssetClass::Shop),
    (["salon", "the"], AssetClass::Shop),
    (["institut", "beaute"], AssetClass::Shop),
];
/// Words that name a class in a cell of classes, but may mean something else in a longer text.
const CELL_WORDS: [(&str, AssetClass); 14] = [
    // In a text, the whole home may be offered to people who share it: `idéal colocation`.
    ("colocation", AssetClass::Room),
    ("colocations", AssetClass::Room),
    ("app", AssetClass::Flat),
    ("appt", AssetClass::Flat),
    ("appts", AssetClass::Flat),
    ("apt", AssetClass::Flat),
    ("apts", AssetClass::Flat),
    ("chalet", AssetClass::House),
    ("villas", AssetClass::House),
    ("pavillons", AssetClass::House),
    ("locaux", AssetClass::Premises),
    ("land", AssetClass::Land),
    ("office", AssetClass::Office),
    ("building", AssetClass::Building),
];
/// Maximum digits of a number of rooms: `T10`.
const ROOM_DIGITS_MAX: usize = 2;

toise_base::named! {
    /// Class of what is offered or owned.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AssetClass {
        /// A flat.
        Flat = "CLASS_FLAT",
        /// A house.
        House = "CLASS_HOUSE",
        /// Land.
        Land = "CLASS_LAND",
        /// A parking space or a garage.
        Parking = "CLASS_PARKING",
        /// An office.
        Office = "CLASS_OFFICE",
        /// A shop.
        Shop = "CLASS_SHOP",
        /// Commercial premises.
        Premises = "CLASS_PREMISES",
        /// A whole building.
        Building = "CLASS_BUILDING",
        /// A room.
        Room = "CLASS_ROOM",
    }
}

/// Class of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeClass {
    /// A flat.
    Flat,
    /// A house.
    House,
}

/// Reads yes or no; `None` for any other text.
pub fn flag(cell: &str) -> Option<bool> {
    let cell = cell.trim().to_lowercase();
    let is = |spellings: &[&str]| spellings.contains(&cell.as_str());
    is(&YES)
        .then_some(true)
        .or_else(|| is(&NO).then_some(false))
}

/// Reads a storey: `3`, `3.0`, `RDC`, `3e`, `2ème étage`, `R+2`, `N-1`, `1er sous-sol`; `None` for any other text.
pub fn storey(cell: &str) -> Option<i64> {
    let cell = cell.trim().to_lowercase();
    if let Some(rest) = cell
        .strip_suffix("sous-sol")
        .or_else(|| cell.strip_suffix("sous sol"))
    {
        let depth = if rest.is_empty() {
            Some(1)
        } else {
            storey(rest)
        };
        return depth.map(|depth| -depth);
    }
    let level = cell.strip_prefix(['r', 'n']);
    if let Some(level) = level.filter(|level| level.starts_with(['+', '-'])) {
        return level.parse().ok();
    }
    if GROUND.iter().any(|word| cell.starts_with(word)) {
        return Some(0);
    }
    let digits = cell.trim_start_matches('-');
    let digits = digits.len()
        - digits
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .len();
    let begin = cell.len() - cell.trim_start_matches('-').len();
    let (number, rest) = cell.split_at(begin + digits);
    let number: i64 = number.parse().ok()?;
    let end = rest
        .trim()
        .trim_end_matches("étage")
        .trim_end_matches("etage")
        .trim();
    let is_whole = matches!(end, ".0" | ",0");
    (is_whole || STOREY_ENDS.contains(&end)).then_some(number)
}

/// Reads the class in a cell from its first word: `Appartement T3`, `Appt`, `T2`, `Local commercial`; `None` for any
/// other text.
pub fn asset_class(cell: &str) -> Option<AssetClass> {
    let word = first_word(cell)?;
    class_of_word(&word).or_else(|| is_room_count(&word).then_some(AssetClass::Flat))
}

/// Returns whether a cell names its class in words: `Appartement T3`, but not `T3`, which next to `Maison` is only the
/// number of rooms.
pub fn names_class(cell: &str) -> bool {
    first_word(cell).is_some_and(|word| class_of_word(&word).is_some())
}

/// Returns the first word of a cell, in lower case without accents, or the second of two if the first is an article:
/// `UNE MAISON`. `None` for a town such as `Bar-le-Duc`.
fn first_word(cell: &str) -> Option<String> {
    let cell = cell.trim().to_lowercase();
    let mut words = cell.split(|character: char| !character.is_alphanumeric());
    let first = words.next()?;
    let others: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if first == BAR && is_town_of_bar(others.iter().copied()) {
        return None;
    }
    let word = match (first, others.as_slice()) {
        ("un" | "une", [noun]) => *noun,
        _ => first,
    };
    Some(word.chars().map(without_accent).collect())
}

/// Returns whether the words after [`BAR`] make it the name of a town: `Bar-le-Duc`, `Bar-sur-Aube`.
pub fn is_town_of_bar<'w>(mut after: impl Iterator<Item = &'w str>) -> bool {
    match (after.next(), after.next()) {
        (Some("le"), Some("duc")) => true,
        (Some("sur"), Some(river)) => ["aube", "loup", "seine"].contains(&river),
        _ => false,
    }
}

/// Returns the class that a word names.
fn class_of_word(word: &str) -> Option<AssetClass> {
    let mut tables = DWELLING_WORDS
        .iter()
        .chain(&OTHER_CLASS_WORDS)
        .chain(&LEADING_CLASS_WORDS)
        .chain(&CELL_WORDS);
    let known = tables.find(|(name, _)| *name == word);
    known.map(|(_, class)| *class)
}

/// Reads the offer from a cell that holds only a code or an English word: `VTE`, `Loc.`, `For sale`, `Rental`. Returns
/// its name in the contract. French words in free texts are read elsewhere.
pub fn offer(cell: &str) -> Option<&'static str> {
    match cell.trim().trim_end_matches('.').to_lowercase().as_str() {
        "v" | "vte" | "buy" | "sale" | "for sale" | "sell" => Some("OFFER_BUY"),
        "l" | "loc" | "rent" | "rental" | "for rent" | "to rent" | "let" => Some("OFFER_RENT"),
        _ => None,
    }
}

/// Reads the number of rooms from a cell that names it: `T3`, `F2`, `3 pièces`, `4p`, `studio`; `None` for any other text.
pub fn room_count(cell: &str) -> Option<u32> {
    let cell = cell.trim().to_lowercase();
    if is_room_count(&cell) {
        return cell[1..].trim_end_matches("bis").parse().ok();
    }
    if matches!(cell.as_str(), "studio" | "studette") {
        return Some(1);
    }
    let digits = cell.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = cell.split_at(digits);
    let unit: String = unit.trim().chars().map(without_accent).collect();
    let is_unit = matches!(
        unit.trim_end_matches('.'),
        "p" | "pc" | "pcs" | "piece" | "pieces" | "piece(s)"
    );
    number.parse().ok().filter(|_| is_unit)
}

/// Returns whether a word in lower case gives the rooms of a flat: `t2`, `f3`, `t1bis`.
pub fn is_room_count(word: &str) -> bool {
    let digits = word.strip_prefix(['t', 'f']);
    let digits = digits.map(|rest| rest.strip_suffix("bis").unwrap_or(rest));
    digits.is_some_and(|digits| {
        (1..=ROOM_DIGITS_MAX).contains(&digits.len())
            && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Returns a letter in lower case without its accent, for the accents in words for classes.
fn without_accent(letter: char) -> char {
    match letter {
        'à' | 'â' => 'a',
        'è' | 'é' | 'ê' => 'e',
        'ô' => 'o',
        other => other,
    }
}

/// Reads the class of a home, like [`asset_class`]; `None` for any other class.
pub fn home_class(cell: &str) -> Option<HomeClass> {
    match asset_class(cell)? {
        AssetClass::Flat => Some(HomeClass::Flat),
        AssetClass::House => Some(HomeClass::House),
        _ => None,
    }
}

/// Reads the energy or climate class of a diagnostic, with or without its score: `D`, `d`, `D (180)`. Empty for a
/// diagnostic without a class: `Vierge`, or a letter that no class has, such as `N`. `None` for any other cell.
pub fn energy_class(cell: &str) -> Option<&'static str> {
    let cell = cell.trim();
    if NO_ENERGY_CLASS
        .iter()
        .any(|word| cell.eq_ignore_ascii_case(word))
    {
        return Some("");
    }
    let (letter, score) = cell.split_at_checked(1)?;
    let score = score.trim_start();
    let begins_with_digit =
        |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    let inner = score.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let is_letter = letter.starts_with(|character: char| character.is_ascii_alphabetic());
    if !is_letter || !(score.is_empty() || inner.is_some_and(begins_with_digit)) {
        return None;
    }
    let mut classes = ENERGY_CLASSES.into_iter();
    let class = classes.find(|class| class.eq_ignore_ascii_case(letter));
    Some(class.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_classes_are_read_with_and_without_their_score() {
        for cell in ["D", " d ", "D (180)", "d(180 kWh/m²)"] {
            assert_eq!(energy_class(cell), Some("D"), "{cell}");
        }
        for cell in ["Vierge", "VI", "NS", "H", "N", "z", "N (0)"] {
            assert_eq!(energy_class(cell), Some(""), "{cell}");
        }
        for cell in ["", "1", "HH", "D ou E", "D/E", "DPE", "(180)", "é"] {
            assert_eq!(energy_class(cell), None, "{cell}");
        }
    }

    #[test]
    fn words_of_tables_are_read() {
        assert_eq!(["oui", "Vrai", "1", "TRUE"].map(flag), [Some(true); 4]);
        assert_eq!(["non", "Faux", "0", "aucun"].map(flag), [Some(false); 4]);
        assert_eq!(["", "peut-être", "2"].map(flag), [None; 3]);
        let storeys = [
            "RDC",
            "rez-de-chaussée",
            "3",
            "3e",
            "2ème étage",
            "1er",
            "-1",
            "4.0",
        ];
        assert_eq!(storeys.map(storey), [0, 0, 3, 3, 2, 1, -1, 4].map(Some));
        let levels = ["R+2", "N-1", "sous-sol", "1er sous-sol", "2e sous sol"];
        assert_eq!(levels.map(storey), [2, -1, -1, -1, -2].map(Some));
        let others = ["", "haut", "3/5", "3e ou 4e", "5 étages", "5-Mar", "nord"];
        assert_eq!(others.map(storey), [None; 7]);
        assert_eq!(home_class("Appartement T3"), Some(HomeClass::Flat));
        assert_eq!(home_class("Maison individuelle"), Some(HomeClass::House));
        assert_eq!(home_class("UNE MAISON"), Some(HomeClass::House));
        assert_eq!(home_class("UN APPARTEMENT"), Some(HomeClass::Flat));
        assert_eq!(home_class("UN"), None);
        assert_eq!(home_class("Local commercial"), None);
    }

    #[test]
    fn rooms_are_read_from_types_and_words() {
        let cells = ["T3", "f3", "3 pièces", "3p", "3 p.", "3 Pcs", "T3bis"];
        assert_eq!(cells.map(room_count), [Some(3); 7]);
        assert_eq!(room_count("Studio"), Some(1));
        for cell in ["", "3", "T3/T4", "3 chambres", "pièces", "T"] {
            assert_eq!(room_count(cell), None, "{cell}");
        }
    }

    #[test]
    fn offers_are_read_from_codes_and_english_words() {
        assert_eq!(["VTE", "V", "Sale"].map(offer), [Some("OFFER_BUY"); 3]);
        assert_eq!(["LOC.", "L", "Rental"].map(offer), [Some("OFFER_RENT"); 3]);
        assert_eq!(
            ["", "VL", "L'appartement", "vente ou location"].map(offer),
            [None; 4]
        );
    }

    #[test]
    fn classes_are_read_in_every_usual_spelling() {
        for (class, cells) in [
            (
                AssetClass::Flat,
                "Appartement|appartement T3|Appt|APPT.|Apt|App.|T2|F3|t10|T1bis|T3/T4|studio|Duplex|loft",
            ),
            (
                AssetClass::House,
                "Maison/Villa|villa|PAVILLON|Longère|Château|chalet",
            ),
            (
                AssetClass::Premises,
                "local commercial|Locaux d'activité|Entrepôt",
            ),
            (AssetClass::Office, "bureaux|Bureau"),
            (AssetClass::Land, "Terrain à bâtir"),
            (AssetClass::Parking, "parking|Box fermé|garage"),
            (AssetClass::Building, "Immeuble de rapport"),
            (AssetClass::Room, "Colocation|Colocation à louer|Chambre"),
        ] {
            for cell in cells.split('|') {
                assert_eq!(asset_class(cell), Some(class), "{cell}");
            }
        }
        for cell in [
            "", "Yourte", "application", "T", "T123", "Dépendance", "Bar-le-Duc T3",
        ] {
            assert_eq!(asset_class(cell), None, "{cell}");
        }
        assert!(names_class("Maison/Villa") && names_class("studio"));
        assert!(!names_class("T3/T4") && !names_class("Vente"));
    }
}
