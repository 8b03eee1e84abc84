//! A quarter of Toulon, drawn by hand, over official sales: the same sales over HTTP, in SQL and by the crate `geo`.

use serde_json::{Value, json};

use super::open_data::{folder, text};
use crate::support::areas;
use crate::support::client::Client;
use crate::support::process::{new_key, run};

/// The quarter Le Mourillon, without a block in its middle.
fn mourillon() -> Value {
    json!({"type": "Polygon", "coordinates": [
        [[5.9322, 43.1187], [5.9371, 43.1178], [5.9415, 43.1156], [5.9441, 43.1108], [5.9427, 43.1063],
         [5.9369, 43.1044], [5.9331, 43.1073], [5.9357, 43.1112], [5.9313, 43.1141], [5.9322, 43.1187]],
        [[5.9362, 43.1122], [5.9381, 43.1126], [5.9386, 43.1109], [5.9366, 43.1105], [5.9362, 43.1122]],
    ]})
}

#[tokio::test]
async fn a_quarter_has_the_same_sales_everywhere() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let files = real.join("dvf/geodvf_toulon_*.csv.gz");
    run(data, &["import", "dvf", text(&files)]);
    let area = mourillon();
    let rows = run(
        data,
        &[
            "sql",
            "select lat, lon from dvf where lat is not null and property_type = 'Appartement'",
        ],
    );
    let degrees = |row: &Value, name: &str| row[name].as_f64().unwrap();
    let rows = rows.as_array().unwrap();
    let expected = rows
        .iter()
        .filter(|row| areas::contains(&area, degrees(row, "lat"), degrees(row, "lon")))
        .count();
    assert!((100..rows.len() / 4).contains(&expected), "{expected}");

    let query = format!(
        "select count(*) as sales from dvf where property_type = 'Appartement' and in_area(lat, lon, '{area}')"
    );
    assert_eq!(run(data, &["sql", &query])[0]["sales"], expected);

    let key = new_key(data, &["--scopes", "search,analytics"]);
    let (_server, client) = Client::start(data, &key);
    let filters = json!({"property_type": ["Appartement"], "area": area});
    let (status, found) = client
        .post("opendata/dvf/search", json!({"filters": filters}))
        .await;
    assert_eq!((status, &found["total"]), (200, &json!(expected)));
    let (_, matched) = client
        .post(
            "opendata/dvf/match",
            json!({"filters": {"property_type": "Appartement", "area": area}}),
        )
        .await;
    assert_eq!(matched["meta"]["total"], expected);

    // Market indicators count the sales of the open market.
    let open_market = query.replace("where", "where is_open_market and");
    let sold = run(data, &["sql", &open_market])[0]["sales"].clone();
    let (status, market) = client.post(
        "analytics/market",
        json!({"level": "commune", "type": "CLASS_FLAT", "offer": "OFFER_BUY", "location": {"area": area}}),
    )
    .await;
    assert_eq!(status, 200, "{market}");
    assert_eq!(market["data"][0]["sales"], sold, "{market}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), area.to_string()).unwrap();
    #[rustfmt::skip]
    let command = [
        "market", "--level", "commune", "--type", "flat", "--offer", "buy", "--area", text(file.path()),
    ];
    assert_eq!(run(data, &command), market["data"]);

    let mut crossing = area.clone();
    crossing["coordinates"][0]
        .as_array_mut()
        .unwrap()
        .swap(2, 6);
    let (status, refused) = client
        .post(
            "opendata/dvf/search",
            json!({"filters": {"area": crossing}}),
        )
        .await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert_eq!(status, 422);
    assert!(
        message.starts_with("filters.area.coordinates[0][") && message.contains("crosses itself"),
        "{message}"
    );
}
