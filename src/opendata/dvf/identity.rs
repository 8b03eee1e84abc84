//! The identifier of a sale: a digest of values that are the same in every edition and form of the register.
//!
//! These values are the day, the number of the disposition, the price in single precision, the parcels under current
//! codes with their lots, and the kind of the record. Editions since 2026 give prices in single precision. Mutation
//! numbers, names and surfaces are not included: numbers change between editions, and names and surfaces get corrected.

use std::collections::BTreeSet;

use super::derive::SaleKind;
use super::row::DvfRow;

/// Length of an identifier, hexadecimal characters.
const ID_CHARS: usize = 20;
/// Stands for a missing price.
const NO_PRICE: f32 = -1.0;

/// Digests what identifies the rows of a sale, in any order; `rows` is not empty.
///
/// If a row names no parcel, its address, position, building and surface are used instead. Without building and
/// surface, 18 of 90,437 sales of Paris (now 11, which agree in all published values) would be confused with another
/// sale of the same day, street and price.
pub fn digest(rows: &[DvfRow<'_>]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    let first = &rows[0];
    hasher.update(&first.day.to_le_bytes());
    hasher.update(&first.disposition.to_le_bytes());
    hasher.update(&single_precision(first.price_cents).to_le_bytes());
    let mut places: Vec<(&str, &str)> = Vec::with_capacity(rows.len());
    let mut addresses = BTreeSet::new();
    for row in rows {
        if row.parcel.is_empty() {
            addresses.insert(address(row));
        }
        places.push((&row.parcel, ""));
        let lots = row.lots.iter().filter(|(lot, _)| !lot.is_empty());
        places.extend(lots.map(|(lot, _)| (&*row.parcel, *lot)));
    }
    places.sort_unstable();
    places.dedup();
    for (parcel, lot) in places {
        hasher
            .update(parcel.as_bytes())
            .update(b"/")
            .update(lot.as_bytes())
            .update(b";");
    }
    for address in addresses {
        hasher.update(address.as_bytes()).update(b";");
    }
    hasher
}

/// Returns the identifier of a sale's record of one kind.
pub fn id(digest: &blake3::Hasher, kind: SaleKind) -> String {
    let mut hasher = digest.clone();
    hasher.update(kind.as_str().as_bytes());
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(ID_CHARS);
    hex
}

/// Returns a price in EUR as a 32-bit float, so that a file that stored it in single precision gives the same value:
/// 1,234,567.89 and 1,234,567.88 are both 1,234,567.875.
fn single_precision(price_cents: Option<i64>) -> f32 {
    price_cents.map_or(NO_PRICE, |cents| (cents as f64 / 100.0) as f32)
}

fn address(row: &DvfRow<'_>) -> String {
    let [number, suffix, kind, name] = row.street;
    let single = |number: f64| number as f32;
    let position = row.position.map(|(lat, lon)| (single(lat), single(lon)));
    format!(
        "{}|{number}|{suffix}|{kind} {name}|{position:?}|{:?}|{:?}",
        row.commune,
        row.local,
        row.built_m2.map(single)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_the_same_after_it_was_kept_in_single_precision() {
        for (price_cents, kept) in [
            (123_456_789, 1_234_567.9_f32),
            (17_450_055, 174_500.55),
            (11_054_971_300, 110_549_712.0),
            (15_000_000, 150_000.0),
            (1, 0.01),
        ] {
            let again = (f64::from(kept) * 100.0).round() as i64;
            assert_eq!(single_precision(Some(price_cents)), kept);
            assert_eq!(single_precision(Some(again)), kept);
            // Written with two decimals, as a table does.
            let written: f64 = format!("{kept:.2}").parse().unwrap();
            let written = (written * 100.0).round() as i64;
            assert_eq!(single_precision(Some(written)), kept);
        }
    }
}
