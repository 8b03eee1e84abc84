//! Tiles through the socket: every property with a position is on exactly the tiles that show its place.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};
use toise::geo::communes::today_of_code;
use toise::tiles::mercator::TileId;

use super::searches::{all, shown, taken};
use crate::support::assertions::texts_of;
use crate::support::mvt::{gathered, point_ids, values};
use crate::support::{Service, error_of};

const TILES: &str = "/v2/protected/tiles";

async fn tile(service: &Service, id: TileId, query: &str) -> Vec<u8> {
    tile_of(service, "properties", id, query).await
}

async fn tile_of(service: &Service, set: &str, id: TileId, query: &str) -> Vec<u8> {
    service.clock.advance_ms(20);
    let path = format!("{TILES}/{set}/{}/{}/{}{query}", id.z, id.x, id.y);
    let response = service.get(&path).await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(
        response.headers()["content-type"],
        "application/vnd.mapbox-vector-tile"
    );
    response.bytes().await.unwrap().to_vec()
}

#[tokio::test]
async fn points_are_the_properties_that_searches_find() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    let mut expected: BTreeMap<(u32, u32), BTreeSet<String>> = BTreeMap::new();
    let mut is_flat = BTreeMap::new();
    for record in all(&service).await {
        let Some(place) = record.pointer("/location/locationCoordinate/location") else {
            continue;
        };
        let (lon, lat) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        let (x, y) = TileId { z: 14, x: 0, y: 0 }.world(lat, lon);
        let id = record["flxId"].as_str().unwrap().to_owned();
        is_flat.insert(id.clone(), record["type"] == "CLASS_FLAT");
        expected.entry((x as u32, y as u32)).or_default().insert(id);
    }
    assert!(expected.len() > 20);
    let only_flats = json!({"filterProperty": {"type": ["CLASS_FLAT"]}}).to_string();
    let only_flats: String = url::form_urlencoded::byte_serialize(only_flats.as_bytes()).collect();
    for ((x, y), ids) in expected.iter().take(40) {
        let id = TileId {
            z: 14,
            x: *x,
            y: *y,
        };
        let found = point_ids(&tile(&service, id, "").await);
        assert_eq!(&found, ids);
        let query = format!("?filters={only_flats}&version=1");
        let found = values(&tile(&service, id, &query).await, "points", "id");
        assert_eq!(found.len(), ids.iter().filter(|id| is_flat[*id]).count());
    }
    // One tile shows the world: its hexagons count everything.
    let world = tile(&service, TileId { z: 0, x: 0, y: 0 }, "").await;
    let placed: usize = expected.values().map(BTreeSet::len).sum();
    assert_eq!(gathered(&world), placed);
}

#[tokio::test]
async fn areas_count_what_searches_find_in_departments_and_communes() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    let mut coded = 0;
    for record in all(&service).await {
        let code = record
            .pointer("/location/inseeCode")
            .and_then(Value::as_str);
        let commune = code.and_then(today_of_code);
        if let Some(commune) = commune {
            *expected.entry(commune.department.to_owned()).or_default() += 1;
            coded += 1;
        }
    }
    assert!(coded > 150, "{coded}");
    let world = TileId { z: 0, x: 0, y: 0 };
    let tile = tile(&service, world, "?by=areas").await;
    assert!(values(&tile, "hexagons", "count").is_empty());
    let codes = values(&tile, "areas", "code");
    let counts = values(&tile, "areas", "count");
    let counted: BTreeMap<String, u64> = codes
        .into_iter()
        .zip(counts.iter().map(|count| count.parse().unwrap()))
        .collect();
    // The smallest departments are not visible at this zoom.
    let small = expected
        .iter()
        .filter(|(code, _)| !counted.contains_key(*code))
        .count();
    assert!(small <= 8, "{expected:?} {counted:?}");
    for (code, count) in &counted {
        assert_eq!(expected.get(code), Some(count), "{code}");
    }
}

#[tokio::test]
async fn outlines_are_a_tile_set_of_their_own() {
    let service = Service::start().await;
    let set = service.get(&format!("{TILES}/outlines")).await;
    let set: Value = set.json().await.unwrap();
    let layers = texts_of(&set["vector_layers"], "id");
    assert_eq!(layers, ["departments", "communes", "labels"]);
    assert!(
        set["tiles"][0]
            .as_str()
            .unwrap()
            .contains("outlines/{z}/{x}/{y}?version=")
    );
    let id = TileId {
        z: 9,
        x: 259,
        y: 176,
    };
    let paris = tile_of(&service, "outlines", id, "?version=1").await;
    assert!(values(&paris, "departments", "name").contains(&"Paris".to_owned()));
    assert!(values(&paris, "communes", "name").contains(&"Montreuil".to_owned()));
    assert!(values(&paris, "labels", "name").contains(&"Montreuil".to_owned()));
    let path = format!("{TILES}/outlines/9/259/176?filters=%7B%7D");
    let refused = service.get(&path).await;
    assert_eq!(error_of(refused).await.0, 422);
}

#[tokio::test]
async fn the_tile_set_leads_to_tiles_and_faults_are_named() {
    let service = Service::start().await;
    let get = |path: String| {
        service.clock.advance_ms(20);
        let request = service.keyed(Method::GET, &path, &service.key);
        request.send()
    };
    let set: Value = get(format!("{TILES}/properties"))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(set["tilejson"], "3.0.0");
    let path = set["tiles"][0].as_str().unwrap();
    let path = path
        .replace("{z}", "5")
        .replace("{x}", "16")
        .replace("{y}", "11");
    let response = get(path).await.unwrap();
    assert_eq!(response.status(), 200);
    let cache = response.headers()["cache-control"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(cache.contains("immutable"), "{cache}");
    for (path, expected) in [
        ("nothing", 404),
        ("properties/3/8/0", 404),
        ("properties/19/0/0", 404),
        ("properties/1/0/zero", 404),
        ("properties/1/0/0?colour=red", 422),
        ("properties/1/0/0?by=streets", 422),
        ("properties/1/0/0?version=new", 422),
        ("properties/1/0/0?filters=%7B", 400),
        ("properties/1/0/0?filters=%7B%22a%22:1%7D", 422),
    ] {
        let (status, _, message) = error_of(get(format!("{TILES}/{path}")).await.unwrap()).await;
        assert_eq!(status, expected, "{path}: {message}");
    }
}
