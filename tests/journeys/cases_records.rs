//! Sales and diagnostics of public bug reports: one identifier per sale whatever the edition, the right price, and no wrong
//! day.

use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cases::{case, fails, import, import_counts};
use crate::support::client::Client;
use crate::support::process::{errors, new_key, run, sql_number};

#[test]
fn the_order_of_rows_does_not_change_the_sales_of_raw_files() {
    // The order of the rows of a sale differs between releases; a shuffled file made six sales of three.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    for (release, counts) in [
        ("april", [3, 0, 0]),
        ("october", [0, 0, 3]),
        ("shuffled", [0, 0, 3]),
    ] {
        let name = format!("14-dvf-raw-row-order/release-{release}.txt");
        assert_eq!(import_counts(data, "dvf", &name), counts, "{release}");
    }
    let query = "select property_type, price_eur, surface_m2 from dvf order by price_eur";
    let expected = json!([
        {"property_type": "Maison", "price_eur": 157_500.0, "surface_m2": 147.0},
        {"property_type": "Appartement", "price_eur": 174_500.0, "surface_m2": 80.0},
        {"property_type": "Maison", "price_eur": 251_500.0, "surface_m2": 147.0},
    ]);
    assert_eq!(run(data, &["sql", query]), expected);
}

#[tokio::test]
async fn a_sale_in_a_merged_commune_is_one_sale_under_both_codes() {
    // geo-dvf gives a merged commune its new code and older raw files the old one, so each sale was stored twice.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    for (file, counts) in [
        ("geo-dvf.csv", [1, 0, 0]),
        ("raw.txt", [0, 0, 1]),
        ("raw-new-commune-code.txt", [0, 0, 1]),
        ("control-geo.csv", [1, 0, 0]),
        ("control-raw.txt", [0, 0, 1]),
    ] {
        let name = format!("16-dvf-merged-commune/{file}");
        assert_eq!(import_counts(data, "dvf", &name), counts, "{file}");
    }
    let key = new_key(data, &["--scopes", "search"]);
    let (_server, client) = Client::start(data, &key);
    for code in ["85001", "85307"] {
        let filters = json!({"filters": {"insee_code": code}});
        let answer = client
            .ask(Method::POST, "opendata/dvf/search", filters)
            .await;
        assert_eq!(answer["total"], 1, "{code}: {answer}");
        let sale = &answer["data"][0];
        assert_eq!(sale["price_eur"], 189_000, "{code}: {answer}");
        assert_eq!(sale["insee_code"], "85001", "{code}: {answer}");
    }
}

#[test]
fn a_recalculated_label_replaces_the_old_one() {
    // The reform of 2024 changed the labels of small homes without changing the date, and the old label stayed.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    for (file, counts, label) in [
        ("before-reform", [1, 0, 0], "F"),
        ("after-reform", [0, 1, 0], "E"),
        ("label-only", [0, 1, 0], "D"),
    ] {
        let name = format!("18-dpe-relabelled-same-date/{file}.csv");
        assert_eq!(import_counts(data, "dpe", &name), counts, "{file}");
        let rows = run(data, &["sql", "select etiquette_dpe as label from dpe"]);
        assert_eq!(rows, json!([{"label": label}]), "{file}");
    }
}

/// Data files that the log of a Delta table names.
fn files_of_delta_log(table: &Path) -> Vec<String> {
    let entries = fs::read_dir(table.join("_delta_log")).unwrap();
    let commits = entries.map(|entry| entry.unwrap().path());
    let commits = commits.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut added = Vec::new();
    for commit in commits {
        for line in fs::read_to_string(commit).unwrap().lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            added.extend(action["add"]["path"].as_str().map(str::to_owned));
        }
    }
    added
}

#[test]
fn a_data_folder_may_have_blanks_and_accents_in_its_name() {
    // Readers of Delta tables failed on tables in folders with blanks or accents.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("données immo (48)").join("lac n°1");
    let name = "41-dvf-float32-prices/edition-2025.csv";
    assert_eq!(import_counts(&data, "dvf", name), [4, 0, 0]);
    assert_eq!(sql_number(&data, "select count(*) from dvf"), 4);
    let table = data.join("lake/dvf");
    let files = files_of_delta_log(&table);
    assert_eq!(files.len(), 1, "{files:?}");
    // Relative to the folder and without signs to escape, so it does not matter whether a reader decodes the name.
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./".contains(sign);
    assert!(files[0].chars().all(is_plain), "{files:?}");
    let file = fs::File::open(table.join(&files[0])).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 1024);
    let rows: usize = reader.unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 4);
}

