//! Decides whether a value found on a page agrees with the value that a person read on it. They must be equal, except
//! for areas, positions, names of towns and titles, where small differences are tolerated.

use std::collections::HashSet;

use serde_json::Value;

use toise_geo::distance::planar_distance_m;
use toise_page::french::tokens::phrase;

/// Tolerated difference of areas, square metres: pages give the same area with and without decimals.
const AREA_TOLERANCE_M2: f64 = 1.0;
/// Tolerated difference of areas as a share of the area, for areas converted from other units.
const AREA_TOLERANCE_SHARE: f64 = 0.01;
/// Tolerated distance of positions, metres.
const POSITION_TOLERANCE_M: f64 = 100.0;
/// Minimum share of the words of the shorter title that the longer one must have.
const TITLE_SHARE_MIN: f64 = 0.6;

/// Returns whether a found value agrees with the true one.
pub fn agree(field: &str, truth: &Value, found: &Value) -> bool {
    match field {
        "habitation.surface.total" | "land.surface" => both(truth, found, |truth, found| {
            (truth - found).abs() <= AREA_TOLERANCE_M2.max(truth * AREA_TOLERANCE_SHARE)
        }),
        "location.locationCoordinate.location" => same_place(truth, found),
        "location.city" => same_town(truth, found),
        "title" => same_title(truth, found),
        _ => truth == found || both(truth, found, |truth, found| truth == found),
    }
}

fn both(truth: &Value, found: &Value, compare: impl Fn(f64, f64) -> bool) -> bool {
    let numbers = truth.as_f64().zip(found.as_f64());
    numbers.is_some_and(|(truth, found)| compare(truth, found))
}

fn same_place(truth: &Value, found: &Value) -> bool {
    let point = |value: &Value| Some((value.get(1)?.as_f64()?, value.get(0)?.as_f64()?));
    let points = point(truth).zip(point(found));
    points.is_some_and(|(truth, found)| {
        planar_distance_m(truth.0, truth.1, found.0, found.1) <= POSITION_TOLERANCE_M
    })
}

/// Returns whether one name starts with the words of the other: `Paris` and `Paris 11e Arrondissement`, or `Rivonia`
/// and `Rivonia, Sandton`.
fn same_town(truth: &Value, found: &Value) -> bool {
    let (truth, found) = (words(truth), words(found));
    let length = truth.len().min(found.len());
    length > 0 && truth[..length] == found[..length]
}

fn same_title(truth: &Value, found: &Value) -> bool {
    let set = |value: &Value| words(value).into_iter().collect::<HashSet<String>>();
    let (truth, found) = (set(truth), set(found));
    let shorter = truth.len().min(found.len());
    let common = truth.intersection(&found).count();
    shorter > 0 && common as f64 >= TITLE_SHARE_MIN * shorter as f64
}

/// Returns the words and numbers of a text, without case and accents.
fn words(value: &Value) -> Vec<String> {
    let phrase = phrase(value.as_str().unwrap_or_default());
    phrase.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_agree_within_what_pages_leave_open() {
        const CITY: &str = "location.city";
        let titles = json!(["Appartement 3 pièces", "Vente appartement 3 pièces Lyon"]);
        let place = "location.locationCoordinate.location";
        for (expected, field, values) in [
            (true, "currentPrice.value", json!([350_000, 350_000.0])),
            (false, "currentPrice.value", json!([350_000, 350_001])),
            (true, "habitation.surface.total", json!([61.5, 62])),
            (false, "habitation.surface.total", json!([61.5, 59])),
            (true, "land.surface", json!([5_000, 5_040])),
            (true, CITY, json!(["Saint-Étienne", "saint etienne"])),
            (true, CITY, json!(["Paris", "Paris 11e Arrondissement"])),
            (false, CITY, json!(["Paris", "Lyon"])),
            (true, "title", titles),
            (false, "title", json!(["Maison 3 pièces", "Nos annonces"])),
            (false, "offer.type", json!(["OFFER_BUY", "OFFER_RENT"])),
            (true, place, json!([[2.35, 48.85], [2.3505, 48.8501]])),
            (false, place, json!([[2.35, 48.85], [48.85, 2.35]])),
        ] {
            let agree = agree(field, &values[0], &values[1]);
            assert_eq!(agree, expected, "{field} {values}");
        }
    }
}
