//! Filters on layers through the socket: they find what the polygon of the layer finds, a layer that does not exist is
//! refused with its path, and an alert says that its layer is missing.

use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;
use toise::layers::folder;

use super::alerts::CREATED;
use super::areas::south;
use super::searches::{shown, taken};
use crate::support::alerts::body;
use crate::support::assertions::assert_begins;
use crate::support::{Service, error_of, layers};

async fn data(service: &Service, method: Method, path: &str, body: &Value) -> Value {
    service.clock.advance_ms(20);
    let path = format!("/v2/protected/{path}");
    service.data(method, &path, body).await
}

async fn refused(service: &Service, method: Method, path: &str, body: &Value) -> String {
    service.clock.advance_ms(20);
    let response = service
        .call(method, &format!("/v2/protected/{path}"), body)
        .await;
    let (status, _, message) = error_of(response).await;
    assert_eq!(status, 422, "{path}: {message}");
    message
}

fn place(filter: &Value) -> Value {
    json!({"location": [{"locationCoordinate": {"location": filter}}]})
}

fn search(filter: &Value) -> Value {
    json!({"search": {"filterProperty": place(filter)}})
}

async fn count(service: &Service, filter: &Value) -> u64 {
    let path = "properties/search/count";
    let counted = data(service, Method::POST, path, &search(filter)).await;
    counted["count"].as_u64().unwrap()
}

#[tokio::test]
async fn a_layer_finds_what_its_polygon_finds() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    layers::store(service.folder(), "south", &[south()]);
    let everywhere = json!({"geoBoundingBox": {"topLeft": {"lat": 89, "lon": -179}, "bottomRight": {"lat": -89, "lon": 179}}});
    let with_position = count(&service, &everywhere).await;
    let by_area = count(&service, &json!({"area": south()})).await;
    assert!(by_area > 0 && by_area < with_position);
    let on = |relation: Value| json!({ "layer": relation });
    assert_eq!(
        count(&service, &on(json!({"name": "south"}))).await,
        by_area
    );
    let outside = json!({"name": "south", "relation": "outside"});
    assert_eq!(count(&service, &on(outside)).await, with_position - by_area);
    let far = json!({"name": "south", "relation": "within", "meters": 100_000});
    assert!(count(&service, &on(far)).await >= by_area);

    let page = |filter: &Value| {
        let mut body = search(filter);
        body["size"] = json!(100);
        body["sortBy"] = json!("PRICE");
        body["orderBy"] = json!("ASC");
        body
    };
    let inside = on(json!({"name": "south"}));
    for path in ["properties/search", "analytics/property/search"] {
        let asked = |filter: &Value| match path {
            "properties/search" => page(filter),
            _ => {
                let mut body = search(filter);
                body["studiedData"] = json!("PRICE");
                body
            }
        };
        let answer = async |filter: &Value| {
            let mut answer = data(&service, Method::POST, path, &asked(filter)).await;
            if let Some(fields) = answer.as_object_mut() {
                // A cursor is bound to its own query.
                fields.remove("searchAfterHash");
            }
            answer
        };
        let expected = answer(&json!({"area": south()})).await;
        assert_eq!(answer(&inside).await, expected, "{path}");
    }
    let preview = |filter: &Value| json!({"search_query": {"filterAd": {"location": place(filter)["location"][0]}}, "days": 365});
    let path = "adverts/search/alerts/preview";
    let expected = data(
        &service,
        Method::POST,
        path,
        &preview(&json!({"area": south()})),
    )
    .await;
    let found = data(&service, Method::POST, path, &preview(&inside)).await;
    assert_eq!(found, expected);
    let filters = json!({"locationCoordinate": {"location": inside}});
    let filters = json!({"filterProperty": {"location": [filters]}}).to_string();
    let filters: String = url::form_urlencoded::byte_serialize(filters.as_bytes()).collect();
    let path = format!("/v2/protected/tiles/properties/0/0/0?filters={filters}");
    assert_eq!(service.get(&path).await.status(), 200);
}

