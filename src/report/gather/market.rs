//! The market of a report: price paths of the commune and the department of a home, and the market of the commune.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use chrono::{Days, Months, NaiveDate};

use super::{Error, Reporter};
use crate::model::{PlaceMarket, PricePath, QuarterPrice, ReportedHome};
use toise_engine::cancellation::Interrupt;
use toise_estimate::{HomeClass, model};
use toise_geo::departments;
use toise_geo::places::DIVIDED_CITIES;
use toise_market::MarketRequest;
use toise_market::period::Division;
use toise_market::place::Level;

/// Length of the price path, years.
const PATH_YEARS: u32 = 8;
/// Quarters that the market of a commune is computed from.
const MARKET_QUARTERS: u32 = 4;
/// Months of a quarter.
const QUARTER_MONTHS: u32 = 3;

impl Reporter {
    /// Returns the price paths of the commune and the department of a home, and the market of the commune.
    pub(super) fn market(
        &self,
        home: &ReportedHome,
        class: HomeClass,
        today: NaiveDate,
        interrupt: &Interrupt,
    ) -> Result<(Vec<PricePath>, Option<PlaceMarket>), Error> {
        if home.insee_code.is_empty() {
            return Ok((Vec::new(), None));
        }
        let from = today.checked_sub_months(Months::new(12 * PATH_YEARS));
        let by_quarter = |level| MarketRequest {
            class: Some(class),
            has_rent: false,
            by: Division::Quarter,
            from: from.map(model::days),
            ..MarketRequest::of_level(level)
        };
        let commune = MarketRequest {
            communes: vec![home.insee_code.clone()],
            ..by_quarter(Level::Commune)
        };
        let department = MarketRequest {
            departments: vec![home.department.clone()],
            ..by_quarter(Level::Department)
        };
        let of_commune = self.market.report(&commune, interrupt)?;
        let of_department = self.market.report(&department, interrupt)?;
        // Without its arrondissement, a city has a row for each of them, and none for itself.
        let is_divided = DIVIDED_CITIES.contains(&home.insee_code.as_str());
        let mut paths = Vec::new();
        for (level, name, report) in [
            ("commune", home.commune.as_str(), &of_commune),
            (
                "department",
                departments::name(&home.department).unwrap_or_default(),
                &of_department,
            ),
        ] {
            let quarters = quarters(&report.rows);
            let is_of_parts = is_divided && level == "commune";
            if !quarters.is_empty() && !is_of_parts {
                paths.push(PricePath {
                    level,
                    name: name.to_owned(),
                    quarters,
                });
            }
        }
        if is_divided {
            return Ok((paths, None));
        }
        let (from, to) = last_year(&of_department.rows);
        let whole = MarketRequest {
            communes: vec![home.insee_code.clone()],
            class: Some(class),
            from: from.map(model::days),
            ..MarketRequest::of_level(Level::Commune)
        };
        let whole = self.market.report(&whole, interrupt)?;
        let rows = &whole.rows;
        if rows.num_rows() == 0 {
            return Ok((paths, None));
        }
        let number = |name: &str| number(rows, name, 0);
        let market = PlaceMarket {
            name: home.commune.clone(),
            from,
            to,
            sales: number("sales"),
            price_per_m2_q1: number("price_per_m2_q1"),
            price_per_m2_median: number("price_per_m2_median"),
            price_per_m2_q3: number("price_per_m2_q3"),
            stock: number("stock"),
            asking_price_per_m2: number("asking_price_per_m2"),
            days_on_market: number("days_on_market"),
            rent_per_m2: number("rent_per_m2"),
            gross_yield: number("gross_yield"),
        };
        Ok((paths, Some(market)))
    }
}

/// Returns the quarters of a market report that have a median.
fn quarters(rows: &RecordBatch) -> Vec<QuarterPrice> {
    let Some(periods) = rows.column_by_name("period") else {
        return Vec::new();
    };
    let periods = periods.as_string::<i32>();
    let with_median = (0..rows.num_rows()).filter_map(|row| {
        Some(QuarterPrice {
            period: periods
                .is_valid(row)
                .then(|| periods.value(row).to_owned())?,
            median: number(rows, "price_per_m2_median", row)?,
            sales: number(rows, "priced_sales", row)? as u64,
        })
    });
    let mut quarters: Vec<QuarterPrice> = with_median.collect();
    quarters.sort_by(|one, other| one.period.cmp(&other.period));
    quarters
}

/// Returns the first and the last day of the last four quarters that have recorded sales.
fn last_year(rows: &RecordBatch) -> (Option<NaiveDate>, Option<NaiveDate>) {
    let Some(periods) = rows.column_by_name("period") else {
        return (None, None);
    };
    let periods = periods.as_string::<i32>();
    let sold = (0..rows.num_rows()).filter(|row| {
        periods.is_valid(*row) && number(rows, "sales", *row).is_some_and(|sales| sales > 0.0)
    });
    let Some(start) = sold.map(|row| periods.value(row)).max().and_then(first_day) else {
        return (None, None);
    };
    let before = Months::new(QUARTER_MONTHS * (MARKET_QUARTERS - 1));
    let end = start.checked_add_months(Months::new(QUARTER_MONTHS));
    (
        start.checked_sub_months(before),
        end.and_then(|end| end.checked_sub_days(Days::new(1))),
    )
}

/// Returns the first day of a quarter such as `2024-Q2`.
pub(crate) fn first_day(quarter: &str) -> Option<NaiveDate> {
    let (year, quarter) = quarter.split_once("-Q")?;
    let month = (quarter.parse::<u32>().ok()?.checked_sub(1)?) * QUARTER_MONTHS + 1;
    NaiveDate::from_ymd_opt(year.parse().ok()?, month, 1)
}

/// Returns a figure of a market report.
fn number(rows: &RecordBatch, column: &str, row: usize) -> Option<f64> {
    let column = rows.column_by_name(column)?;
    if column.is_null(row) {
        return None;
    }
    let counts = column.as_primitive_opt::<Int64Type>();
    let counted = counts.map(|counts| counts.value(row) as f64);
    let numbers = column.as_primitive_opt::<Float64Type>();
    counted.or_else(|| numbers.map(|numbers| numbers.value(row)))
}
