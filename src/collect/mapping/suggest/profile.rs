//! Profiles the columns of a file from its first rows: their paths, how many rows fill them, and sample values. In a list
//! of keys and values, `[{"key": "rooms", "value": "3"}]`, each key is a column.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::super::row::{Row, RowPath, is_own_text};
use super::super::rule::is_empty;
use toise_contract::columns::{ColumnMeaning, advert_meaning, folded};

/// Maximum number of distinct values of a column that are shown.
pub const SAMPLES: usize = 10;
/// Maximum length of a shown value, in characters.
const SAMPLE_CHARS_MAX: usize = 40;
/// Characters of these that show the end of a long word.
const WORD_END_CHARS: usize = 24;
/// Maximum depth to which objects are followed.
const DEPTH_MAX: usize = 4;
/// Maximum number of columns; documents that use data as keys may have any number.
const COLUMNS_MAX: usize = 400;

/// Fields with the key of an item in a list of keys and values.
const ITEM_KEYS: [&str; 4] = ["key", "name", "code", "label"];
/// Fields with the value of such an item. The label comes first: `Appartement` says more than the code `2`.
const ITEM_VALUES: [&str; 2] = ["value_label", "value"];

/// Beginnings of the names of columns and keys that hold pictures and other files of an advert.
const FILE_NAMES: [&str; 12] = [
    "media", "photo", "image", "picture", "floorplan", "thumbnail", "logo", "video", "document",
    "visite", "virtual", "brochure",
];
/// Beginnings of the names of columns and keys that hold what belongs to someone other than the advert.
const OTHER_NAMES: [&str; 9] = [
    "agence", "agency", "agent", "seller", "vendeur", "contact", "publisher", "owner", "author",
];
/// Beginnings of the names of keys that hold a part of the advert or of its page.
const PART_NAMES: [&str; 3] = ["plan", "seo", "breadcrumb"];
/// Fields of texts about the whole advert.
const TEXTS: [&str; 2] = ["title", "description"];
/// Ends of addresses of files.
const FILE_ENDS: [&str; 9] = [
    ".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".svg", ".pdf", ".mp4",
];
/// Words for an address in names that the table of names does not have.
const ADDRESS_WORDS: [&str; 6] = ["url", "website", "link", "lien", "permalink", "permalien"];

/// Texts for an unknown value in files of adverts, in addition to those that every mapping knows.
const UNKNOWN: [&str; 8] = [
    "Non précisé",
    "Non disponible",
    "Inconnu",
    "Unknown",
    "-1",
    "Prix sur demande",
    "Nous consulter",
    "Price on request",
];

/// A column, or a path into the objects of JSON rows.
#[derive(Clone, Debug)]
pub struct ColumnProfile {
    /// Its path, as a rule names it.
    pub path: String,
    /// Meaning of its name. For a path whose name has none, the meaning of its last key, or of the key of the item.
    pub meaning: Option<ColumnMeaning>,
    /// Whether it is a value in a list of keys and values.
    pub is_item: bool,
    /// Whether its name can be written in a rule.
    pub is_nameable: bool,
    /// Rows in which it has a value.
    pub filled: usize,
    /// Distinct values.
    pub distinct: usize,
    /// Characters of all its values.
    pub chars: usize,
    /// The first distinct values, each on one line.
    pub samples: Vec<String>,
    /// Whether every value is the URL of a page, not of a picture.
    pub is_pages: bool,
    /// Whether it holds pictures or other files, by its name or by most of its values.
    pub is_files: bool,
    /// Its values that stand for no value in files of adverts.
    pub unknown: BTreeSet<&'static str>,
}

