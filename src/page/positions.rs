//! Finds the position of a listing in a page's scripts and `data-` attributes, where maps read it:
//! `lat = "48.83"; lng = "2.35"`, `{"latitude": 48.83, "longitude": 2.35}`, `data-lat="48.83" data-lng="2.35"`.
//!
//! A position is used only if the page has no other. A page that also shows similar listings has several, and any of
//! them may be wrong. Takes one linear pass.

use memchr::memmem::Finder;
use toise_geo::distance::planar_distance_m;

/// Minimum decimals of a coordinate; with fewer, it is too imprecise.
const DECIMALS_MIN: usize = 3;
/// Maximum bytes between a name and its value.
const SEPARATOR_BYTES_MAX: usize = 6;
/// Maximum bytes between the names of latitude and longitude.
const PAIR_BYTES_MAX: usize = 120;
/// Maximum coordinates of one kind that are read.
const COORDINATES_MAX: usize = 2_000;
/// Maximum distance between two positions that count as the same, metres.
const SAME_PLACE_M: f64 = 250.0;

/// Latitude and longitude in degrees.
pub type Position = (f64, f64);

/// Returns the only position in the source of a page, ignoring those in the texts `known`, which are read elsewhere.
pub fn only_position(source: &str, known: &[&str]) -> Option<Position> {
    let known: Vec<Position> = known.iter().flat_map(|text| positions(text)).collect();
    let mut found = positions(source)
        .into_iter()
        .filter(|position| !known.contains(position));
    let first = found.next()?;
    let is_same =
        |other: Position| planar_distance_m(first.0, first.1, other.0, other.1) <= SAME_PLACE_M;
    found.all(is_same).then_some(first)
}

fn positions(text: &str) -> Vec<Position> {
    let text = text.to_ascii_lowercase();
    let latitudes = coordinates(&text, "lat", "itude");
    let mut longitudes = coordinates(&text, "lng", "");
    longitudes.extend(coordinates(&text, "lon", "gitude"));
    longitudes.sort_by_key(|(place, _)| *place);
    let nearest = |place: usize| {
        let after = longitudes.partition_point(|(other, _)| *other < place);
        let around = &longitudes[after.saturating_sub(1)..(after + 1).min(longitudes.len())];
        around
            .iter()
            .filter(|(other, _)| other.abs_diff(place) <= PAIR_BYTES_MAX)
            .min_by_key(|(other, _)| other.abs_diff(place))
            .map(|(_, value)| *value)
    };
    let pairs = latitudes
        .iter()
        .filter_map(|(place, latitude)| Some((*latitude, nearest(*place)?)));
    pairs
        .filter(|(latitude, longitude)| latitude.abs() <= 90.0 && longitude.abs() <= 180.0)
        .collect()
}

/// Returns the offsets and values of the coordinates that follow a name.
fn coordinates(text: &str, name: &str, ending: &str) -> Vec<(usize, f64)> {
    let finder = Finder::new(name);
    let found = finder.find_iter(text.as_bytes()).filter_map(|place| {
        let is_inside = text[..place].ends_with(|before: char| before.is_ascii_alphanumeric());
        let rest = &text[place + name.len()..];
        let rest = rest.strip_prefix(ending).unwrap_or(rest);
        let value = coordinate(rest).filter(|_| !is_inside)?;
        Some((place, value))
    });
    found.take(COORDINATES_MAX).collect()
}

fn coordinate(text: &str) -> Option<f64> {
    let is_separator = |c: char| matches!(c, '"' | '\'' | ':' | '=' | '\\' | ' ');
    let start = text.find(|c: char| !is_separator(c))?;
    if start == 0 || start > SEPARATOR_BYTES_MAX {
        return None;
    }
    let text = &text[start..];
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let number = &text[..text.find(|c| !is_number(c)).unwrap_or(text.len())];
    let (_, decimals) = number.split_once('.')?;
    let value: f64 = number.parse().ok()?;
    (decimals.len() >= DECIMALS_MIN && value != 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_found_in_every_notation_of_maps() {
        for source in [
            "var lat = \"45.7598 \"; var lng = '4.8512';",
            "{\"latitude\":45.7598,\"longitude\":4.8512,\"zoom\":12}",
            "{\\\"lng\\\":\\\"4.8512\\\",\\\"lat\\\":\\\"45.7598\\\"}",
            "<div data-lat=\"45.7598\" data-lng=\"4.8512\">",
            "centre = {lat: 45.7598, lon: 4.8512}; marker = {lat: 45.7599, lon: 4.8511}",
        ] {
            assert_eq!(
                only_position(source, &[]),
                Some((45.7598, 4.8512)),
                "{source}"
            );
        }
    }

    #[test]
    fn several_or_vague_positions_are_none() {
        for source in [
            "{\"lat\": 45.7598, \"lng\": 4.8512}, {\"lat\": 43.6119, \"lng\": 3.8772}",
            "{\"lat\": 46.0, \"lng\": 2.0}",
            "{\"lat\": 0.0000, \"lng\": 0.0000}",
            "flat: 45.7598, salon: 4.8512",
            "{\"lat\": 95.7598, \"lng\": 4.8512}",
        ] {
            assert_eq!(only_position(source, &[]), None, "{source}");
        }
        let agency = "{\"latitude\": 45.7598, \"longitude\": 4.8512}";
        assert_eq!(only_position(agency, &[agency]), None);
    }
}
