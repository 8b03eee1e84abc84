//! Generates synthetic adverts directly into the listings of a data folder, with known assets instead of deduplication.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use chrono::DateTime;
use serde_json::{Value, json};

use super::adverts::{AdvertsRequest, MarketGenerator};
use toise_base::progress::Progress;
use toise_contract::listings::Advert;
use toise_geo::iris::IrisIndex;
use toise_listings::adverts::identity::IdentityRules;
use toise_listings::load::bulk::{self, AssetSource, BulkLoadSummary};

impl AssetSource for MarketGenerator {
    fn blocks(&self) -> u64 {
        MarketGenerator::blocks(self)
    }

    fn block(&self, block: u64) -> Vec<Vec<Value>> {
        let mut assets: Vec<Vec<Value>> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        for seen in MarketGenerator::block(self, block) {
            let sighting = if seen.first {
                // Every field of an advert can be represented in JSON.
                serde_json::to_value(&seen.advert).unwrap_or_default()
            } else {
                later_sighting(&seen.advert)
            };
            let place = *places.entry(seen.asset).or_insert(assets.len());
            match assets.get_mut(place) {
                Some(sightings) => sightings.push(sighting),
                None => assets.push(vec![sighting]),
            }
        }
        assets
    }
}

/// Returns the fields of a later sighting that differ from the first one; all others are equal and do not have to be
/// parsed again.
fn later_sighting(advert: &Advert) -> Value {
    json!({
        "url": advert.url,
        "currentPrice": advert.current_price,
        "isOnline": advert.is_online,
        "firstSeenAt": advert.first_seen_at,
        "lastSeenAt": advert.last_seen_at,
    })
}

/// Generates the requested adverts in their state at the end of the market. `contours` is the IRIS contours file that
/// gives positions their quarter, `identity` decides which parts of a URL identify a listing. Returns once they are
/// durable.
///
/// # Errors
/// The folder already has adverts or is in use, the contours cannot be read, or writing fails.
pub fn generate_into_listings(
    data: &Path,
    request: AdvertsRequest,
    contours: Option<&Path>,
    identity: &IdentityRules,
    progress: Progress,
) -> Result<BulkLoadSummary, Box<dyn Error + Send + Sync>> {
    let iris = contours.map(IrisIndex::open).transpose()?;
    let at = DateTime::from_timestamp(request.until_s, 0).unwrap_or_default();
    let bar = progress.rows("adverts", request.adverts);
    let market = MarketGenerator::new(request);
    let filled = bulk::fill(data, &market, iris.as_ref(), identity, at, &|adverts| {
        bar.inc(adverts);
        if bar.position() == request.adverts {
            bar.set_message("adverts, closing files");
        }
    })?;
    bar.finish_and_clear();
    Ok(filled)
}
