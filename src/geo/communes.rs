//! Finds the commune for a code, a postal code, a name or a position, in the table of [`Places`].
//!
//! For input from users and adverts. All functions return nothing rather than guess, so that data derived from a place
//! is right. Communes of overseas collectivities that belong to no department are not found. A former commune is found
//! by its own code; its name gives the current commune. Every lookup of a code or a name is by hash.

use super::contours::commune_at;
use super::departments;
use super::distance::planar_distance_m;
use super::place_names::{city_of, fold, index, town_of};
use super::places::{CITY_POSTAL_CODES, DIVIDED_CITIES, Place, PlaceKind, Places};

/// A position has a known department only if there is no other department within this distance, in metres. Contours are
/// simplified to 100 m.
const BORDER_M: f64 = 200.0;
/// Maximum distance of a position from the centre of the commune named with it, metres. Communes with the same name are
/// farther apart than the largest commune extends.
pub const NEAR_M: f64 = 30_000.0;
/// Previous and current code of communes that changed their code without a merger: Saint-Barthélemy and Saint-Martin,
/// which left Guadeloupe. Property registers use either code.
const RECODED: [(&str, &str); 2] = [("97123", "97701"), ("97127", "97801")];
/// Articles that people leave out of the name of a town.
const ARTICLES: [&str; 4] = ["le", "la", "les", "l"];
/// Minimum letters of a part of a name that stands for the whole.
const PART_LETTERS_MIN: usize = 4;
/// Letters of a name for each of its letters that may be wrong.
const LETTERS_PER_EDIT: usize = 5;
/// Metres of one degree of latitude.
const DEGREE_M: f64 = 111_195.0;

/// Returns the place with an INSEE code: a commune, an arrondissement or a former commune. For a former commune whose
/// name is not known, returns the commune it belongs to.
pub fn find_by_code(insee_code: &str) -> Option<&'static Place> {
    let places = Places::get();
    let place = places.place(places.find(insee_code)?)?;
    let place = match place.kind {
        PlaceKind::FormerCode => today(place)?,
        _ => place,
    };
    (!place.department.is_empty()).then_some(place)
}

/// Returns the current commune for an INSEE code. A former commune gives the commune it belongs to, and an
/// arrondissement of Paris, Lyon or Marseille gives the whole city.
pub fn today_of_code(insee_code: &str) -> Option<&'static Place> {
    let places = Places::get();
    let place = places.place(places.find(insee_code)?)?;
    let commune = today(place).unwrap_or(place);
    (!commune.department.is_empty()).then_some(commune)
}

/// Returns the place under which records with an INSEE code are stored now: for a former commune, the current commune;
/// for an arrondissement, the arrondissement. Saint-Martin and Saint-Barthélemy are also found by the codes that they
/// had in Guadeloupe. `None` for an unknown code.
pub fn record_place(insee_code: &str) -> Option<&'static Place> {
    let recoded = RECODED.iter().find(|(former, _)| *former == insee_code);
    let code = recoded.map_or(insee_code, |(_, code)| code);
    let places = Places::get();
    let place = places.place(places.find(code)?)?;
    match place.kind {
        PlaceKind::Former | PlaceKind::FormerCode => today(place),
        PlaceKind::Commune | PlaceKind::Arrondissement => Some(place),
    }
}

/// Returns whether this is the previous code of a commune that changed its code without a merger.
pub fn is_recoded(insee_code: &str) -> bool {
    RECODED.iter().any(|(former, _)| *former == insee_code)
}

/// Returns the INSEE codes of the records that a filter by INSEE code finds: the code itself and, for Paris, Lyon and
/// Marseille as a whole, those of the arrondissements.
pub fn codes_within(insee_code: &str) -> Vec<String> {
    let parts = DIVIDED_CITIES.contains(&insee_code).then(|| {
        let places = Places::get();
        places
            .find(insee_code)
            .map_or(Vec::new(), |city| places.address_codes(city))
    });
    with_parts(insee_code, parts.unwrap_or_default())
}

/// Returns the postal codes of the records that a filter by postal code finds: the code itself and, for 75000, 69000
/// and 13000, those of the arrondissements. The post does not assign these three to any commune.
pub fn postal_codes_within(postal_code: &str) -> Vec<String> {
    let places = Places::get();
    let city = city_of_postal_code(postal_code);
    let city = city.and_then(|city| places.place(places.find(city)?));
    let parts = city.map_or(Vec::new(), |city| city.postal_codes.clone());
    with_parts(postal_code, parts)
}

