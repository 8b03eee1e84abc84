//! Reads a query: finds the words that may name the place, the postal code, and the words that are irrelevant to the
//! address.
//!
//! A query has several readings (`rue de Mende` may be a street of any town, or end with the town of Mende). Each
//! reading records the tokens that name the place and the strength of that evidence. The search then decides between
//! readings by how well the streets of those communes fit.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use super::describing_word::DescribingWord;
use super::irrelevant;
use super::town_in_street::leading_name;
use crate::places::{self, NAME_WORDS_MAX, NamedPlace, OtherNames};
use crate::text::fold::{self, Token};
use crate::text::{lexicon, numerals};
use toise_geo::departments::{self, for_postal_code as department_of_postal_code};
use toise_geo::places::Places;
use toise_geo::regions::REGIONS;

/// Maximum number of tokens of a query that are read.
pub const TOKENS_MAX: usize = 63;
/// Maximum number of communes of one reading.
const COMMUNES_MAX: usize = 64;
/// Maximum number of readings that are followed.
const READINGS_MAX: usize = 10;
/// Evidence of a postal code alone.
const POSTAL_CODE_ALONE: f32 = 0.8;
/// Evidence that an agreeing postal code adds to a name.
pub(super) const AGREEING: f32 = 0.12;
/// Factor for a postal code of another commune of the same department.
pub(super) const SAME_DEPARTMENT: f32 = 0.86;
/// Minimum quality of a name that is not misspelled.
pub(super) const SPELLED: f32 = 0.97;
/// Factor for a postal code of another department.
const CONFLICTING: f32 = 0.5;
/// Factor for a name in the middle of a query.
const IN_THE_MIDDLE: f32 = 0.6;
/// Factor for a name followed only by a part of the town, as in `Mende centre`.
const BEFORE_ITS_PART: f32 = 0.97;
/// Factor for a name at the beginning, or at the end of the name of a building before the address.
const AT_THE_START: f32 = 0.95;
/// Factor for a name behind a preposition: `rue du Moulin de Chanac`.
const BEHIND_PREPOSITION: f32 = 0.95;
/// Factor for a name that is also a street type, with more words after it: `Rue de la Gare` is rarely in the commune of
/// Rue.
const OPENS_A_STREET: f32 = 0.5;
/// Factor for a town whose name is one edit away, if the same words are the exact name of another town: `Murs` may be
/// Maurs.
pub(super) const OTHER_TOWN: f32 = 0.45;
/// Minimum evidence of a reading that is followed.
const EVIDENCE_MIN: f32 = 0.3;
/// If a reading has more evidence than this, because name and postal code agree, misspelled names are not searched.
const CERTAIN: f32 = 1.0;
/// Maximum digits of the number of a road.
const ROAD_DIGITS_MAX: usize = 4;
/// Minimum length of a name prefix while it is being typed, in bytes.
const BEGINNING_MIN: usize = 3;

toise_base::named! {
    /// Agreement of a postal code with a place.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Agreement {
        /// The query has no postal code.
        Absent = "absent",
        /// It is one of the place's postal codes.
        Agrees = "agrees",
        /// It belongs to no commune, like a CEDEX code, but to the place's department.
        Department = "department",
        /// It belongs to another place.
        Conflicts = "conflicts",
    }
}

/// One reading of where an address is.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Places it may be in, as indexes into the table of places.
    pub places: Vec<u32>,
    /// Tokens that name the place, as bits.
    pub used: u64,
    /// Strength of the evidence, 0 to 1.12.
    pub evidence: f32,
    /// How well the name fits, 0 to 1; 0 where only a postal code was given.
    pub name_quality: f32,
    /// How the postal code agrees.
    pub postal_code: Agreement,
    /// Whether the name is only a prefix, because it is still being typed.
    pub is_prefix: bool,
}

/// Function that returns the communes with addresses of a postal code, as indexes into the table of places.
pub type PostalCodeLookup<'a> = dyn Fn(&str) -> &'a [u32] + 'a;

