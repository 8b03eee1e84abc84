//! Geometry of map tiles: the part of the world that a tile shows, and where a position is in it.
//!
//! Web Mercator (EPSG:3857), as in the tile schemes of web maps: at zoom `z` the world is a square of `2^z` by `2^z`
//! tiles, counted from the north-west.

use std::f64::consts::PI;

/// Highest zoom.
pub const ZOOM_MAX: u8 = 18;
/// Number of coordinate units along an edge of a tile.
pub const EXTENT: u32 = 4_096;
/// Latitude at which the projection ends, degrees.
const LATITUDE_MAX: f64 = 85.051_128_779_806_59;

/// A tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileId {
    /// Zoom, at most [`ZOOM_MAX`].
    pub z: u8,
    /// Column from the west, less than `2^z`.
    pub x: u32,
    /// Row from the north, less than `2^z`.
    pub y: u32,
}

/// A box in degrees, WGS 84.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DegreeBox {
    /// Northern edge.
    pub top: f64,
    /// Western edge.
    pub left: f64,
    /// Southern edge.
    pub bottom: f64,
    /// Eastern edge.
    pub right: f64,
}

impl TileId {
    /// Parses the numbers of a tile; `None` if there is no such tile.
    pub fn parse(z: &str, x: &str, y: &str) -> Option<Self> {
        let z: u8 = z.parse().ok().filter(|z| *z <= ZOOM_MAX)?;
        let number = |text: &str| text.parse().ok().filter(|number| *number < 1_u32 << z);
        Some(Self {
            z,
            x: number(x)?,
            y: number(y)?,
        })
    }

    /// Returns the number of tiles along an edge of the world.
    fn count(self) -> f64 {
        f64::from(1_u32 << self.z)
    }

    /// Returns a position in tiles from the north-west corner of this tile; 0 to 1 is inside it.
    pub fn place(self, lat: f64, lon: f64) -> (f64, f64) {
        let (x, y) = self.world(lat, lon);
        (x - f64::from(self.x), y - f64::from(self.y))
    }

    /// Returns a position in tiles of this zoom from the north-west corner of the world.
    pub fn world(self, lat: f64, lon: f64) -> (f64, f64) {
        let lat = lat.clamp(-LATITUDE_MAX, LATITUDE_MAX).to_radians();
        let x = (lon + 180.0) / 360.0;
        let y = (1.0 - lat.tan().asinh() / PI) / 2.0;
        (x * self.count(), y * self.count())
    }

    /// Returns the part of the world that the tile shows, extended by `margin` tiles on each side.
    pub fn degrees(self, margin: f64) -> DegreeBox {
        let lon = |x: f64| (x / self.count() * 360.0 - 180.0).clamp(-180.0, 180.0);
        let lat = |y: f64| {
            let y = (y / self.count()).clamp(0.0, 1.0);
            (PI * (1.0 - 2.0 * y)).sinh().atan().to_degrees()
        };
        let (x, y) = (f64::from(self.x), f64::from(self.y));
        DegreeBox {
            top: lat(y - margin),
            left: lon(x - margin),
            bottom: lat(y + 1.0 + margin),
            right: lon(x + 1.0 + margin),
        }
    }
}

/// Converts a position in a tile, 0 to 1, to coordinate units.
pub fn units(part: f64) -> i32 {
    (part * f64::from(EXTENT)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_tile_of_the_louvre_is_the_one_that_web_maps_show() {
        let tile = TileId::parse("14", "8298", "5636").unwrap();
        let (x, y) = tile.place(48.8606, 2.3376);
        assert!(
            (0.0..1.0).contains(&x) && (0.0..1.0).contains(&y),
            "{x} {y}"
        );
        for (z, x, y) in [
            ("0", "1", "0"),
            ("19", "0", "0"),
            ("3", "-1", "0"),
            ("3", "0", "8"),
            ("a", "0", "0"),
        ] {
            assert_eq!(TileId::parse(z, x, y), None);
        }
    }

    proptest! {
        #[test]
        fn a_position_lies_in_the_box_of_its_tile(lat in -84.0..84.0, lon in -179.9..179.9, z in 0_u8..=ZOOM_MAX) {
            let world = TileId { z, x: 0, y: 0 }.world(lat, lon);
            let tile = TileId { z, x: world.0 as u32, y: world.1 as u32 };
            let shown = tile.degrees(1e-9);
            prop_assert!((shown.bottom..=shown.top).contains(&lat));
            prop_assert!((shown.left..=shown.right).contains(&lon));
        }
    }
}
