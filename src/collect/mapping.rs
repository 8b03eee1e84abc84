//! Mappings: rules that turn the rows of a file or of a request body into adverts.
//!
//! A mapping is a TOML file in the language of a portal's rules ([`crate::portals`]): the same fields, conversions and
//! value maps, with a column or a JSON path in place of a selector. `toise ingest --mapping` and ingestion over HTTP
//! use mappings. Those in `data/mappings/` are compiled into the executable. A file in `<data>/mappings/` replaces the
//! one of the same name, or adds another.
//!
//! If a file of adverts uses another name for a column, the column is found by its meaning (`names`). All mappings
//! share one table of names.
//!
//! Rules are tried in the order of the file, and each field takes its value from the first rule that finds one. A value
//! that the field does not accept is left out and reported; the advert is kept.

pub mod copies;
mod embedded;
mod location;
mod names;
mod records;
mod row;
mod rule;
pub mod suggest;

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::portals::value::RuleSpec;
use crate::portals::{Error, Portals, load_files};
use embedded::EMBEDDED;
use names::{NamedRow, OtherNames, OwnNames};
pub use records::Record;
pub use row::{Row, RowPath};
use rule::{RowFinding, RowRule};
use toise_contract::Fault;
use toise_contract::listings::advert_field::AdvertField;
use toise_input::FileForm;
use toise_input::number::{FileDecimals, LoneSeparator};
use toise_input::reading::ColumnUse;
use toise_listings::adverts::left_out::LeftOut;
use toise_page::findings::PRICE;
use url::Url;

/// Folder of an operator's own mappings, in the data folder.
pub const FOLDER: &str = "mappings";
/// Field that identifies the advert.
const URL: &str = "url";

/// A mapping as written in its file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MappingFile {
    name: Option<String>,
    records: Option<String>,
    encoding: Option<String>,
    delimiter: Option<String>,
    empty: Vec<String>,
    field: Vec<RuleSpec>,
}

/// Rules that turn rows into adverts.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// Name of its file; empty if it was made from single columns.
    pub file: String,
    /// Path of the records in a JSON or XML document; `None` for the document itself.
    pub records: Option<RowPath>,
    /// Encoding of a file that is not UTF-8.
    pub encoding: Option<String>,
    /// Delimiter of a CSV file.
    pub delimiter: Option<String>,
    source: Option<String>,
    empty: Vec<String>,
    rules: Vec<RowRule>,
    /// The columns that the rules name.
    own: OwnNames,
}

/// Field of the class.
const CLASS: &str = "type";
/// Warning that the leading zero of a code was restored.
const ZERO_RESTORED: &str = "the leading zero of a code of four digits was restored";

/// The advert made from a row.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedAdvert {
    /// The advert; the contract accepts every field of it.
    pub advert: Value,
    /// The values that were left out of it.
    pub left_out: Vec<LeftOut>,
    /// Corrections that were made to it.
    pub warnings: Vec<&'static str>,
    /// A class cell that names no known class; `None` if another column gives the class.
    pub unread_class: Option<UnreadClass>,
}

/// A class cell that names no known class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadClass {
    /// Its column.
    pub column: String,
    /// The cell.
    pub value: String,
}

impl MappedAdvert {
    /// Returns the fault of an essential value that was left out: without it, the row would describe another advert or
    /// another time.
    pub fn fault(&self) -> Option<Fault> {
        let essential = self.left_out.iter().find(|one| one.is_essential());
        essential.map(LeftOut::fault)
    }
}

