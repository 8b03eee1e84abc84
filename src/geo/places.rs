//! The table of all places of France that an address may name: communes, municipal arrondissements, former communes,
//! with their postal codes, populations and centres.
//!
//! The table is compiled in (`data/places.csv.gz`, see `data/README.md`), so that towns are known before anything is
//! imported. It is read on first use, which takes about 30 ms. A former commune points at the commune it belongs to;
//! follow [`Place::parent`] for the current official commune.

use std::collections::HashMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use super::departments;

/// The kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceKind {
    /// A current commune.
    Commune,
    /// An arrondissement of Paris, Lyon or Marseille.
    Arrondissement,
    /// A former commune with its own name: delegated, associated, or one the post still delivers to.
    Former,
    /// The code of a former commune whose name is not known.
    FormerCode,
}

/// A place.
#[derive(Debug)]
pub struct Place {
    /// INSEE code; empty for a former name without one.
    pub code: &'static str,
    /// Kind of place.
    pub kind: PlaceKind,
    /// Official name; empty for [`PlaceKind::FormerCode`].
    pub name: &'static str,
    /// The commune that a former commune or an arrondissement belongs to, as an index into [`Places::all`].
    pub parent: Option<u32>,
    /// Number of inhabitants; 0 where unknown.
    pub population: u32,
    /// Postal codes; a former commune without its own has its parent's.
    pub postal_codes: Vec<&'static str>,
    /// Department code; empty in overseas collectivities.
    pub department: &'static str,
    /// Centre, latitude and longitude in WGS 84 degrees.
    pub centre: (f64, f64),
}

/// Maximum difference in degrees between a position and a centre for the two to count as equal: the table has three
/// decimals.
const CENTRE_ROUNDING_DEG: f64 = 0.000_51;

impl Place {
    /// Returns whether a position, latitude and longitude in WGS 84 degrees, is the centre.
    pub fn is_centre(&self, position: (f64, f64)) -> bool {
        is_centre(position, self.centre)
    }
}

/// Returns whether a position equals a centre of the table, apart from rounding. Portals give the centre of a commune
/// if they hide or do not know the address.
pub fn is_centre(position: (f64, f64), centre: (f64, f64)) -> bool {
    let differences = [position.0 - centre.0, position.1 - centre.1];
    differences
        .iter()
        .all(|difference| difference.abs() <= CENTRE_ROUNDING_DEG)
}

/// The table of places.
pub struct Places {
    all: Vec<Place>,
    by_code: HashMap<&'static str, u32>,
    by_postal_code: HashMap<&'static str, Vec<u32>>,
}

static PLACES: LazyLock<Places> = LazyLock::new(Places::read);

/// INSEE codes of Paris, Lyon and Marseille, whose arrondissements are places too.
pub const DIVIDED_CITIES: [&str; 3] = ["75056", "69123", "13055"];
/// Postal codes that people write for [`DIVIDED_CITIES`] as a whole; the post uses only the codes of the
/// arrondissements.
pub const CITY_POSTAL_CODES: [&str; 3] = ["75000", "69000", "13000"];

impl Places {
    /// Returns the table, which is read on first use.
    pub fn get() -> &'static Self {
        &PLACES
    }

    fn read() -> Self {
        let mut text = String::new();
        let packed = include_bytes!("../../data/places.csv.gz");
        if let Err(error) = GzDecoder::new(&packed[..]).read_to_string(&mut text) {
            // The tests verify that the built-in table can be read.
            tracing::error!(%error, "the table of places cannot be read");
        }
        // Leaked once: the table lives as long as the process.
        let text: &'static str = text.leak();
        let rows: Vec<Row> = text.lines().skip(1).filter_map(Row::parse).collect();
        let mut by_code = HashMap::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            // A delegated commune may share its commune's code. The commune comes first in the file and is kept.
            if !row.code.is_empty() {
                by_code.entry(row.code).or_insert(index as u32);
            }
        }
        let all: Vec<Place> = rows.iter().map(|row| place(row, &rows, &by_code)).collect();
        let mut by_postal_code: HashMap<_, Vec<u32>> = HashMap::new();
        for (index, place) in all.iter().enumerate() {
            let is_divided = DIVIDED_CITIES.contains(&place.code);
            let is_own = matches!(place.kind, PlaceKind::Commune | PlaceKind::Arrondissement);
            for code in &place.postal_codes {
                if is_own && !is_divided {
                    by_postal_code.entry(*code).or_default().push(index as u32);
                }
            }
        }
        Self {
            all,
            by_code,
            by_postal_code,
        }
    }

    /// Returns every place. A commune comes before its parts.
    pub fn all(&self) -> &[Place] {
        &self.all
    }

    /// Returns the place with this index.
    pub fn place(&self, index: u32) -> Option<&Place> {
        self.all.get(index as usize)
    }

    /// Returns the index of the place with an INSEE code. If a commune and its delegated commune share the code,
    /// returns the commune.
    pub fn find(&self, code: &str) -> Option<u32> {
        self.by_code.get(code).copied()
    }

    /// Returns the indexes of the communes and arrondissements of a postal code; for Paris, Lyon and Marseille, only of
    /// the arrondissements.
    pub fn of_postal_code(&self, postal_code: &str) -> &[u32] {
        self.by_postal_code
            .get(postal_code)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the codes under which addresses of a place are recorded today: its own; for a former commune, its
    /// parent's; for Paris, Lyon and Marseille, those of the arrondissements.
    pub fn address_codes(&self, index: u32) -> Vec<&'static str> {
        let Some(place) = self.place(index) else {
            return Vec::new();
        };
        match place.kind {
            PlaceKind::Former | PlaceKind::FormerCode => place
                .parent
                .and_then(|parent| self.place(parent))
                .map(|parent| vec![parent.code])
                .unwrap_or_default(),
            PlaceKind::Arrondissement => vec![place.code],
            PlaceKind::Commune if DIVIDED_CITIES.contains(&place.code) => {
                let of_city = |part: &&Place| {
                    part.kind == PlaceKind::Arrondissement && part.parent == Some(index)
                };
                self.all
                    .iter()
                    .filter(of_city)
                    .map(|part| part.code)
                    .collect()
            }
            PlaceKind::Commune => vec![place.code],
        }
    }
}

