//! What changes in a stored portfolio after imports and new models: homes are matched again, and the receiver is told of
//! another diagnostic and of a comparable that was sold.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use serde_json::{Value, json};
use toise::base::progress::Progress;
use toise::engine::Budget;
use toise::lake::Lake;
use toise::opendata::request::bodies::bodies;
use toise::opendata::{Dataset, DatasetSearchRequest, OpenData};
use toise::portfolios::NEW_COMPARABLES_MAX;
use toise::synth::{SynthRequest, lake::generate_into_lake};

use super::portfolios::{delivering, start, stored, until_read, until_told, valued};
use crate::support::Service;
use crate::support::assertions::pick;
use crate::support::homes::{IN_PARIS, lake_of, train, trained};
use crate::support::receiver::{Act, Receiver};
use crate::support::rows::{self, Record};

fn record(value: Value) -> Record {
    serde_json::from_value(value).unwrap()
}

/// A diagnostic of a flat of 50 m² at a position.
fn diagnostic(class: &str, modified: &str, [longitude, latitude]: [f64; 2]) -> Record {
    record(json!({
        "numero_dpe": "2175E0000001A",
        "date_etablissement_dpe": "2024-03-01",
        "date_derniere_modification_dpe": modified,
        "type_batiment": "appartement",
        "surface_habitable_logement": 50.5,
        "etiquette_dpe": class,
        "location": {"lat": latitude, "lon": longitude},
    }))
}

/// Waits until the first home of a portfolio is as expected.
async fn first_home(service: &Service, name: &str, expected: impl Fn(&Value) -> bool) -> Value {
    let is_expected = |found: &Value| found["homes"].get(0).is_some_and(&expected);
    until_read(service, name, is_expected).await
}

#[tokio::test]
async fn an_import_matches_again_and_another_diagnostic_is_told_once() {
    let folder = trained();
    let (service, _runner, _) = start(folder.path()).await;
    let receiver = Receiver::always(Act::Status(200)).await;
    let _dispatcher = delivering(&service);
    let lake = Lake::open(service.folder()).unwrap();
    let [longitude, latitude] = IN_PARIS;
    let csv = format!(
        "key,type,surface_m2,longitude,latitude\nnear,flat,50,{longitude},{latitude}\n\
         far,flat,50,{longitude},{}\nhouse,house,50,{longitude},{latitude}\n",
        latitude + 0.02
    );
    let path = format!("mine?webhookUrl={}", receiver.url());
    stored(&service, &path, "text/csv", csv).await;
    let first = valued(&service, "mine", &Value::Null).await;
    assert!(first["homes"][0].get("dpe_id").is_none(), "{first}");
    let price = first["homes"][0]["price"].clone();

    service.clock.advance_ms(60_000);
    let made = diagnostic("D", "2024-03-01", IN_PARIS);
    rows::import(&lake, Dataset::Dpe, &[made], Vec::new());
    let found = first_home(&service, "mine", |home| home["dpe_class"] == "D").await;
    let homes = &found["homes"];
    assert_eq!(homes[0]["dpe_id"], "2175E0000001A");
    assert_eq!(homes[0]["dpe_date"], "2024-03-01");
    assert_eq!(homes[0]["changes"], json!(["diagnostic"]));
    assert_eq!(homes[0]["price"], price);
    for other in [&homes[1], &homes[2]] {
        assert!(
            other.get("dpe_id").is_none() && other.get("changes").is_none(),
            "{other}"
        );
    }
    assert_eq!(until_told(&receiver, 1).await.len(), 1);

    // A sale is matched, which is not a change.
    service.clock.advance_ms(60_000);
    let sale = record(json!({
        "id": "S1", "transaction_date": "2025-02-03T00:00:00.000Z", "property_type": "Appartement",
        "surface_m2": 50.0, "price_eur": 412_000, "location": {"lat": latitude, "lon": longitude},
    }));
    rows::import(&lake, Dataset::Dvf, &[sale], Vec::new());
    let found = first_home(&service, "mine", |home| home["sale_id"] == "S1").await;
    let home = &found["homes"][0];
    assert_eq!(
        pick(home, ["sale_date", "sale_price", "dpe_class"]),
        json!(["2025-02-03", 412_000, "D"])
    );
    assert!(found["homes"][2].get("sale_id").is_none());

    // The same diagnostic with another class.
    service.clock.advance_ms(60_000);
    let corrected = diagnostic("C", "2025-05-01", IN_PARIS);
    rows::import(&lake, Dataset::Dpe, &[corrected], Vec::new());
    let found = first_home(&service, "mine", |home| home["dpe_class"] == "C").await;
    let home = &found["homes"][0];
    assert_eq!(home["previous_dpe_class"], "D");
    assert_eq!(home["sale_id"], "S1");

    let told = until_told(&receiver, 2).await;
    let classes: Vec<(&Value, &Value)> = told
        .iter()
        .map(|home| (&home["key"], &home["dpe_class"]))
        .collect();
    let (near, d, c) = (json!("near"), json!("D"), json!("C"));
    assert_eq!(classes, [(&near, &d), (&near, &c)]);
    assert_eq!(told[1]["previous_dpe_class"], "D");
    // Three homes were valued once; matching is free.
    assert_eq!(
        service.stored(
            "SELECT count(*), sum(credits) FROM ledger WHERE type = 'API_ESTIMATE_PROPERTY_LITE'"
        ),
        [1, 3]
    );
}