impl Mapping {
    /// Reads a mapping from the text of its file.
    ///
    /// # Errors
    /// The file is not a valid mapping; the message names the file and the position in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let refuse = |fault: String| Error::new(file, fault);
        let written: MappingFile =
            toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        let records = written.records.as_deref().map(RowPath::parse).transpose();
        let rules = written.field.iter().enumerate().map(|(place, rule)| {
            RowRule::new(rule).map_err(|fault| refuse(format!("field[{place}]: {fault}")))
        });
        let mapping = Self {
            file: file.to_owned(),
            records: records.map_err(|fault| refuse(format!("records: {fault}")))?,
            encoding: written.encoding,
            delimiter: written.delimiter,
            source: written.name,
            empty: written.empty,
            ..Self::from_rules(rules.collect::<Result<_, _>>()?)
        };
        if mapping.has_rule_for(URL) {
            Ok(mapping)
        } else {
            Err(refuse("needs a [[field]] with path = \"url\"".into()))
        }
    }

    /// Reads the mapping in a file.
    ///
    /// # Errors
    /// As for [`Mapping::parse`], or the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let text = crate::portals::read_file(path)?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Creates a mapping from pairs of a field and its column.
    ///
    /// # Errors
    /// A field does not exist in an advert, or a column is not a valid path.
    pub fn from_columns<'p>(
        pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> Result<Self, String> {
        let rules = pairs.into_iter().map(|(field, column)| {
            // Checked here because this fault lists the existing fields.
            AdvertField::parse(field).map_err(|fault| fault.to_string())?;
            RowRule::of_column(field, column)
        });
        Ok(Self::from_rules(rules.collect::<Result<_, _>>()?))
    }

    fn from_rules(rules: Vec<RowRule>) -> Self {
        let names = rules.iter().flat_map(RowRule::paths);
        Self {
            own: OwnNames::new(names),
            rules,
            ..Self::default()
        }
    }

    /// Adds constants, given to rows that have no other value for a field. `pairs` are fields and constants, written as
    /// in a cell.
    ///
    /// # Errors
    /// A field does not exist in an advert, or does not accept its value.
    pub fn with_constants<'p>(
        mut self,
        pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> Result<Self, String> {
        for (field, value) in pairs {
            self.rules.push(RowRule::of_constant(field, value)?);
        }
        Ok(self)
    }

    /// Adds the constants to an advert in the contract's shape, for fields that have no value yet.
    pub fn fill(&self, advert: &mut Value) {
        for rule in &self.rules {
            if let Some(value) = rule.constant()
                && !rule.value.field.is_in(advert)
            {
                rule.value.field.put(advert, value.clone());
            }
        }
    }

    /// Returns a mapping with the rules of another one before its own.
    pub fn after(mut self, mut first: Self) -> Self {
        first.rules.append(&mut self.rules);
        first.own.append(std::mem::take(&mut self.own));
        Self {
            rules: first.rules,
            own: first.own,
            ..self
        }
    }

    /// Returns whether the mapping was read from a file.
    pub fn is_from_file(&self) -> bool {
        !self.file.is_empty()
    }

    /// Returns whether there is a rule for a field.
    pub fn has_rule_for(&self, field: &str) -> bool {
        self.rules.iter().any(|rule| rule.value.field.name == field)
    }

    /// Returns the columns and paths that the mapping reads.
    pub fn paths(&self) -> impl Iterator<Item = &RowPath> {
        self.rules.iter().flat_map(RowRule::paths)
    }

    /// Returns the columns of a header that the mapping reads, under any of their names.
    pub fn columns<'h>(&self, header: &'h [String]) -> Vec<&'h str> {
        let read = self.fields_read(header).into_iter();
        read.map(|(_, place)| header[place].as_str()).collect()
    }

    /// Returns the fields of the rules that a header can fill, each with the place of a column that its rule reads.
    fn fields_read(&self, header: &[String]) -> Vec<(&str, usize)> {
        let others = OtherNames::new(header.iter().map(String::as_str), &self.own);
        let mut read = Vec::new();
        let can_be_filled = |rule: &&RowRule| self.can_be_filled(rule, header, &others);
        for rule in self.rules.iter().filter(can_be_filled) {
            let field = rule.value.field.name.as_str();
            for path in rule.paths() {
                let exact = (0..header.len()).filter(|place| path.uses(&header[*place]));
                let before = read.len();
                read.extend(exact.map(|place| (field, place)));
                if read.len() == before
                    && let Some(other) = others.find(path)
                {
                    let place = header.iter().position(|column| column == other);
                    read.extend(place.map(|place| (field, place)));
                }
            }
        }
        read
    }

    /// Returns the columns of a header that the mapping reads, in the order of the header, with their fields.
    pub fn columns_used(&self, header: &[String]) -> Vec<ColumnUse> {
        let mut fields: Vec<Vec<&str>> = vec![Vec::new(); header.len()];
        for (field, place) in self.fields_read(header) {
            if !fields[place].contains(&field) {
                fields[place].push(field);
            }
        }
        let columns = header.iter().zip(fields);
        columns
            .filter(|(_, fields)| !fields.is_empty())
            .map(|(column, fields)| ColumnUse {
                column: column.clone(),
                field: fields.join(" and "),
            })
            .collect()
    }

    /// Returns whether a header has the columns that a rule requires.
    fn can_be_filled(
        &self,
        rule: &RowRule,
        header: &[String],
        others: &OtherNames<'_, '_>,
    ) -> bool {
        rule.required_paths().into_iter().all(|path| {
            let is_there = header.iter().any(|column| path.uses(column));
            is_there || others.find(path).is_some() || path.folded.is_none()
        })
    }

    /// Creates an empty record of how the columns of a file write numbers, to be filled by [`Mapping::observe`].
    pub fn decimals(&self, form: &FileForm) -> FileDecimals {
        FileDecimals::new(self.rules.len(), form)
    }

    /// Adds the numbers of a row to `decimals`.
    pub fn observe(&self, row: &Row, decimals: &mut FileDecimals) {
        let row = NamedRow::new(row, &self.own);
        for (place, rule) in self.rules.iter().enumerate() {
            rule.observe(&row, &self.empty, place, decimals);
        }
    }

    /// Makes the rules read numbers in the notation of the file's columns. With `is_text`, numbers that stay ambiguous
    /// are left out.
    pub fn set_decimals(&mut self, decimals: &FileDecimals, is_text: bool) {
        for (place, rule) in self.rules.iter_mut().enumerate() {
            let lone = decimals.lone_separator(place);
            if rule.value.reads_numbers() && (is_text || lone != LoneSeparator::Unknown) {
                rule.value.set_lone_separator(lone);
            }
        }
    }

    /// Returns whether every cell of a row is empty, as in separator rows.
    pub fn is_blank(&self, row: &Row) -> bool {
        row.values().all(|value| rule::is_empty(value, &self.empty))
    }

    /// Converts a row to an advert. If the mapping comes from a file and has a rule for the price, a row without a
    /// price means "price on request". If no rule gives the source, it is the one that the mapping's file names, or
    /// otherwise the portal of the URL. A quarter that is only the name of the town is dropped.
    pub fn read(&self, row: &Row, portals: &Portals) -> MappedAdvert {
        let row = NamedRow::new(row, &self.own);
        let mut advert = Value::Object(Map::new());
        let mut given: Vec<&str> = Vec::with_capacity(self.rules.len());
        let mut unfit: Vec<(&str, LeftOut)> = Vec::new();
        let mut items_left_out = Vec::new();
        let mut warnings = Vec::new();
        let mut is_code_restored = false;
        let mut unread_class = None;
        for rule in &self.rules {
            let field = &rule.value.field;
            if given.contains(&field.name.as_str()) {
                continue;
            }
            let finding = rule.find(&row, &advert, &self.empty);
            if field.name == CLASS && rule.constant().is_none() {
                match finding {
                    RowFinding::Value(_) => unread_class = None,
                    RowFinding::Nothing if unread_class.is_none() => {
                        unread_class = rule.class_cell(&row, &self.empty);
                    }
                    _ => {}
                }
            }
            match finding {
                RowFinding::Nothing => {}
                // Without its URL, the row gives no advert.
                RowFinding::Incomplete { column } if field.name == URL => {
                    let reason = format!(
                        "needs a value in column {column}; if it has none, write that part into the template of a copy of \
                         the mapping"
                    );
                    unfit.push((&field.name, LeftOut::new(URL, reason, &json!(""))));
                }
                RowFinding::Incomplete { .. } => {}
                RowFinding::Value(value) => {
                    field.put(&mut advert, value);
                    given.push(&field.name);
                }
                RowFinding::WithoutItems {
                    column,
                    value,
                    left_out,
                } => {
                    field.put(&mut advert, value);
                    given.push(&field.name);
                    let reason = format!(
                        "{} of its items cannot be read from column {column}",
                        left_out.len()
                    );
                    let left_out = Value::Array(left_out);
                    items_left_out.push(LeftOut::new(&field.name, reason, &left_out));
                }
                RowFinding::ZeroRestored(value) => {
                    field.put(&mut advert, value);
                    given.push(&field.name);
                    warnings.push(ZERO_RESTORED);
                    is_code_restored |= field.name == location::POSTAL_CODE;
                }
                RowFinding::Unfit { column, value } => {
                    if !unfit.iter().any(|(name, _)| *name == field.name) {
                        let reason = format!("cannot be read from column {column}");
                        unfit.push((&field.name, LeftOut::new(&field.name, reason, &value)));
                    }
                }
            }
        }
        if self.is_from_file() && self.has_rule_for(PRICE) && !given.contains(&PRICE) {
            advert["currentPrice"]["value"] = Value::Null;
        }
        if advert.get("source").is_none()
            && let Some(source) = self.source_of(&advert, portals)
        {
            advert["source"] = json!(source);
        }
        if is_code_restored && let Some(left_out) = location::drop_foreign_code(&mut advert) {
            warnings.pop();
            items_left_out.push(left_out);
        }
        location::move_quarter(&mut advert);
        location::drop_town_as_district(&mut advert);
        location::join_arrondissement(&mut advert);
        unfit.retain(|(name, _)| !given.contains(name));
        MappedAdvert {
            advert,
            left_out: unfit
                .into_iter()
                .map(|(_, left_out)| left_out)
                .chain(items_left_out)
                .collect(),
            warnings,
            unread_class: unread_class.map(|(column, value)| UnreadClass {
                column: column.to_owned(),
                value: match value.as_ref() {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                },
            }),
        }
    }

    /// Converts a row of a body to an advert, like [`Mapping::read`].
    ///
    /// # Errors
    /// The row is not an object, or an essential value was left out, without which the row would describe another
    /// advert or another time.
    pub fn convert(&self, row: Value, portals: &Portals) -> Result<MappedAdvert, Fault> {
        let Value::Object(row) = row else {
            return Err(Fault::new("", "must be an object"));
        };
        let mapped = self.read(&row, portals);
        mapped.fault().map_or(Ok(mapped), Err)
    }

    fn source_of(&self, advert: &Value, portals: &Portals) -> Option<String> {
        if !self.is_from_file() || self.source.is_some() {
            return self.source.clone();
        }
        let url = Url::parse(advert[URL].as_str()?).ok()?;
        Some(portals.source(url.host_str()?))
    }
}

