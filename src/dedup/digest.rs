//! Digests that stand for texts: stored in fingerprints and blocks, so they never change within a version.

/// Digest of nothing.
pub const EMPTY: u64 = 0xCBF2_9CE4_8422_2325;

/// The digest with one byte more (FNV-1a).
pub fn step(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
}

/// The digest of some bytes.
pub fn of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |digest, byte| step(digest, *byte))
}

/// Mixes 64 bits so that neighbouring inputs give unrelated outputs (the finaliser of SplitMix64).
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Mixes a further number into a digest.
pub fn with(digest: u64, number: u64) -> u64 {
    mix(digest ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93))
}
