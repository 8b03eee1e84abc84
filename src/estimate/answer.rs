//! What an estimate says: a price, the interval that holds four sales in five, and why.

use chrono::NaiveDate;

/// The value of a home.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Central estimate in EUR.
    pub price: f64,
    /// Lower end of the interval in EUR.
    pub lower: f64,
    /// Upper end of the interval in EUR.
    pub upper: f64,
    /// By the width of the interval.
    pub confidence: Confidence,
    /// What stood in for local sales.
    pub fallback: Fallback,
    /// Nearest recorded sales, best first; empty where not asked for.
    pub comparables: Vec<Comparable>,
    /// What moved the price, in EUR; they sum to `price`. Empty where not asked for.
    pub contributions: Vec<Contribution>,
}

/// How narrow the interval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    #[allow(missing_docs)]
    High,
    #[allow(missing_docs)]
    Medium,
    #[allow(missing_docs)]
    Low,
}

/// What an estimate rests on where no sale is within reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Sales around the home.
    None,
    /// Sales of the department.
    Department,
    /// Sales of the country.
    National,
}

/// A recorded sale like the home.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparable {
    /// Identifier of the recorded sale in the lake.
    pub id: String,
    /// Day of the sale.
    pub date: NaiveDate,
    /// Price in EUR.
    pub price: f64,
    /// Living surface in square metres.
    pub surface_m2: f64,
    /// Metres from the home.
    pub distance_m: f64,
}

/// A part of the price.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The input, in the words of the contract where it has one.
    pub feature: &'static str,
    /// EUR it adds or takes.
    pub eur: f64,
}

/// What an answer holds beside the price and its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Nearest recorded sales wanted, at most five.
    pub comparables: usize,
    /// Whether contributions are wanted.
    pub has_contributions: bool,
}
