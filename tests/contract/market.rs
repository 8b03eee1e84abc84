//! Market indicators through the socket, compared with the records of their properties.

use reqwest::Method;
use serde_json::{Value, json};

use super::searches::{all, number, shown, taken};
use crate::support::assertions::pick;
use crate::support::{Service, error_of};

const MARKET: &str = "/v2/protected/analytics/market";

async fn report(service: &Service, body: Value) -> Value {
    service.clock.advance_ms(20);
    let response = service.post(MARKET, body.to_string()).await;
    let status = response.status();
    let answer: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{body}: {answer}");
    answer
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    (count >= 5).then(|| (values[(count - 1) / 2] + values[count / 2]) / 2.0)
}

#[tokio::test]
async fn asking_figures_match_the_properties_found() {
    let (service, properties) = taken(400).await;
    shown(&service, properties).await;
    let records = all(&service).await;
    let answer = report(&service, json!({"level": "department"})).await;
    assert_eq!(answer["meta"]["sample_min"], 5);
    let rows = answer["data"].as_array().unwrap();
    assert_eq!(answer["meta"]["rows"], rows.len());
    let (mut medians, mut rents, mut homes) = (0, 0, 0);
    for row in rows {
        assert_eq!(pick(row, ["sales", "period"]), json!([0, null]));
        let of = |offer: &str| -> Vec<&Value> {
            let found = records.iter().filter(|record| {
                record["location"]["department"] == row["place"]
                    && record["type"] == row["type"]
                    && record["offer"]["type"] == offer
            });
            found.collect()
        };
        let per_m2 = |found: &[&Value], least: f64, most: f64| {
            let values = found.iter();
            let values = values.filter_map(|record| number(record, "/price/latest/valuePerArea"));
            median(
                values
                    .filter(|value| (least..=most).contains(value))
                    .collect(),
            )
        };
        let (sold, let_) = (of("OFFER_BUY"), of("OFFER_RENT"));
        assert_eq!(
            pick(row, ["for_sale", "to_rent"]),
            json!([sold.len(), let_.len()])
        );
        homes += sold.len() + let_.len();
        let online = |found: &[&Value]| {
            let online = found.iter();
            online
                .filter(|record| record["meta"]["isTotallyOffline"] != true)
                .count()
        };
        assert_eq!(row["stock"], online(&sold), "{row}");
        assert_eq!(row["rent_stock"], online(&let_), "{row}");
        let asked = per_m2(&sold, 300.0, 30_000.0);
        let rent = per_m2(&let_, 2.0, 200.0);
        for (column, expected) in [("asking_price_per_m2", asked), ("rent_per_m2", rent)] {
            match expected {
                None => assert_eq!(row[column], Value::Null, "{column} of {row}"),
                Some(expected) => {
                    let shown = row[column].as_f64().unwrap();
                    assert!(
                        (shown - expected).abs() < 0.01,
                        "{column}: {shown}, {expected}"
                    );
                }
            }
        }
        medians += usize::from(asked.is_some());
        rents += usize::from(rent.is_some());
        if let Some((asked, rent)) = asked.zip(rent) {
            let shown = row["gross_yield"].as_f64().unwrap();
            assert!((shown - 1200.0 * rent / asked).abs() < 0.02, "{row}");
        }
    }
    assert!(medians > 0 && rents > 0, "{medians} medians, {rents} rents");
    let wanted = records.iter().filter(|record| {
        let is_home = record["type"] == "CLASS_FLAT" || record["type"] == "CLASS_HOUSE";
        let offer = &record["offer"]["type"];
        is_home && (offer == "OFFER_BUY" || offer == "OFFER_RENT")
    });
    assert_eq!(homes, wanted.count());

    // By month every property is for sale in at least one period, and the place narrows the answer.
    let body = json!({"level": "commune", "by": "month", "type": "CLASS_FLAT", "offer": "OFFER_BUY",
        "location": {"departments": [rows[0]["place"]]}});
    let answer = report(&service, body).await;
    for row in answer["data"].as_array().unwrap() {
        assert_eq!(row["type"], "CLASS_FLAT");
        assert!(row["period"].as_str().unwrap().len() == 7 && row["to_rent"] == Value::Null);
    }
}

#[tokio::test]
async fn faults_are_named_and_a_key_needs_the_scope() {
    let service = Service::start().await;
    for place in [
        json!({"departments": ["48"]}),
        json!({"around": {"lat": 44.5, "lon": 3.5, "distance": "3km"}}),
    ] {
        let answer = report(&service, json!({"level": "cell", "location": place})).await;
        assert_eq!(answer["data"], json!([]));
    }
    for (body, fault) in [
        (json!({}), "level"),
        (json!({"level": "town"}), "level"),
        (
            json!({"level": "cell"}),
            "location: is required if level is cell: give departments",
        ),
        (
            json!({"level": "cell", "location": {}}),
            "location: is required if level is cell",
        ),
        (json!({"level": "iris", "by": "week"}), "by"),
        (json!({"level": "iris", "from": "2024-13-01"}), "from"),
        (
            json!({"level": "iris", "location": {"communes": ["Mende"]}}),
            "location.communes[0]",
        ),
        (json!({"level": "iris", "colour": 1}), "colour"),
    ] {
        service.clock.advance_ms(20);
        let (status, _, message) = error_of(service.post(MARKET, body.to_string()).await).await;
        assert_eq!(status, 422, "{body}");
        assert!(message.contains(fault), "{body}: {message}");
    }
    let key = service.key_with("search");
    let request = service.keyed(Method::POST, MARKET, &key);
    let response = request
        .json(&json!({"level": "iris"}))
        .send()
        .await
        .unwrap();
    assert_eq!(error_of(response).await.0, 403);
}
