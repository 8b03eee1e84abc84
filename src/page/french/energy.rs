//! Reads energy and climate classes in French text, with their scores.
//!
//! Pages draw the scale of a diagnostic as the letters `A` to `G`, so a run of letters is not a class. Only a letter
//! that the page marks as current ([`ACTIVE`]) is one.

use super::counts::{LABEL_REACH, is_any};
use super::tokens::Token;

/// Private-use character that is inserted before the letter of a scale that the markup shows as current.
pub const ACTIVE: char = '\u{e000}';
/// Maximum distance in tokens between an emission value and the word CO2.
const CARBON_REACH: usize = 4;
/// Maximum distance in tokens between two letters of a scale; their limits may stand between them.
const SCALE_REACH: usize = 12;
/// Minimum number of letters of a scale.
const SCALE_LETTERS_MIN: usize = 3;
/// Maximum distance in tokens between a scale and its label.
const SCALE_LABEL_REACH: usize = 40;
/// Maximum consumption, kWh per square metre and year.
const CONSUMPTION_MAX: f64 = 2_000.0;
/// Maximum emissions, kg of CO2 per square metre and year.
const EMISSIONS_MAX: f64 = 1_000.0;
/// Area under which a home may have a better class than the general limits say, since July 2024, square metres.
const SMALL_M2: f64 = 40.0;
/// Maximum number of classes by which it may be better.
const SMALL_CLASSES: u32 = 2;
/// Tolerated difference between a score and the limits of its class, because scores are rounded.
const SCORE_TOLERANCE: f64 = 1.0;

/// Highest scores of the energy classes `A` to `F`, in kWh: since July 2021, and before.
const ENERGY_LIMITS: [[f64; 6]; 2] = [
    [70.0, 110.0, 180.0, 250.0, 330.0, 420.0],
    [50.0, 90.0, 150.0, 230.0, 330.0, 450.0],
];
/// Highest scores of the climate classes `A` to `F`, in kg of CO2: since July 2021, and before.
const CLIMATE_LIMITS: [[f64; 6]; 2] = [
    [6.0, 11.0, 30.0, 50.0, 70.0, 100.0],
    [5.0, 10.0, 20.0, 35.0, 55.0, 80.0],
];
const LETTERS: [char; 7] = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];

/// Words that begin the label of a class.
const CLASS_LABELS: [&str; 6] = [
    "classe", "etiquette", "performance", "diagnostic", "consommation", "bilan",
];
/// Words after them in the label of the energy class.
const ENERGY_NAMES: [&str; 4] = ["energie", "energetique", "energetiques", "dpe"];
/// Words after `A` that make it a preposition: `A venir`.
const AFTER_PREPOSITION: [&str; 10] = [
    "venir", "fournir", "realiser", "preciser", "jour", "partir", "la", "titre", "louer", "vendre",
];
/// Words before the limit of a class: `supérieure à 330 kWh`.
const COMPARING: [&str; 7] = [
    "superieure", "inferieure", "superieur", "inferieur", "seuil", "plus", "moins",
];

/// The content of an energy diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyReading {
    /// Energy class, `A` to `G`.
    pub class: Option<char>,
    /// Climate class, `A` to `G`.
    pub climate_class: Option<char>,
    /// Primary energy, kWh per square metre and year.
    pub consumption: Option<f64>,
    /// Emissions, kg of CO2 per square metre and year.
    pub emissions: Option<f64>,
}

/// The two labels of a diagnostic.
#[derive(Clone, Copy, PartialEq)]
enum EnergyLabel {
    Energy,
    Climate,
}

/// Returns whether an energy class agrees with the scores, by the scale since July 2021 or the one before. Since 2021
/// the class is the worse one of energy and climate. The limits of homes under 40 m² are higher since July 2024; they
/// depend on the area, and may improve the class.
pub fn energy_class_agrees(
    class: char,
    consumption: f64,
    emissions: Option<f64>,
    surface_m2: Option<f64>,
) -> bool {
    let is_of = |limits: &[f64; 6]| is_in_class(class, consumption, limits);
    let worse = emissions.is_some_and(|emissions| {
        is_in_class(class, emissions, &CLIMATE_LIMITS[0])
            && class_of(consumption, &ENERGY_LIMITS[0]) <= class
    });
    ENERGY_LIMITS.iter().any(is_of)
        || worse
        || is_small_class(class, class_of(consumption, &ENERGY_LIMITS[0]), surface_m2)
}

/// Returns whether a class may be that of a small home whose score has another class by the general limits.
fn is_small_class(class: char, general: char, surface_m2: Option<f64>) -> bool {
    let better = u32::from(general).saturating_sub(u32::from(class));
    surface_m2.is_some_and(|surface| surface < SMALL_M2) && (1..=SMALL_CLASSES).contains(&better)
}

