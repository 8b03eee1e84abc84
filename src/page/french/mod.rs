//! Reads the visible text of a page in French: prices, areas, rooms, storeys, energy classes, places, amenities.
//!
//! [`mod@tokens`] splits a text into numbers, words and signs; each reader then searches them for its values. Nothing
//! is guessed: a value that is not stated clearly is not found.

mod areas;
mod counts;
pub mod energy;
mod kinds;
mod money;
pub mod places;
pub mod tokens;

use serde_json::{Value, json};

use super::findings::{FieldOrigin, PRICE, PageFindings};
use counts::{ORDINAL_ENDINGS, STOREYS_MAX, is_any};
use money::{Amount, PaymentPeriod};
use toise_input::words::AssetClass;
use tokens::{Token, tokens};

/// Amount from which a price cannot be a monthly rent, EUR.
pub const SALE_CERTAIN: f64 = 15_000.0;

/// Path of a tenant's charges.
const RENTAL_FEES: &str = "charges.yearlyRentalFees";
/// Path of an owner's charges.
const CONDOMINIUM_FEES: &str = "charges.yearlyCondoniumFees";
/// Path of the energy class.
const ENERGY_CLASS: &str = "habitation.climate.epcEnergy";
/// Path of the climate class.
const CLIMATE_CLASS: &str = "habitation.climate.epcClimate";
/// Path of the consumption.
const ENERGY_SCORE: &str = "habitation.climate.epcEnergyScore";
/// Path of the emissions.
const CLIMATE_SCORE: &str = "habitation.climate.epcClimateScore";
/// Words that label the details of one listing.
const DETAILS: [&str; 18] = [
    "reference",
    "ref",
    "dpe",
    "ges",
    "honoraires",
    "fonciere",
    "garantie",
    "georisques",
    "energie",
    "copropriete",
    "exposition",
    "chauffage",
    "etage",
    "descriptif",
    "description",
    "caracteristiques",
    "prestations",
    "carrez",
];
/// Difference between two rents that rounding explains, EUR.
const ROUNDING: f64 = 1.0;
/// Maximum ratio of the rent with charges to the rent without.
const WITH_CHARGES_MAX: f64 = 1.5;
/// Months of a year.
const MONTHS: f64 = 12.0;

/// Frequent words of French, and of other languages in `FOREIGN`; none is a word of both.
const FRENCH: [&str; 10] = [
    "le", "les", "et", "du", "une", "est", "avec", "pour", "dans", "vous",
];
const FOREIGN: [&str; 16] = [
    "the", "and", "of", "with", "der", "und", "mit", "el", "los", "para", "con", "il", "della",
    "os", "na", "met",
];

/// Kind of text, which decides how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTrust {
    /// A title or a description, which describes this listing.
    Own,
    /// A label and its value. Class and offer are not read from it: `Parking : 1` is not the class of the listing.
    Label,
    /// The whole page, which also describes other listings; the first value is used.
    Page,
}

/// Adds the values in a text to the findings.
pub fn read(text: &str, part: TextTrust, findings: &mut PageFindings, origin: FieldOrigin) {
    let tokens = tokens(text);
    if part == TextTrust::Own {
        read_kind(&tokens, findings, origin);
    }
    read_money(&tokens, part, findings, origin);
    // On a page, a price or a monthly rent decides the offer first, because menus name every kind of offer.
    if part == TextTrust::Page {
        read_kind(&tokens, findings, origin);
    }
    read_areas(&tokens, findings, origin);
    read_counts(&tokens, findings, origin);
    read_energy(&tokens, findings, origin);
    // A page also has the address of its agency.
    if part != TextTrust::Page {
        add_place(&tokens, findings, origin);
    }
    for (field, has) in kinds::characteristics(&tokens) {
        // A page may name amenities of other listings, but denies only those of its own.
        if part != TextTrust::Page || !has {
            findings.put(&format!("habitation.characteristics.{field}"), has, origin);
        }
    }
}

