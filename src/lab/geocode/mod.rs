//! Evaluates the geocoder: addresses of the index are written as people write them ([`classes`]), geocoded, and the
//! results judged ([`judge`]).
//!
//! A score should be a probability: of results with a score of 0.9, nine in ten should be right ([`calibration`]).
//! Queries for known addresses alone cannot show this. The same classes are therefore also applied to addresses that
//! the geocoder does not have: streets that were removed from towns it knows, and whole departments whose towns it
//! knows by name only. None of them can be answered, and the worst error is to name another town with certainty. Cases
//! collected by others ([`cases`]) are judged too.

pub mod calibration;
pub mod cases;
pub mod classes;
mod everyday;
pub mod judge;
pub mod sample;
pub mod speed;

use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use self::calibration::Calibration;
use self::cases::CaseGroup;
use self::classes::CLASSES;
use self::judge::{Outcome, Question};
use self::sample::Address;
use self::speed::Speed;
use toise_base::splitmix::{SplitMix64, mix_into};
use toise_geocode::Geocoder;
use toise_geocode::index::segment;

/// Changes the seed for withheld addresses, so that they differ from those of the classes.
const WITHHELD_SEED: u64 = 0x57a7_e5ed;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are no addresses to draw from.
    #[error("the index has no addresses to evaluate; import some with: toise import ban")]
    Empty,
    /// A department is not in the index.
    #[error("department {0} is not in the index; it has {1}")]
    UnknownDepartment(String, String),
    /// A department is to be both judged and left out.
    #[error("department {0} cannot be both evaluated and left out")]
    LeftOut(String),
    /// The temporary index cannot be written.
    #[error("the index without the withheld streets: {0}")]
    Temporary(#[source] std::io::Error),
    /// A segment cannot be read.
    #[error(transparent)]
    Segment(#[from] segment::Error),
    /// A file of cases cannot be read.
    #[error(transparent)]
    Cases(#[from] cases::Error),
}

/// Options of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct GeocodeOptions {
    /// Number of addresses drawn; each is asked in every class.
    pub sample: usize,
    /// Number of withheld addresses drawn, which the geocoder does not have: half by street, half by department.
    pub without: usize,
    /// Random seed; equal seeds on the same index give the same queries.
    pub seed: u64,
    /// Departments to draw from; empty for all.
    pub departments: Vec<String>,
    /// Departments withheld from the geocoder for every question; if empty, each judged department is withheld in turn
    /// for the questions about it.
    pub left_out: Vec<String>,
    /// Files of cases to judge too.
    pub cases: Vec<PathBuf>,
    /// File to write the questions to, as cases; those about withheld addresses are from the departments left out.
    pub write_cases: Option<PathBuf>,
    /// Maximum wrong answers listed for each class.
    pub failures: usize,
}

/// The result of a class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassResult {
    /// Name of the class.
    pub class: &'static str,
    /// Description of its change to an address.
    pub about: &'static str,
    /// Number of queries.
    pub n: u64,
    /// Share of them whose first result is right.
    pub right: f64,
    /// Share of them with a right one among the first five.
    pub among: f64,
    /// Mean score of the first results.
    pub score: f64,
    /// Share of them whose first result is in another town and reaches the threshold.
    pub other_town: f64,
    /// The same share where the address was withheld.
    pub absent_other_town: f64,
    /// Some of the wrong answers.
    pub failures: Vec<Failure>,
}

/// A wrong answer.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The query.
    pub query: String,
    /// The address meant, as officially written, and its INSEE code.
    pub meant: String,
    /// The first result; empty without one.
    pub given: String,
    /// Its score.
    pub score: f32,
}

/// Results for addresses that the geocoder does not have.
#[derive(Clone, Debug, Serialize)]
pub struct AbsentResult {
    /// Which addresses: `streets` or `departments` withheld.
    pub withheld: &'static str,
    /// `official` for addresses as officially written, `every class` for all queries.
    pub written: &'static str,
    /// Number of queries.
    pub n: u64,
    /// Share of them whose first result is in another town and reaches the threshold.
    pub other_town: f64,
    /// Share of them whose first result is a wrong house or street of the right town and reaches the threshold.
    pub same_town: f64,
    /// Share of them whose first result is the right town alone and reaches the threshold.
    pub town_alone: f64,
    /// Share of them that are answered below the threshold, or not at all.
    pub declined: f64,
    /// Share of them that are right although withheld: the same house under another name.
    pub right: f64,
}

