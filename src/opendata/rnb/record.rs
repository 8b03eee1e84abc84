//! Converts rows of the register of buildings to batches of the table `rnb`.
//!
//! A row needs an identifier and a position in France. Its commune comes from its parcels, otherwise from its
//! addresses, otherwise from its position. A parcel counts if at least 5 % of the building stands on it: outlines and
//! parcels come from different surveys, so a building often touches its neighbour's parcel. A list that cannot be read
//! is omitted and reported; the building is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::error::ArrowError;
use geo::{Area, Geometry};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::columns::{RnbColumns, RnbField};
use crate::conversion::{filled, is_wanted, numbers, text_lists, texts};
use crate::dvf::place::parcel_today;
use crate::report::{ConversionFindings, Converted};
use crate::source::{Block, SourceLocation};
use toise_contract::listings::codes::RnbId;
use toise_geo::communes::record_place;
use toise_geo::contours::commune_at;
use toise_geo::departments;
use toise_geo::distance::EARTH_RADIUS_M;
use toise_geo::projection::in_france;
use toise_geo::wkt;

/// Minimum share of a building on a parcel for the parcel to count.
const SHARE_MIN: f64 = 0.05;
/// Length of the commune code at the start of parcel and address identifiers.
const COMMUNE_CHARS: usize = 5;
/// Name of the register whose identifiers go into `bdnb_ids`.
const BDNB: &str = "bdnb";

#[derive(Deserialize)]
struct Address {
    #[serde(default)]
    cle_interop_ban: Option<String>,
}

#[derive(Deserialize)]
struct Parcel {
    id: String,
    /// Share of the building on the parcel, 0 to 1.
    #[serde(default)]
    bdg_cover_ratio: Option<f64>,
}

#[derive(Deserialize)]
struct ExternalId {
    id: String,
    #[serde(default)]
    source: Option<String>,
}

/// A building, as it is stored.
struct Building {
    id: String,
    status: String,
    commune: &'static str,
    department: &'static str,
    position: (f64, f64),
    ground_m2: Option<f64>,
    addresses: Vec<String>,
    parcels: Vec<String>,
    bdnb_ids: Vec<String>,
}

/// Converts the rows of the wanted departments, or all if `wanted` is empty, to records. CPU-bound.
///
/// # Errors
/// The arrays do not fit the table, which would be a defect.
pub fn convert(
    block: &Block,
    columns: &RnbColumns,
    file: &str,
    wanted: &[String],
) -> Result<Converted, ArrowError> {
    let mut findings = ConversionFindings::default();
    let mut rows_not_asked_for = 0;
    let mut places = BTreeSet::new();
    let mut departments_met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in 0..block.len() {
        let cell = |field| {
            columns
                .position(field)
                .map_or("", |at| block.cell(row, at).trim())
        };
        let place =
            |field: RnbField| SourceLocation::line(file, block.line(row)).column(field.as_str());
        let Some(building) = building(&cell, &place, &mut findings) else {
            continue;
        };
        if !is_wanted(wanted, building.department) {
            rows_not_asked_for += 1;
            continue;
        }
        *departments_met.entry(building.department).or_default() += 1;
        places.insert((building.commune.to_owned(), 0));
        rows.push(building);
    }
    // A department's file also has a few buildings on parcels of a neighbouring department, which it does not cover.
    let count: usize = departments_met.values().sum();
    places.retain(|(commune, _): &(String, i32)| {
        let department = departments::for_commune(commune).unwrap_or_default();
        2 * departments_met.get(department).copied().unwrap_or_default() > count
    });
    let batch = batch(&rows)?;
    Ok(Converted {
        rows_kept: batch.num_rows() as u64,
        batch,
        rows_not_asked_for,
        placed: 0,
        findings,
        places,
    })
}

