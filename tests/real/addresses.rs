//! The addresses of a whole department: imported with the executable, then found from the spelling of another base.
//!
//! Lozère, and 4,185 queries in old spelling and with old communes, each with the position expected. Runs where
//! `TOISE_REAL_DATA` names the folder of real rows.

use toise::geo::distance::planar_distance_m;
use toise::geocode::folder as index;
use toise::geocode::search::{ResultKind, SearchRequest, position};

use super::open_data::{folder, text};
use crate::support::process::run;

/// Distance within which a result is the address expected: the two bases place some houses apart.
const NEAR_M: f64 = 100.0;
/// Every so many queries one is asked.
const STEP: usize = 7;

#[test]
fn addresses_of_a_department_are_found_from_the_spelling_of_another_base() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let report = run(
        data,
        &["import", "ban", text(&real.join("ban/adresses-48.csv.gz"))],
    );
    // Every row has an identifier, a name, a commune and a position.
    assert_eq!(
        (&report["rows_read"], &report["rows_kept"]),
        (&47_629.into(), &47_629.into())
    );
    let geocoder = index::open(data).unwrap();
    let mut cases =
        csv::Reader::from_path(real.join("geocoder/bano48_query_to_ban48.csv")).unwrap();
    let (mut right, mut all) = (0, 0);
    for case in cases.records().step_by(STEP) {
        let case = case.unwrap();
        let request = SearchRequest {
            text: case[0].to_owned(),
            limit: 1,
            ..SearchRequest::default()
        };
        let found = geocoder.search(&request);
        let expected: (f64, f64) = (case[7].parse().unwrap(), case[8].parse().unwrap());
        let is_right = found.first().is_some_and(|one| {
            let (lat, lon) = position(&geocoder, one);
            one.kind == ResultKind::HouseNumber
                && planar_distance_m(expected.0, expected.1, lat, lon) <= NEAR_M
        });
        all += 1;
        right += usize::from(is_right);
    }
    assert!(all > 590 && right * 1_000 >= all * 995, "{right} of {all}");
}
