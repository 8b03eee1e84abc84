//! Places sales and diagnostics whose row has an address and no position.
//!
//! Only what is certain is taken: a house number, street or named place of high confidence whose name is written so, never
//! the centre of a town, which would put records where nothing is. Names that are merely alike are often those of other
//! streets of the commune. A record says that it was placed: `location_precision` is in no source. The
//! index is opened by the first row without a position; without imported addresses nothing is placed.

use toise_geocode::address::Confidence;
use toise_geocode::resolve::{LazyGeocoder, PostalAddress, Precision};

/// Field of a record with the precision of a position found from its address.
pub const LOCATION_PRECISION: &str = "location_precision";
/// Description of [`LOCATION_PRECISION`].
pub const LOCATION_PRECISION_ABOUT: &str = "How precise the position is that was found from the address at import: \
a house number, or a street or named place; absent where the source gives the position";

/// A position found from an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedPosition {
    /// Latitude and longitude in degrees.
    pub position: (f64, f64),
    /// How precise it is; never a town.
    pub precision: Precision,
}

/// The position of an address, if it is certain.
pub fn place(geocoder: &LazyGeocoder, address: PostalAddress<'_>) -> Option<PlacedPosition> {
    // A town is not taken, so without a line there is nothing to find.
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
