//! Computes the distance from a position to an area.

use super::Area;
use crate::distance::Plane;

/// Added to the extent of a band to allow for rounding, degrees.
const BAND_SLACK_DEGREES: f64 = 1e-9;

impl Area {
    /// Returns the planar distance in metres from a position to the area: 0 inside and on the border.
    ///
    /// Looks at the bands of edges from the latitude of the position outwards, until no further band can have an edge
    /// nearer than the nearest one found.
    pub fn distance_m(&self, lat: f64, lon: f64) -> f64 {
        if self.contains(lat, lon) {
            return 0.0;
        }
        let plane = Plane::at(lat, lon);
        let bands = self.ends.len();
        let own = self.band_of(lat.clamp(self.min.y, self.max.y), bands);
        let height = (self.max.y - self.min.y) / bands as f64;
        let mut nearest = self.band_distance_m(own, &plane);
        for step in 1..bands {
            let below = own.checked_sub(step);
            let above = Some(own + step).filter(|band| *band < bands);
            let north_of_below = below.map(|band| self.min.y + height * (band + 1) as f64);
            let south_of_above = above.map(|band| self.min.y + height * band as f64);
            let may_be_nearer = |edge: Option<f64>| {
                let gap = edge.map(|edge| ((lat - edge).abs() - BAND_SLACK_DEGREES).max(0.0));
                gap.is_some_and(|gap| Plane::north_m(gap) <= nearest)
            };
            let wanted = [
                below.filter(|_| may_be_nearer(north_of_below)),
                above.filter(|_| may_be_nearer(south_of_above)),
            ];
            if wanted.iter().all(Option::is_none) {
                break;
            }
            for band in wanted.into_iter().flatten() {
                nearest = nearest.min(self.band_distance_m(band, &plane));
            }
        }
        nearest
    }

    fn band_distance_m(&self, band: usize, plane: &Plane) -> f64 {
        let entries = self.entries(band..=band).iter();
        let edges = entries.map(|entry| &self.edges[*entry as usize]);
        let distances = edges.map(|edge| plane.segment_distance_m(edge.south, edge.north));
        distances.fold(f64::INFINITY, f64::min)
    }
}
