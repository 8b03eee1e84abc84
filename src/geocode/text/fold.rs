//! Splits a text into folded tokens that record their position in it.
//!
//! Folding drops case, accents and ligatures. A token is a run of letters or a run of digits, so `33bis` and
//! `75011Paris` are two tokens each; [`Token::joined`] marks that nothing is between them.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A word or a number of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Folded text, ASCII for French words.
    pub text: String,
    /// First byte in the original text.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
    /// Whether it follows the previous token directly.
    pub joined: bool,
    /// Whether a comma, a line break or the like precedes it.
    pub after_break: bool,
}

impl Token {
    /// Returns whether it is a number.
    pub fn is_number(&self) -> bool {
        self.text.as_bytes().first().is_some_and(u8::is_ascii_digit)
    }
}

/// Splits and folds a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open = false;
    let mut broken = false;
    for (at, character) in text.char_indices() {
        if is_combining_mark(character) {
            continue;
        }
        if !character.is_alphanumeric() {
            broken |= matches!(character, ',' | ';' | '\n' | '\r' | '\t' | '|' | '(' | ')');
            open = false;
            continue;
        }
        let end = at + character.len_utf8();
        let is_digit = character.is_ascii_digit();
        let same = tokens
            .last()
            .is_some_and(|last| last.is_number() == is_digit);
        if !(open && same) {
            tokens.push(Token {
                text: String::new(),
                start: at,
                end,
                joined: open,
                after_break: broken,
            });
            broken = false;
        }
        if let Some(token) = tokens.last_mut() {
            fold_into(character, &mut token.text);
            token.end = end;
        }
        open = true;
    }
    tokens.retain(|token| !token.text.is_empty());
    tokens
}

/// Folds a text to words joined by single spaces.
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for token in tokens(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&token.text);
    }
    out
}

/// Returns the folded words of a text after the first that is `word`; `None` if the text does not have that word.
pub fn words_after(text: &str, word: &str) -> Option<Vec<String>> {
    let mut words = tokens(text).into_iter().map(|token| token.text);
    words.find(|found| found == word)?;
    Some(words.collect())
}

/// Returns whether these folded words begin with those of a text.
pub fn begin_with(words: &[String], text: &str) -> bool {
    let wanted: Vec<String> = tokens(text).into_iter().map(|token| token.text).collect();
    words.starts_with(&wanted)
}

fn fold_into(character: char, out: &mut String) {
    if character.is_ascii() {
        out.push(character.to_ascii_lowercase());
        return;
    }
    match character {
        'œ' | 'Œ' => out.push_str("oe"),
        'æ' | 'Æ' => out.push_str("ae"),
        'ß' => out.push_str("ss"),
        _ => {
            let plain = character.nfkd().filter(|part| !is_combining_mark(*part));
            out.extend(
                plain
                    .flat_map(char::to_lowercase)
                    .filter(|part| part.is_alphanumeric()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_told_apart() {
        assert_eq!(
            folded("33bis, r. de l’Évêché 75011Paris"),
            "33 bis r de l eveche 75011 paris"
        );
        assert_eq!(folded("Cœur-de-Ville  ÎLE"), "coeur de ville ile");
        assert_eq!(folded("e\u{301}cole"), "ecole");
        assert_eq!(folded("🏠 …"), "");
    }

    #[test]
    fn a_token_knows_its_place_and_what_stands_before_it() {
        let text = "12 bis, É";
        let found = tokens(text);
        let spans: Vec<&str> = found.iter().map(|one| &text[one.start..one.end]).collect();
        assert_eq!(spans, ["12", "bis", "É"]);
        assert_eq!(
            found.iter().map(|one| one.after_break).collect::<Vec<_>>(),
            [false, false, true]
        );
        assert!(tokens("33b")[1].joined && !tokens("33 b")[1].joined);
    }
}