impl ColumnProfile {
    fn new(path: String) -> Self {
        let item = item_key(&path);
        let last = path.rsplit('.').next();
        let last = item.or(last).unwrap_or_default();
        Self {
            meaning: advert_meaning(&path).or_else(|| advert_meaning(last)),
            is_item: item.is_some(),
            is_nameable: RowPath::parse(&path).is_ok(),
            filled: 0,
            distinct: 0,
            chars: 0,
            samples: Vec::new(),
            is_pages: true,
            is_files: is_named_after(&path, &FILE_NAMES),
            unknown: BTreeSet::new(),
            path,
        }
    }

    /// Returns whether the column has this meaning by the table of names, is filled and can be named by a rule. The
    /// address of a picture is not that of an advert, and the title of a plan or an agency is not its title.
    pub fn means(&self, field: &str) -> bool {
        self.is_nameable
            && (field != "url" || !self.is_files)
            && !(TEXTS.contains(&field) && self.is_inside_other())
            && self.filled > 0
            && self.meaning.is_some_and(|found| found.field == field)
    }

    /// Returns whether the column is a key of an object that is not the advert, such as a picture or an agency.
    fn is_inside_other(&self) -> bool {
        let mut names = [&FILE_NAMES[..], &OTHER_NAMES, &PART_NAMES].into_iter();
        let parent = self.path.rsplit_once('.').map(|(parent, _)| parent);
        parent.is_some_and(|parent| names.any(|names| is_named_after(parent, names)))
    }

    /// Returns whether the column may hold the address of the page of the advert.
    pub fn may_be_address(&self) -> bool {
        let parent = self.path.rsplit_once('.').map_or("", |(parent, _)| parent);
        let is_page = self.meaning.is_none()
            && self.is_nameable
            && self.is_pages
            && !self.is_files
            && self.filled > 0;
        (self.means("url") || is_page) && !is_named_after(parent, &OTHER_NAMES)
    }

    /// Returns the order in which columns are tried as the address of the advert: columns that are not named after
    /// another party first, then those with a known name, then those whose name contains a word for an address, then
    /// those that are in fewer objects.
    pub fn address_rank(&self) -> (bool, bool, bool, usize, usize) {
        let is_address = |word: &String| ADDRESS_WORDS.contains(&word.as_str());
        (
            is_named_after(&self.path, &OTHER_NAMES),
            !self.means("url"),
            !words(&self.path).iter().any(is_address),
            self.path.matches('.').count(),
            self.meaning.map_or(0, |meaning| meaning.rank),
        )
    }
}

/// Profiles the columns of rows: first those of the header in its order, then others in order of first occurrence.
pub fn profiles(header: &[String], rows: &[Row]) -> Vec<ColumnProfile> {
    let mut paths: Vec<String> = header.to_vec();
    let mut known: HashSet<String> = paths.iter().cloned().collect();
    for row in rows {
        for (column, value) in row {
            collect(column, value, 1, &mut |path| {
                if paths.len() < COLUMNS_MAX && known.insert(path.to_owned()) {
                    paths.push(path.to_owned());
                }
            });
        }
    }
    // A column of objects is followed into its keys.
    let profiles = paths.into_iter().map(|path| profile(path, rows));
    profiles.collect()
}

fn collect(path: &str, value: &Value, depth: usize, add: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) if depth < DEPTH_MAX => {
            for (key, inner) in fields {
                // The path of an element with attributes reads its text.
                if is_own_text(value, key) {
                    add(path);
                } else {
                    collect(&format!("{path}.{key}"), inner, depth + 1, add);
                }
            }
        }
        Value::Array(items) => match item_paths(path, items) {
            Some(paths) => paths.iter().for_each(|path| add(path)),
            None => add(path),
        },
        _ => add(path),
    }
}

