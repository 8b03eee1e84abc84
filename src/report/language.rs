//! The two languages of reports: how each writes prices, numbers and days.

use chrono::{Datelike, NaiveDate};

toise_base::named! {
    /// A language.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Language {
        /// French.
        #[default]
        French = "fr",
        /// English.
        English = "en",
    }
}

/// Narrow no-break space, between groups of digits.
const GROUP_SPACE: char = '\u{202f}';
/// No-break space, before units.
const UNIT_SPACE: char = '\u{a0}';

impl Language {
    /// Returns the text of the language.
    pub fn choose<T>(self, french: T, english: T) -> T {
        match self {
            Self::French => french,
            Self::English => english,
        }
    }

    /// Writes a number with groups of three digits.
    pub fn number(self, value: f64, decimals: usize) -> String {
        let text = format!("{:.decimals$}", value.abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let mut grouped = String::new();
        for (place, digit) in whole.chars().enumerate() {
            if place > 0 && (whole.len() - place).is_multiple_of(3) {
                grouped.push(self.choose(GROUP_SPACE, ','));
            }
            grouped.push(digit);
        }
        if !fraction.is_empty() {
            grouped.push(self.choose(',', '.'));
            grouped.push_str(fraction);
        }
        let is_zero = text.chars().all(|char| matches!(char, '0' | '.'));
        let sign = if value < 0.0 && !is_zero { "−" } else { "" };
        format!("{sign}{grouped}")
    }

    /// Writes euros.
    pub fn euros(self, eur: f64) -> String {
        let number = self.number(eur, 0);
        match (self, number.strip_prefix('−')) {
            (Self::French, _) => format!("{number}{UNIT_SPACE}€"),
            (Self::English, None) => format!("€{number}"),
            (Self::English, Some(amount)) => format!("−€{amount}"),
        }
    }

    /// Writes euros with a sign, including a plus sign.
    pub fn change(self, eur: f64) -> String {
        let text = self.euros(eur);
        if eur > 0.0 { format!("+{text}") } else { text }
    }

    /// Writes euros per square metre.
    pub fn euros_per_m2(self, eur: f64) -> String {
        format!("{}/m²", self.euros(eur))
    }

    /// Writes a number with its unit.
    pub fn measure(self, value: f64, decimals: usize, unit: &str) -> String {
        format!("{}{UNIT_SPACE}{unit}", self.number(value, decimals))
    }

    /// Writes a surface, with a decimal only if it has one.
    pub fn surface(self, m2: f64) -> String {
        let decimals = usize::from((m2 * 10.0).round() % 10.0 != 0.0);
        self.measure(m2, decimals, "m²")
    }

    /// Writes a distance in metres, or in kilometres from one kilometre.
    pub fn distance(self, metres: f64) -> String {
        if metres < 999.5 {
            self.measure(metres, 0, "m")
        } else {
            self.measure(metres / 1_000.0, 1, "km")
        }
    }

    /// Writes a day in figures.
    pub fn day(self, day: NaiveDate) -> String {
        self.choose(day.format("%d/%m/%Y"), day.format("%d %b %Y"))
            .to_string()
    }

    /// Writes a day with the name of its month.
    pub fn long_day(self, date: NaiveDate) -> String {
        const MONTHS: [&str; 12] = [
            "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
            "octobre", "novembre", "décembre",
        ];
        match self {
            Self::English => date.format("%-d %B %Y").to_string(),
            Self::French => {
                let month = MONTHS[date.month0() as usize];
                let day = match date.day() {
                    1 => "1er".to_owned(),
                    day => day.to_string(),
                };
                format!("{day} {month} {}", date.year())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_each_language_does() {
        let (fr, en) = (Language::French, Language::English);
        assert_eq!(fr.euros(1_234_567.4), "1\u{202f}234\u{202f}567\u{a0}€");
        assert_eq!(en.euros(1_234_567.4), "€1,234,567");
        assert_eq!(en.euros(-950.0), "−€950");
        assert_eq!(fr.change(1_500.0), "+1\u{202f}500\u{a0}€");
        assert_eq!(fr.number(-0.2, 0), "0");
        assert_eq!(fr.surface(52.5), "52,5\u{a0}m²");
        assert_eq!(en.surface(52.0), "52\u{a0}m²");
        assert_eq!(fr.distance(999.0), "999\u{a0}m");
        assert_eq!(en.distance(1_250.0), "1.2\u{a0}km");
    }

    #[test]
    fn days_are_written_as_each_language_does() {
        let day = NaiveDate::from_ymd_opt(2026, 8, 1).unwrap();
        assert_eq!(Language::French.long_day(day), "1er août 2026");
        assert_eq!(Language::English.long_day(day), "1 August 2026");
        assert_eq!(Language::French.day(day), "01/08/2026");
    }
}