/// The latest sales of a lake: a row of a portfolio each, and the day of the sale.
fn latest_sales(open_data: &OpenData, count: usize) -> Vec<(String, NaiveDate)> {
    let mut request = DatasetSearchRequest {
        filter: Vec::new(),
        sort_by: bodies(Dataset::Dvf).sort_keys[0],
        descending: true,
        size: 100,
        after: None,
    };
    let mut sales = Vec::new();
    while sales.len() < count {
        let page = open_data.search(Dataset::Dvf, &request).unwrap();
        for text in &page.records {
            let record: Value = serde_json::from_slice(text).unwrap();
            let kind = match record["property_type"].as_str() {
                Some("Appartement") => "flat",
                Some("Maison") => "house",
                _ => continue,
            };
            let number = |value: &Value| value.as_f64();
            let place = &record["location"];
            let (Some(surface), Some(lat), Some(lon)) = (
                number(&record["surface_m2"]),
                number(&place["lat"]),
                number(&place["lon"]),
            ) else {
                continue;
            };
            let day = record["transaction_date"].as_str().unwrap()[..10].parse();
            sales.push((format!("{kind},{surface},{lon},{lat}"), day.unwrap()));
        }
        request.after = page.next;
        assert!(
            request.after.is_some() || sales.len() >= count,
            "{}",
            sales.len()
        );
    }
    sales.truncate(count);
    sales
}

/// Number and seed of the invented sales.
const SALES: u64 = 2_000;
const SEED: u64 = 3;

/// Imports the sales of [`lake_of`] into another lake, the same each time.
fn import_sales(lake: &Path) {
    let request = SynthRequest {
        dataset: Dataset::Dvf,
        items: SALES,
        seed: SEED,
        full_width: false,
    };
    generate_into_lake(lake, request, Progress::silent()).unwrap();
}

/// The last day of the sales that the model of the only portfolio knows, such as 20260630.
fn last_known_day(service: &Service) -> i64 {
    let day = "SELECT CAST(strftime('%Y%m%d', data_through) AS INTEGER) FROM portfolios";
    service.stored(day)[0]
}

