//! Trees learn what they are shown, keep constraints, are the same for any number of threads, and explain themselves.

use super::*;
use toise_base::splitmix::SplitMix64;

const FEATURES: usize = 4;

/// Rows whose label is a step in the first feature, a slope in the second, and nothing in the others; a tenth of all values
/// is unknown.
fn rows(count: usize) -> TrainingMatrix {
    let mut random = SplitMix64::new(7);
    let mut matrix = TrainingMatrix::default();
    for _ in 0..count {
        let mut row = [0.0; FEATURES];
        for value in &mut row {
            *value = random.unit() as f32;
        }
        let label = label(&row) + 0.1 * (random.unit() - 0.5);
        for value in &mut row {
            if random.unit() < 0.1 {
                *value = f32::NAN;
            }
        }
        matrix.push(&row, label, 0.5 + random.unit() as f32);
    }
    matrix
}

fn label(row: &[f32; FEATURES]) -> f64 {
    let step = if row[0] < 0.4 { 0.0 } else { 1.0 };
    step + 0.8 * f64::from(row[1])
}

fn settings(extra_trees: bool) -> TreeSettings {
    TreeSettings {
        quantile: 0.5,
        trees: 150,
        depth: 4,
        rate: 0.1,
        leaf_min: 20.0,
        extra_trees,
        directions: vec![
            Direction::Free,
            Direction::Up,
            Direction::Free,
            Direction::Down,
        ],
        seed: 1,
    }
}

#[test]
fn trees_learn_a_step_and_a_slope() {
    for extra_trees in [false, true] {
        let trees = BoostedTrees::grow(rows(20_000), &settings(extra_trees)).unwrap();
        let mut errors: Vec<f64> = Vec::new();
        for step in 0..40 {
            let row = [0.1 + 0.02 * step as f32, 0.9 - 0.02 * step as f32, 0.5, 0.5];
            errors.push((trees.predict(&row).unwrap() - label(&row)).abs());
        }
        errors.sort_unstable_by(f64::total_cmp);
        assert!(errors[20] < 0.08, "{extra_trees}: {errors:?}");
    }
}

#[test]
fn a_quantile_has_its_share_of_labels_below() {
    let settings = TreeSettings {
        quantile: 0.8,
        ..settings(false)
    };
    let mut matrix = TrainingMatrix::default();
    let mut random = SplitMix64::new(3);
    for _ in 0..20_000 {
        let width = random.unit() as f32;
        let row = [width, 0.0, 0.0, 0.0];
        matrix.push(&row, f64::from(width) * random.unit(), 1.0);
    }
    let trees = BoostedTrees::grow(matrix, &settings).unwrap();
    for width in [0.2, 0.5, 0.9_f32] {
        let predicted = trees.predict(&[width, 0.0, 0.0, 0.0]).unwrap();
        let wanted = 0.8 * f64::from(width);
        assert!(
            (predicted - wanted).abs() < 0.05,
            "{predicted} for {wanted}"
        );
    }
}

#[test]
fn no_prediction_breaks_a_constraint() {
    let mut matrix = rows(5_000);
    // Against the constraint of the second feature, and with that of the last.
    for (row, label) in matrix.labels.iter_mut().enumerate() {
        let seen = &matrix.values[row * FEATURES..(row + 1) * FEATURES];
        *label -= 2.0 * seen[1].max(0.0) + seen[3].max(0.0);
    }
    for extra_trees in [false, true] {
        let trees = BoostedTrees::grow(matrix.clone(), &settings(extra_trees)).unwrap();
        let mut random = SplitMix64::new(5);
        for _ in 0..200 {
            let mut row = [0.0; FEATURES].map(|_: f32| random.unit() as f32);
            let mut before: Option<[f64; 2]> = None;
            for step in 0..50 {
                let value = step as f32 / 50.0;
                row[1] = value;
                let up = trees.predict(&row).unwrap();
                let mut other = row;
                (other[1], other[3]) = (0.5, value);
                let down = trees.predict(&other).unwrap();
                if let Some(before) = before {
                    assert!(up >= before[0] - 1e-5 && down <= before[1] + 1e-5);
                }
                before = Some([up, down]);
            }
        }
    }
}

#[test]
fn trees_are_the_same_for_any_number_of_threads() {
    let grown = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let grow = || BoostedTrees::grow(rows(30_000), &settings(true)).unwrap();
        pool.unwrap().install(grow)
    };
    assert_eq!(grown(1), grown(4));
}

#[test]
fn contributions_add_up_and_unused_features_have_none() {
    let trees = BoostedTrees::grow(rows(10_000), &settings(false)).unwrap();
    for row in [
        [0.1, 0.2, 0.3, 0.4],
        [0.9, f32::NAN, 0.5, 0.1],
        [f32::NAN; FEATURES],
    ] {
        let parts = trees.attribute(&row).unwrap();
        let sum: f64 = parts.iter().sum();
        assert!(
            (sum - trees.predict(&row).unwrap()).abs() < 1e-4,
            "{parts:?}"
        );
        assert!(parts[2].abs() < 0.1 && parts[3].abs() < 0.1, "{parts:?}");
    }
    let high = trees.attribute(&[0.9, 0.5, 0.5, 0.5]).unwrap();
    let low = trees.attribute(&[0.1, 0.5, 0.5, 0.5]).unwrap();
    assert!(high[0] > 0.2 && low[0] < -0.3, "{high:?} {low:?}");
}

#[test]
fn trees_come_back_from_json_and_broken_ones_are_refused() {
    let few = TreeSettings {
        trees: 3,
        ..settings(true)
    };
    let trees = BoostedTrees::grow(rows(2_000), &few).unwrap();
    let bytes = trees.encode().unwrap();
    assert_eq!(BoostedTrees::decode(&bytes).unwrap(), trees);
    let mut document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let tree = &mut document["learner"]["gradient_booster"]["model"]["trees"][1];
    tree["left_children"][0] = 0.into();
    let broken = BoostedTrees::decode(document.to_string().as_bytes());
    assert!(broken.unwrap_err().to_string().contains("node 0 of tree 1"));
    assert!(BoostedTrees::decode(b"{}").is_err());
}

#[test]
fn rows_and_settings_that_do_not_fit_are_refused() {
    let none = BoostedTrees::grow(TrainingMatrix::default(), &settings(false));
    assert!(none.is_err());
    let trees = BoostedTrees::grow(rows(500), &settings(false)).unwrap();
    assert!(trees.predict(&[0.0; 3]).is_err());
    assert!(trees.predict(&[f32::INFINITY, 0.0, 0.0, 0.0]).is_err());
}
