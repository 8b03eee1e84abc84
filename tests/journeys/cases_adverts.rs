//! Adverts of public bug reports: prices and areas as people write them.

use serde_json::{Value, json};

use crate::support::cases::case;
use crate::support::process::run;

/// Ingests a file with the mapping `french-csv` into a new folder; returns the report and the rows of a query.
fn ingested(name: &str, query: &str) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["ingest", &case(name), "--mapping", "french-csv"];
    let report = run(folder.path(), &arguments);
    let rows = run(folder.path(), &["sql", query]);
    (report, rows.as_array().unwrap().clone())
}

#[test]
fn a_price_has_the_amount_that_a_person_reads() {
    // "245k" was 245 euros, "0,245 M€" was 245 millions, and the first of two prices was taken.
    let query = "select cast(split_part(url, '/', 5) as int) as number, current_price_value as price, offer_type as offer \
                 from adverts order by number";
    let (report, rows) = ingested("19-advert-price-texts/adverts.csv", query);
    assert_eq!(rows.len(), 20);
    for row in &rows {
        let number = row["number"].as_i64().unwrap();
        let price = match number {
            // Two prices, a range, a price on request, a life annuity, and digits in groups that nobody writes.
            5 | 6 | 10 | 17 | 20 => None,
            7 => Some(199_900.0),
            8 => Some(1_200.0),
            _ => Some(245_000.0),
        };
        let offer = match number {
            8 => "OFFER_RENT",
            17 => "OFFER_LIFE_ANNUITY_SALE",
            _ => "OFFER_BUY",
        };
        assert_eq!(
            (row["price"].as_f64(), &row["offer"]),
            (price, &json!(offer)),
            "{row}"
        );
    }
    let left_out =
        &report["files"][0]["left_out"]["currentPrice.value: cannot be read from column prix"];
    assert_eq!(left_out["count"], 5, "{report}");
}

#[test]
fn the_area_of_land_has_the_unit_of_its_text() {
    // Hectares and ares were taken for square metres, without a warning.
    let query = "select land_surface as area from adverts order by url";
    let (report, rows) = ingested("36-land-surface-units/adverts.csv", query);
    let areas: Vec<Option<f64>> = rows.iter().map(|row| row["area"].as_f64()).collect();
    let expected = [
        Some(12_035.0),
        Some(1_235.0),
        Some(12_000.0),
        Some(1_200.0),
        Some(300.0),
        Some(1_200.0),
        Some(5_000.0),
        // "1.200 m²", in a column with "1,2 ha" and "65,5 m²".
        Some(1_200.0),
        Some(65.5),
    ];
    assert_eq!(areas, expected);
    assert_eq!(report["files"][0]["left_out"], json!({}), "{report}");
    assert_eq!(report["files"][0]["form"]["decimal_mark"], ",", "{report}");
}