/// All mappings by name.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    all: Vec<(String, Mapping)>,
}

impl Mappings {
    /// Loads the mappings of the executable, and those of a data folder, which take precedence.
    ///
    /// # Errors
    /// The first invalid file, with its name and the position of the error.
    pub fn load(data: &Path) -> Result<Self, Error> {
        let files = load_files(&EMBEDDED, "data/mappings", &data.join(FOLDER))?;
        let all = files.iter().map(|(name, file, text)| {
            let name = name.strip_suffix(".toml").unwrap_or(name);
            Ok((name.to_owned(), Mapping::parse(file, text)?))
        });
        let mut all: Vec<(String, Mapping)> = all.collect::<Result<_, Error>>()?;
        all.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self { all })
    }

    /// Returns the mapping of a name.
    ///
    /// # Errors
    /// No mapping has this name; the fault lists the existing names.
    pub fn get(&self, name: &str) -> Result<&Mapping, Fault> {
        let found = self.all.iter().find(|(known, _)| known == name);
        found.map(|(_, mapping)| mapping).ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|(name, _)| name.as_str()).collect();
            Fault::new("mapping", format!("must be one of: {}", names.join(", ")))
        })
    }

    /// Returns names and files of all mappings, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all
            .iter()
            .map(|(name, mapping)| (name.as_str(), mapping.file.as_str()))
    }
}

#[cfg(test)]
mod tests;
