//! Parses text cells: numbers and amounts, days, codes that lost their leading zeros, column names in any spelling. What
//! official files write is parsed at once; anything else as in every file (`toise_input`).

use std::borrow::Cow;

use chrono::Datelike;
use toise_input::number::{self, LoneSeparator};
use toise_input::{quantity, words};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Parses a number in any usual notation (`toise_input::number`); a lone separator marks decimals. `None` if it is not a
/// finite number.
pub fn decimal(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    let plain = cell
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    if plain && let Ok(number) = cell.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    number::read(cell, LoneSeparator::Decimals)
}

/// Parses an amount in euros like [`decimal`], with or without its unit; a lone separator before three digits groups
/// thousands, because an amount has no third decimal.
pub fn euros(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    let mut last = cell.bytes().rev();
    match last.nth(3) {
        Some(b',' | b'.') => quantity::euros(cell, None),
        _ => decimal(cell).or_else(|| quantity::euros(cell, None)),
    }
}

/// Parses an area in square metres like [`decimal`], with or without its unit.
pub fn square_metres(cell: &str) -> Option<f64> {
    decimal(cell).or_else(|| quantity::square_metres(cell, Some(LoneSeparator::Decimals)))
}

/// Converts a cell to a JSON number in its shortest notation, so that every source gives the same text: `315`, `315.0`,
/// `315,00` and `3.15e2` give `315`. Whole numbers keep all their digits; others have the precision of a 64-bit float.
/// A flag of older files becomes 1 or 0. `None` if it is not a number.
pub fn json_number(cell: &str) -> Option<Cow<'_, str>> {
    let cell = cell.trim();
    if is_shortest(cell) {
        return Some(Cow::Borrowed(cell));
    }
    match cell {
        "True" | "true" | "TRUE" | "Vrai" | "VRAI" => return Some(Cow::Borrowed("1")),
        "False" | "false" | "FALSE" | "Faux" | "FAUX" => return Some(Cow::Borrowed("0")),
        _ => {}
    }
    let text = number::normalised(cell, LoneSeparator::Decimals)?;
    if is_shortest(&text) {
        return Some(Cow::Owned(text));
    }
    let number: f64 = text.parse().ok()?;
    // Adding 0 removes the sign of a negative zero.
    number
        .is_finite()
        .then(|| Cow::Owned((number + 0.0).to_string()))
}

/// Significant digits that every decimal number keeps as a 64-bit float.
const FLOAT_DIGITS: usize = f64::DIGITS as usize;

/// Returns whether a string is a JSON number that cannot be written shorter: a whole number, or one of at most
/// [`FLOAT_DIGITS`] digits without an exponent and without zeros at its end.
fn is_shortest(text: &str) -> bool {
    let are_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, decimals) = match unsigned.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (unsigned, None),
    };
    let is_whole = are_digits(whole) && (whole.len() == 1 || !whole.starts_with('0'));
    is_whole
        && match decimals {
            Some(decimals) => {
                let digits = whole.len() + decimals.len();
                are_digits(decimals) && digits <= FLOAT_DIGITS && !decimals.ends_with('0')
            }
            None => text != "-0",
        }
}

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Digits of a day as milliseconds since 1970-01-01, from 2001 to 2286. Fewer digits could be another number.
const MILLISECONDS_DIGITS: usize = 13;

/// Parses a day, as days since 1970-01-01. A time of day after it is ignored, unless it is the instant in UTC at which a day
/// begins in France: `2023-01-04T23:00:00Z` is 5 January. A day may also be the milliseconds since 1970-01-01 at its
/// beginning in UTC, as pandas writes JSON.
pub fn day(cell: &str) -> Option<i32> {
    official_day(cell)
        .or_else(|| {
            let day = toise_input::day::read(cell)?;
            days_from_civil(day.year(), day.month(), day.day())
        })
        .or_else(|| day_of_milliseconds(whole(cell)))
}

/// Parses the milliseconds since 1970-01-01 at which a day begins in UTC.
fn day_of_milliseconds(cell: &str) -> Option<i32> {
    let milliseconds: i64 = cell.parse().ok()?;
    let is_day = cell.len() == MILLISECONDS_DIGITS && milliseconds % DAY_MS == 0;
    is_day.then(|| i32::try_from(milliseconds / DAY_MS).ok())?
}

