//! Analyses the texts of records, and tests whether the texts of a record match those of a search.
//!
//! The text index of properties analyses texts with [`analyzer`]; percolation tests single records with a
//! [`TextPredicate`], which finds the same records as the index. Texts are normalised (accents encoded alike, invisible
//! characters removed), split at everything but letters and digits, converted to lower case and stripped of accents.
//! Keywords match exactly: all of them must occur, and the words of each must be adjacent in one text. Full texts match
//! by French stem and with tolerance: any one of them must match, with all of its words; a word of four letters may
//! have one typing error, a word of eight letters two.
//!
//! A record is analysed when the first search needs its texts, and each distinct word of the searches is compared with
//! it once. Nearly all comparisons end at the lengths or the sets of letters.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenStream, SimpleTokenizer,
    Stemmer, TextAnalyzer, TokenStream, Tokenizer,
};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum length of a word, bytes; longer words cannot be found.
const WORD_BYTES_MAX: usize = 40;
/// Number of letters from which a word of a full text may have one typing error, and from which two.
const TYPO_LENGTHS: [usize; 2] = [4, 8];

/// Returns the tokeniser of texts, into words or into their stems. Accents are removed before stemming, so that a text
/// written without them has the same stems.
pub fn analyzer(is_stemmed: bool) -> TextAnalyzer {
    let words = TextAnalyzer::builder(NormalizingTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter);
    if is_stemmed {
        words.filter(Stemmer::new(Language::French)).build()
    } else {
        words.build()
    }
}

/// Splits texts at everything but letters and digits, after normalising them: compatibility forms are decomposed, and
/// combining marks and invisible characters are removed. So "dégagée" is one word in every encoding of its accents, and
/// so is a word with a soft hyphen inside. Tokens have offsets in the normalised text.
#[derive(Clone, Default)]
struct NormalizingTokenizer {
    words: SimpleTokenizer,
    normalized: String,
}

impl Tokenizer for NormalizingTokenizer {
    type TokenStream<'a> = SimpleTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SimpleTokenStream<'a> {
        if text.is_ascii() {
            return self.words.token_stream(text);
        }
        self.normalized.clear();
        let shown = text.nfkd().filter(|sign| !is_combining_mark(*sign));
        let shown = shown.filter(|sign| !is_default_ignorable(*sign));
        self.normalized.extend(shown);
        self.words.token_stream(&self.normalized)
    }
}

/// Returns whether a character is invisible: it has the Unicode property `Default_Ignorable_Code_Point` and is not a
/// combining mark, or it sets the writing direction.
fn is_default_ignorable(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns the tokens of a text, in order.
pub fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let placed = placed_tokens(analyzer, text).into_iter();
    placed.map(|(_, token)| token).collect()
}

/// Returns the tokens of a text, each with its position; a word that is too long leaves a gap.
fn placed_tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<(usize, String)> {
    let mut stream = analyzer.token_stream(text);
    let mut tokens = Vec::new();
    while stream.advance() {
        let token = stream.token();
        tokens.push((token.position, token.text.clone()));
    }
    tokens
}

/// Returns the number of typing errors tolerated in a word or stem of a given length.
pub fn errors_max(letters: usize) -> u8 {
    TYPO_LENGTHS.iter().filter(|from| letters >= **from).count() as u8
}

/// The texts of a search, analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPredicate {
    /// The words of each keyword.
    keywords: Vec<Vec<String>>,
    /// The words of each full text.
    full_texts: Vec<Vec<SoughtWord>>,
}

/// A word of a full text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SoughtWord {
    word: String,
    stem: String,
}

/// The texts of a record, analysed at most once.
#[derive(Debug, Default)]
pub struct RecordTexts {
    texts: Vec<String>,
    analysed: OnceCell<AnalysedTexts>,
}

#[derive(Debug)]
struct AnalysedTexts {
    /// The words of each text, with their positions.
    texts: Vec<Vec<(usize, String)>>,
    words: Vec<ComparableWord>,
    stems: Vec<ComparableWord>,
    /// For each word searched so far, whether there is a similar word.
    found: RefCell<HashMap<String, bool>>,
}

/// A word with what is needed to exclude most other words quickly.
#[derive(Debug)]
struct ComparableWord {
    text: String,
    letters: usize,
    /// One bit for each of its letters, by their numbers modulo 64.
    set: u64,
}

impl TextPredicate {
    /// Analyses keywords and full texts; `None` if there are none, which means no condition.
    pub fn compile(keywords: &[String], full_texts: &[String]) -> Option<Self> {
        if keywords.is_empty() && full_texts.is_empty() {
            return None;
        }
        let (mut words, mut stems) = (analyzer(false), analyzer(true));
        let keywords = keywords.iter().map(|keyword| tokens(&mut words, keyword));
        let keywords = keywords.collect();
        let full_texts = full_texts.iter().map(|text| {
            let words = tokens(&mut words, text).into_iter();
            let words = words.zip(tokens(&mut stems, text));
            words
                .map(|(word, stem)| SoughtWord { word, stem })
                .collect()
        });
        let full_texts = full_texts.collect();
        Some(Self {
            keywords,
            full_texts,
        })
    }

