//! Synthetic adverts with known ground truth: four invented portals, a market of two years, and every kind of noise
//! found in real adverts.
//!
//! Assets come in groups of 21 with 32 adverts, so N adverts describe about 2/3 N assets. Some groups contain twins
//! (two flats of a building that one agency describes in the same words) and the flats of a programme. [`asset`] draws
//! the asset and [`seller`] draws its seller. `lifecycle` draws when the asset is seen and at what price. [`portal`]
//! and [`descriptions`] draw what a portal shows. [`level`] sets the noise, and `files` writes the result.
//!
//! The level `thin` uses none of this: it is one city, drawn from measured tables by the module `thin`.
//!
//! Order: the sightings of a block of 2,048 adverts are in time order, and blocks are ordered by when their assets come
//! to the market. The sightings of one asset are therefore in time order, and the whole file is nearly so. The same
//! seed gives the same bytes with any number of threads. Memory is limited to a few blocks.

pub mod asset;
pub mod descriptions;
mod files;
pub mod level;
mod lifecycle;
pub mod portal;
mod presentation;
pub mod seller;
mod thin;

use asset::SynthAsset;
pub use files::{documents, labels};
pub use level::DistortionLevel;
use level::Noise;
use lifecycle::{MarketHistory, OnlineSpan};
use portal::{PORTALS, PortalListing, apply_sighting};
use seller::{Seller, SynthSellerKind};

use super::blocks::BLOCK_ITEMS;
use super::communes::{self, CommuneSampler, SynthCommune};
use super::random::{Stream, mix, mix2, to_unit};
use super::text::Day;
use toise_contract::enums::EnumPropertyClass as Class;
use toise_contract::listings::Advert;

/// Number of adverts per group.
const ADVERTS_PER_GROUP: u64 = 32;
/// Number of assets per group.
const ASSETS_PER_GROUP: u64 = 21;
/// Number of adverts of each asset in a group.
const ADVERTS_OF_ASSETS: [u8; ASSETS_PER_GROUP as usize] = [
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4,
];
/// Probability that a group starts with a pair of twins.
const TWINS: f64 = 0.7;
/// Number of flats shown per programme.
const LOTS: usize = 4;
/// Probability that a further advert replaces an earlier one on its portal, under a new URL.
const REPUBLISHED: f64 = 0.1;
/// Period in which assets come to the market, days.
const MARKET_DAYS: i64 = 730;
const DAY_S: i64 = 86_400;
/// Default end of the generated market: 2026-11-01 00:00 UTC, in seconds since 1970.
pub const UNTIL_S: i64 = 1_793_491_200;
/// Adverts per inhabitant in two years: the density of the whole market.
const ADVERTS_PER_INHABITANT: f64 = 0.05;
/// Minimum inhabitants of a town.
const TOWN_INHABITANTS_MIN: f64 = 5_000.0;
/// Number that distinguishes these random streams from those of sales and diagnostics.
const DATASET: u64 = 4;

/// Geographic distribution of the adverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketDensity {
    /// All of France, at any density.
    Country,
    /// Only as many towns as are needed for the density of the whole market, to measure deduplication.
    Dense,
}

/// A request for synthetic adverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertsRequest {
    /// Number of adverts (distinct URLs). Each is seen once or more.
    pub adverts: u64,
    /// Random seed; equal seeds give equal bytes.
    pub seed: u64,
    /// Noise level.
    pub level: DistortionLevel,
    /// Geographic distribution.
    pub spread: MarketDensity,
    /// End of the market, seconds since 1970; no sighting is later.
    pub until_s: i64,
}

impl AdvertsRequest {
    /// Adverts all over France until [`UNTIL_S`].
    pub fn new(adverts: u64, seed: u64, level: DistortionLevel) -> Self {
        Self {
            adverts,
            seed,
            level,
            spread: MarketDensity::Country,
            until_s: UNTIL_S,
        }
    }
}

/// One sighting of an advert, with its true asset.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The advert in the ingestion format.
    pub advert: Advert,
    /// Number of the asset, from 0.
    pub asset: u64,
    /// Whether this is the first sighting of the advert.
    pub first: bool,
}

/// A generator of adverts.
#[derive(Debug)]
pub struct MarketGenerator {
    request: AdvertsRequest,
    places: CommuneSampler,
}