/// Returns the INSEE code of Paris, Lyon or Marseille for 75000, 69000 or 13000.
pub fn city_of_postal_code(postal_code: &str) -> Option<&'static str> {
    let mut cities = DIVIDED_CITIES.iter().zip(CITY_POSTAL_CODES);
    cities.find_map(|(city, code)| (code == postal_code).then_some(*city))
}

fn with_parts(code: &str, parts: Vec<&'static str>) -> Vec<String> {
    let own = std::iter::once(code);
    own.chain(parts).map(str::to_owned).collect()
}

/// Returns all communes of a postal code; for Paris, Lyon and Marseille, the arrondissements.
pub fn find_by_postal_code(postal_code: &str) -> impl Iterator<Item = &'static Place> {
    let places = Places::get();
    let found = places.of_postal_code(postal_code).iter();
    found
        .filter_map(|index| places.place(*index))
        .filter(|place| !place.department.is_empty())
}

/// Returns the commune with a name in a department, in any spelling; `None` if there is none or more than one. If no
/// current commune has the name, former communes are tried.
pub fn named(name: &str, department: &str) -> Option<&'static Place> {
    only_of_name(&fold(name), |place| place.department == department)
}

/// Returns the only commune of France with a name, in any spelling; `None` if there is none or more than one.
pub fn named_once(name: &str) -> Option<&'static Place> {
    only_of_name(&fold(name), |_| true)
}

/// Returns all current communes with a name, in any spelling; for Paris, Lyon and Marseille, the arrondissements.
pub fn all_named(name: &str) -> Vec<&'static Place> {
    let folded = fold(name);
    let found = index().today(&folded);
    found.filter(|place| !place.department.is_empty()).collect()
}

/// Returns the only commune with a name whose centre is within [`NEAR_M`] of a position, degrees in WGS 84.
pub fn named_near(name: &str, latitude: f64, longitude: f64) -> Option<&'static Place> {
    only_of_name(&fold(name), |place| {
        let (lat, lon) = place.centre;
        planar_distance_m(lat, lon, latitude, longitude) <= NEAR_M
    })
}

/// Returns Paris, Lyon or Marseille by name, as a whole city, because the name does not say which arrondissement is
/// meant.
pub fn divided_city(name: &str) -> Option<&'static Place> {
    let name = fold(name);
    let places = Places::get();
    DIVIDED_CITIES.into_iter().find_map(|code| {
        let place = places.place(places.find(code)?)?;
        (fold(place.name) == name).then_some(place)
    })
}

/// Returns whether two names mean the same town in any spelling, with or without an arrondissement or a postal code:
/// `Paris` and `Paris 11e (75011)`.
pub fn is_same_town(one: &str, other: &str) -> bool {
    let town = town_of(one);
    !town.is_empty() && town == town_of(other)
}

/// Returns whether a name has one arrondissement of Paris, Lyon or Marseille, and the postal code belongs to another:
/// `13001` and `Marseille 8e`. The right one is then unknown. A department in brackets, as in `Marseille (13)`, is no
/// arrondissement.
pub fn names_other_arrondissement(postal_code: &str, name: &str) -> bool {
    let department = format!("({})", postal_code.get(..2).unwrap_or_default());
    let name = fold(&name.replace(&department, "")).replace(postal_code, "");
    let mut named = index().today(name.trim());
    let Some(named) = named.next().filter(|_| named.next().is_none()) else {
        return false;
    };
    let mut coded = find_by_postal_code(postal_code);
    named.kind == PlaceKind::Arrondissement
        && !named.postal_codes.contains(&postal_code)
        && coded.any(|place| place.parent == named.parent)
}

