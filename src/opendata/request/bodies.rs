//! Tables of the four open-data request bodies: every filter, sort key and scoring target with its type and allowed
//! values.
//!
//! They are the single definition of a body: [`super::parse`] validates with them and the OpenAPI document is generated
//! from them. A filter has the name of the column it constrains; `location` stands for the pair of position columns.

use crate::{Dataset, dpe, dvf};

/// Maximum rows per search page.
pub const SEARCH_SIZE_MAX: usize = 100;
/// Default rows per search page.
pub const SEARCH_SIZE_DEFAULT: usize = 20;
/// Maximum candidates in a match response.
pub const MATCH_SIZE_MAX: usize = 20;
/// Default candidates in a match response.
pub const MATCH_SIZE_DEFAULT: usize = 5;
/// Maximum match bodies in one `_many` call.
pub const MATCH_ITEMS_MAX: usize = 1_000;

/// The two values of `sortOrder`.
pub const SORT_ORDERS: [&str; 2] = ["asc", "desc"];

/// Values of `iris_type`: residential, business, other, and communes without contours.
pub const IRIS_TYPES: [&str; 4] = ["H", "A", "D", "Z"];

/// The value that a filter accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterKind {
    /// A string, compared exactly.
    Text,
    /// One of a closed set of strings.
    OneOf(&'static [&'static str]),
    /// A list of values from a closed set, combined with OR.
    AnyOf(&'static [&'static str]),
    /// `{min?, max?}`, both inclusive.
    Range,
    /// `{from?, to?}`, both inclusive.
    Dates,
    /// `{lat, lon, distance}`.
    Place,
    /// `true` or `false`.
    Flag,
}

/// One filter of a body.
#[derive(Clone, Copy, Debug)]
pub struct FilterField {
    /// Key in `filters`, and name of the column.
    pub name: &'static str,
    /// Accepted value.
    pub kind: FilterKind,
    /// Description with the unit, for the API reference.
    pub about: &'static str,
}

/// The value that a scoring target accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetKind {
    /// Any number.
    Number,
    /// A number between two bounds, both inclusive.
    Between(f64, f64),
    /// An integer between two bounds, both inclusive.
    Integer(f64, f64),
    /// One of a closed set of strings.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
}

/// One scoring target of a match body.
#[derive(Clone, Copy, Debug)]
pub struct TargetField {
    /// Key in `scoring_targets`, and name of the column.
    pub name: &'static str,
    /// Accepted value.
    pub kind: TargetKind,
    /// Description with the unit, for the API reference.
    pub about: &'static str,
}

/// The request bodies of one table.
#[derive(Debug)]
pub struct Bodies {
    /// Filters of search.
    pub search_filters: &'static [FilterField],
    /// Values of `sortBy`; the first is the default.
    pub sort_keys: &'static [&'static str],
    /// Filters of match.
    pub match_filters: &'static [FilterField],
    /// Scoring targets of match.
    pub targets: &'static [TargetField],
}

/// The request bodies of a table.
pub fn bodies(dataset: Dataset) -> &'static Bodies {
    match dataset {
        Dataset::Dpe => &DPE,
        Dataset::Dvf => &DVF,
    }
}

const fn filter(name: &'static str, kind: FilterKind, about: &'static str) -> FilterField {
    FilterField { name, kind, about }
}

const fn target(name: &'static str, kind: TargetKind, about: &'static str) -> TargetField {
    TargetField { name, kind, about }
}

const PLACE_ABOUT: &str = "Position within a planar distance of a pin, boundary included";

use FilterKind::{AnyOf, Dates, Flag, OneOf, Place, Range, Text};

