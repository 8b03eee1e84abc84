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

use toise_lake::schema::{Column, ColumnKind, ContentRule, TableSchema};

/// Values of `property_type` in the contract's spelling.
pub const PROPERTY_TYPES: [&str; 7] = [
    "Appartement",
    "Maison",
    "Autre",
    "Terrain",
    "Tertiaire",
    "Dépendance",
    "Volume",
];

/// Values of `transaction_type` that filters accept.
pub const TRANSACTION_TYPES: [&str; 4] = [
    "Vente",
    "Vente en l'etat futur d'achevement",
    "Vente terrain a batir",
    "Echange",
];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    let filterable = |name: &str, kind| Column {
        name: name.into(),
        kind,
        filterable: true,
    };
    let record_only = |name: &str, kind| Column {
        name: name.into(),
        kind,
        filterable: false,
    };
    let columns = vec![
        filterable("id", ColumnKind::Text),
        filterable("transaction_date", ColumnKind::Date),
        filterable("transaction_type", ColumnKind::Category),
        filterable("price_eur", ColumnKind::Number),
        filterable("price_per_m2_living_eur", ColumnKind::Number),
        filterable("price_per_m2_land_eur", ColumnKind::Number),
        filterable("surface_m2", ColumnKind::Number),
        filterable("main_rooms", ColumnKind::Number),
        filterable("land_surface_m2", ColumnKind::Number),
        filterable("carrez_surface_m2", ColumnKind::Number),
        filterable("soil_surface_m2", ColumnKind::Number),
        filterable("garden_surface_m2", ColumnKind::Number),
        filterable("property_type", ColumnKind::Category),
        filterable("is_new_build", ColumnKind::Flag),
        filterable("is_open_market", ColumnKind::Flag),
        record_only("address", ColumnKind::Text),
        filterable("postal_code", ColumnKind::Category),
        filterable("insee_code", ColumnKind::Category),
        filterable("former_insee_code", ColumnKind::Category),
        record_only("city", ColumnKind::Text),
        filterable("departement_code", ColumnKind::Category),
        filterable("iris_code", ColumnKind::Category),
        filterable("iris_type", ColumnKind::Category),
        filterable("lat", ColumnKind::Number),
        filterable("lon", ColumnKind::Number),
        filterable("parcel_ids", ColumnKind::TextList),
        record_only("lots", ColumnKind::Integer),
        record_only("rows", ColumnKind::Integer),
        filterable("mutation_id", ColumnKind::Text),
        record_only("mutation_records", ColumnKind::Integer),
        record_only("mutation_share", ColumnKind::Number),
        record_only("is_sold_together", ColumnKind::Flag),
    ];
    TableSchema::new(
        "dvf",
        columns,
        "id",
        None,
        "departement_code",
        "insee_code",
        "property_type",
        "transaction_date",
        None,
    )
    .with_content_rules(&CONTENT_RULES)
});

/// Differences that do not change a sale: the precision of its price and of values computed from it, repeated rows, and
/// its mutation number, which differs between editions.
const CONTENT_RULES: [(&str, ContentRule); 5] = [
    ("price_eur", ContentRule::SinglePrecision),
    ("price_per_m2_living_eur", ContentRule::LeftOut),
    ("price_per_m2_land_eur", ContentRule::LeftOut),
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
