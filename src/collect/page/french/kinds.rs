//! Reads the kind of listing in French text: class, sale or rental, amenities.

use super::tokens::Token;

/// Words for classes of dwellings; they take precedence over `OTHERS`, whatever the order in the text.
const DWELLINGS: [(&str, &str); 17] = [
    ("appartement", "CLASS_FLAT"),
    ("appartements", "CLASS_FLAT"),
    ("appart", "CLASS_FLAT"),
    ("studio", "CLASS_FLAT"),
    ("studette", "CLASS_FLAT"),
    ("duplex", "CLASS_FLAT"),
    ("triplex", "CLASS_FLAT"),
    ("loft", "CLASS_FLAT"),
    ("apartment", "CLASS_FLAT"),
    ("flat", "CLASS_FLAT"),
    ("maison", "CLASS_HOUSE"),
    ("maisons", "CLASS_HOUSE"),
    ("villa", "CLASS_HOUSE"),
    ("pavillon", "CLASS_HOUSE"),
    ("longere", "CLASS_HOUSE"),
    ("chateau", "CLASS_HOUSE"),
    ("house", "CLASS_HOUSE"),
];
const OTHERS: [(&str, &str); 15] = [
    ("terrain", "CLASS_LAND"),
    ("terrains", "CLASS_LAND"),
    ("parcelle", "CLASS_LAND"),
    ("parking", "CLASS_PARKING"),
    ("garage", "CLASS_PARKING"),
    ("box", "CLASS_PARKING"),
    ("stationnement", "CLASS_PARKING"),
    ("bureau", "CLASS_OFFICE"),
    ("bureaux", "CLASS_OFFICE"),
    ("boutique", "CLASS_SHOP"),
    ("commerce", "CLASS_SHOP"),
    ("local", "CLASS_PREMISES"),
    ("entrepot", "CLASS_PREMISES"),
    ("immeuble", "CLASS_BUILDING"),
    ("chambre", "CLASS_ROOM"),
];
/// Words for offers. The rarer kinds come first and take precedence; between sale and rental, the first in the text
/// wins.
const OFFERS: [(&[&str], &str); 5] = [
    (&["viager"], "OFFER_LIFE_ANNUITY_SALE"),
    (&["encheres", "adjudication"], "OFFER_AUCTION"),
    (&["saisonniere", "saisonnier", "vacances"], "OFFER_HOLIDAYS"),
    (
        &[
            "vente", "ventes", "vendre", "vend", "vends", "achat", "acheter", "achats",
        ],
        "OFFER_BUY",
    ),
    (
        &[
            "location",
            "locations",
            "louer",
            "loyer",
            "loue",
            "locatif",
            "colocation",
        ],
        "OFFER_RENT",
    ),
];

/// Words for amenities of a dwelling.
const HAS: [(&[&str], &str); 17] = [
    (&["ascenseur"], "hasLift"),
    (&["balcon", "balcons"], "hasBalcony"),
    (&["terrasse", "terrasses"], "hasTerrace"),
    (&["cave", "caves"], "hasCellar"),
    (&["garage", "garages"], "hasGarage"),
    (&["parking", "parkings"], "hasParking"),
    (&["jardin", "jardins"], "hasGarden"),
    (&["piscine"], "hasPool"),
    (&["cheminee", "cheminees"], "hasFireplace"),
    (&["grenier"], "hasGrenier"),
    (&["interphone", "visiophone"], "hasInterphone"),
    (&["digicode"], "hasDigicode"),
    (&["gardien", "gardienne"], "hasConcierge"),
    (&["alarme"], "hasAlarm"),
    (&["mezzanine"], "hasMezzanine"),
    (&["jacuzzi"], "hasJacuzzi"),
    (&["calme"], "isPeaceful"),
];
/// Words that negate the word after them.
const DENIALS: [&str; 6] = ["sans", "pas", "aucun", "aucune", "ni", "proche"];

/// Returns the class of dwelling that a text names. The words are safe to read in texts in any language.
pub fn dwelling(tokens: &[Token]) -> Option<&'static str> {
    first_of(tokens, &DWELLINGS)
}

