//! The file of homes: reads what an account sent, in any format that bulk estimates read, and writes it as Parquet.
//!
//! Every column is text, as it was sent, under the names that portfolios of bulk estimates have. A row that cannot be
//! valued is kept with its fault; a file that is not a portfolio is refused.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use chrono::NaiveDate;

use crate::error::{Error, Result};
use crate::limits::HOMES_MAX;
use toise_base::formula::Formulas;
use toise_base::progress::Progress;
use toise_contract::Fault;
use toise_contract::columns::{STREET, looks_like_street};
use toise_contract::fields::FieldKind;
use toise_estimate::Home;
use toise_estimate::request::fields::{
    HomeField, HomeInput, INSTEAD_OF_POSITION, POSITION_COLUMNS, REQUIRED_COLUMNS, columns,
};
use toise_estimate::request::parse_cells;
use toise_geocode::resolve::PostalAddress;
use toise_opendata::portfolio::{
    self, ADDRESS_COLUMNS, ADDRESS_FIELDS, AddressColumns, InputRows, OpenPortfolio, Portfolio,
    PortfolioOutput, RowFault,
};
use toise_opendata::source::cell::place_code;

/// Maximum faulty rows that are named.
const FAULTS_MAX: usize = 100;
/// Columns that hold the key of a home; the first one present is used.
const KEYS: [&str; 2] = ["key", "id"];
/// Maximum bytes of a key.
const KEY_BYTES_MAX: usize = 200;
/// A position in France that stands for an address that is not located yet: latitude and longitude.
const PLACEHOLDER_POSITION: (f64, f64) = (46.6, 2.4);
/// Index of the column with the key.
const KEY: usize = 0;
/// Index of the column with the fault of a row; empty without one.
const FAULT: usize = 1;
/// Index of the first column that describes the home; the parts of its address follow.
const CELLS: usize = 2;
/// Index of the line with number and street among [`ADDRESS_FIELDS`].
const LINE: usize = 0;
/// Index of the postal code among [`ADDRESS_FIELDS`].
const POSTCODE: usize = 1;
/// Index of the other column of the postal code among [`ADDRESS_FIELDS`], used in rows without the first.
const POSTAL_CODE: usize = 2;
/// Index of the INSEE code among [`ADDRESS_FIELDS`]: the last, because files of older versions do not have it.
const INSEE_CODE: usize = ADDRESS_FIELDS.len() - 1;

/// The fields of a home that are read. There is no valuation date: homes are always valued as of today.
static FIELDS: LazyLock<Vec<&'static HomeField>> = LazyLock::new(|| {
    columns()
        .filter(|field| field.input != HomeInput::Date)
        .collect()
});

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let described = FIELDS.iter().map(|field| field.column);
    let names = ["key", "fault"]
        .into_iter()
        .chain(described)
        .chain(ADDRESS_FIELDS);
    let fields: Vec<Field> = names
        .map(|name| Field::new(name, DataType::Utf8, false))
        .collect();
    Arc::new(Schema::new(fields))
});

/// A row that cannot be valued as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeFault {
    /// Number of the row, from 1.
    pub row: u64,
    /// Its key.
    pub key: String,
    /// The field and what is wrong with it.
    pub message: String,
}

/// Result of receiving a file of homes.
#[derive(Debug, Default)]
pub(super) struct ReceivedHomes {
    /// Number of rows.
    pub homes: u64,
    /// Number of rows that cannot be valued.
    pub faulty: u64,
    /// The first of these rows.
    pub faults: Vec<HomeFault>,
    /// Warnings about columns that were not read.
    pub warnings: Vec<String>,
}

/// Data of the rows of a block that are compared with all other rows.
#[derive(Default)]
struct BlockNotes {
    /// Digests of the keys, by row.
    keys: Vec<([u8; 16], String)>,
    faulty: u64,
    faults: Vec<HomeFault>,
    /// Rows whose address has a town and no street.
    by_town: u64,
    first_row: u64,
}

