//! Computes the figures of communes and departments that colour a map of areas (instead of hexagons).
//!
//! One scan groups all rows that a filter selects by their current commune, for the whole map; tiles are then drawn
//! from these figures. Figures are cached under the version of their table, so a filter costs one scan however many
//! tiles show it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::hexagons::Cell;
use crate::source::TileSource;
use toise_contract::enums::{EnumPropertyClass, EnumPropertyOfferType, WireEnum};
use toise_contract::filter::{Clause, ClauseTest, Filter};
use toise_engine::Engine;
use toise_engine::cancellation::Interrupt;
use toise_geo::departments;
use toise_listings::search::projection::view::ProjectionView;
use toise_opendata::{Dataset, dvf};

/// Minimum number of rows with a figure on each side of a comparison.
const COMPARED_MIN: u32 = 5;
/// Maximum age of the sales that asking prices are compared with, days. Sales are published up to half a year late.
pub const SOLD_WITHIN_DAYS: i32 = 3 * 365;

/// Figures of an area.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AreaFigure {
    /// Number of rows in it.
    pub count: u32,
    /// The figure of the source; `None` if no row has one.
    pub figure: Option<f64>,
    /// How much asking prices exceed the prices of recorded sales, percent; only for properties.
    pub over_sold: Option<f64>,
}

/// The figures of areas, by code of commune and of department.
#[derive(Debug, Default)]
pub struct AreaFigures(HashMap<&'static str, AreaFigure>);

impl AreaFigures {
    /// Returns the figures of an area; `None` if it has no row.
    pub fn of(&self, code: &str) -> Option<&AreaFigure> {
        self.0.get(code)
    }

    /// Returns the number of areas that have rows.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Inputs of the scan of a table.
pub(crate) struct AreaScan<'s> {
    pub engine: &'s Engine,
    pub interrupt: &'s Interrupt,
    /// Today, in days since 1970-01-01.
    pub today: i32,
    /// Whether there are sales to compare with.
    pub has_sales: bool,
}

impl AreaScan<'_> {
    /// Computes the figures of the rows of a source that a filter selects.
    ///
    /// # Errors
    /// The table cannot be read, or the query is cancelled.
    pub fn figures(&self, source: &TileSource, filter: &Filter) -> Result<AreaFigures, Error> {
        let mut figures: HashMap<&'static str, AreaFigure> = HashMap::new();
        for (code, mut cell) in self.cells(source, filter)? {
            let figure = source.figure().aggregated(&mut cell.values);
            let known = AreaFigure {
                count: cell.count,
                figure,
                over_sold: None,
            };
            figures.insert(code, known);
        }
        if let (TileSource::Properties(view), true) = (source, self.has_sales) {
            for (code, over) in self.over_sold(view, filter)? {
                figures.entry(code).or_default().over_sold = Some(over);
            }
        }
        Ok(AreaFigures(figures))
    }

    /// Gathers the selected rows by commune and by department.
    fn cells(
        &self,
        source: &TileSource,
        filter: &Filter,
    ) -> Result<HashMap<&'static str, Cell>, Error> {
        let view = source.view(self.engine)?;
        let start = HashMap::<&'static str, Cell>::new;
        let states = view.scan_areas(
            source,
            self.engine,
            filter,
            self.interrupt,
            start,
            |cells, commune, figure| {
                let cell = cells.entry(commune).or_default();
                cell.count += 1;
                cell.values.extend(figure.map(|figure| figure as f32));
            },
        )?;
        let mut cells: HashMap<&'static str, Cell> = HashMap::new();
        for (commune, cell) in states.into_iter().flatten() {
            let department = departments::for_commune(commune);
            if let Some(department) = department {
                let whole = cells.entry(department).or_default();
                whole.count += cell.count;
                whole.values.extend(&cell.values);
            }
            let known = cells.entry(commune).or_default();
            known.count += cell.count;
            known.values.extend(cell.values);
        }
        Ok(cells)
    }

    /// Returns how much asking prices exceed recorded ones, percent. Flats are compared with flats and houses with
    /// houses, weighted by the number on offer.
    fn over_sold(
        &self,
        view: &Arc<ProjectionView>,
        filter: &Filter,
    ) -> Result<HashMap<&'static str, f64>, Error> {
        let asked_of = TileSource::Properties(Arc::clone(view));
        let mut sums: HashMap<&'static str, (f64, f64)> = HashMap::new();
        for (kind, class) in [
            (dvf::PROPERTY_TYPES[0], EnumPropertyClass::Flat),
            (dvf::PROPERTY_TYPES[1], EnumPropertyClass::House),
        ] {
            let mut asking = filter.clone();
            asking.push(one_of("type", class.as_str()));
            asking.push(one_of("offer_type", EnumPropertyOfferType::Buy.as_str()));
            let asking = self.cells(&asked_of, &asking)?;
            if asking.is_empty() {
                continue;
            }
            let sold = self.cells(&TileSource::OpenData(Dataset::Dvf), &self.sold(kind))?;
            let figure = asked_of.figure();
            let mut medians: HashMap<&'static str, f64> = HashMap::new();
            for (code, mut cell) in sold
                .into_iter()
                .filter(|(_, cell)| cell.values.len() >= COMPARED_MIN as usize)
            {
                medians.extend(
                    figure
                        .aggregated(&mut cell.values)
                        .map(|median| (code, median)),
                );
            }
            for (code, mut cell) in asking
                .into_iter()
                .filter(|(_, cell)| cell.values.len() >= COMPARED_MIN as usize)
            {
                let known = medians.get(code).copied().filter(|median| *median > 0.0);
                if let (Some(asked), Some(sold)) = (figure.aggregated(&mut cell.values), known) {
                    let (sum, weight) = sums.entry(code).or_default();
                    *sum += f64::from(cell.count) * 100.0 * (asked / sold - 1.0);
                    *weight += f64::from(cell.count);
                }
            }
        }
        Ok(sums
            .into_iter()
            .map(|(code, (sum, weight))| (code, sum / weight))
            .collect())
    }

    /// Returns the filter for recent sales of one kind on the open market.
    fn sold(&self, kind: &str) -> Filter {
        let from = Some(self.today - SOLD_WITHIN_DAYS);
        vec![
            one_of("property_type", kind),
            Clause::new("is_open_market", ClauseTest::Is(true)),
            Clause::new("transaction_date", ClauseTest::Day { from, to: None }),
        ]
    }
}

fn one_of(column: &'static str, value: &str) -> Clause {
    Clause::new(column, ClauseTest::OneOf(vec![value.to_owned()]))
}
