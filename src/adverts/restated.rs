//! Detects records that differ from the stored ones only in their timestamps, as after most sightings.
//!
//! Called when adverts and properties are seen again, to decide which alerts to test. Compares the JSON texts byte by
//! byte, which is possible because the same code wrote both with the same order of fields. Parsing them would cost more
//! than all other work for such a sighting.

/// Format of a timestamp in records, with its quotes; `0` stands for any digit.
const TIMESTAMP: &[u8] = b"\"0000-00-00T00:00:00.000Z\"";

/// Returns whether two JSON texts of a record are equal except for the values of timestamps. A text written by another
/// version of the program may have other fields; it then counts as a change.
pub fn is_restated(former: &[u8], present: &[u8]) -> bool {
    if former.len() != present.len() {
        return false;
    }
    let mut at = 0;
    while let Some(ahead) = first_difference(&former[at..], &present[at..]) {
        let different = at + ahead;
        // If a timestamp differs, it begins at the last quote before the difference.
        let start = present[..different]
            .iter()
            .rposition(|byte| *byte == b'"')
            .filter(|start| different - start < TIMESTAMP.len());
        let Some(start) = start else {
            return false;
        };
        at = start + TIMESTAMP.len();
        if !is_timestamp(former.get(start..at)) || !is_timestamp(present.get(start..at)) {
            return false;
        }
    }
    true
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}

fn is_timestamp(text: Option<&[u8]>) -> bool {
    text.is_some_and(|text| {
        text.iter().zip(TIMESTAMP).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_timestamps_may_differ() {
        let record = |seen: &str, price: u32, title: &str| {
            format!(
                r#"{{"lastSeenAt":"{seen}","price":{price},"title":"{title}","meta":{{"lastSeenAt":"{seen}"}}}}"#
            )
        };
        let (one, other) = ("2026-11-01T08:00:00.000Z", "2027-12-31T23:59:59.999Z");
        let is = |one: &str, other: &str| is_restated(one.as_bytes(), other.as_bytes());
        let known = record(one, 250_000, "Loft");
        assert!(is(&known, &known));
        assert!(is(&known, &record(other, 250_000, "Loft")));
        assert!(!is(&known, &record(one, 240_000, "Loft")));
        assert!(!is(&known, &record(other, 240_000, "Loft")));
        assert!(!is(&known, &record(one, 250_000, "Lift")));
        assert!(!is(&known, &record(one, 250_000, "Lofts")));
        assert!(!is(
            &known,
            &record("2026-11-01T08:00:00.000+", 250_000, "Loft")
        ));
        assert!(is("", "") && !is("1", "2"));
    }
}
