//! What the texts of a search find, and how well it fits them.
//!
//! A search is taken apart into pieces: a keyword, or a word of a full text. What a piece finds in a segment is a set
//! ([`super::kept`]); full texts find, of each word, the documents with a word that resembles it, of each text those
//! with all of its words, of all texts those with any. How well a document fits is counted afterwards, of those found
//! alone: keywords by their weight (BM25), and for each full text it has all words of, one for each word, and for the
//! stem of each as asked its weight twice.

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use tantivy::query::{Bm25Weight, BooleanQuery, EnableScoring, Occur, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, TantivyError, Term};

use super::Result;
use super::kept::{Kept, Piece};
use super::segments::{Present, Segment};
use super::sets::{Ranked, Set};
use super::words::Fields;

/// How much more the stem as asked counts than a word that resembles it.
const AS_ASKED_BOOST: f32 = 2.0;

/// The properties that texts find, by their numbers in the store.
pub enum Fits {
    /// Those found.
    Found(Found),
    /// Those found, and how well each fits.
    Scored(Scored),
}

/// Properties that are found.
pub struct Found(Set);

/// Properties that are found, and how well each fits; greater is better.
pub struct Scored {
    found: Ranked,
    /// By rank.
    scores: Vec<f32>,
}

impl Fits {
    /// How well a property fits; `None` when it is not found, 1 when fits were not compared.
    pub fn score(&self, number: i64) -> Option<f32> {
        let number = usize::try_from(number).ok()?;
        match self {
            Fits::Found(Found(found)) => found.contains(number).then_some(1.0),
            Fits::Scored(Scored { found, scores }) => Some(scores[found.rank(number)?]),
        }
    }

    /// Whether a property is found.
    pub fn contains(&self, number: i64) -> bool {
        let found = match self {
            Fits::Found(Found(found)) => found,
            Fits::Scored(Scored { found, .. }) => found.set(),
        };
        usize::try_from(number).is_ok_and(|number| found.contains(number))
    }
}

/// The texts of a search, taken apart.
pub(super) struct Asked {
    /// All of these.
    pub keywords: Vec<Piece>,
    /// Any of these, when there are some; of each all words.
    pub texts: Vec<Vec<Piece>>,
}

/// What pieces find in one segment.
struct InSegment {
    found: Set,
    /// Of each full text.
    by_text: Vec<Set>,
}

impl Asked {
    /// The properties that are found.
    pub fn found(&self, present: &Present, kept: &Kept, fields: Fields) -> Result<Fits> {
        let segments = self.in_segments(present, kept, fields)?;
        let found = segments.iter().map(|segment| &segment.found);
        Ok(Fits::Found(Found(present.numbers(found))))
    }

    /// The properties that are found, and how well each fits. Takes several times as long.
    pub fn scored(&self, present: &Present, kept: &Kept, fields: Fields) -> Result<Fits> {
        let weights = Weights::of(self, &present.searcher, fields)?;
        let segments = self.in_segments(present, kept, fields)?;
        let found = present.numbers(segments.iter().map(|segment| &segment.found));
        let found = Ranked::new(found);
        let by_segment = present.segments.par_iter().zip(segments);
        let by_segment = by_segment.map(|(segment, InSegment { found, by_text })| {
            let found = Ranked::new(found);
            let scores = weights.scores(segment, &found, &by_text)?;
            Ok((found, scores))
        });
        let by_segment: Vec<(Ranked, Vec<f32>)> = by_segment.collect::<Result<_>>()?;
        let mut scores = vec![0.0; found.count()];
        for (segment, (set, own)) in present.segments.iter().zip(by_segment) {
            let mut own = own.into_iter();
            set.set().for_each(|place| {
                if let (Some(rank), Some(score)) = (found.rank(segment.number(place)), own.next()) {
                    scores[rank] = score;
                }
            });
        }
        Ok(Fits::Scored(Scored { found, scores }))
    }