impl MarketGenerator {
    /// Creates the generator of a request.
    pub fn new(request: AdvertsRequest) -> Self {
        let chosen = match request.spread {
            MarketDensity::Country => None,
            MarketDensity::Dense => Some(dense(&request)),
        };
        let places = CommuneSampler::new(|place: &SynthCommune| match &chosen {
            Some(chosen) if !chosen.contains(&place.insee) => 0.0,
            _ => place.population.max(100.0),
        });
        Self { request, places }
    }

    /// Number of adverts (distinct URLs).
    pub fn adverts(&self) -> u64 {
        self.request.adverts
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.request.adverts.div_ceil(BLOCK_ITEMS)
    }

    /// Generates the sightings of a block in time order.
    pub fn block(&self, block: u64) -> Vec<Observation> {
        let from = block * BLOCK_ITEMS;
        let to = (from + BLOCK_ITEMS).min(self.request.adverts);
        if self.request.level == DistortionLevel::Thin {
            return thin::sightings(&self.request, from, to);
        }
        let mut observed = Vec::with_capacity(2 * BLOCK_ITEMS as usize);
        for group in from / ADVERTS_PER_GROUP..to.div_ceil(ADVERTS_PER_GROUP) {
            self.group(group, &mut observed);
        }
        // Sightings in the same second are ordered by URL.
        observed.sort_by(|(one_s, one), (other_s, other)| {
            one_s
                .cmp(other_s)
                .then_with(|| one.advert.url.cmp(&other.advert.url))
        });
        observed
            .into_iter()
            .map(|(_, observation)| observation)
            .collect()
    }

    /// Generates all sightings lazily, block by block.
    pub fn observations(&self) -> impl Iterator<Item = Observation> {
        (0..self.blocks()).flat_map(|block| self.block(block))
    }

    fn group(&self, group: u64, observed: &mut Vec<(i64, Observation)>) {
        let request = &self.request;
        let mut stream = Stream::new(request.seed, DATASET, group);
        let counts = shuffled(&mut stream);
        let mut advert = group * ADVERTS_PER_GROUP;
        let mut made = GroupMemory::default();
        for (rank, count) in counts.into_iter().enumerate() {
            let number = group * ASSETS_PER_GROUP + rank as u64;
            let start_s = self.start_s(number, &mut stream);
            let (asset, seller) = self.asset(&mut stream, &mut made, rank, start_s);
            self.publish_adverts(
                &mut stream,
                &asset,
                seller,
                number,
                start_s,
                advert..advert + u64::from(count),
                observed,
            );
            advert += u64::from(count);
        }
    }

    /// Draws the time at which an asset comes to the market: assets are spread over two years, and the last one comes
    /// shortly before the end.
    fn start_s(&self, number: u64, stream: &mut Stream) -> i64 {
        let assets = (self.request.adverts * ASSETS_PER_GROUP)
            .div_ceil(ADVERTS_PER_GROUP)
            .max(1);
        let share = (number as f64 + stream.unit()) / assets as f64;
        let span_s = (MARKET_DAYS * DAY_S) as f64;
        self.request.until_s - MARKET_DAYS * DAY_S + (share.min(1.0) * span_s) as i64
    }

