//! Finds fields that look copied from another one, such as a storey that equals the number of rooms in nearly every
//! row.
//!
//! A scraper that misses a value often takes the one next to it. A storey copied from the number of rooms would keep
//! adverts of one home apart and join adverts of different homes, so it is reported. The rows are still ingested.

use serde_json::Value;

/// Minimum number of rows with both values for a pair to be reported.
const ROWS_MIN: u64 = 20;
/// A pair is reported if its two values are equal in more than this many rows of ten.
const EQUAL_ROWS_OF_TEN: u64 = 9;
/// Pairs of fields, as JSON pointers: the copy and the field that it is a copy of.
const PAIRS: [(&str, &str); 3] = [
    ("/habitation/floor", "/habitation/roomCount"),
    ("/land/surface", "/habitation/surface/total"),
    ("/habitation/bedroomCount", "/habitation/roomCount"),
];

/// Two fields with equal values in nearly all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedField {
    /// Path of the field that looks copied.
    pub field: String,
    /// Path of the field it repeats.
    pub of: String,
    /// Rows in which both are equal.
    pub equal: u64,
    /// Rows that have both.
    pub rows: u64,
}

/// Counts how often fields agree.
#[derive(Clone, Debug, Default)]
pub struct CopyCounts([PairCount; PAIRS.len()]);

#[derive(Clone, Debug, Default)]
struct PairCount {
    rows: u64,
    equal: u64,
    first: Option<f64>,
    /// Whether the equal values vary between rows. If they never do, they prove nothing: in a file of studios, every
    /// row has one room.
    is_varied: bool,
}

impl CopyCounts {
    /// Adds an advert.
    pub fn add(&mut self, advert: &Value) {
        for ((copy, of), count) in PAIRS.iter().zip(&mut self.0) {
            let number = |pointer: &str| advert.pointer(pointer).and_then(Value::as_f64);
            let (Some(copy), Some(of)) = (number(copy), number(of)) else {
                continue;
            };
            count.rows += 1;
            if copy == of {
                count.equal += 1;
                let first = *count.first.get_or_insert(copy);
                count.is_varied |= first != copy;
            }
        }
    }

    /// Returns the fields that look copied.
    pub fn found(&self) -> Vec<CopiedField> {
        let pairs = PAIRS.iter().zip(&self.0);
        let copied = pairs.filter(|(_, count)| {
            count.rows >= ROWS_MIN
                && count.is_varied
                && count.equal * 10 > count.rows * EQUAL_ROWS_OF_TEN
        });
        let path = |pointer: &str| pointer.trim_start_matches('/').replace('/', ".");
        copied
            .map(|((copy, of), count)| CopiedField {
                field: path(copy),
                of: path(of),
                equal: count.equal,
                rows: count.rows,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(adverts: impl Iterator<Item = Value>) -> Vec<CopiedField> {
        let mut counts = CopyCounts::default();
        adverts.for_each(|advert| counts.add(&advert));
        counts.found()
    }

    #[test]
    fn a_storey_that_is_the_number_of_rooms_is_found_and_studios_are_not() {
        let row =
            |floor: u64, rooms: u64| json!({"habitation": {"floor": floor, "roomCount": rooms}});
        let copied = found((0..100).map(|place| row(place % 5 + u64::from(place < 9), place % 5)));
        assert_eq!(copied.len(), 1);
        let CopiedField {
            field,
            of,
            equal,
            rows,
        } = &copied[0];
        assert_eq!(
            (field.as_str(), of.as_str()),
            ("habitation.floor", "habitation.roomCount")
        );
        assert_eq!((*equal, *rows), (91, 100));
        assert_eq!(
            found((0..100).map(|place| row(place % 5 + u64::from(place < 10), place % 5))),
            []
        );
        assert_eq!(
            found((0..100).map(|_| row(1, 1))),
            [],
            "one room on the first floor"
        );
        assert_eq!(
            found((0..19).map(|place| row(place, place))),
            [],
            "too few rows"
        );
    }
}
