//! Hints for users who write the name of a place where its code is required: `Mende is 48095 (postal code 48000)`.
//!
//! Called only when a request or an option is refused, so valid input costs nothing. Names are compared without
//! accents, hyphens and case. A known name costs a few hash lookups; a misspelt one is compared with all 41,000 names,
//! most of them by signature only.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::place_names::{fold, index};
use super::places::{CITY_POSTAL_CODES, DIVIDED_CITIES, Place, PlaceKind, Places};
use super::{departments, regions};

/// Maximum length of a text that is looked up as a name, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Maximum number of listed places per name, and of listed postal codes per place.
const LISTED_MAX: usize = 3;
/// Minimum length of a name in which one edit is tolerated, in bytes.
const ONE_EDIT_MIN: usize = 4;
/// Minimum length of a name in which two edits are tolerated, in bytes.
const TWO_EDITS_MIN: usize = 6;
/// Articles that people often omit before a name.
const ARTICLES: [&str; 4] = ["la ", "le ", "les ", "l "];

/// A kind of code that a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceCode {
    /// INSEE code of a commune.
    Insee,
    /// Postal code.
    Postal,
    /// Department code.
    Department,
}

/// Returns the code of the place that a text names, as a clause to append to the rule that the code breaks; `None` if
/// the text is not close to the name of any place.
///
/// Places that share a name are listed by population, at most three. Names of departments and regions are recognised
/// too.
pub fn hint(text: &str, wanted: PlaceCode) -> Option<String> {
    if text.len() > NAME_BYTES_MAX {
        return None;
    }
    let folded = fold(text);
    if let Some(known) = KnownName::find(&folded, wanted) {
        return Some(format!("{} is {}", known.name, known.codes));
    }
    let nearest = nearest(&folded, wanted)?;
    let known = KnownName::find(nearest, wanted)?;
    Some(format!("did you mean {}, {}?", known.name, known.codes))
}

/// A place name with its codes, worded to follow "is".
struct KnownName {
    name: &'static str,
    codes: String,
}

impl KnownName {
    fn find(folded: &str, wanted: PlaceCode) -> Option<Self> {
        if folded.is_empty() {
            return None;
        }
        let with_article = ARTICLES.map(|article| format!("{article}{folded}"));
        let forms = || std::iter::once(folded).chain(with_article.iter().map(String::as_str));
        let area = || forms().find_map(|name| Self::area(name, wanted));
        let commune = || forms().find_map(|name| Self::commune(name, wanted));
        match wanted {
            PlaceCode::Department => area().or_else(commune),
            PlaceCode::Insee | PlaceCode::Postal => match (commune(), area()) {
                (Some(commune), Some(area)) => Some(Self {
                    name: commune.name,
                    codes: format!("{}, or {}", commune.codes, area.codes),
                }),
                (commune, area) => commune.or(area),
            },
        }
    }

    /// Finds a department or region.
    fn area(folded: &str, wanted: PlaceCode) -> Option<Self> {
        if let Some(rank) = AREA_NAMES.departments.iter().position(|one| one == folded) {
            let (code, name) = (departments::CODES[rank], departments::NAMES[rank]);
            let codes = match wanted {
                PlaceCode::Department => code.to_owned(),
                _ => format!("the department {code}"),
            };
            return Some(Self { name, codes });
        }
        let rank = AREA_NAMES.regions.iter().position(|one| one == folded)?;
        let region = &regions::REGIONS[rank];
        let codes = match region.departments {
            [code] => format!("the department {code}"),
            several => format!("the region of the departments {}", joined(several, "and")),
        };
        let name = region.name;
        Some(Self { name, codes })
    }