fn portfolio_of(input: PathBuf) -> Portfolio {
    let names = FIELDS.iter().map(|field| field.column.to_owned());
    let fields: Vec<String> = names.chain(ADDRESS_COLUMNS.map(str::to_owned)).collect();
    let is_number = |field: &&&HomeField| {
        matches!(
            field.field.kind,
            FieldKind::Between(..) | FieldKind::Integer(..)
        )
    };
    let numbers = FIELDS
        .iter()
        .filter(is_number)
        .map(|field| field.column.to_owned());
    Portfolio {
        input,
        row_noun: "a home".into(),
        inferable: fields.clone(),
        fields,
        only_if_named: ADDRESS_COLUMNS.map(str::to_owned).to_vec(),
        numbers: numbers.collect(),
        renames: Vec::new(),
        keys: Vec::new(),
        default_keys: &KEYS,
    }
}

/// Reads a file of homes and writes it as Parquet. Returns once the output is durable. Computes on the global rayon
/// pool.
///
/// # Errors
/// The file is not a portfolio, two homes have the same key, or the output cannot be written.
pub(super) fn receive(input: &Path, output: &Path, today: NaiveDate) -> Result<ReceivedHomes> {
    let portfolio = portfolio_of(input.to_owned());
    let refused = |error: portfolio::Error| refusal(input, error);
    let opened = OpenPortfolio::new(&portfolio).map_err(refused)?;
    let plan =
        ColumnPlan::new(&opened).map_err(|message| Error::from(Fault::new("body", message)))?;
    let unread = opened.columns.ignored.clone();
    let file = PortfolioOutput::create(output, &SCHEMA, Formulas::Kept)?;
    let mut received = ReceivedHomes::default();
    let mut by_town = 0;
    let mut rows_by_key: HashMap<[u8; 16], u64> = HashMap::new();
    let mut refused_row: Option<Fault> = None;
    let answer = move |rows: &InputRows| plan.block(rows, today);
    let count = |notes: BlockNotes| {
        for (place, (digest, key)) in notes.keys.into_iter().enumerate() {
            let row = notes.first_row + place as u64;
            received.homes += 1;
            match rows_by_key.entry(digest) {
                Entry::Vacant(place) => drop(place.insert(row)),
                Entry::Occupied(known) if refused_row.is_none() => {
                    let message = format!("{key:?} is the key of row {}, too", known.get());
                    refused_row = Some(Fault::new(format!("row {row}: key"), message));
                }
                Entry::Occupied(_) => {}
            }
        }
        by_town += notes.by_town;
        received.faulty += notes.faulty;
        let room = FAULTS_MAX - received.faults.len();
        received.faults.extend(notes.faults.into_iter().take(room));
    };
    portfolio::run(&portfolio, opened, file, Progress::silent(), answer, count).map_err(refused)?;
    if let Some(fault) = refused_row {
        return Err(fault.into());
    }
    if received.homes == 0 {
        return Err(Fault::new("body", "must hold at least one home").into());
    }
    received.warnings = street_warnings(&unread, by_town);
    Ok(received)
}

/// Returns a warning for each unread column that looks like a street; none if `by_town`, the number of rows with a town
/// and no street, is 0.
fn street_warnings(unread: &[String], by_town: u64) -> Vec<String> {
    if by_town == 0 {
        return Vec::new();
    }
    let streets = unread.iter().filter(|column| looks_like_street(column));
    let warnings = streets.map(|column| {
        format!(
            "rows located by their town alone: {by_town}; the column {column:?} was not read; if it holds the street, \
             name it {STREET}"
        )
    });
    warnings.collect()
}

/// Returns the fault of a file that is not a portfolio, without the path of the file on this machine.
fn refusal(input: &Path, error: portfolio::Error) -> Error {
    match error {
        portfolio::Error::Option(_) | portfolio::Error::Input(_) => {
            let message = error
                .to_string()
                .replace(&*input.display().to_string(), "the file");
            Fault::new("body", message).into()
        }
        other => other.into(),
    }
}

