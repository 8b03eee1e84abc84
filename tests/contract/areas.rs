//! Areas over HTTP, in every request that takes one: a drawn one finds what the crate `geo` finds, a stored one what its
//! polygon finds.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use toise::contract::listings::filters::ListingKind;
use toise::service::isochrones::Isochrones;

use super::alerts::CREATED;
use super::searches::{all, position, shown, taken};
use super::sql;
use crate::support::alerts::{body, with};
use crate::support::areas::{self, Judge};
use crate::support::assertions::{assert_has, texts_of};
use crate::support::draw::Draw;
use crate::support::mvt::gathered;
use crate::support::portal::{Act, Portal};
use crate::support::{Service, error_of, http_client};

/// A polygon around the places of the invented adverts that [`taken`] stores.
pub fn south() -> Value {
    json!({"type": "Polygon", "coordinates": [[[-1.0, 43.0], [8.0, 43.0], [8.0, 46.5], [-1.0, 46.5], [-1.0, 43.0]]]})
}

async fn data(service: &Service, method: Method, path: &str, body: &Value) -> Value {
    service.clock.advance_ms(20);
    let response = service
        .call(method, &format!("/v2/protected/{path}"), body)
        .await;
    assert_eq!(response.status(), 200, "{path}");
    response.json::<Value>().await.unwrap()
}

async fn refused(service: &Service, method: Method, path: &str, body: &Value) -> (u16, String) {
    service.clock.advance_ms(20);
    let response = service
        .call(method, &format!("/v2/protected/{path}"), body)
        .await;
    let (status, _, message) = error_of(response).await;
    (status, message)
}

fn search(area: &Value) -> Value {
    let place = json!({"locationCoordinate": {"location": {"area": area}}});
    json!({"search": {"filterProperty": {"location": [{"department": "48"}, place]}}})
}