static DPE: Bodies = Bodies {
    search_filters: &[
        filter("numero_dpe", Text, "Number of the diagnostic"),
        filter(
            "flx_id",
            Range,
            "Numeric identifier derived from the number",
        ),
        filter(
            "date_etablissement_dpe",
            Dates,
            "Day the diagnostic was established",
        ),
        filter("date_visite_diagnostiqueur", Dates, "Day of the visit"),
        filter("date_reception_dpe", Dates, "Day the registry received it"),
        filter(
            "date_derniere_modification_dpe",
            Dates,
            "Day of its last change",
        ),
        filter("date_fin_validite_dpe", Dates, "Last day it is valid"),
        filter(
            "identifiant_ban",
            Text,
            "Identifier in the national address base",
        ),
        filter("numero_voie_ban", Text, "House number"),
        filter("code_insee_ban", Text, "INSEE code of the commune"),
        filter("code_postal_ban", Text, "Postal code"),
        filter(
            "code_departement_ban",
            Text,
            "Department code, 2A, 2B and three characters overseas included",
        ),
        filter("code_region_ban", Text, "Region code"),
        filter("location", Place, PLACE_ABOUT),
        filter(
            "type_batiment",
            AnyOf(&dpe::BUILDING_TYPES),
            "Kind of building",
        ),
        filter(
            "periode_construction",
            AnyOf(&dpe::CONSTRUCTION_PERIODS),
            "Period of construction",
        ),
        filter(
            "surface_habitable_logement",
            Range,
            "Living surface of the dwelling, m2",
        ),
        filter(
            "surface_habitable_immeuble",
            Range,
            "Living surface of the building, m2",
        ),
        filter("surface_ventilee", Range, "Ventilated surface, m2"),
        filter("nombre_niveau_logement", Range, "Storeys of the dwelling"),
        filter("nombre_niveau_immeuble", Range, "Storeys of the building"),
        filter("nombre_appartement", Range, "Flats in the building"),
        filter("etiquette_dpe", AnyOf(&dpe::CLASSES), "Energy class"),
        filter("etiquette_ges", AnyOf(&dpe::CLASSES), "Climate class"),
        filter(
            "conso_5_usages_ep",
            Range,
            "Primary energy of the five uses, kWh/year",
        ),
        filter(
            "conso_5_usages_ef",
            Range,
            "Final energy of the five uses, kWh/year",
        ),
        filter(
            "conso_5_usages_par_m2_ep",
            Range,
            "Primary energy of the five uses, kWh/m2/year",
        ),
        filter(
            "conso_5_usages_par_m2_ef",
            Range,
            "Final energy of the five uses, kWh/m2/year",
        ),
        filter(
            "emission_ges_5_usages",
            Range,
            "Emissions of the five uses, kgCO2/year",
        ),
        filter(
            "emission_ges_5_usages_par_m2",
            Range,
            "Emissions of the five uses, kgCO2/m2/year",
        ),
        filter(
            "qualite_isolation_enveloppe",
            AnyOf(&dpe::INSULATION_QUALITIES),
            "Insulation of the envelope",
        ),
        filter(
            "qualite_isolation_menuiseries",
            AnyOf(&dpe::INSULATION_QUALITIES),
            "Insulation of the joinery",
        ),
        filter(
            "zone_climatique",
            AnyOf(&dpe::CLIMATE_ZONES),
            "Climate zone",
        ),
    ],
    sort_keys: &[
        "date_etablissement_dpe",
        "numero_dpe",
        "type_batiment",
        "surface_habitable_logement",
        "etiquette_dpe",
        "conso_5_usages_par_m2_ep",
        "emission_ges_5_usages",
        "emission_ges_5_usages_par_m2",
        "zone_climatique",
    ],
    match_filters: &[
        filter("code_departement_ban", Text, "Department code"),
        filter("code_insee_ban", Text, "INSEE code of the commune"),
        filter("code_postal_ban", Text, "Postal code"),
        filter("numero_dpe", Text, "Number of the diagnostic"),
        filter(
            "type_batiment",
            OneOf(&dpe::BUILDING_TYPES),
            "Kind of building",
        ),
        filter(
            "surface_habitable_logement",
            Range,
            "Living surface of the dwelling, m2",
        ),
        filter(
            "date_etablissement_dpe",
            Dates,
            "Day the diagnostic was established",
        ),
        filter("location", Place, PLACE_ABOUT),
    ],
    targets: &[
        target(
            "conso_5_usages_par_m2_ep",
            TargetKind::Number,
            "Primary energy, kWh/m2/year, gaussian decay",
        ),
        target(
            "emission_ges_5_usages_par_m2",
            TargetKind::Number,
            "Emissions, kgCO2/m2/year, gaussian decay",
        ),
        target(
            "etiquette_dpe",
            TargetKind::OneOf(&dpe::CLASSES),
            "Energy class, by rank distance",
        ),
        target(
            "etiquette_ges",
            TargetKind::OneOf(&dpe::CLASSES),
            "Climate class, by rank distance",
        ),
        target(
            "nombre_niveau_immeuble",
            TargetKind::Between(0.0, 200.0),
            "Storeys of the building",
        ),
        target(
            "numero_etage_appartement",
            TargetKind::Integer(-10.0, 200.0),
            "Floor of the flat, negative below ground",
        ),
        target(
            "periode_construction",
            TargetKind::OneOf(&dpe::CONSTRUCTION_PERIODS),
            "Period of construction",
        ),
        target(
            "nombre_niveau_logement",
            TargetKind::Between(0.0, 200.0),
            "Storeys of the dwelling",
        ),
    ],
};

