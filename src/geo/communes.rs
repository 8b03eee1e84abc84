//! The built-in communes: finds a commune by code, postal code, name or position.
//!
//! All 35,000 communes are listed with their postal codes (`data/postal_codes.csv.gz`), so the communes of a postal
//! code are complete. About 3,000 have a centre, namely every town and some villages (`data/communes.csv`), accurate to
//! a kilometre or two. All functions return nothing rather than guess. The tables are read on first use, which takes
//! about 50 ms.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::departments;
use super::distance::planar_distance_m;

/// Maximum distance from a position to the centres that determine its department, in metres.
const DEPARTMENT_REACH_M: f64 = 20_000.0;
/// Number of nearest centres that must agree on a department.
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
    /// Approximate centre, latitude and longitude in WGS 84 degrees, if known.
    pub centre: Option<(f64, f64)>,
    /// Name normalised by [`fold`].
    folded: String,
}

struct CommuneTable {
    communes: Vec<Commune>,
    by_insee_code: HashMap<&'static str, usize>,
    by_postal_code: HashMap<&'static str, Vec<usize>>,
    by_name: HashMap<(&'static str, String), Vec<usize>>,
}

static TABLE: LazyLock<CommuneTable> = LazyLock::new(|| {
    let lines = include_str!("../../data/communes.csv").lines().skip(1);
    let centres: HashMap<&str, (f64, f64)> = lines.filter_map(centre).collect();
    let mut text = String::new();
    let packed = include_bytes!("../../data/postal_codes.csv.gz");
    if let Err(error) = GzDecoder::new(&packed[..]).read_to_string(&mut text) {
        // The tests verify that the built-in table can be read.
        tracing::error!(%error, "the table of communes cannot be read");
    }
    // Leaked once: the table lives as long as the process.
    let text: &'static str = text.leak();
    let lines = text.lines().skip(1);
    let communes: Vec<Commune> = lines.filter_map(|line| parse(line, &centres)).collect();
    let mut table = CommuneTable {
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

/// Parses the code and centre of a commune.
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
    let department = departments::for_commune(insee_code)?;
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
pub fn find_by_code(insee_code: &str) -> Option<&'static Commune> {
    let table = &*TABLE;
    table
        .by_insee_code
        .get(insee_code)
        .map(|index| &table.communes[*index])
}

/// All communes of a postal code.
pub fn find_by_postal_code(postal_code: &str) -> impl Iterator<Item = &'static Commune> {
    let table = &*TABLE;
    let found = table
        .by_postal_code
        .get(postal_code)
        .map_or(&[][..], Vec::as_slice);
    found.iter().map(|index| &table.communes[*index])
}

/// The commune of a department with a name, in any spelling; `None` if there is none or more than one.
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

/// The commune identified by a postal code and a name together: `75013` and `Paris` give its 13th arrondissement.
pub fn find_by_postal_code_and_name(postal_code: &str, name: &str) -> Option<&'static Commune> {
    let name = fold(name);
    let city = city_of(&name);
    let mut found = find_by_postal_code(postal_code)
        .filter(|commune| commune.folded == name || city_of(&commune.folded) == city);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The department of a postal code. Wrong for a few border communes whose post is delivered from the neighbouring
/// department.
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

/// The department of a position, if the known centres around it agree; `None` near borders and far from towns.
///
/// Scans all communes: about ten microseconds.
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

/// Removes the arrondissement from Paris, Lyon and Marseille; returns other names unchanged.
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

/// Normalises a name: no case, accents, hyphens or `cedex`; `st` and `ste` are written out.
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
    fn the_tables_are_read_completely() {
        // Without the two communes of Saint-Pierre-et-Miquelon, which is not a department.
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
                code(find_by_postal_code_and_name("75013", name)),
                Some("75113"),
                "{name}"
            );
        }
        assert_eq!(code(find_by_postal_code_and_name("75013", "Lyon")), None);
        assert_eq!(code(find_by_code("75113")), Some("75113"));
    }

    #[test]
    fn a_postal_code_gives_all_its_communes() {
        let codes = |postal_code| -> Vec<&str> {
            let found = find_by_postal_code(postal_code);
            found.map(|commune| commune.insee_code).collect()
        };
        assert_eq!(codes("75013"), ["75113"]);
        // Mende and two villages.
        assert!(codes("48000").len() > 1 && codes("48000").contains(&"48095"));
        assert_eq!(codes("99999"), [""; 0]);
    }

    #[test]
    fn a_postal_code_gives_its_department() {
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
    fn a_position_gives_its_department_only_away_from_borders() {
        assert_eq!(department_at(44.518, 3.501), Some("48"));
        assert_eq!(department_at(43.2965, 5.3698), Some("13"));
        assert_eq!(department_at(46.0, -6.0), None, "at sea");
        // Between Paris and Montreuil.
        assert_eq!(department_at(48.857, 2.418), None);
    }
}
