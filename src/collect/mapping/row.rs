//! Parses and follows the paths by which a rule finds its value in a row: a column, or a path into JSON.
//!
//! A row is a JSON object; the values of CSV files are strings. A column whose name equals the whole path comes first,
//! so column names with dots need no escape. Paths continue into strings that hold JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use toise_contract::columns::{ColumnMeaning, IDENTIFIER, folded, meaning};
use toise_input::missing::is_missing;
use toise_input::quantity::is_other_currency;

/// A row of a file.
pub type Row = Map<String, Value>;

/// Key of the text of an XML element that also has attributes (`toise_input::xml`).
const XML_TEXT: &str = "text";
/// Attributes of an XML element with the unit of its number.
const UNITS: [&str; 4] = ["unit", "unite", "unité", "uom"];
/// Units of areas that a number must show; square metres are read without a unit.
const LARGE_AREAS: [&str; 6] = ["ha", "hectare", "hectares", "a", "are", "ares"];
/// Folded names of columns, keys and attributes that give the currency of an amount.
const CURRENCIES: [&str; 8] = [
    "devise", "currency", "monnaie", "codedevise", "currencycode", "prixdevise", "deviseprix",
    "pricecurrency",
];
/// Folded words in names of columns with the unit or the period of an amount: `LocationUnite`, `price_period`.
const UNIT_NAMES: [&str; 7] = [
    "unite", "unit", "periode", "period", "periodicite", "frequence", "frequency",
];
/// Folded words before or after these in the name of a column. A key next to the amount has only the word itself.
const AMOUNT_NAMES: [&str; 7] = [
    "prix", "price", "loyer", "rent", "location", "montant", "amount",
];
/// Those of them that name a rent.
const RENT_NAMES: [&str; 3] = ["loyer", "rent", "location"];
/// Folded words for a unit that makes an amount neither a price nor the rent of a month.
const OTHER_PERIODS: [&str; 20] = [
    "an", "ans", "annee", "annuel", "annuelle", "year", "yearly", "annual", "semaine",
    "hebdomadaire", "week", "weekly", "jour", "day", "daily", "nuit", "night", "nightly",
    "trimestre", "m2",
];
/// Maximum bytes of such a unit.
const UNIT_BYTES_MAX: usize = 24;
/// Stands for all items of a list, and for the rest of a column's name.
const EVERY: &str = "*";

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowStep {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item(usize),
    /// Every item of a list, or every value of an object.
    Every,
    /// The first item of a list in which the key has this value.
    With(String, String),
}

/// The folded name of a column and its meaning.
#[derive(Clone, Debug)]
pub(super) struct FoldedName {
    pub name: String,
    pub meaning: Option<ColumnMeaning>,
}

impl FoldedName {
    pub fn new(name: &str) -> Self {
        // Identifiers are not matched by meaning, because a different identifier column would identify other adverts.
        let meaning = meaning(name).filter(|meaning| meaning.field != IDENTIFIER);
        Self {
            name: folded(name),
            meaning,
        }
    }
}

/// A column, or a path into JSON: `prix`, `images[0].url`, `attributes[key=rooms].value`, `css-9u48bm*`.
#[derive(Clone, Debug)]
pub struct RowPath {
    /// The path as written.
    pub name: String,
    pub(super) steps: Vec<RowStep>,
    /// Folded name, to compare with other columns; `None` for a path into JSON or to several columns.
    pub(super) folded: Option<FoldedName>,
}

