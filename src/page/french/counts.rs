//! Reads rooms, storeys and years in French text.

use super::tokens::Token;

/// Maximum number of rooms in a dwelling.
const ROOMS_MAX: u32 = 60;
/// Maximum number of storeys in a building.
pub(super) const STOREYS_MAX: u32 = 60;
/// Accepted years of construction.
const YEARS: std::ops::RangeInclusive<u32> = 1_200..=2_100;
/// Maximum number of tokens between a label and its value.
pub(super) const LABEL_REACH: usize = 5;

const NUMBERS: [&str; 11] = [
    "zero", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix",
];
const ORDINALS: [(&str, u32); 11] = [
    ("premier", 1),
    ("deuxieme", 2),
    ("second", 2),
    ("troisieme", 3),
    ("quatrieme", 4),
    ("cinquieme", 5),
    ("sixieme", 6),
    ("septieme", 7),
    ("huitieme", 8),
    ("neuvieme", 9),
    ("dixieme", 10),
];
/// Names of rooms in a list of their numbers.
const COUNTED_ROOMS: [&str; 12] = [
    "pieces", "piece", "pcs", "p", "chambres", "chambre", "ch", "salles", "salle", "sdb", "wc",
    "toilettes",
];
/// Endings of ordinal numbers in digits.
pub(super) const ORDINAL_ENDINGS: [&str; 9] =
    ["e", "eme", "er", "ere", "nd", "nde", "ieme", "me", "E"];

pub(super) fn is_any(token: Option<&Token>, words: &[&str]) -> bool {
    token.is_some_and(|token| token.is_any(words))
}

/// Returns a number in digits or words.
pub(super) fn count(token: &Token) -> Option<u32> {
    let spelt = || {
        NUMBERS
            .iter()
            .position(|number| token.is(number))
            .map(|count| count as u32)
    };
    token.whole().or_else(spelt)
}

/// Returns the number before or after one of the names: `3 pièces`, `trois pièces`, `Pièces : 3`, `Nombre de pièces 3`.
/// In a text that begins with a number on a line above its name, so do the others: `3\npièces\n2\nchambres`.
pub fn count_of(tokens: &[Token], names: &[&str]) -> Option<u32> {
    let in_range = |count: &u32| (1..=ROOMS_MAX).contains(count);
    let is_above = matches!(
        tokens,
        [Token::Number(..), Token::Break, name, ..] if name.is_any(&COUNTED_ROOMS)
    );
    let before = (1..tokens.len())
        .filter(|place| tokens[*place].is_any(names) && !is_open_ended(&tokens[*place + 1..]))
        .find_map(|place| {
            let value = match &tokens[..place] {
                [.., value, Token::Break] if is_above => Some(value),
                before => before.last(),
            };
            value.and_then(count).filter(in_range)
        });
    before.or_else(|| {
        (0..tokens.len())
            .filter(|place| tokens[*place].is_any(names))
            .find_map(|place| {
                let mut after = &tokens[place + 1..];
                // The value may be on a separate line.
                loop {
                    after = match after {
                        [Token::Sign(':' | '(' | ')') | Token::Break, rest @ ..] => rest,
                        // `Chambre(s) : 2`.
                        [Token::Word(plural), rest @ ..] if plural == "s" => rest,
                        _ => break,
                    };
                }
                let ends = !matches!(after.get(1), Some(Token::Word(_) | Token::Sign('€' | '%')));
                let value = after.first().and_then(Token::whole).filter(in_range);
                value.filter(|_| ends)
            })
    })
}

/// Returns the number of main rooms, also from `T3`, `F3` and `studio`.
pub fn rooms(tokens: &[Token]) -> Option<u32> {
    count_of(tokens, &["pieces", "piece", "pcs", "p"]).or_else(|| {
        tokens
            .iter()
            .enumerate()
            .find_map(|(place, token)| match token.word()? {
                "studio" | "studette" => Some(1),
                word => word
                    .strip_prefix(['t', 'f'])?
                    .parse::<u32>()
                    .ok()
                    .filter(|rooms| (1..=12).contains(rooms))
                    .filter(|_| !is_open_ended(&tokens[place + 1..])),
            })
    })
}

/// Returns whether the tokens after a count make it a minimum: `T4+`, `4 pièces et plus`, but not `T4 + garage` or
/// `4 pièces et plus de 80 m²`.
fn is_open_ended(after: &[Token]) -> bool {
    match after {
        [Token::Sign('+'), rest @ ..] => {
            matches!(
                rest.first(),
                None | Some(Token::Sign(')' | ',' | ';' | '/'))
            )
        }
        [joint, plus, rest @ ..] if joint.is_any(&["et", "ou"]) && plus.is("plus") => {
            !is_any(rest.first(), &["de", "d", "D", "des"])
        }
        _ => false,
    }
}

