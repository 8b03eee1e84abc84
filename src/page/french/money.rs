//! Reads amounts in French text: the price, rent, deposit, tax and charges. The words around an amount show which one
//! it is.
//!
//! The words around an amount on its line determine its meaning: `charges : 120 €/mois` is not the price, nor is `4 500
//! €/m²` or `soit 1 200 € par mois de crédit`.

use super::counts::is_any;
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
/// Maximum number of tokens of a line that labels the amount on the next line.
const LABEL_TOKENS_MAX: usize = 12;

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
    /// Charges, and how often they are paid: those of a tenant, or of an owner if a sale does not specify them further.
    Charges(f64, PaymentPeriod),
}

/// How often an amount is paid, from the words around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PaymentPeriod {
    /// Once, or not stated.
    Once,
    /// Every month.
    Month,
    /// Every year.
    Year,
    /// Once for every square metre.
    SquareMetre,
}

/// Words that make an amount irrelevant for the advert.
const OTHER: [&str; 27] = [
    "honoraires", "frais", "charges", "charge", "provision", "energie", "energetique", "depenses",
    "mensualite", "mensualites", "credit", "emprunt", "apport", "simulation", "baisse", "baisser",
    "economisez", "lieu", "entre", "estimation", "travaux", "chauffage", "notaire", "capital",
    "commission", "hors", "budget",
];

/// Words between a number and the end of its amount, in addition to the sign of the euro.
const AMOUNT_UNITS: [&str; 14] = [
    "eur", "euro", "euros", "k", "K", "M", "keur", "million", "millions", "fai", "hai", "ht", "hc",
    "cc",
];
/// Periods of payment other than a month.
const OTHER_PERIODS: [&str; 12] = [
    "an", "ans", "annee", "semaine", "semaines", "sem", "jour", "jours", "nuit", "nuits", "nuitee",
    "trimestre",
];
/// Words for amounts that are paid in such a period.
const PERIODICAL: [&str; 5] = ["annuel", "annuels", "annuelle", "annuelles", "hebdomadaire"];

/// Returns all amounts in a text that have one of these meanings, in order.
pub fn amounts(tokens: &[Token]) -> impl Iterator<Item = Amount> + '_ {
    (0..tokens.len()).filter_map(|place| amount(tokens, place))
}

/// Returns whether the price is available on request only.
pub fn is_on_request(tokens: &[Token]) -> bool {
    tokens.windows(3).any(|three| {
        three[0].is("prix") && three[1].is("sur") && three[2].is("demande")
            || three[0].is("prix") && three[1..].iter().any(|token| token.is("nous"))
            || three[0].is("nous") && three[1].is("consulter")
    })
}

/// Returns whether a text has two amounts as the ends of a range: `245 000 à 260 000 €`, `1,1 M€ à 1,7 M€`.
pub fn has_range(tokens: &[Token]) -> bool {
    let is_unit = |token: &&Token| matches!(token, Token::Sign('€')) || token.is_any(&AMOUNT_UNITS);
    let units = |rest: &[Token]| rest.iter().take_while(is_unit).count();
    let is_between = tokens.iter().any(|token| token.is("entre"));
    (0..tokens.len()).any(|place| {
        let rest = &tokens[place + 1..];
        let first = units(rest);
        let [sign, second, after @ ..] = &rest[first..] else {
            return false;
        };
        if tokens[place].number().is_none() || second.number().is_none() {
            return false;
        }
        let is_to = sign.is_any(&["a", "A"]) || is_between && sign.is("et");
        let is_dash = matches!(sign, Token::Sign('-' | '–' | '—'));
        let last = units(after);
        // In `245 000 € - 65 m²` the dash separates two values.
        let is_end = last > 0 && (is_to || last == after.len());
        (is_to || is_dash) && (first == 0 || is_end)
    })
}

