//! Tests of boosted trees: what they learn, their constraints, their attribution and their stored form.

use super::*;
use toise_base::splitmix::SplitMix64;

const FEATURES: usize = 4;

fn settings(quantile: f32, extra_trees: bool) -> TreeSettings {
    TreeSettings {
        quantile,
        trees: 200,
        depth: 4,
        rate: 0.15,
        leaf_min: 40.0,
        extra_trees,
        directions: vec![
            Direction::Up,
            Direction::Down,
            Direction::Free,
            Direction::Free,
        ],
        seed: 7,
    }
}

/// Draws a row; one value in ten of the last feature is missing.
fn row(numbers: &mut SplitMix64) -> [f32; FEATURES] {
    let mut row = [0.0; FEATURES].map(|_: f32| numbers.unit() as f32);
    if numbers.below(10) == 0 {
        row[3] = f32::NAN;
    }
    row
}

/// The median of the labels of a row.
fn law(row: &[f32]) -> f64 {
    let [up, down, step, last] = [row[0], row[1], row[2], row[3]].map(f64::from);
    let step = if step < 0.5 { 0.0 } else { 1.0 };
    let last = if last.is_nan() { -1.0 } else { last * up };
    2.0 * up - down + step + last
}

/// Rows whose labels spread evenly around [`law`] by up to one half.
fn made(rows: usize) -> TrainingMatrix {
    let mut numbers = SplitMix64::new(1);
    let mut matrix = TrainingMatrix::default();
    for _ in 0..rows {
        let row = row(&mut numbers);
        matrix.push(&row, law(&row) + numbers.unit() - 0.5, 1.0);
    }
    matrix
}

fn mean_error(trees: &BoostedTrees) -> f64 {
    let mut numbers = SplitMix64::new(2);
    let errors = (0..1_000).map(|_| {
        let row = row(&mut numbers);
        (trees.predict(&row) - law(&row)).abs()
    });
    errors.sum::<f64>() / 1_000.0
}

#[test]
fn the_median_is_learned_with_its_steps_interactions_and_missing_values() {
    for extra_trees in [false, true] {
        let trees = BoostedTrees::grow(made(20_000), &settings(0.5, extra_trees)).unwrap();
        let error = mean_error(&trees);
        assert!(error < 0.15, "{error} with extra trees: {extra_trees}");
    }
}

#[test]
fn a_quantile_is_exceeded_by_its_share_of_labels() {
    let rows = made(20_000);
    let trees = BoostedTrees::grow(rows.clone(), &settings(0.8, false)).unwrap();
    let labels = rows.labels.iter().zip(rows.values.chunks(FEATURES));
    let below = labels.filter(|(label, row)| f64::from(**label) <= trees.predict(row));
    let share = below.count() as f64 / 20_000.0;
    assert!((0.78..0.82).contains(&share), "{share}");
}

#[test]
fn constrained_features_never_move_a_prediction_the_wrong_way() {
    for extra_trees in [false, true] {
        let trees = BoostedTrees::grow(made(5_000), &settings(0.5, extra_trees)).unwrap();
        let mut numbers = SplitMix64::new(3);
        for _ in 0..500 {
            let mut one = row(&mut numbers);
            let mut other = one;
            (one[0], other[0]) = (
                one[0].min(0.9),
                one[0].min(0.9) + numbers.unit() as f32 * 0.1,
            );
            assert!(trees.predict(&one) <= trees.predict(&other));
            one[1] = other[1] * numbers.unit() as f32;
            other[0] = one[0];
            assert!(trees.predict(&one) >= trees.predict(&other));
        }
    }
}

#[test]
fn equal_rows_grow_equal_trees_on_any_number_of_threads() {
    let grown = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        // More rows than one task takes.
        pool.install(|| BoostedTrees::grow(made(40_000), &settings(0.5, true)).unwrap())
    });
    let encoded = grown.map(|trees| trees.encode().unwrap());
    assert_eq!(encoded[0], encoded[1]);
    assert_eq!(encoded[0], encoded[2]);
}

#[test]
fn contributions_are_the_shapley_values() {
    let mut settings = settings(0.5, false);
    settings.trees = 3;
    let trees = BoostedTrees::grow(made(5_000), &settings).unwrap();
    let mut numbers = SplitMix64::new(4);
    for _ in 0..20 {
        let row = row(&mut numbers);
        let found = trees.attribute(&row);
        let sum: f64 = found.iter().sum();
        assert!((sum - trees.predict(&row)).abs() < 1e-6);
        for (feature, found) in found[..FEATURES].iter().enumerate() {
            let expected = shapley(&trees, &row, feature);
            assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
        }
    }
}

