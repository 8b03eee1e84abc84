//! The role of a word in street names, and its weight.

use crate::text::{lexicon, persons};

/// Role and weight of a word in street names, as the index stores them in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordKind {
    /// Whether it is an article, which carries no meaning alone.
    pub is_article: bool,
    /// Whether it is a type of street, such as `rue`.
    pub is_street_type: bool,
    /// Whether it is a title or a first name, which people often omit before the name itself.
    pub may_be_left_out: bool,
    /// Weight in a street's name: 0.15 for an article, 0.9 for a number, from 1 for a word in every street to 1.4 for a
    /// word in a single street.
    pub weight: f32,
}

impl WordKind {
    /// Weight of an article.
    pub const ARTICLE_WEIGHT: f32 = 0.15;
    const NUMBER_WEIGHT: f32 = 0.9;
    /// Extra weight of the rarest word over the most frequent.
    const RARITY: f32 = 0.4;
    const ARTICLE: u32 = 1;
    const STREET_TYPE: u32 = 2;
    const LEFT_OUT: u32 = 4;
    /// Number of flag bits, below the weight.
    const FLAGS: u32 = 3;
    /// Stored units per unit of weight.
    const WEIGHT_PARTS: f32 = 1_000.0;

    /// Creates the kind of a word that occurs in `with` of `all` streets.
    pub fn new(word: &str, with: usize, all: usize) -> Self {
        let is_article = lexicon::is_article(word);
        let (with, all) = (with.max(1) as f32, all.max(2) as f32);
        Self {
            is_article,
            is_street_type: lexicon::is_street_type(word),
            may_be_left_out: persons::is_title(word) || persons::is_first_name(word),
            weight: match () {
                () if is_article => Self::ARTICLE_WEIGHT,
                () if word.starts_with(|first: char| first.is_ascii_digit()) => Self::NUMBER_WEIGHT,
                () => 1.0 + Self::RARITY * (all / with).ln() / all.ln(),
            },
        }
    }

    /// Encodes the kind for the index.
    pub fn to_bits(self) -> u32 {
        let flag = |is_so, bit| if is_so { bit } else { 0 };
        let weight = (self.weight * Self::WEIGHT_PARTS) as u32;
        weight << Self::FLAGS
            | flag(self.is_article, Self::ARTICLE)
            | flag(self.is_street_type, Self::STREET_TYPE)
            | flag(self.may_be_left_out, Self::LEFT_OUT)
    }

    /// Decodes a kind from the index.
    pub fn from_bits(bits: u32) -> Self {
        Self {
            is_article: bits & Self::ARTICLE != 0,
            is_street_type: bits & Self::STREET_TYPE != 0,
            may_be_left_out: bits & Self::LEFT_OUT != 0,
            weight: (bits >> Self::FLAGS) as f32 / Self::WEIGHT_PARTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_back() {
        let words = [
            ("de", 900),
            ("rue", 800),
            ("1945", 3),
            ("jean", 40),
            ("gambetta", 1),
        ];
        for (word, with) in words {
            let kind = WordKind::new(word, with, 1_000);
            let read = WordKind::from_bits(kind.to_bits());
            assert_eq!(
                (read.is_article, read.is_street_type, read.may_be_left_out),
                (kind.is_article, kind.is_street_type, kind.may_be_left_out)
            );
            assert!((read.weight - kind.weight).abs() < 0.002, "{word}");
        }
        assert!(
            WordKind::new("gambetta", 1, 1_000).weight > WordKind::new("moulin", 50, 1_000).weight
        );
    }
}
