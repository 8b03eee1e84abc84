//! Reads cells that hold only a number and its unit: amounts of money and areas.

use std::borrow::Cow;

use crate::number::{self, LoneSeparator};

/// The quantity that the numbers of a column measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Amounts of money.
    Amount,
    /// Areas in square metres.
    Area,
    /// Degrees, which have many decimals.
    Degrees,
    /// Days, which are not numbers: only the order of day and month is examined.
    Day,
    /// Other numbers.
    Plain,
}

impl NumberKind {
    /// Returns the kind of a field by its name.
    pub fn of_field(name: &str) -> Self {
        if name.ends_with("_eur") {
            Self::Amount
        } else if name.contains("date") {
            Self::Day
        } else if name.contains("surface") {
            Self::Area
        } else if ["lat", "lon", "latitude", "longitude"].contains(&name) {
            Self::Degrees
        } else {
            Self::Plain
        }
    }
}

/// Error of a cell that can be read as two different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoReadings;

/// Returns a cell of a number column in the notation of programs, or unchanged if it is not a number. `lone` is the
/// meaning of a lone separator before three digits in the column. It is not used for amounts, which have no third
/// decimal.
///
/// # Errors
/// The cell can be read in two ways, and the column does not show which is meant.
pub fn plain(
    cell: &str,
    kind: NumberKind,
    lone: LoneSeparator,
) -> Result<Cow<'_, str>, TwoReadings> {
    let is_plain = |character: char| character.is_ascii_digit() || matches!(character, '-' | '+');
    if matches!(kind, NumberKind::Degrees | NumberKind::Day) || cell.chars().all(is_plain) {
        return Ok(Cow::Borrowed(cell));
    }
    let read = |lone| match kind {
        NumberKind::Amount => euros(cell, None),
        NumberKind::Area => square_metres(cell, Some(lone)),
        NumberKind::Degrees | NumberKind::Day | NumberKind::Plain => number::read(cell, lone),
    };
    match read(lone) {
        Some(number) => Ok(Cow::Owned(number.to_string())),
        None if read(LoneSeparator::Decimals).is_some() => Err(TwoReadings),
        None => Ok(Cow::Borrowed(cell)),
    }
}

/// Square metres of an are.
const ARE: f64 = 100.0;
/// Square metres of a hectare.
const HECTARE: f64 = 10_000.0;

/// Reads an amount in euros: `245 000 €`, `€245,000`, `245k`, `0,245 M€`, `245.000 EUR`; `None` for any other text.
///
/// Without `lone`, a lone separator before three digits groups thousands, because amounts have no third decimal. Before
/// `k` and `M` it always marks decimals.
pub fn euros(cell: &str, lone: Option<LoneSeparator>) -> Option<f64> {
    let cell = without_note(cell);
    let lower = cell.to_lowercase();
    let mut text = lower.trim_start_matches('€').trim_start();
    for unit in ["€", "euros", "euro", "eur"] {
        if let Some(rest) = text.strip_suffix(unit) {
            text = rest.trim_end();
            break;
        }
    }
    let has_unit = text.len() < lower.len();
    for (suffix, factor) in [("millions", 1e6), ("million", 1e6), ("m", 1e6), ("k", 1e3)] {
        if let Some(rest) = text.strip_suffix(suffix) {
            // `245 m` is a length, and only `245 M€` or `245M` an amount.
            let is_length = suffix == "m" && !has_unit && !cell.ends_with('M');
            let number = number::read(trimmed(rest), LoneSeparator::Decimals)?;
            return (!is_length).then_some(number * factor);
        }
    }
    number::read(text, lone.unwrap_or(LoneSeparator::Thousands))
}

/// Names and symbols of currencies, in lower case, besides codes of three letters.
const OTHER_CURRENCIES: [&str; 13] = [
    "$", "£", "¥", "f", "ff", "fr", "fr.", "franc", "francs", "dollar", "dollars", "fcfa",
    "roupies",
];

