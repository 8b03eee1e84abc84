//! Vocabulary of French addresses: abbreviations, street types, articles, number suffixes, noise.
//!
//! An abbreviation is an alternative, never a replacement: `r` may be a rue or the letter R.

use super::fold::Token;

/// Abbreviation and the words it may stand for, in ascending order of the abbreviation. Words with several
/// abbreviations are listed under each.
const ABBREVIATIONS: &[(&str, &[&str])] = &[
    ("abbe", &["abbaye"]),
    ("adj", &["adjudant"]),
    ("al", &["allee", "allees"]),
    ("all", &["allee", "allees"]),
    ("alle", &["allee"]),
    ("anc", &["ancien", "ancienne"]),
    ("art", &["artisanale", "artisanal"]),
    ("av", &["avenue"]),
    ("ave", &["avenue"]),
    ("bat", &["batiment"]),
    ("bd", &["boulevard"]),
    ("bld", &["boulevard"]),
    ("blvd", &["boulevard"]),
    ("boul", &["boulevard"]),
    ("bvd", &["boulevard"]),
    ("cap", &["capitaine"]),
    ("car", &["carrefour"]),
    ("carr", &["carrefour"]),
    ("cd", &["chemin", "commandant"]),
    ("cdt", &["commandant"]),
    ("ch", &["chemin", "chateau"]),
    ("che", &["chemin"]),
    ("chem", &["chemin"]),
    ("chs", &["chaussee"]),
    ("cite", &["cite"]),
    ("cne", &["capitaine"]),
    ("cntr", &["centre"]),
    ("col", &["colonel"]),
    ("com", &["commercial", "commune"]),
    ("cor", &["corniche"]),
    ("cpt", &["capitaine"]),
    ("crs", &["cours"]),
    ("cte", &["comte", "comtesse"]),
    ("ctre", &["centre"]),
    ("dom", &["domaine"]),
    ("dr", &["docteur", "droite"]),
    ("dsc", &["descente"]),
    ("ec", &["ecole"]),
    ("ecl", &["ecluse"]),
    ("egl", &["eglise"]),
    ("esc", &["escalier"]),
    ("esp", &["esplanade"]),
    ("fb", &["faubourg"]),
    ("fbg", &["faubourg"]),
    ("fg", &["faubourg"]),
    ("fl", &["fleuve", "fleurs"]),
    ("gal", &["general", "galerie"]),
    ("gd", &["grand"]),
    ("gde", &["grande"]),
    ("gen", &["general"]),
    ("gr", &["grand", "grande"]),
    ("gral", &["general"]),
    ("ham", &["hameau"]),
    ("hlm", &["habitation"]),
    ("ile", &["ile"]),
    ("imp", &["impasse"]),
    ("ind", &["industriel", "industrielle"]),
    ("jard", &["jardin"]),
    ("ld", &["lieu"]),
    ("lot", &["lotissement"]),
    ("lotiss", &["lotissement"]),
    ("lt", &["lieutenant"]),
    ("mal", &["marechal"]),
    ("mar", &["marechal"]),
    ("me", &["maitre"]),
    ("mgr", &["monseigneur"]),
    ("mlle", &["mademoiselle"]),
    ("mme", &["madame"]),
    ("mon", &["maison"]),
    ("mont", &["montee"]),
    ("mte", &["montee"]),
    ("n", &["nationale", "nord"]),
    ("ndame", &["dame"]),
    ("pas", &["passage"]),
    ("pass", &["passage"]),
    ("pav", &["pavillon"]),
    ("pce", &["place"]),
    ("pdt", &["president"]),
    ("pl", &["place"]),
    ("plle", &["placette"]),
    ("pr", &["professeur"]),
    ("prdt", &["president"]),
    ("pres", &["president"]),
    ("prof", &["professeur"]),
    ("prom", &["promenade"]),
    ("pt", &["petit", "pont"]),
    ("pte", &["porte", "petite"]),
    ("qu", &["quai", "quartier"]),
    ("qua", &["quartier", "quai"]),
    ("quart", &["quartier"]),
    ("r", &["rue"]),
    ("res", &["residence"]),
    ("rle", &["ruelle"]),
    ("rte", &["route"]),
    ("sen", &["senateur", "sentier"]),
    ("sent", &["sentier", "sente"]),
    ("sgt", &["sergent"]),
    ("sq", &["square"]),
    ("sqre", &["square"]),
    ("st", &["saint"]),
    ("ste", &["sainte"]),
    ("stes", &["saintes"]),
    ("sts", &["saints"]),
    ("tra", &["traverse"]),
    ("trav", &["traverse"]),
    ("vc", &["voie"]),
    ("ven", &["venelle"]),
    ("vge", &["village"]),
    ("vla", &["villa"]),
    ("vlge", &["village"]),
    ("zac", &["zone"]),
];

