//! Checks of listings and reports, against a portal on loopback.

use std::time::Duration;

use serde_json::{Value, json};
use toise::collect::reports::{NewReport, insert};
use toise::contract::enums::EnumAdvertReportReason;
use toise::contract::listings::filters::ListingKind;
use toise::store::new_id::NewId;
use uuid::Uuid;

use crate::support::alerts::{AlertFixture, flat};
use crate::support::assertions::assert_has;
use crate::support::collecting::{get, post, record, service, told, until};
use crate::support::error_of;
use crate::support::portal::{Act, Portal, flat_page};
use crate::support::process::{errors, run, try_run};

#[tokio::test]
async fn a_check_is_answered_at_once_and_its_result_arrives_as_a_change() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    portal.set("/1", flat_page(1, 350_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let (advert_id, property_id) = (&advert["flxId"], &advert["propertyFlxId"]);
    let check =
        |kind: &str, id: &Value| format!("/v2/protected/{kind}/{}/check", id.as_str().unwrap());
    service.clock.advance_ms(60_000);
    portal.set("/1", flat_page(1, 330_000));
    let answer = service.post(&check("adverts", advert_id), "").await;
    let expected = json!({"result": "check_scheduled", "adverts": 1});
    assert_eq!(told(answer, 200).await, (1, expected.clone()));
    until("the price", async || {
        record(&service, "adverts", advert_id).await["currentPrice"]["value"] == 330_000
    })
    .await;
    service.clock.advance_ms(60_000);
    portal.set("/1", Act::Status(404, ""));
    assert_eq!(
        told(
            service.post(&check("properties", property_id), "").await,
            200
        )
        .await,
        (1, expected)
    );
    until("the end", async || {
        record(&service, "properties", property_id).await["meta"]["isTotallyOffline"] == true
    })
    .await;
    // Offline: nothing to check for the property, and the call is still charged.
    let nothing = json!({"result": "nothing_to_check", "adverts": 0});
    assert_eq!(
        told(
            service.post(&check("properties", property_id), "").await,
            200
        )
        .await,
        (1, nothing)
    );
    let (_, data) = told(get(&service, "adverts", &portal.url("/1")).await, 422).await;
    assert_eq!(data["reason"], "gone: the portal answered 404");
    // The page comes back.
    service.clock.advance_ms(60_000);
    portal.set("/1", flat_page(1, 330_000));
    told(service.post(&check("adverts", advert_id), "").await, 200).await;
    until("the return", async || {
        record(&service, "adverts", advert_id).await["isOnline"] == true
    })
    .await;
    told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let events = "SELECT group_concat(type) FROM (SELECT type FROM advert_events ORDER BY event)";
    let events: String = service
        .store
        .read(|connection| connection.query_row(events, [], |row| row.get(0)))
        .unwrap();
    assert_eq!(events, "PRICE,UNPUBLISHED,REPUBLISHED");
    // A failed check does not change what is known and fresh.
    service.clock.advance_ms(60_000);
    portal.set("/1", Act::Status(403, ""));
    let refused = "SELECT count(*) FROM rejections WHERE reason LIKE 'refused: %'";
    until("the refusal", async || {
        // While a check is running, a second request for it gets the result of the first.
        told(service.post(&check("adverts", advert_id), "").await, 200).await;
        service.stored(refused) != [0]
    })
    .await;
    told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let nobody = json!(Uuid::now_v7());
    let (status, code, _) = error_of(service.post(&check("adverts", &nobody), "").await).await;
    assert_eq!((status, code), (404, 10003));
}

#[tokio::test]
async fn a_check_of_a_property_covers_at_most_ten_adverts_each_once() {
    let portal = Portal::start().await;
    let service = service(|settings| settings.running_max = 1).await;
    let number = |number: usize| {
        json!({"url": portal.url(&format!("/{number}")), "source": format!("p{number}.example"), "type": "CLASS_FLAT",
            "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 350_000}, "title": "Appartement",
            "description": "Appartement de trois pieces au deuxieme etage sur cour, refait en chene massif, cave et cellier",
            "location": {"postalCode": "69003", "locationCoordinate": {"location": [4.85, 45.75]}},
            "habitation": {"surface": {"total": 61.35}, "roomCount": 3, "floor": 2}, "isOnline": number != 11})
    };
    for place in 0..12 {
        portal.set(
            &format!("/{place}"),
            Act::After(Duration::from_millis(200), Box::new(Act::Status(503, ""))),
        );
    }
    let admin = service.key_with("admin,search");
    let adverts: Vec<Value> = (0..12).map(number).collect();
    let taken = service.ingest(&admin, &adverts).await;
    let property = taken[11]["propertyFlxId"].as_str().unwrap();
    let held = record(&service, "properties", &json!(property)).await;
    assert_eq!(held["adverts"].as_array().unwrap().len(), 12, "{taken}");
    let path = format!("/v2/protected/properties/{property}/check");
    for _ in 0..2 {
        let (_, data) = told(service.post(&path, "").await, 200).await;
        assert_eq!(data, json!({"result": "check_scheduled", "adverts": 10}));
    }
    let twice = "SELECT count(*) - count(DISTINCT url_digest) FROM jobs WHERE lease_until_ms IS NULL AND attempts = 0";
    assert_eq!(
        service.stored(twice),
        [0],
        "a page is queued again only if its job is running"
    );
    let addresses = "SELECT count(DISTINCT url_digest) FROM jobs";
    assert_eq!(service.stored(addresses), [10]);
    assert_eq!(portal.asked("/11"), 0);
}

#[tokio::test]
async fn a_report_is_free_and_stored_and_schedules_a_check() {
    let portal = Portal::start().await;
    let service = service(|_| {}).await;
    portal.set("/1", flat_page(1, 350_000));
    let (_, advert) = told(get(&service, "adverts", &portal.url("/1")).await, 200).await;
    let path = format!(
        "/v2/protected/adverts/{}/report",
        advert["flxId"].as_str().unwrap()
    );
    service.clock.advance_ms(60_000);
    portal.set("/1", Act::Status(410, ""));
    let response = service
        .post(
            &path,
            json!({"reason": "DUPLICATE", "comment": "deux fois"}).to_string(),
        )
        .await;
    let (credits, data) = told(response, 200).await;
    assert_eq!((credits, &data["reason"]), (0, &json!("DUPLICATE")));
    assert!(data["report_id"].is_string());
    assert_eq!(
        service.stored("SELECT count(*) FROM jobs WHERE kind = 'check'"),
        [0]
    );
    post(&service, &path, json!({"reason": "NOT_ONLINE_ANYMORE"})).await;
    until("the end", async || {
        record(&service, "adverts", &advert["flxId"]).await["isOnline"] == false
    })
    .await;
    for (body, expected) in [
        (
            r#"{"reason":"BAD"}"#,
            "reason: must be one of: STILL_ONLINE",
        ),
        (
            r#"{"reason":"OTHER"}"#,
            "comment: is required where reason is OTHER",
        ),
    ] {
        let (status, code, message) = error_of(service.post(&path, body).await).await;
        assert_eq!((status, code), (422, 10002));
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(
        service.stored("SELECT count(*), count(comment) FROM reports"),
        [2, 1]
    );
}

#[test]
fn an_operator_merges_and_splits_properties() {
    let office = AlertFixture::open();
    let taken = office.take(vec![flat("un", 1, 1), flat("deux", 2, 2)]);
    let [one, other] = [taken[0].property_flx_id, taken[1].property_flx_id];
    assert_ne!(one, other);
    let data = office.folder.path();
    let report = |reason| {
        let report = NewReport {
            id: NewId::Random,
            account: office.account,
            listing: ListingKind::Property,
            item: other,
            reason,
            comment: None,
            at_ms: 0,
        };
        insert(&office.store, report).unwrap().unwrap().to_string()
    };
    let adverts = |property: toise::contract::listings::codes::FlxId| {
        let record = office.record(ListingKind::Property, property);
        record["adverts"].as_array().unwrap().len()
    };
    let duplicate = report(EnumAdvertReportReason::Duplicate);
    report(EnumAdvertReportReason::Other);
    let listed = run(data, &["reports", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["report_id"], duplicate);
    run(
        data,
        &[
            "reports",
            "resolve",
            &duplicate,
            "--merge",
            &one.to_string(),
        ],
    );
    assert_eq!((adverts(one), adverts(other)), (2, 2));
    assert_eq!(
        office.record(ListingKind::Property, other)["flxId"],
        json!(one)
    );
    let wrong = report(EnumAdvertReportReason::WrongData);
    let advert = taken[1].flx_id.to_string();
    let resolved = run(
        data,
        &[
            "reports", "resolve", &wrong, "--split", &advert, "--note", "deux biens",
        ],
    );
    let resolution = resolved["resolution"].as_str().unwrap();
    assert!(
        resolution.starts_with("split: 1 of its adverts") && resolution.ends_with("; deux biens"),
        "{resolution}"
    );
    assert_eq!((adverts(one), adverts(other)), (1, 1));
    assert_eq!(run(data, &["reports", "list"]), json!([]));
    let again = try_run(data, &["reports", "resolve", &wrong, "--note", "encore"]);
    assert_has(&errors(&again), "is already resolved");
}
