//! Tests that adverts are placed as if ingested one by one, even if others are written between preparation and
//! transaction.

use proptest::prelude::{Strategy, prop_assert_eq, proptest};
use proptest::test_runner::Config;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::Listings;
use crate::records::recent_changes::ChangeBaseline;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_store::{Store, document};
use toise_synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};

/// Listings in a temporary folder, with a clock set after the synthetic market.
struct PlacementFixture {
    listings: Listings,
    folder: TempDir,
}

impl PlacementFixture {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            listings: listings(&folder),
            folder,
        }
    }

    fn ingest(&self, adverts: &[Value]) {
        let outcomes = self.listings.ingest(adverts.to_vec()).unwrap();
        assert!(outcomes.iter().all(|one| one.is_ok()), "{outcomes:?}");
    }

    fn read<T>(&self, reading: impl FnOnce(&Connection) -> Result<T>) -> T {
        self.listings.store.read_with(reading).unwrap()
    }

    /// Returns the URL digests of all adverts in order of arrival, each with the digest of its property's first advert.
    fn clusters(&self) -> Vec<(String, String)> {
        let sql = "SELECT hex(url_digest), first_value(hex(url_digest)) OVER (PARTITION BY property ORDER BY advert)
                   FROM adverts ORDER BY advert";
        self.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the clusters in order of URL digests, to compare different orders of arrival.
    fn clusters_by_address(&self) -> Vec<(String, String)> {
        let mut clusters = self.clusters();
        clusters.sort();
        clusters
    }

    /// Asserts that every property equals what its adverts build and every advert has its keys and outlines.
    fn assert_sound(&self) {
        self.read(|connection| {
            let sql = "SELECT count(*) FROM records FULL JOIN (SELECT record FROM properties WHERE merged_into IS NULL)
                       of_properties USING (record) WHERE document IS NULL OR of_properties.record IS NULL";
            let unpaired: i64 = connection.query_row(sql, [], |row| row.get(0))?;
            assert_eq!(unpaired, 0);
            let sql = "SELECT property, document FROM properties JOIN records USING (record)";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let property = row.get(0)?;
                let members = rows::members(connection, property)?;
                let id = rows::property_id(connection, property)?;
                let made = BuiltProperty::build(id, members.iter().map(|(_, member)| member)).unwrap();
                let text = document::decode(rows::blob(row, 1)?).unwrap();
                let expected = document::decode(&made.document).unwrap();
                assert_eq!(String::from_utf8(text), String::from_utf8(expected));
            }
            let mut found =
                connection.prepare("SELECT outline FROM blocks WHERE key = ?1 AND advert = ?2")?;
            let mut adverts = connection.prepare("SELECT advert, fingerprint FROM fingerprints")?;
            let mut rows = adverts.query([])?;
            let mut keys = 0;
            while let Some(row) = rows.next()? {
                let advert: i64 = row.get(0)?;
                let fingerprint = rows::fingerprint(row, 1)?;
                for BlockKey(key) in fingerprint.blocks() {
                    let outline: Vec<u8> = found.query_row([key, advert], |row| row.get(0))?;
                    assert_eq!(outline, fingerprint.outline());
                    keys += 1;
                }
            }
            let count = "SELECT count(*) FROM blocks";
            assert_eq!(
                connection.query_row(count, [], |row| row.get::<_, i64>(0))?,
                keys
            );
            Ok(())
        });
    }

    /// Makes the outlines unreadable, as another version of them is.
    fn forget_outlines(&self) {
        let sql = "UPDATE blocks SET outline = x'00'";
        let store = &self.listings.store;
        store
            .write(|transaction| transaction.execute(sql, []))
            .unwrap();
    }
}

fn listings(folder: &TempDir) -> Listings {
    let clock = Clock::steered("2027-01-01T00:00:00Z".parse().unwrap());
    Listings::new(Store::open(folder.path()).unwrap(), clock)
}

/// Sightings from a dense market, filtered by whether each is the first of its advert.
fn sightings(
    adverts: u64,
    seed: u64,
    level: DistortionLevel,
    is_wanted: impl Fn(bool) -> bool,
) -> Vec<Value> {
    let request = AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(adverts, seed, level)
    };
    let market = MarketGenerator::new(request);
    let observed = market.observations().filter(|seen| is_wanted(seen.first));
    observed
        .map(|seen| serde_json::to_value(seen.advert).unwrap())
        .collect()
}

