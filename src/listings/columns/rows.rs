//! Columns of a record as functions, and the rows they fill.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, ListBuilder, StringBuilder,
    TimestampMillisecondBuilder,
};
use uuid::Uuid;

use toise_lake::schema::{Column, Kind, UTC};

/// A column and how it is read from a record.
pub(super) struct ColumnOf<R> {
    pub name: &'static str,
    /// Whether filters or sorting ask for it.
    pub filterable: bool,
    pub read: Read<R>,
}

/// What hands on the texts of a list, one by one.
pub(super) type Each<'a> = &'a mut dyn FnMut(&str);

/// How a column is read from a record.
pub(super) enum Read<R> {
    Id(fn(&R) -> Option<Uuid>),
    Text(fn(&R) -> Option<&str>),
    Category(fn(&R) -> Option<&str>),
    CategoryId(fn(&R) -> Option<Uuid>),
    Number(fn(&R) -> Option<f64>),
    Whole(fn(&R) -> Option<i32>),
    Moment(fn(&R) -> Option<i64>),
    Flag(fn(&R) -> Option<bool>),
    List(fn(&R, Each<'_>) -> Option<()>),
}

impl<R> ColumnOf<R> {
    pub fn new(name: &'static str, read: Read<R>) -> Self {
        Self {
            name,
            filterable: true,
            read,
        }
    }

    /// The column for SQL alone.
    pub fn shown_only(self) -> Self {
        Self {
            filterable: false,
            ..self
        }
    }

    pub fn described(&self) -> Column {
        let kind = match self.read {
            Read::Id(_) | Read::Text(_) => Kind::Text,
            Read::Category(_) | Read::CategoryId(_) => Kind::Category,
            Read::Number(_) => Kind::Number,
            Read::Whole(_) => Kind::SmallInteger,
            Read::Moment(_) => Kind::Moment,
            Read::Flag(_) => Kind::Flag,
            Read::List(_) => Kind::CategoryList,
        };
        Column {
            name: self.name.into(),
            kind,
            filterable: self.filterable,
        }
    }
}

/// Cells of a column being filled.
enum Cells {
    Text(StringBuilder),
    Number(Float64Builder),
    Whole(Int32Builder),
    Moment(TimestampMillisecondBuilder),
    Flag(BooleanBuilder),
    List(ListBuilder<StringBuilder>),
}

impl Cells {
    fn of<R>(read: &Read<R>) -> Self {
        match read {
            Read::Id(_) | Read::Text(_) | Read::Category(_) | Read::CategoryId(_) => {
                Self::Text(StringBuilder::new())
            }
            Read::Number(_) => Self::Number(Float64Builder::new()),
            Read::Whole(_) => Self::Whole(Int32Builder::new()),
            Read::Moment(_) => Self::Moment(TimestampMillisecondBuilder::new().with_timezone(UTC)),
            Read::Flag(_) => Self::Flag(BooleanBuilder::new()),
            Read::List(_) => Self::List(ListBuilder::new(StringBuilder::new())),
        }
    }

    fn push<R>(&mut self, read: &Read<R>, record: &R) {
        match (self, read) {
            (Self::Text(cells), Read::Id(read) | Read::CategoryId(read)) => match read(record) {
                Some(id) => {
                    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                    cells.append_value(id.as_hyphenated().encode_lower(&mut text));
                }
                None => cells.append_null(),
            },
            (Self::Text(cells), Read::Text(read) | Read::Category(read)) => {
                cells.append_option(read(record));
            }
            (Self::Number(cells), Read::Number(read)) => cells.append_option(read(record)),
            (Self::Whole(cells), Read::Whole(read)) => cells.append_option(read(record)),
            (Self::Moment(cells), Read::Moment(read)) => cells.append_option(read(record)),
            (Self::Flag(cells), Read::Flag(read)) => cells.append_option(read(record)),
            (Self::List(cells), Read::List(read)) => {
                // An object that holds the list and is missing leaves it empty.
                let _ = read(record, &mut |text| cells.values().append_value(text));
                cells.append(true);
            }
            // Cells are made from the very columns they are filled by.
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
pub(super) struct Rows<R: 'static> {
    columns: &'static [ColumnOf<R>],
    cells: Vec<Cells>,
    count: usize,
}

impl<R> Rows<R> {
    pub fn new(columns: &'static [ColumnOf<R>]) -> Self {
        let cells = columns.iter().map(|column| Cells::of(&column.read));
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

    /// The columns of all rows pushed; none is left.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        self.count = 0;
        self.cells.iter_mut().map(Cells::finish).collect()
    }
}
