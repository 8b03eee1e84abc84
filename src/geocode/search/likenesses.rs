//! Compares the tokens of a query with the words of the base, each pair once.
//!
//! A commune has about a hundred distinct words, and a query about eight tokens. Most pairs are ruled out by their
//! first letters, their sounds, or the letters they have: 3 ns a pair.

use super::query::{Query, bit};
use crate::index::word_kind::WordKind;
use crate::index::words_view::WordsView;
use crate::text::likeness::QueryWord;

/// Minimum likeness of an alignment.
pub(super) const LIKENESS_MIN: f32 = 0.5;
/// Bit that marks a word of the base which may be joined with a neighbour in the query, or split there.
pub(super) const GLUE: u64 = 1 << 63;
/// Initial slots of the table of rows, a power of two: enough for the distinct words of an average commune.
const SLOTS: usize = 1 << 9;

/// Similarities of the tokens of a query and the words of the base compared so far. All readings share them.
pub struct Likenesses {
    words: Vec<QueryWord>,
    /// Tokens that may match a word of the base by more than small edits, by the word's first byte.
    by_first: [u64; 256],
    /// Tokens by their last byte.
    by_last: [u64; 256],
    /// Tokens that some reading may need: all but noise.
    needed: u64,
    /// Hash table with open addressing: key (segment and word, plus one; 0 if free) and row.
    slots: Vec<(u64, u32)>,
    rows: Vec<Row>,
    values: Vec<f32>,
}

/// The likenesses of one word of the base, and its kind.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Tokens that are alike, as bits.
    pub(super) alike: u64,
    /// Tokens compared so far, as bits.
    compared: u64,
    /// Index of the first likeness in `values`.
    at: u32,
    pub(super) kind: WordKind,
}

impl Row {
    pub(super) const NONE: Self = Self {
        alike: 0,
        compared: 0,
        at: 0,
        kind: WordKind {
            is_article: false,
            is_street_type: false,
            may_be_left_out: false,
            weight: 0.0,
        },
    };
}

/// Hashes a key that is already a number.
fn spread(key: u64) -> usize {
    (key ^ (key >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 20
}

impl Likenesses {
    /// Creates a table for the tokens of a query. If `is_open`, the last token is still being typed.
    pub fn new(query: &Query, is_open: bool) -> Self {
        let last = query.tokens.len().saturating_sub(1);
        let tokens = query.tokens.iter().enumerate();
        let words: Vec<QueryWord> = tokens
            .map(|(at, token)| QueryWord::new(&token.text, is_open && at == last))
            .collect();
        let (mut by_first, mut by_last) = ([0; 256], [0; 256]);
        for (at, word) in words.iter().enumerate() {
            let last = word.text().bytes().last().unwrap_or(0);
            by_last[usize::from(last)] |= bit(at);
            for first in word.first_bytes() {
                by_first[usize::from(first)] |= bit(at);
            }
            // A word of the base that begins with a digit may match any word of the query.
            for digit in b'0'..=b'9' {
                by_first[usize::from(digit)] |= bit(at);
            }
        }
        Self {
            needed: !query.noise,
            words,
            by_first,
            by_last,
            slots: vec![(0, 0); SLOTS],
            rows: Vec::with_capacity(SLOTS / 2),
            values: Vec::new(),
        }
    }

    /// Returns the row with a number returned by [`Likenesses::row`].
    pub(super) fn row_at(&self, number: u32) -> &Row {
        &self.rows[number as usize]
    }

    /// Returns a token's word.
    pub fn word(&self, token: usize) -> &QueryWord {
        &self.words[token]
    }

    /// Returns the number of the row of a word, after comparing the word with all of `tokens`.
    pub(super) fn row(
        &mut self,
        view: &WordsView<'_>,
        segment: usize,
        word: u32,
        tokens: u64,
    ) -> u32 {
        let key = ((segment as u64) << 32 | u64::from(word)) + 1;
        let mask = self.slots.len() - 1;
        let mut slot = spread(key) & mask;
        loop {
            match self.slots[slot] {
                (found, row) if found == key => {
                    if tokens & !self.rows[row as usize].compared != 0 {
                        self.compare(view, word, row, tokens);
                    }
                    return row;
                }
                (0, _) => break,
                _ => slot = (slot + 1) & mask,
            }
        }
        let row = self.rows.len() as u32;
        self.slots[slot] = (key, row);
        self.rows.push(Row {
            alike: 0,
            compared: !self.needed,
            at: self.values.len() as u32,
            kind: view.kind(word),
        });
        self.values
            .resize(self.values.len() + self.words.len(), 0.0);
        self.compare(view, word, row, tokens);
        if self.rows.len() * 2 > self.slots.len() {
            self.grow();
        }
        row
    }

    /// Compares a word of the base with the `tokens` that it has not been compared with yet.
    fn compare(&mut self, view: &WordsView<'_>, word: u32, row: u32, tokens: u64) {
        let row = &mut self.rows[row as usize];
        let due = tokens & !row.compared;
        row.compared |= tokens;
        let (text, signature, sound) = view.outline(word);
        let ends = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or(0));
        let of_first = self.by_first[ends(text.first())];
        let of_ends = of_first | self.by_last[ends(text.last())];
        let mut left = due;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(token) = self.words.get(at) else {
                break;
            };
            if of_first & bit(at) != 0
                || token.may_be_near(text.len(), signature)
                || token.sounds_like(sound)
            {
                let likeness = token.likeness(view.word(word));
                self.values[row.at as usize + at] = likeness;
                if likeness >= LIKENESS_MIN {
                    row.alike |= bit(at);
                }
            }
            if of_ends & bit(at) != 0 && token.may_be_glued(text) {
                row.alike |= GLUE;
            }
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let former = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        for (key, row) in former.into_iter().filter(|(key, _)| *key != 0) {
            let mut slot = spread(key) & (size - 1);
            while self.slots[slot].0 != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = (key, row);
        }
    }

    pub(super) fn likeness(&self, row: Row, token: usize) -> f32 {
        let value = self.values.get(row.at as usize + token);
        value.copied().unwrap_or(0.0)
    }
}
