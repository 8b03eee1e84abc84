//! Match scoring: the single table of scales, weights and thresholds, published in the API reference.
//!
//! Each target gives a similarity in [0, 1]; the score is 100 × their weighted mean, rounded to one decimal. A missing
//! value in the record is neutral (0.5). Numbers: `exp(-d²·ln 2/scale²)`, 0.5 at one scale. Classes A–G are compared by
//! difference in rank. Categories: 1 or 0, adjacent construction periods 0.5. A surface range or a position among the
//! filters contributes its nearness to the middle of the range or to the pin, with a smaller weight, so that a request
//! without targets is still ranked.
//!
//! Calibrated with `toise-lab match` on real diagnostics and sales, with two findings. First, scales have to be
//! wide (12 kWh/m², 3 kgCO2/m²): exact values rank correctly at any scale, but only wide scales find the record when
//! the values are a few percent off. Second, nearness to the middle of a surface range must count less than one unit of
//! consumption, because a range treats all values in it as equal; it only breaks ties.

use super::{Dataset, MatchConfidence};

/// How a target is compared with a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Gaussian decay, 0.5 at a distance of one `scale` (in the column's unit).
    Number {
        /// Distance at which the similarity is 0.5.
        scale: f64,
    },
    /// Gaussian decay, 0.5 at a distance of one scale, where the scale is a `share` of the target. Prices range from
    /// that of a cellar to that of a castle, and no fixed number of EUR suits both. For a target of 200,000 EUR and a
    /// share of 0.04 the scale is 8,000 EUR.
    Share {
        /// The scale as a share of the target.
        share: f64,
    },
    /// Classes A to G, by difference in rank.
    Class,
    /// Equal or different.
    Category,
    /// Construction period: equal, adjacent or neither.
    Period,
    /// Equal flags or not.
    Flag,
}

/// The rule of one target: its comparison, weight and evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoringRule {
    /// Name of the column and of the target.
    pub column: &'static str,
    /// Comparison of values.
    pub measure: Measure,
    /// Weight in the score, relative to the other targets.
    pub weight: f64,
    /// Subject of the target. If two targets have the same subject (a consumption and its class), only the stronger
    /// counts as evidence.
    pub about: &'static str,
    /// Evidence it carries, in bits: with b bits, about one in 2^b unrelated records agrees by chance.
    pub bits: f64,
    /// Error of the requested value that HIGH must tolerate, as a share of the record's value.
    pub error: f64,
    /// Error of the requested value, as a share of the record's value, within which HIGH allows only one record. 0
    /// allows any number.
    pub rival_error: f64,
}

const fn rule(
    column: &'static str,
    measure: Measure,
    weight: f64,
    about: &'static str,
    bits: f64,
) -> ScoringRule {
    ScoringRule {
        column,
        measure,
        weight,
        about,
        bits,
        error: 0.0,
        rival_error: 0.0,
    }
}

impl ScoringRule {
    /// Returns the same rule with a tolerated relative error.
    const fn with_error(self, error: f64) -> Self {
        Self { error, ..self }
    }

    /// Returns the same rule with an error within which HIGH allows only one record.
    const fn alone_within(self, rival_error: f64) -> Self {
        Self {
            rival_error,
            ..self
        }
    }
}

const fn number(scale: f64) -> Measure {
    Measure::Number { scale }
}

/// Usual relative error of diagnostic values in portfolios: other editions, rounding, retyping.
const FIGURE_ERROR: f64 = 0.05;

/// Targets of a diagnostic match, in the order of the SQL function's arguments.
#[rustfmt::skip]
pub const DPE_RULES: [ScoringRule; 8] = [
    rule("conso_5_usages_par_m2_ep", number(12.0), 3.0, "energy", 6.0).with_error(FIGURE_ERROR),
    rule("emission_ges_5_usages_par_m2", number(3.0), 3.0, "emissions", 4.0).with_error(FIGURE_ERROR),
    rule("etiquette_dpe", Measure::Class, 1.0, "energy", 2.5),
    rule("etiquette_ges", Measure::Class, 1.0, "emissions", 2.5),
    rule("nombre_niveau_immeuble", number(2.0), 0.5, "building storeys", 0.5),
    rule("numero_etage_appartement", number(2.0), 0.6, "floor", 1.0),
    rule("periode_construction", Measure::Period, 0.7, "period", 2.0),
    rule("nombre_niveau_logement", number(1.0), 0.4, "storeys", 0.5),
];

/// Error of a sale's price up to which HIGH is right at least 95 times in 100. Scores cannot distinguish such prices,
/// because they are all at their minimum for errors from 10 % on. If k sales lie within this error, each of them is
/// equally likely to be the closest to the requested price by chance; HIGH therefore allows only one.
const SALE_PRICE_ERROR: f64 = 0.20;

/// Targets of a sale match, in the order of the SQL function's arguments.
#[rustfmt::skip]
pub const DVF_RULES: [ScoringRule; 4] = [
    rule("price_eur", Measure::Share { share: 0.04 }, 3.0, "price", 6.0).alone_within(SALE_PRICE_ERROR),
    rule("main_rooms", number(1.0), 0.8, "rooms", 1.0),
    rule("is_new_build", Measure::Flag, 0.3, "new build", 0.3),
    rule("transaction_type", Measure::Category, 0.3, "new build", 0.3),
];