/// Adds the values that can be read from a text in another language: amounts and areas and, unless it is the whole
/// page, the class of a dwelling. Other words would be misleading: `location` means a rental only in French.
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
    let count = |words: &[&str]| tokens.iter().filter(|token| token.is_any(words)).count();
    count(&FRENCH) >= count(&FOREIGN)
}

/// Adds the place in an address, unless the place is known.
pub fn read_address(address: &str, findings: &mut PageFindings, origin: FieldOrigin) {
    add_place(&tokens(address), findings, origin);
}

fn add_place(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    if knows_place(findings) {
        return;
    }
    if let Some(place) = places::place(tokens) {
        findings.set_optional("location.postalCode", place.postal_code, origin);
        findings.set_optional("location.inseeCode", place.insee_code, origin);
        findings.set_optional("location.city", place.city, origin);
    }
}

/// Returns whether the commune of a listing is known.
pub fn knows_place(findings: &PageFindings) -> bool {
    ["location.postalCode", "location.inseeCode"]
        .iter()
        .any(|path| findings.has(path))
}

/// Adds the class and offer named by words, as in a title, a category or the path of a URL.
pub fn read_kinds(text: &str, findings: &mut PageFindings, origin: FieldOrigin) {
    read_kind(&tokens(text), findings, origin);
}

/// Returns the class of asset that a text names.
pub fn class(text: &str) -> Option<&'static str> {
    kinds::class(&tokens(text))
}

/// Returns whether a text names the class or the rooms of a listing, as in `Maison à vendre` or `Beau T3`.
pub fn names_listing(text: &str) -> bool {
    let tokens = tokens(text);
    kinds::class(&tokens).is_some() || counts::rooms(&tokens).is_some()
}

/// Returns whether a text says that the price is available on request only.
pub fn is_price_on_request(text: &str) -> bool {
    money::is_on_request(&tokens(text))
}

/// Words and signs of other currencies and other units of area, which make a number another one.
const OTHER_CURRENCIES: [&str; 19] = [
    "chf", "xpf", "xaf", "xof", "fcfa", "cfa", "usd", "gbp", "mad", "dh", "dhs", "dirham",
    "dirhams", "tnd", "dzd", "dinars", "dollars", "francs", "roupies",
];
const OTHER_AREAS: [&str; 12] = [
    "sqft", "sq", "ft", "ft2", "feet", "pieds", "pi", "pi2", "acre", "acres", "eur", "euros",
];
/// Signs of francs after a number; elsewhere, they may mean something else.
const FRANCS: [&str; 8] = ["f", "F", "ff", "fr", "frs", "kf", "kff", "mf"];
/// Words for what a number counts, where neither an amount nor an area is meant.
const COUNTED: [&str; 15] = [
    "etage", "etages", "niveau", "niveaux", "piece", "pieces", "pcs", "p", "P", "chambre",
    "chambres", "ch", "salle", "salles", "lots",
];

/// Returns the price or rent in a text that names one, otherwise its only number.
pub fn amount(text: &str) -> Option<f64> {
    let tokens = tokens(text);
    // `2 450 €/m²` is no price of a home.
    let is_by_area = tokens.windows(2).any(|pair| {
        let is_of = matches!(pair[0], Token::Sign('/')) || pair[0].is("par");
        is_of && pair[1].is_any(&["m2", "m"])
    });
    let is_alone = only_number(&tokens).is_some();
    if money::has_range(&tokens) || is_by_area && is_alone || has_other_currency(&tokens) {
        return None;
    }
    let said = prices(&tokens).first().copied();
    said.or_else(|| only_measure(&tokens))
}

/// Returns whether the amount in a text is paid neither once nor every month: `15 000 € HC/an`, `450 € par semaine`.
pub fn names_other_period(text: &str) -> bool {
    money::has_other_period(&tokens(text))
}

/// Returns whether a text names a currency other than the euro: `450 000 CHF`, `1,6 MF`.
pub fn names_other_currency(text: &str) -> bool {
    has_other_currency(&tokens(text))
}

