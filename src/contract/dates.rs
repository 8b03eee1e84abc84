//! Dates of the contract: an ISO day, or a date-time with any offset.
//!
//! The tables of open data hold days; a day means midnight UTC of that day. As a lower bound, an instant after midnight
//! therefore means the next day; as an upper bound, it means the day it falls in. A bare day as an upper bound includes
//! that whole day. Listings hold times in milliseconds.

use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, Utc};

/// The rule for dates; the message of a refused date.
pub const DATE_RULE: &str = "must be an ISO 8601 date or date-time, such as \"2024-05-31\" or \"2024-05-31T08:00:00+02:00\"";

const DAY_MS: i64 = 86_400_000;
const NANOS_OF_MILLISECOND: u32 = 1_000_000;

/// Formats of date-times accepted in addition to RFC 3339: offsets without colon, no seconds.
const FORMS_WITH_OFFSET: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%dT%H:%M%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M%#z",
];
const FORMS_WITHOUT_OFFSET: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
];

/// A date or date-time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DateOrInstant {
    /// A day.
    Day(NaiveDate),
    /// An instant.
    Instant(DateTime<Utc>),
}

impl DateOrInstant {
    /// Parses a date or a date-time; `None` if it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        // The shape is checked first, because chrono also accepts signs, spaces and years of other lengths.
        let bytes = text.as_bytes();
        let day_shaped = bytes.len() >= 10
            && bytes[..10].iter().enumerate().all(|(place, byte)| {
                if place == 4 || place == 7 {
                    *byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            });
        if !day_shaped || !text.is_ascii() {
            return None;
        }
        if bytes.len() == 10 {
            return NaiveDate::parse_from_str(text, "%Y-%m-%d")
                .ok()
                .map(DateOrInstant::Day);
        }
        if !bytes[11..].first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Some(DateOrInstant::Instant(instant.with_timezone(&Utc)));
        }
        let with_offset = text.replacen(['Z', 'z'], "+00:00", 1);
        for form in FORMS_WITH_OFFSET {
            if let Ok(instant) = DateTime::parse_from_str(&with_offset, form) {
                return Some(DateOrInstant::Instant(instant.with_timezone(&Utc)));
            }
        }
        FORMS_WITHOUT_OFFSET.iter().find_map(|form| {
            NaiveDateTime::parse_from_str(text, form)
                .ok()
                .map(|local| DateOrInstant::Instant(local.and_utc()))
        })
    }

    /// Returns the UTC day that this time falls in.
    pub fn day(self) -> NaiveDate {
        match self {
            DateOrInstant::Day(day) => day,
            DateOrInstant::Instant(instant) => instant.date_naive(),
        }
    }

    /// Returns the first day at or after this time, in days since 1970-01-01.
    pub fn first_day(self) -> i32 {
        match self {
            DateOrInstant::Day(day) => days(day),
            DateOrInstant::Instant(instant) => {
                let day = days(instant.date_naive());
                if instant.time() == NaiveTime::MIN {
                    day
                } else {
                    day.saturating_add(1)
                }
            }
        }
    }

    /// Returns the last day at or before this time, in days since 1970-01-01.
    pub fn last_day(self) -> i32 {
        match self {
            DateOrInstant::Day(day) => days(day),
            DateOrInstant::Instant(instant) => days(instant.date_naive()),
        }
    }

    /// Returns the first millisecond at or after this time, since 1970-01-01 UTC.
    pub fn first_millisecond(self) -> i64 {
        match self {
            DateOrInstant::Day(day) => i64::from(days(day)) * DAY_MS,
            DateOrInstant::Instant(instant) => {
                let whole = instant.timestamp_millis();
                let is_whole = instant.timestamp_subsec_nanos() % NANOS_OF_MILLISECOND == 0;
                if is_whole { whole } else { whole + 1 }
            }
        }
    }

    /// Returns the last millisecond at or before this time, since 1970-01-01 UTC; for a day, the last of that day.
    pub fn last_millisecond(self) -> i64 {
        match self {
            DateOrInstant::Day(day) => (i64::from(days(day)) + 1) * DAY_MS - 1,
            DateOrInstant::Instant(instant) => instant.timestamp_millis(),
        }
    }

    /// Returns whether the range from this time to `last` is reversed.
    pub fn is_after(self, last: DateOrInstant) -> bool {
        let start = |moment| match moment {
            DateOrInstant::Day(day) => day.and_time(NaiveTime::MIN).and_utc(),
            DateOrInstant::Instant(instant) => instant,
        };
        match last {
            DateOrInstant::Instant(last) => start(self) > last,
            DateOrInstant::Day(day) => match day.checked_add_days(Days::new(1)) {
                Some(next) => start(self) >= next.and_time(NaiveTime::MIN).and_utc(),
                None => false,
            },
        }
    }
}

fn days(day: NaiveDate) -> i32 {
    // Four-digit years are far inside the range of the type.
    day.signed_duration_since(NaiveDate::default()).num_days() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> DateOrInstant {
        DateOrInstant::parse(text).unwrap_or_else(|| panic!("{text} is refused"))
    }

    #[test]
    fn a_bare_day_means_the_whole_day() {
        assert_eq!(moment("1970-01-02").first_day(), 1);
        assert_eq!(moment("1970-01-02").last_day(), 1);
    }

    #[test]
    fn a_moment_after_midnight_starts_the_next_day_and_ends_its_own() {
        assert_eq!(moment("1970-01-02T00:00:00Z").first_day(), 1);
        assert_eq!(moment("1970-01-02T00:00:00.001Z").first_day(), 2);
        assert_eq!(moment("1970-01-02T23:59:59Z").last_day(), 1);
        assert_eq!(moment("1970-01-02T00:30:00+01:00").last_day(), 0);
        assert_eq!(moment("1970-01-01T23:00:00-0200").first_day(), 2);
    }

    #[test]
    fn milliseconds_lie_inside_the_moment() {
        assert_eq!(moment("1970-01-02").first_millisecond(), 86_400_000);
        assert_eq!(moment("1970-01-02").last_millisecond(), 2 * 86_400_000 - 1);
        assert_eq!(moment("1970-01-01T00:00:00.0015Z").first_millisecond(), 2);
        assert_eq!(moment("1970-01-01T00:00:00.0015Z").last_millisecond(), 1);
        assert_eq!(moment("1969-12-31T23:59:59.9985Z").first_millisecond(), -1);
        assert_eq!(moment("1969-12-31T23:59:59.9985Z").last_millisecond(), -2);
    }

    #[test]
    fn common_spellings_are_equivalent() {
        let expected = moment("2024-05-31T08:00:00Z");
        for text in [
            "2024-05-31T10:00:00+02:00",
            "2024-05-31T10:00:00.000+0200",
            "2024-05-31T08:00Z",
            "2024-05-31T08:00:00",
            "2024-05-31 08:00",
        ] {
            assert_eq!(moment(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2024-02-30",
            "31/05/2024",
            "2024-5-31",
            "2024-05-31T",
            "2024-05-31T25:00:00Z",
            "+2024-05-31",
            "2024-05-31x",
            "20240531",
            "2024-05-31T é",
        ] {
            assert_eq!(DateOrInstant::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_may_end_where_it_starts() {
        assert!(!moment("2024-05-31T12:00:00Z").is_after(moment("2024-05-31")));
        assert!(moment("2024-06-01").is_after(moment("2024-05-31")));
        assert!(moment("2024-05-31T12:00:00Z").is_after(moment("2024-05-31T11:00:00Z")));
    }
}
