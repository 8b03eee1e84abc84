//! Ways in which people write addresses: each class changes one thing about the official spelling.

use toise_base::splitmix::SplitMix64;
use toise_geocode::text::fold::folded;

use super::everyday;
use super::sample::Address;

/// Kind of result that a query of a class should give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The house.
    House,
    /// The street, because the query names no house.
    Street,
}

/// A way to write an address.
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// Description of its change to an address.
    pub about: &'static str,
    /// Kind of result that its queries should give.
    pub wanted: Wanted,
    /// Whether its queries are asked as autocompletion, within the commune.
    pub is_typing: bool,
    /// Returns the queries for an address; none if the class does not apply to it.
    pub queries: fn(&Address, &mut SplitMix64) -> Vec<String>,
}

const fn class(
    name: &'static str,
    about: &'static str,
    queries: fn(&Address, &mut SplitMix64) -> Vec<String>,
) -> Class {
    Class {
        name,
        about,
        wanted: Wanted::House,
        is_typing: false,
        queries,
    }
}

/// Every class.
pub const CLASSES: &[Class] = &[
    class("clean", "as officially written", clean),
    class("upper case", "capitals without accents", |one, _| {
        vec![folded(&full(one)).to_uppercase()]
    }),
    class(
        "abbreviated",
        "types, titles and saints abbreviated",
        abbreviated,
    ),
    class("no postcode", "without the postal code", |one, _| {
        vec![join([&one.house_number(), &one.street, &one.commune])]
    }),
    class("no city", "without the town", |one, _| {
        vec![join([&one.house_number(), &one.street, &one.postal_code])]
    }),
    class("city first", "postal code and town before", |one, _| {
        vec![join([
            &one.postal_code,
            &one.commune,
            &one.house_number(),
            &one.street,
        ])]
    }),
    class(
        "no street type",
        "without \"Rue\" and the like",
        |one, _| {
            let without = typed(one).map(|(_, rest)| full_with(one, rest));
            without.into_iter().collect()
        },
    ),
    class("wrong type", "\"Rue\" for another type", wrong_type),
    class(
        "typo in street",
        "one edit in the street's longest word",
        |one, random| typos_in_street(one, random, 1, true),
    ),
    class(
        "two typos in street",
        "two edits in that word",
        |one, random| typos_in_street(one, random, 2, true),
    ),
    class(
        "typo, no postcode",
        "one edit, without the postal code",
        |one, random| typos_in_street(one, random, 1, false),
    ),
    class("typo in city", "one edit in the town", |one, random| {
        let wrong = typo_in_city(one, random);
        let query =
            wrong.map(|city| join([&one.house_number(), &one.street, &one.postal_code, &city]));
        query.into_iter().collect()
    }),
    class(
        "typo in city, no postcode",
        "one edit in the town, without the postal code",
        |one, random| {
            let wrong = typo_in_city(one, random);
            let query = wrong.map(|city| join([&one.house_number(), &one.street, &city]));
            query.into_iter().collect()
        },
    ),
    class(
        "wrong postcode",
        "another postal code nearby",
        wrong_postcode,
    ),
    class("cedex", "box and CEDEX instead of the postal code", cedex),
    class("noise", "residence, building, flat and country", noise),
    class(
        "glued postcode",
        "no space between postal code and town",
        |one, _| {
            let street = join([&one.house_number(), &one.street]);
            vec![format!("{street}, {}{}", one.postal_code, one.commune)]
        },
    ),
    class("glued words", "a space of the street missing", glued_words),
    class("former commune", "former commune for the town", |one, _| {
        let former = former_commune(one);
        let query = former.map(|city| join([&one.house_number(), &one.street, city]));
        query.into_iter().collect()
    }),
    class(
        "former commune, postcode",
        "postal code and former commune",
        |one, _| {
            let former = former_commune(one);
            let query =
                former.map(|city| join([&one.house_number(), &one.street, &one.postal_code, city]));
            query.into_iter().collect()
        },
    ),
    Class {
        wanted: Wanted::Street,
        ..class("street only", "without the house number", |one, _| {
            vec![join([&one.street, &one.postal_code, &one.commune])]
        })
    },
    class(
        "title left out",
        "\"Avenue Foch\" for \"Avenue du Maréchal Foch\"",
        everyday::without_title,
    ),
    class(
        "first name left out",
        "\"Rue Moulin\" for \"Rue Jean Moulin\"",
        everyday::without_first_name,
    ),
    class("initial", "\"Rue J. Moulin\"", everyday::with_initial),
    class(
        "words before",
        "a residence, a company or an office before the house number",
        everyday::with_words_before,
    ),
    class(
        "words behind",
        "a part of the town, CEDEX or the country behind",
        everyday::with_words_behind,
    ),
    class(
        "words between",
        "a building or a quarter between street and town",
        everyday::with_words_between,
    ),
    class("care of", "\"chez M. Martin\"", everyday::care_of),
    class("bis", "12bis, 12B, 12b, 12 bis, 12 B", suffixes),
    Class {
        is_typing: true,
        ..class(
            "prefix",
            "the street's end not typed yet, within the commune",
            prefix,
        )
    },
];

