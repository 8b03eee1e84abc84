//! Match scoring: the one table of scales, weights and thresholds, published with the API's reference.
//!
//! Per target a similarity in [0, 1]; the score is 100 × their weighted mean, rounded to one decimal. A missing value
//! on the record is neutral (0.5). Numbers: `exp(-d²·ln 2/scale²)`, 0.5 at one scale. Classes A–G: by rank distance.
//! Categories: 1 or 0, neighbouring construction periods 0.5. A surface range or a place among the filters takes part
//! by nearness to the middle and to the pin, with a smaller weight, so that a request without targets still ranks.
//!
//! Calibrated with `toise evaluate match` on real diagnostics and sales. Two things were learnt there. Scales are wide
//! (12 kWh/m², 3 kgCO2/m²): exact figures rank exactly at any scale, and only wide ones still lead to the record when
//! the figures sought are a few percent off. Nearness to the middle of a surface range must stay below what one unit
//! of consumption is worth, because a range says that all in it are as good; it breaks ties.

use super::{Confidence, Dataset};

/// How a target compares with a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Gaussian decay, 0.5 at one `scale` (in the column's unit).
    Number {
        /// Distance at which the similarity is one half.
        scale: f64,
    },
    /// Gaussian decay, 0.5 at one scale, which is a `share` of the target: prices go from a cellar to a castle, and no
    /// one number of EUR suits both. For a target of 200,000 EUR and a share of 0.04 the scale is 8,000 EUR.
    Share {
        /// Share of the target that is the scale.
        share: f64,
    },
    /// A to G, by rank distance.
    Class,
    /// Equal or not.
    Category,
    /// Construction period: equal, neighbouring or not.
    Period,
    /// Yes or no.
    Flag,
}

/// One row of the table: a target, how much it counts and how much it tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Column of the table, which is also the target's name.
    pub column: &'static str,
    /// How it compares.
    pub measure: Measure,
    /// How much it counts beside the others.
    pub weight: f64,
    /// What it is about: of two targets about one thing (a consumption and its class) only the stronger is evidence.
    pub about: &'static str,
    /// Evidence it carries, in bits: b bits leave about one in 2^b of the unrelated records as likely.
    pub bits: f64,
    /// Share of a record's value that a figure sought may be off by: what HIGH must withstand.
    pub error: f64,
}

const fn rule(
    column: &'static str,
    measure: Measure,
    weight: f64,
    about: &'static str,
    bits: f64,
) -> Rule {
    Rule {
        column,
        measure,
        weight,
        about,
        bits,
        error: 0.0,
    }
}

impl Rule {
    /// The same rule for a figure that may be off by a share.
    const fn off_by(self, error: f64) -> Self {
        Self { error, ..self }
    }
}

const fn number(scale: f64) -> Measure {
    Measure::Number { scale }
}

/// Share by which figures of a diagnostic are often off in portfolios: other editions, other rounding, retyping.
const FIGURE_ERROR: f64 = 0.05;

/// Targets of a diagnostic match. The order is that of the SQL function's arguments.
pub const DPE_RULES: [Rule; 8] = [
    rule("conso_5_usages_par_m2_ep", number(12.0), 3.0, "energy", 6.0).off_by(FIGURE_ERROR),
    rule(
        "emission_ges_5_usages_par_m2",
        number(3.0),
        3.0,
        "emissions",
        4.0,
    )
    .off_by(FIGURE_ERROR),
    rule("etiquette_dpe", Measure::Class, 1.0, "energy", 2.5),
    rule("etiquette_ges", Measure::Class, 1.0, "emissions", 2.5),
    rule(
        "nombre_niveau_immeuble",
        number(2.0),
        0.5,
        "building storeys",
        0.5,
    ),
    rule("numero_etage_appartement", number(2.0), 0.6, "floor", 1.0),
    rule("periode_construction", Measure::Period, 0.7, "period", 2.0),
    rule("nombre_niveau_logement", number(1.0), 0.4, "storeys", 0.5),
];