/// Input for reading a query in addition to its text.
#[derive(Default)]
pub struct QueryContext<'a> {
    /// Communes with addresses of a postal code, in addition to those it officially belongs to.
    pub with_postal_code: Option<&'a PostalCodeLookup<'a>>,
    /// Names that addresses use for communes, in addition to the official ones.
    pub other_names: Option<&'a OtherNames>,
    /// Postal code.
    pub postal_code: Option<String>,
    /// Places that addresses must be in; `None` for all.
    pub places: Option<Vec<u32>>,
    /// Whether the end of the text is still being typed.
    pub is_open: bool,
}

/// A query, split and read.
#[derive(Debug)]
pub struct Query {
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Its tokens as words that describe a street, before a reading changes their weights.
    pub(super) words: Vec<DescribingWord>,
    /// Tokens irrelevant to the street: postal codes, CEDEX, floors, boxes; as bits.
    pub noise: u64,
    /// Number of tokens that name a building or a company before the address.
    pub(super) leading: usize,
    /// Tokens after the address that may still belong to it: `France`, as in `rue de France`, the region and the
    /// department; as bits.
    pub trailing: u64,
    /// The postal code that the request requires, otherwise the one in the text.
    pub postal_code: Option<String>,
    /// Token of the postal code.
    pub postal_code_at: Option<usize>,
    /// Number after CEDEX, which in large towns is the number of an arrondissement.
    cedex_number: Option<u32>,
    /// Place that an INSEE code in the text names, and the code's tokens, as bits.
    pub insee_code: Option<(u32, u64)>,
    /// Readings, the strongest evidence first.
    pub readings: Vec<Reading>,
}

/// Runs of tokens that may be a name.
#[derive(Default)]
struct Spans {
    /// Text that the keys are cut from.
    keys: String,
    all: Vec<Span>,
}

struct Span {
    tokens: Range<usize>,
    /// Range of its key in the text of keys.
    key: Range<usize>,
    /// Places with this name.
    exact: &'static [NamedPlace],
}

/// Returns the bit of a token.
pub fn bit(at: usize) -> u64 {
    1 << at.min(TOKENS_MAX)
}

pub(super) fn bits(range: Range<usize>) -> u64 {
    range.fold(0, |bits, at| bits | bit(at))
}

impl Query {
    /// Splits a text and finds its readings.
    pub fn read(text: &str, narrowing: &QueryContext<'_>) -> Self {
        let mut tokens = fold::tokens(text);
        lexicon::join_letters(text, &mut tokens);
        numerals::join(&mut tokens);
        tokens.truncate(TOKENS_MAX);
        let codes = (0..tokens.len()).rev();
        let postal_code_at = codes
            .filter(|at| is_postal_code(&tokens[*at]))
            .find(|at| !irrelevant::is_box_number(&tokens, *at) && !is_before_street(&tokens, *at));
        let typed = if narrowing.is_open {
            tokens.len().checked_sub(1)
        } else {
            None
        };
        let in_text = postal_code_at.map(|at| tokens[at].text.clone());
        let noise = irrelevant::tokens(text, &tokens, [postal_code_at, typed]);
        expand_roads(text, &mut tokens, noise);
        let mut query = Self {
            trailing: 0,
            noise: noise | postal_code_at.map_or(0, bit),
            leading: leading_name(&tokens),
            cedex_number: irrelevant::cedex_number(&tokens),
            tokens,
            words: Vec::new(),
            postal_code: narrowing.postal_code.clone().or(in_text),
            postal_code_at,
            insee_code: None,
            readings: Vec::new(),
        };
        query.insee_code = query.find_insee_code(narrowing);
        query.noise |= query.insee_code.map_or(0, |(_, used)| used);
        query.trailing = trailing(&query.tokens, query.noise, typed);
        let words = (0..query.tokens.len()).map(|at| DescribingWord::new(&query, at));
        query.words = words.collect();
        query.find_readings(narrowing);
        query
    }

    /// Returns whether a token describes the street in a reading.
    pub fn describes_street(&self, reading: &Reading, at: usize) -> bool {
        (self.noise | reading.used) & bit(at) == 0
    }

    /// Returns whether a number is next to a month: the day or the year in a street's name.
    pub fn is_of_date(&self, at: usize) -> bool {
        let is_month = |at: usize| {
            let token = self.tokens.get(at);
            token.is_some_and(|token| lexicon::is_month(&token.text))
        };
        let is_year = self.tokens[at].text.len() == 4;
        is_month(at + 1) || (is_year && at.checked_sub(1).is_some_and(is_month))
    }

