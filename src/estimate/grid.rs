//! Places positions on a grid: prefixes of their Morton codes are square cells with sides of 16 m, 32 m, 64 m and so
//! on.
//!
//! Cells are square at the latitude of the middle of France and up to a third wider overseas. They only group sales;
//! distances are measured on the ground ([`Ruler::squared_m2`]).

/// Side of the smallest cell, metres.
const CELL_M: f64 = 16.0;
/// Metres per degree of latitude.
const DEGREE_M: f64 = 111_195.08;
/// Cosine of 46.5° north.
const MIDDLE_COSINE: f64 = 0.688_354_575_693_754;

/// A position in millionths of a degree, about ten centimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GridPosition {
    /// Millionths of a degree north.
    pub latitude_e6: i32,
    /// Millionths of a degree east.
    pub longitude_e6: i32,
}

impl GridPosition {
    /// Rounds degrees; values outside the valid range are clamped.
    pub fn new(latitude: f64, longitude: f64) -> Self {
        Self {
            latitude_e6: (latitude.clamp(-90.0, 90.0) * 1e6).round() as i32,
            longitude_e6: (longitude.clamp(-180.0, 180.0) * 1e6).round() as i32,
        }
    }

    /// Degrees north.
    pub fn latitude(self) -> f64 {
        f64::from(self.latitude_e6) * 1e-6
    }

    /// Degrees east.
    pub fn longitude(self) -> f64 {
        f64::from(self.longitude_e6) * 1e-6
    }

    /// Column and row of the smallest cell that contains it.
    pub fn cell(self) -> (u32, u32) {
        let east = (self.longitude() + 180.0) * DEGREE_M * MIDDLE_COSINE / CELL_M;
        let north = (self.latitude() + 90.0) * DEGREE_M / CELL_M;
        (east as u32, north as u32)
    }

    /// Morton code of the smallest cell that contains it.
    pub fn morton(self) -> u64 {
        let (east, north) = self.cell();
        interleave(east, north)
    }

    /// Returns the shorter side of a cell of this level at this latitude, in metres on the ground.
    pub fn least_side_m(self, level: u32) -> f32 {
        let narrowed = self.latitude().to_radians().cos() / MIDDLE_COSINE;
        (CELL_M * f64::from(1u32 << level) * narrowed.min(1.0)) as f32
    }

    /// A ruler for distances from this position.
    pub fn ruler(self) -> Ruler {
        let metres = DEGREE_M * 1e-6;
        Ruler {
            from: self,
            north_m: metres as f32,
            east_m: (metres * self.latitude().to_radians().cos()) as f32,
        }
    }
}

/// Measures distances from a position on the tangent plane.
#[derive(Clone, Copy, Debug)]
pub struct Ruler {
    from: GridPosition,
    north_m: f32,
    east_m: f32,
}

impl Ruler {
    /// Squared distance to a position, square metres.
    pub fn squared_m2(&self, to: GridPosition) -> f32 {
        let (east, north) = self.metres(to);
        north * north + east * east
    }

    /// Direction to a position, in radians from -π to π, from east.
    pub fn bearing(&self, to: GridPosition) -> f32 {
        let (east, north) = self.metres(to);
        north.atan2(east)
    }

    /// Returns the offset to a position, in metres to the east and to the north.
    fn metres(&self, to: GridPosition) -> (f32, f32) {
        let east = to.longitude_e6.wrapping_sub(self.from.longitude_e6) as f32 * self.east_m;
        let north = to.latitude_e6.wrapping_sub(self.from.latitude_e6) as f32 * self.north_m;
        (east, north)
    }
}

/// Morton code of a column and a row.
pub fn interleave(east: u32, north: u32) -> u64 {
    spread(east) | (spread(north) << 1)
}

/// Inserts a zero before every bit.
fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value);
    bits = (bits | (bits << 16)) & 0x0000_ffff_0000_ffff;
    bits = (bits | (bits << 8)) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | (bits << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | (bits << 2)) & 0x3333_3333_3333_3333;
    (bits | (bits << 1)) & 0x5555_5555_5555_5555
}
