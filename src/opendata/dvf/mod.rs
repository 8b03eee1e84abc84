//! Recorded sales: one record per disposition and kind of property sold, as `docs/sales.md` defines them.

pub mod columns;
pub mod derive;
pub mod disposition;
pub mod identity;
pub mod mutation;
mod order;
pub mod place;
pub mod record;
pub mod row;
mod scattered;
pub mod sieve;
pub mod stored;

use std::sync::LazyLock;

use toise_lake::schema::{ColumnKind, ContentRule, TableSchema, columns_of};

/// Values of `property_type` in the contract's spelling.
pub const PROPERTY_TYPES: [&str; 7] = [
    "Appartement", "Maison", "Autre", "Terrain", "Tertiaire", "Dépendance", "Volume",
];

/// Values of `transaction_type` that filters accept.
pub const TRANSACTION_TYPES: [&str; 4] = [
    "Vente",
    "Vente en l'etat futur d'achevement",
    "Vente terrain a batir",
    "Echange",
];

/// Name and type of each column, and whether queries filter on it.
const COLUMNS: [(&str, ColumnKind, bool); 32] = [
    ("id", ColumnKind::Text, true),
    ("transaction_date", ColumnKind::Date, true),
    ("transaction_type", ColumnKind::Category, true),
    ("price_eur", ColumnKind::Number, true),
    ("price_per_m2_living_eur", ColumnKind::Number, true),
    ("price_per_m2_land_eur", ColumnKind::Number, true),
    ("surface_m2", ColumnKind::Number, true),
    ("main_rooms", ColumnKind::Number, true),
    ("land_surface_m2", ColumnKind::Number, true),
    ("carrez_surface_m2", ColumnKind::Number, true),
    ("soil_surface_m2", ColumnKind::Number, true),
    ("garden_surface_m2", ColumnKind::Number, true),
    ("property_type", ColumnKind::Category, true),
    ("is_new_build", ColumnKind::Flag, true),
    ("is_open_market", ColumnKind::Flag, true),
    ("address", ColumnKind::Text, false),
    ("postal_code", ColumnKind::Category, true),
    ("insee_code", ColumnKind::Category, true),
    ("former_insee_code", ColumnKind::Category, true),
    ("city", ColumnKind::Text, false),
    ("departement_code", ColumnKind::Category, true),
    ("iris_code", ColumnKind::Category, true),
    ("iris_type", ColumnKind::Category, true),
    ("lat", ColumnKind::Number, true),
    ("lon", ColumnKind::Number, true),
    ("parcel_ids", ColumnKind::TextList, true),
    ("lots", ColumnKind::Integer, false),
    ("rows", ColumnKind::Integer, false),
    ("mutation_id", ColumnKind::Text, true),
    ("mutation_records", ColumnKind::Integer, false),
    ("mutation_share", ColumnKind::Number, false),
    ("is_sold_together", ColumnKind::Flag, false),
];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    TableSchema::new(
        "dvf",
        columns_of(&COLUMNS),
        "id",
        None,
        "departement_code",
        "insee_code",
        "property_type",
        "transaction_date",
        None,
    )
    .with_content_rules(&CONTENT_RULES)
    .with_source_rows("rows")
});

/// Differences that do not change a sale: the precision of its price, of values computed from it and of its position,
/// repeated rows, and its mutation number, which differs between editions.
const CONTENT_RULES: [(&str, ContentRule); 7] = [
    ("price_eur", ContentRule::SinglePrecision),
    ("price_per_m2_living_eur", ContentRule::LeftOut),
    ("price_per_m2_land_eur", ContentRule::LeftOut),
    ("lat", ContentRule::SinglePrecision),
    ("lon", ContentRule::SinglePrecision),
    ("rows", ContentRule::LeftOut),
    ("mutation_id", ContentRule::LeftOut),
];

/// Returns the table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}

/// Descriptions of the columns that cannot be filtered.
pub const RECORD_ONLY_ABOUT: [(&str, &str); 7] = [
    ("address", "Number and street"),
    ("city", "Name of the commune"),
    ("lots", "Co-ownership lots sold"),
    (
        "rows",
        "Number of source rows that the record was made from",
    ),
    (
        "mutation_records",
        "Number of records made from the disposition, including this one; each carries the price of the whole \
         disposition",
    ),
    (
        "mutation_share",
        "Share of the disposition that this record counts for, 0 to 1, by built surface; the shares of a disposition add \
        up to 1, so the sum of price_eur * mutation_share counts every price once",
    ),
    (
        "is_sold_together",
        "Whether the price covers more than one dwelling or commercial premises",
    ),
];