/// Reads a row; `None` if it was rejected.
fn building<'c>(
    cell: &impl Fn(RnbField) -> &'c str,
    place: &impl Fn(RnbField) -> SourceLocation,
    findings: &mut ConversionFindings,
) -> Option<Building> {
    // Pages show identifiers in groups of four: `8XBE-W7VV-WG47`.
    let id = cell(RnbField::Id).replace(['-', ' '], "");
    if RnbId::parse(&id).is_none() {
        let value = cell(RnbField::Id);
        findings.reject(
            "identifier missing or malformed",
            &place(RnbField::Id),
            value,
        );
        return None;
    }
    let Some((lat, lon)) = position(cell(RnbField::Point)) else {
        let value = cell(RnbField::Point);
        let place = place(RnbField::Point);
        findings.reject("position missing or outside France", &place, value);
        return None;
    };
    let addresses: Vec<Address> = list(RnbField::Addresses, cell, place, findings);
    let addresses = addresses.into_iter().filter_map(|one| one.cle_interop_ban);
    let addresses: Vec<String> = addresses.filter(|id| !id.is_empty()).collect();
    let parcels = own_parcels(list(RnbField::Parcels, cell, place, findings));
    let commune = commune(&parcels, &addresses, (lat, lon));
    let department = commune.and_then(departments::for_commune);
    let Some((commune, department)) = commune.zip(department) else {
        let value = cell(RnbField::Point);
        findings.reject("commune unknown", &place(RnbField::Point), value);
        return None;
    };
    let external: Vec<ExternalId> = list(RnbField::ExternalIds, cell, place, findings);
    let of_bdnb = external
        .into_iter()
        .filter(|one| one.source.as_deref() == Some(BDNB));
    let ground_m2 = ground_m2(cell(RnbField::Shape), lat);
    if let Err(reason) = &ground_m2 {
        let place = place(RnbField::Shape);
        findings.drop_value("outline unreadable", &place, reason);
    }
    Some(Building {
        id,
        status: cell(RnbField::Status).to_owned(),
        commune,
        department,
        position: (lat, lon),
        ground_m2: ground_m2.ok().flatten(),
        addresses,
        parcels,
        bdnb_ids: of_bdnb.map(|one| one.id).collect(),
    })
}

/// Reads a list; an empty cell is an empty list.
fn list<'c, T: DeserializeOwned>(
    field: RnbField,
    cell: &impl Fn(RnbField) -> &'c str,
    place: &impl Fn(RnbField) -> SourceLocation,
    findings: &mut ConversionFindings,
) -> Vec<T> {
    let text = cell(field);
    if text.is_empty() {
        return Vec::new();
    }
    serde_json::from_str(text).unwrap_or_else(|_| {
        findings.drop_value("list unreadable", &place(field), text);
        Vec::new()
    })
}

/// Returns the parcels that count, under current codes, the one with the largest share of the building first.
fn own_parcels(mut parcels: Vec<Parcel>) -> Vec<String> {
    let share = |parcel: &Parcel| parcel.bdg_cover_ratio.unwrap_or(1.0);
    parcels.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let counted = parcels
        .iter()
        .take_while(|parcel| share(parcel) >= SHARE_MIN)
        .count();
    parcels.truncate(counted.max(1));
    let ids = parcels.into_iter();
    ids.map(|parcel| parcel_today(parcel.id.into()).into_owned())
        .collect()
}

fn commune(parcels: &[String], addresses: &[String], at: (f64, f64)) -> Option<&'static str> {
    let named = parcels.iter().chain(addresses);
    let mut codes = named.filter_map(|id| id.get(..COMMUNE_CHARS));
    let place = codes.find_map(record_place);
    let place = place.or_else(|| record_place(commune_at(at.0, at.1)?));
    place.map(|place| place.code)
}

/// Returns latitude and longitude of a point in France.
fn position(text: &str) -> Option<(f64, f64)> {
    match wkt::read(text) {
        Ok(Some(Geometry::Point(point))) => {
            Some((point.y(), point.x())).filter(|(lat, lon)| in_france(*lat, *lon))
        }
        _ => None,
    }
}

