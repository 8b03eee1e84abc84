//! Recognises rooms of shared flats, each let alone for its own rent.
//!
//! Such adverts show the text, the surface and the position of the whole flat, so these do not identify the room.

use super::text::FoldedText;
use toise_contract::enums::{EnumPropertyClass, EnumPropertyOfferType};
use toise_contract::listings::Advert;

/// Phrases of descriptions that only rooms of shared flats have.
const PHRASES: [&[u8]; 16] = [
    b"chambre en colocation",
    b"chambres en colocation",
    b"chambre meublee en colocation",
    b"chambre disponible en colocation",
    b"chambre est disponible en colocation",
    b"chambre dans colocation",
    b"chambre dans un appartement partage",
    b"chambre dans un appartement en colocation",
    b"chambre dans une maison en colocation",
    b"chambre chez l habitant",
    b"chambre chez l'habitant",
    b"chambre privee",
    b"chambre privative",
    b"chambre individuelle",
    b"rejoindre une colocation",
    b"rejoindre la colocation",
];
/// Words of descriptions that name a shared home, unless one of [`OPEN_WORDS`] is just before them.
const SHARED_HOMES: [&[u8]; 7] = [
    b"coliving",
    b"co-living",
    b"dans une colocation",
    b"dans cette colocation",
    b"dans notre colocation",
    b"sein d une colocation",
    b"sein d'une colocation",
];
/// Words before or after a word for a shared home that are searched for an open word: `possibilité de coliving`.
const OPEN_WORDS_REACH: usize = 3;
/// Words of a title that name a shared flat, unless one of [`OPEN_WORDS`] is there too.
const SHARED_WORDS: [&[u8]; 4] = [b"colocation", b"colocations", b"coloc", b"coliving"];
/// Words that say that a whole flat would suit sharers, or whether it may be shared.
const OPEN_WORDS: [&[u8]; 26] = [
    b"acceptee", b"acceptees", b"adapte", b"adaptee", b"autorisee", b"autorisees", b"compatible",
    b"convient", b"eligible", b"envisageable", b"ideal", b"ideale", b"interdite", b"interdites",
    b"investisseur", b"investisseurs", b"ok", b"ou", b"parfait", b"parfaite", b"possibilite",
    b"possible", b"potentiel", b"potentielle", b"pour", b"refusee",
];

/// Words that deny the shared flat that is named just after them: `pas de colocation`.
const DENIALS: [&[u8]; 4] = [b"hors", b"non", b"pas", b"sans"];

/// Classes of assets that are not homes to share.
const OTHER_CLASSES: [EnumPropertyClass; 6] = [
    EnumPropertyClass::Building,
    EnumPropertyClass::Land,
    EnumPropertyClass::Office,
    EnumPropertyClass::Parking,
    EnumPropertyClass::Premises,
    EnumPropertyClass::Shop,
];

/// Returns whether an advert for rent shows a room of a shared flat: it says so itself, or its title or text does.
pub fn is_shared_flat(advert: &Advert) -> bool {
    let offer = advert.offer.as_ref();
    if offer.and_then(|offer| offer.offer_type) != Some(EnumPropertyOfferType::Rent) {
        return false;
    }
    let renting = offer.and_then(|offer| offer.renting.as_ref());
    if let Some(is_shared) = renting.and_then(|renting| renting.is_colocation) {
        return is_shared;
    }
    if advert
        .class
        .is_some_and(|class| OTHER_CLASSES.contains(&class))
    {
        return false;
    }
    let folded = |text: Option<&str>| FoldedText::from_text(text.unwrap_or_default());
    let location = advert.location.as_ref();
    let town = folded(location.and_then(|place| place.city.as_deref()));
    let text = folded(advert.description.as_deref());
    is_title_of_room(&folded(advert.title.as_deref()), &town)
        || PHRASES.iter().any(|phrase| text.contains(phrase))
        || SHARED_HOMES.iter().any(|word| is_named(&text, word))
        || begins_with_shared_flat(&text)
}

/// Returns whether a text begins with a word for a shared flat, as its heading, without an open word just after it.
fn begins_with_shared_flat(text: &FoldedText) -> bool {
    let mut words = text.words();
    let begins = words
        .next()
        .is_some_and(|word| SHARED_WORDS.contains(&word));
    begins
        && !words
            .take(OPEN_WORDS_REACH)
            .any(|word| OPEN_WORDS.contains(&word) || DENIALS.contains(&word))
}

/// Returns whether a text contains a word for shared homes without an open word just before it in its clause.
fn is_named(text: &FoldedText, word: &[u8]) -> bool {
    text.clause_before(word).is_some_and(|mut before| {
        let near = before.split_off(before.len().saturating_sub(OPEN_WORDS_REACH));
        let is_open = |one: &&[u8]| OPEN_WORDS.contains(one) || DENIALS.contains(one);
        !near.iter().any(is_open)
    })
}

