//! Reads dates and times as files and pages write them.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};

use toise_contract::listings::codes::Timestamp;
use toise_input::day;
use toise_page::french::tokens::{Token, tokens};

/// Name of the format for seconds since 1970.
const UNIX: &str = "unix";
/// Name of the format for milliseconds since 1970.
const UNIX_MS: &str = "unix-ms";

/// Formats tried if a rule names none, after those of the contract.
const USUAL: [&str; 8] = [
    "%Y-%m-%d %H:%M:%S%.f%:z",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y à %H:%M",
    "%d/%m/%Y à %Hh%M",
];
/// Seconds of a day. A time within a day of the start of 1970 is an empty value that a program wrote as 0, in some time
/// zone.
const DAY_S: i64 = 86_400;
/// First year of dates in the usual formats: the century of a two-digit year is not known.
const YEAR_MIN: i32 = 1_000;

/// Names and abbreviations of the months in written-out dates, without accents.
const MONTHS: [&[&str]; 12] = [
    &["janvier", "janv"],
    &["fevrier", "fevr", "fev"],
    &["mars"],
    &["avril", "avr"],
    &["mai"],
    &["juin"],
    &["juillet", "juil"],
    &["aout"],
    &["septembre", "sept"],
    &["octobre", "oct"],
    &["novembre", "nov"],
    &["decembre", "dec"],
];

/// Returns whether a string is a format that [`read`] understands.
pub(super) fn is_format(format: &str) -> bool {
    use chrono::format::{Item, StrftimeItems};
    if [UNIX, UNIX_MS].contains(&format) {
        return true;
    }
    let mut has_field = false;
    let is_known = StrftimeItems::new(format).all(|item| {
        has_field |= matches!(item, Item::Numeric(..) | Item::Fixed(_));
        !matches!(item, Item::Error)
    });
    is_known && has_field
}

/// Returns the date or time in a text, as the contract writes it; a time without an offset is UTC. If `formats` is
/// empty, the usual formats are tried. `None` for 1 January 1970, which stands for no date.
pub(super) fn read(text: &str, formats: &[String]) -> Option<String> {
    let text = text.trim();
    let moment = match formats {
        [] => Timestamp::parse(text)
            .or_else(|| USUAL.iter().find_map(|format| by_format(text, format)))
            .or_else(|| day::read(text).and_then(midnight))
            .or_else(|| number_of_seconds(text))
            .or_else(|| DateTime::parse_from_rfc2822(text).ok().map(moment))
            .or_else(|| written_out(text))
            .filter(|moment| moment.get().year() >= YEAR_MIN),
        formats => formats.iter().find_map(|format| by_format(text, format)),
    };
    let moment = moment.filter(|moment| moment.get().timestamp().abs() >= DAY_S);
    moment.map(|moment| moment.to_string())
}

fn midnight(day: NaiveDate) -> Option<Timestamp> {
    Some(Timestamp::new(day.and_hms_opt(0, 0, 0)?.and_utc()))
}

fn moment(moment: DateTime<chrono::FixedOffset>) -> Timestamp {
    Timestamp::new(moment.with_timezone(&Utc))
}

fn by_format(text: &str, format: &str) -> Option<Timestamp> {
    let of_seconds = |seconds: f64| {
        let milliseconds = (seconds * 1_000.0).round();
        DateTime::from_timestamp_millis(milliseconds as i64).map(Timestamp::new)
    };
    match format {
        UNIX => return of_seconds(text.parse().ok()?),
        UNIX_MS => return of_seconds(text.parse::<f64>().ok()? / 1_000.0),
        _ => {}
    }
    if let Ok(with_offset) = DateTime::parse_from_str(text, format) {
        return Some(moment(with_offset));
    }
    if let Ok(local) = NaiveDateTime::parse_from_str(text, format) {
        return Some(Timestamp::new(local.and_utc()));
    }
    NaiveDate::parse_from_str(text, format)
        .ok()
        .and_then(midnight)
}

/// Reads a number of seconds or milliseconds since 1970, if it is a time between 2001 and 2103.
fn number_of_seconds(text: &str) -> Option<Timestamp> {
    let seconds: f64 = text.parse().ok()?;
    match seconds {
        1e9..4.2e9 => by_format(text, UNIX),
        1e12..4.2e12 => by_format(text, UNIX_MS),
        _ => None,
    }
}

/// Reads a written-out date: `7 mars 2026`, `Publiée le 1er août 2025`.
fn written_out(text: &str) -> Option<Timestamp> {
    let tokens: Vec<Token> = tokens(text)
        .into_iter()
        .filter(|token| !token.is("er") && !matches!(token, Token::Sign('.')))
        .collect();
    tokens.windows(3).find_map(|three| {
        let (day, year) = (three[0].whole()?, three[2].whole()?);
        let month = MONTHS.iter().position(|names| three[1].is_any(names))?;
        let day = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month as u32 + 1, day)?;
        midnight(day)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: &str = "2026-03-07T00:00:00.000Z";

    #[test]
    fn dates_are_read_as_files_and_pages_write_them() {
        for text in [
            "2026-03-07", "07/03/2026", "7-mars-2026", "20260307", "7 mars 2026", "1772841600",
            "1772841600000",
        ] {
            assert_eq!(read(text, &[]).as_deref(), Some(DAY), "{text}");
        }
        let exact = "2026-03-09T15:42:45.427987+00:00";
        for (text, time) in [
            ("2026-03-07 18:30:00", "2026-03-07T18:30:00.000Z"),
            ("07/03/2026 à 18h30", "2026-03-07T18:30:00.000Z"),
            ("Publiée le 1er août 2025", "2025-08-01T00:00:00.000Z"),
            (exact, "2026-03-09T15:42:45.427Z"),
        ] {
            assert_eq!(read(text, &[]).as_deref(), Some(time), "{text}");
        }
        for text in [
            "1970-01-01T00:00:00.000Z",
            "01/01/1970",
            "1970-01-01 01:00:00",
            "",
            "hier",
            "03/2026",
            "31/02/2026",
            "12",
            "07/03/26",
            "07/03/26 18:30",
            "7 mars 26",
        ] {
            assert_eq!(read(text, &[]), None, "{text}");
        }
    }

    #[test]
    fn a_named_format_is_the_only_one() {
        let formats = ["%m/%d/%Y".to_owned()];
        assert_eq!(read("03/07/2026", &formats).as_deref(), Some(DAY));
        assert_eq!(read("2026-03-07", &formats), None);
        assert_eq!(read("0", &["unix".to_owned()]), None);
        assert!(["%d/%m/%Y", "unix"].into_iter().all(is_format));
        assert!(!["dd/mm", "%Q"].into_iter().any(is_format));
    }
}
