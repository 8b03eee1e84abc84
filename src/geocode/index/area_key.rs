//! The commune and former commune of an address.

use super::builder::AddressRow;
use toise_geo::places::{Place, PlaceKind, Places};

/// Codes in old editions of the base for communes that left Guadeloupe in 2007, with their current codes.
const RENAMED: [(&str, &str); 2] = [("97123", "97701"), ("97127", "97801")];

/// Key of an area: a commune, or a former commune within it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AreaKey {
    pub insee_code: String,
    pub former_code: String,
    pub commune: String,
    pub former_name: String,
}

impl AreaKey {
    /// Returns the area of a row. Older editions of the base have communes that have been merged since; these become
    /// former communes of the current ones.
    pub fn of(row: &AddressRow) -> Self {
        let places = Places::get();
        let renamed = RENAMED.iter().find(|(code, _)| *code == row.insee_code);
        let code = renamed.map_or(row.insee_code.as_str(), |(_, code)| code);
        let place = places.find(code).and_then(|at| places.place(at));
        let is_former =
            |place: &&Place| matches!(place.kind, PlaceKind::Former | PlaceKind::FormerCode);
        let parent = place
            .filter(is_former)
            .and_then(|place| places.place(place.parent?));
        match parent {
            Some(commune) => Self {
                insee_code: commune.code.to_owned(),
                former_code: row.insee_code.clone(),
                commune: commune.name.to_owned(),
                former_name: row.commune.clone(),
            },
            None => Self {
                insee_code: code.to_owned(),
                former_code: row.former_code.clone(),
                commune: row.commune.clone(),
                former_name: row.former_name.clone(),
            },
        }
    }
}
