//! Recognises blocks of a page by their classes and headings: blocks of the site, of the agency, of similar listings,
//! the breadcrumb, and the current letter of an energy scale. [`document`](super::document) excludes the first three
//! from the text.
//!
//! A block that contains the main heading is never excluded, regardless of its class, nor is a block of the site with a
//! price.

use scraper::ElementRef;

use super::french::tokens::{Token, phrase, tokens};

/// Maximum length of a heading of a block, bytes.
const HEADING_BYTES_MAX: usize = 120;
/// Maximum length of a block about the agency, bytes; a longer one holds more than its address.
const AGENCY_BYTES_MAX: usize = 1_500;
/// Maximum length of a header or footer that is searched for a price, bytes; a longer one is taken to be a menu.
const HEADER_BYTES_MAX: usize = 3_000;
/// Maximum length of the text with a letter of a scale and its score, bytes.
const LETTER_BYTES_MAX: usize = 40;
/// Maximum number of nodes that are searched in one block.
const NODES_MAX: usize = 5_000;
/// Rank of a heading that is not `h1` to `h6`. Its section ends at the next `h1` or `h2`.
const PLAIN_RANK: u8 = 2;

/// Words in the classes of blocks of similar listings.
const SIMILAR_CLASSES: [&str; 10] = [
    "similar",
    "similars",
    "similaire",
    "similaires",
    "related",
    "recommended",
    "recommendations",
    "suggestions",
    "sim",
    "upsell",
];
/// Words in the classes of blocks about the agency.
const AGENCY_CLASSES: [&str; 8] = [
    "agency", "agence", "agent", "advertiser", "annonceur", "broker", "negociateur", "conseiller",
];
/// Words in the classes of blocks of the site.
const SITE_CLASSES: [&str; 4] = ["cookie", "cookies", "navbar", "newsletter"];
/// Words in the classes of breadcrumbs.
const BREADCRUMB_CLASSES: [&str; 4] = ["breadcrumb", "breadcrumbs", "ariane", "arian"];
/// Classes of letters that are drawn in no colour.
const HIDING_CLASSES: [&str; 3] = ["text-transparent", "invisible", "opacity-0"];
/// Labels of the classes of a diagnostic, as they are read in texts.
pub const ENERGY_LABEL: &str = "DPE";
pub const CLIMATE_LABEL: &str = "GES";
/// Words in the classes of the current letter of a scale.
const ACTIVE_CLASSES: [&str; 5] = ["active", "selected", "current", "actif", "highlighted"];

/// Phrases in headings of similar listings.
const SIMILAR_HEADINGS: [&str; 26] = [
    "biens similaires",
    "annonces similaires",
    "produits similaires",
    "offres similaires",
    "similaires",
    "autres biens",
    "autres annonces",
    "autres offres",
    "autres appartements",
    "autres maisons",
    "autres logements",
    "pourraient vous interesser",
    "pourraient vous plaire",
    "peuvent vous interesser",
    "peuvent aussi vous interesser",
    "vous aimerez aussi",
    "vous aimerez peut etre",
    "susceptibles de vous",
    "nos offres",
    "nos dernieres annonces",
    "dernieres annonces",
    "a decouvrir egalement",
    "communes a proximite",
    "dans le meme secteur",
    "egalement consulte",
    "nos coups de coeur",
];
/// Phrases that start the headings of blocks about the agency.
const AGENCY_HEADINGS: [&str; 13] = [
    "ce bien vous est presente par",
    "ce bien est propose par",
    "propose par",
    "presente par",
    "votre agence",
    "votre conseiller",
    "votre interlocuteur",
    "contactez",
    "contacter",
    "nous contacter",
    "l agence",
    "nos agences",
    "a propos de l agence",
];

/// The subject of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The listing, judging by its class.
    Content,
    /// The site or the agency.
    Site,
    /// Other listings.
    Similar,
    /// The breadcrumb: the path of the page in its site.
    Breadcrumb,
}

