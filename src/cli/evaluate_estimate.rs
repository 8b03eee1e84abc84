//! `toise evaluate estimate`: trains a model on the sales up to a day and evaluates it on later sales.

use chrono::{Datelike, NaiveDate, SecondsFormat};
use clap::Args;
use serde_json::json;

use super::{CommandResult, Common};
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_estimate::{join, model, read_sales, store, train};
use toise_lab::estimate as evaluate;

/// Folder of report cards, inside the folder of models.
const REPORTS: &str = "reports";

/// Arguments of `evaluate estimate`.
#[derive(Args, Debug)]
pub struct EvaluateEstimateArgs {
    /// Last day of the training sales [default: the end of the year before the last recorded]
    #[arg(long, value_name = "DATE")]
    train_until: Option<NaiveDate>,
    /// Sales to evaluate on: a year, or the first and last day [default: all later sales]
    #[arg(long, value_name = "YEAR|DATE..DATE", value_parser = parse_test)]
    test: Option<TestPeriod>,
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
    let latest = recorded
        .iter()
        .map(|one| one.sale.day)
        .max()
        .unwrap_or_default();
    let train_until = arguments.train_until.or_else(|| match test {
        Some(test) => test.0.pred_opt(),
        None => NaiveDate::from_ymd_opt(model::date(latest).year() - 1, 12, 31),
    });
    let train_until = train_until.ok_or("--train-until: no such day")?;
    let test = match test {
        Some(test) => model::days(test.0)..=model::days(test.1),
        None => model::days(train_until) + 1..=latest,
    };
    let bar = progress.rows("training", train::STEPS);
    let now = Clock::system().now();
    let trained_at = now.to_rfc3339_opts(SecondsFormat::Millis, true);
    let end = model::days(train_until) + 1;
    let (report, _) = evaluate::evaluate(recorded, funnel, end, test, trained_at, &|| bar.inc(1))?;
    bar.finish_and_clear();
    let name = format!(
        "estimate-{}-to-{}-after-{}",
        report.test[0], report.test[1], report.train_until
    );
    let files = report.write(&common.data.join(store::FOLDER).join(REPORTS), &name)?;
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
