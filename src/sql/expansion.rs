//! Measures how large a query becomes when it is planned. Each name that `with` defines is replaced by its definition,
//! so `t1 as (select * from t0 union all select * from t0)` doubles `t0`, and thirty such lines are a billion
//! relations.
//!
//! The parsed statement is measured before anything is planned, because planning never pauses and takes memory that no
//! limit counts. The measured size also limits the constants of the query (`Expansion::value_bytes`).

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::common::ParamValues;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, TableFactor, Value, ValueWithSpan, Visit,
    Visitor,
};

use crate::SqlError;
use crate::limits::Limit;
use crate::parameters;

/// Maximum tables, `select`s and subqueries of a query.
pub const RELATIONS_MAX: usize = 500;
/// Maximum relations in one `from`: the columns of all of them are kept for each.
pub const JOINED_MAX: usize = 50;
/// Maximum columns of one `select`: planning takes the square of their number.
pub const COLUMNS_MAX: usize = 2_000;
/// Maximum columns, calls and operations of a query.
pub const EXPRESSIONS_MAX: usize = 10_000;
/// Maximum literals of a query.
pub const LITERALS_MAX: usize = 150_000;
/// Maximum combinations of columns that a query groups by: `cube` of n columns makes 2ⁿ.
pub const GROUPINGS_MAX: usize = 256;
/// Maximum bytes of the longest text of a query, times the expressions that may copy it.
const CONSTANT_BYTES_MAX: usize = 16 << 20;
/// Factor by which the plans that `explain` prints are larger.
const EXPLAINED_COPIES: usize = 32;
/// Maximum bytes that all function calls return for a batch of rows.
const CALLS_BYTES_MAX: usize = 64 << 20;
/// Maximum bytes of a function's value that every query is allowed.
const VALUE_BYTES_MIN: usize = 16 << 10;
/// Maximum bytes of a function's value in any query.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// The size of a query or a part of it, with every `with` name replaced by its definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// Tables, `select`s and subqueries.
    pub relations: usize,
    /// Expressions other than literals.
    pub expressions: usize,
    /// Literals.
    pub literals: usize,
    /// Calls of functions, and operators that join texts or make lists.
    pub calls: usize,
}

impl Expansion {
    fn add(&mut self, other: Expansion) {
        self.relations = self.relations.saturating_add(other.relations);
        self.expressions = self.expressions.saturating_add(other.expressions);
        self.literals = self.literals.saturating_add(other.literals);
        self.calls = self.calls.saturating_add(other.calls);
    }

    /// Returns the maximum of both, field by field.
    fn max(self, other: Expansion) -> Self {
        Self {
            relations: self.relations.max(other.relations),
            expressions: self.expressions.max(other.expressions),
            literals: self.literals.max(other.literals),
            calls: self.calls.max(other.calls),
        }
    }

    /// Returns the maximum bytes of one value that a function returns: low enough that a copy in each expression is
    /// bounded.
    pub fn value_bytes(self) -> usize {
        let shared = CONSTANT_BYTES_MAX / self.expressions.max(1);
        shared.clamp(VALUE_BYTES_MIN, VALUE_BYTES_MAX)
    }

    /// Returns the maximum bytes that one call returns for a batch of rows.
    pub fn call_bytes(self) -> usize {
        CALLS_BYTES_MAX / self.calls.max(1)
    }

    fn check(self) -> Result<(), Limit> {
        for (what, count, count_max) in [
            (
                "relations, after names are expanded",
                self.relations,
                RELATIONS_MAX,
            ),
            (
                "expressions, after names are expanded",
                self.expressions,
                EXPRESSIONS_MAX,
            ),
            (
                "literals, after names are expanded",
                self.literals,
                LITERALS_MAX,
            ),
        ] {
            if count > count_max {
                return Err(Limit::text(what, count_max));
            }
        }
        Ok(())
    }
}

