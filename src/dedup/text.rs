//! Sketches and figures of descriptions, and the mandate references that identify an advert within its agency.
//!
//! A sketch is a minhash of the description's shingles (runs of three words, in lower case without accents). It is
//! computed by one-permutation hashing: one hash per shingle falls into one of 64 bins, and each bin keeps its minimum.
//! The share of equal lanes estimates the share of common shingles within ±6 % (one standard deviation).

use super::digest::{self, EMPTY, mix, step};
use super::inline_vec::InlineVec;
use super::reference_number;

/// Bins of a sketch.
pub const LANES: usize = 64;
/// Words of a shingle.
const SHINGLE_WORDS: usize = 3;
/// Minimum number of shingles of a text that describes only one home.
const LONG_TEXT_SHINGLES: u16 = 30;
/// Maximum bytes of a text that are read: longer descriptions repeat themselves.
const TEXT_BYTES_MAX: usize = 8_192;
/// Phrases that only adverts of new homes contain.
const NEW_BUILD_PHRASES: [&[u8]; 9] = [
    b"programme neuf",
    b"programme situe",
    b"programme immobilier neuf",
    b"residence neuve",
    b"appartement neuf",
    b"appartements neufs",
    b"frais de notaire reduits",
    b"livraison prevue",
    b"vefa",
];
/// Nouns of titles that a word for new follows in adverts of new homes.
const NEW_BUILD_NOUNS: [&[u8]; 10] = [
    b"appartement", b"appartements", b"immobilier", b"logement", b"logements", b"piece", b"pieces",
    b"programme", b"programmes", b"residence",
];
/// Words for new.
const NEW_WORDS: [&[u8]; 4] = [b"neuf", b"neufs", b"neuve", b"neuves"];
/// Phrases of texts that a seller shows for several homes. Texts of single homes in the same place have them too, so they
/// count only between adverts of one text, with several prices or on one portal. "45 lots" is not among them: the law makes every flat say
/// it.
const LOT_PHRASES: [&[u8]; 9] = [
    b"du studio au",
    b"nouvelle residence",
    b"nouveau programme",
    b"nouveaux logements",
    b"ecoquartier",
    b"eco quartier",
    b"eco-quartier",
    b"derniers lots",
    b"lots disponibles",
];
/// Minimum and maximum number of characters of a reference.
const REFERENCE_CHARS: std::ops::RangeInclusive<usize> = 3..=24;
/// Maximum words read after "ref", the number included: "référence de l'annonce : 4812".
const REFERENCE_WORDS_MAX: usize = 4;

/// Minimum different words of a text that describes a home, besides numbers and [`FIELD_WORDS`]. A shorter text only
/// repeats fields: `2 pièces - 29 m² - s`.
const OWN_WORDS_MIN: usize = 8;
/// Words that go with the fields of an advert: kind, rooms, surface, price.
const FIELD_WORDS: [&[u8]; 49] = [
    b"appart", b"appartement", b"appartements", b"carrez", b"cc", b"ch", b"chambre", b"chambres",
    b"charges", b"cinq", b"comprises", b"deux", b"duplex", b"etage", b"eur", b"euro", b"euros",
    b"ha", b"habitable", b"hc", b"immeuble", b"loft", b"logement", b"louer", b"location", b"loyer",
    b"m", b"maison", b"mois", b"p", b"parking", b"pces", b"pcs", b"piece", b"pieces", b"prix",
    b"quatre", b"sdb", b"six", b"studio", b"surface", b"surfaces", b"terrain", b"triplex",
    b"trois", b"un", b"vendre", b"vente", b"villa",
];

/// Maximum figures per text.
pub const FIGURES_MAX: usize = 12;
/// Whole numbers below this are counts, which every text contains.
const FIGURE_LEAST: u32 = 10;
/// Longer figures are telephone numbers and references.
const FIGURE_DIGITS_MAX: usize = 4;

/// Digests of the figures of a text, ascending: areas, scores and years, which survive rewriting.
pub type TextFigures = InlineVec<u16, FIGURES_MAX>;

/// A description in 130 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Sixteen bits of the minimum hash of each bin.
    pub lanes: [u16; LANES],
    /// Shingles of the text, repeated ones included.
    pub shingles: u16,
}

