//! The operators `||` and `[…]`, with the bounds of the functions that they call.
//!
//! DataFusion plans them without looking up functions by name, so it would bypass the bounded forms.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ExprSchema, plan_err};
use datafusion::error::Result;
use datafusion::functions_nested::concat::{array_append_udf, array_concat_udf, array_prepend_udf};
use datafusion::functions_nested::make_array::make_array_udf;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::bounded::{bounded_form, joined};
use super::bounds::Bounds;

/// Returns the function that `||` of texts becomes.
pub(super) fn texts(bounds: &Arc<Bounds>) -> ScalarUDF {
    ScalarUDF::from(JoinTexts {
        signature: Signature::user_defined(Volatility::Immutable),
        bounds: Arc::clone(bounds),
    })
}

/// The planner of `||` and `[…]`.
#[derive(Debug)]
pub(super) struct BoundedOperators {
    texts: ScalarUDF,
    concat: ScalarUDF,
    append: ScalarUDF,
    prepend: ScalarUDF,
    make: ScalarUDF,
}

impl BoundedOperators {
    /// Creates the operators within the bounds of a session.
    pub fn new(bounds: &Arc<Bounds>) -> Self {
        Self {
            texts: texts(bounds),
            concat: bounded_form(array_concat_udf(), "array_concat", bounds),
            append: bounded_form(array_append_udf(), "array_append", bounds),
            prepend: bounded_form(array_prepend_udf(), "array_prepend", bounds),
            make: bounded_form(make_array_udf(), "make_array", bounds),
        }
    }
}

impl ExprPlanner for BoundedOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::StringConcat {
            return Ok(PlannerResult::Original(expr));
        }
        let nesting = |side: &Expr| {
            Ok::<_, datafusion::error::DataFusionError>(list_nesting(
                &side.get_type(schema as &dyn ExprSchema)?,
            ))
        };
        let (left, right) = (nesting(&expr.left)?, nesting(&expr.right)?);
        let function = match left.cmp(&right) {
            _ if left + right == 0 => &self.texts,
            std::cmp::Ordering::Equal => &self.concat,
            std::cmp::Ordering::Greater => &self.append,
            std::cmp::Ordering::Less => &self.prepend,
        };
        let call = function.call(vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(call))
    }

    fn plan_array_literal(
        &self,
        exprs: Vec<Expr>,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.make.call(exprs)))
    }
}

/// Returns how many levels of lists a type has.
fn list_nesting(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            1 + list_nesting(item.data_type())
        }
        _ => 0,
    }
}

/// The function that joins two texts; null if either is null.
#[derive(Debug)]
struct JoinTexts {
    signature: Signature,
    bounds: Arc<Bounds>,
}

impl PartialEq for JoinTexts {
    fn eq(&self, other: &Self) -> bool {
        self.signature == other.signature
    }
}

impl Eq for JoinTexts {}

impl std::hash::Hash for JoinTexts {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.signature.hash(state);
    }
}

impl ScalarUDFImpl for JoinTexts {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        let sides: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Ok(sides.join(" || "))
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let sides: Vec<String> = arguments
            .iter()
            .map(|side| side.schema_name().to_string())
            .collect();
        Ok(sides.join(" || "))
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        match given.len() {
            2 => Ok(vec![DataType::Utf8, DataType::Utf8]),
            _ => plan_err!("|| joins two texts"),
        }
    }

    fn return_type(&self, _given: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = arguments
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if is_constant {
            1
        } else {
            arguments.number_rows
        };
        let made = joined(&arguments.args, rows)?;
        self.bounds.check(self.name(), &made)?;
        let [left, right] = arguments.args.as_slice() else {
            return plan_err!("|| joins two texts");
        };
        let left = cast(&left.to_array(rows)?, &DataType::Utf8)?;
        let right = cast(&right.to_array(rows)?, &DataType::Utf8)?;
        let (left, right) = (left.as_string::<i32>(), right.as_string::<i32>());
        let mut texts = StringBuilder::with_capacity(rows, made.total() as usize);
        for row in 0..rows {
            match left.is_valid(row) && right.is_valid(row) {
                true => {
                    use std::fmt::Write;
                    // Writing into memory does not fail.
                    let _ = write!(texts, "{}{}", left.value(row), right.value(row));
                    texts.append_value("");
                }
                false => texts.append_null(),
            }
        }
        let texts = texts.finish();
        Ok(if is_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?)
        } else {
            ColumnarValue::Array(Arc::new(texts))
        })
    }
}
