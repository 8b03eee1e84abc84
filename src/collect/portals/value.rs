//! Converts the text of an element, a cell or a JSON value to the value of a field. This part of a rule is common to
//! portals and mappings.
//!
//! Without `as`, the type of the field decides how a rule reads: a number for an area, a date for a timestamp, yes or
//! no for a flag, and a word such as `Maison` or `vente` for a class or an offer. A value that the contract does not
//! accept for the field counts as missing.

use std::collections::BTreeMap;

use regex::Regex;
use scraper::Html;
use serde::Deserialize;
use serde_json::{Value, json};

use super::dates;

use super::texts::{
    addresses, has_no_single_price, list, pair, plain_number, separator, without_discount,
};
use toise_contract::listings::advert_field::{AdvertField, AdvertFieldKind};
use toise_contract::listings::medias::IMAGES;
use toise_input::number::{self, LoneSeparator};
use toise_input::words::AssetClass;
use toise_input::{quantity, words};
use toise_page::findings::{FieldOrigin, PageFindings, clean};
use toise_page::french::places;
use toise_page::french::tokens::phrase;
use toise_page::french::{self, TextTrust};
use toise_page::{document, page_kind, tidy};

/// Separator of the items of a list in a text, unless a rule names another.
const SEPARATOR: &str = "|";
/// Field of the class.
const CLASS: &str = "type";
/// Maximum words of a cell of classes.
const CELL_WORDS_MAX: usize = 3;
/// Field of the price.
const PRICE: &str = "currentPrice.value";
/// Field of the plot.
const LAND: &str = "land.surface";
/// Field of the storey.
const FLOOR: &str = "habitation.floor";
const DISTRICT: &str = "location.district";
/// Path of the number of rooms.
const ROOMS: &str = "habitation.roomCount";
/// The field of the offer.
const OFFER: &str = "offer.type";
/// Maximum length of a pattern, bytes.
const PATTERN_BYTES_MAX: usize = 1_000;
/// Maximum size of a compiled pattern, bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// End of the names of fields that hold an amount per square metre.
const PER_AREA: &str = "PerArea";

/// Conversion of a text to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueFormat {
    /// The text itself.
    Text,
    /// The text of HTML, one line per paragraph.
    Html,
    /// An amount: `350 000 €`, `350 k€`.
    Amount,
    /// The first number.
    Number,
    /// An area in square metres: `65,5 m²`, `1 ha 20 a 35 ca`.
    Area,
    /// A storey: `3e`, `RDC`, `3/5`.
    Floor,
    /// An energy class: `D`, `Classe D`.
    EnergyClass,
    /// A climate class.
    ClimateClass,
    /// True if the element exists, or the cell holds anything but some form of "no".
    Presence,
    /// Yes or no: `oui`, `0`, `true`.
    Flag,
    /// A date or time, in one of the rule's formats, or in a usual one if the rule has none.
    Date,
    /// A list: a JSON array, or a text with a separator between items.
    List,
    /// A position, latitude first: `48.85, 2.35`.
    LatLng,
    /// A position, longitude first, as in GeoJSON.
    LngLat,
    /// The value that is found for the field in the words of a title or description: `T3 de 65 m² au 2e étage`.
    Words,
}

/// One text or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

/// A rule as written in its file. `selector` and `attribute` are for pages; `from`, `latitude`, `longitude`,
/// `template`, `value`, `when` and `unless` are for rows of files; all others are for both.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RuleSpec {
    pub path: String,
    pub selector: Option<String>,
    pub attribute: Option<String>,
    pub from: Option<OneOrMany>,
    pub latitude: Option<String>,
    pub longitude: Option<String>,
    pub template: Option<String>,
    pub value: Option<toml::Value>,
    pub when: Option<OneOrMany>,
    pub unless: Option<OneOrMany>,
    pub pattern: Option<String>,
    #[serde(rename = "as")]
    pub reading: Option<ValueFormat>,
    pub scale: Option<f64>,
    pub decimal: Option<char>,
    pub format: Option<OneOrMany>,
    pub separator: Option<String>,
    pub map: BTreeMap<String, toml::Value>,
}

