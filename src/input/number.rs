//! Reads numbers as people and programs write them: `1 234,5`, `1.234,50`, `1 234.5`, `245'000`.
//!
//! A single comma or point may mark decimals or thousands. It marks decimals, unless exactly three digits follow it and
//! the caller knows that the column uses the other mark for decimals, or that its values have no third decimal.

use crate::day::{is_month_first, month_first_reason};
use crate::form::FileForm;

/// Meaning of a lone separator followed by exactly three digits: `1.200`, `245,000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoneSeparator {
    /// Decimals, as in CSV files of programs.
    Decimals,
    /// Thousands: amounts of money never have three decimals.
    Thousands,
    /// The point marks thousands and the comma decimals: the column has French decimals elsewhere.
    French,
    /// The comma marks thousands and the point decimals.
    English,
    /// Both are possible, so there is no number.
    Unknown,
}

/// Reads a cell that is one number; `None` for any other text, and for a number that remains ambiguous.
///
/// Spaces of all kinds and apostrophes may group thousands. Units are not accepted; callers remove them.
pub fn read(cell: &str, lone: LoneSeparator) -> Option<f64> {
    let cell = cell.trim();
    let text = normalised(cell, lone)?;
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Returns a cell in the notation of programs, with a point for decimals and without groups of thousands; `None` if it
/// is not a number or is ambiguous.
pub fn normalised(cell: &str, lone: LoneSeparator) -> Option<String> {
    let cell = cell.trim();
    let (mut commas, mut points, mut digits) = (0, 0, 0);
    let mut last = None;
    // Number of digits since the last space; there must be three.
    let mut group: Option<usize> = None;
    let mut text = String::with_capacity(cell.len());
    for character in cell.chars() {
        match character {
            ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}' => {
                let follows_digit = text.ends_with(|before: char| before.is_ascii_digit());
                if !follows_digit || last.is_some() || group.is_some_and(|digits| digits != 3) {
                    return None;
                }
                group = Some(0);
                continue;
            }
            ',' => commas += 1,
            '.' => points += 1,
            '0'..='9' => {
                digits += 1;
                if last.is_none() {
                    group = group.map(|digits| digits + 1);
                }
            }
            '\u{2212}' => {
                text.push('-');
                continue;
            }
            '-' | '+' | 'e' | 'E' => {}
            _ => return None,
        }
        if matches!(character, ',' | '.') {
            last = Some((character, text.len()));
        }
        text.push(character);
    }
    if digits == 0 || group.is_some_and(|digits| digits != 3) {
        return None;
    }
    let Some((sign, at)) = last else {
        return Some(text);
    };
    let after = text[at + 1..].len();
    let decimal = match (commas, points) {
        // If both marks occur, the last one marks decimals and must occur once.
        (1, 1) => Some(sign),
        (1, _) if sign == ',' && points > 1 => Some(','),
        (_, 1) if sign == '.' && commas > 1 => Some('.'),
        // Several separators of one kind group thousands.
        (0, 2..) | (2.., 0) => None,
        (1, 0) | (0, 1) => {
            let is_group = after == 3 && text[at + 1..].bytes().all(|byte| byte.is_ascii_digit());
            // `0,245` and `,500` cannot be groups, and neither can more than three digits before the separator.
            let before = text[..at].trim_start_matches(['-', '+']);
            let may_group = is_group && (1..=3).contains(&before.len()) && !before.starts_with('0');
            match (may_group, lone) {
                (false, _) | (true, LoneSeparator::Decimals) => Some(sign),
                (true, LoneSeparator::Thousands) => None,
                (true, LoneSeparator::French) => (sign == ',').then_some(sign),
                (true, LoneSeparator::English) => (sign == '.').then_some(sign),
                (true, LoneSeparator::Unknown) => return None,
            }
        }
        _ => return None,
    };
    if decimal != Some(sign) || commas + points > 1 {
        let whole = decimal.map_or(text.as_str(), |_| &text[..at]);
        if !is_grouped(whole) {
            return None;
        }
    }
    let mut plain = String::with_capacity(text.len());
    for (place, character) in text.char_indices() {
        match character {
            ',' | '.' if decimal.is_some() && place == at => plain.push('.'),
            ',' | '.' => {}
            character => plain.push(character),
        }
    }
    Some(plain)
}

/// Returns whether the separators of a whole number stand before groups of three digits.
fn is_grouped(whole: &str) -> bool {
    let mut groups = whole.trim_start_matches(['-', '+']).split([',', '.']);
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// Evidence of how a column writes decimals, collected over its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecimalEvidence {
    /// Cells whose comma can only mark decimals.
    pub commas: u64,
    /// Cells whose point can only mark decimals.
    pub points: u64,
}

