//! Compares random alerts with a model over the lives of adverts, ingested one by one or in groups. In the model, a
//! first match is a record that a plain evaluation of the filter selects. It is announced if the filter did not select
//! the record before. Later notifications depend only on what was matched.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use toise::alerts::registry::AlertRef;
use toise::contract::listings::codes::FlxId;
use toise::contract::listings::filters::ListingKind;
use toise::listings::adverts::prepare::ContentChange;
use toise::listings::load::ingest::IngestReceipt;
use toise::synth::adverts::level::DistortionLevel;
use toise::synth::adverts::{AdvertsRequest, MarketDensity, MarketGenerator};

use crate::support::alerts::{AlertFixture, flat, listing_of, with};
use crate::support::draw::Draw;
use crate::support::{listings, reference_listings};

/// What happens between two adverts.
enum Act {
    Make(ListingKind, Value, Vec<&'static str>),
    Patch(usize, Value),
    Delete(usize),
    Activate(usize),
}

/// An alert in the model.
struct ModelAlert {
    address: AlertRef,
    number: i64,
    filter: Value,
    kinds: Vec<&'static str>,
    is_active: bool,
    matched: BTreeSet<FlxId>,
}

/// A notification of an alert: its number, the branch, the item, and the kind of event if there is one.
type NotificationTuple = (i64, String, FlxId, Value);

impl ModelAlert {
    fn wants(&self, kind: &str) -> bool {
        self.kinds.iter().any(|own| own.ends_with(kind))
    }

