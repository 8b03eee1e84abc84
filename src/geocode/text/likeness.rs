//! Measures how similar a word of a query and a word of the base are, from 0 to 1.
//!
//! A query is compared with every distinct word of the communes that it may mean, so most comparisons must end early. A
//! signature of the letters and the lengths bound the edit distance before any letter is compared.

use std::cmp::Ordering;

use super::{lexicon, numerals, sound};

/// Likeness of an abbreviation of the word.
pub const ABBREVIATION: f32 = 0.97;
/// Likeness of a number written in words, or the reverse.
pub const NUMERAL: f32 = 0.95;
/// Likeness of a word with the same sound.
pub const SOUND: f32 = 0.88;
/// Likeness of the initial of a first name.
pub const INITIAL: f32 = 0.75;
/// Likeness of the shortest prefix; a longer one is more alike.
const PREFIX: f32 = 0.8;
/// Likeness of the shortest prefix while the word is still being typed.
pub const OPEN_PREFIX: f32 = 0.94;
/// Minimum length of a prefix outside autocompletion, in bytes.
const PREFIX_MIN: usize = 3;
/// Maximum length of words whose distance is measured, in bytes; longer words are compared exactly.
const MEASURED_MAX: usize = 32;

/// A word of a query, prepared for many comparisons.
#[derive(Clone, Debug)]
pub struct QueryWord {
    text: String,
    signature: u64,
    sound: u32,
    alternatives: &'static [&'static str],
    numerals: &'static [String],
    is_number: bool,
    /// Whether its end is still being typed.
    pub is_open: bool,
}

/// A word of the base, as the index stores it.
#[derive(Clone, Copy, Debug)]
pub struct BaseWord<'w> {
    /// Folded text.
    pub text: &'w str,
    /// [`signature`] of the text.
    pub signature: u64,
    /// [`sound::key`] of the text.
    pub sound: u32,
}

/// Returns which letters and digits a word has, and which letters it has twice, as bits.
pub fn signature(word: &str) -> u64 {
    let mut bits = 0_u64;
    for byte in word.bytes() {
        let bit = match byte {
            b'a'..=b'z' => 1 << (byte - b'a'),
            b'0'..=b'9' => 1 << (52 + (byte - b'0')),
            _ => 1 << 63,
        };
        bits |= if bits & bit != 0 && byte.is_ascii_lowercase() {
            bit << 26
        } else {
            bit
        };
    }
    bits
}

/// Returns the maximum number of edits between two words, the longer of which has `letters` letters.
fn edits_max(letters: usize) -> usize {
    match letters {
        0..=2 => 0,
        3 => 1,
        4..=5 => 2,
        _ => 3,
    }
}

impl QueryWord {
    /// Prepares a folded word.
    pub fn new(text: &str, is_open: bool) -> Self {
        Self {
            text: text.to_owned(),
            signature: signature(text),
            sound: sound::key(text),
            alternatives: lexicon::expansions(text),
            numerals: numerals::forms(text),
            is_number: text
                .bytes()
                .next()
                .is_some_and(|first| first.is_ascii_digit()),
            is_open,
        }
    }

    /// Returns whether a word of the base begins with this word, or is the beginning or the end of it: they may be
    /// written together with a neighbour.
    pub fn may_be_glued(&self, other: &[u8]) -> bool {
        let own = self.text.as_bytes();
        match own.len().cmp(&other.len()) {
            Ordering::Less => own.first() == other.first() && other.starts_with(own),
            Ordering::Equal => false,
            Ordering::Greater => {
                (own.first() == other.first() && own.starts_with(other))
                    || (own.last() == other.last() && own.ends_with(other))
            }
        }
    }

    /// Returns the folded text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a word of the base with this length and signature may be within the allowed number of edits.
    pub fn may_be_near(&self, length: usize, signature: u64) -> bool {
        let longer = self.text.len().max(length);
        let most = edits_max(longer);
        let difference = self.text.len().abs_diff(length);
        // An added or removed letter changes one bit of the signature, a replaced letter two.
        !self.is_number
            && most > 0
            && difference <= most
            && (self.signature ^ signature).count_ones() as usize <= 2 * most - difference
    }

    /// Returns whether the word has the sound key of a word of the base.
    pub fn sounds_like(&self, sound: u32) -> bool {
        sound != 0 && self.sound == sound
    }

