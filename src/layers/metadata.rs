//! The description of a layer, as `layer.json` in its folder stores it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};
use toise_lake::Provenance;

/// Maximum characters of a name.
const NAME_CHARS_MAX: usize = 40;
/// Prefix of the names of tables.
pub const TABLE_PREFIX: &str = "layer_";

/// The name of a layer: lower-case letters, digits and `_`, a letter first, at most 40 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LayerName(String);

impl LayerName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the layer's table in SQL.
    pub fn table(&self) -> String {
        format!("{TABLE_PREFIX}{}", self.0)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for LayerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = text.len() <= NAME_CHARS_MAX
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if is_name {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "{text:?} cannot name a layer: use lower-case letters, digits and _, a letter first, at most \
             {NAME_CHARS_MAX} characters"
        ))
    }
}

impl TryFrom<String> for LayerName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LayerName> for String {
    fn from(name: LayerName) -> Self {
        name.0
    }
}

/// Type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A day.
    Day,
    /// A timestamp without a time zone.
    Moment,
    /// A timestamp in UTC.
    UtcMoment,
}

impl AttributeKind {
    /// Returns the Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Flag => DataType::Boolean,
            Self::Day => DataType::Date32,
            Self::Moment => DataType::Timestamp(TimeUnit::Millisecond, None),
            Self::UtcMoment => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        }
    }

    /// Returns the kind for the Arrow type of a file; `None` for types that become text, such as lists.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
                Self::Text
            }
            DataType::Dictionary(_, values) => return Self::of(values),
            kind if kind.is_integer() => Self::Integer,
            kind if kind.is_floating() || kind.is_decimal() => Self::Number,
            DataType::Boolean => Self::Flag,
            DataType::Date32 | DataType::Date64 => Self::Day,
            DataType::Timestamp(_, None) => Self::Moment,
            DataType::Timestamp(_, Some(_)) => Self::UtcMoment,
            _ => return None,
        })
    }
}

/// An attribute of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Name of the column.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: AttributeKind,
}

impl Attribute {
    /// Returns the column.
    pub(crate) fn field(&self) -> Arc<Field> {
        Arc::new(Field::new(&self.name, self.kind.data_type(), true))
    }
}

/// A layer, without its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerMetadata {
    /// Name.
    pub name: LayerName,
    /// The source file: address or name, checksum, licence, and time of the import.
    pub provenance: Provenance,
    /// Format of that file: `GeoJSON`, `GeoParquet`, `FlatGeobuf` or `table`.
    pub format: String,
    /// The reference system of that file. The layer itself is in degrees.
    pub reference_system: String,
    /// Number of features.
    pub features: u64,
    /// Features of the file that have no geometry and were skipped.
    pub without_geometry: u64,
    /// Features of the file whose invalid polygons were repaired, as requested.
    pub mended: u64,
    /// Features of the file whose invalid geometry could not be repaired.
    pub invalid: u64,
    /// Vertices of all geometries.
    pub vertices: u64,
    /// Types of the geometries, such as `Point` and `MultiPolygon`, in the order of their names.
    pub geometry_types: Vec<String>,
    /// Western, southern, eastern and northern edge of the box around all features, degrees.
    pub bbox: [f64; 4],
    /// Attributes, in the order of the file.
    pub columns: Vec<Attribute>,
    /// Name of the data file in the folder of the layer.
    pub data: String,
    /// BLAKE3 of the data file, hexadecimal.
    pub checksum: String,
    /// Length of the data file.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_tables_in_sql() {
        for name in ["flood", "qpv_2024", "a"] {
            assert_eq!(name.parse::<LayerName>().unwrap().as_str(), name);
        }
        let long = "a".repeat(41);
        for name in ["", "Flood", "2024", "../x", "a-b", "é", "_a", &long] {
            assert!(name.parse::<LayerName>().is_err(), "{name}");
        }
        let flood: LayerName = "flood".parse().unwrap();
        assert_eq!(flood.table(), "layer_flood");
    }
}
