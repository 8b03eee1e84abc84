//! The request for a file: the operation, the columns to read and the columns to write. [`super::input_columns`] finds
//! the columns in a file.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::ResultColumn;
use super::text::{TextEncoding, parse_delimiter};
use crate::request::Operation;
use toise_contract::Fault;
use toise_contract::columns::{INSEE_CODE, address_columns, meaning, names_town};
use toise_contract::fields::given;
use toise_contract::walk::{JsonPath, list, text};

/// Maximum number of columns that a list of a request may name.
pub const COLUMNS_MAX: usize = 100;

/// Columns that make up the address if a request names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnnamedColumns {
    /// All columns, as the contract says.
    #[default]
    All,
    /// The columns named like parts of an address; all columns with a name if there are none.
    ByMeaning,
}

/// A request as given: names of columns, not yet matched with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Operation on each row.
    pub operation: Operation,
    /// Columns that make up the address, in order; `unnamed` applies if none is named.
    pub columns: Vec<String>,
    /// The columns of an address for which none is named. Not part of a body.
    #[serde(skip)]
    pub unnamed: UnnamedColumns,
    /// Whether `columns` are those whose names mean the parts of an address, and not named by the user. Not part of a
    /// body.
    #[serde(skip)]
    pub is_meant: bool,
    /// Whether `insee_code` is a column whose name means an INSEE code, and not named by the user. Not part of a body.
    #[serde(skip)]
    pub is_code_meant: bool,
    /// Result columns to append; the default ones if none is named.
    pub result_columns: Vec<String>,
    /// Column with the postal code that results must have.
    pub postal_code: Option<String>,
    /// Column of the INSEE code of the commune that results must be in.
    pub insee_code: Option<String>,
    /// Column of the kind that results must have.
    pub kind: Option<String>,
    /// Column of a latitude.
    pub lat: Option<String>,
    /// Column with the longitude.
    pub lon: Option<String>,
    /// Encoding of the file; detected if absent.
    pub encoding: Option<String>,
    /// Delimiter of the file; detected if absent.
    pub delimiter: Option<String>,
}

impl FileRequest {
    /// The names that [`Self::set`] accepts.
    pub const FIELDS: [&str; 9] = [
        "columns", "result_columns", "postcode", "citycode", "type", "lat", "lon", "encoding",
        "delimiter",
    ];

    /// The fields of a body: the operation and [`Self::FIELDS`].
    const BODY_FIELDS: [&str; 10] = {
        let mut fields = ["operation"; 10];
        let mut at = 0;
        while at < Self::FIELDS.len() {
            fields[at + 1] = Self::FIELDS[at];
            at += 1;
        }
        fields
    };

    /// Parses a JSON body.
    ///
    /// # Errors
    /// A body that is not an object, then an operation that is missing or unknown, then the first fault in document
    /// order, then the faults of [`Self::check`].
    pub fn parse(body: &Value) -> Result<Self, Fault> {
        let at = JsonPath::Body;
        let fields = given(body, &Self::BODY_FIELDS, at)?;
        let mut request = Self {
            operation: Operation::read(body.get("operation"))?,
            ..Self::default()
        };
        for field in fields {
            let (name, value) = field?;
            let here = JsonPath::Key(&at, name);
            match name {
                "operation" => {}
                "columns" | "result_columns" => {
                    for (index, item) in list(value, here)?.iter().enumerate() {
                        let item = text(item, JsonPath::Index(&here, index))?;
                        request.set(name, item.to_owned());
                    }
                }
                _ => {
                    request.set(name, text(value, here)?.to_owned());
                }
            }
        }
        request.checked()
    }