/// Returns whether the first amount in a text is paid every year, week or day, and no word after it says monthly.
pub fn has_other_period(tokens: &[Token]) -> bool {
    let Some(place) = tokens.iter().position(|token| token.number().is_some()) else {
        return false;
    };
    let (before, rest) = (&tokens[..place], &tokens[place + 1..]);
    let next = rest.iter().position(|token| token.number().is_some());
    let after = &rest[..next.unwrap_or(rest.len())];
    let is_every = |pair: &[Token]| {
        let is_of = matches!(pair[0], Token::Sign('/')) || pair[0].is_any(&["par", "la"]);
        is_of && pair[1].is_any(&OTHER_PERIODS)
    };
    // Words after it are about this amount only if there is no other: `245 000 €, rendement annuel 5 %`.
    let adjectives = [before, if next.is_none() { after } else { &[] }];
    let is_adjective = |token: &Token| token.is_any(&PERIODICAL);
    let is_monthly = after
        .iter()
        .any(|token| token.is_any(&["mois", "mensuel", "mensuels"]));
    !is_monthly
        && (after.windows(2).any(is_every) || adjectives.into_iter().flatten().any(is_adjective))
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
        .rposition(|token| *token == Token::Break)
        .map_or(0, |end| end + 1);
    let start = line_start.max(place.saturating_sub(CONTEXT_BEFORE));
    // Words before another amount belong to that one.
    let other = tokens[line_start..place]
        .iter()
        .rposition(|token| *token == Token::Sign('€'))
        .map_or(line_start, |offset| line_start + offset + 1);
    let context = match other {
        // The label may have its own line.
        _ if place == line_start => label_line(tokens, line_start),
        // A line about charges often has an explanation in brackets, so all of it is context.
        _ if other == line_start && is_charges(&tokens[line_start]) => &tokens[line_start..place],
        _ => &tokens[start.max(other)..place],
    };
    let says = |words: &[&str]| context.iter().any(|token| token.is_any(words));
    if every == PaymentPeriod::SquareMetre {
        return None;
    }
    if says(&["garantie", "depot", "caution"]) {
        return Some(Amount::Deposit(value));
    }
    if says(&["taxe", "fonciere"]) {
        return Some(Amount::PropertyTax(value));
    }
    let every = match every {
        PaymentPeriod::Once if says(&["mensuelles", "mensuel", "mensuelle"]) => {
            PaymentPeriod::Month
        }
        PaymentPeriod::Once if says(&["annuelles"]) && !says(&["regularisation"]) => {
            PaymentPeriod::Year
        }
        other => other,
    };
    let is_rent_total = says(&["total", "loyer"]);
    if says(&["copropriete", "copro"]) && !is_rent_total {
        let yearly = match every {
            PaymentPeriod::Month => value * MONTHS,
            _ => value,
        };
        return Some(Amount::CondominiumFees(yearly));
    }
    let fees = ["honoraires", "frais", "energie", "depenses"];
    let is_fee = tokens[other..place].iter().any(|token| token.is_any(&fees));
    let names_charges = names_charges(context) && !says(&["hors"]);
    if charges_follow(&tokens[after..])
        || names_charges && !is_fee && !is_rent_total && !is_all_in(context)
    {
        return Some(Amount::Charges(value, every));
    }
    let is_included = says(&["fai"]) || is_all_in(context);
    if !is_included && !says(&["loyer"]) && says(&OTHER) {
        return None;
    }
    let is_rent = every == PaymentPeriod::Month || says(&["loyer"]);
    match (is_rent, every) {
        (true, _) if value >= RENT_MIN && !says(&["soit"]) => Some(Amount::Rent(value)),
        (false, PaymentPeriod::Once) if value >= SALE_MIN => Some(Amount::Price(value)),
        _ => None,
    }
}

/// Returns whether words name charges. In `à la charge du locataire` nothing is a charge.
fn names_charges(words: &[Token]) -> bool {
    (0..words.len()).any(|place| {
        let is_burden = words[place].is("charge") && place > 0 && words[place - 1].is("la");
        is_charges(&words[place]) && !is_burden
    })
}

/// Returns the rents in a text that it says to include charges: `395 € par mois charges comprises`, `Loyer CC : 395 €`.
pub fn rents_with_charges(tokens: &[Token]) -> impl Iterator<Item = f64> + '_ {
    (0..tokens.len()).filter_map(|place| match amount(tokens, place)? {
        Amount::Rent(value) if includes_charges(tokens, place) => Some(value),
        _ => None,
    })
}

/// Returns whether the words around an amount, up to the next one, say that it includes charges.
fn includes_charges(tokens: &[Token], place: usize) -> bool {
    let is_end = |token: &&Token| **token != Token::Break && token.number().is_none();
    let before: Vec<&Token> = tokens[..place].iter().rev().take_while(is_end).collect();
    let rest = &tokens[place + 1..];
    let line = rest.iter().position(|token| *token == Token::Break);
    let next = line.map(|line| &rest[line + 1..]);
    let period = next.filter(|line| is_period_line(line)).unwrap_or_default();
    let after = rest.iter().take_while(is_end);
    let after = after.chain(period.iter().take_while(is_end));
    let words = after.take(CONTEXT_BEFORE).chain(before);
    let (mut names, mut includes) = (false, false);
    for word in words {
        if word.is_any(&["non", "hors", "sans", "hc"]) {
            return false;
        }
        if word.is("cc") {
            return true;
        }
        names |= word.is("charges");
        includes |= word.is_any(&["comprises", "incluses"]);
    }
    names && includes
}