static DVF: Bodies = Bodies {
    search_filters: &[
        filter("id", Text, "Identifier of the sale"),
        filter("transaction_date", Dates, "Day of the sale"),
        filter(
            "transaction_type",
            AnyOf(&dvf::TRANSACTION_TYPES),
            "Nature of the sale, unaccented",
        ),
        filter("price_eur", Range, "Price of the whole mutation, EUR"),
        filter(
            "price_per_m2_living_eur",
            Range,
            "Price per built square metre of a single dwelling, EUR/m2",
        ),
        filter(
            "price_per_m2_land_eur",
            Range,
            "Price per square metre of land sold alone, EUR/m2",
        ),
        filter("location", Place, PLACE_ABOUT),
        filter(
            "departement_code",
            Text,
            "Department code, 2A, 2B and three characters overseas included",
        ),
        filter("insee_code", Text, "INSEE code of the commune"),
        filter("postal_code", Text, "Postal code"),
        filter("iris_code", Text, "IRIS code"),
        filter("iris_type", AnyOf(&IRIS_TYPES), "IRIS type"),
        filter(
            "property_type",
            AnyOf(&dvf::PROPERTY_TYPES),
            "Kind of property sold",
        ),
        filter("surface_m2", Range, "Built surface, m2"),
        filter("main_rooms", Range, "Main rooms"),
        filter("land_surface_m2", Range, "Land, m2"),
        filter("carrez_surface_m2", Range, "Carrez surface, m2"),
        filter(
            "soil_surface_m2",
            Range,
            "Land under and around buildings, m2",
        ),
        filter("garden_surface_m2", Range, "Gardens, m2"),
        filter("is_new_build", Flag, "Off-plan sale"),
        filter("is_open_market", Flag, "Sale on the open market"),
    ],
    sort_keys: &[
        "transaction_date",
        "id",
        "price_eur",
        "price_per_m2_living_eur",
        "price_per_m2_land_eur",
        "surface_m2",
    ],
    match_filters: &[
        filter("departement_code", Text, "Department code"),
        filter("insee_code", Text, "INSEE code of the commune"),
        filter("postal_code", Text, "Postal code"),
        filter("id", Text, "Identifier of the sale"),
        filter(
            "property_type",
            OneOf(&dvf::PROPERTY_TYPES),
            "Kind of property sold",
        ),
        filter("surface_m2", Range, "Built surface, m2"),
        filter("transaction_date", Dates, "Day of the sale"),
        filter("location", Place, PLACE_ABOUT),
    ],
    targets: &[
        target(
            "price_eur",
            TargetKind::Number,
            "Price, EUR, gaussian decay",
        ),
        target("main_rooms", TargetKind::Number, "Main rooms"),
        target("is_new_build", TargetKind::Flag, "Off-plan sale"),
        target(
            "transaction_type",
            TargetKind::OneOf(&dvf::TRANSACTION_TYPES),
            "Nature of the sale",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use toise_lake::schema::Kind;

    #[test]
    fn every_filter_sort_key_and_target_is_a_filterable_column() {
        for dataset in [Dataset::Dpe, Dataset::Dvf] {
            let bodies = bodies(dataset);
            let check = |name: &str, kinds: &[Kind]| {
                let (_, column) = dataset
                    .schema()
                    .column(name)
                    .unwrap_or_else(|| panic!("{name} is not a column"));
                assert!(column.filterable, "{name}");
                assert!(kinds.contains(&column.kind), "{name}: {:?}", column.kind);
            };
            for field in bodies.search_filters.iter().chain(bodies.match_filters) {
                match field.kind {
                    Text | OneOf(_) | AnyOf(_) => check(field.name, &[Kind::Text, Kind::Category]),
                    Range => check(field.name, &[Kind::Number, Kind::Integer]),
                    Dates => check(field.name, &[Kind::Date]),
                    Flag => check(field.name, &[Kind::Flag]),
                    Place => {
                        check("lat", &[Kind::Number]);
                        check("lon", &[Kind::Number]);
                    }
                }
            }
            for name in bodies.sort_keys {
                check(
                    name,
                    &[Kind::Text, Kind::Category, Kind::Number, Kind::Date],
                );
            }
            for field in bodies.targets {
                match field.kind {
                    TargetKind::OneOf(_) => check(field.name, &[Kind::Category, Kind::Text]),
                    TargetKind::Flag => check(field.name, &[Kind::Flag]),
                    _ => check(field.name, &[Kind::Number, Kind::Integer]),
                }
            }
        }
    }

    #[test]
    fn searches_sort_by_date_by_default() {
        assert_eq!(bodies(Dataset::Dpe).sort_keys[0], "date_etablissement_dpe");
        assert_eq!(bodies(Dataset::Dvf).sort_keys[0], "transaction_date");
    }
}
