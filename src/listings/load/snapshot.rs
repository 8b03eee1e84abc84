//! Portal snapshots: files with all adverts that a portal shows. Adverts that are missing from a snapshot go offline.
//!
//! Called by the CLI after the adverts of a snapshot were ingested. The store holds an advert's portal only in its
//! record, so every online advert is read: about a minute for a million.

use std::collections::HashSet;

use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::adverts::identity::UrlDigest;
use crate::load::ingest::IngestOutcome;
use crate::records::rows::blob;
use crate::{Listings, Result};
use toise_contract::listings::codes::Timestamp;
use toise_store::document;

/// Adverts read per query, and written together.
const BATCH_SIZE: usize = 1_024;

/// All adverts that some portals showed at one time.
#[derive(Clone, Debug)]
pub struct PortalSnapshot {
    /// The portals, as the `source` of their adverts.
    pub sources: HashSet<String>,
    /// The adverts that were shown.
    pub seen: HashSet<UrlDigest>,
    /// The time at which the portals showed them.
    pub at: Timestamp,
}

/// An advert that is online.
struct OnlineAdvert {
    number: i64,
    digest: UrlDigest,
    observed_at_ms: i64,
    document: Vec<u8>,
}

/// The fields of a record that decide whether a snapshot should show it.
#[derive(Deserialize)]
struct ShownAs {
    url: Option<String>,
    source: Option<String>,
}

impl Listings {
    /// Ingests an offline sighting for every online advert of the portals that the snapshot does not show. Adverts that
    /// were seen at or after that time do not change. Returns once durable. Blocks.
    ///
    /// # Errors
    /// The store fails. What was written before stays; repeating the call does no harm.
    pub fn take_offline_unseen(&self, snapshot: &PortalSnapshot) -> Result<Vec<IngestOutcome>> {
        let mut outcomes = Vec::new();
        let mut after = 0;
        loop {
            let online = self
                .store
                .read_with(|connection| online_after(connection, after))?;
            let Some(last) = online.last() else {
                return Ok(outcomes);
            };
            after = last.number;
            let mut gone = Vec::new();
            for advert in &online {
                gone.extend(snapshot.absence(advert)?);
            }
            outcomes.extend(self.ingest(gone)?);
        }
    }
}

impl PortalSnapshot {
    /// Returns an offline sighting, if the snapshot should show the advert and does not.
    fn absence(&self, advert: &OnlineAdvert) -> Result<Option<Value>> {
        let is_later = advert.observed_at_ms >= self.at.get().timestamp_millis();
        if is_later || self.seen.contains(&advert.digest) {
            return Ok(None);
        }
        let text = document::decode(&advert.document)?;
        let ShownAs { url, source } = serde_json::from_slice(&text)?;
        let is_of_portal = source.is_some_and(|source| self.sources.contains(&source));
        let sighting = url.map(|url| json!({"url": url, "isOnline": false, "lastSeenAt": self.at}));
        Ok(sighting.filter(|_| is_of_portal))
    }
}

fn online_after(connection: &Connection, number: i64) -> Result<Vec<OnlineAdvert>> {
    let mut statement = connection.prepare_cached(
        "SELECT advert, url_digest, observed_at_ms, document FROM adverts
         WHERE advert > ?1 AND offline_at_ms IS NULL ORDER BY advert LIMIT ?2",
    )?;
    let mut rows = statement.query((number, BATCH_SIZE as i64))?;
    let mut online = Vec::new();
    while let Some(row) = rows.next()? {
        online.push(OnlineAdvert {
            number: row.get(0)?,
            digest: row.get(1)?,
            observed_at_ms: row.get(2)?,
            document: blob(row, 3)?.to_vec(),
        });
    }
    Ok(online)
}
