//! Made-up adverts straight into the listings of a data folder, whose assets need not be found out.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use chrono::DateTime;
use serde_json::{Value, json};

use super::adverts::{Market, Request};
use toise_base::progress::Progress;
use toise_contract::listings::Advert;
use toise_geo::iris::IrisIndex;
use toise_listings::load::bulk::{self, Assets, Filled};

impl Assets for Market {
    fn blocks(&self) -> u64 {
        Market::blocks(self)
    }

    fn block(&self, block: u64) -> Vec<Vec<Value>> {
        let mut assets: Vec<Vec<Value>> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        for seen in Market::block(self, block) {
            let sighting = match seen.first {
                // Every field of an advert has a JSON form.
                true => serde_json::to_value(&seen.advert).unwrap_or_default(),
                false => later_sighting(&seen.advert),
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

/// What a sighting says that the first of the advert did not: all else is the same, and need not be read again.
fn later_sighting(advert: &Advert) -> Value {
    json!({
        "url": advert.url,
        "currentPrice": advert.current_price,
        "isOnline": advert.is_online,
        "firstSeenAt": advert.first_seen_at,
        "lastSeenAt": advert.last_seen_at,
    })
}

/// Makes what is asked for as it stands at the end of the market; `contours` tell the quarters of positions. Durable on
/// return.
///
/// # Errors
/// The folder has adverts already or is in use, contours cannot be read, a disk fails.
pub fn into_listings(
    data: &Path,
    request: Request,
    contours: Option<&Path>,
    progress: Progress,
) -> Result<Filled, Box<dyn Error + Send + Sync>> {
    let iris = contours.map(IrisIndex::open).transpose()?;
    let at = DateTime::from_timestamp(request.until_s, 0).unwrap_or_default();
    let bar = progress.rows("adverts", request.adverts);
    let market = Market::new(request);
    let filled = bulk::fill(data, &market, iris.as_ref(), at, &|adverts| {
        bar.inc(adverts);
        if bar.position() == request.adverts {
            bar.set_message("adverts, closing the files");
        }
    })?;
    bar.finish_and_clear();
    Ok(filled)
}
