//! Tests that synthetic open data is complete, reproducible and plausible.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use super::*;

fn bytes(dataset: Dataset, items: u64, threads: usize) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let request = SynthRequest {
        dataset,
        items,
        seed: 7,
        full_width: false,
    };
    let mut out = Vec::new();
    pool.install(|| reader(request).unwrap().read_to_end(&mut out).unwrap());
    out
}

fn records(bytes: &[u8]) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(bytes);
    reader.deserialize().map(Result::unwrap).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    assert!(values.len() >= 15, "only {} values", values.len());
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let alone = bytes(dataset, 9_000, 1);
        assert!(alone == bytes(dataset, 9_000, 5));
    }
}

#[test]
fn sales_are_contiguous_and_plausible_by_place_and_size() {
    let rows = records(&bytes(Dataset::Dvf, 12_000, 2));
    let mut sales: Vec<Vec<&HashMap<String, String>>> = Vec::new();
    for row in &rows {
        match sales.last_mut() {
            Some(sale) if sale[0]["id_mutation"] == row["id_mutation"] => sale.push(row),
            _ => sales.push(vec![row]),
        }
    }
    let ids: HashSet<_> = sales.iter().map(|sale| &sale[0]["id_mutation"]).collect();
    assert_eq!(ids.len(), 12_000);
    let in_2021 = ids.iter().filter(|id| id.starts_with("2021-")).count();
    assert!(ids.contains(&format!("2021-{in_2021}")));
    assert!(rows.iter().all(|row| row["id_parcelle"].len() == 14));
    assert!(!rows.iter().any(|row| row["code_departement"] == "67"));

    let single = |kind: &str| -> Vec<(&HashMap<String, String>, f64, f64)> {
        sales
            .iter()
            .filter_map(|sale| {
                let mut dwellings = sale.iter().filter(|row| row["type_local"] == kind);
                let dwelling = dwellings.next()?;
                let surface: f64 = dwelling["surface_reelle_bati"].parse().ok()?;
                let price: f64 = sale[0]["valeur_fonciere"].parse().ok()?;
                let alone = dwellings.next().is_none() && sale[0]["nature_mutation"] == "Vente";
                (alone && price > 1.0).then_some((*dwelling, surface, price))
            })
            .collect()
    };
    let flats = single("Appartement");
    let per_m2 = |department: &str| {
        median(
            flats
                .iter()
                .filter(|(row, ..)| row["code_departement"] == department)
                .map(|(_, surface, price)| price / surface)
                .collect(),
        )
    };
    let paris = per_m2("75");
    assert!((8_500.0..12_500.0).contains(&paris), "Paris {paris}");
    let elsewhere = median(
        flats
            .iter()
            .filter(|(row, ..)| {
                !["75", "92", "93", "94", "69", "06"].contains(&row["code_departement"].as_str())
            })
            .map(|(_, surface, price)| price / surface)
            .collect(),
    );
    assert!(
        paris > 2.0 * elsewhere,
        "Paris {paris}, elsewhere {elsewhere}"
    );
    let houses = single("Maison");
    let price_of = |from: f64, to: f64| {
        median(
            houses
                .iter()
                .filter(|(_, surface, _)| (from..to).contains(surface))
                .map(|(.., price)| *price)
                .collect(),
        )
    };
    assert!(price_of(140.0, 400.0) > 1.25 * price_of(40.0, 80.0));
    let rows_per_sale = rows.len() as f64 / sales.len() as f64;
    assert!((1.5..2.8).contains(&rows_per_sale), "{rows_per_sale}");
}

#[test]
fn diagnostics_are_unique_and_old_buildings_consume_more() {
    let rows = records(&bytes(Dataset::Dpe, 20_000, 2));
    let numbers: HashSet<_> = rows.iter().map(|row| &row["numero_dpe"]).collect();
    assert_eq!(numbers.len(), 20_000);
    let superseded = rows
        .iter()
        .filter(|row| numbers.contains(&row["numero_dpe_remplace"]))
        .count();
    assert!((300..1_200).contains(&superseded), "{superseded}");
    let primary = |period: &str| {
        median(
            rows.iter()
                .filter(|row| row["periode_construction"] == period)
                .map(|row| row["conso_5_usages_par_m2_ep"].parse().unwrap())
                .collect(),
        )
    };
    assert!(primary("avant 1948") > 1.5 * primary("2006-2012"));
    assert!(primary("1978-1982") > primary("2013-2021"));
    // Approximate national shares of valid diagnostics: A 2, B 5, C 23, D 33, E 21, F 10, G 6 in a hundred.
    let expected = [2.5, 5.0, 23.0, 33.0, 21.0, 9.5, 6.0];
    for (class, expected) in toise_opendata::dpe::CLASSES.iter().zip(expected) {
        let count = rows
            .iter()
            .filter(|row| row["etiquette_dpe"] == *class)
            .count();
        let share = count as f64 / rows.len() as f64 * 100.0;
        assert!(
            (share - expected).abs() < 2.0 + 0.25 * expected,
            "{class}: {share:.1}"
        );
    }
}

#[test]
fn every_modelled_column_is_a_published_one_and_full_width_has_them_all() {
    let mut narrow = Vec::new();
    let mut wide = Vec::new();
    dpe::write(&mut narrow, 300, 1, false).unwrap();
    let summary = dpe::write(&mut wide, 300, 1, true).unwrap();
    assert_eq!(summary.bytes, wide.len() as u64);
    assert_eq!(records(&narrow)[0].len(), 104);
    let wide = records(&wide);
    assert_eq!((wide.len(), wide[0].len()), (300, 230));
}

#[test]
fn a_portfolio_row_finds_its_certificate_in_the_file() {
    let request = SynthRequest {
        dataset: Dataset::Dpe,
        items: 5_000,
        seed: 7,
        full_width: false,
    };
    let mut out = Vec::new();
    let summary = portfolio::write(&mut out, request, 200).unwrap();
    assert_eq!(summary.rows, 200);
    let file = records(&bytes(Dataset::Dpe, 5_000, 2));
    for query in records(&out) {
        let truth = file
            .iter()
            .find(|row| row["numero_dpe"] == query["true_numero_dpe"])
            .unwrap();
        let number = |row: &HashMap<String, String>, name: &str| row[name].parse::<f64>().unwrap();
        let surface = number(truth, "surface_habitable_logement");
        assert!(number(&query, "surface_habitable_logement_min") <= surface);
        assert!(number(&query, "surface_habitable_logement_max") >= surface);
        assert_eq!(truth["code_insee_ban"], query["code_insee_ban"]);
        assert_eq!(
            truth["conso_5_usages_par_m2_ep"],
            query["conso_5_usages_par_m2_ep"]
        );
    }
    let sales = SynthRequest {
        dataset: Dataset::Dvf,
        ..request
    };
    assert_eq!(
        portfolio::write(&mut Vec::new(), sales, 200).unwrap().rows,
        200
    );
}
