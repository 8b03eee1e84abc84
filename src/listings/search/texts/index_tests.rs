//! Tests that searches with cached sets, with fresh sets and by a scan of every text find the same properties, and that
//! alerts match the same ones.
//!
//! This must hold for any sequence of additions, changes and removals, and with the scores that the index itself
//! computes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;
use serde_json::json;
use tantivy::Term;
use tantivy::query::{EnableScoring, PhraseQuery, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use uuid::Uuid;

use super::index::{NUMBER, TextIndex, parse_query};
use super::postings_cache::QueryTerm;
use super::query::CoarseStatistics;
use crate::properties::record_key::RecordKey;
use crate::records::changes::{ListingChange, ListingChanges};
use toise_contract::listings::codes::FlxId;
use toise_contract::listings::filters::ListingSearch;
use toise_engine::texts::{RecordTexts, TextPredicate, analyzer, tokens};

/// Words of texts, with variants of one and two typing errors, and of the same stem.
const VOCABULARY: [&str; 14] = [
    "jardin", "jardins", "jradin", "gardien", "vue", "vues", "mer", "clos", "cheminée",
    "cheminees", "chemniée", "appartement", "aparttement", "apartement",
];
/// Segments with close numbers are indexed by number, others by document.
const NEAR_MAX: i64 = 90;
const FAR_STEP: i64 = 1_000;

/// Texts by number.
type Model = BTreeMap<i64, Vec<String>>;

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(VOCABULARY.as_slice());
    prop::collection::vec(word, 0..5).prop_map(|words| words.join(" "))
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..NEAR_MAX, 1 => (0..NEAR_MAX).prop_map(|number| number * FAR_STEP)]
}

/// A title and a tag, or `None` for a removal.
fn change() -> impl Strategy<Value = (i64, Option<[String; 2]>)> {
    let texts = prop_oneof![6 => [text(), text()].prop_map(Some), 1 => Just(None)];
    (number(), texts)
}

fn search() -> impl Strategy<Value = ListingSearch> {
    let texts = |most| prop::collection::vec(text(), 0..most);
    (texts(3), texts(3)).prop_map(|(keywords, full_texts)| ListingSearch {
        filter: Vec::new(),
        keywords,
        full_texts,
    })
}

/// Returns the edit distance: letters inserted, removed, replaced, or swapped with the next.
fn errors(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut distances = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            let mut least = if i == 0 || j == 0 { i + j } else { usize::MAX };
            if i > 0 && j > 0 {
                let replaced = usize::from(one[i - 1] != other[j - 1]);
                least = (distances[i - 1][j] + 1)
                    .min(distances[i][j - 1] + 1)
                    .min(distances[i - 1][j - 1] + replaced);
            }
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(distances[i - 2][j - 2] + 1);
            }
            distances[i][j] = least;
        }
    }
    distances[one.len()][other.len()]
}

fn resembles(query: &str, found: &str) -> bool {
    let tolerated = match query.chars().count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    errors(query, found) <= tolerated
}

fn is_found(texts: &[String], search: &ListingSearch) -> bool {
    let words_of = |text: &str| tokens(&mut analyzer(false), text);
    let stems_of = |text: &str| tokens(&mut analyzer(true), text);
    let holds = |keyword: &String| {
        let keyword = words_of(keyword);
        !keyword.is_empty()
            && texts.iter().any(|text| {
                let words = words_of(text);
                words.windows(keyword.len()).any(|words| words == keyword)
            })
    };
    let has_like = |query: &str, of: &dyn Fn(&str) -> Vec<String>| {
        let mut words = texts.iter().flat_map(|text| of(text));
        words.any(|word| resembles(query, &word))
    };
    let fits = |text: &String| {
        let (words, stems) = (words_of(text), stems_of(text));
        let mut pairs = words.iter().zip(&stems);
        !words.is_empty()
            && pairs.all(|(word, stem)| has_like(word, &words_of) || has_like(stem, &stems_of))
    };
    let (keywords, full_texts) = (&search.keywords, &search.full_texts);
    keywords.iter().all(holds) && (full_texts.is_empty() || full_texts.iter().any(fits))
}

