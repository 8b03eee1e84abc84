//! Translates a filter into a logical expression, which defines the meaning of the filter everywhere.
//!
//! Queries, SQL and alerts over arriving batches all evaluate this expression, or a kernel that property tests compare
//! with it ([`super::predicate`]). Columns have the names of the table. Inside a condition on the items of a list, they
//! have the names of the fields of its structs.

use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Column, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, cast, lit};

use super::functions;
use super::some_item::some_item;
use toise_contract::filter::{Clause, ClauseTest, Filter, position_columns};
use toise_geo::distance::covering_span_degrees;
use toise_lake::schema::{self, ColumnKind, ITEM, TableSchema, UTC};

/// Namespace in which the columns of a filter are resolved.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnScope<'s> {
    /// The columns of a table.
    Table(&'s TableSchema),
    /// The fields of a list of structs of a table.
    Items(&'s TableSchema, &'s str),
}

impl<'s> ColumnScope<'s> {
    /// Returns the number and kind of a column.
    pub(super) fn column(self, name: &str) -> Result<(usize, ColumnKind), DataFusionError> {
        let found = match self {
            ColumnScope::Table(schema) => schema.column(name),
            ColumnScope::Items(schema, list) => schema.column(&format!("{list}.{name}")),
        };
        let known = found.map(|(index, column)| (index, column.kind));
        known.ok_or_else(|| {
            let place = match self {
                ColumnScope::Table(schema) => schema.name.to_owned(),
                ColumnScope::Items(schema, list) => format!("{}.{list}", schema.name),
            };
            DataFusionError::Plan(format!("table {place} has no column {name}"))
        })
    }

    /// Returns the fields of a list of structs, as a namespace.
    pub(super) fn items(self, list: &'s str) -> Result<(ColumnScope<'s>, Fields), DataFusionError> {
        match (self, self.column(list)?.1) {
            (ColumnScope::Table(schema), ColumnKind::Items(fields)) => Ok((
                ColumnScope::Items(schema, list),
                schema::struct_fields(fields),
            )),
            _ => Err(DataFusionError::Plan(format!(
                "{list} is not a list of structs"
            ))),
        }
    }
}

/// Returns the expression of a whole filter; true for every row if the filter is empty.
pub fn filter_expr(schema: &TableSchema, filter: &Filter) -> Result<Expr, DataFusionError> {
    all_of(ColumnScope::Table(schema), filter)
}

fn all_of(scope: ColumnScope<'_>, filter: &Filter) -> Result<Expr, DataFusionError> {
    let mut all: Option<Expr> = None;
    for clause in filter {
        let clause = scoped_expr(scope, clause)?;
        all = Some(match all {
            Some(all) => all.and(clause),
            None => clause,
        });
    }
    Ok(all.unwrap_or_else(|| lit(true)))
}

pub(super) fn scoped_expr(
    scope: ColumnScope<'_>,
    clause: &Clause,
) -> Result<Expr, DataFusionError> {
    let name = clause.column.as_ref();
    let position = || position_columns(name).map(|name| column(&name));
    match &clause.test {
        ClauseTest::Number { min, max } => Ok(match scope.column(name)?.1 {
            kind @ (ColumnKind::Integer | ColumnKind::SmallInteger) => {
                let whole = |value: f64| ScalarValue::Int64(Some(value as i64));
                let column = match kind {
                    // The bounds may exceed the range of the column's type.
                    ColumnKind::SmallInteger => cast(column(name), DataType::Int64),
                    _ => column(name),
                };
                between(
                    column,
                    min.map(|min| whole(min.ceil())),
                    max.map(|max| whole(max.floor())),
                )
            }
            _ => between(column(name), min.map(number), max.map(number)),
        }),
        ClauseTest::Day { from, to } => {
            let day = |value| ScalarValue::Date32(Some(value));
            Ok(between(column(name), from.map(day), to.map(day)))
        }
        ClauseTest::Moment { from, to } => {
            let moment = |value| ScalarValue::TimestampMillisecond(Some(value), Some(UTC.into()));
            Ok(between(column(name), from.map(moment), to.map(moment)))
        }
        ClauseTest::OneOf(texts) => match scope.column(name)?.1 {
            ColumnKind::TextList | ColumnKind::CategoryList => {
                let fields = Fields::from(vec![Field::new(ITEM, DataType::Utf8, true)]);
                Ok(some_item(fields, one_of(ITEM, texts))?.call(vec![column(name)]))
            }
            _ => Ok(one_of(name, texts)),
        },
        ClauseTest::Is(flag) => Ok(column(name).eq(lit(*flag))),
        ClauseTest::Within { lat, lon, radius_m } => {
            let [lat_column, lon_column] = position();
            let (lat_span, lon_span) = covering_span_degrees(*lat, *radius_m);
            let arguments = vec![lit(*lat), lit(*lon), lat_column, lon_column];
            let distance = functions::geo_distance().call(arguments);
            let bounds = [
                lat - lat_span,
                lat + lat_span,
                lon - lon_span,
                lon + lon_span,
            ];
            Ok(in_box(position(), bounds).and(distance.lt_eq(lit(*radius_m))))
        }
        ClauseTest::InBox {
            top,
            left,
            bottom,
            right,
        } => Ok(in_box(position(), [*bottom, *top, *left, *right])),
        ClauseTest::InArea(area) => {
            let [lat_column, lon_column] = position();
            let arguments = vec![lat_column, lon_column, lit(area.to_geojson())];
            let inside = functions::in_area().call(arguments);
            Ok(in_box(position(), area.bounds()).and(inside))
        }
        ClauseTest::InLayer(test) => {
            let holds = functions::in_layer(test).call(position().into());
            Ok(match test.bounds() {
                Some(bounds) => in_box(position(), bounds).and(holds),
                None => holds,
            })
        }
        ClauseTest::Any(filters) => {
            let mut any = lit(false);
            for (nth, filter) in filters.iter().enumerate() {
                let all = all_of(scope, filter)?;
                any = if nth == 0 { all } else { any.or(all) };
            }
            Ok(any)
        }
        ClauseTest::SomeItem(filter) => {
            let (items, fields) = scope.items(name)?;
            Ok(some_item(fields, all_of(items, filter)?)?.call(vec![column(name)]))
        }
    }
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::from_name(name))
}

fn number(value: f64) -> ScalarValue {
    ScalarValue::Float64(Some(value))
}

/// Returns whether a position is between a southern, a northern, a western and an eastern edge.
fn in_box([lat, lon]: [Expr; 2], [south, north, west, east]: [f64; 4]) -> Expr {
    let near =
        |column, least, greatest| between(column, Some(number(least)), Some(number(greatest)));
    near(lat, south, north).and(near(lon, west, east))
}

fn between(column: Expr, min: Option<ScalarValue>, max: Option<ScalarValue>) -> Expr {
    let literal = |value| Expr::Literal(value, None);
    let least = min.map(|min| column.clone().gt_eq(literal(min)));
    let most = max.map(|max| column.clone().lt_eq(literal(max)));
    match (least, most) {
        (Some(least), Some(most)) => least.and(most),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => column.is_not_null(),
    }
}

pub(super) fn one_of(name: &str, texts: &[String]) -> Expr {
    match texts {
        [one] => column(name).eq(lit(one.as_str())),
        many => column(name).in_list(many.iter().map(|text| lit(text.as_str())).collect(), false),
    }
}
