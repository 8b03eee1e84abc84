//! The schema of a lake table: its columns, which of them queries may filter on, and the sort order of its rows.
//!
//! Readers and writers depend on this description alone: to add a table, describe it here. A table whose source of
//! truth is the lake ends in [`RECORD`]: the row as the JSON text that responses carry, so that whole rows never have
//! to be assembled from columns. A table that projects documents of the store has no such column.
//!
//! A column that is a list of structs ([`ColumnKind::Items`]) is one column in files. Queries read its fields
//! separately: each is addressed as `list.field` and numbered after the columns.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// Column with the whole row as JSON, never null.
pub const RECORD: &str = "record";
pub use toise_geo::columns::{LATITUDE, LONGITUDE};
/// Name of the element field of list columns.
pub const ITEM: &str = "item";
/// Time zone of timestamps.
pub const UTC: &str = "UTC";

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// UTF-8 text with many distinct values.
    Text,
    /// UTF-8 text from a small set of values; queries read it dictionary-encoded.
    Category,
    /// 64-bit float.
    Number,
    /// 64-bit signed integer.
    Integer,
    /// 32-bit signed integer.
    SmallInteger,
    /// Day, without time.
    Date,
    /// Timestamp, UTC, in milliseconds.
    Moment,
    /// Boolean.
    Flag,
    /// List of texts.
    TextList,
    /// List of texts from a small set of values; queries read it dictionary-encoded.
    CategoryList,
    /// List of structs with these fields; no field is a list.
    Items(&'static [Column]),
}

impl ColumnKind {
    /// Returns the Arrow type of the column in files.
    pub fn data_type(self) -> DataType {
        match self {
            ColumnKind::Text | ColumnKind::Category => DataType::Utf8,
            ColumnKind::Number => DataType::Float64,
            ColumnKind::Integer => DataType::Int64,
            ColumnKind::SmallInteger => DataType::Int32,
            ColumnKind::Date => DataType::Date32,
            ColumnKind::Moment => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            ColumnKind::Flag => DataType::Boolean,
            ColumnKind::TextList | ColumnKind::CategoryList => list_of(DataType::Utf8),
            ColumnKind::Items(fields) => {
                list_of(DataType::Struct(item_fields(fields, ColumnKind::data_type)))
            }
        }
    }

    /// Returns the Arrow type that queries decode the column to: categories as dictionaries, all other types as in
    /// files.
    pub fn decoded_type(self) -> DataType {
        match self {
            ColumnKind::Category => category_type(),
            ColumnKind::CategoryList => list_of(category_type()),
            ColumnKind::Items(fields) => list_of(DataType::Struct(item_fields(
                fields,
                ColumnKind::decoded_type,
            ))),
            other => other.data_type(),
        }
    }
}

/// Returns the Arrow type that categories are decoded to.
pub fn category_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Returns the Arrow fields of the structs of a [`ColumnKind::Items`] column in files.
pub fn struct_fields(fields: &[Column]) -> Fields {
    item_fields(fields, ColumnKind::data_type)
}

fn item_fields(fields: &[Column], data_type: fn(ColumnKind) -> DataType) -> Fields {
    let field = |field: &Column| Field::new(&field.name, data_type(field.kind), true);
    fields.iter().map(field).collect()
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new(ITEM, item, true)))
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// Name, in files and in queries.
    pub name: String,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Whether queries filter, sort or score on it.
    pub filterable: bool,
}

/// Makes columns of their names, their types and whether queries filter on them.
pub fn columns_of(columns: &[(&str, ColumnKind, bool)]) -> Vec<Column> {
    let column = |(name, kind, filterable): &(&str, ColumnKind, bool)| Column {
        name: (*name).to_owned(),
        kind: *kind,
        filterable: *filterable,
    };
    columns.iter().map(column).collect()
}

/// A field of a list of structs, as queries address it.
#[derive(Debug)]
pub struct ItemColumn {
    /// Name, `list.field`.
    pub name: String,
    /// Index of the list among the table's columns.
    pub list: usize,
    /// The field.
    pub field: &'static Column,
}