/// Parses a day written `yyyy-mm-dd` or `dd/mm/yyyy`, perhaps before a time of day, as official files do.
fn official_day(cell: &str) -> Option<i32> {
    let bytes = cell.trim().as_bytes();
    let number = |part: &[u8]| -> Option<i32> {
        part.iter().try_fold(0i32, |sum, byte| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + i32::from(byte - b'0'))
        })
    };
    if bytes.len() < 10 {
        return None;
    }
    let (date, rest) = bytes.split_at(10);
    if !matches!(rest.first(), None | Some(b'T' | b' ')) {
        return None;
    }
    let (year, month, day) = match (date[4], date[7], date[2], date[5]) {
        (b'-', b'-', _, _) => (&date[..4], &date[5..7], &date[8..10]),
        (_, _, b'/', b'/') => (&date[6..10], &date[3..5], &date[..2]),
        _ => return None,
    };
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let days = days_from_civil(year, month as u32, day as u32)?;
    Some(days + i32::from(is_french_midnight(rest, month)))
}

/// Returns whether a time after a day is 22:00 or 23:00 in UTC: midnight of the next day in France, in summer or winter.
/// Programs that store days as instants write them in this way.
fn is_french_midnight(time: &[u8], month: i32) -> bool {
    let Some((hour, rest)) = time.get(1..).and_then(|time| time.split_at_checked(2)) else {
        return false;
    };
    let offset = [&b"Z"[..], b"+00:00", b"+0000", b" UTC"]
        .iter()
        .find_map(|offset| rest.strip_suffix(*offset));
    let is_whole = |time: &[u8]| time.iter().all(|byte| matches!(byte, b'0' | b':' | b'.'));
    let is_hour = match hour {
        b"22" => (3..=10).contains(&month),
        b"23" => !(4..=9).contains(&month),
        _ => false,
    };
    is_hour && offset.is_some_and(is_whole)
}

fn days_from_civil(year: i32, month: u32, day: u32) -> Option<i32> {
    let date = chrono::NaiveDate::from_ymd_opt(year, month, day)?;
    (1900..=2200).contains(&year).then(|| date.to_epoch_days())
}

/// Parses a day and returns its day number and its text in the register's notation: `yyyy-mm-dd`, followed by the time
/// unless that is midnight. `None` if the cell is not a day. Spreadsheets write `05/01/2023`, tables with typed columns
/// `2023-01-05T00:00:00`.
pub fn published_day(cell: &str) -> Option<(i32, Cow<'_, str>)> {
    let cell = cell.trim();
    let Some(days) = official_day(cell) else {
        let days = day(cell)?;
        return Some((days, Cow::Owned(date_of(days).to_string())));
    };
    let (date, time) = cell.split_at(10);
    // The day was read as the next one.
    if official_day(date).is_some_and(|own| own != days) {
        return Some((days, Cow::Owned(date_of(days).to_string())));
    }
    let is_midnight = !time.contains(|character: char| matches!(character, '1'..='9'));
    let is_iso = date.as_bytes()[4] == b'-';
    let text = match (is_iso, is_midnight) {
        (true, true) => Cow::Borrowed(date),
        (true, false) => Cow::Borrowed(cell),
        (false, true) => Cow::Owned(date_of(days).to_string()),
        (false, false) => Cow::Owned(format!("{}{time}", date_of(days))),
    };
    Some((days, text))
}

/// Returns the date of a day number (days since 1970-01-01).
pub fn date_of(days: i32) -> chrono::NaiveDate {
    chrono::NaiveDate::from_epoch_days(days).unwrap_or_default()
}

/// Restores an administrative code: `69.0` loses its decimals, `1053` gets its leading zero back. Codes of departments,
/// communes and parcels start with at most one zero, so a cell that lacks more characters is returned unchanged.
pub fn code(cell: &str, width: usize) -> Cow<'_, str> {
    let cell = whole(cell);
    if cell.len() + 1 != width
        || cell == "0"
        || !cell.starts_with(|character: char| character.is_ascii_digit())
    {
        return Cow::Borrowed(cell);
    }
    Cow::Owned(format!("0{cell}"))
}

/// Characters of a postal code and of an INSEE code.
pub const PLACE_CODE_CHARS: usize = 5;

