//! Filters on layers compared with `geo` over all features of the layer and all rows: invented rows, or official sales if
//! there are any.

use serde_json::{Value, json};
use toise::contract::cursor::CursorKey;
use toise::contract::filter::{Filter, resolve};
use toise::engine::Budget;
use toise::engine::cancellation::Interrupt;
use toise::engine::predicate::{Predicate, filter_expr};
use toise::lake::Lake;
use toise::layers::Layers;
use toise::opendata::request::parse_search;
use toise::opendata::{Dataset, OpenData};

use crate::support::draw::Draw;
use crate::support::layers::{self, Drawn};
use crate::support::rows;
use crate::support::sql::session_over;

/// Layers and filters on each that are compared.
const LAYERS: usize = 12;
const FILTERS: usize = 8;

/// A filter of open data, resolved.
fn resolved(dataset: Dataset, layers: &Layers, filters: &Value) -> Filter {
    let body = json!({ "filters": filters });
    let request = parse_search(dataset, &body, &CursorKey::new([9; 32]));
    let mut filter = request
        .unwrap_or_else(|fault| panic!("{fault}: {body}"))
        .filter;
    resolve(&mut filter, layers).unwrap();
    filter
}

async fn check(dataset: Dataset, seed: u64) {
    let mut draw = Draw::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let lake = Lake::open(data).unwrap();
    let mut records = Vec::new();
    for size in [1_500, 300, 40] {
        let more = rows::records(dataset, records.len(), size, &mut draw);
        rows::import(&lake, dataset, &more, Vec::new());
        records.extend(more);
    }
    let open_data = OpenData::open(data, Budget::default()).unwrap();
    let engine = open_data.engine();
    let session = session_over(engine, Vec::new(), Vec::new()).unwrap();
    let positions: Vec<(f64, f64)> = records
        .iter()
        .filter_map(|record| {
            let place = record.get("location")?;
            Some((place["lat"].as_f64()?, place["lon"].as_f64()?))
        })
        .collect();
    assert!(positions.len() < records.len(), "every row has a position");
    let layers = Layers::of(data);
    let (mut found, mut left_out) = (0, 0);
    for _ in 0..LAYERS {
        let radius = *draw.one_of(&[0.004, 0.02, 0.3]);
        let geometries = layers::geometries(&mut draw, &positions, radius);
        let judge = Drawn::new(&geometries);
        layers::store(data, "drawn", &geometries);
        for _ in 0..FILTERS {
            let asked = layers::filter(&mut draw, "drawn");
            let verdicts: Vec<Option<bool>> = positions
                .iter()
                .map(|(lat, lon)| judge.holds(&asked, *lat, *lon))
                .collect();
            let unsure = verdicts.iter().filter(|verdict| verdict.is_none()).count();
            let expected = verdicts
                .iter()
                .filter(|verdict| **verdict == Some(true))
                .count();
            let filter = resolved(dataset, &layers, &json!({"layer": asked}));
            let predicate = Predicate::compile(dataset.schema(), &filter).unwrap();
            let view = engine.view(dataset.schema()).unwrap();
            let counts = engine.scan(
                &view,
                &predicate,
                &Interrupt::default(),
                || 0,
                |count, visited| {
                    *count += visited.selected.count() as usize;
                    Ok(())
                },
            );
            let counted: usize = counts.unwrap().into_iter().sum();
            assert!(
                (expected..=expected + unsure).contains(&counted),
                "{asked}: {counted}, not {expected} + {unsure}"
            );
            // The expression of the filter, which is its meaning in SQL.
            let table = session
                .context()
                .table(dataset.schema().name)
                .await
                .unwrap();
            let expression = filter_expr(dataset.schema(), &filter).unwrap();
            let rows = table.filter(expression).unwrap().count().await.unwrap();
            assert_eq!(rows, counted, "{asked}");
            found += counted;
            left_out += positions.len() - counted;
        }
    }
    assert!(found > 1_000 && left_out > 1_000, "{found} {left_out}");
}

#[tokio::test]
async fn any_filter_on_a_layer_selects_the_sales_that_geo_selects() {
    check(Dataset::Dvf, 61).await;
}

#[tokio::test]
async fn any_filter_on_a_layer_selects_the_diagnostics_that_geo_selects() {
    check(Dataset::Dpe, 62).await;
}

#[test]
fn a_filter_that_is_not_resolved_is_refused() {
    let body = json!({"filters": {"layer": {"name": "flood"}}});
    let request = parse_search(Dataset::Dvf, &body, &CursorKey::new([9; 32])).unwrap();
    let error = Predicate::compile(Dataset::Dvf.schema(), &request.filter).unwrap_err();
    assert!(
        error.to_string().contains("flood is not resolved"),
        "{error}"
    );
}
