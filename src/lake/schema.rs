//! What a table of the lake is: its columns, which of them questions may filter on, and what orders its rows.
//!
//! Readers and writers are driven by this description alone; a table is added by describing it. Every table ends in
//! [`RECORD`]: the row as the JSON text that answers carry, so that whole rows never have to be put together from
//! columns.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// Column holding the whole row as JSON, never null.
pub const RECORD: &str = "record";
/// Latitude column of every placed table, degrees.
pub const LATITUDE: &str = "lat";
/// Longitude column of every placed table, degrees.
pub const LONGITUDE: &str = "lon";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// UTF-8 text with many distinct values.
    Text,
    /// UTF-8 text drawn from a small set; questions read it dictionary-encoded.
    Category,
    /// 64-bit float.
    Number,
    /// 64-bit signed integer.
    Integer,
    /// Day, without time.
    Date,
    /// Yes or no.
    Flag,
    /// List of texts.
    TextList,
}

impl Kind {
    /// The Arrow type of the column in files.
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Text | Kind::Category => DataType::Utf8,
            Kind::Number => DataType::Float64,
            Kind::Integer => DataType::Int64,
            Kind::Date => DataType::Date32,
            Kind::Flag => DataType::Boolean,
            Kind::TextList => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name, in files and in questions.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether questions filter, sort or score on it.
    pub filterable: bool,
}

/// A table of the lake.
#[derive(Debug)]
pub struct TableSchema {
    /// Folder and SQL name.
    pub name: &'static str,
    /// Columns in file order, [`RECORD`] last.
    pub columns: Vec<Column>,
    /// Column that identifies a row: text, never null, unique in the table.
    pub id: &'static str,
    /// Date column that tells which of two rows with one id is the later; `None`: the later import wins.
    pub version: Option<&'static str>,
    /// Category column with the department, first in file order.
    pub department: &'static str,
    /// Category column with the commune's INSEE code.
    pub commune: &'static str,
    /// Column with the class of the row, after the position in file order.
    pub class: &'static str,
    /// Date column, last in file order.
    pub date: &'static str,
    /// Text column naming another row's id that this row supersedes.
    pub supersedes: Option<&'static str>,
    arrow: SchemaRef,
}

impl TableSchema {
    /// Describes a table; `columns` come without [`RECORD`], which is added.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call per table, all arguments distinct in name there"
    )]
    pub fn new(
        name: &'static str,
        mut columns: Vec<Column>,
        id: &'static str,
        version: Option<&'static str>,
        department: &'static str,
        commune: &'static str,
        class: &'static str,
        date: &'static str,
        supersedes: Option<&'static str>,
    ) -> Self {
        columns.push(Column {
            name: RECORD.into(),
            kind: Kind::Text,
            filterable: false,
        });
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| {
                let nullable = column.name != RECORD && column.name != id;
                Field::new(&column.name, column.kind.data_type(), nullable)
            })
            .collect();
        Self {
            name,
            columns,
            id,
            version,
            department,
            commune,
            class,
            date,
            supersedes,
            arrow: Arc::new(Schema::new(fields)),
        }
    }

    /// The Arrow schema of the table's files and of every batch pushed into an import.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Position and description of a column.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name == name)
    }
}
