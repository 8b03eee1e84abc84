//! Draws when an asset is on the market, its asking prices, and when each of its adverts is online.

use super::asset::{SynthAsset, rounded_price, rounded_rent};
use super::level::Noise;
use crate::random::Stream;
use toise_contract::enums::EnumPropertyOfferType as OfferType;

const DAY_S: i64 = 86_400;
/// Days on the market: median and spread for sales (`SALE_DAYS`) and rentals.
const SALE_DAYS: (f64, f64) = (95.0, 0.75);
const RENT_DAYS: (f64, f64) = (28.0, 0.7);
/// Maximum time on the market in days; unsold assets are then withdrawn.
const LIFE_DAYS_MAX: f64 = 600.0;
/// Probability of a price cut, and of each further one.
const PRICE_CUT_SHARE: f64 = 0.34;
/// Probability that an advert goes offline for some days and comes back.
const PAUSE_SHARE: f64 = 0.12;

/// The market history of an asset, common to all its adverts.
#[derive(Clone, Debug)]
pub struct MarketHistory {
    /// Start of its time on the market, seconds since 1970.
    pub start_s: i64,
    /// Time at which it is sold, let or withdrawn, seconds since 1970.
    pub end_s: i64,
    /// Price cuts: the time, and the new price as a share of the first one.
    cuts: Vec<(i64, f64)>,
}

/// One sighting of an advert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SynthSighting {
    /// Time of the sighting, seconds since 1970.
    pub at_s: i64,
    /// Asking price, EUR.
    pub price_eur: f64,
    /// Whether the advert was online.
    pub online: bool,
}

impl MarketHistory {
    /// Draws the market history of an asset that comes to the market at `start_s`.
    pub fn draw(stream: &mut Stream, asset: &SynthAsset, start_s: i64) -> Self {
        let (median, spread) = match asset.offer {
            OfferType::Rent => RENT_DAYS,
            _ => SALE_DAYS,
        };
        let days = (median * stream.spread(spread)).clamp(3.0, LIFE_DAYS_MAX);
        let end_s = start_s + (days * DAY_S as f64) as i64;
        let mut cuts = Vec::new();
        let mut share = 1.0;
        let mut at = start_s;
        while stream.chance(PRICE_CUT_SHARE) && cuts.len() < 3 {
            at += stream.between(20, 80) * DAY_S + stream.between(0, DAY_S - 1);
            share *= 1.0 - 0.02 - 0.05 * stream.unit();
            if at < end_s {
                cuts.push((at, share));
            }
        }
        Self {
            start_s,
            end_s,
            cuts,
        }
    }
}

/// When one advert is online, and how its price differs.
#[derive(Clone, Copy, Debug)]
pub struct OnlineSpan {
    /// First sighting, seconds since 1970.
    pub from_s: i64,
    /// Time at which it is taken offline, seconds since 1970.
    pub to_s: i64,
    /// Delay after a price cut of the asset, seconds.
    pub lag_s: i64,
    /// Its price as a share of the asset's.
    pub price_share: f64,
}

impl OnlineSpan {
    /// Draws the online period of one advert; the first advert starts with the asset.
    pub fn draw(stream: &mut Stream, course: &MarketHistory, noise: &Noise, first: bool) -> Self {
        let whole = course.end_s - course.start_s;
        let delay = if first {
            0
        } else {
            (stream.unit().powi(2) * 0.5 * whole as f64) as i64 + stream.between(60, 2 * DAY_S)
        };
        let from_s = course.start_s + delay.min(whole - 1);
        let early = if stream.chance(0.2) {
            stream.unit() * 0.4
        } else {
            0.02 * stream.unit()
        };
        let to_s =
            (course.end_s - (early * (course.end_s - from_s) as f64) as i64).max(from_s + 3_600);
        let price_share = if !first && stream.chance(noise.price_moved) {
            1.0 + noise.price_move_max * (2.0 * stream.unit() - 1.0)
        } else {
            1.0
        };
        let late = if stream.chance(noise.price_moved) {
            stream.between(5, 60)
        } else {
            stream.between(0, 3)
        };
        Self {
            from_s,
            to_s,
            lag_s: late * DAY_S,
            price_share,
        }
    }

    /// Returns the sightings of the advert until `until_s`, in time order: the first one, each change, and the final
    /// state.
    pub fn sightings(
        &self,
        stream: &mut Stream,
        asset: &SynthAsset,
        course: &MarketHistory,
        until_s: i64,
    ) -> Vec<SynthSighting> {
        let price_at = |at_s: i64| {
            let cut = course
                .cuts
                .iter()
                .rev()
                .find(|(cut_s, _)| cut_s + self.lag_s <= at_s);
            let share = cut.map_or(1.0, |(_, share)| *share);
            price(asset, share, self.price_share)
        };
        let mut seen: Vec<(i64, bool)> = vec![(self.from_s, true)];
        for (cut_s, _) in &course.cuts {
            seen.push((cut_s + self.lag_s, true));
        }
        if stream.chance(PAUSE_SHARE) {
            let off_s = self.from_s
                + ((self.to_s - self.from_s) as f64 * (0.2 + 0.5 * stream.unit())) as i64;
            let back_s = off_s + stream.between(2, 40) * DAY_S;
            // Changes during an offline period are seen when the advert is back.
            seen.retain(|(at_s, _)| *at_s <= off_s || *at_s > back_s);
            seen.push((off_s + 1, false));
            if back_s < self.to_s {
                seen.push((back_s, true));
            }
        }
        seen.push((self.to_s, false));
        seen.retain(|(at_s, _)| (self.from_s..=self.to_s.min(until_s)).contains(at_s));
        seen.sort_unstable();
        let mut sightings: Vec<SynthSighting> = Vec::with_capacity(seen.len() + 1);
        for (at_s, online) in seen {
            let known = sightings.last();
            let price_eur = match known {
                // The price of an advert that is gone is the last one seen.
                Some(known) if !online => known.price_eur,
                _ => price_at(at_s),
            };
            let same =
                known.is_some_and(|known| known.online == online && known.price_eur == price_eur);
            if !same {
                sightings.push(SynthSighting {
                    at_s,
                    price_eur,
                    online,
                });
            }
        }
        sightings
    }
}

fn price(asset: &SynthAsset, share: f64, own_share: f64) -> f64 {
    let price = asset.price_eur * share * own_share;
    match asset.offer {
        _ if share == 1.0 && own_share == 1.0 => asset.price_eur,
        OfferType::Rent => rounded_rent(price),
        _ => rounded_price(price),
    }
}
