//! Places stored diagnostics that have an address but no position, after addresses were imported. A diagnostic gets the
//! position and record that importing it now would give.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::{filter_record_batch, is_not_null};

use super::record::{DpeSelection, DpeSources, convert};
use super::source::DpeColumns;
use crate::placing::PlacedCounts;
use crate::source::{Block, Header};
use toise_geocode::resolve::LazyGeocoder;
use toise_lake::schema::LATITUDE;
use toise_lake::{Error, RowSink};

/// Column that identifies a diagnostic.
const NUMBER: &str = "numero_dpe";
/// Column of the department; null if the register gives only the address as entered.
const DEPARTMENT: &str = "code_departement_ban";
/// Name of the source in errors.
const STORED: &str = "stored diagnostics";

/// Pushes the stored diagnostics that had no position and whose address gives one, with that position. Covers
/// diagnostics of the given departments and those without a department. Reads only row groups in which a position is
/// missing.
///
/// # Errors
/// The table cannot be read, or the sink fails.
pub fn place_stored(
    sink: &mut dyn RowSink,
    departments: &[String],
    geocoder: &LazyGeocoder,
) -> Result<PlacedCounts, Error> {
    let mut counts = PlacedCounts::default();
    let Some(stored) = sink.stored_rows()? else {
        return Ok(counts);
    };
    // A file with only the number, so all other values come from the stored records.
    let header = Arc::new(Header::new(vec![NUMBER.to_owned()]));
    let columns = DpeColumns::find(&header, STORED)
        .map_err(|error| Error::damaged(Path::new(STORED), error))?;
    let sources = DpeSources {
        geocoder,
        stored: Some(&stored),
        allow_partial: false,
    };
    stored.without(LATITUDE, departments, &mut |batch| {
        let block = numbers(&batch, departments, &header);
        let wanted = DpeSelection::default();
        let converted = convert(&block, &columns, STORED, &wanted, sources)?;
        counts.without_position += converted.rows_kept;
        counts.placed += converted.placed;
        let Some(latitudes) = converted.batch.column_by_name(LATITUDE) else {
            return Ok(());
        };
        let placed = filter_record_batch(&converted.batch, &is_not_null(latitudes)?)?;
        sink.push(placed)
    })?;
    Ok(counts)
}

/// Returns the numbers of the diagnostics of the given departments, and of those without a department, as rows of a
/// file.
fn numbers(batch: &RecordBatch, departments: &[String], header: &Arc<Header>) -> Block {
    let mut block = Block::new(Arc::clone(header));
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let Some(numbers) = text(NUMBER) else {
        return block;
    };
    let of = text(DEPARTMENT);
    for row in 0..batch.num_rows() {
        let department = of.filter(|of| of.is_valid(row)).map(|of| of.value(row));
        let is_wanted = department.is_none_or(|code| departments.iter().any(|one| one == code));
        if is_wanted {
            block.start_row(row as u64 + 1);
            block.push_cell(numbers.value(row));
        }
    }
    block
}
