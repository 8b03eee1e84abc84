//! Limits types whose size is part of their name: one value of `int[2000000000]` takes eight gigabytes, null or not.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;

use crate::SqlError;
use crate::limits::Limit;

/// Maximum items, or bytes, of a value of a type with a fixed number of them.
const ITEMS_MAX: usize = 1_000;
/// Functions whose second argument is the name of a type.
const CASTS: [&str; 2] = ["arrow_cast", "arrow_try_cast"];

/// Checks the types that a plan names, before any of it is computed.
///
/// # Errors
/// A type is too large.
pub(crate) fn check(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut items = 0;
    let visited = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                items = items.max(named_items(part));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    visited.map_err(|error: DataFusionError| SqlError::invalid(error.strip_backtrace()))?;
    if items > ITEMS_MAX {
        Err(SqlError::Limit(Limit::text(
            "items in a value of a type",
            ITEMS_MAX,
        )))
    } else {
        Ok(())
    }
}

/// Returns the number of items in a value of the type that an expression names.
fn named_items(expression: &Expr) -> usize {
    match expression {
        Expr::Cast(cast) => items(cast.field.data_type()),
        Expr::TryCast(cast) => items(cast.field.data_type()),
        Expr::ScalarFunction(call) if CASTS.contains(&call.func.name()) => {
            let name = match call.args.get(1) {
                Some(Expr::Literal(ScalarValue::Utf8(Some(name)), _)) => name,
                _ => return 0,
            };
            name.parse().map_or(0, |data_type| items(&data_type))
        }
        _ => 0,
    }
}

fn items(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or(0),
        DataType::FixedSizeList(item, count) => {
            let count = usize::try_from(*count).unwrap_or(0);
            count.saturating_mul(items(item.data_type()))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => items(item.data_type()),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| items(field.data_type()));
            fields.fold(0, usize::saturating_add)
        }
        DataType::Union(fields, _) => {
            let fields = fields.iter().map(|(_, field)| items(field.data_type()));
            fields.fold(0, usize::saturating_add)
        }
        DataType::Dictionary(_, value) => items(value),
        DataType::RunEndEncoded(_, values) => items(values.data_type()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_items_of_all_lists_around_it() {
        let of = |name: &str| items(&name.parse().unwrap());
        assert_eq!(of("Int64"), 1);
        assert_eq!(of("FixedSizeBinary(16)"), 16);
        assert_eq!(of("Dictionary(Int32, FixedSizeBinary(2000))"), 2_000);
    }
}
