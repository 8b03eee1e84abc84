//! Tests that merged pairs and contradictions are counted as stored, that samples are repeatable, and that a hidden
//! field shows how many merges are wrong.

use chrono::{TimeZone, Utc};
use serde_json::{Value, json};

use super::*;
use toise_base::clock::Clock;
use toise_store::Store;

/// Energy classes by number.
const CLASSES: [&str; 4] = ["C", "D", "E", "F"];

/// An advert of a flat; adverts of one `home` on other portals agree in all but the energy class.
fn advert(portal: &str, home: u32, class: usize) -> Value {
    json!({
        "url": format!("https://{portal}.example/annonce/{home}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 187_431 + 1_213 * home},
        "lastSeenAt": "2026-11-01T08:00:00Z",
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {
            "surface": {"total": 41.37 + 0.51 * f64::from(home)}, "roomCount": 2,
            "climate": {"epcEnergy": format!("ENERGY_CLASSIFICATION_{}", CLASSES[class % CLASSES.len()])},
        },
    })
}

fn listings() -> (tempfile::TempDir, Listings) {
    let folder = tempfile::tempdir().unwrap();
    let now = Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, Listings::new(store, Clock::steered(now)))
}

fn counts(listings: &Listings) -> MergeCounts {
    listings.merge_counts(Progress::silent()).unwrap()
}

#[test]
fn merged_pairs_and_their_contradictions_are_counted() {
    let (_folder, listings) = listings();
    let mut taken = Vec::new();
    for (portal, home) in [("a", 1), ("b", 1), ("a", 2), ("a", 40)] {
        let outcome = listings.ingest(vec![advert(portal, home, 0)]).unwrap();
        taken.push(outcome[0].as_ref().unwrap().property_flx_id);
    }
    let before = counts(&listings);
    assert_eq!((before.adverts, before.properties), (4, 3));
    assert_eq!(before.properties_by_size, [2, 1, 0, 0, 0, 0]);
    assert_eq!((before.merged_pairs, before.contradicting_pairs), (1, 0));

    let counter = MergeCounter::from_now(&listings).unwrap();
    listings.merge(taken[2], taken[3]).unwrap();
    let after = counts(&listings);
    assert_eq!((after.merged_pairs, after.contradicting_pairs), (2, 1));
    let surface = after
        .contradictions
        .iter()
        .find(|one| one.field == Contradiction::Surface);
    assert_eq!(surface.unwrap().pairs, 1);
    let since = listings.merge_counts_since(counter).unwrap();
    assert_eq!(
        (since.properties, since.merged_pairs),
        (1, 1),
        "only what changed since"
    );
    assert!(!after.is_unusual(), "two pairs say nothing");
}

#[test]
fn merged_pairs_that_a_rule_keeps_apart_are_counted() {
    let (_folder, listings) = listings();
    let place = |number: u32| {
        let mut advert = advert("a", number, 0);
        advert["type"] = json!("CLASS_PARKING");
        advert["currentPrice"]["value"] = json!(18_500);
        advert["habitation"] = Value::Null;
        advert
    };
    let taken = listings.ingest(vec![place(1), place(2)]).unwrap();
    let properties = [0, 1].map(|nth: usize| taken[nth].as_ref().unwrap().property_flx_id);
    listings.merge(properties[0], properties[1]).unwrap();
    let counts = counts(&listings);
    assert_eq!((counts.vetoed_pairs, counts.contradicting_pairs), (1, 1));
}

#[test]
fn a_share_that_chance_explains_is_not_unusual() {
    for (merged_pairs, contradicting_pairs, is_unusual) in [
        (149, 3, false),
        (149, 7, true),
        (1_000_000, 20_100, false),
        (1_000_000, 20_300, true),
    ] {
        let counts = MergeCounts {
            merged_pairs,
            contradicting_pairs,
            ..MergeCounts::default()
        };
        assert_eq!(counts.is_unusual(), is_unusual, "{counts:?}");
    }
}

