//! Decides which town a listing is in, from the sources that name it: title, heading, address of the page, breadcrumb,
//! structured data of the offer, and the text.
//!
//! A town is *written* if it comes with a postal code, a department or an arrondissement, and *named* if only its name
//! is given. A written town in the title or heading overrides structured data. A name counts as a town if the page
//! confirms it by a postal code or a department. Without that, it must not be an everyday word, and one commune of the
//! name must be far larger than all others. The address of the agency can confirm a name, but it is never used as the
//! town itself.

use serde_json::Value;

use toise_geo::places::Place;
use toise_geo::{communes, departments};
use toise_page::document::PageDocument;
use toise_page::findings::{FieldOrigin, PageFindings};
use toise_page::french::knows_place;
use toise_page::french::places::{self, NAME_WORDS_MAX, TextPlace};
use toise_page::french::tokens::{Token, fold, tokens};

const ORIGIN: FieldOrigin = FieldOrigin::Text;
const POSTAL_CODE: &str = "location.postalCode";
const INSEE_CODE: &str = "location.inseeCode";
const CITY: &str = "location.city";
const POSITION: &str = "location.locationCoordinate.location";

/// Number of digits of a postal code.
const POSTAL_CODE_DIGITS: usize = 5;
/// Minimum population of a commune that its name alone identifies.
const POPULATION_MIN: u32 = 1_000;
/// If several communes have the same name, it means the largest only if that has at least this many times the
/// population of the next.
const POPULATION_RATIO_MIN: u32 = 5;
/// Minimum length of a town's name, bytes.
const NAME_BYTES_MIN: usize = 3;
/// Maximum number of words of a line in which a town's name may be read.
const LINE_WORDS_MAX: usize = 8;
/// Maximum number of words of such a line if nothing on the page confirms the name.
const NAME_LINE_WORDS_MAX: usize = 4;
/// Minimum population of a town that is read from a line without confirmation.
const NAME_LINE_POPULATION_MIN: u32 = 10_000;
/// Maximum number of lines of the text that are read for a name.
const LINES_MAX: usize = 200;
/// Number of lines after a word for the agency in which addresses are taken to be the agency's.
const AGENCY_LINES: usize = 4;

/// Common words in adverts that are also names of communes, without an article.
const EVERYDAY: [&str; 56] = [
    "mer", "vue", "ville", "jardin", "jardins", "bois", "grand", "grande", "parc", "port", "pont",
    "calme", "maisons", "plage", "terrasse", "lac", "chateau", "belle", "bel", "beau", "neuf",
    "rue", "place", "cour", "cours", "tour", "centre", "coeur", "villa", "villas", "local",
    "moulin", "ferme", "mas", "hameau", "sur", "contes", "vers", "bord", "ensemble", "louer",
    "loue", "montagne", "bourg", "quartier", "chemin", "confort", "salon", "bonne", "bains",
    "mars", "pierres", "caves", "grange", "chambre", "ventes",
];
/// Articles before a name.
const ARTICLES: [&str; 4] = ["le ", "la ", "les ", "l "];
/// Words in parts of a title that name the agency.
const AGENCY: [&str; 20] = [
    "agence", "immobilier", "immobiliere", "immo", "properties", "property", "gestion", "cabinet",
    "notaire", "century", "laforet", "orpi", "hoquet", "citya", "foncia", "era", "barnes", "iad",
    "safti", "nestenn",
];
/// Words before addresses of the agency in the text.
const AGENCY_LABELS: [&str; 12] = [
    "agence", "agences", "siege", "rcs", "siret", "cabinet", "mediateur", "mediation",
    "conseiller", "conseillere", "contact", "carte",
];
/// Words before a town that say the listing is near it, not in it.
const NEAR: [&str; 12] = [
    "proche", "pres", "limite", "limitrophe", "minutes", "min", "km", "vers", "direction", "entre",
    "gare", "acces",
];

/// The postal codes and departments on the whole page, which confirm names of towns.
#[derive(Default)]
struct PlaceEvidence {
    postal_codes: Vec<String>,
    departments: Vec<&'static str>,
}

impl PlaceEvidence {
    /// Returns whether the page has one of the postal codes of a commune.
    fn has_code_of(&self, commune: &Place) -> bool {
        let mut codes = self.postal_codes.iter();
        codes.any(|code| commune.postal_codes.contains(&code.as_str()))
    }
}

