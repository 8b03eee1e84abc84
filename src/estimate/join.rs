//! Joins energy diagnostics to recorded sales.
//!
//! The two datasets share no key. A diagnostic is matched to a sale if it has the same kind of dwelling, position and
//! surface, within tolerances. The period of construction belongs to the building, so it is taken from the nearest
//! diagnostic of any surface.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use rayon::prelude::*;

use super::clean::Funnel;
use super::grid::{self, GridPosition};
use super::home::HomeClass;
use super::model::Error;
use super::read_sales::text;
use super::sale::{HomeSale, SaleWithCommune};
use toise_lake::data_file::DataFile;
use toise_lake::{self as lake, Lake};
use toise_opendata::dpe;

/// Maximum distance from a diagnostic's address to the centre of the sold parcel, metres.
const REACH_M: f32 = 40.0;
/// Maximum relative difference of the two surfaces: they are measured by different rules.
const SURFACE_SHARE: f32 = 0.06;
/// Cell level of the spatial index: cells of 64 m, so that nine cells cover the maximum distance.
const CELL_LEVEL: u32 = 2;
/// Columns read from the table of diagnostics.
const COLUMNS: [&str; 6] = [
    "type_batiment",
    "surface_habitable_logement",
    "etiquette_dpe",
    "periode_construction",
    "lat",
    "lon",
];
/// Middle year of each of [`dpe::CONSTRUCTION_PERIODS`].
const YEARS: [f32; 10] = [
    1920.0, 1961.0, 1976.0, 1980.0, 1985.0, 1994.0, 2003.0, 2009.0, 2017.0, 2023.0,
];

/// The fields of a diagnostic used for the join.
#[derive(Clone, Copy, Debug)]
struct Diagnostic {
    code: u64,
    position: GridPosition,
    class: HomeClass,
    surface_m2: f32,
    energy: f32,
    year: f32,
}

/// Joins the lake's diagnostics to `sales`, if the lake has any, and records in `funnel` how many sales have one.
///
/// # Errors
/// A table that cannot be read, or is damaged.
pub fn join(data: &Path, sales: &mut [SaleWithCommune], funnel: &mut Funnel) -> Result<(), Error> {
    let diagnostics = read(data)?;
    if diagnostics.is_empty() {
        return Ok(());
    }
    sales
        .par_iter_mut()
        .for_each(|one| complete(&mut one.sale, &diagnostics));
    let joined = sales.iter().filter(|one| !one.sale.energy.is_nan()).count();
    funnel.note("of these with an energy diagnostic", joined);
    Ok(())
}

/// Fills the energy class and construction year of a sale from diagnostics at its place.
fn complete(sale: &mut HomeSale, diagnostics: &[Diagnostic]) {
    let ruler = sale.position.ruler();
    let (east, north) = sale.position.cell();
    let (east, north) = (east >> CELL_LEVEL, north >> CELL_LEVEL);
    let (mut nearest, mut alike) = (f32::INFINITY, f32::INFINITY);
    for north in north.saturating_sub(1)..=north + 1 {
        for east in east.saturating_sub(1)..=east + 1 {
            let code = grid::interleave(east, north);
            let first = diagnostics.partition_point(|one| one.code < code);
            let here = diagnostics[first..].iter();
            for one in here.take_while(|one| one.code == code) {
                let squared_m2 = ruler.squared_m2(one.position);
                if one.class != sale.class || squared_m2 > REACH_M * REACH_M {
                    continue;
                }
                if squared_m2 < nearest && !one.year.is_nan() {
                    nearest = squared_m2;
                    sale.construction_year = one.year;
                }
                let share = (one.surface_m2 / sale.surface_m2 - 1.0).abs();
                // Combines distance and surface difference on one scale: the maximum distance counts as much as the
                // maximum difference.
                let unlike = squared_m2.sqrt() / REACH_M + share / SURFACE_SHARE;
                if share <= SURFACE_SHARE && unlike < alike && !one.energy.is_nan() {
                    alike = unlike;
                    sale.energy = one.energy;
                }
            }
        }
    }
}

