//! Reads places in French text: a postal code with its town, an arrondissement, a town with its department.

use super::counts::{ORDINAL_ENDINGS, is_any};
use super::tokens::{Token, tokens};
use toise_geo::places::Place;
use toise_geo::{communes, departments};

/// Maximum number of words in a town's name.
pub const NAME_WORDS_MAX: usize = 5;

/// A place found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextPlace {
    /// Postal code.
    pub postal_code: Option<String>,
    /// INSEE code, if it is unambiguous.
    pub insee_code: Option<String>,
    /// Official name of the commune.
    pub city: Option<String>,
}

impl TextPlace {
    /// Creates the place with a postal code, and its commune if that is known.
    pub fn of_postal_code(code: &str, commune: Option<&Place>) -> Self {
        Self {
            postal_code: Some(code.to_owned()),
            insee_code: None,
            city: commune.map(|commune| commune.name.to_owned()),
        }
    }

    /// Creates the place of a commune, without its postal code.
    pub fn of_commune(commune: &Place) -> Self {
        Self {
            postal_code: None,
            insee_code: Some(commune.code.to_owned()),
            city: Some(commune.name.to_owned()),
        }
    }
}

/// First words of the names of streets and of what else is no quarter.
const STREET_WORDS: [&str; 33] = [
    "rue", "avenue", "av", "boulevard", "bd", "bld", "chemin", "route", "rte", "impasse", "allee",
    "allees", "place", "pl", "quai", "cours", "square", "passage", "rond", "voie", "sentier",
    "cite", "clos", "montee", "esplanade", "promenade", "ruelle", "chaussee", "traverse",
    "residence", "lotissement", "immeuble", "hameau",
];

/// Returns the quarter in a text that is a quarter, its town and the postal code, and the town: `Chartrons, Bordeaux
/// (33300)`. A street is no quarter.
pub fn quarter(text: &str) -> Option<(&str, TextPlace)> {
    let (quarter, town) = text.trim().rsplit_once(',')?;
    let quarter = quarter.trim();
    let is_name = quarter.contains(char::is_alphabetic)
        && !quarter.contains(|sign: char| sign.is_ascii_digit() || ",()".contains(sign));
    let is_street = tokens(quarter)
        .first()
        .is_some_and(|word| word.is_any(&STREET_WORDS));
    let place = place(&tokens(town)).filter(|place| place.postal_code.is_some())?;
    let city = place.city.as_deref()?;
    let is_town = communes::is_same_town(town, city) && !communes::is_same_town(quarter, city);
    (is_name && !is_street && is_town).then_some((quarter, place))
}

/// Maximum number of labels of a town that are tried.
const LABELS_MAX: usize = 20;

/// Cities whose arrondissements have their own postal codes: name, first postal code minus one, number of
/// arrondissements.
const CITIES: [(&str, u32, u32); 3] = [
    ("paris", 75_000, 20),
    ("lyon", 69_000, 9),
    ("marseille", 13_000, 16),
];

/// Returns the first place in a text: by postal code, otherwise by arrondissement, otherwise by department. Of an
/// arrondissement just before the postal code of another, as in `Marseille 13 (13001)`, only the city is certain.
pub fn place(tokens: &[Token]) -> Option<TextPlace> {
    if let Some(city) = (0..tokens.len()).find_map(|place| contradicted(tokens, place)) {
        return Some(city);
    }
    let found = |read: fn(&[Token], usize) -> Option<TextPlace>| {
        (0..tokens.len()).find_map(|place| read(tokens, place))
    };
    let mut coded = found(with_postal_code);
    if let Some(place) = coded.as_mut().filter(|place| place.city.is_none()) {
        // In `Lyon 6e (69006)`, the number stands between the name and the code.
        let numbered = found(arrondissement);
        let same = numbered.filter(|numbered| numbered.postal_code == place.postal_code);
        place.city = same.and_then(|numbered| numbered.city);
    }
    coded
        .or_else(|| found(arrondissement))
        .or_else(|| found(with_department))
}

/// Returns the place of a postal code that is labelled as such: `Code postal : 75011`.
pub fn labelled(tokens: &[Token]) -> Option<TextPlace> {
    let mut labelled = (0..tokens.len()).filter(|place| is_labelled(tokens, *place));
    labelled.find_map(|place| with_postal_code(tokens, place))
}

/// Returns whether a label of a postal code is just before a token.
fn is_labelled(tokens: &[Token], place: usize) -> bool {
    let before = &tokens[place.saturating_sub(3)..place];
    before.iter().any(|token| token.is("postal"))
}

