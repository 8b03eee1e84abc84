//! Text queries: find the properties that match the texts of a search, and score them.
//!
//! A query is split into terms: keywords, and the words of full texts. Each term matches a set of documents per segment
//! ([`super::postings_cache`]). A word of a full text matches documents with a similar word. A full text matches
//! documents that match all of its words. A search matches documents that match all of its keywords and at least one of
//! its full texts.
//!
//! Scores are computed afterwards, for the matches only: the BM25 weight of each keyword, plus a score for each
//! matching full text: 1 per word, plus twice the BM25 weight of each exact stem.

use fixedbitset::FixedBitSet;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use tantivy::query::{
    Bm25StatisticsProvider, Bm25Weight, EnableScoring, PhraseQuery, Query, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, TantivyError, Term};

use super::Result;
use super::bitset::RankedBitSet;
use super::index::IndexFields;
use super::postings_cache::{PostingsCache, QueryTerm};
use super::segments::{IndexSegment, IndexSnapshot};
use toise_engine::cancellation::Interrupt;

/// Factor on the BM25 weight of the exact stem of a word in a full text.
const EXACT_STEM_BOOST: f32 = 2.0;

/// The properties that match a text query, by their numbers in the store.
pub enum TextMatches {
    /// The matches, without scores.
    Found(MatchSet),
    /// The matches with their scores.
    Scored(ScoredMatches),
}

/// A set of matching properties.
pub struct MatchSet(FixedBitSet);

/// Matching properties with their scores; higher is better.
pub struct ScoredMatches {
    found: RankedBitSet,
    /// By rank.
    scores: Vec<f32>,
}

impl TextMatches {
    /// Returns the score of a property: `None` if it does not match, 1 if matches were not scored.
    pub fn score(&self, number: i64) -> Option<f32> {
        let number = usize::try_from(number).ok()?;
        match self {
            TextMatches::Found(MatchSet(found)) => found.contains(number).then_some(1.0),
            TextMatches::Scored(ScoredMatches { found, scores }) => {
                Some(scores[found.rank(number)?])
            }
        }
    }

    /// Returns whether a property matches.
    pub fn contains(&self, number: i64) -> bool {
        let found = match self {
            TextMatches::Found(MatchSet(found)) => found,
            TextMatches::Scored(ScoredMatches { found, .. }) => found.set(),
        };
        usize::try_from(number).is_ok_and(|number| found.contains(number))
    }
}

/// The tokenised texts of a search.
pub(super) struct TextQuery {
    /// All must match.
    pub keywords: Vec<QueryTerm>,
    /// At least one must match with all of its words; no condition if empty.
    pub texts: Vec<Vec<QueryTerm>>,
}

/// The matches in one segment.
struct SegmentMatches {
    found: FixedBitSet,
    /// The matches of each full text.
    by_text: Vec<FixedBitSet>,
}

/// The inputs of a text query.
pub(super) struct TextSearchContext<'a> {
    /// The index snapshot to search.
    pub snapshot: &'a IndexSnapshot,
    /// The cache of postings.
    pub cache: &'a PostingsCache,
    /// The fields of the index.
    pub fields: IndexFields,
    /// Set when the query is cancelled.
    pub interrupt: &'a Interrupt,
}

impl TextSearchContext<'_> {
    /// Keeps the documents of each segment that match a term; returns whether any are left.
    fn keep(&self, query_term: &QueryTerm, documents: &mut [FixedBitSet]) -> Result<bool> {
        self.interrupt.check()?;
        let sets = self.cache.find(self.snapshot, self.fields, query_term)?;
        for (documents, with_term) in documents.iter_mut().zip(&sets) {
            documents.intersect_with(with_term);
        }
        Ok(!documents.iter().all(FixedBitSet::is_clear))
    }
}

impl TextQuery {
    /// Finds the matching properties.
    pub fn found(&self, context: &TextSearchContext<'_>) -> Result<TextMatches> {
        let segments = self.in_segments(context)?;
        let found = segments.iter().map(|segment| &segment.found);
        Ok(TextMatches::Found(MatchSet(
            context.snapshot.numbers(found),
        )))
    }

