//! Made-up adverts straight into the listings of a data folder, whose assets need not be found out.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use chrono::DateTime;

use super::adverts::{Market, Request};
use crate::geo::iris::IrisIndex;
use crate::listings::bulk::{self, Assets, Filled};
use crate::progress::Progress;
use crate::wire::listings::Advert;

impl Assets for Market {
    fn blocks(&self) -> u64 {
        Market::blocks(self)
    }

    fn block(&self, block: u64) -> Vec<Vec<Advert>> {
        let mut assets: Vec<Vec<Advert>> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        for seen in Market::block(self, block) {
            let place = *places.entry(seen.asset).or_insert(assets.len());
            match assets.get_mut(place) {
                Some(sightings) => sightings.push(seen.advert),
                None => assets.push(vec![seen.advert]),
            }
        }
        assets
    }
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
