//! Reads the kind of listing in French text: class, sale or rental, amenities.

use super::counts::{count, is_any, only_floor};
use super::tokens::Token;
use toise_input::words::{
    AssetClass, BAR, CLASS_PHRASES, DWELLING_WORDS, LEADING_CLASS_WORDS, OTHER_CLASS_WORDS,
    is_room_count, is_town_of_bar,
};

/// Words for offers. The rarer kinds come first and take precedence; between sale and rental, the first in the text
/// wins.
const OFFERS: [(&[&str], &str); 5] = [
    (&["viager"], "OFFER_LIFE_ANNUITY_SALE"),
    (&["encheres", "adjudication"], "OFFER_AUCTION"),
    (&["saisonniere", "saisonnier", "vacances"], "OFFER_HOLIDAYS"),
    (
        &[
            "vente", "ventes", "vendre", "vend", "vends", "vendu", "vendue", "achat", "acheter",
            "achats",
        ],
        "OFFER_BUY",
    ),
    (
        &[
            "location", "locations", "louer", "loyer", "loue", "locatif", "colocation",
        ],
        "OFFER_RENT",
    ),
];

/// Words that may precede the class at the beginning of a text.
const LEADING: [&str; 28] = [
    "un", "une", "deux", "trois", "quatre", "au", "de", "du", "des", "bel", "beau", "beaux",
    "belle", "grand", "grands", "grande", "joli", "petit", "petite", "superbe", "magnifique",
    "charmant", "charmante", "rare", "exceptionnel", "place", "places", "emplacement",
];
/// Words that may be between a dwelling and the word that joins it to the text before it.
const BETWEEN: [&str; 19] = [
    "un", "une", "deux", "trois", "quatre", "cinq", "six", "le", "la", "les", "l", "L", "ce",
    "cette", "bel", "beau", "belle", "grand", "grande",
];
/// Words that join a dwelling to what is sold: `Immeuble de 6 appartements`, `Parking près de la maison de quartier`.
const JOINING: [&str; 11] = [
    "pour", "de", "d", "D", "du", "des", "dans", "pres", "quartier", "projet", "comprenant",
];

/// Words that make what a later sentence begins with a neighbour of what is offered: `Restaurant au coin de la rue`.
const NEARNESS: [&str; 12] = [
    "pas", "coin", "proche", "proches", "proximite", "pres", "pied", "bas", "face", "minutes",
    "min", "mn",
];

/// Words for streets. A dwelling after one is part of the name: `rue du Château`, `rue Villa Duthy`.
const STREETS: [&str; 7] = ["rue", "avenue", "av", "boulevard", "bd", "square", "quai"];
/// Words that may be between a street and its name.
const ARTICLES: [&str; 9] = ["de", "du", "des", "d", "D", "la", "le", "l", "L"];
/// Words after a dwelling that make it the name of a town or a station: `Maisons-Alfort`, `Château Rouge`.
const NAMES: [(&str, &[&str]); 2] = [
    ("maisons", &["alfort", "laffitte", "lafitte"]),
    (
        "chateau",
        &["thierry", "gontier", "chinon", "landon", "rouge", "eau"],
    ),
];
/// Words after `local` that make it a part of the building: `local à vélos`.
const COMMON_ROOMS: [&str; 6] = [
    "velo", "velos", "poussette", "poussettes", "poubelles", "technique",
];
/// Lowest storey that a text about a whole building does not name alone.
const STOREY_OF_A_FLAT_MIN: u32 = 2;

/// Verbs that join who offers a home to it: `L'agence vous propose`.
const PRESENTING: [&str; 6] = [
    "propose", "proposent", "invite", "invitent", "presente", "presentent",
];
/// Maximum number of tokens of the name before such a verb.
const PRESENTER_TOKENS_MAX: usize = 10;

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
/// Words that deny the amenity after them.
const DENIALS: [&str; 12] = [
    "sans", "pas", "aucun", "aucune", "ni", "proche", "non", "absence", "depourvu", "depourvue",
    "jamais", "hors",
];
/// Words that may stand between a denial and what it denies: `ne dispose pas d'ascenseur`.
const BRIDGES: [&str; 16] = [
    "d", "D", "de", "du", "des", "l", "L", "le", "la", "les", "un", "une", "en", "equipe",
    "equipee", "dote",
];
/// Number of tokens before an amenity that are searched for a denial.
const DENIAL_REACH: usize = 6;

