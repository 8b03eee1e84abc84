//! Guards between the operators of a plan, which check the batches that pass: no batch has more rows than allowed, and
//! no row is too long for the next operator to process a batch of such rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, stream};

use crate::functions::bounds::TooManyRows;
use crate::row_sizes::{batch_bytes, longest};

/// The limits on what passes a guard.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Maximum rows of a batch; larger ones are cut.
    pub rows: usize,
    /// Maximum bytes of a value.
    pub value_bytes: usize,
    /// Maximum mean bytes of a row in a batch; longer rows need smaller batches.
    pub mean_bytes: usize,
    /// Maximum bytes of the longest row; a longer one needs smaller batches.
    pub row_bytes: usize,
    /// Columns whose longest value the next operator may repeat for each of its rows.
    pub repeated: Vec<usize>,
    /// Maximum bytes of these repeated values.
    pub repeated_bytes: usize,
    /// Whether the next operator keeps its whole input without counting it as memory of the query.
    pub is_kept: bool,
}

/// The totals of what has passed a guard.
#[derive(Default)]
struct Passed {
    /// Memory reserved for what the next operator keeps.
    kept: Option<MemoryReservation>,
    rows: usize,
    /// Bytes of the longest value of the repeated columns.
    longest: usize,
}

impl Guard {
    fn check(&self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mean = batch_bytes(batch) / batch.num_rows();
        let (mut row, mut value) = (0_usize, 0);
        for column in batch.columns() {
            let bytes = longest(column);
            row = row.saturating_add(bytes);
            value = value.max(bytes);
        }
        if value > self.value_bytes {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "a value has more than {} bytes",
                self.value_bytes
            )));
        }
        self.fits(mean, self.mean_bytes)?;
        self.fits(row, self.row_bytes)
    }

    /// Checks the bytes of a row against a maximum.
    ///
    /// # Errors
    /// A batch has too many rows of this size.
    fn fits(&self, bytes: usize, bytes_max: usize) -> Result<()> {
        if bytes <= bytes_max || self.rows == 1 {
            return Ok(());
        }
        let rows = self.rows as f64 * bytes_max as f64 / bytes as f64;
        let message = format!("a row has {bytes} bytes");
        Err(TooManyRows::error(rows as usize, message))
    }

    /// Checks and counts what the next operator keeps and repeats.
    fn count(&self, batch: &RecordBatch, passed: &mut Passed) -> Result<()> {
        passed.rows += batch.num_rows();
        if let Some(kept) = &mut passed.kept {
            kept.try_grow(batch_bytes(batch))?;
        }
        let repeated = self
            .repeated
            .iter()
            .filter_map(|at| batch.columns().get(*at));
        let longest = repeated.map(longest).max().unwrap_or(0);
        passed.longest = passed.longest.max(longest);
        if !self.is_kept {
            return self.fits(passed.longest, self.repeated_bytes / self.rows);
        }
        if passed.longest.saturating_mul(passed.rows) > self.repeated_bytes {
            Err(DataFusionError::ResourcesExhausted(
                "a long value would be repeated for many rows".to_owned(),
            ))
        } else {
            Ok(())
        }
    }

    /// Checks a batch and returns the batches that pass instead of it.
    fn pass(&self, batch: Result<RecordBatch>, passed: &mut Passed) -> Vec<Result<RecordBatch>> {
        let checked = batch.and_then(|batch| {
            self.check(&batch)?;
            self.count(&batch, passed)?;
            Ok(batch)
        });
        match checked {
            Err(error) => vec![Err(error)],
            Ok(batch) if batch.num_rows() <= self.rows => vec![Ok(batch)],
            Ok(batch) => {
                let starts = (0..batch.num_rows()).step_by(self.rows);
                let cut = |start: usize| {
                    let rows = self.rows.min(batch.num_rows() - start);
                    Ok(batch.slice(start, rows))
                };
                starts.map(cut).collect()
            }
        }
    }
}

/// An operator whose output passes a guard.
#[derive(Debug)]
pub(crate) struct Guarded {
    input: Arc<dyn ExecutionPlan>,
    guard: Guard,
}

impl Guarded {
    pub fn new(input: Arc<dyn ExecutionPlan>, guard: Guard) -> Self {
        Self { input, guard }
    }
}

impl DisplayAs for Guarded {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guarded")
    }
}

impl ExecutionPlan for Guarded {
    fn name(&self) -> &str {
        "Guarded"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(Self::new(input, self.guard.clone()))),
            None => Ok(self),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(Self::new(input, self.guard.clone()))),
            None => Ok(self),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let guard = self.guard.clone();
        let kept = guard.is_kept.then(|| {
            MemoryConsumer::new(format!("kept[{partition}]")).register(context.memory_pool())
        });
        let mut passed = Passed {
            kept,
            ..Passed::default()
        };
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let batches = input.flat_map(move |batch| stream::iter(guard.pass(batch, &mut passed)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