/// Targets of a sale match. The order is that of the SQL function's arguments.
pub const DVF_RULES: [Rule; 4] = [
    rule(
        "price_eur",
        Measure::Share { share: 0.04 },
        3.0,
        "price",
        6.0,
    ),
    rule("main_rooms", number(1.0), 0.8, "rooms", 1.0),
    rule("is_new_build", Measure::Flag, 0.3, "new build", 0.3),
    rule("transaction_type", Measure::Category, 0.3, "new build", 0.3),
];

/// Weight of nearness to the middle of a surface range.
pub const SURFACE_WEIGHT: f64 = 0.1;
/// Its scale, as a share of the range's width: at the ends of the range the similarity is 0.84.
pub const SURFACE_SCALE: f64 = 1.0;
/// Its least scale, m².
pub const SURFACE_SCALE_M2_MIN: f64 = 0.5;
/// Weight of nearness to the pin.
pub const PLACE_WEIGHT: f64 = 0.1;
/// Its scale, as a share of the radius: at the edge the similarity is one half.
pub const PLACE_SCALE: f64 = 1.0;
/// Similarity of a missing value.
pub const NEUTRAL: f64 = 0.5;
/// Two best scores this close, or closer, are ambiguous.
pub const AMBIGUOUS_GAP: f64 = 5.0;

/// The table of a dataset.
pub fn rules(dataset: Dataset) -> &'static [Rule] {
    match dataset {
        Dataset::Dpe => &DPE_RULES,
        Dataset::Dvf => &DVF_RULES,
    }
}

/// The surface column of a dataset.
pub fn surface_column(dataset: Dataset) -> &'static str {
    match dataset {
        Dataset::Dpe => "surface_habitable_logement",
        Dataset::Dvf => "surface_m2",
    }
}

/// What the targets of a request tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Evidence they carry, in bits.
    pub bits: f64,
    /// Points that the record meant loses when every figure is off by as much as its rule allows.
    pub error_points: f64,
}

impl Evidence {
    /// What is left after singling out one candidate among all that passed the filters (log2 of their number).
    pub fn among(self, candidates: u64) -> Self {
        let bits = self.bits - (candidates.max(1) as f64).log2();
        Self { bits, ..self }
    }
}

/// What the confidence of a first candidate needs: calibrated by `toise evaluate match`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Least surplus of evidence, in bits ([`Evidence::among`] the candidates).
    pub surplus_bits: f64,
    /// Least score.
    pub score: f64,
    /// Least gap to the second.
    pub gap: f64,
}

/// A first candidate is HIGH when it meets all of this.
pub const HIGH: Threshold = Threshold {
    surplus_bits: 5.0,
    score: 99.0,
    gap: 30.0,
};
/// … MEDIUM when it meets this.
pub const MEDIUM: Threshold = Threshold {
    surplus_bits: 0.0,
    score: 85.0,
    gap: 2.0,
};
/// … LOW from this score, REJECT below.
pub const LOW_SCORE: f64 = 40.0;

/// Confidence of a candidate: of the first by score, gap to the second and surplus of evidence; of another by its own
/// score, capped by its gap to the first. `evidence` is what is left [`Evidence::among`] the candidates.
///
/// A first that fits exactly may be another record than the one meant, which then lies behind it by what the error in
/// the figures costs: 5 % of 450 kWh/m² cost far more than 5 % of 100. So HIGH needs a gap that no such error explains.
pub fn confidence(
    rank: usize,
    score: f64,
    best: f64,
    second: Option<f64>,
    evidence: Evidence,
) -> Confidence {
    // Scores have one decimal; their difference is freed of binary dust so that a threshold means what it says.
    let gap_between = |more: f64, less: f64| ((more - less) * 10.0).round() / 10.0;
    if score < LOW_SCORE {
        return Confidence::Reject;
    }
    if rank > 0 {
        let close = gap_between(best, score) <= AMBIGUOUS_GAP;
        let medium = evidence.bits >= MEDIUM.surplus_bits && score >= MEDIUM.score;
        return if close && medium {
            Confidence::Medium
        } else {
            Confidence::Low
        };
    }
    let gap = second.map_or(f64::INFINITY, |second| gap_between(score, second));
    let meets = |threshold: Threshold| {
        evidence.bits >= threshold.surplus_bits && score >= threshold.score && gap >= threshold.gap
    };
    if meets(HIGH) && gap > evidence.error_points.max(AMBIGUOUS_GAP) {
        Confidence::High
    } else if meets(MEDIUM) {
        Confidence::Medium
    } else {
        Confidence::Low
    }
}

