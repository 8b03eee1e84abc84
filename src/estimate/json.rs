//! Writes parts of an estimate as JSON, identically in HTTP responses and portfolio columns.

use serde_json::{Map, Number, Value, json};

use super::{Comparable, Contribution};

/// Whole numbers below this are exact in a double.
const WHOLE_MAX: f64 = 9e15;

/// Whole euros as a JSON integer.
pub fn euros(eur: f64) -> Value {
    Value::Number(Number::from(eur as i64))
}

/// A JSON number, written without a fraction if it is whole.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < WHOLE_MAX {
        Value::Number(Number::from(value as i64))
    } else {
        json!(value)
    }
}

/// Recorded sales, best first: `[{id, date, price, surface, distance_m}]`.
pub fn comparables(sales: &[Comparable]) -> Value {
    let shown = sales.iter().map(|sale| {
        json!({
            "id": sale.id,
            "date": format!("{}T00:00:00.000Z", sale.date),
            "price": number(sale.price),
            "surface": number(sale.surface_m2),
            "distance_m": sale.distance_m.round() as i64,
        })
    });
    Value::Array(shown.collect())
}

/// Contributions to the price: `{feature: EUR}`.
pub fn contributions(parts: &[Contribution]) -> Value {
    let shown = parts
        .iter()
        .map(|part| (part.feature.to_owned(), euros(part.eur)));
    Value::Object(shown.collect::<Map<_, _>>())
}