fn has_other_currency(tokens: &[Token]) -> bool {
    let is_other = |token: &Token| {
        matches!(token, Token::Sign('$' | '£' | '¥')) || token.is_any(&OTHER_CURRENCIES)
    };
    // In `245 000 F.A.I.` the letter begins an abbreviation.
    let is_francs = |(place, token): (usize, &Token)| {
        token.number().is_some()
            && is_any(tokens.get(place + 1), &FRANCS)
            && tokens.get(place + 2) != Some(&Token::Sign('.'))
    };
    tokens.iter().any(is_other) || tokens.iter().enumerate().any(is_francs)
}

/// Returns the area in a text that has one number, and no unit but square metres.
pub fn area(text: &str) -> Option<f64> {
    let tokens = tokens(text);
    let is_other =
        |token: &Token| matches!(token, Token::Sign('€' | '$' | '£')) || token.is_any(&OTHER_AREAS);
    only_measure(&tokens).filter(|_| !tokens.iter().any(is_other))
}

/// Returns the number in a text that has one.
pub fn single_number(text: &str) -> Option<f64> {
    only_number(&tokens(text))
}

fn only_number(tokens: &[Token]) -> Option<f64> {
    let mut numbers = tokens.iter().filter_map(Token::number);
    let first = numbers.next()?;
    numbers.next().is_none().then_some(first)
}

/// Returns the only number in a text, unless it is a storey or a count: `2ème étage`, `RDC/2`, `3 pièces`.
fn only_measure(tokens: &[Token]) -> Option<f64> {
    let at = tokens.iter().position(|token| token.number().is_some())?;
    let is_slash = |token: &&Token| matches!(token, Token::Sign('/'));
    let before = tokens[..at].iter().rev().find(|token| !is_slash(token));
    let after = tokens[at + 1..].iter().find(|token| !is_slash(token));
    let is_ground = |token: Option<&Token>| is_any(token, &["rdc", "rez"]);
    let is_low = tokens[at]
        .whole()
        .is_some_and(|number| number <= STOREYS_MAX);
    let is_storey =
        is_low && (matches!(after, Some(Token::Sign('°'))) || is_any(after, &ORDINAL_ENDINGS));
    let has_unit = matches!(after, Some(Token::Sign('€'))) || is_any(after, &["m2", "m"]);
    let is_beside_ground = is_ground(after) || is_ground(before) && !has_unit;
    if is_storey || is_beside_ground || is_any(after, &COUNTED) {
        return None;
    }
    only_number(tokens)
}

/// Returns the first number in a text.
pub fn number(text: &str) -> Option<f64> {
    tokens(text).iter().find_map(Token::number)
}

/// Returns the storey in a text, or the first of two numbers alone: `3e étage`, `RDC`, `3/5`, `3 sur 5`.
pub fn floor(text: &str) -> Option<f64> {
    let tokens = tokens(text);
    let floor = counts::floors(&tokens).floor.map(f64::from);
    floor.or_else(|| {
        let is_of = |token: &Token| matches!(token, Token::Sign('/')) || token.is("sur");
        match &tokens[..] {
            [floor] => floor.number(),
            [floor, of, total] if is_of(of) && total.number().is_some() => floor.number(),
            _ => None,
        }
    })
}

/// Returns the storey in a text that names only one and no class but a flat. The text about a house names the storeys
/// of its rooms.
pub fn only_floor(text: &str) -> Option<u32> {
    let tokens = tokens(text);
    let is_flat = kinds::class(&tokens).is_none_or(|class| class == AssetClass::Flat.as_str());
    counts::only_floor(&tokens).filter(|_| is_flat)
}

/// Returns the first single letter from `A` to `G` in a text, in either case: `D`, `Classe D`, `D (214)`. `None` if the
/// text says that there is no class: `À réaliser`, `N/C`.
pub fn energy_class(text: &str) -> Option<char> {
    let tokens = tokens(&text.replace(['à', 'À'], " "));
    if tokens.iter().any(|token| token.is_any(&["n", "N"])) {
        return None;
    }
    tokens.iter().enumerate().find_map(|(place, token)| {
        let word = token.word().filter(|word| word.len() == 1)?;
        let letter = word.chars().next()?.to_ascii_uppercase();
        let is_class = ('A'..='G').contains(&letter);
        (is_class && !energy::leads_on(letter, &tokens[place + 1..])).then_some(letter)
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
            Amount::CondominiumFees(value) => findings.put(CONDOMINIUM_FEES, value, origin),
            // Charges are read at the end, when it is known whether this is a rental.
            Amount::Charges(..) => {}
        }
    }
}

