//! Tests of likely pairs: listed, merged and kept apart.

use chrono::{TimeZone, Utc};
use serde_json::{Value, json};

use crate::Listings;
use crate::placement::explain::ApartReason;
use toise_base::clock::Clock;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{Contradiction, DedupVerdict, Thresholds};
use toise_store::Store;

/// A thin advert: nothing but a round price, whole square metres and rooms.
fn thin(number: u32) -> Value {
    json!({
        "url": format!("https://thin.example/annonce/{number}"), "source": "thin.example", "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 310_000}, "lastSeenAt": "2026-11-01T08:00:00Z",
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {"surface": {"total": 31}, "roomCount": 2},
    })
}

fn listings(folder: &tempfile::TempDir) -> Listings {
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    Listings::new(Store::open(folder.path()).unwrap(), Clock::steered(now))
}

/// Ingests two thin adverts that agree in every field, and returns their properties.
fn two_alike(listings: &Listings) -> [FlxId; 2] {
    let taken = listings.ingest(vec![thin(1), thin(2)]).unwrap();
    let properties = taken.into_iter().map(|one| one.unwrap().property_flx_id);
    properties.collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn a_likely_pair_stays_apart_and_is_listed_with_its_evidence_until_it_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    let [one, other] = two_alike(&listings);
    assert_ne!(
        one, other,
        "nothing less than certain changes an identifier"
    );
    let pairs = listings.likely_pairs(10).unwrap();
    assert_eq!(pairs.len(), 1);
    let probability = pairs[0].comparison.probability();
    assert!((0.5..0.98).contains(&probability), "{probability}");
    assert!(!pairs[0].comparison.evidence.is_empty());
    assert_eq!(listings.likely_pair_count().unwrap(), 1);
    assert_eq!(listings.likely_pairs(0).unwrap().len(), 0);

    assert_eq!(listings.merge(one, other).unwrap(), one);
    assert_eq!(listings.likely_pairs(10).unwrap().len(), 0);
    assert_eq!(listings.likely_pair_count().unwrap(), 0);
}

#[test]
fn properties_kept_apart_are_neither_listed_nor_merged_later() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    let [one, other] = two_alike(&listings);
    listings.keep_apart(one, other).unwrap();
    assert_eq!(listings.likely_pairs(10).unwrap().len(), 0);
    // A shared reference of one seller would merge them.
    let sighting = |number: u32| {
        let mut advert = thin(number);
        advert["lastSeenAt"] = json!("2026-11-02T08:00:00Z");
        advert["reference"] = json!("VA-48127");
        advert["seller"] = json!({"name": "Agence du Canal", "siren": "123456780"});
        advert["description"] =
            json!("Deux pieces au calme sur cour, refait a neuf, cave et double vitrage.");
        advert
    };
    let taken = listings.ingest(vec![sighting(1), sighting(2)]).unwrap();
    let now: Vec<FlxId> = taken
        .into_iter()
        .map(|one| one.unwrap().property_flx_id)
        .collect();
    assert_eq!(now, [one, other]);
    assert!(listings.keep_apart(one, one).is_err());
}

#[test]
fn later_evidence_merges_a_likely_pair() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    let [one, _] = two_alike(&listings);
    let sighting = |number: u32| {
        let mut advert = thin(number);
        advert["lastSeenAt"] = json!("2026-11-02T08:00:00Z");
        advert["reference"] = json!("VA-48127");
        advert["seller"] = json!({"name": "Agence du Canal", "siren": "123456780"});
        advert
    };
    let taken = listings.ingest(vec![sighting(1), sighting(2)]).unwrap();
    assert_eq!(taken[1].as_ref().unwrap().property_flx_id, one);
    assert_eq!(listings.likely_pairs(10).unwrap().len(), 0);
}

#[test]
fn likely_pairs_are_listed_by_the_probability_they_show_and_counted_as_listed() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    // Without rooms, the second pair has less evidence than the first.
    let with_less = |number: u32| {
        let mut advert = thin(number);
        advert["currentPrice"]["value"] = json!(500_000);
        advert["habitation"] = json!({"surface": {"total": 50}});
        advert
    };
    let adverts = vec![thin(1), thin(2), with_less(3), with_less(4)];
    for taken in listings.ingest(adverts).unwrap() {
        taken.unwrap();
    }
    assert_eq!(listings.likely_pair_count().unwrap(), 2);

    // The recorded bits are outdated: the less likely pair has more, and pairs that differ in everything have most.
    listings
        .store
        .write(|transaction| {
            transaction.execute("UPDATE likely_pairs SET bits = 10 - bits", [])?;
            transaction.execute(
                "INSERT OR IGNORE INTO likely_pairs
                 SELECT a.advert, b.advert, 30.0 FROM adverts a, adverts b WHERE a.property <> b.property",
                [],
            )
        })
        .unwrap();
    assert_eq!(listings.likely_pair_count().unwrap(), 6);
    let pairs = listings.likely_pairs(10).unwrap();
    let shown: Vec<f64> = pairs
        .iter()
        .map(|pair| pair.comparison.probability())
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0] > shown[1], "{shown:?}");
    assert_eq!(listings.likely_pair_count().unwrap(), 2);
    assert_eq!(
        listings.likely_pairs(1).unwrap()[0]
            .comparison
            .probability(),
        shown[0]
    );
}