/// How a field of a record counts when an import asks whether a row has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRule {
    /// Not at all.
    LeftOut,
    /// As a 32-bit float.
    SinglePrecision,
}

/// A table of the lake.
#[derive(Debug)]
pub struct TableSchema {
    /// Folder and SQL name.
    pub name: &'static str,
    /// Columns in file order; [`RECORD`] last, if there is one.
    pub columns: Vec<Column>,
    /// Fields of the lists of structs, numbered after the columns.
    pub items: Vec<ItemColumn>,
    /// Column that identifies a row: text, never null, unique in the table.
    pub id: &'static str,
    /// Date column that decides which of two rows with one id is newer; `None`: the later import wins.
    pub version: Option<&'static str>,
    /// Category column with the department; the first criterion of the sort order.
    pub department: &'static str,
    /// Category column with the commune's INSEE code.
    pub commune: &'static str,
    /// Column with the class of the row; sorts after the position.
    pub class: &'static str,
    /// Column with the date or timestamp of the row; the last criterion of the sort order.
    pub date: &'static str,
    /// Text column with the id of another row that this row supersedes.
    pub supersedes: Option<&'static str>,
    /// Fields of [`RECORD`], in their order there, that do not count as content in full: texts and numbers.
    pub content_rules: &'static [(&'static str, ContentRule)],
    /// Integer column with the number of source rows that a row was made from. If two rows have the same id, the one
    /// made from fewer never replaces the other. `None`: every row is made from one.
    pub source_rows: Option<&'static str>,
    arrow: SchemaRef,
}

impl TableSchema {
    /// Describes a table; `columns` are given without [`RECORD`], which is appended.
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
            kind: ColumnKind::Text,
            filterable: false,
        });
        Self {
            version,
            supersedes,
            ..Self::projection(name, columns, id, department, commune, class, date)
        }
    }

    /// Describes a table without [`RECORD`]: its rows are documents of the store, projected onto columns.
    pub fn projection(
        name: &'static str,
        columns: Vec<Column>,
        id: &'static str,
        department: &'static str,
        commune: &'static str,
        class: &'static str,
        date: &'static str,
    ) -> Self {
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| {
                let nullable = column.name != RECORD && column.name != id;
                Field::new(&column.name, column.kind.data_type(), nullable)
            })
            .collect();
        let mut items = Vec::new();
        for (list, column) in columns.iter().enumerate() {
            if let ColumnKind::Items(fields) = column.kind {
                items.extend(fields.iter().map(|field| ItemColumn {
                    name: format!("{}.{}", column.name, field.name),
                    list,
                    field,
                }));
            }
        }
        Self {
            name,
            columns,
            items,
            id,
            version: None,
            department,
            commune,
            class,
            date,
            supersedes: None,
            content_rules: &[],
            source_rows: None,
            arrow: Arc::new(Schema::new(fields)),
        }
    }

    /// Returns the table with rules for the content of its rows; see [`TableSchema::content_rules`].
    pub fn with_content_rules(mut self, rules: &'static [(&'static str, ContentRule)]) -> Self {
        self.content_rules = rules;
        self
    }

    /// Returns the table with a column of source rows; see [`TableSchema::source_rows`].
    pub fn with_source_rows(mut self, column: &'static str) -> Self {
        self.source_rows = Some(column);
        self
    }

    /// Returns the Arrow schema of the table's files and of every batch pushed into an import.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Returns the number and description of a column, or of a field of a list of structs given as `list.field`.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        let items = self.items.iter().map(|item| (&item.name, item.field));
        let columns = self.columns.iter().map(|column| (&column.name, column));
        columns
            .chain(items)
            .enumerate()
            .find(|(_, (known, _))| *known == name)
            .map(|(index, (_, column))| (index, column))
    }

    /// Returns the field of a list of structs by its number; `None` for the number of a column.
    pub fn item(&self, index: usize) -> Option<&ItemColumn> {
        self.items.get(index.checked_sub(self.columns.len())?)
    }
}
