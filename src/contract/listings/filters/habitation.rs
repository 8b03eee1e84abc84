//! FilterTypeHabitation and its models: the filter of dwellings.

use super::model::FieldType::{AnyModel, AnyOf, Flag, Model as One, Moments, OneOf, Range, Year};
use super::model::{FilterModel, field};
use crate::enums::{
    EnumConstructionMaterial, EnumEnergyClassification, EnumExposure, EnumFurniture,
    EnumGlazingType, EnumGreenhouseClassification, EnumHeatType, EnumHeatTypeDetail, EnumHeating,
    EnumPropertyGeneralCondition, EnumPropertyInteriorCondition, EnumPropertyTypeHabitation,
    EnumViewOn, EnumViewType, WireEnum,
};

#[rustfmt::skip]
pub(super) static FILTER_TYPE_HABITATION: FilterModel = FilterModel {
    name: "FilterTypeHabitation",
    about: "A dwelling",
    fields: &[
        field("bathroomCount", Range, "Number of bathrooms"),
        field("bedroomCount", Range, "Number of bedrooms").lite(),
        field("floor", Range, "Storey, 0 for the ground floor; the same as features.propertyFloor").lite(),
        field("characteristics", One(&CHARACTERISTICS), "Amenities that it has or lacks").lite(),
        field("climate", One(&FILTER_CLIMATE), "Energy performance").partially_lite(),
        field("features", One(&FILTER_FEATURES), "Floor, exposure, views, materials").partially_lite(),
        field("heatTypes", AnyOf(EnumHeatType::TABLE), "Whether the heating is individual or shared"),
        field("heatTypeDetails", AnyOf(EnumHeatTypeDetail::TABLE), "Kind of heat emitter"),
        field("heatings", AnyOf(EnumHeating::TABLE), "Sources of energy of the heating"),
        field("propertyCondition", AnyModel(&PROPERTY_CONDITION),
            "Age and condition; entries are combined with OR, their keys with AND").lite(),
        field("roomCount", Range, "Number of main rooms").lite(),
        field("surface", One(&FILTER_SURFACE), "Areas").partially_lite(),
        field("type", OneOf(EnumPropertyTypeHabitation::TABLE), "Kind of dwelling"),
        field("wcCount", Range, "Number of toilets"),
    ],
};

#[rustfmt::skip]
static FILTER_SURFACE: FilterModel = FilterModel {
    name: "FilterSurface",
    about: "Areas of a dwelling, square metres; apart from the total they are rarely known",
    fields: &[
        field("balconies", Range, "Balconies, square metres"),
        field("floorSpace", Range, "Floor area, square metres"),
        field("gardens", Range, "Gardens, square metres"),
        field("groundFloor", Range, "Ground floor, square metres"),
        field("kitchen", Range, "Kitchen, square metres"),
        field("livingSpace", Range, "Living space, square metres"),
        field("livingroom", Range, "Living room, square metres").on("living_room"),
        field("terraces", Range, "Terraces, square metres"),
        field("total", Range, "Habitable area, square metres").lite(),
    ],
};

#[rustfmt::skip]
static CHARACTERISTICS: FilterModel = FilterModel {
    name: "FilterCharacteristics",
    about: "Amenities that an asset has (`true`) or lacks (`false`)",
    fields: &[
        field("hasAlarm", Flag, "Alarm"),
        field("hasBalcony", Flag, "Balcony"),
        field("hasCellar", Flag, "Cellar"),
        field("hasConcierge", Flag, "Caretaker"),
        field("hasDigicode", Flag, "Door code"),
        field("hasFireplace", Flag, "Fireplace"),
        field("hasGarage", Flag, "Garage"),
        field("hasGarden", Flag, "Garden"),
        field("hasGrenier", Flag, "Attic"),
        field("hasInterphone", Flag, "Intercom"),
        field("hasJacuzzi", Flag, "Hot tub"),
        field("hasLand", Flag, "Land"),
        field("hasLift", Flag, "Lift"),
        field("hasMezzanine", Flag, "Mezzanine"),
        field("hasParking", Flag, "Parking place"),
        field("hasPool", Flag, "Swimming pool"),
        field("hasTerrace", Flag, "Terrace"),
        field("hasVisAVis", Flag, "Windows overlooked by neighbours"),
        field("isPeaceful", Flag, "Quiet"),
    ],
};

#[rustfmt::skip]
static FILTER_CLIMATE: FilterModel = FilterModel {
    name: "FilterClimate",
    about: "Energy performance of a dwelling",
    fields: &[
        field("epcClimate", AnyOf(EnumGreenhouseClassification::TABLE), "Greenhouse gas class").lite(),
        field("epcClimateScore", Range, "Greenhouse gas, kgCO2 per square metre and year"),
        field("epcEnergy", AnyOf(EnumEnergyClassification::TABLE), "Energy class").lite(),
        field("epcEnergyScore", Range, "Primary energy, kWhEP per square metre and year"),
        field("epcClimateDate", Moments, "When the greenhouse gas class was established"),
        field("epcEnergyDate", Moments, "When the energy class was established"),
    ],
};

#[rustfmt::skip]
static FILTER_FEATURES: FilterModel = FilterModel {
    name: "FilterFeatures",
    about: "Floor, exposure, views and materials of a dwelling",
    fields: &[
        field("exposure", AnyOf(EnumExposure::TABLE), "Direction the main rooms face"),
        field("furniture", AnyOf(EnumFurniture::TABLE), "Whether it is furnished").lite(),
        field("propertyFloor", Range, "Storey, 0 for the ground floor").lite(),
        field("propertyTotalFloor", Range, "Storeys of the building above the ground floor").lite(),
        field("constructionMaterials", AnyOf(EnumConstructionMaterial::TABLE), "Materials of walls and frames"),
        field("glazingTypes", AnyOf(EnumGlazingType::TABLE), "Glazing of the windows"),
        field("hasThroughExposure", Flag, "Whether it has windows on two opposite sides"),
        field("viewOns", AnyOf(EnumViewOn::TABLE), "What the windows overlook"),
        field("viewTypes", AnyOf(EnumViewType::TABLE), "Qualities of the view"),
    ],
};

#[rustfmt::skip]
static PROPERTY_CONDITION: FilterModel = FilterModel {
    name: "FilterPropertyCondition",
    about: "Age and condition; several keys are combined with AND",
    fields: &[
        field("constructionYear", Year, "Year of construction, compared exactly"),
        field("interiorCondition", OneOf(EnumPropertyInteriorCondition::TABLE), "Condition of the interior"),
        field("renovationYear", Year, "Year of the last renovation, compared exactly"),
        field("generalConditions", AnyOf(EnumPropertyGeneralCondition::TABLE), "Conditions of the asset as a whole"),
    ],
};
