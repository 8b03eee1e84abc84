//! Composes the names of the streets and hamlets of a commune.
//!
//! Common names come from [`words`], where the first words of a list are drawn most often; rare names are composed. No
//! name occurs twice in a commune, or in one part of a merged commune. The parts may share names, as they do in
//! reality.

use std::collections::HashSet;

use super::regions::Region;
use super::types::{NAME_KINDS, NameKind, StreetType, TYPES};
use super::words;
use crate::random::Stream;

/// How strongly the first words of a list are preferred.
const SKEW: f64 = 1.5;
/// Attempts to find a name that the commune does not have yet; after half of them names are composed.
const ATTEMPTS: usize = 24;
/// Share of streets that take the name of a street nearby with another type.
const SHARED_SHARE: f64 = 0.1;

/// The inputs for the names of a commune.
#[derive(Debug)]
pub struct NameInputs<'p> {
    /// 0 for a village, 1 for a town, 2 for a city.
    pub size: usize,
    /// Roots of the names of hamlets.
    pub region: &'static Region,
    /// Names of the neighbouring communes.
    pub neighbours: Vec<&'p str>,
}

/// The name of a street: its type, and what follows.
#[derive(Clone, Debug)]
pub struct StreetName {
    /// The type.
    pub street_type: &'static StreetType,
    /// The words after the type.
    pub rest: String,
}

impl StreetName {
    /// The whole name.
    pub fn text(&self) -> String {
        match self.street_type.name {
            "" => self.rest.clone(),
            name => format!("{name} {}", self.rest),
        }
    }
}

/// A generator of the names of one commune, or of one part of a merged commune.
#[derive(Debug)]
pub struct Names<'s, 'p> {
    setting: &'s NameInputs<'p>,
    taken: HashSet<String>,
    latest: Vec<String>,
}

impl<'s, 'p> Names<'s, 'p> {
    /// Creates a generator for which no name is taken yet.
    pub fn new(setting: &'s NameInputs<'p>) -> Self {
        Self {
            setting,
            taken: HashSet::new(),
            latest: Vec::new(),
        }
    }

    /// Draws the name of another street; `None` if every attempt gives a name that is taken.
    pub fn street(&mut self, stream: &mut Stream) -> Option<StreetName> {
        let weights = TYPES.each_ref().map(|one| one.shares[self.setting.size]);
        for attempt in 0..ATTEMPTS {
            let street_type = &TYPES[stream.weighted(&weights)];
            let shares = !street_type.is_estate && stream.chance(SHARED_SHARE);
            let rest = match self.latest.get(stream.below(self.latest.len())) {
                Some(rest) if shares => rest.clone(),
                _ => self.rest(street_type, attempt * 2 > ATTEMPTS, stream),
            };
            let name = StreetName { street_type, rest };
            if self.taken.insert(name.text()) {
                if !street_type.is_estate {
                    self.latest.push(name.rest.clone());
                }
                return Some(name);
            }
        }
        None
    }

    /// Draws the name of a hamlet; `None` if every attempt gives a name that is taken.
    pub fn hamlet(&mut self, stream: &mut Stream) -> Option<String> {
        for _ in 0..ATTEMPTS {
            let name = hamlet(self.setting.region, stream);
            if self.taken.insert(name.clone()) {
                return Some(name);
            }
        }
        None
    }

    fn rest(&self, street_type: &StreetType, rare: bool, stream: &mut Stream) -> String {
        let region = self.setting.region;
        if street_type.name.is_empty() {
            return hamlet(region, stream);
        }
        if street_type.name == "Route" && stream.chance(0.02) {
            let number = stream.between(1, 940);
            return if stream.chance(0.8) {
                format!("Départementale {number}")
            } else {
                format!("Nationale {}", 1 + number % 200)
            };
        }
        let kind = if rare {
            stream.pick(&[NameKind::Local, NameKind::Hamlet, NameKind::Compound])
        } else {
            NAME_KINDS[stream.weighted(street_type.names)]
        };
        let rest = self.named_after(kind, stream);
        if street_type.is_estate {
            without_preposition(&rest)
        } else {
            rest
        }
    }

    fn named_after(&self, kind: NameKind, stream: &mut Stream) -> String {
        match kind {
            NameKind::Famous => skewed(&words::FAMOUS, stream).to_owned(),
            NameKind::Thing => skewed(&words::THINGS, stream).to_owned(),
            NameKind::Nature => skewed(&words::NATURE, stream).to_owned(),
            NameKind::Date => skewed(&words::DATES, stream).to_owned(),
            NameKind::Trade => skewed(&words::TRADES, stream).to_owned(),
            NameKind::Adjective => skewed(&words::ADJECTIVES, stream).to_owned(),
            NameKind::Saint => saint(stream),
            NameKind::Local => person(stream),
            NameKind::Counted => {
                let count = any(&words::COUNTS, stream);
                format!("des {count} {}", any(&words::COUNTED, stream))
            }
            NameKind::Town => self.town(stream),
            NameKind::Hamlet => match stream.below(4) {
                0 => of(&hamlet(self.setting.region, stream)),
                _ => of(&self.setting.region.place(stream)),
            },
            NameKind::Compound => compound(self.setting.region, stream),
        }
    }

    fn town(&self, stream: &mut Stream) -> String {
        let neighbours = &self.setting.neighbours;
        let near = stream.chance(match self.setting.size {
            0 => 0.93,
            1 => 0.7,
            _ => 0.4,
        });
        match neighbours.get(stream.below(neighbours.len())) {
            Some(town) if near => of(town),
            _ => of(skewed(&words::CITIES, stream)),
        }
    }
}

