//! The official map of rents (Carte des loyers): for each commune the rent of a reference home, from a model of the
//! ministry and ANIL. Unfurnished, charges included, third quarter of its year.
//!
//! The map has four files, one for each kind of home. An import replaces the kinds that it reads. Maps are kept in the
//! store, so that backups and replicas have them. Rents of merged communes are averaged, weighted by their adverts.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::file;
use toise_base::clock::Clock;
use toise_estimate::HomeClass;
use toise_geo::communes::{record_place, today_of_code};
use toise_store::{self as store, Store, document};

/// Maximum rooms of a small flat.
const SMALL_ROOMS_MAX: f64 = 2.0;
/// Licence of a map that was imported without one.
pub const LICENCE_NOT_STATED: &str = "not stated";

/// Why a map cannot be imported or read.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// A file is not a map of rents.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// The fault, for the message.
        reason: String,
    },
    /// Two files are of one kind.
    #[error("{0} and {1} are both the map of {2}; give one file for each kind")]
    Repeated(String, String, &'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A stored map is damaged, or one cannot be written.
    #[error("map of rents: {0}")]
    Document(#[from] document::Error),
    /// A stored map is damaged.
    #[error("map of rents: {0}")]
    Json(#[from] serde_json::Error),
}

toise_base::named! {
    /// A kind of home that the map has a file for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MapKind {
        /// All flats.
        Flats = "flats",
        /// Flats of one or two rooms.
        SmallFlats = "small_flats",
        /// Flats of three rooms or more.
        LargeFlats = "large_flats",
        /// Houses.
        Houses = "houses",
    }
}

impl MapKind {
    /// Returns the kind of a file by its official name, such as `pred-app12-mef-dhup.csv`.
    pub fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        // Longer names come first, because they contain the shorter one.
        let names = [
            ("app12", Self::SmallFlats),
            ("app3", Self::LargeFlats),
            ("app", Self::Flats),
            ("mai", Self::Houses),
        ];
        let found = names
            .iter()
            .find(|(part, _)| name.contains(&format!("pred-{part}")));
        found.map(|(_, kind)| *kind)
    }

    /// Returns the surface of the reference home, square metres, as the method of the map states it since 2022.
    pub fn reference_m2(self) -> f64 {
        match self {
            Self::Flats => 52.0,
            Self::SmallFlats => 37.0,
            Self::LargeFlats => 72.0,
            Self::Houses => 92.0,
        }
    }

    /// Returns the kinds that describe a home, the best one first.
    pub fn of_home(class: HomeClass, rooms: Option<f64>) -> [Self; 2] {
        match (class, rooms) {
            (HomeClass::House, _) => [Self::Houses; 2],
            (HomeClass::Flat, None) => [Self::Flats; 2],
            (HomeClass::Flat, Some(rooms)) if rooms <= SMALL_ROOMS_MAX => {
                [Self::SmallFlats, Self::Flats]
            }
            (HomeClass::Flat, Some(_)) => [Self::LargeFlats, Self::Flats],
        }
    }
}

/// The rent of the reference home in a commune, EUR per square metre and month.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommuneRent {
    /// Central value.
    pub rent: f64,
    /// Lower end of the interval that should contain 95 % of rents.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
    /// Number of adverts in the commune.
    pub adverts: f64,
    /// Kind of place whose adverts it was computed from: `commune`, `epci` or `maille`.
    pub level: String,
}

/// Description of an imported map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapDescription {
    /// Kind of home.
    pub kind: MapKind,
    /// Year of the rents.
    pub year: i32,
    /// Licence, as stated at the import.
    pub licence: String,
    /// Address where it was published.
    pub source: Option<String>,
    /// Number of communes.
    pub communes: u64,
    #[serde(skip)]
    imported_at_ms: i64,
}

/// The map of one kind.
#[derive(Clone, Debug)]
pub struct KindMap {
    /// Its description.
    pub description: MapDescription,
    rents: BTreeMap<String, CommuneRent>,
    /// Mean logarithm of the rents.
    pub mean_log: f64,
}

/// All imported maps.
#[derive(Clone, Debug, Default)]
pub struct RentMap(HashMap<MapKind, KindMap>);

/// A file of a map, and what is stated about it.
#[derive(Clone, Debug)]
pub struct MapFile {
    /// The file.
    pub path: PathBuf,
    /// Its kind.
    pub kind: MapKind,
    /// Year of the rents.
    pub year: i32,
    /// Licence.
    pub licence: Option<String>,
    /// Address where it was published.
    pub source: Option<String>,
}