fn first_of(tokens: &[Token], table: &[(&str, &'static str)]) -> Option<&'static str> {
    tokens.iter().filter_map(Token::word).find_map(|word| {
        let known = table.iter().find(|(name, _)| *name == word);
        known.map(|(_, class)| *class)
    })
}

/// Returns the class that a text names.
pub fn class(tokens: &[Token]) -> Option<&'static str> {
    let by_rooms = || {
        let is_type = |word: &str| {
            let mut characters = word.chars();
            word.len() == 2
                && matches!(characters.next(), Some('t' | 'f'))
                && characters
                    .next()
                    .is_some_and(|digit| digit.is_ascii_digit())
        };
        tokens
            .iter()
            .filter_map(Token::word)
            .any(is_type)
            .then_some("CLASS_FLAT")
    };
    dwelling(tokens)
        .or_else(|| first_of(tokens, &OTHERS))
        .or_else(by_rooms)
}

/// Returns the offer in a text: a rarer kind if it names one, else the first of sale and rental.
pub fn offer(tokens: &[Token]) -> Option<&'static str> {
    let at = |words: &[&str]| {
        let mut found = tokens.iter().filter_map(Token::word);
        found.position(|word| words.contains(&word))
    };
    let [viager, auction, holidays, buy, rent] = OFFERS.map(|(words, _)| at(words));
    for (found, (_, offer)) in [viager, auction, holidays].into_iter().zip(OFFERS) {
        if found.is_some() {
            return Some(offer);
        }
    }
    match (buy, rent) {
        (Some(buy), Some(rent)) if rent < buy => Some("OFFER_RENT"),
        (Some(_), _) => Some("OFFER_BUY"),
        (None, Some(_)) => Some("OFFER_RENT"),
        (None, None) => None,
    }
}

/// Returns the amenities that, according to a text, a dwelling has or lacks: field of the characteristics, and whether
/// it is present.
pub fn characteristics(tokens: &[Token]) -> impl Iterator<Item = (&'static str, bool)> + '_ {
    HAS.iter().filter_map(|(words, field)| {
        let place = tokens
            .iter()
            .position(|token| token.word().is_some_and(|word| words.contains(&word)))?;
        let before = &tokens[place.saturating_sub(2)..place];
        let denied = before
            .iter()
            .any(|token| token.word().is_some_and(|word| DENIALS.contains(&word)));
        // Only a missing lift is recorded; any other negation may refer to something else.
        match (denied, *field) {
            (true, "hasLift") => Some((*field, false)),
            (true, _) => None,
            (false, _) => Some((*field, true)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn class_and_offer_are_read_from_titles() {
        for (text, expected) in [
            (
                "Vente appartement 3 pièces avec garage",
                ("CLASS_FLAT", "OFFER_BUY"),
            ),
            (
                "Maison à louer, terrain 500 m²",
                ("CLASS_HOUSE", "OFFER_RENT"),
            ),
            ("À vendre T3 lumineux", ("CLASS_FLAT", "OFFER_BUY")),
            (
                "Location parking souterrain",
                ("CLASS_PARKING", "OFFER_RENT"),
            ),
            (
                "Viager occupé : vente maison",
                ("CLASS_HOUSE", "OFFER_LIFE_ANNUITY_SALE"),
            ),
            ("Terrain à bâtir à vendre", ("CLASS_LAND", "OFFER_BUY")),
            (
                "vente idéal investissement locatif studio",
                ("CLASS_FLAT", "OFFER_BUY"),
            ),
        ] {
            let tokens = tokens(text);
            assert_eq!(
                (class(&tokens).unwrap(), offer(&tokens).unwrap()),
                expected,
                "{text}"
            );
        }
        assert_eq!(
            (class(&tokens("Bienvenue")), offer(&tokens("Bienvenue"))),
            (None, None)
        );
    }

    #[test]
    fn amenities_are_distinguished_from_missing_ones() {
        let text = tokens("Sans ascenseur, avec balcon et deux caves, proche piscine");
        let found: Vec<_> = characteristics(&text).collect();
        assert_eq!(
            found,
            [
                ("hasLift", false),
                ("hasBalcony", true),
                ("hasCellar", true)
            ]
        );
    }
}
