//! Listings and filters drawn from a seed, with values from small pools, so that filters match, miss and meet their
//! bounds.
//!
//! The leaves come from the filter tables, so none is forgotten; where a record stores the value of a leaf is
//! defined here.

use serde_json::{Map, Value, json};
use toise::contract::listings::filters::model::{FieldType, FilterLeaf, FilterModel, leaves};
use toise::contract::listings::filters::{FieldSubset, ListingKind};
use toise::engine::batch::DecodedBatch;
use toise::engine::predicate::Predicate;

use super::areas;
use super::draw::Draw;
use super::reference_listings::{constrains, start};

/// Pool of identifiers of adverts and sellers.
const IDS: [&str; 4] = [
    "019a53c0-7a55-7c40-8a11-000000000001",
    "019a53c0-7a55-7c40-8a11-000000000002",
    "019a53c0-7a55-7c40-8a11-000000000003",
    "019a53c0-7a55-7c40-8a11-000000000004",
];
const TEXTS: [&str; 4] = ["un", "deux", "", "l'été d'Ö"];
/// Centre of the grid of positions: Mende.
const CENTRE: (f64, f64) = (44.5227, 3.4984);

/// The rows of a batch that a predicate selects, in order.
pub fn selected(batch: &DecodedBatch, predicate: &Predicate) -> Vec<usize> {
    let mut rows = Vec::new();
    let selection = batch.select(predicate).unwrap();
    selection.for_each(|row| rows.push(row));
    rows
}

/// The record of a listing; each value is present with probability 2/3.
pub fn record(listing: ListingKind, number: usize, draw: &mut Draw) -> Value {
    let mut record = json!({});
    let adverts = match listing {
        ListingKind::Property => draw.below(4),
        ListingKind::Advert => 0,
    };
    if listing == ListingKind::Property {
        record["adverts"] = Value::Array(vec![json!({}); adverts]);
    }
    for leaf in leaves(listing.filter_model(), FieldSubset::Whole) {
        if let Some(inner) = leaf.path.strip_prefix("adverts[].") {
            for advert in 0..adverts {
                if draw.below(3) > 0 {
                    let value = recorded(&leaf, draw);
                    put(&mut record["adverts"][advert], &in_record(inner), value);
                }
            }
        } else if draw.below(3) > 0 {
            let path = match listing {
                ListingKind::Property => leaf.path.replace("[]", ""),
                ListingKind::Advert => in_record(&leaf.path),
            };
            put(&mut record, &path, recorded(&leaf, draw));
        }
    }
    record["flxId"] = format!("019a53c0-7a55-7c40-8a11-{number:012x}").into();
    record
}

/// The path of a leaf in an advert.
fn in_record(path: &str) -> String {
    match path {
        "source.website" => "source".into(),
        "source.url" => "url".into(),
        "source.flxId" => "flxId".into(),
        other => other.replace("[]", ""),
    }
}

fn put(record: &mut Value, path: &str, value: Value) {
    let mut place = record;
    let path = path
        .replace("land.have", "land.has")
        .replace("livingroom", "livingRoom");
    for key in path.split('.') {
        if place.is_null() {
            *place = json!({});
        }
        place = &mut place[key];
    }
    *place = value;
}

/// A value as a record contains it.
fn recorded(leaf: &FilterLeaf, draw: &mut Draw) -> Value {
    let key = leaf.path.rsplit('.').next().unwrap();
    let is_list = [
        "tags",
        "heatTypes",
        "heatTypeDetails",
        "heatings",
        "constructionMaterials",
        "glazingTypes",
        "viewOns",
        "viewTypes",
        "generalConditions",
    ]
    .contains(&key)
        || leaf.path == "habitation.type";
    if is_list {
        let count = draw.below(4);
        return (0..count).map(|_| one(leaf, draw)).collect();
    }
    match leaf.takes {
        // Counts and floors are whole; areas and amounts may be fractions.
        FieldType::Range => {
            let can_be_broken = ["value", "total", "warrantyDeposit"].contains(&key);
            let halves = draw.below(16);
            if can_be_broken {
                json!(halves as f64 / 2.0)
            } else {
                json!(halves / 2)
            }
        }
        FieldType::LatLng(_) => position(draw),
        FieldType::Point(_) => json!({"location": position(draw)}),
        _ => one(leaf, draw),
    }
}

/// A value of a leaf that is compared exactly.
fn one(leaf: &FilterLeaf, draw: &mut Draw) -> Value {
    match leaf.takes {
        FieldType::Flag => json!(draw.once_in(2)),
        FieldType::Moments | FieldType::AnyMoments => moment(draw, true).into(),
        FieldType::Year => json!(1990 + draw.below(3)),
        FieldType::OneOf(table) | FieldType::AnyOf(table) => {
            let first = &table.values[..table.values.len().min(4)];
            (*draw.one_of(first)).into()
        }
        FieldType::Text | FieldType::AnyText => (*draw.one_of(&TEXTS)).into(),
        FieldType::Code(code) | FieldType::AnyCode(code) => (*draw.one_of(codes(code.name))).into(),
        other => panic!("{other:?}"),
    }
}

