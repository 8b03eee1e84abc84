//! Reads areas in French text: those of the dwelling and the land, but not those of rooms, terraces and cellars.

use super::counts::is_any;
use super::kinds::class;
use super::tokens::Token;
use toise_input::words::{AssetClass, DWELLING_WORDS, is_room_count};

/// Square metres per hectare.
const HECTARE: f64 = 10_000.0;
/// Square metres per are.
const ARE: f64 = 100.0;
/// Plausible areas of a dwelling or premises, square metres.
const DWELLING: std::ops::RangeInclusive<f64> = 4.0..=100_000.0;
/// Plausible areas of land, square metres.
const LAND: std::ops::RangeInclusive<f64> = 10.0..=1e8;
/// Number of tokens around an area that may say what it describes.
const CONTEXT: usize = 6;

const LAND_WORDS: [&str; 6] = ["terrain", "terrains", "parcelle", "parc", "terre", "terres"];
const OTHER_WORDS: [&str; 31] = [
    "sejour", "salon", "cuisine", "chambre", "chambres", "terrasse", "terrasses", "balcon",
    "balcons", "jardin", "jardins", "jardinet", "cave", "caves", "garage", "loggia", "veranda",
    "mezzanine", "bureau", "cour", "patio", "piscine", "dependance", "dependances", "entree",
    "salle", "piece", "grenier", "combles", "buanderie", "atelier",
];
/// Words that may be between an area and the thing it describes.
const BRIDGES: [&str; 21] = [
    "de", "d", "D", "du", "environ", "un", "une", "le", "la", "l", "L", "en", "clos", "arbore",
    "beau", "belle", "grand", "grande", "constructible", "surface", "superficie",
];

/// The areas in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Areas {
    /// Area of the dwelling or premises, square metres.
    pub dwelling: Option<f64>,
    /// Area of the land, square metres.
    pub land: Option<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum AreaOwner {
    Dwelling,
    Land,
    Other,
}

/// Returns the first area of each kind.
pub fn areas(tokens: &[Token]) -> Areas {
    let mut areas = Areas::default();
    for place in 0..tokens.len() {
        let Some(number) = tokens[place].number() else {
            continue;
        };
        let Some((factor, after)) = unit(tokens, place) else {
            continue;
        };
        let area = number * factor;
        let of = if factor > 1.0 {
            AreaOwner::Land
        } else {
            area_owner(tokens, place, after)
        };
        match of {
            AreaOwner::Dwelling if DWELLING.contains(&area) => {
                areas.dwelling.get_or_insert(area);
            }
            AreaOwner::Land if LAND.contains(&area) => {
                areas.land.get_or_insert(area);
            }
            _ => {}
        }
    }
    areas
}

fn unit(tokens: &[Token], place: usize) -> Option<(f64, usize)> {
    let word = tokens.get(place + 1)?.word()?;
    match word {
        // `m²`, or `M²` in capitals.
        "m2" => Some((1.0, place + 2)),
        "metres" | "metre" if is_any(tokens.get(place + 2), &["carres", "carre"]) => {
            Some((1.0, place + 3))
        }
        "ha" | "hectare" | "hectares" => Some((HECTARE, place + 2)),
        "are" | "ares" => Some((ARE, place + 2)),
        _ => None,
    }
}

fn area_owner(tokens: &[Token], place: usize, after: usize) -> AreaOwner {
    let is_bridge = |token: &Token| {
        matches!(token, Token::Sign('\'' | '’' | ':' | '(' | ')' | '-')) || token.is_any(&BRIDGES)
    };
    // `65 m² de terrasse` describes the terrace, `65 m² avec terrasse` does not.
    let follower = tokens[after..]
        .iter()
        .take(CONTEXT)
        .take_while(|token| **token != Token::Break)
        .find(|token| !is_bridge(token));
    let joined = is_any(tokens.get(after), &["de", "d", "D"]);
    if let Some(word) = follower.and_then(Token::word).filter(|_| joined) {
        match word {
            _ if LAND_WORDS.contains(&word) => return AreaOwner::Land,
            _ if OTHER_WORDS.contains(&word) => return AreaOwner::Other,
            _ => {}
        }
    }
    let mut before = tokens[..place]
        .iter()
        .rev()
        .take(CONTEXT)
        .take_while(|token| **token != Token::Break)
        .skip_while(|token| is_bridge(token));
    let (word, its_count) = (before.next(), before.next());
    match word.and_then(Token::word) {
        Some("sur") => AreaOwner::Land,
        // `Appartement 1 pièce 30 m²`; `une pièce de 30 m²` states the area of a room.
        Some("piece") if its_count.is_some_and(|count| count.number().is_some()) => {
            AreaOwner::Dwelling
        }
        Some("chambre" | "chambres") if is_after_count_of_bedrooms(&tokens[..place]) => {
            AreaOwner::Dwelling
        }
        Some("chambre") if is_of_offered_room(tokens, place) => AreaOwner::Dwelling,
        Some(word) if LAND_WORDS.contains(&word) => AreaOwner::Land,
        Some(word) if OTHER_WORDS.contains(&word) => AreaOwner::Other,
        _ => AreaOwner::Dwelling,
    }
}

