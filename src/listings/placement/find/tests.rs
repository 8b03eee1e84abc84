//! Adverts belong where they would if each came alone, whatever came between their preparation and their transaction.

use proptest::prelude::{Strategy, prop_assert_eq, proptest};
use proptest::test_runner::Config;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::Listings;
use crate::records::recent_changes::ChangeBaseline;
use toise_base::clock::Clock;
use toise_lab::synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity, MarketGenerator};
use toise_store::{Store, document};

/// Listings in a folder of their own, after the made-up market.
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

    fn take(&self, adverts: &[Value]) {
        let outcomes = self.listings.ingest(adverts.to_vec()).unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }

    fn read<T>(&self, reading: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> T {
        self.listings.store.read(reading).unwrap()
    }

    /// Digests of the addresses of all adverts in order of arrival, each with that of its property's first advert.
    fn clusters(&self) -> Vec<(String, String)> {
        let sql = "SELECT hex(url_digest), first_value(hex(url_digest)) OVER (PARTITION BY property ORDER BY advert)
                   FROM adverts ORDER BY advert";
        self.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
    }

    /// The same in the order of addresses, for adverts that arrived otherwise.
    fn clusters_by_address(&self) -> Vec<(String, String)> {
        let mut clusters = self.clusters();
        clusters.sort();
        clusters
    }

    /// Every property is what its adverts make, and every advert is found under its keys with its outline.
    fn is_sound(&self) {
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
                let text = document::decode(row.get_ref(1)?.as_blob()?).unwrap();
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

    /// Has all blocks be as a store from before outlines has them.
    fn forget_outlines(&self) {
        let sql = "UPDATE blocks SET outline = NULL";
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

/// Sightings of adverts that lie close together.
fn sightings(
    adverts: u64,
    seed: u64,
    level: DistortionLevel,
    is_taken: impl Fn(bool) -> bool,
) -> Vec<Value> {
    let request = AdvertsRequest {
        spread: MarketDensity::Dense,
        ..AdvertsRequest::new(adverts, seed, level)
    };
    let market = MarketGenerator::new(request);
    let observed = market.observations().filter(|seen| is_taken(seen.first));
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
    fn adverts_taken_together_belong_where_they_would_if_each_came_alone(
        seed in 0u64..10_000, level in levels(), cuts in proptest::collection::vec(1usize..300, 1..12),
    ) {
        let sightings = sightings(120, seed, level, |_| true);
        let (alone, together, outlined_late) = (PlacementFixture::open(), PlacementFixture::open(), PlacementFixture::open());
        for advert in &sightings {
            alone.take(std::slice::from_ref(advert));
        }
        let (mut rest, mut cuts) = (&sightings[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let (group, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            together.take(group);
            outlined_late.take(group);
            outlined_late.forget_outlines();
            rest = after;
        }
        let clusters = alone.clusters();
        prop_assert_eq!(&together.clusters(), &clusters);
        prop_assert_eq!(&outlined_late.clusters(), &clusters);
        alone.is_sound();
        together.is_sound();
    }

    #[test]
    fn adverts_taken_at_once_by_several_belong_where_they_would_one_after_the_other(
        seed in 0u64..10_000, level in levels(), group in 1usize..60,
    ) {
        let sightings = sightings(240, seed, level, |is_first| is_first);
        let at_once = PlacementFixture::open();
        std::thread::scope(|scope| {
            // Neighbours in the stream, often of one asset, come from different hands.
            for hand in 0..3 {
                let own: Vec<Value> = sightings.iter().skip(hand).step_by(3).cloned().collect();
                let listings = match hand {
                    0 => at_once.listings.clone(),
                    _ => listings(&at_once.folder),
                };
                scope.spawn(move || {
                    for some in own.chunks(group) {
                        listings.ingest(some.to_vec()).unwrap();
                    }
                });
            }
        });
        at_once.is_sound();
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
            in_turn.take(std::slice::from_ref(by_address[&address]));
        }
        prop_assert_eq!(at_once.clusters_by_address(), in_turn.clusters_by_address());
    }
}

/// Two adverts of unlike assets, and what each is under.
fn unlike() -> (Fingerprint, Fingerprint) {
    let sightings = sightings(64, 7, DistortionLevel::Clean, |is_first| is_first);
    let mut fingerprints = sightings
        .iter()
        .map(|advert| Fingerprint::from_advert(&toise_contract::read::read(advert).unwrap()));
    let one = fingerprints.next().unwrap();
    let is_met = |other: &Fingerprint| {
        let keys = one.probes();
        other.blocks().iter().any(|key| keys.contains(key))
    };
    let other = fingerprints.find(|other| is_met(other) && is_different(&one, other));
    (one, other.unwrap())
}

#[test]
fn only_what_came_since_is_looked_at_unless_it_displaces_what_was_met() {
    let desk = PlacementFixture::open();
    let basis = desk.read(ChangeBaseline::now);
    let (one, other) = unlike();
    // Found in no store, so that finding it again says who looked.
    let found = Some((7, vec![9]));
    let placement = |met: (usize, usize)| Placement {
        found: found.clone(),
        alike: Vec::new(),
        weighed: vec![7, 8, 9],
        met,
    };
    let (few, full) = (placement((3, 3)), placement((CANDIDATES_PER_KEY_MAX, 600)));
    let stands = |placement: &Placement, add: &dyn Fn(&mut RecentChanges)| {
        desk.read(|connection| {
            let mut recent = RecentChanges::since(basis, connection)?.unwrap();
            add(&mut recent);
            Ok(placement.now(connection, &one, None, &recent)? == found)
        })
    };
    let nothing = |_: &mut RecentChanges| {};
    assert!(stands(&few, &nothing) && stands(&full, &nothing));
    let elsewhere = |recent: &mut RecentChanges| recent.add_property(10);
    assert!(stands(&few, &elsewhere) && stands(&full, &elsewhere));
    let weighed = |recent: &mut RecentChanges| recent.add_property(8);
    assert!(!stands(&few, &weighed) && !stands(&full, &weighed));
    let unlike = |recent: &mut RecentChanges| recent.add_advert(1, &other.blocks(), &other);
    assert!(stands(&few, &unlike), "it is met and told apart");
    assert!(
        !stands(&full, &unlike),
        "it takes the place of one that was met"
    );
    let far = |recent: &mut RecentChanges| recent.add_advert(1, &[BlockKey(0)], &one);
    assert!(stands(&few, &far) && stands(&full, &far));
    let left = |recent: &mut RecentChanges| recent.add_advert(0, &[BlockKey(0)], &one);
    assert!(stands(&few, &left), "what it was under was told apart");
    assert!(!stands(&full, &left), "it may have left room");
}
