//! Authenticated encryption of small secrets before they are stored.
//!
//! Each text is sealed with its own AES-256-GCM key, derived by HKDF-SHA256 from the sealing key and 256 random bits
//! that are stored with the text. The nonce can therefore be constant: no derived key seals a second text. The context,
//! such as the name of the table and the identifier of the row, is authenticated with the text: a ciphertext that is
//! moved elsewhere cannot be opened.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};

/// First byte of a sealed text: the format.
const FORMAT: u8 = 2;
/// Length of a key, bytes.
pub const KEY_BYTES: usize = 32;
/// Length of the random salt from which the key of a text is derived, bytes.
const SALT_BYTES: usize = 32;
/// Purpose from which the keys of texts are derived.
const TEXT_KEYS: &[u8] = b"toise keys of sealed texts";
/// The nonce of every text. It never repeats under a key, because each text has its own key.
const ONLY_NONCE: [u8; NONCE_LEN] = [0; NONCE_LEN];

/// A text that cannot be opened: it was sealed with another key or for another context, or is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed text cannot be opened: another key sealed it, or it is damaged")]
pub struct SealError;

/// A sealing key. Its debug text does not show it.
#[derive(Clone)]
pub struct SealingKey {
    /// Derives the keys of texts.
    texts: Prk,
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealingKey")
    }
}

impl SealingKey {
    /// Creates a key from random bytes.
    pub fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        Self {
            texts: Salt::new(HKDF_SHA256, TEXT_KEYS).extract(bytes),
        }
    }

    /// Derives a key for one purpose from secret parts of at least 256 random bits.
    pub fn derived(purpose: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::new(hasher.finalize().as_bytes())
    }

    /// Seals a text for a context.
    ///
    /// # Errors
    /// Never for texts of less than 64 GiB.
    pub fn seal(&self, text: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        let salt: [u8; SALT_BYTES] = rand::random();
        let mut sealed = text.to_vec();
        self.key_of_text(&salt)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(ONLY_NONCE),
                Aad::from(context),
                &mut sealed,
            )
            .map_err(|_| SealError)?;
        Ok([&[FORMAT], &salt[..], &sealed].concat())
    }

    /// Opens a sealed text in its context.
    ///
    /// # Errors
    /// Another key or context sealed it, or it is damaged.
    pub fn open(&self, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        let (format, rest) = sealed.split_first().ok_or(SealError)?;
        if *format != FORMAT {
            return Err(SealError);
        }
        let (salt, rest) = rest.split_first_chunk().ok_or(SealError)?;
        let mut text = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(ONLY_NONCE);
        let key = self.key_of_text(salt)?;
        let opened = key.open_in_place(nonce, Aad::from(context), &mut text);
        let length = opened.map_err(|_| SealError)?.len();
        text.truncate(length);
        Ok(text)
    }

    fn key_of_text(&self, salt: &[u8; SALT_BYTES]) -> Result<LessSafeKey, SealError> {
        let info: [&[u8]; 1] = [salt];
        let derived = self.texts.expand(&info, &AES_256_GCM);
        let derived = derived.map_err(|_| SealError)?;
        Ok(LessSafeKey::new(UnboundKey::from(derived)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_with_its_key_in_its_place_and_nowhere_else() {
        let key = SealingKey::new(&[7; KEY_BYTES]);
        let other = SealingKey::derived("test", &[b"ab", b"c"]);
        let sealed = key.seal(b"whsec_secret", b"account 1").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_eq!(key.open(&sealed, b"account 1").unwrap(), b"whsec_secret");
        assert_eq!(key.open(&sealed, b"account 2"), Err(SealError));
        assert_eq!(other.open(&sealed, b"account 1"), Err(SealError));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(key.open(&damaged, b"account 1"), Err(SealError));
        }
        assert_ne!(sealed, key.seal(b"whsec_secret", b"account 1").unwrap());
        assert_eq!(key.open(&sealed[..5], b"account 1"), Err(SealError));
    }

    #[test]
    fn parts_of_a_derived_key_are_separated() {
        let seals = |parts: &[&[u8]]| SealingKey::derived("test", parts);
        let sealed = seals(&[b"a", b"bc"]).seal(b"x", b"").unwrap();
        assert!(seals(&[b"ab", b"c"]).open(&sealed, b"").is_err());
        assert!(seals(&[b"a", b"bc"]).open(&sealed, b"").is_ok());
    }

    #[test]
    fn each_text_has_a_key_of_its_own() {
        let key = SealingKey::new(&[7; KEY_BYTES]);
        let seals = [(); 2].map(|()| key.seal(b"same", b"place").unwrap());
        assert_ne!(seals[0][..=SALT_BYTES], seals[1][..=SALT_BYTES]);
        let mixed = [&seals[0][..=SALT_BYTES], &seals[1][1 + SALT_BYTES..]].concat();
        assert_eq!(key.open(&mixed, b"place"), Err(SealError));
    }
}
