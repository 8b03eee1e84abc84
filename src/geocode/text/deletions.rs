//! Finds names one edit away by symmetric deletion: two strings one edit apart become equal if at most one letter of
//! each is dropped.

/// Index of names by the digests of their forms with at most one letter dropped.
///
/// 40,000 names give half a million digests, 6 MB. Most texts are not near any name. A filter of one bit per digest,
/// 1 MiB, rules out a digest with one read.
#[derive(Default)]
pub struct Deletions {
    filter: Vec<u64>,
    /// Index of the first entry of each bucket.
    starts: Vec<u32>,
    /// Low 32 bits of the digest, and the number of the name.
    entries: Vec<(u32, u32)>,
}

impl Deletions {
    /// Number of digest bits that select the bit of the filter.
    const FILTER_BITS: u32 = 23;
    /// Number of digest bits that select the bucket.
    const BUCKET_BITS: u32 = 18;

    /// Creates the index from names and their numbers.
    pub fn new<'n>(names: impl Iterator<Item = (u32, &'n str)>) -> Self {
        let mut all = Vec::new();
        for (number, name) in names {
            each_deletion(name, |digest| all.push((digest, number)));
        }
        all.sort_unstable();
        all.dedup();
        let mut filter = vec![0; 1 << (Self::FILTER_BITS - 6)];
        let mut starts = vec![0; (1 << Self::BUCKET_BITS) + 1];
        for (digest, _) in &all {
            let bit = digest >> (64 - Self::FILTER_BITS);
            filter[(bit >> 6) as usize] |= 1_u64 << (bit & 63);
            starts[Self::bucket(*digest) + 1] += 1;
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        let entries = all.into_iter().map(|(digest, name)| (digest as u32, name));
        Self {
            filter,
            starts,
            entries: entries.collect(),
        }
    }

    fn bucket(digest: u64) -> usize {
        (digest >> (64 - Self::BUCKET_BITS)) as usize
    }

    /// Calls `each` with the numbers of names that may be one edit away from a text. Some numbers are repeated, and a
    /// few belong to other names whose digests collide.
    pub fn each_neighbour(&self, text: &str, mut each: impl FnMut(u32)) {
        each_deletion(text, |digest| self.each_name(digest, &mut each));
    }

    /// Calls `each` with the numbers of the names that have this digest.
    fn each_name(&self, digest: u64, mut each: impl FnMut(u32)) {
        let bit = digest >> (64 - Self::FILTER_BITS);
        if self.filter[(bit >> 6) as usize] & 1 << (bit & 63) == 0 {
            return;
        }
        let bucket = Self::bucket(digest);
        let range = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
        for (rest, name) in &self.entries[range] {
            if *rest == digest as u32 {
                each(*name);
            }
        }
    }
}

/// Calls `each` with the digest of a name, and with its digests without each of its letters.
///
/// The digest of a text is a polynomial of its bytes, so dropping a letter costs two multiplications.
fn each_deletion(name: &str, mut each: impl FnMut(u64)) {
    const BASE: u64 = 0x0100_0000_01b3;
    let mix = |sum: u64| {
        let sum = (sum ^ (sum >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (sum ^ (sum >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let value = |byte: &u8| u64::from(*byte) + 1;
    let whole = name.bytes().fold(0_u64, |sum, byte| {
        sum.wrapping_mul(BASE).wrapping_add(value(&byte))
    });
    each(mix(whole));
    // `after` is the sum of the bytes after the letter, `power` the factor of the sum before it.
    let (mut after, mut power) = (0_u64, 1_u64);
    let mut before = whole;
    // The base is odd, so dividing by it is multiplying by its inverse.
    let inverse = inverse(BASE);
    for byte in name.as_bytes().iter().rev() {
        before = before.wrapping_sub(value(byte)).wrapping_mul(inverse);
        each(mix(before.wrapping_mul(power).wrapping_add(after)));
        after = after.wrapping_add(power.wrapping_mul(value(byte)));
        power = power.wrapping_mul(BASE);
    }
}

/// Returns the inverse of an odd number modulo 2⁶⁴, by Newton's method.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut round = 0;
    while round < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_edit_of_a_name_shares_a_digest_with_it(name in "[a-e]{5,9}", at in 0_usize..5, letter in "[a-e]", edit in 0..3) {
            let mut other = name.clone();
            match edit {
                0 => other.insert_str(at, &letter),
                1 => other.replace_range(at..=at, ""),
                _ => other.replace_range(at..=at, &letter),
            }
            let digests = |text: &str| {
                let mut digests = Vec::new();
                each_deletion(text, |digest| digests.push(digest));
                digests
            };
            let (of_name, of_other) = (digests(&name), digests(&other));
            prop_assert!(of_name.iter().any(|digest| of_other.contains(digest)), "{} {}", name, other);
        }
    }
}