/// Returns what a block is about, by its classes and identifier.
pub fn kind(element: ElementRef<'_>) -> BlockKind {
    let name = element.value().name();
    let classes = [element.attr("class"), element.attr("id")];
    let mut found = BlockKind::Content;
    let classes = classes.into_iter().flatten();
    for class in classes.flat_map(str::split_ascii_whitespace) {
        let is_footer = class.starts_with("footer") || class == "site-footer";
        for word in words(class) {
            let is = |known: &[&str]| known.contains(&word.as_str());
            if is(&BREADCRUMB_CLASSES) {
                return BlockKind::Breadcrumb;
            }
            if is(&SIMILAR_CLASSES) {
                found = BlockKind::Similar;
            } else if found == BlockKind::Content
                && (is(&SITE_CLASSES)
                    || is(&AGENCY_CLASSES) && text_within(element, AGENCY_BYTES_MAX).is_some())
            {
                found = BlockKind::Site;
            }
        }
        if is_footer && found == BlockKind::Content {
            found = BlockKind::Site;
        }
    }
    if name == "header" && found == BlockKind::Content {
        found = BlockKind::Site;
    }
    let is_own = || {
        let text = text_within(element, HEADER_BYTES_MAX).filter(|_| found == BlockKind::Site);
        has_main_heading(element) || text.is_some_and(|text| text.contains('€'))
    };
    if found != BlockKind::Content && is_own() {
        return BlockKind::Content;
    }
    found
}

/// Returns the rank of a heading of other listings or of the agency; `None` for any other element. What follows the
/// heading belongs to it, up to the next heading of its rank or higher. The caller makes sure that it is not the main
/// heading.
pub fn foreign_heading(element: ElementRef<'_>) -> Option<u8> {
    let rank = match element.value().name() {
        "p" | "div" if element.child_elements().next().is_none() => PLAIN_RANK,
        _ => heading_rank(element)?,
    };
    let text = phrase(&text_within(element, HEADING_BYTES_MAX)?);
    let padded = format!(" {text} ");
    let is_similar = SIMILAR_HEADINGS
        .iter()
        .any(|heading| padded.contains(&format!(" {heading} ")));
    let is_agency = AGENCY_HEADINGS
        .iter()
        .any(|heading| padded.starts_with(&format!(" {heading} ")));
    (is_similar || is_agency).then_some(rank)
}

/// Returns the rank of `h1` to `h6`.
pub fn heading_rank(element: ElementRef<'_>) -> Option<u8> {
    let rank = element.value().name().strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&rank).then_some(rank)
}

/// Returns whether an element is or contains the main heading, or the main part of the page.
pub fn has_main_heading(element: ElementRef<'_>) -> bool {
    let nodes = element.descendants().take(NODES_MAX);
    nodes
        .filter_map(ElementRef::wrap)
        .any(|inner| matches!(inner.value().name(), "h1" | "main"))
}

/// Returns whether an element is the current letter of an energy scale, by its class.
pub fn is_active_letter(element: ElementRef<'_>) -> bool {
    let class = element.attr("class").unwrap_or_default();
    let mut words = class.split_ascii_whitespace().flat_map(words);
    if !words.any(|word| ACTIVE_CLASSES.contains(&word.as_str())) {
        return false;
    }
    let Some(text) = text_within(element, LETTER_BYTES_MAX) else {
        return false;
    };
    let score = text.strip_prefix(|c| ('A'..='G').contains(&c));
    score.is_some_and(|score| {
        let mut tokens = tokens(score).into_iter();
        let has_letter = score.starts_with(char::is_alphabetic);
        !has_letter && tokens.all(|token| token.word().is_none_or(is_unit))
    })
}

/// Returns whether a word belongs to the unit of a score: `kWh/m².an`, `kg CO2/m²/an`.
fn is_unit(word: &str) -> bool {
    let starts = ["kwh", "kg", "m2", "an", "co2", "eqco2", "ep"];
    starts.iter().any(|start| word.starts_with(start))
}

/// Returns the label and letter of an element whose class names the letter of the score in it:
/// `<div class="diagnostic-scale numberE">315 kWh/m².an</div>`.
pub fn letter_class(element: ElementRef<'_>) -> Option<(&'static str, char)> {
    let class = element.attr("class")?;
    let letter = class.split_ascii_whitespace().find_map(|class| {
        let words = words(class);
        let (last, first) = words.split_last()?;
        let letter = single_letter(last)?;
        (!first.is_empty()).then_some(letter)
    })?;
    let text = text_within(element, LETTER_BYTES_MAX)?;
    let tokens = tokens(&text);
    tokens.first()?.number()?;
    // Two numbers are the limits of a class.
    let is_score = tokens[1..]
        .iter()
        .all(|token| token.number().is_none() && token.word().is_none_or(is_unit));
    let unit = tokens[1..].iter().find_map(Token::word)?;
    match unit {
        _ if !is_score => None,
        _ if unit.starts_with("kwh") => Some((ENERGY_LABEL, letter)),
        _ if unit.starts_with("kg") => Some((CLIMATE_LABEL, letter)),
        _ => None,
    }
}

