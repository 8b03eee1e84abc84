//! Counts the cards of listings in the text of a page. A card is an element with a link and at least two of: a price,
//! an area, a number of rooms or a class. A page of results has one card per listing; the page of a listing has at most
//! one, about itself.

use std::collections::BTreeSet;
use std::ops::Range;

use super::french::{self, tokens::tokens};

/// Maximum length of the text of a card, bytes.
const CARD_BYTES_MAX: usize = 1_500;
/// Maximum number of cards that are read.
const CARDS_MAX: usize = 200;

/// The cards of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cards {
    ranges: Vec<Range<usize>>,
    /// Price, area and rooms of each card, as one string.
    keys: BTreeSet<String>,
}

impl Cards {
    /// Adds the element whose text goes from an offset to the end of `text`, if it is a card that contains no other
    /// card.
    pub fn add(&mut self, text: &str, start: usize) {
        let Some(own) = text.get(start..) else { return };
        let holds_card = self.ranges.last().is_some_and(|last| last.end > start);
        let is_short = own.len() <= CARD_BYTES_MAX;
        let has_number = || own.bytes().any(|byte| byte.is_ascii_digit());
        if holds_card || !is_short || self.ranges.len() >= CARDS_MAX || !has_number() {
            return;
        }
        if let Some(key) = french::card_key(&tokens(own)) {
            self.ranges.push(start..text.len());
            self.keys.insert(key);
        }
    }

    /// Returns the number of different cards; one that is shown twice counts once.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Returns the text without its cards. A single card is kept, because it may be the summary of the listing itself.
    pub fn outside(&self, text: &str) -> String {
        if self.count() < 2 {
            return text.to_owned();
        }
        let mut outside = String::new();
        let mut at = 0;
        for range in &self.ranges {
            outside.push_str(text.get(at..range.start).unwrap_or_default());
            outside.push('\n');
            at = range.end;
        }
        outside.push_str(text.get(at..).unwrap_or_default());
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_counted_once_and_left_out() {
        let mut text = String::from("Nos locations\n");
        let mut cards = Cards::default();
        for card in [
            "Studio 20 m² 560 €/mois",
            "T2 40 m² 890 €/mois",
            "T2 40 m² 890 €/mois",
            "Frais 200 €",
        ] {
            let start = text.len();
            text.push_str(card);
            text.push('\n');
            cards.add(&text, start);
            // An element that contains the card.
            cards.add(&text, start);
        }
        assert_eq!(cards.count(), 2);
        assert_eq!(
            cards.outside(&text).split_whitespace().collect::<Vec<_>>(),
            ["Nos", "locations", "Frais", "200", "€"]
        );
    }
}
