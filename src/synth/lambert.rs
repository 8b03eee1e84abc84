//! The forward projection to Lambert-93, the official plane coordinates of mainland France (EPSG:2154).
//!
//! A closed form with the constants of the mapping agency's note NTG 71. One position costs a few transcendental
//! functions, so no general projection library is needed.

const EXPONENT: f64 = 0.725_607_765_053_267;
const SCALE_M: f64 = 11_754_255.426_096;
const POLE_X_M: f64 = 700_000.0;
const POLE_Y_M: f64 = 12_655_612.049_876;
const ECCENTRICITY: f64 = 0.081_819_191_042_815_8;
const MERIDIAN_DEG: f64 = 3.0;

/// Returns the plane coordinates in metres, (easting, northing), of a position in degrees.
pub fn from_degrees(lat: f64, lon: f64) -> (f64, f64) {
    let sine = lat.to_radians().sin();
    let isometric = sine.atanh() - ECCENTRICITY * (ECCENTRICITY * sine).atanh();
    let radius = SCALE_M * (-EXPONENT * isometric).exp();
    let angle = EXPONENT * (lon - MERIDIAN_DEG).to_radians();
    (
        POLE_X_M + radius * angle.sin(),
        POLE_Y_M - radius * angle.cos(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_diagnostic_projects_to_its_published_coordinates() {
        let (x, y) = from_degrees(43.564_421_025_633_25, 1.473_764_051_436_213_1);
        assert!((x - 576_658.51).abs() < 0.02, "{x}");
        assert!((y - 6_275_120.55).abs() < 0.02, "{y}");
    }
}
