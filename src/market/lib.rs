//! Market indicators: sale prices, asking prices and rents of homes, by place, class and period.
//!
//! One function, [`Market::report`], answers HTTP, the command line and SQL. It scans decoded columns of recorded sales
//! ([`sales`]) and of properties ([`asking`]), groups both by place, class and period, and joins them ([`report`]). The
//! definition of every indicator is in `docs/market.md`.
//!
//! Reports are cached by the versions of their inputs. Grouped sales have a separate cache, because listings change all
//! the time and sales only a few times a year.

#![forbid(unsafe_code)]

pub mod asking;
mod index;
pub mod period;
pub mod place;
pub mod quantiles;
pub mod rents;
pub mod report;
pub mod request;
pub mod sales;
pub mod table;

use std::collections::HashMap;
use std::sync::Arc;

use moka::sync::Cache;

use asking::AskingGroup;
use period::Division;
use place::Level;
pub use report::MarketReport;
use request::LOCATION_FIELD as LOCATION;
pub use request::{MarketRequest, parse_market};
use sales::{GroupKey, SalesGroup};
use toise_base::clock::Clock;
use toise_contract::fault::Fault;
use toise_engine::Engine;
use toise_engine::cancellation::Interrupt;
use toise_estimate::HomeClass;
use toise_estimate::live::LiveModel;
use toise_listings::search::projection::view::ProjectionView;
use toise_opendata::dvf;

/// Maximum rows of a report: enough for all communes and both classes in two and a half periods.
pub const ROWS_MAX: usize = 200_000;
/// Maximum rows of an answer about cells over HTTP, about 4 MB of JSON: all cells of two departments in one period.
pub const CELL_ROWS_MAX: usize = 20_000;
/// Maximum memory of the cache of grouped sales, and of the cache of reports, bytes each.
const CACHE_BYTES: u64 = 128 << 20;
/// Memory of an entry of a cache in addition to its key and its value, bytes.
const ENTRY_BYTES: usize = 256;