    /// Evaluates an item that the alert has not matched before.
    fn expect_first(
        &mut self,
        item: &JudgedItem,
        id: FlxId,
        expected: &mut Vec<NotificationTuple>,
        counts: &mut Counts,
    ) {
        let finds = |record: &Value| reference_listings::matches(record, &self.filter);
        if !finds(&item.record) {
            return;
        }
        if item.former.iter().any(finds) {
            counts.stale += 1;
            // An item that was only seen again is not recorded.
            if !item.is_seen_again {
                self.matched.insert(id);
            }
            return;
        }
        counts.by_sighting += usize::from(item.is_seen_again);
        self.matched.insert(id);
        if self.wants("CREATED") {
            expected.push((self.number, "created".into(), id, Value::Null));
            counts.created += 1;
        } else {
            counts.silent += 1
        }
    }
}

/// A record to be judged.
struct JudgedItem {
    record: Value,
    /// The records before: its own, and those of properties that were merged into it.
    former: Vec<Value>,
    /// Whether only its moments differ from before.
    is_seen_again: bool,
}

impl JudgedItem {
    fn new(record: Value, former: Vec<Value>, change: ContentChange) -> Self {
        let record = reference_listings::with_both_floors(record);
        let is_same = |former: &Value| without_moments(former) == without_moments(&record);
        Self {
            is_seen_again: change == ContentChange::Unchanged
                && former.len() == 1
                && former.iter().all(is_same),
            record,
            former,
        }
    }
}

/// A record with the same moment everywhere.
fn without_moments(record: &Value) -> Value {
    match record {
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), without_moments(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(without_moments).collect(),
        Value::String(text) if text.parse::<chrono::DateTime<chrono::Utc>>().is_ok() => {
            json!("a moment")
        }
        other => other.clone(),
    }
}

/// Listings with their alerts.
struct AlertsFixture {
    office: AlertFixture,
    alerts: Vec<ModelAlert>,
    /// Adverts of each property that was not merged into another.
    members: BTreeMap<FlxId, BTreeSet<FlxId>>,
    /// The latest record of each property and each advert.
    properties: HashMap<FlxId, Value>,
    adverts: HashMap<FlxId, Value>,
    last_told: i64,
}

/// The number of checks of each kind.
#[derive(Debug, Default)]
struct Counts {
    seen_again: usize,
    properties_joined: usize,
    judged: usize,
    created: usize,
    silent: usize,
    /// First matches of items that matched before.
    stale: usize,
    /// First matches of items that were seen again unchanged.
    by_sighting: usize,
    matched_by_moving: usize,
    merged: usize,
    events: usize,
}

/// Mostly conditions that a record fulfils; sometimes any filter.
fn filter(listing: ListingKind, record: Option<&Value>, draw: &mut Draw) -> Value {
    let Some(record) = record.filter(|_| !draw.once_in(4)) else {
        return listings::filter(listing.filter_model(), draw);
    };
    let mut filter = json!({});
    for _ in 0..1 + draw.below(4) {
        let place = &record["location"];
        let position = &place["locationCoordinate"]["location"];
        let pin = json!({"lat": position[1], "lon": position[0]});
        let around = json!({"geoDistance": {"pin": pin, "distanceKm": draw.one_of(&[0.4, 3.0, 25.0, 300.0])}});
        let near = |value: &Value, share: f64| json!(value.as_f64().unwrap_or(1.0) * share);
        let total = &record["habitation"]["surface"]["total"];
        let (price, area) = match listing {
            ListingKind::Property => (&record["price"]["latest"]["value"], total),
            ListingKind::Advert => (&record["currentPrice"]["value"], total),
        };
        let range = match draw.below(3) {
            0 => json!({"max": near(price, 1.02)}),
            1 => json!({"max": near(price, 0.97)}),
            _ => json!({"min": near(price, 0.9), "max": near(price, 1.1)}),
        };
        match draw.below(10) {
            9 if listing == ListingKind::Advert => {
                filter["propertyFlxId"] = json!([record["propertyFlxId"]]);
            }
            0 | 1 => {
                let key = *draw.one_of(&["postalCode", "inseeCode", "department"]);
                let mut entries = vec![json!({ (key): place[key] })];
                if draw.once_in(3) && position.is_array() {
                    entries.push(json!({"locationCoordinate": {"location": around}}));
                }
                filter["location"] = match listing {
                    ListingKind::Property => json!(entries),
                    ListingKind::Advert => entries.remove(0),
                };
            }
            2 if position.is_array() => {
                let entry = json!({"locationCoordinate": {"location": around}});
                filter["location"] = match listing {
                    ListingKind::Property => json!([entry]),
                    ListingKind::Advert => entry,
                };
            }
            3 => filter["type"] = json!([record["type"], "CLASS_LAND"]),
            4 => filter["offer"] = json!([{"type": record["offer"]["type"]}]),
            5 | 6 => match listing {
                ListingKind::Property => filter["price"] = json!({"latest": {"value": range}}),
                ListingKind::Advert => filter["currentPrice"] = json!({"value": range}),
            },
            7 => filter["habitation"] = json!({"surface": {"total": {"min": near(area, 0.9)}}}),
            _ => match listing {
                ListingKind::Property if draw.once_in(2) => {
                    let website = &record["adverts"][0]["source"];
                    filter["adverts"] = json!([{"source": {"website": website}, "isOnline": true}]);
                }
                ListingKind::Property => {
                    filter["meta"] = json!({"isTotallyOffline": draw.once_in(4)})
                }
                ListingKind::Advert => filter["isOnline"] = json!(!draw.once_in(4)),
            },
        }
    }
    filter
}

fn kinds(listing: ListingKind, draw: &mut Draw) -> Vec<&'static str> {
    let second = match listing {
        ListingKind::Property => "ALERT_MATCH_MERGED",
        ListingKind::Advert => "ALERT_MATCH_ADVERT_EVENT",
    };
    match draw.below(4) {
        0 => vec!["ALERT_MATCH_CREATED"],
        1 => vec![second],
        _ => vec!["ALERT_MATCH_CREATED", second],
    }
}

