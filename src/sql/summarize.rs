//! `summarize TABLE` and `summarize QUERY`: one row per column with its extremes, quartiles and share of nulls, as in
//! DuckDB.
//!
//! The statement is rewritten to one aggregation over all columns, whose results are turned into rows.

use arrow::datatypes::DataType;
use toise_engine::session::Session;

use crate::read_only::{parsed, planned};
use crate::{SqlError, text};

/// Maximum columns that are summarised.
const COLUMNS_MAX: usize = 500;

/// Rewrites a `summarize` statement to a query; `None` for any other statement.
pub(crate) async fn rewritten(session: &Session, sql: &str) -> Result<Option<String>, SqlError> {
    let Some(statement) = text::statements(sql)?.into_iter().next() else {
        return Ok(None);
    };
    let Some((word, of)) = statement.split_once(char::is_whitespace) else {
        return Ok(None);
    };
    if !word.eq_ignore_ascii_case("summarize") {
        return Ok(None);
    }
    let first = of.split_whitespace().next().unwrap_or_default();
    let is_query = ["select", "with", "from", "values"]
        .iter()
        .any(|start| first.eq_ignore_ascii_case(start));
    let source = if is_query {
        format!("({of})")
    } else {
        of.to_owned()
    };
    let all = format!("select * from {source}");
    let statement = parsed(session, &all).await?;
    let columns = planned(session, &all, statement).await?;
    let fields = columns.schema().fields().clone();
    if fields.len() > COLUMNS_MAX {
        return Err(SqlError::invalid(format!(
            "at most {COLUMNS_MAX} columns can be summarised"
        )));
    }
    let rows: Vec<String> = fields
        .iter()
        .map(|field| row(field.name(), field.data_type()))
        .collect();
    let rows = rows.join(", ");
    let text = format!(
        "select r['column_name'] as column_name, r['column_type'] as column_type, r['min'] as \"min\", \
         r['max'] as \"max\", r['approx_unique'] as approx_unique, r['avg'] as \"avg\", r['std'] as \"std\", \
         r['q25'] as q25, r['q50'] as q50, r['q75'] as q75, r['count'] as \"count\", \
         r['null_percentage'] as null_percentage from (select unnest(rows) as r from \
         (select make_array({rows}) as rows from {source} as summarised))"
    );
    Ok(Some(text))
}

/// Returns the aggregates of a column as one struct.
fn row(name: &str, data_type: &DataType) -> String {
    let column = format!("\"{}\"", name.replace('"', "\"\""));
    let label = name.replace('\'', "''");
    let is_number = data_type.is_numeric();
    // Distinct values of these types are counted by their text.
    let counted = if data_type.is_floating() || data_type.is_temporal() {
        format!("cast({column} as varchar)")
    } else {
        column.clone()
    };
    let is_ordered = !data_type.is_nested() && !matches!(data_type, DataType::Boolean);
    let when = |holds: bool, expression: String, otherwise: &str| {
        if holds {
            expression
        } else {
            format!("cast(null as {otherwise})")
        }
    };
    let of_number =
        |function: &str| when(is_number, format!("cast({function} as double)"), "double");
    let parts = [
        ("column_name", format!("'{label}'")),
        (
            "column_type",
            format!("'{}'", data_type.to_string().replace('\'', "''")),
        ),
        (
            "min",
            when(
                is_ordered,
                format!("cast(min({column}) as varchar)"),
                "varchar",
            ),
        ),
        (
            "max",
            when(
                is_ordered,
                format!("cast(max({column}) as varchar)"),
                "varchar",
            ),
        ),
        (
            "approx_unique",
            when(
                is_ordered,
                format!("cast(approx_distinct({counted}) as bigint)"),
                "bigint",
            ),
        ),
        ("avg", of_number(&format!("avg({column})"))),
        ("std", of_number(&format!("stddev({column})"))),
        (
            "q25",
            of_number(&format!("approx_percentile_cont({column}, 0.25)")),
        ),
        (
            "q50",
            of_number(&format!("approx_percentile_cont({column}, 0.5)")),
        ),
        (
            "q75",
            of_number(&format!("approx_percentile_cont({column}, 0.75)")),
        ),
        ("count", "cast(count(*) as bigint)".to_owned()),
        (
            "null_percentage",
            format!("round(100.0 * (count(*) - count({column})) / nullif(count(*), 0), 2)"),
        ),
    ];
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, expression)| format!("'{name}', {expression}"))
        .collect();
    format!("named_struct({})", parts.join(", "))
}
