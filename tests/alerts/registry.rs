//! Alerts of accounts: who may see them, their limits, and how they are created and end.

use serde_json::json;
use toise::accounts::account;
use toise::alerts::alert::DeactivationReason;
use toise::alerts::deliveries::PageParams;
use toise::alerts::registry::{AlertRef, Error, LIST_BYTES_MAX};
use toise::alerts::request::{parse_alert, parse_alerts, parse_patch};
use toise::alerts::settings::AlertLimits;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::ListingKind;
use toise::store::new_id::NewId;

use crate::support::alerts::{AlertFixture, body, flat};

const CREATED: &[&str] = &["ALERT_MATCH_CREATED"];

#[test]
fn an_alert_reads_back_as_it_was_sent_and_belongs_to_its_account() {
    let office = AlertFixture::open();
    let filter =
        json!({"type": ["CLASS_FLAT"], "location": [{"city": "Lyon", "postalCode": "69003"}]});
    let address = office.alert(ListingKind::Property, &filter, CREATED);
    let alert = office.alerts.get(address).unwrap();
    assert_eq!(alert.search_query, json!({"filterProperty": filter}));
    assert_eq!(
        (alert.id, alert.deactivated, alert.search_name.as_str()),
        (address.id, None, "suivi")
    );
    assert_eq!(alert.match_kinds, CREATED);
    assert_eq!(alert.created_at, alert.updated_at);
    let all = office
        .alerts
        .list(office.account, ListingKind::Property, None)
        .unwrap();
    let answer = alert.to_json();
    assert_eq!(all, [answer.to_string().into_bytes()]);
    assert_eq!(answer["alert_id"], json!(address.id));
    assert_eq!(
        (
            &answer["activated"],
            &answer["match"],
            answer.get("context")
        ),
        (&json!(true), &json!(CREATED), None)
    );
    let stranger = account::find_or_create(&office.store, &office.clock, "stranger").unwrap();
    let patch = || parse_patch(ListingKind::Property, &json!({"search_name": "x"})).unwrap();
    for address in [
        AlertRef {
            account: stranger.account_id,
            ..address
        },
        AlertRef {
            subject: ListingKind::Advert.into(),
            ..address
        },
        AlertRef {
            id: FlxId(uuid::Uuid::now_v7()),
            ..address
        },
    ] {
        assert!(matches!(office.alerts.get(address), Err(Error::NoAlert)));
        assert!(matches!(
            office.alerts.history(address, 0, 1),
            Err(Error::NoAlert)
        ));
        assert!(matches!(
            office.alerts.patch(address, patch()),
            Err(Error::NoAlert)
        ));
        assert!(matches!(
            office.alerts.activate(address),
            Err(Error::NoAlert)
        ));
        assert!(matches!(office.alerts.delete(address), Err(Error::NoAlert)));
        assert_eq!(
            office
                .alerts
                .list(stranger.account_id, ListingKind::Property, None)
                .unwrap(),
            Vec::<Vec<u8>>::new()
        );
    }
}

#[test]
fn a_patch_changes_what_it_names_and_has_the_alert_active() {
    let office = AlertFixture::open();
    let address = office.alert(ListingKind::Advert, &json!({}), CREATED);
    office.patch(address, json!({"context": {"metadata": {"customer": 7}}}));
    office.alerts.delete(address).unwrap();
    office.clock.advance_ms(5_000);
    let ended = office.alerts.get(address).unwrap();
    assert_eq!(ended.deactivated, Some(DeactivationReason::Deleted));
    office.patch(
        address,
        json!({"match": ["ALERT_MATCH_ADVERT_EVENT"], "webhook_url": "https://autre.example/"}),
    );
    let alert = office.alerts.get(address).unwrap();
    assert_eq!(alert.deactivated, None);
    assert_eq!(alert.match_kinds, ["ALERT_MATCH_ADVERT_EVENT"]);
    assert_eq!(alert.webhook_url, "https://autre.example/");
    assert_eq!(
        (&alert.context, &alert.search_query),
        (&ended.context, &ended.search_query)
    );
    assert!(alert.context.is_some() && alert.updated_at > alert.created_at);
    office.patch(address, json!({"context": {}}));
    assert_eq!(office.alerts.get(address).unwrap().context, None);
    office.alerts.delete(address).unwrap();
    office.alerts.activate(address).unwrap();
    assert_eq!(office.alerts.get(address).unwrap().deactivated, None);
}