/// Weight of the nearness to the middle of a surface range.
pub const SURFACE_WEIGHT: f64 = 0.1;
/// Scale of that nearness as a share of the range's width: at the ends of the range the similarity is 0.84.
pub const SURFACE_SCALE: f64 = 1.0;
/// Minimum scale of that nearness, m².
pub const SURFACE_SCALE_M2_MIN: f64 = 0.5;
/// Weight of the nearness to the pin.
pub const PLACE_WEIGHT: f64 = 0.1;
/// Scale of that nearness as a share of the radius: at the edge the similarity is 0.5.
pub const PLACE_SCALE: f64 = 1.0;
/// Similarity of a missing value.
pub const NEUTRAL: f64 = 0.5;
/// Maximum difference of the two best scores that counts as ambiguous.
pub const AMBIGUOUS_GAP: f64 = 5.0;

/// Rounds a score or a difference of scores to one decimal, which removes binary errors, so that thresholds are exact.
pub(crate) fn to_tenths(points: f64) -> f64 {
    (points * 10.0).round() / 10.0
}

/// Returns the scoring table of a dataset.
pub fn rules(dataset: Dataset) -> &'static [ScoringRule] {
    match dataset {
        Dataset::Dpe => &DPE_RULES,
        Dataset::Dvf => &DVF_RULES,
    }
}

/// Returns the surface column of a dataset.
pub fn surface_column(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "surface_habitable_logement",
        Dataset::Dvf => "surface_m2",
    }
}

/// Evidence of the targets of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetEvidence {
    /// Sum of the evidence of the targets, in bits.
    pub bits: f64,
    /// Points that the correct record loses if every value has the maximum tolerated error.
    pub error_points: f64,
    /// Number of candidates, including the correct record, within the error that HIGH is calibrated for; 0 if no target
    /// has such an error.
    pub rivals: u64,
}

impl TargetEvidence {
    /// Returns the evidence left after picking one of the candidates that passed the filters (subtracts log2 of their
    /// number).
    pub fn among(self, candidates: u64) -> Self {
        let bits = self.bits - (candidates.max(1) as f64).log2();
        Self { bits, ..self }
    }
}

/// Requirements on a best candidate for a confidence class, calibrated by `toise-lab match`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceThreshold {
    /// Minimum surplus of evidence, in bits ([`TargetEvidence::among`] the candidates).
    pub surplus_bits: f64,
    /// Minimum score.
    pub score: f64,
    /// Minimum difference to the second-best score.
    pub gap: f64,
}

/// Requirements for HIGH confidence of the best candidate.
pub const HIGH: ConfidenceThreshold = ConfidenceThreshold {
    surplus_bits: 5.0,
    score: 99.0,
    gap: 30.0,
};
/// Requirements for MEDIUM confidence.
pub const MEDIUM: ConfidenceThreshold = ConfidenceThreshold {
    surplus_bits: 0.0,
    score: 85.0,
    gap: 2.0,
};
/// Minimum score for LOW confidence; below it a candidate is REJECT.
pub const LOW_SCORE: f64 = 40.0;

/// Returns the confidence of a candidate. That of the best one depends on score, gap to the second and surplus of
/// evidence. That of the others depends on their own score, capped by the gap to the best. `evidence` is the remainder
/// [`TargetEvidence::among`] the candidates.
///
/// If the requested values are inexact, a wrong record may fit best and the correct one second best. The gap between
/// them may be explained by the error alone: 5 % of 450 kWh/m² costs far more points than 5 % of 100. HIGH therefore
/// requires a gap larger than any tolerated error causes. For sales, it also requires that no other candidate's price
/// is within the error.
pub fn confidence(
    rank: usize,
    score: f64,
    best: f64,
    second: Option<f64>,
    evidence: TargetEvidence,
) -> MatchConfidence {
    let gap_between = |more: f64, less: f64| to_tenths(more - less);
    if score < LOW_SCORE {
        return MatchConfidence::Reject;
    }
    if rank > 0 {
        let close = gap_between(best, score) <= AMBIGUOUS_GAP;
        let medium = evidence.bits >= MEDIUM.surplus_bits && score >= MEDIUM.score;
        return if close && medium {
            MatchConfidence::Medium
        } else {
            MatchConfidence::Low
        };
    }
    let gap = second.map_or(f64::INFINITY, |second| gap_between(score, second));
    let meets = |threshold: ConfidenceThreshold| {
        evidence.bits >= threshold.surplus_bits && score >= threshold.score && gap >= threshold.gap
    };
    let is_alone = evidence.rivals <= 1;
    if meets(HIGH) && gap > evidence.error_points.max(AMBIGUOUS_GAP) && is_alone {
        MatchConfidence::High
    } else if meets(MEDIUM) {
        MatchConfidence::Medium
    } else {
        MatchConfidence::Low
    }
}

