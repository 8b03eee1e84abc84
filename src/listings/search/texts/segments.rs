//! The text index as of one commit: its segments, and the property that each document represents.
//!
//! The contents of a segment never change; documents are only deleted from it. So sets of its documents can be cached
//! as long as it exists, and deleted documents are removed from them afterwards. Opening a commit costs in proportion
//! to what is new in it: the property numbers of new segments, 4 bytes per document, and the remaining documents of
//! segments with deletions.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::{DocId, Searcher};

use super::bitset::add_from;
use super::{Error, Result};

/// Maximum average gap between property numbers at which the sets of a segment are indexed by number instead of by
/// document. Sets indexed by number are combined machine word by machine word, without visiting each member. Properties
/// stored one after another have numbers that close.
const SPREAD_MAX: usize = 4;

/// The index as of one commit.
pub(super) struct IndexSnapshot {
    /// Searches all segments.
    pub searcher: Searcher,
    /// The segments, in the searcher's order.
    pub segments: Vec<IndexSegment>,
    /// Sequence of the last change in it.
    pub through: i64,
}

impl IndexSnapshot {
    /// Opens the commit that a searcher sees, which holds every change up to `through`. Reuses the segments of an
    /// earlier snapshot.
    pub fn open(searcher: Searcher, former: &[IndexSegment], through: i64) -> Result<Self> {
        let segments = searcher.segment_readers().iter().map(|reader| {
            let mut former = former.iter();
            IndexSegment::open(
                reader,
                former.find(|segment| segment.id() == reader.segment_id()),
            )
        });
        Ok(Self {
            segments: segments.collect::<Result<_>>()?,
            searcher,
            through,
        })
    }

    /// Converts one document set per segment to the set of property numbers.
    pub fn numbers<'s>(&self, sets: impl IntoIterator<Item = &'s FixedBitSet>) -> FixedBitSet {
        let layouts = self.segments.iter().map(|segment| &segment.layout);
        let bound = layouts.map(|layout| layout.number_bound).max();
        let mut numbers = FixedBitSet::with_capacity(bound.unwrap_or(0));
        for (segment, set) in self.segments.iter().zip(sets) {
            match segment.layout.first {
                Some(first) => add_from(&mut numbers, first, set),
                None => set
                    .ones()
                    .for_each(|place| numbers.insert(segment.number(place))),
            }
        }
        numbers
    }
}

/// A segment and its documents that are not deleted.
#[derive(Clone)]
pub(super) struct IndexSegment {
    /// The reader of the segment.
    pub reader: SegmentReader,
    layout: Arc<SegmentLayout>,
    alive: Arc<FixedBitSet>,
}

/// The positions of a segment's documents in bitsets.
struct SegmentLayout {
    /// Number of the property of each document.
    numbers: Vec<u32>,
    /// If sets are indexed by property number: the number at which they start, a multiple of 64. `None` if they are
    /// indexed by document.
    first: Option<usize>,
    /// Upper bound of positions in sets.
    bound: usize,
    /// Upper bound of the property numbers.
    number_bound: usize,
}

impl SegmentLayout {
    fn of(reader: &SegmentReader) -> Result<Self> {
        let column = reader.fast_fields().u64(super::index::NUMBER)?;
        let mut numbers = vec![0; reader.max_doc() as usize];
        column.first_or_default_col(0).get_range(0, &mut numbers);
        let numbers = numbers
            .into_iter()
            .map(|number| u32::try_from(number).map_err(|_| Error::Number(number)));
        Ok(Self::over(numbers.collect::<Result<_>>()?))
    }

    fn over(numbers: Vec<u32>) -> Self {
        let number_bound = numbers.iter().max().map_or(0, |most| *most as usize + 1);
        let first = numbers
            .iter()
            .min()
            .map_or(0, |least| *least as usize / 64 * 64);
        let span = number_bound - first;
        // A property may have a second document that was deleted before the segment was written; sets cannot be indexed
        // by number then.
        let is_by_number = span <= numbers.len() * SPREAD_MAX && {
            let mut distinct = FixedBitSet::with_capacity(span);
            numbers
                .iter()
                .for_each(|number| distinct.insert(*number as usize - first));
            distinct.count_ones(..) == numbers.len()
        };
        Self {
            first: is_by_number.then_some(first),
            bound: if is_by_number { span } else { numbers.len() },
            number_bound,
            numbers,
        }
    }

    fn place(&self, document: DocId) -> usize {
        match self.first {
            Some(first) => self.numbers[document as usize] as usize - first,
            None => document as usize,
        }
    }
}

impl IndexSegment {
    fn open(reader: &SegmentReader, former: Option<&Self>) -> Result<Self> {
        let layout = match former {
            Some(former) => Arc::clone(&former.layout),
            None => Arc::new(SegmentLayout::of(reader)?),
        };
        let alive = match former {
            Some(former) if former.reader.delete_opstamp() == reader.delete_opstamp() => {
                Arc::clone(&former.alive)
            }
            _ => {
                let mut alive = FixedBitSet::with_capacity(layout.bound);
                let mut insert = |document| alive.insert(layout.place(document));
                match reader.alive_bitset() {
                    Some(left) => left.iter_alive().for_each(&mut insert),
                    None => (0..reader.max_doc()).for_each(&mut insert),
                }
                Arc::new(alive)
            }
        };
        Ok(Self {
            reader: reader.clone(),
            layout,
            alive,
        })
    }

    /// Returns the identifier of the segment, which never changes.
    pub fn id(&self) -> SegmentId {
        self.reader.segment_id()
    }

    /// Returns an empty set of its documents.
    pub fn none(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.layout.bound)
    }

    /// Returns the documents that are not deleted.
    pub fn alive(&self) -> &FixedBitSet {
        &self.alive
    }

    /// Returns the position of a document in sets.
    pub fn place(&self, document: DocId) -> usize {
        self.layout.place(document)
    }

    /// Returns the number of the property whose document is at an occupied position.
    pub fn number(&self, place: usize) -> usize {
        match self.layout.first {
            Some(first) => first + place,
            None => self.layout.numbers[place] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_indexed_by_number_only_if_numbers_are_close_and_distinct() {
        for (numbers, first) in [
            (vec![130, 129, 131], Some(128)),
            (vec![], Some(0)),
            (vec![7, 7, 8], None),
            (vec![1, 1_000_000], None),
        ] {
            let layout = SegmentLayout::over(numbers.clone());
            assert_eq!(layout.first, first, "{numbers:?}");
            let places = (0..numbers.len()).map(|document| layout.place(document as DocId));
            assert!(places.clone().all(|place| place < layout.bound));
            let distinct: std::collections::HashSet<usize> = places.collect();
            assert_eq!(distinct.len(), numbers.len(), "{numbers:?}");
        }
    }
}
