//! Reads amounts in French text: the price, and some others by their meaning.
//!
//! The words around an amount on its line determine its meaning: `charges : 120 €/mois` is not the price, nor is `4 500
//! €/m²` or `soit 1 200 € par mois de crédit`.

use super::tokens::Token;

/// Number of tokens before an amount that may describe it.
const CONTEXT_BEFORE: usize = 7;
/// Minimum sale price, EUR.
const SALE_MIN: f64 = 1_000.0;
/// Minimum monthly rent, EUR.
const RENT_MIN: f64 = 20.0;
/// Maximum amount, EUR.
const AMOUNT_MAX: f64 = 1e11;
const MONTHS: f64 = 12.0;

/// An amount in EUR, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Sale price.
    Price(f64),
    /// Monthly rent.
    Rent(f64),
    /// Deposit of a rental.
    Deposit(f64),
    /// Yearly property tax.
    PropertyTax(f64),
    /// Yearly condominium fees.
    CondominiumFees(f64),
}

/// How often an amount is paid, from the words after it.
#[derive(Clone, Copy, PartialEq)]
enum PaymentPeriod {
    Once,
    Month,
    Year,
    SquareMetre,
}

/// Words that make an amount irrelevant for the advert.
const OTHER: [&str; 27] = [
    "honoraires",
    "frais",
    "charges",
    "charge",
    "provision",
    "energie",
    "energetique",
    "depenses",
    "mensualite",
    "mensualites",
    "credit",
    "emprunt",
    "apport",
    "simulation",
    "baisse",
    "baisser",
    "economisez",
    "lieu",
    "entre",
    "estimation",
    "travaux",
    "chauffage",
    "notaire",
    "capital",
    "commission",
    "hors",
    "budget",
];

/// Returns all amounts in a text that have one of these meanings, in order.
pub fn amounts(tokens: &[Token]) -> impl Iterator<Item = Amount> + '_ {
    (0..tokens.len()).filter_map(|place| amount(tokens, place))
}

/// Returns whether the price is available on request only.
pub fn is_on_request(tokens: &[Token]) -> bool {
    tokens.windows(3).any(|window| {
        let [first, second, third] = window else {
            return false;
        };
        first.is("prix") && second.is("sur") && third.is("demande")
            || first.is("prix") && (second.is("nous") || third.is("nous"))
            || first.is("nous") && second.is("consulter")
    })
}

fn amount(tokens: &[Token], place: usize) -> Option<Amount> {
    let number = tokens[place].number()?;
    let (factor, after) = unit(tokens, place)?;
    let value = number * factor;
    if value > AMOUNT_MAX {
        return None;
    }
    let every = every(&tokens[after..]);
    let line_start = tokens[..place]
        .iter()
        .rposition(|token| *token == Token::Break);
    let start = line_start
        .unwrap_or(0)
        .max(place.saturating_sub(CONTEXT_BEFORE));
    // Words before another amount belong to that one.
    let other = tokens[start..place]
        .iter()
        .rposition(|token| *token == Token::Sign('€'));
    let context = &tokens[start + other.map_or(0, |offset| offset + 1)..place];
    let says = |word: &str| context.iter().any(|token| token.is(word));
    if every == PaymentPeriod::SquareMetre {
        return None;
    }
    if says("garantie") || says("depot") || says("caution") {
        return Some(Amount::Deposit(value));
    }
    if says("taxe") || says("fonciere") {
        return Some(Amount::PropertyTax(value));
    }
    if says("copropriete") || says("copro") {
        let yearly = match every {
            PaymentPeriod::Month => value * MONTHS,
            _ => value,
        };
        return Some(Amount::CondominiumFees(yearly));
    }
    let is_included =
        says("inclus") || says("compris") || says("comprises") || says("fai") || says("incluses");
    if !is_included && !says("loyer") && OTHER.iter().any(|word| says(word)) {
        return None;
    }
    let is_rent = every == PaymentPeriod::Month || says("loyer");
    match (is_rent, every) {
        (true, _) if value >= RENT_MIN && !says("soit") => Some(Amount::Rent(value)),
        (false, PaymentPeriod::Once) if value >= SALE_MIN => Some(Amount::Price(value)),
        _ => None,
    }
}

