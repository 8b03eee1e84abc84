//! Reads FlatGeobuf files.

use std::fs::File;
use std::io::BufReader;

use flatgeobuf::geozero::error::Result as GeozeroResult;
use flatgeobuf::geozero::{ColumnValue, PropertyProcessor};
use flatgeobuf::{FallibleStreamingIterator, FeatureProperties, FgbReader, GeozeroGeometry};
use serde_json::{Map, Value};

use super::{RawLayer, attributes, check_count};
use crate::geometry::GeometryBuilder;
use toise_geo::reference_system::ReferenceSystem;

/// Reads a file. May panic on some damaged files, because the library does.
///
/// # Errors
/// The file is damaged, or has curves.
pub(super) fn read(file: File) -> Result<RawLayer, String> {
    let failed = |error: flatgeobuf::Error| format!("not readable as FlatGeobuf: {error}");
    let mut features = FgbReader::open(BufReader::new(file))
        .and_then(FgbReader::select_all_seq)
        .map_err(failed)?;
    let code = features.header().crs().map_or(0, |crs| crs.code());
    let system = match u32::try_from(code) {
        Ok(0) | Err(_) => None,
        Ok(code) => Some(ReferenceSystem::of_epsg(code)?),
    };
    let (mut geometries, mut rows) = (Vec::new(), Vec::new());
    while let Some(feature) = features.next().map_err(failed)? {
        let number = geometries.len() + 1;
        check_count(number)?;
        let of_feature =
            |error: flatgeobuf::geozero::error::GeozeroError| format!("feature {number}: {error}");
        let mut geometry = GeometryBuilder::default();
        if feature.geometry().is_some() {
            feature.process_geom(&mut geometry).map_err(of_feature)?;
        }
        geometries.push(geometry.finish());
        let mut row = Properties::default();
        feature.process_properties(&mut row).map_err(of_feature)?;
        rows.push(row.0);
    }
    let properties = attributes::of_properties(rows)?;
    Ok(RawLayer {
        format: "FlatGeobuf",
        system,
        geometries,
        attributes: attributes::normalised(&properties)?,
    })
}

/// The properties of a feature.
#[derive(Default)]
struct Properties(Map<String, Value>);

impl PropertyProcessor for Properties {
    fn property(&mut self, _: usize, name: &str, value: &ColumnValue) -> GeozeroResult<bool> {
        let value = match value {
            ColumnValue::Byte(number) => Value::from(*number),
            ColumnValue::UByte(number) => Value::from(*number),
            ColumnValue::Bool(flag) => Value::from(*flag),
            ColumnValue::Short(number) => Value::from(*number),
            ColumnValue::UShort(number) => Value::from(*number),
            ColumnValue::Int(number) => Value::from(*number),
            ColumnValue::UInt(number) => Value::from(*number),
            ColumnValue::Long(number) => Value::from(*number),
            ColumnValue::ULong(number) => Value::from(*number),
            ColumnValue::Float(number) => Value::from(*number),
            ColumnValue::Double(number) => Value::from(*number),
            ColumnValue::String(text) | ColumnValue::Json(text) | ColumnValue::DateTime(text) => {
                Value::from(*text)
            }
            ColumnValue::Binary(_) => return Ok(false),
        };
        self.0.insert(name.to_owned(), value);
        Ok(false)
    }
}
