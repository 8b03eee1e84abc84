//! A size-bounded cache of postings: the documents that each query term matches in each segment.
//!
//! Segments never change, so an entry is valid for as long as its segment exists. Finding a keyword that half of two
//! million properties contain takes milliseconds; intersecting its cached sets takes ten microseconds. Properties added
//! later are found in small new segments. Sets of merged segments are no longer used and are therefore evicted first.

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
use toise_engine::texts::errors_max;

/// Memory for cached sets, bytes: about two hundred terms with two million properties.
const CACHE_BYTES: u64 = 64 << 20;
/// Approximate bytes of an entry in addition to its bits.
const ENTRY_BYTES: usize = 256;

/// One term of a text query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum QueryTerm {
    /// These exact words next to each other. An empty phrase matches nothing.
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
    /// Returns the words of a phrase; empty for another kind of term.
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

    /// Returns the stem of a [`QueryTerm::Like`]; `None` for another kind of term.
    pub fn stem(&self, fields: IndexFields) -> Option<Term> {
        match self {
            Self::Phrase(_) => None,
            Self::Like { stem, .. } => Some(Term::from_field_text(fields.stems, stem)),
        }
    }

    fn compile(&self, present: &IndexSnapshot, fields: IndexFields) -> Result<CompiledTerm> {
        let like = |field: Field, text: &str| {
            let errors = errors_max(text.chars().count());
            let term = Term::from_field_text(field, text);
            let automaton = FuzzyTermQuery::new(term, errors, true).automaton()?;
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

/// A query term compiled for search.
enum CompiledTerm {
    Nothing,
    Term(Term),
    Phrase(Box<dyn Weight>),
    Like([(Field, AutomatonWeight<DfaWrapper>); 2]),
}

impl CompiledTerm {
    /// Finds the documents of a segment that match the term, deleted ones included.
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

/// The cached sets. Shared by all queries.
pub(super) struct PostingsCache(Cache<(SegmentId, Arc<QueryTerm>), Arc<FixedBitSet>>);

impl PostingsCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        let sets = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|_, set: &Arc<FixedBitSet>| {
                u32::try_from(size_of_val(set.as_slice()) + ENTRY_BYTES).unwrap_or(u32::MAX)
            });
        Self(sets.build())
    }

    /// Finds the documents of each segment that match a term, deleted ones included.
    pub fn find(
        &self,
        present: &IndexSnapshot,
        fields: IndexFields,
        term: &QueryTerm,
    ) -> Result<Vec<Arc<FixedBitSet>>> {
        let shared = Arc::new(term.clone());
        let key = |segment: &IndexSegment| (segment.id(), Arc::clone(&shared));
        let segments = present.segments.iter();
        let known: Vec<Option<Arc<FixedBitSet>>> =
            segments.map(|segment| self.0.get(&key(segment))).collect();
        if known.iter().all(Option::is_some) {
            return Ok(known.into_iter().flatten().collect());
        }
        let compiled = term.compile(present, fields)?;
        let segments = present.segments.par_iter().zip(known.into_par_iter());
        let sets = segments.map(|(segment, known)| match known {
            Some(set) => Ok(set),
            None => {
                let set = Arc::new(compiled.find(segment)?);
                self.0.insert(key(segment), Arc::clone(&set));
                Ok(set)
            }
        });
        sets.collect()
    }
}
