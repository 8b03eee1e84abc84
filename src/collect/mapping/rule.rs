//! A rule of a mapping: where to find the value of a field in a row, and how to read it.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::names::NamedRow;
use super::row::{RowPath, other_unit};

use crate::portals::texts::plain_number;
use crate::portals::value::{OneOrMany, RuleSpec, ValueRule, names_offer};
use toise_contract::columns::{ADDRESS, OFFER, has_house_number, is_house_number};
use toise_contract::listings::advert_field::{AdvertField, AdvertFieldKind};
use toise_input::missing;
use toise_input::number::FileDecimals;
use toise_input::words;

/// Markers for missing values in exports of programs, besides those of `toise_input::missing`.
const EMPTY: [&str; 3] = ["", "undefined", "[]"];
/// Fields of codes with five digits.
const CODES: [&str; 2] = ["location.postalCode", "location.inseeCode"];
/// Meanings of columns that may hold classes and nothing else; `Nature` may also be the offer.
const CLASS_COLUMNS: [&str; 2] = ["type", OFFER];
/// Decimals of a whole number that a program held as a number with decimals.
const DECIMALS: &str = ".0";
/// Placeholder for the digest of the whole row in a template.
const DIGEST: &str = "digest";
/// Length of such a digest, in hexadecimal digits.
const DIGEST_DIGITS: usize = 24;

/// Source of a rule's value.
#[derive(Clone, Debug)]
enum RowSource {
    /// The first of these that has a value.
    From(Vec<RowPath>),
    /// Two columns of a position.
    Position {
        latitude: RowPath,
        longitude: RowPath,
    },
    /// A string composed of columns.
    Template {
        parts: Vec<TemplatePart>,
        /// How many of the parts, the first, are the house number of the street that follows. They are left out of a row
        /// whose street begins with one, because a column `N°` may number the rows.
        house_numbers: usize,
    },
    /// The same value for every row.
    Constant(Value),
}

#[derive(Clone, Debug)]
enum TemplatePart {
    Text(String),
    Column(RowPath),
    /// A column that may be empty.
    Optional(RowPath),
    Digest,
}

impl TemplatePart {
    /// Returns whether it is a column of house numbers, or blank.
    fn is_of_number(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Column(path) | Self::Optional(path) => is_house_number(&path.name),
            Self::Digest => false,
        }
    }
}

impl RowSource {
    fn paths(&self) -> Vec<&RowPath> {
        match self {
            RowSource::From(paths) => paths.iter().collect(),
            RowSource::Position {
                latitude,
                longitude,
            } => vec![latitude, longitude],
            RowSource::Template { parts, .. } => {
                let columns = parts.iter().filter_map(|part| match part {
                    TemplatePart::Column(path) | TemplatePart::Optional(path) => Some(path),
                    TemplatePart::Text(_) | TemplatePart::Digest => None,
                });
                columns.collect()
            }
            RowSource::Constant(_) => Vec::new(),
        }
    }
}

/// Result of a rule for a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowFinding {
    /// Nothing.
    Nothing,
    /// A value that the field accepts.
    Value(Value),
    /// A code whose leading zero was restored.
    ZeroRestored(Value),
    /// A list that the field accepts after some items of the column were dropped.
    WithoutItems {
        column: String,
        value: Value,
        left_out: Vec<Value>,
    },
    /// A template without the column that must be filled.
    Incomplete { column: String },
    /// A value that the field does not accept, and its column.
    Unfit { column: String, value: Value },
}

/// A validated rule.
#[derive(Clone, Debug)]
pub(super) struct RowRule {
    pub value: ValueRule,
    source: RowSource,
    /// If set, the rule applies only if this holds.
    when: Option<Condition>,
    /// The rule does not apply if one of these holds.
    unless: Vec<Condition>,
}

/// Condition for a rule to apply, or not to apply.
#[derive(Clone, Debug)]
enum Condition {
    /// One of these columns has a value other than 0 or no.
    Filled(Vec<RowPath>),
    /// An earlier rule gave a field of the advert this value: `offer.type=OFFER_RENT`.
    Given(AdvertField, Value),
    /// An earlier rule gave a field a number that compares so with another: `currentPrice.value>=20000`.
    Compared(AdvertField, ComparisonSign, f64),
}

/// Sign that compares a number with a bound.
#[derive(Clone, Copy, Debug)]
enum ComparisonSign {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

/// Signs of comparisons, the longer ones first.
const COMPARISONS: [(&str, ComparisonSign); 5] = [
    ("<=", ComparisonSign::AtMost),
    (">=", ComparisonSign::AtLeast),
    ("<", ComparisonSign::Below),
    (">", ComparisonSign::Above),
    ("=", ComparisonSign::Equal),
];

impl ComparisonSign {
    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Self::Below => number < bound,
            Self::AtMost => number <= bound,
            Self::Above => number > bound,
            Self::AtLeast => number >= bound,
            Self::Equal => number == bound,
        }
    }
}

