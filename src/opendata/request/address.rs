//! Location conditions of a match: turns an address into a filter clause, and checks a position.
//!
//! A house number or a street restricts candidates to its surroundings, a town alone to its commune. The radii allow
//! for records placed at the centre of their parcel, and for streets known only by one point.

use crate::{Dataset, MatchRequest};
use toise_contract::filter::{Clause, ClauseTest};
use toise_geo::plausible::{PositionFault, check_position};
use toise_geocode::Geocoder;
use toise_geocode::resolve::{PostalAddress, Precision, Resolved, Unlocated};

/// Name of the filter.
pub const ADDRESS: &str = "address";
/// Path of the filter in a match body.
pub const ADDRESS_PATH: &str = "filters.address";
/// Path of the filter by position in a match body.
pub const PLACE_PATH: &str = "filters.location";
/// Radius around a house number, metres.
pub const ADDRESS_RADIUS_M: f64 = 50.0;
/// Radius around the middle of a street, metres.
pub const STREET_RADIUS_M: f64 = 300.0;

/// Returns the column with the INSEE code of a record.
pub fn commune_column(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "code_insee_ban",
        Dataset::Dvf => "insee_code",
    }
}

/// Returns the condition that replaces an address.
pub fn clause(dataset: Dataset, found: &Resolved) -> Clause {
    let within = |radius_m| {
        let (lat, lon) = found.position();
        Clause::new("location", ClauseTest::Within { lat, lon, radius_m })
    };
    match found.precision {
        Precision::Address => within(ADDRESS_RADIUS_M),
        Precision::Street => within(STREET_RADIUS_M),
        Precision::Town => Clause::new(
            commune_column(dataset),
            ClauseTest::OneOf(found.insee_codes()),
        ),
    }
}

impl MatchRequest {
    /// Checks that the position among the filters can be that of a home in France. Its path in a body is
    /// [`PLACE_PATH`].
    ///
    /// # Errors
    /// The position is abroad or at sea, or its latitude and longitude seem to be swapped.
    pub fn check_place(&self) -> Result<(), PositionFault> {
        let tests = self.filter.iter().map(|clause| &clause.test);
        let mut places = tests.filter_map(|test| match test {
            ClauseTest::Within { lat, lon, .. } => Some((*lat, *lon)),
            _ => None,
        });
        places.try_for_each(|(lat, lon)| check_position(lat, lon))
    }

    /// Replaces the address by a condition, and returns the result of geocoding it; `None` without an address.
    ///
    /// # Errors
    /// The address is not found, or the result is not certain enough.
    pub fn locate(
        &mut self,
        dataset: Dataset,
        geocoder: &Geocoder,
    ) -> Result<Option<Resolved>, Unlocated> {
        let Some(address) = self.address.take() else {
            return Ok(None);
        };
        let found = geocoder.locate(PostalAddress::line(&address))?;
        self.filter.push(clause(dataset, &found));
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::parse_match;
    use serde_json::json;
    use toise_geocode::address::Confidence;

    fn found(precision: Precision) -> Resolved {
        Resolved {
            lat: 44.5,
            lon: 3.5,
            label: "Paris".into(),
            probability: 0.99,
            confidence: Confidence::High,
            precision,
            insee_code: "75056".into(),
            is_street_exact: false,
            is_without_town: false,
        }
    }

    #[test]
    fn the_less_is_known_the_wider_is_the_condition() {
        let radius = |precision| match clause(Dataset::Dvf, &found(precision)).test {
            ClauseTest::Within { radius_m, .. } => radius_m,
            other => panic!("{other:?}"),
        };
        assert_eq!(radius(Precision::Address), 50.0);
        assert_eq!(radius(Precision::Street), 300.0);
        for (dataset, column) in [
            (Dataset::Dvf, "insee_code"),
            (Dataset::Dpe, "code_insee_ban"),
        ] {
            let clause = clause(dataset, &found(Precision::Town));
            assert_eq!(clause.column, column);
            let ClauseTest::OneOf(codes) = clause.test else {
                panic!("not a commune");
            };
            assert_eq!((codes.len(), &*codes[19]), (20, "75120"));
        }
    }

    #[test]
    fn an_address_becomes_a_condition_or_is_refused() {
        let nothing = Geocoder::new(Vec::new());
        let request = |address: &str| {
            parse_match(Dataset::Dvf, &json!({"filters": {"address": address}})).unwrap()
        };
        let mut town = request("48000 Mende");
        assert!(town.filter.is_empty());
        let understood = town.locate(Dataset::Dvf, &nothing).unwrap().unwrap();
        assert_eq!(understood.precision, Precision::Town);
        assert_eq!(
            town.filter,
            [Clause::new(
                "insee_code",
                ClauseTest::OneOf(vec!["48095".into()])
            )]
        );
        assert!(
            request("Xqzzy Wvut")
                .locate(Dataset::Dvf, &nothing)
                .is_err()
        );
        let mut without = parse_match(Dataset::Dvf, &json!({})).unwrap();
        assert_eq!(without.locate(Dataset::Dvf, &nothing), Ok(None));
    }

    #[test]
    fn a_place_that_cannot_be_is_told_by_name() {
        let request = |lat: f64, lon: f64| {
            let location = json!({"lat": lat, "lon": lon, "distance": "500m"});
            let body = json!({"filters": {"location": location}});
            parse_match(Dataset::Dvf, &body).unwrap().check_place()
        };
        assert_eq!(request(44.5, 3.5), Ok(()));
        assert_eq!(request(51.5074, -0.1278), Err(PositionFault::OutsideFrance));
        assert_eq!(request(3.5, 44.5), Err(PositionFault::CoordinatesSwapped));
        let without = parse_match(Dataset::Dpe, &json!({})).unwrap();
        assert_eq!(without.check_place(), Ok(()));
    }
}
