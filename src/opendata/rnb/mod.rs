//! The national register of buildings (RNB), as published by department: one row per building, with the addresses and
//! the parcels that the register gives it.

pub mod columns;
pub mod links;
mod near;
pub mod record;

pub use near::REACH_M;

use std::sync::LazyLock;

use toise_lake::schema::{ColumnKind, TableSchema, columns_of};

/// Column with the identifier, which diagnostics name in a column of the same name.
pub const ID: &str = super::dpe::BUILDING;
/// Column with the state of the building, as published: `constructed`, `demolished`, ….
pub const STATUS: &str = "status";
/// Column with the ground surface, square metres.
pub const GROUND: &str = "ground_m2";
/// Column with the addresses, by their identifiers in the national address base.
pub const ADDRESSES: &str = "address_ids";
/// Column with the parcels that the building stands on, largest share first.
pub const PARCELS: &str = super::dvf::place::PARCELS;

/// Values of [`STATUS`] of a building that is gone or was never built, so that nobody can live in it.
pub const ABSENT: [&str; 3] = ["demolished", "canceledProject", "constructionProject"];

/// Name and type of each column, and whether queries filter on it.
const COLUMNS: [(&str, ColumnKind, bool); 10] = [
    (ID, ColumnKind::Text, true),
    (STATUS, ColumnKind::Category, true),
    ("insee_code", ColumnKind::Category, true),
    ("departement_code", ColumnKind::Category, true),
    ("lat", ColumnKind::Number, true),
    ("lon", ColumnKind::Number, true),
    (GROUND, ColumnKind::Number, true),
    (ADDRESSES, ColumnKind::TextList, true),
    (PARCELS, ColumnKind::TextList, true),
    ("bdnb_ids", ColumnKind::TextList, false),
];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    // Rows have no date: an edition replaces what it covers, regardless of the year.
    TableSchema::projection(
        "rnb",
        columns_of(&COLUMNS),
        ID,
        "departement_code",
        "insee_code",
        STATUS,
        "",
    )
});

/// Returns the table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}