/// Decides the town before the texts are read, and corrects the structured data if the page contradicts it.
pub fn read(document: &PageDocument, url: &str, findings: &mut PageFindings) {
    let evidence = evidence(document, url, findings);
    let headings = document.headings();
    let written = headings
        .iter()
        .find_map(|text| places::place(&tokens(text)));
    let paths = [path(url), path(&document.canonical)];
    let in_url = paths.iter().find_map(|path| in_path(path));
    if knows_place(findings) {
        let named = || {
            let mut named = headings
                .iter()
                .filter_map(|text| named(&parts(text), &evidence));
            let town = named.next()?;
            let is_same = |other: &TextPlace| other.city == town.city;
            let in_url = in_url
                .clone()
                .or_else(|| paths.iter().find_map(|path| name_in_path(path, &evidence)));
            in_url.filter(is_same).map(|_| town)
        };
        if let Some(place) = written
            .or_else(named)
            .filter(|place| is_elsewhere(place, findings))
        {
            for field in [POSTAL_CODE, INSEE_CODE, CITY, POSITION] {
                findings.remove(field);
            }
            put(place, findings);
        }
        return;
    }
    let structured = findings.get(CITY).and_then(Value::as_str);
    let found = written
        .or(in_url)
        .or_else(|| {
            headings
                .iter()
                .find_map(|text| named(&parts(text), &evidence))
        })
        .or_else(|| paths.iter().find_map(|path| name_in_path(path, &evidence)))
        .or_else(|| named(&document.breadcrumb.lines().collect::<Vec<_>>(), &evidence))
        .or_else(|| named(&[structured?], &evidence))
        .or_else(|| {
            let described = document.meta(&["og:title", "description", "og:description"])?;
            places::place(&tokens(described)).or_else(|| named(&parts(described), &evidence))
        });
    if let Some(place) = found {
        findings.remove(CITY);
        put(place, findings);
    }
}

/// Reads the town in the text of the page, if it is not known, and completes the name of a town known by its code.
pub fn complete(document: &PageDocument, url: &str, findings: &mut PageFindings) {
    if !knows_place(findings) {
        let found = in_text(&document.text).or_else(|| {
            let evidence = evidence(document, url, findings);
            name_in_text(&document.text, &evidence)
        });
        if let Some(place) = found {
            put(place, findings);
        }
    }
    if !findings.has(POSTAL_CODE)
        && let Some(place) = in_text(&document.text)
        && let Some(city) = findings.get(CITY).and_then(Value::as_str)
        && is_in_city(&place, city)
    {
        findings.set_optional(POSTAL_CODE, place.postal_code, ORIGIN);
    }
    if !findings.has(CITY)
        && let Some(code) = findings.get(POSTAL_CODE).and_then(Value::as_str)
    {
        let of_code: Vec<&Place> = communes::find_by_postal_code(code).take(2).collect();
        if let [only] = of_code[..] {
            findings.put(CITY, only.name, ORIGIN);
        }
    }
}

/// Returns whether a place is in the city with a name. A labelled postal code may stand alone.
fn is_in_city(place: &TextPlace, city: &str) -> bool {
    match (&place.city, &place.postal_code) {
        (Some(own), _) => own == city,
        (None, Some(code)) => communes::find_by_postal_code_and_name(code, city).is_some(),
        (None, None) => false,
    }
}

fn put(place: TextPlace, findings: &mut PageFindings) {
    findings.set_optional(POSTAL_CODE, place.postal_code, ORIGIN);
    findings.set_optional(INSEE_CODE, place.insee_code, ORIGIN);
    findings.set_optional(CITY, place.city, ORIGIN);
}

/// Returns whether a place is in a different commune from the findings, which come from structured data.
fn is_elsewhere(place: &TextPlace, findings: &PageFindings) -> bool {
    let text = |path: &str| findings.get(path).and_then(Value::as_str);
    let Some(city) = place.city.as_deref() else {
        return false;
    };
    if findings.is_of_portal(POSTAL_CODE) {
        return false;
    }
    let (city, known) = (fold(city).replace('-', " "), text(CITY).map(fold));
    let is_same_name = known.is_some_and(|known| {
        let known = known.replace('-', " ");
        known.starts_with(first_word(&city)) || city.starts_with(first_word(&known))
    });
    let is_same_code =
        place.postal_code.is_some() && place.postal_code.as_deref() == text(POSTAL_CODE);
    let is_of_code = text(POSTAL_CODE)
        .is_some_and(|code| communes::find_by_postal_code_and_name(code, &city).is_some());
    !(is_same_name || is_same_code || is_of_code)
}

fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// Collects the postal codes and departments of the whole page and its address.
fn evidence(document: &PageDocument, url: &str, findings: &PageFindings) -> PlaceEvidence {
    let mut evidence = PlaceEvidence::default();
    let described = findings.get("description").and_then(Value::as_str);
    let path = path(url);
    for text in [
        &document.title,
        &document.heading,
        path,
        described.unwrap_or_default(),
        &document.whole_text,
    ] {
        let codes = text.split(|character: char| !character.is_ascii_digit());
        for code in codes.filter(|code| code.len() == POSTAL_CODE_DIGITS) {
            if let Some(department) = departments::for_postal_code(code)
                && !evidence.postal_codes.iter().any(|known| known == code)
            {
                evidence.postal_codes.push(code.to_owned());
                evidence.departments.push(department);
            }
        }
    }
    let point = findings.get(POSITION);
    let degrees = |place: usize| point?.get(place)?.as_f64();
    if let (Some(longitude), Some(latitude)) = (degrees(0), degrees(1)) {
        evidence
            .departments
            .extend(communes::department_at(latitude, longitude));
    }
    for segment in path.split('/') {
        let code = segment.split(['-', '_']).next().unwrap_or_default();
        let name = segment.get(code.len() + 1..).unwrap_or_default();
        let is_named = |code: &str| {
            departments::name(code).is_some_and(|known| {
                fold(known).replace(['-', '\''], " ") == name.replace(['-', '_'], " ")
            })
        };
        let of_code = departments::for_postal_code(&format!("{code}000"));
        let named = of_code.filter(|_| is_named(code));
        evidence.departments.extend(named);
    }
    evidence
}

/// Returns the parts of a title that may name the town: the last ones may name the agency.
fn parts(title: &str) -> Vec<&str> {
    let mut parts = title
        .split(['|', '•', '–', '—'])
        .flat_map(|part| part.split(" - "));
    let first = parts.next();
    let others = parts.filter(|part| !has_any(part, &AGENCY));
    first.into_iter().chain(others).collect()
}

/// Returns whether a text contains one of the words.
fn has_any(text: &str, words: &[&str]) -> bool {
    tokens(text).iter().any(|token| token.is_any(words))
}

/// Returns the path of an address.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    path.split(['?', '#']).next().unwrap_or(path)
}

/// Returns the place that a path names with a postal code, an INSEE code or a department: `nice-06200`, `nice-06088`,
/// `saint-etienne-42`.
fn in_path(path: &str) -> Option<TextPlace> {
    let by_code = |segment: &str| {
        let words: Vec<&str> = segment.split(['-', '_', '+', '.']).collect();
        (0..words.len()).find_map(|at| {
            let code = words[at];
            let is_code =
                code.len() == 5 && code.get(2..)?.bytes().all(|byte| byte.is_ascii_digit());
            // A quarter may stand between the town and its code: `nice-le-port-06300`.
            let before = (1..=at).rev().flat_map(|last| {
                let first = last.saturating_sub(NAME_WORDS_MAX);
                let words = &words;
                (first..last).map(move |first| words[first..last].join(" "))
            });
            let after = (at + 1..words.len().min(at + 1 + NAME_WORDS_MAX))
                .rev()
                .map(|last| words[at + 1..=last].join(" "));
            before
                .chain(after)
                .filter(|_| is_code)
                .find_map(|name| of_code(code, &name))
        })
    };
    let mut segments = path.split('/');
    segments
        .clone()
        .find_map(by_code)
        .or_else(|| segments.find_map(places::of_url_segment))
}

/// Returns the commune with a name and a postal or INSEE code.
fn of_code(code: &str, name: &str) -> Option<TextPlace> {
    if let Some(commune) = communes::find_by_postal_code_and_name(code, name) {
        return Some(TextPlace::of_postal_code(code, Some(commune)));
    }
    let commune = communes::find_by_code(code)?;
    let is_named = communes::all_named(name)
        .iter()
        .any(|other| other.code == commune.code);
    is_named.then(|| whole(commune))
}

/// Returns the town that a path names without a code: `/location/1-nice/appartement/`.
fn name_in_path(path: &str, evidence: &PlaceEvidence) -> Option<TextPlace> {
    let path = path.replace(['-', '_', '+', '.'], " ");
    named(&path.split('/').collect::<Vec<_>>(), evidence)
}

