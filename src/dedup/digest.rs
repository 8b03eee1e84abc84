//! Digests of texts. They are stored in fingerprints and block keys, so they must not change within a version.

pub use toise_base::splitmix::mix;
use toise_base::splitmix::mix_into;

/// Digest of an empty text.
pub const EMPTY: u64 = 0xCBF2_9CE4_8422_2325;

/// Extends a digest by one byte (FNV-1a).
pub fn step(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
}

/// Returns the digest of some bytes.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |digest, byte| step(digest, *byte))
}

/// Mixes a number into a digest.
pub fn with(digest: u64, number: u64) -> u64 {
    mix_into(digest, number)
}