impl RowPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The path is empty, or a bracket is not closed or does not hold an index, `*` or `key=value`.
    pub fn parse(name: &str) -> Result<Self, String> {
        let fault = || format!("{name:?} must be a column or a path such as \"images[0].url\"");
        if name.is_empty() {
            return Err(fault());
        }
        let mut steps = Vec::new();
        for part in name.split('.') {
            let mut pieces = part.split('[');
            match pieces.next().unwrap_or_default() {
                "" => {}
                EVERY => steps.push(RowStep::Every),
                key => steps.push(RowStep::Key(key.to_owned())),
            }
            for piece in pieces {
                let inner = piece.strip_suffix(']').ok_or_else(fault)?;
                steps.push(match (inner.parse(), inner.split_once('=')) {
                    (Ok(index), _) => RowStep::Item(index),
                    (_, Some((key, value))) => RowStep::With(key.into(), value.into()),
                    _ if inner == EVERY || inner.is_empty() => RowStep::Every,
                    _ => return Err(fault()),
                });
            }
        }
        let is_column = !name.contains(['.', '[', '*']);
        Ok(Self {
            name: name.to_owned(),
            steps,
            folded: is_column.then(|| FoldedName::new(name)),
        })
    }

    /// Returns whether the path starts at a column.
    pub fn uses(&self, column: &str) -> bool {
        let first = self.steps.first();
        column == self.name
            || self
                .prefix()
                .is_some_and(|prefix| column.starts_with(prefix))
            || matches!(first, Some(RowStep::Key(key)) if key == column)
    }

    /// Returns the prefix of the columns that the path matches; `None` for a single column or a path into JSON.
    fn prefix(&self) -> Option<&str> {
        self.name
            .strip_suffix(EVERY)
            .filter(|prefix| !prefix.ends_with(['[', '.']))
    }

    /// Returns the values at the path, in order, with the columns they come from.
    pub fn find<'r>(&'r self, row: &'r Row) -> Vec<(&'r str, Cow<'r, Value>)> {
        if let Some(value) = row.get(&self.name) {
            return vec![(self.name.as_str(), own_text(value))];
        }
        if let Some(prefix) = self.prefix() {
            let columns = row.iter().filter(|(column, _)| column.starts_with(prefix));
            return columns
                .map(|(column, value)| (column.as_str(), Cow::Borrowed(value)))
                .collect();
        }
        let Some((RowStep::Key(first), rest)) = self.steps.split_first() else {
            return Vec::new();
        };
        let Some((column, value)) = row.get_key_value(first) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        walk(Cow::Borrowed(value), rest, &mut found);
        found
            .into_iter()
            .map(|value| (column.as_str(), value))
            .collect()
    }
}

/// Returns the unit of an amount if the row names one other than the euro or the euro a month: `<prix devise="CHF">`,
/// `{"value": 490000, "currency": "CHF"}`, or a column `devise` or `loyer_unite` (`€/an`). `path` found the amount in
/// `column`, as the value at index `place`.
///
/// A column of currencies does not count if the amount or its name has euros: in `prix_eur`, it is about another price.
pub(super) fn other_unit<'r>(
    path: &RowPath,
    column: &str,
    place: usize,
    amount: &Value,
    row: &'r Row,
) -> Option<&'r str> {
    let is_column = path.folded.is_some() || row.contains_key(&path.name);
    let below = if is_column { None } else { path.steps.get(1..) };
    let mut found = Vec::new();
    if let Some(cell) = row.get(column) {
        add_units(cell, below.unwrap_or_default(), None, &mut found);
    }
    let name = if is_column {
        column
    } else {
        path.name.as_str()
    };
    let is_in_euros = names_euro(name) || amount.as_str().is_some_and(names_euro);
    let of_row = if is_in_euros {
        None
    } else {
        named_currency(row)
    };
    // The values of several columns, `css-*`, are one in each.
    let own = found.get(place).or(found.last()).copied().flatten();
    of_row
        .or_else(|| named_unit(row, |unit| is_unit_of_amount(unit, name, row)))
        .or(own)
}

/// Adds the other unit of each value that the steps lead to, in order, or `None`. It is named in the value or its parent;
/// `of_parent` is the unit named in the parent of `value`.
fn add_units<'r>(
    value: &'r Value,
    steps: &[RowStep],
    of_parent: Option<&'r str>,
    found: &mut Vec<Option<&'r str>>,
) {
    let is_unit = |name: &str| UNIT_NAMES.contains(&name);
    let own = value
        .as_object()
        .and_then(|fields| named_currency(fields).or_else(|| named_unit(fields, is_unit)));
    let Some((step, rest)) = steps.split_first() else {
        found.push(own.or(of_parent));
        return;
    };
    for one in inner(value, step) {
        add_units(one, rest, own, found);
    }
}

/// Returns whether a text has the symbol or a name of the euro: `prix_eur`, `480 000 €`.
fn names_euro(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|character: char| !character.is_alphabetic());
    lower.contains('€') || words.any(|word| ["eur", "euro", "euros"].contains(&word))
}

/// Returns the currency in a field of an object, if it is not the euro.
fn named_currency(fields: &Row) -> Option<&str> {
    fields.iter().find_map(|(name, value)| {
        let currency = value.as_str()?.trim();
        let is_named = CURRENCIES.contains(&folded(name).as_str());
        // A marker such as `nan` looks like a code of three letters.
        let is_other = is_named && is_other_currency(currency) && !is_missing(currency);
        is_other.then_some(currency)
    })
}