/// Draws one of a list, and prefers its first words.
fn skewed(list: &[&'static str], stream: &mut Stream) -> &'static str {
    let at = (stream.unit().powf(SKEW) * list.len() as f64) as usize;
    list[at.min(list.len() - 1)]
}

/// Draws one of a list, each with equal probability.
fn any(list: &[&'static str], stream: &mut Stream) -> &'static str {
    list[stream.below(list.len())]
}

fn saint(stream: &mut Stream) -> String {
    let saint = skewed(&words::SAINTS, stream);
    match stream.below(8) {
        0 => format!("de l'Église {saint}"),
        1 => format!("de la Chapelle {saint}"),
        2 => format!("du Faubourg {saint}"),
        _ => saint.to_owned(),
    }
}

fn person(stream: &mut Stream) -> String {
    let surname = if stream.chance(0.3) {
        any(&words::SURNAMES, stream).to_owned()
    } else {
        let root = any(&words::SURNAME_ROOTS, stream);
        format!("{root}{}", any(&words::SURNAME_ENDINGS, stream))
    };
    match stream.below(10) {
        0 => format!("{} {surname}", any(&words::TITLES, stream)),
        1 => surname,
        _ => format!("{} {surname}", any(&words::FIRST_NAMES, stream)),
    }
}

/// Composes a noun with an adjective, a surname or the name of a hamlet.
fn compound(region: &Region, stream: &mut Stream) -> String {
    let masculine = stream.chance(0.5);
    let (article, noun) = if masculine {
        ("du", any(&words::MASCULINE, stream))
    } else {
        ("de la", any(&words::FEMININE, stream))
    };
    let form = |pair: (&'static str, &'static str)| if masculine { pair.0 } else { pair.1 };
    match stream.below(5) {
        0 => format!("{article} {} {noun}", form(stream.pick(&words::BEFORE))),
        1 => format!("{article} {noun} {}", form(stream.pick(&words::AFTER))),
        2 => format!("{article} {noun} {}", of(any(&words::SURNAMES, stream))),
        _ => format!("{article} {noun} {}", of(&region.place(stream))),
    }
}

/// Draws the name of a hamlet as it stands alone, not in the name of a street.
fn hamlet(region: &Region, stream: &mut Stream) -> String {
    let masculine = stream.chance(0.5);
    let form = |pair: (&'static str, &'static str)| if masculine { pair.0 } else { pair.1 };
    let (article, noun) = if masculine {
        ("Le", any(&words::MASCULINE, stream))
    } else {
        ("La", any(&words::FEMININE, stream))
    };
    match stream.below(12) {
        0 => format!("{article} {noun}"),
        1 => format!("{article} {} {noun}", form(stream.pick(&words::BEFORE))),
        2 => format!("{article} {noun} {}", form(stream.pick(&words::AFTER))),
        3 => format!("{noun} {}", of(&region.place(stream))),
        4 => format!("{article} {noun} {}", of(&region.place(stream))),
        5 => {
            let place = region.place(stream);
            let is_plural = place.ends_with(['s', 'x', 'z']);
            format!("Les {place}{}", if is_plural { "" } else { "s" })
        }
        6 | 7 => {
            let place = region.place(stream);
            if starts_with_vowel(&place) {
                format!("L'{place}")
            } else {
                format!("{article} {place}")
            }
        }
        _ => region.place(stream),
    }
}

/// Puts "de" before a name, contracted with its article.
pub fn of(name: &str) -> String {
    if let Some(rest) = name.strip_prefix("Le ") {
        format!("du {rest}")
    } else if let Some(rest) = name.strip_prefix("Les ") {
        format!("des {rest}")
    } else if let Some(rest) = name.strip_prefix("La ") {
        format!("de la {rest}")
    } else if let Some(rest) = name.strip_prefix("L'") {
        format!("de l'{rest}")
    } else if starts_with_vowel(name) {
        format!("d'{name}")
    } else {
        format!("de {name}")
    }
}

/// Returns a name without the preposition that links it to the type of a street: "des Lilas" becomes "Les Lilas".
fn without_preposition(name: &str) -> String {
    for (long, short) in [
        ("du ", "Le "),
        ("des ", "Les "),
        ("de la ", "La "),
        ("de l'", "L'"),
        ("de ", ""),
        ("d'", ""),
    ] {
        if let Some(rest) = name.strip_prefix(long) {
            return format!("{short}{rest}");
        }
    }
    name.to_owned()
}

fn starts_with_vowel(name: &str) -> bool {
    name.chars()
        .next()
        .is_some_and(|first| "AEIOUYÂÉÈÊÎÔŒH".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_contract_and_come_back() {
        for (name, contracted) in [
            ("Le Puy", "du Puy"),
            ("La Rochelle", "de la Rochelle"),
            ("Les Andelys", "des Andelys"),
            ("L'Isle", "de l'Isle"),
            ("Aumont", "d'Aumont"),
            ("Mende", "de Mende"),
        ] {
            assert_eq!(of(name), contracted);
            assert_eq!(without_preposition(contracted), name);
        }
    }

    #[test]
    fn a_large_commune_finds_as_many_names_as_it_has_streets() {
        let setting = NameInputs {
            size: 2,
            region: Region::of("75"),
            neighbours: vec!["Montreuil"],
        };
        let mut names = Names::new(&setting);
        let mut stream = Stream::new(1, 2, 3);
        let found = (0..4_000).filter(|_| names.street(&mut stream).is_some());
        assert!(found.count() > 3_990);
    }
}
