//! Recorded sales: one record per mutation and kind of property sold.

pub mod columns;
pub mod derive;
pub mod mutation;
pub mod record;
pub mod row;

use std::sync::LazyLock;

use toise_lake::schema::{Column, Kind, TableSchema};

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
        filterable("id", Kind::Text),
        filterable("transaction_date", Kind::Date),
        filterable("transaction_type", Kind::Category),
        filterable("price_eur", Kind::Number),
        filterable("price_per_m2_living_eur", Kind::Number),
        filterable("price_per_m2_land_eur", Kind::Number),
        filterable("surface_m2", Kind::Number),
        filterable("main_rooms", Kind::Number),
        filterable("land_surface_m2", Kind::Number),
        filterable("carrez_surface_m2", Kind::Number),
        filterable("soil_surface_m2", Kind::Number),
        filterable("garden_surface_m2", Kind::Number),
        filterable("property_type", Kind::Category),
        filterable("is_new_build", Kind::Flag),
        filterable("is_open_market", Kind::Flag),
        record_only("address", Kind::Text),
        filterable("postal_code", Kind::Category),
        filterable("insee_code", Kind::Category),
        record_only("city", Kind::Text),
        filterable("departement_code", Kind::Category),
        filterable("iris_code", Kind::Category),
        filterable("iris_type", Kind::Category),
        filterable("lat", Kind::Number),
        filterable("lon", Kind::Number),
        record_only("parcel_ids", Kind::TextList),
        record_only("lots", Kind::Integer),
        record_only("rows", Kind::Integer),
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
});

/// The table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}

/// Descriptions of the columns that cannot be filtered.
pub const RECORD_ONLY_ABOUT: [(&str, &str); 5] = [
    ("address", "Number and street"),
    ("city", "Name of the commune"),
    ("parcel_ids", "Cadastral parcels sold, 14 characters each"),
    ("lots", "Lots of co-ownership sold"),
    ("rows", "Rows of the source the record was made from"),
];