impl Sketch {
    /// Computes the sketch of a folded text; `None` if it has too few words for a shingle.
    pub fn from_text(folded: &FoldedText) -> Option<Self> {
        let mut least = [u64::MAX; LANES];
        let mut shingles = 0u32;
        let mut last = [0u64; SHINGLE_WORDS];
        for (rank, word) in folded.words().enumerate() {
            last.rotate_left(1);
            last[SHINGLE_WORDS - 1] = digest::hash(word);
            if rank + 1 < SHINGLE_WORDS {
                continue;
            }
            let joined = last.iter().fold(0u64, |joined, word| {
                joined
                    .rotate_left(21)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .wrapping_add(*word)
            });
            let hashed = mix(joined);
            let bin = &mut least[(hashed >> 58) as usize];
            *bin = (*bin).min(hashed << 6);
            shingles += 1;
        }
        if shingles == 0 {
            return None;
        }
        Some(Self {
            lanes: std::array::from_fn(|lane| fill(&least, lane)),
            shingles: shingles.min(u32::from(u16::MAX)) as u16,
        })
    }

    /// Returns whether the text is long enough to describe only one home.
    pub fn is_long(&self) -> bool {
        self.shingles >= LONG_TEXT_SHINGLES
    }

    /// Returns the share of the shorter text's shingles that the other contains, 0 to 1; truncating a text does not
    /// lower it.
    pub fn containment(&self, other: &Self) -> f64 {
        let equal = self.lanes.iter().zip(&other.lanes);
        let equal = equal.filter(|(one, other)| one == other).count();
        let similarity = equal as f64 / LANES as f64;
        let (one, other) = (f64::from(self.shingles), f64::from(other.shingles));
        let common = similarity * (one + other) / (1.0 + similarity);
        (common / one.min(other)).min(1.0)
    }
}

/// Returns the value of a bin; an empty bin takes that of the next filled one, mixed with the distance.
fn fill(least: &[u64; LANES], lane: usize) -> u16 {
    for steps in 0..LANES {
        let value = least[(lane + steps) % LANES];
        if value != u64::MAX {
            return mix(value ^ steps as u64) as u16;
        }
    }
    0
}

/// Ends of words before `etage` that make a number an ordinal: `2e`, `1er`, `3eme`.
const ORDINAL_ENDS: [&[u8]; 9] = [
    b"", b"e", b"er", b"ere", b"eme", b"ieme", b"nd", b"nde", b"me",
];
/// Ordinals of storeys, from the first.
const ORDINALS: [&[u8]; 12] = [
    b"premier", b"deuxieme", b"troisieme", b"quatrieme", b"cinquieme", b"sixieme", b"septieme",
    b"huitieme", b"neuvieme", b"dixieme", b"onzieme", b"douzieme",
];
/// Highest storey that a text is believed to name.
const STOREY_MAX: i16 = 60;

/// Words of sentences that sellers and portals put under all their adverts: laws, menus.
const BOILERPLATE: [&[u8]; 7] = [
    b"georisques",
    b"rsac",
    b"siret",
    b"mediateur",
    b"carte professionnelle",
    b"depenses annuelles",
    b"annonce publiee",
];
/// Words from which the rest of a sentence is about fees or menus.
const BOILERPLATE_BEGINNINGS: [&[u8]; 3] = [b"honoraires", b"bareme", b"favoris"];
/// First and last year that says when an advert was written rather than anything about the home.
pub(super) const YEARS_OF_ADVERTS: std::ops::RangeInclusive<u32> = 2019..=2039;

/// A text in lower case without accents: ASCII letters and digits, and separators for everything else.
#[derive(Debug)]
pub struct FoldedText(Vec<u8>);

impl FoldedText {
    /// Folds the first 8 KiB of a text. The last word of a truncated text is dropped.
    pub fn from_text(text: &str) -> Self {
        let mut folded = Vec::with_capacity(text.len().min(TEXT_BYTES_MAX));
        for character in text.chars() {
            if folded.len() >= TEXT_BYTES_MAX {
                break;
            }
            push_folded(&mut folded, character);
        }
        let end = text.trim_end();
        if end.ends_with('…') || end.ends_with("...") || folded.len() >= TEXT_BYTES_MAX {
            let whole = |byte: &u8| byte.is_ascii_whitespace();
            let last = folded.trim_ascii_end().iter().rposition(whole);
            folded.truncate(last.unwrap_or_default());
        }
        Self(folded)
    }

