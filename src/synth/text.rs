//! Writes CSV cells directly into a byte buffer: no allocation per cell, no float formatting.

/// A CSV line under construction at the end of a buffer.
pub struct CsvLine<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> CsvLine<'a> {
    /// Starts a line.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, first: true }
    }

    /// Starts a cell and returns the buffer to write it into; the content must not need quoting.
    pub fn cell(&mut self) -> &mut Vec<u8> {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.out
    }

    /// An empty cell.
    pub fn empty(&mut self) {
        self.cell();
    }

    /// A text, quoted if CSV requires it.
    pub fn text(&mut self, text: &str) {
        push_text(self.cell(), text);
    }

    /// An integer.
    pub fn integer(&mut self, value: i64) {
        push_integer(self.cell(), value);
    }

    /// An integer, or an empty cell.
    pub fn integer_or_empty(&mut self, value: Option<i64>) {
        let out = self.cell();
        if let Some(value) = value {
            push_integer(out, value);
        }
    }

    /// A number with at most `decimals` decimals, without trailing zeros.
    pub fn number(&mut self, value: f64, decimals: u32) {
        push_number(self.cell(), value, decimals);
    }

    /// Ends the line.
    pub fn end(self) {
        self.out.push(b'\n');
    }
}

/// Appends a text, quoted if it contains a comma, a quote or a line break.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    if text
        .bytes()
        .any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
    {
        out.push(b'"');
        for byte in text.bytes() {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends an integer.
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_digits(out, value.unsigned_abs(), 1);
}

/// Appends an integer with leading zeros up to `width` digits (at most 20).
pub fn push_digits(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while value > 0 {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    let start = start.min(digits.len() - width.min(digits.len()));
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number rounded to `decimals` decimals, without trailing zeros.
pub fn push_number(out: &mut Vec<u8>, value: f64, decimals: u32) {
    let scale = 10u64.pow(decimals);
    let scaled = (value.abs() * scale as f64).round() as u64;
    if value < 0.0 && scaled > 0 {
        out.push(b'-');
    }
    push_digits(out, scaled / scale, 1);
    let mut fraction = scaled % scale;
    if fraction > 0 {
        let mut width = decimals as usize;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        out.push(b'.');
        push_digits(out, fraction, width);
    }
}

/// A calendar day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(
    /// Days since 1970-01-01.
    pub i32,
);

impl Day {
    /// Returns the first day of a month.
    pub fn first_of(year: i32, month: u32) -> Self {
        // Howard Hinnant's days_from_civil, for the first of the month.
        let shifted_year = if month <= 2 { year - 1 } else { year };
        let era = shifted_year.div_euclid(400);
        let year_of_era = shifted_year.rem_euclid(400);
        let day_of_year = (153 * ((month as i32 + 9) % 12) + 2) / 5;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Self(era * 146_097 + day_of_era - 719_468)
    }

    /// Year, month (from 1) and day of the month.
    pub fn civil(self) -> (i32, u32, u32) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        } as u32;
        let year = year_of_era + era * 400 + i32::from(month <= 2);
        (year, month, day)
    }

    /// Day of the week, from 0 for Monday.
    pub fn weekday(self) -> usize {
        (self.0 + 3).rem_euclid(7) as usize
    }

    /// Appends `YYYY-MM-DD`.
    pub fn push(self, out: &mut Vec<u8>) {
        let (year, month, day) = self.civil();
        push_digits(out, u64::from(year.unsigned_abs()), 4);
        out.push(b'-');
        push_digits(out, u64::from(month), 2);
        out.push(b'-');
        push_digits(out, u64::from(day), 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_trailing_zeros() {
        let mut out = Vec::new();
        let mut cells = CsvLine::new(&mut out);
        cells.number(48.8566, 6);
        cells.number(-0.50, 2);
        cells.number(120.0, 2);
        cells.number(3.04, 2);
        cells.text("3, rue");
        cells.integer_or_empty(None);
        cells.integer(-7);
        cells.end();
        assert_eq!(out, b"48.8566,-0.5,120,3.04,\"3, rue\",,-7\n");
    }

    #[test]
    fn days_agree_with_the_calendar() {
        let day = Day(Day::first_of(2024, 2).0 + 28);
        assert_eq!(day.civil(), (2024, 2, 29));
        assert_eq!(day.weekday(), 3);
        assert_eq!(Day::first_of(1970, 1), Day(0));
    }
}
