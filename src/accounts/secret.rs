//! The text of a key: a prefix that identifies toise, 256 random bits, and a checksum.
//!
//! `toise_live_` or `toise_test_`, then 43 random letters and digits, then 6 checksum characters. Scanners recognise
//! leaked keys by the prefix, and thanks to the checksum a mistyped key is rejected without a read of the store. Only
//! the SHA-256 is stored: 256 random bits do not need a slower hash.

use rand::distr::{Alphanumeric, SampleString};
use sha2::{Digest, Sha256};

use super::key::{KeyHash, KeyKind};

const LIVE_PREFIX: &str = "toise_live_";
const TEST_PREFIX: &str = "toise_test_";
/// Random characters in a key: 62^43 > 2^256.
const RANDOM_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Generates the text of a new key.
fn generate(kind: KeyKind) -> String {
    let prefix = match kind {
        KeyKind::Production => LIVE_PREFIX,
        KeyKind::Test => TEST_PREFIX,
    };
    // The thread's generator is ChaCha, seeded and reseeded from the operating system.
    let random = Alphanumeric.sample_string(&mut rand::rng(), RANDOM_CHARS);
    let body = format!("{prefix}{random}");
    let check = checksum(&body);
    body + &check
}

/// Generates the text of a new key, and the hash to store.
pub fn generate_with_hash(kind: KeyKind) -> (String, KeyHash) {
    let key = generate(kind);
    let hash = Sha256::digest(&key).into();
    (key, hash)
}

/// Random characters at the end of the shown prefix: too few to guess the rest, enough to distinguish keys.
const SHOWN_CHARS: usize = 4;

/// Returns the beginning of a key's text, which may be shown.
pub(super) fn prefix_of(key: &str) -> String {
    // Both prefixes have the same length.
    key.chars().take(LIVE_PREFIX.len() + SHOWN_CHARS).collect()
}

/// Returns the hash of a text in the format of a key; `None` for any other text.
pub fn hash_of(text: &str) -> Option<KeyHash> {
    let random_and_check = text
        .strip_prefix(LIVE_PREFIX)
        .or_else(|| text.strip_prefix(TEST_PREFIX))?;
    let formed = random_and_check.len() == RANDOM_CHARS + CHECKSUM_CHARS
        && random_and_check
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric());
    if !formed {
        return None;
    }
    let (body, check) = text.split_at(text.len() - CHECKSUM_CHARS);
    (checksum(body) == check).then(|| Sha256::digest(text).into())
}

fn checksum(body: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let mut number = u64::from_le_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ]);
    (0..CHECKSUM_CHARS)
        .map(|_| {
            let digit = (number % ALPHABET.len() as u64) as usize;
            number /= ALPHABET.len() as u64;
            char::from(ALPHABET[digit])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_is_valid_and_a_mistyped_one_is_not() {
        let key = generate(KeyKind::Test);
        assert!(key.starts_with("toise_test_") && key.len() == 60, "{key}");
        assert!(hash_of(&key).is_some());
        let (key_again, hash) = generate_with_hash(KeyKind::Production);
        assert_eq!(hash_of(&key_again), Some(hash));
        assert_ne!(generate(KeyKind::Test), key);
        let mistyped = key.replace(&key[20..21], if &key[20..21] == "x" { "y" } else { "x" });
        for text in [&mistyped, &key[..59], "", "é", &format!("{key}0")] {
            assert_eq!(hash_of(text), None, "{text}");
        }
    }
}