    /// Returns whether every town that the query may name is misspelled, so that its words may belong to a street
    /// instead.
    pub fn is_place_doubtful(&self) -> bool {
        let is_edited = |one: &Reading| one.name_quality < SPELLED && !one.is_prefix;
        self.postal_code.is_none()
            && !self.readings.is_empty()
            && self.readings.iter().all(is_edited)
    }

    /// Returns whether a reading's words are where a town is usually named: at the beginning, at the end, or next to
    /// the postal code.
    pub fn is_at_edge(&self, reading: &Reading) -> bool {
        let start = reading.used.trailing_zeros() as usize;
        let end = (u64::BITS - reading.used.leading_zeros()) as usize;
        reading.used != 0
            && (start == 0 || self.is_end(end) || self.is_beside_postal_code(&(start..end)))
    }

    fn find_readings(&mut self, narrowing: &QueryContext<'_>) {
        let mut readings = Vec::new();
        let spans = self.spans();
        for span in &spans.all {
            let key = &spans.keys[span.key.clone()];
            let is_last = span.tokens.end == self.tokens.len();
            if !span.exact.is_empty() {
                self.push_readings(&span.tokens, span.exact, narrowing, &mut readings);
            }
            let others = narrowing.other_names;
            let named = others.map_or(&[][..], |others| others.named(key));
            self.push_readings(&span.tokens, named, narrowing, &mut readings);
            let is_begun = narrowing.is_open && is_last && key.len() >= BEGINNING_MIN;
            if is_begun && !self.only_opens_street(&span.tokens) {
                let mut begun = places::beginning(key);
                begun.extend(others.iter().flat_map(|others| others.beginning(key)));
                self.push_readings(&span.tokens, &begun, narrowing, &mut readings);
            }
        }
        let is_certain = readings.iter().any(|one: &Reading| one.evidence > CERTAIN);
        if !is_certain {
            for span in &spans.all {
                let found = self.resembling(span, &spans.keys[span.key.clone()], narrowing);
                self.push_readings(&span.tokens, &found, narrowing, &mut readings);
            }
        }
        readings.extend(self.postal_code_reading(narrowing));
        readings.extend(self.insee_code.map(|(place, used)| Reading {
            places: vec![place],
            used,
            evidence: 1.0,
            name_quality: 1.0,
            postal_code: Agreement::Absent,
            is_prefix: false,
        }));
        if let Some(places) = &narrowing.places {
            readings.push(Reading {
                places: places.clone(),
                used: 0,
                evidence: 1.0,
                name_quality: 0.0,
                postal_code: Agreement::Absent,
                is_prefix: false,
            });
        }
        let of_both = self.former_before_commune(&readings);
        readings.extend(of_both);
        let in_streets = self.towns_in_streets(&readings);
        readings.extend(in_streets);
        readings.retain(|one| one.evidence >= EVIDENCE_MIN && !one.places.is_empty());
        readings.sort_by(|one, other| {
            let longer = other.used.count_ones().cmp(&one.used.count_ones());
            other.evidence.total_cmp(&one.evidence).then(longer)
        });
        readings.truncate(READINGS_MAX);
        self.readings = readings;
    }