/// The report of an evaluation.
#[derive(Clone, Debug, Serialize)]
pub struct GeocodeReport {
    /// Random seed.
    pub seed: u64,
    /// Addresses drawn.
    pub sample: usize,
    /// Departments they were drawn from.
    pub departments: Vec<String>,
    /// Departments withheld from the geocoder.
    pub left_out: Vec<String>,
    /// Streets and named places that were searched.
    pub streets: u64,
    /// Result of each class.
    pub classes: Vec<ClassResult>,
    /// Score that 99 % of the right first results reach.
    pub threshold: f32,
    /// Results for addresses that the geocoder does not have.
    pub absent: Vec<AbsentResult>,
    /// Calibration of scores as probabilities that a result is right at its own precision: a street alone counts if it
    /// is the street meant, a town alone never does.
    pub calibration: Calibration,
    /// Calibration of scores as probabilities that a result is what was asked for, including the house number.
    pub strict_calibration: Calibration,
    /// Results of the files of cases.
    pub cases: Vec<CaseGroup>,
    /// Speed on one core.
    pub speed: Vec<Speed>,
}

/// Evaluates a geocoder. Uses all cores, but only one for the timed queries. Takes minutes at most.
///
/// # Errors
/// Nothing to judge, an unknown department, a file of cases that cannot be read, or a full disk.
pub fn evaluate(whole: &Geocoder, options: &GeocodeOptions) -> Result<GeocodeReport, Error> {
    let departments = judged_departments(whole, options)?;
    let is_judged = |code: &str| departments.iter().any(|one| one == code);
    let geocoder = sample::without_departments(whole.segments(), &options.left_out);
    let addresses = sample::draw(geocoder.segments(), is_judged, options.sample, options.seed);
    if addresses.is_empty() {
        return Err(Error::Empty);
    }
    let questions = questions(&addresses, options.seed);
    if let Some(path) = &options.write_cases {
        let unknown = draw_left_out(whole, options);
        let absent = self::questions(&unknown, options.seed ^ WITHHELD_SEED);
        cases::write_questions(path, &questions, &absent)?;
    }
    let outcomes = ask(&geocoder, &questions);
    let absent = Absent::ask(whole, &geocoder, is_judged, options)?;
    let threshold = calibration::threshold(outcomes.iter());
    let texts: Vec<String> = questions
        .iter()
        .filter(|(class, _)| !CLASSES[*class].is_typing)
        .map(|(_, one)| one.request.text.clone())
        .collect();
    let mut groups = Vec::new();
    for path in &options.cases {
        groups.extend(cases::judge(&geocoder, path, options.failures)?);
    }
    let segments = geocoder.segments().iter();
    Ok(GeocodeReport {
        seed: options.seed,
        sample: addresses.len(),
        left_out: options.left_out.clone(),
        streets: segments.map(|one| one.streets() as u64).sum(),
        classes: class_results(&questions, &outcomes, &absent, threshold, options.failures),
        threshold,
        calibration: Calibration::measure(outcomes.iter(), absent.outcomes(), |one| one.is_true),
        strict_calibration: Calibration::measure(outcomes.iter(), absent.outcomes(), |one| {
            one.is_right
        }),
        absent: absent.results(threshold),
        cases: groups,
        speed: speed::measure(&geocoder, &addresses, &texts),
        departments,
    })
}

