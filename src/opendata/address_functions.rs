//! Geocoding as SQL scalar functions, with the same results as the HTTP routes and bulk geocoding.
//!
//! `geocode(text)` returns the best address as a struct, `reverse_geocode(lat, lon)` the nearest address, and
//! `commune_at(lat, lon)` the INSEE code of the commune around a position. A row without a result, or with arguments
//! that cannot be geocoded, gives null.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Float64Builder, StringArray, StringBuilder, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ptr_eq::PtrEq;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use toise_geo::places::Places;
use toise_geocode::file::columns::ResultColumn;
use toise_geocode::file::rows::{RowCells, RowGeocoder};
use toise_geocode::folder;
use toise_geocode::request::Operation;
use toise_geocode::reverse::commune_around;
use toise_geocode::search::Geocoder;

/// Fields of the structs, and the columns of file results that they correspond to.
const FIELDS: [(&str, ResultColumn); 14] = [
    ("label", ResultColumn::Label),
    ("score", ResultColumn::Score),
    ("confidence", ResultColumn::Confidence),
    ("type", ResultColumn::Type),
    ("lat", ResultColumn::Latitude),
    ("lon", ResultColumn::Longitude),
    ("distance_m", ResultColumn::Distance),
    ("housenumber", ResultColumn::HouseNumber),
    ("street", ResultColumn::Street),
    ("postcode", ResultColumn::PostalCode),
    ("city", ResultColumn::City),
    ("citycode", ResultColumn::InseeCode),
    ("oldcity", ResultColumn::FormerCity),
    ("id", ResultColumn::Id),
];

static STRUCT: LazyLock<Fields> = LazyLock::new(|| {
    let field = |(name, column): (&str, ResultColumn)| {
        let kind = if column.is_number() {
            DataType::Float64
        } else {
            DataType::Utf8
        };
        Field::new(name, kind, true)
    };
    FIELDS.into_iter().map(field).collect()
});

/// Returns the functions over the addresses of a data folder; the first query that calls one opens the index.
pub fn scalar_functions(data: &Path) -> Vec<ScalarUDF> {
    over(IndexSource {
        data: data.to_owned(),
        geocoder: OnceLock::new(),
    })
}

/// Returns the functions over the index that a server currently uses.
pub fn live_functions(geocoder: Arc<Geocoder>) -> Vec<ScalarUDF> {
    over(IndexSource {
        data: PathBuf::new(),
        geocoder: OnceLock::from(Ok(geocoder)),
    })
}

fn over(source: IndexSource) -> Vec<ScalarUDF> {
    let source = Arc::new(source);
    let function = |lookup| ScalarUDF::from(AddressFunction::new(lookup, Arc::clone(&source)));
    [Lookup::Address, Lookup::Position, Lookup::Commune]
        .map(function)
        .into()
}

/// Source of the index, which it opens on first use.
struct IndexSource {
    data: PathBuf,
    geocoder: OnceLock<std::result::Result<Arc<Geocoder>, String>>,
}

impl std::fmt::Debug for IndexSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("IndexSource")
            .field(&self.data)
            .finish()
    }
}

impl IndexSource {
    fn geocoder(&self) -> Result<&Geocoder> {
        let open = || {
            let opened = folder::open(&self.data).map(Arc::new);
            opened.map_err(|error| error.to_string())
        };
        let opened = self.geocoder.get_or_init(open);
        opened
            .as_deref()
            .map_err(|error| DataFusionError::Execution(error.clone()))
    }
}

/// Kind of lookup that a function makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lookup {
    Address,
    Position,
    Commune,
}

