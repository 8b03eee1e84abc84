//! When an alert is notified, and when it is not.

use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Value, json};
use toise::alerts::percolate::{ActiveAlertCounts, Percolator};
use toise::alerts::registry::AlertRef;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::ListingKind;
use toise::listings::Listings;
use toise::listings::columns::{adverts, properties};
use toise::store::Store;

use crate::support::alerts::{AlertFixture, flat, with};

const CREATED: &str = "ALERT_MATCH_CREATED";
const MERGED: &str = "ALERT_MATCH_MERGED";
const EVENT: &str = "ALERT_MATCH_ADVERT_EVENT";

fn seen(portal: &str, number: u64, day: u32, fields: Value) -> Value {
    let url = flat(portal, number, 0)["url"].clone();
    let moment = format!("2026-11-{day:02}T08:00:00Z");
    with(json!({"url": url, "lastSeenAt": moment}), fields)
}

fn created(id: FlxId) -> (String, FlxId) {
    ("created".into(), id)
}

fn updated(id: FlxId) -> (String, FlxId) {
    ("updated".into(), id)
}

/// These numbers of alerts on properties and on adverts, all readable.
fn active(on_properties: usize, on_adverts: usize) -> ActiveAlertCounts {
    ActiveAlertCounts {
        on_properties,
        on_adverts,
        ..ActiveAlertCounts::default()
    }
}

fn of_properties(fixture: &AlertFixture, filter: Value) -> AlertRef {
    fixture.alert(ListingKind::Property, &filter, &[CREATED, MERGED])
}

#[test]
fn a_property_is_announced_once_and_then_told_of_with_each_advert_that_joins_it() {
    let fixture = AlertFixture::open();
    let both = of_properties(&fixture, json!({"location": [{"postalCode": "69003"}]}));
    let plain = fixture.alert(ListingKind::Property, &json!({}), &[CREATED]);
    let elsewhere = of_properties(&fixture, json!({"location": [{"postalCode": "48000"}]}));
    let first = fixture.take_one(flat("a", 1, 0)).flx_id;
    fixture.take_one(seen("a", 1, 3, json!({"currentPrice": {"value": 249_000}})));
    let joined = fixture.take_one(flat("b", 7, 0));
    assert_eq!(joined.property_flx_id, first);
    fixture.take_one(seen("b", 7, 4, json!({"isOnline": false})));
    let other = fixture.take_one(flat("b", 8, 5)).flx_id;
    fixture.assert_told(both, &[created(first), updated(first), created(other)]);
    fixture.assert_told(plain, &[created(first), created(other)]);
    fixture.assert_told(elsewhere, &[]);
    let history = |address| fixture.alerts.history(address, 0, 20).unwrap();
    assert_eq!(history(both), [other, first]);
    assert_eq!(fixture.alerts.history(both, 1, 1).unwrap(), [first]);
    assert_eq!(history(elsewhere), []);
}

#[test]
fn an_update_brings_an_item_into_a_filter_and_the_filter_is_asked_no_more() {
    let fixture = AlertFixture::open();
    let cheap = json!({"currentPrice": {"value": {"max": 240_000}}, "isOnline": true});
    let told = fixture.alert(ListingKind::Advert, &cheap, &[CREATED, EVENT]);
    let silent = fixture.alert(ListingKind::Advert, &cheap, &[EVENT]);
    let property = of_properties(
        &fixture,
        json!({"price": {"latest": {"value": {"max": 240_000}}}}),
    );
    let id = fixture.take_one(flat("a", 1, 0)).flx_id;
    fixture.assert_told(told, &[]);
    fixture.take_one(seen("a", 1, 3, json!({"currentPrice": {"value": 239_000}})));
    // The price rises, the advert goes offline and comes back: the alert follows what it has matched.
    fixture.take_one(seen("a", 1, 4, json!({"currentPrice": {"value": 300_000}})));
    fixture.take_one(seen("a", 1, 5, json!({"isOnline": false})));
    fixture.take_one(seen(
        "a",
        1,
        6,
        json!({"isOnline": true, "currentPrice": {"value": 310_000}}),
    ));
    fixture.take_one(seen("a", 1, 7, json!({"title": "Autre"})));
    let events = [updated(id), updated(id), updated(id), updated(id)];
    assert_eq!(
        fixture.notifications(told),
        [&[created(id)], &events[..]].concat()
    );
    assert_eq!(fixture.notifications(silent), events);
    fixture.assert_told(property, &[created(id)]);
    let (all, _) = fixture.notifications_after(0);
    let number = fixture.alerts.get(silent).unwrap().number;
    let records: Vec<&Value> = all
        .iter()
        .filter(|told| told.alert == number)
        .map(|told| &told.record)
        .collect();
    let expected = json!({"flxId": id, "propertyFlxId": id, "currentPrice": {"value": 300_000, "valuePerArea": 4878.05},
        "isOnline": true,
        "event": {"type": "PRICE", "occurredAt": "2026-11-04T08:00:00.000Z", "previous": {"price": 239_000}}});
    assert_eq!(*records[0], expected);
    let types: Vec<&Value> = records.iter().map(|told| &told["event"]["type"]).collect();
    assert_eq!(types, ["PRICE", "UNPUBLISHED", "REPUBLISHED", "PRICE"]);
}

