//! The fields of the open-data bodies: one table of filters, sort keys and targets per kind of body.

use super::{
    AREA, DatasetBodies, IRIS_TYPES, LAYER, filter, items, many, matching, place_ids, saved, search,
};
use crate::dpe::BUILDING;
use crate::dvf::place::PARCELS;
use crate::request::address::ADDRESS;
use crate::{dpe, dvf};
use toise_contract::fields::{Field, FieldKind, ListOf};
use toise_contract::listings::codes::{Department, InseeCode, ParcelId, PostalCode, RnbId};
use toise_geocode::request::TEXT_CHARS;

use FieldKind::{
    AnyOf, Area, Between, Code, Dates, Flag, Integer, Layer, List, Number, OneOf, Place, Range,
    Text, Words,
};

const COMMUNE_ABOUT: &str =
    "INSEE code of the commune; 75056, 69123 and 13055 mean all arrondissements";
const POSTAL_CODE_ABOUT: &str = "Postal code; 75000, 69000 and 13000 mean all arrondissements";
const PLACE_ABOUT: &str = "Position within a planar distance of a pin, boundary included";
const AREA_ABOUT: &str = "Position within an area, border included";
const LAYER_ABOUT: &str = "Position inside or outside a layer, or within a distance of it";

/// An address in one line.
const ADDRESS_KIND: FieldKind = Words(*TEXT_CHARS.end());
const ADDRESS_ABOUT: &str = "Address in one line, with postal code and commune, as an additional condition: within \
                             50 m of a house number, within 300 m of the middle of a street, or within the commune \
                             if only a town is given. The answer's `meta.address` says how the address was \
                             understood. 422 if it is not found with enough certainty";

const PARCEL_LIST: ListOf = place_ids(Code(&ParcelId::FORMAT));
const RNB_LIST: ListOf = place_ids(Code(&RnbId::FORMAT));

#[rustfmt::skip]
const DPE_SEARCH_FILTERS: &[Field] = &[
    filter("numero_dpe", Text, "Number of the diagnostic"),
    filter("flx_id", Range, "Numeric identifier derived from the number"),
    filter("date_etablissement_dpe", Dates, "Day the diagnostic was established"),
    filter("date_visite_diagnostiqueur", Dates, "Day of the visit"),
    filter("date_reception_dpe", Dates, "Day the registry received it"),
    filter("date_derniere_modification_dpe", Dates, "Day of its last change"),
    filter("date_fin_validite_dpe", Dates, "Last day it is valid"),
    filter("identifiant_ban", Text, "Identifier in the national address base"),
    filter(BUILDING, List(&RNB_LIST), "Building, by its identifier in the national register of buildings (RNB)"),
    filter("numero_voie_ban", Text, "House number"),
    filter("code_insee_ban", Code(&InseeCode::FORMAT), COMMUNE_ABOUT),
    filter("code_postal_ban", Code(&PostalCode::FORMAT), POSTAL_CODE_ABOUT),
    filter("code_departement_ban", Code(&Department::FORMAT),
        "Department code: two characters, including 2A and 2B, or three overseas"),
    filter("code_region_ban", Text, "Region code"),
    filter("location", Place, PLACE_ABOUT),
    filter(AREA, Area, AREA_ABOUT),
    filter(LAYER, Layer, LAYER_ABOUT),
    filter("type_batiment", AnyOf(&dpe::BUILDING_TYPES), "Kind of building"),
    filter("periode_construction", AnyOf(&dpe::CONSTRUCTION_PERIODS), "Period of construction"),
    filter("surface_habitable_logement", Range, "Living surface of the dwelling, m2"),
    filter("surface_habitable_immeuble", Range, "Living surface of the building, m2"),
    filter("surface_ventilee", Range, "Ventilated surface, m2"),
    filter("nombre_niveau_logement", Range, "Storeys of the dwelling"),
    filter("nombre_niveau_immeuble", Range, "Storeys of the building"),
    filter("nombre_appartement", Range, "Flats in the building"),
    filter("etiquette_dpe", AnyOf(&dpe::CLASSES), "Energy class"),
    filter("etiquette_ges", AnyOf(&dpe::CLASSES), "Climate class"),
    filter("conso_5_usages_ep", Range, "Primary energy of the five uses, kWh/year"),
    filter("conso_5_usages_ef", Range, "Final energy of the five uses, kWh/year"),
    filter("conso_5_usages_par_m2_ep", Range, "Primary energy of the five uses, kWh/m2/year"),
    filter("conso_5_usages_par_m2_ef", Range, "Final energy of the five uses, kWh/m2/year"),
    filter("emission_ges_5_usages", Range, "Emissions of the five uses, kgCO2/year"),
    filter("emission_ges_5_usages_par_m2", Range, "Emissions of the five uses, kgCO2/m2/year"),
    filter("qualite_isolation_enveloppe", AnyOf(&dpe::INSULATION_QUALITIES), "Insulation of the envelope"),
    filter("qualite_isolation_menuiseries", AnyOf(&dpe::INSULATION_QUALITIES), "Insulation of doors and windows"),
    filter("zone_climatique", AnyOf(&dpe::CLIMATE_ZONES), "Climate zone"),
];