impl AlertsFixture {
    fn open() -> Self {
        Self {
            office: AlertFixture::open(),
            alerts: Vec::new(),
            members: BTreeMap::new(),
            properties: HashMap::new(),
            adverts: HashMap::new(),
            last_told: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Make(listing, filter, kinds) => {
                let address = self.office.alert(*listing, filter, kinds);
                self.alerts.push(ModelAlert {
                    address,
                    number: self.office.alerts.get(address).unwrap().number,
                    filter: filter.clone(),
                    kinds: kinds.clone(),
                    is_active: true,
                    matched: BTreeSet::new(),
                });
            }
            Act::Patch(nth, filter) => {
                let kept = &mut self.alerts[*nth];
                let key = listing_of(kept.address).filter_key();
                self.office
                    .patch(kept.address, json!({"search_query": {(key): filter}}));
                (kept.filter, kept.is_active) = (filter.clone(), true);
            }
            Act::Delete(nth) => {
                self.office
                    .alerts
                    .delete(self.alerts[*nth].address)
                    .unwrap();
                self.alerts[*nth].is_active = false;
            }
            Act::Activate(nth) => {
                self.office
                    .alerts
                    .activate(self.alerts[*nth].address)
                    .unwrap();
                self.alerts[*nth].is_active = true;
            }
        }
    }

    /// Ingests an advert, and compares the notifications of alerts with the contract.
    fn take_and_judge(&mut self, advert: Value, counts: &mut Counts) -> IngestReceipt {
        let receipt = self.office.take_one(advert);
        let mut expected = Vec::new();
        let change = receipt.change;
        counts.seen_again += usize::from(change == ContentChange::Unchanged);
        let moved = self.expect_of_property(&receipt, &mut expected, counts);
        let events = match change {
            ContentChange::Unchanged => json!([]),
            _ => serde_json::to_value(&receipt.events).unwrap(),
        };
        self.expect_of_advert(receipt.flx_id, change, &events, &mut expected, counts);
        for advert in moved.into_iter().filter(|moved| *moved != receipt.flx_id) {
            let before = counts.created + counts.silent;
            let change = ContentChange::Updated;
            self.expect_of_advert(advert, change, &json!([]), &mut expected, counts);
            counts.matched_by_moving += counts.created + counts.silent - before;
        }
        let (told, last) = self.office.notifications_after(self.last_told);
        self.last_told = last;
        let mut told: Vec<_> = told
            .into_iter()
            .map(|told| {
                (
                    told.alert,
                    told.branch,
                    told.item,
                    told.record["event"]["type"].clone(),
                )
            })
            .collect();
        // The order between alerts does not matter; the order of each alert does.
        told.sort_by_key(|told| told.0);
        expected.sort_by_key(|told: &NotificationTuple| told.0);
        assert_eq!(told, expected, "{receipt:?}");
        receipt
    }

    /// Returns the adverts that joined this property, in order of arrival.
    fn expect_of_property(
        &mut self,
        receipt: &IngestReceipt,
        expected: &mut Vec<NotificationTuple>,
        counts: &mut Counts,
    ) -> BTreeSet<FlxId> {
        let record = self
            .office
            .record(ListingKind::Property, receipt.property_flx_id);
        let id = FlxId::parse(record["flxId"].as_str().unwrap()).unwrap();
        let adverts = record["adverts"].as_array().unwrap().iter();
        let parse = |id: &Value| FlxId::parse(id.as_str().unwrap()).unwrap();
        let now: BTreeSet<FlxId> = adverts.map(|advert| parse(&advert["flxId"])).collect();
        // Properties that were merged into this one, which now has their adverts.
        let joined: Vec<FlxId> = self
            .members
            .iter()
            .filter(|(other, own)| **other != id && own.iter().any(|advert| now.contains(advert)))
            .map(|(other, _)| *other)
            .collect();
        counts.properties_joined += joined.len();
        let mut moved = BTreeSet::new();
        let mut former = Vec::from_iter(self.properties.remove(&id));
        for other in &joined {
            former.extend(self.properties.remove(other));
            moved.extend(self.members.remove(other).unwrap());
            for kept in &mut self.alerts {
                // From now on it has matched the surviving property.
                if listing_of(kept.address) == ListingKind::Property && kept.matched.contains(other)
                {
                    kept.matched.insert(id);
                }
            }
        }
        let known = self.members.insert(id, now.clone());
        let grew = known.is_some_and(|known| !now.is_subset(&known)) || !joined.is_empty();
        let item = JudgedItem::new(record, former, receipt.change);
        for kept in &mut self.alerts {
            if listing_of(kept.address) != ListingKind::Property || !kept.is_active {
                continue;
            }
            counts.judged += 1;
            if kept.matched.contains(&id) {
                if grew && kept.wants("MERGED") {
                    expected.push((kept.number, "updated".into(), id, Value::Null));
                    counts.merged += 1;
                }
            } else {
                kept.expect_first(&item, id, expected, counts);
            }
        }
        self.properties.insert(id, item.record);
        moved
    }

