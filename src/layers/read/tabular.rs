//! Reads tables: GeoParquet, or Parquet, CSV and spreadsheets whose columns hold coordinates, WKT or GeoJSON.

use std::fs::File;
use std::io::BufRead;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use geo::Geometry;
use serde_json::Value;
use toise_input::SharedForm;
use toise_input::typed::{self, TextColumns};
use toise_lake::foreign::ForeignParquet;

use super::columns::GeometryColumns;
use super::{RawLayer, attributes, check_count};
use toise_geo::reference_system::ReferenceSystem;

/// Rows read at once.
const BATCH_ROWS: usize = 8_192;
/// Key of the GeoParquet description in the metadata of a file.
const GEO: &str = "geo";

/// Reads delimited text; `open` opens it and is called twice.
///
/// # Errors
/// The text is not a table, or has no column with a geometry.
pub(super) fn read_text(
    open: impl Fn() -> Result<Box<dyn BufRead + Send>, String>,
    form: &SharedForm,
) -> Result<RawLayer, String> {
    let (copy, _) = typed::convert(open, &TextColumns::Codes, form)?;
    let file = File::open(&copy).map_err(|error| error.to_string())?;
    read_parquet(file)
}

/// Reads Parquet.
///
/// # Errors
/// The file is damaged, or has no column with a geometry.
pub(super) fn read_parquet(file: File) -> Result<RawLayer, String> {
    let rows = ForeignParquet::open(file, BATCH_ROWS).map_err(|error| error.to_string())?;
    let schema = Arc::clone(rows.schema());
    let about = schema.metadata().get(GEO);
    let described = match about {
        Some(about) => Some(Described::read(about)?),
        None => None,
    };
    let columns = match &described {
        Some(described) => GeometryColumns::named(&schema, &described.column)?,
        None => GeometryColumns::find(&schema)?,
    };
    let (mut geometries, mut batches): (Vec<Option<Geometry>>, _) = (Vec::new(), Vec::new());
    for batch in rows {
        let batch = batch.map_err(|error| error.to_string())?;
        let batch = ForeignParquet::restored(&schema, &batch).map_err(|error| error.to_string())?;
        check_count(geometries.len() + batch.num_rows())?;
        columns.read(&batch, &mut geometries)?;
        batches.push(attributes::normalised(&columns.without_geometry(&batch)?)?);
    }
    let schema = batches.first().map(RecordBatch::schema);
    let schema = schema.unwrap_or_else(|| Arc::new(Schema::empty()));
    let attributes = concat_batches(&schema, &batches).map_err(|error| error.to_string())?;
    let (format, system) = match described {
        Some(described) => ("GeoParquet", described.system),
        None => ("table", None),
    };
    Ok(RawLayer {
        format,
        system,
        geometries,
        attributes,
    })
}

/// The description of GeoParquet.
struct Described {
    /// Name of the column of geometries.
    column: String,
    system: Option<ReferenceSystem>,
}

impl Described {
    fn read(text: &str) -> Result<Self, String> {
        let about: Value = serde_json::from_str(text)
            .map_err(|error| format!("its GeoParquet metadata: {error}"))?;
        let column = about["primary_column"].as_str().unwrap_or("geometry");
        let of_column = &about["columns"][column];
        match of_column["encoding"].as_str() {
            Some("WKB") => {}
            Some(other) => {
                return Err(format!(
                    "its geometries have the encoding {other}; write them as WKB"
                ));
            }
            None => return Err("its GeoParquet metadata do not describe the geometries".to_owned()),
        }
        let system = match of_column.get("crs") {
            // The standard's default.
            None => Some(ReferenceSystem::Degrees),
            Some(Value::Null) => None,
            Some(crs) => Some(ReferenceSystem::of_projjson(crs)?),
        };
        Ok(Self {
            column: column.to_owned(),
            system,
        })
    }
}
