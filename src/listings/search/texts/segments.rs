//! The index as one commit left it: its segments, and which property each of their documents stands for.
//!
//! What a segment holds never changes; documents only leave it. So sets of its documents may be kept as long as it is
//! there, and those that left are taken out afterwards. Opening a commit costs what is new in it: the numbers of new
//! segments, 4 bytes a document, and who is left in those that lost some.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::{DocId, Searcher};

use super::bitset::add_from;
use super::{Error, Result};

/// Sets of a segment are laid out by the numbers of properties where these lie no further apart, on average: they are
/// put together without looking at each member then. Properties that came one after another lie like that.
const SPREAD_MAX: usize = 4;

/// What one commit left.
pub(super) struct IndexSnapshot {
    /// Asks all of it.
    pub searcher: Searcher,
    /// Each by itself, in the searcher's order.
    pub segments: Vec<IndexSegment>,
    /// Number of the last change in it.
    pub through: i64,
}

impl IndexSnapshot {
    /// What a searcher sees, which holds every change through a number, given what an earlier one saw.
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

    /// The properties that a set of each segment stands for, by number.
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

/// A segment, and which of its documents are left.
#[derive(Clone)]
pub(super) struct IndexSegment {
    /// Reads it.
    pub reader: SegmentReader,
    layout: Arc<SegmentLayout>,
    alive: Arc<FixedBitSet>,
}

/// Where the documents of a segment stand in sets.
struct SegmentLayout {
    /// Number of the property of each document.
    numbers: Vec<u32>,
    /// The number a set begins with, a multiple of 64, where sets are laid out by number; else they are by document.
    first: Option<usize>,
    /// Bound of sets.
    bound: usize,
    /// Bound of the numbers.
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
        // A property may have had a document that left before the segment was written: not by number then.
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

    /// Names it, for good.
    pub fn id(&self) -> SegmentId {
        self.reader.segment_id()
    }

    /// A set of its documents, without any.
    pub fn none(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.layout.bound)
    }

    /// Those that did not leave it.
    pub fn alive(&self) -> &FixedBitSet {
        &self.alive
    }

    /// Where a document stands in sets.
    pub fn place(&self, document: DocId) -> usize {
        self.layout.place(document)
    }

    /// Number of the property whose document stands at a place that is taken.
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
    fn documents_stand_by_number_only_where_numbers_are_close_and_distinct() {
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