/// Returns the unit in a field of an object whose folded name `is_unit` accepts, if it is of another period than a month, or
/// of a square metre: `€/an`, `weekly`.
fn named_unit(fields: &Row, is_unit: impl Fn(&str) -> bool) -> Option<&str> {
    fields.iter().find_map(|(name, value)| {
        let unit = value.as_str()?.trim();
        // Most cells are numbers or longer texts and end here.
        let is_short = unit.len() <= UNIT_BYTES_MAX
            && !unit.starts_with(|character: char| character.is_ascii_digit());
        let mut words = unit.split(|character: char| !character.is_alphanumeric());
        let is_other = is_short && words.any(|word| OTHER_PERIODS.contains(&folded(word).as_str()));
        (is_other && is_unit(&folded(name))).then_some(unit)
    })
}

/// Returns whether a folded name of a column is that of the unit of the amount in `column`: `loyerunite`,
/// `periodiciteloyer`. If a row has a rent, the unit of a rent says nothing about its price.
fn is_unit_of_amount(name: &str, column: &str, row: &Row) -> bool {
    let is_rent = |name: &str| RENT_NAMES.iter().any(|rent| name.contains(rent));
    let has_rent = || {
        row.keys()
            .any(|other| RENT_NAMES.contains(&folded(other).as_str()))
    };
    let is_of = |rest: Option<&str>| rest.is_some_and(|rest| AMOUNT_NAMES.contains(&rest));
    let is_unit = UNIT_NAMES
        .iter()
        .any(|unit| is_of(name.strip_suffix(unit)) || is_of(name.strip_prefix(unit)));
    is_unit && (!is_rent(name) || is_rent(&folded(column)) || !has_rent())
}

/// Returns the text of an XML element that has attributes, `<prix devise="EUR">245000</prix>`, or the texts of a list of
/// such elements; any other value itself. A number in ares or hectares is returned with its unit: `<terrain unit="ha">1.2</terrain>` is `1.2 ha`.
fn own_text(value: &Value) -> Cow<'_, Value> {
    if let Value::Array(items) = value
        && items.iter().any(|item| element_text(item).is_some())
    {
        let texts = items.iter().map(|item| own_text(item).into_owned());
        return Cow::Owned(Value::Array(texts.collect()));
    }
    let Some((fields, text)) = element_text(value) else {
        return Cow::Borrowed(value);
    };
    let unit = UNITS.iter().find_map(|name| fields.get(*name)?.as_str());
    let unit = unit.map(|unit| unit.trim().to_lowercase());
    let unit = unit.filter(|unit| LARGE_AREAS.contains(&unit.as_str()));
    let number = text.as_str().map(str::trim);
    let number = number.filter(|text| text.ends_with(|character: char| character.is_ascii_digit()));
    match number.zip(unit) {
        Some((number, unit)) => Cow::Owned(Value::String(format!("{number} {unit}"))),
        None => Cow::Borrowed(text),
    }
}

/// Returns the attributes and the text of an XML element that has both.
fn element_text(value: &Value) -> Option<(&Row, &Value)> {
    let fields = value.as_object()?;
    let is_flat = fields
        .values()
        .all(|field| !field.is_object() && !field.is_array());
    // The text of a picture is its caption.
    if !is_flat || fields.contains_key("url") {
        return None;
    }
    let text = fields.get(XML_TEXT)?;
    text.is_string().then_some((fields, text))
}

/// Returns whether a value is read as the text of an XML element with attributes, and the key is that of the text.
pub(super) fn is_own_text(value: &Value, key: &str) -> bool {
    key == XML_TEXT && element_text(value).is_some()
}

/// Adds the values that the steps lead to from a value, in order.
pub(super) fn walk<'v>(value: Cow<'v, Value>, steps: &[RowStep], found: &mut Vec<Cow<'v, Value>>) {
    let Some((step, rest)) = steps.split_first() else {
        found.push(match value {
            Cow::Borrowed(value) => own_text(value),
            Cow::Owned(value) => Cow::Owned(own_text(&value).into_owned()),
        });
        return;
    };
    if let Value::String(text) = value.as_ref() {
        let is_json = text.trim_start().starts_with(['{', '[']);
        if let Some(read) = is_json.then(|| serde_json::from_str(text).ok()).flatten() {
            walk(Cow::Owned(read), steps, found);
        } else if rest.is_empty() && matches!(step, RowStep::Every | RowStep::Item(0)) {
            found.push(value);
        }
        return;
    }
    match value {
        Cow::Borrowed(value) => {
            for inner in inner(value, step) {
                walk(Cow::Borrowed(inner), rest, found);
            }
        }
        Cow::Owned(value) => {
            for inner in inner(&value, step) {
                walk(Cow::Owned(inner.clone()), rest, found);
            }
        }
    }
}

/// Returns whether a value equals the text, or is written so in JSON: `3`, `true`.
pub(super) fn is_written(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        other => format!("{other}") == wanted,
    }
}