/// Replaces the rent of a listing by the one with charges that its text states. Pages print both, and structured data
/// often has the rent without charges.
pub fn include_charges(text: &str, findings: &mut PageFindings, origin: FieldOrigin) {
    let known = findings.get(PRICE).and_then(Value::as_f64);
    let Some(rent) = known.filter(|_| is_rent(findings) && !findings.is_of_portal(PRICE)) else {
        return;
    };
    let tokens = tokens(text);
    let stated: Vec<f64> = money::rents_with_charges(&tokens).collect();
    let is_known = |with: &f64| (with - rent).abs() <= ROUNDING;
    let is_plausible = |with: &f64| *with > rent && *with <= rent * WITH_CHARGES_MAX;
    if let Some(with) = stated.first().copied().filter(is_plausible)
        && !stated.iter().any(is_known)
        && stated.iter().all(|other| *other == with)
    {
        findings.remove(PRICE);
        findings.put(PRICE, with, origin);
    }
}

/// Adds the charges in the texts of a listing whose offer is known. For a rental these are the tenant's charges,
/// otherwise the owner's if the text says how often they are paid. Condominium fees in a rental count as the tenant's
/// charges.
pub fn read_charges(texts: &[&str], findings: &mut PageFindings, origin: FieldOrigin) {
    let price = findings.get(PRICE).and_then(Value::as_f64);
    // Charges whose monthly amount reaches the rent or price are that amount, not charges.
    let is_plausible = |yearly: f64| price.is_none_or(|price| yearly < price * MONTHS);
    if is_rent(findings) {
        let of_condominium = findings.remove(CONDOMINIUM_FEES);
        for text in texts {
            for amount in money::amounts(&tokens(text)) {
                if let Amount::Charges(value, every) = amount {
                    let yearly = match every {
                        PaymentPeriod::Year => value,
                        _ => value * MONTHS,
                    };
                    if is_plausible(yearly) {
                        findings.put(RENTAL_FEES, yearly, origin);
                    }
                }
            }
        }
        let yearly = of_condominium.and_then(|finding| finding.value.as_f64());
        findings.set_optional(
            RENTAL_FEES,
            yearly.filter(|yearly| is_plausible(*yearly)),
            origin,
        );
        return;
    }
    if !is_sale(findings) {
        return;
    }
    for text in texts {
        for amount in money::amounts(&tokens(text)) {
            let yearly = match amount {
                Amount::Charges(value, PaymentPeriod::Month) => value * MONTHS,
                Amount::Charges(value, PaymentPeriod::Year) => value,
                _ => continue,
            };
            findings.put(CONDOMINIUM_FEES, yearly, origin);
        }
    }
}

/// Removes the classes of the diagnostic that contradict their scores.
pub fn check_energy(findings: &mut PageFindings) {
    let score = |path: &str| findings.get(path).and_then(Value::as_f64);
    let class = |path: &str| findings.get(path).and_then(Value::as_str)?.chars().last();
    let consumption = score(ENERGY_SCORE);
    let emissions = score(CLIMATE_SCORE);
    let surface = score("habitation.surface.total");
    let agrees = class(ENERGY_CLASS).zip(consumption);
    let agrees = agrees
        .is_none_or(|(class, score)| energy::energy_class_agrees(class, score, emissions, surface));
    let climate_agrees = class(CLIMATE_CLASS).zip(emissions);
    let climate_agrees = climate_agrees
        .is_none_or(|(class, score)| energy::climate_class_agrees(class, score, surface));
    if !agrees {
        findings.remove(ENERGY_CLASS);
    }
    if !climate_agrees {
        findings.remove(CLIMATE_CLASS);
    }
}

