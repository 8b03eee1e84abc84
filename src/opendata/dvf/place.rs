//! The commune and parcels of a sale across mergers of communes: its current commune, its former commune, and its
//! parcels under current codes. Called for every row of a source; a row whose commune never merged costs two hash
//! lookups.
//!
//! A commune that joined another keeps its three digits as the prefix of its parcels: parcel AB 12 of 85307 became
//! `85001307AB0012`. Sources write either form, and this module turns both into the new one. If a commune became
//! independent again, its parcels get back their own code. All mergers come from the compiled-in table of places.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_geo::communes::{is_recoded, record_place};
use toise_geo::departments;
use toise_geo::places::{PlaceKind, Places};

/// Column with the current INSEE code.
pub const COMMUNE: &str = "insee_code";
/// Column with the code of the former commune.
pub const FORMER_COMMUNE: &str = "former_insee_code";
/// Column with the parcels, under current codes.
pub const PARCELS: &str = "parcel_ids";
/// Length of a parcel code, characters.
const PARCEL_CHARS: usize = 14;
/// Parcel prefix of a commune that did not join another.
const OWN_PREFIX: &str = "000";

/// Current and former commune of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlace<'a> {
    /// Current code of the commune; the published code if it is unknown.
    pub commune: Cow<'a, str>,
    /// Current name of the commune; empty if the code is unknown.
    pub name: &'static str,
    /// Code of the former commune; empty if the sale was not in one, or the source does not say so.
    pub former: Cow<'a, str>,
}

/// Returns the communes of a row from its published code, the former code that the source also gives (or an empty
/// string), and its parcel under the current code.
pub fn row_place<'a>(published: Cow<'a, str>, former: Cow<'a, str>, parcel: &str) -> RowPlace<'a> {
    let Some(today) = record_place(&published) else {
        return RowPlace {
            commune: published,
            name: "",
            former,
        };
    };
    let former = if today.code != published {
        published.clone()
    } else if !former.is_empty() && former != published {
        former
    } else {
        former_of_parcel(parcel, today.code).map_or(Cow::Borrowed(""), Cow::Borrowed)
    };
    let commune = if today.code == published {
        published
    } else {
        Cow::Borrowed(today.code)
    };
    RowPlace {
        commune,
        name: today.name,
        former,
    }
}

/// Former communes by the first eight characters (commune and prefix) of their current parcel codes.
static FORMER_COMMUNES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let places = Places::get().all().iter();
    let former = places.filter(|place| {
        matches!(place.kind, PlaceKind::Former | PlaceKind::FormerCode) && !place.code.is_empty()
    });
    let with_prefix = former.filter_map(|place| {
        let today = record_place(place.code)?.code;
        (today != place.code).then(|| (format!("{today}{}", &place.code[2..]), place.code))
    });
    with_prefix.collect()
});

/// Returns the former commune of a parcel with a current code, if the parcel is in the commune `today`.
fn former_of_parcel(parcel: &str, today: &str) -> Option<&'static str> {
    let start = parcel
        .get(..8)
        .filter(|start| !start.ends_with(OWN_PREFIX))?;
    let former = FORMER_COMMUNES.get(start).copied();
    former.filter(|_| start.starts_with(today))
}

/// Returns the commune that the prefix of a parcel names, if it has become independent of the parcel's commune again.
fn independent_again(parcel: &str, today: &str) -> Option<&'static str> {
    let (department, prefix) = (&parcel[..2], &parcel[5..8]);
    // Overseas, codes of communes have two digits after the department.
    if department == "97" || FORMER_COMMUNES.contains_key(&*format!("{today}{prefix}")) {
        return None;
    }
    let code = format!("{department}{prefix}");
    let own = record_place(&code)?;
    let is_own = own.code == code && own.kind == PlaceKind::Commune && own.code != today;
    is_own.then_some(own.code)
}