/// Returns the class of dwelling that a text names. The words are safe to read in texts in any language.
pub fn dwelling(tokens: &[Token]) -> Option<&'static str> {
    first_dwelling(tokens).and_then(|place| dwelling_class(&tokens[place]))
}

/// Returns the place of the first dwelling that is not part of the name of a street, town or station.
fn first_dwelling(tokens: &[Token]) -> Option<usize> {
    (0..tokens.len())
        .find(|place| dwelling_class(&tokens[*place]).is_some() && !is_name(tokens, *place))
}

/// Returns whether a dwelling at a place is part of the name of a street, town or station.
fn is_name(tokens: &[Token], place: usize) -> bool {
    let is_link =
        |token: &&Token| token.is_any(&ARTICLES) || matches!(token, Token::Sign('\'' | '’' | '-'));
    let before = tokens[..place].iter().rev().find(|token| !is_link(token));
    let after = tokens[place + 1..].iter().find(|token| !is_link(token));
    let mut names = NAMES.iter().filter(|(word, _)| tokens[place].is(word));
    is_any(before, &STREETS) || names.any(|(_, names)| is_any(after, names))
}

/// Returns the class of dwelling that a word names.
fn dwelling_class(token: &Token) -> Option<&'static str> {
    let word = token.word()?;
    let known = DWELLING_WORDS.iter().find(|(name, _)| *name == word);
    known.map(|(_, class)| class.as_str())
}

/// Returns the class that a text names, not the name of an agency before `vous propose`:
///
/// 1. the class at its beginning, if a dwelling only completes it: `Terrain pour maison`;
/// 2. else that of a dwelling, regardless of the order: `Garage et appartement`;
/// 3. else the first of a room count and another class: `T3 avec garage` is a flat, `Garage près du T3` is not.
///
/// `3 pièces avec garage` is a flat or a house, so it names no class without a lift. `Immeuble récent, 3e étage` says
/// where a flat or an office is, so it names none either.
pub fn class(tokens: &[Token]) -> Option<&'static str> {
    let presented = presented(tokens);
    let of_presented = leading_class(presented).or_else(|| dwelling(presented));
    let class = of_presented
        .or_else(|| leading_class(tokens))
        .or_else(|| dwelling(tokens))
        .or_else(|| class_without_dwelling(tokens))?;
    let is_on_storey = || only_floor(tokens).is_some_and(|floor| floor >= STOREY_OF_A_FLAT_MIN);
    (class != AssetClass::Building.as_str() || !is_on_storey()).then_some(class)
}

/// Returns the class that the first of a room count and another class names.
fn class_without_dwelling(tokens: &[Token]) -> Option<&'static str> {
    tokens.iter().enumerate().find_map(|(place, token)| {
        let word = token.word()?;
        if is_room_count(word) {
            return Some(Some(AssetClass::Flat.as_str()));
        }
        let counts = place.checked_sub(1).map(|before| &tokens[before]);
        if token.is_any(&["pieces", "piece"]) && count(counts?).is_some() {
            let has_lift = tokens.iter().any(|token| token.is("ascenseur"));
            let has_offices = tokens.iter().any(|token| token.is("bureaux"));
            return Some((has_lift && !has_offices).then(|| AssetClass::Flat.as_str()));
        }
        let words = OTHER_CLASS_WORDS.iter();
        let mut known = words.filter(|(name, _)| *name == word);
        let class = phrase_class(&tokens[place..])
            .or_else(|| known.next().map(|(_, class)| class.as_str()));
        class
            .filter(|_| !is_inside(&tokens[..place]) && !is_aside(tokens, place))
            .map(Some)
    })?
}

/// Returns whether a class at a place is about the surroundings or a part of the building: `commerce à proximité`,
/// `local à vélos`.
fn is_aside(tokens: &[Token], place: usize) -> bool {
    let after = tokens[place + 1..].iter().take(2);
    let before = tokens[..place].iter().rev().take(2);
    if tokens[place].is("local") {
        after.clone().any(|token| token.is_any(&COMMON_ROOMS))
    } else {
        tokens[place].is("commerce")
            && before
                .chain(after)
                .any(|token| token.is_any(&NEARNESS) || token.is_any(&["bourse", "centre"]))
    }
}

