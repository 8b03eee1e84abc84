//! The dwelling of a listing: rooms, areas, features, condition, energy.

use super::codes::Timestamp;
use super::record::record;
use super::scalars::{CarbonPerArea, Count, EnergyPerArea, Floor, SquareMetres, Year};
use crate::enums::{
    EnumConstructionMaterial, EnumEnergyClassification, EnumExposure, EnumFurniture,
    EnumGlazingType, EnumGreenhouseClassification, EnumHeatType, EnumHeatTypeDetail, EnumHeating,
    EnumPropertyGeneralCondition, EnumPropertyInteriorCondition, EnumPropertyTypeHabitation,
    EnumViewOn, EnumViewType,
};

record! {
    /// A dwelling.
    #[derive(Default)]
    TypeHabitation {
        /// Number of bathrooms, from 0.
        bathroom_count: Option<Count>,
        /// Number of bedrooms, from 0.
        bedroom_count: Option<Count>,
        /// Storey, -10 to 200, 0 for the ground floor; the same as features.propertyFloor.
        floor: Option<Floor>,
        /// Amenities that it has or lacks.
        characteristics: Option<Characteristics>,
        /// Number of lots in its condominium, from 0.
        condominium_lot_count: Option<Count>,
        /// Energy performance.
        climate: Option<Climate>,
        /// Floor, exposure, views, materials.
        features: Option<Features>,
        /// Whether the heating is individual or shared.
        heat_types: Vec<EnumHeatType>,
        /// Kind of heat emitter.
        heat_type_details: Vec<EnumHeatTypeDetail>,
        /// Sources of energy of the heating.
        heatings: Vec<EnumHeating>,
        /// Age and condition.
        property_condition: Option<PropertyCondition>,
        /// Number of main rooms, from 0.
        room_count: Option<Count>,
        /// Areas.
        surface: Option<Surface>,
        /// Kinds of dwelling.
        #[serde(rename = "type")]
        types: Vec<EnumPropertyTypeHabitation>,
        /// Number of toilets, from 0.
        wc_count: Option<Count>,
    }
}

record! {
    /// Amenities that an asset has (`true`) or lacks (`false`).
    #[derive(Default)]
    Characteristics {
        /// Alarm.
        has_alarm: Option<bool>,
        /// Balcony.
        has_balcony: Option<bool>,
        /// Cellar.
        has_cellar: Option<bool>,
        /// Caretaker.
        has_concierge: Option<bool>,
        /// Door code.
        has_digicode: Option<bool>,
        /// Fireplace.
        has_fireplace: Option<bool>,
        /// Garage.
        has_garage: Option<bool>,
        /// Garden.
        has_garden: Option<bool>,
        /// Attic.
        has_grenier: Option<bool>,
        /// Intercom.
        has_interphone: Option<bool>,
        /// Hot tub.
        has_jacuzzi: Option<bool>,
        /// Land.
        has_land: Option<bool>,
        /// Lift.
        has_lift: Option<bool>,
        /// Mezzanine.
        has_mezzanine: Option<bool>,
        /// Parking place.
        has_parking: Option<bool>,
        /// Swimming pool.
        has_pool: Option<bool>,
        /// Terrace.
        has_terrace: Option<bool>,
        /// Windows overlooked by neighbours.
        has_vis_a_vis: Option<bool>,
        /// Quiet.
        is_peaceful: Option<bool>,
    }
}

record! {
    /// Energy performance of a dwelling.
    #[derive(Default)]
    Climate {
        /// Greenhouse gas class.
        epc_climate: Option<EnumGreenhouseClassification>,
        /// Greenhouse gas, kgCO2 per square metre and year, from 0.
        epc_climate_score: Option<CarbonPerArea>,
        /// Energy class.
        epc_energy: Option<EnumEnergyClassification>,
        /// Primary energy, kWhEP per square metre and year, from 0.
        epc_energy_score: Option<EnergyPerArea>,
        /// When the greenhouse gas class was established, UTC.
        epc_climate_date: Option<Timestamp>,
        /// When the energy class was established, UTC.
        epc_energy_date: Option<Timestamp>,
    }
}

record! {
    /// Floor, exposure, views and materials of a dwelling.
    #[derive(Default)]
    Features {
        /// Direction the main rooms face.
        exposure: Option<EnumExposure>,
        /// Whether it is furnished.
        furniture: Option<EnumFurniture>,
        /// Storey, -10 to 200, 0 for the ground floor.
        property_floor: Option<Floor>,
        /// Storeys of the building above the ground floor, -10 to 200.
        property_total_floor: Option<Floor>,
        /// Qualities of the view.
        view_types: Vec<EnumViewType>,
        /// Materials of walls and frames.
        construction_materials: Vec<EnumConstructionMaterial>,
        /// Glazing of the windows.
        glazing_types: Vec<EnumGlazingType>,
        /// Whether it has windows on two opposite sides.
        has_through_exposure: Option<bool>,
        /// What the windows overlook.
        view_ons: Vec<EnumViewOn>,
    }
}

record! {
    /// Age and condition of an asset.
    #[derive(Default)]
    PropertyCondition {
        /// Year of construction, 1 to 2200.
        construction_year: Option<Year>,
        /// Condition of the interior.
        interior_condition: Option<EnumPropertyInteriorCondition>,
        /// Year of the last renovation, 1 to 2200.
        renovation_year: Option<Year>,
        /// Conditions of the asset as a whole.
        general_conditions: Vec<EnumPropertyGeneralCondition>,
    }
}

record! {
    /// Areas of a dwelling, square metres; apart from the total they are rarely known.
    #[derive(Default)]
    Surface {
        /// Balconies, square metres, from 0.
        balconies: Option<SquareMetres>,
        /// Floor area, square metres, from 0.
        floor_space: Option<SquareMetres>,
        /// Gardens, square metres, from 0.
        gardens: Option<SquareMetres>,
        /// Ground floor, square metres, from 0.
        ground_floor: Option<SquareMetres>,
        /// Kitchen, square metres, from 0.
        kitchen: Option<SquareMetres>,
        /// Living space, square metres, from 0.
        living_space: Option<SquareMetres>,
        /// Living room, square metres, from 0.
        living_room: Option<SquareMetres>,
        /// Terraces, square metres, from 0.
        terraces: Option<SquareMetres>,
        /// Habitable area, square metres, from 0.
        total: Option<SquareMetres>,
    }
}
