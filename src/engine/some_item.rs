//! `some_item`: whether at least one item of a list satisfies a condition.
//!
//! The function has no SQL name: each use has its own condition, an expression over the fields of the list's structs
//! (or over `item`, if the list holds plain values). The condition is evaluated once over the items of all rows
//! together. A row matches if one of its items does; a row without items never matches.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatchOptions;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Fields, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

/// Creates the function that tests whether some item satisfies `condition`, over lists of structs of `fields`, or over
/// lists of values if there is a single field.
pub fn some_item(fields: Fields, condition: Expr) -> Result<ScalarUDF> {
    let items = Arc::new(Schema::new(fields));
    let df_schema = DFSchema::try_from(items.as_ref().clone())?;
    let compiled = create_physical_expr(
        &condition,
        &df_schema,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    )?;
    Ok(ScalarUDF::from(SomeItem {
        name: format!("some_item[{condition}]"),
        signature: Signature::any(1, Volatility::Immutable),
        items,
        condition,
        compiled,
    }))
}

#[derive(Debug)]
struct SomeItem {
    name: String,
    signature: Signature,
    items: SchemaRef,
    condition: Expr,
    compiled: Arc<dyn PhysicalExpr>,
}

// The compiled condition is derived from the other fields.
impl PartialEq for SomeItem {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition && self.items == other.items
    }
}

impl Eq for SomeItem {}

impl Hash for SomeItem {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl ScalarUDFImpl for SomeItem {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [list] = arguments.args.as_slice() else {
            return Err(DataFusionError::Plan("expected one list".into()));
        };
        let list = list.to_array(arguments.number_rows)?;
        let list = list.as_list_opt::<i32>().ok_or_else(|| {
            DataFusionError::Plan(format!("expected a list, found {}", list.data_type()))
        })?;
        let truth = self.evaluate(list)?;
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::new(
            truth, None,
        ))))
    }
}

impl SomeItem {
    fn evaluate(&self, list: &ListArray) -> Result<BooleanBuffer> {
        let offsets = list.value_offsets();
        let first = offsets[0] as usize;
        let count = offsets[list.len()] as usize - first;
        let items = list.values().slice(first, count);
        let columns: Vec<ArrayRef> = match items.as_struct_opt() {
            Some(structs) => structs.columns().to_vec(),
            None => vec![Arc::clone(&items)],
        };
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.items), columns, &options)?;
        let result = self.compiled.evaluate(&batch)?.into_array(count)?;
        let holding = truth(result.as_boolean());
        let holding = match items.nulls() {
            Some(nulls) => &holding & nulls.inner(),
            None => holding,
        };
        let row_of = |row: usize| {
            (
                offsets[row] as usize - first,
                offsets[row + 1] as usize - first,
            )
        };
        Ok(rows_of_items(&holding, list.len(), row_of, list.nulls()))
    }
}

/// Returns one bit for each value, set if the value is true and not null.
pub(super) fn truth(result: &BooleanArray) -> BooleanBuffer {
    match result.nulls() {
        None => result.values().clone(),
        Some(nulls) => result.values() & nulls.inner(),
    }
}

/// Returns the rows that have a matching item. `range` returns the item range of a row; ranges are in row order.
pub(super) fn rows_of_items(
    holding: &BooleanBuffer,
    rows: usize,
    range: impl Fn(usize) -> (usize, usize),
    missing: Option<&NullBuffer>,
) -> BooleanBuffer {
    let mut next = holding.set_indices().peekable();
    BooleanBuffer::collect_bool(rows, |row| {
        let (first, last) = range(row);
        while next.next_if(|item| *item < first).is_some() {}
        let mut holds = false;
        while next.next_if(|item| *item < last).is_some() {
            holds = true;
        }
        holds && missing.is_none_or(|nulls| nulls.is_valid(row))
    })
}
