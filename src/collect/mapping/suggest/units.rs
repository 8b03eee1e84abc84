//! Reads the unit in the name of a column of amounts or areas if it is not that of the field: `Prix (k€)`,
//! `Terrain en ares`.

use super::offers::SALE_EUR_MIN;
use super::profile::ColumnProfile;
use toise_contract::columns::{RENT, advert_meaning, folded, meaning, units_fit};
use toise_input::number::{self, LoneSeparator};
use toise_input::quantity;

/// Units of amounts, in euros. Millions are not converted, because their three decimals look like thousands.
const AMOUNTS: [(&str, u32); 6] = [
    ("k", 1_000),
    ("k€", 1_000),
    ("ke", 1_000),
    ("keur", 1_000),
    ("keuros", 1_000),
    ("milliers", 1_000),
];
/// Units of areas, in square metres.
const AREAS: [(&str, u32); 5] = [
    ("are", 100),
    ("ares", 100),
    ("ha", 10_000),
    ("hectare", 10_000),
    ("hectares", 10_000),
];
/// Words that make a rent that of a year.
const YEARLY: [&str; 6] = ["annuel", "annuelle", "annual", "yearly", "year", "an"];
/// Words for a rent.
const RENTS: [&str; 3] = ["loyer", "loyers", "rent"];
/// A word for a rent that names may contain without a space around it.
const RENT_WORD: &str = "loyer";
/// Words for the price of a sale.
const SALES: [&str; 7] = [
    "vente", "ventes", "fai", "hai", "vendeur", "sale", "selling",
];
/// Names for the price of a sale, folded, that longer names may contain.
const SALE_NAMES: [&str; 7] = [
    "prixvente", "prixdevente", "prixfai", "prixhai", "netvendeur", "saleprice", "sellingprice",
];
/// Parts of names, folded, of prices of rentals: a column `prix_vente_location` holds both.
const RENTAL_PARTS: [&str; 3] = ["location", "louer", "rental"];
/// Words before a unit.
const BEFORE_UNITS: [&str; 2] = ["en", "in"];

/// The unit in the name of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedUnit {
    /// None, or that of the field, or the cells have units of their own.
    Usual,
    /// One that is this many of the field's unit.
    Times(u32),
    /// One that the field does not have, such as another currency, or that the cells contradict.
    Other,
}

/// Returns the units of a field that can be converted; `None` for fields that are neither amounts nor areas.
fn units(field: &str) -> Option<&'static [(&'static str, u32)]> {
    if is_amount(field) {
        Some(&AMOUNTS)
    } else if field.ends_with("surface.total") || field == "land.surface" {
        Some(&AREAS)
    } else {
        None
    }
}

fn is_amount(field: &str) -> bool {
    field.starts_with("currentPrice.")
}

/// Returns the words and units of a name in lower case.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let is_sign = |character: char| character.is_alphanumeric() || "€$£%".contains(character);
    let words = name.split(move |character: char| !is_sign(character));
    words.filter(|word| !word.is_empty())
}

/// Returns the unit in the name of a column for a field.
pub(super) fn named_unit(column: &ColumnProfile, field: &str) -> NamedUnit {
    // A name with a meaning has no other unit.
    let known = units(field).filter(|_| column.meaning.is_none());
    let Some(known) = known else {
        return NamedUnit::Usual;
    };
    let name = column.path.to_lowercase();
    let mut factor = None;
    for word in words(&name) {
        match known.iter().find(|(unit, _)| *unit == word) {
            Some((_, found)) => factor = Some(*found),
            None if !units_fit(word, field) => return NamedUnit::Other,
            None => {}
        }
    }
    let Some(factor) = factor else {
        return NamedUnit::Usual;
    };
    let number = |cell: &String| number::read(cell, LoneSeparator::Decimals);
    let has_own_unit = |cell: &String| {
        let read = if is_amount(field) {
            quantity::euros(cell, None)
        } else {
            quantity::square_metres(cell, None)
        };
        read.is_some() && number(cell).is_none()
    };
    let numbers: Vec<f64> = column.samples.iter().filter_map(number).collect();
    let is_too_large = |number: &f64| is_amount(field) && *number >= SALE_EUR_MIN;
    if numbers.is_empty() {
        NamedUnit::Usual
    } else if numbers.iter().any(is_too_large) || column.samples.iter().any(has_own_unit) {
        NamedUnit::Other
    } else {
        NamedUnit::Times(factor)
    }
}

/// Returns whether a column's name is that of the rent of a year: `Loyer annuel`, `rent_per_year`.
pub(super) fn is_yearly_rent(name: &str) -> bool {
    let name = name.to_lowercase();
    let has = |wanted: &[&str]| words(&name).any(|word| wanted.contains(&word));
    has(&YEARLY) && has(&RENTS)
}

/// Returns whether a column's name is that of a rent: `Loyer CC`, `monthlyRent`, but not `currentPrice`.
pub(super) fn names_rent(name: &str) -> bool {
    let is_known = meaning(name).is_some_and(|meaning| meaning.field == RENT);
    let lower = name.to_lowercase();
    is_known || folded(name).contains(RENT_WORD) || words(&lower).any(|word| RENTS.contains(&word))
}

/// Returns whether a column's name is that of the price of a sale: `Prix_de_vente_FAI`, `prixNetVendeur`, but not
/// `prix_vente_location`.
pub(super) fn names_sale(name: &str) -> bool {
    let (lower, whole) = (name.to_lowercase(), folded(name));
    let is_named = words(&lower).any(|word| SALES.contains(&word))
        || SALE_NAMES.iter().any(|known| whole.contains(known));
    let names_rental = RENTAL_PARTS.iter().any(|part| whole.contains(part));
    is_named && !names_rental && !names_rent(name)
}

/// Returns whether a column's name has a unit that can be converted to that of a field, and no other unit.
pub(super) fn is_converted(name: &str, field: &str) -> bool {
    let name = name.to_lowercase();
    let known = units(field).unwrap_or_default();
    let is_unit = |word: &str| known.iter().any(|(unit, _)| *unit == word);
    words(&name).any(is_unit) && words(&name).all(|word| is_unit(word) || units_fit(word, field))
}

/// Returns whether the name of a column means a field if a unit that can be converted is left out of it.
pub(super) fn means_without_unit(column: &ColumnProfile, field: &str) -> bool {
    let name = column.path.to_lowercase();
    let known = units(field).unwrap_or_default();
    let is_unit = |word: &&str| known.iter().any(|(unit, _)| unit == word);
    let rest = words(&name).filter(|word| !is_unit(word) && !BEFORE_UNITS.contains(word));
    let rest = rest.collect::<Vec<_>>().join(" ");
    advert_meaning(&rest).is_some_and(|meaning| meaning.field == field)
}