impl RuleSpec {
    /// Returns a key of this rule that only rules for rows of files may have.
    pub(crate) fn key_of_rows(&self) -> Option<&'static str> {
        let keys = [
            ("from", self.from.is_some()),
            ("latitude", self.latitude.is_some()),
            ("longitude", self.longitude.is_some()),
            ("template", self.template.is_some()),
            ("value", self.value.is_some()),
            ("when", self.when.is_some()),
            ("unless", self.unless.is_some()),
        ];
        given(&keys)
    }

    /// Returns a key of this rule that only rules for pages may have.
    pub(crate) fn key_of_pages(&self) -> Option<&'static str> {
        let keys = [
            ("selector", self.selector.is_some()),
            ("attribute", self.attribute.is_some()),
        ];
        given(&keys)
    }
}

/// Returns the first key that is given.
fn given(keys: &[(&'static str, bool)]) -> Option<&'static str> {
    let given = keys.iter().find(|(_, is_given)| *is_given);
    given.map(|(key, _)| *key)
}

/// The part of a rule that reads texts as values of one field.
#[derive(Clone, Debug)]
pub struct ValueRule {
    /// The field.
    pub field: AdvertField,
    reading: ValueFormat,
    /// Whether the file sets `as`. If so, texts that the map does not contain are converted too.
    is_reading_named: bool,
    pattern: Option<Regex>,
    scale: f64,
    decimal: Option<char>,
    /// Meaning of a lone separator before three digits in the rule's columns, if the numbers in the file show it.
    lone: Option<LoneSeparator>,
    formats: Vec<String>,
    /// Separator of the items of a list, if the file gives one.
    separator: Option<String>,
    /// Phrases, the longest first, with their values.
    map: Vec<(String, Value)>,
}

impl ValueRule {
    /// Validates the common part of a rule.
    ///
    /// # Errors
    /// A message that names the key and says what it may hold.
    pub(crate) fn new(written: &RuleSpec) -> Result<Self, String> {
        let path = &written.path;
        let field = AdvertField::parse(path).map_err(|_| {
            format!(
                "path: {path:?} is not a field of an advert, such as \"habitation.surface.total\""
            )
        })?;
        let scale = written.scale.unwrap_or(1.0);
        if !scale.is_finite() || scale <= 0.0 {
            return Err("scale: must be a number above 0".into());
        }
        if !matches!(written.decimal, None | Some(',' | '.')) {
            return Err("decimal: must be \",\" or \".\"".into());
        }
        let pattern = written.pattern.as_deref().map(pattern).transpose()?;
        let formats = written.format.clone();
        let formats = formats.map_or_else(Vec::new, OneOrMany::into_vec);
        if let Some(format) = formats.iter().find(|format| !dates::is_format(format)) {
            return Err(format!(
                "format: {format:?} must be \"unix\", \"unix-ms\" or like \"%d/%m/%Y\""
            ));
        }
        let mut map = Vec::with_capacity(written.map.len());
        for (text, value) in &written.map {
            let value = serde_json::to_value(value).unwrap_or_default();
            if !field.fits(&value) && !field.fits(&json!([value])) {
                let value = match &value {
                    Value::String(text) => format!("{text:?}"),
                    other => other.to_string(),
                };
                return Err(format!("map: {path} does not take {value}"));
            }
            map.push((phrase(text), value));
        }
        map.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
        let separator = written.separator.clone();
        if separator.as_ref().is_some_and(String::is_empty) {
            return Err("separator: must not be empty".into());
        }
        Ok(Self {
            reading: written.reading.unwrap_or_else(|| usual_reading(&field)),
            is_reading_named: written.reading.is_some(),
            field,
            pattern,
            scale,
            decimal: written.decimal,
            lone: None,
            formats,
            separator,
            map,
        })
    }

    /// Returns whether it reads numbers whose notation depends on the column.
    pub(crate) fn reads_numbers(&self) -> bool {
        use ValueFormat::{Amount, Area, LatLng, LngLat, Number};
        self.map.is_empty()
            && self.decimal.is_none()
            && matches!(self.reading, Amount | Area | Number | LatLng | LngLat)
    }

    /// Returns whether it reads days whose order the column decides.
    pub(crate) fn reads_days(&self) -> bool {
        self.reading == ValueFormat::Date && self.map.is_empty() && self.formats.is_empty()
    }

    /// Returns the part of a value that is read as a number or a day.
    pub(crate) fn number_text<'v>(&self, value: &'v Value) -> Option<&'v str> {
        value.as_str().and_then(|text| self.matched(text))
    }

    /// Sets what a lone separator before three digits means. An amount has no third decimal, even if its column
    /// suggests one.
    pub(crate) fn set_lone_separator(&mut self, lone: LoneSeparator) {
        if matches!(self.reading, ValueFormat::Area | ValueFormat::Number) {
            self.lone = Some(lone);
        }
    }

    /// Returns the rooms in a cell such as `T3`, for the field that counts them.
    fn rooms(&self, text: &str) -> Option<f64> {
        if self.field.name != ROOMS {
            return None;
        }
        words::room_count(text).map(f64::from)
    }

    /// Returns which of the two areas in a cell the field takes: the plot is the second one if it is larger, as in
    /// `86 m² (165 m²)`, and any other area is the first one.
    fn one_of_areas(&self, first: f64, second: f64) -> Option<f64> {
        if self.field.name == LAND {
            (second > first).then_some(second)
        } else {
            Some(first)
        }
    }

    /// Returns the amount in a text with other words, if it has a single one. Only an amount per area may have an area as its unit.
    fn amount_with_words(&self, text: &str) -> Option<f64> {
        let is_other_rent = self.field.name == PRICE && french::names_other_period(text);
        if is_other_rent || has_no_single_price(text) || french::names_other_currency(text) {
            None
        } else if self.field.name.ends_with(PER_AREA) {
            french::single_number(text)
        } else {
            french::amount(text)
        }
    }

    /// Returns the only number in a text with other words, unless it is an amount in another currency.
    fn number_with_words(&self, text: &str) -> Option<f64> {
        let is_other = self.is_money() && french::names_other_currency(text);
        french::single_number(text).filter(|_| !is_other)
    }

    /// Returns whether the field holds an amount in euros.
    pub(crate) fn is_money(&self) -> bool {
        let fields = ["currentPrice.", "charges.", "warrantyDeposit"];
        fields
            .iter()
            .any(|start| self.field.name.starts_with(start))
    }

    /// Returns the value of a text; `None` if it has none that the field accepts.
    pub fn read_text(&self, text: &str) -> Option<Value> {
        if self.field.kind == AdvertFieldKind::List {
            return self.read_items(&self.items(text));
        }
        let text = self.matched(text)?;
        self.mapped(text)
            .or_else(|| self.converted(text))
            .filter(|value| self.field.fits(value))
    }

    /// Splits the text of a list into its items.
    fn items(&self, text: &str) -> Vec<Value> {
        list(text).unwrap_or_else(|| {
            let parts: Vec<&str> = match &self.separator {
                Some(separator) => text.split(separator.as_str()).collect(),
                None if self.field.name == IMAGES => addresses(text),
                None => text.split(SEPARATOR).collect(),
            };
            parts.iter().map(|part| json!(part.trim())).collect()
        })
    }

    /// Returns the items of a list that the field does not accept, so that they can be reported. A rule with a map or a
    /// pattern chooses among the items, so none of its items is at fault.
    pub(crate) fn unfit_items(&self, value: &Value) -> Vec<Value> {
        if self.field.kind != AdvertFieldKind::List || !self.is_plain() {
            return Vec::new();
        }
        let items = match value {
            Value::Array(items) => items.clone(),
            Value::String(text) => self.items(text),
            _ => return Vec::new(),
        };
        let is_unfit = |item: &Value| !item.is_null() && item != "" && self.item(item).is_none();
        items.into_iter().filter(is_unfit).collect()
    }

    /// Converts a JSON value, like [`Self::read_text`].
    pub fn read_value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null => None,
            Value::String(text) => self.read_text(text),
            Value::Array(items) => self.read_items(items),
            Value::Number(number)
                if self.is_plain() && self.field.kind == AdvertFieldKind::Number =>
            {
                let number = number.as_f64()? * self.scale;
                Some(json!(number)).filter(|value| self.field.fits(value))
            }
            Value::Bool(_) if self.is_plain() && self.field.kind == AdvertFieldKind::Flag => {
                Some(value.clone())
            }
            Value::Object(_) if self.is_plain() && self.field.fits(value) => Some(value.clone()),
            Value::Object(_) => None,
            Value::Number(_) | Value::Bool(_) => self.read_text(&value.to_string()),
        }
    }

    /// Returns whether the rule only checks that something is present.
    pub(super) fn is_presence(&self) -> bool {
        self.reading == ValueFormat::Presence && self.map.is_empty() && self.pattern.is_none()
    }

    /// Returns whether a value that already has the field's type can be used without conversion.
    fn is_plain(&self) -> bool {
        self.map.is_empty() && self.pattern.is_none() && !matches!(self.reading, ValueFormat::Words)
    }

    /// Returns whether a value that gave no result says nothing about the field, and is therefore no error: the pattern
    /// does not match, the words do not mention the field, the diagnostic has no class, or the second of two areas is no
    /// plot.
    pub(crate) fn may_be_silent(&self, value: &Value) -> bool {
        let is_found = match (&self.pattern, value) {
            (Some(pattern), Value::String(text)) => pattern.is_match(text),
            (Some(pattern), Value::Number(number)) => pattern.is_match(&number.to_string()),
            (Some(pattern), Value::Array(items)) => {
                let mut texts = items.iter().filter_map(Value::as_str);
                texts.any(|text| pattern.is_match(text))
            }
            _ => true,
        };
        let asks = self.reading == ValueFormat::Words && self.is_reading_named
            || self.field.kind == AdvertFieldKind::Flag && !self.map.is_empty();
        // Two areas of which the second is not larger name no plot.
        let has_no_plot = self.field.name == LAND
            && value
                .as_str()
                .is_some_and(|text| quantity::two_areas(text, self.lone).is_some());
        let is_class = matches!(
            self.reading,
            ValueFormat::EnergyClass | ValueFormat::ClimateClass
        );
        let has_no_class = is_class && value.as_str().and_then(words::energy_class) == Some("");
        asks || !is_found || has_no_plot || has_no_class
    }

    fn read_items(&self, items: &[Value]) -> Option<Value> {
        match self.field.kind {
            AdvertFieldKind::List => {
                let values = items.iter().flat_map(|item| match self.item(item) {
                    Some(Value::Array(values)) => values,
                    Some(value) => vec![value],
                    None => Vec::new(),
                });
                let values: Vec<Value> = values.collect();
                (!values.is_empty()).then_some(Value::Array(values))
            }
            AdvertFieldKind::Position => {
                let [one, other] = items else { return None };
                let number = |value: &Value| match value {
                    Value::String(text) => plain_number(text, self.decimal),
                    value => value.as_f64(),
                };
                let (one, other) = (number(one)?, number(other)?);
                let position = match self.reading {
                    ValueFormat::LatLng => json!([other, one]),
                    _ => json!([one, other]),
                };
                Some(position).filter(|value| self.field.fits(value))
            }
            // Reads a list as one text of several lines, for example for a flag set by words in it.
            _ => {
                let texts = items.iter().filter_map(|item| match item {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(_) | Value::Bool(_) => Some(item.to_string()),
                    _ => None,
                });
                let texts: Vec<String> = texts.collect();
                self.read_text(&texts.join("\n"))
            }
        }
    }

    /// Returns the value of one item of a list.
    fn item(&self, item: &Value) -> Option<Value> {
        let fits = |value: &Value| self.field.fits(&json!([value]));
        match item {
            Value::String(text) => {
                let text = self.matched(text)?;
                if let Some(value) = self.mapped(text) {
                    return Some(value);
                }
                if !self.map.is_empty() && !self.is_reading_named {
                    return None;
                }
                cleaned(text).filter(fits)
            }
            Value::Null => None,
            // For a picture with further fields, such as a caption, only its URL is used.
            Value::Object(fields) if self.field.name == IMAGES && !fits(item) => {
                fields.get("url").cloned().filter(fits)
            }
            value => Some(value.clone()).filter(fits),
        }
    }

    /// Returns the text that the pattern captures, or the whole text if there is no pattern, trimmed; `None` if the
    /// pattern does not match or the result is empty.
    fn matched<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = match &self.pattern {
            None => text,
            Some(pattern) => {
                let found = pattern.captures(text)?;
                let group = found.iter().skip(1).flatten().next();
                group.or_else(|| found.get(0))?.as_str()
            }
        };
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    /// Returns the value of the phrase that equals the text, otherwise of the longest phrase that the text contains.
    fn mapped(&self, text: &str) -> Option<Value> {
        if self.map.is_empty() {
            return None;
        }
        let whole = phrase(text);
        let is_whole = self.map.iter().find(|(phrase, _)| *phrase == whole);
        let contained = || {
            let mut phrases = self.map.iter();
            phrases
                .find(|(phrase, _)| !phrase.is_empty() && page_kind::contains_any(text, &[phrase]))
        };
        is_whole.or_else(contained).map(|(_, value)| value.clone())
    }

    fn converted(&self, text: &str) -> Option<Value> {
        if !self.map.is_empty() && !self.is_reading_named {
            return None;
        }
        // A value as the contract writes it, such as `CLASS_FLAT`.
        if self.field.kind == AdvertFieldKind::Text
            && !self.is_reading_named
            && self.field.fits(&json!(text))
        {
            return cleaned(text);
        }
        let scaled = |number: Option<f64>| number.map(|number| json!(number * self.scale));
        let plain = || plain_number(text, self.decimal);
        match self.reading {
            ValueFormat::Text => cleaned(text),
            ValueFormat::Html => {
                let tidied = tidy::tidy(text);
                let read = document::walk(&Html::parse_document(&tidied.html)).text;
                cleaned(&read)
            }
            ValueFormat::Amount => {
                let text = without_discount(text);
                let amount = quantity::euros(&text, separator(self.decimal));
                scaled(amount.or_else(|| self.amount_with_words(&text)))
            }
            ValueFormat::Area => {
                let lone = separator(self.decimal).or(self.lone);
                if let Some((first, second)) = quantity::two_areas(text, lone) {
                    return scaled(self.one_of_areas(first, second));
                }
                let area = quantity::square_metres(text, lone);
                scaled(area.or_else(|| area_with_words(text)))
            }
            ValueFormat::Number => scaled(match self.lone {
                Some(lone) if number::has_two_readings(text) => number::read(text, lone),
                _ => plain()
                    .or_else(|| self.number_with_words(text))
                    .or_else(|| self.rooms(text)),
            }),
            ValueFormat::Floor => {
                let storey = words::storey(text).map(|storey| storey as f64);
                let floor = storey.or_else(plain).or_else(|| french::floor(text));
                floor.map(|floor| json!(floor))
            }
            ValueFormat::EnergyClass => energy_class("ENERGY_CLASSIFICATION_", text),
            ValueFormat::ClimateClass => energy_class("GREENHOUSE_CLASSIFICATION_", text),
            ValueFormat::Presence => {
                Some(json!(!words::NO.contains(&text.to_lowercase().as_str())))
            }
            ValueFormat::Flag => words::flag(text).map(|flag| json!(flag)),
            ValueFormat::Date => dates::read(text, &self.formats).map(|moment| json!(moment)),
            // Lists are read item by item before this.
            ValueFormat::List => None,
            ValueFormat::LatLng | ValueFormat::LngLat => {
                let items = list(text).unwrap_or_else(|| pair(text));
                self.read_items(&items)
            }
            ValueFormat::Words if self.field.name == FLOOR => {
                french::only_floor(text).map(|floor| json!(floor))
            }
            ValueFormat::Words if self.field.name == DISTRICT => {
                places::quarter(text).map(|(quarter, _)| json!(quarter))
            }
            ValueFormat::Words => {
                let mut findings = PageFindings::default();
                french::read(text, TextTrust::Own, &mut findings, FieldOrigin::Text);
                let found = findings.get(&self.field.name).cloned();
                found.or_else(|| match self.field.name.as_str() {
                    CLASS => first_class(text).map(|class| json!(class.as_str())),
                    OFFER => words::offer(text).map(|offer| json!(offer)),
                    _ => None,
                })
            }
        }
    }
}