    /// Returns the places whose name is one edit away from a run of words, or begins with them. If another town has
    /// exactly this name, these places must have the postal code or the department behind the name; without both, they
    /// are doubtful.
    fn resembling(&self, span: &Span, key: &str, narrowing: &QueryContext<'_>) -> Vec<NamedPlace> {
        let department = self.department_behind(&span.tokens);
        let is_end = self.is_end(span.tokens.end)
            || self.is_beside_postal_code(&span.tokens)
            || department.is_some();
        let is_other = !span.exact.is_empty();
        let is_possible = if is_other {
            is_end && !narrowing.is_open
        } else {
            is_end || span.tokens.start == 0
        };
        if !is_possible || self.only_opens_street(&span.tokens) {
            return Vec::new();
        }
        let is_town = is_end && self.postal_code.is_none() && !narrowing.is_open;
        let letters_min = if is_town && !is_other {
            places::SHORT_FUZZY_MIN
        } else {
            places::FUZZY_MIN
        };
        let mut found = places::nearly_named(key, letters_min);
        let others = narrowing.other_names.iter();
        found.extend(others.flat_map(|others| others.nearly_named(key, letters_min)));
        if is_end && !narrowing.is_open {
            found.extend(places::first_words(key));
        }
        if is_other {
            let is_exact = |place: u32| span.exact.iter().any(|exact| exact.place == place);
            let is_there = |place: u32| match (&self.postal_code, &department) {
                (Some(code), _) => has_postal_code(place, code),
                (None, Some((code, _))) => is_in_department(place, code),
                (None, None) => true,
            };
            found.retain(|one| !is_exact(one.place) && is_there(one.place));
            if self.postal_code.is_none() && department.is_none() {
                found.iter_mut().for_each(|one| one.quality *= OTHER_TOWN);
            }
        }
        found
    }

    /// Returns readings of the towns whose name differs by two edits from the last words; none if the query names a
    /// known town. Finding them takes a tenth of a millisecond.
    pub(super) fn twice_misspelled(&self, narrowing: &QueryContext<'_>) -> Vec<Reading> {
        let mut readings = Vec::new();
        let names_town = |one: &Reading| one.name_quality > 0.0 && self.is_at_edge(one);
        if self.postal_code.is_some() || narrowing.is_open || self.readings.iter().any(names_town) {
            return readings;
        }
        let spans = self.spans();
        let last = spans.all.iter();
        let last = last.filter(|span| span.exact.is_empty() && self.is_end(span.tokens.end));
        for span in last {
            let found = places::twice_misspelled(&spans.keys[span.key.clone()]);
            self.push_readings(&span.tokens, &found, narrowing, &mut readings);
        }
        readings
    }

    /// Returns the readings of a former commune before its commune: `Javols, Peyre en Aubrac`.
    fn former_before_commune(&self, readings: &[Reading]) -> Vec<Reading> {
        let mut found = Vec::new();
        for whole in readings.iter().filter(|one| one.used != 0) {
            let begin = whole.used.trailing_zeros() as usize;
            let is_before = |part: &&Reading| {
                let end = (u64::BITS - part.used.leading_zeros()) as usize;
                part.used != 0 && end <= begin && (end..begin).all(|at| self.noise & bit(at) != 0)
            };
            for part in readings.iter().filter(is_before) {
                let is_part = |place: &&u32| {
                    !whole.places.contains(*place) && is_within(**place, &whole.places)
                };
                let places: Vec<u32> = part.places.iter().filter(is_part).copied().collect();
                if places.is_empty() {
                    continue;
                }
                found.push(Reading {
                    places,
                    used: part.used | whole.used,
                    name_quality: part.name_quality.min(whole.name_quality),
                    ..whole.clone()
                });
            }
        }
        found
    }

    /// Returns the runs of tokens that may be a name, with their key and the places of that name.
    fn spans(&self) -> Spans {
        let mut spans = Spans::default();
        for start in 0..self.tokens.len() {
            let begin = spans.keys.len();
            // The runs from one token share their key's text, since each begins with the shorter ones.
            for at in start..(start + NAME_WORDS_MAX).min(self.tokens.len()) {
                if !self.may_be_name(start, at) {
                    break;
                }
                spans.keys.push_str(places::expand(&self.tokens[at].text));
                let key = begin..spans.keys.len();
                if key.len() > places::key_bytes_max() {
                    break;
                }
                spans.all.push(Span {
                    tokens: start..at + 1,
                    exact: places::named(&spans.keys[key.clone()]),
                    key,
                });
            }
        }
        spans
    }

    /// Returns whether a token may belong to a name that begins at `start`: only the names of divided cities contain
    /// numbers.
    fn may_be_name(&self, start: usize, at: usize) -> bool {
        let token = &self.tokens[at];
        let is_divided = matches!(
            self.tokens[start].text.as_str(),
            "paris" | "lyon" | "marseille"
        );
        Some(at) != self.postal_code_at
            && !lexicon::is_noise(&token.text)
            && (!token.is_number() || (at > start && is_divided))
    }

