//! From the sightings of assets to what is written of them, on all cores.

use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::RecordBatch;
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Error, Result};
use crate::adverts::identity::UrlDigest;
use crate::adverts::incoming::IncomingAdvert;
use crate::adverts::prepare::{AdvertDelta, AdvertDraft, AdvertState, SightingOutcome};
use crate::columns::{AdvertRows, PropertyRows};
use crate::properties::made::BuiltProperty;
use crate::properties::record_key::RecordKey;
use crate::search::texts::BulkIndexer;
use toise_contract::Fault;
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_geo::iris::IrisIndex;

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
    /// The adverts as rows of theirs.
    pub adverts: RecordBatch,
    pub sightings: u64,
}

/// What blocks are made with.
pub(super) struct BlockBuilder<'w> {
    /// Where the words of properties go.
    pub words: BulkIndexer,
    pub iris: Option<&'w IrisIndex>,
    /// When all of it arrives.
    pub at: DateTime<Utc>,
    /// Numbers of properties given away: each block takes its own before it is written.
    pub numbers: AtomicI64,
}

impl BlockBuilder<'_> {
    /// Makes the block of these assets; each is sightings in time order.
    pub fn make(&self, assets: Vec<Vec<Value>>) -> Result<BuiltBlock> {
        let mut made = Vec::with_capacity(assets.len());
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
            made.push(asset);
        }
        Ok(BuiltBlock {
            assets: made,
            properties: properties.finish()?,
            adverts: adverts.finish()?,
            sightings,
        })
    }

    /// An asset as it is written; `None` when nothing was seen.
    fn asset(&self, number: i64, sightings: Vec<Value>) -> Result<Option<BuiltAsset>> {
        let mut adverts = Vec::with_capacity(4);
        for sighting in sightings {
            self.see(&mut adverts, sighting)?;
        }
        let adverts: Vec<(UrlDigest, AdvertDraft)> = adverts
            .into_iter()
            .map(|(digest, delta)| Ok((digest, AdvertDraft::build(delta, self.iris)?)))
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

    /// Lays a sighting over what is known of its advert.
    fn see(&self, adverts: &mut Vec<(UrlDigest, AdvertDelta)>, sighting: Value) -> Result<()> {
        let url = sighting["url"].as_str().unwrap_or_default().to_owned();
        let refused = |fault: Fault| Error::Advert { url, fault };
        let incoming = match IncomingAdvert::read(sighting, self.at) {
            Ok(incoming) => incoming,
            Err(fault) => return Err(refused(fault)),
        };
        let digest = incoming.url.digest();
        let known = adverts.iter_mut().find(|(known, _)| *known == digest);
        let seen = match &known {
            None => AdvertState::begin(&incoming),
            Some((_, delta)) => delta.known.then(&incoming),
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
