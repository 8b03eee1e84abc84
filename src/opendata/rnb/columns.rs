//! Finds the columns of the published files of buildings.

use crate::source::cell::plain_name;
use crate::source::{Error, Header};

toise_base::named! {
    /// A published column that is read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RnbField {
        /// Identifier.
        Id = "rnb_id",
        /// Position, as well-known text.
        Point = "point",
        /// Outline, as well-known text.
        Shape = "shape",
        /// State of the building.
        Status = "status",
        /// Identifiers in other registers, as JSON.
        ExternalIds = "ext_ids",
        /// Addresses, as JSON.
        Addresses = "addresses",
        /// Parcels, as JSON.
        Parcels = "plots",
    }
}

/// The columns of one file.
#[derive(Clone, Debug)]
pub struct RnbColumns {
    positions: [Option<usize>; RnbField::ALL.len()],
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
        let positions = RnbField::NAMES.map(|name| plain.iter().position(|known| known == name));
        let needed = [RnbField::Id, RnbField::Point].into_iter();
        let missing = needed.filter(|field| positions[*field as usize].is_none());
        let missing: Vec<&str> = missing.map(RnbField::as_str).collect();
        Error::check_missing(file, &missing, header)?;
        let named = header.names.iter().zip(&plain);
        let unknown = named.filter(|(_, plain)| !RnbField::NAMES.contains(&plain.as_str()));
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
