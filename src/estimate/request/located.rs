//! Homes whose position may have to be found from an address.
//!
//! A body gives a coordinate or an address; a coordinate wins. An interval is calibrated on homes whose place is known:
//! of a home that is only known to lie in a town, the confidence is LOW however narrow the interval.

use super::fields::ADDRESS_PATH;
use crate::{Estimate, EstimateConfidence, Home};
use toise_contract::fault::Fault;
use toise_geo::plausible::{PositionFault, check_position};
use toise_geocode::Geocoder;
use toise_geocode::resolve::{PostalAddress, Precision, Resolved};

/// How a body says where the home is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HomePlace {
    /// By its coordinate alone.
    Coordinate,
    /// By its coordinate, although it gives an address too.
    CoordinateBesideAddress,
    /// By an address alone.
    Address(String),
}

/// A home as asked, valid but perhaps not located.
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
    /// How its address was understood; `None` if the body gave a coordinate.
    pub address: Option<Resolved>,
    /// Where the position comes from, if an address was given: `address`, or `locationCoordinate`, which wins.
    pub position_from: Option<&'static str>,
}

impl LocatedHome {
    /// Why its position cannot be that of a home in France, if it cannot.
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
    /// The address is not found, or not surely enough; the path is `location.address`.
    pub fn locate(self, geocoder: &Geocoder) -> Result<LocatedHome, Fault> {
        let Self { mut home, place } = self;
        let (address, position_from) = match place {
            HomePlace::Coordinate => (None, None),
            HomePlace::CoordinateBesideAddress => (None, Some("locationCoordinate")),
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
    /// The estimate of a home located by an address: of low confidence if only its town is known.
    pub fn located_by(mut self, address: Option<&Resolved>) -> Self {
        if address.is_some_and(|found| found.precision == Precision::Town) {
            self.confidence = EstimateConfidence::Low;
        }
        self
    }
}
