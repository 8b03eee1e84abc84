//! Sales that were imported after the model was trained: comparables that the model does not know yet.
//!
//! They are read once per model and version of the table, follow the rules of the model for single records, and are
//! searched as the model searches its own: about 15 µs per home. A sale takes about 50 bytes. Half a year of sales of the
//! whole country is about 400,000.

use std::cmp::Reverse;
use std::sync::Arc;

use arrow::array::ArrayRef;
use chrono::NaiveDate;

use crate::error::Result;
use crate::state::ComparableSale;
use toise_contract::filter::{Clause, ClauseTest};
use toise_engine::cancellation::Interrupt;
use toise_engine::predicate::Predicate;
use toise_engine::{Engine, Error as EngineError};
use toise_estimate::Home;
use toise_estimate::clean::{Funnel, clean};
use toise_estimate::comparables::SaleLocator;
use toise_estimate::grid::GridPosition;
use toise_estimate::model::days;
use toise_estimate::read_sales::{COLUMNS, sale};
use toise_estimate::sale::{HomeSale, SaleColumns, date, id_text};
use toise_opendata::Dataset;

/// Maximum recent sales near one home: its latest ones.
pub(super) const NEAR_MAX: usize = 50;

/// Recent sales, by position.
#[derive(Default)]
pub(super) struct RecentSales {
    sales: SaleColumns,
    locator: SaleLocator,
}

impl RecentSales {
    /// Reads the sales after a day. CPU-bound, on the calling rayon pool.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn read(engine: &Engine, after: NaiveDate) -> Result<Self> {
        let schema = Dataset::Dvf.schema();
        let view = engine.view(schema)?;
        let later = ClauseTest::Day {
            from: Some(days(after) + 1),
            to: None,
        };
        let filter = vec![Clause::new(schema.date, later)];
        let predicate = Predicate::compile(schema, &filter).map_err(EngineError::from)?;
        let mut columns = Vec::with_capacity(COLUMNS.len());
        for name in COLUMNS {
            let found = schema.column(name).map(|(index, _)| index);
            let unknown = || EngineError::UnknownTable(format!("{}.{name}", schema.name));
            columns.push(found.ok_or_else(unknown)?);
        }
        let parts = engine.scan(
            &view,
            &predicate,
            &Interrupt::default(),
            Vec::new,
            |found: &mut Vec<HomeSale>, visited| {
                let mut values: Vec<ArrayRef> = Vec::with_capacity(columns.len());
                for column in &columns {
                    values.push(Arc::clone(&visited.column(*column)?.values));
                }
                visited
                    .selected
                    .for_each(|row| found.extend(sale(&values, row)));
                Ok(())
            },
        )?;
        let sales = parts.into_iter().flatten().collect();
        Ok(Self::new(clean(sales, &mut Funnel::default())))
    }

    pub(super) fn new(sales: Vec<HomeSale>) -> Self {
        let sales = SaleColumns::new(sales);
        let locator = SaleLocator::new(&sales);
        Self { sales, locator }
    }

    /// Returns the sales of the class of a home within a distance, the latest first, of one day the nearest first; at
    /// most [`NEAR_MAX`].
    pub fn near(&self, home: &Home, reach_m: f64) -> Vec<ComparableSale> {
        let mut found = Vec::new();
        if self.sales.is_empty() {
            return Vec::new();
        }
        let position = GridPosition::new(home.latitude, home.longitude);
        let (sales, locator) = (&self.sales, &self.locator);
        locator.nearest(sales, home.class, position, i32::MAX, &mut found);
        let distance_m = |squared_m2: f32| f64::from(squared_m2).sqrt();
        found.retain(|one| distance_m(one.squared_m2) <= reach_m);
        found.sort_by_key(|one| {
            let day = Reverse(sales.day[one.row as usize]);
            (day, one.squared_m2.to_bits(), one.row)
        });
        found.truncate(NEAR_MAX);
        let shown = found.into_iter().map(|one| {
            let row = one.row as usize;
            ComparableSale {
                id: id_text(&sales.id[row]),
                date: date(sales.day[row]).to_string(),
                price: sales.price[row].round() as i64,
                distance_m: distance_m(one.squared_m2).round() as i64,
            }
        });
        shown.collect()
    }
}