    /// Returns whether the texts of a record match: all keywords, and any of the full texts if there are some. A
    /// keyword or full text without words matches nothing.
    pub fn matches(&self, record: &RecordTexts) -> bool {
        let analysed = record.analysed.get_or_init(|| record.analyse());
        let has_all = |words: &Vec<SoughtWord>| {
            !words.is_empty() && words.iter().all(|word| analysed.has_like(word))
        };
        self.keywords.iter().all(|words| analysed.has_phrase(words))
            && (self.full_texts.is_empty() || self.full_texts.iter().any(has_all))
    }
}

impl RecordTexts {
    /// Wraps the texts of a record, not analysed yet: its title, its description and its tags.
    pub fn new(texts: Vec<String>) -> Self {
        Self {
            texts,
            analysed: OnceCell::new(),
        }
    }

    fn analyse(&self) -> AnalysedTexts {
        let (mut words, mut stems) = (analyzer(false), analyzer(true));
        let texts: Vec<Vec<(usize, String)>> = self
            .texts
            .iter()
            .map(|text| placed_tokens(&mut words, text))
            .collect();
        let distinct: BTreeSet<&str> = texts
            .iter()
            .flatten()
            .map(|(_, word)| word.as_str())
            .collect();
        let words = distinct.into_iter().map(ComparableWord::new).collect();
        let stems: BTreeSet<String> = self
            .texts
            .iter()
            .flat_map(|text| tokens(&mut stems, text))
            .collect();
        AnalysedTexts {
            stems: stems.iter().map(|stem| ComparableWord::new(stem)).collect(),
            words,
            texts,
            found: RefCell::default(),
        }
    }
}

impl AnalysedTexts {
    fn has_phrase(&self, words: &[String]) -> bool {
        let begins = |text: &[(usize, String)]| {
            text.len() == words.len()
                && text
                    .iter()
                    .zip(words)
                    .all(|((_, word), sought)| word == sought)
                && text.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1)
        };
        !words.is_empty()
            && self
                .texts
                .iter()
                .any(|text| text.windows(words.len()).any(begins))
    }

    fn has_like(&self, sought: &SoughtWord) -> bool {
        if let Some(is_found) = self.found.borrow().get(&sought.word) {
            return *is_found;
        }
        let is_found =
            is_any_like(&self.words, &sought.word) || is_any_like(&self.stems, &sought.stem);
        let mut found = self.found.borrow_mut();
        found.insert(sought.word.clone(), is_found);
        is_found
    }
}

impl ComparableWord {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            letters: text.chars().count(),
            set: text
                .chars()
                .fold(0, |set, letter| set | 1 << (u32::from(letter) % u64::BITS)),
        }
    }
}

/// Returns whether one of the words is similar to another. The word's length sets how many letters may be inserted,
/// removed, replaced or swapped with the next.
fn is_any_like(words: &[ComparableWord], sought: &str) -> bool {
    let sought = ComparableWord::new(sought);
    let errors = usize::from(errors_max(sought.letters));
    words.iter().any(|word| {
        // Each error changes the length by at most one, and the set by at most two letters.
        word.text == sought.text
            || (errors > 0
                && word.letters.abs_diff(sought.letters) <= errors
                && (word.set ^ sought.set).count_ones() as usize <= 2 * errors
                && strsim::osa_distance(&word.text, &sought.text) <= errors)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(keywords: &[&str], full_texts: &[&str], texts: &[&str]) -> bool {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        TextPredicate::compile(&owned(keywords), &owned(full_texts))
            .unwrap()
            .matches(&RecordTexts::new(owned(texts)))
    }

    #[test]
    fn a_record_matches_as_a_search_would_find_it() {
        let house = ["Maison de caractère", "Cheminée, jardin clos.", "Vue mer"];
        assert!(matches(&["CHEMINEE", "jardin clos"], &[], &house));
        assert!(!matches(&["clos jardin"], &[], &house));
        assert!(!matches(&["clos vue"], &[], &house), "of two texts");
        assert!(!matches(&["!"], &[], &house) && !matches(&[], &["!"], &house));
        assert!(matches(&[], &["jardins chemniée", "studio"], &house));
        assert!(!matches(&[], &["jardin piscine"], &house));
        assert!(!matches(&["studio"], &["jardin"], &house));
        let encoded = [
            "Vue de\u{301}gage\u{301}e, jar\u{ad}din cl\u{200b}os",
            "Villa İzmirli",
        ];
        assert!(matches(&["dégagée", "jardin clos"], &["jardins"], &encoded));
        assert!(matches(&["izmirli"], &[], &encoded));
        assert!(matches(&["de\u{301}gage\u{301}e"], &[], &["VUE DÉGAGÉE"]));
        assert!(matches(
            &["İzmirli", "ﬁnitions"],
            &[],
            &["izmirli, finitions"]
        ));
        let long = format!("clos {} jardin", "x".repeat(50));
        assert!(
            !matches(&["clos jardin"], &[], &[&long]),
            "a word is between them"
        );
        assert_eq!(TextPredicate::compile(&[], &[]), None);
    }
}
