//! Boosted trees behind a trait of our own, so that the library that grows them can be replaced: golden predictions in
//! the tests say what a replacement must give.

use hessboost::config::{ExtraTrees, Monotone, TreeMethod};
use hessboost::data::DMatrix;
use hessboost::model::{BoostedModel, Iterations, ModelFormat};
use hessboost::objective::{Objective, Quantiles};

use super::error::Error;

/// How the answer may move with a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Never down as it grows.
    Up,
    /// Never up as it grows.
    Down,
    /// Any way.
    Free,
}

/// How trees are grown.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Quantile of the label that is fitted: 0.5 for the median.
    pub quantile: f64,
    /// Trees.
    pub trees: usize,
    /// Depth of a tree.
    pub depth: usize,
    /// Share of a tree's step that is taken.
    pub rate: f64,
    /// Least weight of rows in a leaf.
    pub leaf_min: f64,
    /// Whether a node tries one threshold of each feature, drawn at random, instead of all (Geurts, Ernst and Wehenkel
    /// 2006): the sum of many such trees is smoother than that of trees cut at the best thresholds.
    pub is_random: bool,
    /// By feature.
    pub directions: Vec<Direction>,
    /// The same seed grows the same trees.
    pub seed: u64,
}

/// Rows of features, one after another; NaN for what is unknown.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// Values, row by row.
    pub values: Vec<f32>,
    /// Label of each row.
    pub labels: Vec<f32>,
    /// Weight of each row.
    pub weights: Vec<f32>,
}

impl Matrix {
    /// Adds a row.
    pub fn push(&mut self, row: &[f32], label: f64, weight: f32) {
        self.values.extend_from_slice(row);
        self.labels.push(label as f32);
        self.weights.push(weight);
    }
}

/// Trees that predict one number of a row.
pub trait Trees: Sized + Send + Sync {
    /// Grows trees; the same for any number of threads.
    ///
    /// # Errors
    /// What the library says of settings or values it cannot take.
    fn grow(rows: Matrix, settings: &Settings) -> Result<Self, Error>;
    /// Predicts of one row.
    ///
    /// # Errors
    /// A row of another width, or with an infinite value.
    fn predict(&self, row: &[f32]) -> Result<f64, Error>;
    /// What each feature adds to the prediction of a row, and last what none of them does.
    ///
    /// # Errors
    /// As for [`Trees::predict`].
    fn attribute(&self, row: &[f32]) -> Result<Vec<f64>, Error>;
    /// As bytes, in a form other tools read.
    ///
    /// # Errors
    /// What the library says.
    fn encode(&self) -> Result<Vec<u8>, Error>;
    /// From bytes.
    ///
    /// # Errors
    /// Bytes that are no trees.
    fn decode(bytes: &[u8]) -> Result<Self, Error>;
}

/// Trees of the `hessboost` crate, stored as XGBoost's JSON.
#[derive(Debug)]
pub struct Boosted(BoostedModel);

fn refused(error: hessboost::error::HessboostError) -> Error {
    Error::Trees(error.to_string())
}

/// Rows drawn for each tree.
const ROW_SHARE: f64 = 0.7;
/// Features drawn for each tree.
const FEATURE_SHARE: f64 = 0.6;
/// Bins a feature is cut into.
const BINS: usize = 256;

impl Trees for Boosted {
    fn grow(rows: Matrix, settings: &Settings) -> Result<Self, Error> {
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
        if settings.is_random {
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
