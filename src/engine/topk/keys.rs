//! Converts sort values to 64-bit keys that keep their order; for texts, only the order of the first eight bytes.

/// Key of a missing value: after all others.
pub(super) const MISSING: u64 = u64::MAX;

/// Returns the sort key of a number in the given direction.
pub fn number_key(number: f64, descending: bool) -> u64 {
    let key = ordered(number);
    if descending { !key } else { key }
}

/// Returns the number that a key of [`number_key`] encodes.
pub fn number_of(key: u64, descending: bool) -> f64 {
    let key = if descending { !key } else { key };
    f64::from_bits(if key >> 63 == 0 {
        !key
    } else {
        key & !(1 << 63)
    })
}

/// Returns the order-preserving key of a number: the sign bit flipped for positives, all bits for negatives.
#[inline]
pub(super) fn ordered(number: f64) -> u64 {
    // Minus zero equals zero.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

/// Returns the order-preserving key of a day.
#[inline]
pub(super) fn day_key(day: i32) -> u64 {
    (i64::from(day) - i64::from(i32::MIN)) as u64 + 1
}

/// Returns the first eight bytes of a text as a key.
#[inline]
pub(super) fn text_key(text: &str) -> u64 {
    let mut first = [0u8; 8];
    for (to, from) in first.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_told_by_its_key(number in -1e12f64..1e12, descending: bool) {
            prop_assert_eq!(number_of(number_key(number, descending), descending), number);
        }

        #[test]
        fn keys_keep_the_order_of_numbers(a in -1e12f64..1e12, b in -1e12f64..1e12) {
            prop_assert_eq!(ordered(a).cmp(&ordered(b)), a.partial_cmp(&b).unwrap());
        }

        #[test]
        fn keys_keep_the_order_of_days(a: i32, b: i32) {
            prop_assert_eq!(day_key(a).cmp(&day_key(b)), a.cmp(&b));
        }

        #[test]
        fn keys_never_contradict_the_order_of_texts(a in "\\PC{0,12}", b in "\\PC{0,12}") {
            if text_key(&a) != text_key(&b) && !a.contains('\0') && !b.contains('\0') {
                prop_assert_eq!(text_key(&a).cmp(&text_key(&b)), a.cmp(&b));
            }
        }
    }
}
