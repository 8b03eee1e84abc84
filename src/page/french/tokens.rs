//! Splits French text into numbers, words and signs, with the French notation of prices and areas.
//!
//! Thousands are grouped by spaces of any width, points or apostrophes; decimals follow a comma or a point. Words are
//! in lower case without accents. A letter directly after digits starts a new word (`65m²`, `3ème`); digits directly
//! after a letter belong to its word (`T3`, `m²` as `m2`).

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum number of tokens read from a text.
const TOKENS_MAX: usize = 20_000;

/// A token of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// An unsigned number with its digits as written, for codes.
    Number(f64, String),
    /// Letters, with any digits after them. A single capital without accent stays a capital, because it may be an
    /// energy class.
    Word(String),
    /// Any other character except white space.
    Sign(char),
    /// The end of a line.
    Break,
}

impl Token {
    /// Returns whether it is the given word.
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(found) if found == word)
    }

    /// Returns whether it is one of the given words.
    pub fn is_any(&self, words: &[&str]) -> bool {
        self.word().is_some_and(|word| words.contains(&word))
    }

    /// Returns the word; `None` for other tokens.
    pub fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the number; `None` for other tokens.
    pub fn number(&self) -> Option<f64> {
        match self {
            Token::Number(number, _) => Some(*number),
            _ => None,
        }
    }

    /// Returns the number, if it is whole and less than 10⁹.
    pub fn whole(&self) -> Option<u32> {
        self.number()
            .filter(|number| number.fract() == 0.0 && (0.0..1e9).contains(number))
            .map(|number| number as u32)
    }
}

/// Splits a text into tokens.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if tokens.len() >= TOKENS_MAX {
            break;
        }
        let taken = if first.is_ascii_digit() {
            let (number, digits, taken) = number(rest);
            tokens.push(Token::Number(number, digits));
            taken
        } else if is_letter(first) {
            let is_end = |c: char| !(is_letter(c) || c.is_ascii_digit());
            let taken = rest.find(is_end).unwrap_or(rest.len());
            tokens.push(Token::Word(match &rest[..taken] {
                capital if taken == 1 && first.is_ascii_uppercase() => capital.to_owned(),
                word => fold(word),
            }));
            taken
        } else {
            if first == '\n' {
                tokens.push(Token::Break);
            } else if !is_blank(first) {
                tokens.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    tokens
}

fn is_letter(character: char) -> bool {
    // `m²` is one word; combining marks belong to their letter.
    character.is_alphabetic() || matches!(character, '²' | '³') || is_combining_mark(character)
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{feff}' | '\u{200b}'..='\u{200f}')
}

/// Converts to lower case and removes accents.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let compatible = word.nfkd().filter(|c| !is_combining_mark(*c));
    let lower = compatible.flat_map(char::to_lowercase);
    let mut folded = String::with_capacity(word.len());
    for character in lower {
        match character {
            'œ' => folded.push_str("oe"),
            'æ' => folded.push_str("ae"),
            other => folded.push(other),
        }
    }
    folded
}

/// Parses the number at the start of a text: its value, its whole digits, and its length in bytes.
fn number(text: &str) -> (f64, String, usize) {
    let mut taken = digits(text);
    let mut whole = text[..taken].to_owned();
    if taken <= 3 {
        while let Some(group) = group(&text[taken..]) {
            whole.push_str(&text[taken + group - 3..taken + group]);
            taken += group;
        }
    }
    let rest = &text[taken..];
    let decimals = if rest.starts_with([',', '.']) {
        digits(&rest[1..])
    } else {
        0
    };
    let fraction = match decimals {
        1 | 2 => {
            taken += 1 + decimals;
            &rest[1..=decimals]
        }
        _ => "",
    };
    let value = format!("{whole}.{fraction}0")
        .parse()
        .unwrap_or(f64::INFINITY);
    (value, whole, taken)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Returns the length in bytes of a separator and the three digits after it, if they are a group of thousands.
fn group(text: &str) -> Option<usize> {
    let separator = text.chars().next()?;
    let separates =
        matches!(separator, '.' | ',' | '\'' | '’') || is_blank(separator) && separator != '\n';
    let after = &text[separator.len_utf8()..];
    (separates && digits(after) == 3).then_some(separator.len_utf8() + 3)
}

/// Returns the words and numbers of a text in lower case, separated by single spaces.
pub fn phrase(text: &str) -> String {
    let words = tokens(text).into_iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.to_ascii_lowercase()),
        Token::Number(_, digits) => Some(digits),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<f64> {
        tokens(text).iter().filter_map(Token::number).collect()
    }

    #[test]
    fn numbers_are_read_with_any_grouping() {
        for text in [
            "350000", "350 000", "350\u{a0}000", "350\u{202f}000", "350.000", "350 000,00",
            "350'000", "350,000", "350’000",
        ] {
            assert_eq!(numbers(text), [350_000.0], "{text}");
        }
        assert_eq!(
            numbers("1.250.000 € 65,5 m² 12.35m2"),
            [1_250_000.0, 65.5, 12.35]
        );
        assert_eq!(
            numbers("75011 Paris 01 23 45 3 pièces"),
            [75011.0, 1.0, 23.0, 45.0, 3.0]
        );
        assert_eq!(numbers("1 2000 12 34567"), [1.0, 2000.0, 12.0, 34567.0]);
        assert!(numbers(&"9".repeat(400))[0].is_infinite());
    }

    #[test]
    fn words_lose_case_and_accents_and_keep_their_digits() {
        let found = tokens("T3 65m² 3ème étage, Cœur\nm2");
        let word = |text: &str| Token::Word(text.into());
        let number = |value: f64, text: &str| Token::Number(value, text.into());
        assert_eq!(
            found,
            [
                word("t3"),
                number(65.0, "65"),
                word("m2"),
                number(3.0, "3"),
                word("eme"),
                word("etage"),
                Token::Sign(','),
                word("coeur"),
                Token::Break,
                word("m2"),
            ]
        );
        assert_eq!(tokens("e\u{301}tage"), [word("etage")]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut(text in ".{0,200}") {
            tokens(&text);
        }
    }
}