    /// Finds and scores the matching properties. Takes several times as long as [`TextQuery::found`].
    pub fn scored(&self, context: &TextSearchContext<'_>) -> Result<TextMatches> {
        let snapshot = context.snapshot;
        let segments = self.in_segments(context)?;
        let weights = TermWeights::of(self, &snapshot.searcher, context.fields)?;
        let found = snapshot.numbers(segments.iter().map(|segment| &segment.found));
        let found = RankedBitSet::new(found);
        let by_segment = snapshot.segments.par_iter().zip(segments);
        let by_segment = by_segment.map(|(segment, SegmentMatches { found, by_text })| {
            let found = RankedBitSet::new(found);
            let scores = weights.scores(segment, &found, &by_text, context.interrupt)?;
            Ok((found, scores))
        });
        let by_segment: Vec<(RankedBitSet, Vec<f32>)> = by_segment.collect::<Result<_>>()?;
        let mut scores = vec![0.0; found.count()];
        for (segment, (set, own)) in snapshot.segments.iter().zip(by_segment) {
            let mut own = own.into_iter();
            set.set().ones().for_each(|place| {
                if let (Some(rank), Some(score)) = (found.rank(segment.number(place)), own.next()) {
                    scores[rank] = score;
                }
            });
        }
        Ok(TextMatches::Scored(ScoredMatches { found, scores }))
    }

    /// Finds the matches of each segment. Terms are intersected one after the other, and the rest is skipped once
    /// nothing is left.
    fn in_segments(&self, context: &TextSearchContext<'_>) -> Result<Vec<SegmentMatches>> {
        let segments = &context.snapshot.segments;
        let mut found: Vec<FixedBitSet> = segments.iter().map(|one| one.alive().clone()).collect();
        let mut is_any = true;
        for keyword in &self.keywords {
            is_any = is_any && context.keep(keyword, &mut found)?;
        }
        if self.texts.is_empty() {
            let found = found.into_iter().map(|found| SegmentMatches {
                found,
                by_text: Vec::new(),
            });
            return Ok(found.collect());
        }
        let nothing = || {
            segments
                .iter()
                .map(IndexSegment::none)
                .collect::<Vec<FixedBitSet>>()
        };
        let mut by_text: Vec<Vec<FixedBitSet>> = segments.iter().map(|_| Vec::new()).collect();
        let mut with_any = nothing();
        for words in &self.texts {
            // A text without words matches nothing.
            let mut is_left = is_any && !words.is_empty();
            let mut with_all = if is_left { found.clone() } else { nothing() };
            for word in words {
                is_left = is_left && context.keep(word, &mut with_all)?;
            }
            for (nth, with_all) in with_all.into_iter().enumerate() {
                with_any[nth].union_with(&with_all);
                by_text[nth].push(with_all);
            }
        }
        let segments = with_any.into_iter().zip(by_text);
        Ok(segments
            .map(|(found, by_text)| SegmentMatches { found, by_text })
            .collect())
    }
}

/// Index statistics rounded up to powers of two. Scores then stay bit-identical while other texts are added and
/// removed, and two pages of a result list are consistent even if they come from different snapshots. A score changes
/// only when one of these crosses a power of two: the number of texts, of their words, or of texts with a word of the
/// search.
pub(super) struct CoarseStatistics<'s>(pub &'s Searcher);

impl Bm25StatisticsProvider for CoarseStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.0.total_num_tokens(field)?.next_power_of_two())
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.0.total_num_docs()?.next_power_of_two())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.0.doc_freq(term)?.next_power_of_two())
    }
}

/// The weights that make up a score. They are added one by one in the order of the query, the same in every segment,
/// because floating-point sums depend on their order.
struct TermWeights {
    keywords: Vec<KeywordWeight>,
    /// The stem of each word of each full text.
    stems: Vec<Vec<(Term, Bm25Weight)>>,
}

