//! Reads the segment of a department: a mapped file used as slices of numbers.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::try_cast_slice;
use geo_index::rtree::{NeighborsOptions, RTreeIndex, RTreeRef};
use memmap2::Mmap;

use super::builder::DEGREE_PARTS;
pub use super::house_number::HouseNumber;
use super::layout::{AREA_BYTES, SECTIONS, STREET_ITEM, Section, read_table};
use super::words_view::WordsView;
use crate::text::lexicon::OTHER_SUFFIX;
use toise_geo::distance::planar_distance_m;
use toise_geo::varint;

/// Errors of opening a segment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or mapped.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not a segment, or it is incomplete.
    #[error("{path}: not a segment of the address index, or damaged; import the addresses again")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
}

/// A department's segment.
pub struct Segment {
    map: Mmap,
    ranges: [(usize, usize); SECTIONS],
    department: String,
}

/// An area: a commune, or a former commune within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area<'s> {
    /// INSEE code of the commune.
    pub insee_code: &'s str,
    /// Name of the commune.
    pub commune: &'s str,
    /// INSEE code of the former commune; empty if there is none.
    pub former_code: &'s str,
    /// Name of the former commune; empty if there is none.
    pub former_name: &'s str,
}

/// A house number, place or street near a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The street.
    pub street: u32,
    /// The house number; `None` for a named place or a street without numbers.
    pub number: Option<HouseNumber>,
    /// Distance, metres.
    pub metres: f64,
}

/// Takes a string that is preceded by its length; empty if the bytes end early.
fn take_text(bytes: &mut &[u8]) -> String {
    let length = varint::take(bytes).unwrap_or(0) as usize;
    let (text, rest) = bytes.split_at_checked(length).unwrap_or((&[], &[]));
    *bytes = rest;
    String::from_utf8_lossy(text).into_owned()
}

