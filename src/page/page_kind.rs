//! Detects pages that are not listings: offline, missing, behind a login, or a bot wall.

use super::document::PageDocument;
use super::french::tokens::{Token, phrase, tokens};

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
/// Lines that mark a home as rented or sold, by themselves. In a longer line they may describe a home with a tenant.
const RENTED: [&str; 4] = ["loue", "deja loue", "bien loue", "loue par notre agence"];
const SOLD: [&str; 5] = [
    "vendu",
    "deja vendu",
    "bien vendu",
    "vendu par notre agence",
    "vendu par l agence",
];
/// Words after `vendu` in the title of a home that is on sale.
const SOLD_HOW: [&str; 8] = [
    "loue", "louee", "occupe", "libre", "avec", "par", "meuble", "en",
];
/// Entries of menus, whose neighbours are entries too.
const MENU: [&str; 8] = [
    "acheter", "louer", "vendre", "a louer", "a vendre", "estimer", "vente", "location",
];
/// Maximum number of words of a line that ends with such words, as the label of a button does.
const ENDED_LABEL_WORDS_MAX: usize = 6;
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
const WALL: [&str; 25] = [
    "captcha",
    "acces refuse",
    "access denied",
    "just a moment",
    "un instant",
    "attention required",
    "verifying you are human",
    "verify you are human",
    "verification required",
    "verifiez que vous etes humain",
    "verification de securite",
    "security check",
    "checking your browser",
    "vous etes un robot",
    "unusual traffic",
    "you have been blocked",
    "you are unable to access",
    "request unsuccessful",
    "request blocked",
    "acces temporairement restreint",
    "acces bloque",
    "ddos protection",
    "pardon our interruption",
    "access to this page has been denied",
    "enable js and disable any ad blocker",
];
/// Strings in the source of bot walls, as their vendors spell them. Ordinary pages may contain some too, so they count
/// only on a page that shows almost no text.
const WALL_SOURCES: [&str; 9] = [
    "captcha-delivery.com",
    "/cdn-cgi/challenge-platform/",
    "cf-turnstile",
    "_Incapsula_Resource",
    "px-captcha",
    "PerimeterX",
    "awsWafCookieDomainList",
    "token.awswaf.com",
    "_kpsdk",
];
/// Maximum length of the text of a bot wall, bytes.
const WALL_TEXT_BYTES_MAX: usize = 1_200;
/// Maximum length of the text of a login page, bytes; a longer page has content in addition to its login form.
const LOGIN_TEXT_BYTES_MAX: usize = 3_000;
/// Phrases in titles and headings of lists of listings and of the front pages of agencies.
const LISTS: [&str; 41] = [
    "annonces immobilieres",
    "nos annonces",
    "toutes les annonces",
    "liste des annonces",
    "nos biens",
    "nos maisons",
    "nos appartements",
    "nos terrains",
    "nos locations",
    "nos ventes",
    "nos offres",
    "biens a louer",
    "biens a vendre",
    "biens immobiliers",
    "appartements a louer",
    "appartements a vendre",
    "maisons a louer",
    "maisons a vendre",
    "terrains a vendre",
    "logements a louer",
    "studios a louer",
    "location appartements",
    "vente appartements",
    "location maisons",
    "vente maisons",
    "votre recherche",
    "resultats",
    "resultat de recherche",
    "resultats de recherche",
    "biens correspondent",
    "annonces correspondent",
    "location immobiliere",
    "vente immobiliere",
    "agence immobiliere",
    "votre agence",
    "achat immobilier",
    "estimation immobiliere",
    "prix immobilier",
    "prix de l immobilier",
    "prix au m2",
    "immobilier a vendre",
];
/// Words that count listings after a number in a subheading. The others also count the parts of a building.
const COUNTED_LISTINGS: [&str; 3] = ["annonces", "biens", "resultats"];
/// Words that count listings after a number: `25 annonces`.
const COUNTED: [&str; 8] = [
    "annonces", "biens", "offres", "logements", "appartements", "maisons", "resultats", "locations",
];

/// Phrases of missing pages, regardless of their status code.
const MISSING: [&str; 4] = [
    "page introuvable",
    "page non trouvee",
    "page not found",
    "erreur 404",
];

/// Returns whether a page says that its listing is offline.
pub fn is_offline(document: &PageDocument) -> bool {
    let head = head(&document.text);
    let mut texts = document.headings().into_iter().chain([head]);
    texts.any(|text| contains_any(text, &OFFLINE))
}