    /// Sets a form field of the contract; returns `false` if there is no field with this name. An empty value leaves
    /// the field unset. In a list of columns it counts as a column until [`Self::checked`] drops it.
    pub fn set(&mut self, name: &str, value: String) -> bool {
        let said = || Some(value.clone()).filter(|value| !value.is_empty());
        match name {
            "columns" => self.columns.push(value),
            "result_columns" => self.result_columns.push(value),
            "postcode" => self.postal_code = said(),
            "citycode" => self.insee_code = said(),
            "type" => self.kind = said(),
            "lat" => self.lat = said(),
            "lon" => self.lon = said(),
            "encoding" => self.encoding = said(),
            "delimiter" => self.delimiter = said(),
            _ => return false,
        }
        true
    }

    /// Checks a request whose fields were [set](Self::set), and drops its empty columns.
    ///
    /// # Errors
    /// Same as [`Self::check`].
    pub fn checked(mut self) -> Result<Self, Fault> {
        self.check_counts()?;
        // Empty names are checked too, because the API document says that columns are unique.
        self.check_repeated()?;
        self.columns.retain(|column| !column.is_empty());
        self.result_columns.retain(|column| !column.is_empty());
        self.check()?;
        Ok(self)
    }

    fn check_counts(&self) -> Result<(), Fault> {
        for (name, columns) in [
            ("columns", &self.columns),
            ("result_columns", &self.result_columns),
        ] {
            if columns.len() > COLUMNS_MAX {
                return Err(Fault::new(name, format!("must be at most {COLUMNS_MAX}")));
            }
        }
        Ok(())
    }

    /// Checks that each column is named once: a repeated column would lengthen each address or widen each result.
    fn check_repeated(&self) -> Result<(), Fault> {
        for (name, columns) in [
            ("columns", &self.columns),
            ("result_columns", &self.result_columns),
        ] {
            let repeated = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at]));
            if let Some(at) = repeated {
                return Err(Fault::new(
                    format!("{name}[{at}]"),
                    "must not be named twice",
                ));
            }
        }
        Ok(())
    }

    /// Checks everything that can be checked without the file.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_counts()?;
        self.check_repeated()?;
        ResultColumn::read(&self.result_columns, self.operation)?;
        self.encoding
            .as_deref()
            .map(TextEncoding::parse)
            .transpose()?;
        self.delimiter.as_deref().map(parse_delimiter).transpose()?;
        Ok(())
    }

    /// Returns the request for a file with these columns. If the request leaves the choice of address columns to their
    /// names, and the names show which they are, the result names them. If none of them has the town, the results must
    /// be in the commune of a column named like an INSEE code.
    pub fn for_header(&self, header: &[String]) -> Cow<'_, Self> {
        let is_open = self.unnamed == UnnamedColumns::ByMeaning
            && self.operation == Operation::Search
            && self.columns.is_empty();
        if !is_open {
            return Cow::Borrowed(self);
        }
        let columns = address_columns(header.iter().map(String::as_str));
        if columns.is_empty() {
            return Cow::Borrowed(self);
        }
        let columns = columns.into_iter().map(|column| header[column].clone());
        let columns: Vec<String> = columns.collect();
        let mut insee_code = self.insee_code.clone();
        let has_town = columns.iter().any(|name| names_town(name));
        if insee_code.is_none() && self.postal_code.is_none() && !has_town {
            insee_code = column_of(header, INSEE_CODE);
        }
        Cow::Owned(Self {
            columns,
            is_meant: true,
            is_code_meant: self.is_code_meant || insee_code != self.insee_code,
            insee_code,
            ..self.clone()
        })
    }

    /// Returns the columns to append.
    ///
    /// # Errors
    /// A name is not a result column.
    pub fn appended(&self) -> Result<Vec<ResultColumn>, Fault> {
        if self.result_columns.is_empty() {
            Ok(ResultColumn::defaults(self.operation))
        } else {
            ResultColumn::read(&self.result_columns, self.operation)
        }
    }
}

/// Returns the column whose name has this meaning.
fn column_of(header: &[String], field: &str) -> Option<String> {
    let ranked = header.iter().filter_map(|name| {
        let found = meaning(name).filter(|found| found.field == field)?;
        Some((found.rank, name))
    });
    let first = ranked.min_by_key(|(rank, _)| *rank);
    first.map(|(_, name)| name.clone())
}