/// Returns the label and letter that the name of an image gives: `etiquette_DPE-Energie_E.svg`.
pub fn letter_image(element: ElementRef<'_>) -> Option<(&'static str, char)> {
    let source = element.attr("src").or(element.attr("data-src"))?;
    let name = source.split(['?', '#']).next()?.rsplit('/').next()?;
    let (stem, _) = name.rsplit_once('.')?;
    let words = words(stem);
    let (last, first) = words.split_last()?;
    let letter = single_letter(last)?;
    // `dpe-a-g.png` shows the scale.
    if first.last().is_some_and(|word| word.len() == 1) {
        return None;
    }
    let names = |known: &[&str]| first.iter().any(|word| known.contains(&word.as_str()));
    if names(&["ges", "climat", "climate"]) {
        return Some((CLIMATE_LABEL, letter));
    }
    names(&["dpe", "energie", "energy"]).then_some((ENERGY_LABEL, letter))
}

/// Returns whether an element is a letter of a scale that its style hides.
pub fn is_transparent_letter(element: ElementRef<'_>) -> bool {
    let mut classes = element
        .attr("class")
        .unwrap_or_default()
        .split_ascii_whitespace();
    classes.any(|class| HIDING_CLASSES.contains(&class))
        && text_within(element, 1).is_some_and(|text| text.len() == 1)
}

/// Returns the class that a word of one letter names.
fn single_letter(word: &str) -> Option<char> {
    let letter = word.chars().next().filter(|_| word.len() == 1)?;
    let letter = letter.to_ascii_uppercase();
    ('A'..='G').contains(&letter).then_some(letter)
}

/// Returns the text of an element, its white space collapsed; `None` if it is longer than the limit.
fn text_within(element: ElementRef<'_>, bytes_max: usize) -> Option<String> {
    let mut text = String::new();
    for (visited, node) in element.descendants().enumerate() {
        if let Some(piece) = node.value().as_text() {
            for word in piece.split_whitespace() {
                text.push_str(word);
                text.push(' ');
            }
        }
        if text.len() > bytes_max + 1 || visited >= NODES_MAX {
            return None;
        }
    }
    text.truncate(text.trim_end().len());
    Some(text)
}

/// Splits a class into its words in lower case: `similarBlock`, `is-agency-name`, `bubble--active`.
fn words(class: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in class.chars() {
        let starts = character.is_ascii_uppercase() && was_lower;
        if (starts || !character.is_alphanumeric())
            && words.last().is_some_and(|word| !word.is_empty())
        {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(character.to_ascii_lowercase());
        }
        was_lower = character.is_ascii_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use scraper::{Html, Selector};

    fn first(html: &str, read: impl Fn(ElementRef<'_>) -> bool) -> bool {
        let html = Html::parse_fragment(html);
        let any = Selector::parse("body > *, html > *").unwrap();
        let element = html
            .select(&any)
            .find(|element| element.value().name() != "body");
        read(element.unwrap())
    }

    #[test]
    fn blocks_are_recognised_by_the_words_of_their_classes() {
        use BlockKind::{Breadcrumb, Content, Similar, Site};
        for (expected, html) in [
            (Similar, "<div class=similarBlock>x</div>"),
            (Similar, "<div class='properties-related x'>x</div>"),
            (Site, "<div class=contact-agence>06000 Nice</div>"),
            (Site, "<div id=footer>x</div>"),
            (Content, "<div class=card-footer>350 000 €</div>"),
            (Breadcrumb, "<ol class=breadcrumb__items><li>Nice</ol>"),
            (Content, "<div class=agency><h1>T3</h1></div>"),
            (Site, "<header>Menu</header>"),
            (Content, "<header>Studio 62 000 €</header>"),
            (Content, "<header><h1>T3</h1></header>"),
        ] {
            assert!(first(html, |element| kind(element) == expected), "{html}");
        }
    }

    #[test]
    fn headings_of_other_listings_and_of_the_agency_are_foreign() {
        for (html, expected) in [
            ("<h2>Produits similaires</h2>", true),
            ("<h3>Ces biens pourraient vous intéresser</h3>", true),
            ("<p>Proposé par votre agence :</p>", true),
            ("<h2>Description</h2>", false),
        ] {
            let found = first(html, |element| foreign_heading(element).is_some());
            assert_eq!(found, expected, "{html}");
        }
    }

    #[test]
    fn the_current_letter_of_a_scale_has_an_active_class() {
        for (html, expected) in [
            ("<span class='bubble bubble--active'> B </span>", true),
            ("<span class='bubble--unactive'>B</span>", false),
            ("<li class=active>Description</li>", false),
        ] {
            assert_eq!(first(html, is_active_letter), expected, "{html}");
        }
    }
}
