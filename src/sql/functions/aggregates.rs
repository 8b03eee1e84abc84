//! Aggregates that are rewritten to other aggregates: `arg_max(x, by)`, `arg_min(x, by)`, `count_if(condition)`.

use arrow::datatypes::DataType;
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::{count::count_udaf, first_last::first_value_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility, lit, when,
};

/// Returns the functions.
pub fn functions() -> Vec<AggregateUDF> {
    let functions = [
        ("arg_max", "max_by", Meaning::AtExtreme { ascending: false }),
        ("arg_min", "min_by", Meaning::AtExtreme { ascending: true }),
        ("count_if", "countif", Meaning::CountIf),
    ];
    let made = functions.into_iter().map(|(name, alias, meaning)| {
        let arguments = if meaning == Meaning::CountIf { 1 } else { 2 };
        AggregateUDF::from(RewrittenAggregate {
            name,
            aliases: vec![alias.to_owned()],
            meaning,
            signature: Signature::any(arguments, Volatility::Immutable),
        })
    });
    made.collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Meaning {
    /// The first argument in the row where the second one is greatest or least.
    AtExtreme { ascending: bool },
    /// The number of rows in which the argument is true.
    CountIf,
}

/// An aggregate that the optimiser replaces before it runs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RewrittenAggregate {
    name: &'static str,
    aliases: Vec<String>,
    meaning: Meaning,
    signature: Signature,
}

impl AggregateUDFImpl for RewrittenAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match (self.meaning, given) {
            (Meaning::CountIf, [DataType::Boolean]) => Ok(DataType::Int64),
            (Meaning::CountIf, _) => plan_err!("{} takes a condition", self.name),
            (_, [value, _by]) => Ok(value.clone()),
            _ => plan_err!("{} takes a value and what to order it by", self.name),
        }
    }

    fn is_nullable(&self) -> bool {
        self.meaning != Meaning::CountIf
    }

    fn default_value(&self, data_type: &DataType) -> Result<datafusion::scalar::ScalarValue> {
        match self.meaning {
            Meaning::CountIf => Ok(datafusion::scalar::ScalarValue::Int64(Some(0))),
            Meaning::AtExtreme { .. } => datafusion::scalar::ScalarValue::try_from(data_type),
        }
    }

    fn accumulator(&self, _arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        internal_err!("{} is replaced before it runs", self.name)
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let meaning = self.meaning;
        Some(Box::new(move |call, _context| expressed(meaning, call)))
    }
}

/// Rewrites the aggregate to functions that run.
fn expressed(meaning: Meaning, call: AggregateFunction) -> Result<Expr> {
    let AggregateFunctionParams {
        mut args,
        distinct,
        filter,
        order_by,
        null_treatment,
    } = call.params;
    let Some(last) = args.pop() else {
        return internal_err!("an aggregate without arguments");
    };
    Ok(match (meaning, args.pop()) {
        (Meaning::AtExtreme { ascending }, Some(value)) => {
            let known = last.clone().is_not_null();
            let filter = match filter {
                Some(filter) => filter.and(known),
                None => known,
            };
            Expr::AggregateFunction(AggregateFunction::new_udf(
                first_value_udaf(),
                vec![value],
                distinct,
                Some(Box::new(filter)),
                vec![last.sort(ascending, false)],
                null_treatment,
            ))
        }
        _ => Expr::AggregateFunction(AggregateFunction::new_udf(
            count_udaf(),
            vec![when(last, lit(1_i64)).end()?],
            distinct,
            filter,
            order_by,
            null_treatment,
        )),
    })
}