/// Restores a postal or INSEE code like [`code`], also without the country and the spaces of `F-48000` and `48 000`.
pub fn place_code(cell: &str) -> String {
    let national = cell.trim().trim_start_matches(['F', 'f', 'R', 'r']);
    let digits = national.trim_start_matches(['-', ' ']).chars();
    let digits: String = digits
        .filter(|character| !character.is_whitespace())
        .collect();
    let digits = code(&digits, PLACE_CODE_CHARS);
    let is_code =
        digits.len() == PLACE_CODE_CHARS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let found = if is_code {
        digits
    } else {
        code(cell, PLACE_CODE_CHARS)
    };
    found.into_owned()
}

/// Restores a numeric code of fixed width by adding any number of leading zeros.
pub fn padded(cell: &str, width: usize) -> Cow<'_, str> {
    let cell = whole(cell);
    if cell.is_empty() || cell.len() >= width {
        return Cow::Borrowed(cell);
    }
    Cow::Owned(format!("{cell:0>width$}"))
}

/// Returns the cell without the decimals that a spreadsheet adds to whole numbers.
pub fn whole(cell: &str) -> &str {
    let cell = cell.trim();
    match cell.split_once(['.', ',']) {
        Some((whole, zeros))
            if !whole.is_empty()
                && whole.bytes().all(|byte| byte.is_ascii_digit())
                && zeros.bytes().all(|byte| byte == b'0') =>
        {
            whole
        }
        _ => cell,
    }
}

/// Returns a number of a typed source without zeros at the end of its decimals: as text, `950.000` is 950,000.
pub fn without_end_zeros(number: &str) -> &str {
    if !number.contains('.') || number.contains(['e', 'E']) {
        return number;
    }
    number.trim_end_matches('0').trim_end_matches('.')
}

/// Normalises a column name: no accents, lower case, one `_` for every run of other characters.
pub fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let letters = name
        .nfkd()
        .filter(|character| !is_combining_mark(*character))
        .flat_map(char::to_lowercase);
    for character in letters {
        if character.is_ascii_alphanumeric() {
            plain.push(character);
        } else if !plain.ends_with('_') {
            plain.push('_');
        }
    }
    plain.trim_matches('_').to_owned()
}