/// Returns the text after the name of who offers a home: `La Maison Dupont vous propose`. Empty if none does, as in
/// `Cette maison vous propose`.
fn presented(tokens: &[Token]) -> &[Token] {
    let is_verb = |pair: &[Token]| pair[0].is("vous") && pair[1].is_any(&PRESENTING);
    let Some(place) = tokens.windows(2).position(is_verb) else {
        return &[];
    };
    let name = &tokens[..place];
    let is_home = name
        .iter()
        .any(|token| token.is_any(&["ce", "cet", "cette"]))
        || name.last().and_then(dwelling_class).is_some()
        || name.iter().any(|token| token.number().is_some());
    let is_end = |token: &Token| matches!(token, Token::Break | Token::Sign('.' | '!' | ':' | '|'));
    let articles = ["la", "le", "les", "l", "L", "votre", "agence"];
    let is_name = is_any(name.first(), &articles) && !name.iter().any(is_end);
    if is_home || !is_name || name.len() > PRESENTER_TOKENS_MAX {
        return &[];
    }
    &tokens[place + 2..]
}

/// Returns the class that the first two words of a text name together, regardless of the words that link them: `salon
/// de coiffure`.
fn phrase_class(tokens: &[Token]) -> Option<&'static str> {
    let mut words = tokens.iter().map_while(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        Token::Sign('\'' | '’' | '-') => Some(""),
        _ => None,
    });
    let first = words.next()?;
    let second = words.find(|word| !["", "d", "D", "de"].contains(word))?;
    let mut phrases = CLASS_PHRASES.iter();
    let (_, class) = phrases.find(|(phrase, _)| *phrase == [first, second])?;
    Some(class.as_str())
}

/// Returns whether the words before a class make it the place of what is offered: `Cave dans un immeuble`.
fn is_inside(before: &[Token]) -> bool {
    let mut words = before.iter().rev().map_while(Token::word);
    words.find(|word| !BETWEEN.contains(word)) == Some("dans")
}

/// Returns the class of other assets that the first word of a text names, apart from words such as `vente` and `beau`.
/// If a dwelling is named too, the first word must be about it: `Terrain pour maison`, not `Terrain et maison`.
fn leading_class(tokens: &[Token]) -> Option<&'static str> {
    let is_filler = |word: &&str| {
        let is_offer = OFFERS.iter().any(|(words, _)| words.contains(word));
        is_offer || matches!(*word, "a" | "A") || LEADING.contains(word)
    };
    let mut before_number = tokens
        .iter()
        .take_while(|token| !matches!(token, Token::Number(..)))
        .filter_map(Token::word);
    let first = before_number.find(|word| !is_filler(word))?;
    if first == BAR && is_town_of_bar(before_number) {
        return None;
    }
    // In a later sentence or line, a restaurant may be near what is offered: `À vendre. Restaurant à deux pas`.
    let is_end = |token: &Token| matches!(token, Token::Break | Token::Sign('.'));
    let mut sentences = tokens.split(is_end).enumerate();
    let (place, sentence) = sentences.find(|(_, sentence)| {
        let mut words = sentence.iter().filter_map(Token::word);
        words.any(|word| word == first)
    })?;
    let is_beginning = place == 0 || !sentence.iter().any(|token| token.is_any(&NEARNESS));
    let leading = LEADING_CLASS_WORDS.iter().filter(|_| is_beginning);
    let mut words = OTHER_CLASS_WORDS.iter().chain(leading);
    let (_, class) = words.find(|(name, _)| *name == first)?;
    let is_between = |token: &&Token| match token {
        Token::Number(..) | Token::Sign('\'' | '’' | '-') => true,
        Token::Word(word) => BETWEEN.contains(&word.as_str()),
        _ => false,
    };
    let Some(dwelling) = first_dwelling(tokens) else {
        return Some(class.as_str());
    };
    let mut before = tokens[..dwelling].iter().rev().skip_while(is_between);
    let joins = before.next().and_then(Token::word);
    let is_joined = joins.is_some_and(|word| JOINING.contains(&word));
    let is_part = tokens[..dwelling]
        .iter()
        .filter_map(Token::word)
        .any(|word| word.starts_with("inclus") || word.starts_with("compris"));
    (is_joined && !is_part).then(|| class.as_str())
}

/// Returns whether `loue` at a place says that a home on sale has a tenant, as in `Appartement loué`: a class of home
/// or `vendu` stands before it.
fn is_let(tokens: &[Token], place: usize) -> bool {
    let before = place.checked_sub(1).map(|before| &tokens[before]);
    tokens[place].is("loue")
        && before.is_some_and(|before| {
            before.is_any(&["vendu", "vendue", "deja"])
                || before.word().is_some_and(is_room_count)
                || dwelling_class(before).is_some()
        })
}

