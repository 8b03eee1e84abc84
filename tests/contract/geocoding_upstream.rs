//! Geocoding with an upstream service, which is simulated by a portal on loopback.

use serde_json::{Value, json};
use toise::geocode::settings::{GeocodingSettings, UpstreamMode};
use toise::geocode::upstream::Upstream;

use crate::support::assertions::assert_begins;
use crate::support::portal::{Act, Portal};
use crate::support::{Service, error_of};

const SEARCH: &str = "/geocoding/search?q=12+rue+Droite+48000+Mende&type=housenumber";
/// The request to the upstream service.
const ASKED: &str = "/search?q=12+rue+droite+48000+mende&limit=10&autocomplete=1&type=housenumber";

async fn service(portal: &Portal, mode: UpstreamMode) -> Service {
    let settings = GeocodingSettings {
        upstream: portal.url("/"),
        upstream_mode: mode,
        upstream_rate_per_s: 1_000,
        ..GeocodingSettings::default()
    };
    Service::start_changed(move |app| {
        let (store, clock) = (app.store.clone(), app.clock.clone());
        let upstream = Upstream::new(&settings, store, clock).unwrap().unwrap();
        app.data.geocoding = app.data.geocoding.clone().with_upstream(upstream);
    })
    .await
}

async fn features(service: &Service, path: &str) -> Vec<Value> {
    let answer = service.get(path).await;
    assert_eq!(answer.status(), 200);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["type"], "FeatureCollection");
    body["features"].as_array().unwrap().clone()
}

fn rue_droite() -> Act {
    let body = json!({"type": "FeatureCollection", "features": [{
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [3.4995, 44.5183]},
        "properties": {
            "label": "12 Rue Droite 48000 Mende", "score": 0.96, "housenumber": "12", "id": "48095_0200_00012",
            "name": "12 Rue Droite", "postcode": "48000", "citycode": "48095", "city": "Mende",
            "context": "48, Lozère, Occitanie", "type": "housenumber", "importance": 0.5, "street": "Rue Droite"
        }
    }]});
    Act::Body("application/json", body.to_string().into_bytes())
}

#[tokio::test]
async fn a_fallback_is_asked_only_for_what_the_index_does_not_hold() {
    let portal = Portal::start().await;
    portal.set(ASKED, rue_droite());
    let service = service(&portal, UpstreamMode::Fallback).await;
    let town = features(&service, "/geocoding/search?q=Mende&type=municipality").await;
    assert_eq!(town[0]["properties"]["source"], "ban");
    for _ in 0..2 {
        let found = features(&service, SEARCH).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["properties"]["source"], "upstream");
        assert_eq!(found[0]["properties"]["confidence"], "HIGH");
        assert_eq!(found[0]["properties"]["score"], 0.96);
    }
    assert_eq!(portal.asked(ASKED), 1, "then it is kept");
    // If the service fails, the answer of the index is returned.
    let missing = "/geocoding/search?q=3+rue+Basse+48000+Mende&type=housenumber";
    assert!(features(&service, missing).await.is_empty());
    // The index knows only the commune here; the upstream address is better.
    let path = "/reverse?lat=44.518300&lon=3.499500&limit=1";
    portal.set(path, rue_droite());
    let near = features(&service, "/geocoding/reverse?lat=44.5183&lon=3.4995").await;
    assert_eq!(near[0]["properties"]["distance"], 0);
    assert_eq!(near[0]["properties"]["source"], "upstream");
    let other = features(&service, "/geocoding/reverse?lat=44.5&lon=3.5").await;
    assert_eq!(other[0]["properties"]["source"], "ban");
}

#[tokio::test]
async fn requests_of_a_batch_are_asked_in_their_places() {
    let portal = Portal::start().await;
    portal.set(ASKED, rue_droite());
    let service = service(&portal, UpstreamMode::Fallback).await;
    let body = json!({"requests": [
        {"operation": "search", "q": "12 rue Droite 48000 Mende", "type": "housenumber"},
        {"operation": "search", "q": "Mende", "type": "municipality"},
        {"operation": "search", "q": "?"},
        {"operation": "search", "q": "12 RUE DROITE 48000 Mende", "type": "housenumber"},
    ]});
    let answer = service.post("/geocoding/batch", body.to_string()).await;
    let answers: Value = answer.json().await.unwrap();
    let source = |at: usize| &answers["data"][at]["features"][0]["properties"]["source"];
    assert_eq!(source(0), "upstream");
    assert_eq!(source(1), "ban");
    assert_eq!(answers["data"][2]["error"]["code"], 10002);
    assert_eq!(source(3), "upstream");
    assert_eq!(portal.asked(ASKED), 1);
}

#[tokio::test]
async fn an_only_source_that_fails_is_told() {
    let portal = Portal::start().await;
    portal.set(ASKED, rue_droite());
    let service = service(&portal, UpstreamMode::Only).await;
    let found = features(&service, SEARCH).await;
    assert_eq!(found[0]["properties"]["source"], "upstream");
    let path = "/search?q=mende&limit=10&autocomplete=1";
    portal.set(path, Act::Status(429, "retry-after: 30\r\n"));
    let failed = service.get("/geocoding/search?q=Mende").await;
    assert_eq!(failed.headers()["retry-after"], "30");
    let (status, code, message) = error_of(failed).await;
    assert_eq!((status, code), (503, 10000));
    assert_begins(&message, "the upstream geocoding service does not respond");
    // Cached answers are still returned.
    let body = json!({"requests": [
        {"operation": "search", "q": "12 rue Droite 48000 Mende", "type": "housenumber"},
        {"operation": "search", "q": "Mende"},
    ]});
    let answer = service.post("/geocoding/batch", body.to_string()).await;
    let answers: Value = answer.json().await.unwrap();
    assert_eq!(
        answers["data"][0]["features"][0]["properties"]["id"],
        "48095_0200_00012"
    );
    assert_eq!(answers["data"][1]["error"]["code"], 10000);
    assert_eq!(portal.asked(path), 1);
}
