//! Measures calibration: of results with a probability of 0.8, four in five should be right.

use serde::Serialize;

use super::judge::Outcome;

/// Number of bins of probability.
pub const BINS: usize = 10;
/// Share of right first results that are at or above the threshold.
pub const KEPT: f64 = 0.99;

/// One bin of first results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// Lowest probability in it.
    pub from: f64,
    /// Number of first results.
    pub n: u64,
    /// Their mean probability; 0 for an empty bin.
    pub predicted: f64,
    /// Share of them that are right; 0 for an empty bin.
    pub right: f64,
}

/// Deviation of probabilities from the shares of results that are right.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// First results that were judged.
    pub n: u64,
    /// Share of them that belong to addresses that are not in the base.
    pub absent: f64,
    /// Expected calibration error: mean over the bins, weighted by their results, of the difference between the mean
    /// probability and the share that is right.
    pub error: f64,
    /// The bins, ascending.
    pub bins: Vec<Bin>,
}

impl Calibration {
    /// Measures outcomes; `is_right` says which are right. Outcomes without a result do not count.
    pub fn measure<'o>(
        present: impl Iterator<Item = &'o Outcome>,
        absent: impl Iterator<Item = &'o Outcome>,
        is_right: impl Fn(&Outcome) -> bool,
    ) -> Self {
        let mut bins = [(0_u64, 0.0_f64, 0_u64); BINS];
        let (mut all, mut of_absent) = (0_u64, 0_u64);
        let present = present.map(|one| (one, false));
        for (one, is_absent) in present.chain(absent.map(|one| (one, true))) {
            if one.label.is_empty() {
                continue;
            }
            let predicted = f64::from(one.probability).clamp(0.0, 1.0);
            let (n, sum, right) = &mut bins[((predicted * BINS as f64) as usize).min(BINS - 1)];
            *n += 1;
            *sum += predicted;
            *right += u64::from(is_right(one));
            all += 1;
            of_absent += u64::from(is_absent);
        }
        let share = |part: f64, n: u64| if n == 0 { 0.0 } else { part / n as f64 };
        let bins: Vec<Bin> = bins
            .into_iter()
            .enumerate()
            .map(|(index, (n, sum, right))| Bin {
                from: index as f64 / BINS as f64,
                n,
                predicted: share(sum, n),
                right: share(right as f64, n),
            })
            .collect();
        let gaps = bins
            .iter()
            .map(|bin| bin.n as f64 * (bin.predicted - bin.right).abs());
        Self {
            n: all,
            absent: share(of_absent as f64, all),
            error: share(gaps.sum(), all),
            bins,
        }
    }

    /// Returns the reliability plot as text: mean probability (`|`) and share of right results (`#`) of each bin.
    pub fn plot(&self) -> String {
        const WIDTH: usize = 50;
        let mut text = String::from("  score        n  stated  right\n");
        for bin in self.bins.iter().filter(|bin| bin.n > 0) {
            let at = |share: f64| ((share * WIDTH as f64).round() as usize).min(WIDTH);
            let mut bar: Vec<char> = vec!['#'; at(bin.right)];
            bar.resize(WIDTH + 1, ' ');
            bar[at(bin.predicted)] = '|';
            let bar: String = bar.into_iter().collect();
            let to = bin.from + 1.0 / BINS as f64;
            text += &format!(
                "{:.1}–{to:.1} {:>8}  {:>6.3} {:>6.3}  {}\n",
                bin.from,
                bin.n,
                bin.predicted,
                bin.right,
                bar.trim_end()
            );
        }
        text
    }
}

/// Returns the probability that a share of [`KEPT`] of the right first results reaches; 0 if none is right.
pub fn threshold<'o>(present: impl Iterator<Item = &'o Outcome>) -> f32 {
    let right = present.filter(|one| one.is_right);
    let mut probabilities: Vec<f32> = right.map(|one| one.probability).collect();
    probabilities.sort_unstable_by(f32::total_cmp);
    let lost = ((1.0 - KEPT) * probabilities.len() as f64) as usize;
    probabilities.get(lost).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(probability: f32, is_right: bool) -> Outcome {
        Outcome {
            is_right,
            is_true: is_right,
            is_among: is_right,
            probability,
            is_other_town: false,
            is_street: true,
            label: "somewhere".into(),
        }
    }

    #[test]
    fn the_error_is_the_mean_distance_between_predicted_and_right() {
        // Four results with 0.75, three of them right, and two with 0.25, both right.
        let predicted = [
            (0.75, true),
            (0.75, true),
            (0.75, true),
            (0.75, false),
            (0.25, true),
            (0.25, true),
        ];
        let outcomes: Vec<Outcome> = predicted
            .map(|(predicted, right)| outcome(predicted, right))
            .into();
        let measured = Calibration::measure(outcomes[..4].iter(), outcomes[4..].iter(), |one| {
            one.is_right
        });
        assert_eq!(
            (measured.n, measured.bins[7].n, measured.bins[2].n),
            (6, 4, 2)
        );
        assert!((measured.error - 2.0 * 0.75 / 6.0).abs() < 1e-9);
        assert!((measured.absent - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(measured.plot().lines().count(), 3);
    }

    #[test]
    fn the_threshold_keeps_99_of_100_right_results() {
        let outcomes: Vec<Outcome> = (0..200)
            .map(|index| outcome(index as f32 / 200.0, true))
            .chain([outcome(0.001, false)])
            .collect();
        let least = threshold(outcomes.iter());
        let kept = outcomes
            .iter()
            .filter(|one| one.is_right && one.probability >= least);
        assert_eq!(kept.count(), 198);
        assert_eq!(threshold([].iter()), 0.0);
    }
}
