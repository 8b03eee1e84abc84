//! Changes of parcels, from the tax office's documents of filiation (DFI): which parcels were made from which.

pub mod record;

use std::sync::LazyLock;

use toise_lake::schema::{ColumnKind, TableSchema, columns_of};

/// Column with the parcels before the change, under current codes.
pub const FORMER: &str = "former_parcel_ids";
/// Column with the parcels after the change, under current codes.
pub const LATER: &str = "later_parcel_ids";

/// Name and type of each column, and whether queries filter on it.
const COLUMNS: [(&str, ColumnKind, bool); 7] = [
    ("id", ColumnKind::Text, true),
    ("date", ColumnKind::Date, true),
    ("nature", ColumnKind::Category, true),
    ("insee_code", ColumnKind::Category, true),
    ("departement_code", ColumnKind::Category, true),
    (FORMER, ColumnKind::TextList, true),
    (LATER, ColumnKind::TextList, true),
];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    TableSchema::projection(
        "dfi",
        columns_of(&COLUMNS),
        "id",
        "departement_code",
        "insee_code",
        "nature",
        "date",
    )
});

/// Returns the table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}