/// Returns the value of a list that a cell spells: the same in any case and with or without accents; of the classes of
/// diagnostics, the one that [`words::energy_class`] reads. `None` if the list has no such value.
pub fn listed_value(cell: &str, list: &[&'static str]) -> Option<&'static str> {
    let mut values = list.iter().copied();
    let same = values.clone().find(|value| *value == cell);
    same.or_else(|| {
        if list == words::ENERGY_CLASSES {
            return words::energy_class(cell);
        }
        let plain = plain_name(cell);
        values.find(|value| plain_name(value) == plain)
    })
}

/// Removes accents and straightens apostrophes; keeps upper and lower case.
pub fn without_accents(text: &str) -> String {
    text.nfd()
        .filter(|character| !is_combining_mark(*character))
        .map(|character| {
            if character == '\u{2019}' {
                '\''
            } else {
                character
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_accept_comma_point_and_blanks() {
        assert_eq!(decimal("78.46"), Some(78.46));
        assert_eq!(decimal("208000,50"), Some(208_000.5));
        assert_eq!(decimal("1 208\u{a0}000,50"), Some(1_208_000.5));
        assert_eq!(decimal("-3"), Some(-3.0));
        for wrong in ["", "abc", "1,2,3", "NaN", "inf", "12 m2"] {
            assert_eq!(decimal(wrong), None, "{wrong}");
        }
        for amount in ["208000 €", "€208,000.00", "208000 EUR", "208.000", "208000"] {
            assert_eq!(euros(amount), Some(208_000.0), "{amount}");
        }
        for area in ["61 m²", "61,0", "61.0 m2", "61"] {
            assert_eq!(square_metres(area), Some(61.0), "{area}");
        }
    }

    #[test]
    fn a_number_is_written_alike_however_its_source_writes_it() {
        for (cell, expected) in [
            ("315", Some("315")),
            ("315.0", Some("315")),
            ("315,00", Some("315")),
            ("3.15e2", Some("315")),
            ("848.10", Some("848.1")),
            ("848,1", Some("848.1")),
            ("-0.0", Some("0")),
            ("-12.5", Some("-12.5")),
            ("44.807694968839561", Some("44.80769496883956")),
            ("12345678901234567890", Some("12345678901234567890")),
            ("True", Some("1")),
            ("False", Some("0")),
            ("007", Some("7")),
            ("1e5", Some("100000")),
            ("0.0000001", Some("0.0000001")),
            (".5", Some("0.5")),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(json_number(cell).as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn days_are_iso_or_french() {
        assert_eq!(day("1970-01-02"), Some(1));
        assert_eq!(day("05/01/2023"), day("2023-01-05"));
        assert_eq!(day("2023-01-05T10:00:00Z"), day("2023-01-05"));
        assert_eq!(day("2023-01-04T23:00:00.000Z"), day("2023-01-05"));
        assert_eq!(day("2023-06-30 22:00:00+00:00"), day("2023-07-01"));
        assert_eq!(day("2023-01-04T23:00:00"), day("2023-01-04"));
        assert_eq!(day("2023-01-04T23:30:00Z"), day("2023-01-04"));
        assert_eq!(day("5/1/2023"), day("2023-01-05"));
        assert_eq!(day("05-janv.-2023"), day("2023-01-05"));
        for number in ["1672876800000", "1672876800000.0", "20230105", "20230105.0"] {
            assert_eq!(day(number), day("2023-01-05"), "{number}");
        }
        for wrong in [
            "", "2023-02-30", "31/13/2023", "2023-01-0x", "2023-01-051", "1672876800",
            "1672876800001",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        assert_eq!(date_of(1).to_string(), "1970-01-02");
    }

    #[test]
    fn a_day_is_written_as_the_register_writes_it() {
        for (cell, expected) in [
            ("2023-01-05", Some("2023-01-05")),
            ("05/01/2023", Some("2023-01-05")),
            ("2023-01-05T00:00:00", Some("2023-01-05")),
            ("2023-01-05 00:00:00.000+00:00", Some("2023-01-05")),
            ("2023-01-05T08:00:00Z", Some("2023-01-05T08:00:00Z")),
            ("2023-01-04T23:00:00.000Z", Some("2023-01-05")),
            ("5.1.2023", Some("2023-01-05")),
            ("31/02/2023", None),
            ("", None),
        ] {
            let published = published_day(cell);
            assert_eq!(
                published.as_ref().map(|(_, text)| &**text),
                expected,
                "{cell}"
            );
        }
    }

    #[test]
    fn codes_get_their_zeros_back() {
        assert_eq!(code("69.0", 2), "69");
        assert_eq!(code("1", 2), "01");
        assert_eq!(code("1053", 5), "01053");
        assert_eq!(code("2A004", 5), "2A004");
        assert_eq!(code("971", 2), "971");
        assert_eq!(code("", 5), "");
        assert_eq!(code("0", 5), "0");
        assert_eq!(code("0", 2), "0");
        assert_eq!(padded("4", 3), "004");
        assert_eq!(padded("", 3), "");
    }

    #[test]
    fn zeros_at_the_end_of_typed_decimals_do_not_make_thousands() {
        for (number, expected) in [
            ("950.000", "950"),
            ("950.120", "950.12"),
            ("-0.500", "-0.5"),
            ("208000", "208000"),
            ("9.500e10", "9.500e10"),
            ("true", "true"),
        ] {
            assert_eq!(without_end_zeros(number), expected, "{number}");
        }
        assert_eq!(euros(without_end_zeros("950.000")), Some(950.0));
    }

    #[test]
    fn codes_of_places_lose_what_people_add() {
        for (cell, expected) in [
            ("1000", "01000"),
            ("1000.0", "01000"),
            ("1 000", "01000"),
            ("48\u{a0}000", "48000"),
            ("F-48000", "48000"),
            ("fr 1000", "01000"),
            ("2A004", "2A004"),
            ("48000 Mende", "48000 Mende"),
            ("Reze", "Reze"),
            ("0", "0"),
            ("", ""),
        ] {
            assert_eq!(place_code(cell), expected, "{cell}");
        }
    }

    #[test]
    fn names_match_in_any_spelling() {
        assert_eq!(
            plain_name("Coordonnée_cartographique_X_(BAN)"),
            "coordonnee_cartographique_x_ban"
        );
        assert_eq!(plain_name("B/T/Q"), "b_t_q");
        assert_eq!(plain_name("N°DPE"), "n_dpe");
        assert_eq!(
            without_accents("Vente en l’état futur"),
            "Vente en l'etat futur"
        );
    }
}