    fn asset(
        &self,
        stream: &mut Stream,
        made: &mut GroupMemory,
        rank: usize,
        start_s: i64,
    ) -> (SynthAsset, Seller) {
        let day = Day((start_s / DAY_S) as i32);
        let place = self.places.at(stream.unit());
        match rank {
            0 if stream.chance(TWINS) => {
                let asset = SynthAsset::of_class(stream, place, day, Class::Flat);
                let seller = Seller::draw(stream, place);
                made.twin = Some((asset.clone(), seller));
                (asset, seller)
            }
            1 if made.twin.is_some() => match made.twin.take() {
                Some((first, seller)) => {
                    let twin = first.twin(stream);
                    // Usually the same agency; a private person rarely owns two.
                    let seller = match seller.kind {
                        SynthSellerKind::Private => Seller::draw(stream, first.address.place),
                        _ if stream.chance(0.7) => seller,
                        _ => Seller::draw(stream, first.address.place),
                    };
                    (twin, seller)
                }
                None => (
                    SynthAsset::draw(stream, place, day),
                    Seller::draw(stream, place),
                ),
            },
            2 if stream.chance(self.request.level.noise().programme) => {
                let asset = SynthAsset::of_class(stream, place, day, Class::Program);
                let seller = Seller::professional(stream, place, false);
                made.programme = Some((asset.clone(), seller));
                (asset, seller)
            }
            rank if (3..3 + LOTS).contains(&rank) && made.programme.is_some() => {
                match &made.programme {
                    Some((programme, seller)) => (programme.lot(stream, rank as u32 - 2), *seller),
                    None => (
                        SynthAsset::draw(stream, place, day),
                        Seller::draw(stream, place),
                    ),
                }
            }
            _ => (
                SynthAsset::draw(stream, place, day),
                Seller::draw(stream, place),
            ),
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "called once, with what was drawn just before"
    )]
    fn publish_adverts(
        &self,
        stream: &mut Stream,
        asset: &SynthAsset,
        seller: Seller,
        number: u64,
        start_s: i64,
        ranks: std::ops::Range<u64>,
        observed: &mut Vec<(i64, Observation)>,
    ) {
        let noise: Noise = self.request.level.noise();
        let course = MarketHistory::draw(stream, asset, start_s);
        let portals = shuffled_portals(stream);
        let mut last: Option<(usize, OnlineSpan)> = None;
        for (turn, rank) in ranks.enumerate() {
            let first = turn == 0;
            let mut shift = OnlineSpan::draw(stream, &course, &noise, first);
            let mut portal = portals[turn % PORTALS.len()];
            let mut by = seller;
            if let Some((last_portal, last_shift)) = last {
                // A further advert may come from another agency, except for a programme.
                let elsewhere = !asset.programme && stream.chance(noise.second_agency);
                if elsewhere {
                    let network = stream.chance(0.2);
                    by = Seller::professional(stream, asset.address.place, network);
                    if stream.chance(noise.same_portal) {
                        portal = last_portal;
                    }
                } else if stream.chance(REPUBLISHED) {
                    portal = last_portal;
                    shift.from_s = last_shift.to_s + stream.between(1, 20) * DAY_S;
                    shift.to_s = shift.from_s + stream.between(10, 90) * DAY_S;
                }
            }
            // An asset that comes to the market in the last hour is still seen once.
            shift.from_s = shift.from_s.min(self.request.until_s - 3_600);
            shift.to_s = shift.to_s.max(shift.from_s + 3_600);
            last = Some((portal, shift));
            let listing = PortalListing {
                asset,
                seller: by,
                portal,
                number: mix(rank ^ (self.request.seed << 40)),
                first,
            };
            let shown = listing.advert(stream, &noise);
            let sightings = shift.sightings(stream, asset, &course, self.request.until_s);
            if rank >= self.request.adverts {
                continue;
            }
            for (turn, sighting) in sightings.iter().enumerate() {
                let mut advert = shown.clone();
                apply_sighting(&mut advert, shift.from_s, sighting);
                let observation = Observation {
                    advert,
                    asset: number,
                    first: turn == 0,
                };
                observed.push((sighting.at_s, observation));
            }
        }
    }
}

/// Draws the order in which portals show the adverts of an asset.
fn shuffled_portals(stream: &mut Stream) -> [usize; PORTALS.len()] {
    let mut portals = [0, 1, 2, 3];
    for place in (1..portals.len()).rev() {
        portals.swap(place, stream.below(place + 1));
    }
    portals
}

/// Assets of a group from which later ones may be derived.
#[derive(Default)]
struct GroupMemory {
    twin: Option<(SynthAsset, Seller)>,
    programme: Option<(SynthAsset, Seller)>,
}

fn shuffled(stream: &mut Stream) -> [u8; ASSETS_PER_GROUP as usize] {
    let mut counts = ADVERTS_OF_ASSETS;
    for place in (1..counts.len()).rev() {
        counts.swap(place, stream.below(place + 1));
    }
    counts
}

/// Draws towns until they contain enough inhabitants. Villages, where few homes are alike, would make deduplication
/// look better than it is.
fn dense(request: &AdvertsRequest) -> Vec<&'static str> {
    let wanted = request.adverts as f64 / ADVERTS_PER_INHABITANT;
    let mut drawn: Vec<(f64, &SynthCommune)> = communes::all()
        .iter()
        .enumerate()
        .filter(|(_, place)| place.population >= TOWN_INHABITANTS_MIN)
        .map(|(rank, place)| (to_unit(mix2(request.seed, rank as u64)), place))
        .collect();
    drawn.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut inhabitants = 0.0;
    let mut chosen = Vec::new();
    for (_, place) in drawn {
        if inhabitants >= wanted {
            break;
        }
        inhabitants += place.population;
        chosen.push(place.insee);
    }
    chosen
}

#[cfg(test)]
mod tests;