/// Returns the number of words in a text that label details of a listing, such as its reference, its diagnostic or its
/// fees. Each word counts once.
pub fn detail_labels(text: &str) -> usize {
    let tokens = tokens(text);
    let is_said = |word: &&&str| tokens.iter().any(|token| token.is(word));
    DETAILS.iter().filter(is_said).count()
}

fn is_rent(findings: &PageFindings) -> bool {
    findings.get("offer.type") == Some(&json!("OFFER_RENT"))
}

fn is_sale(findings: &PageFindings) -> bool {
    findings.has("offer.type") && !is_rent(findings)
}

/// Returns whether the listing is a dwelling.
pub fn is_dwelling(findings: &PageFindings) -> bool {
    let class = findings.get("type").and_then(Value::as_str);
    matches!(class, Some("CLASS_FLAT" | "CLASS_HOUSE" | "CLASS_ROOM"))
}

fn read_areas(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    let areas = areas::areas(tokens);
    let is_land = findings.get("type") == Some(&json!("CLASS_LAND"));
    let land = areas.land.or(areas.dwelling.filter(|_| is_land));
    findings.set_optional("land.surface", land, origin);
    if !is_land {
        findings.set_optional("habitation.surface.total", areas.dwelling, origin);
    }
}

fn read_counts(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    if findings.has("type") && !is_dwelling(findings) {
        return;
    }
    let is_flat = findings.get("type") == Some(&json!("CLASS_FLAT"));
    let mut put = |field: &str, count: Option<u32>| {
        findings.set_optional(&format!("habitation.{field}"), count, origin);
    };
    put("roomCount", counts::rooms(tokens));
    let bedrooms = counts::count_of(tokens, &["chambres", "chambre", "ch"]);
    put("bedroomCount", bedrooms);
    put("bathroomCount", counts::bathrooms(tokens));
    put("wcCount", counts::count_of(tokens, &["wc", "toilettes"]));
    let year = counts::construction_year(tokens);
    put("propertyCondition.constructionYear", year);
    // The text about a house mentions storeys to describe what is on them.
    if is_flat {
        let floors = counts::floors(tokens);
        put("floor", floors.floor);
        put("features.propertyTotalFloor", floors.total);
    }
}

fn read_energy(tokens: &[Token], findings: &mut PageFindings, origin: FieldOrigin) {
    let energy = energy::energy(tokens);
    let named = |start: &str, class: Option<char>| class.map(|class| format!("{start}{class}"));
    let class = named("ENERGY_CLASSIFICATION_", energy.class);
    findings.set_optional(ENERGY_CLASS, class, origin);
    let class = named("GREENHOUSE_CLASSIFICATION_", energy.climate_class);
    findings.set_optional(CLIMATE_CLASS, class, origin);
    findings.set_optional(ENERGY_SCORE, energy.consumption, origin);
    findings.set_optional(CLIMATE_SCORE, energy.emissions, origin);
}

/// Returns the price, area and rooms of the card of a listing as one string. `None` if it is not a card, which states
/// at least two of: price, area, class or number of rooms.
pub fn card_key(tokens: &[Token]) -> Option<String> {
    let price = prices(tokens).first().copied();
    let areas = areas::areas(tokens);
    let area = areas.dwelling.or(areas.land);
    let rooms = counts::rooms(tokens);
    let is_kind = rooms.is_some() || kinds::class(tokens).is_some();
    let stated = [price.is_some(), area.is_some(), is_kind];
    let is_card = stated.into_iter().filter(|is_stated| *is_stated).count() >= 2;
    is_card.then(|| format!("{price:?} {area:?} {rooms:?}"))
}

/// Returns all prices and rents in a text.
pub fn prices(tokens: &[Token]) -> Vec<f64> {
    let priced = money::amounts(tokens).filter_map(|amount| match amount {
        Amount::Price(value) | Amount::Rent(value) => Some(value),
        _ => None,
    });
    priced.collect()
}
