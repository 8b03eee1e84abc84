//! The write-ahead log as it lies on disk, examined for damage that SQLite takes for the end of the log.
//!
//! SQLite reads a log up to the first frame whose checksum does not fit, and none of it if its header does not fit: right
//! after a power failure, when the rest was never acknowledged, and silent where a bit has flipped, when the rest is lost. The
//! difference shows in what follows. The format is in "The WAL-mode File Format" of SQLite's documentation.

use std::io::{self, BufReader, ErrorKind, Read};

/// Bytes of the header of a log.
pub(super) const HEADER_BYTES: usize = 32;
/// Bytes of the header of a frame.
const FRAME_HEADER_BYTES: usize = 24;
/// Beginning of a log, without its last bit, which tells the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
/// Largest page of SQLite.
const PAGE_BYTES_MAX: u32 = 64 << 10;

/// The header of a log.
pub(super) type Header = [u8; HEADER_BYTES];

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    /// There is nothing in it, or nothing that does not fit.
    Whole,
    /// Its header does not fit, so that nothing in it is read.
    NoHeader,
    /// A frame does not fit and is followed by transactions of the same run, which are not read.
    Broken {
        /// Number of the frame, from 1.
        frame: u64,
    },
}

/// Whether a header has the checksum it was written with.
pub(super) fn is_whole(header: &Header) -> bool {
    let magic = word(header, 0);
    let sum = sum((0, 0), &header[..24], magic & 1 == 1);
    magic & !1 == MAGIC && sum == (word(header, 24), word(header, 28))
}

/// What tells one run of a log from the next, which begins at its start again.
pub(super) fn run(header: &Header) -> &[u8] {
    &header[16..24]
}

/// Examines a log, which `open` opens at its beginning if it is there. What another process writes meanwhile is not taken for
/// damage.
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
    let found = match is_whole(&header) {
        true => frames(&mut file, &header)?,
        false => LogState::NoHeader,
    };
    let mut now = [0; HEADER_BYTES];
    let is_same = match open()? {
        Some(mut file) => filled(&mut file, &mut now)? && now == header,
        None => false,
    };
    Ok(match is_same {
        true => found,
        false => LogState::Whole,
    })
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
                match next == (word(&frame, 16), word(&frame, 20)) {
                    true => before = next,
                    false => broken = Some(number),
                }
            }
        }
    }
    Ok(LogState::Whole)
}

/// Fills a buffer; `false` if the file ends before.
fn filled(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A number of a header, which are big-endian.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

/// The checksum of bytes, whose length is a multiple of eight, after a checksum of what is before them.
fn sum(before: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let (mut first, mut second) = before;
    for pair in bytes.chunks_exact(8) {
        let number = |at: usize| match is_big_endian {
            true => word(pair, at),
            false => word(pair, at).swap_bytes(),
        };
        first = first.wrapping_add(number(0)).wrapping_add(second);
        second = second.wrapping_add(number(4)).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
#[path = "log_file_tests.rs"]
mod tests;