    fn is_end(&self, end: usize) -> bool {
        (end..self.tokens.len()).all(|at| (self.noise | self.trailing) & bit(at) != 0)
    }

    /// Returns whether nothing follows except a part of the town.
    fn is_end_but_for_part(&self, end: usize) -> bool {
        (end..self.tokens.len()).all(|at| {
            (self.noise | self.trailing) & bit(at) != 0
                || lexicon::is_part_of_town(&self.tokens[at].text)
        })
    }

    fn is_beside_postal_code(&self, span: &Range<usize>) -> bool {
        self.postal_code_at
            .is_some_and(|at| at + 1 == span.start || at == span.end)
    }

    /// Adds a reading for each way in which the postal code agrees with the places of a name.
    fn push_readings(
        &self,
        span: &Range<usize>,
        named: &[NamedPlace],
        narrowing: &QueryContext<'_>,
        readings: &mut Vec<Reading>,
    ) {
        if named.is_empty() {
            return;
        }
        let is_prefix = named.iter().all(|one| one.is_prefix);
        let Some(position) = self.position_factor(span) else {
            return;
        };
        let department = self.department_behind(span);
        let mut groups: Vec<Reading> = Vec::new();
        for one in named {
            let allowed = narrowing.places.as_ref();
            if allowed.is_some_and(|allowed| !is_within(one.place, allowed)) {
                continue;
            }
            let one = &NamedPlace {
                place: self.narrowed(one.place),
                ..*one
            };
            let (used, position) = match &department {
                Some((code, end)) if is_in_department(one.place, code) => {
                    (bits(span.start..*end), 1.0)
                }
                _ => (bits(span.clone()), position),
            };
            let (agreement, evidence) = self.agreement(one, one.quality * position);
            let group = groups.iter_mut().find(|group| {
                group.used == used
                    && group.postal_code == agreement
                    && (group.evidence - evidence).abs() < 1e-3
            });
            match group {
                Some(group) => group.places.push(one.place),
                None => groups.push(Reading {
                    places: vec![one.place],
                    used,
                    evidence,
                    name_quality: one.quality,
                    postal_code: agreement,
                    is_prefix,
                }),
            }
        }
        for mut group in groups {
            let population =
                |place: &u32| Places::get().place(*place).map_or(0, |one| one.population);
            group.places.sort_by_key(|place| Reverse(population(place)));
            group.places.truncate(COMMUNES_MAX);
            readings.push(group);
        }
    }

    /// Returns whether several words only begin the name of a street: `Rue de la` is not Rouède misspelled.
    fn only_opens_street(&self, span: &Range<usize>) -> bool {
        let mut words = self.tokens[span.clone()].iter();
        let is_opened = span.len() > 1 && words.next().is_some_and(opens_street);
        is_opened && words.all(|word| lexicon::is_article(&word.text))
    }

    /// Returns the factor for the evidence of a name by its position; `None` for a street type before an article: `Rue
    /// du` opens a street.
    fn position_factor(&self, span: &Range<usize>) -> Option<f32> {
        let is_type = span.len() == 1 && opens_street(&self.tokens[span.start]);
        let position = if self.is_end(span.end) || self.is_beside_postal_code(span) {
            1.0
        } else if self.is_end_but_for_part(span.end) {
            BEFORE_ITS_PART
        } else if is_type && lexicon::is_article(&self.tokens[span.end].text) {
            return None;
        } else if is_type {
            OPENS_A_STREET
        } else if span.start == 0 || span.end == self.leading {
            AT_THE_START
        } else {
            IN_THE_MIDDLE
        };
        Some(if self.is_behind_preposition(span.start) {
            position * BEHIND_PREPOSITION
        } else {
            position
        })
    }

    /// Returns the code of a department that follows a name at the end of the address, and the index after it: `Mende
    /// (48)`, `Marseille 13 (13001)`. Without a postal code, `Marseille 13` is the arrondissement.
    fn department_behind(&self, span: &Range<usize>) -> Option<(String, usize)> {
        let end = span.end;
        let (code, after) = match self.tokens.get(end..)? {
            [digit, letter, ..]
                if digit.text == "2"
                    && matches!(letter.text.as_str(), "a" | "b")
                    && letter.joined =>
            {
                (format!("2{}", letter.text.to_uppercase()), end + 2)
            }
            [number, ..] if number.is_number() && matches!(number.text.len(), 2 | 3) => {
                (number.text.clone(), end + 1)
            }
            _ => return None,
        };
        let is_behind =
            self.is_end(after) && (self.postal_code.is_some() || !self.is_name(span.start..after));
        is_behind.then_some((code, after))
    }