fn levels() -> impl Strategy<Value = DistortionLevel> {
    proptest::sample::select(vec![
        DistortionLevel::Clean,
        DistortionLevel::Middle,
        DistortionLevel::Heavy,
    ])
}

proptest! {
    #![proptest_config(Config::with_cases(4))]

    #[test]
    fn adverts_ingested_in_groups_are_placed_as_if_one_by_one(
        seed in 0u64..10_000, level in levels(), cuts in proptest::collection::vec(1usize..300, 1..12),
    ) {
        let sightings = sightings(120, seed, level, |_| true);
        let (alone, together, without_outlines) = (PlacementFixture::open(), PlacementFixture::open(), PlacementFixture::open());
        for advert in &sightings {
            alone.ingest(std::slice::from_ref(advert));
        }
        let (mut rest, mut cuts) = (&sightings[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (group, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            together.ingest(group);
            without_outlines.ingest(group);
            without_outlines.forget_outlines();
            rest = after;
        }
        let clusters = alone.clusters();
        prop_assert_eq!(&together.clusters(), &clusters);
        prop_assert_eq!(&without_outlines.clusters(), &clusters);
        alone.assert_sound();
        together.assert_sound();
    }

    #[test]
    fn concurrent_writers_place_adverts_as_if_one_after_the_other(
        seed in 0u64..10_000, level in levels(), group in 1usize..60,
    ) {
        let sightings = sightings(240, seed, level, |is_first| is_first);
        let at_once = PlacementFixture::open();
        std::thread::scope(|scope| {
            // Neighbours in the stream, often of one asset, go to different writers.
            for writer in 0..3 {
                let own: Vec<Value> = sightings.iter().skip(writer).step_by(3).cloned().collect();
                let listings = match writer {
                    0 => at_once.listings.clone(),
                    _ => listings(&at_once.folder),
                };
                scope.spawn(move || {
                    for batch in own.chunks(group) {
                        listings.ingest(batch.to_vec()).unwrap();
                    }
                });
            }
        });
        at_once.assert_sound();
        let in_turn = PlacementFixture::open();
        let by_address: std::collections::HashMap<String, &Value> = sightings
            .iter()
            .map(|advert| {
                let url = crate::adverts::identity::ListingUrl::parse(advert["url"].as_str().unwrap());
                let digest = url.unwrap().digest();
                (digest.iter().map(|byte| format!("{byte:02X}")).collect(), advert)
            })
            .collect();
        for (address, _) in at_once.clusters() {
            in_turn.ingest(std::slice::from_ref(by_address[&address]));
        }
        prop_assert_eq!(at_once.clusters_by_address(), in_turn.clusters_by_address());
    }
}

/// Fingerprints of two different assets that share a block key.
fn unlike() -> (Fingerprint, Fingerprint) {
    let sightings = sightings(64, 7, DistortionLevel::Clean, |is_first| is_first);
    let mut fingerprints = sightings
        .iter()
        .map(|advert| Fingerprint::from_advert(&toise_contract::read::read(advert).unwrap()));
    let one = fingerprints.next().unwrap();
    let is_met = |other: &Fingerprint| {
        let keys = [one.probes(), one.exact_probes()].concat();
        other.blocks().iter().any(|key| keys.contains(key))
    };
    let other = fingerprints.find(|other| is_met(other) && !may_be_same(&one, other));
    (one, other.unwrap())
}

#[test]
fn only_later_changes_are_checked_unless_they_displace_candidates() {
    let fixture = PlacementFixture::open();
    let basis = fixture.read(|connection| Ok(ChangeBaseline::now(connection)?));
    let (one, other) = unlike();
    // No store holds this target, so a result equal to it proves that nothing was searched again.
    let found = PlacementTarget {
        property: Some((7, vec![9])),
        leaves: false,
        likely: None,
    };
    let placement = |fullest: usize| Placement {
        found: found.clone(),
        compared: one,
        last_common_mark: 0,
        alike: Vec::new(),
        weighed: vec![7, 8, 9],
        met: Vec::new(),
        fullest,
        is_shared: false,
    };
    let (few, full) = (placement(3), placement(CANDIDATES_PER_KEY_MAX));
    let alone = Placement {
        weighed: Vec::new(),
        ..placement(3)
    };
    let stands = |placement: &Placement, add: &dyn Fn(&mut RecentChanges)| {
        fixture.read(|connection| {
            let mut recent = RecentChanges::since(basis, connection)?.unwrap();
            add(&mut recent);
            let query = PlacementQuery {
                fingerprint: &one,
                own: None,
                may_leave: false,
                thresholds: Thresholds::default(),
            };
            Ok(placement.now(connection, query, &recent)? == found)
        })
    };
    let nothing = |_: &mut RecentChanges| {};
    assert!(stands(&few, &nothing) && stands(&full, &nothing));
    let elsewhere = |recent: &mut RecentChanges| recent.add_property(10);
    assert!(stands(&few, &elsewhere) && stands(&full, &elsewhere));
    let weighed = |recent: &mut RecentChanges| recent.add_property(8);
    assert!(!stands(&few, &weighed) && !stands(&full, &weighed));
    let unlike = |recent: &mut RecentChanges| recent.add_advert(1, &other.blocks(), &other);
    assert!(stands(&alone, &unlike), "it is clearly different");
    assert!(!stands(&few, &unlike), "it changes what is common around");
    assert!(!stands(&full, &unlike), "it displaces a candidate");
    let far = |recent: &mut RecentChanges| recent.add_advert(1, &[BlockKey(0)], &one);
    assert!(stands(&few, &far) && stands(&full, &far));
    let left = |recent: &mut RecentChanges| recent.add_advert(0, &[BlockKey(0)], &one);
    assert!(stands(&few, &left), "it was no similar candidate");
    assert!(!stands(&full, &left), "it may have made room for another");
}

/// A flat of an agency that shows its logo and its text in all adverts.
fn with_logo(portal: &str, number: u32, surface: u32) -> Value {
    serde_json::json!({
        "url": format!("https://{portal}.example/annonce/{number}"), "source": format!("{portal}.example"),
        "type": "CLASS_FLAT", "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 5_000 * surface + 8_000 * number},
        "lastSeenAt": "2026-03-01T08:00:00Z",
        "description": "Votre agence du port vous accompagne dans tous vos projets : estimation offerte, honoraires à la \
            charge du vendeur, plus de 250 biens en ligne, une équipe à votre écoute du lundi au samedi.",
        "location": {"city": "Paris", "postalCode": "75011", "inseeCode": "75111"},
        "habitation": {"surface": {"total": surface}},
        "medias": {"images": [{
            "imageId": "1", "gaussianHash": "b9b0b2f131b82769", "meanHash": "0dd9a1cb4b27de72",
            "perceptualHash": "e4097545c922a10e",
        }]},
    })
}

#[test]
fn a_logo_and_a_text_on_many_homes_are_no_evidence() {
    let pair = [with_logo("a", 1, 50), with_logo("b", 2, 50)];
    let properties = |fixture: &PlacementFixture| -> i64 {
        let sql = "SELECT count(DISTINCT property) FROM adverts";
        fixture.read(|connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))
    };
    let alone = PlacementFixture::open();
    alone.ingest(&pair);
    assert_eq!(properties(&alone), 1, "only these two show them");

    let many = |order: &mut dyn FnMut(&[Value])| {
        let homes: Vec<Value> = (10..22)
            .map(|number| with_logo("a", number, 9 * number))
            .collect();
        order(&homes);
        order(&pair);
    };
    let one_by_one = PlacementFixture::open();
    many(&mut |adverts| {
        adverts
            .iter()
            .for_each(|one| one_by_one.ingest(std::slice::from_ref(one)))
    });
    assert_eq!(properties(&one_by_one), 14);
    let mut all = Vec::new();
    many(&mut |adverts| all.extend_from_slice(adverts));
    let at_once = PlacementFixture::open();
    at_once.ingest(&all);
    assert_eq!(at_once.clusters(), one_by_one.clusters());
    at_once
        .listings
        .rebuild_properties(false, Progress::silent())
        .unwrap();
    assert_eq!(properties(&at_once), 14);
}