    /// Finds a commune, a divided city, an arrondissement or a former commune.
    fn commune(folded: &str, wanted: PlaceCode) -> Option<Self> {
        let mut found: Vec<&'static Place> = index().today(folded).collect();
        if found.len() > 1 && is_divided(&found) {
            return Self::divided_city(&found, wanted);
        }
        if found.is_empty() {
            found = index().former(folded).collect();
        }
        found.sort_by_key(|place| (Reverse(current_commune(place).population), place.code));
        found.dedup_by_key(|place| current_commune(place).code);
        let name = found.first()?.name;
        if wanted == PlaceCode::Department {
            let codes = department_list(&found);
            return Some(Self { name, codes });
        }
        let several = found.len() > 1;
        let places = found.iter().take(LISTED_MAX);
        let mut listed: Vec<String> = places.map(|place| codes(place, wanted, several)).collect();
        if found.len() > LISTED_MAX {
            listed.push(format!("{} more", found.len() - LISTED_MAX));
        }
        let word = if found.len() > LISTED_MAX {
            "and"
        } else {
            "or"
        };
        let codes = joined(&listed, word);
        Some(Self { name, codes })
    }

    /// Describes Paris, Lyon or Marseille, by its own code and those of its arrondissements.
    fn divided_city(parts: &[&'static Place], wanted: PlaceCode) -> Option<Self> {
        let (first, last) = (parts.first()?, parts.last()?);
        let postal =
            |place: &'static Place| place.postal_codes.first().copied().unwrap_or_default();
        let city = Places::get().place(first.parent?)?;
        let by_part = |whole: &str, first: &str, last: &str| {
            format!("{whole}, or {first} to {last} by arrondissement")
        };
        let codes = match wanted {
            PlaceCode::Insee => by_part(city.code, first.code, last.code),
            PlaceCode::Postal => {
                let mut cities = DIVIDED_CITIES.iter().zip(CITY_POSTAL_CODES);
                let (_, whole) = cities.find(|(code, _)| **code == city.code)?;
                by_part(whole, postal(first), postal(last))
            }
            PlaceCode::Department => in_department(first.department),
        };
        Some(Self {
            name: city.name,
            codes,
        })
    }
}

fn is_divided(places: &[&Place]) -> bool {
    let is_part = |place: &&Place| place.kind == PlaceKind::Arrondissement;
    places.iter().all(is_part)
}

/// Returns the current commune that a place belongs to.
fn current_commune(place: &'static Place) -> &'static Place {
    let parent = || Places::get().place(place.parent?);
    match place.kind {
        PlaceKind::Former | PlaceKind::FormerCode => parent().unwrap_or(place),
        PlaceKind::Commune | PlaceKind::Arrondissement => place,
    }
}

/// Formats the wanted code of a place with its other code in brackets, and with the department if several places share
/// the name.
fn codes(place: &'static Place, wanted: PlaceCode, several: bool) -> String {
    let commune = current_commune(place);
    let shown = place.postal_codes.len().min(LISTED_MAX);
    let mut postal: Vec<String> = place.postal_codes[..shown]
        .iter()
        .map(|code| (*code).to_owned())
        .collect();
    if place.postal_codes.len() > LISTED_MAX {
        postal.push(format!("{} more", place.postal_codes.len() - LISTED_MAX));
    }
    let department = departments::name(place.department).filter(|_| several);
    let mut details: Vec<String> = department.map(str::to_owned).into_iter().collect();
    if commune.code != place.code {
        details.push(format!("now {}", commune.name));
    }
    let code = match wanted {
        PlaceCode::Postal => {
            details.push(format!("INSEE code {}", commune.code));
            joined(&postal, "and")
        }
        _ => {
            let plural = if postal.len() > 1 { "s" } else { "" };
            details.push(format!("postal code{plural} {}", joined(&postal, "and")));
            commune.code.to_owned()
        }
    };
    format!("{code} ({})", details.join(", "))
}

/// Lists the departments of places in order, without duplicates.
fn department_list(places: &[&'static Place]) -> String {
    let mut known = BTreeSet::new();
    let mut codes: Vec<&str> = places.iter().map(|place| place.department).collect();
    codes.retain(|code| known.insert(*code));
    let shown = codes.iter().take(LISTED_MAX);
    let mut listed: Vec<String> = shown.map(|code| in_department(code)).collect();
    if codes.len() > LISTED_MAX {
        listed.push(format!("in {} more", codes.len() - LISTED_MAX));
    }
    joined(&listed, "and")
}

fn in_department(code: &str) -> String {
    let name = departments::name(code).unwrap_or_default();
    format!("in department {code} ({name})")
}

/// Joins items with commas, and the last with a word.
fn joined<T: AsRef<str>>(items: &[T], word: &str) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} {word} {last}", before.join(", ")),
        None => String::new(),
    }
}

