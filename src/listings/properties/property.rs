//! Builds one property from the adverts that offer it.
//!
//! A pure function of the members, so the order of their arrival does not matter. Title, description and first price
//! come from the advert seen first. The latest price comes from the advert last seen online, among those that are
//! online if there are any. Pictures are the union. Every other value comes from the first member that has one, online
//! members first, each group in order of first sighting. So values do not change with each sighting, and an offline
//! advert's values give way to an online one's.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::adverts::change::AdvertHistory;
use crate::adverts::complete::{DerivedFields, per_area, priced_area};
use crate::adverts::member::PropertyMember;
use toise_contract::enums::EnumLocationPrecision;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::market::Meta;
use toise_contract::listings::medias::Medias;
use toise_contract::listings::place::{AdLocation, CompleteLatLng, Location};
use toise_contract::listings::price::{Price, PropertyPrice, Source, Variation};
use toise_contract::listings::scalars::{Eur, EurChange, Percent};
use toise_contract::listings::{Advert, Property, PropertyAdvert};

/// Maximum images of a property: the maximum length of a list in a record.
const IMAGES_MAX: usize = toise_contract::read::LIST_ITEMS_MAX;
/// Maximum tags of a property.
const TAGS_MAX: usize = toise_contract::read::LIST_ITEMS_MAX;

/// Builds a property from its members, in any order; without members it is empty.
pub fn build_property<'m>(
    property_id: FlxId,
    members: impl IntoIterator<Item = &'m PropertyMember>,
) -> Property {
    let mut seen: Vec<&PropertyMember> = members.into_iter().collect();
    // Identifiers differ each time a store is filled; URLs do not.
    let first_seen = |member: &PropertyMember| member.history.first_seen_at;
    seen.sort_by(|one, other| {
        let by_url = || one.advert.url.cmp(&other.advert.url);
        first_seen(one).cmp(&first_seen(other)).then_with(by_url)
    });
    let mut present = seen.clone();
    present.sort_by_key(|member| !member.is_online());
    let first = seen.first().map(|member| &member.advert);
    let adverts: Vec<&Advert> = present.iter().map(|member| &member.advert).collect();
    Property {
        adverts: seen.iter().map(|member| property_advert(member)).collect(),
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

fn property_advert(member: &PropertyMember) -> PropertyAdvert {
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

/// Returns true if any flag is true, false if some are false and none is true, otherwise `None`.
fn any_known(flags: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    flags.flatten().reduce(|one, other| one || other)
}

/// Returns the first part, with its gaps filled from the others in order.
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
    // Fields of valid parts form a valid whole, so the fallback is unreachable.
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

/// Returns the location of the first member whose position was given, otherwise of the first with a location. Gaps are
/// filled only from members in the same commune, so that codes of different communes are never mixed.
fn location(present: &[&PropertyMember]) -> Option<Location> {
    let placed: Vec<&&PropertyMember> = present
        .iter()
        .filter(|member| member.advert.location.is_some())
        .collect();
    let has_own_position = |member: &&&&PropertyMember| {
        let place = member.advert.location.as_ref();
        let has_position = place.is_some_and(|place| place.location_coordinate.is_some());
        has_position && !member.derived.contains(DerivedFields::POSITION)
    };
    let is_precise = |member: &&&&PropertyMember| {
        let place = member.advert.location.as_ref();
        let precision = place.and_then(|place| place.precision);
        has_own_position(member) && precision != Some(EnumLocationPrecision::Town)
    };
    let best = placed.iter().find(is_precise);
    let best = best
        .or_else(|| placed.iter().find(has_own_position))
        .or(placed.first())?;
    let best = best.advert.location.as_ref()?;
    let same_commune = placed
        .iter()
        .filter_map(|member| member.advert.location.as_ref())
        .filter(|place| place.insee_code.is_some() && place.insee_code == best.insee_code);
    let whole = united(std::iter::once(best).chain(same_commune).map(Some))?;
    let AdLocation {
        address: _,
        district: _,
        precision: _,
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
        // The precision of the advert that gave the position.
        precision: best.precision,
    })
}

/// Collects every picture once: portals copy each other's pictures, with the same identifier or the same hashes.
fn medias(seen: &[&PropertyMember]) -> Option<Medias> {
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
            let is_known = all
                .images
                .iter()
                .any(|known| known.image_id == image.image_id || image.has_hashes_of(known));
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

fn tags(seen: &[&PropertyMember]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in seen.iter().flat_map(|member| &member.advert.tags) {
        if tags.len() < TAGS_MAX && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}

fn meta(seen: &[&PropertyMember]) -> Meta {
    let latest = |moment: fn(&AdvertHistory) -> Timestamp| {
        seen.iter().map(|member| moment(&member.history)).max()
    };
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

fn price(seen: &[&PropertyMember]) -> Option<Price> {
    let first = seen.first()?;
    // An offline advert does not count while another is online.
    let last_online = |member: &&&PropertyMember| (member.is_online(), member.history.online_at);
    let last = seen.iter().max_by_key(last_online)?;
    let (of_first, of_last) = (price_of(first), price_of(last));
    let (initial, latest) = (of_first.initial, of_last.latest);
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

/// Returns the price of one advert, and how it changed.
fn price_of(member: &PropertyMember) -> Price {
    let advert = &member.advert;
    let latest = advert.current_price.as_ref();
    let value = latest.and_then(|price| price.value);
    let first = member.history.initial_price;
    let area = priced_area(advert);
    let source = Source {
        flx_id: advert.flx_id,
        url: advert.url.clone(),
        website: advert.source.clone(),
    };
    let initial = first.map(|first| PropertyPrice {
        value: Some(first),
        value_per_area: area.and_then(|area| per_area(first.get(), area)),
        source: Some(source.clone()),
    });
    Price {
        currency: advert.currency,
        initial,
        is_auction: advert.is_auction,
        latest: latest.map(|price| PropertyPrice {
            value: price.value,
            value_per_area: price.value_per_area,
            source: Some(source),
        }),
        scope: advert.scope,
        warranty_deposit: advert.warranty_deposit,
        variation: variation(first, member.history.previous_price, value),
        charges: advert.charges.clone(),
    }
}

/// Returns how a price changed; `None` if it never did.
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
mod tests;
