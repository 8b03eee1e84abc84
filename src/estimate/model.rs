//! A trained model. It can be used from any thread and gives bit-identical results.
//!
//! An estimate takes about 30 µs of one core, half of it in trees; contributions take half a millisecond more.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::answer::{
    Comparable, Contribution, Detail, Estimate, EstimateConfidence, EstimateWarning, Fallback,
};
use super::boosting::BoostedTrees;
pub use super::error::Error;
use super::features::OwnFeatures;
use super::fit::{FittedEstimator, FittedTrees, RawValuation, Scratch};
use super::grid::GridPosition;
use super::home::{Home, HomeClass};
use super::interval::{FallbackLevel, Interval, IntervalSides, SegmentFeatures, WIDTH_MIN};
use super::market::AsOf;
use super::price_index::PricePaths;
pub use super::sale::date;
use super::sale::id_text;
use super::{adjustments, interval};

/// Maximum comparables in a result.
const COMPARABLES_SHOWN_MAX: usize = 5;
/// Length of a model version, characters.
const VERSION_CHARACTERS: usize = 16;
/// Maximum half-width of the interval for high confidence, in log price.
const HIGH_HALF_WIDTH_MAX: f64 = 0.2;
/// Maximum half-width of the interval for medium confidence, in log price.
const MEDIUM_HALF_WIDTH_MAX: f64 = 0.35;

/// The description of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelMetadata {
    /// Digest of the trained model: 16 hexadecimal characters.
    pub version: String,
    /// When it was trained: ISO 8601, UTC.
    pub trained_at: String,
    /// Last day of the known sales: `YYYY-MM-DD`.
    pub data_through: String,
    /// Target coverage of the interval.
    pub coverage: f64,
    /// Number of sales it was trained on.
    pub sales: u64,
    /// Inputs whose effect was learned from sales, by contract name.
    pub learned_inputs: Vec<String>,
}

/// A trained model.
#[derive(Debug)]
pub struct Model {
    pub(super) metadata: ModelMetadata,
    pub(super) fitted: FittedEstimator,
    /// Trees that predict the width of the error; `None` if there were too few errors to train them.
    pub(super) spread: Option<BoostedTrees>,
    pub(super) interval: Interval,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Model {
    /// Digest of everything that determines an estimate.
    pub(super) fn digest(&self) -> Result<String, Error> {
        let mut hasher = blake3::Hasher::new();
        for trees in self.trees() {
            hasher.update(&trees.encode()?);
        }
        let interval = serde_json::to_vec(&self.interval);
        hasher.update(&interval.map_err(|error| Error::Trees(error.to_string()))?);
        let sales = &self.fitted.market.sales;
        let quality = self.fitted.market.quality();
        for row in 0..sales.len() {
            hasher.update(&sales.id[row]);
            hasher.update(&quality.own[row].to_le_bytes());
            hasher.update(&quality.placed[row].to_le_bytes());
        }
        let mut digest = hasher.finalize().to_hex().to_string();
        digest.truncate(VERSION_CHARACTERS);
        Ok(digest)
    }

    /// All trees in a fixed order: own features, place, residual, width.
    fn trees(&self) -> impl Iterator<Item = &BoostedTrees> {
        let grown = self
            .fitted
            .trees
            .iter()
            .flat_map(|FittedTrees { hedonic, residual }| {
                let own = std::iter::once(&hedonic.own);
                own.chain(&hedonic.place).chain([residual])
            });
        grown.chain(&self.spread)
    }

    /// Returns how prices of homes changed over time. Reads the months of all sales: a few milliseconds per million.
    pub fn price_paths(&self) -> PricePaths<'_> {
        PricePaths::new(self.fitted.market.index(), &self.fitted.market.sales)
    }

    /// The description of this model.
    pub fn metadata(&self) -> &ModelMetadata {
        &self.metadata
    }

    /// Values a home. A pure function: no input or output, no clock, bit-identical from any thread.
    ///
    /// # Errors
    /// No sale of the class is known before the valuation date.
    pub fn estimate(&self, home: &Home, detail: Detail) -> Result<Estimate, Error> {
        SCRATCH.with_borrow_mut(|scratch| self.estimate_with(home, detail, scratch))
    }

    fn estimate_with(
        &self,
        home: &Home,
        detail: Detail,
        scratch: &mut Scratch,
    ) -> Result<Estimate, Error> {
        let own = OwnFeatures::from(home);
        let position = GridPosition::new(home.latitude, home.longitude);
        let day = days(home.date);
        let before = day.min(self.fitted.end);
        let valued = self
            .fitted
            .value(&own, position, AsOf::known(day, before), scratch);
        if !valued.log_price.is_finite() {
            return Err(self.nothing_known(home.class));
        }
        let fallback = fallback(&valued);
        let warning = self.warning(home.class, &valued);
        let sides = self.sides(&own, position, &valued);
        let adjusted: f64 = adjustments::of(home).map(|(_, offset)| offset).sum();
        let log_price = valued.log_price + adjusted;
        let price = log_price.exp();
        let confidence = match (sides.lower + sides.upper) / 2.0 {
            _ if warning.is_some() => EstimateConfidence::Low,
            half if half <= HIGH_HALF_WIDTH_MAX => EstimateConfidence::High,
            half if half <= MEDIUM_HALF_WIDTH_MAX => EstimateConfidence::Medium,
            _ => EstimateConfidence::Low,
        };
        let contributions = if detail.has_contributions {
            self.contributions(home, &own, &valued, price)
        } else {
            Vec::new()
        };
        Ok(Estimate {
            price,
            lower: (log_price - sides.lower).exp(),
            upper: (log_price + sides.upper).exp(),
            confidence,
            fallback,
            warning,
            nearest_sale_m: Some(valued.around.nearest_m).filter(|metres| metres.is_finite()),
            comparables: self.comparables(home, detail.comparables, scratch),
            contributions,
        })
    }