/// Returns the place in one segment of a URL's path: `saint-etienne-42`, `paris-14eme-75`.
pub fn of_url_segment(segment: &str) -> Option<TextPlace> {
    let (name, department) = segment.rsplit_once('-')?;
    let department = department.to_ascii_uppercase();
    departments::name(&department)?;
    let name = name.replace('-', " ");
    let words = tokens(&name);
    if let Some(place) = arrondissement(&words, 0).filter(|place| {
        let code = place.postal_code.as_deref().unwrap_or_default();
        code.starts_with(&department)
    }) {
        return Some(place);
    }
    communes::named(&name, &department).map(TextPlace::of_commune)
}

/// Returns whether a token stands alone in brackets.
fn is_in_brackets(tokens: &[Token], place: usize) -> bool {
    place > 0
        && tokens[place - 1] == Token::Sign('(')
        && tokens.get(place + 1) == Some(&Token::Sign(')'))
}

/// Reads `75011 Paris`, `Paris (75011)`, `Paris 75011`, `Code postal : 75011`.
fn with_postal_code(tokens: &[Token], place: usize) -> Option<TextPlace> {
    let Token::Number(_, digits) = &tokens[place] else {
        return None;
    };
    if digits.len() != 5 || departments::for_postal_code(digits).is_none() {
        return None;
    }
    let after = name_after(&tokens[place + 1..]);
    let before = name_before(&tokens[..place]);
    let named = (1..=after.len())
        .rev()
        .map(|words| after[..words].join(" "))
        .chain((0..before.len()).map(|first| before[first..].join(" ")))
        .find_map(|name| communes::find_by_postal_code_and_name(digits, &name));
    let next = tokens.get(place + 1);
    let is_counted = next == Some(&Token::Sign('€')) || is_any(next, &["m2", "euros"]);
    let commune = match named {
        Some(commune) => Some(commune),
        None if is_counted => return None,
        None if is_labelled(tokens, place) => labelled_town(tokens, digits),
        // The table does not contain the village; its name comes before the bracket.
        None if is_in_brackets(tokens, place) => None,
        None => return None,
    };
    Some(TextPlace::of_postal_code(digits, commune))
}

/// Returns the town in a line `Ville : Mende` elsewhere in the text, if it has the postal code.
fn labelled_town(tokens: &[Token], postal_code: &str) -> Option<&'static Place> {
    let is_label = |place: &usize| tokens[*place].is_any(&["ville", "commune", "localite"]);
    let labels = (0..tokens.len()).filter(is_label);
    let named = |place: usize| {
        let value = tokens[place + 1..]
            .iter()
            .position(|token| !matches!(token, Token::Sign(':') | Token::Break))?;
        let name = name_after(&tokens[place + 1 + value..]).join(" ");
        communes::find_by_postal_code_and_name(postal_code, &name)
    };
    labels.take(LABELS_MAX).find_map(named)
}

/// Reads `Paris 11e`, `Lyon 3ème arrondissement`, `Marseille 8`.
fn arrondissement(tokens: &[Token], place: usize) -> Option<TextPlace> {
    let (name, base, count) = CITIES.iter().find(|(name, ..)| tokens[place].is(name))?;
    let mut at = place + 1;
    while matches!(tokens.get(at), Some(Token::Sign('-' | '('))) {
        at += 1;
    }
    let number = tokens
        .get(at)?
        .whole()
        .filter(|number| (1..=*count).contains(number))?;
    // `Marseille (13)` has the department.
    if number == base / 1_000 && is_in_brackets(tokens, at) {
        return None;
    }
    let is_counted = is_any(tokens.get(at + 1), &["pieces", "m2", "chambres"]);
    let code = (base + number).to_string();
    let commune = communes::find_by_postal_code_and_name(&code, name).filter(|_| !is_counted)?;
    Some(TextPlace::of_postal_code(&code, Some(commune)))
}

/// Returns the city without a code, if its arrondissement is just before the postal code of another arrondissement.
fn contradicted(tokens: &[Token], place: usize) -> Option<TextPlace> {
    let named = arrondissement(tokens, place)?;
    let is_between = |token: &&Token| {
        matches!(token, Token::Sign('-' | '(' | ','))
            || token.is_any(&ORDINAL_ENDINGS)
            || token.is("arrondissement")
    };
    let after = tokens[place + 1..].iter();
    let mut numbers = after
        .filter(|token| !is_between(token))
        .map_while(|token| match token {
            Token::Number(_, digits) => Some(digits),
            _ => None,
        });
    let code = numbers.nth(1).filter(|code| code.len() == 5)?;
    let (name, city) = (tokens[place].word()?, named.city?);
    communes::names_other_arrondissement(code, &city).then(|| TextPlace {
        city: communes::divided_city(name).map(|city| city.name.to_owned()),
        ..TextPlace::default()
    })
}