/// The weight of a keyword.
enum KeywordWeight {
    Word(Term, Bm25Weight),
    Phrase(Box<dyn Weight>),
}

impl TermWeights {
    fn of(query: &TextQuery, searcher: &Searcher, fields: IndexFields) -> Result<Self> {
        let coarse = CoarseStatistics(searcher);
        let with_weight = |term: Term| {
            let weight = Bm25Weight::for_terms(&coarse, std::slice::from_ref(&term));
            weight.map(|weight| (term, weight))
        };
        let scoring = EnableScoring::enabled_from_statistics_provider(&coarse, searcher);
        let keyword_weight = |query_term: &QueryTerm| match query_term.terms(fields) {
            mut terms if terms.len() == 1 => with_weight(terms.remove(0))
                .map(|(term, weight)| Some(KeywordWeight::Word(term, weight))),
            terms if terms.is_empty() => Ok(None),
            terms => {
                let weight = PhraseQuery::new(terms).weight(scoring);
                weight.map(|weight| Some(KeywordWeight::Phrase(weight)))
            }
        };
        let keywords = query
            .keywords
            .iter()
            .filter_map(|query_term| keyword_weight(query_term).transpose());
        let stems = query.texts.iter().map(|words| {
            let stems = words
                .iter()
                .filter_map(|query_term| query_term.stem(fields));
            stems.map(with_weight).collect::<tantivy::Result<Vec<_>>>()
        });
        Ok(Self {
            keywords: keywords.collect::<tantivy::Result<_>>()?,
            stems: stems.collect::<tantivy::Result<_>>()?,
        })
    }

    /// Computes the scores of the matching documents of a segment, by rank.
    fn scores(
        &self,
        segment: &IndexSegment,
        found: &RankedBitSet,
        by_text: &[FixedBitSet],
        interrupt: &Interrupt,
    ) -> Result<Vec<f32>> {
        let mut scores = vec![0.0; found.count()];
        if scores.is_empty() {
            return Ok(scores);
        }
        let mut add = |place: usize, score: f32| {
            if let Some(rank) = found.rank(place) {
                scores[rank] += score;
            }
        };
        for keyword in &self.keywords {
            interrupt.check()?;
            match keyword {
                KeywordWeight::Word(term, weight) => {
                    add_weights(segment, term, weight, found.set(), &mut add)?;
                }
                KeywordWeight::Phrase(weight) => weight
                    .for_each(&segment.reader, &mut |document, score| {
                        add(segment.place(document), score)
                    })?,
            }
        }
        for (stems, with_all) in self.stems.iter().zip(by_text) {
            with_all
                .ones()
                .for_each(|place| add(place, stems.len() as f32));
            for (stem, weight) in stems {
                interrupt.check()?;
                let mut add = |place, score| add(place, EXACT_STEM_BOOST * score);
                add_weights(segment, stem, weight, with_all, &mut add)?;
            }
        }
        Ok(scores)
    }
}

/// Adds the weight of a term to each document of a segment that contains it and is in `among`.
fn add_weights(
    segment: &IndexSegment,
    term: &Term,
    weight: &Bm25Weight,
    among: &FixedBitSet,
    add: &mut impl FnMut(usize, f32),
) -> Result<()> {
    let index = segment.reader.inverted_index(term.field())?;
    let lengths = segment.reader.get_fieldnorms_reader(term.field())?;
    let postings = index.read_block_postings(term, IndexRecordOption::WithFreqs);
    let Some(mut postings) = postings.map_err(TantivyError::from)? else {
        return Ok(());
    };
    while !postings.docs().is_empty() {
        for (document, count) in postings.docs().iter().zip(postings.freqs()) {
            let place = segment.place(*document);
            if among.contains(place) {
                add(place, weight.score(lengths.fieldnorm_id(*document), *count));
            }
        }
        postings.advance();
    }
    Ok(())
}
