//! Finds the columns of the published files of buildings.

use crate::source::cell::plain_name;
use crate::source::{Error, Header, SourceLocation};

/// A published column that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RnbField {
    /// Identifier.
    Id,
    /// Position, as well-known text.
    Point,
    /// Outline, as well-known text.
    Shape,
    /// State of the building.
    Status,
    /// Identifiers in other registers, as JSON.
    ExternalIds,
    /// Addresses, as JSON.
    Addresses,
    /// Parcels, as JSON.
    Parcels,
}

const FIELD_COUNT: usize = 7;
/// Name of each field, in the order of [`RnbField`].
const NAMES: [&str; FIELD_COUNT] = [
    "rnb_id",
    "point",
    "shape",
    "status",
    "ext_ids",
    "addresses",
    "plots",
];

impl RnbField {
    /// Returns the published name of the column.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct RnbColumns {
    positions: [Option<usize>; FIELD_COUNT],
    /// Columns that are not read: unknown ones, and `validated_by`, which names people.
    pub unknown: Vec<String>,
}

impl RnbColumns {
    /// Finds the columns in a header.
    ///
    /// # Errors
    /// A column that every building needs is missing: identifier or position.
    pub fn find(header: &Header, file: &str) -> Result<Self, Error> {
        let plain: Vec<String> = header.names.iter().map(|name| plain_name(name)).collect();
        let positions = NAMES.map(|name| plain.iter().position(|known| known == name));
        for needed in [RnbField::Id, RnbField::Point] {
            if positions[needed as usize].is_none() {
                return Err(Error::MissingColumn {
                    place: SourceLocation::line(file, 1).column(needed.name()),
                    found: header.names.join(", "),
                });
            }
        }
        let named = header.names.iter().zip(&plain);
        let unknown = named.filter(|(_, plain)| !NAMES.contains(&plain.as_str()));
        Ok(Self {
            unknown: unknown.map(|(name, _)| name.clone()).collect(),
            positions,
        })
    }

    /// Returns the position of a field in the file.
    pub fn position(&self, field: RnbField) -> Option<usize> {
        self.positions[field as usize]
    }
}
