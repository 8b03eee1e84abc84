//! Tests the evaluation on a synthetic market with a known price formula.

use super::leave_out::PlaceKind;
use super::*;
use chrono::NaiveDate;
use toise_estimate::{grid, home, sale};

#[path = "../estimate/known_market.rs"]
mod known_market;

use known_market::{DAYS, FIRST_DAY, SALES, made};

#[test]
fn an_evaluation_beats_the_baselines_and_uses_only_later_sales() {
    let recorded = made(SALES, 1).into_iter().map(|sale| SaleWithCommune {
        sale,
        commune: *b"83137",
    });
    let end = FIRST_DAY + DAYS - 200;
    let test = end..=FIRST_DAY + DAYS;
    let funnel = Funnel::default();
    let (report, model) =
        evaluate(recorded.collect(), funnel, end, test, String::new(), &|| ()).unwrap();
    let later = made(SALES, 1).iter().filter(|sale| sale.day >= end).count();
    assert_eq!(report.all.sales, later);
    assert!(report.model.data_through <= report.train_until);
    assert!(model.metadata().sales < SALES as u64);
    for (name, quality) in &report.baselines {
        assert!(report.all.mdape < quality.mdape, "{name}: {quality:?}");
    }
    let [low, high] = report.difference.interval;
    assert!(low <= report.difference.points && report.difference.points <= high);
    let folder = tempfile::tempdir().unwrap();
    let files = report.write(folder.path(), "card").unwrap();
    assert_eq!(files.len(), 3);
    assert!(std::fs::read(&files[2]).unwrap().starts_with(b"<svg"));
    let text = std::fs::read_to_string(&files[1]).unwrap();
    assert!(text.contains("| class flats |"), "{text}");
}

/// Sales of the synthetic town with its commune.
fn recorded(count: usize, seed: u64) -> Vec<SaleWithCommune> {
    let sales = made(count, seed).into_iter();
    let with_commune = sales.map(|sale| SaleWithCommune {
        sale,
        commune: *b"83137",
    });
    with_commune.collect()
}

#[test]
fn errors_by_horizon_stay_bounded_while_prices_turn_and_fall() {
    // Prices of the formula rise by 0.5 % a month until July 2022 and then fall by 0.4 % a month.
    let sales = recorded(6_000, 2);
    let origins = rolling::origins(&sales, 5);
    let date = |text: &str| text.parse::<NaiveDate>().unwrap();
    assert_eq!(
        (origins.first(), origins.last()),
        (Some(&date("2022-01-01")), Some(&date("2023-12-01")))
    );
    let report = rolling::run(&sales, &origins, &|| ()).unwrap();
    assert_eq!(report.origins.len(), 5);
    let months: Vec<u32> = report.horizons.iter().map(|one| one.month).collect();
    assert_eq!(months, (1..=12).collect::<Vec<_>>());
    let judged: usize = report.horizons.iter().map(|one| one.quality.sales).sum();
    assert_eq!(judged, report.all.sales);
    for horizon in &report.horizons {
        assert!(horizon.bias.abs() <= 5.0, "{horizon:?}");
        let held = horizon.quality.coverage.unwrap();
        assert!((70.0..90.0).contains(&held), "{horizon:?}");
    }
    assert!(report.all.bias.abs() <= 2.0, "{:?}", report.all);
    let widths: Vec<f64> = report
        .horizons
        .iter()
        .filter_map(|one| one.quality.width)
        .collect();
    assert!(widths[11] > widths[0], "{widths:?}");
    let text = report.markdown();
    assert!(
        text.contains("| 12 | ") && text.contains("| 2022-01-01 | "),
        "{text}"
    );
}

#[test]
fn a_department_left_out_is_held_by_the_interval_and_warned_of() {
    // The same town twice, once in the north at a third of its prices.
    let mut sales = recorded(3_000, 3);
    sales.extend(recorded(3_000, 4).into_iter().map(|mut one| {
        one.sale.price /= 3.0;
        one.sale.department = 60;
        one.commune = *b"59350";
        let position = one.sale.position;
        one.sale.position =
            grid::GridPosition::new(position.latitude() + 7.0, position.longitude() - 3.0);
        one
    }));
    let places = leave_out::places(&sales, PlaceKind::Department, 8);
    assert_eq!(places.len(), 2);
    let report = leave_out::run(&sales, PlaceKind::Department, &places, &|| ()).unwrap();
    for place in &report.places {
        assert!(place.quality.coverage.unwrap() >= 70.0, "{place:?}");
        assert!(place.warnings["no_sale_within_reach"] > 99.0, "{place:?}");
    }
    assert!(report.markdown().contains("| department left out |"));
    // Cities are whole communes.
    let cities = leave_out::places(&sales, PlaceKind::City, 1);
    assert!(cities == ["59350"] || cities == ["83137"], "{cities:?}");
}