/// Returns whether a page marks its home as rented or sold: `Loué !`, `Dépôt de candidature : déjà loué`.
pub fn is_ended(document: &PageDocument, is_rent: bool) -> bool {
    // It may be about one of the others.
    if document.cards.count() > 0 || names_many(document) || counts_listings(document) {
        return false;
    }
    let (phrases, last) = if is_rent {
        (&RENTED[..], "deja loue")
    } else {
        (&SOLD[..], "deja vendu")
    };
    let is_label = |line: &str| {
        let line = phrase(line);
        line.ends_with(last) && line.split(' ').count() <= ENDED_LABEL_WORDS_MAX
    };
    // `Vendu loué`, `Vendu occupé` and `Vendu par particulier` are on sale.
    let starts_sold = |heading: &str| {
        let heading = phrase(heading);
        let mut words = heading.split(' ');
        let is_sold = words.next() == Some("vendu") && !is_rent;
        is_sold && words.next().is_some_and(|next| !SOLD_HOW.contains(&next))
    };
    let lines: Vec<String> = head(&document.text).lines().map(phrase).collect();
    let is_menu = |line: Option<&String>| line.is_some_and(|line| MENU.contains(&line.as_str()));
    let is_mark = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| lines.get(before));
        let is_marked = phrases.contains(&lines[place].as_str());
        is_marked && !is_menu(before) && !is_menu(lines.get(place + 1))
    };
    (0..lines.len()).any(is_mark)
        || head(&document.whole_text).lines().any(is_label)
        || document.headings().into_iter().any(starts_sold)
}

/// Returns the beginning of a text.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(HEAD_BYTES)]
}

/// Returns whether the title or heading of a page names several listings, or an agency: `Appartements à louer`, `25
/// annonces`.
pub fn names_many(document: &PageDocument) -> bool {
    document.headings().iter().any(|text| {
        let counts = tokens(text).windows(2).any(|pair| is_count(pair, &COUNTED));
        counts || contains_any(text, &LISTS)
    })
}

/// Returns whether the first subheading of a page begins with a number of listings: `4 annonces immobilières`.
pub fn counts_listings(document: &PageDocument) -> bool {
    let tokens = tokens(&document.subheading);
    tokens
        .get(..2)
        .is_some_and(|pair| is_count(pair, &COUNTED_LISTINGS))
}

/// Returns whether two words are a number above one and one of these words.
fn is_count(pair: &[Token], words: &[&str]) -> bool {
    pair[0].whole().is_some_and(|count| count > 1) && pair[1].is_any(words)
}

/// Returns the reason that a page gives for not showing a listing; `None` if it gives none.
pub fn obstacle(document: &PageDocument, source: &str) -> Option<Obstacle> {
    let text = &document.whole_text;
    let headings = document.headings();
    if headings.iter().any(|text| contains_any(text, &MISSING)) {
        return Some(Obstacle::Missing);
    }
    let is_bare = text.len() <= WALL_TEXT_BYTES_MAX;
    let is_wall = headings
        .iter()
        .chain(is_bare.then_some(&head(text)))
        .any(|text| contains_any(text, &WALL));
    if is_wall || is_bare && WALL_SOURCES.iter().any(|part| source.contains(part)) {
        return Some(Obstacle::Wall);
    }
    let is_short = text.len() <= LOGIN_TEXT_BYTES_MAX;
    let is_login = document.asks_password && is_short;
    (is_login || headings.iter().any(|text| contains_any(text, &LOGIN))).then_some(Obstacle::Login)
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
pub fn contains_any(text: &str, phrases: &[impl AsRef<str>]) -> bool {
    let text = format!(" {} ", phrase(text));
    phrases
        .iter()
        .any(|phrase| text.contains(&format!(" {} ", phrase.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_with_any_accents_and_apostrophes() {
        for (text, is_offline) in [
            ("Désolé, cette annonce n’est plus disponible.", true),
            ("Le bien n'est plus à la vente", true),
            ("Annonce mise en ligne, disponible", false),
        ] {
            assert_eq!(contains_any(text, &OFFLINE), is_offline, "{text}");
        }
        let written = "L'annonce a été RETIRÉE !";
        assert_eq!(phrase(written), "l annonce a ete retiree");
    }
}