#[test]
fn a_snapshot_is_the_advert_as_it_was_whole_but_for_its_charges() {
    let fixture = AlertFixture::open();
    let first = fixture.alert(ListingKind::Advert, &json!({}), &[CREATED]);
    fixture.alert(
        ListingKind::Advert,
        &json!({"type": ["CLASS_FLAT"]}),
        &[CREATED],
    );
    let id = fixture.take_one(flat("a", 1, 0)).flx_id;
    let mut expected = fixture.record(ListingKind::Advert, id);
    assert!(expected["charges"].is_object());
    expected.as_object_mut().unwrap().remove("charges");
    fixture.take_one(seen("a", 1, 3, json!({"currentPrice": {"value": 1}})));
    let (told, _) = fixture.notifications_after(0);
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].alert, fixture.alerts.get(first).unwrap().number);
    assert!(told.iter().all(|told| told.record == expected));
    let count = |connection: &rusqlite::Connection| {
        connection.query_row("SELECT count(*) FROM snapshots", [], |row| row.get(0))
    };
    let snapshots: i64 = fixture.store.read(count).unwrap();
    assert_eq!(snapshots, 1, "one occurrence is kept once");
}

#[test]
fn nothing_before_an_alert_and_nothing_while_it_is_ended_is_remembered() {
    let fixture = AlertFixture::open();
    fixture.take_one(flat("a", 1, 0));
    let alert = of_properties(&fixture, json!({}));
    fixture.take(vec![flat("a", 1, 0), seen("a", 1, 2, json!({}))]);
    assert_eq!(fixture.notifications(alert), [], "seen again as it was");
    let second = fixture.take_one(flat("a", 2, 5)).flx_id;
    fixture.alerts.delete(alert).unwrap();
    let missed = fixture.take_one(flat("a", 3, 9)).flx_id;
    fixture.take_one(flat("b", 3, 5));
    fixture.alerts.activate(alert).unwrap();
    fixture.assert_told(alert, &[created(second)]);
    // Items matched before its end are still matched. Items that it missed are not announced when they change, but
    // followed.
    fixture.take_one(flat("c", 4, 5));
    fixture.assert_told(alert, &[created(second), updated(second)]);
    fixture.take_one(seen("a", 3, 9, json!({})));
    fixture.take_one(seen("a", 3, 10, json!({"title": "Autre"})));
    fixture.assert_told(alert, &[created(second), updated(second)]);
    assert_eq!(
        fixture.alerts.history(alert, 0, 20).unwrap(),
        [missed, second]
    );
    fixture.take_one(flat("b", 4, 9));
    fixture.assert_told(alert, &[created(second), updated(second), updated(missed)]);
}