    fn expect_of_advert(
        &mut self,
        id: FlxId,
        change: ContentChange,
        events: &Value,
        expected: &mut Vec<NotificationTuple>,
        counts: &mut Counts,
    ) {
        let record = self.office.record(ListingKind::Advert, id);
        let item = JudgedItem::new(record, Vec::from_iter(self.adverts.remove(&id)), change);
        for kept in &mut self.alerts {
            if listing_of(kept.address) != ListingKind::Advert || !kept.is_active {
                continue;
            }
            counts.judged += 1;
            if kept.matched.contains(&id) {
                for event in events.as_array().unwrap() {
                    if kept.wants("ADVERT_EVENT") {
                        expected.push((kept.number, "updated".into(), id, event["type"].clone()));
                        counts.events += 1;
                    }
                }
            } else {
                kept.expect_first(&item, id, expected, counts);
            }
        }
        self.adverts.insert(id, item.record);
    }

    /// The notifications of each alert so far, with the URLs of items instead of their random identifiers.
    fn story(&self, urls: &HashMap<FlxId, String>) -> Vec<Vec<(String, String, Value)>> {
        let (all, _) = self.office.notifications_after(0);
        let of = |kept: &ModelAlert| {
            let own = all.iter().filter(|told| told.alert == kept.number);
            own.map(|told| {
                let event = told.record["event"].clone();
                (told.branch.clone(), urls[&told.item].clone(), event)
            })
            .collect()
        };
        self.alerts.iter().map(of).collect()
    }
}

/// The same act for properties that have other identifiers.
fn translated(act: &Act, ids: &HashMap<FlxId, FlxId>) -> Act {
    let translated = |filter: &Value| {
        let mut filter = filter.clone();
        let own = filter
            .get_mut("propertyFlxId")
            .and_then(Value::as_array_mut);
        for id in own.into_iter().flatten() {
            let known = id.as_str().and_then(FlxId::parse);
            if let Some(other) = known.and_then(|known| ids.get(&known)) {
                *id = json!(other);
            }
        }
        filter
    };
    match act {
        Act::Make(listing, filter, kinds) => Act::Make(*listing, translated(filter), kinds.clone()),
        Act::Patch(nth, filter) => Act::Patch(*nth, translated(filter)),
        Act::Delete(nth) => Act::Delete(*nth),
        Act::Activate(nth) => Act::Activate(*nth),
    }
}

/// The same advert, seen again unchanged.
fn a_moment_later(sighting: &Value) -> Value {
    let moment = reference_listings::start(sighting["lastSeenAt"].as_str().unwrap());
    let later = moment + chrono::Duration::milliseconds(1);
    with(sighting.clone(), json!({"lastSeenAt": later.to_rfc3339()}))
}

/// One of some flats as a portal shows it now: as a separate flat, or corrected to one that other portals show too.
fn corrected(minute: i64, draw: &mut Draw) -> Value {
    let number = draw.below(72) as u64;
    let asset = if draw.once_in(2) {
        number
    } else {
        number - number % 3
    };
    let portal = ["a", "b", "c"][number as usize % 3];
    let flat = flat(portal, number, asset);
    let moment = reference_listings::start("2026-11-02") + chrono::Duration::minutes(minute);
    with(
        flat,
        json!({"lastSeenAt": moment.to_rfc3339(), "isOnline": !draw.once_in(4)}),
    )
}