/// Returns whether a climate class agrees with the emissions, by the scale since July 2021 or the one before.
pub fn climate_class_agrees(class: char, emissions: f64, surface_m2: Option<f64>) -> bool {
    let is_of = |limits: &[f64; 6]| is_in_class(class, emissions, limits);
    CLIMATE_LIMITS.iter().any(is_of)
        || is_small_class(class, class_of(emissions, &CLIMATE_LIMITS[0]), surface_m2)
}

fn is_in_class(class: char, score: f64, limits: &[f64; 6]) -> bool {
    [score - SCORE_TOLERANCE, score, score + SCORE_TOLERANCE]
        .iter()
        .any(|score| class_of(*score, limits) == class)
}

fn class_of(score: f64, limits: &[f64; 6]) -> char {
    LETTERS[limits.iter().filter(|limit| score > **limit).count()]
}

/// Reads the classes and scores of a diagnostic: `DPE : D`, `Classe énergie D`, `DPE D (214)`, `GES C`, `B71`,
/// `214 kWh/m²/an`, `12 kg CO2`.
pub fn energy(tokens: &[Token]) -> EnergyReading {
    let (tokens, active) = without_scales(tokens);
    let tokens = &tokens[..];
    let mut energy = EnergyReading::default();
    for place in 0..tokens.len() {
        if let Some(label) = label(tokens, place)
            && let Some((class, score)) = class_after(tokens, place, label)
        {
            let (of_label, of_score) = match label {
                EnergyLabel::Energy => (&mut energy.class, &mut energy.consumption),
                EnergyLabel::Climate => (&mut energy.climate_class, &mut energy.emissions),
            };
            if of_label.is_none() {
                *of_label = Some(class);
                *of_score = of_score.or(score);
            }
        }
        // Zero means that there is no score.
        let score = tokens[place].number().filter(|score| *score > 0.0);
        let Some(number) = score.filter(|_| !is_limit(tokens, place)) else {
            continue;
        };
        let after = &tokens[place + 1..];
        let unit = after.first().and_then(Token::word).unwrap_or_default();
        let mut near = after.iter().take(CARBON_REACH + 4);
        let is_final = near.any(|word| word.is("finale"));
        if unit.starts_with("kwh") && number <= CONSUMPTION_MAX && !is_final {
            energy.consumption = energy.consumption.or(Some(number));
        }
        let mut near = after.iter().take(CARBON_REACH).filter_map(Token::word);
        let is_carbon = unit.starts_with("kg") && near.any(|word| word.contains("co2"));
        if is_carbon && number <= EMISSIONS_MAX {
            energy.emissions = energy.emissions.or(Some(number));
        }
    }
    for (label, class) in active {
        match label {
            EnergyLabel::Energy => energy.class = Some(class),
            EnergyLabel::Climate => energy.climate_class = Some(class),
        }
    }
    energy
}

/// Returns which label a token is.
fn label(tokens: &[Token], place: usize) -> Option<EnergyLabel> {
    let token = &tokens[place];
    let is_class = token.is_any(&CLASS_LABELS);
    if token.is_any(&["ges", "emission", "emissions", "serre"])
        || is_class && is_any(tokens.get(place + 1), &["climat", "ges"])
    {
        return Some(EnergyLabel::Climate);
    }
    let names_energy = |token: &Token| token.is_any(&ENERGY_NAMES);
    let is_energy =
        token.is("dpe") || is_class && tokens[place + 1..].iter().take(3).any(names_energy);
    is_energy.then_some(EnergyLabel::Energy)
}

/// Returns the class after a label, with a score next to it: `D`, `D (214)`, `D indice 214`, `214 (D)`, `D214`
/// or `D214kWh`.
fn class_after(tokens: &[Token], place: usize, label: EnergyLabel) -> Option<(char, Option<f64>)> {
    let end = tokens.len().min(place + 1 + LABEL_REACH);
    for at in place + 1..end {
        match &tokens[at] {
            Token::Word(word) if single_class(word).is_some() => {
                let after = &tokens[at + 1..];
                let class = single_class(word).filter(|class| !leads_on(*class, after))?;
                return Some((class, score_after(after)));
            }
            // `Classe énergie (DPE) C` goes on after its label.
            Token::Word(word)
                if tokens[at].is_any(&["ges", "dpe"])
                    && (word == "ges") != (label == EnergyLabel::Climate) =>
            {
                return None;
            }
            Token::Word(word) if joined_class(word).is_some() => return joined_class(word),
            Token::Number(score, _) => {
                // `122 (C)`.
                let [Token::Sign('('), Token::Word(class), Token::Sign(')'), ..] =
                    tokens.get(at + 1..)?
                else {
                    return None;
                };
                return Some((single_class(class)?, Some(*score)));
            }
            _ => {}
        }
    }
    None
}