impl DecimalEvidence {
    /// Adds a cell as evidence if it begins with a number whose last separator certainly marks decimals, or certainly
    /// marks thousands.
    pub fn observe(&mut self, cell: &str) {
        let cell = cell.trim();
        let Some(at) = cell.rfind([',', '.']) else {
            return;
        };
        let sign = cell.as_bytes()[at];
        let before = cell[..at].trim_start_matches(['-', '+']);
        let digits = cell[at + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let is_number =
            before.is_empty() || before.starts_with(|character: char| character.is_ascii_digit());
        if !is_number || digits == 0 {
            return;
        }
        let repeats = before.bytes().any(|byte| byte == sign);
        if repeats && (digits != 3 || !is_grouped(before)) {
            return;
        }
        // A zero or more than three digits cannot precede a group of thousands.
        let is_certain = digits != 3
            || before.is_empty()
            || before.starts_with('0')
            || before.contains([',', '.'])
            || before.len() > 3 && before.bytes().all(|byte| byte.is_ascii_digit());
        if !is_certain {
            return;
        }
        // A mark that repeats separates thousands, so the other one marks decimals.
        if (sign == b',') != repeats {
            self.commas += 1;
        } else {
            self.points += 1;
        }
    }

    /// Returns the decimal mark; `None` if there is no evidence or evidence for both.
    pub fn mark(self) -> Option<char> {
        match self.lone_separator() {
            LoneSeparator::French => Some(','),
            LoneSeparator::English => Some('.'),
            _ => None,
        }
    }

    /// Returns what a lone separator before three digits means in this column.
    pub fn lone_separator(self) -> LoneSeparator {
        match (self.commas, self.points) {
            (0, 0) => LoneSeparator::Unknown,
            (commas, 0) if commas > 0 => LoneSeparator::French,
            (0, _) => LoneSeparator::English,
            _ => LoneSeparator::Unknown,
        }
    }
}

impl std::iter::Sum for DecimalEvidence {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            commas: sum.commas + one.commas,
            points: sum.points + one.points,
        })
    }
}

/// Evidence of how the columns of a file write decimals, collected over all its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDecimals {
    columns: Vec<DecimalEvidence>,
    is_spreadsheet: bool,
    /// Why the days of a column cannot be read, if one has the month before the day.
    month_first: Option<String>,
}

impl FileDecimals {
    /// Creates the evidence for a number of columns. In a spreadsheet, a point is not evidence: numeric cells are
    /// always written with one, however people write numbers.
    pub fn new(columns: usize, form: &FileForm) -> Self {
        Self {
            columns: vec![DecimalEvidence::default(); columns],
            is_spreadsheet: form.is_spreadsheet(),
            month_first: None,
        }
    }

    /// Adds a cell of a column as evidence.
    pub fn observe(&mut self, column: usize, cell: &str) {
        if self.is_spreadsheet && !cell.contains(',') {
            return;
        }
        if let Some(evidence) = self.columns.get_mut(column) {
            evidence.observe(cell);
        }
    }

    /// Takes a cell of a named column of days into account.
    pub fn observe_day(&mut self, column: &str, cell: &str) {
        if self.month_first.is_none() && is_month_first(cell) {
            self.month_first = Some(format!("{column}: {}", month_first_reason(cell)));
        }
    }

    /// Returns why the days of a column cannot be read, if one has the month before the day.
    pub fn month_first(&self) -> Option<&str> {
        self.month_first.as_deref()
    }

    /// Returns what a lone separator before three digits means in a column, from the evidence of the column, or
    /// otherwise of the whole file.
    pub fn lone_separator(&self, column: usize) -> LoneSeparator {
        match self.columns.get(column) {
            Some(own) if *own != DecimalEvidence::default() => own.lone_separator(),
            _ => self.of_file().lone_separator(),
        }
    }

    /// Returns the decimal mark in the file; `None` if there is no evidence or evidence for both.
    pub fn mark(&self) -> Option<char> {
        self.of_file().mark()
    }

    fn of_file(&self) -> DecimalEvidence {
        self.columns.iter().copied().sum()
    }
}