fn draw_act(desk: &AlertsFixture, last: Option<&IngestReceipt>, draw: &mut Draw) -> Act {
    let count = desk.alerts.len();
    let filter_of = |listing, draw: &mut Draw| {
        if draw.once_in(6) {
            // Sightings that change nothing else move flats into this search.
            let moment = reference_listings::start("2026-11-02")
                + chrono::Duration::minutes(draw.below(500) as i64);
            return json!({"meta": {"lastSeenAt": {"min": moment.to_rfc3339()}}});
        }
        if listing == ListingKind::Advert && draw.once_in(4) && !desk.members.is_empty() {
            // Adverts move into this one with their property.
            let all = Vec::from_iter(desk.members.keys());
            let some: Vec<&FlxId> = (0..40).map(|_| *draw.one_of(&all)).collect();
            return json!({"propertyFlxId": some});
        }
        let record = last.map(|receipt| match listing {
            ListingKind::Property => desk.office.record(listing, receipt.property_flx_id),
            ListingKind::Advert => desk.office.record(listing, receipt.flx_id),
        });
        filter(listing, record.as_ref(), draw)
    };
    match draw.below(10) {
        0 if count > 20 => Act::Delete(draw.below(count)),
        1 | 2 if count > 20 => Act::Activate(draw.below(count)),
        3 if count > 20 => {
            let nth = draw.below(count);
            Act::Patch(nth, filter_of(listing_of(desk.alerts[nth].address), draw))
        }
        _ => {
            let listing = *draw.one_of(&[ListingKind::Property, ListingKind::Advert]);
            Act::Make(listing, filter_of(listing, draw), kinds(listing, draw))
        }
    }
}

#[test]
fn a_first_match_is_what_a_plain_reading_finds_and_the_rest_follows_it() {
    let mut draw = Draw::new(81);
    let mut counts = Counts::default();
    let (mut one_by_one, mut together) = (AlertsFixture::open(), AlertsFixture::open());
    let request = AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(600, 9, DistortionLevel::Light)
    };
    let market = MarketGenerator::new(request);
    let mut sightings = market
        .observations()
        .map(|seen| serde_json::to_value(seen.advert).unwrap());
    let mut urls = [HashMap::new(), HashMap::new()];
    let mut ids = HashMap::new();
    let (mut last, mut minute) = (None, 0);
    for _ in 0..24 {
        for _ in 0..8 {
            let act = draw_act(&one_by_one, last.as_ref(), &mut draw);
            one_by_one.act(&act);
            together.act(&translated(&act, &ids));
        }
        let mut batch = Vec::new();
        for sighting in sightings.by_ref().take(1 + draw.below(60)) {
            let again = draw.once_in(6).then(|| a_moment_later(&sighting));
            batch.push(sighting);
            batch.extend(again);
            if draw.once_in(2) {
                minute += 1;
                batch.push(corrected(minute, &mut draw));
            }
        }
        let receipts = together.office.take(batch.clone());
        for (advert, receipt) in batch.into_iter().zip(receipts) {
            let url = advert["url"].as_str().unwrap().to_owned();
            let single = one_by_one.take_and_judge(advert, &mut counts);
            assert_eq!(
                (single.change, &single.events),
                (receipt.change, &receipt.events)
            );
            if single.change == ContentChange::Created {
                ids.insert(single.flx_id, receipt.flx_id);
                urls[0].insert(single.flx_id, url.clone());
                urls[1].insert(receipt.flx_id, url);
            }
            last = Some(single);
        }
    }
    assert_eq!(one_by_one.story(&urls[0]), together.story(&urls[1]));
    for kept in &one_by_one.alerts {
        let history = one_by_one
            .office
            .alerts
            .history(kept.address, 0, 100)
            .unwrap();
        let distinct: BTreeSet<&FlxId> = history.iter().collect();
        assert_eq!(distinct.len(), history.len(), "each item once");
        assert!(history.iter().all(|id| kept.matched.contains(id)));
    }
    println!("{counts:?} of {} alerts", one_by_one.alerts.len());
    assert!(counts.judged > 40_000, "{counts:?}");
    for seen in [counts.created, counts.silent, counts.merged, counts.events] {
        assert!(seen > 200, "{counts:?}");
    }
    assert!(counts.seen_again > 50, "{counts:?}");
    assert!(counts.stale > 200, "{counts:?}");
    assert!(counts.by_sighting > 0, "{counts:?}");
    assert!(counts.properties_joined > 5, "{counts:?}");
    assert!(counts.matched_by_moving > 5, "{counts:?}");
}
