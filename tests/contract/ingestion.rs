//! Ingestion of adverts and records by identifier, through the socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use toise::contract::listings::{Advert, Property};
use toise::contract::read::read;
use toise::http::resources::admin::adverts::INGESTING_MAX;
use uuid::Uuid;

use crate::support::assertions::{assert_begins, assert_has};
use crate::support::{Service, error_of};

const ADVERTS: &str = "/v2/protected/admin/adverts";

struct IngestFixture {
    service: Service,
    operator: String,
}

impl IngestFixture {
    async fn open() -> Self {
        let service = Service::start().await;
        Self {
            operator: service.key_with("admin"),
            service,
        }
    }

    async fn send(&self, body: impl Into<String>) -> Response {
        let request = self.service.keyed(Method::POST, ADVERTS, &self.operator);
        request.body(body.into()).send().await.unwrap()
    }

    async fn take(&self, adverts: Value) -> Vec<Value> {
        let response = self.send(json!({"adverts": adverts}).to_string()).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["x-credits"], "0");
        let body: Value = response.json().await.unwrap();
        body["data"].as_array().unwrap().clone()
    }

    async fn get(&self, path: &str) -> Response {
        self.service.get(&format!("/v2/protected/{path}")).await
    }

    async fn data(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        data(response).await
    }
}

async fn data(response: Response) -> Value {
    response.json::<Value>().await.unwrap()["data"].take()
}

/// The sample adverts as a collector would send them, including fields that are ignored on ingestion.
fn samples() -> Vec<Value> {
    let samples: Value =
        serde_json::from_str(include_str!("../../data/samples/adverts.json")).unwrap();
    samples["data"].as_array().unwrap().clone()
}

fn id<'v>(item: &'v Value, field: &str) -> &'v str {
    item[field].as_str().unwrap()
}

#[tokio::test]
async fn adverts_are_ingested_in_order_and_can_be_read_at_once() {
    let desk = IngestFixture::open().await;
    let sent = samples();
    let taken = desk.take(json!(sent)).await;
    assert_eq!(taken.len(), sent.len());
    for (item, sent) in taken.iter().zip(&sent) {
        assert_eq!(item["outcome"], "created", "{item}");
        assert_eq!(item["events"], json!([]));
        let advert = desk.data(&format!("adverts/{}", id(item, "flxId"))).await;
        read::<Advert>(&advert).unwrap();
        assert_eq!(advert["title"], sent["title"]);
        assert_eq!(advert["propertyFlxId"], item["propertyFlxId"]);
        assert_ne!(
            advert["flxId"], sent["flxId"],
            "identifiers are assigned by the service"
        );
        let property = desk
            .data(&format!("properties/{}", id(item, "propertyFlxId")))
            .await;
        read::<Property>(&property).unwrap();
        let of_advert = desk
            .data(&format!("properties/advert/{}", id(item, "flxId")))
            .await;
        assert_eq!(of_advert, property);
    }
    let again = desk.take(json!(sent)).await;
    for (item, first) in again.iter().zip(&taken) {
        assert_eq!(item["outcome"], "unchanged");
        assert_eq!(item["flxId"], first["flxId"]);
    }
}

#[tokio::test]
async fn events_record_what_changed_and_when() {
    let desk = IngestFixture::open().await;
    let advert = samples().remove(0);
    desk.take(json!([advert])).await;
    let url = advert["url"].clone();
    let update = json!({
        "url": url, "lastSeenAt": "2026-04-01T10:00:00+02:00", "isOnline": false, "currentPrice": {"value": 1_000_000},
    });
    let item = desk.take(json!([update])).await.remove(0);
    assert_eq!(item["outcome"], "updated");
    let at = "2026-04-01T08:00:00.000Z";
    assert_eq!(
        item["events"],
        json!([
            {"type": "UNPUBLISHED", "occurredAt": at, "previous": {"isOnline": true}},
            {"type": "PRICE", "occurredAt": at, "previous": {"price": 579_000}},
        ])
    );
}

