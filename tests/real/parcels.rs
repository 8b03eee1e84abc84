//! Parcels of official rows: the sales of the parcel of Toulon that was sold most often, and the diagnostics of the
//! addresses on a parcel of Lozère, each compared with the rows of the source. No real file here names a building of the
//! RNB, and that of Paris has no parcels.
//!
//! Runs if `TOISE_REAL_DATA` names the folder of real rows; otherwise it reports that it is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::open_data::{folder, text};
use crate::support::assertions::pick;
use crate::support::client::Client;
use crate::support::process::{new_key, run, sql_number};

/// The rows of a compressed file, by name of column.
fn source(file: &Path, delimiter: u8) -> Vec<BTreeMap<String, String>> {
    let file = flate2::read::GzDecoder::new(File::open(file).unwrap());
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(file);
    reader.deserialize().map(Result::unwrap).collect()
}

/// The key with the most values; the first one of several.
fn fullest(sets: &BTreeMap<String, BTreeSet<String>>) -> &str {
    let size = |entry: &(&String, &BTreeSet<String>)| entry.1.len();
    sets.iter().rev().max_by_key(size).unwrap().0
}

/// Reads all pages of a history.
async fn history(client: &Client, id: &str) -> Vec<Value> {
    let (mut events, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("parcels/{id}?size=7{cursor}");
        let page = client.get(&path).await["data"].take();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => {
                assert_eq!(page["total"], events.len(), "{id}");
                return events;
            }
        }
    }
}

/// The mutations of the source by parcel.
fn mutations(real: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut by_parcel: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for year in ["2023", "2024"] {
        for row in source(&real.join(format!("dvf/geodvf_toulon_{year}.csv.gz")), b',') {
            let of_parcel = by_parcel.entry(row["id_parcelle"].clone()).or_default();
            of_parcel.insert(row["id_mutation"].clone());
        }
    }
    by_parcel
}

/// The numbers of diagnostics by parcel of their address.
fn diagnostics(real: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut parcels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in source(&real.join("ban/adresses-48.csv.gz"), b';') {
        let on = row["cad_parcelles"].split('|').map(str::to_owned);
        parcels.insert(row["id"].clone(), on.filter(|id| !id.is_empty()).collect());
    }
    let mut by_parcel: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in source(&real.join("dpe/dpe48_lozere_v1names_5224.csv.gz"), b',') {
        for parcel in parcels.get(&row["Identifiant__BAN"]).into_iter().flatten() {
            let of_parcel = by_parcel.entry(parcel.clone()).or_default();
            of_parcel.insert(row["N°DPE"].clone());
        }
    }
    by_parcel
}

#[tokio::test]
async fn a_parcel_has_the_sales_and_diagnostics_of_the_sources() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    run(
        data,
        &[
            "import",
            "dvf",
            text(&real.join("dvf/geodvf_toulon_*.csv.gz")),
        ],
    );
    run(
        data,
        &["import", "ban", text(&real.join("ban/adresses-48.csv.gz"))],
    );
    let lozere = real.join("dpe/dpe48_lozere_v1names_5224.csv.gz");
    run(data, &["import", "dpe", text(&lozere), "--allow-partial"]);
    let key = &new_key(data, &[]);
    let (_server, client) = Client::start(data, key);

    let sold = mutations(&real);
    let parcel = fullest(&sold);
    let events = history(&client, parcel).await;
    let named = |event: &Value, name: &str| event["record"][name].as_str().unwrap().to_owned();
    let found: BTreeSet<String> = events
        .iter()
        .map(|event| named(event, "mutation_id"))
        .collect();
    assert_eq!(&found, &sold[parcel], "{parcel}");
    assert!(found.len() > 20, "{parcel}: {}", found.len());
    let dates: Vec<&str> = events
        .iter()
        .map(|event| event["date"].as_str().unwrap())
        .collect();
    assert!(dates.is_sorted(), "{dates:?}");
    // A mutation may have several records.
    let in_sql = format!("select count(*) from dvf where array_has(parcel_ids, '{parcel}')");
    assert_eq!(sql_number(data, &in_sql), events.len() as i64);
    let body = json!({"filters": {"parcel_ids": [parcel]}, "size": 1});
    let answer = client.ask(Method::POST, "opendata/dvf/search", body).await;
    assert_eq!(answer["total"], events.len());

    let diagnosed = diagnostics(&real);
    let parcel = fullest(&diagnosed);
    let events = history(&client, parcel).await;
    let found: BTreeSet<String> = events
        .iter()
        .map(|event| named(event, "numero_dpe"))
        .collect();
    assert_eq!(&found, &diagnosed[parcel], "{parcel}");
    assert!(found.len() >= 10, "{parcel}: {}", found.len());
    for event in &events {
        assert_eq!(
            pick(event, ["kind", "link"]),
            json!(["DIAGNOSTIC", "ADDRESS"])
        );
    }
}