/// Returns the offer in a text: a rarer kind if it names one, otherwise the first of sale and rental.
pub fn offer(tokens: &[Token]) -> Option<&'static str> {
    let at = |words: &[&str]| {
        (0..tokens.len()).find(|place| tokens[*place].is_any(words) && !is_let(tokens, *place))
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
        let place = tokens.iter().position(|token| token.is_any(words))?;
        let denied = is_denied(&tokens[..place]) || is_negation(&tokens[place + 1..]);
        // Only a missing lift is recorded; any other negation may refer to something else.
        match (denied, *field) {
            (true, "hasLift") => Some((*field, false)),
            (true, _) => None,
            (false, _) => Some((*field, true)),
        }
    })
}

/// Returns whether the words before an amenity deny it: `sans ascenseur`, `ne dispose pas d'un ascenseur`.
fn is_denied(before: &[Token]) -> bool {
    let mut nearest = before
        .iter()
        .rev()
        .take(DENIAL_REACH)
        .filter(|token| !token.is_any(&BRIDGES) && !matches!(token, Token::Sign('\'' | '’')));
    // Two words, because one may describe the amenity: `sans grande terrasse`.
    (0..2)
        .map_while(|_| nearest.next()?.word())
        .any(|word| DENIALS.contains(&word))
}

