//! Implements the traits of `toise_contract::filter`, through which filters of searches and alerts query layers.

use std::sync::Arc;

use toise_contract::filter::{LayerError, LayerShape, LayerSource};

use crate::error::Error;
use crate::index::LayerIndex;
use crate::live::Layers;

impl LayerShape for LayerIndex {
    fn version(&self) -> &str {
        self.version()
    }

    fn has_polygons(&self) -> bool {
        self.has_polygons()
    }

    fn bounds(&self) -> [f64; 4] {
        let [west, south, east, north] = self.bounds();
        [south, north, west, east]
    }

    fn contains(&self, lat: f64, lon: f64) -> bool {
        self.contains(lat, lon)
    }

    fn is_within(&self, lat: f64, lon: f64, meters: f64) -> bool {
        self.is_within(lat, lon, meters)
    }

    fn may_meet(&self, [south, north, west, east]: [f64; 4]) -> bool {
        self.may_meet([west, south, east, north])
    }
}

/// Returns a message about a layer that does not exist, with what clients and operators can do.
fn unknown(error: &Error) -> String {
    match error {
        Error::Unknown { known, .. } if !known.is_empty() => {
            format!("{error}; to add one: toise import layer NAME FILE")
        }
        error => error.to_string(),
    }
}

impl LayerSource for Layers {
    fn shape(&self, name: &str) -> Result<Arc<dyn LayerShape>, LayerError> {
        match self.index(name) {
            Ok(index) => Ok(index),
            Err(error @ Error::Unknown { .. }) => Err(LayerError::Unusable(unknown(&error))),
            Err(error) => Err(LayerError::Unreadable(error.to_string())),
        }
    }
}