/// Why a report cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The report would have more than [`ROWS_MAX`] rows, or the request for cells has no condition on the place or too
    /// many rows.
    #[error(transparent)]
    Invalid(#[from] Fault),
    /// A table cannot be read, or the query was cancelled.
    #[error("{0}")]
    Engine(#[from] toise_engine::Error),
    /// A report cannot be built or written.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
}

/// Function that returns the current properties; `None` if there is no store of listings.
pub type CurrentProperties = Arc<dyn Fn() -> Option<Arc<ProjectionView>> + Send + Sync>;

/// Market indicators over the tables of an engine. Cheap to clone.
#[derive(Clone)]
pub struct Market {
    engine: Arc<Engine>,
    properties: CurrentProperties,
    models: LiveModel,
    clock: Clock,
    sales: Cache<String, Arc<Vec<SalesGroup>>>,
    reports: Cache<String, Arc<MarketReport>>,
}

impl Market {
    /// Creates indicators over the tables of an engine.
    pub fn new(
        engine: Arc<Engine>,
        properties: CurrentProperties,
        models: LiveModel,
        clock: Clock,
    ) -> Self {
        // A key holds the area of a request, and may be longer than the few rows found in it.
        let weigh = |key: &String, bytes: usize| {
            u32::try_from(ENTRY_BYTES + key.len() + bytes).unwrap_or(u32::MAX)
        };
        Self {
            engine,
            properties,
            models,
            clock,
            sales: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(move |key, groups: &Arc<Vec<SalesGroup>>| {
                    weigh(key, groups.len() * size_of::<SalesGroup>())
                })
                .build(),
            reports: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(move |key, report: &Arc<MarketReport>| weigh(key, report.bytes()))
                .build(),
        }
    }

    /// Computes the indicators of a request like [`Self::report`], for a response over HTTP: cells need a condition on
    /// the place, and at most [`CELL_ROWS_MAX`] rows of them are allowed.
    ///
    /// # Errors
    /// As for [`Self::report`], or a request for cells has no condition on the place or too many rows.
    pub fn answer(
        &self,
        request: &MarketRequest,
        interrupt: &Interrupt,
    ) -> Result<Arc<MarketReport>, Error> {
        let is_of_cells = request.level == Level::Cell;
        if is_of_cells && !request.has_place() {
            let message =
                "is required if level is cell: give departments, communes, around, area or layer";
            return Err(Fault::new(LOCATION, message).into());
        }
        let report = self.report(request, interrupt)?;
        let rows = report.rows.num_rows();
        if is_of_cells && rows > CELL_ROWS_MAX {
            let message = format!(
                "gives {rows} rows of cells; must give at most {CELL_ROWS_MAX}: request a smaller place, longer periods, \
                 one type or fewer days"
            );
            return Err(Fault::new(LOCATION, message).into());
        }
        Ok(report)
    }

    /// Computes the indicators of a request, or returns them from the cache. Uses CPU on the calling thread and its
    /// rayon pool; five million sales take about a second when nothing is cached.
    ///
    /// # Errors
    /// More than [`ROWS_MAX`] rows, a table that cannot be read, or a cancelled query.
    pub fn report(
        &self,
        request: &MarketRequest,
        interrupt: &Interrupt,
    ) -> Result<Arc<MarketReport>, Error> {
        let mut notes = Vec::new();
        let has_table = self
            .engine
            .schemas()
            .any(|table| table.name == dvf::schema().name);
        let sold = if request.has_sale && has_table {
            Some(self.engine.view(dvf::schema())?)
        } else {
            None
        };
        let properties = (self.properties)();
        let model = self.models.valuer().filter(|_| request.has_sale);
        let today = toise_estimate::model::days(self.clock.now().date_naive());
        let sales_key = sold.as_ref().map(|view| view.snapshot().sequence);
        let version = model
            .as_ref()
            .map(|valuer| valuer.model().metadata().version.clone());
        let through = properties.as_ref().map(|view| view.through());
        let sales_key = format!("{request:?} {sales_key:?}");
        let key = format!("{sales_key} {through:?} {version:?} {today}");
        if let Some(report) = self.reports.get(&key) {
            return Ok(report);
        }
        let sales = match (self.sales.get(&sales_key), &sold) {
            (Some(sales), _) => sales,
            (None, None) => Arc::default(),
            (None, Some(view)) => {
                let sales = sales::groups(&self.engine, view, request, interrupt)?;
                let sales = Arc::new(sales);
                self.sales.insert(sales_key, Arc::clone(&sales));
                sales
            }
        };
        let asking = match &properties {
            Some(view) => Some(asking::groups(
                &self.engine, view, request, today, interrupt,
            )?),
            None => {
                notes.push("figures from adverts are null: there are no adverts".to_owned());
                None
            }
        };
        let rows = count_rows(&sales, asking.as_ref());
        if rows > ROWS_MAX {
            let message = format!(
                "gives {rows} rows; must give at most {ROWS_MAX}: request longer periods, fewer places or fewer days"
            );
            return Err(Fault::new("level", message).into());
        }
        if request.has_sale && model.is_none() {
            notes.push("index is null: no model was trained".to_owned());
        } else if request.has_sale && request.by == Division::Whole {
            notes
                .push("index is null: it compares periods, and all days are one period".to_owned());
        }
        let paths = model.as_ref().map(|valuer| valuer.model().price_paths());
        let index_of = |class: u8, department: u8, periods: [i32; 2]| {
            let class = [HomeClass::Flat, HomeClass::House]
                .into_iter()
                .find(|known| *known as u8 == class)?;
            index::value(paths.as_ref()?, class, department, request.by, periods)
        };
        let report = MarketReport::new(request, &sales, asking, &index_of, notes)?;
        let report = Arc::new(report);
        self.reports.insert(key, Arc::clone(&report));
        Ok(report)
    }
}

/// Returns the number of rows of a report: of sales, which are sorted by their keys, and of properties without sales.
fn count_rows(sales: &[SalesGroup], asking: Option<&HashMap<GroupKey, AskingGroup>>) -> usize {
    let keys = asking.into_iter().flat_map(HashMap::keys);
    let is_without_sales =
        |key: &&GroupKey| sales.binary_search_by(|group| group.key.cmp(key)).is_err();
    sales.len() + keys.filter(is_without_sales).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use place::PlaceKey;

    #[test]
    fn a_row_of_sales_and_properties_counts_once() {
        let key = |code: &str| (PlaceKey::from_code(code).unwrap(), 0, 0);
        let sold = |code: &str| SalesGroup {
            key: key(code),
            department: 1,
            sales: 1,
            priced: 0,
            volume: 0.0,
            price_per_m2: None,
        };
        let sales = [sold("01001"), sold("48095")];
        let offered = ["48095", "75101"].map(|code| (key(code), AskingGroup::default()));
        assert_eq!(count_rows(&sales, Some(&HashMap::from(offered))), 3);
        assert_eq!(count_rows(&sales, None), 2);
    }
}