/// Returns the number of bathrooms: `2 salles de bains`, otherwise `2 salles d'eau`.
pub fn bathrooms(tokens: &[Token]) -> Option<u32> {
    let of = |last: &[&str]| {
        (1..tokens.len()).find_map(|place| {
            let is_room = tokens[place].is_any(&["salle", "salles"]);
            let what = tokens[place + 1..].iter().take(3).find(|token| {
                !matches!(token, Token::Sign('\'' | '’')) && !token.is_any(&["de", "d", "D"])
            });
            let count = count(&tokens[place - 1]).filter(|count| (1..=ROOMS_MAX).contains(count));
            count.filter(|_| is_room && is_any(what, last))
        })
    };
    of(&["bain", "bains"])
        .or_else(|| count_of(tokens, &["sdb"]))
        .or_else(|| of(&["eau"]))
}

/// The storey of a dwelling, and the number of storeys of its building.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floors {
    /// Storey of the dwelling; 0 for the ground floor.
    pub floor: Option<u32>,
    /// Storeys of the building above the ground floor.
    pub total: Option<u32>,
}

/// Reads storeys: `3e étage`, `au troisième et dernier étage`, `Étage : 3/5`, `rez-de-chaussée`,
/// `immeuble de 5 étages`.
pub fn floors(tokens: &[Token]) -> Floors {
    let (floor, total) = storeys(tokens);
    Floors {
        floor: floor.first().copied(),
        total,
    }
}

/// Returns the storey that all mentions of one agree on; `None` for a flat with several.
pub fn only_floor(tokens: &[Token]) -> Option<u32> {
    let storeyed = ["duplex", "triplex", "souplex"];
    if tokens.iter().any(|token| token.is_any(&storeyed)) {
        return None;
    }
    let (floors, _) = storeys(tokens);
    let first = floors.first().copied()?;
    floors.iter().all(|floor| *floor == first).then_some(first)
}

/// Returns the storeys that a text names as the place of something, in order, and those of the building.
fn storeys(tokens: &[Token]) -> (Vec<u32>, Option<u32>) {
    let mut floors = Vec::new();
    let mut storeys_of_building = None;
    let storey = |token: Option<&Token>| {
        token
            .and_then(Token::whole)
            .filter(|storey| *storey <= STOREYS_MAX)
    };
    for place in 0..tokens.len() {
        let token = &tokens[place];
        if token.is("etages") && place > 0 {
            let total = count(&tokens[place - 1]).filter(|total| (1..=STOREYS_MAX).contains(total));
            storeys_of_building = storeys_of_building.or(total);
        }
        if token.is("etage") {
            let found = before_storey(&tokens[..place]).or_else(|| {
                let mut at = place + 1;
                while matches!(tokens.get(at), Some(Token::Sign(':') | Token::Break)) {
                    at += 1;
                }
                let floor = if is_any(tokens.get(at), &["rdc", "rez"]) {
                    Some(0)
                } else {
                    storey(tokens.get(at))
                };
                let next = tokens.get(at + 1).and_then(Token::word);
                let counted =
                    next.is_some_and(|word| word != "sur" && !ORDINAL_ENDINGS.contains(&word));
                floor.filter(|_| !counted)
            });
            floors.extend(found);
            // `3e étage sur 5`, `Étage : 3/5`.
            let total = tokens[place..]
                .windows(2)
                .take(LABEL_REACH)
                .find_map(|pair| {
                    let is_of = matches!(pair[0], Token::Sign('/')) || pair[0].is("sur");
                    storey(pair.get(1)).filter(|_| is_of)
                });
            storeys_of_building =
                storeys_of_building.or(total.filter(|total| Some(total) >= floors.first()));
        }
        let is_ground = token.is("rdc")
            || token.is("rez")
                && tokens[place..]
                    .iter()
                    .take(6)
                    .any(|word| word.is_any(&["chaussee", "jardin"]));
        if is_ground {
            floors.push(0);
        }
    }
    (floors, storeys_of_building)
}

