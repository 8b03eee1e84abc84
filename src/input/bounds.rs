//! Bounds on what is read of a source, for callers that read files of strangers.

use std::io::{self, Read};

/// What is read of a source.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum bytes that a container expands to, besides 150 times its size.
    pub expanded_bytes: u64,
    /// Maximum bytes of a workbook that are held in memory: its shared texts, or the whole of it unless it is XLSX. As
    /// values they take about three times as much.
    pub held_bytes: u64,
    /// Whether formats are read whose readers take memory that the size of a file does not bound: Parquet, Arrow, XLS and
    /// XLSB.
    pub has_unbounded: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            expanded_bytes: u64::MAX,
            held_bytes: 512 << 20,
            has_unbounded: true,
        }
    }
}

/// Reads the content of a container up to a bound, beyond which reading fails.
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
