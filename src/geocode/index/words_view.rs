//! A view of a segment's words, for aligning the words of a query with those of street names.
//!
//! A query reads several thousand words and street names. The view locates the sections of the mapped file once instead
//! of at each read.

use std::ops::Range;

use super::word_kind::WordKind;
use crate::text::likeness::BaseWord;

/// The words of a segment and of its streets: slices taken once for many reads.
#[derive(Clone, Copy)]
pub(crate) struct WordsView<'s> {
    pub(super) text: &'s [u8],
    pub(super) at: &'s [u32],
    pub(super) signatures: &'s [u64],
    pub(super) sounds: &'s [u32],
    pub(super) kinds: &'s [u32],
    pub(super) street_word_at: &'s [u32],
    pub(super) street_words: &'s [u32],
}

impl<'s> WordsView<'s> {
    /// Returns a word.
    pub fn word(&self, word: u32) -> BaseWord<'s> {
        let (text, signature, sound) = self.outline(word);
        BaseWord {
            text: std::str::from_utf8(text).unwrap_or_default(),
            signature,
            sound,
        }
    }

    /// Returns the bytes, signature and sound of a word, without checking that the bytes are UTF-8.
    pub fn outline(&self, word: u32) -> (&'s [u8], u64, u32) {
        let word = word as usize;
        let text = item(self.at, word).and_then(|range| self.text.get(range));
        (
            text.unwrap_or(&[]),
            self.signatures.get(word).copied().unwrap_or(0),
            self.sounds.get(word).copied().unwrap_or(0),
        )
    }

    /// Returns the kind of a word in street names.
    pub fn kind(&self, word: u32) -> WordKind {
        WordKind::from_bits(self.kinds.get(word as usize).copied().unwrap_or(0))
    }

    /// Returns the words of a street's name, in order.
    pub fn of_street(&self, street: u32) -> &'s [u32] {
        let range = item(self.street_word_at, street as usize);
        range
            .and_then(|range| self.street_words.get(range))
            .unwrap_or(&[])
    }
}

/// Returns the range of the item at an index.
fn item(at: &[u32], index: usize) -> Option<Range<usize>> {
    let ends = at.get(index..index + 2)?;
    Some(ends[0] as usize..ends[1] as usize)
}