/// Returns the storey named by the words before `étage`.
fn before_storey(before: &[Token]) -> Option<u32> {
    let mut at = before.len();
    let last = |at: usize| at.checked_sub(1).and_then(|last| before.get(last));
    if is_any(last(at), &["dernier"]) {
        at -= 1;
        if is_any(last(at), &["et"]) {
            at -= 1;
        }
    }
    let ordinal = |token: &Token| {
        ORDINALS
            .iter()
            .find(|(name, _)| token.is(name))
            .map(|(_, storey)| *storey)
    };
    if let Some(storey) = last(at).and_then(ordinal) {
        return Some(storey);
    }
    if !is_any(last(at), &ORDINAL_ENDINGS) && last(at) != Some(&Token::Sign('°')) {
        return None;
    }
    last(at - 1)
        .and_then(Token::whole)
        .filter(|storey| *storey <= STOREYS_MAX)
}

/// Returns the year of construction: `construit en 1975`, `Année de construction : 1975`.
pub fn construction_year(tokens: &[Token]) -> Option<u32> {
    let names = ["construit", "construite", "construction", "bati", "batie"];
    (0..tokens.len())
        .filter(|place| tokens[*place].is_any(&names))
        .find_map(|place| {
            let near = tokens[place + 1..].iter().take(LABEL_REACH);
            near.filter_map(Token::whole)
                .find(|year| YEARS.contains(year))
        })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn rooms_are_counted_in_digits_letters_and_types() {
        for text in [
            "3 pièces",
            "Appartement T3 65 m²",
            "trois pièces",
            "Pièces : 3",
            "Nombre de pièces\n3",
            "Nombre de pièce(s) : 3",
            "F3",
            "3 p.",
            "3 pcs",
        ] {
            assert_eq!(rooms(&tokens(text)), Some(3), "{text}");
        }
        assert_eq!(rooms(&tokens("Studio de 20 m²")), Some(1));
        assert_eq!(rooms(&tokens("Pièces 65 m² et 1 200 € ")), None);
        for text in ["Grand (T4+)", "T4 et plus", "4 pièces et plus", "T4 +"] {
            assert_eq!(rooms(&tokens(text)), None, "{text}");
        }
        for text in ["T4 + garage", "4 pièces et plus de 80 m²"] {
            assert_eq!(rooms(&tokens(text)), Some(4), "{text}");
        }
        for (text, pieces, chambres) in [
            ("2\nchambres", None, Some(2)),
            ("3\npièces\n2\nchambres", Some(3), Some(2)),
            ("Pièces\n3\nChambres\n2", Some(3), Some(2)),
        ] {
            let tokens = tokens(text);
            assert_eq!(rooms(&tokens), pieces, "{text}");
            assert_eq!(count_of(&tokens, &["chambres"]), chambres, "{text}");
        }
        let bedrooms = tokens("deux chambres dont une de 12 m²");
        assert_eq!(count_of(&bedrooms, &["chambre", "chambres"]), Some(2));
        for (text, count) in [
            ("2 salles de bains, 1 salle d'eau", Some(2)),
            ("une salle d'eau", None),
            ("1 salle d’eau", Some(1)),
        ] {
            assert_eq!(bathrooms(&tokens(text)), count, "{text}");
        }
    }

    #[test]
    fn storeys_are_read_in_many_notations() {
        for (text, floor, total) in [
            ("au 3ème étage", Some(3), None),
            ("3e étage sur 5 avec ascenseur", Some(3), Some(5)),
            ("au 4ème et dernier étage", Some(4), None),
            ("Étage : 3/5", Some(3), Some(5)),
            ("Étage\n2", Some(2), None),
            ("1er étage", Some(1), None),
            (
                "au troisième étage d'un immeuble de 6 étages",
                Some(3),
                Some(6),
            ),
            ("en rez-de-chaussée", Some(0), None),
            ("Étage : RDC", Some(0), None),
            ("dernier étage", None, None),
            ("à l'étage 3 chambres", None, None),
        ] {
            assert_eq!(floors(&tokens(text)), Floors { floor, total }, "{text}");
        }
    }

    #[test]
    fn only_a_single_storey_is_that_of_the_home() {
        for (text, floor) in [
            ("au 2ème étage", Some(2)),
            ("cinquième étage", Some(5)),
            ("rez-de-chaussée", Some(0)),
            ("Étage 3 sur 4", Some(3)),
            ("Étage : RDC", Some(0)),
            ("au 2ème étage, balcon au 2e étage", Some(2)),
            ("3e étage, commerces en rez-de-chaussée", None),
            ("duplex aux 3ème étage et 4ème étage", None),
            ("immeuble de 5 étages", None),
            ("", None),
        ] {
            assert_eq!(only_floor(&tokens(text)), floor, "{text}");
        }
    }

    #[test]
    fn years_of_construction_are_read_after_their_label() {
        for text in [
            "Année de construction : 1975",
            "construit en 1 975 ou presque",
        ] {
            assert_eq!(construction_year(&tokens(text)), Some(1975), "{text}");
        }
    }
}
