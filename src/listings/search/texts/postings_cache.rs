//! What pieces of searches find in segments: looked for once, then kept under a budget.
//!
//! Segments never change, so what a piece finds in one is good for as long as the segment is there. Looking for a keyword
//! that half of two million properties hold takes milliseconds, meeting its kept sets ten microseconds; what properties
//! that came since add is looked for in small new segments. Sets of segments that were merged into others are not asked
//! for any more, and so go first.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
};
use tantivy::index::SegmentId;
use tantivy::postings::BlockSegmentPostings;
use tantivy::query::{
    AutomatonWeight, DfaWrapper, EnableScoring, FuzzyTermQuery, PhraseQuery, Query, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{TantivyError, Term};

use super::Result;
use super::index::IndexFields;
use super::segments::{IndexSegment, IndexSnapshot};

/// Memory for what pieces find, bytes: some two hundred pieces where there are two million properties.
const CACHE_BYTES: u64 = 64 << 20;
/// Bytes a kept set takes beside its bits, about.
const ENTRY_BYTES: usize = 256;
/// Letters from which a word of a full text may have one typing error, and from which two.
const TYPO_LENGTHS: [usize; 2] = [4, 8];

/// A piece of the texts of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum QueryTerm {
    /// These words next to each other, as they are written. None are found nowhere.
    Phrase(Vec<String>),
    /// A word that resembles this one, or whose stem resembles its stem.
    Like {
        /// The word.
        word: String,
        /// Its stem.
        stem: String,
    },
}

impl QueryTerm {
    /// The words of a phrase; none of another piece.
    pub fn terms(&self, fields: IndexFields) -> Vec<Term> {
        let words = match self {
            Self::Phrase(words) => &words[..],
            Self::Like { .. } => &[],
        };
        let terms = words.iter();
        terms
            .map(|word| Term::from_field_text(fields.words, word))
            .collect()
    }

    /// The stem of a word that others may resemble; `None` for another piece.
    pub fn stem(&self, fields: IndexFields) -> Option<Term> {
        match self {
            Self::Phrase(_) => None,
            Self::Like { stem, .. } => Some(Term::from_field_text(fields.stems, stem)),
        }
    }

    fn sought(&self, present: &IndexSnapshot, fields: IndexFields) -> Result<CompiledTerm> {
        let like = |field: Field, text: &str| {
            let letters = text.chars().count();
            let errors = TYPO_LENGTHS.iter().filter(|from| letters >= **from);
            let term = Term::from_field_text(field, text);
            let automaton = FuzzyTermQuery::new(term, errors.count() as u8, true).automaton()?;
            Ok::<_, TantivyError>((field, AutomatonWeight::new(field, automaton)))
        };
        Ok(match self {
            Self::Phrase(words) if words.is_empty() => CompiledTerm::Nothing,
            Self::Phrase(_) => match self.terms(fields) {
                mut terms if terms.len() == 1 => CompiledTerm::Term(terms.remove(0)),
                terms => {
                    let scoring = EnableScoring::disabled_from_searcher(&present.searcher);
                    CompiledTerm::Phrase(PhraseQuery::new(terms).weight(scoring)?)
                }
            },
            Self::Like { word, stem } => {
                CompiledTerm::Like([like(fields.words, word)?, like(fields.stems, stem)?])
            }
        })
    }
}

/// A piece, ready to be looked for.
enum CompiledTerm {
    Nothing,
    Term(Term),
    Phrase(Box<dyn Weight>),
    Like([(Field, AutomatonWeight<DfaWrapper>); 2]),
}

impl CompiledTerm {
    /// The documents of a segment with the piece, those that left it too.
    fn find(&self, segment: &IndexSegment) -> Result<FixedBitSet> {
        let mut found = segment.none();
        match self {
            Self::Nothing => {}
            Self::Term(term) => {
                let index = segment.reader.inverted_index(term.field())?;
                let postings = index.read_block_postings(term, IndexRecordOption::Basic);
                if let Some(postings) = postings.map_err(TantivyError::from)? {
                    insert_all(segment, postings, &mut found);
                }
            }
            Self::Phrase(weight) => {
                weight.for_each_no_score(&segment.reader, &mut |documents| {
                    let places = documents.iter().map(|document| segment.place(*document));
                    places.for_each(|place| found.insert(place));
                })?;
            }
            Self::Like(either) => {
                for (field, automaton) in either {
                    let index = segment.reader.inverted_index(*field)?;
                    for term in automaton.get_match_term_infos(&segment.reader)? {
                        let basic = IndexRecordOption::Basic;
                        let postings = index.read_block_postings_from_terminfo(&term, basic);
                        insert_all(segment, postings.map_err(TantivyError::from)?, &mut found);
                    }
                }
            }
        }
        Ok(found)
    }
}

fn insert_all(segment: &IndexSegment, mut postings: BlockSegmentPostings, found: &mut FixedBitSet) {
    while !postings.docs().is_empty() {
        let documents = postings.docs().iter();
        documents.for_each(|document| found.insert(segment.place(*document)));
        postings.advance();
    }
}

/// What pieces find. Shared by all questions.
pub(super) struct PostingsCache(Cache<(SegmentId, Arc<QueryTerm>), Arc<FixedBitSet>>);

impl PostingsCache {
    /// Nothing yet.
    pub fn new() -> Self {
        let sets = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|_, set: &Arc<FixedBitSet>| {
                u32::try_from(size_of_val(set.as_slice()) + ENTRY_BYTES).unwrap_or(u32::MAX)
            });
        Self(sets.build())
    }

    /// The documents with a piece in each segment, those that left it too.
    pub fn find(
        &self,
        present: &IndexSnapshot,
        fields: IndexFields,
        piece: &QueryTerm,
    ) -> Result<Vec<Arc<FixedBitSet>>> {
        let shared = Arc::new(piece.clone());
        let key = |segment: &IndexSegment| (segment.id(), Arc::clone(&shared));
        let segments = present.segments.iter();
        let known: Vec<Option<Arc<FixedBitSet>>> =
            segments.map(|segment| self.0.get(&key(segment))).collect();
        if known.iter().all(Option::is_some) {
            return Ok(known.into_iter().flatten().collect());
        }
        let sought = piece.sought(present, fields)?;
        let segments = present.segments.par_iter().zip(known.into_par_iter());
        let sets = segments.map(|(segment, known)| match known {
            Some(set) => Ok(set),
            None => {
                let set = Arc::new(sought.find(segment)?);
                self.0.insert(key(segment), Arc::clone(&set));
                Ok(set)
            }
        });
        sets.collect()
    }
}
