//! Examines the write-ahead log on disk for damage that SQLite would mistake for the end of the log.
//!
//! SQLite reads a log up to the first frame whose checksum is wrong, and ignores all of it if the checksum of its
//! header is wrong. After a power failure that is correct: the rest was never acknowledged. But if a bit has flipped,
//! SQLite silently loses the rest. What follows the frame distinguishes the two cases. The format is in "The WAL-mode
//! File Format" of SQLite's documentation.

use std::io::{self, BufReader, ErrorKind, Read};

/// Bytes of the header of a log.
pub(super) const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// First four bytes of a log without the last bit, which gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
/// Largest page of SQLite.
const PAGE_BYTES_MAX: u32 = 64 << 10;

/// The header of a log.
pub(super) type Header = [u8; HEADER_BYTES];

/// The result of examining a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    /// The log is empty or has no damage.
    Whole,
    /// The checksum of its header is wrong, so SQLite would ignore the log.
    NoHeader,
    /// The checksum of a frame is wrong, and transactions of the same run follow it, which SQLite does not read.
    Broken {
        /// Number of the frame, from 1.
        frame: u64,
    },
}

/// Returns whether a header has the checksum it was written with.
pub(super) fn is_whole(header: &Header) -> bool {
    let magic = word(header, 0);
    let sum = sum((0, 0), &header[..24], magic & 1 == 1);
    magic & !1 == MAGIC && sum == (word(header, 24), word(header, 28))
}

/// Returns the bytes that distinguish one run of a log from the next, which overwrites it from the start.
pub(super) fn run(header: &Header) -> &[u8] {
    &header[16..24]
}

/// Examines a log; `open` opens it at its beginning if it exists. Concurrent writes of another process are not taken
/// for damage.
///
/// # Errors
/// The file cannot be read.
pub(super) fn examine<F: Read>(open: impl Fn() -> io::Result<Option<F>>) -> io::Result<LogState> {
    let Some(file) = open()? else {
        return Ok(LogState::Whole);
    };
    let mut file = BufReader::new(file);
    let mut header = [0; HEADER_BYTES];
    if !filled(&mut file, &mut header)? || header == [0; HEADER_BYTES] {
        return Ok(LogState::Whole);
    }
    let found = if is_whole(&header) {
        frames(&mut file, &header)?
    } else {
        LogState::NoHeader
    };
    let mut now = [0; HEADER_BYTES];
    let is_same = match open()? {
        Some(mut file) => filled(&mut file, &mut now)? && now == header,
        None => false,
    };
    Ok(if is_same { found } else { LogState::Whole })
}

fn frames(file: &mut impl Read, header: &Header) -> io::Result<LogState> {
    let is_big_endian = word(header, 0) & 1 == 1;
    let page_bytes = word(header, 8);
    if !page_bytes.is_power_of_two() || page_bytes > PAGE_BYTES_MAX {
        return Ok(LogState::NoHeader);
    }
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes as usize];
    let mut before = (word(header, 24), word(header, 28));
    let mut broken = None;
    for number in 1.. {
        if !filled(file, &mut frame)? {
            break;
        }
        if frame[8..16] != *run(header) {
            continue;
        }
        let is_last_of_transaction = word(&frame, 4) != 0;
        match broken {
            Some(frame) if is_last_of_transaction => return Ok(LogState::Broken { frame }),
            Some(_) => {}
            None => {
                let next = sum(before, &frame[..8], is_big_endian);
                let next = sum(next, &frame[FRAME_HEADER_BYTES..], is_big_endian);
                if next == (word(&frame, 16), word(&frame, 20)) {
                    before = next
                } else {
                    broken = Some(number)
                }
            }
        }
    }
    Ok(LogState::Whole)
}

/// Fills a buffer. Returns `false` if the file ends first.
fn filled(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a big-endian number of a header.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// Returns the checksum of bytes, whose length is a multiple of eight, continuing from the checksum of the bytes before
/// them.
fn sum(before: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let (mut first, mut second) = before;
    for pair in bytes.chunks_exact(8) {
        let number = |at: usize| {
            if is_big_endian {
                word(pair, at)
            } else {
                word(pair, at).swap_bytes()
            }
        };
        first = first.wrapping_add(number(0)).wrapping_add(second);
        second = second.wrapping_add(number(4)).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
#[path = "log_file_tests.rs"]
mod tests;
