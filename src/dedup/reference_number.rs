//! Digests of references, which keep the last number, so that consecutive references can be recognised.
//!
//! An agency numbers the homes that it offers. Two homes that it starts to sell on the same day, such as two flats of
//! one house, have consecutive references. Two agencies that sell one home hardly ever do.

use super::digest;

/// Bits of a digest that hold the end of the number.
const NUMBER_BITS: u32 = 24;
/// Mask of these bits.
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
/// Minimum digits of a number: shorter ones of two agencies are often close.
const DIGITS_MIN: usize = 3;
/// Maximum difference of consecutive numbers: an agency often starts to sell several homes at a time.
const DIFFERENCE_MAX: u64 = 5;

/// Returns the digest of the letters and digits of a reference, in lower case.
pub fn digest_of(characters: &[u8]) -> u64 {
    let last = characters.iter().rposition(u8::is_ascii_digit);
    let (until_number, after) = characters.split_at(last.map_or(0, |last| last + 1));
    let letter = until_number.iter().rposition(|byte| !byte.is_ascii_digit());
    let (before, digits) = until_number.split_at(letter.map_or(0, |letter| letter + 1));
    let number = digits.iter().fold(0u64, |number, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'))
    });
    // Equal letters with another short number have another digest, so that they are not consecutive.
    let own = if digits.len() < DIGITS_MIN {
        number
    } else {
        number >> NUMBER_BITS
    };
    let hashed = digest::with(digest::hash(before), digest::hash(after));
    let hashed = digest::with(digest::with(hashed, digits.len() as u64), own);
    (hashed & !NUMBER_MASK) | (number & NUMBER_MASK)
}

/// Returns whether two references differ only in their number, and by little.
pub fn are_consecutive(one: u64, other: u64) -> bool {
    let difference = (one & NUMBER_MASK).abs_diff(other & NUMBER_MASK);
    one & !NUMBER_MASK == other & !NUMBER_MASK && (1..=DIFFERENCE_MAX).contains(&difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_consecutive_if_only_their_last_number_differs_and_by_little() {
        let are = |one: &str, other: &str| {
            are_consecutive(digest_of(one.as_bytes()), digest_of(other.as_bytes()))
        };
        assert!(are("va4812", "va4813") && are("6138ms", "6141ms") && are("321", "322"));
        assert!(are("281474977329834", "281474977329837"));
        for (one, other) in [
            ("va4812", "va4812"),
            ("va4812", "va4912"),
            ("va4812", "vb4813"),
            ("6138ms", "6139fs"),
            ("t12", "t13"),
            ("999", "1000"),
        ] {
            assert!(!are(one, other), "{one} {other}");
        }
        assert_ne!(digest_of(b"va4812"), digest_of(b"4812va"));
        assert_ne!(digest_of(b"va4812"), digest_of(b"va04812"));
        assert_ne!(digest_of(b"t12"), digest_of(b"t13"));
    }
}