/// The columns of a file.
struct ColumnPlan {
    columns: portfolio::PortfolioColumns,
    /// Input column of each field of [`FIELDS`] and [`ADDRESS_FIELDS`].
    cells: Vec<Option<usize>>,
    /// Input columns of addresses.
    addresses: AddressColumns,
}

impl ColumnPlan {
    fn new(opened: &OpenPortfolio) -> std::result::Result<Self, String> {
        let mut cells = vec![None; FIELDS.len() + ADDRESS_COLUMNS.len()];
        for (column, field) in &opened.columns.fields {
            cells[*field] = Some(*column);
        }
        if opened.columns.keys.is_empty() {
            let names = opened.names.join(", ");
            return Err(format!(
                "the file has no column {}, which names each home; it has {names}",
                KEYS.join(" or ")
            ));
        }
        let of_address = ADDRESS_COLUMNS.iter().zip(cells.split_off(FIELDS.len()));
        let of_address: Vec<(usize, &str)> = of_address
            .filter_map(|(name, column)| Some((column?, *name)))
            .collect();
        let addresses = AddressColumns::find(of_address.iter().copied());
        let column = |name: &str| {
            let found = of_address.iter().find(|(_, known)| *known == name);
            found.map(|(column, _)| *column)
        };
        cells.extend(ADDRESS_FIELDS.map(column));
        let has_address = addresses.are_given();
        for (field, column) in FIELDS.iter().zip(&cells) {
            let is_required = REQUIRED_COLUMNS.contains(&field.column);
            let may_be_address = has_address && POSITION_COLUMNS.contains(&field.column);
            if is_required && column.is_none() && !may_be_address {
                let instead = if POSITION_COLUMNS.contains(&field.column) {
                    INSTEAD_OF_POSITION
                } else {
                    ""
                };
                return Err(format!(
                    "the file has no column {}, which every home needs{instead}; it has {}",
                    field.column,
                    opened.columns.listed()
                ));
            }
        }
        Ok(Self {
            columns: opened.columns.clone(),
            cells,
            addresses,
        })
    }

    fn block(
        &self,
        rows: &InputRows,
        today: NaiveDate,
    ) -> std::result::Result<(RecordBatch, BlockNotes), portfolio::Error> {
        let count = rows.block.len();
        if rows.first_row + count as u64 > HOMES_MAX + 1 {
            let message = format!("a portfolio may hold at most {HOMES_MAX} homes");
            return Err(portfolio::Error::Option(message));
        }
        let mut built: Vec<StringBuilder> = Vec::new();
        built.resize_with(SCHEMA.fields().len(), StringBuilder::new);
        let mut notes = BlockNotes {
            first_row: rows.first_row,
            ..BlockNotes::default()
        };
        let addresses = self.addresses.of_block(&rows.block);
        for row in 0..count {
            let number = rows.first_row + row as u64;
            let key = self
                .columns
                .key(&rows.block, row)
                .next()
                .unwrap_or_default()
                .trim();
            if key.is_empty() || key.len() > KEY_BYTES_MAX {
                let message = format!("row {number}: key: must be 1 to {KEY_BYTES_MAX} bytes long");
                return Err(portfolio::Error::Option(message));
            }
            let cell = |column: Option<usize>| {
                column.map_or("", |column| rows.block.cell(row, column).trim())
            };
            let other_code = place_code(cell(self.cells[FIELDS.len() + POSTAL_CODE]));
            let mut cells: Vec<&str> = self.cells.iter().map(|column| cell(*column)).collect();
            // Number and street are stored in one line, from whichever columns they come, and codes with their zeros.
            let address = addresses.of_row(row);
            let of_address = &mut cells[FIELDS.len()..];
            of_address[LINE] = address.address;
            of_address[POSTCODE] = address.postal_code;
            of_address[POSTAL_CODE] = &other_code;
            of_address[INSEE_CODE] = address.insee_code;
            let home = HomeCells {
                key,
                fault: "",
                cells: &cells,
            };
            let located = home.address();
            notes.by_town += u64::from(located.is_some_and(|found| found.address.is_empty()));
            let unreadable = rows.faults.get(&row).cloned();
            let fault = unreadable.or_else(|| home.fault(today));
            if let Some(message) = &fault {
                notes.faulty += 1;
                if notes.faults.len() < FAULTS_MAX {
                    notes.faults.push(HomeFault {
                        row: number,
                        key: key.to_owned(),
                        message: message.clone(),
                    });
                }
            }
            let mut digest = [0; 16];
            digest.copy_from_slice(&blake3::hash(key.as_bytes()).as_bytes()[..16]);
            notes.keys.push((digest, key.to_owned()));
            built[KEY].append_value(key);
            built[FAULT].append_value(fault.unwrap_or_default());
            for (column, cell) in built[CELLS..].iter_mut().zip(cells) {
                column.append_value(cell);
            }
        }
        let columns: Vec<ArrayRef> = built
            .iter_mut()
            .map(|column| Arc::new(column.finish()) as ArrayRef)
            .collect();
        Ok((RecordBatch::try_new(Arc::clone(&SCHEMA), columns)?, notes))
    }
}