/// Folded names of departments and regions, in the order of their tables.
struct AreaNames {
    departments: Vec<String>,
    regions: Vec<String>,
}

static AREA_NAMES: LazyLock<AreaNames> = LazyLock::new(|| AreaNames {
    departments: departments::NAMES.iter().map(|name| fold(name)).collect(),
    regions: regions::REGIONS
        .iter()
        .map(|region| fold(region.name))
        .collect(),
});

/// Every folded name with its signature.
static SPELLINGS: LazyLock<Vec<(u32, &'static str)>> = LazyLock::new(|| {
    let areas = AREA_NAMES.departments.iter().chain(&AREA_NAMES.regions);
    let names = areas.map(String::as_str).chain(index().names());
    names.map(|name| (signature(name), name)).collect()
});

/// Returns the set of letters in a name as a bit mask. One edit changes at most two bits.
fn signature(name: &str) -> u32 {
    let letters = name.bytes().filter(u8::is_ascii_lowercase);
    letters.fold(0, |bits, letter| bits | 1 << (letter - b'a'))
}

/// Returns the name with the fewest edits from a text; of several, that of the largest population. `None` if no name is
/// near enough.
fn nearest(folded: &str, wanted: PlaceCode) -> Option<&'static str> {
    let edits_max = match folded.len() {
        _ if folded.bytes().any(|byte| byte.is_ascii_digit()) => return None,
        TWO_EDITS_MIN.. => 2,
        ONE_EDIT_MIN.. => 1,
        _ => return None,
    };
    let own = signature(folded);
    let may_be_near = |(signature, name): &&(u32, &'static str)| {
        (signature ^ own).count_ones() as usize <= 2 * edits_max
            && name.len().abs_diff(folded.len()) <= edits_max
    };
    let near = SPELLINGS
        .iter()
        .filter(may_be_near)
        .filter_map(|(_, name)| {
            let edits = strsim::osa_distance(folded, name);
            (edits <= edits_max).then_some((edits, *name))
        });
    near.min_by_key(|(edits, name)| (*edits, Reverse(weight(name, wanted)), *name))
        .map(|(_, name)| name)
}

