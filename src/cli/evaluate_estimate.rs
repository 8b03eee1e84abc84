//! `toise evaluate estimate`: trains models on the sales before given days and evaluates them on later sales, or trains
//! models without some places and evaluates them there.

use std::fs;
use std::path::PathBuf;

use chrono::{Datelike, NaiveDate};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{CommandResult, Common};
use toise_base::clock::{Clock, iso};
use toise_base::progress::Progress;
use toise_estimate::clean::Funnel;
use toise_estimate::sale::SaleWithCommune;
use toise_estimate::{join, model, read_sales, store, train};
use toise_evaluation as evaluate;
use toise_evaluation::leave_out::{self, PlaceKind};
use toise_evaluation::rolling;

/// Folder of report cards, inside the folder of models.
const REPORTS: &str = "reports";

/// Arguments of `evaluate estimate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without options, a model is trained at each of several origins (first days of months) and tested on the twelve months
after it. The table shows bias, error and the coverage of the interval, by months after the last sale of the training.
Each origin trains one model. The report card covers the last full year.

Examples:
  toise evaluate estimate
  toise evaluate estimate --origins 36 --json
  toise evaluate estimate --train-until 2022-12-31 --test 2023
  toise evaluate estimate --leave-out city --places 20")]
pub struct EvaluateEstimateArgs {
    /// Evaluate one origin: the last day of the training sales [default: the day before --test]
    #[arg(long, value_name = "DATE")]
    train_until: Option<NaiveDate>,
    /// Evaluate one origin on these sales: a year, or the first and last day [default: all later sales]
    #[arg(long, value_name = "YEAR|DATE..DATE", value_parser = parse_test)]
    test: Option<TestPeriod>,
    /// Maximum number of origins, evenly spaced over the months with a year of known sales
    #[arg(long, value_name = "N", default_value_t = 12, conflicts_with_all = ["train_until", "test"],
        value_parser = clap::value_parser!(u16).range(1..=ORIGINS_MAX))]
    origins: u16,
    /// Train without whole departments or cities instead, one after another, and evaluate there
    #[arg(long, value_name = "PLACES", conflicts_with_all = ["train_until", "test", "origins"])]
    leave_out: Option<LeaveOut>,
    /// Number of places to leave out; those with the most sales are chosen
    #[arg(long, value_name = "N", default_value_t = 8, requires = "leave_out")]
    places: u16,
}

/// Maximum number of origins: the months of ten years.
const ORIGINS_MAX: i64 = 120;

/// Kind of place that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeaveOut {
    /// One department after another
    Department,
    /// One commune after another; Paris, Lyon and Marseille as a whole
    City,
}

/// First and last day of the test sales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TestPeriod(NaiveDate, NaiveDate);

fn parse_test(text: &str) -> Result<TestPeriod, String> {
    let wrong =
        || format!("\"{text}\" is neither a year nor two dates: 2023 or 2024-07-01..2024-12-31");
    let date = |text: &str| text.parse::<NaiveDate>().ok();
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (date(first), date(last)),
        None => {
            let year = text.parse::<i32>().map_err(|_| wrong())?;
            (
                NaiveDate::from_ymd_opt(year, 1, 1),
                NaiveDate::from_ymd_opt(year, 12, 31),
            )
        }
    };
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Ok(TestPeriod(first, last)),
        _ => Err(wrong()),
    }
}

