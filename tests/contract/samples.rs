//! The sample records: exactly what the types write, and consistent with each other and with the table of communes.

use std::collections::{HashMap, HashSet};

use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toise::contract::listings::codes::{FlxId, Position};
use toise::contract::listings::deliveries::{AdvertDelivery, PropertyDelivery};
use toise::contract::listings::place::Location;
use toise::contract::listings::{Advert, LiteProperty, Property};
use toise::contract::read::read;
use toise::geo::distance::planar_distance_m;
use toise::geo::{communes, departments};
use toise::http::resources::samples::{Sample, sample};

use crate::support::{Service, error_of};

/// Maximum distance of an asset from the centre of its commune, kilometres.
const COMMUNE_RADIUS_KM_MAX: f64 = 8.0;
/// Maximum size of all samples together, bytes.
const SAMPLES_BYTES_MAX: usize = 300 * 1024;

fn body(which: Sample) -> Value {
    serde_json::from_str(which.body()).unwrap()
}

fn records<T: DeserializeOwned>(which: Sample) -> Vec<T> {
    read(&body(which)["data"]).unwrap()
}

fn pretty<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// Parses a sample as its type and serialises it again.
fn rewritten(which: Sample) -> String {
    let body = body(which);
    match which {
        Sample::Properties => {
            let properties: Vec<Property> = records(which);
            pretty(&HashMap::from([("data", properties)]))
        }
        Sample::Adverts => {
            let adverts: Vec<Advert> = records(which);
            pretty(&HashMap::from([("data", adverts)]))
        }
        Sample::WebhookProperties => pretty(&read::<PropertyDelivery>(&body).unwrap()),
        Sample::WebhookAdverts => pretty(&read::<AdvertDelivery>(&body).unwrap()),
    }
}