/// Returns the scoring table of a dataset as Markdown, for the API reference.
pub fn reference(dataset: Dataset) -> String {
    let mut text = String::from(
        "Score: 100 × the weighted mean of the similarities to the targets given, rounded to one decimal. A value \
         that the record lacks counts as a similarity of 0.5.\n\n| Target | Similarity | Weight |\n|---|---|---|\n",
    );
    for rule in rules(dataset) {
        let similarity = match rule.measure {
            Measure::Number { scale } => format!("exp(-d²·ln 2/{scale}²)"),
            Measure::Share { share } => format!("exp(-d²·ln 2/s²), s = {share} × target"),
            Measure::Class => "1 − ranks apart/6".into(),
            Measure::Category | Measure::Flag => "1 when equal, else 0".into(),
            Measure::Period => "1 when equal, 0.5 when neighbouring, else 0".into(),
        };
        text.push_str(&format!(
            "| {} | {similarity} | {} |\n",
            rule.column, rule.weight
        ));
    }
    let error = rules(dataset)
        .iter()
        .fold(0.0, |most: f64, rule| most.max(rule.error));
    let alone = rules(dataset).iter().find(|rule| rule.rival_error > 0.0);
    let alone = alone.map_or(String::new(), |rule| {
        format!(
            ", no other candidate's {} is within {} % of the requested one",
            rule.column,
            100.0 * rule.rival_error
        )
    });
    let beyond_error = if error > 0.0 {
        format!(
            " (and by more than an error of {} % in the figures would cost)",
            100.0 * error
        )
    } else {
        String::new()
    };
    text.push_str(&format!(
        "| middle of the {} range, when filtered | exp(-d²·ln 2/(width × {SURFACE_SCALE})²) | {SURFACE_WEIGHT} |\n| \
         pin of the location, when filtered | exp(-d²·ln 2/(radius × {PLACE_SCALE})²) | {PLACE_WEIGHT} |\n\nA result \
         is `ambiguous` if the two best scores are {AMBIGUOUS_GAP} or less apart. The `confidence` of the first \
         candidate is HIGH if its score is at least {}, it is at least {} ahead of the second{beyond_error}{alone}, \
         and the targets carry at least {} bits of evidence more than it takes to single out one of the candidates. \
         It is MEDIUM if the score is at least {}, the lead at least {} and the surplus of evidence at least {} \
         bits, LOW if the score is at least {LOW_SCORE}, and otherwise REJECT. An ambiguous first candidate is never \
         HIGH. The other candidates are at most MEDIUM, depending on their score and their gap to the first.",
        surface_column(dataset),
        HIGH.score,
        HIGH.gap,
        HIGH.surplus_bits,
        MEDIUM.score,
        MEDIUM.gap,
        MEDIUM.surplus_bits,
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_ambiguous_best_candidate_and_all_others_are_never_high(
            tenths in 0u32..=1_000, gap in 0u32..=400, bits in -20.0..20.0f64,
            error_points in 0.0..100.0f64, rank in 0usize..5,
        ) {
            let best = f64::from(tenths) / 10.0;
            let second = (best - f64::from(gap) / 10.0).max(0.0);
            let ambiguous = ((best - second) * 10.0).round() / 10.0 <= AMBIGUOUS_GAP;
            let score = if rank == 0 { best } else { second };
            let evidence = TargetEvidence { bits, error_points, rivals: 0 };
            let found = confidence(rank, score, best, Some(second), evidence);
            let explained = f64::from(gap) / 10.0 < error_points;
            if ambiguous || rank > 0 || bits < HIGH.surplus_bits || explained {
                prop_assert_ne!(found, MatchConfidence::High);
            }
        }
    }

    #[test]
    fn a_single_good_candidate_needs_evidence_to_be_high() {
        let evidence = |bits| TargetEvidence {
            bits,
            error_points: 80.0,
            rivals: 1,
        };
        let alone = |score, bits| confidence(0, score, score, None, evidence(bits));
        assert_eq!(alone(100.0, 10.0), MatchConfidence::High);
        assert_eq!(alone(100.0, 1.0), MatchConfidence::Medium);
        assert_eq!(alone(30.0, 10.0), MatchConfidence::Reject);
    }

    #[test]
    fn an_exact_fit_is_not_high_if_an_error_in_large_values_explains_the_gap() {
        let of_error = |error_points| TargetEvidence {
            bits: 8.0,
            error_points,
            rivals: 0,
        };
        let found = |evidence| confidence(0, 99.5, 99.5, Some(59.5), evidence);
        assert_eq!(found(of_error(25.0)), MatchConfidence::High);
        assert_eq!(found(of_error(45.0)), MatchConfidence::Medium);
    }

    #[test]
    fn an_exact_fit_is_not_high_if_an_error_in_the_price_explains_another_sale() {
        let among = |rivals| TargetEvidence {
            bits: 8.0,
            error_points: 0.0,
            rivals,
        };
        let found = |rivals| confidence(0, 100.0, 100.0, Some(25.0), among(rivals));
        assert_eq!(found(1), MatchConfidence::High);
        assert_eq!(found(2), MatchConfidence::Medium);
    }
}