/// Measures a statement with the values of its placeholders.
///
/// # Errors
/// The statement is too large once its names are replaced.
pub(crate) fn measured(
    statement: &Statement,
    parameters: Option<&ParamValues>,
) -> Result<Expansion, SqlError> {
    let (statement, copies) = match statement {
        Statement::Statement(statement) => (statement, 1),
        Statement::Explain(explained) => match explained.statement.as_ref() {
            Statement::Statement(statement) => (statement, EXPLAINED_COPIES),
            _ => return Ok(Expansion::default()),
        },
        // Refused by the planner.
        _ => return Ok(Expansion::default()),
    };
    let mut measuring = ExpansionVisitor {
        open: vec![Expansion::default()],
        bodies: HashMap::new(),
        named: HashMap::new(),
        parameters,
        text_bytes: 0,
    };
    if let ControlFlow::Break(limit) = statement.visit(&mut measuring) {
        return Err(SqlError::Limit(limit));
    }
    let whole = measuring.open.pop().unwrap_or_default();
    let expressions = whole.expressions.max(1).saturating_mul(copies);
    if measuring.text_bytes.saturating_mul(expressions) > CONSTANT_BYTES_MAX {
        return Err(SqlError::Limit(Limit::text(
            "bytes in a text, for as many expressions as it has",
            CONSTANT_BYTES_MAX / expressions,
        )));
    }
    Ok(whole)
}

struct ExpansionVisitor<'q> {
    /// The queries that are being visited, outermost first, after the statement itself.
    open: Vec<Expansion>,
    /// Queries in a `with` whose visit has not ended: address and name.
    bodies: HashMap<usize, String>,
    /// Sizes of the definitions of names. A name that is defined several times has the size of the largest.
    named: HashMap<String, Expansion>,
    parameters: Option<&'q ParamValues>,
    /// Bytes of the longest literal or parameter.
    text_bytes: usize,
}

impl ExpansionVisitor<'_> {
    fn add(&mut self, part: Expansion) -> ControlFlow<Limit> {
        let Some(innermost) = self.open.last_mut() else {
            return ControlFlow::Continue(());
        };
        innermost.add(part);
        match innermost.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(limit) => ControlFlow::Break(limit),
        }
    }

    fn relations(&mut self, relations: usize) -> ControlFlow<Limit> {
        self.add(Expansion {
            relations,
            ..Expansion::default()
        })
    }

    fn expressions(&mut self, expressions: usize) -> ControlFlow<Limit> {
        self.add(Expansion {
            expressions,
            ..Expansion::default()
        })
    }
}

fn address(query: &Query) -> usize {
    std::ptr::from_ref(query) as usize
}

