//! Bounds of what is read from files that others made: how much a compressed one may become, and how long a record may be.
//!
//! Three megabytes of gzip can hold three gigabytes without a line break, and a quotation mark that never ends makes a CSV
//! file one record. Every reader of compressed or quoted rows goes through here.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// Bytes that one compressed byte may become on average. Files of open data become six to twenty times as long.
pub const RATIO_MAX: u64 = 150;
/// Bytes that any compressed file may become whatever its length.
pub const UNPACKED_BYTES_LEAST: u64 = 32 << 20;
/// Maximum bytes of one record, such as a row of a CSV file.
pub const RECORD_BYTES_MAX: u64 = 16 << 20;

/// Counts the bytes read from a source.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What a compressed source becomes.
struct Unpacked<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.unpacked += count as u64;
        let packed = self.packed.load(Ordering::Relaxed);
        if self.unpacked > UNPACKED_BYTES_LEAST.max(packed.saturating_mul(RATIO_MAX)) {
            let reason =
                format!("becomes more than {RATIO_MAX} times as long when it is decompressed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(count)
    }
}

/// Decompresses gzip. Reading fails once the source has become [`RATIO_MAX`] times as long, past
/// [`UNPACKED_BYTES_LEAST`].
pub fn gunzip<'r>(source: impl Read + Send + 'r) -> impl Read + Send + 'r {
    let packed = Arc::new(AtomicU64::new(0));
    let counted = Counted {
        inner: source,
        bytes: Arc::clone(&packed),
    };
    Unpacked {
        decoder: MultiGzDecoder::new(counted),
        packed,
        unpacked: 0,
    }
}

/// Tells a [`RecordBound`] that a record has ended.
#[derive(Clone, Debug, Default)]
pub struct RecordEnds(Arc<AtomicU64>);

impl RecordEnds {
    /// A record was read to its end.
    pub fn mark(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A source whose reading fails when [`RECORD_BYTES_MAX`] bytes belong to one record.
pub struct RecordBound<R> {
    inner: R,
    since: Arc<AtomicU64>,
}

impl<R: Read> RecordBound<R> {
    /// Bounds the records of a source; its reader marks their ends.
    pub fn new(inner: R) -> (Self, RecordEnds) {
        let ends = RecordEnds::default();
        let since = Arc::clone(&ends.0);
        (Self { inner, since }, ends)
    }
}

impl<R: Read> Read for RecordBound<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Ordering::Relaxed) > RECORD_BYTES_MAX {
            let reason = format!(
                "a row is longer than {RECORD_BYTES_MAX} bytes: a quotation mark without its end, or not a table"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let count = self.inner.read(buffer)?;
        self.since.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn packed(text: impl Read) -> Vec<u8> {
        let mut text = text;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        io::copy(&mut text, &mut encoder).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_file_may_become_long_but_not_endless() {
        let bomb = packed(io::repeat(b'a').take(2 * UNPACKED_BYTES_LEAST));
        let refused = io::copy(&mut gunzip(&bomb[..]), &mut io::sink()).unwrap_err();
        assert!(refused.to_string().contains("times as long"), "{refused}");
        let short = packed(io::repeat(b'a').take(UNPACKED_BYTES_LEAST));
        let read = io::copy(&mut gunzip(&short[..]), &mut io::sink()).unwrap();
        assert_eq!(read, UNPACKED_BYTES_LEAST);
    }

    #[test]
    fn a_record_has_an_end() {
        let (mut source, ends) = RecordBound::new(io::repeat(b'a'));
        let mut buffer = vec![0; RECORD_BYTES_MAX as usize];
        source.read_exact(&mut buffer).unwrap();
        ends.mark();
        source.read_exact(&mut buffer).unwrap();
        assert!(io::copy(&mut source, &mut io::sink()).is_err());
    }
}