#[test]
fn what_an_alert_finds_already_there_is_not_new_when_it_changes_and_is_followed_from_then_on() {
    let fixture = AlertFixture::open();
    let old = fixture.take_one(flat("a", 1, 0)).flx_id;
    let dear = fixture.take_one(flat("a", 2, 5)).flx_id;
    let lyon = json!({"location": {"postalCode": "69003"}});
    let adverts = fixture.alert(ListingKind::Advert, &lyon, &[CREATED, EVENT]);
    let cheap = json!({"currentPrice": {"value": {"max": 255_000}}});
    let cheap = fixture.alert(ListingKind::Advert, &cheap, &[CREATED]);
    let properties = of_properties(&fixture, json!({"location": [{"postalCode": "69003"}]}));
    fixture.take_one(seen("a", 1, 3, json!({"title": "Autre"})));
    fixture.assert_told(adverts, &[]);
    fixture.assert_told(properties, &[]);
    fixture.take_one(seen("a", 1, 4, json!({"currentPrice": {"value": 240_000}})));
    fixture.take_one(flat("b", 7, 0));
    let joined = fixture.take_one(seen("b", 7, 5, json!({"title": "Le troisième"})));
    assert_eq!(joined.property_flx_id, old);
    fixture.assert_told(adverts, &[updated(old), created(joined.flx_id)]);
    fixture.assert_told(properties, &[updated(old)]);
    // An item that enters the search, or leaves and enters it again, is announced.
    fixture.take_one(seen("a", 2, 6, json!({"currentPrice": {"value": 250_000}})));
    fixture.assert_told(cheap, &[created(joined.flx_id), created(dear)]);
    let out = json!({"currentPrice": {"value": {"min": 245_000}}});
    let out = fixture.alert(ListingKind::Advert, &out, &[CREATED]);
    fixture.take(vec![
        seen("a", 2, 7, json!({"currentPrice": {"value": 240_000}})),
        seen("a", 2, 8, json!({"currentPrice": {"value": 251_000}})),
        seen("a", 2, 9, json!({"currentPrice": {"value": 252_000}})),
    ]);
    fixture.assert_told(out, &[created(dear)]);
}

#[test]
fn what_is_new_is_told_once_whatever_process_writes_it_next() {
    let fixture = AlertFixture::open();
    fixture.take_one(flat("a", 1, 0));
    let alert = of_properties(&fixture, json!({}));
    for day in 3..6 {
        // Each one starts like a server after a kill: with only the store.
        let store = Store::open(fixture.folder.path()).unwrap();
        let listings = Listings::new(store, fixture.clock.clone());
        let title = json!({"title": format!("Autre {day}")});
        let new = flat("a", 10 + u64::from(day), u64::from(day) * 3);
        for _ in 0..2 {
            let batch = vec![seen("a", 1, day, title.clone()), new.clone()];
            assert!(listings.ingest(batch).unwrap().iter().all(Result::is_ok));
        }
    }
    let told = fixture.notifications(alert);
    let distinct: std::collections::BTreeSet<_> = told.iter().map(|(_, item)| item).collect();
    assert_eq!((told.len(), distinct.len()), (3, 3));
    assert!(told.iter().all(|(branch, _)| branch == "created"));
}

#[test]
fn properties_joined_are_not_new_to_an_alert_that_one_of_them_would_have_matched() {
    let fixture = AlertFixture::open();
    let first = fixture.take_one(flat("a", 1, 0)).flx_id;
    let second = fixture.take_one(flat("b", 7, 5)).flx_id;
    let website = |name: &str| json!({"adverts": [{"source": {"website": name}}]});
    let of_second = of_properties(&fixture, website("b.example"));
    let of_neither = of_properties(
        &fixture,
        json!({"adverts": [{"source": {"website": "b.example"}}], "price": {"latest": {"value": {"max": 300_000}}}}),
    );
    let moved = fixture.alert(
        ListingKind::Advert,
        &json!({"propertyFlxId": [first]}),
        &[CREATED],
    );
    assert_eq!(fixture.listings.merge(first, second).unwrap(), first);
    fixture.assert_told(of_second, &[]);
    let latest = fixture.record(ListingKind::Property, first)["price"]["latest"]["value"].clone();
    let is_cheap = latest.as_f64().unwrap() <= 300_000.0;
    let expected = if is_cheap {
        vec![created(first)]
    } else {
        vec![]
    };
    assert_eq!(fixture.notifications(of_neither), expected);
    // The moved advert matches a search by its property.
    fixture.assert_told(moved, &[created(second)]);
    fixture.take_one(flat("c", 8, 0));
    fixture.assert_told(of_second, &[updated(first)]);
}