/// Returns whether a cell is a number that can be read in two ways, such as `1.200`.
pub fn has_two_readings(cell: &str) -> bool {
    read(cell, LoneSeparator::Unknown).is_none()
        && read(cell, LoneSeparator::Thousands).is_some()
        && read(cell, LoneSeparator::Decimals).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_in_every_usual_notation() {
        for (cell, expected) in [
            ("1234.5", 1234.5),
            ("1 234,5", 1234.5),
            ("1\u{202f}234,50", 1234.5),
            ("1.234,50", 1234.5),
            ("1,234.50", 1234.5),
            ("1.234.567", 1_234_567.0),
            ("1,234,567.8", 1_234_567.8),
            ("245'000", 245_000.0),
            ("0,245", 0.245),
            ("-3,5", -3.5),
            ("\u{2212}3", -3.0),
            ("3e2", 300.0),
            (",5", 0.5),
            ("43,125", 43.125),
            ("1250.000", 1250.0),
        ] {
            assert_eq!(
                read(cell, LoneSeparator::Decimals),
                Some(expected),
                "{cell}"
            );
        }
        for cell in [
            "", "abc", "1,2,3", "1.23.4", "12 m2", "-", "1,2.3,4", "2024-01-05", "NaN",
            "06 12 34 56 78", "1 2",
        ] {
            assert_eq!(read(cell, LoneSeparator::Decimals), None, "{cell}");
        }
    }

    #[test]
    fn three_digits_after_a_lone_separator_are_read_by_the_column() {
        let cells = ["1.200", "245,000"];
        let all = |lone| cells.map(|cell| read(cell, lone));
        assert_eq!(all(LoneSeparator::Decimals), [Some(1.2), Some(245.0)]);
        assert_eq!(
            all(LoneSeparator::Thousands),
            [Some(1_200.0), Some(245_000.0)]
        );
        assert_eq!(all(LoneSeparator::French), [Some(1_200.0), Some(245.0)]);
        assert_eq!(all(LoneSeparator::English), [Some(1.2), Some(245_000.0)]);
        assert_eq!(all(LoneSeparator::Unknown), [None, None]);
        assert_eq!(read("0,245", LoneSeparator::Thousands), Some(0.245));
    }

    #[test]
    fn a_column_shows_how_it_writes_decimals() {
        let of = |cells: &[&str]| {
            let mut evidence = DecimalEvidence::default();
            cells.iter().for_each(|cell| evidence.observe(cell));
            evidence.lone_separator()
        };
        assert_eq!(of(&["1.200", "65,5"]), LoneSeparator::French);
        assert_eq!(of(&["1,200", "65.5", "12"]), LoneSeparator::English);
        assert_eq!(of(&["1.200", "12"]), LoneSeparator::Unknown);
        assert_eq!(of(&["1,5", "1.5"]), LoneSeparator::Unknown);
        assert_eq!(of(&["1.234,50"]), LoneSeparator::French);
        assert_eq!(of(&["1.234.567", "1.200 m²"]), LoneSeparator::French);
        assert_eq!(of(&["65,5 m²", "1.200 m²"]), LoneSeparator::French);
        assert_eq!(of(&["1234.567"]), LoneSeparator::English);
        assert_eq!(of(&["31.12.2024", "10.0.0.1"]), LoneSeparator::Unknown);
    }

    #[test]
    fn a_column_that_does_not_tell_is_read_like_the_others_of_the_file() {
        let mut file = FileDecimals::new(3, &FileForm::default());
        file.observe(0, "1.200");
        file.observe(1, "65,5");
        assert_eq!(file.lone_separator(0), LoneSeparator::French);
        assert_eq!(file.mark(), Some(','));
        file.observe(2, "48.85");
        assert_eq!(file.lone_separator(0), LoneSeparator::Unknown);
        assert_eq!(file.lone_separator(1), LoneSeparator::French);
        assert_eq!(file.mark(), None);
        assert!(has_two_readings("1.200") && has_two_readings("12,345"));
        assert!(!has_two_readings("1.20") && !has_two_readings("0.200") && !has_two_readings("x"));
    }

    proptest! {
        #[test]
        fn a_number_survives_its_notations(number in 0u32..2_000_000_000, cents in 0u32..100) {
            let expected = f64::from(number) + f64::from(cents) / 100.0;
            let digits = number.to_string();
            let mut groups: Vec<String> = Vec::new();
            let mut rest = digits.as_str();
            while rest.len() > 3 {
                let (head, tail) = rest.split_at(rest.len() - 3);
                groups.insert(0, tail.into());
                rest = head;
            }
            groups.insert(0, rest.into());
            for (group, decimal) in [(" ", ","), (".", ","), (",", "."), ("\u{a0}", "."), ("'", "."), ("", ",")] {
                let cell = format!("{}{decimal}{cents:02}", groups.join(group));
                let read = read(&cell, LoneSeparator::Decimals);
                prop_assert!(read.is_some_and(|read| (read - expected).abs() < 1e-6), "{} {:?}", cell, read);
            }
        }
    }
}