/// Reads the diagnostics of dwellings, sorted by cell and then in a fixed order.
fn read(data: &Path) -> Result<Vec<Diagnostic>, Error> {
    let lake = Lake::open_existing(data)?;
    let schema = dpe::schema();
    let folder = lake.folder(schema);
    let mut diagnostics = Vec::new();
    for entry in &lake.snapshot(schema)?.parts {
        let data_file = DataFile::open(&folder, entry, schema)?;
        let groups = data_file.group_starts().len().saturating_sub(1);
        let read: Vec<Vec<Diagnostic>> = (0..groups)
            .into_par_iter()
            .map(|group| read_group(&data_file, group))
            .collect::<Result<_, lake::Error>>()?;
        diagnostics.extend(read.into_iter().flatten());
    }
    diagnostics.par_sort_unstable_by_key(|one| {
        let values = [one.surface_m2, one.energy, one.year].map(f32::to_bits);
        (one.code, one.position, one.class, values)
    });
    Ok(diagnostics)
}

fn read_group(data_file: &DataFile, group: usize) -> Result<Vec<Diagnostic>, lake::Error> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for name in COLUMNS {
        let (index, _) = dpe::schema()
            .column(name)
            .ok_or_else(|| lake::Error::damaged(data_file.path(), format!("no column {name}")))?;
        columns.push(data_file.read_column(group, index)?);
    }
    let rows = columns.first().map_or(0, |column| column.len());
    Ok((0..rows)
        .filter_map(|row| diagnostic(&columns, row))
        .collect())
}

fn diagnostic(columns: &[ArrayRef], row: usize) -> Option<Diagnostic> {
    let number = |column: usize| {
        let values = columns[column].as_primitive_opt::<Float64Type>()?;
        (!values.is_null(row)).then(|| values.value(row))
    };
    let rank = |column: usize, of: &[&str]| {
        let value = text(&columns[column], row)?;
        of.iter().position(|known| *known == value)
    };
    let class = match text(&columns[0], row)? {
        "appartement" => HomeClass::Flat,
        "maison" => HomeClass::House,
        _ => return None,
    };
    let position = GridPosition::new(number(4)?, number(5)?);
    Some(Diagnostic {
        code: position.morton() >> (2 * CELL_LEVEL),
        position,
        class,
        surface_m2: number(1).map_or(f32::NAN, |surface| surface as f32),
        energy: rank(2, &dpe::CLASSES).map_or(f32::NAN, |rank| rank as f32),
        year: rank(3, &dpe::CONSTRUCTION_PERIODS).map_or(f32::NAN, |rank| YEARS[rank]),
    })
}

#[cfg(test)]
mod tests {
    //! Uses synthetic rows, because the available official samples share no commune: sales of Paris, Toulon and a
    //! village in Charente, and diagnostics of Haute-Garonne, Lozère and Lyon.

    use super::*;

    fn sale(latitude: f64, surface_m2: f32) -> HomeSale {
        HomeSale {
            id: [0; 10],
            day: 19_000,
            class: HomeClass::Flat,
            price: 200_000.0,
            surface_m2,
            rooms: 3.0,
            land_m2: f32::NAN,
            position: GridPosition::new(latitude, 6.0),
            department: 84,
            energy: f32::NAN,
            construction_year: f32::NAN,
        }
    }

    fn diagnostic(latitude: f64, class: HomeClass, surface_m2: f32, energy: f32) -> Diagnostic {
        let position = GridPosition::new(latitude, 6.0);
        Diagnostic {
            code: position.morton() >> (2 * CELL_LEVEL),
            position,
            class,
            surface_m2,
            energy,
            year: 1961.0,
        }
    }

    #[test]
    fn a_sale_is_joined_to_the_diagnostic_of_its_place_kind_and_surface() {
        let mut diagnostics = vec![
            diagnostic(43.100_2, HomeClass::Flat, 61.0, 3.0),
            diagnostic(43.100_1, HomeClass::Flat, 80.0, 5.0),
            diagnostic(43.100_1, HomeClass::House, 60.0, 6.0),
            diagnostic(43.102_0, HomeClass::Flat, 60.0, 0.0),
        ];
        diagnostics.sort_unstable_by_key(|one| one.code);
        let mut found = sale(43.1, 60.0);
        complete(&mut found, &diagnostics);
        assert_eq!((found.energy, found.construction_year), (3.0, 1961.0));
        let mut of_other_surface = sale(43.1, 40.0);
        complete(&mut of_other_surface, &diagnostics);
        assert!(of_other_surface.energy.is_nan());
        assert_eq!(of_other_surface.construction_year, 1961.0);
        let mut elsewhere = sale(43.2, 60.0);
        complete(&mut elsewhere, &diagnostics);
        assert!(elsewhere.energy.is_nan() && elsewhere.construction_year.is_nan());
    }
}
