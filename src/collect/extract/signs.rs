//! What a page is when it is no listing: gone, behind a login, a wall against programs, a list of listings.

use super::document::Document;
use super::french::tokens::{Token, tokens};

/// Bytes at the beginning of a page's text in which it says that the listing is gone.
const HEAD_BYTES: usize = 1_500;

/// Phrases that say a listing is off line, as words without case and accents.
const OFFLINE: [&str; 15] = [
    "annonce n est plus disponible",
    "annonce n est plus en ligne",
    "annonce a expire",
    "annonce expiree",
    "annonce desactivee",
    "annonce supprimee",
    "annonce a ete supprimee",
    "annonce a ete retiree",
    "annonce introuvable",
    "bien n est plus disponible",
    "bien n est plus a la vente",
    "bien est deja vendu",
    "bien a ete vendu",
    "bien deja loue",
    "annonce que vous recherchez n existe plus",
];
/// Phrases in titles of pages that ask who is there.
const LOGIN: [&str; 6] = [
    "connexion",
    "se connecter",
    "connectez vous",
    "identifiez vous",
    "identification",
    "log in",
];
/// Phrases of pages that keep programs out.
const WALL: [&str; 8] = [
    "captcha",
    "acces refuse",
    "access denied",
    "just a moment",
    "verifying you are human",
    "vous etes un robot",
    "unusual traffic",
    "enable js and disable any ad blocker",
];
/// Phrases of pages that are not there, whatever their status says.
const MISSING: [&str; 4] = [
    "page introuvable",
    "page non trouvee",
    "page not found",
    "erreur 404",
];

/// Whether a page says that its listing is off line.
pub fn is_offline(document: &Document) -> bool {
    let head = &document.text[..document.text.floor_char_boundary(HEAD_BYTES)];
    [document.title.as_str(), document.heading.as_str(), head]
        .iter()
        .any(|text| says(text, &OFFLINE))
}

/// Why a page that is no listing is none; `None` when it does not say.
pub fn obstacle(document: &Document) -> Option<Obstacle> {
    let head = &document.text[..document.text.floor_char_boundary(HEAD_BYTES)];
    let headings = [document.title.as_str(), document.heading.as_str()];
    if headings.iter().any(|text| says(text, &MISSING)) {
        return Some(Obstacle::Missing);
    }
    if document.asks_password || headings.iter().any(|text| says(text, &LOGIN)) {
        return Some(Obstacle::Login);
    }
    let is_wall = headings.iter().chain([&head]).any(|text| says(text, &WALL));
    is_wall.then_some(Obstacle::Wall)
}

/// What stands before a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is not there.
    Missing,
    /// It is for those who log in.
    Login,
    /// It is kept from programs.
    Wall,
}

/// Whether a text holds one of some phrases, word by word.
pub fn says(text: &str, phrases: &[impl AsRef<str>]) -> bool {
    let words: Vec<String> = tokens(text)
        .into_iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.to_ascii_lowercase()),
            Token::Number(_, digits) => Some(digits),
            _ => None,
        })
        .collect();
    let text = format!(" {} ", words.join(" "));
    phrases
        .iter()
        .any(|phrase| text.contains(&format!(" {} ", phrase.as_ref())))
}

/// A phrase as [`says`] compares it.
pub fn phrase(text: &str) -> String {
    let words = tokens(text).into_iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.to_ascii_lowercase()),
        Token::Number(_, digits) => Some(digits),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_whatever_their_accents_and_apostrophes() {
        assert!(says(
            "Désolé, cette annonce n’est plus disponible.",
            &OFFLINE
        ));
        assert!(says("Le bien n'est plus à la vente", &OFFLINE));
        assert!(!says("Annonce mise en ligne, disponible", &OFFLINE));
        assert_eq!(
            phrase("L'annonce a été RETIRÉE !"),
            "l annonce a ete retiree"
        );
    }
}