const DPE_SORT_KEYS: &[&str] = &[
    "date_etablissement_dpe",
    "numero_dpe",
    "type_batiment",
    "surface_habitable_logement",
    "etiquette_dpe",
    "conso_5_usages_par_m2_ep",
    "emission_ges_5_usages",
    "emission_ges_5_usages_par_m2",
    "zone_climatique",
];

#[rustfmt::skip]
const DPE_MATCH_FILTERS: &[Field] = &[
    filter("code_departement_ban", Code(&Department::FORMAT), "Department code"),
    filter("code_insee_ban", Code(&InseeCode::FORMAT), COMMUNE_ABOUT),
    filter("code_postal_ban", Code(&PostalCode::FORMAT), POSTAL_CODE_ABOUT),
    filter("numero_dpe", Text, "Number of the diagnostic"),
    filter("type_batiment", OneOf(&dpe::BUILDING_TYPES), "Kind of building"),
    filter("surface_habitable_logement", Range, "Living surface of the dwelling, m2"),
    filter("date_etablissement_dpe", Dates, "Day the diagnostic was established"),
    filter("location", Place, PLACE_ABOUT),
    filter(AREA, Area, AREA_ABOUT),
    filter(LAYER, Layer, LAYER_ABOUT),
    filter(ADDRESS, ADDRESS_KIND, ADDRESS_ABOUT),
];

#[rustfmt::skip]
const DPE_TARGETS: &[Field] = &[
    Field::optional("conso_5_usages_par_m2_ep", Number, "Primary energy, kWh/m2/year; Gaussian decay"),
    Field::optional("emission_ges_5_usages_par_m2", Number, "Emissions, kgCO2/m2/year; Gaussian decay"),
    Field::optional("etiquette_dpe", OneOf(&dpe::CLASSES), "Energy class; scored by rank distance"),
    Field::optional("etiquette_ges", OneOf(&dpe::CLASSES), "Climate class; scored by rank distance"),
    Field::optional("nombre_niveau_immeuble", Between(0.0, 200.0), "Storeys of the building"),
    Field::optional("numero_etage_appartement", Integer(-10, 200), "Floor of the flat, negative below ground"),
    Field::optional("periode_construction", OneOf(&dpe::CONSTRUCTION_PERIODS), "Period of construction"),
    Field::optional("nombre_niveau_logement", Between(0.0, 200.0), "Storeys of the dwelling"),
];

static DPE_SEARCH: [Field; 5] = search(DPE_SEARCH_FILTERS, DPE_SORT_KEYS);
static DPE_SAVED: [Field; 1] = saved(DPE_SEARCH_FILTERS);
static DPE_MATCH: [Field; 3] = matching(DPE_MATCH_FILTERS, DPE_TARGETS);
static DPE_ITEMS: ListOf = items(FieldKind::Model("DpeMatchRequest", &DPE_MATCH));
static DPE_MATCH_MANY: [Field; 1] = many(&DPE_ITEMS);

pub(super) static DPE: DatasetBodies = DatasetBodies {
    search: &DPE_SEARCH,
    saved: &DPE_SAVED,
    matching: &DPE_MATCH,
    matching_many: &DPE_MATCH_MANY,
    search_filters: DPE_SEARCH_FILTERS,
    sort_keys: DPE_SORT_KEYS,
    match_filters: DPE_MATCH_FILTERS,
    targets: DPE_TARGETS,
};