/// Returns the score of each property by the index's own scoring, counting only full texts whose words it all has.
fn scores(words: &TextIndex, model: &Model, search: &ListingSearch) -> HashMap<i64, f32> {
    let (searcher, fields) = (words.present().searcher.clone(), words.fields());
    let query = parse_query(search);
    let coarse = CoarseStatistics(&searcher);
    let scoring = EnableScoring::enabled_from_statistics_provider(&coarse, &searcher);
    let scores_of = |query: &dyn Query| {
        let weight = query.weight(scoring).unwrap();
        let mut scores = HashMap::new();
        for segment in searcher.segment_readers() {
            let numbers = segment.fast_fields().u64(NUMBER).unwrap();
            let visit = &mut |document, score| {
                let is_alive = segment
                    .alive_bitset()
                    .is_none_or(|alive| alive.is_alive(document));
                if let (true, Some(number)) = (is_alive, numbers.first(document)) {
                    scores.insert(number.cast_signed(), score);
                }
            };
            weight.for_each(segment, visit).unwrap();
        }
        scores
    };
    let mut all: HashMap<i64, f32> = HashMap::new();
    for keyword in &query.keywords {
        let mut terms = keyword.terms(fields);
        let of_keyword = match terms.len() {
            0 => HashMap::new(),
            1 => scores_of(&TermQuery::new(
                terms.remove(0),
                IndexRecordOption::WithFreqs,
            )),
            _ => scores_of(&PhraseQuery::new(terms)),
        };
        for (number, score) in of_keyword {
            *all.entry(number).or_default() += score;
        }
    }
    for (text, pieces) in search.full_texts.iter().zip(&query.texts) {
        let alone = ListingSearch {
            filter: Vec::new(),
            keywords: Vec::new(),
            full_texts: vec![text.clone()],
        };
        let with_all = |number: &i64| is_found(&model[number], &alone);
        let with_all: Vec<i64> = model.keys().copied().filter(with_all).collect();
        for number in &with_all {
            *all.entry(*number).or_default() += pieces.len() as f32;
        }
        for piece in pieces {
            let QueryTerm::Like { stem, .. } = piece else {
                unreachable!("full texts are made of words")
            };
            let term = Term::from_field_text(fields.stems, stem);
            let of_stem = scores_of(&TermQuery::new(term, IndexRecordOption::WithFreqs));
            for number in &with_all {
                if let Some(score) = of_stem.get(number) {
                    *all.entry(*number).or_default() += 2.0 * score;
                }
            }
        }
    }
    all
}

