//! The lake's table `ban`: addresses and named places of the national address base, one row each.

use std::sync::LazyLock;

use toise_lake::schema::{Column, ColumnKind, TableSchema};

/// Value of `kind` for an address with a house number.
pub const ADDRESS: &str = "address";
/// Value of `kind` for a named place without a house number.
pub const PLACE: &str = "place";

/// Name and type of each column, and whether queries filter on it.
const COLUMNS: [(&str, ColumnKind, bool); 20] = [
    ("id", ColumnKind::Text, true),
    ("kind", ColumnKind::Category, true),
    ("number", ColumnKind::SmallInteger, true),
    ("suffix", ColumnKind::Category, true),
    ("name", ColumnKind::Text, false),
    ("postal_code", ColumnKind::Category, true),
    ("insee_code", ColumnKind::Category, true),
    ("city", ColumnKind::Category, false),
    ("former_insee_code", ColumnKind::Category, true),
    ("former_city", ColumnKind::Category, false),
    ("departement_code", ColumnKind::Category, true),
    ("lat", ColumnKind::Number, true),
    ("lon", ColumnKind::Number, true),
    ("position_type", ColumnKind::Category, true),
    ("locality", ColumnKind::Text, false),
    ("delivery_label", ColumnKind::Category, false),
    ("alias", ColumnKind::Text, false),
    ("parcel_ids", ColumnKind::TextList, true),
    ("certified", ColumnKind::Flag, true),
    ("source", ColumnKind::Category, true),
];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    let columns = COLUMNS.iter().map(|(name, kind, filterable)| Column {
        name: (*name).into(),
        kind: *kind,
        filterable: *filterable,
    });
    // Rows have no date: an edition replaces what it covers, regardless of the year.
    TableSchema::projection(
        "ban",
        columns.collect(),
        "id",
        "departement_code",
        "insee_code",
        "kind",
        "",
    )
});

/// Returns the table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}