    /// Returns the first bytes of the words of the base that this word may stand for, other than by edits and sound.
    pub fn first_bytes(&self) -> impl Iterator<Item = u8> {
        let own = [self.text.as_str()].into_iter();
        let all = own
            .chain(self.alternatives.iter().copied())
            .chain(self.numerals.iter().map(String::as_str))
            .chain(lexicon::is_road(&self.text).then_some("r"));
        all.filter_map(|word| word.bytes().next())
    }

    /// Returns how similar a word of the base is: 1 for the same word, 0 for an unrelated one.
    pub fn likeness(&self, other: BaseWord<'_>) -> f32 {
        if self.signature == other.signature && self.text == other.text {
            return 1.0;
        }
        if self.alternatives.contains(&other.text) || is_abbreviation(other.text, &self.text) {
            return ABBREVIATION;
        }
        if self.numerals.iter().any(|form| form == other.text) {
            return NUMERAL;
        }
        if self.is_number {
            return 0.0;
        }
        self.prefix(other.text)
            .max(self.edited(other))
            .max(if self.sounds_like(other.sound) {
                SOUND
            } else {
                0.0
            })
            .max(self.initial(other.text))
    }

    fn shares_first(&self, other: &str) -> bool {
        self.text.as_bytes().first() == other.as_bytes().first()
    }

    fn prefix(&self, other: &str) -> f32 {
        let least = if self.is_open { 1 } else { PREFIX_MIN };
        if self.text.len() < least || !self.shares_first(other) || !other.starts_with(&self.text) {
            return 0.0;
        }
        let least = if self.is_open { OPEN_PREFIX } else { PREFIX };
        least + (1.0 - least) * self.text.len() as f32 / other.len() as f32
    }

    fn initial(&self, other: &str) -> f32 {
        let is_initial = self.text.len() == 1 && other.len() > 2 && other.starts_with(&self.text);
        if is_initial { INITIAL } else { 0.0 }
    }

    fn edited(&self, other: BaseWord<'_>) -> f32 {
        if !self.may_be_near(other.text.len(), other.signature) {
            return 0.0;
        }
        let longer = self.text.len().max(other.text.len());
        let most = edits_max(longer);
        match distance(self.text.as_bytes(), other.text.as_bytes(), most) {
            Some(edits) => 1.0 - edits as f32 / longer as f32,
            None => 0.0,
        }
    }
}

fn is_abbreviation(short: &str, long: &str) -> bool {
    if matches!(short, "rd" | "rn") {
        return lexicon::is_road(long) && lexicon::expansions(short).contains(&long);
    }
    // Another abbreviation begins with the same letter as the word.
    short.len() < long.len().min(lexicon::ABBREVIATION_MAX + 1)
        && short.as_bytes().first() == long.as_bytes().first()
        && lexicon::expansions(short).contains(&long)
}

/// Returns the number of edits (insertion, deletion, substitution, transposition of neighbours) between two words;
/// `None` above `most`, and if a word is longer than 32 bytes.
///
/// For ASCII words, uses Hyyrö's bit-parallel form of the table (2003): a column is a few operations on one machine
/// word, some 15 ns for two words of eight letters.
pub fn distance(one: &[u8], other: &[u8], most: usize) -> Option<usize> {
    if one.len() > MEASURED_MAX
        || other.len() > MEASURED_MAX
        || one.len().abs_diff(other.len()) > most
    {
        return None;
    }
    let edits = match (one.is_ascii() && other.is_ascii(), one.is_empty()) {
        (true, false) => distance_ascii(one, other),
        _ => distance_bytes(one, other),
    };
    (edits <= most).then_some(edits)
}

