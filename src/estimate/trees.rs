//! Boosted trees behind a trait of this crate, so that the library can be replaced. The golden predictions in the tests
//! define what a replacement must reproduce.

use hessboost::config::{ExtraTrees, Monotone, TreeMethod};
use hessboost::data::DMatrix;
use hessboost::model::{BoostedModel, Iterations, ModelFormat};
use hessboost::objective::{Objective, Quantiles};

use super::error::Error;

/// How a prediction may change with a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Never decreases as the feature grows.
    Up,
    /// Never increases as the feature grows.
    Down,
    /// Unconstrained.
    Free,
}

/// Settings for growing trees.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeSettings {
    /// Quantile of the label to fit: 0.5 for the median.
    pub quantile: f64,
    /// Number of trees.
    pub trees: usize,
    /// Maximum depth of a tree.
    pub depth: usize,
    /// Learning rate.
    pub rate: f64,
    /// Minimum weight of rows in a leaf.
    pub leaf_min: f64,
    /// Whether to grow extra trees: a node tries one random threshold per feature instead of all (Geurts, Ernst and
    /// Wehenkel 2006). The sum of many such trees is smoother than that of trees split at the best thresholds.
    pub extra_trees: bool,
    /// Monotonicity constraint of each feature.
    pub directions: Vec<Direction>,
    /// Random seed; equal seeds grow equal trees.
    pub seed: u64,
}

/// Training rows, concatenated; NaN for unknown features.
#[derive(Clone, Debug, Default)]
pub struct TrainingMatrix {
    /// Feature values, row by row.
    pub values: Vec<f32>,
    /// Label of each row.
    pub labels: Vec<f32>,
    /// Weight of each row.
    pub weights: Vec<f32>,
}

impl TrainingMatrix {
    /// Adds a row.
    pub fn push(&mut self, row: &[f32], label: f64, weight: f32) {
        self.values.extend_from_slice(row);
        self.labels.push(label as f32);
        self.weights.push(weight);
    }
}

/// Trees that predict one number per row.
pub trait Trees: Sized + Send + Sync {
    /// Grows trees; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// The library rejects the settings or values.
    fn grow(rows: TrainingMatrix, settings: &TreeSettings) -> Result<Self, Error>;
    /// Predicts one row.
    ///
    /// # Errors
    /// The row has another number of features, or an infinite value.
    fn predict(&self, row: &[f32]) -> Result<f64, Error>;
    /// The contribution of each feature to the prediction of a row, followed by the base value.
    ///
    /// # Errors
    /// As for [`Trees::predict`].
    fn attribute(&self, row: &[f32]) -> Result<Vec<f64>, Error>;
    /// Encodes the trees in a format that other tools read.
    ///
    /// # Errors
    /// The library fails to encode them.
    fn encode(&self) -> Result<Vec<u8>, Error>;
    /// Decodes trees.
    ///
    /// # Errors
    /// The bytes are not valid trees.
    fn decode(bytes: &[u8]) -> Result<Self, Error>;
}

/// Trees of the `hessboost` crate, stored as XGBoost JSON.
#[derive(Debug)]
pub struct BoostedTrees(BoostedModel);

fn refused(error: hessboost::error::HessboostError) -> Error {
    Error::Trees(error.to_string())
}

/// Share of rows drawn for each tree.
const ROW_SHARE: f64 = 0.7;
/// Share of features drawn for each tree.
const FEATURE_SHARE: f64 = 0.6;
/// Number of histogram bins per feature.
const BINS: usize = 256;

impl Trees for BoostedTrees {
    fn grow(rows: TrainingMatrix, settings: &TreeSettings) -> Result<Self, Error> {
        let columns = settings.directions.len();
        let count = rows.labels.len();
        let matrix = DMatrix::from_dense_vec(rows.values, count, columns)
            .and_then(|matrix| matrix.with_labels(&rows.labels))
            .and_then(|matrix| matrix.with_weights(&rows.weights))
            .map_err(refused)?;
        let directions = settings.directions.iter().map(|direction| match direction {
            Direction::Up => Monotone::Increasing,
            Direction::Down => Monotone::Decreasing,
            Direction::Free => Monotone::None,
        });
        let quantiles = Quantiles::new([settings.quantile]).map_err(refused)?;
        let mut builder = hessboost::config::TrainingParams::builder();
        if settings.extra_trees {
            builder = builder.extra_trees(ExtraTrees::with_seed(settings.seed));
        }
        let parameters = builder
            .objective(Objective::Quantile(quantiles))
            .tree_method(TreeMethod::Hist)
            .max_bin(BINS)
            .max_depth(settings.depth)
            .eta(settings.rate)
            .min_child_weight(settings.leaf_min)
            .subsample(ROW_SHARE)
            .colsample_bytree(FEATURE_SHARE)
            .monotone_constraints(directions.collect::<Vec<_>>())
            .seed(settings.seed)
            .build()
            .map_err(refused)?;
        let model =
            hessboost::training::train(&parameters, &matrix, settings.trees).map_err(refused)?;
        Ok(Self(model))
    }

    fn predict(&self, row: &[f32]) -> Result<f64, Error> {
        let margin = self.0.predict_margin_row(row, Iterations::Best);
        margin.map(f64::from).map_err(refused)
    }

    fn attribute(&self, row: &[f32]) -> Result<Vec<f64>, Error> {
        let matrix = DMatrix::from_dense(row, 1, row.len()).map_err(refused)?;
        let parts = self
            .0
            .predict_contribs(&matrix, Iterations::Best)
            .map_err(refused)?;
        Ok(parts
            .as_slice()
            .iter()
            .map(|part| f64::from(*part))
            .collect())
    }

    fn encode(&self) -> Result<Vec<u8>, Error> {
        self.0.encode(ModelFormat::XgboostJson).map_err(refused)
    }

    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        BoostedModel::decode(bytes, ModelFormat::XgboostJson)
            .map(Self)
            .map_err(refused)
    }
}
