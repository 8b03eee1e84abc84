//! Reads energy and climate classes in French text, with their values.

use super::counts::{LABEL_REACH, is_any};
use super::tokens::Token;

/// Maximum distance in tokens between an emission value and the word CO2.
const CARBON_REACH: usize = 4;

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

/// Reads the classes and values of a diagnostic: `DPE : D`, `Classe énergie D`, `GES C`, `214 kWh/m²/an`, `12 kg CO2`.
pub fn energy(tokens: &[Token]) -> EnergyReading {
    let mut energy = EnergyReading::default();
    for place in 0..tokens.len() {
        let token = &tokens[place];
        let starts = |word: &str| is_any(tokens.get(place + 1), &[word]);
        let is_class = is_any(
            Some(token),
            &[
                "classe",
                "etiquette",
                "performance",
                "diagnostic",
                "consommation",
                "bilan",
            ],
        );
        if token.is("dpe")
            || is_class
                && !starts("climat")
                && reaches(tokens, place, &["energie", "energetique", "energetiques"])
        {
            energy.class = energy.class.or_else(|| class_after(tokens, place));
        }
        if token.is("ges")
            || is_class && starts("climat")
            || token.is("emission")
            || token.is("emissions")
            || token.is("serre")
        {
            energy.climate_class = energy.climate_class.or_else(|| class_after(tokens, place));
        }
        let Some(number) = token.number() else {
            continue;
        };
        let unit = tokens
            .get(place + 1)
            .and_then(Token::word)
            .unwrap_or_default();
        if unit.starts_with("kwh") && number <= 2_000.0 {
            energy.consumption = energy.consumption.or(Some(number));
        }
        let is_carbon = unit.starts_with("kg")
            && tokens[place + 1..]
                .iter()
                .take(CARBON_REACH)
                .any(|word| word.word().is_some_and(|word| word.contains("co2")));
        if is_carbon && number <= 1_000.0 {
            energy.emissions = energy.emissions.or(Some(number));
        }
    }
    energy
}

fn reaches(tokens: &[Token], place: usize, names: &[&str]) -> bool {
    tokens[place + 1..]
        .iter()
        .take(3)
        .any(|token| is_any(Some(token), names))
}

/// Returns the single capital letter after a label.
fn class_after(tokens: &[Token], place: usize) -> Option<char> {
    for at in place + 1..tokens.len().min(place + 1 + LABEL_REACH) {
        match &tokens[at] {
            Token::Word(word) if word.len() == 1 && ("A"..="G").contains(&word.as_str()) => {
                // In `A venir` and `D'après` the letter is not a class.
                let next = tokens.get(at + 1);
                let leads_on = is_any(
                    next,
                    &[
                        "venir", "fournir", "realiser", "preciser", "jour", "partir", "la",
                    ],
                ) || matches!(next, Some(Token::Sign('\'' | '’')));
                return word.chars().next().filter(|_| !leads_on);
            }
            Token::Word(word) if ["ges", "dpe"].contains(&word.as_str()) => return None,
            Token::Number(..) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn energy_classes_are_single_capitals_after_their_label() {
        for (text, class, climate) in [
            ("DPE : D", Some('D'), None),
            ("DPE D - GES B", Some('D'), Some('B')),
            (
                "Classe énergie : D\nClasse climat : B",
                Some('D'),
                Some('B'),
            ),
            ("Étiquette énergétique D, GES : B", Some('D'), Some('B')),
            ("Diagnostic de performance énergétique : E", Some('E'), None),
            ("DPE : A venir", None, None),
            ("DPE à réaliser", None, None),
            ("DPE 214 kWh, GES C", None, Some('C')),
        ] {
            let energy = energy(&tokens(text));
            assert_eq!(
                (energy.class, energy.climate_class),
                (class, climate),
                "{text}"
            );
        }
        let figures = energy(&tokens(
            "Consommation : 214 kWhEP/m²/an, émissions 12 kgCO2/m²/an",
        ));
        assert_eq!(
            (figures.consumption, figures.emissions),
            (Some(214.0), Some(12.0))
        );
    }
}
