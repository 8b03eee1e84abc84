//! Drafts energy and climate classes that a column writes as numbers from 1 to 7, and distinguishes these from scores.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::fields::Sampled;
use super::profile::ColumnProfile;
use toise_input::number::{self, LoneSeparator};
use toise_page::french::energy;

/// The field of the energy class.
pub(super) const ENERGY_CLASS: &str = "habitation.climate.epcEnergy";
/// The field of the climate class.
pub(super) const CLIMATE_CLASS: &str = "habitation.climate.epcClimate";
/// Fields of scores, with the fields of their classes.
pub(super) const SCORES: [(&str, &str); 2] = [
    ("habitation.climate.epcEnergyScore", ENERGY_CLASS),
    ("habitation.climate.epcClimateScore", CLIMATE_CLASS),
];
/// Letters of the classes, in the order of the numbers that may stand for them.
const CLASS_LETTERS: [char; 7] = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];
/// Pattern of the number of a class.
const CLASS_NUMBER: &str = r"^(\d+)(?:[.,]0+)?$";
/// Highest number that may be a class of energy rather than a score.
const CODED_CLASS_MAX: f64 = 7.0;
/// Minimum number of different classes in a column of numbers from 1 to 7; fewer may be flags.
const CODED_CLASSES_MIN: usize = 3;
/// Minimum share of numbers above [`CODED_CLASS_MAX`] in a column of scores. In a column of classes, few such numbers
/// stand for an unknown class.
const SCORES_MIN: f64 = 0.5;
/// Minimum share of classes that must agree with the scores in the same rows.
const AGREEING_MIN: f64 = 0.5;

impl Sampled<'_> {
    /// Drafts the classes of a column that holds only the numbers 1 to 7, 1 for A. The rule is not sure if few different
    /// numbers occur, or if the file has scores that do not agree with them.
    pub(super) fn numbered_classes(
        &self,
        field: &'static str,
        column: &ColumnProfile,
    ) -> Option<Draft> {
        let (score, _) = *SCORES.iter().find(|(_, class)| *class == field)?;
        let numbers = class_numbers(column)?;
        let start = if field == ENERGY_CLASS {
            "ENERGY_CLASSIFICATION_"
        } else {
            "GREENHOUSE_CLASSIFICATION_"
        };
        let letters = CLASS_LETTERS.iter().enumerate();
        let pairs = letters.map(|(at, letter)| format!("\"{}\" = \"{start}{letter}\"", at + 1));
        let map = format!("map = {{ {} }}", pairs.collect::<Vec<_>>().join(", "));
        let mut draft = Draft::new(field)
            .from(&[&column.path])
            .with("pattern", CLASS_NUMBER)
            .with_line(&map)
            .tried(self.rows, column.filled, 1.0)
            .because("All values are whole numbers from 1 to 7: 1 is read as A, 7 as G.");
        let scores = self.of(score).into_iter();
        let mut scores = scores.filter(|column| has_scores(&column.samples));
        if numbers.len() < CODED_CLASSES_MIN {
            draft.confidence = draft.confidence.min(0.5);
            draft.reason = format!(
                "Fewer than {CODED_CLASSES_MIN} different numbers occur, so they may not be classes."
            );
        } else if let Some(scores) = scores.next()
            && !self.agree(&draft, score, scores)
        {
            draft.confidence = 0.0;
            draft.reason = format!(
                "As classes, with 1 for A, the numbers do not agree with the scores in {}.",
                scores.path
            );
        }
        Some(draft)
    }

    /// Returns whether most classes that a draft reads agree with the scores of the same rows in a column.
    fn agree(&self, classes: &Draft, score: &'static str, column: &ColumnProfile) -> bool {
        let scores = Draft::new(score).from(&[&column.path]).values(self.rows);
        let rows = classes.values(self.rows).into_iter().zip(scores);
        let rows = rows.filter_map(|(class, score)| {
            let letter = class.as_ref()?.as_str()?.chars().next_back()?;
            Some((letter, score.as_ref()?.as_f64()?))
        });
        let agrees = |letter, score| {
            if classes.field == ENERGY_CLASS {
                energy::energy_class_agrees(letter, score, None, None)
            } else {
                energy::climate_class_agrees(letter, score, None)
            }
        };
        let agreeing: Vec<bool> = rows.map(|(letter, score)| agrees(letter, score)).collect();
        let count = agreeing.iter().filter(|agrees| **agrees).count();
        count as f64 >= AGREEING_MIN * agreeing.len() as f64
    }
}

/// Returns whether numbers are energy scores rather than classes from 1 to 7 or flags.
pub(super) fn has_scores(samples: &[String]) -> bool {
    let numbers = samples
        .iter()
        .filter_map(|cell| number::read(cell, LoneSeparator::Decimals));
    let numbers: Vec<f64> = numbers.collect();
    let high = numbers.iter().filter(|number| **number > CODED_CLASS_MAX);
    let high = high.count();
    high > 0 && high as f64 >= SCORES_MIN * numbers.len() as f64
}

/// Returns the different numbers of a column that may stand for classes; `None` unless all its values are whole numbers
/// from 1 to 7.
pub(super) fn class_numbers(column: &ColumnProfile) -> Option<BTreeSet<u8>> {
    if column.samples.len() < column.distinct {
        return None;
    }
    let samples = column.samples.iter();
    let known = samples.filter(|cell| !column.unknown.contains(cell.as_str()));
    let numbers = known.map(|cell| {
        let number = number::read(cell, LoneSeparator::Decimals)?;
        let is_class = number.fract() == 0.0 && (1.0..=CODED_CLASS_MAX).contains(&number);
        is_class.then_some(number as u8)
    });
    numbers.collect()
}
