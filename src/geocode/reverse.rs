//! Reverse search: what lies nearest to a position.
//!
//! Every department's tree is asked for its nearest house numbers and places. A position inside France that has none
//! within reach falls back to its commune by contour, so the result is never empty there.

use crate::index::segment::Neighbour;
use crate::search::Geocoder;
use toise_geo::contours::commune_at;
use toise_geo::places::Places;

/// Distance within which addresses are looked for unless a request says otherwise, metres.
pub const METRES_MAX: f64 = 200.0;

/// What lies near a position.
#[derive(Clone, Debug, PartialEq)]
pub enum Near {
    /// An address or a named place: the number of its segment, and what it is.
    Address(usize, Neighbour),
    /// The commune around the position, as an index into the table of places.
    Commune(u32),
}

impl Geocoder {
    /// The `count` addresses and places nearest to a position in WGS 84 degrees, nearest first, within `metres_max`; the
    /// commune of today around it where there are none. Empty abroad and at sea.
    pub fn reverse(&self, lat: f64, lon: f64, count: usize, metres_max: f64) -> Vec<Near> {
        let mut found: Vec<(usize, Neighbour)> = Vec::new();
        for (number, segment) in self.segments().iter().enumerate() {
            let near = segment.nearest(lat, lon, count, metres_max);
            found.extend(near.into_iter().map(|one| (number, one)));
        }
        found.sort_by(|(_, one), (_, other)| one.metres.total_cmp(&other.metres));
        found.truncate(count);
        if !found.is_empty() {
            let addresses = found
                .into_iter()
                .map(|(number, one)| Near::Address(number, one));
            return addresses.collect();
        }
        let places = Places::get();
        let of_2018 = commune_at(lat, lon).and_then(|code| places.find(code));
        let today = of_2018.map(|place| {
            let parent = places.place(place).and_then(|place| place.parent);
            parent.unwrap_or(place)
        });
        today.map(Near::Commune).into_iter().collect()
    }
}
