//! Reads the visible text of a page in French: prices, areas, rooms, storeys, energy classes, places, amenities.
//!
//! [`mod@tokens`] splits a text into numbers, words and signs; each reader then searches them for its values. Nothing
//! is guessed: a value that is not stated clearly is not found.

mod areas;
mod counts;
mod energy;
mod kinds;
mod money;
mod places;
pub mod tokens;

use serde_json::json;

use super::findings::{FieldOrigin, PRICE, PageFindings};
use money::Amount;
use tokens::{Token, tokens};

/// Minimum amount that cannot be a monthly rent, EUR.
pub const SALE_CERTAIN: f64 = 15_000.0;

/// Frequent words of French, and of other languages in `FOREIGN`; none is a word of both.
const FRENCH: [&str; 10] = [
    "le", "les", "et", "du", "une", "est", "avec", "pour", "dans", "vous",
];
const FOREIGN: [&str; 16] = [
    "the", "and", "of", "with", "der", "und", "mit", "el", "los", "para", "con", "il", "della",
    "os", "na", "met",
];

/// Reliability of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTrust {
    /// A title or a description, which describes this listing.
    Own,
    /// A label and its value. Class and offer are not read from it: `Parking : 1`.
    Label,
    /// The whole page, which also describes other listings; the first value is used.
    Page,
}

/// Adds the values in a text to the findings.
pub fn read(text: &str, part: TextTrust, findings: &mut PageFindings, origin: FieldOrigin) {
    let tokens = tokens(text);
    match part {
        TextTrust::Own => {
            read_kind(&tokens, findings, origin);
            read_money(&tokens, part, findings, origin);
        }
        TextTrust::Label => read_money(&tokens, part, findings, origin),
        // Menus contain every offer; an asking price or a monthly rent is more reliable.
        TextTrust::Page => {
            read_money(&tokens, part, findings, origin);
            read_kind(&tokens, findings, origin);
        }
    }
    read_areas(&tokens, findings, origin);
    read_counts(&tokens, findings, origin);
    read_energy(&tokens, findings, origin);
    read_place(&tokens, findings, origin);
    if part != TextTrust::Page {
        for (field, has) in kinds::characteristics(&tokens) {
            findings.put(&format!("habitation.characteristics.{field}"), has, origin);
        }
    }
}

/// Adds the values that can be read from a text in another language: amounts and areas and, unless it is the whole
/// page, the class of a dwelling. Other words would mislead: `location` is a rental in French only.
pub fn read_foreign(text: &str, part: TextTrust, findings: &mut PageFindings, origin: FieldOrigin) {
    let tokens = tokens(text);
    read_money(&tokens, part, findings, origin);
    if part != TextTrust::Page {
        findings.set_optional("type", kinds::dwelling(&tokens), origin);
    }
    read_areas(&tokens, findings, origin);
}

/// Returns whether a text is in French: it has at least as many frequent words of French as of other languages.
pub fn is_french(text: &str) -> bool {
    let tokens = tokens(text);
    let count = |words: &[&str]| {
        let found = tokens.iter().filter_map(Token::word);
        found.filter(|word| words.contains(word)).count()
    };
    count(&FRENCH) >= count(&FOREIGN)
}

/// Adds the place that the path of a URL names with its department: `/appartement/saint-etienne-42/`.
pub fn read_url_place(path: &str, findings: &mut PageFindings, origin: FieldOrigin) {
    if knows_place(findings) {
        return;
    }
    if let Some(place) = path.split('/').find_map(places::of_url_segment) {
        findings.set_optional("location.postalCode", place.postal_code, origin);
        findings.set_optional("location.inseeCode", place.insee_code, origin);
        findings.set_optional("location.city", place.city, origin);
    }
}

/// Adds the class and offer named by words, as in a title, a category or the path of a URL.
pub fn read_kinds(text: &str, findings: &mut PageFindings, origin: FieldOrigin) {
    read_kind(&tokens(text), findings, origin);
}

/// Returns whether a text says that the price is available on request only.
pub fn is_price_on_request(text: &str) -> bool {
    money::is_on_request(&tokens(text))
}

/// Returns the first price or rent in a text, else its first number.
pub fn amount(text: &str) -> Option<f64> {
    let tokens = tokens(text);
    let said = money::amounts(&tokens).find_map(|amount| match amount {
        Amount::Price(value) | Amount::Rent(value) => Some(value),
        _ => None,
    });
    said.or_else(|| tokens.iter().find_map(Token::number))
}

/// Returns the first number in a text.
pub fn number(text: &str) -> Option<f64> {
    tokens(text).iter().find_map(Token::number)
}

/// Returns the storey in a text, else its first number: `3e`, `RDC`, `3/5`.
pub fn floor(text: &str) -> Option<f64> {
    let tokens = tokens(text);
    let floor = counts::floors(&tokens).floor.map(f64::from);
    floor.or_else(|| tokens.iter().find_map(Token::number))
}

/// Returns the first single letter from `A` to `G` in a text, in either case: `D`, `Classe D`, `D (214)`.
pub fn energy_class(text: &str) -> Option<char> {
    tokens(text)
        .iter()
        .filter_map(Token::word)
        .find_map(|word| {
            let letter = word.chars().next()?.to_ascii_uppercase();
            (word.len() == 1 && ('A'..='G').contains(&letter)).then_some(letter)
        })
}