#[tokio::test]
async fn a_named_area_finds_what_its_polygon_finds() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    let stored = data(&service, Method::PUT, "areas/le sud", &south()).await;
    assert_eq!(stored["data"]["area"], south());
    let named = json!("le sud");

    let count = "properties/search/count";
    let by_polygon = data(&service, Method::POST, count, &search(&south())).await;
    let by_name = data(&service, Method::POST, count, &search(&named)).await;
    assert!(
        by_polygon["count"]
            .as_u64()
            .or(by_polygon["data"]["count"].as_u64())
            > Some(0)
    );
    assert_eq!(by_name, by_polygon);
    for path in ["opendata/dvf/search", "opendata/dpe/search"] {
        let filters = |area: &Value| json!({"filters": {"area": area}});
        let expected = data(&service, Method::POST, path, &filters(&south())).await;
        assert_eq!(
            data(&service, Method::POST, path, &filters(&named)).await,
            expected
        );
    }
    let market = |area: &Value| json!({"level": "commune", "type": "CLASS_FLAT", "location": {"area": area}});
    let expected = data(
        &service,
        Method::POST,
        "analytics/market",
        &market(&south()),
    )
    .await;
    let found = data(&service, Method::POST, "analytics/market", &market(&named)).await;
    assert_eq!(found, expected);

    // A tile with a filter in its query.
    let filters = json!({"area": named}).to_string();
    let filters: String = url::form_urlencoded::byte_serialize(filters.as_bytes()).collect();
    let path = format!("/v2/protected/tiles/dvf/0/0/0?filters={filters}");
    service.clock.advance_ms(20);
    assert_eq!(service.get(&path).await.status(), 200);
    let isochrone = json!({"pin": {"lat": 44.5, "lon": 3.5}, "minutes": 5, "mode": "car"});
    let filters = json!({"area": {"isochrone": isochrone}}).to_string();
    let filters: String = url::form_urlencoded::byte_serialize(filters.as_bytes()).collect();
    let path = format!("tiles/dvf/0/0/0?filters={filters}");
    let (status, message) = refused(&service, Method::GET, &path, &Value::Null).await;
    assert_eq!(status, 422);
    assert_has(&message, "filters.area: isochrones cannot be used here");

    let (status, message) =
        refused(&service, Method::POST, count, &search(&json!("le nord"))).await;
    assert_eq!(status, 422);
    let at = "search.filterProperty.location[1].locationCoordinate.location.area: ";
    assert!(
        message.starts_with(at) && message.contains("stored area"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawn_area_finds_the_properties_that_geo_finds() {
    let (service, properties) = taken(300).await;
    shown(&service, properties).await;
    let records = all(&service).await;
    let sql_key = service.key_with("sql");
    let placed: Vec<&Value> = records
        .iter()
        .filter(|record| position(record).is_some())
        .collect();
    let mut draw = Draw::new(74);
    let (mut found, mut left_out) = (0, 0);
    for round in 0..120 {
        let record: &&Value = draw.one_of(&placed);
        let (lat, lon) = position(record).unwrap();
        let radius = *draw.one_of(&[0.02, 0.2, 1.0, 3.0]);
        let area = areas::area(&mut draw, lat, lon, radius);
        let judge = Judge::new(&area);
        let is_within =
            |record: &&&Value| position(record).is_some_and(|(lat, lon)| judge.contains(lat, lon));
        let expected: Vec<&Value> = placed.iter().filter(is_within).copied().collect();
        let ids = expected.iter().map(|record| &record["flxId"]);
        let ids: BTreeSet<&str> = ids.map(|id| id.as_str().unwrap()).collect();
        found += ids.len();
        left_out += placed.len() - ids.len();

        let place = json!({"location": [{"locationCoordinate": {"location": {"area": area}}}]});
        let place = json!({ "filterProperty": place });
        let page = json!({"search": place, "sortBy": "PRICE", "orderBy": "ASC", "size": 100});
        let page = data(&service, Method::POST, "properties/search", &page).await;
        assert_eq!(page["data"]["count"], ids.len(), "{area}");
        let items = texts_of(&page["data"]["items"], "flxId");
        assert!(items.iter().all(|id| ids.contains(id)), "{area}");
        assert_eq!(items.len(), ids.len().min(100), "{area}");

        let market = json!({"level": "department", "location": {"area": area}});
        let market = data(&service, Method::POST, "analytics/market", &market).await;
        let rows = market["data"].as_array().unwrap().iter();
        let homes = rows.flat_map(|row| ["for_sale", "to_rent"].map(|name| &row[name]));
        let homes: u64 = homes.map(|homes| homes.as_u64().unwrap()).sum();
        let is_home = |record: &&&Value| {
            let class = &record["type"];
            let offer = &record["offer"]["type"];
            (class == "CLASS_FLAT" || class == "CLASS_HOUSE")
                && (offer == "OFFER_BUY" || offer == "OFFER_RENT")
        };
        assert_eq!(
            homes as usize,
            expected.iter().filter(is_home).count(),
            "{area}"
        );

        let filters = place.to_string();
        let filters: String = url::form_urlencoded::byte_serialize(filters.as_bytes()).collect();
        service.clock.advance_ms(20);
        let path = format!("/v2/protected/tiles/properties/0/0/0?filters={filters}");
        let world = service.get(&path).await.bytes().await.unwrap();
        assert_eq!(gathered(&world), ids.len(), "{area}");

        // Each query takes a process.
        if round % 10 == 0 {
            let query = format!("select flx_id from properties where in_area(lat, lon, '{area}')");
            let rows = sql::rows(&service, &sql_key, &query).await;
            let rows: BTreeSet<&str> = texts_of(&rows, "flx_id").into_iter().collect();
            assert_eq!(rows, ids, "{area}");
        }
    }
    assert!(found > 500 && left_out > 500, "{found} {left_out}");
}

#[tokio::test]
async fn areas_are_replaced_listed_deleted_and_belong_to_one_account() {
    let service = Service::start().await;
    let nothing = Value::Null;
    let all = async || {
        let listed = data(&service, Method::GET, "areas", &Value::Null).await;
        let names = listed["data"].as_array().unwrap().iter();
        names
            .map(|area| area["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(all().await.is_empty());
    data(&service, Method::PUT, "areas/b", &south()).await;
    data(&service, Method::PUT, "areas/a", &south()).await;
    let mut smaller = south();
    smaller["coordinates"][0][2] = json!([8.0, 44.0]);
    let first = data(&service, Method::GET, "areas/b", &nothing).await;
    service.clock.advance_ms(1_000);
    let second = data(&service, Method::PUT, "areas/b", &smaller).await;
    assert_eq!(second["data"]["area"], smaller);
    assert_eq!(second["data"]["createdAt"], first["data"]["createdAt"]);
    assert_ne!(second["data"]["updatedAt"], first["data"]["updatedAt"]);
    assert_eq!(all().await, ["a", "b"]);

    let mut crossing = south();
    crossing["coordinates"][0]
        .as_array_mut()
        .unwrap()
        .swap(1, 2);
    let (status, message) = refused(&service, Method::PUT, "areas/c", &crossing).await;
    assert!(
        status == 422 && message.starts_with("coordinates[0]["),
        "{message}"
    );
    let (status, message) = refused(&service, Method::PUT, "areas/%20c", &south()).await;
    assert!(status == 422 && message.starts_with("name: "), "{message}");

    let stranger = service.new_key(
        toise::accounts::key::KeyKind::Production,
        "search",
        "stranger",
    );
    let of_other = http_client()
        .get(format!("http://{}/v2/protected/areas/a", service.address))
        .header("x-api-key", stranger.key);
    assert_eq!(of_other.send().await.unwrap().status(), 404);

    data(&service, Method::DELETE, "areas/a", &nothing).await;
    assert_eq!(
        refused(&service, Method::DELETE, "areas/a", &nothing)
            .await
            .0,
        404
    );
    assert_eq!(all().await, ["b"]);
}

#[tokio::test]
async fn an_alert_keeps_the_polygon_of_its_name() {
    let service = super::alerts::service().await;
    data(&service, Method::PUT, "areas/centre", &south()).await;
    let place = json!({"locationCoordinate": {"location": {"area": "centre"}}});
    let alert = body(
        ListingKind::Property,
        &json!({"location": [place]}),
        CREATED,
    );
    let context = json!({"context": {"metadata": {"location": {"area": "centre"}}}});
    let alert = with(alert, context);
    let made = data(&service, Method::PUT, "properties/search/alerts", &alert).await;
    let path = format!(
        "properties/search/alerts/{}",
        made["data"]["flxId"].as_str().unwrap()
    );
    data(&service, Method::DELETE, "areas/centre", &Value::Null).await;
    let kept = data(&service, Method::GET, &path, &Value::Null).await;
    let area = "/search_query/filterProperty/location/0/locationCoordinate/location/area";
    assert_eq!(kept["data"].pointer(area), Some(&south()), "{kept}");
    // What is the client's own is not a filter.
    assert_eq!(
        kept["data"]["context"]["metadata"]["location"]["area"],
        "centre"
    );
}

#[tokio::test]
async fn an_unknown_name_is_a_fault_of_its_own_alert_and_in_document_order() {
    let service = super::alerts::service().await;
    data(&service, Method::PUT, "areas/centre", &south()).await;
    let alert = |name: &str| {
        let place = json!({"locationCoordinate": {"location": {"area": name}}});
        body(
            ListingKind::Property,
            &json!({"location": [place]}),
            CREATED,
        )
    };
    let many = json!({"alerts": [alert("centre"), alert("nord"), alert("centre")]});
    let path = "properties/search/alerts/many";
    let made = data(&service, Method::PUT, path, &many).await;
    let outcomes = made["data"]["alerts"].as_array().unwrap();
    for place in [0, 2] {
        assert!(outcomes[place]["success"].is_string(), "{made}");
    }
    let message = outcomes[1]["failed"]["message"].as_str().unwrap();
    let at = "alerts[1].search_query.filterProperty.location[0].locationCoordinate.location.area: ";
    assert!(
        message.starts_with(at) && message.contains("stored area"),
        "{message}"
    );
    let filters = json!({"filters": {"postal_code": 48, "area": "nord"}});
    let (status, message) = refused(&service, Method::POST, "opendata/dvf/search", &filters).await;
    assert_eq!(
        (status, message.as_str()),
        (422, "filters.postal_code: must be a string")
    );
}

/// The path of the answer to a question of the isochrone service.
const REACHED: &str = "/isochrone?resource=bdtopo-valhalla&point=3.50000%2C44.52000&costType=time&costValue=900&\
    timeUnit=second&profile=car&direction=departure&crs=EPSG%3A4326&geometryFormat=geojson";

async fn service_with_isochrones(address: String) -> Service {
    Service::start_changed(move |app| {
        app.data.isochrones = Isochrones::new(&address).unwrap();
    })
    .await
}

fn reached(minutes: f64, mode: &str) -> Value {
    let pin = json!({"lat": 44.52, "lon": 3.5});
    json!({"filters": {"area": {"isochrone": {"pin": pin, "minutes": minutes, "mode": mode}}}})
}

#[tokio::test]
async fn an_isochrone_is_the_polygon_that_the_service_returns() {
    let portal = Portal::start().await;
    let answer = json!({"point": "3.5,44.52", "costType": "time", "geometry": south()});
    portal.set(
        REACHED,
        Act::Body("application/json", answer.to_string().into_bytes()),
    );
    let service = service_with_isochrones(portal.url("/isochrone")).await;
    let path = "opendata/dpe/search";
    let expected = json!({"filters": {"area": south()}});
    let expected = data(&service, Method::POST, path, &expected).await;
    for _ in 0..2 {
        let found = data(&service, Method::POST, path, &reached(15.0, "car")).await;
        assert_eq!(found, expected);
    }
    // The client can draw what the search used.
    let shape = "isochrones?lat=44.52&lon=3.5&minutes=15&mode=car";
    let shape = data(&service, Method::GET, shape, &Value::Null).await;
    assert_eq!(shape["data"], json!({"area": south()}));
    assert_eq!(portal.asked(REACHED), 1);
    let nowhere = "isochrones?lat=91&lon=3.5&minutes=15&mode=car";
    let (status, message) = refused(&service, Method::GET, nowhere, &Value::Null).await;
    assert_eq!(status, 422);
    assert_eq!(message, "lat: must be a number between -90 and 90");

    let (status, message) = refused(&service, Method::POST, path, &reached(16.0, "car")).await;
    assert_eq!(status, 422);
    assert_has(&message, "the isochrone service rejects this request (404");
    for (minutes, mode, fault) in [
        (
            0.0,
            "car",
            "filters.area.isochrone.minutes: must be a number above 0",
        ),
        (90.0, "car", "filters.area.isochrone.minutes: "),
        (
            15.0,
            "boat",
            "filters.area.isochrone.mode: must be one of: car, walk",
        ),
    ] {
        let (status, message) =
            refused(&service, Method::POST, path, &reached(minutes, mode)).await;
        assert!(status == 422 && message.starts_with(fault), "{message}");
    }
    let walk = REACHED.replace("profile=car", "profile=pedestrian");
    portal.set(&walk, Act::Status(500, ""));
    let (status, message) = refused(&service, Method::POST, path, &reached(15.0, "walk")).await;
    assert_eq!(
        (
            status,
            message.contains("isochrone service does not respond")
        ),
        (503, true),
        "{message}"
    );

    // An area that no filter accepts is repaired if possible.
    let longer = REACHED.replace("costValue=900", "costValue=1200");
    let answer = |rings: Value| {
        let text = json!({"geometry": {"type": "Polygon", "coordinates": rings}}).to_string();
        Act::Body("application/json", text.into_bytes())
    };
    let crossing = json!([[
        [-1.0, 43.0],
        [8.0, 46.5],
        [8.0, 43.0],
        [-1.0, 46.5],
        [-1.0, 43.0]
    ]]);
    portal.set(&longer, answer(crossing));
    data(&service, Method::POST, path, &reached(20.0, "car")).await;
    let shape = "isochrones?lat=44.52&lon=3.5&minutes=20&mode=car";
    let shape = data(&service, Method::GET, shape, &Value::Null).await;
    let repaired = &shape["data"]["area"];
    assert_eq!(repaired["type"], "MultiPolygon", "{shape}");
    assert_eq!(repaired["coordinates"].as_array().unwrap().len(), 2);
    let longest = REACHED.replace("costValue=900", "costValue=1500");
    portal.set(&longest, answer(json!([[[3, 44], [4, 44], [3, 44]]])));
    let (status, message) = refused(&service, Method::POST, path, &reached(25.0, "car")).await;
    assert_eq!(status, 422);
    let fault = "filters.area: the isochrone service returns an area that cannot be used: ";
    assert!(message.starts_with(fault), "{message}");

    let without = service_with_isochrones(String::new()).await;
    let (status, message) = refused(&without, Method::POST, path, &reached(15.0, "car")).await;
    assert!(
        status == 422 && message.contains("geocoding.isochrones"),
        "{message}"
    );
}
