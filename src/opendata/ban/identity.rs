//! The identifier of an address or of a named place.
//!
//! It is that of the national base if the row has it. In local bases it is the key (`cle_interop`), which ends with
//! the house number. Programs write `xxxx` in keys in place of the code of a street that has none yet, so that one key
//! stands in all these streets. Such a row, and one without a key as in version 1.5, has the identifier of the
//! national base for local bases (`id_ban_adresse`, and `id_ban_toponyme` for a named place; in older versions, both
//! in `uid_adresse`). If a row with such a key has none, its identifier is made of commune, street and house number.

use std::borrow::Cow;

use super::columns::BanField;
use super::house_number::{NO_NUMBER, house_number};
use crate::conversion::filled;
use toise_geocode::text::fold::folded;

/// What keys have in place of the code of a street that has none.
const NO_STREET: [&str; 2] = ["xxxx", "0000"];
/// Marks of the identifiers in `uid_adresse`: of an address, and of a street or place.
const ADDRESS_MARK: &str = "@a:";
const PLACE_MARKS: [&str; 2] = ["@v:", "@t:"];
/// Beginning of the identifiers that are made here. Those of the national base begin with the code of a commune.
const MADE: &str = "xxxx";

/// Returns the identifier of a row; empty if it has none.
pub(super) fn identifier<'c>(cell: &impl Fn(BanField) -> &'c str) -> Cow<'c, str> {
    let key = cell(BanField::Key);
    let commune = commune_of_many_streets(key);
    let key = if commune.is_some() { "" } else { key };
    let marked = |marks: &[&str]| {
        let mut parts = cell(BanField::Marked).split_whitespace();
        let id = parts.find_map(|part| marks.iter().find_map(|mark| part.strip_prefix(mark)));
        id.unwrap_or_default()
    };
    let address = [cell(BanField::AddressId), marked(&[ADDRESS_MARK])];
    let ids = [cell(BanField::Id), key].into_iter().chain(address);
    if let Some(id) = first_of(ids) {
        return Cow::Borrowed(id);
    }
    let Some(house) = house_number(cell(BanField::Number)) else {
        return Cow::Borrowed(cell(BanField::Key));
    };
    let place = first_of([cell(BanField::PlaceId), marked(&PLACE_MARKS)]);
    if let Some(place) = place.filter(|_| house.number.is_none()) {
        return Cow::Borrowed(place);
    }
    let Some(commune) = commune else {
        return Cow::Borrowed("");
    };
    let former = cell(BanField::FormerInseeCode).to_lowercase();
    let parts = [commune.to_lowercase(), former, folded(cell(BanField::Name))];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let street = parts.collect::<Vec<_>>().join(" ");
    let suffix = filled(cell(BanField::Suffix)).unwrap_or(house.suffix);
    let joint = if suffix.is_empty() { "" } else { "_" };
    let number = house.number.unwrap_or(NO_NUMBER);
    let suffix = suffix.to_lowercase();
    Cow::Owned(format!("{MADE}_{street}_{number:05}{joint}{suffix}"))
}

/// Returns the first text that is not empty.
fn first_of<'c>(texts: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    texts.into_iter().find(|text| !text.is_empty())
}

/// Returns the commune of a key without the code of its street; `None` for other keys.
fn commune_of_many_streets(key: &str) -> Option<&str> {
    let mut parts = key.split('_');
    let (commune, street) = parts.next().zip(parts.next())?;
    let has_none = NO_STREET
        .iter()
        .any(|none| street.eq_ignore_ascii_case(none));
    has_none.then_some(commune)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identified(cells: &[(BanField, &'static str)]) -> String {
        let cell = |field: BanField| {
            let found = cells.iter().find(|(known, _)| *known == field);
            found.map_or("", |(_, text)| *text)
        };
        identifier(&cell).into_owned()
    }

    #[test]
    fn streets_without_a_code_have_identifiers_of_their_own() {
        let cells = |key, street, suffix| {
            identified(&[
                (BanField::Key, key),
                (BanField::Name, street),
                (BanField::Number, "7"),
                (BanField::Suffix, suffix),
            ])
        };
        assert_eq!(
            cells("91534_0100_00007", "Rue Haute", ""),
            "91534_0100_00007"
        );
        assert_eq!(
            cells("91534_xxxx_00007", "Rue Haute", ""),
            "xxxx_91534 rue haute_00007"
        );
        assert_eq!(
            cells("2a004_XXXX_00007_b", "Cours", "B"),
            "xxxx_2a004 cours_00007_b"
        );
        assert_eq!(cells("", "Rue Haute", ""), "");
        assert_eq!(cells("key", "Rue Haute", ""), "key");
    }

    #[test]
    fn the_identifier_of_the_national_base_stands_for_a_key_without_a_street() {
        let cells = |number, id| {
            identified(&[
                (BanField::Key, "91534_xxxx_99999"),
                (BanField::Name, "Le Bourg"),
                (BanField::Number, number),
                (BanField::AddressId, id),
                (BanField::PlaceId, "place"),
            ])
        };
        assert_eq!(cells("12", "address"), "address");
        assert_eq!(cells("99999", ""), "place");
        assert_eq!(cells("12", ""), "xxxx_91534 le bourg_00012");
        let marked = |number, ids| {
            identified(&[
                (BanField::Key, "91534_xxxx_00012"),
                (BanField::Number, number),
                (BanField::Marked, ids),
            ])
        };
        assert_eq!(marked("12", "@c:commune @v:street @a:address"), "address");
        assert_eq!(marked("99999", "@c:commune @v:place"), "place");
    }
}