    fn in_segments(
        &self,
        present: &Present,
        kept: &Kept,
        fields: Fields,
    ) -> Result<Vec<InSegment>> {
        let of = |pieces: &[Piece]| {
            let sets = pieces.iter().map(|piece| kept.find(present, fields, piece));
            sets.collect::<Result<Vec<_>>>()
        };
        let keywords = of(&self.keywords)?;
        let texts = self.texts.iter().map(|words| of(words));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        let in_segment = |(nth, segment): (usize, &Segment)| {
            let mut found = segment.alive().clone();
            keywords.iter().for_each(|sets| found.keep(&sets[nth]));
            if texts.is_empty() {
                let by_text = Vec::new();
                return InSegment { found, by_text };
            }
            let with_all = |words: &Vec<Vec<Arc<Set>>>| match words.is_empty() {
                // A text without words is found nowhere.
                true => segment.none(),
                false => {
                    let mut with_all = found.clone();
                    words.iter().for_each(|sets| with_all.keep(&sets[nth]));
                    with_all
                }
            };
            let by_text: Vec<Set> = texts.iter().map(with_all).collect();
            let mut found = segment.none();
            by_text.iter().for_each(|with_all| found.add(with_all));
            InSegment { found, by_text }
        };
        Ok(present
            .segments
            .iter()
            .enumerate()
            .map(in_segment)
            .collect())
    }
}

/// What counts for how well a document fits.
struct Weights {
    keywords: Option<Box<dyn Weight>>,
    /// Of each word of each full text its stem.
    stems: Vec<Vec<(Term, Bm25Weight)>>,
}

impl Weights {
    fn of(asked: &Asked, searcher: &Searcher, fields: Fields) -> Result<Self> {
        let keywords = asked.keywords.iter();
        let keywords: Vec<_> = keywords
            .filter_map(|piece| Some((Occur::Must, piece.phrase(fields)?)))
            .collect();
        let keywords = match keywords.is_empty() {
            true => None,
            false => {
                let scoring = EnableScoring::enabled_from_searcher(searcher);
                Some(tantivy::query::Query::weight(
                    &BooleanQuery::new(keywords),
                    scoring,
                )?)
            }
        };
        let weighed = |piece: &Piece| {
            let stem = piece.stem(fields)?;
            let weight = Bm25Weight::for_terms(searcher, std::slice::from_ref(&stem));
            Some(weight.map(|weight| (stem, weight)))
        };
        let stems = asked.texts.iter().map(|words| {
            let weighed = words.iter().filter_map(weighed);
            weighed.collect::<tantivy::Result<Vec<_>>>()
        });
        Ok(Self {
            keywords,
            stems: stems.collect::<tantivy::Result<_>>()?,
        })
    }

    /// How well each of the found documents of a segment fits, by rank.
    fn scores(&self, segment: &Segment, found: &Ranked, by_text: &[Set]) -> Result<Vec<f32>> {
        let mut scores = vec![0.0; found.count()];
        if scores.is_empty() {
            return Ok(scores);
        }
        if let Some(keywords) = &self.keywords {
            keywords.for_each(&segment.reader, &mut |document, score| {
                if let Some(rank) = found.rank(segment.place(document)) {
                    scores[rank] += score;
                }
            })?;
        }
        for (stems, with_all) in self.stems.iter().zip(by_text) {
            let mut add = |place: usize, score: f32| {
                if let Some(rank) = found.rank(place) {
                    scores[rank] += score;
                }
            };
            with_all.for_each(|place| add(place, stems.len() as f32));
            for (stem, weight) in stems {
                let index = segment.reader.inverted_index(stem.field())?;
                let lengths = segment.reader.get_fieldnorms_reader(stem.field())?;
                let postings = index.read_block_postings(stem, IndexRecordOption::WithFreqs);
                let Some(mut postings) = postings.map_err(TantivyError::from)? else {
                    continue;
                };
                while !postings.docs().is_empty() {
                    for (document, count) in postings.docs().iter().zip(postings.freqs()) {
                        let place = segment.place(*document);
                        if with_all.contains(place) {
                            let length = lengths.fieldnorm_id(*document);
                            add(place, AS_ASKED_BOOST * weight.score(length, *count));
                        }
                    }
                    postings.advance();
                }
            }
        }
        Ok(scores)
    }
}