/// Splits a condition such as `currentPrice.value >= 20000` at its comparison operator; `None` if it has none outside
/// the brackets of a path, as in `attributes[key=rooms].value`.
fn compared(text: &str) -> Option<(&str, ComparisonSign, &str)> {
    let mut depth = 0_usize;
    let (start, _) = text.char_indices().find(|(_, sign)| {
        match sign {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(sign, '<' | '>' | '=')
    })?;
    let (left, rest) = text.split_at(start);
    COMPARISONS.iter().find_map(|(sign, comparison)| {
        let right = rest.strip_prefix(*sign)?;
        Some((left.trim(), *comparison, right.trim()))
    })
}

impl Condition {
    fn new(written: &OneOrMany) -> Result<Self, String> {
        match written {
            OneOrMany::One(text) => match compared(text) {
                Some((name, comparison, value)) => Self::of_field(name, comparison, value)
                    .map_err(|fault| format!("{text:?}: {fault}")),
                None => paths(written).map(Self::Filled),
            },
            OneOrMany::Many(_) => paths(written).map(Self::Filled),
        }
    }

    /// Creates a condition on the value that an earlier rule gave a field.
    fn of_field(name: &str, comparison: ComparisonSign, value: &str) -> Result<Self, String> {
        let field = AdvertField::parse(name)
            .map_err(|_| format!("{name:?} is not a field of an advert, such as \"offer.type\""))?;
        if field.kind == AdvertFieldKind::Number {
            let bound: Option<f64> = value.parse().ok();
            let bound = bound.filter(|bound| bound.is_finite());
            let bound = bound.ok_or_else(|| format!("{value:?} must be a number"))?;
            return Ok(Self::Compared(field, comparison, bound));
        }
        if !matches!(comparison, ComparisonSign::Equal) {
            return Err(format!(
                "{name} is not a number, so it can only be compared with \"=\""
            ));
        }
        let wanted = match field.kind {
            AdvertFieldKind::Flag => value.parse().map_or(Value::Null, Value::Bool),
            // A day is not equal to the moment that a rule gives.
            AdvertFieldKind::Date | AdvertFieldKind::List | AdvertFieldKind::Position => {
                return Err(format!("{name} must be a number, a text, or true or false"));
            }
            AdvertFieldKind::Text | AdvertFieldKind::Number => json!(value),
        };
        // Two equals signs are not a text either.
        let is_value = !value.is_empty() && !value.starts_with(['<', '>', '=']);
        if !is_value || wanted.is_null() || !field.fits(&wanted) {
            return Err(format!("{name} does not take {value:?}"));
        }
        Ok(Self::Given(field, wanted))
    }

    fn holds<'r>(&'r self, row: &NamedRow<'r>, advert: &Value, empty: &[String]) -> bool {
        match self {
            Self::Filled(paths) => is_any_filled(paths, row, empty),
            Self::Given(field, value) => field.value_in(advert) == Some(value),
            Self::Compared(field, comparison, bound) => field
                .value_in(advert)
                .and_then(Value::as_f64)
                .is_some_and(|number| comparison.holds(number, *bound)),
        }
    }
}

/// Returns whether one of the columns has a value other than 0 or no in a row.
fn is_any_filled<'r>(paths: &'r [RowPath], row: &NamedRow<'r>, empty: &[String]) -> bool {
    paths.iter().any(|path| {
        let found = row.find(path);
        let mut values = found.iter();
        values.any(|(_, value)| !is_empty(value, empty) && !is_no(value))
    })
}

/// Returns whether a value is the number 0, with or without a unit, or no: `0,00 €`, `non`, `false`. A single letter is
/// not, because it may be a class.
fn is_no(value: &Value) -> bool {
    match value {
        Value::Bool(is) => !is,
        Value::String(text) if text.trim().len() > 1 && words::flag(text) == Some(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let mut digits = text.chars().filter(char::is_ascii_digit).peekable();
            let begins = text.trim_start().starts_with('0');
            begins && digits.peek().is_some() && digits.all(|digit| digit == '0')
        }
        _ => false,
    }
}

fn paths(written: &OneOrMany) -> Result<Vec<RowPath>, String> {
    let names = written.clone().into_vec();
    names.iter().map(|name| RowPath::parse(name)).collect()
}

