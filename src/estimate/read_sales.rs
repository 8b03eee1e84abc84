//! Reads the sales of homes from the lake: only the needed columns, row group by row group, on all cores.

use std::io::ErrorKind;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Date32Type, Float64Type, Int32Type};
use rayon::prelude::*;

use super::clean::{self, Funnel};
use super::grid::GridPosition;
use super::home::HomeClass;
use super::model::Error;
use super::sale::{HomeSale, SaleWithCommune, id_of};
use toise_geo::departments;
use toise_lake::data_file::DataFile;
use toise_lake::{self as lake, Lake};
use toise_opendata::dvf;

/// Columns read from the table of sales.
#[rustfmt::skip]
pub const COLUMNS: [&str; 13] = [
    "id", "transaction_date", "transaction_type", "property_type", "price_eur", "price_per_m2_living_eur",
    "surface_m2", "main_rooms", "land_surface_m2", "departement_code", "lat", "lon", "insee_code",
];

/// Name of the rule about positions.
const WITH_POSITION: &str = "with a position";
/// A hint is given if at least one home in this many has no position.
const WITHOUT_POSITION_SHARE: u64 = 10;

/// Rules a record must meet, in order, to become a sale.
const RULES: [&str; 8] = [
    "records up to the last day",
    "a flat or a house",
    "one dwelling alone, with a price and a surface",
    "an ordinary sale on the open market",
    WITH_POSITION,
    "at 15,000 EUR or more",
    "of 9 to 1,000 m2",
    "at 300 to 30,000 EUR per m2",
];

/// Reads the sales before day `end` that meet the rules about single records, and counts the records each rule kept.
/// `row` is called with the number of rows read.
///
/// # Errors
/// A table that cannot be read, or is damaged.
pub fn sales(
    data: &Path,
    end: i32,
    row: &(dyn Fn(u64) + Sync),
) -> Result<(Vec<SaleWithCommune>, Funnel), Error> {
    let lake = open(data)?;
    let schema = dvf::schema();
    let folder = lake.folder(schema);
    let snapshot = lake.snapshot(schema)?;
    let mut sales = Vec::new();
    let mut left = [0; RULES.len()];
    for entry in &snapshot.parts {
        let data_file = DataFile::open(&folder, entry, schema)?;
        let groups = data_file.group_starts().len().saturating_sub(1);
        let read: Vec<(Vec<SaleWithCommune>, [u64; RULES.len()])> = (0..groups)
            .into_par_iter()
            .map(|group| read_group(&data_file, group, end))
            .collect::<Result<_, lake::Error>>()?;
        row(entry.rows);
        for (of_group, passed) in read {
            sales.extend(of_group);
            left.iter_mut()
                .zip(passed)
                .for_each(|(left, passed)| *left += passed);
        }
    }
    let mut funnel = Funnel::default();
    for (rule, left) in RULES.into_iter().zip(left) {
        funnel.note(rule, left as usize);
    }
    Ok((sales, funnel))
}

/// Advises what to do about homes that are skipped because they have no position; `None` if they are few.
pub fn position_hint(funnel: &Funnel) -> Option<String> {
    let at = funnel
        .steps
        .iter()
        .position(|step| step.rule == WITH_POSITION)?;
    let (before, with) = (
        funnel.steps.get(at.checked_sub(1)?)?.left,
        funnel.steps[at].left,
    );
    let without = before.saturating_sub(with);
    (without > 0 && without * WITHOUT_POSITION_SHARE >= before).then(|| {
        format!(
            "{without} of {before} sales of homes have no position and are left out; import the addresses of their \
             departments (toise import ban --departments …), which places them"
        )
    })
}

/// Number of rows in the table of sales, for progress.
///
/// # Errors
/// The table does not exist or cannot be read.
pub fn rows(data: &Path) -> Result<u64, Error> {
    match open(data)?.snapshot(dvf::schema())?.rows() {
        0 => Err(no_sales(data)),
        rows => Ok(rows),
    }
}

fn open(data: &Path) -> Result<Lake, Error> {
    Lake::open_existing(data).map_err(|error| match error {
        lake::Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => no_sales(data),
        other => other.into(),
    })
}

fn no_sales(data: &Path) -> Error {
    let folder = data.display().to_string();
    Error::NoSales { folder }
}

