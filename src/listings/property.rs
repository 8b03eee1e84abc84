//! One property from the adverts that offer it: a function of its members alone, so any order of arrival ends the same.
//!
//! Title, description and first price come from the advert seen first, the latest price from the one seen last online,
//! pictures are the union. Every other value comes from the first member, in order of first sighting with those online
//! before those offline, that has one: so values neither flicker with each sighting nor stay with a dead advert.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::change::History;
use super::complete::{Derived, per_area, priced_area};
use crate::wire::listings::codes::{FlxId, Timestamp};
use crate::wire::listings::market::Meta;
use crate::wire::listings::medias::Medias;
use crate::wire::listings::place::{AdLocation, CompleteLatLng, Location};
use crate::wire::listings::price::{Price, PropertyPrice, Source, Variation};
use crate::wire::listings::scalars::{Eur, EurChange, Percent};
use crate::wire::listings::{Advert, Property, PropertyAdvert};

/// Most images of a property: what a list of a record may hold.
const IMAGES_MAX: usize = crate::wire::read::LIST_ITEMS_MAX;
/// Most tags of a property.
const TAGS_MAX: usize = crate::wire::read::LIST_ITEMS_MAX;

/// An advert of a property.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its record, complete.
    pub advert: Advert,
    /// What is remembered beside it.
    pub history: History,
    /// What of it was derived.
    pub derived: Derived,
}

impl Member {
    fn is_online(&self) -> bool {
        self.advert.is_online.unwrap_or(true)
    }
}

/// The property that members make; they may come in any order, none is an empty property.
pub fn of_members(property_id: FlxId, members: &[Member]) -> Property {
    let mut seen: Vec<&Member> = members.iter().collect();
    seen.sort_by_key(|member| (member.history.first_seen_at, member.advert.flx_id));
    let mut present = seen.clone();
    present.sort_by_key(|member| !member.is_online());
    let first = seen.first().map(|member| &member.advert);
    let adverts: Vec<&Advert> = present.iter().map(|member| &member.advert).collect();
    Property {
        adverts: seen.iter().map(|member| of_property(member)).collect(),
        description: first.and_then(|advert| advert.description.clone()),
        flx_id: Some(property_id),
        habitation: united(adverts.iter().map(|advert| advert.habitation.as_ref())),
        has_anomaly: Some(
            adverts
                .iter()
                .any(|advert| advert.has_anomaly == Some(true)),
        ),
        is_urgent: any_known(adverts.iter().map(|advert| advert.is_urgent)),
        land: united(adverts.iter().map(|advert| advert.land.as_ref())),
        location: location(&present),
        medias: medias(&seen),
        meta: Some(meta(&seen)),
        parking: united(adverts.iter().map(|advert| advert.parking.as_ref())),
        price: price(&seen),
        process: adverts.iter().find_map(|advert| advert.process),
        tags: tags(&seen),
        title: first.and_then(|advert| advert.title.clone()),
        class: adverts.iter().find_map(|advert| advert.class),
        offer: united(adverts.iter().map(|advert| advert.offer.as_ref())),
    }
}

fn of_property(member: &Member) -> PropertyAdvert {
    let advert = member.advert.clone();
    let position = advert
        .location
        .and_then(|place| place.location_coordinate?.location);
    PropertyAdvert {
        description: advert.description,
        first_seen_at: Some(member.history.first_seen_at),
        flx_id: advert.flx_id,
        is_online: advert.is_online,
        last_seen_at: Some(member.history.observed_at),
        location: position,
        medias: advert.medias,
        price: Some(price_of(member)),
        source: advert.source,
        url: advert.url,
        title: advert.title,
        offline_at: member.history.offline_at,
        has_anomaly: advert.has_anomaly,
        is_pro: advert.is_pro,
        seller: advert.seller,
        is_exclusive: advert.is_exclusive,
        contact_in_charge: advert.contact_in_charge,
    }
}

/// True when one says so, false when one denies it and none says so.
fn any_known(flags: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    flags.flatten().reduce(|one, other| one || other)
}