fn read_kind(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    findings.set_optional("type", kinds::class(tokens), origin);
    findings.set_optional("offer.type", kinds::offer(tokens), origin);
}

fn read_money(tokens: &[Token], part: TextTrust, findings: &mut PageFindings, origin: FieldOrigin) {
    let is_certain = |amount| matches!(amount, Amount::Price(value) if value >= SALE_CERTAIN);
    // A page shows discounts and fees next to the price of a dwelling.
    let beside_price = part == TextTrust::Page
        && (is_dwelling(findings) || !findings.has("type"))
        && money::amounts(tokens).any(is_certain);
    for amount in money::amounts(tokens) {
        match amount {
            Amount::Price(value) if beside_price && value < SALE_CERTAIN => {}
            Amount::Price(value) if !is_rent(findings) => {
                if value >= SALE_CERTAIN && !findings.has(PRICE) {
                    findings.put("offer.type", "OFFER_BUY", origin);
                }
                findings.put(PRICE, value, origin);
            }
            Amount::Price(_) => {}
            Amount::Rent(value) if !is_sale(findings) => {
                if !findings.has(PRICE) {
                    findings.put("offer.type", "OFFER_RENT", origin);
                }
                findings.put(PRICE, value, origin);
            }
            Amount::Rent(_) => {}
            Amount::Deposit(value) => findings.put("warrantyDeposit", value, origin),
            Amount::PropertyTax(value) => findings.put("charges.yearlyHousingTax", value, origin),
            Amount::CondominiumFees(value) => {
                findings.put("charges.yearlyCondoniumFees", value, origin);
            }
        }
    }
}

fn is_rent(findings: &PageFindings) -> bool {
    findings.get("offer.type") == Some(&json!("OFFER_RENT"))
}

fn is_sale(findings: &PageFindings) -> bool {
    findings.has("offer.type") && !is_rent(findings)
}

/// Returns whether the listing is a dwelling.
pub fn is_dwelling(findings: &PageFindings) -> bool {
    let class = findings.get("type").and_then(|class| class.as_str());
    class.is_some_and(|class| matches!(class, "CLASS_FLAT" | "CLASS_HOUSE" | "CLASS_ROOM"))
}

fn read_areas(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    let areas = areas::areas(tokens);
    let is_land = findings.get("type") == Some(&json!("CLASS_LAND"));
    findings.set_optional(
        "land.surface",
        areas.land.or(areas.dwelling.filter(|_| is_land)),
        origin,
    );
    if !is_land {
        findings.set_optional("habitation.surface.total", areas.dwelling, origin);
    }
}

fn read_counts(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    let class = findings.get("type").and_then(|class| class.as_str());
    let is_flat = class == Some("CLASS_FLAT");
    if class.is_some_and(|class| !matches!(class, "CLASS_FLAT" | "CLASS_HOUSE" | "CLASS_ROOM")) {
        return;
    }
    findings.set_optional("habitation.roomCount", counts::rooms(tokens), origin);
    let bedrooms = counts::count_of(tokens, &["chambres", "chambre", "ch"]);
    findings.set_optional("habitation.bedroomCount", bedrooms, origin);
    findings.set_optional(
        "habitation.bathroomCount",
        counts::bathrooms(tokens),
        origin,
    );
    findings.set_optional(
        "habitation.wcCount",
        counts::count_of(tokens, &["wc", "toilettes"]),
        origin,
    );
    let year = counts::construction_year(tokens);
    findings.set_optional(
        "habitation.propertyCondition.constructionYear",
        year,
        origin,
    );
    // In the text of a house, storeys are mentioned to describe what is on them.
    if is_flat {
        let floors = counts::floors(tokens);
        findings.set_optional("habitation.floor", floors.floor, origin);
        findings.set_optional(
            "habitation.features.propertyTotalFloor",
            floors.total,
            origin,
        );
    }
}

fn read_energy(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    let energy = energy::energy(tokens);
    let class = energy
        .class
        .map(|class| format!("ENERGY_CLASSIFICATION_{class}"));
    findings.set_optional("habitation.climate.epcEnergy", class, origin);
    let class = energy
        .climate_class
        .map(|class| format!("GREENHOUSE_CLASSIFICATION_{class}"));
    findings.set_optional("habitation.climate.epcClimate", class, origin);
    findings.set_optional(
        "habitation.climate.epcEnergyScore",
        energy.consumption,
        origin,
    );
    findings.set_optional(
        "habitation.climate.epcClimateScore",
        energy.emissions,
        origin,
    );
}

fn read_place(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    if knows_place(findings) {
        return;
    }
    if let Some(place) = places::place(tokens) {
        findings.set_optional("location.postalCode", place.postal_code, origin);
        findings.set_optional("location.inseeCode", place.insee_code, origin);
        findings.set_optional("location.city", place.city, origin);
    }
}

fn knows_place(findings: &PageFindings) -> bool {
    ["location.postalCode", "location.inseeCode"]
        .iter()
        .any(|path| findings.has(path))
}

/// Returns all prices and rents in a text.
pub fn prices(tokens: &[Token]) -> Vec<f64> {
    let priced = money::amounts(tokens).filter_map(|amount| match amount {
        Amount::Price(value) | Amount::Rent(value) => Some(value),
        _ => None,
    });
    priced.collect()
}
