//! Layout of a segment file: a header, a table of sections, and the sections.
//!
//! All numbers are little-endian and sections begin at multiples of eight bytes, so that a reader on a little-endian
//! machine can use them as slices of the mapped file. Nothing is decoded on opening.

use std::io::{self, Write};

/// Version of the format, one digit. Segments of another version are refused, and rebuilt by the next import.
pub const FORMAT: u8 = 5;
/// First bytes of a segment.
pub const MAGIC: [u8; 8] = [b'T', b'O', b'I', b'S', b'E', b'G', b'C', b'0' + FORMAT];
/// Bytes of an entry of the section table: offset and length.
const ENTRY_BYTES: usize = 16;
/// Alignment of sections.
const ALIGNMENT: usize = 8;

/// The sections of a segment. Arrays named `…At` have one entry more than there are items, so that item `i` is
/// `at[i]..at[i + 1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Section {
    /// Department code, UTF-8.
    Department,
    /// UTF-8 text of words, names and identifiers, one after the other.
    Text,
    /// `u32`: where a word begins in the text; words in ascending order.
    WordAt,
    /// `u64`: signature of a word.
    WordSignature,
    /// `u32`: sound key of a word.
    WordSound,
    /// `u32`: kind of a word and its weight; see [`super::word_kind::WordKind`].
    WordKind,
    /// `u32`: where the streets of a word begin in `Postings`.
    PostingAt,
    /// `u32`: streets that have a word, ascending.
    Postings,
    /// Ten bytes: INSEE codes of a commune and of a former commune; see [`AREA_BYTES`].
    Areas,
    /// `u32`: where the names of an area begin in the text; two names per area (commune, former commune).
    AreaNameAt,
    /// `u32`: first street of an area; streets are ordered by area and name.
    AreaStreetAt,
    /// `u32`: where a street's name begins in the text.
    StreetNameAt,
    /// `u32`: where a street's identifier begins in the text.
    StreetIdAt,
    /// `u32`: where the words of a street begin in `StreetWords`.
    StreetWordAt,
    /// `u32`: words of a street, in the order of its name.
    StreetWords,
    /// `u32`: postal code of a street, as a number.
    StreetPostalCode,
    /// `u32`: 1 for a named place without house numbers, 0 for a street.
    StreetKind,
    /// `i32`: latitude and longitude of a street, in millionths of a degree.
    StreetPosition,
    /// `u32`: number of house numbers of a street.
    StreetNumbers,
    /// `u32`: first block of a street.
    StreetBlockAt,
    /// `u32`: first house number of a block.
    BlockFirst,
    /// `u32`: where a block begins in `BlockBytes`.
    BlockAt,
    /// House numbers; see [`super::builder`].
    BlockBytes,
    /// R-tree of blocks and of streets without numbers (`geo-index`, millionths of a degree).
    Tree,
    /// `u32`: the block of a tree item, or its street with the highest bit set.
    TreeItems,
    /// `u32`: where the postal codes of an area begin in `AreaPostalCodes`.
    AreaPostalCodeAt,
    /// `u32`: postal codes of an area's addresses, as numbers, ascending.
    AreaPostalCodes,
}

/// Number of sections.
pub const SECTIONS: usize = Section::AreaPostalCodes as usize + 1;
/// Bytes of the codes of an area.
pub const AREA_BYTES: usize = 10;
/// Marks an item of the tree as a street.
pub const STREET_ITEM: u32 = 1 << 31;

/// The sections of a segment being written.
#[derive(Default)]
pub struct Sections {
    bytes: Vec<Vec<u8>>,
}

impl Sections {
    /// Sets a section's bytes.
    pub fn set(&mut self, section: Section, bytes: Vec<u8>) {
        self.bytes.resize(SECTIONS, Vec::new());
        self.bytes[section as usize] = bytes;
    }

    /// Sets a section to 32-bit numbers.
    pub fn set_u32(&mut self, section: Section, numbers: impl IntoIterator<Item = u32>) {
        self.set(
            section,
            numbers.into_iter().flat_map(u32::to_le_bytes).collect(),
        );
    }

    /// Sets a section to signed 32-bit numbers.
    pub fn set_i32(&mut self, section: Section, numbers: impl IntoIterator<Item = i32>) {
        self.set(
            section,
            numbers.into_iter().flat_map(i32::to_le_bytes).collect(),
        );
    }

    /// Sets a section to 64-bit numbers.
    pub fn set_u64(&mut self, section: Section, numbers: impl IntoIterator<Item = u64>) {
        self.set(
            section,
            numbers.into_iter().flat_map(u64::to_le_bytes).collect(),
        );
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&MAGIC)?;
        let mut at = MAGIC.len() + SECTIONS * ENTRY_BYTES;
        for bytes in &self.bytes {
            out.write_all(&(at as u64).to_le_bytes())?;
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            at = (at + bytes.len()).next_multiple_of(ALIGNMENT);
        }
        for bytes in &self.bytes {
            out.write_all(bytes)?;
            let padding = bytes.len().next_multiple_of(ALIGNMENT) - bytes.len();
            out.write_all(&[0; ALIGNMENT][..padding])?;
        }
        Ok(())
    }
}

/// Reads the byte ranges of a file's sections; `None` if the file is not a segment or is truncated.
pub fn read_table(bytes: &[u8]) -> Option<[(usize, usize); SECTIONS]> {
    let table = bytes.strip_prefix(&MAGIC)?;
    let mut ranges = [(0, 0); SECTIONS];
    for (range, entry) in ranges.iter_mut().zip(table.chunks_exact(ENTRY_BYTES)) {
        let (start, length) = entry.split_first_chunk::<8>()?;
        let start = usize::try_from(u64::from_le_bytes(*start)).ok()?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let end = start.checked_add(length)?;
        if end > bytes.len() || start % ALIGNMENT != 0 {
            return None;
        }
        *range = (start, end);
    }
    Some(ranges)
}