    /// Returns the text without the sentences that sellers and portals put under all their adverts.
    pub fn without_boilerplate(&self) -> Self {
        let mut kept = Vec::with_capacity(self.0.len());
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            let is_end = |at: &usize| match rest[*at] {
                b'\n' => true,
                b'.' | b'!' | b'?' => rest.get(at + 1).is_none_or(u8::is_ascii_whitespace),
                _ => false,
            };
            let end = (0..rest.len()).find(is_end).map_or(rest.len(), |at| at + 1);
            let (sentence, after) = rest.split_at(end);
            let first = |word: &&[u8]| position_of_word(sentence, word);
            if !BOILERPLATE.iter().any(|word| first(word).is_some()) {
                let cut = BOILERPLATE_BEGINNINGS.iter().filter_map(first).min();
                kept.extend_from_slice(&sentence[..cut.unwrap_or(sentence.len())]);
            }
            rest = after;
        }
        Self(kept)
    }

    /// Returns the storey of a flat that the text names: `au 2ème étage`, `cinquième étage`, `étage 3 sur 4`, `au RDC d'un
    /// immeuble`. `None` if it names none or several, or if the flat has several.
    pub fn storey(&self) -> Option<i16> {
        let has_several = |word: &[u8]| matches!(word, b"duplex" | b"triplex" | b"souplex");
        if self.words().any(has_several) {
            return None;
        }
        let is_end = |byte: &u8| b".,;:|()-\n".contains(byte);
        let clauses = self.0.split(is_end);
        let mut storeys = clauses
            .filter_map(storey_in)
            .filter(|storey| *storey <= STOREY_MAX);
        let Some(first) = storeys.next() else {
            return self.is_on_ground_floor().then_some(0);
        };
        storeys.all(|storey| storey == first).then_some(first)
    }

    /// Returns whether the text says that the flat is on the ground floor of something. Shops and cellars are mostly just
    /// `au rez-de-chaussée`.
    fn is_on_ground_floor(&self) -> bool {
        let words: Vec<&[u8]> = self.words().collect();
        let mut runs = words.windows(3);
        runs.any(|run| matches!(run, [b"rdc" | b"chaussee", b"d", b"un" | b"une"]))
    }

    /// Returns the words, in order.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.0
            .split(|byte| !byte.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
    }

    /// Returns whether the text describes the home in its own words, beyond what the fields of its advert show.
    pub fn has_own_words(&self) -> bool {
        let is_own =
            |word: &&[u8]| !word.iter().any(u8::is_ascii_digit) && !FIELD_WORDS.contains(word);
        let mut found = Vec::with_capacity(OWN_WORDS_MIN);
        for word in self.words().filter(is_own) {
            if !found.contains(&word) {
                found.push(word);
            }
            if found.len() >= OWN_WORDS_MIN {
                return true;
            }
        }
        false
    }

    /// Returns the digest of all letters and digits: case, accents, spaces and punctuation do not matter.
    pub fn digest(&self) -> u64 {
        let letters = self.0.iter().filter(|byte| byte.is_ascii_alphanumeric());
        letters.fold(EMPTY, |hashed, byte| step(hashed, *byte))
    }

    /// Returns whether the text contains a word, or several in a row.
    pub fn contains(&self, words: &[u8]) -> bool {
        position_of_word(&self.0, words).is_some()
    }

    /// Returns the words of the clause before a word; `None` if the text does not contain it.
    pub fn clause_before(&self, word: &[u8]) -> Option<Vec<&[u8]>> {
        let before = &self.0[..position_of_word(&self.0, word)?];
        let start = before.iter().rposition(|byte| b".,;:!?\n".contains(byte));
        let clause = &before[start.map_or(0, |end| end + 1)..];
        let words = clause.split(|byte| !byte.is_ascii_alphanumeric());
        Some(words.filter(|word| !word.is_empty()).collect())
    }

    /// Returns whether the text says that the home is sold off plan or newly built.
    pub fn mentions_new_build(&self) -> bool {
        let has_phrase = NEW_BUILD_PHRASES
            .iter()
            .any(|phrase| memchr::memmem::find(&self.0, phrase).is_some());
        has_phrase || self.has_new(is_type_of_home)
    }

    /// Returns whether a word for new follows one of a kind.
    fn has_new(&self, is_of_kind: impl Fn(&[u8]) -> bool) -> bool {
        let mut follows = false;
        self.words().any(|word| {
            let is_new = follows && NEW_WORDS.contains(&word);
            follows = is_of_kind(word);
            is_new
        })
    }

    /// Returns whether a title says that the home is sold off plan or newly built. In a title alone, `neuf` between
    /// separators and a date of completion say so too; in a description they may be about the kitchen.
    pub fn is_title_of_new_build(&self) -> bool {
        let words: Vec<&[u8]> = self.words().collect();
        let is_named = self.has_new(|word| NEW_BUILD_NOUNS.contains(&word));
        let is_year = |word: &[u8]| {
            let year = std::str::from_utf8(word).ok().map(str::parse::<u32>);
            matches!(year, Some(Ok(year)) if YEARS_OF_ADVERTS.contains(&year))
        };
        let is_delivered = words
            .windows(2)
            .any(|pair| pair[0] == b"livraison" && is_year(pair[1]));
        // A hyphen without spaces is part of a name: `Pont-Neuf`.
        let text = String::from_utf8_lossy(&self.0);
        let parts = text.split(" - ");
        let mut clauses = parts.flat_map(|part| part.split([',', ';', ':', '|', '(', ')', '\n']));
        let has_clause = clauses.any(|clause| NEW_WORDS.contains(&clause.trim().as_bytes()));
        self.mentions_new_build() || is_named || is_delivered || has_clause
    }

    /// Returns whether the text may be that of several homes: of a new residence or an estate sold in lots. A number of
    /// homes does not show it, because texts of single flats name that of their residence too.
    pub fn mentions_lots(&self) -> bool {
        LOT_PHRASES.iter().any(|phrase| self.contains(phrase))
    }

    /// Returns the figures of the text; if there are more than [`FIGURES_MAX`], those with the lowest digests.
    pub fn figures(&self) -> TextFigures {
        let text = &self.0[..];
        let mut digests = Vec::with_capacity(32);
        let mut at = 0;
        while at < text.len() {
            if !text[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let start = at;
            at = digits_end(text, at);
            let whole = &text[start..at];
            let mut decimals: &[u8] = &[];
            if matches!(text.get(at), Some(b',' | b'.')) {
                let end = digits_end(text, at + 1);
                decimals = &text[at + 1..end];
                at = end;
            }
            // "m2", "T3" and "3e" are not figures.
            let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
            let joined = letter(start.checked_sub(1).and_then(|before| text.get(before)))
                || letter(text.get(at));
            let decimals = without_end_zeros(decimals);
            let value = whole.iter().fold(0u32, |value, digit| {
                value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))
            });
            let is_significant = value >= FIGURE_LEAST || !decimals.is_empty();
            let next = text[at..].iter().find(|byte| !byte.is_ascii_whitespace());
            let is_year_of_advert =
                decimals.is_empty() && YEARS_OF_ADVERTS.contains(&value) && next != Some(&b'm');
            if !joined && is_significant && !is_year_of_advert && whole.len() <= FIGURE_DIGITS_MAX {
                digests.push(digest::with(digest::hash(decimals), u64::from(value)) as u16);
            }
        }
        digests.sort_unstable();
        digests.dedup();
        let mut figures = TextFigures::default();
        for digest in digests.into_iter().take(FIGURES_MAX) {
            figures.push(digest);
        }
        figures
    }

    /// Returns the digest of the whole text as a reference, equal to that of the same reference inside a text; `None`
    /// if the text is not a reference.
    pub fn as_reference(&self) -> Option<u64> {
        let characters: Vec<u8> = self.words().flatten().copied().collect();
        let has_digit = characters.iter().any(u8::is_ascii_digit);
        let is_reference = has_digit && REFERENCE_CHARS.contains(&characters.len());
        is_reference.then(|| reference_number::digest_of(&characters))
    }

    /// Returns the digests of the references of the advert or the mandate in the text: "Réf. VA-4812".
    pub fn references(&self) -> impl Iterator<Item = u64> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            loop {
                let (word, after) = next_word(rest)?;
                rest = after;
                if matches!(word, b"ref" | b"reference" | b"mandat")
                    && let Some((reference, after)) = reference_after(rest)
                {
                    rest = after;
                    return Some(reference);
                }
            }
        })
    }
}

