//! Query strings: their pairs, and the periods of reports.

use chrono::{Datelike, NaiveDate};

use super::fault::Fault;

/// What a day of a period must be.
const DAY_RULE: &str = "must be a day such as \"2026-05-31\"";

/// A query string whose percent-encoding is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query: percent-encoding is broken")]
pub struct BrokenQuery;

/// Name and value of each parameter, decoded, in order.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, BrokenQuery> {
    let is_sound = query.split('%').skip(1).all(|after| {
        let bytes = after.as_bytes();
        bytes.len() >= 2 && bytes[..2].iter().all(u8::is_ascii_hexdigit)
    });
    if !is_sound {
        return Err(BrokenQuery);
    }
    Ok(url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect())
}

/// Days from the first to the last, both included (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// First day.
    pub from: NaiveDate,
    /// Last day.
    pub to: NaiveDate,
}

/// Reads `from_date` and `to_date`; without the first the period starts with the month of its last day, without the
/// last it ends today.
pub fn period(pairs: &[(String, String)], today: NaiveDate) -> Result<Period, Fault> {
    let (mut from, mut to) = (None, None);
    for (name, value) in pairs {
        let day = match name.as_str() {
            "from_date" => &mut from,
            "to_date" => &mut to,
            _ => {
                let message = "unknown parameter; must be one of: from_date, to_date";
                return Err(Fault::new(name, message));
            }
        };
        *day = Some(parse_day(value).ok_or_else(|| Fault::new(name, DAY_RULE))?);
    }
    let to = to.unwrap_or(today);
    let from = from.unwrap_or_else(|| to.with_day(1).unwrap_or(to));
    if from > to {
        return Err(Fault::new("from_date", "must not be after to_date"));
    }
    Ok(Period { from, to })
}

fn parse_day(text: &str) -> Option<NaiveDate> {
    let shaped = text.len() == 10
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    shaped
        .then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<(String, String), String> {
        let today = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
        period(&pairs(query).unwrap(), today)
            .map(|period| (period.from.to_string(), period.to.to_string()))
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_period_defaults_to_the_month_and_names_what_is_wrong() {
        let days = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(ask(""), days("2026-11-01", "2026-11-21"));
        assert_eq!(ask("to_date=2026-03-05"), days("2026-03-01", "2026-03-05"));
        assert_eq!(
            ask("from_date=2026-11-21"),
            days("2026-11-21", "2026-11-21")
        );
        for (query, place) in [
            ("from_date=2026-13-01", "from_date: must be a day"),
            ("to_date=yesterday", "to_date: must be a day"),
            ("from_date=2026-11-22", "from_date: must not be after"),
            ("day=2026-11-22", "day: unknown parameter"),
        ] {
            assert!(ask(query).unwrap_err().starts_with(place), "{query}");
        }
        assert_eq!(pairs("a=%zz"), Err(BrokenQuery));
    }
}
