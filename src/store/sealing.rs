//! Authenticated encryption of small secrets before they are stored.
//!
//! AES-256-GCM with a random nonce. The context, such as the name of the table and the identifier of the row, is
//! authenticated with the text: a ciphertext that is moved elsewhere does not open. One key seals far fewer than 2³² texts.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// First byte of a sealed text: the format.
const FORMAT: u8 = 1;
/// Length of a key, bytes.
pub const KEY_BYTES: usize = 32;

/// A text that cannot be opened: it was sealed with another key or for another place, or is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed text cannot be opened: another key sealed it, or it is damaged")]
pub struct Unopened;

/// A key that seals. Its debug text does not show it.
#[derive(Clone)]
pub struct SealingKey(LessSafeKey);

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SealingKey")
    }
}

impl SealingKey {
    /// A key of random bytes; `None` if the length is wrong, which the type of `bytes` rules out.
    pub fn new(bytes: &[u8; KEY_BYTES]) -> Option<Self> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).ok()?;
        Some(Self(LessSafeKey::new(key)))
    }

    /// A key derived from secret parts of at least 256 random bits, for one purpose.
    pub fn derived(purpose: &str, parts: &[&[u8]]) -> Option<Self> {
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
    pub fn seal(&self, text: &[u8], context: &[u8]) -> Result<Vec<u8>, Unopened> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = text.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(unique, Aad::from(context), &mut sealed)
            .map_err(|_| Unopened)?;
        let mut whole = Vec::with_capacity(1 + NONCE_LEN + sealed.len());
        whole.push(FORMAT);
        whole.extend_from_slice(&nonce);
        whole.extend_from_slice(&sealed);
        Ok(whole)
    }

    /// Opens a sealed text in its context.
    ///
    /// # Errors
    /// Another key or context sealed it, or it is damaged.
    pub fn open(&self, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, Unopened> {
        let rest = sealed.strip_prefix(&[FORMAT]).ok_or(Unopened)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unopened)?;
        let mut text = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(nonce, Aad::from(context), &mut text);
        let length = opened.map_err(|_| Unopened)?.len();
        text.truncate(length);
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_with_its_key_in_its_place_and_nowhere_else() {
        let key = SealingKey::new(&[7; KEY_BYTES]).unwrap();
        let other = SealingKey::derived("test", &[b"ab", b"c"]).unwrap();
        let sealed = key.seal(b"whsec_secret", b"account 1").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_eq!(key.open(&sealed, b"account 1").unwrap(), b"whsec_secret");
        assert_eq!(key.open(&sealed, b"account 2"), Err(Unopened));
        assert_eq!(other.open(&sealed, b"account 1"), Err(Unopened));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(key.open(&damaged, b"account 1"), Err(Unopened));
        }
        assert_ne!(sealed, key.seal(b"whsec_secret", b"account 1").unwrap());
        assert_eq!(key.open(&sealed[..5], b"account 1"), Err(Unopened));
    }

    #[test]
    fn parts_of_a_derived_key_are_separated() {
        let seals = |parts: &[&[u8]]| SealingKey::derived("test", parts).unwrap();
        let sealed = seals(&[b"a", b"bc"]).seal(b"x", b"").unwrap();
        assert!(seals(&[b"ab", b"c"]).open(&sealed, b"").is_err());
        assert!(seals(&[b"a", b"bc"]).open(&sealed, b"").is_ok());
    }
}
