//! Reads values that people write as words in tables: yes and no, storeys, classes of homes.

/// Spellings of yes, in lower case.
const YES: [&str; 9] = ["1", "1.0", "true", "t", "yes", "y", "oui", "vrai", "o"];
/// Spellings of no, in lower case.
pub const NO: [&str; 10] = [
    "0", "0.0", "false", "f", "no", "non", "faux", "n", "aucun", "aucune",
];
/// Beginnings of the ground floor, in lower case.
const GROUND: [&str; 5] = ["rdc", "rez", "ground", "r.d.c", "rch"];
/// Ends of an ordinal number, and words after a storey, in lower case.
const STOREY_ENDS: [&str; 11] = [
    "", "e", "er", "ere", "ère", "eme", "ème", "è", "nd", "st", "th",
];
/// Words of flats, in lower case.
const FLATS: [&str; 7] = [
    "appartement",
    "appart",
    "apt",
    "flat",
    "studio",
    "duplex",
    "loft",
];
/// Words of houses, in lower case.
const HOUSES: [&str; 6] = ["maison", "house", "villa", "pavillon", "longère", "chalet"];

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
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
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

/// Reads the class of a home from its first word: `Appartement T3`, `Maison individuelle`; `None` for any other text.
pub fn home_class(cell: &str) -> Option<HomeClass> {
    let cell = cell.trim().to_lowercase();
    let first = cell.split([' ', '\u{a0}', '/', '-', '(', ',']).next()?;
    if FLATS.contains(&first) {
        Some(HomeClass::Flat)
    } else if HOUSES.contains(&first) {
        Some(HomeClass::House)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(home_class("Local commercial"), None);
    }
}