#[rustfmt::skip]
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("rue", "r"), ("avenue", "av"), ("boulevard", "bd"), ("route", "rte"), ("chemin", "ch"), ("place", "pl"),
    ("impasse", "imp"), ("allee", "all"), ("residence", "res"), ("lotissement", "lot"), ("square", "sq"),
    ("quartier", "qua"), ("passage", "pass"), ("hameau", "ham"), ("faubourg", "fbg"), ("saint", "st"),
    ("sainte", "ste"), ("general", "gal"), ("marechal", "mal"), ("docteur", "dr"), ("professeur", "prof"),
    ("president", "pdt"), ("commandant", "cdt"), ("colonel", "col"), ("capitaine", "cpt"), ("lieutenant", "lt"),
    ("monseigneur", "mgr"),
];

/// Street types that classes leave out or replace; typing errors do not change them.
const TYPES: &[&str] = &[
    "rue", "avenue", "boulevard", "route", "chemin", "place", "impasse", "allee", "residence",
    "lotissement", "square", "quartier", "passage", "hameau", "faubourg", "montee", "cite",
    "cours", "quai", "traverse", "ruelle", "sentier", "voie",
];
/// Minimum letters of a word that gets a typing error.
const TYPO_LETTERS_MIN: usize = 4;
/// Minimum letters of a street name that is typed in part.
const PREFIX_LETTERS_MIN: usize = 9;

fn join<'w>(words: impl IntoIterator<Item = &'w (impl AsRef<str> + ?Sized + 'w)>) -> String {
    let words: Vec<&str> = words.into_iter().map(AsRef::as_ref).collect();
    words.join(" ")
}

fn full(one: &Address) -> String {
    full_with(one, &one.street)
}

fn full_with(one: &Address, street: &str) -> String {
    let number = one.house_number();
    join([
        number.as_str(),
        street,
        one.postal_code.as_str(),
        one.commune.as_str(),
    ])
}

fn clean(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    vec![full(one)]
}