/// Abbreviation of several words together, and these words, in ascending order of the abbreviation.
const SEVERAL: &[(&str, &[&str])] = &[
    ("afn", &["afrique", "nord"]),
    ("bca", &["bataillon", "chasseurs", "alpins"]),
    ("bcp", &["bataillon", "chasseurs", "pied"]),
    ("cc", &["centre", "commercial"]),
    ("db", &["division", "blindee"]),
    ("dfl", &["division", "francaise", "libre"]),
    ("ffi", &["forces", "francaises", "interieur"]),
    ("nd", &["notre", "dame"]),
    ("ra", &["regiment", "artillerie"]),
    ("rcp", &["regiment", "chasseurs", "parachutistes"]),
    ("rd", &["route", "departementale", "d"]),
    ("ri", &["regiment", "infanterie"]),
    ("ria", &["regiment", "infanterie", "alpine"]),
    ("ric", &["regiment", "infanterie", "coloniale"]),
    ("rima", &["regiment", "infanterie", "marine"]),
    ("rn", &["route", "nationale", "n"]),
    ("rpt", &["rond", "point"]),
    ("rta", &["regiment", "tirailleurs", "algeriens"]),
    ("rtm", &["regiment", "tirailleurs", "marocains"]),
    ("za", &["zone", "artisanale"]),
    ("zi", &["zone", "industrielle"]),
];

/// Letters of the longest abbreviation.
pub const ABBREVIATION_MAX: usize = 6;

/// Street types: words that begin a street's name, such as `rue`; in ascending order.
#[rustfmt::skip]
const STREET_TYPES: &[&str] = &[
    "allee", "allees", "avenue", "boucle", "boulevard", "carrefour", "chaussee", "chemin", "cite", "clos", "corniche",
    "cote", "cour", "cours", "descente", "domaine", "escalier", "esplanade", "faubourg", "galerie", "grand", "hameau",
    "impasse", "jardin", "lieu", "lieudit", "lotissement", "mail", "montee", "parc", "parvis", "passage", "passerelle",
    "place", "placette", "pont", "porte", "promenade", "quai", "quartier", "rampe", "residence", "rond", "route", "rue",
    "ruelle", "ruette", "sente", "sentier", "square", "traverse", "venelle", "villa", "village", "voie", "zone",
];

/// Words that carry no meaning alone, and the endings of ordinals (`30e`, `1er`), in ascending order.
const ARTICLES: &[&str] = &[
    "a", "au", "aux", "d", "de", "des", "dit", "du", "e", "eme", "en", "er", "ere", "et", "ieme",
    "l", "la", "le", "les", "lieu", "lieudit", "ou", "sous", "sur",
];