/// One home as it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct HomeCells<'c> {
    /// Its key.
    pub key: &'c str,
    /// Why it cannot be valued; empty if it can.
    pub fault: &'c str,
    /// Its cells: [`FIELDS`], then [`ADDRESS_FIELDS`].
    cells: &'c [&'c str],
}

impl<'c> HomeCells<'c> {
    /// Returns the address by which the home has to be located; `None` if it has a position or no address.
    pub(super) fn address(&self) -> Option<PostalAddress<'c>> {
        let (fields, address) = self.cells.split_at(FIELDS.len());
        let has_position = FIELDS
            .iter()
            .zip(fields)
            .any(|(field, cell)| POSITION_COLUMNS.contains(&field.column) && !cell.is_empty());
        let [postcode, postal_code, city] = [POSTCODE, POSTAL_CODE, 3].map(|part| address[part]);
        let address = PostalAddress {
            address: address[LINE],
            postal_code: if postcode.is_empty() {
                postal_code
            } else {
                postcode
            },
            city,
            insee_code: address.get(INSEE_CODE).copied().unwrap_or_default(),
        };
        (!has_position && !address.is_empty()).then_some(address)
    }

    /// Returns the home; `position`, latitude and longitude in degrees, is used if the cells give none.
    ///
    /// # Errors
    /// The first fault, with the name of its column.
    pub(super) fn home(
        &self,
        position: Option<(f64, f64)>,
        today: NaiveDate,
    ) -> std::result::Result<Home, RowFault> {
        let cells = FIELDS.iter().copied().zip(self.cells.iter().copied());
        parse_cells(cells, position, today)
    }

    /// Returns why the home cannot be valued even once its address is located.
    fn fault(&self, today: NaiveDate) -> Option<String> {
        let somewhere = self.address().map(|_| PLACEHOLDER_POSITION);
        self.home(somewhere, today)
            .err()
            .map(|fault| fault.to_string())
    }
}

/// Calls `each` for every home of a batch of the file, by row.
pub(super) fn with_rows<T: Send>(
    batch: &RecordBatch,
    each: impl Fn(usize, HomeCells<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    let columns: Vec<&StringArray> = batch
        .columns()
        .iter()
        .filter_map(|column| column.as_string_opt::<i32>())
        .collect();
    let width = SCHEMA.fields().len();
    if columns.len() != width && columns.len() != width - 1 {
        let found = batch.schema();
        return Err(
            arrow::error::ArrowError::SchemaError(format!("not a file of homes: {found}")).into(),
        );
    }
    let rows = (0..batch.num_rows()).into_par_iter();
    rows.map(|row| {
        let cells: Vec<&str> = columns[CELLS..]
            .iter()
            .map(|column| column.value(row))
            .collect();
        let home = HomeCells {
            key: columns[KEY].value(row),
            fault: columns[FAULT].value(row),
            cells: &cells,
        };
        each(row, home)
    })
    .collect()
}