fn distance_ascii(one: &[u8], other: &[u8]) -> usize {
    let mut places = [0_u32; 128];
    for (at, letter) in one.iter().enumerate() {
        places[usize::from(letter & 127)] |= 1 << at;
    }
    let last = 1_u32 << (one.len() - 1);
    let mut edits = one.len();
    // Vertical differences of the table's column: where it rises and where it falls by one.
    let (mut rises, mut falls) = (u32::MAX, 0_u32);
    let (mut diagonal, mut before) = (0_u32, 0_u32);
    for letter in other {
        let here = places[usize::from(letter & 127)];
        let swapped = ((!diagonal & here) << 1) & before;
        diagonal = ((here & rises).wrapping_add(rises) ^ rises) | here | falls | swapped;
        let right_rises = falls | !(diagonal | rises);
        let right_falls = diagonal & rises;
        if right_rises & last != 0 {
            edits += 1;
        } else if right_falls & last != 0 {
            edits -= 1;
        }
        let right_rises = right_rises << 1 | 1;
        rises = right_falls << 1 | !(diagonal | right_rises);
        falls = right_rises & diagonal;
        before = here;
    }
    edits
}

fn distance_bytes(one: &[u8], other: &[u8]) -> usize {
    let width = other.len() + 1;
    let mut rows = [[0_u8; MEASURED_MAX + 1]; 3];
    for (column, cell) in rows[0][..width].iter_mut().enumerate() {
        *cell = column as u8;
    }
    for (row, letter) in one.iter().enumerate() {
        let (now, last, before) = ((row + 1) % 3, row % 3, (row + 2) % 3);
        rows[now][0] = row as u8 + 1;
        for (column, opposite) in other.iter().enumerate() {
            let substituted = rows[last][column] + u8::from(letter != opposite);
            let mut cell = substituted
                .min(rows[last][column + 1] + 1)
                .min(rows[now][column] + 1);
            let is_swap =
                row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *opposite;
            if is_swap {
                cell = cell.min(rows[before][column - 1] + 1);
            }
            rows[now][column + 1] = cell;
        }
    }
    usize::from(rows[one.len() % 3][other.len()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn likeness(query: &str, base: &str) -> f32 {
        let base = BaseWord {
            text: base,
            signature: signature(base),
            sound: sound::key(base),
        };
        QueryWord::new(query, false).likeness(base)
    }

    #[test]
    fn words_are_alike_as_people_write_them() {
        assert_eq!(likeness("gambetta", "gambetta"), 1.0);
        assert_eq!(likeness("av", "avenue"), ABBREVIATION);
        assert_eq!(likeness("general", "gal"), ABBREVIATION);
        assert_eq!(likeness("8", "huit"), NUMERAL);
        assert_eq!(likeness("j", "jean"), INITIAL);
        assert!(likeness("republ", "republique") > 0.9);
        assert!(likeness("repbulique", "republique") >= 0.9);
        assert_eq!(likeness("12", "13"), 0.0);
        assert_eq!(likeness("rue", "roc"), 0.0);
        assert!(likeness("udfas", "dumas") >= 0.6);
        assert_eq!(likeness("moulin", "jardin"), 0.0);
    }

    /// Computes the whole textbook table.
    fn plain(one: &[u8], other: &[u8]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..=one.len() {
            for j in 0..=other.len() {
                table[i][j] = match (i, j) {
                    (0, _) => j,
                    (_, 0) => i,
                    _ => {
                        let substituted =
                            table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                        let mut cell = substituted
                            .min(table[i - 1][j] + 1)
                            .min(table[i][j - 1] + 1);
                        if i > 1
                            && j > 1
                            && one[i - 1] == other[j - 2]
                            && one[i - 2] == other[j - 1]
                        {
                            cell = cell.min(table[i - 2][j - 2] + 1);
                        }
                        cell
                    }
                };
            }
        }
        table[one.len()][other.len()]
    }

    proptest! {
        #[test]
        fn the_bounded_distance_is_the_distance(one in "[a-d]{0,9}", other in "[a-d]{0,9}", most in 0_usize..4) {
            let edits = plain(one.as_bytes(), other.as_bytes());
            prop_assert_eq!(distance(one.as_bytes(), other.as_bytes(), most), (edits <= most).then_some(edits));
            prop_assert_eq!(distance_bytes(one.as_bytes(), other.as_bytes()), edits);
        }

        #[test]
        fn signatures_never_hide_a_near_word(one in "[a-f]{4,12}", other in "[a-f]{4,12}") {
            let most = edits_max(one.len().max(other.len()));
            if plain(one.as_bytes(), other.as_bytes()) <= most {
                let differing = (signature(&one) ^ signature(&other)).count_ones() as usize;
                prop_assert!(differing <= 2 * most - one.len().abs_diff(other.len()));
            }
        }
    }
}