impl RowRule {
    pub fn new(written: &RuleSpec) -> Result<Self, String> {
        if let Some(key) = written.key_of_pages() {
            return Err(format!("{key}: is a key of portals, not of mappings"));
        }
        let value = ValueRule::new(written)?;
        let source = source(written, &value)?;
        let when = written.when.as_ref().map(Condition::new).transpose();
        let unless = written
            .unless
            .clone()
            .map_or_else(Vec::new, OneOrMany::into_vec);
        let unless = unless
            .into_iter()
            .map(|text| Condition::new(&OneOrMany::One(text)));
        let unless: Result<Vec<_>, String> = unless.collect();
        Ok(Self {
            value,
            source,
            when: when.map_err(|fault| format!("when: {fault}"))?,
            unless: unless.map_err(|fault| format!("unless: {fault}"))?,
        })
    }

    /// Creates a rule that gives every row the same value, written as in a cell.
    pub fn of_constant(field: &str, text: &str) -> Result<Self, String> {
        let written = RuleSpec {
            path: field.into(),
            ..RuleSpec::default()
        };
        let value = ValueRule::new(&written)?;
        let constant = value
            .read_text(text)
            .ok_or_else(|| format!("{field} does not take {text:?}"))?;
        Ok(Self {
            value,
            source: RowSource::Constant(constant),
            when: None,
            unless: Vec::new(),
        })
    }

    /// Returns the value of a rule that gives every row the same value; `None` for other rules.
    pub fn constant(&self) -> Option<&Value> {
        match &self.source {
            RowSource::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Creates the rule that reads a field from one column.
    pub fn of_column(field: &str, column: &str) -> Result<Self, String> {
        Self::new(&RuleSpec {
            path: field.into(),
            from: Some(OneOrMany::One(column.into())),
            ..RuleSpec::default()
        })
    }

    /// Returns the columns and paths that it reads.
    pub fn paths(&self) -> Vec<&RowPath> {
        let mut paths = self.source.paths();
        for condition in self.when.iter().chain(&self.unless) {
            if let Condition::Filled(columns) = condition {
                paths.extend(columns);
            }
        }
        paths
    }

    /// Returns the columns without which it gives no row a value.
    pub fn required_paths(&self) -> Vec<&RowPath> {
        let RowSource::Template { parts, .. } = &self.source else {
            return Vec::new();
        };
        let required = parts.iter().filter_map(|part| match part {
            TemplatePart::Column(path) => Some(path),
            TemplatePart::Text(_) | TemplatePart::Optional(_) | TemplatePart::Digest => None,
        });
        required.collect()
    }

    /// Returns the cell of a column of classes that the rule reads, and its column; `None` if it is empty or names an
    /// offer, or the rule reads no such column.
    pub fn class_cell<'r>(
        &'r self,
        row: &NamedRow<'r>,
        empty: &[String],
    ) -> Option<(&'r str, Cow<'r, Value>)> {
        let RowSource::From(paths) = &self.source else {
            return None;
        };
        paths.iter().find_map(|path| {
            let meaning = path.folded.as_ref()?.meaning?.field;
            if !CLASS_COLUMNS.contains(&meaning) {
                return None;
            }
            let is_class =
                |value: &Value| meaning != OFFER || !value.as_str().is_some_and(names_offer);
            let mut found = row.find(path).into_iter();
            found.find(|(_, value)| !is_empty(value, empty) && is_class(value))
        })
    }

    /// Adds the numbers and days that the rule reads from a row to `decimals`, as evidence for the rule's column at index
    /// `place`.
    pub fn observe<'r>(
        &'r self,
        row: &NamedRow<'r>,
        empty: &[String],
        place: usize,
        decimals: &mut FileDecimals,
    ) {
        if !self.value.reads_numbers() && !self.value.reads_days() {
            return;
        }
        let paths = match &self.source {
            RowSource::From(paths) => paths.iter().collect(),
            RowSource::Position { .. } => self.source.paths(),
            RowSource::Template { .. } | RowSource::Constant(_) => return,
        };
        for path in paths {
            for (_, value) in row.find(path) {
                if is_empty(&value, empty) {
                    continue;
                }
                match self.value.number_text(&value) {
                    Some(text) if self.value.reads_days() => decimals.observe_day(&path.name, text),
                    Some(text) => decimals.observe(place, text),
                    None => {}
                }
            }
        }
    }