/// The first part with its gaps filled by the others.
fn united<'p, T>(parts: impl Iterator<Item = Option<&'p T>>) -> Option<T>
where
    T: Clone + Serialize + DeserializeOwned + 'p,
{
    let mut parts = parts.flatten();
    let first = parts.next()?;
    let Some(second) = parts.next() else {
        return Some(first.clone());
    };
    let mut whole = object(first);
    for part in std::iter::once(second).chain(parts) {
        fill(&mut whole, object(part));
    }
    // The fields of valid parts make a valid whole.
    let whole = T::deserialize(Value::Object(whole));
    Some(whole.unwrap_or_else(|_| first.clone()))
}

fn object(part: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(part) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn fill(whole: &mut Map<String, Value>, part: Map<String, Value>) {
    for (field, value) in part {
        match (whole.get_mut(&field), value) {
            (None, value) => {
                whole.insert(field, value);
            }
            (Some(Value::Object(inner)), Value::Object(more)) => fill(inner, more),
            (Some(Value::Array(items)), Value::Array(more)) if items.is_empty() => *items = more,
            (Some(_), _) => {}
        }
    }
}

/// The place of the member whose position was given, else of the first; codes are never mixed between communes.
fn location(present: &[&Member]) -> Option<Location> {
    let placed: Vec<&&Member> = present
        .iter()
        .filter(|member| member.advert.location.is_some())
        .collect();
    let has_own_position = |member: &&&&Member| {
        let place = member.advert.location.as_ref();
        let has_position = place.is_some_and(|place| place.location_coordinate.is_some());
        has_position && !member.derived.contains(Derived::POSITION)
    };
    let best = placed.iter().find(has_own_position).or(placed.first())?;
    let best = best.advert.location.as_ref()?;
    let same_commune = placed
        .iter()
        .filter_map(|member| member.advert.location.as_ref())
        .filter(|place| place.insee_code.is_some() && place.insee_code == best.insee_code);
    let whole = united(std::iter::once(best).chain(same_commune).map(Some))?;
    let AdLocation {
        city,
        city_coordinate,
        department,
        insee_code,
        iris_code,
        location_coordinate,
        postal_code,
    } = whole;
    let point = |location| CompleteLatLng { location };
    Some(Location {
        city,
        city_coordinate: city_coordinate.map(|centre| point(centre.location)),
        department,
        insee_code,
        iris_code,
        location_coordinate: location_coordinate.map(|position| point(position.location)),
        postal_code,
    })
}

/// Every picture once: portals copy each other's, with their identifier or with their hashes.
fn medias(seen: &[&Member]) -> Option<Medias> {
    let mut all: Option<Medias> = None;
    for medias in seen
        .iter()
        .filter_map(|member| member.advert.medias.as_ref())
    {
        let Some(all) = &mut all else {
            all = Some(medias.clone());
            continue;
        };
        for image in &medias.images {
            let is_known = all.images.iter().any(|known| {
                known.image_id == image.image_id
                    || (
                        &known.perceptual_hash,
                        &known.mean_hash,
                        &known.gaussian_hash,
                    ) == (
                        &image.perceptual_hash,
                        &image.mean_hash,
                        &image.gaussian_hash,
                    )
            });
            if !is_known && all.images.len() < IMAGES_MAX {
                all.images.push(image.clone());
            }
        }
        for visit in &medias.virtual_visit_external_url {
            if !all.virtual_visit_external_url.contains(visit) {
                all.virtual_visit_external_url.push(visit.clone());
            }
        }
        all.virtual_visit_external_url.truncate(IMAGES_MAX);
    }
    all
}

fn tags(seen: &[&Member]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in seen.iter().flat_map(|member| &member.advert.tags) {
        if tags.len() < TAGS_MAX && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}

fn meta(seen: &[&Member]) -> Meta {
    let latest =
        |moment: fn(&History) -> Timestamp| seen.iter().map(|member| moment(&member.history)).max();
    let is_totally_offline = !seen.iter().any(|member| member.is_online());
    let offline_at = seen
        .iter()
        .filter_map(|member| member.history.offline_at)
        .max();
    Meta {
        first_seen_at: seen.first().map(|member| member.history.first_seen_at),
        is_totally_offline: Some(is_totally_offline),
        last_published_at: latest(|history| history.published_at),
        last_seen_at: latest(|history| history.observed_at),
        last_updated_at: latest(|history| history.modified_at),
        totally_offline_at: offline_at.filter(|_| is_totally_offline),
    }
}

fn price(seen: &[&Member]) -> Option<Price> {
    let first = seen.first()?;
    let last_online = |member: &&&Member| (member.history.online_at, member.is_online());
    let last = seen.iter().max_by_key(last_online)?;
    let (of_first, of_last) = (price_of(first), price_of(last));
    let initial = of_first
        .initial
        .map(|price| with_source(price, &first.advert));
    let latest = of_last.latest.map(|price| with_source(price, &last.advert));
    let value = |price: &Option<PropertyPrice>| price.as_ref().and_then(|price| price.value);
    let charges = united(seen.iter().map(|member| member.advert.charges.as_ref()));
    Some(Price {
        variation: variation(value(&initial), last.history.previous_price, value(&latest)),
        initial,
        latest,
        charges,
        ..of_last
    })
}

/// The price of one advert, and how it moved.
fn price_of(member: &Member) -> Price {
    let advert = &member.advert;
    let latest = advert.current_price.as_ref();
    let value = latest.and_then(|price| price.value);
    let first = member.history.initial_price;
    let area = priced_area(advert);
    let initial = first.map(|first| PropertyPrice {
        value: Some(first),
        value_per_area: area.and_then(|area| per_area(first.get(), area)),
        ..PropertyPrice::default()
    });
    Price {
        currency: advert.currency,
        initial,
        is_auction: advert.is_auction,
        latest: latest.map(|price| PropertyPrice {
            value: price.value,
            value_per_area: price.value_per_area,
            ..PropertyPrice::default()
        }),
        scope: advert.scope,
        warranty_deposit: advert.warranty_deposit,
        variation: variation(first, member.history.previous_price, value),
        charges: advert.charges.clone(),
    }
}

fn with_source(price: PropertyPrice, advert: &Advert) -> PropertyPrice {
    let source = Source {
        flx_id: advert.flx_id,
        url: advert.url.clone(),
        website: advert.source.clone(),
    };
    PropertyPrice {
        source: Some(source),
        ..price
    }
}

/// How a price moved; `None` for one that never did.
fn variation(first: Option<Eur>, previous: Option<Eur>, latest: Option<Eur>) -> Option<Variation> {
    if previous.is_none() && first == latest {
        return None;
    }
    let latest = latest?.get();
    let percent = |from: Option<Eur>| {
        let from = from?.get();
        Percent::new(((latest - from) / from * 10_000.0).round() / 100.0)
    };
    let absolute =
        |from: Option<Eur>| EurChange::new(((latest - from?.get()) * 100.0).round() / 100.0);
    Some(Variation {
        since_last_modified: percent(previous),
        since_published: percent(first),
        absolute_since_last_modified: absolute(previous),
        absolute_since_published: absolute(first),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listings::change::Sighting;
    use crate::wire::read::read;
    use serde_json::json;
    use uuid::Uuid;

    fn moment(day: u32) -> Timestamp {
        Timestamp::parse(&format!("2026-03-{day:02}")).unwrap()
    }

    /// A member seen from one day to another.
    fn member(id: u128, days: (u32, u32), mut record: Value) -> Member {
        record["flxId"] = json!(Uuid::from_u128(id));
        let advert: Advert = read(&record).unwrap();
        let history = History::begin(Sighting::of(&advert, moment(days.1), moment(days.0)));
        Member {
            advert,
            history,
            derived: Derived::default(),
        }
    }

    fn property(members: &[Member]) -> Value {
        serde_json::to_value(of_members(FlxId(Uuid::from_u128(1)), members)).unwrap()
    }

    fn image(id: &str, hash: &str) -> Value {
        json!({"imageId": id, "gaussianHash": hash, "meanHash": hash, "perceptualHash": hash})
    }

    fn three() -> [Member; 3] {
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
        let meta = |members: &[Member]| property(members)["meta"].clone();
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
    fn the_order_of_members_does_not_matter_and_the_record_reads_as_its_type() {
        let members = three();
        let expected = property(&members);
        for order in [[0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            let shuffled: Vec<Member> = order.iter().map(|index| members[*index].clone()).collect();
            assert_eq!(property(&shuffled), expected);
        }
        read::<Property>(&expected).unwrap();
    }

    #[test]
    fn a_price_that_moved_tells_since_when_by_how_much() {
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
}
