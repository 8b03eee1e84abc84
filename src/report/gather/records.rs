//! Sales and diagnostics of a report, as the tables store them.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use chrono::NaiveDate;
use serde::Deserialize;

use super::{Error, HomeAddress};
use crate::model::{
    BuildingDiagnostics, ParcelSales, ReportedDiagnostic, ReportedSale, SalePosition,
};
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_estimate::Estimate;
use toise_opendata::dpe::{ADDRESS, BUILDING};
use toise_opendata::dvf::place::{PARCELS, parcel_today};
use toise_opendata::{Dataset, DatasetSearchRequest, OpenData, SearchAnswer};

/// Diagnostics whose classes are counted.
const DIAGNOSTICS_COUNTED: usize = 100;
/// Diagnostics listed.
const DIAGNOSTICS_LISTED: usize = 5;
/// Sales of the parcels listed.
const PARCEL_SALES: usize = 6;

/// A sale, as the table stores it.
#[derive(Deserialize)]
struct SaleRecord {
    id: String,
    transaction_date: String,
    price_eur: Option<f64>,
    price_per_m2_living_eur: Option<f64>,
    surface_m2: Option<f64>,
    main_rooms: Option<f64>,
    land_surface_m2: Option<f64>,
    property_type: Option<String>,
    address: Option<String>,
    location: Option<SalePosition>,
    #[serde(default)]
    is_sold_together: bool,
    insee_code: Option<String>,
}

/// A diagnostic, as the table stores it.
#[derive(Deserialize)]
struct DiagnosticRecord {
    numero_dpe: String,
    date_etablissement_dpe: Option<String>,
    etiquette_dpe: Option<String>,
    etiquette_ges: Option<String>,
    surface_habitable_logement: Option<f64>,
    numero_etage_appartement: Option<f64>,
    conso_5_usages_par_m2_ep: Option<f64>,
    id_rnb: Option<String>,
}

/// Returns the comparables of an estimate with their records in the table.
pub(super) fn comparables(
    open_data: &OpenData,
    estimate: &Estimate,
) -> Result<Vec<ReportedSale>, Error> {
    let mut sales = Vec::new();
    for comparable in &estimate.comparables {
        let id = one_of(Dataset::Dvf.schema().id, vec![comparable.id.clone()]);
        let found = search(open_data, Dataset::Dvf, vec![id], 1)?;
        // The model may know a sale that a later import removed.
        let stored = found.records.first().map(sale).transpose()?;
        let known = stored.unwrap_or_default();
        sales.push(ReportedSale {
            id: comparable.id.clone(),
            date: comparable.date,
            price: Some(comparable.price),
            price_per_m2: Some((comparable.price / comparable.surface_m2).round()),
            surface_m2: Some(comparable.surface_m2),
            distance_m: Some(comparable.distance_m.round()),
            ..known
        });
    }
    Ok(sales)
}