/// A portfolio of homes, as a file.
fn file_of(homes: &[(String, NaiveDate)]) -> String {
    let homes = homes.iter().enumerate();
    let rows: String = homes
        .map(|(nth, (row, _))| format!("h{nth},{row}\n"))
        .collect();
    format!("key,type,surface_m2,longitude,latitude\n{rows}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparable_in_an_import_is_told_once_and_not_again_after_the_next_model() {
    let lake = lake_of(SALES, SEED);
    let open_data = OpenData::open(lake.path(), Budget::default()).unwrap();
    let sales = latest_sales(&open_data, 150);
    let folder = tempfile::tempdir().unwrap();
    tokio::task::block_in_place(|| train(lake.path(), Some(sales[149].1), folder.path()));

    let (service, _runner, models) = start(folder.path()).await;
    let receiver = Receiver::always(Act::Status(200)).await;
    let _dispatcher = delivering(&service);
    // Only a value that doubles is a change.
    let path = format!("mine?movedPercent=100&webhookUrl={}", receiver.url());
    stored(&service, &path, "text/csv", file_of(&sales[..60])).await;
    let before = valued(&service, "mine", &Value::Null).await;
    let known = last_known_day(&service);

    service.clock.advance_ms(60_000);
    tokio::task::block_in_place(|| import_sales(service.folder()));
    let after_import = until_told(&receiver, 10).await;
    for home in &after_import {
        assert_eq!(home["changes"], json!(["comparable"]), "{home}");
        let sold = home["new_comparables"].as_array().unwrap();
        let count = home["new_comparable_count"].as_u64().unwrap() as usize;
        assert_eq!(sold.len(), count.min(NEW_COMPARABLES_MAX), "{home}");
        assert_eq!(sold[0]["id"], home["comparable_id"], "{home}");
        for sale in sold {
            let day = sale["date"].as_str().unwrap().replace('-', "");
            assert!(day.parse::<i64>().unwrap() > known, "{home}");
        }
    }
    let several = |home: &&Value| home["new_comparable_count"].as_u64() > Some(1);
    assert!(after_import.iter().any(|home| several(&home)));

    // The same sales once more.
    service.clock.advance_ms(60_000);
    tokio::task::block_in_place(|| import_sales(service.folder()));
    let told = until_told(&receiver, after_import.len()).await;
    assert_eq!(told.len(), after_import.len());

    service.clock.advance_ms(60_000);
    tokio::task::block_in_place(|| train(lake.path(), None, folder.path()));
    models.reload_if_changed();
    valued(&service, "mine", &before["model"]).await;
    let told = until_told(&receiver, after_import.len()).await;
    let mut pairs: Vec<String> = Vec::new();
    for home in &told {
        let sold = home["new_comparables"].as_array().into_iter().flatten();
        pairs.extend(sold.map(|sale| format!("{} {}", home["key"], sale["id"])));
    }
    let count = pairs.len();
    pairs.sort();
    pairs.dedup();
    assert_eq!(pairs.len(), count, "{pairs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparable_that_the_former_model_did_not_know_is_told() {
    let lake = lake_of(SALES, SEED);
    let open_data = OpenData::open(lake.path(), Budget::default()).unwrap();
    let sales = latest_sales(&open_data, 150);
    let until = sales.last().unwrap().1;
    let folder = tempfile::tempdir().unwrap();
    tokio::task::block_in_place(|| train(lake.path(), Some(until), folder.path()));

    let (service, _runner, models) = start(folder.path()).await;
    let receiver = Receiver::always(Act::Status(200)).await;
    let _dispatcher = delivering(&service);
    // Only a value that doubles is a change.
    let path = format!("mine?movedPercent=100&webhookUrl={}", receiver.url());
    stored(&service, &path, "text/csv", file_of(&sales[..60])).await;
    let before = valued(&service, "mine", &Value::Null).await;
    let known = last_known_day(&service);

    service.clock.advance_ms(60_000);
    tokio::task::block_in_place(|| train(lake.path(), None, folder.path()));
    models.reload_if_changed();
    let after = valued(&service, "mine", &before["model"]).await;
    let mut expected = Vec::new();
    for (home, former) in after["homes"]
        .as_array()
        .unwrap()
        .iter()
        .zip(before["homes"].as_array().unwrap())
    {
        let day = home["comparable_date"]
            .as_str()
            .map(|day| day.replace('-', ""));
        let is_later = day.is_some_and(|day| day.parse::<i64>().unwrap() > known);
        let is_new = is_later && home["comparable_id"] != former["comparable_id"];
        let changes = home["changes"].as_array().cloned().unwrap_or_default();
        assert_eq!(
            changes.contains(&json!("comparable")),
            is_new,
            "{home} after {former}"
        );
        if !changes.is_empty() {
            expected.push(home.clone());
        }
    }
    let sold = expected
        .iter()
        .filter(|home| home["changes"] == json!(["comparable"]))
        .count();
    assert!(sold > 10, "{sold}");
    let mut told = until_told(&receiver, expected.len()).await;
    told.sort_by_key(|home| home["key"].as_str().map(str::to_owned));
    expected.sort_by_key(|home| home["key"].as_str().map(str::to_owned));
    assert_eq!(told, expected);
}

/// The folder of the only portfolio of a service.
fn folder_of_portfolio(service: &Service) -> PathBuf {
    let entries = std::fs::read_dir(service.folder().join("portfolios")).unwrap();
    let mut folders = entries.map(|entry| entry.unwrap().path());
    folders.find(|path| path.is_dir()).unwrap()
}

#[tokio::test]
async fn damaged_homes_are_set_aside_once_and_keep_their_values_until_they_are_stored_again() {
    let folder = trained();
    let (service, _runner, _) = start(folder.path()).await;
    let lake = Lake::open(service.folder()).unwrap();
    let [longitude, latitude] = IN_PARIS;
    let csv =
        format!("key,type,surface_m2,longitude,latitude\nnear,flat,50,{longitude},{latitude}\n");
    stored(&service, "mine", "text/csv", csv.clone()).await;
    let before = valued(&service, "mine", &Value::Null).await;
    assert!(before.get("homes_lost").is_none(), "{before}");
    let homes = folder_of_portfolio(&service);
    std::fs::write(homes.join("homes.parquet"), "no Parquet").unwrap();

    let made = diagnostic("D", "2024-03-01", IN_PARIS);
    rows::import(&lake, Dataset::Dpe, &[made], Vec::new());
    let is_lost = |found: &Value| found["homes_lost"] == true;
    let after = until_read(&service, "mine", is_lost).await;
    assert_eq!(
        (&after["status"], &after["homes"]),
        (&json!("valued"), &before["homes"])
    );
    assert_eq!(
        std::fs::read(homes.join("homes.damaged")).unwrap(),
        b"no Parquet"
    );
    assert!(!homes.join("homes.parquet").exists());

    stored(&service, "mine", "text/csv", csv).await;
    let healed = first_home(&service, "mine", |home| home["dpe_class"] == "D").await;
    assert!(healed.get("homes_lost").is_none(), "{healed}");
}

#[tokio::test]
async fn damaged_values_are_set_aside_once_and_the_homes_are_valued_again_without_charge() {
    let folder = trained();
    let (service, _runner, _) = start(folder.path()).await;
    let lake = Lake::open(service.folder()).unwrap();
    let [longitude, latitude] = IN_PARIS;
    let csv =
        format!("key,type,surface_m2,longitude,latitude\nnear,flat,50,{longitude},{latitude}\n");
    stored(&service, "mine", "text/csv", csv).await;
    let before = valued(&service, "mine", &Value::Null).await;
    assert!(before.get("history_lost").is_none(), "{before}");
    let homes = folder_of_portfolio(&service);
    std::fs::write(homes.join("values-1.parquet"), "no Parquet").unwrap();

    let made = diagnostic("D", "2024-03-01", IN_PARIS);
    rows::import(&lake, Dataset::Dpe, &[made], Vec::new());
    let after = first_home(&service, "mine", |home| home["dpe_class"] == "D").await;
    assert_eq!(
        (&after["status"], &after["history_lost"]),
        (&json!("valued"), &json!(true))
    );
    let home = &after["homes"][0];
    assert_eq!(home["price"], before["homes"][0]["price"]);
    assert!(home.get("changes").is_none(), "{home}");
    assert_eq!(
        std::fs::read(homes.join("values.damaged")).unwrap(),
        b"no Parquet"
    );
    assert_eq!(
        service.stored("SELECT count(*), sum(credits) FROM ledger"),
        [1, 1]
    );
}
