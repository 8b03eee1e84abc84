//! Columns as functions of a record, and the builder of rows that they fill.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, ListBuilder, StringBuilder,
    TimestampMillisecondBuilder,
};
use uuid::Uuid;

use toise_lake::schema::{Column, ColumnKind, UTC};

/// A column, and how it is read from a record.
pub(super) struct RecordColumn<R> {
    pub name: &'static str,
    /// Whether filters or sorting use it.
    pub filterable: bool,
    pub read: ColumnReader<R>,
}

/// Receives the texts of a list, one by one.
pub(super) type TextVisitor<'a> = &'a mut dyn FnMut(&str);

/// The function that reads a column from a record.
pub(super) enum ColumnReader<R> {
    Id(fn(&R) -> Option<Uuid>),
    Text(fn(&R) -> Option<&str>),
    Category(fn(&R) -> Option<&str>),
    CategoryId(fn(&R) -> Option<Uuid>),
    Number(fn(&R) -> Option<f64>),
    Whole(fn(&R) -> Option<i32>),
    Moment(fn(&R) -> Option<i64>),
    Flag(fn(&R) -> Option<bool>),
    List(fn(&R, TextVisitor<'_>) -> Option<()>),
}

impl<R> RecordColumn<R> {
    pub fn new(name: &'static str, read: ColumnReader<R>) -> Self {
        Self {
            name,
            filterable: true,
            read,
        }
    }

    pub fn id(name: &'static str, read: fn(&R) -> Option<Uuid>) -> Self {
        Self::new(name, ColumnReader::Id(read))
    }

    pub fn text(name: &'static str, read: fn(&R) -> Option<&str>) -> Self {
        Self::new(name, ColumnReader::Text(read))
    }

    pub fn category(name: &'static str, read: fn(&R) -> Option<&str>) -> Self {
        Self::new(name, ColumnReader::Category(read))
    }

    /// Makes the column available to SQL only.
    pub fn sql_only(self) -> Self {
        Self {
            filterable: false,
            ..self
        }
    }

    pub fn described(&self) -> Column {
        let kind = match self.read {
            ColumnReader::Id(_) | ColumnReader::Text(_) => ColumnKind::Text,
            ColumnReader::Category(_) | ColumnReader::CategoryId(_) => ColumnKind::Category,
            ColumnReader::Number(_) => ColumnKind::Number,
            ColumnReader::Whole(_) => ColumnKind::SmallInteger,
            ColumnReader::Moment(_) => ColumnKind::Moment,
            ColumnReader::Flag(_) => ColumnKind::Flag,
            ColumnReader::List(_) => ColumnKind::CategoryList,
        };
        Column {
            name: self.name.into(),
            kind,
            filterable: self.filterable,
        }
    }
}

/// Cells of a column being filled.
enum ColumnBuilder {
    Text(StringBuilder),
    Number(Float64Builder),
    Whole(Int32Builder),
    Moment(TimestampMillisecondBuilder),
    Flag(BooleanBuilder),
    List(ListBuilder<StringBuilder>),
}

impl ColumnBuilder {
    fn of<R>(read: &ColumnReader<R>) -> Self {
        match read {
            ColumnReader::Id(_)
            | ColumnReader::Text(_)
            | ColumnReader::Category(_)
            | ColumnReader::CategoryId(_) => Self::Text(StringBuilder::new()),
            ColumnReader::Number(_) => Self::Number(Float64Builder::new()),
            ColumnReader::Whole(_) => Self::Whole(Int32Builder::new()),
            ColumnReader::Moment(_) => {
                Self::Moment(TimestampMillisecondBuilder::new().with_timezone(UTC))
            }
            ColumnReader::Flag(_) => Self::Flag(BooleanBuilder::new()),
            ColumnReader::List(_) => Self::List(ListBuilder::new(StringBuilder::new())),
        }
    }

    fn push<R>(&mut self, read: &ColumnReader<R>, record: &R) {
        match (self, read) {
            (Self::Text(cells), ColumnReader::Id(read) | ColumnReader::CategoryId(read)) => {
                match read(record) {
                    Some(id) => {
                        let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                        cells.append_value(id.as_hyphenated().encode_lower(&mut text));
                    }
                    None => cells.append_null(),
                }
            }
            (Self::Text(cells), ColumnReader::Text(read) | ColumnReader::Category(read)) => {
                cells.append_option(read(record));
            }
            (Self::Number(cells), ColumnReader::Number(read)) => cells.append_option(read(record)),
            (Self::Whole(cells), ColumnReader::Whole(read)) => cells.append_option(read(record)),
            (Self::Moment(cells), ColumnReader::Moment(read)) => cells.append_option(read(record)),
            (Self::Flag(cells), ColumnReader::Flag(read)) => cells.append_option(read(record)),
            (Self::List(cells), ColumnReader::List(read)) => {
                // If the object that holds the list is missing, the list stays empty.
                let _ = read(record, &mut |text| cells.values().append_value(text));
                cells.append(true);
            }
            // Not reached: `of` creates the cells from the same reader.
            _ => {}
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(cells) => Arc::new(cells.finish()),
            Self::Number(cells) => Arc::new(cells.finish()),
            Self::Whole(cells) => Arc::new(cells.finish()),
            Self::Moment(cells) => Arc::new(cells.finish()),
            Self::Flag(cells) => Arc::new(cells.finish()),
            Self::List(cells) => Arc::new(cells.finish()),
        }
    }
}

/// Rows of records, column by column.
pub(super) struct RowsBuilder<R: 'static> {
    columns: &'static [RecordColumn<R>],
    cells: Vec<ColumnBuilder>,
    count: usize,
}

impl<R> RowsBuilder<R> {
    pub fn new(columns: &'static [RecordColumn<R>]) -> Self {
        let cells = columns.iter().map(|column| ColumnBuilder::of(&column.read));
        Self {
            columns,
            cells: cells.collect(),
            count: 0,
        }
    }

    pub fn push(&mut self, record: &R) {
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            cells.push(&column.read, record);
        }
        self.count += 1;
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the columns of all rows pushed and empties the builder.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        self.count = 0;
        self.cells.iter_mut().map(ColumnBuilder::finish).collect()
    }
}
