//! Random filters of open data, with values of records so that edges are met.

use serde_json::{Value, json};
use toise::contract::fields::FieldKind;
use toise::opendata::Dataset;
use toise::opendata::request::bodies::bodies;

use super::areas;
use super::draw::Draw;
use super::reference;
use super::rows::{self, Record};

/// `filters` of a search body: one to three fields of any kind, values mostly taken from records so that edges are met.
pub fn filters(dataset: Dataset, records: &[Record], draw: &mut Draw) -> Value {
    let mut filters = serde_json::Map::new();
    for _ in 0..draw.below(4) {
        let field = draw.one_of(bodies(dataset).search_filters);
        let mut met = || {
            let record = draw.one_of(records);
            record.get(field.name).cloned()
        };
        let (first, second) = (met(), met());
        let filter = match field.kind {
            FieldKind::Text | FieldKind::OneOf(_) => first.unwrap_or("nowhere".into()),
            FieldKind::Code(code) => first.unwrap_or_else(|| rows::place_code(code, draw).into()),
            FieldKind::AnyOf(values) => {
                let count = draw.below(values.len() + 1);
                (0..count)
                    .map(|_| Value::from(*draw.one_of(values)))
                    .collect()
            }
            FieldKind::List(of) => {
                let known = [first, second].into_iter().flatten();
                let mut items: Vec<Value> = known
                    .flat_map(|value| match value {
                        Value::Array(items) => items,
                        item => vec![item],
                    })
                    .collect();
                items.push(rows::item(of, draw));
                draw.shuffle(&mut items);
                items.truncate(draw.below(4));
                items.into()
            }
            FieldKind::Flag => draw.once_in(2).into(),
            FieldKind::Range => range(first, second, draw),
            FieldKind::Dates => dates(first, second, draw),
            FieldKind::Place => place(first, draw),
            FieldKind::Area => {
                let (lat, lon) = rows::position(draw);
                let radius = *draw.one_of(&[0.01, 0.05, 2.0]);
                areas::area(draw, lat, lon, radius)
            }
            // Layers are compared in `engine::layers`.
            FieldKind::Layer => continue,
            other => panic!("{other:?} is no filter"),
        };
        filters.insert(field.name.into(), filter);
    }
    Value::Object(filters)
}

fn range(first: Option<Value>, second: Option<Value>, draw: &mut Draw) -> Value {
    let shift = *draw.one_of(&[0.0, 0.0, 0.5, -0.25, 1e-9]);
    let number =
        |value: Option<Value>| value.and_then(|value| value.as_f64()).unwrap_or(3.0) + shift;
    let (first, second) = (number(first), number(second));
    let (least, greatest) = (first.min(second), first.max(second));
    match draw.below(4) {
        0 => json!({"min": least}),
        1 => json!({"max": greatest}),
        2 => json!({"min": first, "max": first}),
        _ => json!({"min": least, "max": greatest}),
    }
}

fn dates(first: Option<Value>, second: Option<Value>, draw: &mut Draw) -> Value {
    let day = |value: Option<Value>| {
        value.map_or("2021-06-01".to_owned(), |value| {
            value.as_str().unwrap()[..10].to_owned()
        })
    };
    let (first, second) = (day(first), day(second));
    let (from, to) = (first.clone().min(second.clone()), first.max(second));
    let mut at = |day: String, last: bool| match draw.below(5) {
        0 => format!("{day}T00:00:00Z"),
        1 if last => format!("{day}T23:59:59.999+00:00"),
        1 => format!("{day}T00:00:01-01:00"),
        2 if last => format!("{day}T00:30:00+02:00"),
        _ => day,
    };
    match (at(from.clone(), false), at(to.clone(), true)) {
        // At least one day apart, so that the range is not reversed after the additions.
        (from_at, to_at) if from < to => json!({"from": from_at, "to": to_at}),
        (from_at, _) if from.ends_with('1') => json!({"from": from_at}),
        (_, to_at) => json!({"to": to_at}),
    }
}

fn place(first: Option<Value>, draw: &mut Draw) -> Value {
    let (lat, lon) = rows::position(draw);
    let (lat, lon) = (json!(lat), json!(lon));
    let distance = match (first, draw.below(3)) {
        // The boundary itself is inside.
        (Some(place), 0) if reference::distance_m(&lat, &lon, &place) > 0.0 => {
            format!("{}m", reference::distance_m(&lat, &lon, &place))
        }
        (_, 1) => format!("{}km", 1 + draw.below(12)),
        _ => (*draw.one_of(&["2500m", "1.5mi", "9000ft", "4e3yd", "3nmi", "1m", "3000km"])).into(),
    };
    json!({"lat": lat, "lon": lon, "distance": distance})
}