/// Returns whether a cell names an offer: `Vente`, `Loc.`.
pub(crate) fn names_offer(text: &str) -> bool {
    let mut findings = PageFindings::default();
    french::read(text, TextTrust::Own, &mut findings, FieldOrigin::Text);
    findings.get(OFFER).is_some() || words::offer(text).is_some()
}

/// Returns a text as a value, with its white space normalised; `None` if it is empty.
fn cleaned(text: &str) -> Option<Value> {
    Some(clean(json!(text))).filter(|value| value != "")
}

/// Reads a number among other words, but not an area that can be read in two ways.
fn area_with_words(text: &str) -> Option<f64> {
    match quantity::square_metres(text, Some(LoneSeparator::French)) {
        Some(_) => None,
        None => french::area(text),
    }
}

/// Returns the energy or climate class in a text, whose code has this beginning.
fn energy_class(start: &str, text: &str) -> Option<Value> {
    french::energy_class(text).map(|class| json!(format!("{start}{class}")))
}

/// Returns the class that the first word of a text names. In a longer text than a cell, English words are not read:
/// `Office notarial : maison de village à vendre`.
fn first_class(text: &str) -> Option<AssetClass> {
    let is_cell = text.split_whitespace().count() <= CELL_WORDS_MAX;
    let first = text
        .split(|character: char| !character.is_alphanumeric())
        .find(|word| !word.is_empty());
    let first = first.map(str::to_lowercase);
    let is_english = matches!(first.as_deref(), Some("office" | "building" | "land"));
    words::asset_class(text).filter(|_| is_cell || !is_english)
}

/// Returns the default conversion of a field.
fn usual_reading(field: &AdvertField) -> ValueFormat {
    match field.name.as_str() {
        "habitation.climate.epcEnergy" => return ValueFormat::EnergyClass,
        "habitation.climate.epcClimate" => return ValueFormat::ClimateClass,
        FLOOR => return ValueFormat::Floor,
        PRICE => return ValueFormat::Amount,
        "habitation.surface.total" | LAND => return ValueFormat::Area,
        CLASS | OFFER => return ValueFormat::Words,
        _ => {}
    }
    match field.kind {
        AdvertFieldKind::Number => ValueFormat::Number,
        AdvertFieldKind::Flag => ValueFormat::Flag,
        AdvertFieldKind::Date => ValueFormat::Date,
        AdvertFieldKind::List => ValueFormat::List,
        AdvertFieldKind::Position => ValueFormat::LngLat,
        AdvertFieldKind::Text => ValueFormat::Text,
    }
}

fn pattern(text: &str) -> Result<Regex, String> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "pattern: must not exceed {PATTERN_BYTES_MAX} bytes"
        ));
    }
    regex::RegexBuilder::new(text)
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| format!("pattern {text:?}: {error}"))
}
