//! Reads days as people and programs write them: `2024-12-31`, `31/12/2024`, `1.2.2024`, `20241231`, `31-déc-2024`,
//! `31 décembre 2024`, `1er janvier 2024`.
//!
//! Where all three parts are numbers, the day stands before the month, as everywhere in France. [`is_month_first`] finds
//! the cells that prove a column to be written in the American order, because its other cells would be read as other days.

use chrono::NaiveDate;

/// Years that are read.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=2200;
/// Length of `20241231`.
const COMPACT_LENGTH: usize = 8;
/// Beginnings of the names of months, French then English, in lower case without accents. A name or an abbreviation
/// begins with one of them, and no name begins with one of another month.
#[rustfmt::skip]
const MONTHS: [&[&str]; 12] = [
    &["jan"], &["fev", "feb"], &["mar"], &["avr", "apr"], &["mai", "may"], &["juin", "jun"], &["juil", "jul"],
    &["aou", "aug"], &["sep"], &["oct"], &["nov"], &["dec"],
];

/// Reads a day, with or without a time of day after it. `None` for any other text, a day that does not exist, and a year
/// of two digits, which names two centuries.
pub fn read(cell: &str) -> Option<NaiveDate> {
    let date = without_time(cell.trim());
    let compact = without_decimals(date);
    if compact.len() == COMPACT_LENGTH && compact.bytes().all(|byte| byte.is_ascii_digit()) {
        return civil(&compact[..4], &compact[4..6], &compact[6..]);
    }
    let [first, second, third] = parts(date)?;
    if first.len() == 4 {
        return civil(first, second, third);
    }
    match month_of(second) {
        Some(month) => civil(third, &month.to_string(), first),
        None => civil(third, second, first),
    }
}

/// Returns a number without the decimals that programs add to a column with gaps: `20241231.0`.
fn without_decimals(date: &str) -> &str {
    let whole = date.trim_end_matches('0').strip_suffix(['.', ',']);
    whole.unwrap_or(date)
}

/// Returns whether a cell can only be a day whose month stands first: `01/31/2024`.
pub fn is_month_first(cell: &str) -> bool {
    let Some([first, second, third]) = parts(without_time(cell.trim())) else {
        return false;
    };
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    third.len() == 4
        && number(first).is_some_and(|month| (1..=12).contains(&month))
        && number(second).is_some_and(|day| (13..=31).contains(&day))
}

/// Says why the days of a column cannot be read, given one for which [`is_month_first`] holds.
pub fn month_first_reason(cell: &str) -> String {
    format!(
        "{:?} has the month before the day, so the other days of this column may be wrong: write them as 2024-12-31 or \
         31/12/2024",
        cell.trim()
    )
}

/// Returns the text before a time of day: `2024-12-31T10:00`, `31/12/2024 10:00`, `31/12/2024 à 10h30`.
fn without_time(cell: &str) -> &str {
    let begins_time = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (1..=2).contains(&digits) && rest[digits..].starts_with([':', 'h', 'H'])
    };
    cell.match_indices(['T', ' '])
        .find(|(at, _)| begins_time(cell[at + 1..].trim_start()))
        .map_or(cell, |(at, _)| {
            let date = cell[..at].trim_end();
            let date = date.strip_suffix(',').or_else(|| date.strip_suffix(" à"));
            date.unwrap_or(&cell[..at]).trim_end()
        })
}

/// Splits a day into its three parts, which the same character separates.
fn parts(date: &str) -> Option<[&str; 3]> {
    let separator = date
        .chars()
        .find(|character| !character.is_alphanumeric())?;
    if !matches!(separator, '/' | '-' | '.') && !separator.is_whitespace() {
        return None;
    }
    let mut parts = date.splitn(3, |character: char| {
        character == separator || separator.is_whitespace() && character.is_whitespace()
    });
    let [first, second, third] = [parts.next()?, parts.next()?, parts.next()?].map(str::trim);
    // `1er janvier`
    let first = first.strip_suffix("er").unwrap_or(first);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_day = is_number(first) && is_number(third);
    is_day.then_some([first, second, third])
}

/// Returns the number of a month from its name: `décembre`, `déc.`, `Dec`.
fn month_of(name: &str) -> Option<usize> {
    let mut plain = name.trim_end_matches('.').to_lowercase();
    if plain.chars().all(|character| character.is_ascii_digit()) {
        return None;
    }
    plain = plain.replace(['é', 'è'], "e").replace('û', "u");
    MONTHS
        .iter()
        .position(|names| names.iter().any(|name| plain.starts_with(name)))
        .map(|index| index + 1)
}

fn civil(year: &str, month: &str, day: &str) -> Option<NaiveDate> {
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= 2);
    let year: i32 = year.parse().ok().filter(|_| year.len() == 4)?;
    let is_read = YEARS.contains(&year);
    NaiveDate::from_ymd_opt(year, number(month)?, number(day)?).filter(|_| is_read)
}

/// Returns a day as `yyyy-mm-dd`; see [`read`].
pub fn iso(cell: &str) -> Option<String> {
    read(cell).map(|day| day.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_people_and_programs_write_them() {
        for cell in [
            "2024-12-03",
            "2024/12/03",
            "2024-12-3",
            "20241203",
            "20241203.0",
            "20241203,00",
            "03/12/2024",
            "3/12/2024",
            "03-12-2024",
            "3.12.2024",
            "3-déc-2024",
            "03-Dec-2024",
            "3 décembre 2024",
            "3 déc. 2024",
            "2024-12-03T00:00:00.000Z",
            "2024-12-03 10:30:00",
            "03/12/2024 9h30",
            "03/12/2024 à 10h30",
            "03/12/2024, 10:30:00",
            "3\u{a0}décembre\u{a0}2024",
            "3\u{202f}décembre 2024",
        ] {
            let day = read(cell).map(|day| day.to_string());
            assert_eq!(day.as_deref(), Some("2024-12-03"), "{cell}");
        }
        assert_eq!(read("1er déc. 2024"), read("01/12/2024"));
        for cell in [
            "", "03/12/24", "45366", "2024-02-30", "31/13/2024", "2024-12-031", "été 2024 !",
            "12/2024", "3/12-2024", "00010203", "20241203.5", "45366.0", "2024.0", "3 rue 2024",
        ] {
            assert_eq!(read(cell), None, "{cell}");
        }
    }

    #[test]
    fn every_name_of_a_month_is_read() {
        let french =
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre";
        let english =
            "January February March April May June July August September October November December";
        for names in [french, english] {
            let months: Vec<usize> = names.split(' ').filter_map(month_of).collect();
            assert_eq!(months, (1..=12).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_day_after_the_month_is_proved_by_its_number() {
        for cell in ["01/13/2024", "1/31/2024 10:00", "12-25-2024"] {
            assert!(is_month_first(cell), "{cell}");
        }
        for cell in [
            "13/01/2024", "01/12/2024", "2024-01-13", "13/13/2024", "01/32/2024", "", "1 13 24",
        ] {
            assert!(!is_month_first(cell), "{cell}");
        }
    }
}