/// Result of importing a file.
#[derive(Clone, Debug, Serialize)]
pub struct MapImport {
    /// The file.
    pub file: String,
    /// Description of the map that is now stored.
    #[serde(flatten)]
    pub description: MapDescription,
    /// Rows of former communes, whose rents were merged into the rents of current communes.
    pub merged: u64,
    /// Rows skipped: their commune is unknown, or they have no plausible rent.
    pub left_out: u64,
}

/// Imports files, all or none; each replaces the map of its kind. Returns once it is durable. Blocks.
///
/// # Errors
/// A file cannot be read or is not a map, two files are of one kind, or the store cannot be written.
pub fn import(store: &Store, files: &[MapFile], clock: &Clock) -> Result<Vec<MapImport>, MapError> {
    let (mut imports, mut rows) = (Vec::new(), Vec::new());
    for (place, file) in files.iter().enumerate() {
        if let Some(other) = files[..place].iter().find(|other| other.kind == file.kind) {
            let [first, second] = [other, file].map(|file| file.path.display().to_string());
            return Err(MapError::Repeated(first, second, file.kind.as_str()));
        }
        let read = file::read(&file.path)?;
        let (rents, merged, unknown) = by_commune_of_today(read.rents);
        let description = MapDescription {
            kind: file.kind,
            year: file.year,
            licence: file
                .licence
                .clone()
                .unwrap_or_else(|| LICENCE_NOT_STATED.to_owned()),
            source: file.source.clone(),
            communes: rents.len() as u64,
            imported_at_ms: clock.now().timestamp_millis(),
        };
        rows.push((description.clone(), document::encode(&rents)?));
        imports.push(MapImport {
            file: file.path.display().to_string(),
            description,
            merged,
            left_out: read.left_out + unknown,
        });
    }
    store.write(move |transaction| {
        for (map, document) in rows {
            transaction.execute(
                "INSERT OR REPLACE INTO rent_maps
                 (kind, year, licence, source, communes, imported_at_ms, document)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (
                    map.kind.as_str(),
                    map.year,
                    map.licence,
                    map.source,
                    map.communes.cast_signed(),
                    map.imported_at_ms,
                    document,
                ),
            )?;
        }
        Ok(())
    })?;
    Ok(imports)
}

/// Joins the rents of merged communes. Also returns the numbers of rows of former and of unknown communes.
fn by_commune_of_today(
    rows: Vec<(String, CommuneRent)>,
) -> (BTreeMap<String, CommuneRent>, u64, u64) {
    let (mut merged, mut unknown) = (0, 0);
    let mut groups: BTreeMap<String, Vec<CommuneRent>> = BTreeMap::new();
    for (code, rent) in rows {
        match record_place(&code) {
            Some(place) => {
                merged += u64::from(place.code != code);
                groups.entry(place.code.to_owned()).or_default().push(rent);
            }
            None => unknown += 1,
        }
    }
    let joined = groups.into_iter().map(|(code, rents)| (code, join(rents)));
    (joined.collect(), merged, unknown)
}

/// Returns the mean of the rents of communes that merged, weighted by their adverts.
fn join(mut rents: Vec<CommuneRent>) -> CommuneRent {
    let most = (0..rents.len()).max_by(|one, other| {
        let [one, other] = [*one, *other].map(|index| rents[index].adverts);
        one.total_cmp(&other)
    });
    // Adds one so that communes without an advert still count.
    let weight = |rent: &CommuneRent| 1.0 + rent.adverts;
    let total: f64 = rents.iter().map(weight).sum();
    let mean = |value: fn(&CommuneRent) -> f64| {
        rents
            .iter()
            .map(|rent| weight(rent) * value(rent))
            .sum::<f64>()
            / total
    };
    let [rent, lower, upper] = [
        mean(|rent| rent.rent),
        mean(|rent| rent.lower),
        mean(|rent| rent.upper),
    ];
    let adverts = rents.iter().map(|rent| rent.adverts).sum();
    let level = std::mem::take(&mut rents[most.unwrap_or_default()].level);
    CommuneRent {
        rent,
        lower,
        upper,
        adverts,
        level,
    }
}

/// Returns the descriptions of the stored maps, by kind. Blocks.
///
/// # Errors
/// The store cannot be read.
pub fn descriptions(store: &Store) -> store::Result<Vec<MapDescription>> {
    store.read(|connection| {
        let sql = "SELECT kind, year, licence, source, communes, imported_at_ms FROM rent_maps ORDER BY kind";
        let mut found = connection.prepare_cached(sql)?;
        let rows = found.query_map([], description)?;
        rows.filter_map(Result::transpose).collect()
    })
}

