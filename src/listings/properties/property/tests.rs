//! Tests which advert each value of a property comes from.

use super::*;
use crate::adverts::change::Sighting;
use serde_json::json;
use toise_contract::read::read;
use uuid::Uuid;

fn moment(day: u32) -> Timestamp {
    Timestamp::parse(&format!("2026-03-{day:02}")).unwrap()
}

/// A member first seen on day `days.0` and last on day `days.1`.
fn member(id: u128, days: (u32, u32), mut record: Value) -> PropertyMember {
    record["flxId"] = json!(Uuid::from_u128(id));
    let advert: Advert = read(&record).unwrap();
    let history = AdvertHistory::begin(Sighting::from_advert(
        &advert,
        moment(days.1),
        moment(days.0),
    ));
    PropertyMember {
        advert,
        history,
        derived: DerivedFields::default(),
    }
}

fn property(members: &[PropertyMember]) -> Value {
    serde_json::to_value(build_property(FlxId(Uuid::from_u128(1)), members)).unwrap()
}

fn image(id: &str, hash: &str) -> Value {
    json!({"imageId": id, "gaussianHash": hash, "meanHash": hash, "perceptualHash": hash})
}

fn three() -> [PropertyMember; 3] {
    [
        member(
            2,
            (2, 9),
            json!({
                "title": "Second", "source": "b.example", "isOnline": true, "currentPrice": {"value": 190_000},
                "habitation": {"roomCount": 4, "wcCount": 1, "surface": {"total": 62}}, "tags": ["cave", "balcon"],
                "medias": {"images": [image("1", "aa"), image("9", "bb"), image("3", "cc")]},
                "location": {"inseeCode": "69383", "irisCode": "693830101", "locationCoordinate": {"location": [4.85, 45.76]}},
            }),
        ),
        member(
            1,
            (1, 5),
            json!({
                "title": "First", "description": "D", "source": "a.example", "isOnline": false,
                "currentPrice": {"value": 200_000}, "tags": ["cave"],
                "habitation": {"roomCount": 3, "bedroomCount": 2, "surface": {"total": 61.5}},
                "medias": {"images": [image("1", "aa"), image("2", "bb")]},
            }),
        ),
        member(
            3,
            (3, 12),
            json!({"title": "Third", "source": "c.example", "isOnline": false, "currentPrice": {"value": 180_000}}),
        ),
    ]
}

#[test]
fn the_first_advert_gives_title_and_first_price_and_the_last_online_the_latest() {
    let property = property(&three());
    assert_eq!(
        (&property["title"], &property["description"]),
        (&json!("First"), &json!("D"))
    );
    assert_eq!(property["price"]["initial"]["value"], 200_000);
    assert_eq!(
        property["price"]["initial"]["source"]["website"],
        "a.example"
    );
    assert_eq!(
        property["price"]["latest"]["value"], 190_000,
        "the others were last seen offline"
    );
    assert_eq!(
        property["price"]["variation"],
        json!({"sincePublished": -5, "absoluteSincePublished": -10_000})
    );
    let adverts: Vec<&str> = property["adverts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["title"].as_str().unwrap())
        .collect();
    assert_eq!(adverts, ["First", "Second", "Third"]);
}

#[test]
fn values_come_from_the_adverts_online_and_gaps_from_the_others() {
    let property = property(&three());
    let dwelling = &property["habitation"];
    assert_eq!(
        (&dwelling["roomCount"], &dwelling["bedroomCount"]),
        (&json!(4), &json!(2))
    );
    assert_eq!(dwelling["surface"]["total"], 62);
    assert_eq!(property["tags"], json!(["cave", "balcon"]));
    let images: Vec<&str> = property["medias"]["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["imageId"].as_str().unwrap())
        .collect();
    assert_eq!(images, ["1", "2", "3"]);
    assert_eq!(
        property["location"]["locationCoordinate"]["location"],
        json!([4.85, 45.76])
    );
}

#[test]
fn a_property_is_totally_offline_when_its_last_advert_is() {
    let mut members = three();
    let meta = |members: &[PropertyMember]| property(members)["meta"].clone();
    assert_eq!(meta(&members)["isTotallyOffline"], false);
    assert!(meta(&members).get("totallyOfflineAt").is_none());
    members[0].advert.is_online = Some(false);
    members[0].history.offline_at = Some(moment(20));
    assert_eq!(meta(&members)["isTotallyOffline"], true);
    assert_eq!(
        meta(&members)["totallyOfflineAt"],
        "2026-03-20T00:00:00.000Z"
    );
    assert_eq!(meta(&members)["firstSeenAt"], "2026-03-01T00:00:00.000Z");
}

#[test]
fn the_order_of_members_does_not_matter_and_the_record_is_valid() {
    let members = three();
    let expected = property(&members);
    for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0]] {
        let shuffled: Vec<PropertyMember> =
            order.iter().map(|index| members[*index].clone()).collect();
        assert_eq!(property(&shuffled), expected);
    }
    read::<Property>(&expected).unwrap();
}

#[test]
fn a_changed_price_shows_its_variations() {
    let mut one = member(1, (1, 1), json!({"currentPrice": {"value": 585_000}}));
    one.history.initial_price = Eur::new(598_000.0);
    one.history.previous_price = Eur::new(605_000.0);
    let variation = property(&[one])["price"]["variation"].clone();
    assert_eq!(
        variation,
        json!({
            "sinceLastModified": -3.31, "sincePublished": -2.17,
            "absoluteSinceLastModified": -20_000, "absoluteSincePublished": -13_000,
        })
    );
}

#[test]
fn while_an_advert_is_online_the_latest_price_is_not_that_of_one_that_went_offline() {
    let mut gone = member(
        1,
        (1, 20),
        json!({"isOnline": true, "currentPrice": {"value": 200_000}}),
    );
    let shown = member(
        2,
        (2, 9),
        json!({"isOnline": true, "currentPrice": {"value": 190_000}}),
    );
    let latest = |members: &[PropertyMember]| property(members)["price"]["latest"]["value"].clone();
    assert_eq!(latest(&[gone.clone(), shown.clone()]), 200_000);
    gone.advert.is_online = Some(false);
    assert_eq!(latest(&[gone.clone(), shown.clone()]), 190_000);
    let mut hidden = shown;
    hidden.advert.is_online = Some(false);
    assert_eq!(latest(&[gone, hidden]), 200_000);
}
