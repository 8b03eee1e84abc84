//! Retention of the contacts of adverts that are offline.
//!
//! A server calls [`OfflineContacts::run`] about every hour. It removes the contact person and the name of a private
//! seller from adverts that have been offline for the time in the settings; texts stay. An advert that returns online
//! gets its contact again with the sighting.

use std::sync::Arc;
use std::time::Duration;

use super::Result;
use toise_adverts::contacts::ErasedContacts;
use toise_listings::Listings;
use toise_listings::records::erasing::{Removal, SearchedAdverts};

const DAY_MS: i64 = 24 * 3_600_000;
/// Interval between two runs.
const RUN_EVERY: Duration = Duration::from_secs(3_600);
/// Number of runs after which all offline adverts are searched again: some got a contact after they were searched.
const RUNS_PER_SEARCH: u64 = 24;

/// Removes the contacts of adverts that have been offline for some days.
pub struct OfflineContacts {
    listings: Listings,
    age_ms: i64,
    runs: u64,
    /// Adverts that went offline before this time were searched, Unix milliseconds.
    searched_before_ms: i64,
    /// When the next run is due, on the monotonic clock.
    due_at: Duration,
}

impl OfflineContacts {
    /// Creates the job for adverts that have been offline for `days`; `None` if contacts are kept.
    pub fn new(listings: Listings, days: u64) -> Option<Self> {
        let days = i64::try_from(days).ok().filter(|days| *days > 0)?;
        Some(Self {
            listings,
            age_ms: days.saturating_mul(DAY_MS),
            runs: 0,
            searched_before_ms: i64::MIN,
            due_at: Duration::ZERO,
        })
    }

    /// If an hour has passed since the last run, removes the contacts that are due and returns the number of adverts.
    /// Blocks.
    ///
    /// # Errors
    /// The store fails; the next run, an hour later, starts where this one did.
    pub fn run(&mut self) -> Result<u64> {
        let now = self.listings.clock().monotonic();
        if now < self.due_at {
            return Ok(0);
        }
        self.due_at = now + RUN_EVERY;
        if self.runs.is_multiple_of(RUNS_PER_SEARCH) {
            self.searched_before_ms = i64::MIN;
        }
        let before_ms = self.listings.clock().now().timestamp_millis() - self.age_ms;
        let which = SearchedAdverts::OfflineBetween(self.searched_before_ms, before_ms);
        let removal: Removal = Arc::new(ErasedContacts::remove_person);
        let (mut after, mut removed) = (0, 0);
        while let Some(batch) = self.listings.search_adverts(which, after, &removal)? {
            after = batch.last;
            removed += batch.found.len() as u64;
            self.listings
                .clear_adverts(&batch.found, &removal, |_, _| Ok(()))?;
        }
        self.searched_before_ms = before_ms;
        self.runs += 1;
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use toise_base::clock::Clock;
    use toise_contract::listings::codes::FlxId;
    use toise_store::Store;

    #[test]
    fn the_contact_of_an_advert_goes_when_it_has_been_offline_for_days() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::steered("2026-03-31T12:00:00Z".parse().unwrap());
        let store = Store::open(folder.path()).unwrap();
        let listings = Listings::new(store, clock.clone());
        let ingest = |number: u32, more: Value| -> FlxId {
            let mut advert = json!({
                "url": format!("https://un.example/{number}"), "source": "un.example", "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_BUY"}, "currentPrice": {"value": 100_000 * number}, "isPro": false,
                "location": {"postalCode": "48000"}, "contactInCharge": {"phoneNumber": "06 12 34 56 78"},
                "seller": {"name": "Jean Dupont"},
            });
            for (key, value) in more.as_object().unwrap() {
                advert[key] = value.clone();
            }
            listings.ingest(vec![advert]).unwrap()[0]
                .as_ref()
                .unwrap()
                .flx_id
        };
        let (online, offline) = (ingest(1, json!({})), ingest(2, json!({"isOnline": false})));
        let has_contact = |id: FlxId| {
            let advert: Value =
                serde_json::from_slice(&listings.advert(id).unwrap().unwrap()).unwrap();
            (
                advert.get("contactInCharge").is_some(),
                advert["seller"].get("name").is_some(),
            )
        };
        assert!(OfflineContacts::new(listings.clone(), 0).is_none());
        let mut contacts = OfflineContacts::new(listings.clone(), 30).unwrap();
        assert_eq!(contacts.run().unwrap(), 0);
        clock.advance_ms(29 * DAY_MS);
        assert_eq!(contacts.run().unwrap(), 0);
        clock.advance_ms(2 * DAY_MS);
        assert_eq!(contacts.run().unwrap(), 1);
        assert_eq!(
            (has_contact(online), has_contact(offline)),
            ((true, true), (false, false))
        );
        // A second check within the hour does nothing.
        assert_eq!(contacts.run().unwrap(), 0);
        ingest(2, json!({"isOnline": true}));
        assert_eq!(has_contact(offline), (true, true));
    }
}