fn listed<'t, T>(table: &'t [(&'t str, T)], word: &str) -> Option<&'t T> {
    let index = table.binary_search_by(|(key, _)| (*key).cmp(word)).ok()?;
    Some(&table[index].1)
}

/// Returns the words an abbreviation may stand for; empty for any other word.
pub fn expansions(word: &str) -> &'static [&'static str] {
    let found = listed(ABBREVIATIONS, word).or_else(|| listed(SEVERAL, word));
    found.copied().unwrap_or(&[])
}

/// Returns whether a word is the kind of a numbered road: `Nationale 599` is also the RN 599.
pub fn is_road(word: &str) -> bool {
    matches!(word, "d" | "departementale" | "n" | "nationale")
}

/// Returns whether an abbreviation stands for several words together: `RN` is Route Nationale.
pub fn stands_for_several(word: &str) -> bool {
    listed(SEVERAL, word).is_some()
}

/// Joins the letters of an abbreviation that is written with points or slashes: `L.D.`, `b.d.`, `R.N. 88`. Other letters
/// stay apart: they are initials, as in `J.-B. Clément`.
pub fn join_letters(text: &str, tokens: &mut Vec<Token>) {
    let mut at = 0;
    while at < tokens.len() {
        let is_letter = |token: &Token| token.text.len() == 1 && !token.is_number();
        let is_next = |pair: &[Token]| {
            let between = text.get(pair[0].end..pair[1].start);
            is_letter(&pair[1]) && matches!(between, Some("." | "/"))
        };
        let mut length = 1;
        if is_letter(&tokens[at]) {
            length += tokens[at..]
                .windows(2)
                .take_while(|pair| is_next(pair))
                .count();
        }
        let letters = &tokens[at..at + length];
        let word: String = letters.iter().map(|token| token.text.as_str()).collect();
        let is_known = stands_for_several(&word)
            || matches!(word.as_str(), "bd" | "hlm" | "ld" | "rdc" | "ss" | "zac");
        if length > 1 && is_known {
            tokens[at].end = tokens[at + length - 1].end;
            tokens[at].text = word;
            tokens.drain(at + 1..at + length);
            length = 1;
        }
        at += length;
    }
}

/// Returns whether a word is a street type.
pub fn is_street_type(word: &str) -> bool {
    STREET_TYPES.binary_search(&word).is_ok()
}

/// Returns whether a word is `faubourg` or its abbreviation.
pub fn is_faubourg(word: &str) -> bool {
    matches!(word, "faubourg" | "fb" | "fbg" | "fg")
}

/// Returns whether a word is a month, so that a number next to it belongs to a date.
pub fn is_month(word: &str) -> bool {
    #[rustfmt::skip]
    const MONTHS: [&str; 12] = [
        "janvier", "fevrier", "mars", "avril", "mai", "juin", "juillet", "aout", "septembre", "octobre", "novembre",
        "decembre",
    ];
    MONTHS.contains(&word)
}

/// Returns whether a word carries no meaning alone.
pub fn is_article(word: &str) -> bool {
    ARTICLES.binary_search(&word).is_ok()
}

/// Returns the code of a number's suffix as the index stores it: 1 to 4 for bis, ter, quater, quinquies, 5 and up for
/// letters.
pub fn suffix_code(word: &str) -> Option<u8> {
    Some(match word {
        "bis" => 1,
        "ter" => 2,
        "quater" | "qua" | "quat" => 3,
        "quinquies" | "quin" => 4,
        _ => {
            let [letter @ b'a'..=b'z'] = word.as_bytes() else {
                return None;
            };
            5 + (letter - b'a')
        }
    })
}

/// Code for any suffix without a code, such as `a bis`, `b1` or `2`; the index stores its text.
pub const OTHER_SUFFIX: u8 = 31;

/// Returns the suffix with a code of [`suffix_code`]; empty for 0 and for [`OTHER_SUFFIX`].
pub fn suffix_text(code: u8) -> &'static str {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    match code {
        1 => "bis",
        2 => "ter",
        3 => "quater",
        4 => "quinquies",
        5..=30 => {
            let index = usize::from(code - 5);
            LETTERS.get(index..=index).unwrap_or_default()
        }
        _ => "",
    }
}

/// Returns the suffix that a letter often abbreviates, or the letter for such a suffix: `b` may be bis as well as B.
pub fn suffix_alias(code: u8) -> Option<u8> {
    match code {
        6 => Some(1),
        24 => Some(2),
        21 => Some(3),
        1 => Some(6),
        2 => Some(24),
        3 => Some(21),
        _ => None,
    }
}