fn codes(name: &str) -> &'static [&'static str] {
    match name {
        "FlxId" => &IDS,
        "Department" => &["48", "2A", "974"],
        "InseeCode" => &["48095", "2A004", "97411"],
        "IrisCode" => &["480950000", "2A0040101"],
        "PostalCode" => &["48000", "20000", "97400"],
        "Siren" => &["123456789", "987654321"],
        other => panic!("{other}"),
    }
}

/// A moment near New Year: with milliseconds in records, and also as a bare date or with an offset in filters.
fn moment(draw: &mut Draw, in_record: bool) -> String {
    let (day, millisecond) = (1 + draw.below(4), draw.below(3));
    let hour = *draw.one_of(&[0, 0, 12, 23]);
    match draw.below(if in_record { 1 } else { 4 }) {
        0 => format!("2026-01-{day:02}T{hour:02}:00:00.{millisecond:03}Z"),
        1 => format!("2026-01-{day:02}T{hour:02}:00:00.{millisecond:03}500+01:00"),
        _ => format!("2026-01-{day:02}"),
    }
}

fn position(draw: &mut Draw) -> Value {
    let (lat, lon) = degrees(draw);
    json!([lon, lat])
}

fn degrees(draw: &mut Draw) -> (f64, f64) {
    let step = |draw: &mut Draw| (draw.below(9) as f64 - 4.0) / 100.0;
    (CENTRE.0 + step(draw), CENTRE.1 + step(draw))
}

/// A filter of a model with a few of its fields, sometimes none.
pub fn filter(model: &'static FilterModel, draw: &mut Draw) -> Value {
    let mut fields = Map::new();
    let mut count = draw.below(4);
    if draw.once_in(12) {
        count += 6;
    }
    for _ in 0..count {
        let field = draw.one_of(model.fields);
        fields.insert(field.key.into(), asked(field.takes, draw));
    }
    // The name of a town alone is refused.
    if !fields
        .iter()
        .any(|(key, value)| key != "city" && constrains(value))
    {
        fields.remove("city");
    }
    Value::Object(fields)
}

/// The value of one field of a filter.
pub fn asked(takes: FieldType, draw: &mut Draw) -> Value {
    let leaf = FilterLeaf {
        path: String::new(),
        takes,
        column: String::new(),
    };
    match takes {
        FieldType::Range => range(
            draw,
            |draw| json!(draw.below(32) as f64 / 4.0),
            |value| value.as_f64(),
        ),
        FieldType::Moments => {
            let instant = |value: &Value| Some(start(value.as_str()?));
            range(draw, |draw| moment(draw, false).into(), instant)
        }
        FieldType::AnyMoments => several(draw, |draw| asked(FieldType::Moments, draw)),
        FieldType::AnyOf(_) | FieldType::AnyText | FieldType::AnyCode(_) => {
            several(draw, |draw| one(&leaf, draw))
        }
        FieldType::Model(model) => filter(model, draw),
        FieldType::AnyModel(model) | FieldType::SomeItem(model) => {
            several(draw, |draw| filter(model, draw))
        }
        FieldType::LatLng(_) => place(draw),
        FieldType::Point(_) if draw.once_in(9) => json!({}),
        FieldType::Point(_) => json!({"location": place(draw)}),
        FieldType::TownName => "Mende".into(),
        _ => one(&leaf, draw),
    }
}

fn several(draw: &mut Draw, mut one: impl FnMut(&mut Draw) -> Value) -> Value {
    let count = *draw.one_of(&[0, 1, 1, 1, 2, 2, 3]);
    (0..count).map(|_| one(draw)).collect()
}

fn range<K: PartialOrd>(
    draw: &mut Draw,
    bound: impl Fn(&mut Draw) -> Value,
    key: impl Fn(&Value) -> Option<K>,
) -> Value {
    let (first, second) = (bound(draw), bound(draw));
    match draw.below(9) {
        0 => json!({}),
        1 | 2 => json!({"min": first}),
        3 | 4 => json!({"max": first}),
        _ if key(&first) <= key(&second) => json!({"min": first, "max": second}),
        _ => json!({"min": second, "max": first}),
    }
}

fn place(draw: &mut Draw) -> Value {
    let km = *draw.one_of(&[0.001, 0.8, 2.5, 4.0, 500.0]);
    let (lat, lon) = degrees(draw);
    let step = *draw.one_of(&[0.01, 0.03]);
    match draw.below(10) {
        0 => json!({}),
        8 | 9 => json!({"area": areas::area(draw, lat, lon, step)}),
        1 | 2 => {
            let commune = *draw.one_of(&["48095", "48013", "48042"]);
            json!({"geoInseeCodeDistance": {"inseeCode": commune, "distanceKm": km}})
        }
        3 | 4 => json!({"geoBoundingBox": {"topLeft": {"lat": lat, "lon": lon},
            "bottomRight": {"lat": lat - step, "lon": lon + step}}}),
        5 => json!({"geoDistance": {"pin": {"lat": lat, "lon": lon}, "distanceKm": km},
            "geoBoundingBox": {"topLeft": {"lat": lat + step, "lon": lon - step},
                "bottomRight": {"lat": lat, "lon": lon}}}),
        _ => json!({"geoDistance": {"pin": {"lat": lat, "lon": lon}, "distanceKm": km}}),
    }
}
