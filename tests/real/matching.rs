//! The reliability of matches with HIGH confidence on official sales: queries with every kind of error, judged as by
//! `toise-lab match`.

use serde_json::Value;
use toise::engine::Budget;
use toise::opendata::{Dataset, OpenData};
use toise_lab::matching::{self, EvaluationOptions};

use super::open_data::{folder, text};
use crate::support::process::run;

/// Minimum share of HIGH matches that are correct.
const RIGHT: f64 = 0.95;
/// Minimum number of matches of a level for its share to be checked.
const TELLING: u64 = 20;

#[test]
fn a_match_of_high_confidence_is_right_however_wrong_the_price_is() {
    let Some(real) = folder() else { return };
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    run(data, &["import", "dvf", text(&real.join("dvf/*.csv*"))]);
    let open_data = OpenData::open(data, Budget::default()).unwrap();
    let options = EvaluationOptions {
        dataset: Dataset::Dvf,
        sample: 600,
        seed: 11,
    };
    let report = serde_json::to_value(matching::run(&open_data, options).unwrap()).unwrap();
    let levels = report["levels"].as_array().unwrap();
    let named = |name: &str| levels.iter().any(|level| level["level"] == name);
    assert!(named("price-10") && named("price-20"), "{levels:#?}");
    let (mut all, mut right) = (0, 0);
    for level in levels {
        let high = |part: &str| level["high"][part].as_u64().unwrap();
        let name = &level["level"];
        println!("{name}: {} of {} right", high("right"), high("count"));
        all += high("count");
        right += high("right");
        let share = high("right") as f64 / high("count") as f64;
        assert!(high("count") < TELLING || share >= RIGHT, "{name}: {share}");
    }
    assert!(right as f64 >= RIGHT * all as f64, "{right} of {all}");
    // With an exact price and a month, most sales can be distinguished.
    let dated = levels.iter().find(|level| level["level"] == "dated");
    let certain = dated.map(|level| &level["high"]["count"]);
    assert!(certain.and_then(Value::as_u64) > Some(150), "{certain:?}");
}
