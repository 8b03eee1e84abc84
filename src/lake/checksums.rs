//! Checksums of a data file, in a `.sums` file next to it: a byte that changed on disk is never read as data.
//!
//! The data file and its id index are divided into contiguous spans: the Parquet file at every page, bloom filter, page
//! index and footer, the id index every 8 KiB. Each span has a CRC-32, and the snapshot names the BLAKE3 digest of the
//! `.sums` file itself, so everything is verified starting from the snapshot. Spans correspond to the units that
//! readers request, so that every read can be verified completely ([`super::checked`]).
//!
//! A CRC-32 detects every change within four consecutive bytes, and misses one in four billion other changes. It is
//! what Parquet's own format uses for pages, and costs 0.2 µs per page of 4 KiB (20 GB/s); BLAKE3 would cost 4 µs, and
//! decoding the page costs more than that. Memory: 12 bytes per span, 2 MB for half a million diagnostics at full
//! width.
//!
//! Little-endian: 8 bytes of magic (the last is the format version), then for each of the two files its number of
//! spans, the end of each span, and the checksum of each.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::Error;
use super::files::write_synced;

const MAGIC: &[u8; 8] = b"TOISESM1";
/// Bytes per span of an id index; a lookup reads three spans.
const ID_SPAN_BYTES: u64 = 8 * 1024;
/// Bytes of the footer length and the magic number at the end of a Parquet file.
const PARQUET_END_BYTES: u64 = 8;
/// Maximum bytes read at once while the checksums of a new file are computed.
const RUN_BYTES_MAX: u64 = 4 << 20;

/// Returns the name of the checksum file of a Parquet file.
pub fn file_name(parquet_file: &str) -> String {
    format!("{}.sums", parquet_file.trim_end_matches(".parquet"))
}

/// Returns the checksum of the bytes of a span.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns the digest of a whole small file, in the form the snapshot stores: 128 bits, hexadecimal.
pub fn whole_digest(bytes: &[u8]) -> String {
    let mut text = blake3::hash(bytes).to_hex().to_string();
    text.truncate(32);
    text
}

/// The spans of one file and the checksum of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanChecksums {
    /// End of each span; it starts where the previous one ends.
    ends: Vec<u64>,
    sums: Vec<u32>,
}

impl SpanChecksums {
    /// Reads a whole file and computes the checksums of its spans, which end at `ends` (ascending; the last is the
    /// length).
    fn compute(file: &File, ends: Vec<u64>) -> io::Result<Self> {
        let mut all = Self {
            ends,
            sums: Vec::new(),
        };
        let taken = all
            .runs(RUN_BYTES_MAX)
            .into_par_iter()
            .map(|spans| {
                let bytes = all.bytes_of(&spans);
                let mut buffer = vec![0u8; (bytes.end - bytes.start) as usize];
                file.read_exact_at(&mut buffer, bytes.start)?;
                let sums = spans.map(|span| crc32(all.slice(&buffer, bytes.start, span)));
                Ok(sums.collect())
            })
            .collect::<io::Result<Vec<Vec<u32>>>>()?;
        all.sums = taken.concat();
        Ok(all)
    }

    /// Computes the checksums of an id index, in spans of equal length.
    pub fn for_id_index(file: &File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let ends = (1..=length.div_ceil(ID_SPAN_BYTES)).map(|n| (n * ID_SPAN_BYTES).min(length));
        Self::compute(file, ends.collect())
    }

    /// Computes the checksums of a finished Parquet file, page by page.
    pub fn for_parquet(file: &File) -> Result<Self, ParquetError> {
        let metadata = ParquetMetaDataReader::new()
            .with_offset_index_policy(PageIndexPolicy::Required)
            .parse_and_finish(file)?;
        let length = file.metadata()?.len();
        let mut footer = [0u8; 4];
        file.read_exact_at(&mut footer, length.saturating_sub(PARQUET_END_BYTES))?;
        let footer_bytes = u64::from(u32::from_le_bytes(footer)) + PARQUET_END_BYTES;
        let mut cuts = span_boundaries(&metadata);
        cuts.extend([length.saturating_sub(footer_bytes), length]);
        let ends = cuts.into_iter().filter(|cut| (1..=length).contains(cut));
        Ok(Self::compute(file, ends.collect())?)
    }

    /// Returns the length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of spans.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the byte range of one span, or of several consecutive ones.
    pub fn bytes_of(&self, spans: &Range<usize>) -> Range<u64> {
        let start = |span: usize| match span {
            0 => 0,
            _ => self.ends.get(span - 1).copied().unwrap_or(self.length()),
        };
        start(spans.start)..start(spans.end)
    }

    /// Returns the spans that contain a range of bytes, which must be within the file.
    pub fn covering(&self, bytes: &Range<u64>) -> Range<usize> {
        let first = self.ends.partition_point(|end| *end <= bytes.start);
        let last = self.ends.partition_point(|end| *end < bytes.end);
        first..(last + 1).min(self.count())
    }

    /// Returns the spans whose bytes do not match their checksums; `buffer` holds the bytes of all of them.
    pub fn damaged(&self, spans: Range<usize>, buffer: &[u8]) -> impl Iterator<Item = usize> {
        let start = self.bytes_of(&spans).start;
        spans.filter(move |span| self.sums[*span] != crc32(self.slice(buffer, start, *span)))
    }