/// Returns the commune identified by a postal code and a name together: `75013` and `Paris` give the 13th
/// arrondissement. The arrondissement of the name does not count; see [`names_other_arrondissement`].
pub fn find_by_postal_code_and_name(postal_code: &str, name: &str) -> Option<&'static Place> {
    let name = fold(name);
    let found = only_of_name(city_of(&name), |place| {
        place.postal_codes.contains(&postal_code)
    });
    // Also tries names without their article, and previous names, such as Herblay, which became Herblay-sur-Seine in
    // 2018.
    let bare = without_article(&name);
    let only = |is: &dyn Fn(&str) -> bool| {
        let is_meant = |place: &&Place| is(without_article(&fold(place.name)));
        let mut meant = find_by_postal_code(postal_code).filter(is_meant);
        let first = meant.next().filter(|_| !bare.is_empty())?;
        meant.next().is_none().then_some(first)
    };
    let begins = |longer: &str| {
        let rest = longer.strip_prefix(bare);
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    // A single word without an article may be any word: `58190, maison de village` is not La Maison-Dieu.
    let is_name =
        name != bare || bare.contains(' ') || find_by_postal_code(postal_code).nth(1).is_none();
    let begins_in_full = || {
        let mut meant = find_by_postal_code(postal_code).filter(|place| {
            let official = fold(place.name);
            let rest = official.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        let is_word = !name.is_empty() && !ARTICLES.contains(&name.as_str());
        let first = meant.next().filter(|_| is_word)?;
        meant.next().is_none().then_some(first)
    };
    found
        .or_else(|| only(&|other| other == bare).filter(|_| is_name))
        .or_else(begins_in_full)
        .or_else(|| only(&begins).filter(|_| is_name))
}

/// Returns the only commune of a postal code, for a name that no commune has: a part of its name, or its name with a
/// wrong letter, such as `Anthony` for Antony.
pub fn find_by_postal_code_and_likeness(postal_code: &str, name: &str) -> Option<&'static Place> {
    let mut found = find_by_postal_code(postal_code);
    let only = found.next().filter(|_| found.next().is_none())?;
    let (name, official) = (fold(name), fold(only.name));
    let (name, official) = (without_article(&name), without_article(&official));
    let is_commune =
        |name: &str| index().today(name).next().is_some() || index().former(name).next().is_some();
    let mut with_article = ARTICLES.iter().map(|article| format!("{article} {name}"));
    let has_other = is_commune(name) || with_article.any(|name| is_commune(&name));
    let is_like = is_part(name, official) || is_misspelt(name, official);
    (is_like && !has_other && !name.is_empty()).then_some(only)
}

/// Returns whether a postal code whose leading zero was restored fits the town next to it: `01000` fits Bourg, but not
/// Bruxelles, whose code `1000` is not French. Every code fits an empty name.
pub fn fits_restored_code(postal_code: &str, town: &str) -> bool {
    let name = town_of(town);
    let department = postal_code.get(..2).unwrap_or_default();
    let mut named = index().today(&name).chain(index().former(&name));
    let mut of_code = find_by_postal_code(postal_code);
    let is_like = |place: &Place| {
        let official = fold(place.name);
        is_part(&name, &official) || is_misspelt(&name, &official)
    };
    name.is_empty() || named.any(|place| place.department == department) || of_code.any(is_like)
}

/// Returns whether a folded name is a part of another.
fn is_part(name: &str, official: &str) -> bool {
    name.len() >= PART_LETTERS_MIN && format!(" {official} ").contains(&format!(" {name} "))
}

/// Returns whether a folded name is another with a wrong letter.
fn is_misspelt(name: &str, official: &str) -> bool {
    strsim::osa_distance(name, official) <= name.len().max(official.len()) / LETTERS_PER_EDIT
}

/// Removes the article from a folded name: `le havre`, `havre le`.
fn without_article(folded: &str) -> &str {
    ARTICLES.iter().fold(folded, |name, article| {
        let before = name
            .strip_prefix(*article)
            .filter(|rest| rest.starts_with(' '));
        let after = name
            .strip_suffix(*article)
            .filter(|rest| rest.ends_with(' '));
        before.or(after).unwrap_or(name).trim()
    })
}

/// Returns the department of a position; `None` within 200 m of another department, at sea and abroad.
///
/// Takes about five microseconds; the contours are read on first use, which takes about 50 ms.
pub fn department_at(latitude: f64, longitude: f64) -> Option<&'static str> {
    let north = BORDER_M / DEGREE_M;
    let east = north / latitude.to_radians().cos().max(f64::EPSILON);
    let at = |latitude, longitude| departments::for_commune(commune_at(latitude, longitude)?);
    let department = at(latitude, longitude)?;
    // Near a coast, the surrounding points may be outside every commune.
    [(north, 0.0), (-north, 0.0), (0.0, east), (0.0, -east)]
        .into_iter()
        .filter_map(|(north, east)| at(latitude + north, longitude + east))
        .all(|other| other == department)
        .then_some(department)
}