fn read_group(
    data_file: &DataFile,
    group: usize,
    end: i32,
) -> Result<(Vec<SaleWithCommune>, [u64; RULES.len()]), lake::Error> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for name in COLUMNS {
        let (index, _) = dvf::schema()
            .column(name)
            .ok_or_else(|| lake::Error::damaged(data_file.path(), format!("no column {name}")))?;
        columns.push(data_file.read_column(group, index)?);
    }
    let mut sales = Vec::new();
    let mut passed = [0; RULES.len()];
    let rows = columns.first().map_or(0, |column| column.len());
    for row in 0..rows {
        let (rules, sale) = judge(&columns, row, end);
        passed
            .iter_mut()
            .take(rules)
            .for_each(|passed| *passed += 1);
        sales.extend(sale);
    }
    Ok((sales, passed))
}

/// Returns the sale in a row of [`COLUMNS`], if the record meets the rules about single records.
pub fn sale(columns: &[ArrayRef], row: usize) -> Option<HomeSale> {
    let (_, sale) = judge(columns, row, i32::MAX);
    sale.map(|found| found.sale)
}

/// Returns the number of rules a record meets, and the sale if it meets all.
fn judge(columns: &[ArrayRef], row: usize, end: i32) -> (usize, Option<SaleWithCommune>) {
    let number = |column: usize| {
        let values = columns[column].as_primitive_opt::<Float64Type>()?;
        (!values.is_null(row)).then(|| values.value(row))
    };
    let day = columns[1]
        .as_primitive_opt::<Date32Type>()
        .filter(|days| !days.is_null(row))
        .map(|days| days.value(row));
    let Some(day) = day.filter(|day| *day < end) else {
        return (0, None);
    };
    let class = match text(&columns[3], row) {
        Some("Appartement") => HomeClass::Flat,
        Some("Maison") => HomeClass::House,
        _ => return (1, None),
    };
    let (Some(price), Some(_), Some(surface)) = (number(4), number(5), number(6)) else {
        return (2, None);
    };
    if text(&columns[2], row) != Some("Vente") {
        return (3, None);
    }
    let (Some(latitude), Some(longitude)) = (number(10), number(11)) else {
        return (4, None);
    };
    let known = |value: Option<f64>| {
        value
            .filter(|value| *value > 0.0)
            .map_or(f32::NAN, |value| value as f32)
    };
    let Some(id) = text(&columns[0], row).and_then(id_of) else {
        return (4, None);
    };
    let sale = HomeSale {
        id,
        day,
        class,
        price,
        surface_m2: surface as f32,
        rooms: known(number(7)),
        land_m2: known(number(8)),
        position: GridPosition::new(latitude, longitude),
        department: text(&columns[9], row).map_or(0, departments::rank),
        energy: f32::NAN,
        construction_year: f32::NAN,
    };
    if price < clean::PRICE_MIN {
        return (5, None);
    }
    if !clean::SURFACE.contains(&surface) {
        return (6, None);
    }
    if !clean::PRICE_PER_M2.contains(&(price / surface)) {
        return (7, None);
    }
    let mut commune = [0; 5];
    let code = text(&columns[12], row).unwrap_or_default().as_bytes();
    commune
        .iter_mut()
        .zip(code)
        .for_each(|(to, from)| *to = *from);
    (RULES.len(), Some(SaleWithCommune { sale, commune }))
}

/// The text or category in a row of a column; `None` for null.
pub(super) fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Some(texts.value(row));
    }
    let category = column.as_dictionary_opt::<Int32Type>()?;
    let values = category.values().as_string_opt::<i32>()?;
    Some(values.value(category.key(row)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_homes_without_a_position_say_what_to_import() {
        let hint = |before, with| {
            let mut funnel = Funnel::default();
            funnel.note(RULES[3], before);
            funnel.note(WITH_POSITION, with);
            position_hint(&funnel)
        };
        let text = hint(5_149, 0).unwrap();
        assert!(
            text.starts_with("5149 of 5149 sales of homes have no position"),
            "{text}"
        );
        assert!(text.contains("toise import ban"), "{text}");
        assert_eq!(hint(5_149, 5_100), None);
        assert_eq!(hint(0, 0), None);
    }
}
