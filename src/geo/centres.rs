//! Centres of communes, from the embedded table: good to a kilometre or two.

use std::collections::HashMap;
use std::sync::LazyLock;

static CENTRES: LazyLock<HashMap<&'static str, (f64, f64)>> = LazyLock::new(|| {
    include_str!("../../data/communes.csv")
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split(',');
            let insee_code = cells.next()?;
            let mut position = cells.rev();
            let lon = position.next()?.parse().ok()?;
            let lat = position.next()?.parse().ok()?;
            Some((insee_code, (lat, lon)))
        })
        .collect()
});

/// Latitude and longitude of the centre of a commune, degrees; `None` when the table does not hold the commune.
pub fn centre_of(insee_code: &str) -> Option<(f64, f64)> {
    CENTRES.get(insee_code).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_of_a_commune_lies_in_it() {
        let (lat, lon) = centre_of("48095").unwrap();
        assert!((lat - 44.52).abs() < 0.05 && (lon - 3.5).abs() < 0.05);
        assert_eq!(centre_of("00000"), None);
    }
}
