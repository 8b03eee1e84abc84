//! Columns of the lake's tables of listings, and the builders that turn records into rows.
//!
//! `properties` and `adverts` hold what filters, sorting and SQL need, one row per record; whole records stay in the
//! store. A column is named after its path in the record, in snake case; positions are `lat` and `lon`, commune centres
//! `city_lat` and `city_lon`. The adverts of a property are one column, a list of structs. Enumerated values, codes and
//! tags are strings, so that any tool can read the files.
//!
//! `habitation.floor` and `habitation.features.propertyFloor` are two names of one value: a record with a value in
//! either field has it in both columns.
//!
//! The projection, percolation and bulk load build rows with [`PropertyRows`] and [`AdvertRows`], from typed records
//! and not from JSON.

mod advert;
mod dwelling;
mod property;
mod rows;
mod shared;

pub use advert::AdvertRows;
pub use property::PropertyRows;

use std::sync::LazyLock;

use toise_contract::listings::filters::ListingKind;
use toise_lake::schema::{Column, TableSchema};

/// Column that identifies a property or an advert.
pub const ID: &str = "flx_id";
/// Column of the key of a property's record in the store ([`crate::properties::record_key`]). The key contains the
/// property's number; the record and its texts in the text index are found by them.
pub const RECORD_KEY: &str = "record_key";
/// Column of a property's adverts.
pub const ADVERTS: &str = "adverts";

/// The error of a record that cannot be converted to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Rows are found by their identifier.
    #[error("a record without flxId cannot be a row")]
    NoId,
}

static PROPERTIES: LazyLock<TableSchema> =
    LazyLock::new(|| table("properties", property::columns()));

static ADVERT_TABLE: LazyLock<TableSchema> = LazyLock::new(|| table("adverts", advert::columns()));

fn table(name: &'static str, columns: Vec<Column>) -> TableSchema {
    TableSchema::projection(
        name,
        columns,
        ID,
        "location_department",
        "location_insee_code",
        "type",
        "meta_first_seen_at",
    )
}

/// Returns the table of properties.
pub fn properties() -> &'static TableSchema {
    &PROPERTIES
}

/// Returns the table of adverts.
pub fn adverts() -> &'static TableSchema {
    &ADVERT_TABLE
}

/// Returns the table of properties or adverts.
pub fn table_of(listing: ListingKind) -> &'static TableSchema {
    match listing {
        ListingKind::Property => properties(),
        ListingKind::Advert => adverts(),
    }
}

#[cfg(test)]
mod tests;
