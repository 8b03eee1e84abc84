//! Runs the full ingestion of every sighting of the synthetic adverts into a temporary store, and rebuilds the
//! properties.
//!
//! This covers what the scorer alone does not cover: completion, later changes of adverts, merges of properties that a
//! new advert connects, and groups prepared in parallel.

use std::collections::HashMap;

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dedup::Grouping;
use toise_base::clock::Clock;
use toise_base::progress::Progress;
use toise_cli::result::Failure;
use toise_contract::listings::codes::FlxId;
use toise_listings::Listings;
use toise_store::Store;
use toise_synth::adverts::{MarketGenerator, UNTIL_S};

/// Sightings ingested per call.
const BATCH: usize = 4_096;
/// Records read back per call.
const READ_TOGETHER: usize = 1_000;

/// The property that an advert's record was assigned to.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPropertyId {
    property_flx_id: FlxId,
}

/// The properties of a market compared with its assets.
#[derive(Debug, Serialize)]
pub(super) struct IngestedGroupings {
    /// After ingestion.
    #[serde(flatten)]
    pub ingested: Grouping,
    /// After `properties rebuild`.
    pub rebuilt: Grouping,
}

/// Ingests all sightings of a market and compares the resulting properties with its assets, before and after a rebuild.
/// `block_done` is called after each block.
///
/// # Errors
/// A folder cannot be written, or ingestion rejects an advert; the market generates no invalid adverts.
pub(super) fn grouping(
    market: &MarketGenerator,
    mut block_done: impl FnMut(),
) -> Result<IngestedGroupings, Failure> {
    let folder = tempfile::tempdir()?;
    let clock = Clock::steered(DateTime::from_timestamp(UNTIL_S, 0).unwrap_or_default());
    let listings = Listings::new(Store::open(folder.path())?, clock);
    let mut assets = HashMap::new();
    for block in 0..market.blocks() {
        let observations = market.block(block);
        for together in observations.chunks(BATCH) {
            let adverts = together.iter().map(|one| serde_json::to_value(&one.advert));
            let outcomes = listings.ingest(adverts.collect::<Result<Vec<Value>, _>>()?)?;
            for (outcome, observation) in outcomes.into_iter().zip(together) {
                let receipt = outcome.map_err(|fault| fault.to_string())?;
                assets.insert(receipt.flx_id, observation.asset);
            }
        }
        block_done();
    }
    let assets: Vec<(FlxId, u64)> = assets.into_iter().collect();
    let ingested = measure(&listings, &assets)?;
    listings.rebuild_properties(false, Progress::silent())?;
    Ok(IngestedGroupings {
        ingested,
        rebuilt: measure(&listings, &assets)?,
    })
}

/// Compares the properties of a store with the assets of its adverts.
fn measure(listings: &Listings, assets: &[(FlxId, u64)]) -> Result<Grouping, Failure> {
    let mut numbers: HashMap<FlxId, u64> = HashMap::new();
    let mut placed = Vec::with_capacity(assets.len());
    for together in assets.chunks(READ_TOGETHER) {
        let ids: Vec<FlxId> = together.iter().map(|(id, _)| *id).collect();
        for (record, (_, asset)) in listings.adverts(&ids)?.into_iter().zip(together) {
            let record = record.ok_or("an ingested advert is missing from the store")?;
            let StoredPropertyId { property_flx_id } = serde_json::from_slice(&record)?;
            let next = numbers.len() as u64;
            placed.push((*numbers.entry(property_flx_id).or_insert(next), *asset));
        }
    }
    Ok(Grouping::measure(placed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toise_synth::adverts::{AdvertsRequest, DistortionLevel, MarketDensity};

    #[test]
    fn full_ingestion_finds_the_right_properties() {
        let market = MarketGenerator::new(AdvertsRequest {
            spread: MarketDensity::Dense,
            ..AdvertsRequest::new(2_048, 11, DistortionLevel::Middle)
        });
        let IngestedGroupings { ingested, rebuilt } = grouping(&market, || ()).unwrap();
        for grouping in [ingested, rebuilt] {
            assert_eq!(grouping.adverts, 2_048);
            assert!(grouping.precision > 0.99, "{grouping:?}");
            assert!(grouping.recall > 0.9, "{grouping:?}");
        }
    }
}