impl Lookup {
    fn arguments(self) -> Vec<DataType> {
        match self {
            Lookup::Address => vec![DataType::Utf8],
            Lookup::Position | Lookup::Commune => vec![DataType::Float64; 2],
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AddressFunction {
    lookup: Lookup,
    source: PtrEq<Arc<IndexSource>>,
    signature: Signature,
}

impl AddressFunction {
    fn new(lookup: Lookup, source: Arc<IndexSource>) -> Self {
        Self {
            lookup,
            source: source.into(),
            // Arguments are converted to the types of `Lookup::arguments`, so only their number is checked.
            signature: Signature::user_defined(Volatility::Stable),
        }
    }

    fn cells(&self, arguments: &[ArrayRef], rows: usize) -> Vec<Option<RowCells>> {
        let number = |argument: usize, row: usize| {
            let values = arguments[argument].as_primitive::<Float64Type>();
            if values.is_valid(row) {
                values.value(row).to_string()
            } else {
                String::new()
            }
        };
        let cells = |row: usize| match self.lookup {
            Lookup::Address => {
                let texts: &StringArray = arguments[0].as_string();
                let text = texts
                    .is_valid(row)
                    .then(|| texts.value(row).trim().to_owned());
                RowCells {
                    text: text.unwrap_or_default(),
                    ..RowCells::default()
                }
            }
            Lookup::Position | Lookup::Commune => RowCells {
                lat: number(0, row),
                lon: number(1, row),
                ..RowCells::default()
            },
        };
        (0..rows).map(|row| Some(cells(row))).collect()
    }
}

impl ScalarUDFImpl for AddressFunction {
    fn name(&self) -> &str {
        match self.lookup {
            Lookup::Address => "geocode",
            Lookup::Position => "reverse_geocode",
            Lookup::Commune => "commune_at",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let wanted = self.lookup.arguments();
        if types.len() == wanted.len() {
            return Ok(wanted);
        }
        let usage = match self.lookup {
            Lookup::Address => "geocode(address)",
            Lookup::Position => "reverse_geocode(lat, lon)",
            Lookup::Commune => "commune_at(lat, lon)",
        };
        Err(DataFusionError::Plan(format!("use {usage}")))
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.lookup {
            Lookup::Address | Lookup::Position => DataType::Struct(STRUCT.clone()),
            Lookup::Commune => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, given: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = given.number_rows;
        let mut arguments = Vec::with_capacity(given.args.len());
        for (value, kind) in given.args.iter().zip(self.lookup.arguments()) {
            arguments.push(cast(&value.to_array(rows)?, &kind)?);
        }
        let operation = match self.lookup {
            Lookup::Commune => return Ok(ColumnarValue::Array(communes(&arguments, rows))),
            Lookup::Address => Operation::Search,
            Lookup::Position => Operation::Reverse,
        };
        let columns = FIELDS.iter().map(|(_, column)| *column).collect();
        let mut answered = RowGeocoder::new(operation, columns);
        let cells = self.cells(&arguments, rows);
        let answers = answered.answer(self.source.geocoder()?, &cells)?;
        let values: Vec<&[String]> = answers.iter().map(|one| one.values.as_slice()).collect();
        Ok(ColumnarValue::Array(structs(&values)))
    }
}

/// Builds the structs of rows; null for a row without a label.
fn structs(rows: &[&[String]]) -> ArrayRef {
    let arrays = FIELDS.iter().enumerate().map(|(at, (_, column))| {
        let given = rows
            .iter()
            .map(|values| values.get(at).filter(|value| !value.is_empty()));
        if column.is_number() {
            let mut numbers = Float64Builder::with_capacity(rows.len());
            given.for_each(|value| {
                numbers.append_option(value.and_then(|value| value.parse().ok()));
            });
            Arc::new(numbers.finish()) as ArrayRef
        } else {
            let mut texts = StringBuilder::new();
            given.for_each(|value| texts.append_option(value));
            Arc::new(texts.finish())
        }
    });
    let found = rows.iter().map(|values| !values[0].is_empty());
    let nulls = NullBuffer::from_iter(found);
    Arc::new(StructArray::new(
        STRUCT.clone(),
        arrays.collect(),
        Some(nulls),
    ))
}

fn communes(arguments: &[ArrayRef], rows: usize) -> ArrayRef {
    let [lat, lon] = [0, 1].map(|at| arguments[at].as_primitive::<Float64Type>());
    let code = |row: usize| {
        let degrees = |values: &Float64Array| values.is_valid(row).then(|| values.value(row));
        let place = commune_around(degrees(lat)?, degrees(lon)?)?;
        Places::get().place(place).map(|place| place.code)
    };
    let codes: Vec<Option<&str>> = (0..rows).into_par_iter().map(code).collect();
    Arc::new(StringArray::from(codes))
}