#[test]
fn an_account_has_room_for_so_many_active_alerts_of_so_many_conditions() {
    let office = AlertFixture::with(AlertLimits {
        per_account_max: 2,
        kept_per_account_max: 3,
        conditions_max: 3,
    });
    let codes = |count: u32| -> Vec<_> {
        (0..count)
            .map(|code| json!({"postalCode": format!("{:05}", 1_000 + code)}))
            .collect()
    };
    let wide = body(
        ListingKind::Property,
        &json!({"location": codes(4)}),
        CREATED,
    );
    let small = body(
        ListingKind::Property,
        &json!({"location": codes(3)}),
        CREATED,
    );
    let (account, listing) = (office.account, ListingKind::Property);
    let many = json!({"alerts": [wide, small, {"match": 1}, small, small]});
    let made = office
        .alerts
        .create_many(
            account,
            listing,
            parse_alerts(listing, &many).unwrap(),
            NewId::Random,
        )
        .unwrap();
    let told: Vec<String> = made
        .iter()
        .map(|made| {
            made.as_ref()
                .map_or_else(ToString::to_string, |_| "made".into())
        })
        .collect();
    assert!(
        told[0].contains("search_query: must not hold more than 3 conditions"),
        "{}",
        told[0]
    );
    assert!(
        told[2].starts_with("match: must be an array"),
        "{}",
        told[2]
    );
    assert_eq!((told[1].as_str(), told[3].as_str()), ("made", "made"));
    assert!(told[4].contains("2 active alerts"), "{}", told[4]);
    let id = *made[1].as_ref().unwrap();
    let address = AlertRef {
        account,
        subject: listing.into(),
        id,
    };
    let one = || parse_alert(listing, &small).unwrap();
    office.alerts.delete(address).unwrap();
    office
        .alerts
        .create(account, listing, one(), NewId::Random)
        .unwrap();
    let activated = office.alerts.activate(address);
    assert!(matches!(activated, Err(Error::TooMany { max: 2 })));
    let patch = parse_patch(listing, &json!({"search_query": wide["search_query"]})).unwrap();
    let patched = office.alerts.patch(address, patch);
    assert!(matches!(patched, Err(Error::Refused(_))), "{patched:?}");
}

#[test]
fn ended_alerts_count_too_and_are_taken_up_again_rather_than_replaced() {
    let office = AlertFixture::with(AlertLimits {
        per_account_max: 2,
        kept_per_account_max: 3,
        conditions_max: 3,
    });
    let (account, listing) = (office.account, ListingKind::Advert);
    let make = || {
        let body = body(listing, &json!({}), CREATED);
        let alert = parse_alert(listing, &body).unwrap();
        office.alerts.create(account, listing, alert, NewId::Random)
    };
    let mut last = None;
    for _ in 0..3 {
        let id = make().unwrap();
        let address = AlertRef {
            account,
            subject: listing.into(),
            id,
        };
        office.alerts.delete(address).unwrap();
        last = Some(address);
    }
    let refused = make().unwrap_err();
    assert!(matches!(refused, Error::TooManyKept { max: 3 }));
    office.alerts.activate(last.unwrap()).unwrap();
    let page = Some(PageParams { skip: 1, take: 1 });
    let pages = [None, page].map(|page| office.alerts.list(account, listing, page).unwrap().len());
    assert_eq!(pages, [3, 1]);
}

#[test]
fn alerts_that_fill_more_than_an_answer_are_listed_in_parts_and_loaded_in_pieces() {
    let office = AlertFixture::open();
    let listing = ListingKind::Property;
    let large =
        json!({"location": [{"postalCode": "69003", "city": {"name": "x".repeat(60_000)}}]});
    let alerts = LIST_BYTES_MAX / 60_000 + 1;
    for _ in 0..alerts {
        office.alert(listing, &large, CREATED);
    }
    let listed = |page| office.alerts.list(office.account, listing, page);
    assert!(matches!(listed(None), Err(Error::TooLong)));
    let page = Some(PageParams { skip: 0, take: 100 });
    assert_eq!(listed(page).unwrap().len(), 100);
    // More than one chunk of compilation: every alert is still found.
    office.take_one(flat("a", 1, 1));
    let (told, _) = office.notifications_after(0);
    assert_eq!(told.len(), alerts);
}
