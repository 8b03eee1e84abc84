//! Computes the probability that a result is right from how it was found.
//!
//! A logistic regression over the features of a result. It was fitted on perturbed addresses of some departments and on
//! addresses that are not in the base, and evaluated on others.

use super::query::{Agreement, SPELLED};
use super::{Candidate, NumberMatch};

/// Number of features.
pub const FEATURES: usize = 20;
/// Maximum number of leftover words that is taken into account.
const WORDS_LEFT_MAX: usize = 5;
/// Maximum weight of a query's unexplained words that is taken into account.
const WORDS_MAX: f32 = 3.0;
/// Index of the margin to the next result at another position.
pub const MARGIN: usize = 13;

/// Weight of each feature, and the constant last.
///
/// Fitted on 43,167 queries to five departments (04, 09, 12, 2A, 48) by ridge regression (Newton's method, penalty 1).
/// Of these, 6,595 ask for streets removed from the base or for a department that is not in it. The queries include
/// omitted titles and first names, and names of residences, companies and quarters before, within and after the
/// address. A street counts as right if the base does not have the house number; a commune is right only if nothing
/// else is asked for. The expected calibration error over ten bins was measured on five other departments (05, 15, 43,
/// 2B, 971) and with other names. It is 0.011 for addresses of the base; 0.008 if absent streets, absent towns, absent
/// house numbers and streets without a town are included; and 0.007 on only the queries with words omitted or added,
/// absent streets included.
const WEIGHTS: [f32; FEATURES + 1] = [
    -1.031, 8.618, 6.907, 6.241, 5.737, 6.551, 0.769, 0.748, 2.934, -0.706, -2.318, 3.446, -1.242,
    8.909, -8.139, 0.572, -4.376, -0.881, -2.983, 1.549, -34.097,
];

/// Returns the features of a result: how the street fits, how the place was named, how the number was found.
pub(super) fn features(candidate: &Candidate) -> [f32; FEATURES] {
    let flag = |is_so: bool| f32::from(u8::from(is_so));
    let fit = candidate.fit.as_ref();
    let is_commune = fit.is_none();
    [
        flag(is_commune),
        fit.map_or(1.0, |fit| fit.street),
        fit.map_or(1.0, |fit| fit.query),
        fit.map_or(1.0, |fit| fit.kind),
        fit.map_or(1.0, |fit| fit.weakest),
        candidate.evidence,
        flag(candidate.postal_code == Agreement::Agrees),
        flag(candidate.postal_code == Agreement::Conflicts),
        flag(matches!(candidate.number, NumberMatch::Found(_))),
        flag(matches!(candidate.number, NumberMatch::OtherSuffix(_))),
        flag(candidate.number == NumberMatch::Missing),
        flag(candidate.is_elsewhere),
        flag(candidate.name_quality > 0.0 && candidate.name_quality < SPELLED),
        0.0,
        candidate.words_left.min(WORDS_LEFT_MAX) as f32 / WORDS_LEFT_MAX as f32,
        fit.map_or(0.0, |fit| fit.left_out),
        fit.map_or(0.0, |fit| fit.foreign.min(WORDS_MAX) / WORDS_MAX),
        fit.map_or(0.0, |fit| fit.aside.min(WORDS_MAX) / WORDS_MAX),
        fit.map_or(0.0, |fit| (1.0 - fit.street).min(1.0 - fit.query)),
        flag(candidate.name_quality > 0.0),
    ]
}

/// Returns the probability of a result with these features, 0 to 1.
pub fn probability(features: &[f32; FEATURES]) -> f32 {
    let sum = features
        .iter()
        .zip(WEIGHTS)
        .map(|(feature, weight)| feature * weight)
        .sum::<f32>();
    1.0 / (1.0 + (-(sum + WEIGHTS[FEATURES])).exp())
}

/// Names of the features, in order.
pub const NAMES: [&str; FEATURES] = [
    "is_commune",
    "street_explained",
    "query_explained",
    "street_type",
    "weakest_word",
    "place_evidence",
    "postcode_agrees",
    "postcode_conflicts",
    "number_found",
    "other_suffix",
    "number_missing",
    "elsewhere",
    "place_name_edited",
    "margin_to_next",
    "words_left",
    "names_left_out",
    "foreign_words",
    "words_aside",
    "both_unexplained",
    "place_named",
];