/// Returns whether a word is the type of a home: `T3`, `F3`.
fn is_type_of_home(word: &[u8]) -> bool {
    matches!(word, [b't' | b'f', b'1'..=b'9'])
}

/// Returns the position of a word, or of several, in a text.
fn position_of_word(text: &[u8], word: &[u8]) -> Option<usize> {
    let is_side = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    memchr::memmem::find_iter(text, word).find(|at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        is_side(before) && is_side(text.get(at + word.len()))
    })
}

/// Returns the storey that a clause names.
fn storey_in(clause: &[u8]) -> Option<i16> {
    let words = clause.split(|byte| !byte.is_ascii_alphanumeric());
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<i16>().ok();
    let place = words.iter().position(|word| *word == b"etage")?;
    let mut before = &words[..place];
    if let [rest @ .., b"et", b"dernier"] = before {
        before = rest;
    }
    let has_end = matches!(before, [.., end] if !end.is_empty() && ORDINAL_ENDS.contains(end));
    if has_end {
        before = &before[..before.len() - 1];
    }
    let ordinal = before.split_last().and_then(|(word, before)| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, end) = word.split_at(digits);
        let is_ordinal =
            has_end || !end.is_empty() || matches!(before, [.., b"au" | b"du" | b"le"]);
        let of_digits = number(digits).filter(|_| is_ordinal && ORDINAL_ENDS.contains(&end));
        let named = ORDINALS.iter().position(|ordinal| ordinal == word);
        let named = named.map(|place| place as i16 + 1);
        of_digits.or(named).or((*word == b"second").then_some(2))
    });
    // `à l'étage 2 chambres` names no storey, `étage 3 sur 4` and `étage 3/4` do.
    let of = words.get(place + 2).is_some_and(|word| *word == b"sur");
    let ends_in_share =
        clause.contains(&b'/') && words.len() == place + 3 && number(words[place + 2]).is_some();
    let after = || number(words.get(place + 1)?).filter(|_| of || ends_in_share);
    ordinal.or_else(after).filter(|storey| *storey >= 0)
}