#[test]
fn every_sample_is_exactly_what_the_types_write() {
    for which in Sample::ALL {
        assert!(rewritten(which) == which.body(), "{}", which.path());
    }
    assert_eq!(records::<Property>(Sample::Properties).len(), 10);
    assert_eq!(records::<Advert>(Sample::Adverts).len(), 10);
    let bytes: usize = Sample::ALL.map(|which| which.body().len()).iter().sum();
    assert!(bytes < SAMPLES_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn samples_are_served_as_json() {
    for which in Sample::ALL {
        let response = sample(which).response;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.body().as_ref(), which.body().as_bytes());
    }
}

fn check_place(place: &Location) {
    let insee = place.insee_code.as_ref().unwrap().as_str();
    let commune = communes::find_by_code(insee).unwrap();
    let (name, department) = (commune.name, commune.department);
    assert_eq!(place.city.as_deref(), Some(name));
    let postal_code = place.postal_code.as_ref().unwrap().as_str();
    assert!(
        commune.postal_codes.contains(&postal_code),
        "{postal_code} is not in {name}"
    );
    assert_eq!(place.department.as_ref().unwrap().as_str(), department);
    assert_eq!(departments::for_commune(insee), Some(department));
    if let Some(iris) = &place.iris_code {
        assert!(iris.as_str().starts_with(insee), "{iris} is not in {name}");
    }
    for coordinate in [&place.city_coordinate, &place.location_coordinate] {
        let position = coordinate.as_ref().unwrap().location.unwrap();
        assert!(
            near(position, commune.centre),
            "{position:?} is far from {name}"
        );
    }
}

fn near(position: Position, (lat, lon): (f64, f64)) -> bool {
    let metres = planar_distance_m(lat, lon, position.latitude(), position.longitude());
    metres < COMMUNE_RADIUS_KM_MAX * 1_000.0
}

#[test]
fn places_agree_with_the_table_of_communes() {
    let properties: Vec<Property> = records(Sample::Properties);
    for property in &properties {
        let place = property.location.as_ref().unwrap();
        check_place(place);
        let centre = place.city_coordinate.as_ref().unwrap().location.unwrap();
        for advert in &property.adverts {
            assert!(near(
                advert.location.unwrap(),
                (centre.latitude(), centre.longitude())
            ));
        }
    }
    for advert in records::<Advert>(Sample::Adverts) {
        // Both location models have the same fields.
        check_place(&read(&serde_json::to_value(advert.location).unwrap()).unwrap());
    }
}

#[test]
fn each_property_is_derived_from_its_adverts() {
    let properties: Vec<Property> = records(Sample::Properties);
    for property in &properties {
        let title = property.title.as_deref().unwrap();
        let adverts = &property.adverts;
        let first = &adverts[0];
        assert_eq!(property.flx_id, first.flx_id, "{title}");
        assert_eq!(property.title, first.title);
        assert_eq!(property.description, first.description);
        assert!(
            adverts.is_sorted_by_key(|advert| advert.first_seen_at),
            "{title}"
        );
        let price = property.price.as_ref().unwrap();
        assert_eq!(
            price.initial,
            first.price.as_ref().unwrap().initial,
            "{title}"
        );
        let online = adverts
            .iter()
            .filter(|advert| advert.is_online == Some(true));
        let last = online
            .max_by_key(|advert| advert.last_seen_at)
            .or(adverts.iter().max_by_key(|advert| advert.last_seen_at))
            .unwrap();
        assert_eq!(price.latest, last.price.as_ref().unwrap().latest, "{title}");
        let offline = adverts.iter().all(|advert| advert.is_online == Some(false));
        let meta = property.meta.as_ref().unwrap();
        assert_eq!(meta.is_totally_offline, Some(offline), "{title}");
        assert_eq!(meta.totally_offline_at.is_some(), offline, "{title}");
        let images = adverts
            .iter()
            .flat_map(|advert| &advert.medias.as_ref().unwrap().images);
        assert!(
            property.medias.as_ref().unwrap().images.iter().eq(images),
            "{title}"
        );
        if let Some(habitation) = &property.habitation {
            let synonym = habitation
                .features
                .as_ref()
                .and_then(|features| features.property_floor);
            assert_eq!(habitation.floor, synonym, "{title}");
        }
        let lite = LiteProperty::from(property);
        assert_eq!(lite.adverts.len(), adverts.len());
    }
    let ids: HashSet<Option<FlxId>> = properties.iter().map(|property| property.flx_id).collect();
    assert_eq!(ids.len(), properties.len());
}

#[test]
fn each_sample_advert_is_an_advert_of_a_sample_property() {
    let properties: Vec<Property> = records(Sample::Properties);
    for advert in records::<Advert>(Sample::Adverts) {
        let property = properties
            .iter()
            .find(|property| property.flx_id == advert.property_flx_id)
            .unwrap();
        let inside = property
            .adverts
            .iter()
            .find(|inside| inside.flx_id == advert.flx_id)
            .unwrap();
        assert_eq!(inside.url, advert.url);
        assert_eq!(inside.title, advert.title);
        assert_eq!(inside.is_online, advert.is_online);
        assert_eq!(inside.medias, advert.medias);
        assert_eq!(property.class, advert.class);
        assert_eq!(property.offer, advert.offer);
        assert_eq!(property.habitation, advert.habitation);
        let latest = inside.price.as_ref().unwrap().latest.as_ref().unwrap();
        let current = advert.current_price.as_ref().unwrap();
        assert_eq!(
            (latest.value, latest.value_per_area),
            (current.value, current.value_per_area)
        );
        assert!(advert.charges.is_none(), "webhook records have no charges");
    }
}

#[test]
fn deliveries_refer_to_sample_records() {
    let properties: Vec<Property> = records(Sample::Properties);
    let delivery: PropertyDelivery = read(&body(Sample::WebhookProperties)).unwrap();
    let matches = delivery.data.created.iter().chain(&delivery.data.updated);
    for id in matches.flat_map(|matches| &matches.properties) {
        assert!(
            properties
                .iter()
                .any(|property| property.flx_id == Some(*id)),
            "{id}"
        );
    }
    let delivery: AdvertDelivery = read(&body(Sample::WebhookAdverts)).unwrap();
    let samples: Vec<Advert> = records(Sample::Adverts);
    let created = &delivery.data.created[0].adverts;
    assert!(!created.is_empty() && created.iter().all(|advert| samples.contains(advert)));
    let mut kinds = HashSet::new();
    for update in delivery
        .data
        .updated
        .iter()
        .flat_map(|updates| &updates.adverts)
    {
        let advert = samples
            .iter()
            .find(|advert| advert.flx_id == Some(update.flx_id))
            .unwrap();
        assert_eq!(Some(update.property_flx_id), advert.property_flx_id);
        assert_eq!(update.current_price, advert.current_price);
        assert_eq!(Some(update.is_online), advert.is_online);
        kinds.insert(update.event.event_type);
    }
    assert_eq!(kinds.len(), 3);
}

#[tokio::test]
async fn samples_and_the_reference_page_need_no_key() {
    let service = Service::start().await;
    for which in Sample::ALL {
        let response = service.ask(Method::GET, which.path()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.text().await.unwrap(), which.body());
        let response = service
            .ask(Method::POST, which.path())
            .send()
            .await
            .unwrap();
        assert_eq!(error_of(response).await.0, 405);
    }
    for path in [
        "/docs",
        "/docs/",
        "/docs/swagger-ui-bundle.js",
        "/docs/guide",
        "/docs/guide/",
        "/docs/guide/alerts",
    ] {
        let response = service.ask(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert!(
            response.headers().contains_key("content-security-policy"),
            "{path}"
        );
    }
    let response = service
        .ask(Method::GET, "/docs/nowhere")
        .send()
        .await
        .unwrap();
    assert_eq!(error_of(response).await.0, 404);
}