#[test]
fn a_sighting_that_changes_no_content_can_bring_an_item_into_a_search() {
    let fixture = AlertFixture::open();
    let first = fixture.take_one(flat("a", 1, 0)).flx_id;
    let joined = with(flat("b", 7, 0), json!({"currentPrice": {"value": 262_000}}));
    let joined = with(joined, json!({"lastSeenAt": "2026-11-02T08:00:00Z"}));
    assert_eq!(fixture.take_one(joined).property_flx_id, first);
    let latest = fixture.record(ListingKind::Property, first)["price"]["latest"]["value"].clone();
    assert_eq!(latest, 262_000);
    let cheap = of_properties(
        &fixture,
        json!({"price": {"latest": {"value": {"max": 255_000}}}}),
    );
    let recent = json!({"meta": {"lastSeenAt": {"min": "2026-11-05"}}});
    let recent = fixture.alert(ListingKind::Advert, &recent, &[CREATED]);
    let all = fixture.alert(ListingKind::Advert, &json!({}), &[CREATED]);
    // The advert seen last gives the latest price.
    fixture.take_one(seen("a", 1, 3, json!({})));
    fixture.assert_told(cheap, &[created(first)]);
    fixture.assert_told(recent, &[]);
    fixture.take_one(seen("a", 1, 6, json!({})));
    fixture.take_one(seen("a", 1, 7, json!({"title": "Autre"})));
    fixture.assert_told(recent, &[created(first)]);
    fixture.assert_told(cheap, &[created(first)]);
    fixture.assert_told(all, &[]);
}

#[test]
fn a_patched_alert_keeps_what_it_matched_and_judges_the_rest_anew() {
    let fixture = AlertFixture::open();
    let alert = of_properties(&fixture, json!({"location": [{"postalCode": "69003"}]}));
    let lyon = fixture.take_one(flat("a", 1, 0)).flx_id;
    let mende = json!({"postalCode": "48000", "city": "Mende"});
    let filter = json!({"filterProperty": {"location": [{"postalCode": "48000"}]}});
    fixture.alerts.delete(alert).unwrap();
    fixture.patch(alert, json!({"search_query": filter}));
    let in_mende = fixture.take_one(with(flat("a", 2, 5), json!({"location": mende})));
    fixture.take_one(flat("a", 3, 9));
    fixture.take_one(flat("b", 4, 0));
    fixture.assert_told(
        alert,
        &[created(lyon), created(in_mende.flx_id), updated(lyon)],
    );
}

#[test]
fn properties_that_turn_out_to_be_one_are_told_of_under_the_identifier_that_stays() {
    let fixture = AlertFixture::open();
    let of_first = of_properties(
        &fixture,
        json!({"price": {"latest": {"value": {"max": 300_000}}}}),
    );
    let of_second = of_properties(
        &fixture,
        json!({"price": {"latest": {"value": {"min": 300_000}}}}),
    );
    let of_both = of_properties(&fixture, json!({}));
    let unsubscribed = fixture.alert(ListingKind::Property, &json!({}), &[CREATED]);
    let first = fixture.take_one(flat("a", 1, 0)).flx_id;
    let second = fixture.take_one(flat("b", 7, 5)).flx_id;
    fixture.assert_told(of_first, &[created(first)]);
    fixture.assert_told(of_second, &[created(second)]);
    let corrected = with(flat("b", 7, 0), json!({"lastSeenAt": "2026-11-05"}));
    assert_eq!(fixture.take_one(corrected).property_flx_id, first);
    fixture.assert_told(of_first, &[created(first), updated(first)]);
    fixture.assert_told(of_second, &[created(second), updated(first)]);
    fixture.assert_told(of_both, &[created(first), created(second), updated(first)]);
    fixture.assert_told(unsubscribed, &[created(first), created(second)]);
    let history = |address| fixture.alerts.history(address, 0, 20).unwrap();
    for address in [of_first, of_second, of_both] {
        assert_eq!(history(address), [first], "an asset once");
    }
    // A person splits them again: each is known under its own identifier, and nothing is announced twice.
    assert_eq!(fixture.listings.split(first, &[second]).unwrap(), second);
    fixture.take_one(seen("b", 7, 9, json!({"title": "Autre"})));
    fixture.assert_told(of_second, &[created(second), updated(first)]);
    fixture.assert_told(of_both, &[created(first), created(second), updated(first)]);
    assert_eq!(history(of_both), [second, first]);
    assert_eq!(history(of_second), [second]);
}

#[test]
fn a_property_that_is_taken_out_of_another_is_judged_as_a_new_one() {
    let fixture = AlertFixture::open();
    let alert = of_properties(&fixture, json!({}));
    let first = fixture.take_one(flat("a", 1, 0)).flx_id;
    let second = fixture.take_one(flat("b", 7, 0)).flx_id;
    let parted = fixture.listings.split(first, &[second]).unwrap();
    fixture.assert_told(alert, &[created(first), updated(first), created(parted)]);
}

