//! Merges the streets and places of a department that two bases identify in two ways, such as an older and a newer file
//! of a commune, of which only one has keys with the codes of streets. Otherwise each of their addresses would be found
//! twice.

use std::collections::{HashMap, HashSet};

use super::{HouseNumber, SegmentBuilder, Street};
use crate::text::{fold, lexicon};

/// Position of the separator after the code of the commune in the identifier of a street of the national base.
const COMMUNE_END: usize = 5;

/// Codes of commune and former commune, and the folded name.
type StreetName = (String, String, String);

impl SegmentBuilder {
    /// Merges the copies of streets and places into the street that has an identifier of the national base, or into one
    /// of them if none has. Call it after the last address. Streets of one name without a common postal code stay apart,
    /// and so do several streets of one name in the national base.
    pub fn merge_copies(&mut self) {
        if self.streets.values().all(Street::is_national) {
            return;
        }
        let mut keys_of: HashMap<StreetName, Vec<String>> = HashMap::new();
        for (key, street) in &self.streets {
            let area = &street.area;
            let (commune, former) = (area.insee_code.clone(), area.former_code.clone());
            let name = (commune, former, fold::folded(&street.name));
            keys_of.entry(name).or_default().push(key.clone());
        }
        for mut keys in keys_of.into_values() {
            // The result must not depend on the order in the map.
            keys.sort_unstable();
            let is_national = |key: &String| {
                let street = self.streets.get(key);
                street.is_some_and(Street::is_national)
            };
            let (national, mut copies): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_national);
            let target = match national.as_slice() {
                [] if copies.len() > 1 => copies.remove(0),
                [only] => only.clone(),
                _ => continue,
            };
            self.merge_into(&target, copies);
        }
    }

    fn merge_into(&mut self, target: &str, copies: Vec<String>) {
        let Some(mut street) = self.streets.remove(target) else {
            return;
        };
        for key in copies {
            let copy = self.streets.remove(&key);
            match copy {
                Some(copy) if street.shares_postal_code(&copy) => street.add(copy),
                Some(copy) => {
                    self.streets.insert(key, copy);
                }
                None => {}
            }
        }
        self.streets.insert(target.to_owned(), street);
    }
}

impl Street {
    /// Returns whether the identifier begins with the code of a commune, as in the national base.
    fn is_national(&self) -> bool {
        self.id.as_bytes().get(COMMUNE_END) == Some(&b'_')
    }

    fn shares_postal_code(&self, other: &Self) -> bool {
        let mut codes = self.postal_codes.keys();
        self.postal_codes.is_empty()
            || other.postal_codes.is_empty()
            || codes.any(|code| other.postal_codes.contains_key(code))
    }

    /// Adds what a copy of the street has and the street lacks: house numbers, and the position of a place.
    fn add(&mut self, copy: Self) {
        let known: HashSet<_> = self.numbers.iter().map(HouseNumber::rank).collect();
        let further = copy.numbers.into_iter();
        let further = further.filter(|number| !known.contains(&number.rank()));
        // Their identifiers do not begin with that of this street.
        self.numbers.extend(further.map(|number| {
            HouseNumber {
                id: number
                    .id
                    .clone()
                    .or_else(|| Some(number.usual_id(&copy.id))),
                ..number
            }
        }));
        self.is_place &= copy.is_place;
        self.position = self.position.or(copy.position);
        for (code, count) in copy.postal_codes {
            self.postal_codes.entry(code).or_insert(count);
        }
    }
}

impl HouseNumber {
    /// Returns the identifier that it has in a street by default.
    fn usual_id(&self, street_id: &str) -> String {
        let number = self.number;
        match lexicon::suffix_text(self.suffix) {
            "" => format!("{street_id}_{number:05}"),
            suffix => format!("{street_id}_{number:05}_{suffix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AddressRow, SegmentBuilder};

    fn builder(rows: &[(&str, Option<u32>, &str, &str)]) -> SegmentBuilder {
        let mut builder = SegmentBuilder::default();
        for (id, number, name, postal_code) in rows {
            builder.push(&AddressRow {
                id: (*id).to_owned(),
                number: *number,
                name: (*name).to_owned(),
                postal_code: (*postal_code).to_owned(),
                insee_code: "29128".to_owned(),
                commune: "Loc-Eguiner".to_owned(),
                lat: 48.47,
                lon: -4.06,
                ..AddressRow::default()
            });
        }
        builder.merge_copies();
        builder
    }

    #[test]
    fn an_address_of_two_bases_is_kept_once() {
        let builder = builder(&[
            ("29128_0100_00001", Some(1), "Rue du Lavoir", "29400"),
            ("29128_0100_00003", Some(3), "Rue du Lavoir", "29400"),
            ("3a2b1c0d-9e8f", Some(1), "RUE DU LAVOIR", "29400"),
            ("3a2b1c0d-9e90", Some(5), "Rue du Lavoir", "29400"),
            (
                "xxxx_29128 rue du lavoir_00007",
                Some(7),
                "Rue du lavoir",
                "29400",
            ),
            ("29128_0200", None, "Kerguélen Vihan", "29400"),
            ("0f1c8f1e-5f07", None, "Kerguelen Vihan", ""),
        ]);
        assert_eq!((builder.streets(), builder.numbers()), (2, 4));
        let street = builder.streets.values().find(|street| !street.is_place);
        let mut numbers: Vec<_> = street.unwrap().numbers.iter().collect();
        numbers.sort_by_key(|number| number.number);
        let ids: Vec<_> = numbers.iter().map(|number| number.id.as_deref()).collect();
        assert_eq!(
            ids,
            [
                None,
                None,
                Some("3a2b1c0d-9e90"),
                Some("xxxx_29128 rue du lavoir_00007")
            ]
        );
    }

    #[test]
    fn streets_that_may_be_different_stay_apart() {
        let builder = builder(&[
            ("29128_0100_00001", Some(1), "Rue du Lavoir", "29400"),
            ("3a2b1c0d-9e8f", Some(1), "Rue du Lavoir", "29410"),
            ("29128_0200_00001", Some(1), "Rue Haute", "29400"),
            ("29128_0300_00001", Some(1), "Rue Haute", "29400"),
            ("3a2b1c0d-9e90", Some(1), "Rue Haute", "29400"),
        ]);
        assert_eq!(builder.streets(), 5);
    }

    #[test]
    fn copies_without_an_identifier_of_the_national_base_are_merged() {
        let builder = builder(&[
            ("3a2b1c0d-9e8f", Some(1), "Rue du Lavoir", "29400"),
            (
                "xxxx_29128 rue du lavoir_00001",
                Some(1),
                "Rue du Lavoir",
                "29400",
            ),
        ]);
        assert_eq!((builder.streets(), builder.numbers()), (1, 1));
    }
}
