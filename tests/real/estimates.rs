//! Official sales of a town to prices: import, train, judge on later sales, with the executable.
//!
//! Toulon, whose sales of two years train in seconds. The limits are loose: they only detect a broken estimator. Report
//! cards measure its quality. Runs if `TOISE_REAL_DATA` names the folder of real rows.

use serde_json::Value;

use super::open_data::{folder, text};
use crate::support::process::{run, toise};

/// Median absolute percentage errors of a working estimator: Toulon has 15 %, the plain median of the town 24 %.
const MDAPE: std::ops::Range<f64> = 12.0..17.5;
/// Sales sold alone on the open market from July to December 2024, as counted in the file by hand.
const JUDGED: usize = 1_350;

#[test]
fn sales_of_a_town_teach_prices_that_hold_for_later_sales() {
    let Some(real) = folder() else { return };
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path();
    run(data, &["import", "dvf", text(&real.join("dvf/*toulon*"))]);

    // The same sales give the same model, on one thread as on all.
    let until = ["train", "--until", "2024-06-30"];
    let first = run(data, &until);
    let again = toise(data, &until)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    let version = &first["model"]["version"];
    assert!(version.is_string(), "{first}");
    assert_eq!(&again["model"]["version"], version);
    assert!(first["model"]["data_through"].as_str().unwrap() <= "2024-06-30");
    let steps = first["funnel"].as_array().unwrap();
    let left: Vec<u64> = steps
        .iter()
        .map(|step| step["left"].as_u64().unwrap())
        .collect();
    assert!(left.is_sorted_by(|more, less| more >= less), "{first}");

    let days = [
        "--train-until",
        "2024-06-30",
        "--test",
        "2024-07-01..2024-12-31",
    ];
    let judged = run(data, &[&["evaluate", "estimate"][..], &days].concat());
    let report = &judged["report"];
    assert_eq!(&report["model"]["version"], version);
    let all = &report["all"];
    assert_eq!(all["sales"], JUDGED);
    let mdape = all["mdape"].as_f64().unwrap();
    assert!(MDAPE.contains(&mdape), "{all}");
    for baseline in report["baselines"].as_array().unwrap() {
        assert!(mdape < baseline[1]["mdape"].as_f64().unwrap(), "{baseline}");
    }
    // Four in five, within the range of chance: 1 point and 2.6 standard errors.
    let allowed = 1.0 + 260.0 * (0.16 / JUDGED as f64).sqrt();
    let coverage = all["coverage"].as_f64().unwrap();
    assert!((coverage - 80.0).abs() <= allowed, "{coverage} ±{allowed}");
    assert_eq!(report["is_covered"], true, "{}", report["segments"]);
}
