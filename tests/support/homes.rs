//! Homes to value, as request bodies and as rows of a portfolio.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use chrono::NaiveDate;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toise::base::clock::Clock;
use toise::base::progress::Progress;
use toise::cli::Common;
use toise::cli::train::train_lake;
use toise::contract::fields::FieldKind;
use toise::estimate::request::fields::{FIELDS, HomeInput, columns};
use toise::estimate::store;
use toise::opendata::Dataset;
use toise::synth::{SynthRequest, lake::generate_into_lake};

use super::draw::Draw;

/// The longitude and latitude of a street in Paris.
pub const IN_PARIS: [f64; 2] = [2.3795, 48.8631];

/// Number of sales that test models are trained on.
const SALES: u64 = 2_000;

/// A folder shared by the tests running at the same time: training takes seconds in an unoptimised build.
static SHARED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());

/// A read-only data folder with synthetic sales and a model trained on them.
pub fn trained() -> Arc<TempDir> {
    let mut shared = SHARED.lock().unwrap();
    let folder = shared.upgrade().unwrap_or_else(|| {
        let folder = lake_of(SALES, 1);
        train(folder.path(), None, folder.path());
        Arc::new(folder)
    });
    *shared = Arc::downgrade(&folder);
    folder
}

/// A data folder with invented sales.
pub fn lake_of(sales: u64, seed: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let request = SynthRequest {
        dataset: Dataset::Dvf,
        items: sales,
        seed,
        full_width: false,
    };
    generate_into_lake(folder.path(), request, Progress::silent()).unwrap();
    folder
}

/// Trains a model on the sales of a data folder until a day, all of them without one, and saves it in a folder.
pub fn train(lake: &Path, until: Option<NaiveDate>, folder: &Path) {
    let common = Common {
        data: lake.to_owned(),
        config: None,
        json: true,
    };
    let (model, _) = train_lake(&common, until, &Clock::system()).unwrap();
    model.save(&folder.join(store::FOLDER)).unwrap();
}

/// A body with the required fields.
pub fn body(position: [f64; 2], class: &str, surface_m2: f64) -> Value {
    json!({
        "location": {"locationCoordinate": {"location": position}},
        "habitation": {"surface": {"total": surface_m2}, "roomCount": 3, "bedroomCount": 2},
        "type": class,
        "offer": {"type": "OFFER_BUY"},
    })
}

/// A home with a random part of all possible fields, by column name and contract value. Over HTTP a home is always
/// valued today, so the valuation date is never set.
pub fn drawn(draw: &mut Draw) -> Map<String, Value> {
    let mut home = Map::new();
    for field in columns() {
        if field.input == HomeInput::Date || !field.field.is_required && draw.once_in(2) {
            continue;
        }
        let tenth = |draw: &mut Draw, from: usize, to: usize| {
            (10 * from + draw.below(10 * (to - from))) as f64 / 10.0
        };
        let value = match (field.input, field.field.kind) {
            (HomeInput::Longitude, _) => json!(2.0 + draw.below(39_000) as f64 / 10_000.0),
            (HomeInput::Latitude, _) => json!(44.0 + draw.below(45_000) as f64 / 10_000.0),
            (HomeInput::Surface, _) => json!(tenth(draw, 9, 300)),
            (HomeInput::Rooms, _) => json!(3 + draw.below(4)),
            (HomeInput::Floors, _) => json!(5 + draw.below(4)),
            (HomeInput::Year, _) => json!(1850 + draw.below(170)),
            (_, FieldKind::Between(..)) => json!(tenth(draw, 0, 3_000)),
            (_, FieldKind::Integer(..)) => json!(draw.below(4)),
            (_, FieldKind::Flag) => json!(draw.once_in(2)),
            (_, FieldKind::OneOf(words)) => json!(draw.one_of(words)),
            (_, FieldKind::List(of)) => match of.item {
                FieldKind::OneOf(words) => json!(draw.one_of(words)),
                other => panic!("{other:?} is not a field of homes"),
            },
            _ => continue,
        };
        home.insert(field.column.to_owned(), value);
    }
    home
}

/// The request body equivalent to a row.
pub fn body_of(row: &Map<String, Value>) -> Value {
    let position = json!([row["longitude"], row["latitude"]]);
    let mut body = json!({
        "location": {"locationCoordinate": {"location": position}},
        "offer": {"type": "OFFER_BUY"},
    });
    for field in FIELDS.iter().skip(2) {
        let Some(value) = row.get(field.column) else {
            continue;
        };
        let mut here = &mut body;
        for key in field.path {
            here = &mut here[*key];
        }
        *here = match field.field.kind {
            FieldKind::List(_) => json!([value]),
            _ => value.clone(),
        };
    }
    body
}

/// A cell of a CSV file.
pub fn cell(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