    /// Returns all spans, divided into ranges of at most `bytes` each (or one span).
    pub fn runs(&self, bytes: u64) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for span in 0..self.count() {
            match runs.last_mut() {
                Some(run) if self.ends[span] - self.bytes_of(run).start <= bytes => {
                    run.end = span + 1;
                }
                _ => runs.push(span..span + 1),
            }
        }
        runs
    }

    /// Returns a span and those after it, together at most `bytes`, but at least one span.
    pub fn window(&self, first: usize, bytes: u64) -> Range<usize> {
        let start = self.bytes_of(&(first..first + 1)).start;
        let end = self.ends.partition_point(|end| *end <= start + bytes);
        first..end.max(first + 1)
    }

    /// Returns the bytes of a span in a buffer that starts at offset `start` of the file.
    fn slice<'b>(&self, buffer: &'b [u8], start: u64, span: usize) -> &'b [u8] {
        let bytes = self.bytes_of(&(span..span + 1));
        buffer
            .get((bytes.start - start) as usize..(bytes.end - start) as usize)
            .unwrap_or_default()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.ends.len() as u64).to_le_bytes());
        self.ends
            .iter()
            .for_each(|end| out.extend(end.to_le_bytes()));
        self.sums
            .iter()
            .for_each(|sum| out.extend(sum.to_le_bytes()));
    }

    /// Reads what [`SpanChecksums::write`] wrote; also returns the remaining bytes.
    fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (ends, rest) = rest.split_at_checked(count.checked_mul(8)?)?;
        let (sums, rest) = rest.split_at_checked(count * 4)?;
        let (ends, sums) = (ends.as_chunks::<8>().0, sums.as_chunks::<4>().0);
        let ends: Vec<u64> = ends.iter().map(|end| u64::from_le_bytes(*end)).collect();
        let sums = sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
        let rising = ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0);
        rising.then_some((Self { ends, sums }, rest))
    }
}

/// Offsets at which readers of a Parquet file start to read: pages, bloom filters, page indexes.
fn span_boundaries(metadata: &ParquetMetaData) -> BTreeSet<u64> {
    let mut cuts = BTreeSet::new();
    let offset = |offset: i64| u64::try_from(offset).unwrap_or(0);
    let mut indexes = u64::MAX;
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        for (leaf, column) in row_group.columns().iter().enumerate() {
            let (start, length) = column.byte_range();
            cuts.extend([start, start + length]);
            cuts.extend(column.bloom_filter_offset().map(offset));
            let pages = metadata.offset_index().map(|index| &index[group][leaf]);
            for page in pages.into_iter().flat_map(|pages| pages.page_locations()) {
                cuts.insert(offset(page.offset));
            }
            for index in [column.offset_index_offset(), column.column_index_offset()] {
                indexes = indexes.min(index.map_or(u64::MAX, offset));
            }
        }
    }
    // Page indexes are always read together, so they form one span.
    cuts.insert(indexes);
    cuts
}

/// The checksums of a data file and its id index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFileChecksums {
    /// Checksums of the Parquet file.
    pub parquet: SpanChecksums,
    /// Checksums of the id index.
    pub ids: SpanChecksums,
}

impl DataFileChecksums {
    /// Writes the checksum file. Returns its digest once it is on disk.
    pub fn write(&self, path: &Path) -> Result<String, Error> {
        let mut bytes = MAGIC.to_vec();
        self.parquet.write(&mut bytes);
        self.ids.write(&mut bytes);
        write_synced(path, &bytes)?;
        Ok(whole_digest(&bytes))
    }

    /// Reads the checksums of a data file. Its checksum file must have the digest that the snapshot names.
    pub fn load(folder: &Path, parquet_file: &str, digest: &str) -> Result<Self, Error> {
        let path = folder.join(file_name(parquet_file));
        let bytes = std::fs::read(&path).map_err(|error| Error::io(&path, error))?;
        if whole_digest(&bytes) != digest {
            return Err(Error::damaged(
                &path,
                "not the checksum file of the snapshot",
            ));
        }
        let parse = || {
            let rest = bytes.strip_prefix(MAGIC)?;
            let (parquet, rest) = SpanChecksums::parse(rest)?;
            let (ids, rest) = SpanChecksums::parse(rest)?;
            rest.is_empty().then_some(Self { parquet, ids })
        };
        parse().ok_or_else(|| Error::damaged(&path, "not a checksum file"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn every_byte_lies_in_one_span_and_a_change_damages_that_span() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..30_000u32).map(|n| (n % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let sums = SpanChecksums::for_id_index(&file).unwrap();
        assert_eq!((sums.length(), sums.count()), (30_000, 4));
        for (range, spans) in [
            (0..1, 0..1),
            (0..8_192, 0..1),
            (8_191..8_193, 0..2),
            (8_192..16_384, 1..2),
            (29_999..30_000, 3..4),
            (0..30_000, 0..4),
        ] {
            assert_eq!(sums.covering(&range), spans, "{range:?}");
        }
        assert_eq!(sums.damaged(0..4, &bytes).next(), None);
        let mut changed = bytes.clone();
        changed[20_000] ^= 1;
        assert_eq!(sums.damaged(0..4, &changed).collect::<Vec<_>>(), [2]);
        assert_eq!(sums.damaged(2..3, &changed[16_384..24_576]).next(), Some(2));
        assert_eq!(sums.runs(16_384), [0..2, 2..4]);
        assert_eq!(sums.runs(1), [0..1, 1..2, 2..3, 3..4]);
    }
}