/// Returns whether a word names charges.
fn is_charges(token: &Token) -> bool {
    token.is_any(&["charges", "charge", "provision", "provisions"])
}

/// Returns whether the words before an amount say that it includes something, such as `charges comprises`.
fn is_all_in(context: &[Token]) -> bool {
    let words = ["inclus", "compris", "comprises", "incluses", "cc"];
    context.iter().any(|token| token.is_any(&words))
}

/// Returns whether the words after an amount show that it is for charges: `50 € de charges`, but not `50 € charges
/// comprises` or `850 € charges 50 €`.
fn charges_follow(after: &[Token]) -> bool {
    let joins = |token: &&Token| {
        matches!(token, Token::Sign('/')) || token.is_any(&["de", "pour", "par", "mois"])
    };
    let joined = after.iter().take_while(joins).count();
    let Some(next) = after.get(joined).filter(|next| is_charges(next)) else {
        return false;
    };
    let rest = &after[joined + 1..];
    let near = rest.iter().take_while(|token| **token != Token::Break);
    let is_other = |token: &Token| token.number().is_some() || matches!(token, Token::Sign(':'));
    let is_joined = after[..joined]
        .iter()
        .any(|token| token.is_any(&["de", "pour"]));
    let ends = matches!(
        rest.first(),
        None | Some(Token::Break | Token::Sign(',' | '.' | ')' | ';'))
    );
    let is_provision = next.is_any(&["provision", "provisions"]);
    (is_joined || joined == 0 && (ends || is_provision))
        && !is_all_in(&rest[..rest.len().min(2)])
        && !near.take(5).any(is_other)
}

/// Returns the line before an amount, if it is the label of charges, of a deposit or of a tax.
fn label_line(tokens: &[Token], line_start: usize) -> &[Token] {
    let Some(end) = line_start.checked_sub(1) else {
        return &[];
    };
    let start = tokens[..end]
        .iter()
        .rposition(|token| *token == Token::Break)
        .map_or(0, |before| before + 1);
    let line = &tokens[start..end];
    let is_label = line
        .first()
        .is_some_and(|first| is_charges(first) || first.is_any(&["depot", "caution", "taxe"]));
    let is_short = line.len() <= LABEL_TOKENS_MAX && !line.contains(&Token::Sign('€'));
    if is_label && is_short && !is_all_in(line) {
        line
    } else {
        &[]
    }
}

