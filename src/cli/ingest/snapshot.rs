//! `toise ingest --snapshot`: what the rows of the files show, so that the rest goes offline.

use std::collections::HashSet;

use serde_json::Value;

use super::BoxedError;
use super::convert::ConvertedBatch;
use toise_base::clock::Clock;
use toise_contract::listings::codes::Timestamp;
use toise_listings::Listings;
use toise_listings::load::snapshot::PortalSnapshot;

/// What the rows of a snapshot say of the portals they show.
pub struct SnapshotRows {
    snapshot: PortalSnapshot,
    /// The latest sighting that a row names.
    latest: Option<Timestamp>,
    /// Rows that name no advert.
    unnamed: u64,
}

impl SnapshotRows {
    /// Creates the record of a snapshot without rows.
    pub fn new(clock: &Clock) -> Self {
        Self {
            snapshot: PortalSnapshot {
                sources: HashSet::new(),
                seen: HashSet::new(),
                at: Timestamp::new(clock.now()),
            },
            latest: None,
            unnamed: 0,
        }
    }

    /// Adds the rows of a batch, also those that ingestion will refuse: the portal shows them.
    pub fn add(&mut self, batch: &ConvertedBatch, listings: &Listings) {
        self.unnamed += batch.refused.len() as u64;
        for row in &batch.rows {
            let text_of = |field: &str| row.advert.get(field).and_then(Value::as_str);
            let url = text_of("url").and_then(|url| listings.listing_url(url));
            match url {
                Some(url) => drop(self.snapshot.seen.insert(url.digest())),
                None => self.unnamed += 1,
            }
            self.snapshot
                .sources
                .extend(text_of("source").map(str::to_owned));
            let moment = text_of("lastSeenAt").and_then(Timestamp::parse);
            self.latest = self.latest.max(moment);
        }
    }

    /// The snapshot, of the moment of its latest sighting.
    ///
    /// # Errors
    /// Rows that name no advert: what the portal shows is not known.
    pub fn finish(self) -> Result<PortalSnapshot, BoxedError> {
        if self.unnamed > 0 {
            return Err(format!(
                "--snapshot: {} rows name no advert, so nothing was taken offline; what was read is ingested",
                self.unnamed
            )
            .into());
        }
        let at = self.latest.unwrap_or(self.snapshot.at);
        Ok(PortalSnapshot {
            at,
            ..self.snapshot
        })
    }
}
