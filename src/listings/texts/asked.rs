//! The texts of a search, looked for in one segment of the index.
//!
//! Full texts are sets of documents: of each word those with a word that resembles it, together, of each text those
//! with all of its words, of all texts those with any. Sets are bits, so a word that half of the documents hold costs
//! little more than reading where it occurs. How well a document fits is counted afterwards, of those found alone: one
//! for each word of a text it has all words of, and for its stem as asked its weight (BM25) twice.

use tantivy::index::SegmentReader;
use tantivy::postings::BlockSegmentPostings;
use tantivy::query::{
    AutomatonWeight, DfaWrapper, EnableScoring, FuzzyTermQuery, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, TantivyError, Term};

use super::Result;

/// Letters from which a word of a full text may have one typing error, and from which two.
const TOLERANT_FROM: [usize; 2] = [4, 8];
/// How much more the stem as asked counts than a word that resembles it.
const AS_ASKED_BOOST: f32 = 2.0;

/// The texts of a search, ready to be looked for.
pub(super) struct Asked {
    /// What the keywords ask for, all together.
    pub keywords: Option<Box<dyn Weight>>,
    /// The words of each full text; `None` when there are no full texts.
    pub texts: Option<Vec<Vec<Word>>>,
}

/// A word of a full text.
pub(super) struct Word {
    stem: Box<dyn Weight>,
    /// Words and stems that resemble it.
    resembling: [(Field, AutomatonWeight<DfaWrapper>); 2],
}

impl Word {
    /// A word, by itself and by its stem.
    pub fn new(word: &Term, stem: &Term, scoring: EnableScoring<'_>) -> Result<Self> {
        let exact = TermQuery::new(stem.clone(), IndexRecordOption::WithFreqs);
        let resembling = |term: &Term| {
            let letters = term.value().as_str().unwrap_or_default().chars().count();
            let errors = TOLERANT_FROM
                .iter()
                .filter(|from| letters >= **from)
                .count() as u8;
            let automaton = FuzzyTermQuery::new(term.clone(), errors, true).automaton()?;
            let field = term.field();
            Ok::<_, TantivyError>((field, AutomatonWeight::new(field, automaton)))
        };
        Ok(Self {
            stem: exact.weight(scoring)?,
            resembling: [resembling(word)?, resembling(stem)?],
        })
    }

    /// The documents with a word that resembles this one.
    fn documents(&self, segment: &SegmentReader) -> Result<Documents> {
        let mut found = Documents::none(segment);
        for (field, automaton) in &self.resembling {
            let index = segment.inverted_index(*field)?;
            for term in automaton.get_match_term_infos(segment)? {
                let basic = IndexRecordOption::Basic;
                let postings = index.read_block_postings_from_terminfo(&term, basic);
                found.insert_all(postings.map_err(TantivyError::from)?);
            }
        }
        Ok(found)
    }
}

impl Asked {
    /// The documents of a segment that are found; with `scores`, one a document, also how well each of them fits.
    pub fn find(
        &self,
        segment: &SegmentReader,
        mut scores: Option<&mut [f32]>,
    ) -> Result<Documents> {
        let mut found = Documents::alive(segment);
        if let Some(keywords) = &self.keywords {
            let mut with_keywords = Documents::none(segment);
            if let Some(scores) = &mut scores {
                keywords.for_each(segment, &mut |document, score| {
                    with_keywords.insert(document);
                    scores[document as usize] += score;
                })?;
            } else {
                keywords.for_each_no_score(segment, &mut |documents| {
                    documents
                        .iter()
                        .for_each(|document| with_keywords.insert(*document));
                })?;
            }
            found.keep(&with_keywords);
        }
        if let Some(texts) = &self.texts {
            let mut with_any = Documents::none(segment);
            for text in texts {
                let mut with_all = found.clone();
                for word in text {
                    with_all.keep(&word.documents(segment)?);
                }
                if let Some(scores) = &mut scores {
                    with_all.for_each(|document| scores[document as usize] += text.len() as f32);
                    for word in text {
                        word.stem.for_each(segment, &mut |document, score| {
                            if with_all.contains(document) {
                                scores[document as usize] += AS_ASKED_BOOST * score;
                            }
                        })?;
                    }
                }
                // A text without words is found nowhere.
                if !text.is_empty() {
                    with_any.add(&with_all);
                }
            }
            found = with_any;
        }
        Ok(found)
    }
}

/// Documents of a segment, one bit each.
#[derive(Clone)]
pub(super) struct Documents(Vec<u64>);

impl Documents {
    fn none(segment: &SegmentReader) -> Self {
        Self(vec![0; segment.max_doc().div_ceil(64) as usize])
    }

    /// Those that were not deleted.
    fn alive(segment: &SegmentReader) -> Self {
        let mut documents = Self::none(segment);
        match segment.alive_bitset() {
            None => documents.0.fill(u64::MAX),
            Some(alive) => alive
                .iter_alive()
                .for_each(|document| documents.insert(document)),
        }
        // The last word has room for more documents than there are.
        if let (Some(last), rest @ 1..) = (documents.0.last_mut(), segment.max_doc() % 64) {
            *last &= (1 << rest) - 1;
        }
        documents
    }

    fn insert(&mut self, document: DocId) {
        self.0[document as usize / 64] |= 1 << (document % 64);
    }

    fn insert_all(&mut self, mut postings: BlockSegmentPostings) {
        while !postings.docs().is_empty() {
            postings
                .docs()
                .iter()
                .for_each(|document| self.insert(*document));
            postings.advance();
        }
    }

    fn contains(&self, document: DocId) -> bool {
        self.0[document as usize / 64] >> (document % 64) & 1 == 1
    }

    fn keep(&mut self, others: &Self) {
        self.0
            .iter_mut()
            .zip(&others.0)
            .for_each(|(own, other)| *own &= other);
    }

    fn add(&mut self, others: &Self) {
        self.0
            .iter_mut()
            .zip(&others.0)
            .for_each(|(own, other)| *own |= other);
    }

    /// Visits each.
    pub fn for_each(&self, mut visit: impl FnMut(DocId)) {
        for (index, word) in self.0.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                visit(index as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}
