//! The IRIS contours of Paris as a layer, over official sales: the same quarter as the import found by other code, and the
//! same sales in filters, in SQL and by the crate `geo`.

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};

use super::open_data::{folder, text};
use crate::support::client::Client;
use crate::support::layers::{self, Drawn};
use crate::support::process::{new_key, run};

#[test]
fn every_sale_of_paris_is_in_the_quarter_that_its_import_found() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let contours = real.join("iris/iris_paris_and_adjacent_wgs84.geojson.gz");
    let contours = text(&contours);
    let sales = real.join("dvf/geodvf_paris_2020-2023.csv.gz");
    run(data, &["import", "dvf", text(&sales), "--iris", contours]);
    let layer = run(data, &["import", "layer", "iris", contours]);
    assert!(layer["features"].as_u64().unwrap() > 992, "{layer}");

    let query = "select count(*) as sales, \
                 count(*) filter (where within(lon, lat, 'iris')) as inside, \
                 count(*) filter (where code_iris = iris_code) as same \
                 from dvf join layer_iris on feature = nearest(lon, lat, 'iris')['feature'] \
                 where lon is not null and iris_code is not null";
    let rows = run(data, &["sql", query]);
    let count = |name: &str| rows[0][name].as_u64().unwrap();
    let (sales, inside, same) = (count("sales"), count("inside"), count("same"));
    assert!(sales > 10_000 && inside == sales, "{rows}");
    // A position on the border of two quarters is in both.
    assert!(sales - same <= sales / 10_000, "{rows}");
}

#[tokio::test]
async fn a_filter_on_a_layer_finds_the_sales_that_geo_finds() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let contours = real.join("iris/iris_paris_and_adjacent_wgs84.geojson.gz");
    let sales = real.join("dvf/geodvf_paris_2020-2023.csv.gz");
    run(data, &["import", "dvf", text(&sales)]);
    let mut read = String::new();
    let file = std::fs::File::open(contours).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut read)
        .unwrap();
    let contours: Value = serde_json::from_str(&read).unwrap();
    // Every fifth quarter.
    let quarters = contours["features"].as_array().unwrap().iter().step_by(5);
    let quarters: Vec<Value> = quarters
        .map(|feature| feature["geometry"].clone())
        .collect();
    layers::store(data, "quarters", &quarters);
    let judge = Drawn::new(&quarters);
    let some = "insee_code = '75111' and lat is not null";
    let rows = run(
        data,
        &["sql", &format!("select lat, lon from dvf where {some}")],
    );
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 1_000, "{}", rows.len());

    let key = new_key(data, &["--scopes", "search"]);
    let (_server, client) = Client::start(data, &key);
    for (layer, sql) in [
        (json!({"name": "quarters"}), "within(lon, lat, 'quarters')"),
        (
            json!({"name": "quarters", "relation": "outside"}),
            "not within(lon, lat, 'quarters')",
        ),
        (
            json!({"name": "quarters", "relation": "within", "meters": 120}),
            "distance_to(lon, lat, 'quarters') <= 120",
        ),
    ] {
        let degrees = |row: &Value, name: &str| row[name].as_f64().unwrap();
        let verdicts = rows
            .iter()
            .map(|row| judge.holds(&layer, degrees(row, "lat"), degrees(row, "lon")));
        let verdicts: Vec<Option<bool>> = verdicts.collect();
        let unsure = verdicts.iter().filter(|one| one.is_none()).count();
        let sure = verdicts.iter().filter(|one| **one == Some(true)).count();
        let query = format!("select count(*) as sales from dvf where {some} and {sql}");
        let counted = run(data, &["sql", &query])[0]["sales"].as_u64().unwrap();
        let body = json!({"filters": {"insee_code": "75111", "layer": layer}});
        let answer = client.ask(Method::POST, "opendata/dvf/search", body).await;
        println!(
            "{layer}: {} of {} sales, {unsure} unsure",
            answer["total"],
            rows.len()
        );
        assert_eq!(answer["total"], counted, "{answer}");
        let (counted, sure) = (counted as usize, sure);
        assert!(
            (sure..=sure + unsure).contains(&counted),
            "{layer}: {counted}, {sure}"
        );
        assert!(counted > 50 && counted < rows.len() - 50, "{counted}");
    }
}
