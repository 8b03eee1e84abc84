//! Examines the text of a query before it is parsed: its limits, its statements, and the position of a name in it.
//!
//! A parser builds a tree as deep as the longest chain of operators, and everything after it walks that tree. The
//! limits here keep the tree shallow enough for the stacks of the threads that walk it.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Position, SqlError};
use crate::limits::Limit;

/// Maximum bytes of a query.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Maximum operators of a query: arithmetic, comparisons, `and`, `or`, set operations. Each may deepen the tree by one.
pub const OPERATORS_MAX: usize = 2_000;
/// Maximum number of `select` in a query.
pub const SELECTS_MAX: usize = 200;

/// Words that are operators, like symbols.
const OPERATOR_WORDS: [&str; 9] = [
    "and", "or", "not", "union", "except", "intersect", "case", "join", "is",
];

/// Checks a query against the limits of its text.
///
/// # Errors
/// It is too long, has too many operators or `select`s, or a quotation or comment has no end.
pub fn check(sql: &str) -> Result<(), SqlError> {
    check_length(sql)?;
    let tokens = tokens(sql)?;
    let (mut operators, mut selects) = (0, 0);
    for token in &tokens {
        match &token.token {
            Token::Word(word) if word.quote_style.is_none() => {
                let word = word.value.to_ascii_lowercase();
                selects += usize::from(word == "select");
                operators += usize::from(OPERATOR_WORDS.contains(&word.as_str()));
            }
            token => operators += usize::from(is_operator(token)),
        }
    }
    if operators > OPERATORS_MAX {
        return Err(SqlError::Limit(Limit::text("operators", OPERATORS_MAX)));
    }
    if selects > SELECTS_MAX {
        return Err(SqlError::Limit(Limit::text("selects", SELECTS_MAX)));
    }
    Ok(())
}

/// Checks a query against the limit of its length.
///
/// # Errors
/// It is too long.
pub(crate) fn check_length(sql: &str) -> Result<(), SqlError> {
    if sql.len() > TEXT_BYTES_MAX {
        return Err(SqlError::Limit(Limit::text("bytes", TEXT_BYTES_MAX)));
    }
    Ok(())
}

/// Returns whether a token joins two sides or wraps one, so that a chain of such tokens makes a deep tree.
fn is_operator(token: &Token) -> bool {
    !matches!(
        token,
        Token::EOF
            | Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Whitespace(_)
            | Token::Comma
            | Token::Period
            | Token::SemiColon
            | Token::LParen
            | Token::RParen
            | Token::Placeholder(_)
    )
}

/// Splits a text into its statements at semicolons; each is without its semicolon and surrounding spaces.
///
/// # Errors
/// A quotation or comment has no end.
pub fn statements(text: &str) -> Result<Vec<String>, SqlError> {
    let mut statements = Vec::new();
    let (mut start, mut is_blank) = (0, true);
    let mut places = ByteOffsets::new(text);
    for token in tokens(text)? {
        match token.token {
            Token::SemiColon => {
                let end = places.byte(token.span.start);
                if !is_blank {
                    statements.push(text[start..end].trim().to_owned());
                }
                start = places.byte(token.span.end);
                is_blank = true;
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ => is_blank = false,
        }
    }
    if !is_blank {
        statements.push(text[start..].trim().to_owned());
    }
    Ok(statements)
}

/// Numbers the placeholders `?` of a query as `$1`, `$2` and so on, because the planner supports only these.
///
/// # Errors
/// A quotation or comment has no end.
pub fn numbered(sql: &str) -> Result<String, SqlError> {
    let mut places = ByteOffsets::new(sql);
    let (mut numbered, mut copied, mut count) = (String::new(), 0, 0);
    for token in tokens(sql)? {
        if !matches!(&token.token, Token::Placeholder(name) if name == "?") {
            continue;
        }
        count += 1;
        let start = places.byte(token.span.start);
        numbered.push_str(&sql[copied..start]);
        numbered.push_str(&format!("${count}"));
        copied = start + 1;
    }
    numbered.push_str(&sql[copied..]);
    Ok(numbered)
}

/// Returns whether a text that a person types ends with a whole statement: a semicolon outside quotations ends it. A
/// blank text is also complete.
pub fn is_complete(text: &str) -> bool {
    let Ok(tokens) = tokens(text) else {
        return false;
    };
    let last = tokens
        .iter()
        .rev()
        .find(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    last.is_none_or(|token| token.token == Token::SemiColon)
}

/// Returns the first position of a name in a query, regardless of its case.
pub fn position_of(sql: &str, name: &str) -> Option<Position> {
    let tokens = tokens(sql).ok()?;
    let found = tokens.iter().find(|token| match &token.token {
        Token::Word(word) => word.value.eq_ignore_ascii_case(name),
        Token::SingleQuotedString(text) => text == name,
        _ => false,
    })?;
    Some(position(found.span.start))
}

/// Returns the position of the part of a query that a message quotes: the first text or parameter, otherwise the first
/// function called, otherwise a number that occurs once.
pub fn position_of_quoted(sql: &str, message: &str) -> Option<Position> {
    let tokens = tokens(sql).ok()?;
    let lower = message.to_lowercase();
    let has_word = |word: &str| {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
        lower
            .split(|letter| !is_part(letter))
            .any(|part| part == word)
    };
    let is_quoted = |text: &str| {
        message.contains(&format!("'{text}'"))
            || message.contains(&format!("{text:?}"))
            || message.lines().any(|line| line.trim() == text)
    };
    let value = tokens.iter().find(|token| match &token.token {
        Token::SingleQuotedString(text) | Token::Placeholder(text) => {
            !text.is_empty() && is_quoted(text)
        }
        _ => false,
    });
    let call = || {
        let pairs = tokens.windows(2);
        let mut calls = pairs.filter(|pair| pair[1].token == Token::LParen);
        calls.find_map(|pair| match &pair[0].token {
            Token::Word(word) if has_word(&word.value.to_lowercase()) => Some(&pair[0]),
            _ => None,
        })
    };
    let number = || {
        let mut numbers = tokens
            .iter()
            .filter(|token| matches!(&token.token, Token::Number(digits, _) if has_word(digits)));
        numbers.next().filter(|_| numbers.next().is_none())
    };
    let found = value.or_else(call).or_else(number)?;
    Some(position(found.span.start))
}

/// Returns the position after the last character of a query.
pub fn end_of(sql: &str) -> Position {
    let text = sql.trim_end();
    let last = text.rsplit('\n').next().unwrap_or_default();
    Position {
        line: text.matches('\n').count() as u64 + 1,
        column: last.chars().count() as u64 + 1,
    }
}

/// Returns the words and symbols of a text with their positions.
///
/// # Errors
/// A quotation or comment has no end.
fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>, SqlError> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
    tokens.map_err(|error| SqlError::Invalid {
        message: error.message,
        position: Some(position(error.location)),
    })
}

fn position(location: Location) -> Position {
    Position {
        line: location.line,
        column: location.column,
    }
}

/// A converter of positions in a text to byte offsets. It walks the text once, so positions must be requested in order.
struct ByteOffsets<'t> {
    text: &'t str,
    byte: usize,
    line: u64,
    column: u64,
}

