//! Numbers of diagnostics: year, department, `E`, seven digits, a letter (`2231E0946648U`).

/// The number of a diagnostic, in ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CertificateNumber([u8; 13]);

impl CertificateNumber {
    /// The number of the diagnostic of this rank; unique for ranks below 260 million.
    pub fn of_rank(year: i32, department: &str, rank: u64) -> Self {
        // The multiplier and ten million are coprime, so ranks below ten million have distinct digits; above, the
        // letter differs.
        const CYCLE: u64 = 10_000_000;
        let digits = (rank % CYCLE * 7_654_321 + 946_648) % CYCLE;
        let letter = (digits / 7 + rank / CYCLE) % 26;
        Self::new(year, department, b'E', digits, letter)
    }

    /// A number that no diagnostic of the file has: from the series for new buildings.
    pub fn elsewhere(year: i32, department: &str, bits: u64) -> Self {
        Self::new(
            year,
            department,
            b'N',
            bits % 10_000_000,
            bits / 10_000_000 % 26,
        )
    }

    fn new(year: i32, department: &str, series: u8, digits: u64, letter: u64) -> Self {
        let mut number = *b"0000E0000000A";
        number[0] = b'0' + (year / 10 % 10) as u8;
        number[1] = b'0' + (year % 10) as u8;
        for (cell, byte) in number[2..4].iter_mut().zip(department.bytes()) {
            *cell = byte;
        }
        number[4] = series;
        let mut left = digits;
        for cell in number[5..12].iter_mut().rev() {
            *cell = b'0' + (left % 10) as u8;
            left /= 10;
        }
        number[12] = b'A' + (letter % 26) as u8;
        Self(number)
    }

    /// The thirteen characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
