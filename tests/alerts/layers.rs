//! Alerts on layers: they match what is in the layer as it is now, and nothing while it is missing.

use serde_json::{Value, json};
use toise::alerts::overview;
use toise::alerts::registry::AlertRef;
use toise::contract::listings::filters::ListingKind;
use toise::layers::folder;
use toise::opendata::Dataset;

use super::open_data::Desk;
use crate::support::alerts::{AlertFixture, flat, with};
use crate::support::draw::Draw;
use crate::support::layers::{self, Drawn};
use crate::support::rows::{self, Record, id_of};

const CREATED: &[&str] = &["ALERT_MATCH_CREATED"];

/// A square of 0.02 degrees around a position.
fn square(lat: f64, lon: f64) -> Value {
    let ring = [
        [lon - 0.01, lat - 0.01],
        [lon + 0.01, lat - 0.01],
        [lon + 0.01, lat + 0.01],
        [lon - 0.01, lat + 0.01],
        [lon - 0.01, lat - 0.01],
    ];
    json!({"type": "Polygon", "coordinates": [ring]})
}

fn on_layer(layer: Value) -> Value {
    json!({"location": [{"locationCoordinate": {"location": {"layer": layer}}}]})
}

/// An advert at a position of its own.
fn at(number: u64, lat: f64, lon: f64) -> Value {
    let mut advert = flat("a", number, number);
    advert["location"]["locationCoordinate"] = json!({"location": [lon, lat]});
    advert
}

fn count(fixture: &AlertFixture, alert: AlertRef) -> usize {
    fixture.notifications(alert).len()
}

fn unmatched(fixture: &AlertFixture, alert: AlertRef) -> Option<String> {
    let layers = fixture.listings.layers();
    let shown = overview::show(&fixture.store, alert.id, layers).unwrap();
    shown.unwrap().unmatched_because
}

#[test]
fn alerts_on_listings_follow_a_layer_through_replacement_and_removal() {
    let fixture = AlertFixture::open();
    let data = fixture.folder.path();
    let (here, there) = ((45.75, 4.85), (45.85, 4.95));
    layers::store(data, "flood", &[square(here.0, here.1)]);
    let kinds = [ListingKind::Property, ListingKind::Advert];
    let alerts =
        |layer: Value| kinds.map(|kind| fixture.alert(kind, &on_layer_of(kind, &layer), CREATED));
    let inside = alerts(json!({"name": "flood"}));
    let outside = alerts(json!({"name": "flood", "relation": "outside"}));
    let near = alerts(json!({"name": "flood", "relation": "within", "meters": 500}));
    let counts = || [&inside, &outside, &near].map(|of| of.map(|alert| count(&fixture, alert)));

    fixture.take_one(at(1, here.0, here.1));
    assert_eq!(counts(), [[1, 1], [0, 0], [1, 1]]);
    // 0.004 degrees of latitude north of the border are 445 m.
    fixture.take_one(at(2, here.0 + 0.014, here.1));
    assert_eq!(counts(), [[1, 1], [1, 1], [2, 2]]);
    fixture.take_one(at(3, there.0, there.1));
    assert_eq!(counts(), [[1, 1], [2, 2], [2, 2]]);

    // The layer is somewhere else now.
    layers::store(data, "flood", &[square(there.0, there.1)]);
    fixture.take_one(at(4, there.0 + 0.001, there.1));
    assert_eq!(counts(), [[2, 2], [2, 2], [3, 3]]);
    fixture.take_one(at(5, here.0 + 0.001, here.1));
    assert_eq!(counts(), [[2, 2], [3, 3], [3, 3]]);
    assert_eq!(unmatched(&fixture, inside[0]), None);

    // Without the layer nothing matches, outside included.
    folder::remove(data, &"flood".parse().unwrap()).unwrap();
    fixture.take_one(at(6, there.0 + 0.002, there.1));
    fixture.take_one(at(7, here.0 + 0.002, here.1));
    assert_eq!(counts(), [[2, 2], [3, 3], [3, 3]]);
    for alert in [inside, outside, near].into_iter().flatten() {
        let reason = unmatched(&fixture, alert).unwrap();
        assert!(
            reason.starts_with("no layer \"flood\"")
                && reason.contains("when the layer is imported"),
            "{reason}"
        );
    }

    layers::store(data, "flood", &[square(here.0, here.1)]);
    fixture.take_one(at(8, here.0 + 0.003, here.1));
    assert_eq!(counts(), [[3, 3], [3, 3], [4, 4]]);
    assert_eq!(unmatched(&fixture, outside[1]), None);

    // A layer without polygons has no inside and no outside.
    let station = json!({"type": "Point", "coordinates": [there.1, there.0]});
    layers::store(data, "flood", &[station]);
    fixture.take_one(at(9, there.0 + 0.003, there.1));
    assert_eq!(counts(), [[3, 3], [3, 3], [5, 5]]);
    let reason = unmatched(&fixture, inside[0]).unwrap();
    assert!(reason.contains("has no polygons"), "{reason}");
    assert_eq!(unmatched(&fixture, near[0]), None);
}