fn digits_end(text: &[u8], from: usize) -> usize {
    let digits = text[from..].iter().take_while(|byte| byte.is_ascii_digit());
    from + digits.count()
}

fn without_end_zeros(mut decimals: &[u8]) -> &[u8] {
    while let [rest @ .., b'0'] = decimals {
        decimals = rest;
    }
    decimals
}

/// Counts the figures that two texts share.
pub fn shared_figures(one: &TextFigures, other: &TextFigures) -> usize {
    one.iter().filter(|figure| other.contains(figure)).count()
}

fn next_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(u8::is_ascii_alphanumeric)?;
    let text = &text[start..];
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    Some(text.split_at(end))
}

/// Returns the reference that follows, possibly after filler words; words joined by one of `-_/` are one reference.
fn reference_after(mut text: &[u8]) -> Option<(u64, &[u8])> {
    for _ in 0..REFERENCE_WORDS_MAX {
        let (word, mut after) = next_word(text)?;
        let mut characters = word.to_vec();
        while let [b'-' | b'_' | b'/', next, ..] = after {
            if !next.is_ascii_alphanumeric() {
                break;
            }
            let (word, rest) = next_word(after)?;
            characters.extend_from_slice(word);
            after = rest;
        }
        if characters.iter().any(u8::is_ascii_digit) {
            return REFERENCE_CHARS
                .contains(&characters.len())
                .then(|| (reference_number::digest_of(&characters), after));
        }
        let is_filler = matches!(
            word,
            b"n" | b"no"
                | b"num"
                | b"numero"
                | b"annonce"
                | b"de"
                | b"l"
                | b"du"
                | b"bien"
                | b"interne"
                | b"agence"
                | b"mandat"
        );
        if !is_filler {
            return None;
        }
        text = after;
    }
    None
}

