//! What the texts of a search find, and how well it fits them.
//!
//! A search is taken apart into pieces: a keyword, or a word of a full text. What a piece finds in a segment is a set
//! ([`super::postings_cache`]); full texts find, of each word, the documents with a word that resembles it, of each text those
//! with all of its words, of all texts those with any. How well a document fits is counted afterwards, of those found
//! alone: keywords by their weight (BM25), and for each full text it has all words of, one for each word, and for the
//! stem of each as asked its weight twice.

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

/// How much more the stem as asked counts than a word that resembles it.
const AS_ASKED_BOOST: f32 = 2.0;

/// The properties that texts find, by their numbers in the store.
pub enum TextMatches {
    /// Those found.
    Found(MatchSet),
    /// Those found, and how well each fits.
    Scored(ScoredMatches),
}

/// Properties that are found.
pub struct MatchSet(FixedBitSet);

/// Properties that are found, and how well each fits; greater is better.
pub struct ScoredMatches {
    found: RankedBitSet,
    /// By rank.
    scores: Vec<f32>,
}

impl TextMatches {
    /// How well a property fits; `None` when it is not found, 1 when fits were not compared.
    pub fn score(&self, number: i64) -> Option<f32> {
        let number = usize::try_from(number).ok()?;
        match self {
            TextMatches::Found(MatchSet(found)) => found.contains(number).then_some(1.0),
            TextMatches::Scored(ScoredMatches { found, scores }) => {
                Some(scores[found.rank(number)?])
            }
        }
    }

    /// Whether a property is found.
    pub fn contains(&self, number: i64) -> bool {
        let found = match self {
            TextMatches::Found(MatchSet(found)) => found,
            TextMatches::Scored(ScoredMatches { found, .. }) => found.set(),
        };
        usize::try_from(number).is_ok_and(|number| found.contains(number))
    }
}

/// The texts of a search, taken apart.
pub(super) struct TextQuery {
    /// All of these.
    pub keywords: Vec<QueryTerm>,
    /// Any of these, when there are some; of each all words.
    pub texts: Vec<Vec<QueryTerm>>,
}

/// What pieces find in one segment.
struct SegmentMatches {
    found: FixedBitSet,
    /// Of each full text.
    by_text: Vec<FixedBitSet>,
}

/// Where and for whom a search is looked for.
pub(super) struct TextSearchContext<'a> {
    /// The index as one commit left it.
    pub present: &'a IndexSnapshot,
    /// What pieces found before.
    pub kept: &'a PostingsCache,
    /// The fields of the index.
    pub fields: IndexFields,
    /// Raised when nobody waits any more.
    pub interrupt: &'a Interrupt,
}

impl TextSearchContext<'_> {
    /// Leaves of each segment's documents those with a piece; says whether there are any.
    fn keep(&self, piece: &QueryTerm, documents: &mut [FixedBitSet]) -> Result<bool> {
        self.interrupt.check()?;
        let sets = self.kept.find(self.present, self.fields, piece)?;
        for (documents, with_piece) in documents.iter_mut().zip(&sets) {
            documents.intersect_with(with_piece);
        }
        Ok(!documents.iter().all(FixedBitSet::is_clear))
    }
}

impl TextQuery {
    /// The properties that are found.
    pub fn found(&self, looking: &TextSearchContext<'_>) -> Result<TextMatches> {
        let segments = self.in_segments(looking)?;
        let found = segments.iter().map(|segment| &segment.found);
        Ok(TextMatches::Found(MatchSet(looking.present.numbers(found))))
    }

