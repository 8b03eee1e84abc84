//! Aligns words that the query or the street's name writes together.

use super::align::{Alignment, StreetQuery};
use super::describing_word::DescribingWord;
use super::query::bit;
use crate::index::words_view::WordsView;
use crate::text::likeness::distance;

/// Likeness of words written together.
pub(super) const GLUED: f32 = 0.97;
/// Minimum length of words written together, in bytes.
const GLUED_MIN: usize = 5;
/// Likeness of two words written together with one edit, and the minimum length of the result, in bytes.
const NEARLY_GLUED: f32 = 0.88;
const NEARLY_GLUED_MIN: usize = 8;

impl StreetQuery<'_> {
    /// Aligns words that one side writes together: `Pré Haut` and `Préhaut`, both ways, and `ruedelapaix`.
    pub(super) fn align_glued(
        &self,
        view: &WordsView<'_>,
        street_words: &[u32],
        alignment: &mut Alignment,
    ) {
        for token in 0..self.words.len() {
            if alignment.used & bit(token) != 0 {
                continue;
            }
            let text = self.text(&self.words[token]);
            let next = self.words.get(token + 1);
            let next = next.filter(|_| alignment.used & bit(token + 1) == 0);
            for at in 0..street_words.len() {
                let joined = if text.len() >= GLUED_MIN {
                    joined_words(view, &street_words[at..], text)
                } else {
                    0
                };
                let is_free = |of: &Option<(usize, f32)>| of.is_none_or(|(_, alike)| alike < GLUED);
                if joined > 1 && alignment.of[at..at + joined].iter().all(is_free) {
                    for of_word in &mut alignment.of[at..at + joined] {
                        // In `8 avenue duHuit Mai`, the 8 is the house number after all.
                        if let Some((former, _)) = of_word.replace((token, GLUED)) {
                            alignment.used &= !bit(former);
                        }
                    }
                    alignment.used |= bit(token);
                    break;
                }
                if alignment.of[at].is_some() {
                    continue;
                }
                let base = view.word(street_words[at]).text;
                let is_split =
                    |next: &DescribingWord| base.strip_prefix(text) == Some(self.text(next));
                if base.len() >= GLUED_MIN && next.is_some_and(is_split) {
                    alignment.of[at] = Some((token, GLUED));
                    alignment.used |= bit(token) | bit(token + 1);
                    break;
                }
            }
        }
    }

    /// Aligns a long word with two words of the street that it differs from by one edit when they are written together:
    /// `saintxmartin`.
    pub(super) fn align_nearly_glued(
        &self,
        view: &WordsView<'_>,
        street_words: &[u32],
        alignment: &mut Alignment,
    ) {
        for (token, one) in self.words.iter().enumerate() {
            if alignment.used & bit(token) != 0 || one.length < NEARLY_GLUED_MIN {
                continue;
            }
            let is_meant = |at: &usize| {
                alignment.of[*at..*at + 2].iter().all(Option::is_none)
                    && is_nearly_joined(view, &street_words[*at..*at + 2], self.text(one))
            };
            let found = (0..street_words.len().saturating_sub(1)).find(is_meant);
            if let Some(at) = found {
                alignment.of[at..at + 2].fill(Some((token, NEARLY_GLUED)));
                alignment.used |= bit(token);
            }
        }
    }
}

/// Returns how many words of a street, from the first, form the text when written together; 0 if they do not.
fn joined_words(view: &WordsView<'_>, street_words: &[u32], text: &str) -> usize {
    let mut rest = text;
    for (count, word) in street_words.iter().enumerate() {
        let word = view.word(*word).text;
        match rest.strip_prefix(word) {
            Some("") => return count + 1,
            Some(left) => rest = left,
            None => return 0,
        }
    }
    0
}

/// Returns whether words of a street, written together, differ from the text by one edit.
fn is_nearly_joined(view: &WordsView<'_>, street_words: &[u32], text: &str) -> bool {
    let words = street_words.iter().map(|word| view.word(*word).text);
    let length: usize = words.clone().map(str::len).sum();
    length.abs_diff(text.len()) <= 1
        && distance(words.collect::<String>().as_bytes(), text.as_bytes(), 1).is_some()
}