fn push_folded(folded: &mut Vec<u8>, character: char) {
    if character.is_ascii() {
        folded.push((character as u8).to_ascii_lowercase());
        return;
    }
    let letter = match character {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'À' | 'Á' | 'Â' | 'Ã' | 'Ä' | 'Å' => b'a',
        'ç' | 'Ç' => b'c',
        'è' | 'é' | 'ê' | 'ë' | 'È' | 'É' | 'Ê' | 'Ë' => b'e',
        'ì' | 'í' | 'î' | 'ï' | 'Ì' | 'Í' | 'Î' | 'Ï' => b'i',
        'ñ' | 'Ñ' => b'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ö' => b'o',
        'ù' | 'ú' | 'û' | 'ü' | 'Ù' | 'Ú' | 'Û' | 'Ü' => b'u',
        'ý' | 'ÿ' | 'Ý' | 'Ÿ' => b'y',
        '²' => b'2',
        'œ' | 'Œ' => {
            folded.push(b'o');
            b'e'
        }
        'æ' | 'Æ' => {
            folded.push(b'a');
            b'e'
        }
        // A combining accent belongs to the preceding letter.
        '\u{300}'..='\u{36f}' => return,
        _ => b' ',
    };
    folded.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(text: &str) -> Sketch {
        Sketch::from_text(&FoldedText::from_text(text)).unwrap()
    }

    const TEXT: &str = "Au cœur de la Butte-aux-Cailles, au 3e étage avec ascenseur d'un immeuble de 1932 bien \
        tenu, appartement traversant de trois pièces de 61,35 m² Carrez : entrée, séjour de 24 m² sur rue calme, \
        cuisine équipée, deux chambres sur cour arborée, salle d'eau, toilettes séparées.";

    #[test]
    fn case_accents_and_punctuation_do_not_change_a_sketch() {
        let shouted = TEXT
            .to_uppercase()
            .replace(',', " -")
            .replace('É', "E\u{301}");
        assert_eq!(sketch(TEXT), sketch(&shouted));
    }

    #[test]
    fn a_truncated_text_is_contained_in_the_whole_one() {
        let half: String = TEXT.chars().take(150).collect();
        assert!(sketch(TEXT).containment(&sketch(&half)) > 0.75);
        assert_eq!(sketch(TEXT).containment(&sketch(TEXT)), 1.0);
        let other = "Maison de village avec jardin clos, quatre chambres à l'étage, garage et dépendances, \
            chauffage au bois, proche des écoles et des commerces, travaux de rafraîchissement à prévoir.";
        assert!(sketch(TEXT).containment(&sketch(other)) < 0.1);
    }

    #[test]
    fn figures_are_areas_scores_and_years() {
        let figures = |text: &str| FoldedText::from_text(text).figures();
        assert_eq!(figures(TEXT).len(), 3, "1932, 61,35 and 24");
        assert_eq!(figures("61,350 m² et 24,0 m²"), figures("24 m2, 61.35 m2"));
        assert!(figures("T3 au 3e étage, 2 chambres, tél. 0199004127").is_empty());
    }

    #[test]
    fn figures_of_fees_and_the_years_of_adverts_do_not_count() {
        let text = format!(
            "{TEXT} Honoraires à la charge du vendeur : 4 900 €, barème sur demande.\nAnnonce publiée le 12 mai 2026\n\
             Consultez www.georisques.gouv.fr"
        );
        let own = FoldedText::from_text(&text).without_boilerplate();
        assert_eq!(own.figures(), FoldedText::from_text(TEXT).figures());
        assert_eq!(Sketch::from_text(&own).unwrap(), sketch(TEXT));
        assert!(FoldedText::from_text("livré en 2026").figures().is_empty());
        assert_eq!(
            FoldedText::from_text("terrain de 2024 m²").figures().len(),
            1
        );
        for kept in [
            "exposition favorisant la lumière",
            "ceux qui désirent du calme",
            "à Barsac",
        ] {
            let text = FoldedText::from_text(kept);
            assert_eq!(text.without_boilerplate().digest(), text.digest(), "{kept}");
        }
        let priced = FoldedText::from_text("T3 de 61,35 m² - 245 000 € honoraires inclus");
        assert_eq!(
            priced.without_boilerplate().figures().len(),
            priced.figures().len()
        );
    }

    #[test]
    fn a_single_storey_is_read() {
        let storey = |text: &str| FoldedText::from_text(text).storey();
        for (text, expected) in [
            (TEXT, Some(3)),
            ("au cinquième et dernier étage", Some(5)),
            ("Situé au 10 ème étage sur 12", Some(10)),
            ("Étage 3 sur 4", Some(3)),
            ("Appartement à vendre - 3 pièces, 68 m², Étage 1/3", Some(1)),
            ("1er étage, chambre de service au 6e étage", None),
            ("immeuble de 6 étages", None),
            ("à l'étage, 4 chambres", None),
            ("Paris 11e. Dernier étage avec ascenseur", None),
            ("Lyon 3ème - dernier étage", None),
            ("Paris 11e dernier étage", None),
            ("Marseille 8ème, étage élevé", None),
            ("Pièces : 3 - Étage : 2", None),
            ("Prix 250 000 € Étage 3 sur 5", Some(3)),
            ("au 4 étage d'un immeuble", Some(4)),
            ("1er étage, chambre de service au second étage", None),
            ("Duplex : séjour ; au premier étage, 2 chambres", None),
            ("Studio de 19 m² au RDC d'une résidence étudiante", Some(0)),
            ("au rez-de-chaussée d’un immeuble de 3 étages", Some(0)),
            ("Commerces au rez-de-chaussée, cave en sous-sol", None),
            (
                "Au 2e étage ; commerces au RDC d'un immeuble voisin",
                Some(2),
            ),
        ] {
            assert_eq!(storey(text), expected, "{text}");
        }
    }

    #[test]
    fn a_summary_of_the_fields_has_no_own_words() {
        let has_own = |text: &str| FoldedText::from_text(text).has_own_words();
        for text in [
            "2 pièce - 29 m² - s",
            "60 m2 3",
            "Appartement à louer 3 pièces de 61 m², loyer de 820 euros par mois charges comprises",
            "Calme, calme, calme, calme, calme, calme, calme, calme, calme",
        ] {
            assert!(!has_own(text), "{text}");
        }
        assert!(has_own(TEXT));
        assert!(has_own(
            "Studios meublés avec services, au pied du métro et des commerces."
        ));
    }

    #[test]
    fn texts_of_new_homes_are_recognised_by_the_type_of_home() {
        let is_new = |text: &str| FoldedText::from_text(text).mentions_new_build();
        assert!(is_new("À vendre beau type T3 neuf de 63 m²."));
        assert!(!is_new(
            "T3 refait à neuf, cuisine neuve, appartement de 1932."
        ));
    }

    #[test]
    fn titles_of_new_homes_are_recognised() {
        let is_new = |title: &str| FoldedText::from_text(title).is_title_of_new_build();
        for title in [
            "Appartement à vendre - neuf - Bordeaux - 155 000 € - 1 pièce, 25 m²",
            "Programme neuf à Mérignac",
            "T3 en VEFA",
            "Logement neuf 3 pièces",
            "T2 de 47 m², livraison 2027",
            "T4 NEUF AVEC BALCON + PARKINGS",
            "Bel appartement 2 pièces neuf",
        ] {
            assert!(is_new(title), "{title}");
        }
        for title in [
            "Appartement refait à neuf",
            "Type 2 refait neuf",
            "Maison rue Neuve, cuisine neuve",
            "Appartement Villeneuve 3 pièces",
            "Studio Paris Pont-Neuf",
            "Appartement disponible en 2027",
        ] {
            assert!(!is_new(title), "{title}");
        }
    }

    #[test]
    fn the_last_word_of_a_truncated_text_is_left_out() {
        assert!(
            FoldedText::from_text("Bel appartement. Réf. VA-48…")
                .references()
                .next()
                .is_none()
        );
        assert!(
            FoldedText::from_text("Appartement de 61,3...")
                .figures()
                .is_empty()
        );
    }

    #[test]
    fn a_text_of_two_words_has_no_sketch() {
        assert!(Sketch::from_text(&FoldedText::from_text("À louer")).is_none());
        assert!(Sketch::from_text(&FoldedText::from_text("")).is_none());
    }

    #[test]
    fn references_are_read_in_their_usual_spellings() {
        let references = |text: &str| FoldedText::from_text(text).references().collect::<Vec<_>>();
        let expected = references("Réf. VA-4812");
        assert_eq!(expected.len(), 1);
        for text in [
            "bel appartement, réf : va4812.",
            "Référence de l'annonce : VA/4812",
            "REF VA_4812",
            "Mandat n° VA 4812 et ref. VA-4812",
        ] {
            let read = references(text);
            assert!(read.contains(&expected[0]), "{text}: {read:?}");
        }
        for text in [
            "belles références",
            "ref",
            "ref. 12",
            "réf. sur demande 4812",
            "4812",
        ] {
            assert!(references(text).is_empty(), "{text}");
        }
    }
}