/// Returns the only current commune with a folded name, otherwise the one commune to which all former communes of that
/// name belong.
fn only_of_name(folded: &str, is: impl Fn(&Place) -> bool) -> Option<&'static Place> {
    let mut found = index().today(folded).filter(|place| is(place));
    if let Some(first) = found.next() {
        return found.next().is_none().then_some(first);
    }
    let mut found = index().former(folded).filter(|place| is(place));
    let first = today(found.next()?)?;
    let is_same = |place| today(place).is_some_and(|other| other.code == first.code);
    found.all(is_same).then_some(first)
}

/// Returns the commune that a former commune belongs to.
fn today(former: &Place) -> Option<&'static Place> {
    Places::get().place(former.parent?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(commune: Option<&'static Place>) -> Option<&'static str> {
        commune.map(|commune| commune.code)
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        for name in ["Saint-Étienne", "ST ETIENNE", "saint etienne cedex 2"] {
            assert_eq!(code(named(name, "42")), Some("42218"), "{name}");
        }
        assert_eq!(code(named("Saint-Étienne", "69")), None);
        for name in ["Paris", "PARIS 13", "Paris 13e Arrondissement"] {
            assert_eq!(
                code(find_by_postal_code_and_name("75013", name)),
                Some("75113"),
                "{name}"
            );
        }
        assert_eq!(code(find_by_postal_code_and_name("75013", "Lyon")), None);
        assert_eq!(code(named("Paris", "75")), None, "one of twenty");
        assert_eq!(
            code(find_by_postal_code_and_name("95220", "Herblay")),
            Some("95306")
        );
        assert_eq!(code(find_by_postal_code_and_name("95220", "Her")), None);
    }

    #[test]
    fn a_code_that_got_back_its_zero_fits_only_towns_near_it() {
        for (code, town) in [
            ("01000", ""),
            ("01000", "Bourg"),
            ("01000", "BOURG-EN-BRESSE CEDEX"),
            ("01000", "Bourg en Bress"),
            ("01011", "Bourg-en-Bresse"),
            ("06000", "Nice"),
            ("06000", "Nice (06000)"),
        ] {
            assert!(fits_restored_code(code, town), "{code} {town}");
        }
        for (code, town) in [
            ("01000", "Bruxelles"),
            ("01050", "Ixelles"),
            ("01200", "Genève"),
            ("01000", "Lausanne"),
            ("04000", "Liège"),
            ("01000", "Mende"),
        ] {
            assert!(!fits_restored_code(code, town), "{code} {town}");
        }
    }

    #[test]
    fn an_arrondissement_next_to_the_postal_code_of_another_is_noticed() {
        let contradicts = |code: &str, name: &str| names_other_arrondissement(code, name);
        assert!(contradicts("13001", "Marseille 13"));
        assert!(contradicts("13001", "Marseille 13 (13001)"));
        assert!(contradicts("75012", "Paris 11e Arrondissement"));
        for (code, name) in [
            ("13013", "Marseille 13"),
            ("13001", "Marseille (13)"),
            ("75116", "Paris 16e"),
            ("75000", "Paris 11e"),
            ("75011", "Paris"),
            ("48000", "Mende"),
            ("69003", "Paris 11e"),
        ] {
            assert!(!contradicts(code, name), "{code} {name}");
        }
    }

    #[test]
    fn a_name_is_found_without_its_article() {
        for (postal_code, name, expected) in [
            ("33110", "Bouscat", "33069"),
            ("33110", "LE BOUSCAT", "33069"),
            ("76620", "Havre", "76351"),
            ("76620", "Havre (Le)", "76351"),
            ("34280", "Grande-Motte", "34344"),
            ("33260", "La Teste", "33529"),
            ("33260", "Teste-de-Buch", "33529"),
            ("76140", "Petit-Quevilly", "76498"),
        ] {
            let found = find_by_postal_code_and_name(postal_code, name);
            assert_eq!(code(found), Some(expected), "{name}");
        }
        for name in ["Le", "", "Lyon"] {
            assert_eq!(code(find_by_postal_code_and_name("33110", name)), None);
        }
    }

    #[test]
    fn a_name_with_a_wrong_letter_is_found_by_a_code_of_one_commune() {
        let found = |code: &str, name: &str| find_by_postal_code_and_likeness(code, name);
        assert_eq!(code(found("92160", "Anthony")), Some("92002"));
        assert_eq!(code(found("34280", "Motte")), None, "a commune elsewhere");
        for name in ["Massy", "Nullepart", "Le", "", "Antonin"] {
            assert_eq!(code(found("92160", name)), None, "{name}");
        }
    }

    #[test]
    fn a_name_alone_is_enough_where_only_one_commune_has_it() {
        assert_eq!(code(named_once("toulon")), Some("83137"));
        assert_eq!(code(named_once("Saint-Denis")), None, "one of several");
        assert_eq!(code(named_once("Paris")), None, "one of twenty");
        assert_eq!(code(named_near("Saint-Denis", 48.93, 2.36)), Some("93066"));
        assert_eq!(code(named_near("Saint-Denis", 43.1, 5.9)), None);
        assert_eq!(code(divided_city("PARIS")), Some("75056"));
        assert_eq!(code(divided_city("Paris 13")), None);
    }

    #[test]
    fn a_town_is_the_same_with_and_without_its_arrondissement() {
        for (one, other, is_same) in [
            ("Paris", "PARIS", true),
            ("Paris 11ème arrondissement", "Paris", true),
            ("Paris XIe", "Paris 11e", true),
            ("Lyon 3e (69003)", "Lyon", true),
            ("Toulon (83000)", "Toulon", true),
            ("St-Étienne", "Saint Etienne", true),
            ("Paris 11e - Bastille", "Paris", false),
            ("Vieux Lyon", "Lyon", false),
            ("Parisot", "Paris", false),
            ("", "", false),
            ("75011", "Paris", false),
        ] {
            assert_eq!(is_same_town(one, other), is_same, "{one}, {other}");
        }
    }

    #[test]
    fn a_former_commune_keeps_its_code_and_its_name_gives_the_commune_of_today() {
        assert_eq!(code(find_by_code("75113")), Some("75113"));
        assert_eq!(code(find_by_code("93059")), Some("93059"));
        assert_eq!(code(named("Pierrefitte-sur-Seine", "93")), Some("93066"));
        let found = find_by_postal_code_and_name("93380", "PIERREFITTE SUR SEINE");
        assert_eq!(code(found), Some("93066"));
        assert_eq!(code(find_by_code("98818")), None, "Nouméa");
        let unnamed = Places::get().all().iter();
        let mut unnamed = unnamed.filter(|place| place.kind == PlaceKind::FormerCode);
        let former = unnamed.next().unwrap();
        assert!(!find_by_code(former.code).unwrap().name.is_empty());
    }

    #[test]
    fn records_of_a_former_commune_belong_to_the_commune_of_today() {
        for (code_of_record, expected) in [
            ("85307", Some("85001")),
            ("85001", Some("85001")),
            ("75113", Some("75113")),
            ("97127", Some("97801")),
            ("97801", Some("97801")),
            ("97123", Some("97701")),
            ("99999", None),
        ] {
            assert_eq!(
                code(record_place(code_of_record)),
                expected,
                "{code_of_record}"
            );
        }
        assert!(is_recoded("97127") && !is_recoded("85307"));
    }

    #[test]
    fn a_postal_code_gives_all_its_communes() {
        let codes = |postal_code| -> Vec<&str> {
            let found = find_by_postal_code(postal_code);
            found.map(|commune| commune.code).collect()
        };
        assert_eq!(codes("75013"), ["75113"]);
        // Mende and two villages.
        assert!(codes("48000").len() > 1 && codes("48000").contains(&"48095"));
        assert_eq!(codes("99999"), [""; 0]);
    }

    #[test]
    fn a_position_gives_its_department_only_away_from_borders() {
        assert_eq!(department_at(44.518, 3.501), Some("48"));
        assert_eq!(department_at(43.2965, 5.3698), Some("13"));
        assert_eq!(department_at(-12.7809, 45.2279), Some("976"));
        assert_eq!(department_at(46.0, -6.0), None, "at sea");
        assert_eq!(department_at(f64::NAN, 2.0), None);
        // Between Paris and Montreuil.
        assert_eq!(department_at(48.857, 2.4145), None);
    }
}