    /// Returns the reason why homes of a class cannot be valued.
    fn nothing_known(&self, class: HomeClass) -> Error {
        let name = match class {
            HomeClass::Flat => "flat",
            HomeClass::House => "house",
        };
        match self.fitted.market.first_day(class) {
            Some(first) => Error::NothingBefore {
                class: name,
                first: date(first).to_string(),
            },
            None => Error::NothingOfClass { class: name },
        }
    }

    /// Distance from the price to each end of the interval, in log price.
    fn sides(
        &self,
        own: &OwnFeatures,
        position: GridPosition,
        valued: &RawValuation,
    ) -> IntervalSides {
        let horizon = valued.around.horizon;
        let stand_in = match fallback(valued) {
            Fallback::None => None,
            Fallback::Department => Some(FallbackLevel::Department),
            Fallback::National => Some(FallbackLevel::Country),
        };
        if let Some(stand_in) = stand_in {
            return self.interval.for_fallback(own.class, stand_in, horizon);
        }
        let width = match &self.spread {
            Some(spread) => spread.predict(&valued.width_row()).max(WIDTH_MIN),
            None => 1.0,
        };
        let placed = SegmentFeatures {
            class: own.class,
            position,
            surface_m2: own.surface_m2,
            log_price: valued.log_price - valued.around.course,
        };
        let near_m = valued.around.near_m;
        self.interval.around(&placed, width, horizon, near_m)
    }

    /// Returns the warning for an estimate based on few sales, on distant ones, or on none within reach.
    fn warning(&self, class: HomeClass, valued: &RawValuation) -> Option<EstimateWarning> {
        match fallback(valued) {
            Fallback::National => Some(EstimateWarning::NoSaleWithinReach),
            Fallback::Department => Some(EstimateWarning::FewSalesWithinReach),
            Fallback::None if self.interval.is_far(class, valued.around.near_m) => {
                Some(EstimateWarning::SalesFarAway)
            }
            Fallback::None => None,
        }
    }

    /// Returns the nearest sales; at the same position, similar surfaces come first.
    fn comparables(&self, home: &Home, wanted: usize, found: &Scratch) -> Vec<Comparable> {
        if wanted == 0 {
            return Vec::new();
        }
        let sales = &self.fitted.market.sales;
        let ruler = GridPosition::new(home.latitude, home.longitude).ruler();
        let surface_m2 = home.surface_m2 as f32;
        let mut found = found.to_vec();
        found.sort_by(|one, other| {
            let unlike = |row: u32| (sales.surface_m2[row as usize] / surface_m2).ln().abs();
            (one.squared_m2.total_cmp(&other.squared_m2))
                .then(unlike(one.row).total_cmp(&unlike(other.row)))
        });
        let shown = found.iter().take(wanted.min(COMPARABLES_SHOWN_MAX));
        shown
            .map(|neighbour| {
                let row = neighbour.row as usize;
                Comparable {
                    id: id_text(&sales.id[row]),
                    date: date(sales.day[row]),
                    price: sales.price[row],
                    surface_m2: f64::from(sales.surface_m2[row]),
                    distance_m: f64::from(ruler.squared_m2(sales.position[row])).sqrt(),
                }
            })
            .collect()
    }

    /// Decomposes the difference between the price and the price of a typical home of the class in the whole country.
    ///
    /// The log price is a sum of the country's level, the attributions of place, comparables and trees (exact
    /// attributions, Lundberg 2017), and the adjustments. The logarithmic mean of the typical price and the price
    /// converts each term to EUR (the LMDI decomposition, Ang 2004). It is the only conversion whose parts sum to the
    /// difference regardless of their order.
    fn contributions(
        &self,
        home: &Home,
        own: &OwnFeatures,
        valued: &RawValuation,
        price: f64,
    ) -> Vec<Contribution> {
        let (typical, terms) = self.fitted.terms(own, valued);
        let mut logs: Vec<(&'static str, f64)> = Vec::with_capacity(terms.len());
        for (topic, term) in terms {
            logs.push((topic.as_str(), term));
        }
        logs.extend(adjustments::of(home));
        let base = typical.exp();
        let total: f64 = logs.iter().map(|(_, term)| term).sum();
        let mean = if total.abs() < 1e-9 {
            base
        } else {
            (price - base) / total
        };
        let mut parts = vec![Contribution {
            feature: "typicalHome",
            eur: base,
        }];
        parts.extend(logs.into_iter().map(|(feature, term)| Contribution {
            feature,
            eur: mean * term,
        }));
        // The base absorbs the rounding error, so that the sum equals the price to the last bit.
        for _ in 0..3 {
            let sum: f64 = parts.iter().map(|part| part.eur).sum();
            parts[0].eur += price - sum;
        }
        parts
    }
}

/// Returns the fallback used for a valued home.
fn fallback(valued: &RawValuation) -> Fallback {
    match valued.around.comparables {
        0 => Fallback::National,
        _ if valued.around.is_local() => Fallback::None,
        _ => Fallback::Department,
    }
}

/// Days since 1970-01-01.
pub fn days(date: chrono::NaiveDate) -> i32 {
    (date - chrono::NaiveDate::default()).num_days() as i32
}

/// Target coverage: share of sales inside the interval.
pub const COVERAGE: f64 = interval::COVERAGE;
