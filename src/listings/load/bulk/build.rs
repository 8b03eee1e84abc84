//! Builds the records and rows of a bulk load from the sightings of assets, on all cores.

use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::RecordBatch;
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Error, Result};
use crate::adverts::identity::{IdentityRules, UrlDigest};
use crate::adverts::incoming::IncomingAdvert;
use crate::adverts::locating::PlaceSources;
use crate::adverts::prepare::{AdvertDelta, AdvertDraft, AdvertState, SightingOutcome};
use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::made::BuiltProperty;
use crate::properties::record_key::RecordKey;
use crate::search::texts::BulkIndexer;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;

/// A property with its adverts, ready to be written.
pub(super) struct BuiltAsset {
    /// Number of the property in the store.
    pub number: i64,
    pub id: FlxId,
    pub made: BuiltProperty,
    pub adverts: Vec<(UrlDigest, AdvertDraft)>,
}

/// The assets of a block, ready to be written.
pub(super) struct BuiltBlock {
    pub assets: Vec<BuiltAsset>,
    /// The properties as rows of their table.
    pub properties: RecordBatch,
    /// The adverts as rows of their table.
    pub adverts: RecordBatch,
    pub sightings: u64,
}

/// Builds blocks of assets from their sightings.
pub(super) struct BlockBuilder<'w> {
    /// Indexes the texts of properties.
    pub words: BulkIndexer,
    pub sources: PlaceSources<'w>,
    /// Which parameters of a portal's URLs identify a listing.
    pub identity: &'w IdentityRules,
    /// The arrival time of all sightings.
    pub at: DateTime<Utc>,
    /// The last property number assigned; each block takes a range before it is written.
    pub numbers: AtomicI64,
}

impl BlockBuilder<'_> {
    /// Builds a block from assets, each given as its sightings in time order.
    pub fn make(&self, assets: Vec<Vec<Value>>) -> Result<BuiltBlock> {
        let mut built = Vec::with_capacity(assets.len());
        let (mut properties, mut adverts) = (PropertyRows::default(), AdvertRows::default());
        let mut sightings = 0;
        let count = assets.len() as i64;
        let numbers = self.numbers.fetch_add(count, Ordering::Relaxed) + 1..;
        for (number, seen) in numbers.zip(assets) {
            sightings += seen.len() as u64;
            let Some(asset) = self.asset(number, seen)? else {
                continue;
            };
            let record = &asset.made.record;
            properties.push(RecordKey::placed(number, record), record)?;
            for (_, draft) in &asset.adverts {
                let of_property = Some(asset.id);
                adverts.push(&Advert {
                    main_property_ad_flx_id: of_property,
                    property_flx_id: of_property,
                    ..draft.member.advert.clone()
                })?;
            }
            self.words.add(number, &asset.made.record)?;
            built.push(asset);
        }
        Ok(BuiltBlock {
            assets: built,
            properties: properties.finish()?,
            adverts: adverts.finish()?,
            sightings,
        })
    }

    /// Builds one asset; `None` if it has no sightings.
    fn asset(&self, number: i64, sightings: Vec<Value>) -> Result<Option<BuiltAsset>> {
        let mut adverts = Vec::with_capacity(4);
        for sighting in sightings {
            self.see(&mut adverts, sighting)?;
        }
        let adverts: Vec<(UrlDigest, AdvertDraft)> = adverts
            .into_iter()
            .map(|(digest, delta)| Ok((digest, AdvertDraft::build(delta, self.sources)?)))
            .collect::<Result<_>>()?;
        let first = adverts.first();
        let Some(id) = first.and_then(|(_, draft)| draft.member.advert.flx_id) else {
            return Ok(None);
        };
        let made = BuiltProperty::build(id, adverts.iter().map(|(_, draft)| &draft.member))?;
        Ok(Some(BuiltAsset {
            number,
            id,
            made,
            adverts,
        }))
    }

    /// Merges a sighting into the state of its advert.
    fn see(&self, adverts: &mut Vec<(UrlDigest, AdvertDelta)>, sighting: Value) -> Result<()> {
        let url = sighting["url"].as_str().unwrap_or_default().to_owned();
        let refused = |fault: Fault| Error::Advert { url, fault };
        let incoming = match IncomingAdvert::read(sighting, self.at, self.identity) {
            Ok(incoming) => incoming,
            Err(fault) => return Err(refused(fault)),
        };
        let digest = incoming.url.digest();
        let known = adverts.iter_mut().find(|(known, _)| *known == digest);
        let seen = match &known {
            None => AdvertState::first(&incoming),
            Some((_, delta)) => delta.known.with_sighting(&incoming),
        };
        match (seen, known) {
            (SightingOutcome::Refused(fault), _) => return Err(refused(fault)),
            (SightingOutcome::Unchanged(_), _) => {}
            (SightingOutcome::Changed(next), None) => adverts.push((digest, *next)),
            (SightingOutcome::Changed(next), Some((_, delta))) => {
                delta.known = next.known;
                delta.events.extend(next.events);
            }
        }
        Ok(())
    }
}