/// Returns the first town that one of the texts names.
fn named(texts: &[&str], evidence: &PlaceEvidence) -> Option<TextPlace> {
    texts.iter().find_map(|text| {
        let tokens = tokens(text);
        (0..tokens.len()).find_map(|start| named_at(&tokens, start, evidence).map(whole))
    })
}

/// Returns the town whose name starts at a token, the longest name first.
fn named_at(tokens: &[Token], start: usize, evidence: &PlaceEvidence) -> Option<&'static Place> {
    tokens[start].word()?;
    let before = tokens[..start].iter().rev().take(3);
    if before.clone().any(|token| token.is_any(&NEAR)) {
        return None;
    }
    let is_in = before.clone().next().is_some_and(|before| before.is("a"));
    let words: Vec<&str> = tokens[start..]
        .iter()
        .take_while(|token| matches!(token, Token::Word(_) | Token::Sign('-' | '\'' | '’')))
        .filter_map(Token::word)
        .take(NAME_WORDS_MAX)
        .collect();
    (1..=words.len())
        .rev()
        .find_map(|length| town(&words[..length].join(" "), evidence, is_in))
}

/// Returns the commune with a name if the page confirms it, or if the name alone is unambiguous.
fn town(name: &str, evidence: &PlaceEvidence, is_in: bool) -> Option<&'static Place> {
    if name.len() < NAME_BYTES_MIN {
        return None;
    }
    if let Some(city) = communes::divided_city(name) {
        return Some(city);
    }
    let mut all = communes::all_named(name);
    let bare = ARTICLES
        .iter()
        .find_map(|article| name.strip_prefix(article));
    let is_everyday = EVERYDAY.contains(&bare.unwrap_or(name));
    if let Some(place) = all.iter().find(|place| evidence.has_code_of(place)) {
        // A word such as `Port` needs more confirmation than an address somewhere on the page.
        return (is_in || !is_everyday).then_some(*place);
    }
    if is_everyday {
        return None;
    }
    let is_of_department =
        |place: &&&'static Place| evidence.departments.contains(&place.department);
    let mut of_department = all.iter().filter(is_of_department);
    if let (Some(only), None) = (of_department.next(), of_department.next()) {
        return (is_in || only.population >= POPULATION_MIN || name.contains(' ')).then_some(*only);
    }
    all.sort_by_key(|place| std::cmp::Reverse(place.population));
    let first = all.first()?;
    let next = all.get(1).map_or(0, |place| place.population);
    let is_largest = first.population >= POPULATION_RATIO_MIN * next;
    (first.population >= POPULATION_MIN && is_largest).then_some(*first)
}

/// Returns a commune as the place of a listing; its postal code if it has only one.
fn whole(commune: &Place) -> TextPlace {
    let postal_code = match commune.postal_codes[..] {
        [only] => Some(only.to_owned()),
        _ => None,
    };
    TextPlace {
        postal_code,
        ..TextPlace::of_commune(commune)
    }
}

/// Returns the first written town in a text that is not part of the agency's address.
fn in_text(text: &str) -> Option<TextPlace> {
    let all = tokens(text);
    if let Some(place) = places::labelled(&all) {
        return Some(place);
    }
    let mut agency_until = 0;
    text.lines().enumerate().find_map(|(number, line)| {
        if has_any(line, &AGENCY_LABELS) {
            agency_until = number + AGENCY_LINES;
        }
        let place = places::place(&tokens(line))?;
        (number >= agency_until).then_some(place)
    })
}

/// Returns the town that a short line of the text names, if a postal code on the page confirms it or the line is little
/// more than the name of a large town.
fn name_in_text(text: &str, evidence: &PlaceEvidence) -> Option<TextPlace> {
    let in_lines = |words_max: usize, is_sure: &dyn Fn(&Place) -> bool| {
        text.lines().take(LINES_MAX).find_map(|line| {
            let tokens = tokens(line);
            let words = tokens.iter().filter(|token| token.word().is_some());
            let mut starts = 0..tokens.len();
            starts
                .find_map(|start| named_at(&tokens, start, evidence).filter(|place| is_sure(place)))
                .filter(|_| words.count() <= words_max)
        })
    };
    let is_confirmed = |place: &Place| evidence.has_code_of(place);
    let is_large = |place: &Place| place.population >= NAME_LINE_POPULATION_MIN;
    in_lines(LINE_WORDS_MAX, &is_confirmed)
        .or_else(|| in_lines(NAME_LINE_WORDS_MAX, &is_large))
        .map(whole)
}