/// Returns the factor of a number that is an amount (such as 1,000 for `k€`), and the position after its unit.
fn unit(tokens: &[Token], place: usize) -> Option<(f64, usize)> {
    let next = tokens.get(place + 1);
    let second = tokens.get(place + 2);
    let is_euro = |token: Option<&Token>| {
        token == Some(&Token::Sign('€')) || is_any(token, &["eur", "euro", "euros"])
    };
    if is_euro(next) {
        return Some((1.0, place + 2));
    }
    match next {
        Some(token) if token.is_any(&["k", "K"]) && is_euro(second) => {
            return Some((1e3, place + 3));
        }
        Some(token) if token.is("keur") => return Some((1e3, place + 2)),
        Some(token) if token.is("M") && is_euro(second) => return Some((1e6, place + 3)),
        Some(token) if token.is_any(&["million", "millions"]) => {
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
    let is_labelled = is_any(label, &["prix", "loyer", "mensuelles"]);
    let ends = matches!(next, None | Some(Token::Break));
    (is_labelled && ends).then_some((1.0, place + 1))
}

fn every(after: &[Token]) -> PaymentPeriod {
    // The period may have its own line: `1 250 €`, then `par mois`.
    let after = match after {
        [Token::Break, rest @ ..] if is_period_line(rest) => rest,
        other => other,
    };
    let mut words = after
        .iter()
        .take_while(|token| **token != Token::Break)
        .take(6)
        .filter(|token| !matches!(token, Token::Sign('/' | '.' | '(' | '-' | '*')))
        .filter(|token| !token.is_any(&["par", "le", "du", "la", "ttc", "net", "hors"]));
    match words.next().and_then(Token::word).unwrap_or_default() {
        "m2" | "metre" | "metres" => PaymentPeriod::SquareMetre,
        "mois" | "mensuel" | "mensuels" | "cc" | "hc" | "mens" => PaymentPeriod::Month,
        "charges" if is_any(words.next(), &["comprises", "incluses"]) => PaymentPeriod::Month,
        "an" | "ans" | "annuel" | "annuels" | "annuelle" | "annuelles" | "annee" => {
            PaymentPeriod::Year
        }
        _ => PaymentPeriod::Once,
    }
}

/// Returns whether a line starts with the period of the amount on the line before it.
fn is_period_line(line: &[Token]) -> bool {
    match line {
        [Token::Sign('/'), Token::Word(word), ..] | [Token::Word(word), ..]
            if matches!(word.as_str(), "mois" | "cc" | "hc") =>
        {
            true
        }
        [first, second, ..] => first.is("par") && second.is("mois"),
        _ => false,
    }
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
            "À vendre, 350 000 €. Honoraires 100 €",
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
            "850 €\npar mois charges comprises",
            "Prix hors charges\n850,00 € /mois",
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
            "une baisse de 10 000 €",
            "Mensualité : 1 200 €",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
        let fees = Amount::CondominiumFees;
        for (text, amount) in [
            ("Dépôt de garantie : 1 700 €", Amount::Deposit(1_700.0)),
            ("Taxe foncière 1 120 €", Amount::PropertyTax(1_120.0)),
            ("Charges de copropriété : 100 € / mois", fees(1_200.0)),
            ("Charges de copropriété (mensuelles) 80 €", fees(960.0)),
        ] {
            assert_eq!(found(text), [amount], "{text}");
        }
        for (text, expected) in [
            ("Prix sur demande", true),
            ("Prix : nous consulter", true),
            ("prix nets, contactez-nous", false),
        ] {
            assert_eq!(is_on_request(&tokens(text)), expected, "{text}");
        }
    }

    #[test]
    fn charges_are_distinguished_from_rents_and_fees() {
        let rent = Amount::Rent;
        let once = |value| Amount::Charges(value, PaymentPeriod::Once);
        let month = |value| Amount::Charges(value, PaymentPeriod::Month);
        let year = |value| Amount::Charges(value, PaymentPeriod::Year);
        let scheduled =
            "Charges locatives (prévisionnelles mensuelles avec régularisation annuelle) 205 €";
        let settled = "Provision pour charges : 100 €, soumise à régularisation annuelle";
        let rent_and_total = "Loyer hors charges 3 185,00 € par mois, provision charges 215,00 € par mois, \
            loyer charges comprises 3 400,00 € par mois";
        let fees = "Honoraires de 451,33 € TTC à la charge du locataire comprenant 123,09 € TTC pour l’état des lieux";
        for (text, amounts) in [
            ("charges 1 500 € par an", vec![year(1_500.0)]),
            ("charges : 15 €/mois", vec![month(15.0)]),
            ("Charges\n110,00 €", vec![once(110.0)]),
            ("Charges mensuelles 500 €", vec![month(500.0)]),
            ("Charges mensuelles 170", vec![month(170.0)]),
            (settled, vec![once(100.0)]),
            (scheduled, vec![month(205.0)]),
            ("dont 180 € de provisions sur charges", vec![once(180.0)]),
            ("Charges annuelles de 1 080 €", vec![year(1_080.0)]),
            (
                "charges 15 €/mois, total 395 €/mois",
                vec![month(15.0), rent(395.0)],
            ),
            (
                rent_and_total,
                vec![rent(3_185.0), month(215.0), rent(3_400.0)],
            ),
            ("Honoraires charges locataire : 533,90 € TTC", vec![]),
            (fees, vec![]),
            ("Honoraires TTC à la charge du locataire : 572 €", vec![]),
        ] {
            assert_eq!(found(text), amounts, "{text}");
        }
    }

    #[test]
    fn rents_with_charges_say_so() {
        for (text, expected) in [
            (
                "Loyer : 370 euros + 25 euros de provisions pour charges\nLoyer : 395 € par mois charges comprises dont 25€ \
                 par mois de provision de charge",
                vec![395.0],
            ),
            ("880\u{a0}€ / Mois (Charges comprises)", vec![880.0]),
            ("474 €\npar mois charges comprises", vec![474.0]),
            ("482 € / mois CC", vec![482.0]),
            ("Loyer CC / mois : 1 980 €", vec![1_980.0]),
            ("820 € / mois hors charges", vec![]),
            ("560 € par mois charges non comprises", vec![]),
            ("Loyer : 820 €, charges 60 €", vec![]),
        ] {
            let rents: Vec<f64> = rents_with_charges(&tokens(text)).collect();
            assert_eq!(rents, expected, "{text}");
        }
    }
}
