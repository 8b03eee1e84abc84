//! Distances of the contract: a number and a unit, `500m`, `1.5km`.

/// Units with their length in metres, in the order in which messages list them.
pub const UNITS: [(&str, f64); 6] = [
    ("m", 1.0),
    ("km", 1_000.0),
    ("mi", 1_609.344),
    ("ft", 0.3048),
    ("yd", 0.9144),
    ("nmi", 1_852.0),
];

/// The rule for distances; the message of a refused distance.
pub const DISTANCE_RULE: &str =
    "must be a number above 0 followed by m, km, mi, ft, yd or nmi, such as \"500m\"";

/// Parses a distance to metres; `None` if it is not a distance above 0.
pub fn parse_metres(text: &str) -> Option<f64> {
    let unit_start = text
        .rfind(|character: char| !character.is_ascii_alphabetic())
        .map(|last_of_number| {
            last_of_number
                + text[last_of_number..]
                    .chars()
                    .next()
                    .map_or(0, char::len_utf8)
        })?;
    let (number, unit) = text.split_at(unit_start);
    let (_, metres) = UNITS.iter().find(|(name, _)| *name == unit)?;
    // `f64` also parses "inf" and "nan", which are not distances.
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let distance = number.parse::<f64>().ok().filter(|_| plain)? * metres;
    (distance.is_finite() && distance > 0.0).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        assert_eq!(parse_metres("500m"), Some(500.0));
        assert_eq!(parse_metres("1.5km"), Some(1_500.0));
        assert_eq!(parse_metres("2mi"), Some(3_218.688));
        assert_eq!(parse_metres("10ft"), Some(3.048));
        assert_eq!(parse_metres("100yd"), Some(91.44));
        assert_eq!(parse_metres("1nmi"), Some(1_852.0));
        assert_eq!(parse_metres("1e3m"), Some(1_000.0));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "m", "500", "500 m", "0m", "-1km", "infm", "nankm", "1e999m", "5 km", "5KM",
            "5miles", "é", "5é", "1,5km", "5m ",
        ] {
            assert_eq!(parse_metres(text), None, "{text}");
        }
    }
}