/// Returns whether the tokens after a letter show that it is not a class: `A venir`, `D'après`.
pub(super) fn leads_on(letter: char, after: &[Token]) -> bool {
    let next = after.first();
    letter == 'A' && is_any(next, &AFTER_PREPOSITION)
        || matches!(next, Some(Token::Sign('\'' | '’')))
}

/// Returns the class that a word of one capital letter names.
fn single_class(word: &str) -> Option<char> {
    let letter = word.chars().next().filter(|_| word.len() == 1)?;
    LETTERS.contains(&letter).then_some(letter)
}

/// Reads `b71` or `d216kwh`: the class and its score in one word, with or without the unit.
fn joined_class(word: &str) -> Option<(char, Option<f64>)> {
    let letter = word.chars().next()?.to_ascii_uppercase();
    let rest = word.get(1..).filter(|_| LETTERS.contains(&letter))?;
    let end = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(end);
    let is_unit = unit.is_empty() || unit.starts_with("kwh") || unit.starts_with("kg");
    let score = digits.parse().ok().filter(|_| is_unit)?;
    Some((letter, Some(score)))
}

/// Returns the score directly after a class: `(214)`, `indice 214`.
fn score_after(after: &[Token]) -> Option<f64> {
    let after = match after {
        [Token::Sign('('), rest @ ..] => rest,
        [Token::Word(word), rest @ ..] if matches!(word.as_str(), "indice" | "valeur") => rest,
        _ => return None,
    };
    after.first()?.number().filter(|score| *score > 0.0)
}

/// Returns whether a number is the limit of a class: `≤ 70 kWh`, `51 à 90 kWh`, `supérieure à 330 kWh`.
fn is_limit(tokens: &[Token], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| tokens.get(before));
    matches!(before, Some(Token::Sign('<' | '>' | '≤' | '≥')))
        || is_any(before, &["a", "et", "de"])
            && place >= 2
            && (tokens[place - 2].number().is_some() || tokens[place - 2].is_any(&COMPARING))
}

/// Returns the tokens without scales, and the current class of each scale that marks one.
fn without_scales(tokens: &[Token]) -> (Vec<Token>, Vec<(EnergyLabel, char)>) {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut active = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(letters) = scale_at(tokens, at) else {
            if tokens[at] != Token::Sign(ACTIVE) {
                kept.push(tokens[at].clone());
            }
            at += 1;
            continue;
        };
        let marked: Vec<usize> = letters
            .iter()
            .copied()
            .filter(|place| *place > 0 && tokens[place - 1] == Token::Sign(ACTIVE))
            .collect();
        if let [only] = marked[..]
            && let Some(label) = scale_label(&kept)
            && let Some(class) = tokens[only].word().and_then(single_class)
            && !active.iter().any(|(known, _)| *known == label)
        {
            active.push((label, class));
        }
        // The text between the letters is kept, because it may be the score.
        let last = letters.last().copied().unwrap_or(at);
        let between = (at..=last).filter(|place| !letters.contains(place));
        kept.push(Token::Break);
        kept.extend(
            between
                .map(|place| &tokens[place])
                .filter(|token| **token != Token::Sign(ACTIVE))
                .cloned(),
        );
        kept.push(Token::Break);
        at = last + 1;
    }
    (kept, active)
}

/// Returns the positions of the letters of a scale that starts with an `A` at this position.
fn scale_at(tokens: &[Token], start: usize) -> Option<Vec<usize>> {
    let class_at = |place: usize| tokens[place].word().and_then(single_class);
    class_at(start).filter(|class| *class == 'A')?;
    let mut letters = vec![start];
    for place in start + 1..tokens.len() {
        let last = letters.last().copied()?;
        if letters.len() == LETTERS.len() || place > last + SCALE_REACH {
            break;
        }
        match class_at(place) {
            Some(class) if class == LETTERS[letters.len()] => letters.push(place),
            Some(_) => break,
            None => {}
        }
    }
    (letters.len() >= SCALE_LETTERS_MIN).then_some(letters)
}