#[test]
fn dates_of_spreadsheets_are_read_or_refused_but_never_wrong() {
    // Serial numbers, months before days and years of two digits were stored as wrong days.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let serial = "date unreadable: serial number of a spreadsheet: format the column as a date";
    for (file, reason, refused) in [
        ("serial", serial, ["45365", "45366"]),
        (
            "two-digit-year",
            "date unreadable",
            ["25/03/24", "04/03/24"],
        ),
    ] {
        let path = case(&format!("34-dvf-excel-dates/{file}.csv"));
        let output = fails(data, &["import", "dvf", &path]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rejected = &report["rejected"][reason];
        assert_eq!(rejected["count"], 2, "{report}");
        let values = [0, 1].map(|row| rejected["examples"][row]["value"].as_str().unwrap());
        assert_eq!(values, refused);
    }
    // 03/25/2024 proves the American order, in which 03/04/2024 is no day of April.
    let output = fails(data, &["import", "dvf", &case("34-dvf-excel-dates/us.csv")]);
    let text = errors(&output);
    assert!(
        text.contains("line 2") && text.contains("\"03/25/2024\" has the month"),
        "{text}"
    );
    assert_eq!(
        import_counts(data, "dvf", "34-dvf-excel-dates/datetime.csv"),
        [2, 0, 0]
    );
    let query = "select mutation_id as sale, transaction_date as day from dvf order by mutation_id";
    let expected = json!([
        {"sale": "2024-3400007", "day": "2024-03-25"},
        {"sale": "2024-3400008", "day": "2024-03-25"},
    ]);
    assert_eq!(run(data, &["sql", query]), expected);
}

#[test]
fn every_disposition_of_a_sale_has_its_own_price() {
    // A deed with several dispositions has a price for each, and one of them was taken for the whole deed.
    let folder = tempfile::tempdir().unwrap();
    let query = "select property_type, price_eur, surface_m2, price_per_m2_living_eur as per_m2, is_sold_together from dvf \
                 order by price_eur, surface_m2";
    let sale = |kind: &str, price: f64, surface: Option<f64>, per_m2: Option<f64>| {
        json!({"property_type": kind, "price_eur": price, "surface_m2": surface, "per_m2": per_m2,
            "is_sold_together": false})
    };
    let houses = [
        sale("Maison", 154_000.0, Some(48.0), Some(3_208.33)),
        sale("Maison", 154_000.0, Some(67.0), Some(2_298.51)),
    ];
    let garage = sale("Dépendance", 15_000.0, None, None);
    let flat = sale("Appartement", 200_000.0, Some(45.0), Some(4_444.44));
    let [first, second] = houses.clone();
    for (file, expected) in [
        (
            "dispositions.csv",
            vec![garage.clone(), first, second, flat.clone()],
        ),
        ("dispositions-reversed.csv", vec![garage, flat]),
        ("dispositions-raw.txt", houses.to_vec()),
    ] {
        let data = folder.path().join(file);
        import(&data, "dvf", &format!("38-dvf-dispositions/{file}"));
        assert_eq!(
            run(&data, &["sql", query]),
            Value::Array(expected),
            "{file}"
        );
    }
    // The raw file of the tax office has the houses of geo-dvf.
    let data = folder.path().join("dispositions.csv");
    let name = "38-dvf-dispositions/dispositions-raw.txt";
    assert_eq!(import_counts(&data, "dvf", name), [0, 0, 2]);
}

#[test]
fn prices_in_single_precision_are_the_same_sales() {
    // A new edition stores prices in single precision, which changes the last digits, so sales were stored twice.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    for (file, counts) in [
        ("edition-2025.csv", [4, 0, 0]),
        ("edition-2026-float32.csv", [0, 0, 4]),
    ] {
        let name = format!("41-dvf-float32-prices/{file}");
        assert_eq!(import_counts(data, "dvf", &name), counts, "{file}");
        let query = "select price_eur from dvf order by mutation_id";
        let rows = run(data, &["sql", query]);
        let prices: Vec<f64> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["price_eur"].as_f64().unwrap())
            .collect();
        assert_eq!(prices, [174_500.55, 1_234_567.89, 397_000.0, 110_549_713.0]);
    }
}
