//! Market indicators over official rows, compared with a plain computation over the same rows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::open_data::{folder, text};
use crate::support::assertions::pick;
use crate::support::process::run;

type PlaceClassPeriod = (String, String, String);
/// Number, volume and prices per square metre.
type Sales = (usize, f64, Vec<f64>);

/// The quantile of sorted values at `share`, interpolated.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, part) = (place as usize, place.fract());
    sorted[low] * (1.0 - part) + sorted[(low + 1).min(sorted.len() - 1)] * part
}

#[test]
fn every_commune_and_quarter_agrees_with_its_rows() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    run(data, &["import", "dvf", text(&real.join("dvf/*.csv*"))]);
    let rows = run(
        data,
        &[
            "sql",
            "select insee_code as place, property_type as kind, cast(transaction_date as varchar) as day, \
             price_eur as price, surface_m2 as surface, price_per_m2_living_eur as per_m2, mutation_share as share \
             from dvf where is_open_market and property_type in ('Appartement', 'Maison')",
        ],
    );
    let mut groups: BTreeMap<PlaceClassPeriod, Sales> = BTreeMap::new();
    for row in rows.as_array().unwrap() {
        let class = match row["kind"].as_str().unwrap() {
            "Maison" => "CLASS_HOUSE",
            _ => "CLASS_FLAT",
        };
        let day = row["day"].as_str().unwrap();
        let month: u32 = day[5..7].parse().unwrap();
        let quarter = format!("{}-Q{}", &day[..4], month.div_ceil(3));
        let place = row["place"].as_str().unwrap().to_owned();
        let group = groups
            .entry((place, class.to_owned(), quarter))
            .or_default();
        let price = row["price"].as_f64().unwrap();
        group.0 += 1;
        group.1 += price * row["share"].as_f64().unwrap();
        let alone = row["per_m2"].as_f64().zip(row["surface"].as_f64());
        group.2.extend(
            alone
                .filter(|(per_m2, surface)| {
                    price >= 15_000.0
                        && (9.0..=1_000.0).contains(surface)
                        && (300.0..=30_000.0).contains(per_m2)
                })
                .map(|(per_m2, _)| per_m2),
        );
    }
    let report = run(data, &["market", "--level", "commune", "--by", "quarter"]);
    let report = report.as_array().unwrap();
    assert_eq!(report.len(), groups.len());
    assert!(report.len() > 400, "{}", report.len());
    for (row, ((place, class, quarter), (sales, volume, mut priced))) in report.iter().zip(groups) {
        assert_eq!(
            [&row["place"], &row["type"], &row["period"]],
            [
                &Value::from(place),
                &Value::from(class),
                &Value::from(quarter)
            ]
        );
        assert_eq!(
            pick(row, ["sales", "priced_sales"]),
            json!([sales, priced.len()])
        );
        assert!(
            (row["volume_eur"].as_f64().unwrap() - volume).abs() < 0.02,
            "{row}"
        );
        priced.sort_unstable_by(f64::total_cmp);
        for (column, share) in [
            ("price_per_m2_q1", 0.25),
            ("price_per_m2_median", 0.5),
            ("price_per_m2_q3", 0.75),
        ] {
            match row[column].as_f64() {
                None => assert!(priced.len() < 5, "{column} of {row}"),
                Some(shown) => assert!(
                    (shown - quantile(&priced, share)).abs() < 0.01,
                    "{column} of {row}"
                ),
            }
        }
    }
}