impl<'t> ByteOffsets<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            byte: 0,
            line: 1,
            column: 1,
        }
    }

    /// Returns the byte offset of a line and column, both from 1, at or after the position requested last; the end of
    /// the text for a position beyond it.
    fn byte(&mut self, location: Location) -> usize {
        let mut rest = self.text[self.byte..].chars();
        while (self.line, self.column) < (location.line, location.column) {
            let Some(letter) = rest.next() else {
                break;
            };
            self.byte += letter.len_utf8();
            if letter == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.byte
    }
}

/// Cuts a text after a number of characters; an ellipsis shows that something was cut.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_semicolons_outside_quotations_and_comments() {
        let text = "select ';' as a; -- one; two\nselect \"é;\" ;; /* ; */ ; select 3";
        let found = statements(text).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "select ';' as a");
        assert!(found[1].ends_with("select \"é;\""), "{found:?}");
        assert_eq!(found[2], "/* ; */ ; select 3".split("; ").last().unwrap());
        assert!(statements("select 'open").is_err());
        assert!(is_complete("select 1; -- done") && is_complete(" ") && !is_complete("select 1"));
        assert!(!is_complete("select ';"));
    }

    #[test]
    fn placeholders_are_numbered_outside_quotations() {
        let text = "select ?, 'é?', \"?\" -- ?\n, ? + 1";
        assert_eq!(
            numbered(text).unwrap(),
            "select $1, 'é?', \"?\" -- ?\n, $2 + 1"
        );
    }

    #[test]
    fn a_text_has_limits_and_names_have_positions() {
        assert!(check("select 1 + 1 from dvf where a and b").is_ok());
        let chain = format!("select 1{}", "+1".repeat(OPERATORS_MAX + 1));
        assert!(matches!(check(&chain), Err(SqlError::Limit(_))));
        let list = format!("select 1 in (1{})", ", 1".repeat(20_000));
        assert!(check(&list).is_ok());
        assert!(check(&"x".repeat(TEXT_BYTES_MAX + 1)).is_err());
        let place = position_of("select a,\n  nowhere from t", "Nowhere");
        assert_eq!(place, Some(Position { line: 2, column: 3 }));
    }

    #[test]
    fn what_a_message_quotes_has_a_position() {
        let column = |sql, message| position_of_quoted(sql, message).map(|place| place.column);
        let cast = "Cannot cast string 'abc' to value of Int32 type";
        assert_eq!(column("select cast('abc' as int)", cast), Some(13));
        let call = "No function matches the given name and argument types 'sqrt(Utf8)'";
        assert_eq!(column("select 1, sqrt('a')", call), Some(11));
        let pattern = "regex parse error:\n    (\n    ^\nerror: unclosed group";
        assert_eq!(column("select id ~ '(' from dvf", pattern), Some(13));
        let value = "Can't cast value 300 to type Int8";
        assert_eq!(column("select cast(300 as tinyint)", value), Some(8));
        let number = "Percentile value must be between 0.0 and 1.0 inclusive, 2 is invalid";
        assert_eq!(column("select percentile_cont(a, 2)", number), Some(27));
        assert_eq!(column("select 2, percentile_cont(a, 2)", number), None);
        assert_eq!(column("select 5 % 0", "Divide by zero error"), None);
    }
}