/// Checks the departments in the options, and returns those to draw from.
fn judged_departments(whole: &Geocoder, options: &GeocodeOptions) -> Result<Vec<String>, Error> {
    let segments = whole.segments().iter();
    let known: Vec<&str> = segments.map(|one| one.department()).collect();
    let named = options.departments.iter().chain(&options.left_out);
    for code in named {
        if !known.contains(&code.as_str()) {
            return Err(Error::UnknownDepartment(code.clone(), known.join(", ")));
        }
    }
    let both = |code: &&String| options.left_out.contains(code);
    if let Some(code) = options.departments.iter().find(both) {
        return Err(Error::LeftOut(code.clone()));
    }
    if !options.departments.is_empty() {
        return Ok(options.departments.clone());
    }
    let kept = known.into_iter().map(str::to_owned);
    Ok(kept
        .filter(|code| !options.left_out.contains(code))
        .collect())
}

/// Draws addresses from the departments left out.
fn draw_left_out(whole: &Geocoder, options: &GeocodeOptions) -> Vec<Address> {
    let is_left_out = |code: &str| options.left_out.iter().any(|one| one == code);
    let seed = (options.seed ^ WITHHELD_SEED).wrapping_add(1);
    sample::draw(whole.segments(), is_left_out, options.without / 2, seed)
}

/// Index of a class and one of its questions.
pub(crate) type Asked<'a> = (usize, Question<'a>);

/// Returns the questions of every class about some addresses, ordered by class. Each depends only on the seed, the
/// class and the address.
pub(crate) fn questions(addresses: &[Address], seed: u64) -> Vec<Asked<'_>> {
    let mut questions = Vec::new();
    for (number, class) in CLASSES.iter().enumerate() {
        for address in addresses {
            let key = mix_into(mix_into(address.key, number as u64), seed);
            let texts = (class.queries)(address, &mut SplitMix64::new(key));
            let asked = texts
                .into_iter()
                .map(|text| (number, Question::new(class, address, text)));
            questions.extend(asked);
        }
    }
    questions
}

