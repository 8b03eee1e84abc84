//! Tests that thin adverts follow the tables and contain the hard cases: different homes that look alike, and one home
//! shown differently.

use std::collections::HashMap;

use crate::adverts::{AdvertsRequest, DistortionLevel, MarketGenerator, Observation};

const ADVERTS: u64 = 10_000;

fn seen() -> Vec<Observation> {
    let request = AdvertsRequest::new(ADVERTS, 3, DistortionLevel::Thin);
    MarketGenerator::new(request).observations().collect()
}

fn price(seen: &Observation) -> u64 {
    let price = seen.advert.current_price.as_ref();
    price.and_then(|price| price.value).unwrap().get() as u64
}

fn surface(seen: &Observation) -> f64 {
    let home = seen.advert.habitation.as_ref().unwrap();
    home.surface
        .as_ref()
        .and_then(|surface| surface.total)
        .unwrap()
        .get()
}

fn commune(seen: &Observation) -> String {
    let code = seen.advert.location.as_ref().unwrap().insee_code.as_ref();
    code.unwrap().as_str().to_owned()
}

#[test]
fn every_thin_advert_is_seen_once_and_shows_what_lists_show() {
    let seen = seen();
    let mut urls: Vec<&str> = seen
        .iter()
        .map(|one| one.advert.url.as_deref().unwrap())
        .collect();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len() as u64, ADVERTS);
    assert!(
        seen.windows(2)
            .all(|pair| pair[0].advert.last_seen_at < pair[1].advert.last_seen_at)
    );
    let communes: std::collections::HashSet<String> = seen.iter().map(commune).collect();
    assert_eq!(communes.len(), 20);
    for one in &seen {
        assert!((6.0..=700.0).contains(&surface(one)), "{}", surface(one));
        assert!((20_000..40_000_000).contains(&price(one)), "{}", price(one));
        let place = one.advert.location.as_ref().unwrap();
        assert!(place.city.is_some() && place.postal_code.is_some());
        assert!(place.location_coordinate.is_none());
        assert!(one.advert.description.is_none() && one.advert.medias.is_none());
    }
}

#[test]
fn thin_adverts_follow_the_measured_shares() {
    let seen = seen();
    let share = |holds: &dyn Fn(&Observation) -> bool| {
        seen.iter().filter(|one| holds(one)).count() as f64 / seen.len() as f64
    };
    // The shares of 20,031 real adverts.
    let round = share(&|one| price(one).is_multiple_of(10_000));
    assert!(
        (0.42..0.52).contains(&round),
        "multiples of 10,000 EUR: {round}"
    );
    let decimals = share(&|one| surface(one).fract() > 0.01);
    assert!(
        (0.22..0.35).contains(&decimals),
        "surfaces with decimals: {decimals}"
    );
    let sixteenth = share(&|one| commune(one) == "75116");
    assert!(
        (0.11..0.17).contains(&sixteenth),
        "16th arrondissement: {sixteenth}"
    );
    let unknown = share(&|one| one.advert.habitation.as_ref().unwrap().climate.is_none());
    assert!(
        (0.12..0.21).contains(&unknown),
        "without energy class: {unknown}"
    );
    let second = share(&|one| one.advert.source.as_deref() == Some(super::PORTALS[1]));
    assert!((0.14..0.26).contains(&second), "second portal: {second}");
}

#[test]
fn homes_are_shown_again_and_other_homes_look_the_same() {
    let seen = seen();
    let mut homes: HashMap<u64, Vec<&Observation>> = HashMap::new();
    let mut alike: HashMap<(u64, u64, String), Vec<u64>> = HashMap::new();
    for one in &seen {
        homes.entry(one.asset).or_default().push(one);
        let key = (price(one), (surface(one) * 10.0) as u64, commune(one));
        alike.entry(key).or_default().push(one.asset);
    }
    let pairs: usize = homes.values().map(|of| of.len() * (of.len() - 1) / 2).sum();
    let per_advert = pairs as f64 / seen.len() as f64;
    assert!(
        (0.2..0.28).contains(&per_advert),
        "{per_advert} pairs per advert"
    );
    let twice = homes.values().filter(|of| of.len() == 2);
    let (mut count, mut equal) = (0, 0);
    for of in twice {
        count += 1;
        equal += usize::from(price(of[0]) == price(of[1]));
    }
    let equal = f64::from(equal as u32) / f64::from(count);
    assert!((0.75..0.87).contains(&equal), "equal prices: {equal}");
    let others: usize = alike
        .values()
        .map(|assets| {
            let pairs = assets.len() * (assets.len() - 1) / 2;
            let same = |rank: usize| {
                assets[rank + 1..]
                    .iter()
                    .filter(|one| **one == assets[rank])
                    .count()
            };
            pairs - (0..assets.len()).map(same).sum::<usize>()
        })
        .sum();
    assert!(
        others > 50,
        "{others} pairs of two homes alike in price, surface and arrondissement"
    );
}