/// Returns whether a cell of a column of currencies names one other than the euro: `CHF`, `$`, `francs`.
pub fn is_other_currency(cell: &str) -> bool {
    let lower = cell.trim().to_lowercase();
    let is_code = lower.len() == 3 && lower.bytes().all(|byte| byte.is_ascii_lowercase());
    is_code && lower != "eur" || OTHER_CURRENCIES.contains(&lower.as_str())
}

/// Reads an area in square metres: `65,5 m²`, `1 ha 20 a 35 ca`, `1,2 ha`, `3 ares`, `1 200 m² env.`; `None` for any other
/// text.
///
/// Without a unit, a lone point before three digits marks decimals, as programs write them. With a unit, a lone
/// separator before three digits has the meaning `lone`; without `lone` it is ambiguous, so there is no area.
pub fn square_metres(cell: &str, lone: Option<LoneSeparator>) -> Option<f64> {
    let lower = without_note(cell).to_lowercase();
    let text = ["environ", "env.", "env", "approx.", "ca."]
        .iter()
        .find_map(|word| lower.strip_suffix(word))
        .map_or(lower.as_str(), trimmed);
    if text.ends_with(|character: char| character.is_ascii_digit()) && !text.ends_with("m2") {
        let usual = if text.contains(',') {
            LoneSeparator::Unknown
        } else {
            LoneSeparator::Decimals
        };
        return number::read(text, lone.unwrap_or(usual));
    }
    let mut rest = text;
    let mut area = 0.0;
    let mut smallest = f64::INFINITY;
    while !rest.is_empty() {
        let end = rest.find(|character: char| character.is_alphabetic())?;
        let (amount, after) = rest.split_at(end);
        let unit_end = after
            .find(|character: char| {
                !character.is_alphabetic() && !matches!(character, '2' | '²' | '.')
            })
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let factor = match unit.trim_end_matches('.') {
            "m2" | "m²" | "m" | "mètres" | "metres" | "ca" | "centiare" | "centiares" => 1.0,
            "a" | "are" | "ares" => ARE,
            "ha" | "hectare" | "hectares" => HECTARE,
            _ => return None,
        };
        // Units follow one another from large to small.
        if factor >= smallest {
            return None;
        }
        smallest = factor;
        let lone = lone.unwrap_or(if factor == 1.0 {
            LoneSeparator::Unknown
        } else {
            LoneSeparator::Decimals
        });
        area += number::read(trimmed(amount), lone)? * factor;
        rest = trimmed(after);
    }
    smallest.is_finite().then_some(area)
}

/// Signs between two areas of one cell.
const AREA_SEPARATORS: [char; 4] = ['/', '|', ';', '('];

/// Reads a cell with two areas, each with its unit, in square metres: `86 m² (165 m²)`, `25 m²/ 110 m²`; `None` for any
/// other text. `lone` is that of [`square_metres`].
pub fn two_areas(cell: &str, lone: Option<LoneSeparator>) -> Option<(f64, f64)> {
    let has_unit = |text: &str| text.chars().any(char::is_alphabetic);
    let (first, second) = cell.split_once(AREA_SEPARATORS)?;
    let second = trimmed(second).trim_end_matches(')');
    if !has_unit(first) || !has_unit(second) {
        return None;
    }
    Some((square_metres(first, lone)?, square_metres(second, lone)?))
}

/// Removes the marks of footnotes from the end, as in `9 200 €*`, and spaces from both ends.
fn without_note(cell: &str) -> &str {
    trimmed(trimmed(cell).trim_end_matches(['*', '†', '‡']))
}