fn inner<'v>(value: &'v Value, step: &RowStep) -> Vec<&'v Value> {
    let is = |item: &Value, key: &str, wanted: &str| {
        item.get(key).is_some_and(|value| is_written(value, wanted))
    };
    match (step, value) {
        (RowStep::Key(key), Value::Object(fields)) => fields.get(key).into_iter().collect(),
        // If there is a list instead of an object, the key is read from each item.
        (RowStep::Key(key), Value::Array(items)) => {
            items.iter().filter_map(|item| item.get(key)).collect()
        }
        // Of a single XML element, the parser makes no list.
        (RowStep::Every | RowStep::Item(0), Value::Object(_)) if element_text(value).is_some() => {
            vec![value]
        }
        (RowStep::Item(index), Value::Array(items)) => items.get(*index).into_iter().collect(),
        (RowStep::Every, Value::Array(items)) => items.iter().collect(),
        (RowStep::Every, Value::Object(fields)) => fields.values().collect(),
        (RowStep::With(key, wanted), Value::Array(items)) => {
            let mut items = items.iter();
            items
                .find(|item| is(item, key, wanted))
                .into_iter()
                .collect()
        }
        // An object that is not in a list is chosen like the item of one.
        (RowStep::With(key, wanted), Value::Object(_)) if is(value, key, wanted) => vec![value],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(path: &str, row: &Value) -> Vec<Value> {
        let path = RowPath::parse(path).unwrap();
        let found = path.find(row.as_object().unwrap());
        found
            .into_iter()
            .map(|(_, value)| value.into_owned())
            .collect()
    }

    #[test]
    fn values_are_found_by_column_path_and_key() {
        let row = json!({
            "prix": "250000", "location.city": "Lyon", "location": {"lat": 45.7, "city": "Paris"},
            "attributes": [{"key": "rooms", "value": "3"}, {"key": "square", "value": "61"}],
            "photos": {"photo": {"ordre": "1", "text": "a"}},
            "plans": {"plan": "a"}, "vues": {"vue": [{"ordre": "1", "text": "a"}, {"ordre": "2", "text": "b"}]},
            "images": [{"url": "a"}, {"url": "b"}], "raw": "{\"ad\": {\"price\": [7]}}",
            "css-1": "x", "css-2": "y",
            "terrain": {"unit": "ha", "text": "1.2"}, "pre": {"unit": "ha", "text": "1.2 ha"}, "jardin": {"uom": "m2",
                "text": "350"},
            "loyer": {"devise": "EUR", "text": "650"}, "bien": {"prix": {"devise": "EUR", "text": "245000"}},
        });
        for (path, values) in [
            ("prix", json!(["250000"])),
            ("location.city", json!(["Lyon"])),
            ("location.lat", json!([45.7])),
            ("attributes[key=square].value", json!(["61"])),
            ("photos.photo[ordre=1].text", json!(["a"])),
            ("photos.photo[ordre=2].text", json!([])),
            ("images[0].url", json!(["a"])),
            ("images[*].url", json!(["a", "b"])),
            ("raw.ad.price[0]", json!([7])),
            ("css-*", json!(["x", "y"])),
            ("nothing", json!([])),
            ("loyer", json!(["650"])),
            ("terrain", json!(["1.2 ha"])),
            ("terrain.text", json!(["1.2"])),
            ("pre", json!(["1.2 ha"])),
            ("jardin", json!(["350"])),
            ("loyer.devise", json!(["EUR"])),
            ("bien.prix", json!(["245000"])),
            ("images[7].url", json!([])),
            ("photos.photo[*]", json!(["a"])),
            ("photos.photo[0]", json!(["a"])),
            ("plans.plan[*]", json!(["a"])),
            ("vues.vue[*]", json!(["a", "b"])),
            ("vues.vue", json!([["a", "b"]])),
        ] {
            assert_eq!(json!(find(path, &row)), values, "{path}");
        }
        for path in ["", "images[0", "images[x]"] {
            assert!(RowPath::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn each_price_of_a_list_has_its_own_currency() {
        let row = json!({
            "prices": [{"value": 500_000, "currency": "CHF"}, {"value": 480_000, "currency": "EUR"}],
        });
        let path = RowPath::parse("prices[*].value").unwrap();
        let row = row.as_object().unwrap();
        let found = path.find(row).into_iter().enumerate();
        let currencies =
            found.map(|(place, (column, value))| other_unit(&path, column, place, &value, row));
        assert_eq!(currencies.collect::<Vec<_>>(), [Some("CHF"), None]);
    }
}