/// Returns the surface of an outline in square metres, to one decimal; `None` for a point. Coordinates are projected to
/// a plane at the latitude of the building, as for all distances.
fn ground_m2(text: &str, lat: f64) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let metres = EARTH_RADIUS_M.to_radians();
    let square_degrees = wkt::read(text)?.map(|outline| outline.unsigned_area());
    let surface = square_degrees
        .map(|degrees| degrees * metres * metres * lat.to_radians().cos())
        .map(|surface| (surface * 10.0).round() / 10.0);
    Ok(surface.filter(|surface| *surface > 0.0 && surface.is_finite()))
}

/// Returns the rows of buildings, with the columns in the order of the table.
fn batch(rows: &[Building]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = vec![
        texts(rows, |row| Some(row.id.as_str())),
        texts(rows, |row| filled(&row.status)),
        texts(rows, |row| Some(row.commune)),
        texts(rows, |row| Some(row.department)),
        numbers(rows, |row| Some(row.position.0)),
        numbers(rows, |row| Some(row.position.1)),
        numbers(rows, |row| row.ground_m2),
        text_lists(rows, |row| &row.addresses),
        text_lists(rows, |row| &row.parcels),
        text_lists(rows, |row| &row.bdnb_ids),
    ];
    RecordBatch::try_new(Arc::clone(super::schema().arrow()), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::lists;
    use crate::source::Header;
    use arrow::array::AsArray;
    use arrow::datatypes::Float64Type;

    /// Two rows as published (RNB_09, September 2026): several parcels and addresses, and a share above 1. Then rows
    /// with faults.
    const ROWS: [[&str; 7]; 6] = [
        [
            "WHN8D9K38QNG",
            "SRID=4326;POINT(1.83931465039422 42.73115938000424)",
            "SRID=4326;MULTIPOLYGON(((1.839204876712718 42.731152360080934,1.839265600781804 42.73122675465613,\
             1.839421713414075 42.73116639992756,1.839393736225111 42.73110135256343,1.839344615952824 42.73111790553044,\
             1.839339845543131 42.7311124584841,1.839323866660139 42.731118579893085,1.839314307918564 42.73110858482896,\
             1.839262730705423 42.731126010357144,1.839265062124238 42.731131430973925,1.839204876712718 42.731152360080934)))",
            "constructed",
            r#"[{"id": "bdnb-bc-PEZ4-CYLL-TJZ4", "source": "bdnb", "source_version": "2023_01"}, {"id": "BATIMENT0000002202818378", "source": "bdtopo"}]"#,
            r#"[{"cle_interop_ban" : "09140_0025_00013", "street_rep" : ""}, {"cle_interop_ban" : "09140_2c2gpg_00002_ter", "street_rep" : null}]"#,
            r#"[{"id" : "091400000C1030", "bdg_cover_ratio" : 0.086467200752188}, {"id" : "091400000C1069", "bdg_cover_ratio" : 0.9135327992473545}, {"id": "091400000C1070", "bdg_cover_ratio": 0.01}]"#,
        ],
        [
            "NTXF-HPYC-6CRC",
            "SRID=4326;POINT(1.40723681684196 43.16984785)",
            "SRID=4326;POLYGON((1.4072516 43.169927,1.4073379 43.1698805,1.4072232 43.1697681,1.407135 43.1698152,1.4072516 43.169927))",
            "constructed",
            "[]",
            r#"[{"cle_interop_ban" : "09124_a025_00010"}]"#,
            r#"[{"id" : "09124000ZI0097", "bdg_cover_ratio" : 1.0000000000000002}]"#,
        ],
        // A row with only a position gets the commune at the position, Mende.
        ["8XBEW7VVWG47", "POINT(3.4989 44.5181)", "", "", "", "", ""],
        [
            "8XBEW7VVWG48",
            "POINT(3.4989 44.5181)",
            "POLYGON((3 44",
            "",
            "",
            "[{'id': 1}]",
            "",
        ],
        ["8XBEW7VVWG", "POINT(3.4989 44.5181)", "", "", "", "", ""],
        ["8XBEW7VVWG49", "POINT(-0.1276 51.5072)", "", "", "", "", ""],
    ];

    fn converted(rows: &[[&str; 7]], wanted: &[String]) -> Converted {
        let names = [
            "rnb_id", "point", "shape", "status", "ext_ids", "addresses", "plots", "validated_by",
        ];
        let header = Arc::new(Header::new(names.map(str::to_owned).to_vec()));
        let columns = RnbColumns::find(&header, "f").unwrap();
        assert_eq!(columns.unknown, ["validated_by"]);
        let mut block = Block::new(header);
        for (row, line) in rows.iter().zip(2..) {
            block.start_row(line);
            row.iter().for_each(|cell| block.push_cell(cell));
            block.push_cell("[]");
        }
        convert(&block, &columns, "f", wanted).unwrap()
    }

    fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
        let column = batch.column_by_name(name).unwrap();
        let column = column.as_string::<i32>();
        column
            .iter()
            .map(|text| text.unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn published_rows_are_stored_and_faults_are_reported() {
        let converted = converted(&ROWS, &[]);
        let batch = &converted.batch;
        let ids = [
            "WHN8D9K38QNG", "NTXFHPYC6CRC", "8XBEW7VVWG47", "8XBEW7VVWG48",
        ];
        assert_eq!(texts(batch, "id_rnb"), ids);
        assert_eq!(
            texts(batch, "insee_code"),
            ["09140", "09124", "48095", "48095"]
        );
        assert_eq!(texts(batch, "departement_code"), ["09", "09", "48", "48"]);
        assert_eq!(
            lists(batch, "address_ids")[..2],
            [
                vec!["09140_0025_00013", "09140_2c2gpg_00002_ter"],
                vec!["09124_a025_00010"]
            ]
        );
        assert_eq!(
            lists(batch, "parcel_ids"),
            [
                vec!["091400000C1069", "091400000C1030"],
                vec!["09124000ZI0097"],
                vec![],
                vec![]
            ]
        );
        assert_eq!(lists(batch, "bdnb_ids")[0], ["bdnb-bc-PEZ4-CYLL-TJZ4"]);
        let ground = batch.column_by_name("ground_m2").unwrap();
        let ground: Vec<_> = ground.as_primitive::<Float64Type>().iter().collect();
        assert_eq!(ground, [Some(138.9), Some(137.0), None, None]);
        let rejected: Vec<_> = converted.findings.rejected.keys().copied().collect();
        assert_eq!(
            rejected,
            [
                "identifier missing or malformed",
                "position missing or outside France"
            ]
        );
        assert_eq!(converted.findings.dropped.0.len(), 2);
    }

    #[test]
    fn an_edition_covers_the_department_of_most_rows() {
        // Two buildings of each department: neither has most.
        assert!(converted(&ROWS, &[]).places.is_empty());
        let places = converted(&ROWS[..3], &[]).places;
        let communes: Vec<&str> = places.iter().map(|(commune, _)| commune.as_str()).collect();
        assert_eq!(communes, ["09124", "09140"]);
    }

    #[test]
    fn only_the_wanted_departments_are_kept() {
        let converted = converted(&ROWS, &["48".to_owned()]);
        assert_eq!(
            texts(&converted.batch, "id_rnb"),
            ["8XBEW7VVWG47", "8XBEW7VVWG48"]
        );
        assert_eq!(converted.rows_not_asked_for, 2);
    }

    #[test]
    fn a_parcel_with_little_of_a_building_counts_only_if_there_is_no_other() {
        let parcel = |id: &str, share| Parcel {
            id: id.to_owned(),
            bdg_cover_ratio: share,
        };
        let parcels = vec![
            parcel("48095000AB0001", Some(0.04)),
            parcel("48095000AB0002", None),
        ];
        assert_eq!(own_parcels(parcels), ["48095000AB0002"]);
        assert_eq!(
            own_parcels(vec![parcel("48095000AB0001", Some(0.04))]).len(),
            1
        );
        // Parcels get their current codes.
        let former = own_parcels(vec![parcel("85307000AB0012", Some(1.0))]);
        assert_eq!(former, ["85001307AB0012"]);
        assert!(own_parcels(Vec::new()).is_empty());
    }
}