/// Returns the last label before a scale.
fn scale_label(before: &[Token]) -> Option<EnergyLabel> {
    let first = before.len().saturating_sub(SCALE_LABEL_REACH);
    (first..before.len())
        .rev()
        .find_map(|place| label(before, place))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn energy_classes_are_single_capitals_after_their_label() {
        for (classes, text) in [
            ("D-", "DPE : D"),
            ("DB", "DPE D - GES B"),
            ("DB", "Classe énergie : D\nClasse climat : B"),
            ("DB", "Étiquette énergétique D, GES : B"),
            ("E-", "Diagnostic de performance énergétique : E"),
            (
                "CC",
                "Classe énergie (dpe) C - Émission de gaz à effet de serre (ges) C",
            ),
            ("--", "DPE : A venir"),
            ("FF", "Classe énergie F, Classe climat F La loi impose"),
            ("--", "DPE à réaliser"),
            ("-C", "DPE 214 kWh, GES C"),
            ("DB", "DPE :D216kWh/m².an\nGES :B12kgCO2/m².an"),
            ("D-", "La performance énergétique est classée en D."),
        ] {
            let energy = energy(&tokens(text));
            let found = [energy.class, energy.climate_class].map(|class| class.unwrap_or('-'));
            assert_eq!(found.iter().collect::<String>(), classes, "{text}");
        }
    }

    #[test]
    fn the_class_in_a_cell_is_a_letter_that_is_not_a_word() {
        for (cell, class) in [
            ("D", Some('D')),
            ("d", Some('D')),
            ("Classe A", Some('A')),
            ("D (214)", Some('D')),
            ("À réaliser", None),
            ("à venir", None),
            ("A VENIR", None),
            ("Non soumis à DPE", None),
            ("Pas d'information", None),
            ("N/C", None),
        ] {
            assert_eq!(super::super::energy_class(cell), class, "{cell}");
        }
    }

    #[test]
    fn scores_are_read_beside_their_class_or_unit_and_limits_are_not_scores() {
        let scores = |text: &str| {
            let energy = energy(&tokens(text));
            (energy.consumption, energy.emissions)
        };
        for (consumption, emissions, text) in [
            (
                214.0,
                12.0,
                "Consommation : 214 kWhEP/m²/an, émissions 12 kgCO2/m²/an",
            ),
            (122.0, 3.0, "DPE 122 (C)\nGES 3 (A)"),
            (147.0, 5.0, "DPE C (147) - GES A (5)"),
            (
                329.0,
                59.0,
                "classe ENERGIE E indice 329 et classe CLIMAT E indice 59",
            ),
            (71.0, 7.0, "Classe Énergie B71 GES B7"),
            (216.0, 47.0, "DPE :D216kWh/m².an, GES :D47kgCO2/m².an"),
        ] {
            assert_eq!(scores(text), (Some(consumption), Some(emissions)), "{text}");
        }
        let limits = "une consommation supérieure à 330 kWh/m². ≤ 70 kWh, 51 à 90 kWh";
        assert_eq!(scores(limits), (None, None));
        let both = "312 kWh/m²/an d'énergie primaire, 136 kWh/m²/an d'énergie finale";
        assert_eq!(scores(both), (Some(312.0), None));
    }

    #[test]
    fn a_scale_is_a_class_only_where_the_page_marks_one() {
        let scale = "DPE\nA\nB\nC\nD\nE\n328\nkWh/m²\nF\nG\nGES\nA\nB\nC\nD\nE\nF\nG";
        let read = energy(&tokens(scale));
        assert_eq!((read.class, read.climate_class), (None, None));
        let marked = format!("Classe énergie\nA\nB\nC\n{ACTIVE}D\nE\nF\nG\nGES\nA\n{ACTIVE}B\nC");
        let read = energy(&tokens(&marked));
        assert_eq!((read.class, read.climate_class), (Some('D'), Some('B')));
        let limits =
            "DPE\n≤ 50 A\n51 à 90 B\n91 à 150 C\n151 à 230 D\n231 à 330 E\n331 à 450 F\n> 450 G";
        assert_eq!(energy(&tokens(limits)), EnergyReading::default());
    }

    #[test]
    fn a_class_agrees_with_its_score_by_the_scale_of_today_or_the_former() {
        assert!(energy_class_agrees('E', 328.0, None, None));
        assert!(energy_class_agrees('D', 214.0, None, None));
        assert!(energy_class_agrees('B', 71.0, None, None));
        assert!(energy_class_agrees('D', 140.0, Some(40.0), None));
        assert!(!energy_class_agrees('A', 328.0, None, None));
        assert!(!energy_class_agrees('D', 140.0, Some(12.0), None));
        assert!(climate_class_agrees('B', 7.0, None) && climate_class_agrees('C', 12.0, None));
        assert!(!climate_class_agrees('A', 59.0, None));
        // The limits are higher under 40 m².
        assert!(energy_class_agrees('D', 252.0, None, Some(23.23)));
        assert!(!energy_class_agrees('D', 262.0, None, Some(60.0)));
        assert!(!energy_class_agrees('A', 328.0, None, Some(23.23)));
        assert!(!energy_class_agrees('F', 252.0, None, Some(23.23)));
    }
}