/// A row of the table as written in the file.
struct Row {
    code: &'static str,
    kind: PlaceKind,
    name: &'static str,
    parent: &'static str,
    population: u32,
    postal_codes: Vec<&'static str>,
    centre: Option<(f64, f64)>,
}

impl Row {
    fn parse(line: &'static str) -> Option<Self> {
        let mut fields = line.split(',');
        let code = fields.next()?;
        let kind = match fields.next()? {
            "C" => PlaceKind::Commune,
            "A" => PlaceKind::Arrondissement,
            "D" | "S" | "O" => PlaceKind::Former,
            "F" => PlaceKind::FormerCode,
            _ => return None,
        };
        let (name, parent) = (fields.next()?, fields.next()?);
        let population = fields.next()?.parse().unwrap_or(0);
        let codes = fields.next()?.split('|');
        let postal_codes = codes.filter(|code| !code.is_empty()).collect();
        let lat = fields.next()?.parse().ok();
        let lon = fields.next()?.parse().ok();
        Some(Self {
            code,
            kind,
            name,
            parent,
            population,
            postal_codes,
            centre: lat.zip(lon),
        })
    }
}

fn place(row: &Row, rows: &[Row], by_code: &HashMap<&'static str, u32>) -> Place {
    let parent = by_code.get(row.parent).copied();
    let parent_row = parent.map(|index| &rows[index as usize]);
    let is_former = matches!(row.kind, PlaceKind::Former | PlaceKind::FormerCode);
    let postal_codes = match parent_row {
        Some(parent) if is_former && row.postal_codes.is_empty() => parent.postal_codes.clone(),
        _ => row.postal_codes.clone(),
    };
    let code = if row.code.is_empty() {
        row.parent
    } else {
        row.code
    };
    Place {
        code: row.code,
        kind: row.kind,
        name: row.name,
        parent,
        population: row.population,
        postal_codes,
        department: departments::for_commune(code).unwrap_or_default(),
        centre: row
            .centre
            .or_else(|| parent_row.and_then(|parent| parent.centre))
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_every_commune_with_a_centre() {
        let places = Places::get();
        let count = |kind| places.all().iter().filter(|one| one.kind == kind).count();
        assert_eq!(count(PlaceKind::Commune), 34_969);
        assert_eq!(count(PlaceKind::Arrondissement), 45);
        assert_eq!(count(PlaceKind::Former), 4_682);
        assert!(places.all().iter().all(|place| place.centre != (0.0, 0.0)));
        let parts = places
            .all()
            .iter()
            .filter(|one| one.kind != PlaceKind::Commune);
        assert!(parts.into_iter().all(|part| part.parent.is_some()));
    }

    #[test]
    fn codes_of_former_communes_and_divided_cities_lead_to_addresses_of_today() {
        let places = Places::get();
        let codes = |code| places.address_codes(places.find(code).unwrap());
        assert_eq!(codes("48095"), ["48095"]);
        assert_eq!(codes("75056").len(), 20);
        assert_eq!(codes("75113"), ["75113"]);
        assert_eq!(
            codes("12076"),
            ["12218"],
            "Conques became Conques-en-Rouergue"
        );
    }

    #[test]
    fn a_postal_code_gives_arrondissements_rather_than_the_city() {
        let places = Places::get();
        let codes: Vec<&str> = places
            .of_postal_code("75116")
            .iter()
            .filter_map(|index| places.place(*index))
            .map(|place| place.code)
            .collect();
        assert_eq!(codes, ["75116"]);
        assert!(places.of_postal_code("48000").len() > 1);
        assert!(places.of_postal_code("99999").is_empty());
    }
}
