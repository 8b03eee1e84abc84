//! Reads columnar tables (Parquet, and Arrow converted to it) whose columns have the published names. Values become
//! text cells as in other containers, so that dates, codes and decimals are parsed in one place. A float or decimal that
//! is a whole number becomes text without decimals: tables written from CSV hold codes and house numbers as floats if
//! some rows lack them. NaN is a missing value. Geometries (`geometry`) and UUIDs become text too; columns of other
//! types without a text, such as lists, have empty cells.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{can_cast_types, cast};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Schema};
use arrow::error::ArrowError;
use serde_json::Value;

use super::block::{Block, GeometryColumn, Header};
use super::cell::without_end_zeros;
use super::{BlockReader, Error, SourceLocation, geometry};
use toise_geo::reference_system::ReferenceSystem;
use toise_lake::foreign::ForeignParquet;

/// Rows decoded per batch: with 230 columns, a few megabytes.
const BATCH_ROWS: usize = 2_048;

/// The first bytes of a Parquet file.
pub(super) const PARQUET: &[u8] = b"PAR1";

/// Key of the description of GeoParquet in the metadata of a file.
const GEO: &str = "geo";

/// Reads the columns of a Parquet file from its footer.
pub(super) fn header(file: File, name: &str) -> Result<Arc<Header>, Error> {
    open(file, name).map(|rows| header_of(&rows))
}

fn header_of(rows: &ForeignParquet) -> Arc<Header> {
    Arc::new(Header {
        names: rows.names(),
        geometry: geometry_column(rows.schema()),
    })
}

/// Returns the column of geometries that the metadata of GeoParquet name.
fn geometry_column(schema: &Schema) -> Option<GeometryColumn> {
    let about: Value = serde_json::from_str(schema.metadata().get(GEO)?).ok()?;
    let name = about["primary_column"].as_str()?;
    let system = match about["columns"][name].get("crs") {
        // The default of the standard; with `null`, the system is unknown.
        None | Some(Value::Null) => Ok(ReferenceSystem::Degrees),
        Some(crs) => ReferenceSystem::of_projjson(crs),
    };
    let index = schema.index_of(name).ok()?;
    Some(GeometryColumn { index, system })
}

fn open(file: File, name: &str) -> Result<ForeignParquet, Error> {
    ForeignParquet::open(file, BATCH_ROWS)
        .map_err(|error| Error::malformed(SourceLocation::file(name), error.to_string()))
}

/// A reader of Parquet. It copies the source to a temporary file first, because the footer is at the end.
pub(super) struct ColumnarReader {
    batches: ForeignParquet,
    name: String,
    header: Arc<Header>,
    row: u64,
}

impl ColumnarReader {
    pub(super) fn new(mut source: impl Read, name: &str) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::reading(SourceLocation::file(name), error);
        let mut file = tempfile::tempfile().map_err(failed)?;
        std::io::copy(&mut source, &mut file).map_err(failed)?;
        let batches = open(file, name)?;
        Ok(Self {
            name: name.to_owned(),
            header: header_of(&batches),
            batches,
            row: 0,
        })
    }
}

impl BlockReader for ColumnarReader {
    fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let Some(batch) = self.batches.next() else {
            return Ok(None);
        };
        let place = || SourceLocation::line(&self.name, self.row + 1);
        let batch = batch.map_err(|error| Error::malformed(place(), error.to_string()))?;
        let texts = batch
            .columns()
            .iter()
            .enumerate()
            .map(|(index, column)| cells(column, &self.header, index))
            .collect::<Result<Vec<Option<ArrayRef>>, _>>()
            .map_err(|error| Error::malformed(place(), format!("damaged Parquet data: {error}")))?;
        let mut block = Block::new(Arc::clone(&self.header));
        for row in 0..batch.num_rows() {
            self.row += 1;
            block.start_row(self.row);
            for text in &texts {
                match text {
                    Some(text) if text.is_valid(row) => {
                        block.push_cell(text.as_string::<i32>().value(row));
                    }
                    _ => block.push_cell(""),
                }
            }
        }
        Ok(Some(block))
    }
}

/// Converts a column to text; `None` for a type that no published column has, and for geometries whose reference system
/// is not read.
fn cells(column: &ArrayRef, header: &Header, index: usize) -> Result<Option<ArrayRef>, ArrowError> {
    let named = header.geometry.as_ref().filter(|it| it.index == index);
    let system = match named.map(|geometry| &geometry.system) {
        Some(Err(_)) => return Ok(None),
        Some(Ok(system)) => *system,
        None => ReferenceSystem::Degrees,
    };
    let text = |number: Option<String>| number.filter(|text| text != "NaN");
    Ok(match column.data_type() {
        DataType::Map(_, _) => None,
        DataType::List(_)
        | DataType::Struct(_)
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => geometry::cells(column, system)?,
        DataType::Float64 => {
            let numbers = column.as_primitive::<Float64Type>().iter();
            let texts = numbers.map(|number| text(number.map(|number| number.to_string())));
            Some(Arc::new(texts.collect::<StringArray>()))
        }
        DataType::Float32 => {
            let numbers = column.as_primitive::<Float32Type>().iter();
            let texts = numbers.map(|number| text(number.map(|number| number.to_string())));
            Some(Arc::new(texts.collect::<StringArray>()))
        }
        kind if kind.is_decimal() => {
            let numbers = cast(column, &DataType::Utf8)?;
            let numbers = numbers.as_string::<i32>().iter();
            let texts = numbers.map(|number| number.map(without_end_zeros));
            Some(Arc::new(texts.collect::<StringArray>()))
        }
        DataType::FixedSizeBinary(16) => {
            let values = column.as_fixed_size_binary().iter();
            let texts = values.map(|value| value.map(uuid));
            Some(Arc::new(texts.collect::<StringArray>()))
        }
        kind if !can_cast_types(kind, &DataType::Utf8) => None,
        _ => Some(cast(column, &DataType::Utf8)?),
    })
}

/// Writes the 16 bytes of a UUID as text.
fn uuid(bytes: &[u8]) -> String {
    let number = bytes
        .iter()
        .fold(0, |number: u128, byte| (number << 8) | u128::from(*byte));
    let hex = format!("{number:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}
