//! Words in names of elements and attributes that indicate adverts, for choosing the records of an XML document. The
//! names of columns that mappings know are in the contract, which this crate cannot use; these words only rank
//! elements.

/// A price or rent.
pub(super) const PRICE: u16 = 1;
/// A surface, or the number of rooms.
pub(super) const SIZE: u16 = 1 << 1;
const PLACE: u16 = 1 << 2;
const TYPE: u16 = 1 << 3;
const URL: u16 = 1 << 4;
const REFERENCE: u16 = 1 << 5;
const TEXT: u16 = 1 << 6;

/// Words that show the meaning of a field anywhere in its name: `prixvente`, `nbPieces`.
const PARTS: [(u16, &str); 6] = [
    (PRICE, "prix price loyer"),
    (SIZE, "surface superficie pieces rooms"),
    (PLACE, "postal postcode zipcode"),
    (REFERENCE, "reference"),
    (TEXT, "descripti"),
    (URL, "permalink"),
];
/// Shorter words, which say it only by themselves or between separators: `REF_BIEN`.
const WORDS: [(u16, &str); 7] = [
    (PRICE, "rent montant amount"),
    (SIZE, "area m2"),
    (PLACE, "cp zip ville city town commune insee localisation"),
    (TYPE, "type categorie category"),
    (URL, "url link lien href"),
    (REFERENCE, "ref id mandat"),
    (TEXT, "titre title libelle texte"),
];
/// Names of elements that are adverts.
pub(super) const RECORD_NAMES: &str = "annonce bien vente location viager offre advert ad listing property offer \
    estate realestate realty house item row record entry product";
/// Names of elements that contain adverts.
pub(super) const LIST_NAMES: &str = "annonces biens ventes locations viagers offres adverts ads listings properties \
    offers estates items rows records entries";
/// Names of elements that accompany adverts or contain their lists, and of parts of an advert.
pub(super) const OTHER_NAMES: &str = "photo photos image images picture pictures media medias video videos document \
    documents fichier agence agences agency client contact contacts negociateur agent commercial user diagnostic \
    diagnostics honoraires";

/// Returns what the name of a field means, as bits; 0 if nothing is known.
pub(super) fn meaning(name: &str) -> u16 {
    let name = plain(name);
    let mut found = 0;
    for (meaning, parts) in PARTS {
        if parts
            .split_ascii_whitespace()
            .any(|part| name.contains(part))
        {
            found |= meaning;
        }
    }
    for word in name.split(|character: char| !character.is_alphanumeric()) {
        for (meaning, words) in WORDS {
            if words.split_ascii_whitespace().any(|known| known == word) {
                found |= meaning;
            }
        }
    }
    found
}

/// Returns whether a name is one of those in a list, in any spelling.
pub(super) fn is_among(name: &str, names: &str) -> bool {
    let mut name = plain(name);
    name.retain(char::is_alphanumeric);
    names.split_ascii_whitespace().any(|known| known == name)
}

/// Returns a name in lower case without accents, with a separator before an upper-case letter that follows a lower-case
/// one.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && was_lower {
            plain.push('_');
        }
        was_lower = character.is_lowercase();
        plain.extend(character.to_lowercase().map(|character| match character {
            'à' | 'â' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'î' | 'ï' => 'i',
            'ô' => 'o',
            'ç' => 'c',
            other => other,
        }));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_meaning_in_any_spelling_and_not_by_chance() {
        for (name, found) in [
            ("PrixVente", PRICE),
            ("NB_PIECES", SIZE),
            ("codePostal", PLACE),
            ("Référence", REFERENCE),
            ("refBien", REFERENCE),
            ("typeBien", TYPE),
            ("parent", 0),
            ("video", 0),
        ] {
            assert_eq!(meaning(name), found, "{name}");
        }
        assert!(is_among("Real_Estate", RECORD_NAMES) && !is_among("annonces", RECORD_NAMES));
    }
}