/// The definition of the Shapley value: the mean effect of knowing a feature, over all orders of the features.
fn shapley(trees: &BoostedTrees, row: &[f32], feature: usize) -> f64 {
    let others: Vec<usize> = (0..FEATURES).filter(|other| *other != feature).collect();
    let mut sum = 0.0;
    for subset in 0..1usize << others.len() {
        let mut known = [false; FEATURES];
        for (bit, other) in others.iter().enumerate() {
            known[*other] = subset >> bit & 1 == 1;
        }
        let without = expected(trees, row, &known);
        known[feature] = true;
        // 3! orders of the others; `size` of them come first.
        let weight = match subset.count_ones() {
            0 | 3 => 6.0 / 24.0,
            _ => 2.0 / 24.0,
        };
        sum += weight * (expected(trees, row, &known) - without);
    }
    sum
}

/// The mean prediction over training rows that follow the known features of a row.
fn expected(trees: &BoostedTrees, row: &[f32], known: &[bool]) -> f64 {
    fn below(tree: &tree::Tree, index: usize, row: &[f32], known: &[bool]) -> f64 {
        let node = &tree.nodes[index];
        let Some(feature) = node.feature.map(usize::from) else {
            return f64::from(node.value);
        };
        if known[feature] {
            return below(tree, node.child(row[feature]), row, known);
        }
        let left = node.left as usize;
        let children = [left, left + 1]
            .map(|child| f64::from(tree.nodes[child].cover) * below(tree, child, row, known));
        (children[0] + children[1]) / f64::from(node.cover)
    }
    let trees = trees.trees.iter();
    trees.map(|tree| below(tree, 0, row, known)).sum()
}

#[test]
fn stored_trees_predict_the_same_and_damaged_ones_are_refused() {
    let trees = BoostedTrees::grow(made(5_000), &settings(0.8, true)).unwrap();
    let stored = trees.encode().unwrap();
    let read = BoostedTrees::decode(&stored).unwrap();
    assert_eq!(read.encode().unwrap(), stored);
    let mut numbers = SplitMix64::new(5);
    for row in (0..100).map(|_| row(&mut numbers)) {
        assert_eq!(read.predict(&row), trees.predict(&row));
    }
    let stored = String::from_utf8(stored).unwrap();
    for (found, replaced) in [
        ("\"left\":1,", "\"left\":0,"),
        ("\"left\":1,", "\"left\":900000,"),
        ("\"feature\":0", "\"feature\":9"),
        ("\"features\":4", "\"features\":0"),
        ("\"base\":", "\"basis\":"),
    ] {
        assert!(stored.contains(found), "{found}");
        let damaged = stored.replace(found, replaced);
        assert!(
            BoostedTrees::decode(damaged.as_bytes()).is_err(),
            "{replaced}"
        );
    }
}

/// Four trees that this module grew. XGBoost 3.2 gave these predictions and contributions for them.
#[test]
fn stored_trees_predict_what_xgboost_predicts() {
    let trees = BoostedTrees::decode(include_bytes!("golden.json")).unwrap();
    for (row, prediction, parts) in [
        (
            [0.1, 0.9, 0.2, 0.5],
            0.949_556_05,
            [-0.730_550_65, -0.122_172_66, -0.225_795_09, 0.008_827_44],
        ),
        (
            [0.9, 0.1, 0.8, f32::NAN],
            2.491_659,
            [0.366_643_5, 0.081_435_53, 0.093_125_37, -0.068_792_33],
        ),
        (
            [f32::NAN, 0.5, 0.5, 0.25],
            2.028_900_1,
            [0.269_018_2, -0.029_063_42, -0.203_115_7, -0.027_185_64],
        ),
    ] {
        let found = trees.predict(&row);
        assert!((found - prediction).abs() < 1e-6, "{found}");
        for (found, part) in trees.attribute(&row).iter().zip(parts) {
            assert!(
                (found - part).abs() < 1e-6,
                "{found} where {part} is recorded"
            );
        }
    }
}

#[test]
fn rows_without_differences_give_a_single_leaf_and_none_an_error() {
    let mut matrix = TrainingMatrix::default();
    for _ in 0..100 {
        matrix.push(&[1.0; FEATURES], 3.0, 1.0);
    }
    let trees = BoostedTrees::grow(matrix, &settings(0.5, false)).unwrap();
    assert!((trees.predict(&[0.0; FEATURES]) - 3.0).abs() < 1e-6);
    assert_eq!(trees.attribute(&[0.0; FEATURES]), [0.0, 0.0, 0.0, 0.0, 3.0]);
    let none = BoostedTrees::grow(TrainingMatrix::default(), &settings(0.5, false));
    assert!(none.unwrap_err().to_string().contains("0 labels"));
}