#[tokio::test]
async fn a_layer_that_does_not_exist_or_does_not_fit_is_refused_with_its_path() {
    let service = super::alerts::service().await;
    layers::store(
        service.folder(),
        "stations",
        &[json!({"type": "Point", "coordinates": [2, 48]})],
    );
    let unknown = json!({"layer": {"name": "flood_zones"}});
    let in_filters = json!({ "filters": unknown });
    let in_place = "filterProperty.location[0].locationCoordinate.location.layer.name: ";
    let alert = body(ListingKind::Property, &place(&unknown), CREATED);
    let sales = json!({"search_query": in_filters, "match": CREATED, "search_name": "suivi",
        "webhook_url": "https://client.example/hook"});
    let query = json!({"search_query": {"filterProperty": place(&unknown)}});
    let market = json!({"level": "commune", "location": unknown});
    for (method, path, body, at) in [
        (
            Method::POST,
            "properties/search/count",
            search(&unknown),
            format!("search.{in_place}"),
        ),
        (
            Method::POST,
            "opendata/dvf/search",
            in_filters.clone(),
            "filters.layer.name: ".into(),
        ),
        (
            Method::POST,
            "opendata/dpe/match",
            in_filters.clone(),
            "filters.layer.name: ".into(),
        ),
        (
            Method::POST,
            "opendata/dvf/match/_many",
            json!({"items": [in_filters]}),
            "items[0].filters.layer.name: ".into(),
        ),
        (
            Method::POST,
            "analytics/market",
            market,
            "location.layer.name: ".into(),
        ),
        (
            Method::PUT,
            "properties/search/alerts",
            alert,
            format!("search_query.{in_place}"),
        ),
        (
            Method::PUT,
            "opendata/dvf/search/alerts",
            sales,
            "search_query.filters.layer.name: ".into(),
        ),
        (
            Method::POST,
            "properties/search/alerts/preview",
            query,
            format!("search_query.{in_place}"),
        ),
    ] {
        let message = refused(&service, method, path, &body).await;
        assert!(message.starts_with(&at), "{path}: {message}");
        let rest = &message[at.len()..];
        let expected =
            "no layer \"flood_zones\"; layers: stations; to add one: toise import layer NAME FILE";
        assert_eq!(rest, expected, "{path}");
    }
    let path = "opendata/dvf/search";
    for (layer, expected) in [
        (
            json!({"name": "stations"}),
            "filters.layer.name: layer \"stations\" has no polygons to be inside or outside of: use the relation within",
        ),
        (
            json!({"name": "stations", "relation": "within"}),
            "filters.layer.meters: is required if relation is within",
        ),
        (
            json!({"name": "stations", "meters": 5}),
            "filters.layer.meters: is allowed only if relation is within",
        ),
        (json!("stations"), "filters.layer: must be an object"),
    ] {
        let body = json!({"filters": {"layer": layer}});
        let message = refused(&service, Method::POST, path, &body).await;
        assert!(message.starts_with(expected), "{message}");
    }
    let near =
        json!({"filters": {"layer": {"name": "stations", "relation": "within", "meters": 500}}});
    data(&service, Method::POST, path, &near).await;
}

#[tokio::test]
async fn an_alert_whose_layer_was_removed_says_so() {
    let service = super::alerts::service().await;
    layers::store(service.folder(), "flood", &[south()]);
    let alert = body(
        ListingKind::Property,
        &place(&json!({"layer": {"name": "flood"}})),
        CREATED,
    );
    let made = data(&service, Method::PUT, "properties/search/alerts", &alert).await;
    let id = made["flxId"].as_str().unwrap().to_owned();
    let own = format!("properties/search/alerts/{id}");
    let shown = async || {
        let own = data(&service, Method::GET, &own, &Value::Null).await;
        let path = format!("/v2/protected/admin/alerts/{id}");
        let request = service.keyed(Method::GET, &path, &service.key_with("admin"));
        let overview: Value = request.send().await.unwrap().json().await.unwrap();
        [own, overview["data"].clone()].map(|alert| alert["unmatched_because"].clone())
    };
    assert_eq!(shown().await, [Value::Null, Value::Null]);
    folder::remove(service.folder(), &"flood".parse().unwrap()).unwrap();
    for reason in shown().await {
        let reason = reason.as_str().unwrap().to_owned();
        assert_begins(
            &reason,
            "no layer \"flood\"; there are no layers: toise import layer NAME FILE",
        );
    }
}