/// Ranks places by how likely the user means them: by population, but departments and regions first if a department
/// code is wanted.
fn weight(folded: &'static str, wanted: PlaceCode) -> u32 {
    let is_area = || {
        let areas = &AREA_NAMES;
        let mut names = areas.departments.iter().chain(&areas.regions);
        names.any(|name| name == folded)
    };
    if wanted == PlaceCode::Department && is_area() {
        return u32::MAX;
    }
    let places = index().today(folded).chain(index().former(folded));
    places.map(|place| place.population).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insee(text: &str) -> String {
        hint(text, PlaceCode::Insee).unwrap_or_default()
    }

    fn postal(text: &str) -> String {
        hint(text, PlaceCode::Postal).unwrap_or_default()
    }

    fn department(text: &str) -> String {
        hint(text, PlaceCode::Department).unwrap_or_default()
    }

    #[test]
    fn a_name_gives_its_code_however_it_is_written() {
        for text in ["Mende", "MENDE", " mende "] {
            assert_eq!(insee(text), "Mende is 48095 (postal code 48000)", "{text}");
        }
        assert_eq!(postal("Mende"), "Mende is 48000 (INSEE code 48095)");
        for text in ["Saint-Chély-d'Apcher", "ST CHELY D APCHER"] {
            let hint = "Saint-Chély-d'Apcher is 48140 (postal code 48200)";
            assert_eq!(insee(text), hint, "{text}");
        }
        assert_eq!(
            insee("Ferté Bernard"),
            "La Ferté-Bernard is 72132 (postal code 72400)"
        );
        let hint = insee("Nice");
        assert_eq!(
            hint,
            "Nice is 06088 (postal codes 06000, 06100, 06200 and 1 more)"
        );
    }

    #[test]
    fn places_of_one_name_are_listed_by_population() {
        assert_eq!(
            insee("St-Denis"),
            "Saint-Denis is 97411 (La Réunion, postal codes 97400, 97417 and 97490), \
             93066 (Seine-Saint-Denis, postal codes 93200, 93210 and 93380), \
             11339 (Aude, postal code 11310) and 1 more"
        );
        assert_eq!(postal("Lamastre"), "Lamastre is 07270 (INSEE code 07129)");
    }

    #[test]
    fn divided_cities_have_a_code_as_a_whole_and_for_each_arrondissement() {
        assert_eq!(
            insee("paris"),
            "Paris is 75056, or 75101 to 75120 by arrondissement, or the department 75"
        );
        assert_eq!(
            postal("Lyon"),
            "Lyon is 69000, or 69001 to 69009 by arrondissement"
        );
        assert_eq!(
            department("Marseille"),
            "Marseille is in department 13 (Bouches-du-Rhône)"
        );
        assert_eq!(
            insee("Paris 13"),
            "Paris 13e Arrondissement is 75113 (postal code 75013)"
        );
    }

    #[test]
    fn a_former_commune_gives_the_commune_of_today() {
        assert_eq!(
            insee("Pierrefitte-sur-Seine"),
            "Pierrefitte-sur-Seine is 93066 (now Saint-Denis, postal code 93380)"
        );
        assert_eq!(
            postal("Pierrefitte-sur-Seine"),
            "Pierrefitte-sur-Seine is 93380 (now Saint-Denis, INSEE code 93066)"
        );
    }

    #[test]
    fn departments_and_regions_are_named_too() {
        assert_eq!(department("lozere"), "Lozère is 48");
        assert_eq!(department("Réunion"), "La Réunion is 974");
        assert_eq!(department("Paris"), "Paris is 75");
        assert_eq!(department("Mende"), "Mende is in department 48 (Lozère)");
        assert_eq!(insee("Lozère"), "Lozère is the department 48");
        assert_eq!(
            insee("Vienne"),
            "Vienne is 38544 (postal code 38200), or the department 86"
        );
        for wanted in [PlaceCode::Insee, PlaceCode::Department] {
            let regions = "Normandie is the region of the departments 14, 27, 50, 61 and 76";
            assert_eq!(hint("normandie", wanted).as_deref(), Some(regions));
        }
    }

    #[test]
    fn a_misspelt_name_gives_the_nearest() {
        assert_eq!(
            insee("Mrvejols"),
            "did you mean Marvejols, 48092 (postal code 48100)?"
        );
        assert!(insee("Grenobel").starts_with("did you mean Grenoble, 38185 "));
        assert_eq!(department("Losere"), "did you mean Lozère, 48?");
        assert_eq!(
            department("Normandei"),
            "did you mean Normandie, the region of the departments 14, 27, 50, 61 and 76?"
        );
    }

    #[test]
    fn what_is_no_name_gets_no_hint() {
        let long = "a".repeat(NAME_BYTES_MAX + 1);
        for text in [
            "", "-", "4809", "N/A", "xyzzy qwrt", "48 000", "Paris 21", &long,
        ] {
            assert_eq!(hint(text, PlaceCode::Insee), None, "{text}");
            assert_eq!(hint(text, PlaceCode::Department), None, "{text}");
        }
    }
}
