//! Selects the recorded sales to train on, rule by rule, and counts the sales that each rule keeps.

use std::collections::HashMap;

use serde::Serialize;

use super::sale::HomeSale;

/// Minimum accepted price, EUR.
pub const PRICE_MIN: f64 = 15_000.0;
/// Accepted habitable areas, square metres.
pub const SURFACE: std::ops::RangeInclusive<f64> = 9.0..=1_000.0;
/// Accepted prices per square metre, EUR.
pub const PRICE_PER_M2: std::ops::RangeInclusive<f64> = 300.0..=30_000.0;
/// Cell level at which prices per square metre are compared: 4 km. If a cell has too few sales, its department is used.
const CELL_LEVEL: u32 = 8;
/// Minimum sales in a cell for its usual price to be used.
const USUAL_MIN: usize = 20;
/// Maximum ratio, up or down, to the median price per square metre of the place and year; beyond it a sale is taken to
/// be an error.
const FACTOR_MAX: f64 = 4.0;
const YEAR_DAYS: i32 = 365;

/// One rule and the number of sales it kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunnelStep {
    /// The condition sales had to meet.
    pub rule: &'static str,
    /// Sales that met it and all rules before.
    pub left: u64,
}

/// The sequence of rules from all records to the training rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Funnel {
    /// Rules in the order of application.
    pub steps: Vec<FunnelStep>,
}

impl Funnel {
    /// Records the number of sales a rule kept.
    pub fn note(&mut self, rule: &'static str, left: usize) {
        self.steps.push(FunnelStep {
            rule,
            left: left as u64,
        });
    }
}

/// Removes sales that do not reveal the price of a single home: those far from the usual price of their place and time,
/// several at one price on one day, and repeats of the same home within a month.
pub fn clean(mut sales: Vec<HomeSale>, funnel: &mut Funnel) -> Vec<HomeSale> {
    let usual = UsualPrices::new(&sales);
    sales.retain(|sale| usual.is_usual(sale));
    funnel.note(
        "price per m2 within 4 times the median of place, class and year",
        sales.len(),
    );
    let bundle = |sale: &HomeSale| (sale.day, sale.price.to_bits(), sale.department);
    let mut together: HashMap<_, Vec<(i32, i32)>> = HashMap::new();
    for sale in &sales {
        let place = (sale.position.latitude_e6, sale.position.longitude_e6);
        together.entry(bundle(sale)).or_default().push(place);
    }
    let is_alone = |sale: &HomeSale| {
        let place = (sale.position.latitude_e6, sale.position.longitude_e6);
        let at_place = together.get(&bundle(sale)).map_or(0, |places| {
            places.iter().filter(|other| **other == place).count()
        });
        at_place < 2
    };
    sales.retain(is_alone);
    funnel.note(
        "not sold with others of the same place at one price",
        sales.len(),
    );
    let home = |sale: &HomeSale| {
        let position = (sale.position.latitude_e6, sale.position.longitude_e6);
        (
            sale.class,
            position,
            sale.surface_m2.to_bits(),
            sale.price.to_bits(),
        )
    };
    sales.sort_unstable_by_key(|sale| (sale.day, sale.id));
    let mut last_sold = HashMap::new();
    sales.retain(|sale| {
        let former = last_sold.insert(home(sale), sale.day);
        former.is_none_or(|former| sale.day - former > REPEATED_DAYS)
    });
    funnel.note(
        "not the same home at the same price again within a month",
        sales.len(),
    );
    sales
}

/// Maximum days between two records of the same home at the same price that count as one sale recorded twice.
const REPEATED_DAYS: i32 = 31;

/// Medians of log price per square metre, by place.
struct UsualPrices {
    cells: HashMap<CellKey, f64>,
    departments: HashMap<CellKey, f64>,
}

/// Class, cell or department, and year.
type CellKey = (super::home::HomeClass, u64, i32);

fn per_m2(sale: &HomeSale) -> f64 {
    (sale.price / f64::from(sale.surface_m2)).ln()
}

fn cell(sale: &HomeSale) -> CellKey {
    let code = sale.position.morton() >> (2 * CELL_LEVEL);
    (sale.class, code, sale.day.div_euclid(YEAR_DAYS))
}

fn department(sale: &HomeSale) -> CellKey {
    (
        sale.class,
        u64::from(sale.department),
        sale.day.div_euclid(YEAR_DAYS),
    )
}

impl UsualPrices {
    fn new(sales: &[HomeSale]) -> Self {
        let medians = |place: fn(&HomeSale) -> CellKey| {
            let mut values: HashMap<CellKey, Vec<f64>> = HashMap::new();
            for sale in sales {
                values.entry(place(sale)).or_default().push(per_m2(sale));
            }
            values.retain(|_, values| values.len() >= USUAL_MIN);
            let medians = values.into_iter().map(|(place, mut values)| {
                let middle = values.len() / 2;
                let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
                (place, *median)
            });
            medians.collect()
        };
        Self {
            cells: medians(cell),
            departments: medians(department),
        }
    }

    fn is_usual(&self, sale: &HomeSale) -> bool {
        let median = self.cells.get(&cell(sale));
        let Some(median) = median.or_else(|| self.departments.get(&department(sale))) else {
            return true;
        };
        (per_m2(sale) - median).abs() <= FACTOR_MAX.ln()
    }
}