fn abbreviated(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let short = |text: &str| {
        let words = text.split_whitespace().map(|word| {
            let known = folded(word);
            let found = ABBREVIATIONS.iter().find(|(long, _)| *long == known);
            found.map_or(word, |(_, short)| short)
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let city = short(&one.commune.replace('-', " "));
    let number = one.house_number();
    vec![join([
        &number,
        &short(&one.street),
        &one.postal_code,
        &city,
    ])]
}

/// Returns the folded type of a street and the rest of its name; `None` if it has no type.
fn typed(one: &Address) -> Option<(String, &str)> {
    let (first, rest) = one.street.split_once(' ')?;
    let kind = folded(first);
    TYPES
        .contains(&kind.as_str())
        .then(|| (kind, rest.trim_start()))
}

fn wrong_type(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    let Some((kind, rest)) = typed(one) else {
        return Vec::new();
    };
    let other = if kind == "rue" { "Avenue" } else { "Rue" };
    vec![full_with(one, &join([other, rest]))]
}

/// Changes a folded word by one edit: a transposition, an omission, an insertion or a replacement.
fn typo(word: &str, random: &mut SplitMix64) -> String {
    let mut signs: Vec<char> = word.chars().collect();
    let at = random.below(signs.len());
    let kind = random.below(4);
    let letter = char::from(b'a' + random.below(26) as u8);
    match kind {
        0 if signs.len() > 1 => {
            let at = at.min(signs.len() - 2);
            signs.swap(at, at + 1);
        }
        1 => {
            signs.remove(at);
        }
        2 => signs.insert(at, letter),
        _ => signs[at] = letter,
    }
    signs.into_iter().collect()
}

/// Returns the index of the longest word that may get a typing error; of equally long ones, the first.
fn longest(words: &[String], spared: &[&str]) -> Option<usize> {
    let letters = |at: usize| words[at].chars().count();
    let may_change = |at: &usize| {
        letters(*at) >= TYPO_LETTERS_MIN
            && !words[*at].starts_with(|sign: char| sign.is_ascii_digit())
            && !spared.contains(&folded(&words[*at]).as_str())
    };
    (0..words.len())
        .rev()
        .filter(may_change)
        .max_by_key(|at| letters(*at))
}

fn with_typos(
    words: &[String],
    spared: &[&str],
    count: usize,
    random: &mut SplitMix64,
) -> Option<String> {
    let at = longest(words, spared)?;
    let mut words = words.to_vec();
    words[at] = (0..count).fold(folded(&words[at]), |word, _| typo(&word, random));
    Some(words.join(" "))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn typos_in_street(
    one: &Address,
    random: &mut SplitMix64,
    count: usize,
    has_postal_code: bool,
) -> Vec<String> {
    let Some(street) = with_typos(&words(&one.street), TYPES, count, random) else {
        return Vec::new();
    };
    vec![if has_postal_code {
        full_with(one, &street)
    } else {
        join([&one.house_number(), &street, &one.commune])
    }]
}

fn typo_in_city(one: &Address, random: &mut SplitMix64) -> Option<String> {
    let city = words(&one.commune.replace('-', " "));
    with_typos(&city, &["saint", "sainte"], 1, random)
}

fn wrong_postcode(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    const STEPS: [u32; 4] = [10, 20, 30, 50];
    let (Some(begin), Some(Ok(end))) = (
        one.postal_code.get(..3),
        one.postal_code.get(3..).map(str::parse::<u32>),
    ) else {
        return Vec::new();
    };
    let other = (end + STEPS[random.below(STEPS.len())]) % 100;
    let number = one.house_number();
    let code = format!("{begin}{other:02}");
    vec![join([&number, &one.street, &code, &one.commune])]
}

fn cedex(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let post_box = 10 + random.below(989);
    // Overseas codes begin with three digits of the department.
    let code = if one.postal_code.starts_with("97") {
        one.postal_code
            .get(..3)
            .map(|code| format!("{code}{}", 90 + random.below(10)))
    } else {
        one.postal_code
            .get(..2)
            .map(|code| format!("{code}{}", 900 + random.below(99)))
    };
    let street = join([&one.house_number(), &one.street]);
    let query = code.map(|code| format!("{street} BP {post_box} {code} {} CEDEX", one.commune));
    query.into_iter().collect()
}

fn noise(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let building = char::from(b'A' + random.below(4) as u8);
    let flat = 1 + random.below(59);
    let address = full(one);
    vec![format!(
        "Résidence les Tilleuls Bât {building} Apt {flat} {address} France"
    )]
}

fn glued_words(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let blanks: Vec<usize> = one.street.match_indices(' ').map(|(at, _)| at).collect();
    if blanks.is_empty() {
        return Vec::new();
    }
    let mut street = one.street.clone();
    street.remove(blanks[random.below(blanks.len())]);
    vec![full_with(one, &street)]
}

fn former_commune(one: &Address) -> Option<&String> {
    let former = &one.former_commune;
    (!former.is_empty() && folded(former) != folded(&one.commune)).then_some(former)
}

fn suffixes(one: &Address, _: &mut SplitMix64) -> Vec<String> {
    if !matches!(one.suffix, "bis" | "b") {
        return Vec::new();
    }
    let written = ["bis", "B", "b", " bis", " B"];
    let number = written.map(|suffix| format!("{}{suffix}", one.number));
    let rest = join([&one.street, &one.postal_code, &one.commune]);
    number
        .into_iter()
        .map(|number| join([&number, &rest]))
        .collect()
}

fn prefix(one: &Address, random: &mut SplitMix64) -> Vec<String> {
    let letters: Vec<char> = one.street.chars().collect();
    if letters.len() < PREFIX_LETTERS_MIN || !one.street.contains(' ') {
        return Vec::new();
    }
    let end = letters.len() - (2 + random.below(3));
    let begun: String = letters[..end].iter().collect();
    vec![join([&one.house_number(), &begun])]
}