    /// Returns whether these words are the whole name of a place.
    fn is_name(&self, words: Range<usize>) -> bool {
        !places::named(&key(&self.tokens[words])).is_empty()
    }

    fn agreement(&self, named: &NamedPlace, evidence: f32) -> (Agreement, f32) {
        if let Some((meant, _)) = self.insee_code
            && (is_within(meant, &[named.place]) || is_within(named.place, &[meant]))
        {
            return (Agreement::Absent, evidence + AGREEING);
        }
        let (Some(code), Some(place)) = (&self.postal_code, Places::get().place(named.place))
        else {
            return (Agreement::Absent, evidence);
        };
        if place.postal_codes.contains(&code.as_str()) {
            return (Agreement::Agrees, evidence + AGREEING);
        }
        let is_near = department_of_postal_code(code) == Some(place.department);
        let is_known = !Places::get().of_postal_code(code).is_empty();
        match (is_near, is_known) {
            (true, false) => (Agreement::Department, evidence),
            (true, true) => (Agreement::Conflicts, evidence * SAME_DEPARTMENT),
            (false, _) => (Agreement::Conflicts, evidence * CONFLICTING),
        }
    }

    /// Finds an INSEE code that is not a postal code, `48095` or `2A004`: the place it names, and its tokens as bits.
    fn find_insee_code(&self, narrowing: &QueryContext<'_>) -> Option<(u32, u64)> {
        let (code, used) = (0..self.tokens.len()).find_map(|at| {
            match &self.tokens[at..] {
                [digit, letter, number, ..]
                    if digit.text == "2"
                        && matches!(letter.text.as_str(), "a" | "b")
                        && letter.joined
                        && number.joined
                        && number.text.len() == 3 =>
                {
                    let code = format!("2{}{}", letter.text.to_uppercase(), number.text);
                    Some((code, bits(at..at + 3)))
                }
                [token, ..] if Some(at) == self.postal_code_at => {
                    // A CEDEX code may be the postal code of a commune elsewhere.
                    let is_cedex = self.tokens.iter().any(|other| other.text == "cedex");
                    let others = narrowing.with_postal_code.map(|others| others(&token.text));
                    let is_postal = !Places::get().of_postal_code(&token.text).is_empty()
                        || others.is_some_and(|others| !others.is_empty());
                    (!is_postal && !is_cedex).then(|| (token.text.clone(), bit(at)))
                }
                _ => None,
            }
        })?;
        let place = Places::get().find(&code)?;
        let allowed = narrowing.places.as_ref();
        let is_allowed = allowed.is_none_or(|allowed| is_within(place, allowed));
        is_allowed.then_some((place, used))
    }

    /// Returns the place of a name; for a divided city, the arrondissement of its postal code, otherwise of the number
    /// after CEDEX.
    fn narrowed(&self, place: u32) -> u32 {
        let part = places::narrowed(place, self.postal_code.as_deref());
        let (Some(number), true) = (self.cedex_number, part == place) else {
            return part;
        };
        let department = Places::get()
            .place(place)
            .map_or("", |place| place.department);
        places::narrowed(place, Some(&format!("{department}{number:03}")))
    }

    fn postal_code_reading(&self, narrowing: &QueryContext<'_>) -> Option<Reading> {
        let code = self.postal_code.as_ref()?;
        let mut found = Places::get().of_postal_code(code).to_vec();
        let others = narrowing.with_postal_code.map(|others| others(code));
        found.extend_from_slice(others.unwrap_or_default());
        found.sort_unstable();
        found.dedup();
        let allowed = narrowing.places.as_ref();
        let is_allowed = |place: &&u32| allowed.is_none_or(|allowed| is_within(**place, allowed));
        Some(Reading {
            places: found.iter().filter(is_allowed).copied().collect(),
            used: 0,
            evidence: POSTAL_CODE_ALONE,
            name_quality: 0.0,
            postal_code: Agreement::Agrees,
            is_prefix: false,
        })
    }
}

