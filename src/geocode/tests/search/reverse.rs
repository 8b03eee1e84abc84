//! Positions and the addresses near them.

use proptest::prelude::*;
use toise_geo::distance::planar_distance_m;
use toise_geo::places::Places;
use toise_geocode::Geocoder;
use toise_geocode::index::builder::AddressRow;
use toise_geocode::reverse::{METRES_MAX, Near};

use crate::base::{rows, segment};

#[test]
fn a_position_gives_its_neighbours_or_its_commune() {
    let geocoder = Geocoder::new(vec![segment(&rows())]);
    let near = geocoder.reverse(44.5001, 3.50005, 2, METRES_MAX);
    let names: Vec<(&str, Option<u32>)> = near
        .iter()
        .map(|one| match one {
            Near::Address(number, one) => {
                let name = geocoder.segments()[*number].street_name(one.street);
                (name, one.number.as_ref().map(|house| house.number))
            }
            Near::Commune(_) => ("", None),
        })
        .collect();
    assert_eq!(
        names,
        [
            ("Rue de la République", Some(1)),
            ("Rue de la République", Some(2))
        ]
    );
    let code = |lat, lon| match geocoder.reverse(lat, lon, 1, METRES_MAX).as_slice() {
        [Near::Commune(place)] => Places::get().place(*place).map(|place| place.code),
        _ => None,
    };
    assert_eq!(code(48.8566, 2.3522), Some("75056"));
    assert_eq!(code(46.0, -6.0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_nearest_are_the_nearest(points in prop::collection::vec((0_i32..20_000, 0_i32..20_000), 1..60), lat in 0_i32..20_000, lon in 0_i32..20_000, count in 1_usize..8) {
        let degrees = |parts: i32, base: f64| base + f64::from(parts) / 1e6;
        let rows: Vec<AddressRow> = points
            .iter()
            .enumerate()
            .map(|(index, (lat, lon))| AddressRow {
                id: format!("48095_{:04}_{:05}", index % 5, index + 1),
                number: Some(index as u32 + 1),
                name: format!("Rue {}", index % 5),
                insee_code: "48095".into(),
                lat: degrees(*lat, 44.5),
                lon: degrees(*lon, 3.5),
                ..AddressRow::default()
            })
            .collect();
        let (lat, lon) = (degrees(lat, 44.5), degrees(lon, 3.5));
        let found = segment(&rows).nearest(lat, lon, count, f64::INFINITY);
        let mut expected: Vec<f64> = rows.iter().map(|row| planar_distance_m(lat, lon, row.lat, row.lon)).collect();
        expected.sort_by(f64::total_cmp);
        expected.truncate(count);
        prop_assert_eq!(found.len(), expected.len());
        for (one, metres) in found.iter().zip(expected) {
            prop_assert!((one.metres - metres).abs() < 0.2, "{} {}", one.metres, metres);
        }
    }
}