impl Segment {
    /// Maps a segment.
    ///
    /// # Errors
    /// The file cannot be mapped, or is not a segment.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        // Segments are immutable once published: they are written under another name, renamed, and afterwards only
        // deleted.
        #[expect(unsafe_code, reason = "mapping a file that nobody changes")]
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        let damaged = || Error::Damaged {
            path: path.to_owned(),
        };
        let ranges = read_table(&map).ok_or_else(damaged)?;
        let segment = Self {
            department: String::new(),
            map,
            ranges,
        };
        segment.is_whole().then_some(()).ok_or_else(damaged)?;
        let department = String::from_utf8_lossy(segment.bytes(Section::Department)).into_owned();
        Ok(Self {
            department,
            ..segment
        })
    }

    /// Returns whether the lengths of the arrays are consistent. The contents are covered by the checksum that
    /// publication verifies.
    fn is_whole(&self) -> bool {
        let length = |section| self.u32s(section).len();
        let streets = length(Section::StreetKind);
        let same = [
            Section::StreetNameAt,
            Section::StreetIdAt,
            Section::StreetWordAt,
            Section::StreetBlockAt,
        ];
        RTreeRef::<i32>::try_new(&self.bytes(Section::Tree)).is_ok()
            && same
                .into_iter()
                .all(|section| length(section) == streets + 1)
            && length(Section::StreetPosition) == 2 * streets
            && length(Section::AreaNameAt) == 2 * self.areas() + 1
            && length(Section::AreaStreetAt) == self.areas() + 1
            && length(Section::AreaPostalCodeAt) == self.areas() + 1
    }

    fn bytes(&self, section: Section) -> &[u8] {
        let (start, end) = self.ranges[section as usize];
        &self.map[start..end]
    }

    /// Returns a section as numbers; empty if it is truncated, which the checksum excludes.
    fn u32s(&self, section: Section) -> &[u32] {
        try_cast_slice(self.bytes(section)).unwrap_or(&[])
    }

    fn list(&self, at: Section, index: usize) -> Range<usize> {
        let at = self.u32s(at);
        match (at.get(index), at.get(index + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    fn text(&self, at: Section, index: usize) -> &str {
        std::str::from_utf8(self.letters(at, index)).unwrap_or_default()
    }

    /// Returns the bytes of a text, without checking that they are UTF-8.
    fn letters(&self, at: Section, index: usize) -> &[u8] {
        let text = self.bytes(Section::Text);
        text.get(self.list(at, index)).unwrap_or(&[])
    }

    /// Returns the slices of the segment that the alignment of streets reads.
    pub(crate) fn words_view(&self) -> WordsView<'_> {
        WordsView {
            text: self.bytes(Section::Text),
            at: self.u32s(Section::WordAt),
            signatures: try_cast_slice(self.bytes(Section::WordSignature)).unwrap_or(&[]),
            sounds: self.u32s(Section::WordSound),
            kinds: self.u32s(Section::WordKind),
            street_word_at: self.u32s(Section::StreetWordAt),
            street_words: self.u32s(Section::StreetWords),
        }
    }

    /// Returns the department code.
    pub fn department(&self) -> &str {
        &self.department
    }

    /// Returns the number of distinct words.
    pub fn words(&self) -> usize {
        self.u32s(Section::WordSound).len()
    }

    /// Returns the streets that have a word, ascending.
    pub fn postings(&self, word: u32) -> &[u32] {
        let range = self.list(Section::PostingAt, word as usize);
        self.u32s(Section::Postings).get(range).unwrap_or(&[])
    }

    /// Returns the numbers of the words that begin with a prefix.
    pub fn words_from(&self, prefix: &str) -> Range<u32> {
        let prefix = prefix.as_bytes();
        let first = self.first_word(|word| word < prefix);
        let last = self.first_word(|word| word < prefix || word.starts_with(prefix));
        first..last
    }

    /// Returns the number of a word given as text.
    pub fn find_word(&self, text: &str) -> Option<u32> {
        let text = text.as_bytes();
        let word = self.first_word(|word| word < text);
        (word < self.words() as u32 && self.letters(Section::WordAt, word as usize) == text)
            .then_some(word)
    }

    fn first_word(&self, is_before: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.words());
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.letters(Section::WordAt, middle)) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low as u32
    }

    /// Returns the number of areas.
    pub fn areas(&self) -> usize {
        self.bytes(Section::Areas).len() / AREA_BYTES
    }

    /// Returns an area.
    pub fn area(&self, area: usize) -> Area<'_> {
        let codes = self.bytes(Section::Areas);
        let codes = codes
            .get(area * AREA_BYTES..(area + 1) * AREA_BYTES)
            .unwrap_or(&[]);
        let code = |range: Range<usize>| {
            let bytes = codes.get(range).unwrap_or(&[]);
            std::str::from_utf8(bytes)
                .unwrap_or_default()
                .trim_end_matches('\0')
        };
        Area {
            insee_code: code(0..5),
            commune: self.text(Section::AreaNameAt, 2 * area),
            former_code: code(5..AREA_BYTES),
            former_name: self.text(Section::AreaNameAt, 2 * area + 1),
        }
    }

    /// Returns the postal codes of an area's addresses, as numbers, ascending.
    pub fn area_postal_codes(&self, area: usize) -> &[u32] {
        let range = self.list(Section::AreaPostalCodeAt, area);
        self.u32s(Section::AreaPostalCodes)
            .get(range)
            .unwrap_or(&[])
    }

    /// Returns the streets of an area.
    pub fn area_streets(&self, area: usize) -> Range<u32> {
        let range = self.list(Section::AreaStreetAt, area);
        range.start as u32..range.end as u32
    }

    /// Returns the area of a street.
    pub fn area_of(&self, street: u32) -> usize {
        let starts = self.u32s(Section::AreaStreetAt);
        starts
            .partition_point(|start| *start <= street)
            .saturating_sub(1)
    }

    /// Returns the number of streets and named places.
    pub fn streets(&self) -> usize {
        self.u32s(Section::StreetKind).len()
    }

    /// Returns the name of a street.
    pub fn street_name(&self, street: u32) -> &str {
        self.text(Section::StreetNameAt, street as usize)
    }

    /// Returns the identifier of a street.
    pub fn street_id(&self, street: u32) -> &str {
        self.text(Section::StreetIdAt, street as usize)
    }

    /// Returns the postal code of a street as a number, 0 where unknown.
    pub fn street_postal_code(&self, street: u32) -> u32 {
        self.number(Section::StreetPostalCode, street)
    }

    /// Returns whether a street is a named place without house numbers.
    pub fn is_place(&self, street: u32) -> bool {
        self.number(Section::StreetKind, street) == 1
    }

    /// Returns the number of house numbers of a street.
    pub fn street_numbers(&self, street: u32) -> u32 {
        self.number(Section::StreetNumbers, street)
    }

    /// Returns the latitude and longitude of a street, degrees.
    pub fn street_position(&self, street: u32) -> (f64, f64) {
        let (lat, lon) = self.street_parts(street);
        (f64::from(lat) / DEGREE_PARTS, f64::from(lon) / DEGREE_PARTS)
    }

    fn street_parts(&self, street: u32) -> (i32, i32) {
        let lat = self.number(Section::StreetPosition, 2 * street) as i32;
        (
            lat,
            self.number(Section::StreetPosition, 2 * street + 1) as i32,
        )
    }

    fn number(&self, section: Section, index: u32) -> u32 {
        self.u32s(section).get(index as usize).copied().unwrap_or(0)
    }

    /// Returns the house numbers of a street equal to `number`, with any suffix.
    pub fn find_number(&self, street: u32, number: u32) -> Vec<HouseNumber> {
        let blocks = self.list(Section::StreetBlockAt, street as usize);
        let first = self
            .u32s(Section::BlockFirst)
            .get(blocks.clone())
            .unwrap_or(&[]);
        // Equal numbers with other suffixes may continue in the next block.
        let begin = blocks.start + first.partition_point(|one| *one < number).saturating_sub(1);
        let end = blocks.start + first.partition_point(|one| *one <= number);
        let mut found = Vec::new();
        for block in begin..end {
            self.each_number(street, block, |house| {
                if house.number == number {
                    found.push(house);
                }
            });
        }
        found
    }

    /// Returns the house numbers of a street, ascending.
    pub fn numbers(&self, street: u32) -> Vec<HouseNumber> {
        let mut found = Vec::with_capacity(self.street_numbers(street) as usize);
        for block in self.list(Section::StreetBlockAt, street as usize) {
            self.each_number(street, block, |house| found.push(house));
        }
        found
    }

    /// Calls `each` with the house numbers of a block of a street.
    fn each_number(&self, street: u32, block: usize, mut each: impl FnMut(HouseNumber)) {
        let range = self.list(Section::BlockAt, block);
        let mut bytes = self.bytes(Section::BlockBytes).get(range).unwrap_or(&[]);
        let (mut lat, mut lon) = self.street_parts(street);
        let mut number = 0;
        let head = varint::take(&mut bytes).unwrap_or(0);
        let postal_code = if head & 1 == 1 {
            varint::take(&mut bytes).unwrap_or(0)
        } else {
            self.street_postal_code(street)
        };
        for _ in 0..head >> 1 {
            let mut next = || varint::take(&mut bytes);
            let (Some(step), Some(suffix), Some(north), Some(east)) =
                (next(), next(), next(), next())
            else {
                return;
            };
            number += varint::unzigzag(step);
            lat += varint::unzigzag(north);
            lon += varint::unzigzag(east);
            let (has_id, suffix) = (suffix & 1 == 1, (suffix >> 1) as u8);
            let has_text = suffix == OTHER_SUFFIX;
            let other_suffix = has_text.then(|| take_text(&mut bytes)).map(Into::into);
            let id = has_id.then(|| take_text(&mut bytes));
            each(HouseNumber {
                number: number as u32,
                suffix,
                other_suffix,
                postal_code,
                lat: f64::from(lat) / DEGREE_PARTS,
                lon: f64::from(lon) / DEGREE_PARTS,
                id,
            });
        }
    }

    fn street_of_block(&self, block: u32) -> u32 {
        let starts = self.u32s(Section::StreetBlockAt);
        starts
            .partition_point(|start| *start <= block)
            .saturating_sub(1) as u32
    }

    /// Returns the house numbers and places nearest to a position, nearest first, at most `count` within `metres_max`.
    pub fn nearest(&self, lat: f64, lon: f64, count: usize, metres_max: f64) -> Vec<Neighbour> {
        let tree = self.bytes(Section::Tree);
        let Ok(tree) = RTreeRef::<i32>::try_new(&tree) else {
            return Vec::new();
        };
        let items = self.u32s(Section::TreeItems);
        let degrees = |parts: i32| f64::from(parts) / DEGREE_PARTS;
        let to_box = |[west, south, east, north]: [i32; 4]| {
            let (near_lat, near_lon) = (
                lat.clamp(degrees(south), degrees(north)),
                lon.clamp(degrees(west), degrees(east)),
            );
            planar_distance_m(lat, lon, near_lat, near_lon)
        };
        let options = NeighborsOptions {
            // Every block holds at least one number, so the nearest `count` blocks hold the nearest `count` numbers.
            k: Some(count),
            max_distance: Some(metres_max),
            include_tie_breakers: false,
        };
        let found = tree.neighbors_with_callbacks(options, to_box, |item, bounds| {
            let item = items.get(item as usize).copied()?;
            if item & STREET_ITEM != 0 {
                return Some(to_box(bounds));
            }
            let street = self.street_of_block(item);
            let mut least = f64::INFINITY;
            self.each_number(street, item as usize, |house| {
                least = least.min(planar_distance_m(lat, lon, house.lat, house.lon));
            });
            Some(least)
        });
        let mut neighbours = Vec::new();
        for (item, metres) in found {
            let Some(item) = items.get(item as usize).copied() else {
                continue;
            };
            if item & STREET_ITEM != 0 {
                neighbours.push(Neighbour {
                    street: item & !STREET_ITEM,
                    number: None,
                    metres,
                });
                continue;
            }
            let street = self.street_of_block(item);
            self.each_number(street, item as usize, |house| {
                let metres = planar_distance_m(lat, lon, house.lat, house.lon);
                if metres <= metres_max {
                    neighbours.push(Neighbour {
                        street,
                        number: Some(house),
                        metres,
                    });
                }
            });
        }
        neighbours.sort_by(|one, other| one.metres.total_cmp(&other.metres));
        neighbours.truncate(count);
        neighbours
    }
}