/// Runs `evaluate estimate`.
pub fn run(common: &Common, arguments: &EvaluateEstimateArgs) -> CommandResult {
    let progress = Progress::new(common.json);
    let bar = progress.rows("reading", read_sales::rows(&common.data)?);
    let test = arguments.test;
    let last = test.map_or(i32::MAX, |test| model::days(test.1) + 1);
    let (mut recorded, mut funnel) = read_sales::sales(&common.data, last, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    join::join(&common.data, &mut recorded, &mut funnel)?;
    match arguments.leave_out {
        Some(kind) => leave_places_out(common, arguments, kind, &recorded),
        None => evaluate_later(common, arguments, recorded, funnel),
    }
}

/// Returns the folder of the reports.
fn reports(common: &Common) -> PathBuf {
    common.data.join(store::FOLDER).join(REPORTS)
}

/// Evaluates on later sales, at several origins unless one is given.
fn evaluate_later(
    common: &Common,
    arguments: &EvaluateEstimateArgs,
    recorded: Vec<SaleWithCommune>,
    funnel: Funnel,
) -> CommandResult {
    let progress = Progress::new(common.json);
    let test = arguments.test;
    let latest = recorded
        .iter()
        .map(|one| one.sale.day)
        .max()
        .unwrap_or_default();
    let train_until = arguments.train_until.or_else(|| match test {
        Some(test) => test.0.pred_opt(),
        None => last_year_end(&recorded, latest),
    });
    let train_until =
        train_until.ok_or("there are no sales to evaluate on; import some: toise import dvf")?;
    let is_single = arguments.train_until.is_some() || test.is_some();
    let origins = if is_single {
        Vec::new()
    } else {
        rolling::origins(&recorded, usize::from(arguments.origins))
    };
    let test = match test {
        Some(test) => model::days(test.0)..=model::days(test.1),
        None => model::days(train_until) + 1..=latest,
    };
    let bar = progress.rows("training", (origins.len() as u64 + 1) * train::STEPS);
    let horizon = if origins.is_empty() {
        None
    } else {
        Some(rolling::run(&recorded, &origins, &|| bar.inc(1))?)
    };
    let now = Clock::system().now();
    let trained_at = iso(now);
    let end = model::days(train_until) + 1;
    let (mut report, _) =
        evaluate::evaluate(recorded, funnel, end, test, trained_at, &|| bar.inc(1))?;
    bar.finish_and_clear();
    if let Some(horizon) = horizon {
        report.horizon = horizon;
    }
    let name = format!(
        "estimate-{}-to-{}-after-{}",
        report.test[0], report.test[1], report.train_until
    );
    let files = report.write(&reports(common), &name)?;
    if common.json {
        println!("{}", json!({"report": report, "files": files}));
        return Ok(());
    }
    println!("{}", report.markdown());
    for file in files {
        eprintln!("report: {}", file.display());
    }
    Ok(())
}

/// Returns the last day of the year before that of the latest sale, or the middle of the recorded days if no sale is
/// earlier than that day. `None` if there are no sales.
fn last_year_end(recorded: &[SaleWithCommune], latest: i32) -> Option<NaiveDate> {
    let first = recorded.iter().map(|one| one.sale.day).min()?;
    let year_end = NaiveDate::from_ymd_opt(model::date(latest).year() - 1, 12, 31)?;
    if model::days(year_end) > first {
        Some(year_end)
    } else {
        Some(model::date(first + (latest - first) / 2))
    }
}

/// Evaluates in places that are left out of the training.
fn leave_places_out(
    common: &Common,
    arguments: &EvaluateEstimateArgs,
    kind: LeaveOut,
    recorded: &[SaleWithCommune],
) -> CommandResult {
    let (kind, name) = match kind {
        LeaveOut::Department => (PlaceKind::Department, "department"),
        LeaveOut::City => (PlaceKind::City, "city"),
    };
    let places = leave_out::places(recorded, kind, usize::from(arguments.places));
    if places.is_empty() {
        let least = leave_out::PLACE_SALES_MIN;
        return Err(
            format!("no {name} has at least {least} sales; import more: toise import dvf").into(),
        );
    }
    let progress = Progress::new(common.json);
    let bar = progress.rows("training", places.len() as u64 * train::STEPS);
    let report = leave_out::run(recorded, kind, &places, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let folder = reports(common);
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("estimate-without-{name}.json"));
    fs::write(&file, serde_json::to_vec_pretty(&report)?)?;
    if common.json {
        println!("{}", json!({"report": report, "files": [file]}));
        return Ok(());
    }
    println!("{}", report.markdown());
    eprintln!("report: {}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_sales_are_a_year_or_two_dates() {
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        let year = TestPeriod(date("2023-01-01"), date("2023-12-31"));
        assert_eq!(parse_test("2023"), Ok(year));
        assert_eq!(parse_test("2023-01-01..2023-12-31"), Ok(year));
        for wrong in ["", "last year", "2023-12-31..2023-01-01", "2023-01-01.."] {
            assert!(parse_test(wrong).is_err(), "{wrong}");
        }
    }
}