/// Returns the current code of a parcel. Anything that is not a parcel of a known commune stays as it is.
pub fn parcel_today(parcel: Cow<'_, str>) -> Cow<'_, str> {
    if parcel.len() != PARCEL_CHARS || !parcel.is_ascii() {
        return parcel;
    }
    let (commune, prefix, rest) = (&parcel[..5], &parcel[5..8], &parcel[8..]);
    let Some(today) = record_place(commune) else {
        return parcel;
    };
    if prefix == OWN_PREFIX {
        if today.code == commune {
            return parcel;
        }
        let prefix = if is_recoded(commune) {
            OWN_PREFIX
        } else {
            &commune[2..]
        };
        return Cow::Owned(format!("{}{prefix}{rest}", today.code));
    }
    match independent_again(&parcel, today.code) {
        Some(code) => Cow::Owned(format!("{code}{OWN_PREFIX}{rest}")),
        None if today.code == commune => parcel,
        None => Cow::Owned(format!("{}{prefix}{rest}", today.code)),
    }
}

/// Returns the department of a commune code: two characters, or three overseas. Saint-Martin and Saint-Barthélemy count
/// as Guadeloupe, under which the register publishes them.
pub fn department(insee_code: &str) -> &str {
    departments::for_commune(insee_code).unwrap_or_else(|| {
        let length = if insee_code.starts_with("97") { 3 } else { 2 };
        insee_code.get(..length).unwrap_or_default()
    })
}

/// Rewrites conditions on the commune so that codes of former communes find the sales of these communes.
pub fn find_former_communes(filter: Filter) -> Filter {
    filter.into_iter().flat_map(find_former).collect()
}

fn find_former(clause: Clause) -> Filter {
    let ClauseTest::OneOf(codes) = &clause.test else {
        return vec![clause];
    };
    if clause.column != COMMUNE {
        return vec![clause];
    }
    let one_of = |column, codes: Vec<String>| Clause::new(column, ClauseTest::OneOf(codes));
    let alternatives = codes.iter().map(|code| match record_place(code) {
        Some(today) if today.code != code => vec![
            one_of(COMMUNE, vec![today.code.to_owned()]),
            one_of(FORMER_COMMUNE, vec![code.clone()]),
        ],
        _ => vec![one_of(COMMUNE, vec![code.clone()])],
    });
    Clause::any(alternatives.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today(parcel: &str) -> String {
        parcel_today(Cow::Borrowed(parcel)).into_owned()
    }

    fn place(published: &str, former: &str, parcel: &str) -> (String, String) {
        let found = row_place(
            published.to_owned().into(),
            former.to_owned().into(),
            parcel,
        );
        (found.commune.into_owned(), found.former.into_owned())
    }

    #[test]
    fn a_parcel_has_one_code_before_and_after_a_merger() {
        for (published, expected) in [
            ("85307000AB0012", "85001307AB0012"),
            ("85001307AB0012", "85001307AB0012"),
            ("85001000AB0012", "85001000AB0012"),
            ("83137000CM0123", "83137000CM0123"),
            ("59350298AB0012", "59350298AB0012"),
            ("13201801AB0012", "13201801AB0012"),
            ("97127000AB0012", "97801000AB0012"),
            ("97801000AB0012", "97801000AB0012"),
            ("99999000AB0012", "99999000AB0012"),
            ("short", "short"),
            ("", ""),
        ] {
            assert_eq!(today(published), expected, "{published}");
        }
    }

    #[test]
    fn every_former_commune_gives_its_parcels_the_same_code_from_either_form() {
        for former in Places::get().all() {
            let is_former = matches!(former.kind, PlaceKind::Former | PlaceKind::FormerCode);
            let Some(place) = record_place(former.code).filter(|_| is_former) else {
                continue;
            };
            if place.code == former.code {
                continue;
            }
            let before = today(&format!("{}000ZA0001", former.code));
            assert_eq!(today(&before), before, "{}", former.code);
            let prefix = &former.code[2..];
            assert_eq!(
                before,
                today(&format!("{}{prefix}ZA0001", place.code)),
                "{}",
                former.code
            );
        }
    }

    #[test]
    fn the_former_commune_is_known_from_code_column_or_prefix() {
        let merged = ("85001".to_owned(), "85307".to_owned());
        assert_eq!(place("85307", "", "85307000AB0012"), merged);
        assert_eq!(place("85001", "85307", "85001307AB0012"), merged);
        assert_eq!(place("85001", "", "85001307AB0012"), merged);
        let never_merged = ("83137".to_owned(), String::new());
        assert_eq!(place("83137", "", "83137000CM0123"), never_merged);
        let unknown = ("99999".to_owned(), "98888".to_owned());
        assert_eq!(place("99999", "98888", ""), unknown);
        assert_eq!(department("97801"), "971");
        assert_eq!(department("2A004"), "2A");
    }

    #[test]
    fn a_former_code_finds_the_sales_of_its_commune() {
        let one_of = |column, code: &str| Clause::new(column, ClauseTest::OneOf(vec![code.into()]));
        let asked = |code| find_former_communes(vec![one_of(COMMUNE, code)]);
        assert_eq!(asked("85001"), [one_of(COMMUNE, "85001")]);
        assert_eq!(
            asked("85307"),
            [one_of(COMMUNE, "85001"), one_of(FORMER_COMMUNE, "85307")]
        );
        let both = ClauseTest::OneOf(vec!["85307".into(), "83137".into()]);
        let both = find_former_communes(vec![Clause::new(COMMUNE, both)]);
        assert!(matches!(&both[0].test, ClauseTest::Any(filters) if filters.len() == 2));
    }
}