/// Returns whether a word, if a number or a letter follows, introduces something that an address base does not hold.
pub fn is_noise_opener(word: &str) -> bool {
    const DOORS: &[&str] = &[
        "bal", "boite", "bt", "cidex", "entree", "esc", "escalier", "etage", "etg", "hall",
        "porte", "tour",
    ];
    is_flat(word) || DOORS.contains(&word)
}

/// Returns whether a number after a word is never a house number: flats and buildings.
pub fn is_flat(word: &str) -> bool {
    #[rustfmt::skip]
    const FLATS: &[&str] = &[
        "app", "appart", "appartement", "appt", "apt", "bat", "batiment", "logement", "studio",
    ];
    FLATS.contains(&word)
}

/// Returns whether a word begins the name of a building, which does not lower the score of a street: `résidence les
/// Pins`.
pub fn names_building(word: &str) -> bool {
    matches!(
        word,
        "bat" | "batiment" | "bt" | "imm" | "immeuble" | "res" | "residence"
    )
}

/// Returns whether a street type may precede the name of a hamlet that the base gives without it: `hameau les Bories`.
pub fn names_hamlet(word: &str) -> bool {
    matches!(word, "hameau" | "lieu" | "lieudit" | "quartier" | "village")
}

/// Returns whether a word begins a part of an address that an address base does not have: `bâtiment les Érables`, `chez
/// Martin`.
pub fn begins_ignored_part(word: &str) -> bool {
    const OPENERS: &[&str] = &[
        "bat", "batiment", "bt", "centre", "chez", "ferme", "imm", "immeuble", "lieudit",
    ];
    OPENERS.contains(&word)
}

/// Returns whether a word after a town's name names a part of the town: `Mende centre ville`, `Chanac le bourg`.
pub fn is_part_of_town(word: &str) -> bool {
    matches!(word, "bourg" | "centre" | "le" | "ville")
}

/// Returns whether a word names the centre of a town.
pub fn is_centre(word: &str) -> bool {
    matches!(word, "bourg" | "centre")
}

/// Returns whether a word says nothing about where an address is.
pub fn is_noise(word: &str) -> bool {
    matches!(word, "cedex" | "fr" | "rdc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fold;

    #[test]
    fn tables_are_in_the_order_they_are_searched_in() {
        assert!(STREET_TYPES.is_sorted() && ARTICLES.is_sorted());
        assert!(
            ABBREVIATIONS
                .iter()
                .chain(SEVERAL)
                .all(|(short, _)| short.len() <= ABBREVIATION_MAX)
        );
        for table in [ABBREVIATIONS, SEVERAL] {
            let unsorted = table.windows(2).find(|pair| pair[0].0 > pair[1].0);
            assert_eq!(unsorted, None);
        }
    }

    #[test]
    fn letters_with_points_are_one_abbreviation() {
        for (text, expected) in [
            ("12 b.d. Foch", "12 bd foch"),
            ("25 R.N. 88", "25 rn 88"),
            ("3 L/D le Mas", "3 ld le mas"),
            ("R.D.C. gauche", "rdc gauche"),
            ("rue du 152e R.I.", "rue du 152 e ri"),
            ("Fontenay s/s Bois", "fontenay ss bois"),
            ("B.P. 12", "b p 12"),
            ("rue J.B. Clément", "rue j b clement"),
            ("rue N D", "rue n d"),
        ] {
            let mut tokens = fold::tokens(text);
            join_letters(text, &mut tokens);
            let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn suffixes_are_read_back() {
        for suffix in ["bis", "ter", "quater", "quinquies", "a", "b", "z"] {
            assert_eq!(suffix_text(suffix_code(suffix).unwrap()), suffix);
        }
        assert_eq!(suffix_code("rue"), None);
        assert_eq!(suffix_alias(suffix_code("b").unwrap()), suffix_code("bis"));
    }
}