/// Returns whether the value after an amenity says that there is none: `Ascenseur : non`.
fn is_negation(after: &[Token]) -> bool {
    let is_separator =
        |token: &&Token| matches!(token, Token::Sign(':' | '-' | '–') | Token::Break);
    let separators = after.iter().take_while(is_separator).count();
    let after = &after[separators..];
    // In `Ascenseur, Non meublé` the denial is about something else.
    let ends = !matches!(after.get(1), Some(Token::Word(_) | Token::Number(..)));
    let is_no = |value: &Token| {
        value.is_any(&["non", "aucun", "aucune"]) || separators > 0 && value.number() == Some(0.0)
    };
    ends && after.first().is_some_and(is_no)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn a_lift_is_denied_in_every_wording() {
        for (text, expected) in [
            ("La résidence ne dispose pas d'ascenseur", Some(false)),
            ("immeuble non équipé d’un ascenseur", Some(false)),
            ("ni cave ni ascenseur", Some(false)),
            ("dépourvu d'ascenseur", Some(false)),
            ("absence d'ascenseur", Some(false)),
            ("Ascenseur : NON", Some(false)),
            ("Ascenseur\nNon", Some(false)),
            ("pas de vis-à-vis, ascenseur", Some(true)),
            ("Ascenseur : OUI", Some(true)),
            ("Ascenseur\nNon meublé", Some(true)),
            ("3e étage avec ascenseur", Some(true)),
        ] {
            let tokens = tokens(text);
            let found = characteristics(&tokens).find(|(field, _)| *field == "hasLift");
            assert_eq!(found.map(|(_, has)| has), expected, "{text}");
        }
    }

    #[test]
    fn class_and_offer_are_read_from_titles() {
        for case in [
            "FLAT BUY | Vente appartement 3 pièces avec garage",
            "HOUSE RENT | Maison à louer, terrain 500 m²",
            "FLAT BUY | À vendre T3 lumineux",
            "PARKING RENT | Location parking souterrain",
            "HOUSE LIFE_ANNUITY_SALE | Viager occupé : vente maison",
            "LAND BUY | Terrain à bâtir à vendre",
            "LAND BUY | Vente terrain pour maison individuelle",
            "PARKING BUY | À vendre place de parking, quartier maison blanche",
            "BUILDING BUY | Vends immeuble de 6 appartements",
            "FLAT BUY | À vendre : Immeuble récent avec ascenseur, appartement 3 pièces 62 m²",
            "FLAT BUY | Garage et cave inclus pour ce bel appartement à vendre",
            "HOUSE BUY | Terrain arboré et maison 5 pièces à vendre",
            "PREMISES RENT | Local commercial à louer au rez-de-chaussée d'une maison",
            "HOUSE BUY | Sur terrain de 500 m², belle maison à vendre",
            "FLAT BUY | T3 lumineux avec garage à vendre",
            "FLAT BUY | Appartement vendu loué, 650 €/mois",
            "FLAT RENT | Loue appartement T2",
            "FLAT BUY | vente idéal investissement locatif studio",
        ] {
            let (expected, text) = case.split_once(" | ").unwrap();
            let tokens = tokens(text);
            let (class, offer) = (class(&tokens).unwrap(), offer(&tokens).unwrap());
            let expected = format!("CLASS_{}", expected.replace(' ', " OFFER_"));
            assert_eq!(format!("{class} {offer}"), expected, "{text}");
        }
        let none = tokens("Bienvenue");
        assert_eq!((class(&none), offer(&none)), (None, None));
        for case in [
            "CLASS_FLAT | La Maison Cécile Guillo vous invite à découvrir ce superbe appartement de 147 m²",
            "CLASS_PARKING | La Villa Immobilier vous propose un garage",
            "CLASS_HOUSE | Cette maison vous propose 4 chambres et un studio",
            "CLASS_HOUSE | L'agence vous propose cette maison avec studio",
            "CLASS_FLAT | Bel appartement 5 pièces au 2ème étage, gardienne à demeure",
            "none | Situé au 3e étage, quatre pièces avec gardien à demeure",
            "none | L'office notarial vous propose ce 3 pièces",
            "CLASS_HOUSE | Hôtel Particulier avec garage",
            "CLASS_FLAT | Appartement dans un hôtel particulier",
            "none | 3 pièces dans un hôtel particulier",
            "CLASS_PREMISES | Vente murs commerciaux",
            "CLASS_SHOP | restaurant",
            "CLASS_SHOP | Vente restaurant 80 m²",
            "CLASS_SHOP | salon esthetique",
            "CLASS_SHOP | Salon d’esthétique à céder",
            "none | Salon, cuisine, proche restaurant",
            "none | À louer. Boulangerie et pharmacie à deux pas",
            "none | À vendre\nRestaurant au coin de la rue",
            "CLASS_FLAT | À vendre. Pharmacie à deux pas de ce T3 lumineux",
            "CLASS_SHOP | À vendre : restaurant. Terrasse de 40 m²",
            "CLASS_SHOP | À VENDRE. RESTAURANT licence IV, 80 couverts",
            "CLASS_SHOP | À vendre\nBoulangerie pâtisserie",
            "CLASS_FLAT | Bar-le-Duc T3 65 m²",
            "CLASS_SHOP | Bar sur la place",
            "none | Cave à vendre dans un bel immeuble",
            "CLASS_BUILDING | Superbe immeuble de 3 appartements",
            "CLASS_BUILDING | Immeuble comprenant trois appartements",
            "CLASS_FLAT | Appartement dans un immeuble de 3 appartements",
            "CLASS_PARKING | Deux parkings",
            "CLASS_PARKING | 3 garages",
            "CLASS_FLAT | Superbe appartement avec 2 garages",
            "CLASS_FLAT | Métro Château Rouge. Appartement 2 pièces meublé",
            "CLASS_FLAT | Métro Plaisance, rue Villa Duthy. Studio rénové",
            "CLASS_FLAT | Proche Maisons-Alfort, studio meublé",
            "none | Rue du Château, 2 pièces de 27 m²",
            "none | À deux pas du château d'eau, 2 pièces",
            "CLASS_HOUSE | Château du XVIIe siècle",
            "CLASS_HOUSE | Dans rue calme, maison 5 pièces",
            "CLASS_PARKING | Garage rue de la Villa",
            "none | Deux pièces à louer. Parking inclus",
            "none | Deux pièces de 46 m², clair, chambre sur cour",
            "none | Au pied du métro. Commerce à proximité. Location 3 pièces",
            "none | Face à la Bourse de Commerce, charges comprises",
            "none | Pas de local à vélos, une pièce de 22 m²",
            "CLASS_SHOP | Centre-ville, commerce de 40 m²",
            "CLASS_FLAT | 3 pièces de 57 m² au 3e étage avec ascenseur",
            "none | 5 pièces de bureaux, ascenseur",
            "none | Immeuble haussmannien, 92 m² au 4e étage",
            "CLASS_BUILDING | Immeuble de rapport : commerce au RDC, logement au 2e étage",
        ] {
            let (expected, text) = case.split_once(" | ").unwrap();
            assert_eq!(class(&tokens(text)).unwrap_or("none"), expected, "{text}");
        }
    }

    #[test]
    fn amenities_are_distinguished_from_missing_ones() {
        let text = tokens("Sans ascenseur, avec balcon et deux caves, proche piscine");
        let found: Vec<_> = characteristics(&text).collect();
        let expected = [
            ("hasLift", false),
            ("hasBalcony", true),
            ("hasCellar", true),
        ];
        assert_eq!(found, expected);
    }
}
