//! Locates homes, which are given by a coordinate or by an address.
//!
//! If a body gives both, the coordinate wins. Intervals are calibrated on homes with a known position, so the
//! confidence is LOW if only the town of a home is known, however narrow its interval.

use super::fields::ADDRESS_PATH;
use crate::{Estimate, EstimateConfidence, Home};
use toise_contract::fault::Fault;
use toise_geo::plausible::{PositionFault, check_position};
use toise_geocode::Geocoder;
use toise_geocode::resolve::{PostalAddress, Precision, Resolved};

/// How a body gives the position of the home.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HomePlace {
    /// By its coordinate alone.
    Coordinate,
    /// By its coordinate; the body also gives an address, which is ignored.
    CoordinateAndAddress,
    /// By an address alone.
    Address(String),
}

/// A valid home of a request; not yet located if it is given by an address.
#[derive(Clone, Debug, PartialEq)]
pub struct HomeRequest {
    home: Home,
    place: HomePlace,
}

/// A home with its position, and how it was located.
#[derive(Clone, Debug, PartialEq)]
pub struct LocatedHome {
    /// The home.
    pub home: Home,
    /// The address as it was found; `None` if the body gave a coordinate.
    pub address: Option<Resolved>,
    /// Where the position comes from, if an address was given: `address`, or `locationCoordinate`, which wins.
    pub position_from: Option<&'static str>,
}

impl LocatedHome {
    /// Returns why its position cannot be that of a home in France; `None` if it can.
    pub fn position_fault(&self) -> Option<PositionFault> {
        check_position(self.home.latitude, self.home.longitude).err()
    }
}

impl HomeRequest {
    pub(super) fn new(home: Home, place: HomePlace) -> Self {
        Self { home, place }
    }

    /// Finds the position of the home if it was given by an address.
    ///
    /// # Errors
    /// The address is not found, or not with enough certainty; the path is `location.address`.
    pub fn locate(self, geocoder: &Geocoder) -> Result<LocatedHome, Fault> {
        let Self { mut home, place } = self;
        let (address, position_from) = match place {
            HomePlace::Coordinate => (None, None),
            HomePlace::CoordinateAndAddress => (None, Some("locationCoordinate")),
            HomePlace::Address(address) => {
                let found = geocoder
                    .locate(PostalAddress::line(&address))
                    .map_err(|reason| Fault::new(ADDRESS_PATH, reason.to_string()))?;
                (home.latitude, home.longitude) = found.position();
                (Some(found), Some("address"))
            }
        };
        Ok(LocatedHome {
            home,
            address,
            position_from,
        })
    }
}

impl Estimate {
    /// Lowers the confidence to LOW if the home was located by an address and only its town is known.
    pub fn located_by(mut self, address: Option<&Resolved>) -> Self {
        if address.is_some_and(|found| found.precision == Precision::Town) {
            self.confidence = EstimateConfidence::Low;
        }
        self
    }
}