#[rustfmt::skip]
const DVF_SEARCH_FILTERS: &[Field] = &[
    filter("id", Text, "Identifier of the sale"),
    filter("transaction_date", Dates, "Day of the sale"),
    filter("transaction_type", AnyOf(&dvf::TRANSACTION_TYPES), "Nature of the sale, without accents"),
    filter("price_eur", Range, "Price of the whole disposition, EUR"),
    filter("price_per_m2_living_eur", Range, "Price per built square metre of a single dwelling, EUR/m2"),
    filter("price_per_m2_land_eur", Range, "Price per square metre of land sold alone, EUR/m2"),
    filter("location", Place, PLACE_ABOUT),
    filter(AREA, Area, AREA_ABOUT),
    filter(LAYER, Layer, LAYER_ABOUT),
    filter("departement_code", Code(&Department::FORMAT),
        "Department code: two characters, including 2A and 2B, or three overseas"),
    filter("insee_code", Code(&InseeCode::FORMAT),
        "INSEE code of the commune; the code of a former commune finds the sales in it, and 75056, 69123 and 13055 \
         find those in all arrondissements"),
    filter("former_insee_code", Code(&InseeCode::FORMAT), "INSEE code of the former commune"),
    filter("postal_code", Code(&PostalCode::FORMAT), POSTAL_CODE_ABOUT),
    filter(PARCELS, List(&PARCEL_LIST),
        "Cadastral parcels sold, 14 characters each; a filter finds the sales of at least one of its parcels, also by \
         the identifier that a parcel had before its commune joined another"),
    filter("mutation_id", Text,
        "Identifier of the mutation in the imported edition (`id_mutation`); other editions may number it \
         differently; absent if the source has none"),
    filter("iris_code", Text, "IRIS code"),
    filter("iris_type", AnyOf(&IRIS_TYPES), "IRIS type"),
    filter("property_type", AnyOf(&dvf::PROPERTY_TYPES), "Kind of property sold"),
    filter("surface_m2", Range, "Built surface, m2"),
    filter("main_rooms", Range, "Number of main rooms"),
    filter("land_surface_m2", Range, "Land, m2"),
    filter("carrez_surface_m2", Range, "Carrez surface, m2"),
    filter("soil_surface_m2", Range, "Land under and around buildings, m2"),
    filter("garden_surface_m2", Range, "Gardens, m2"),
    filter("is_new_build", Flag, "Off-plan sale"),
    filter("is_open_market", Flag, "Sale on the open market"),
];

const DVF_SORT_KEYS: &[&str] = &[
    "transaction_date",
    "id",
    "price_eur",
    "price_per_m2_living_eur",
    "price_per_m2_land_eur",
    "surface_m2",
];

#[rustfmt::skip]
const DVF_MATCH_FILTERS: &[Field] = &[
    filter("departement_code", Code(&Department::FORMAT), "Department code"),
    filter("insee_code", Code(&InseeCode::FORMAT), COMMUNE_ABOUT),
    filter("postal_code", Code(&PostalCode::FORMAT), POSTAL_CODE_ABOUT),
    filter("id", Text, "Identifier of the sale"),
    filter("property_type", OneOf(&dvf::PROPERTY_TYPES), "Kind of property sold"),
    filter("surface_m2", Range, "Built surface, m2"),
    filter("transaction_date", Dates, "Day of the sale"),
    filter("location", Place, PLACE_ABOUT),
    filter(AREA, Area, AREA_ABOUT),
    filter(LAYER, Layer, LAYER_ABOUT),
    filter(ADDRESS, ADDRESS_KIND, ADDRESS_ABOUT),
];

#[rustfmt::skip]
const DVF_TARGETS: &[Field] = &[
    Field::optional("price_eur", Number, "Price, EUR; Gaussian decay"),
    Field::optional("main_rooms", Number, "Number of main rooms"),
    Field::optional("is_new_build", Flag, "Off-plan sale"),
    Field::optional("transaction_type", OneOf(&dvf::TRANSACTION_TYPES), "Nature of the sale"),
];

static DVF_SEARCH: [Field; 5] = search(DVF_SEARCH_FILTERS, DVF_SORT_KEYS);
static DVF_SAVED: [Field; 1] = saved(DVF_SEARCH_FILTERS);
static DVF_MATCH: [Field; 3] = matching(DVF_MATCH_FILTERS, DVF_TARGETS);
static DVF_ITEMS: ListOf = items(FieldKind::Model("DvfMatchRequest", &DVF_MATCH));
static DVF_MATCH_MANY: [Field; 1] = many(&DVF_ITEMS);

pub(super) static DVF: DatasetBodies = DatasetBodies {
    search: &DVF_SEARCH,
    saved: &DVF_SAVED,
    matching: &DVF_MATCH,
    matching_many: &DVF_MATCH_MANY,
    search_filters: DVF_SEARCH_FILTERS,
    sort_keys: DVF_SORT_KEYS,
    match_filters: DVF_MATCH_FILTERS,
    targets: DVF_TARGETS,
};