/// Reads a description; `None` for a kind that this version does not know.
fn description(row: &Row<'_>) -> rusqlite::Result<Option<MapDescription>> {
    let Some(kind) = MapKind::parse(&row.get::<_, String>(0)?) else {
        return Ok(None);
    };
    Ok(Some(MapDescription {
        kind,
        year: row.get(1)?,
        licence: row.get(2)?,
        source: row.get(3)?,
        communes: row.get::<_, i64>(4)?.cast_unsigned(),
        imported_at_ms: row.get(5)?,
    }))
}

impl RentMap {
    /// Reads all stored maps. Blocks.
    ///
    /// # Errors
    /// The store cannot be read, or a map is damaged.
    pub fn load(store: &Store) -> Result<Self, MapError> {
        let rows = store.read(|connection| {
            let sql = "SELECT kind, year, licence, source, communes, imported_at_ms, document FROM rent_maps";
            let mut found = connection.prepare(sql)?;
            let rows = found.query_map([], |row| {
                Ok((description(row)?, row.get::<_, Vec<u8>>(6)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let mut maps = HashMap::new();
        for (description, stored) in rows {
            let Some(description) = description else {
                continue;
            };
            let rents: BTreeMap<String, CommuneRent> =
                serde_json::from_slice(&document::decode(&stored)?)?;
            maps.insert(description.kind, KindMap::new(description, rents));
        }
        Ok(Self(maps))
    }

    /// Returns whether nothing was imported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the map of a kind.
    pub fn of(&self, kind: MapKind) -> Option<&KindMap> {
        self.0.get(&kind)
    }

    /// Returns the mean of the mean logarithms of its kinds; 0 without any.
    pub fn mean_log(&self) -> f64 {
        let logs: f64 = self.0.values().map(|map| map.mean_log).sum();
        logs / self.0.len().max(1) as f64
    }

    /// Returns the map that describes a home best.
    pub fn for_home(&self, class: HomeClass, rooms: Option<f64>) -> Option<&KindMap> {
        MapKind::of_home(class, rooms)
            .into_iter()
            .find_map(|kind| self.of(kind))
    }

    /// Returns the elasticity of a flat's rent per square metre with respect to its surface: the mean over the communes
    /// that are on both the map of small flats and that of large flats. `None` without these maps.
    pub fn elasticity(&self) -> Option<f64> {
        let [small, large] = [self.of(MapKind::SmallFlats)?, self.of(MapKind::LargeFlats)?];
        let span = (MapKind::LargeFlats.reference_m2() / MapKind::SmallFlats.reference_m2()).ln();
        let ratios = small.rents.iter().filter_map(|(code, small)| {
            let large = large.rents.get(code)?;
            Some((large.rent / small.rent).ln() / span)
        });
        let ratios: Vec<f64> = ratios.collect();
        (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
    }
}

impl KindMap {
    fn new(description: MapDescription, rents: BTreeMap<String, CommuneRent>) -> Self {
        let logs: f64 = rents.values().map(|rent| rent.rent.ln()).sum();
        Self {
            mean_log: logs / (rents.len().max(1)) as f64,
            description,
            rents,
        }
    }

    /// Returns the rent of a commune or arrondissement. If the map does not divide a city, its arrondissements have the
    /// city's rent.
    pub fn rent(&self, code: &str) -> Option<&CommuneRent> {
        let city = || self.rents.get(today_of_code(code)?.code);
        self.rents.get(code).or_else(city)
    }
}

/// Creates a map for tests from rents by kind and commune.
#[cfg(test)]
pub(super) fn invented(rents: &[(MapKind, &str, f64)]) -> RentMap {
    let mut maps = RentMap::default();
    for kind in MapKind::ALL {
        let of_kind = rents.iter().filter(|(known, ..)| *known == kind);
        let of_kind: BTreeMap<String, CommuneRent> = of_kind
            .map(|(_, code, rent)| {
                let rent = CommuneRent {
                    rent: *rent,
                    lower: rent * 0.75,
                    upper: rent / 0.75,
                    adverts: 10.0,
                    level: "commune".to_owned(),
                };
                ((*code).to_owned(), rent)
            })
            .collect();
        if !of_kind.is_empty() {
            let description = MapDescription {
                kind,
                year: 2025,
                licence: LICENCE_NOT_STATED.to_owned(),
                source: None,
                communes: of_kind.len() as u64,
                imported_at_ms: 0,
            };
            maps.0.insert(kind, KindMap::new(description, of_kind));
        }
    }
    maps
}
