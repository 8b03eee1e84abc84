//! The period arguments and the printed report of `accounts usage` and `keys usage`.

use chrono::Utc;
use clap::Args;
use serde_json::{Value, json};

use super::result::Failure;
use super::{CommandResult, Common};
use toise_accounts::json::consumption_json;
use toise_accounts::ledger::Ledger;
use toise_accounts::requests::parse_period;
use toise_accounts::usage::{DayRange, Usage, by_type};
use toise_base::clock::Clock;
use toise_store::Store;

/// The days that a report covers.
#[derive(Args, Debug)]
pub struct PeriodArgs {
    /// First day, included [default: the first of the month]
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Last day, included [default: the last of the month]
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
}

impl PeriodArgs {
    /// Returns the given period; by default the current month (UTC).
    pub fn period(&self) -> Result<DayRange, Failure> {
        let bounds = [("from_date", &self.from), ("to_date", &self.to)];
        let query: Vec<(&str, &str)> = bounds
            .into_iter()
            .filter_map(|(name, bound)| Some((name, bound.as_deref()?)))
            .collect();
        parse_period(&query, Utc::now().date_naive()).map_err(|fault| {
            let option = fault.path.replace("_date", "");
            format!("--{option} {}", fault.message.replace("_date", "")).into()
        })
    }
}

/// Writes the free calls that running and killed servers keep in journals to the ledger; says so if that fails. Blocks.
pub fn write_journals(store: &Store, clock: &Clock) {
    if let Err(error) = Ledger::new(store, clock).write_journals(store.folder()) {
        eprintln!(
            "free calls of the last second or of a killed server are not in the ledger yet: {error}"
        );
    }
}

/// One consumer of a report, with its consumption.
pub struct UsagePart<'u> {
    /// Name to print.
    pub label: String,
    /// Fields that identify the consumer in JSON.
    pub identity: Value,
    /// Consumption, by key and type.
    pub usage: Vec<&'u Usage>,
}

/// Prints a report: in JSON as a list of consumers, otherwise as a table of consumers and types.
pub fn print(
    common: &Common,
    consumer: &str,
    period: DayRange,
    parts: &[UsagePart<'_>],
) -> CommandResult {
    if common.json {
        let answers: Vec<Value> = parts
            .iter()
            .map(|part| {
                let mut answer = part.identity.clone();
                let consumption = consumption_json(&by_type(part.usage.iter().copied()));
                if let (Value::Object(answer), Value::Object(consumption)) =
                    (&mut answer, consumption)
                {
                    answer.extend(consumption);
                }
                answer
            })
            .collect();
        println!(
            "{}",
            json!({"from_date": period.from.to_string(), "to_date": period.to.to_string(), "usage": answers})
        );
        return Ok(());
    }
    let mut table = crate::table_of(&format!("{consumer}|type|credits|calls"));
    for part in parts {
        let types = by_type(part.usage.iter().copied());
        if types.is_empty() {
            table.add_row([&part.label, "nothing", "0", "0"]);
        }
        for consumed in types {
            table.add_row([
                part.label.clone(),
                consumed.consumption,
                consumed.credits.to_string(),
                consumed.calls.to_string(),
            ]);
        }
    }
    table.align_right(2..=3);
    println!("from {} to {} (UTC days)\n{table}", period.from, period.to);
    Ok(())
}