#[test]
fn thresholds_decide_what_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let lenient = Thresholds::new(0.8, 0.5).unwrap();
    let [one, other] = two_alike(&listings(&folder).with_thresholds(lenient));
    assert_eq!(one, other);
}

#[test]
fn the_reason_why_a_match_is_apart_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let strict = listings(&folder);
    let [one, other] = two_alike(&strict).map(|id| id.to_string());
    let apart_because = |listings: &Listings| {
        let explained = listings.explain(&one, &other).unwrap();
        explained.apart_because()
    };
    assert_eq!(apart_because(&strict), None, "they do not match");
    let lenient = strict
        .clone()
        .with_thresholds(Thresholds::new(0.8, 0.5).unwrap());
    assert_eq!(apart_because(&lenient), Some(ApartReason::DecidedBefore));
}

#[test]
fn a_match_that_nothing_compares_is_explained_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    // A house and a flat only meet with the same price and surface.
    let of_agency = |number: u32, class: &str, price: u32| {
        let mut advert = thin(number);
        advert["type"] = json!(class);
        advert["currentPrice"]["value"] = json!(price);
        advert["reference"] = json!("VA-48127");
        advert["seller"] = json!({"name": "Agence du Canal", "siren": "123456780"});
        advert["description"] =
            json!("Deux pieces au calme sur cour, refait a neuf, cave et double vitrage.");
        advert
    };
    let adverts = vec![
        of_agency(1, "CLASS_FLAT", 310_000),
        of_agency(2, "CLASS_HOUSE", 312_000),
    ];
    let taken = listings.ingest(adverts).unwrap();
    let ids: Vec<String> = taken
        .into_iter()
        .map(|one| one.unwrap().flx_id.to_string())
        .collect();
    for (one, other) in [(0, 1), (1, 0)] {
        let explained = listings.explain(&ids[one], &ids[other]).unwrap();
        assert_eq!(explained.verdict, DedupVerdict::Same);
        assert_eq!(explained.apart_because(), Some(ApartReason::NotCompared));
    }
}

#[test]
fn a_match_that_the_later_advert_does_not_see_is_explained_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    let mut adverts = vec![thin(1)];
    // Around an advert without a surface there are homes of many surfaces.
    adverts.extend((0..60).map(|number| {
        let mut advert = thin(10 + number);
        advert["currentPrice"]["value"] = json!(200_000 + 1_000 * number);
        advert["habitation"]["surface"]["total"] = json!(23 + number);
        advert
    }));
    let mut without_surface = thin(2);
    without_surface["habitation"] = json!({"roomCount": 2});
    adverts.push(without_surface);
    let taken = listings.ingest(adverts).unwrap();
    let ids: Vec<String> = taken
        .into_iter()
        .map(|one| one.unwrap().flx_id.to_string())
        .collect();
    let (first, last) = (&ids[0], &ids[61]);
    let probability = |one: &str, other: &str| {
        let explained = listings.explain(one, other).unwrap();
        explained.comparison.probability()
    };
    let (of_first, of_last) = (probability(first, last), probability(last, first));
    assert!(of_first > of_last, "{of_first} {of_last}");
    let between = Thresholds::new((of_first + of_last) / 2.0, 0.25).unwrap();
    let lenient = listings.clone().with_thresholds(between);
    let explained = lenient.explain(first, last).unwrap();
    assert_eq!(explained.apart_because(), Some(ApartReason::LaterUnlike));
}

#[test]
fn an_advert_that_keeps_a_likely_pair_apart_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let listings = listings(&folder);
    let of_agency = |number: u32| {
        let mut advert = thin(number);
        advert["source"] = json!(format!("portal{number}.example"));
        advert["reference"] = json!("VA-48127");
        advert["seller"] = json!({"name": "Agence du Canal", "siren": "123456780"});
        advert
    };
    let mut upstairs = of_agency(2);
    upstairs["habitation"]["floor"] = json!(2);
    let mut stranger = thin(3);
    stranger["habitation"]["floor"] = json!(5);
    let taken = listings
        .ingest(vec![of_agency(1), upstairs, stranger])
        .unwrap();
    let taken: Vec<_> = taken.into_iter().map(Result::unwrap).collect();
    assert_eq!(taken[0].property_flx_id, taken[1].property_flx_id);
    assert_ne!(taken[0].property_flx_id, taken[2].property_flx_id);

    let [first, second, third] = [0, 1, 2].map(|nth| taken[nth].flx_id);
    let explained = listings
        .explain(&first.to_string(), &third.to_string())
        .unwrap();
    assert_eq!(explained.contradictions, []);
    let [dissenter] = explained.dissenters.as_slice() else {
        panic!("{:?}", explained.dissenters);
    };
    assert_eq!((dissenter.flx_id, dissenter.against), (second, third));
    assert_eq!(dissenter.contradictions, [Contradiction::Floor]);
    assert_eq!(dissenter.property_flx_id, taken[0].property_flx_id);

    // Two adverts of one property have no dissenters.
    let together = listings
        .explain(&first.to_string(), &second.to_string())
        .unwrap();
    assert!(together.together && together.dissenters.is_empty());
}
