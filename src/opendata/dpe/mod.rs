//! Energy performance diagnostics: the ADEME rows as published, plus a numeric id and a position.

pub mod columns;
pub mod official;
pub mod placing;
pub mod record;
pub mod source;
pub mod stored;

use std::sync::LazyLock;

use toise_lake::schema::{Column, ColumnKind, TableSchema, columns_of};

/// Column with the building, by its identifier in the national register of buildings (RNB).
pub const BUILDING: &str = "id_rnb";
/// Column with the address, by its identifier in the national address base (BAN).
pub const ADDRESS: &str = "identifiant_ban";

/// Values of `type_batiment`.
pub const BUILDING_TYPES: [&str; 3] = ["appartement", "maison", "immeuble"];

/// Values of `periode_construction`, in time order.
pub const CONSTRUCTION_PERIODS: [&str; 10] = [
    "avant 1948", "1948-1974", "1975-1977", "1978-1982", "1983-1988", "1989-2000", "2001-2005",
    "2006-2012", "2013-2021", "après 2021",
];

/// Energy and climate classes, best first.
pub const CLASSES: [&str; 7] = toise_input::words::ENERGY_CLASSES;

/// Values of the insulation qualities.
pub const INSULATION_QUALITIES: [&str; 4] = ["insuffisante", "moyenne", "bonne", "très bonne"];

/// Climate zones. H2a is official although the interface specification's list omits it.
pub const CLIMATE_ZONES: [&str; 8] = ["H1a", "H1b", "H1c", "H2a", "H2b", "H2c", "H2d", "H3"];

static SCHEMA: LazyLock<TableSchema> = LazyLock::new(|| {
    let mut columns: Vec<Column> = columns::all()
        .iter()
        .map(|column| Column {
            name: column.name.into(),
            kind: column.kind,
            filterable: column.filterable,
        })
        .collect();
    columns.extend(columns_of(&[
        ("flx_id", ColumnKind::Integer, true),
        ("lat", ColumnKind::Number, true),
        ("lon", ColumnKind::Number, true),
    ]));
    TableSchema::new(
        "dpe",
        columns,
        "numero_dpe",
        Some("date_derniere_modification_dpe"),
        "code_departement_ban",
        "code_insee_ban",
        "type_batiment",
        "date_etablissement_dpe",
        Some("numero_dpe_remplace"),
    )
});

/// Returns the table's columns.
pub fn schema() -> &'static TableSchema {
    &SCHEMA
}
