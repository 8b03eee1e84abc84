//! Derives the records of one sale, which is one disposition, by the rules of `docs/sales.md`. The price belongs to the
//! disposition and is repeated on its rows. There is one record per kind of property sold, for the most significant
//! kinds only.
//!
//! Decisions that the contract leaves open: a record takes its address and position from its row with the first parcel
//! in order. A mean of positions could be where nothing is built. If that row has no position, the record takes the
//! first position among its rows. `lots` counts the lots of distinct rows. A built surface of 0 is unknown.

use std::collections::BTreeSet;

use super::identity::{digest, id};
use super::place::department;
use super::row::{DvfRow, Local, is_number};
use crate::source::cell::without_accents;

/// Shares of a sale are rounded to multiples of 1 / `SHARE_PARTS`.
const SHARE_PARTS: f64 = 1e6;

toise_base::named! {
    /// Kinds of record, with the published values of `property_type`. The variants are in order of precedence, which
    /// differs from the order of [`super::PROPERTY_TYPES`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SaleKind {
        /// Flats.
        Flat = "Appartement",
        /// Houses.
        House = "Maison",
        /// Commercial and industrial premises.
        Premises = "Tertiaire",
        /// Outbuildings alone.
        Outbuilding = "Dépendance",
        /// A volume number without any building.
        Volume = "Volume",
        /// Land alone.
        Land = "Terrain",
        /// None of the kinds above.
        Other = "Autre",
    }
}

impl SaleKind {
    /// Returns the building type of the rows that make up a record of this kind; `None` means all rows.
    fn local(self) -> Option<Local> {
        match self {
            SaleKind::Flat => Some(Local::Flat),
            SaleKind::House => Some(Local::House),
            SaleKind::Premises => Some(Local::Premises),
            SaleKind::Outbuilding => Some(Local::Outbuilding),
            SaleKind::Volume | SaleKind::Land | SaleKind::Other => None,
        }
    }
}

/// One record of the table.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named after the columns of the table")]
pub struct SaleRecord {
    pub id: String,
    pub day: i32,
    pub transaction_type: String,
    pub price_eur: Option<f64>,
    pub price_per_m2_living_eur: Option<f64>,
    pub price_per_m2_land_eur: Option<f64>,
    pub surface_m2: Option<f64>,
    pub main_rooms: Option<f64>,
    pub land_surface_m2: Option<f64>,
    pub carrez_surface_m2: Option<f64>,
    pub soil_surface_m2: Option<f64>,
    pub garden_surface_m2: Option<f64>,
    pub kind: SaleKind,
    pub is_new_build: bool,
    pub is_open_market: bool,
    pub address: Option<String>,
    pub postal_code: Option<String>,
    pub insee_code: String,
    pub former_insee_code: Option<String>,
    pub city: Option<String>,
    pub department: String,
    pub position: Option<(f64, f64)>,
    pub parcel_ids: Vec<String>,
    pub lots: i64,
    pub rows: i64,
    pub mutation_id: Option<String>,
    pub mutation_records: i64,
    pub mutation_share: f64,
    pub is_sold_together: bool,
}

/// Identity of the building in a row, as the contract defines it: (parcel, lots, type, surface).
type Unit<'a> = (&'a str, [&'a str; 5], Option<Local>, u64);

fn unit<'a>(row: &'a DvfRow<'_>) -> Unit<'a> {
    let lots = row.lots.map(|(number, _)| number);
    (
        &row.parcel,
        lots,
        row.local,
        row.built_m2.unwrap_or(0.0).to_bits(),
    )
}

/// Returns a row that repeats a dwelling without lots for one use of its parcel; `None` if there is none. The source
/// repeats a building for each use, so this is another dwelling of the same surface, or a repeated line.
pub fn repeated_dwelling<'r, 'a>(rows: &'r [DvfRow<'a>]) -> Option<&'r DvfRow<'a>> {
    if rows.len() < 2 {
        return None;
    }
    let mut known = BTreeSet::new();
    rows.iter().find(|row| {
        let is_dwelling = matches!(row.local, Some(Local::Flat | Local::House));
        let has_lots = row.lots.iter().any(|(lot, _)| !lot.is_empty());
        let land_m2 = row.land_m2.map(f64::to_bits);
        is_dwelling && !has_lots && !known.insert((unit(row), row.culture, land_m2))
    })
}

