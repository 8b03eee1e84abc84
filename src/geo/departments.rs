//! French departments: their codes, their order, and the department of a commune code.

/// Codes of the 101 departments in their official order.
pub const CODES: [&str; 101] = [
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16",
    "17", "18", "19", "21", "22", "23", "24", "25", "26", "27", "28", "29", "2A", "2B", "30", "31",
    "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46", "47",
    "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63",
    "64", "65", "66", "67", "68", "69", "70", "71", "72", "73", "74", "75", "76", "77", "78", "79",
    "80", "81", "82", "83", "84", "85", "86", "87", "88", "89", "90", "91", "92", "93", "94", "95",
    "971", "972", "973", "974", "976",
];

/// Rank of a department in the sort order of files, from 1; 0 for an unknown code.
pub fn rank(code: &str) -> u8 {
    CODES
        .iter()
        .position(|known| *known == code)
        .map_or(0, |index| index as u8 + 1)
}

/// The department of a commune code: its first two characters, three overseas. `None` for an unknown code.
pub fn for_commune(insee_code: &str) -> Option<&'static str> {
    let length = if insee_code.starts_with("97") { 3 } else { 2 };
    let prefix = insee_code.get(..length)?;
    CODES.iter().find(|known| **known == prefix).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communes_name_their_department() {
        assert_eq!(for_commune("2A004"), Some("2A"));
        assert_eq!(for_commune("97411"), Some("974"));
        assert_eq!(for_commune("75113"), Some("75"));
        assert_eq!(for_commune("X"), None);
    }
}
