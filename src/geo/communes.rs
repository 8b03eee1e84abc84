//! The communes the executable knows: from code, postal code, name or position to one of them.
//!
//! All 35,000 are known with their postal codes (`data/postal_codes.csv.gz`), so a postal code belongs to those listed
//! and no other; the centres of about 3,000, every town and villages here and there (`data/communes.csv`), good to a
//! kilometre or two. Every question here answers nothing rather than guess. Read when first asked: some 50 ms.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::departments;
use super::distance::planar_distance_m;

/// How far a position may be from the centres that tell its department, metres.
const DEPARTMENT_REACH_M: f64 = 20_000.0;
/// How many of the nearest centres must agree on a department.
const DEPARTMENT_WITNESSES: usize = 3;

/// A commune, or an arrondissement of Paris, Lyon or Marseille.
#[derive(Debug)]
pub struct Commune {
    /// INSEE code.
    pub insee_code: &'static str,
    /// Official name.
    pub name: &'static str,
    /// Postal codes, never empty.
    pub postal_codes: Vec<&'static str>,
    /// Department code.
    pub department: &'static str,
    /// Rough centre, latitude and longitude in degrees, where it is known.
    pub centre: Option<(f64, f64)>,
    /// Name as [`fold`] leaves it.
    folded: String,
}

struct Table {
    communes: Vec<Commune>,
    by_insee_code: HashMap<&'static str, usize>,
    by_postal_code: HashMap<&'static str, Vec<usize>>,
    by_name: HashMap<(&'static str, String), Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let lines = include_str!("../../data/communes.csv").lines().skip(1);
    let centres: HashMap<&str, (f64, f64)> = lines.filter_map(centre).collect();
    let mut text = String::new();
    let packed = include_bytes!("../../data/postal_codes.csv.gz");
    if let Err(error) = GzDecoder::new(&packed[..]).read_to_string(&mut text) {
        // What is compiled in is read by the tests.
        tracing::error!(%error, "the table of communes cannot be read");
    }
    // Once and for good: communes are as lasting as the executable.
    let text: &'static str = text.leak();
    let lines = text.lines().skip(1);
    let communes: Vec<Commune> = lines.filter_map(|line| parse(line, &centres)).collect();
    let mut table = Table {
        by_insee_code: HashMap::with_capacity(communes.len()),
        by_postal_code: HashMap::with_capacity(communes.len()),
        by_name: HashMap::with_capacity(communes.len()),
        communes: Vec::new(),
    };
    for (index, commune) in communes.iter().enumerate() {
        table.by_insee_code.insert(commune.insee_code, index);
        for code in &commune.postal_codes {
            table.by_postal_code.entry(code).or_default().push(index);
        }
        let name = (commune.department, commune.folded.clone());
        table.by_name.entry(name).or_default().push(index);
    }
    table.communes = communes;
    table
});

/// Code and centre of a commune.
fn centre(line: &str) -> Option<(&str, (f64, f64))> {
    let mut fields = line.split(',');
    let insee_code = fields.next()?;
    let mut fields = fields.skip(5);
    let latitude = fields.next()?.parse().ok()?;
    Some((insee_code, (latitude, fields.next()?.parse().ok()?)))
}

fn parse(line: &'static str, centres: &HashMap<&str, (f64, f64)>) -> Option<Commune> {
    let mut fields = line.split(',');
    let (insee_code, name) = (fields.next()?, fields.next()?);
    let postal_codes = fields.next()?.split('|').collect();
    let department = departments::of_commune(insee_code)?;
    Some(Commune {
        insee_code,
        name,
        postal_codes,
        department,
        centre: centres.get(insee_code).copied(),
        folded: fold(name),
    })
}

/// The commune with an INSEE code.
pub fn of_code(insee_code: &str) -> Option<&'static Commune> {
    let table = &*TABLE;
    table
        .by_insee_code
        .get(insee_code)
        .map(|index| &table.communes[*index])
}

/// All communes of a postal code.
pub fn of_postal_code(postal_code: &str) -> impl Iterator<Item = &'static Commune> {
    let table = &*TABLE;
    let found = table
        .by_postal_code
        .get(postal_code)
        .map_or(&[][..], Vec::as_slice);
    found.iter().map(|index| &table.communes[*index])
}

/// The one commune of a department that bears a name, however it is written; `None` when none or several do.
pub fn named(name: &str, department: &str) -> Option<&'static Commune> {
    let table = &*TABLE;
    let department = departments::CODES
        .iter()
        .find(|code| **code == department)?;
    match table.by_name.get(&(department, fold(name)))?.as_slice() {
        [index] => Some(&table.communes[*index]),
        _ => None,
    }
}

/// The commune that a postal code and a name mean together: `75013` and `Paris` are its 13th arrondissement.
pub fn of_postal_code_and_name(postal_code: &str, name: &str) -> Option<&'static Commune> {
    let name = fold(name);
    let city = city_of(&name);
    let mut found = of_postal_code(postal_code)
        .filter(|commune| commune.folded == name || city_of(&commune.folded) == city);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The department a postal code lies in, which a few border communes contradict: their post comes from next door.