/// The table of a dataset as Markdown: what the API's reference says of scores.
pub fn reference(dataset: Dataset) -> String {
    let mut text = String::from(
        "Score: 100 × the weighted mean of the similarities of the targets given, rounded to one decimal; a value \
         missing on the record counts as 0.5.\n\n| Target | Similarity | Weight |\n|---|---|---|\n",
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
    let beyond_error = match error > 0.0 {
        true => format!(
            " and farther than a record falls behind whose figures are {} % off",
            100.0 * error
        ),
        false => String::new(),
    };
    text.push_str(&format!(
        "| middle of the {} range, when filtered | exp(-d²·ln 2/(width × {SURFACE_SCALE})²) | {SURFACE_WEIGHT} |\n\
         | pin of the location, when filtered | exp(-d²·ln 2/(radius × {PLACE_SCALE})²) | {PLACE_WEIGHT} |\n\n\
         `ambiguous`: the two best scores are {AMBIGUOUS_GAP} or less apart. `confidence` of the first: HIGH from a \
         score of {}, {} ahead of the second{beyond_error}, when the targets carry {} bits of evidence beyond what \
         singles out one of the candidates; MEDIUM from {}, {} ahead, {} bits; LOW from {LOW_SCORE}; else REJECT. An \
         ambiguous first is never HIGH; the others are at most MEDIUM, by their own gap to the first.",
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
        fn an_ambiguous_first_is_never_high_and_the_others_never_are(
            tenths in 0u32..=1_000, gap in 0u32..=400, bits in -20.0..20.0f64,
            error_points in 0.0..100.0f64, rank in 0usize..5,
        ) {
            let best = f64::from(tenths) / 10.0;
            let second = (best - f64::from(gap) / 10.0).max(0.0);
            let ambiguous = ((best - second) * 10.0).round() / 10.0 <= AMBIGUOUS_GAP;
            let score = if rank == 0 { best } else { second };
            let evidence = Evidence { bits, error_points };
            let found = confidence(rank, score, best, Some(second), evidence);
            let explained = f64::from(gap) / 10.0 < error_points;
            if ambiguous || rank > 0 || bits < HIGH.surplus_bits || explained {
                prop_assert_ne!(found, Confidence::High);
            }
        }
    }

    #[test]
    fn a_lone_good_candidate_needs_evidence_to_be_high() {
        let evidence = |bits| Evidence {
            bits,
            error_points: 80.0,
        };
        let alone = |score, bits| confidence(0, score, score, None, evidence(bits));
        assert_eq!(alone(100.0, 10.0), Confidence::High);
        assert_eq!(alone(100.0, 1.0), Confidence::Medium);
        assert_eq!(alone(30.0, 10.0), Confidence::Reject);
    }

    #[test]
    fn an_exact_fit_is_not_high_when_an_error_in_large_figures_explains_the_gap() {
        let of_error = |error_points| Evidence {
            bits: 8.0,
            error_points,
        };
        let found = |evidence| confidence(0, 99.5, 99.5, Some(59.5), evidence);
        assert_eq!(found(of_error(25.0)), Confidence::High);
        assert_eq!(found(of_error(45.0)), Confidence::Medium);
    }
}
