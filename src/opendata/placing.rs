//! Finds the positions of sales and diagnostics that have an address but no position.
//!
//! A position is used only if it is certain: that of a house number, street or named place found with high confidence
//! and under exactly the given name. Names that are merely similar often belong to other streets of the commune. The
//! centre of a town is never used, because it would put records where no home is. A placed record has the field
//! `location_precision`, which no source has. The first row without a position opens the index; without imported
//! addresses, nothing is placed.

use toise_geocode::address::Confidence;
use toise_geocode::resolve::{LazyGeocoder, PostalAddress, Precision};

/// Field of a record with the precision of a position found from its address.
pub const LOCATION_PRECISION: &str = "location_precision";
/// Description of [`LOCATION_PRECISION`].
pub const LOCATION_PRECISION_ABOUT: &str = "Precision of a position that was found from the address at import: a \
                                            house number, or a street or named place; absent if the source gives the \
                                            position";

/// Counts of stored records that were placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacedCounts {
    /// Records of the departments that had no position.
    pub without_position: u64,
    /// How many of them have a position now.
    pub placed: u64,
}

/// A position found from an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedPosition {
    /// Latitude and longitude in degrees.
    pub position: (f64, f64),
    /// How precise it is; never a town.
    pub precision: Precision,
}

/// Returns the position of an address, if it is certain.
pub fn place(geocoder: &LazyGeocoder, address: PostalAddress<'_>) -> Option<PlacedPosition> {
    // Towns are not used, so an empty address line cannot give a position.
    if address.address.is_empty() {
        return None;
    }
    let geocoder = geocoder.get().ok()?;
    if geocoder.segments().is_empty() {
        return None;
    }
    let found = geocoder.locate(address).ok()?;
    let is_certain = found.confidence == Confidence::High
        && found.precision != Precision::Town
        && found.is_street_exact;
    is_certain.then(|| PlacedPosition {
        position: found.position(),
        precision: found.precision,
    })
}