/// Returns whether an area is that of a room that is offered by itself: `Chambre 12 m² Lyon 8`. The text then has no
/// other area.
fn is_of_offered_room(tokens: &[Token], place: usize) -> bool {
    let is_next = place
        .checked_sub(1)
        .is_some_and(|before| tokens[before].is("chambre"));
    let areas = tokens.iter().filter(|token| token.is("m2")).count();
    is_next && areas == 1 && class(tokens) == Some(AssetClass::Room.as_str())
}

/// Returns whether the tokens before an area count the bedrooms of a home: `2 pièces 1 chambre 55 m²`, `Maison 4
/// chambres - 90 m²`. In `2 chambres de 12 m²` and `séjour, 1 chambre 12 m²`, the area is that of a bedroom.
fn is_after_count_of_bedrooms(before: &[Token]) -> bool {
    let is_separator = |token: &&Token| matches!(token, Token::Sign('-' | '–' | ',' | '|' | '/'));
    let mut words = before.iter().rev().filter(|token| !is_separator(token));
    let has_count = is_any(words.next(), &["chambre", "chambres"])
        && words.next().is_some_and(|count| count.number().is_some());
    let home = words.next().and_then(Token::word);
    has_count
        && home.is_some_and(|word| {
            let is_dwelling = DWELLING_WORDS.iter().any(|(name, _)| *name == word);
            is_dwelling || is_room_count(word) || ["piece", "pieces", "pcs", "p"].contains(&word)
        })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn found(text: &str) -> (Option<f64>, Option<f64>) {
        let areas = areas(&tokens(text));
        (areas.dwelling, areas.land)
    }

    #[test]
    fn the_area_of_the_dwelling_is_distinguished_from_land_and_rooms() {
        for text in [
            "Appartement 3 pièces 61,5 m²",
            "Surface habitable : 61.5m2",
            "61,50 mètres carrés loi Carrez",
            "Séjour de 30 m², cuisine 12 m², le tout 61,5 M²",
            "61,5 m² avec terrasse de 12 m²",
        ] {
            assert_eq!(found(text), (Some(61.5), None), "{text}");
        }
        for (dwelling, land, text) in [
            (120.0, 500.0, "Maison de 120 m² sur 500 m² de terrain"),
            (120.0, 500.0, "Maison 120 m² sur environ 500 m²"),
            (
                95.0,
                1_200.0,
                "Surface du terrain : 1.200 m²\nSurface : 95 m²",
            ),
            (120.0, 400.0, "Maison de 120 m², terrain de 4 ares"),
        ] {
            assert_eq!(found(text), (Some(dwelling), Some(land)), "{text}");
        }
        for (text, expected) in [
            ("Terrain constructible de 1 200 m²", (None, Some(1_200.0))),
            ("propriété de 1,5 ha", (None, Some(15_000.0))),
            ("Appartement 1 pièce 30 m²", (Some(30.0), None)),
            ("Studio 1 pièce - 27,12 m²", (Some(27.12), None)),
            ("2 pièces 1 chambre 55 m²", (Some(55.0), None)),
            ("5 pièces - 4 chambres - 140 m²", (Some(140.0), None)),
            ("T3 2 chambres 61,5 m²", (Some(61.5), None)),
            ("Maison 4 chambres 110 m²", (Some(110.0), None)),
            ("Maison comprenant 2 chambres 12 m²", (None, None)),
            ("3 pièces, 2 chambres de 12 m²", (None, None)),
            ("Chambre 12 m2 Lyon 8", (Some(12.0), None)),
            ("Chambre 12 m², séjour 20 m²", (None, None)),
            ("Chambre 12 m² dans appartement", (Some(12.0), None)),
            ("Appartement, chambre 12 m²", (None, None)),
            ("12 m² de terrasse", (None, None)),
            ("5 800 €/m²", (None, None)),
            ("avec une pièce de 30 m²", (None, None)),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