impl Visitor for ExpansionVisitor<'_> {
    type Break = Limit;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Limit> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        for table in with {
            let name = table.alias.name.value.to_lowercase();
            self.bodies.insert(address(&table.query), name);
        }
        self.open.push(Expansion::default());
        self.relations(1)
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Limit> {
        let size = self.open.pop().unwrap_or_default();
        if let Some(name) = self.bodies.remove(&address(query)) {
            let known = self.named.entry(name).or_default();
            *known = known.max(size);
        }
        self.add(size)
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Limit> {
        let joins = select.from.iter().map(|from| 1 + from.joins.len());
        if joins.sum::<usize>() > JOINED_MAX {
            return ControlFlow::Break(Limit::text("relations in one from", JOINED_MAX));
        }
        if let GroupByExpr::Expressions(grouped, _) = &select.group_by
            && groupings(grouped) > GROUPINGS_MAX
        {
            return ControlFlow::Break(Limit::text("combinations to group by", GROUPINGS_MAX));
        }
        if select.projection.len() > COLUMNS_MAX {
            return ControlFlow::Break(Limit::text("columns in one select", COLUMNS_MAX));
        }
        self.expressions(select.projection.len())?;
        self.relations(1)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Limit> {
        let named = match factor {
            TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()),
            _ => None,
        };
        let known = named.and_then(|ident| self.named.get(&ident.value.to_lowercase()));
        match known.copied() {
            Some(size) => self.add(size),
            None => self.relations(1),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Limit> {
        match expression {
            Expr::Value(_) => ControlFlow::Continue(()),
            Expr::Function(_)
            | Expr::Array(_)
            | Expr::BinaryOp {
                op: BinaryOperator::StringConcat,
                ..
            } => self.add(Expansion {
                expressions: 1,
                calls: 1,
                ..Expansion::default()
            }),
            _ => self.expressions(1),
        }
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Limit> {
        let bytes = match &value.value {
            Value::Placeholder(name) => {
                self.expressions(1)?;
                let values = self.parameters;
                values.map_or(0, |values| parameters::bytes_of(values, name))
            }
            value => {
                self.add(Expansion {
                    literals: 1,
                    ..Expansion::default()
                })?;
                text_bytes(value)
            }
        };
        self.text_bytes = self.text_bytes.max(bytes);
        ControlFlow::Continue(())
    }
}

/// Bytes of a literal; 0 for a number.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Number(..) | Value::Boolean(_) | Value::Null => 0,
        value => value.to_string().len(),
    }
}

/// Returns the number of column sets that a list of groupings expands to.
fn groupings(grouped: &[Expr]) -> usize {
    let of = |expression: &Expr| match expression {
        Expr::Cube(columns) => {
            let columns = u32::try_from(columns.len()).unwrap_or(u32::MAX);
            1_usize.checked_shl(columns).unwrap_or(usize::MAX)
        }
        Expr::Rollup(columns) => columns.len() + 1,
        Expr::GroupingSets(sets) => sets.len(),
        _ => 1,
    };
    grouped.iter().map(of).fold(1, usize::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::metadata::ScalarAndMetadata;
    use datafusion::scalar::ScalarValue;
    use datafusion::sql::parser::DFParser;

    fn of(sql: &str, parameters: Option<&ParamValues>) -> Result<Expansion, SqlError> {
        let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        measured(&statement, parameters)
    }

    fn is_refused(sql: &str) -> bool {
        matches!(of(sql, None), Err(SqlError::Limit(Limit::Text(..))))
    }

    /// Returns a query with `t0` and names that each double the one before.
    fn doubled(levels: usize, last: &str) -> String {
        let mut sql = "with t0 as (select 1 as x)".to_owned();
        for level in 1..=levels {
            let before = level - 1;
            sql += &format!(
                ", t{level} as (select * from t{before} union all select * from t{before})"
            );
        }
        format!("{sql} {last}")
    }

    #[test]
    fn names_are_counted_as_often_as_they_stand_for_something() {
        let one = of("with t as (select 1 as x) select * from t", None).unwrap();
        let two = of("with t as (select 1 as x) select * from t, t as u", None).unwrap();
        assert!(two.relations > one.relations);
        assert!(of(&doubled(4, "select * from t4"), None).is_ok());
        assert!(is_refused(&doubled(25, "select * from t25")));
        assert!(is_refused(&format!(
            "explain {}",
            doubled(25, "select 1 from t25")
        )));
        // In any spelling, and if an inner query hides the name.
        assert!(is_refused(&doubled(25, "select x in (select x from T25)")));
        let hidden = "select * from (with t4 as (select 1 as x) select * from t4), t4 as a, t4 as b, t4 as c, t4 as d";
        assert!(is_refused(&doubled(4, hidden)));
    }

    #[test]
    fn long_texts_are_for_few_expressions() {
        let long = "x".repeat(200_000);
        let text = ParamValues::List(vec![ScalarAndMetadata::from(ScalarValue::from(
            long.as_str(),
        ))]);
        assert!(of("select * from dvf where city = $1", Some(&text)).is_ok());
        assert!(of(&format!("select '{long}' as t"), None).is_ok());
        let many = format!("select make_array({})", vec!["$1"; 1_000].join(", "));
        assert!(of(&many, Some(&text)).is_err());
        assert!(of("explain select $1, $1, $1", Some(&text)).is_err());
        // Many short texts do not count as a long one.
        let list = format!(
            "select 1 where 'a' in ({})",
            vec!["'abc'"; 20_000].join(",")
        );
        assert!(of(&list, None).is_ok());
    }

    #[test]
    fn cubes_joins_and_lists_of_columns_are_bounded() {
        assert!(of("select a, b, sum(c) from dvf group by cube(a, b)", None).is_ok());
        assert!(is_refused(
            "select 1 from dvf group by cube(a, b, c, d, e, f, g, h, i)"
        ));
        assert!(is_refused(
            "select 1 from dvf group by cube(a, b, c, d, e), cube(f, g, h, i)"
        ));
        let joined: Vec<String> = (0..60).map(|n| format!("dvf d{n}")).collect();
        assert!(is_refused(&format!("select 1 from {}", joined.join(", "))));
        let columns: Vec<String> = (0..COLUMNS_MAX + 1).map(|n| format!("a{n}")).collect();
        assert!(is_refused(&format!("select {}", columns.join(", "))));
    }
}