fn ask(geocoder: &Geocoder, questions: &[Asked<'_>]) -> Vec<Outcome> {
    questions
        .par_iter()
        .map(|(_, question)| question.ask(geocoder))
        .collect()
}

fn share(part: usize, n: usize) -> f64 {
    if n == 0 { 0.0 } else { part as f64 / n as f64 }
}

fn class_results(
    questions: &[Asked<'_>],
    outcomes: &[Outcome],
    absent: &Absent,
    threshold: f32,
    failures: usize,
) -> Vec<ClassResult> {
    let results = CLASSES.iter().enumerate().map(|(number, class)| {
        let of_class: Vec<(&Question, &Outcome)> = questions
            .iter()
            .zip(outcomes)
            .filter(|((asked, _), _)| *asked == number)
            .map(|((_, question), outcome)| (question, outcome))
            .collect();
        let n = of_class.len();
        let count = |is_so: &dyn Fn(&Outcome) -> bool| {
            share(of_class.iter().filter(|(_, one)| is_so(one)).count(), n)
        };
        let scores = of_class.iter().map(|(_, one)| f64::from(one.probability));
        let wrong = of_class.iter().filter(|(_, one)| !one.is_right);
        ClassResult {
            class: class.name,
            about: class.about,
            n: n as u64,
            right: count(&|one| one.is_right),
            among: count(&|one| one.is_among),
            score: scores.sum::<f64>() / n.max(1) as f64,
            other_town: count(&|one| one.is_other_town && one.probability >= threshold),
            absent_other_town: absent.other_town_of(number, threshold),
            failures: wrong
                .take(failures)
                .map(|(question, outcome)| failure(question, outcome))
                .collect(),
        }
    });
    results.filter(|one| one.n > 0).collect()
}

fn failure(question: &Question<'_>, outcome: &Outcome) -> Failure {
    let meant = question.address;
    Failure {
        query: question.request.text.clone(),
        meant: format!(
            "{} {} {} {} ({})",
            meant.house_number(),
            meant.street,
            meant.postal_code,
            meant.commune,
            meant.insee_code
        ),
        given: outcome.label.clone(),
        score: outcome.probability,
    }
}

/// Outcomes of questions about withheld addresses.
struct Absent {
    /// The kind of withheld addresses; the class and the outcome of each question.
    asked: Vec<(&'static str, Vec<(usize, Outcome)>)>,
}

impl Absent {
    fn ask(
        whole: &Geocoder,
        geocoder: &Geocoder,
        is_judged: impl Fn(&str) -> bool,
        options: &GeocodeOptions,
    ) -> Result<Self, Error> {
        let seed = options.seed ^ WITHHELD_SEED;
        let count = options.without / 2;
        let drawn = sample::draw(geocoder.segments(), &is_judged, count, seed);
        let streets = if drawn.is_empty() {
            Vec::new()
        } else {
            let lacking = sample::without_streets(geocoder.segments(), &drawn)?;
            outcomes_of(&lacking, &drawn, seed)
        };
        let departments = if options.left_out.is_empty() {
            let mut of_all = Vec::new();
            let drawn = sample::draw(whole.segments(), &is_judged, count, seed.wrapping_add(1));
            for segment in whole.segments() {
                let code = segment.department().to_owned();
                let own = drawn.iter().filter(|one| one.department == code);
                let own: Vec<Address> = own.cloned().collect();
                if !own.is_empty() {
                    let lacking = sample::without_departments(whole.segments(), &[code]);
                    of_all.extend(outcomes_of(&lacking, &own, seed));
                }
            }
            of_all
        } else {
            outcomes_of(geocoder, &draw_left_out(whole, options), seed)
        };
        Ok(Self {
            asked: vec![("streets", streets), ("departments", departments)],
        })
    }

    fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        let all = self.asked.iter().flat_map(|(_, asked)| asked);
        all.map(|(_, outcome)| outcome)
    }

    /// Returns the share of the queries of a class whose first result reaches the threshold and is in another town.
    fn other_town_of(&self, class: usize, threshold: f32) -> f64 {
        let asked = self.asked.iter().flat_map(|(_, asked)| asked);
        let of_class: Vec<&Outcome> = asked
            .filter(|(number, _)| *number == class)
            .map(|(_, outcome)| outcome)
            .collect();
        let wrong = of_class
            .iter()
            .filter(|one| one.is_other_town && one.probability >= threshold);
        share(wrong.count(), of_class.len())
    }

    fn results(&self, threshold: f32) -> Vec<AbsentResult> {
        let mut results = Vec::new();
        for (withheld, asked) in &self.asked {
            // The first class is the official spelling.
            let official = asked.iter().filter(|(class, _)| *class == 0);
            let official: Vec<&Outcome> = official.map(|(_, one)| one).collect();
            let all: Vec<&Outcome> = asked.iter().map(|(_, one)| one).collect();
            results.push(absent_result(withheld, "official", &official, threshold));
            results.push(absent_result(withheld, "every class", &all, threshold));
        }
        results.retain(|one| one.n > 0);
        results
    }
}

fn outcomes_of(geocoder: &Geocoder, addresses: &[Address], seed: u64) -> Vec<(usize, Outcome)> {
    let questions = questions(addresses, seed);
    let outcomes = ask(geocoder, &questions);
    let classes = questions.iter().map(|(class, _)| *class);
    classes.zip(outcomes).collect()
}

fn absent_result(
    withheld: &'static str,
    written: &'static str,
    outcomes: &[&Outcome],
    threshold: f32,
) -> AbsentResult {
    let n = outcomes.len();
    let reaches = |one: &Outcome| one.probability >= threshold && !one.label.is_empty();
    let count = |is_so: &dyn Fn(&Outcome) -> bool| {
        share(outcomes.iter().filter(|one| is_so(one)).count(), n)
    };
    let other_town = count(&|one| reaches(one) && one.is_other_town);
    let same_town =
        count(&|one| reaches(one) && !one.is_other_town && one.is_street && !one.is_right);
    let town_alone = count(&|one| reaches(one) && !one.is_other_town && !one.is_street);
    let right = count(&|one| reaches(one) && !one.is_other_town && one.is_street && one.is_right);
    AbsentResult {
        withheld,
        written,
        n: n as u64,
        other_town,
        same_town,
        town_alone,
        right,
        declined: 1.0 - other_town - same_town - town_alone - right,
    }
}

#[cfg(test)]
mod tests;