/// Returns the records of a sale; `rows` are its readable rows, as [`super::disposition::sales_of`] sorts them. Empty if
/// there are no rows.
pub fn records(rows: &[DvfRow<'_>]) -> Vec<SaleRecord> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    let sale = Sale::new(rows, first);
    let kinds = kinds(rows).into_iter();
    let mut records: Vec<SaleRecord> = kinds.map(|kind| sale.record(kind)).collect();
    share(&mut records);
    records
}

/// Divides the sale among its records by built surface, or equally if one is unknown. The shares add up to 1.
fn share(records: &mut [SaleRecord]) {
    let count = records.len();
    let surfaces: Option<Vec<f64>> = records.iter().map(|record| record.surface_m2).collect();
    let surfaces = surfaces.unwrap_or_else(|| vec![1.0; count]);
    let total: f64 = surfaces.iter().sum();
    let mut left = 1.0;
    for (index, (record, surface)) in records.iter_mut().zip(surfaces).enumerate() {
        let is_last = index + 1 == count;
        let share = if is_last { left } else { surface / total };
        record.mutation_records = count as i64;
        record.mutation_share = (share * SHARE_PARTS).round() / SHARE_PARTS;
        left -= record.mutation_share;
    }
}

/// Returns the kinds of record that a sale yields, by the contract's precedence.
fn kinds(rows: &[DvfRow<'_>]) -> Vec<SaleKind> {
    let any = |local| rows.iter().any(|row| row.local == Some(local));
    let mut kinds = Vec::with_capacity(1);
    if any(Local::Flat) {
        kinds.push(SaleKind::Flat);
    }
    if any(Local::House) {
        kinds.push(SaleKind::House);
    }
    if !kinds.is_empty() {
        return kinds;
    }
    let is_land = |row: &DvfRow<'_>| row.land_m2.is_some() || !row.culture.0.is_empty();
    kinds.push(if any(Local::Premises) {
        SaleKind::Premises
    } else if any(Local::Outbuilding) {
        SaleKind::Outbuilding
    } else if rows.iter().any(|row| row.volume) {
        SaleKind::Volume
    } else if rows.iter().any(is_land) {
        SaleKind::Land
    } else {
        SaleKind::Other
    });
    kinds
}

/// Values shared by all records of a sale.
struct Sale<'r, 'a> {
    rows: &'r [DvfRow<'a>],
    digest: blake3::Hasher,
    day: i32,
    price_eur: Option<f64>,
    transaction_type: String,
    is_new_build: bool,
    is_open_market: bool,
    land_m2: Option<f64>,
    soil_m2: Option<f64>,
    garden_m2: Option<f64>,
    parcels: BTreeSet<&'r str>,
    lots: i64,
    /// Number of distinct dwellings, flats and houses together.
    dwellings: usize,
    /// Number of distinct commercial premises.
    premises: usize,
    /// Whether one of the dwellings may be several.
    has_repeated_dwelling: bool,
}

impl<'r, 'a> Sale<'r, 'a> {
    fn new(rows: &'r [DvfRow<'a>], first: &DvfRow<'a>) -> Self {
        let price_eur = first.price_cents.map(|cents| cents as f64 / 100.0);
        let transaction_type = if is_number(first.nature) {
            String::new()
        } else {
            without_accents(first.nature)
        };
        let folded = transaction_type.to_lowercase();
        let is_new_build = folded.contains("futur");
        let on_market = is_new_build || folded == "vente" || folded.starts_with("vente terrain");
        let land = |natures: Option<&[&str]>| {
            let distinct: BTreeSet<_> = rows
                .iter()
                .filter(|row| natures.is_none_or(|natures| natures.contains(&row.culture.0)))
                .filter_map(|row| Some((&*row.parcel, row.culture, row.land_m2?.to_bits())))
                .collect();
            sum(distinct
                .iter()
                .map(|(_, _, surface)| f64::from_bits(*surface)))
        };
        let units: BTreeSet<_> = rows.iter().map(unit).collect();
        let lots: BTreeSet<_> = rows
            .iter()
            .map(|row| {
                (
                    &*row.parcel,
                    row.lots.map(|(number, _)| number),
                    row.lot_count,
                )
            })
            .collect();
        Self {
            rows,
            digest: digest(rows),
            day: first.day,
            price_eur,
            is_open_market: on_market && price_eur.is_some_and(|price| price > 1.0),
            is_new_build,
            transaction_type,
            land_m2: land(None),
            soil_m2: land(Some(&["S"])),
            garden_m2: land(Some(&["AG", "J"])),
            parcels: rows
                .iter()
                .map(|row| &*row.parcel)
                .filter(|parcel| !parcel.is_empty())
                .collect(),
            lots: lots.iter().map(|(_, _, count)| i64::from(*count)).sum(),
            dwellings: units
                .iter()
                .filter(|(_, _, local, _)| matches!(local, Some(Local::Flat | Local::House)))
                .count(),
            premises: units
                .iter()
                .filter(|(_, _, local, _)| *local == Some(Local::Premises))
                .count(),
            has_repeated_dwelling: repeated_dwelling(rows).is_some(),
        }
    }

    fn record(&self, kind: SaleKind) -> SaleRecord {
        let own: Vec<&DvfRow<'a>> = match kind.local() {
            Some(local) => self
                .rows
                .iter()
                .filter(|row| row.local == Some(local))
                .collect(),
            None => self.rows.iter().collect(),
        };
        let mut seen = BTreeSet::new();
        let units: Vec<&DvfRow<'a>> = own
            .iter()
            .copied()
            .filter(|row| seen.insert(unit(row)))
            .collect();
        let surface_m2 = match kind {
            SaleKind::Flat | SaleKind::House | SaleKind::Premises => {
                sum(units.iter().filter_map(|row| row.built_m2))
            }
            _ => None,
        };
        let is_dwelling = matches!(kind, SaleKind::Flat | SaleKind::House);
        let carrez: BTreeSet<_> = own
            .iter()
            .flat_map(|row| {
                row.lots
                    .iter()
                    .map(move |(lot, surface)| (&*row.parcel, *lot, surface))
            })
            .filter_map(|(parcel, lot, surface)| Some((parcel, lot, (*surface)?.to_bits())))
            .collect();
        let is_sold_together = self.dwellings + self.premises > 1 || self.has_repeated_dwelling;
        let alone = is_dwelling && !is_sold_together;
        let per_m2 = |surface: Option<f64>| {
            let (price, surface) = (self.price_eur?, surface.filter(|surface| *surface > 0.0)?);
            Some((price / surface * 100.0).round() / 100.0)
        };
        // `own` is never empty: a kind exists only because of its rows.
        let face = own
            .iter()
            .copied()
            .min_by(|left, right| left.parcel.cmp(&right.parcel));
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let insee_code = face.map(|row| row.commune.to_string()).unwrap_or_default();
        SaleRecord {
            id: id(&self.digest, kind),
            day: self.day,
            transaction_type: self.transaction_type.clone(),
            price_eur: self.price_eur,
            price_per_m2_living_eur: if alone { per_m2(surface_m2) } else { None },
            price_per_m2_land_eur: if kind == SaleKind::Land {
                per_m2(self.land_m2)
            } else {
                None
            },
            surface_m2,
            main_rooms: if is_dwelling {
                sum(units.iter().filter_map(|row| row.rooms))
            } else {
                None
            },
            land_surface_m2: self.land_m2,
            carrez_surface_m2: sum(carrez
                .iter()
                .map(|(_, _, surface)| f64::from_bits(*surface))),
            soil_surface_m2: self.soil_m2,
            garden_surface_m2: self.garden_m2,
            kind,
            is_new_build: self.is_new_build,
            is_open_market: self.is_open_market,
            address: face.and_then(address),
            postal_code: face.and_then(|row| known(&row.postal_code)),
            department: department(&insee_code).to_owned(),
            insee_code,
            former_insee_code: face.and_then(|row| known(&row.former_commune)),
            city: face.and_then(|row| known(row.city)),
            position: face
                .and_then(|row| row.position)
                .or_else(|| own.iter().find_map(|row| row.position)),
            parcel_ids: self
                .parcels
                .iter()
                .map(|parcel| (*parcel).to_owned())
                .collect(),
            lots: self.lots,
            rows: self.rows.len() as i64,
            mutation_id: self.rows.first().and_then(|row| known(row.mutation)),
            mutation_records: 1,
            mutation_share: 1.0,
            is_sold_together,
        }
    }
}

/// Sums values and rounds to two decimals, which removes binary rounding errors: surfaces have at most two decimals.
/// `None` without values.
fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values
        .reduce(|total, value| total + value)
        .map(|total| (total * 100.0).round() / 100.0)
}

/// Formats house number, suffix and street as one line; `None` if all are empty.
fn address(row: &DvfRow<'_>) -> Option<String> {
    let [number, suffix, kind, name] = row.street;
    let mut line = format!("{number}{suffix}");
    for part in [kind, name] {
        if !part.is_empty() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(part);
        }
    }
    (!line.is_empty()).then_some(line)
}