/// Returns the factor of a number that is an amount, and the position after its unit.
fn unit(tokens: &[Token], place: usize) -> Option<(f64, usize)> {
    let next = tokens.get(place + 1);
    let second = tokens.get(place + 2);
    let is_euro = |token: Option<&Token>| match token {
        Some(Token::Sign('€')) => true,
        Some(Token::Word(word)) => matches!(word.as_str(), "eur" | "euro" | "euros"),
        _ => false,
    };
    if is_euro(next) {
        return Some((1.0, place + 2));
    }
    match next {
        Some(token) if (token.is("k") || token.is("K")) && is_euro(second) => {
            return Some((1e3, place + 3));
        }
        Some(token) if token.is("keur") => return Some((1e3, place + 2)),
        Some(token) if token.is("M") && is_euro(second) => return Some((1e6, place + 3)),
        Some(token) if token.is("million") || token.is("millions") => {
            let euro = tokens[place + 2..]
                .iter()
                .take(3)
                .position(|token| is_euro(Some(token)));
            return euro.map(|offset| (1e6, place + 3 + offset));
        }
        _ => {}
    }
    // `€ 350 000`, and `Prix : 350 000` if no unit follows.
    let before = place.checked_sub(1).and_then(|before| tokens.get(before));
    let is_other_unit = matches!(next, Some(Token::Word(_)));
    if before == Some(&Token::Sign('€')) && !is_other_unit {
        let after_a_number = place >= 2 && tokens[place - 2].number().is_some();
        return (!after_a_number).then_some((1.0, place + 1));
    }
    let label = match before {
        Some(Token::Sign(':')) => place.checked_sub(2).and_then(|label| tokens.get(label)),
        other => other,
    };
    let is_labelled = label.is_some_and(|label| label.is("prix") || label.is("loyer"));
    let ends = matches!(next, None | Some(Token::Break));
    (is_labelled && ends).then_some((1.0, place + 1))
}

fn every(after: &[Token]) -> PaymentPeriod {
    let mut words = after
        .iter()
        .take_while(|token| **token != Token::Break)
        .take(6)
        .filter(|token| !matches!(token, Token::Sign('/' | '.' | '(' | '-' | '*')))
        .filter(|token| {
            !["par", "le", "du", "la", "ttc", "net", "hors"]
                .iter()
                .any(|word| token.is(word))
        });
    let first = words.next();
    let second = words.next();
    let is = |token: Option<&Token>, names: &[&str]| {
        token.is_some_and(|token| names.iter().any(|name| token.is(name)))
    };
    if is(first, &["m2", "metre", "metres"]) {
        return PaymentPeriod::SquareMetre;
    }
    if is(first, &["mois", "mensuel", "mensuels", "cc", "hc", "mens"]) {
        return PaymentPeriod::Month;
    }
    if is(first, &["charges"]) && is(second, &["comprises", "incluses"]) {
        return PaymentPeriod::Month;
    }
    if is(
        first,
        &[
            "an",
            "ans",
            "annuel",
            "annuels",
            "annuelle",
            "annuelles",
            "annee",
        ],
    ) {
        return PaymentPeriod::Year;
    }
    PaymentPeriod::Once
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn found(text: &str) -> Vec<Amount> {
        amounts(&tokens(text)).collect()
    }

    #[test]
    fn a_price_is_found_in_every_notation() {
        for text in [
            "350 000 €",
            "350.000€",
            "350 000 euros",
            "Prix : 350 000 EUR",
            "350 k€",
            "350K€",
            "0,35 M€",
            "€ 350,000",
            "Prix de vente : 350 000 € FAI",
            "Prix : 350 000",
            "350\u{202f}000\u{a0}€ *",
            "Prix honoraires inclus : 350 000 €",
            "0,35 million d'euros",
            "À vendre, 350 000 €. Charges 100 € par mois",
        ] {
            assert_eq!(found(text), [Amount::Price(350_000.0)], "{text}");
        }
    }

    #[test]
    fn a_rent_is_recognised_by_its_period() {
        for text in [
            "850 € / mois",
            "850€/mois CC",
            "850 € par mois",
            "850 € CC",
            "Loyer : 850 €",
            "850 € charges comprises",
            "Loyer mensuel 850 euros",
        ] {
            assert_eq!(found(text), [Amount::Rent(850.0)], "{text}");
        }
    }

    #[test]
    fn other_amounts_are_not_the_price() {
        for text in [
            "5 800 €/m²",
            "5 800 € le m2",
            "honoraires : 12 000 €",
            "soit 1 234 € / mois",
            "entre 1 050 € et 1 480 € par an",
            "Frais de notaire 24 000 €",
            "charges 1 500 € par an",
            "une baisse de 10 000 €",
            "Mensualité : 1 200 €",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
        assert_eq!(
            found("Dépôt de garantie : 1 700 €"),
            [Amount::Deposit(1_700.0)]
        );
        assert_eq!(
            found("Taxe foncière 1 120 €"),
            [Amount::PropertyTax(1_120.0)]
        );
        assert_eq!(
            found("Charges de copropriété : 100 € / mois"),
            [Amount::CondominiumFees(1_200.0)]
        );
        assert!(
            is_on_request(&tokens("Prix sur demande"))
                && is_on_request(&tokens("Prix : nous consulter"))
        );
        assert!(!is_on_request(&tokens("prix nets, contactez-nous")));
    }
}
