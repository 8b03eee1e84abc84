//! Compares the loops of common clauses with their expressions.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;

use super::predicate::{CompiledClause, Kernel};
use crate::cache::DecodedColumn;
use crate::select::narrow_column;
use arrow::array::{Date32Array, Float64Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use proptest::prelude::*;
use toise_contract::filter::{Clause, ClauseTest};
use toise_opendata::dpe;

/// Evaluates a clause as an expression and as a loop over the same columns, under sparse and dense masks.
fn both_ways_agree(clause: Clause, plain: Vec<ArrayRef>, mask: &[bool]) {
    let schema = dpe::schema();
    let compiled = CompiledClause::compile(schema, &clause).unwrap();
    assert!(!matches!(compiled.kernel, Kernel::Expression { .. }));
    let by_expression = CompiledClause {
        kernel: CompiledClause::expression(schema, &clause).unwrap(),
        ..CompiledClause::compile(schema, &clause).unwrap()
    };
    let expected = by_expression.evaluate(plain.clone()).unwrap();
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let decoded: Vec<Arc<DecodedColumn>> = plain
        .into_iter()
        .map(|column| match column.data_type() {
            DataType::Utf8 => cast(&column, &dictionary).unwrap(),
            _ => column,
        })
        .map(|column| Arc::new(DecodedColumn::new(column)))
        .collect();
    let mask = BooleanBuffer::from(mask);
    for mask in [None, Some(mask)] {
        let found = narrow_column(&compiled, &decoded, mask.clone()).unwrap();
        let expected = match mask {
            None => expected.clone(),
            Some(mask) => &mask & &expected,
        };
        assert_eq!(found, expected);
    }
}

fn cells<T: Clone + std::fmt::Debug>(
    values: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<(Option<T>, bool)>> {
    let sparse = prop_oneof![Just(0.02), Just(0.9)];
    let cell = proptest::option::of(values);
    (
        proptest::collection::vec(cell, 64..200),
        sparse,
        any::<u64>(),
    )
        .prop_map(|(values, share, seed)| {
            let kept = |index: usize| {
                let mixed = (index as u64 + 1).wrapping_mul(seed | 1) >> 11;
                (mixed % 1_000) as f64 <= share * 1_000.0
            };
            values
                .into_iter()
                .enumerate()
                .map(|(index, value)| (value, kept(index)))
                .collect()
        })
}

proptest! {
    #[test]
    fn a_range_equals_its_expression(
        cells in cells(prop_oneof![-5.0..5.0f64, Just(0.0), Just(-0.0), Just(2.0), Just(f64::NAN)]),
        bounds in (
            proptest::option::of(prop_oneof![-5.0..5.0f64, Just(0.0), Just(-0.0), Just(2.0)]),
            proptest::option::of(prop_oneof![-5.0..5.0f64, Just(-0.0), Just(2.0)]),
        ).prop_filter("a bound", |bounds| *bounds != (None, None)),
    ) {
        let (min, max) = bounds;
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let values: Float64Array = cells.into_iter().map(|cell| cell.0).collect();
        let clause = Clause::new("surface_habitable_logement", ClauseTest::Number { min, max });
        both_ways_agree(clause, vec![Arc::new(values)], &mask);
    }

    #[test]
    fn a_day_equals_its_expression(
        cells in cells(-4..4),
        from in proptest::option::of(-5..5),
        to in proptest::option::of(-5..5),
    ) {
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let values: Date32Array = cells.into_iter().map(|cell| cell.0).collect();
        let clause = Clause::new("date_etablissement_dpe", ClauseTest::Day { from, to });
        both_ways_agree(clause, vec![Arc::new(values)], &mask);
    }

    #[test]
    fn a_whole_number_equals_its_expression(
        cells in cells(prop_oneof![-4..4i64, Just(i64::MAX), Just(i64::MIN)]),
        min in proptest::option::of(prop_oneof![-5.0..5.0f64, Just(1e30)]),
        max in proptest::option::of(prop_oneof![-5.0..5.0f64, Just(-1e30)]),
    ) {
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let values: Int64Array = cells.into_iter().map(|cell| cell.0).collect();
        let clause = Clause::new("flx_id", ClauseTest::Number { min, max });
        both_ways_agree(clause, vec![Arc::new(values)], &mask);
    }

    #[test]
    fn a_category_equals_its_expression(
        cells in cells(proptest::sample::select(vec!["48095", "48140", "75113", ""])),
        sought in proptest::sample::subsequence(vec!["48095", "75113", "13001"], 1..3),
    ) {
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let values: StringArray = cells.into_iter().map(|cell| cell.0).collect();
        let sought = sought.into_iter().map(str::to_owned).collect();
        let clause = Clause::new("code_insee_ban", ClauseTest::OneOf(sought));
        both_ways_agree(clause, vec![Arc::new(values)], &mask);
    }

    #[test]
    fn a_radius_equals_its_expression(
        cells in cells((44.0..45.0f64, 3.0..4.0f64)),
        radius_m in 100.0..60_000.0f64,
    ) {
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let lats: Float64Array = cells.iter().map(|cell| cell.0.map(|at| at.0)).collect();
        let lons: Float64Array = cells.iter().map(|cell| cell.0.map(|at| at.1)).collect();
        let clause = Clause::new("location", ClauseTest::Within { lat: 44.5, lon: 3.5, radius_m });
        both_ways_agree(clause, vec![Arc::new(lats), Arc::new(lons)], &mask);
    }

    #[test]
    fn an_area_equals_its_expression(
        cells in cells((44.0..45.0f64, 3.0..4.0f64)),
        radii in proptest::collection::vec(0.05..0.7f64, 3..30),
    ) {
        let mask: Vec<bool> = cells.iter().map(|cell| cell.1).collect();
        let lats: Float64Array = cells.iter().map(|cell| cell.0.map(|at| at.0)).collect();
        let lons: Float64Array = cells.iter().map(|cell| cell.0.map(|at| at.1)).collect();
        let mut ring: Vec<[f64; 2]> = (0..).zip(&radii).map(|(nth, radius)| {
            let angle = f64::from(nth) / radii.len() as f64 * std::f64::consts::TAU;
            [3.5 + radius * angle.cos(), 44.5 + radius * angle.sin()]
        }).collect();
        ring.push(ring[0]);
        let geometry = serde_json::json!({"type": "Polygon", "coordinates": [ring]});
        let area = Arc::new(toise_geo::area::Area::from_geojson(&geometry).unwrap());
        let clause = Clause::new("location", ClauseTest::InArea(area));
        both_ways_agree(clause, vec![Arc::new(lats), Arc::new(lons)], &mask);
    }
}
