//! The location of an asset. Properties and adverts use different names for these models; their fields are the same.

use super::codes::{Department, InseeCode, IrisCode, Position, PostalCode};
use super::record::record;
use crate::enums::EnumLocationPrecision;

record! {
    /// Location of a property.
    #[derive(Default)]
    Location {
        /// Name of the commune.
        city: Option<String>,
        /// Centre of the commune.
        city_coordinate: Option<CompleteLatLng>,
        /// Department: two characters, including 2A and 2B, or three overseas.
        department: Option<Department>,
        /// INSEE code of the commune, five characters; Paris, Lyon and Marseille by arrondissement.
        insee_code: Option<InseeCode>,
        /// Code of the IRIS district, nine characters.
        iris_code: Option<IrisCode>,
        /// Position of the asset; may be imprecise.
        location_coordinate: Option<CompleteLatLng>,
        /// Postal code, five digits.
        postal_code: Option<PostalCode>,
        /// Precision of the position, if it was found from an address, a town or a postal code.
        precision: Option<EnumLocationPrecision>,
    }
}

record! {
    /// Location of the asset of an advert.
    #[derive(Default)]
    AdLocation {
        /// House number and street, or the whole address; used to find the position if none is given.
        address: Option<String>,
        /// Name of the commune, as on the portal.
        city: Option<String>,
        /// Name of the district or quarter, as on the portal.
        district: Option<String>,
        /// Centre of the commune.
        city_coordinate: Option<AdCompleteLatLng>,
        /// Department: two characters, including 2A and 2B, or three overseas.
        department: Option<Department>,
        /// INSEE code of the commune, five characters; Paris, Lyon and Marseille by arrondissement.
        insee_code: Option<InseeCode>,
        /// Code of the IRIS district, nine characters.
        iris_code: Option<IrisCode>,
        /// Position of the asset; may be imprecise.
        location_coordinate: Option<AdCompleteLatLng>,
        /// Postal code, five digits.
        postal_code: Option<PostalCode>,
        /// Precision of the position, if it was found from an address, a town or a postal code.
        precision: Option<EnumLocationPrecision>,
    }
}

record! {
    /// A position.
    #[derive(Default)]
    CompleteLatLng {
        /// `[lng, lat]`, degrees: -180 to 180 and -90 to 90.
        location: Option<Position>,
    }
}

record! {
    /// A position in an advert.
    #[derive(Default)]
    AdCompleteLatLng {
        /// `[lng, lat]`, degrees: -180 to 180 and -90 to 90.
        location: Option<Position>,
    }
}