    /// Finds the value in a row. `advert` is what earlier rules gave, and `empty` holds further markers for missing
    /// values.
    pub fn find<'r>(&'r self, row: &NamedRow<'r>, advert: &Value, empty: &[String]) -> RowFinding {
        let holds = |condition: &'r Condition| condition.holds(row, advert, empty);
        if self.when.as_ref().is_some_and(|when| !holds(when)) || self.unless.iter().any(holds) {
            return RowFinding::Nothing;
        }
        let is_empty = |value: &Value| is_empty(value, empty);
        match &self.source {
            RowSource::Constant(value) => RowFinding::Value(value.clone()),
            RowSource::From(paths) => {
                let mut unfit = RowFinding::Nothing;
                for path in paths {
                    let found = row.find(path);
                    // If several values are found for a list field, they are its items.
                    if found.len() > 1 && self.value.field.kind == AdvertFieldKind::List {
                        let items = found.into_iter().map(|(_, value)| value.into_owned());
                        let items = Value::Array(items.filter(|value| !is_empty(value)).collect());
                        if let Some(value) = self.value.read_value(&items) {
                            return self.found(&path.name, &items, value);
                        }
                        if unfit == RowFinding::Nothing
                            && !is_empty(&items)
                            && !self.value.may_be_silent(&items)
                        {
                            let (column, value) = (path.name.clone(), items);
                            unfit = RowFinding::Unfit { column, value };
                        }
                        continue;
                    }
                    for (place, (column, value)) in found.into_iter().enumerate() {
                        if is_empty(&value) {
                            continue;
                        }
                        if self.value.is_money()
                            && let Some(unit) = other_unit(path, column, place, &value, row.row())
                        {
                            if unfit == RowFinding::Nothing {
                                unfit = in_other_unit(column, &value, unit);
                            }
                            continue;
                        }
                        if let Some(read) = self.value.read_value(&value) {
                            return self.found(column, &value, read);
                        }
                        let code = with_zero(&self.value.field.name, &value);
                        if let Some(value) = code.and_then(|code| self.value.read_text(&code)) {
                            return RowFinding::ZeroRestored(value);
                        }
                        if unfit == RowFinding::Nothing && !self.value.may_be_silent(&value) {
                            let (column, value) = (column.to_owned(), value.into_owned());
                            unfit = RowFinding::Unfit { column, value };
                        }
                    }
                }
                unfit
            }
            RowSource::Position {
                latitude,
                longitude,
            } => self.position(row, [longitude, latitude], empty),
            RowSource::Template {
                parts,
                house_numbers,
            } => match filled(parts, *house_numbers, row, empty) {
                Err(column) => RowFinding::Incomplete { column },
                Ok(text) => match self.value.read_text(&text) {
                    Some(value) => RowFinding::Value(value),
                    None => RowFinding::Unfit {
                        column: "template".into(),
                        value: json!(text),
                    },
                },
            },
        }
    }

    /// Returns the finding for a value read from a column, with the list items that the field did not accept.
    fn found(&self, column: &str, cell: &Value, value: Value) -> RowFinding {
        let left_out = self.value.unfit_items(cell);
        if left_out.is_empty() {
            return RowFinding::Value(value);
        }
        RowFinding::WithoutItems {
            column: column.to_owned(),
            value,
            left_out,
        }
    }

    fn position<'r>(
        &'r self,
        row: &NamedRow<'r>,
        paths: [&'r RowPath; 2],
        empty: &[String],
    ) -> RowFinding {
        let [longitude, latitude] = paths.map(|path| {
            let found = row.find(path).into_iter().next();
            found.filter(|(_, value)| !is_empty(value, empty))
        });
        let (Some((_, longitude)), Some((column, latitude))) = (longitude, latitude) else {
            return RowFinding::Nothing;
        };
        let number = |value: &Cow<'_, Value>| match value.as_ref() {
            Value::String(text) => plain_number(text, None),
            value => value.as_f64(),
        };
        let position = number(&longitude).zip(number(&latitude));
        // Portals write an unknown position as 0, 0.
        if position == Some((0.0, 0.0)) {
            return RowFinding::Nothing;
        }
        let position = position.map(|(longitude, latitude)| json!([longitude, latitude]));
        match position.filter(|position| self.value.field.fits(position)) {
            Some(position) => RowFinding::Value(position),
            None => RowFinding::Unfit {
                column: column.to_owned(),
                value: json!([longitude, latitude]),
            },
        }
    }
}