#[test]
fn adverts_taken_together_are_told_as_if_they_came_one_by_one() {
    let fixture = AlertFixture::open();
    let properties = of_properties(
        &fixture,
        json!({"price": {"latest": {"value": {"min": 250_000}}}}),
    );
    let adverts = fixture.alert(
        ListingKind::Advert,
        &json!({"currentPrice": {"value": {"min": 250_000}}}),
        &[CREATED, EVENT],
    );
    let receipts = fixture.take(vec![
        flat("a", 1, 0),
        seen("a", 1, 2, json!({"currentPrice": {"value": 200_000}})),
        flat("b", 7, 0),
        seen("a", 1, 3, json!({"isOnline": false})),
    ]);
    let (first, second) = (receipts[0].flx_id, receipts[2].flx_id);
    fixture.assert_told(properties, &[created(first), updated(first)]);
    fixture.assert_told(
        adverts,
        &[
            created(first),
            updated(first),
            created(second),
            updated(first),
        ],
    );
}

#[test]
fn an_alert_of_another_process_counts_from_its_commit_on() {
    let fixture = AlertFixture::open();
    let other = Listings::new(
        Store::open(fixture.folder.path()).unwrap(),
        fixture.clock.clone(),
    );
    let take = |advert: Value| {
        let outcome = other.ingest(vec![advert]).unwrap().remove(0);
        outcome.unwrap().flx_id
    };
    take(flat("a", 1, 0));
    let alert = of_properties(&fixture, json!({}));
    let second = take(flat("a", 2, 5));
    fixture.alerts.delete(alert).unwrap();
    take(flat("a", 3, 9));
    fixture.assert_told(alert, &[created(second)]);
    assert_eq!(other.active_alerts(), active(0, 0));
}

#[test]
fn an_alert_that_cannot_be_read_is_counted_and_stops_no_other() {
    let fixture = AlertFixture::open();
    let readable = of_properties(&fixture, json!({}));
    of_properties(&fixture, json!({}));
    let break_last =
        "UPDATE alerts SET search_query = '{\"filterProperty\": 1}', change = change + 1
                      WHERE alert = (SELECT max(alert) FROM alerts)";
    let broken = fixture
        .store
        .write(move |transaction| transaction.execute(break_last, []));
    assert_eq!(broken.unwrap(), 1);
    let item = fixture.take_one(flat("a", 1, 0)).flx_id;
    fixture.assert_told(readable, &[created(item)]);
    let one_unreadable = ActiveAlertCounts {
        unreadable: 1,
        ..active(1, 0)
    };
    assert_eq!(fixture.listings.active_alerts(), one_unreadable);
}

#[test]
fn alerts_in_memory_neither_run_ahead_of_the_store_nor_fall_back_to_an_older_reading() {
    let fixture = AlertFixture::open();
    let percolator = Arc::new(Percolator::new(properties(), adverts()));
    let older = fixture.store.connect_reader().unwrap();
    let begin = |connection: &Connection| {
        let turn = percolator.begin(connection, None).unwrap();
        turn.is_some_and(|turn| turn.has_property_alerts())
    };
    older
        .execute_batch("BEGIN; SELECT count(*) FROM alerts")
        .unwrap();
    of_properties(&fixture, json!({}));
    let newer = fixture.store.connect_reader().unwrap();
    assert!(begin(&newer));
    percolator.catch_up(&older).unwrap();
    assert_eq!(percolator.active(), active(1, 0));
    // A transaction that made an alert and failed.
    let seen = Arc::clone(&percolator);
    let failed = fixture.store.write(move |transaction| {
        transaction.execute(
            "INSERT INTO alerts SELECT alert + 1, randomblob(16), account_id, 'ADVERT', activated, deactivated_because,
               search_name, '{\"filterAd\": {}}', webhook_url, match_kinds, context, 0, 0, change + 1, NULL FROM alerts",
            [],
        )?;
        let turn = seen.begin(transaction, None)?;
        assert!(turn.is_some_and(|turn| turn.has_advert_alerts()));
        Err::<(), _>(rusqlite::Error::QueryReturnedNoRows)
    });
    assert!(failed.is_err());
    assert_eq!(percolator.active(), active(1, 1));
    assert!(begin(&newer));
    assert_eq!(percolator.active(), active(1, 0));
}