/// Returns whether a place is one of these, or part of one of them.
pub fn is_within(place: u32, allowed: &[u32]) -> bool {
    let parent = Places::get().place(place).and_then(|place| place.parent);
    allowed.contains(&place) || parent.is_some_and(|parent| allowed.contains(&parent))
}

fn has_postal_code(place: u32, code: &str) -> bool {
    let place = Places::get().place(place);
    place.is_some_and(|place| place.postal_codes.contains(&code))
}

fn is_in_department(place: u32, code: &str) -> bool {
    let place = Places::get().place(place);
    place.is_some_and(|place| place.department == code)
}

/// Returns whether a token is a postal code, or the code of a CEDEX.
fn is_postal_code(token: &Token) -> bool {
    token.is_number() && token.text.len() == 5 && department_of_postal_code(&token.text).is_some()
}

/// Returns whether a token is a house number because a street follows and no commune has this code: Guadeloupe has house
/// numbers of five digits.
fn is_before_street(tokens: &[Token], at: usize) -> bool {
    let (places, code) = (Places::get(), tokens[at].text.as_str());
    tokens.get(at + 1).is_some_and(opens_street)
        && places.of_postal_code(code).is_empty()
        && places.find(code).is_none()
}

/// Replaces the letter of a numbered road by its abbreviation: `D901` and `D 901` are RD 901, and `N88` is RN 88. `n 12`
/// may be number 12, and the letter in `D12 rue …` is a door's.
fn expand_roads(text: &str, tokens: &mut [Token], noise: u64) {
    for at in 0..tokens.len().saturating_sub(1) {
        let (letter, number) = (&tokens[at], &tokens[at + 1]);
        let is_elided = text[letter.end..number.start].contains(['\'', '’']);
        let road = match letter.text.as_str() {
            "d" if !is_elided => "rd",
            "n" if number.joined => "rn",
            _ => continue,
        };
        let is_numbered = number.is_number() && number.text.len() <= ROAD_DIGITS_MAX;
        let is_other = tokens
            .get(at + 2)
            .is_some_and(|next| opens_street(next) || lexicon::is_month(&next.text));
        if is_numbered && !is_other && !letter.joined && noise & bit(at) == 0 {
            tokens[at].text = road.to_owned();
        }
    }
}

/// Keys of the names of departments, regions and the country that no town has.
static AREAS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let regions = REGIONS.iter().map(|region| region.name);
    let areas = departments::NAMES.into_iter().chain(regions);
    let areas = areas.chain(["France", "France métropolitaine"]);
    let keys = areas.map(|name| key(&fold::tokens(name)));
    keys.filter(|key| places::named(key).is_empty()).collect()
});

fn key(tokens: &[Token]) -> String {
    places::key(tokens.iter().map(|token| token.text.as_str()))
}

/// Returns the bits of the names after the address that hold no more than its town does: of the department, the region
/// and the country, each after a comma; the country also without one. `typed` is the token that is still being typed.
fn trailing(tokens: &[Token], noise: u64, typed: Option<usize>) -> u64 {
    let mut found = 0;
    let mut end = tokens.len();
    while end > 1 {
        let last = end - 1;
        if noise & bit(last) != 0 {
            end = last;
            continue;
        }
        let part = (1..end).rev().find(|at| tokens[*at].after_break);
        let is_area =
            |begin: &usize| typed != Some(last) && AREAS.contains(&key(&tokens[*begin..end]));
        let begin = match part.filter(is_area) {
            Some(begin) => begin,
            // In `5 rue de France, France`, the first names the street.
            None if found == 0 && tokens[last].text == "france" => last,
            None => break,
        };
        found |= bits(begin..end);
        end = begin;
    }
    found
}

/// Returns whether a street's name probably begins here.
pub(super) fn opens_street(token: &Token) -> bool {
    let expanded = lexicon::expansions(&token.text);
    lexicon::is_street_type(&token.text)
        || expanded.iter().any(|word| lexicon::is_street_type(word))
}
