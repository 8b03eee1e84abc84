//! Encodes integers compactly: LEB128 varints, and zigzag coding for signed numbers.

/// Appends a number.
pub fn push(mut value: u32, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push((value & 127) as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number from the beginning of `bytes`; `None` if the bytes end early or the number has more than 32 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u64;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

/// Maps a signed number to an unsigned one that is small if the number is near 0.
pub fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

/// Inverts [`zigzag`].
pub fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_and_cut_ones_are_not() {
        for value in [0, 1, 127, 128, 300, 65_536, u32::MAX] {
            let mut bytes = Vec::new();
            push(value, &mut bytes);
            assert_eq!(take(&mut &bytes[..]), Some(value));
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take(&mut &[255, 255, 255, 255, 127][..]), None);
        for value in [0, -1, 1, -2_000, 2_000, i32::MIN, i32::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
