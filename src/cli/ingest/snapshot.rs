//! `toise ingest --snapshot`: collects the adverts that the files show, so that the others of their portals go offline.

use std::collections::HashSet;

use serde_json::Value;

use super::convert::ConvertedBatch;
use crate::result::Failure;
use toise_base::clock::Clock;
use toise_contract::listings::codes::Timestamp;
use toise_listings::Listings;
use toise_listings::load::snapshot::PortalSnapshot;

/// Collects the adverts and portals that the rows of a snapshot show.
pub struct SnapshotRows {
    snapshot: PortalSnapshot,
    /// Time of the latest sighting in the rows.
    latest: Option<Timestamp>,
    /// Rows that identify no advert.
    unnamed: u64,
}

impl SnapshotRows {
    /// Creates a snapshot without rows.
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

    /// Adds the rows of a batch, including those that ingestion will refuse, because the portal shows them too.
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

    /// Returns the snapshot, at the time of its latest sighting, or of its creation if no row has a time. `cut` names
    /// the last lines of files that look cut off.
    ///
    /// # Errors
    /// A row identifies no advert or a file looks cut off, so it is not known what the portal shows.
    pub fn finish(self, cut: &[String]) -> Result<PortalSnapshot, Failure> {
        if !cut.is_empty() {
            return Err(format!(
                "--snapshot: {}: the file ends within this row and looks cut off, so nothing was taken offline; what \
                 was read is ingested",
                cut.join("; ")
            )
            .into());
        }
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