#[test]
fn a_text_on_many_homes_forgives_no_contradiction() {
    let (_folder, listings) = listings();
    let text = "Location par un professionnel dans une résidence bien située, proche des commerces, des écoles et des \
        transports. Le logement comprend un séjour lumineux, une cuisine équipée, une salle d'eau et de nombreux \
        rangements. Visites sur rendez-vous, dossier complet demandé, disponible immédiatement pour une longue durée.";
    let of = |insee: &str, home: u32| {
        let mut advert = advert("a", home, 0);
        advert["url"] = json!(format!("https://a.example/annonce/{home}/{insee}"));
        advert["description"] = json!(text);
        advert["location"] =
            json!({"city": "Paris", "inseeCode": insee, "postalCode": insee.replace("751", "750")});
        advert
    };
    listings
        .ingest(vec![of("75103", 1), of("75109", 1)])
        .unwrap();
    let before = counts(&listings);
    assert_eq!((before.forgiven_pairs, before.contradicting_pairs), (1, 0));

    let others = (1..=14).map(|number| of(&format!("751{:02}", 10 + number % 10), 17 * number));
    listings.ingest(others.collect()).unwrap();
    assert_eq!(counts(&listings).forgiven_pairs, 0);
}

#[test]
fn a_sample_of_merges_is_repeatable() {
    let (_folder, listings) = listings();
    let adverts = (0..20).flat_map(|home| ["a", "b"].map(|portal| advert(portal, 9 * home, 0)));
    listings.ingest(adverts.collect()).unwrap();
    let drawn = |seed: u64| -> Vec<_> {
        let sample = listings.sample_of_merges(5, seed).unwrap();
        sample.iter().map(|pair| pair.adverts[0].flx_id).collect()
    };
    assert_eq!(drawn(1).len(), 5);
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

/// Calibrates by energy class, with homes that two portals show and the class that the second portal gives.
fn by_energy(class_of_copy: impl Fn(u32) -> usize) -> FieldCalibration {
    let (_folder, listings) = listings();
    let first = (0..150).map(|home| advert("a", home, home as usize / 3));
    let copies = (0..150).map(|home| advert("b", home, class_of_copy(home)));
    listings.ingest(first.chain(copies).collect()).unwrap();
    let report = listings.calibration(Progress::silent()).unwrap();
    assert_eq!(report.adverts, 300);
    let found = report
        .fields
        .into_iter()
        .find(|one| one.field == HiddenField::Energy);
    found.unwrap()
}

#[test]
fn a_hidden_field_that_agrees_confirms_the_merges() {
    let found = by_energy(|home| home as usize / 3);
    assert!(found.merges >= 100, "{found:?}");
    assert!(
        found.wrong_without < 0.02 && found.wrong < 0.02,
        "{found:?}"
    );
    let last = found.bins.last().unwrap();
    assert!(last.expected > 0.98 && last.right > 0.98, "{last:?}");
}

#[test]
fn a_hidden_field_that_agrees_by_chance_only_shows_that_merges_are_wrong() {
    let found = by_energy(|home| (home as usize / 3 + home as usize) % 4);
    assert!(found.wrong_without > 0.8, "{found:?}");
}

/// An advert with a round price and surface, which other homes have too.
fn round(portal: &str, home: u32) -> Value {
    let mut advert = advert(
        portal,
        home,
        (digest(7, home.into(), portal.len() as i64) % 4) as usize,
    );
    advert["currentPrice"]["value"] = json!(200_000 + 10_000 * (home % 12));
    advert["habitation"]["surface"]["total"] = json!(40 + home % 10);
    advert
}

#[test]
fn two_portals_that_share_no_home_are_learned_to_share_few() {
    let (_folder, listings) = listings();
    for home in 0..150 {
        let outcomes = listings
            .ingest(vec![round("a", home), round("bb", home)])
            .unwrap();
        assert!(outcomes.iter().all(|one| one.is_ok()), "{outcomes:?}");
    }
    let [one, other] = [
        "https://a.example/annonce/7",
        "https://bb.example/annonce/7",
    ];
    let prior = || listings.explain(one, other).unwrap().comparison.prior_bits;
    let usual = prior();
    listings.learn_portal_rates(Progress::silent()).unwrap();
    assert!(prior() < usual - 1.0, "{usual} before, {} after", prior());
    let sql = "SELECT count(*) FROM portal_rates WHERE portal = other";
    let of_one_portal: i64 = listings
        .store
        .read(|connection| connection.query_row(sql, [], |row| row.get(0)))
        .unwrap();
    assert_eq!(of_one_portal, 0);
}