/// Reads `Bordeaux (33)`.
fn with_department(tokens: &[Token], place: usize) -> Option<TextPlace> {
    let Token::Number(_, digits) = &tokens[place] else {
        return None;
    };
    if !is_in_brackets(tokens, place) || !(2..=3).contains(&digits.len()) {
        return None;
    }
    let before = name_before(&tokens[..place]);
    (0..before.len())
        .find_map(|first| communes::named(&before[first..].join(" "), digits))
        .map(TextPlace::of_commune)
}

fn name_after(tokens: &[Token]) -> Vec<&str> {
    tokens
        .iter()
        .take_while(|token| matches!(token, Token::Word(_) | Token::Sign('-' | '\'' | '’' | ',')))
        .filter_map(Token::word)
        .take(NAME_WORDS_MAX)
        .collect()
}

fn name_before(tokens: &[Token]) -> Vec<&str> {
    let mut words: Vec<&str> = tokens
        .iter()
        .rev()
        .skip_while(|token| matches!(token, Token::Sign('(' | ',' | '-')))
        .take_while(|token| matches!(token, Token::Word(_) | Token::Sign('-' | '\'' | '’')))
        .filter_map(Token::word)
        .take(NAME_WORDS_MAX)
        .collect();
    words.reverse();
    words
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn a_quarter_comes_before_its_town_and_postal_code() {
        for (text, expected) in [
            ("Chartrons, Bordeaux (33300)", "Chartrons|Bordeaux|33300"),
            ("Cap Brun , Toulon (83000)", "Cap Brun|Toulon|83000"),
            (
                "L'Estaque, 13016 Marseille",
                "L'Estaque|Marseille 16e Arrondissement|13016",
            ),
        ] {
            let (quarter, place) = quarter(text).unwrap();
            let (city, code) = (place.city.unwrap(), place.postal_code.unwrap());
            assert_eq!(format!("{quarter}|{city}|{code}"), expected);
        }
        for text in [
            "Bordeaux (33300)",
            "Bordeaux, Bordeaux (33300)",
            "12 rue Notre-Dame, Bordeaux (33300)",
            "Rue Notre-Dame, Bordeaux (33300)",
            "Chartrons, Bordeaux",
            "Chartrons, proche de Bordeaux (33300)",
        ] {
            assert_eq!(quarter(text), None, "{text}");
        }
    }

    #[test]
    fn places_are_found_by_code_arrondissement_or_department() {
        for (text, expected) in [
            (
                "Appartement 3 pièces 75011 Paris",
                "75011 Paris 11e Arrondissement",
            ),
            (
                "Vente appartement Paris (75011)",
                "75011 Paris 11e Arrondissement",
            ),
            ("Paris 11ème, 3 pièces", "75011 Paris 11e Arrondissement"),
            ("Appartement T3 Lyon 3", "69003 Lyon 3e Arrondissement"),
            ("à Saint-Denis (93200), proche RER", "93200 Saint-Denis"),
            ("Mende (48)", "no code Mende"),
            ("Trifouilly (48190)", "48190 no town"),
            ("Marseille 13 (13001)", "no code Marseille"),
            ("Paris 11e arrondissement, 75012 Paris", "no code Paris"),
            ("Paris 16e (75116)", "75116 no town"),
            ("Lyon 6E (69006)", "69006 Lyon 6e Arrondissement"),
            ("Lyon 2E - Presqu’île", "69002 Lyon 2e Arrondissement"),
            ("Paris 11e, 75011 Paris", "75011 Paris 11e Arrondissement"),
        ] {
            let found = place(&tokens(text)).unwrap_or_else(|| panic!("{text}"));
            let code = found.postal_code.as_deref().unwrap_or("no code");
            let town = found.city.as_deref().unwrap_or("no town");
            assert_eq!(format!("{code} {town}"), expected, "{text}");
        }
        for text in [
            "Prix 75011 €",
            "référence 75011",
            "Paris 3 pièces",
            "01 23 45 67 89",
            "Bordeaux (1)",
            "Marseille (13)",
        ] {
            assert_eq!(place(&tokens(text)), None, "{text}");
        }
    }
}
