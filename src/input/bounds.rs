//! Bounds on the size of a source and on the kinds of file accepted, for callers that read untrusted files.

use std::io::{self, Read};

/// The maximum size of a source, and the kinds of file accepted.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum bytes that a container expands to. The general limit of 150 times its size also applies.
    pub expanded_bytes: u64,
    /// Maximum bytes of a workbook that are held in memory: the shared strings of an XLSX file, or the whole of any
    /// other. Once parsed, they take about three times as much.
    pub held_bytes: u64,
    /// Whether formats are read whose readers may take memory out of proportion to the size of the file: Parquet,
    /// Arrow, XLS and XLSB.
    pub has_unbounded: bool,
    /// Whether XML and tables in HTML are returned as text, for callers that read XML. Otherwise they are refused.
    pub has_markup: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            expanded_bytes: u64::MAX,
            held_bytes: 512 << 20,
            has_unbounded: true,
            has_markup: false,
        }
    }
}

/// Reads the content of a container; fails beyond a bound.
pub(crate) struct AtMost<R> {
    content: R,
    bytes_max: u64,
    bytes: u64,
}

impl<R> AtMost<R> {
    pub(crate) fn new(content: R, bounds: Bounds) -> Self {
        Self {
            content,
            bytes_max: bounds.expanded_bytes,
            bytes: 0,
        }
    }
}

impl<R: Read> Read for AtMost<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.bytes += count as u64;
        if self.bytes > self.bytes_max {
            let reason = format!("expands to more than {} bytes", self.bytes_max);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(count)
    }
}