/// Returns whether an advert shows a room let alone: one of a shared flat, or one of the class of rooms.
pub(super) fn is_room(advert: &Advert) -> bool {
    let offer = advert.offer.as_ref().and_then(|offer| offer.offer_type);
    let is_rent = offer == Some(EnumPropertyOfferType::Rent);
    is_rent && advert.class == Some(EnumPropertyClass::Room) || is_shared_flat(advert)
}

fn is_title_of_room(title: &FoldedText, town: &FoldedText) -> bool {
    let words: Vec<&[u8]> = title.words().collect();
    let has_any = |wanted: &[&[u8]]| words.iter().any(|word| wanted.contains(word));
    let is_denied = words.iter().enumerate().any(|(place, word)| {
        let before = &words[place.saturating_sub(2)..place];
        SHARED_WORDS.contains(word) && before.iter().any(|one| DENIALS.contains(one))
    });
    if has_any(&SHARED_WORDS) && !has_any(&OPEN_WORDS) && !is_denied {
        return true;
    }
    let is_numbered = words.windows(3).any(|run| {
        let number = run[2].iter().all(u8::is_ascii_digit);
        number && matches!((run[0], run[1]), (b"chambre", b"n" | b"no" | b"numero"))
    });
    let of_room: &[&[u8]] = match words.as_slice() {
        // `La Chambre` is a town too.
        [b"la", ..] if town.contains(b"la chambre") => &[],
        [b"la" | b"une", rest @ ..] => rest,
        all => all,
    };
    // A maid's room is a home of its own.
    let begins = match of_room {
        [b"chambre", b"de", b"bonne" | b"service", ..] => false,
        [b"chambre" | b"room", ..] => true,
        [b"private" | b"single" | b"shared", b"room", ..] => true,
        _ => false,
    };
    is_numbered || begins
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toise_contract::read::read;

    #[test]
    fn rooms_of_shared_flats_are_recognised_and_flats_that_would_suit_sharers_are_not() {
        let is_found = |title: &str, text: &str| {
            let offer = json!({"type": "OFFER_RENT"});
            let advert = json!({"title": title, "description": text, "offer": offer});
            is_shared_flat(&read::<Advert>(&advert).unwrap())
        };
        for title in [
            "LA CHAMBRE 12 m² meublée",
            "Chambre n° 3 Lyon 7",
            "Maison 340 m² - chambre n°14",
            "Colocation 4 chambres",
            "Room S (2)",
            "Coliving Part-Dieu",
            "Colocation pas chère, sans frais, non fumeur",
        ] {
            assert!(is_found(title, ""), "{title}");
        }
        assert!(is_found(
            "Maison à louer 340 m²",
            "Belle chambre dans une colocation de 14 personnes."
        ));
        assert!(is_found(
            "Appartement de 85m2",
            "Dans un appartement moderne de 85 m², cette chambre privée d'environ 10 m² offre un cadre paisible."
        ));
        for title in [
            "Appartement idéal colocation",
            "Appartement 1 chambre à louer",
            "Chambre de bonne, 5e étage",
            "T4 avec 3 chambres",
            "T4, pas de colocation",
            "Grand T5, colocations acceptées",
        ] {
            assert!(!is_found(title, "La chambre donne sur cour."), "{title}");
        }
        for text in [
            "COLOCATION\nVotre agence vous propose un T5 meublé.",
            "Bienvenue dans cette colocation entièrement meublée.",
            "Une chambre se libère au sein d'une colocation étudiante.",
        ] {
            assert!(is_found("T5 meublé", text), "{text}");
        }
        assert!(!is_found("T3 tout équipé (coloc ok)", ""));
        for text in [
            "Appartement idéal pour du coliving.",
            "Possibilité de coliving",
            "Colocation acceptée, libre immédiatement.",
            "Idéal pour vivre dans une colocation.",
        ] {
            assert!(!is_found("T5 meublé", text), "{text}");
        }
        assert!(is_found(
            "T5 meublé",
            "Pour étudiants : coliving de 8 studios."
        ));
        let with = |title: &str, field: &str, value: serde_json::Value| {
            let mut advert = json!({"title": title, "offer": {"type": "OFFER_RENT"}});
            advert[field] = value;
            is_shared_flat(&read::<Advert>(&advert).unwrap())
        };
        assert!(!with(
            "La Chambre - T2 50 m²",
            "location",
            json!({"city": "La Chambre"})
        ));
        assert!(!with("Chambre froide", "type", json!("CLASS_PREMISES")));
        let whole = json!({
            "title": "Chambre 12 m²",
            "offer": {"type": "OFFER_RENT", "renting": {"isColocation": false}},
        });
        assert!(!is_shared_flat(&read::<Advert>(&whole).unwrap()));
    }
}
