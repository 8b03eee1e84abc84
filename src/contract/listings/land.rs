//! Land and parking places of a listing.

use super::record::record;
use super::scalars::{Count, SquareMetres};
use crate::enums::{EnumLandType, EnumParkingType};

record! {
    /// Land of an asset, or the asset itself if it is land.
    #[derive(Default)]
    TypeLand {
        /// Whether it may be built on.
        can_construct: Option<bool>,
        /// Whether a building permit was granted.
        has_building_permit: Option<bool>,
        /// Whether it is connected to electricity.
        has_electricity: Option<bool>,
        /// Whether it is connected to telecommunications.
        has_telecom: Option<bool>,
        /// Whether it is connected to water.
        has_water: Option<bool>,
        /// Whether it is connected to the usual utilities.
        is_serviced: Option<bool>,
        /// Area, square metres, from 0.
        surface: Option<SquareMetres>,
        /// Area that may be built on, square metres, from 0.
        surface_constructable: Option<SquareMetres>,
        /// Kind of land.
        #[serde(rename = "type")]
        land_type: Option<EnumLandType>,
    }
}

record! {
    /// Parking places of an asset, or the asset itself if it is one.
    #[derive(Default)]
    TypeParking {
        /// Number of places, from 0.
        count: Option<Count>,
        /// Number of cars that all places hold together, from 0.
        number_of_cars: Option<Count>,
        /// Area, square metres, from 0.
        surface: Option<SquareMetres>,
        /// Kind of place.
        #[serde(rename = "type")]
        parking_type: Option<EnumParkingType>,
    }
}
