//! The result of an estimate: a price, its 80 % interval, and what explains them.

use chrono::NaiveDate;

/// The estimated value of a home.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Central estimate in EUR.
    pub price: f64,
    /// Lower end of the interval in EUR.
    pub lower: f64,
    /// Upper end of the interval in EUR.
    pub upper: f64,
    /// Confidence class, from the width of the interval.
    pub confidence: EstimateConfidence,
    /// Which wider level replaced local sales, if any.
    pub fallback: Fallback,
    /// Why the price is less certain than prices near known sales; the confidence is then low.
    pub warning: Option<EstimateWarning>,
    /// Distance of the nearest known sale of the class in metres; `None` if there is none within reach.
    pub nearest_sale_m: Option<f64>,
    /// The nearest recorded sales, in order of distance; empty unless requested.
    pub comparables: Vec<Comparable>,
    /// Contributions to the price in EUR, which sum to `price`. Empty unless requested.
    pub contributions: Vec<Contribution>,
}

toise_base::named! {
    /// How narrow the interval is, in three classes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EstimateConfidence {
        /// A narrow interval.
        High = "HIGH",
        /// An interval of usual width.
        Medium = "MEDIUM",
        /// A wide interval, or a warning.
        Low = "LOW",
    }
}

toise_base::named! {
    /// The sales an estimate is based on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fallback {
        /// Sales near the home; no fallback was needed.
        None = "none",
        /// Sales of the department, for lack of local ones.
        Department = "department",
        /// Sales of the whole country, for lack of local ones.
        National = "national",
    }
}

toise_base::named! {
    /// The reason why an estimate is less certain than usual.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EstimateWarning {
        /// No sale of the class is known within reach: the price is for an average place, and the interval covers the
        /// differences between places.
        NoSaleWithinReach = "no_sale_within_reach",
        /// Fewer sales are within reach than a local estimate needs.
        FewSalesWithinReach = "few_sales_within_reach",
        /// The nearest sales are farther away than for nearly all homes the model was calibrated on: the price comes
        /// from other towns or districts, and the interval is wider.
        SalesFarAway = "sales_far_away",
    }
}

/// A recorded sale similar to the home.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparable {
    /// Identifier of the recorded sale in the lake.
    pub id: String,
    /// Day of the sale.
    pub date: NaiveDate,
    /// Price in EUR.
    pub price: f64,
    /// Habitable area in square metres.
    pub surface_m2: f64,
    /// Distance from the home in metres.
    pub distance_m: f64,
}

/// The contribution of one input to the price.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The input, by its contract name if it has one.
    pub feature: &'static str,
    /// EUR it adds (positive) or subtracts (negative).
    pub eur: f64,
}

/// Optional parts of an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Number of comparables to return, at most five.
    pub comparables: usize,
    /// Whether to return contributions.
    pub has_contributions: bool,
}
