//! The evaluation, tested on a synthetic market with a known price formula.

use super::*;
use toise_estimate::{grid, home, sale};

#[path = "../../estimate/known_market.rs"]
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