    /// The properties that are found, and how well each fits. Takes several times as long.
    pub fn scored(&self, looking: &TextSearchContext<'_>) -> Result<TextMatches> {
        let present = looking.present;
        let segments = self.in_segments(looking)?;
        let weights = TermWeights::of(self, &present.searcher, looking.fields)?;
        let found = present.numbers(segments.iter().map(|segment| &segment.found));
        let found = RankedBitSet::new(found);
        let by_segment = present.segments.par_iter().zip(segments);
        let by_segment = by_segment.map(|(segment, SegmentMatches { found, by_text })| {
            let found = RankedBitSet::new(found);
            let scores = weights.scores(segment, &found, &by_text, looking.interrupt)?;
            Ok((found, scores))
        });
        let by_segment: Vec<(RankedBitSet, Vec<f32>)> = by_segment.collect::<Result<_>>()?;
        let mut scores = vec![0.0; found.count()];
        for (segment, (set, own)) in present.segments.iter().zip(by_segment) {
            let mut own = own.into_iter();
            set.set().ones().for_each(|place| {
                if let (Some(rank), Some(score)) = (found.rank(segment.number(place)), own.next()) {
                    scores[rank] = score;
                }
            });
        }
        Ok(TextMatches::Scored(ScoredMatches { found, scores }))
    }

    /// Pieces are looked for one after the other, and no more once nothing is left.
    fn in_segments(&self, looking: &TextSearchContext<'_>) -> Result<Vec<SegmentMatches>> {
        let segments = &looking.present.segments;
        let mut found: Vec<FixedBitSet> = segments.iter().map(|one| one.alive().clone()).collect();
        let mut is_any = true;
        for keyword in &self.keywords {
            is_any = is_any && looking.keep(keyword, &mut found)?;
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
            // A text without words is found nowhere.
            let mut is_left = is_any && !words.is_empty();
            let mut with_all = if is_left { found.clone() } else { nothing() };
            for word in words {
                is_left = is_left && looking.keep(word, &mut with_all)?;
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

/// The statistics of an index rounded up to powers of two, so that scores stay what they are, to the last bit, while
/// other texts come and go: pages of one list then follow each other even where they were cut in two states. A score
/// changes when the texts, their words or those with a word of the search double.
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

/// What counts for how well a document fits. Each part is added by itself and in the order asked, whatever a segment
/// holds, because sums of floating-point numbers depend on their order.
struct TermWeights {
    keywords: Vec<KeywordWeight>,
    /// Of each word of each full text its stem.
    stems: Vec<Vec<(Term, Bm25Weight)>>,
}

/// What a keyword counts.
enum KeywordWeight {
    Word(Term, Bm25Weight),
    Phrase(Box<dyn Weight>),
}

impl TermWeights {
    fn of(asked: &TextQuery, searcher: &Searcher, fields: IndexFields) -> Result<Self> {
        let coarse = CoarseStatistics(searcher);
        let weighed = |term: Term| {
            let weight = Bm25Weight::for_terms(&coarse, std::slice::from_ref(&term));
            weight.map(|weight| (term, weight))
        };
        let scoring = EnableScoring::enabled_from_statistics_provider(&coarse, searcher);
        let counted = |piece: &QueryTerm| match piece.terms(fields) {
            mut terms if terms.len() == 1 => weighed(terms.remove(0))
                .map(|(term, weight)| Some(KeywordWeight::Word(term, weight))),
            terms if terms.is_empty() => Ok(None),
            terms => {
                let weight = PhraseQuery::new(terms).weight(scoring);
                weight.map(|weight| Some(KeywordWeight::Phrase(weight)))
            }
        };
        let keywords = asked
            .keywords
            .iter()
            .filter_map(|piece| counted(piece).transpose());
        let stems = asked.texts.iter().map(|words| {
            let stems = words.iter().filter_map(|piece| piece.stem(fields));
            stems.map(weighed).collect::<tantivy::Result<Vec<_>>>()
        });
        Ok(Self {
            keywords: keywords.collect::<tantivy::Result<_>>()?,
            stems: stems.collect::<tantivy::Result<_>>()?,
        })
    }

    /// How well each of the found documents of a segment fits, by rank.
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
                let mut add = |place, score| add(place, AS_ASKED_BOOST * score);
                add_weights(segment, stem, weight, with_all, &mut add)?;
            }
        }
        Ok(scores)
    }
}

/// Adds what a term counts to each document of a segment that holds it and is among some.
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