/// Checks a search, scored and unscored, against the plain scan and the index's scores.
fn compare(words: &TextIndex, model: &Model, search: &ListingSearch) {
    let Some(found) = words.find_current(search, false).unwrap() else {
        assert!(search.keywords.is_empty() && search.full_texts.is_empty());
        return;
    };
    let scored = words.find_current(search, true).unwrap().unwrap();
    let expected = scores(words, model, search);
    for number in (-1..NEAR_MAX + 70).chain((0..NEAR_MAX).map(|number| number * FAR_STEP)) {
        let texts = model.get(&number);
        let is_expected = texts.is_some_and(|texts| is_found(texts, search));
        let of = format!(
            "{number} {texts:?} for {:?} {:?}",
            search.keywords, search.full_texts
        );
        assert_eq!(found.score(number), is_expected.then_some(1.0), "{of}");
        let percolated = texts.is_some_and(|texts| {
            let predicate = TextPredicate::compile(&search.keywords, &search.full_texts).unwrap();
            predicate.matches(&RecordTexts::new(texts.clone()))
        });
        assert_eq!(percolated, is_expected, "an alert on {of}");
        assert_eq!(
            (found.contains(number), scored.contains(number)),
            (is_expected, is_expected)
        );
        let score = expected.get(&number).copied().filter(|_| is_expected);
        assert_eq!(scored.score(number), score, "{of}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn cached_sets_find_what_fresh_ones_and_a_plain_scan_do(
        first in prop::collection::vec(change(), 0..120),
        later in prop::collection::vec(prop::collection::vec(change(), 1..8), 0..14),
        searches in prop::collection::vec(search(), 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let words = TextIndex::open(folder.path()).unwrap();
        let (mut model, mut sequence) = (Model::new(), 0);
        for changes in std::iter::once(first).chain(later) {
            let mut touched = BTreeSet::new();
            let mut records = Vec::new();
            // A property changes once per commit.
            for (number, texts) in changes.into_iter().filter(|(number, _)| touched.insert(*number)) {
                sequence += 1;
                let record = texts.as_ref().map(|[title, tag]| json!({"title": title, "tags": [tag]}));
                let record = record.map(|record| record.to_string().into_bytes());
                records.push(ListingChange { sequence, number, key: RecordKey(number), id: FlxId(Uuid::nil()), record });
                match texts {
                    Some(texts) => model.insert(number, texts.to_vec()),
                    None => model.remove(&number),
                };
            }
            words.take(&ListingChanges { records, through: sequence.max(1), damaged: Vec::new() }).unwrap();
            for search in &searches {
                compare(&words, &model, search);
            }
        }
        // After reopening, nothing is cached.
        drop(words);
        let words = TextIndex::open(folder.path()).unwrap();
        for search in &searches {
            compare(&words, &model, search);
        }
    }
}

#[test]
fn a_property_that_changes_twice_in_one_commit_matches_by_its_last_texts() {
    let folder = tempfile::tempdir().unwrap();
    let words = TextIndex::open(folder.path()).unwrap();
    for (sequence, title) in [(1, "jardin"), (2, "mer")] {
        let record = Some(json!({ "title": title }).to_string().into_bytes());
        let id = FlxId(Uuid::nil());
        let records = vec![ListingChange {
            sequence,
            number: 7,
            key: RecordKey(7),
            id,
            record,
        }];
        words
            .gather(
                &ListingChanges {
                    records,
                    through: sequence,
                    damaged: Vec::new(),
                },
                0,
            )
            .unwrap();
    }
    words.commit(2).unwrap();
    let model = Model::from([(7, vec!["mer".to_owned()])]);
    for keyword in ["jardin", "mer"] {
        let (keywords, full_texts) = (vec![keyword.to_owned()], Vec::new());
        compare(
            &words,
            &model,
            &ListingSearch {
                filter: Vec::new(),
                keywords,
                full_texts,
            },
        );
    }
}

#[test]
fn scores_stay_bit_identical_while_other_texts_are_added_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let words = TextIndex::open(folder.path()).unwrap();
    let mut sequence = 0;
    let mut take = |numbers: std::ops::Range<i64>, text: Option<&str>| {
        let records = numbers.map(|number| {
            sequence += 1;
            let views = "vue ".repeat(if number < 40 { number as usize % 5 } else { 0 });
            let record = text.map(|text| json!({"title": format!("{text} {views}")}));
            let record = record.map(|record| record.to_string().into_bytes());
            ListingChange {
                sequence,
                number,
                key: RecordKey(number),
                id: FlxId(Uuid::nil()),
                record,
            }
        });
        let records = records.collect::<Vec<_>>();
        let through = sequence;
        words
            .take(&ListingChanges {
                records,
                through,
                damaged: Vec::new(),
            })
            .unwrap();
    };
    take(0..40, Some("grand jardin clos"));
    take(40..75, Some("cheminée"));
    let search = ListingSearch {
        filter: Vec::new(),
        keywords: vec![
            "clos".to_owned(),
            "jardin clos".to_owned(),
            "vue".to_owned(),
        ],
        full_texts: vec!["jardins".to_owned()],
    };
    let scores = || {
        let matches = words.find_current(&search, true).unwrap().unwrap();
        let scores = (0..40).map(|number| matches.score(number).map(f32::to_bits));
        scores.collect::<Vec<_>>()
    };
    let before = scores();
    assert!(before.iter().flatten().collect::<BTreeSet<_>>().len() > 2);
    for round in 0..12 {
        take(75 + round..76 + round, Some("appartement"));
        assert_eq!(scores(), before, "after {round}");
    }
    take(60..80, None);
    assert_eq!(scores(), before);
}