fn source(written: &RuleSpec, value: &ValueRule) -> Result<RowSource, String> {
    let RuleSpec {
        from,
        latitude,
        longitude,
        template,
        value: constant,
        ..
    } = written;
    let path =
        |key: &str, name: &str| RowPath::parse(name).map_err(|fault| format!("{key}: {fault}"));
    match (from, latitude, longitude, template, constant) {
        (Some(from), None, None, None, None) => {
            let paths = from.clone().into_vec();
            let paths = paths.iter().map(|name| path("from", name));
            Ok(RowSource::From(paths.collect::<Result<_, _>>()?))
        }
        (None, Some(latitude), Some(longitude), None, None) => Ok(RowSource::Position {
            latitude: path("latitude", latitude)?,
            longitude: path("longitude", longitude)?,
        }),
        (None, None, None, Some(template), None) => {
            let parts = parts(template)?;
            let house_numbers = if value.field.name == ADDRESS {
                parts.iter().take_while(|part| part.is_of_number()).count()
            } else {
                0
            };
            Ok(RowSource::Template {
                parts,
                house_numbers,
            })
        }
        (None, None, None, None, Some(constant)) => {
            let constant = serde_json::to_value(constant).unwrap_or_default();
            if value.field.fits(&constant) {
                Ok(RowSource::Constant(constant))
            } else {
                Err(format!(
                    "value: {} does not take {constant}",
                    value.field.name
                ))
            }
        }
        _ => Err("must hold one of: from, latitude and longitude, template, value".into()),
    }
}

/// Parses a template such as `https://portail.fr/annonce/{id}`.
fn parts(template: &str) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("template: {template:?} has a bracket that is not closed"))?;
        parts.push(TemplatePart::Text(text.to_owned()));
        parts.push(match name {
            DIGEST => TemplatePart::Digest,
            name => {
                let column = name.strip_suffix('?');
                let path = RowPath::parse(column.unwrap_or(name));
                let path = path.map_err(|fault| format!("template: {fault}"))?;
                if column.is_some() {
                    TemplatePart::Optional(path)
                } else {
                    TemplatePart::Column(path)
                }
            }
        });
        rest = after;
    }
    parts.push(TemplatePart::Text(rest.to_owned()));
    Ok(parts)
}

/// Returns the text of a template, or the name of the first empty column that may not be empty. Spaces around optional
/// columns are not doubled. The first `house_numbers` parts are left out if the text after them begins with a house
/// number.
fn filled<'r>(
    parts: &'r [TemplatePart],
    house_numbers: usize,
    row: &NamedRow<'r>,
    empty: &[String],
) -> Result<String, String> {
    let cell = |path: &'r RowPath| {
        let (_, value) = row.find(path).into_iter().next()?;
        match value.as_ref() {
            value if is_empty(value, empty) => None,
            Value::String(part) => Some(part.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    };
    // Programs that held house numbers as numbers write `12.0`.
    let written = |place: usize, mut cell: String| {
        if place < house_numbers && cell.ends_with(DECIMALS) {
            cell.truncate(cell.len() - DECIMALS.len());
        }
        cell
    };
    let mut text = String::new();
    let mut number_end = 0;
    let mut has_optional = false;
    for (place, part) in parts.iter().enumerate() {
        match part {
            TemplatePart::Text(part) => text.push_str(part),
            TemplatePart::Digest => {
                let row = serde_json::to_vec(row.row()).unwrap_or_default();
                text.push_str(&blake3::hash(&row).to_hex()[..DIGEST_DIGITS]);
            }
            TemplatePart::Column(path) => {
                text.push_str(&written(place, cell(path).ok_or(&path.name)?));
            }
            TemplatePart::Optional(path) => {
                has_optional = true;
                text.push_str(&written(place, cell(path).unwrap_or_default()));
            }
        }
        if place < house_numbers {
            number_end = text.len();
        }
    }
    if number_end > 0 && has_house_number(&text[number_end..]) {
        text.drain(..number_end);
    }
    if has_optional {
        text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    Ok(text)
}

/// Returns the finding for an amount in another unit than that of the field.
fn in_other_unit(column: &str, amount: &Value, unit: &str) -> RowFinding {
    let amount = match amount {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    RowFinding::Unfit {
        column: column.to_owned(),
        value: json!(format!("{amount} {unit}")),
    }
}

/// Returns a postal or INSEE code with its leading zero restored, if a value has only the other four digits, as
/// spreadsheets write it.
fn with_zero(field: &str, value: &Value) -> Option<String> {
    if !CODES.contains(&field) {
        return None;
    }
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = text.strip_suffix(".0").unwrap_or(&text);
    let has_lost_it = digits.len() == 4
        && !digits.starts_with('0')
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    has_lost_it.then(|| format!("0{digits}"))
}

/// Returns whether a value is empty or a marker for a missing value.
pub(super) fn is_empty(value: &Value, empty: &[String]) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => {
            let text = text.trim();
            EMPTY.contains(&text)
                || missing::is_missing(text)
                || empty.iter().any(|other| other == text)
        }
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