#[tokio::test]
async fn a_rejected_advert_has_an_error_in_its_place_and_the_rest_is_ingested() {
    let desk = IngestFixture::open().await;
    let mut adverts = samples();
    adverts[1] = json!({"url": "https://p.example/1", "type": "CLASS_CASTLE"});
    adverts[3]["url"] = json!("portail/1");
    adverts[4]["habitation"]["roomCount"] = json!(1);
    let taken = desk.take(json!(adverts)).await;
    assert_eq!(taken[1]["outcome"], "rejected");
    assert_eq!(taken[1]["error"]["code"], 10_002);
    let message = taken[1]["error"]["message"].as_str().unwrap();
    assert_begins(message, "adverts[1].type: must be one of: CLASS_UNKNOWN,");
    assert!(
        taken[3]["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("adverts[3].url: must be")
    );
    assert_eq!(taken[0]["outcome"], "created");
    let rejected = taken.iter().filter(|item| item["outcome"] == "rejected");
    assert_eq!(rejected.count(), 2);
}

#[tokio::test]
async fn an_area_or_a_layer_in_a_row_is_no_filter_and_rejects_this_row_alone() {
    let fixture = IngestFixture::open().await;
    let mut adverts = samples();
    adverts[1]["location"]["area"] = json!("Centre");
    adverts[2]["location"]["layer"] = json!({"name": "Centre"});
    let taken = fixture.take(json!(adverts[..4])).await;
    for (place, key) in [(1, "area"), (2, "layer")] {
        let message = taken[place]["error"]["message"].as_str().unwrap();
        let expected = format!("adverts[{place}].location.{key}: unknown field");
        assert!(message.starts_with(&expected), "{message}");
    }
    for place in [0, 3] {
        assert_eq!(taken[place]["outcome"], "created");
    }
}

#[tokio::test]
async fn rows_of_another_shape_become_adverts_by_a_mapping() {
    let fixture = IngestFixture::open().await;
    let mapped = |name: &str, rows: Value| {
        let path = format!("{ADVERTS}?mapping={name}");
        let (service, operator) = (&fixture.service, &fixture.operator);
        let request = service.keyed(Method::POST, &path, operator);
        request.body(json!({"adverts": rows}).to_string()).send()
    };
    let row = json!({"url": "https://www.seloger.com/annonces/achat/appartement/toulon-83/1.htm?search=x&m=y",
        "titre": "Appartement T3", "prix": "250 000 €", "surface": "61,35 m²", "etage": "dernier"});
    let response = mapped("french-csv", json!([row, 7, {"titre": "sans adresse"}])).await;
    let outcomes = data(response.unwrap()).await;
    assert_eq!(outcomes[0]["outcome"], "created", "{outcomes}");
    let warning = "habitation.floor: cannot be read from column etage; left out: \"dernier\"";
    assert_eq!(outcomes[0]["warnings"], json!([warning]));
    assert_eq!(
        outcomes[1]["error"]["message"],
        "adverts[1]: must be an object"
    );
    assert_eq!(
        outcomes[2]["error"]["message"],
        "adverts[2].url: is required"
    );
    let advert = fixture
        .data(&format!("adverts/{}", id(&outcomes[0], "flxId")))
        .await;
    assert_eq!(
        advert["url"],
        "https://www.seloger.com/annonces/achat/appartement/toulon-83/1.htm"
    );
    assert_eq!(advert["source"], "seloger.com");
    assert_eq!(advert["currentPrice"]["value"], 250_000);
    assert_eq!(advert["location"]["inseeCode"], "83137");
    assert_eq!(advert["location"]["precision"], "TOWN");
    let (status, _, message) = error_of(mapped("rien", json!([row])).await.unwrap()).await;
    assert_eq!(status, 422);
    assert_has(&message, "mapping: must be one of: apimo, bienici-api, ");
}

#[tokio::test]
async fn a_body_that_is_not_a_batch_is_rejected() {
    let desk = IngestFixture::open().await;
    for (body, message) in [
        ("{}", "adverts: is required"),
        (r#"{"adverts": []}"#, "adverts: must hold 1 to 1000 items"),
        (r#"[]"#, "body: must be an object"),
    ] {
        assert_eq!(
            error_of(desk.send(body).await).await,
            (422, 10_002, message.into()),
            "{body}"
        );
    }
    assert_eq!(error_of(desk.send("{").await).await.0, 400);
    let long = format!(r#"{{"adverts": ["{}"]}}"#, "a".repeat(16 << 20));
    assert_eq!(error_of(desk.send(long).await).await.0, 413);
    let alone = desk.service.key_with("admin.adverts");
    let request = desk.service.keyed(Method::POST, ADVERTS, &alone);
    assert_eq!(
        request.body("{}").send().await.unwrap().status(),
        422,
        "the endpoint alone may be granted"
    );
}

#[tokio::test]
async fn many_properties_are_returned_in_the_requested_order_for_a_credit_each() {
    let desk = IngestFixture::open().await;
    let taken = desk.take(json!(samples())).await;
    let (first, last) = (
        id(&taken[0], "propertyFlxId"),
        id(&taken[9], "propertyFlxId"),
    );
    let nobody = Uuid::now_v7();
    for body in [
        json!([last, nobody, first]),
        json!({"flxIds": [last, nobody, first]}),
    ] {
        let response = desk
            .service
            .post("/v2/protected/properties/_many", body.to_string())
            .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["x-credits"], "2");
        let records = data(response).await;
        let ids: Vec<&str> = records
            .as_array()
            .unwrap()
            .iter()
            .map(|record| id(record, "flxId"))
            .collect();
        assert_eq!(ids, [last, first]);
    }
    let path = format!("properties/{first}");
    assert_eq!(desk.get(&path).await.headers()["x-credits"], "1");
    let path = format!("properties/advert/{}", id(&taken[0], "flxId"));
    assert_eq!(desk.get(&path).await.headers()["x-credits"], "1");
    let path = format!("adverts/{}", id(&taken[0], "flxId"));
    assert_eq!(desk.get(&path).await.headers()["x-credits"], "0");
    let none = desk
        .service
        .post(
            "/v2/protected/properties/_many",
            json!([nobody]).to_string(),
        )
        .await;
    assert_eq!(none.headers()["x-credits"], "0");
    let few = desk
        .service
        .post("/v2/protected/properties/_many", r#"{"flxIds": ["x"]}"#)
        .await;
    let (status, code, message) = error_of(few).await;
    assert_eq!((status, code), (422, 10_002));
    assert_begins(&message, "flxIds[0]: must be a UUID");
}

#[tokio::test]
async fn an_unknown_identifier_is_404_and_not_charged() {
    let desk = IngestFixture::open().await;
    let nobody = Uuid::now_v7();
    for path in [
        format!("properties/{nobody}"),
        format!("properties/advert/{nobody}"),
        format!("adverts/{nobody}"),
        "properties/x".into(),
        "adverts/x".into(),
    ] {
        let response = desk.get(&path).await;
        assert_eq!(response.headers()["x-credits"], "0");
        assert_eq!(error_of(response).await.0, 404, "{path}");
    }
    // A literal segment is not an identifier.
    assert_eq!(error_of(desk.get("properties/_many").await).await.0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_client_disconnected_holds_its_permit_until_its_adverts_are_stored() {
    const ADVERTS_SENT: usize = 600;
    let mut turns = None;
    let service = Service::start_changed(|app| {
        turns = Some(Arc::clone(&app.capacity.ingesting));
    })
    .await;
    let turns = turns.unwrap();
    let adverts = (0..ADVERTS_SENT).map(|number| {
        json!({"url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 90_000 + number},
            "location": {"postalCode": format!("{:05}", 1_000 + 90 * number)}})
    });
    let body = json!({"adverts": adverts.collect::<Vec<_>>()}).to_string();
    let operator = service.key_with("admin");
    let request = service.keyed(Method::POST, ADVERTS, &operator);
    let call = tokio::spawn(request.body(body).send());
    let until = Instant::now() + Duration::from_secs(30);
    let is_over = || assert!(Instant::now() < until, "not taken in time");
    while turns.available_permits() == INGESTING_MAX {
        is_over();
        tokio::task::yield_now().await;
    }
    call.abort();
    loop {
        is_over();
        let free = turns.available_permits();
        let stored = service.stored("SELECT count(*) FROM adverts")[0] as usize;
        if stored == ADVERTS_SENT {
            return;
        }
        assert_eq!(free, INGESTING_MAX - 1, "{stored} adverts are taken");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