/// Returns the diagnostics of an address and of its building: the one that most of them name, or otherwise the one that
/// the register has at the address.
pub(super) fn diagnostics(
    open_data: &OpenData,
    address: Option<&HomeAddress>,
) -> Result<BuildingDiagnostics, Error> {
    let Some(address) = address else {
        return Ok(BuildingDiagnostics::default());
    };
    let at_address = one_of(ADDRESS, vec![address.id.clone()]);
    let filter = vec![at_address.clone()];
    let found = search(open_data, Dataset::Dpe, filter, DIAGNOSTICS_COUNTED)?;
    let records = diagnostics_in(&found)?;
    let mut buildings: BTreeMap<&str, usize> = BTreeMap::new();
    for building in records.iter().filter_map(|record| record.id_rnb.as_deref()) {
        *buildings.entry(building).or_default() += 1;
    }
    let named = buildings.into_iter().max_by_key(|(_, count)| *count);
    let building = match named {
        Some((building, _)) => Some(building.to_owned()),
        None => open_data.building_at(&address.id)?,
    };
    let (total, records) = match building {
        Some(building) => {
            let of_building = one_of(BUILDING, vec![building]);
            let filter = Clause::any(vec![vec![at_address], vec![of_building]]);
            let found = search(open_data, Dataset::Dpe, filter, DIAGNOSTICS_COUNTED)?;
            (found.total, diagnostics_in(&found)?)
        }
        None => (found.total, records),
    };
    let mut classes = BTreeMap::new();
    for class in records
        .iter()
        .filter_map(|one| letter(one.etiquette_dpe.as_deref()))
    {
        *classes.entry(class).or_default() += 1;
    }
    let latest = records
        .into_iter()
        .take(DIAGNOSTICS_LISTED)
        .map(|record| ReportedDiagnostic {
            date: record.date_etablissement_dpe.as_deref().and_then(day),
            energy: letter(record.etiquette_dpe.as_deref()),
            climate: letter(record.etiquette_ges.as_deref()),
            surface_m2: record.surface_habitable_logement,
            floor: record.numero_etage_appartement,
            energy_kwh_m2: record.conso_5_usages_par_m2_ep,
            numero_dpe: record.numero_dpe,
        });
    Ok(BuildingDiagnostics {
        total,
        classes,
        latest: latest.collect(),
    })
}

/// Returns the sales of parcels, latest first.
pub(super) fn parcel_sales(
    open_data: &OpenData,
    parcels: Vec<String>,
) -> Result<ParcelSales, Error> {
    if parcels.is_empty() {
        return Ok(ParcelSales::default());
    }
    let today = parcels
        .iter()
        .map(|id| parcel_today(id.as_str().into()).into_owned());
    let filter = vec![one_of(PARCELS, today.collect())];
    let found = search(open_data, Dataset::Dvf, filter, PARCEL_SALES)?;
    Ok(ParcelSales {
        ids: parcels,
        total: found.total,
        latest: found.records.iter().map(sale).collect::<Result<_, _>>()?,
    })
}

/// Returns the latest records that a filter selects.
fn search(
    open_data: &OpenData,
    dataset: Dataset,
    filter: Filter,
    size: usize,
) -> Result<SearchAnswer, Error> {
    let request = DatasetSearchRequest {
        filter,
        sort_by: dataset.schema().date,
        descending: true,
        size,
        after: None,
    };
    Ok(open_data.search(dataset, &request)?)
}

fn one_of(column: &'static str, texts: Vec<String>) -> Clause {
    Clause::new(column, ClauseTest::OneOf(texts))
}

fn damaged(dataset: Dataset) -> impl Fn(serde_json::Error) -> Error {
    move |error| Error::Lake(toise_lake::Error::damaged(Path::new(dataset.name()), error))
}

fn sale(record: &Bytes) -> Result<ReportedSale, Error> {
    let record: SaleRecord = serde_json::from_slice(record).map_err(damaged(Dataset::Dvf))?;
    Ok(ReportedSale {
        id: record.id,
        date: day(&record.transaction_date).unwrap_or_default(),
        price: record.price_eur,
        price_per_m2: record.price_per_m2_living_eur,
        class: record.property_type,
        surface_m2: record.surface_m2,
        room_count: record.main_rooms,
        land_surface_m2: record.land_surface_m2,
        address: record.address,
        insee_code: record.insee_code,
        is_sold_together: record.is_sold_together,
        distance_m: None,
        location: record.location,
    })
}

fn diagnostics_in(found: &SearchAnswer) -> Result<Vec<DiagnosticRecord>, Error> {
    let records = found.records.iter();
    let records = records.map(|record| serde_json::from_slice(record));
    records
        .collect::<Result<_, _>>()
        .map_err(damaged(Dataset::Dpe))
}

/// Returns the day at the start of a date text.
fn day(text: &str) -> Option<NaiveDate> {
    text.get(..10)?.parse().ok()
}

/// Returns a class of a diagnostic, A to G.
fn letter(text: Option<&str>) -> Option<char> {
    let letter = text?.chars().next()?;
    ('A'..='G').contains(&letter).then_some(letter)
}