pub fn department_of_postal_code(postal_code: &str) -> Option<&'static str> {
    let department = match postal_code.get(..3)? {
        "200" | "201" => "2A",
        "202" | "206" => "2B",
        overseas if overseas.starts_with("97") => overseas,
        _ => postal_code.get(..2)?,
    };
    departments::CODES
        .iter()
        .find(|code| **code == department)
        .copied()
}

/// The department of a position, when the known centres around it agree; `None` near borders and far from towns.
///
/// Looks at every commune: some ten microseconds.
pub fn department_at(latitude: f64, longitude: f64) -> Option<&'static str> {
    let mut nearest: Vec<(f64, &'static str)> = TABLE
        .communes
        .iter()
        .filter_map(|commune| {
            let (lat, lon) = commune.centre?;
            let metres = planar_distance_m(latitude, longitude, lat, lon);
            Some((metres, commune.department))
        })
        .filter(|(metres, _)| *metres <= DEPARTMENT_REACH_M)
        .collect();
    nearest.sort_by(|one, other| one.0.total_cmp(&other.0));
    nearest.truncate(DEPARTMENT_WITNESSES);
    let (_, department) = *nearest.first()?;
    nearest
        .iter()
        .all(|(_, other)| *other == department)
        .then_some(department)
}

/// Paris, Lyon and Marseille without their arrondissement; other names as they are.
fn city_of(folded: &str) -> &str {
    ["paris", "lyon", "marseille"]
        .into_iter()
        .find(|city| {
            folded.strip_prefix(city).is_some_and(|rest| {
                rest.is_empty()
                    || rest
                        .trim_start()
                        .starts_with(|first: char| first.is_ascii_digit())
            })
        })
        .unwrap_or(folded)
}

/// A name without case, accents, hyphens, `cedex`, and with `saint` written out.
fn fold(name: &str) -> String {
    let plain: String = name
        .replace(['œ', 'Œ'], "oe")
        .nfd()
        .filter(|sign| !is_combining_mark(*sign))
        .flat_map(char::to_lowercase)
        .map(|sign| if sign.is_alphanumeric() { sign } else { ' ' })
        .collect();
    let words = plain.split_whitespace().take_while(|word| *word != "cedex");
    let words: Vec<&str> = words
        .map(|word| match word {
            "st" => "saint",
            "ste" => "sainte",
            word => word,
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(commune: Option<&'static Commune>) -> Option<&'static str> {
        commune.map(|commune| commune.insee_code)
    }

    #[test]
    fn the_tables_are_read_whole() {
        // All but the two of Saint-Pierre-et-Miquelon, which is no department.
        assert_eq!(TABLE.communes.len(), 34_977);
        let centred = TABLE.communes.iter().filter(|one| one.centre.is_some());
        let lines = include_str!("../../data/communes.csv").lines().count() - 1;
        assert_eq!(centred.count(), lines);
        assert!(
            TABLE
                .communes
                .iter()
                .all(|commune| !commune.postal_codes.is_empty())
        );
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        for name in ["Saint-Étienne", "ST ETIENNE", "saint etienne cedex 2"] {
            assert_eq!(code(named(name, "42")), Some("42218"), "{name}");
        }
        assert_eq!(code(named("Saint-Étienne", "69")), None);
        for name in ["Paris", "PARIS 13", "Paris 13e Arrondissement"] {
            assert_eq!(
                code(of_postal_code_and_name("75013", name)),
                Some("75113"),
                "{name}"
            );
        }
        assert_eq!(code(of_postal_code_and_name("75013", "Lyon")), None);
        assert_eq!(code(of_code("75113")), Some("75113"));
    }

    #[test]
    fn a_postal_code_tells_all_its_communes() {
        let codes = |postal_code| -> Vec<&str> {
            let found = of_postal_code(postal_code);
            found.map(|commune| commune.insee_code).collect()
        };
        assert_eq!(codes("75013"), ["75113"]);
        // Mende and two villages.
        assert!(codes("48000").len() > 1 && codes("48000").contains(&"48095"));
        assert_eq!(codes("99999"), [""; 0]);
    }

    #[test]
    fn a_postal_code_names_its_department() {
        for (postal_code, department) in [
            ("75013", Some("75")),
            ("20000", Some("2A")),
            ("20200", Some("2B")),
            ("97410", Some("974")),
            ("00000", None),
            ("98000", None),
        ] {
            assert_eq!(
                department_of_postal_code(postal_code),
                department,
                "{postal_code}"
            );
        }
    }

    #[test]
    fn a_position_tells_its_department_only_away_from_borders() {
        assert_eq!(department_at(44.518, 3.501), Some("48"));
        assert_eq!(department_at(43.2965, 5.3698), Some("13"));
        assert_eq!(department_at(46.0, -6.0), None, "at sea");
        // Between Paris and Montreuil.
        assert_eq!(department_at(48.857, 2.418), None);
    }
}