/// Removes spaces of all kinds from both ends.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_in_every_usual_notation() {
        for cell in [
            "245 000 €",
            "245\u{202f}000 €",
            "245'000 €",
            "245.000 €",
            "245,000 €",
            "€245,000",
            "245000.00",
            "245 000,00 EUR",
            "0,245 M€",
            "245k",
            "245 K€",
            "245 000",
            "0.245 M",
            "245 000 €*",
            "245 000 € **",
        ] {
            assert_eq!(euros(cell, None), Some(245_000.0), "{cell}");
        }
        assert_eq!(euros("1.234.567 €", None), Some(1_234_567.0));
        assert_eq!(euros("1,5 million", None), Some(1_500_000.0));
        for cell in [
            "",
            "245 m",
            "2 45000",
            "245 000 € 230 000 €",
            "prix : nous consulter",
            "1 200 € CC",
        ] {
            assert_eq!(euros(cell, None), None, "{cell}");
        }
    }

    #[test]
    fn a_cell_is_read_as_its_column_is_written_or_not_at_all() {
        use LoneSeparator::{English, French, Unknown};
        use NumberKind::{Amount, Area, Degrees, Plain};
        for (cell, kind, lone, expected) in [
            ("1.200", Area, French, Ok("1200")),
            ("1.200 m²", Area, French, Ok("1200")),
            ("1.200", Area, English, Ok("1.2")),
            ("1.200", Area, Unknown, Err(TwoReadings)),
            ("1,200 m²", Area, Unknown, Err(TwoReadings)),
            ("65,5 m²", Area, Unknown, Ok("65.5")),
            ("245.000 €", Amount, Unknown, Ok("245000")),
            ("0,245 M€", Amount, English, Ok("245000")),
            ("5.916", Degrees, French, Ok("5.916")),
            ("1 234,5", Plain, Unknown, Ok("1234.5")),
            ("1.200", Plain, Unknown, Err(TwoReadings)),
            ("65", Plain, Unknown, Ok("65")),
            ("RDC", Plain, Unknown, Ok("RDC")),
            ("", Area, Unknown, Ok("")),
        ] {
            let found = plain(cell, kind, lone);
            assert_eq!(
                found.as_deref(),
                expected.as_ref().map(|text| *text),
                "{cell}"
            );
        }
    }

    #[test]
    fn another_currency_is_told_from_the_euro() {
        for cell in ["CHF", " usd ", "$", "FF", "francs", "XPF"] {
            assert!(is_other_currency(cell), "{cell}");
        }
        for cell in ["", "EUR", "eur", "€", "Euro", "euros", "1", "978"] {
            assert!(!is_other_currency(cell), "{cell}");
        }
    }

    #[test]
    fn two_areas_are_read_only_if_both_have_a_unit() {
        for (cell, expected) in [
            ("25 m²/ 110 m²", (25.0, 110.0)),
            ("86 m² (165 m²)", (86.0, 165.0)),
            ("86,5 m² | 1,2 ha", (86.5, 12_000.0)),
        ] {
            assert_eq!(two_areas(cell, None), Some(expected), "{cell}");
        }
        for cell in [
            "86 m²",
            "3/5",
            "86 m² (environ)",
            "5 800 €/m²",
            "86 / 165 m²",
        ] {
            assert_eq!(two_areas(cell, None), None, "{cell}");
        }
    }

    #[test]
    fn areas_are_read_with_their_units() {
        for (cell, expected) in [
            ("1 ha 20 a 35 ca", 12_035.0),
            ("12a 35ca", 1_235.0),
            ("1,2 ha", 12_000.0),
            ("1200 m2", 1_200.0),
            ("3 ares", 300.0),
            ("1 200 m² env.", 1_200.0),
            ("0,5 hectare", 5_000.0),
            ("65,5 m²", 65.5),
            ("65,5 m²*", 65.5),
            ("65,5", 65.5),
            ("65.125", 65.125),
            ("1,250 ha", 12_500.0),
        ] {
            assert_eq!(square_metres(cell, None), Some(expected), "{cell}");
        }
        assert_eq!(
            square_metres("1.200 m²", Some(LoneSeparator::French)),
            Some(1_200.0)
        );
        for cell in [
            "",
            "1.200 m²",
            "1,200",
            "m²",
            "20 a 1 ha",
            "65 m² + 12 m²",
            "65 pieds",
        ] {
            assert_eq!(square_metres(cell, None), None, "{cell}");
        }
    }
}
