//! Detects pages that are not listings: offline, missing, behind a login, or a bot wall.

use super::document::PageDocument;
use super::french::tokens::{Token, tokens};

/// Number of bytes at the start of a page's text that are searched for a notice that the listing is offline, or for a
/// bot wall.
const HEAD_BYTES: usize = 1_500;

/// Phrases that mark a listing as offline, as words in lower case without accents.
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
/// Phrases in titles of login pages.
const LOGIN: [&str; 6] = [
    "connexion",
    "se connecter",
    "connectez vous",
    "identifiez vous",
    "identification",
    "log in",
];
/// Phrases of bot walls.
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
/// Phrases of missing pages, whatever their status code.
const MISSING: [&str; 4] = [
    "page introuvable",
    "page non trouvee",
    "page not found",
    "erreur 404",
];

/// Returns whether a page says that its listing is offline.
pub fn is_offline(document: &PageDocument) -> bool {
    let head = &document.text[..document.text.floor_char_boundary(HEAD_BYTES)];
    [document.title.as_str(), document.heading.as_str(), head]
        .iter()
        .any(|text| says(text, &OFFLINE))
}

/// Returns why a page shows no listing; `None` if the page does not say.
pub fn obstacle(document: &PageDocument) -> Option<Obstacle> {
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

/// An obstacle to reading a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The page does not exist.
    Missing,
    /// The page requires a login.
    Login,
    /// The page is behind a bot wall.
    Wall,
}

/// Returns whether a text contains one of the phrases, compared word by word.
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

/// Normalises a phrase for [`says`].
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
    fn phrases_are_found_with_any_accents_and_apostrophes() {
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
