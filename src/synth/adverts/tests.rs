//! Tests that synthetic adverts are reproducible, complete, labelled and change over time.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use super::*;
use crate::blocks::SynthReader;
use toise_contract::enums::EnumPropertyClass;
use toise_contract::listings::Advert;

fn text(mut reader: SynthReader) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let made = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            text(documents(AdvertsRequest::new(5_000, 7, DistortionLevel::Middle)).unwrap())
        })
    };
    let alone = made(1);
    assert!(alone == made(4));
    assert!(
        alone != text(documents(AdvertsRequest::new(5_000, 8, DistortionLevel::Middle)).unwrap())
    );
}

#[test]
fn every_document_is_a_valid_advert_and_every_url_has_a_label() {
    let request = AdvertsRequest::new(3_000, 5, DistortionLevel::Heavy);
    let labels = text(labels(request).unwrap());
    let labelled: HashMap<&str, &str> = labels
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(','))
        .collect();
    assert_eq!(labelled.len(), 3_000);
    let assets: HashSet<&&str> = labelled.values().collect();
    assert!((1_900..2_050).contains(&assets.len()), "{}", assets.len());
    let documents = text(documents(request).unwrap());
    assert!(documents.lines().count() > 4_500);
    for line in documents.lines() {
        let advert: Advert = serde_json::from_str(line).unwrap();
        let url = advert.url.unwrap();
        assert!(labelled.contains_key(url.as_str()), "{url}");
        let location = advert.location.unwrap();
        assert!(location.postal_code.is_some() || location.insee_code.is_some());
        assert!(
            advert.source.is_some() && advert.class.is_some() && advert.current_price.is_some()
        );
        assert!(advert.offer.and_then(|offer| offer.offer_type).is_some());
    }
}

#[test]
fn the_price_per_area_of_a_house_is_that_of_its_living_area() {
    let market = MarketGenerator::new(AdvertsRequest::new(4_096, 3, DistortionLevel::Heavy));
    let mut without_area = 0;
    for seen in market.observations() {
        let Some(habitation) = &seen.advert.habitation else {
            continue;
        };
        let price = seen.advert.current_price.as_ref().unwrap();
        let area = habitation.surface.as_ref().and_then(|area| area.total);
        assert_eq!(
            price.value_per_area.is_some(),
            area.is_some(),
            "{:?}",
            seen.advert.url
        );
        without_area += usize::from(area.is_none() && seen.advert.land.is_some());
    }
    assert!(without_area > 20, "{without_area}");
}

#[test]
fn the_sightings_of_an_asset_are_in_order_and_prices_and_presence_change() {
    let market = MarketGenerator::new(AdvertsRequest::new(4_096, 3, DistortionLevel::Middle));
    let mut last_seen = HashMap::new();
    let mut adverts: HashMap<String, Vec<(f64, bool)>> = HashMap::new();
    for seen in market.observations() {
        let at = seen.advert.last_seen_at.unwrap();
        assert!(at.get().timestamp() <= UNTIL_S);
        let before = last_seen.insert(seen.asset, at);
        assert!(
            before.is_none_or(|before| before <= at),
            "{:?}",
            seen.advert.url
        );
        let price = seen
            .advert
            .current_price
            .as_ref()
            .and_then(|price| price.value)
            .unwrap();
        let life = adverts.entry(seen.advert.url.clone().unwrap()).or_default();
        assert_eq!(life.is_empty(), seen.first);
        life.push((price.get(), seen.advert.is_online.unwrap()));
    }
    type Life = [(f64, bool)];
    let share = |holds: &dyn Fn(&Life) -> bool| {
        adverts.values().filter(|life| holds(life)).count() as f64 / adverts.len() as f64
    };
    let cut = share(&|life| life.windows(2).any(|pair| pair[1].0 < pair[0].0));
    let gone = share(&|life| life.iter().any(|(_, online)| !online));
    let back = share(&|life| life.windows(2).any(|pair| !pair[0].1 && pair[1].1));
    assert!((0.1..0.5).contains(&cut), "cut {cut}");
    assert!((0.6..0.98).contains(&gone), "gone {gone}");
    assert!((0.03..0.2).contains(&back), "back {back}");
}

#[test]
fn dense_adverts_are_in_few_communes_and_prices_depend_on_the_place() {
    let request = AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(2_048, 9, DistortionLevel::Clean)
    };
    let communes: HashSet<Option<String>> = MarketGenerator::new(request)
        .observations()
        .map(|seen| seen.advert.location.and_then(|place| place.city))
        .collect();
    assert!(communes.len() < 40, "{}", communes.len());
    let mut per_m2: HashMap<bool, Vec<f64>> = HashMap::new();
    for seen in
        MarketGenerator::new(AdvertsRequest::new(8_192, 2, DistortionLevel::Clean)).observations()
    {
        let is_sale =
            seen.advert.scope.is_none() && seen.advert.class == Some(EnumPropertyClass::Flat);
        let department = seen
            .advert
            .location
            .and_then(|place| place.department)
            .unwrap();
        let price = seen
            .advert
            .current_price
            .and_then(|price| price.value_per_area);
        if let (true, Some(price)) = (is_sale, price) {
            per_m2
                .entry(department.as_str() == "75")
                .or_default()
                .push(price.get());
        }
    }
    let median = |prices: &mut Vec<f64>| {
        prices.sort_by(f64::total_cmp);
        prices[prices.len() / 2]
    };
    let paris = median(per_m2.get_mut(&true).unwrap());
    let elsewhere = median(per_m2.get_mut(&false).unwrap());
    assert!(
        paris > 2.0 * elsewhere,
        "Paris {paris}, elsewhere {elsewhere}"
    );
}