/// Returns the paths to the values in a list of keys and values: `attributes[key=rooms].value`; `None` for any other
/// list.
fn item_paths(path: &str, items: &[Value]) -> Option<Vec<String>> {
    let paths = items.iter().map(|item| {
        let (field, key) = ITEM_KEYS.iter().find_map(|field| {
            let key = item.get(field)?.as_str()?;
            Some((field, key))
        })?;
        let is_given = |value: &&&str| item.get(value).is_some_and(|value| !value.is_null());
        let value = ITEM_VALUES.iter().find(is_given)?;
        // These characters end a key in a path.
        let is_nameable = !key.is_empty() && !key.contains(['.', '[', ']']);
        Some(is_nameable.then(|| format!("{path}[{field}={key}].{value}")))
    });
    let paths: Vec<Option<String>> = paths.collect::<Option<_>>()?;
    (!paths.is_empty()).then(|| paths.into_iter().flatten().collect())
}

/// Returns the key in a path to a value in a list of keys and values.
fn item_key(path: &str) -> Option<&str> {
    let (_, rest) = path.rsplit_once('[')?;
    let (item, value) = rest.split_once("].")?;
    let (field, key) = item.split_once('=')?;
    (ITEM_KEYS.contains(&field) && ITEM_VALUES.contains(&value)).then_some(key)
}

fn profile(path: String, rows: &[Row]) -> ColumnProfile {
    let mut profile = ColumnProfile::new(path);
    let Ok(parsed) = RowPath::parse(&profile.path) else {
        return profile;
    };
    let mut seen = HashSet::new();
    let mut files = 0;
    for row in rows {
        let found = parsed.find(row).into_iter();
        let mut values = found.filter(|(_, value)| !is_empty(value, &[]));
        let Some((_, value)) = values.next() else {
            continue;
        };
        profile.filled += 1;
        let text = match value.as_ref() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        profile.chars += text.chars().count();
        profile.is_pages &= is_page(&text);
        files += usize::from(is_file(&text));
        let unknown = UNKNOWN.iter().find(|unknown| **unknown == text.trim());
        profile.unknown.extend(unknown);
        if profile.samples.len() < SAMPLES && !seen.contains(&text) {
            profile.samples.push(on_one_line(&text));
        }
        seen.insert(text);
    }
    profile.distinct = seen.len();
    profile.is_files |= 2 * files > profile.filled;
    profile
}

/// Returns the words of a name or path, in lower case: `mainPhoto.url` has `main`, `photo` and `url`.
fn words(path: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in path.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = character.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words
}

/// Returns whether a key of a path, or a word in it, begins with one of the names.
fn is_named_after(path: &str, names: &[&str]) -> bool {
    let keys = path.split('.').map(folded);
    let mut found = keys.chain(words(path));
    found.any(|word| names.iter().any(|name| word.starts_with(name)))
}

/// Returns whether a value is the address of a file.
fn is_file(value: &str) -> bool {
    let path = value.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim().to_lowercase();
    FILE_ENDS.iter().any(|end| path.ends_with(end))
}

/// Returns whether a value is the address of one page.
fn is_page(value: &str) -> bool {
    let mut pictures = [
        ".jpg", ".jpeg", ".png", ".webp", "/image", "/photo", "//media",
    ]
    .iter();
    value.starts_with("http")
        && !value.contains([' ', ',', '['])
        && !pictures.any(|marker| value.to_lowercase().contains(marker))
}

/// Returns a value on one line, for a comment. Keeps the beginning of a long text, and both ends of one long word, such
/// as a URL, because the URLs of a portal begin alike.
fn on_one_line(text: &str) -> String {
    let text = text.trim();
    let length = text.chars().count();
    let plain = |part: &str| {
        let signs = part.chars().map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        });
        signs.collect::<String>().trim().to_owned()
    };
    if length <= SAMPLE_CHARS_MAX {
        return plain(text);
    }
    let is_word = !text.contains(char::is_whitespace);
    let end_chars = if is_word { WORD_END_CHARS } else { 0 };
    let start: String = text.chars().take(SAMPLE_CHARS_MAX - end_chars).collect();
    let end: String = text.chars().skip(length - end_chars).collect();
    format!("{}…{}", plain(&start), plain(&end))
}