/// The filter on a layer of properties, or of adverts, whose place is not a list.
fn on_layer_of(kind: ListingKind, layer: &Value) -> Value {
    let filter = on_layer(layer.clone());
    match kind {
        ListingKind::Property => filter,
        ListingKind::Advert => with(filter.clone(), json!({"location": filter["location"][0]})),
    }
}

#[test]
fn a_missing_layer_silences_alternatives_too() {
    let fixture = AlertFixture::open();
    let data = fixture.folder.path();
    layers::store(data, "flood", &[square(45.75, 4.85)]);
    let mut filter = on_layer(json!({"name": "flood"}));
    let places = filter["location"].as_array_mut().unwrap();
    places.push(json!({"postalCode": "69003"}));
    let alert = fixture.alert(ListingKind::Property, &filter, CREATED);
    fixture.take_one(flat("b", 1, 1));
    assert_eq!(count(&fixture, alert), 1);
    folder::remove(data, &"flood".parse().unwrap()).unwrap();
    fixture.take_one(flat("b", 2, 2));
    assert_eq!(count(&fixture, alert), 1);
}

#[test]
fn alerts_on_open_data_match_what_geo_finds_in_the_layer_of_the_moment() {
    for dataset in [Dataset::Dvf, Dataset::Dpe] {
        let mut draw = Draw::new(77);
        let desk = Desk::new();
        let data = desk.fixture.folder.path().to_owned();
        let mut last = 0;
        let first = rows::records(dataset, 0, 200, &mut draw);
        let positions: Vec<(f64, f64)> = first.iter().filter_map(position).collect();
        rows::import(&desk.lake, dataset, &first, Vec::new());
        desk.wait(dataset);
        let mut made = 200;
        let drawn = layers::geometries(&mut draw, &positions, 0.03);
        layers::store(&data, "drawn", &drawn);
        let filters: Vec<Value> = (0..8).map(|_| layers::filter(&mut draw, "drawn")).collect();
        let alerts: Vec<AlertRef> = filters
            .iter()
            .map(|filter| desk.alert(dataset, &json!({ "layer": filter }), CREATED))
            .collect();
        for round in 0..4 {
            let drawn = layers::geometries(&mut draw, &positions, 0.03);
            let judge = Drawn::new(&drawn);
            if round == 3 {
                folder::remove(&data, &"drawn".parse().unwrap()).unwrap();
            } else {
                layers::store(&data, "drawn", &drawn);
            }
            let more = rows::records(dataset, made, 150, &mut draw);
            made += more.len();
            rows::import(&desk.lake, dataset, &more, Vec::new());
            desk.wait(dataset);
            let told = desk.told(dataset, &mut last);
            for (alert, filter) in alerts.iter().zip(&filters) {
                let holds = |record: &&Record| {
                    let place = position(record);
                    round < 3
                        && place
                            .is_some_and(|(lat, lon)| judge.holds(filter, lat, lon) == Some(true))
                };
                let mut expected: Vec<(String, String)> = more
                    .iter()
                    .filter(holds)
                    .map(|record| ("created".to_owned(), id_of(dataset, record).to_owned()))
                    .collect();
                expected.sort();
                let told = told.get(&desk.number(*alert)).cloned().unwrap_or_default();
                assert_eq!(told, expected, "round {round}: {filter}");
            }
        }
    }
}

fn position(record: &Record) -> Option<(f64, f64)> {
    let place = record.get("location")?;
    Some((place["lat"].as_f64()?, place["lon"].as_f64()?))
}
