//! Made-up adverts whose true assets are known: four invented portals, two years of life, every noise of the trade.
//!
//! Assets come in groups of 21 that 32 adverts show, so N adverts are of about 2/3 N assets. Some groups hold twins
//! (two flats of a building, written alike by one agency) and the flats of a programme. [`asset`] draws what is true,
//! [`seller`] who sells it, `life` when it is seen and at what price, [`portal`] and [`words`] what a portal shows;
//! [`level`] says how far that is from the truth, `files` writes it.
//!
//! Order: the sightings of a block of 2,048 adverts come in time order, and blocks by when their assets reach the
//! market. So those of one asset are in time order, and the file as a whole roughly is. Everything follows from the
//! seed, with any number of threads; memory stays at a few blocks.

pub mod asset;
mod files;
pub mod level;
mod life;
pub mod portal;
pub mod seller;
mod shown;
pub mod words;

use asset::Asset;
pub use files::{documents, labels};
pub use level::Level;
use level::Noise;
use life::{Course, Shift};
use portal::{Listing, PORTALS, sighted};
use seller::{Kind, Seller};

use super::blocks::BLOCK_ITEMS;
use super::places::{self, Draw, Place};
use super::random::{Stream, mix, mix2, to_unit};
use super::text::Day;
use toise_contract::enums::EnumPropertyClass as Class;
use toise_contract::listings::Advert;

/// Adverts of a group.
const GROUP_ADVERTS: u64 = 32;
/// Assets of a group.
const GROUP_ASSETS: u64 = 21;
/// How many adverts the assets of a group have.
const ADVERTS_OF_ASSETS: [u8; GROUP_ASSETS as usize] = [
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4,
];
/// How likely a group begins with two twins.
const TWINS: f64 = 0.7;
/// How likely a group goes on with a programme and four of its flats.
const PROGRAMME: f64 = 0.15;
/// Flats shown of a programme.
const LOTS: usize = 4;
/// How likely a further advert replaces an earlier one on its portal, under a new address.
const REPUBLISHED: f64 = 0.1;
/// How likely a second agency shows the asset on the portal that shows it already.
const SAME_PORTAL: f64 = 0.04;
/// Days over which assets reach the market.
const MARKET_DAYS: i64 = 730;
const DAY_S: i64 = 86_400;
/// The generated market ends here unless said otherwise: 2026-11-01 00:00 UTC.
pub const UNTIL_S: i64 = 1_793_491_200;
/// Adverts of two years for each inhabitant: the density of the whole market.
const ADVERTS_PER_INHABITANT: f64 = 0.05;
/// Distinguishes these streams from those of sales and diagnostics.
const DATASET: u64 = 4;

/// Where the adverts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Over all of France, however thinly.
    Country,
    /// In as few communes as make them as dense as the whole market: for measuring how well they are told apart.
    Dense,
}

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Adverts: distinct addresses on the portals. Each is seen once or more.
    pub adverts: u64,
    /// The same seed gives the same bytes.
    pub seed: u64,
    /// How far portals are from the truth.
    pub level: Level,
    /// Where they lie.
    pub spread: Spread,
    /// End of the market, seconds since 1970: no sighting is later.
    pub until_s: i64,
}

impl Request {
    /// Adverts all over France until the end of October 2026.
    pub fn new(adverts: u64, seed: u64, level: Level) -> Self {
        Self {
            adverts,
            seed,
            level,
            spread: Spread::Country,
            until_s: UNTIL_S,
        }
    }
}

/// One sighting of an advert, and what it truly shows.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The advert, as ingestion takes it.
    pub advert: Advert,
    /// Number of its asset, from 0.
    pub asset: u64,
    /// Whether it is the first sighting of this advert.
    pub first: bool,
}

/// Makes adverts.
#[derive(Debug)]
pub struct Market {
    request: Request,
    places: Draw,
}

impl Market {
    /// The market of a request.
    pub fn new(request: Request) -> Self {
        let chosen = match request.spread {
            Spread::Country => None,
            Spread::Dense => Some(dense(&request)),
        };
        let places = Draw::new(|place: &Place| match &chosen {
            Some(chosen) if !chosen.contains(&place.insee) => 0.0,
            // Villages stand for the many small communes that the table leaves out.
            None if place.population < 5_000.0 => place.population.max(100.0) * 4.0,
            _ => place.population.max(100.0),
        });
        Self { request, places }
    }

    /// Adverts: distinct addresses.
    pub fn adverts(&self) -> u64 {
        self.request.adverts
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.request.adverts.div_ceil(BLOCK_ITEMS)
    }

    /// The sightings of a block in time order.
    pub fn block(&self, block: u64) -> Vec<Observation> {
        let from = block * BLOCK_ITEMS;
        let to = (from + BLOCK_ITEMS).min(self.request.adverts);
        let mut observed = Vec::with_capacity(2 * BLOCK_ITEMS as usize);
        for group in from / GROUP_ADVERTS..to.div_ceil(GROUP_ADVERTS) {
            self.group(group, &mut observed);
        }
        // Addresses tell apart what is seen in one second.
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

    /// Every sighting, block by block, made as it is asked for.
    pub fn observations(&self) -> impl Iterator<Item = Observation> {
        (0..self.blocks()).flat_map(|block| self.block(block))
    }

    fn group(&self, group: u64, observed: &mut Vec<(i64, Observation)>) {
        let request = &self.request;
        let mut stream = Stream::new(request.seed, DATASET, group);
        let counts = shuffled(&mut stream);
        let mut advert = group * GROUP_ADVERTS;
        let mut made = Made::default();
        for (rank, count) in counts.into_iter().enumerate() {
            let number = group * GROUP_ASSETS + rank as u64;
            let start_s = self.start_s(number, &mut stream);
            let (asset, seller) = self.asset(&mut stream, &mut made, rank, start_s);
            self.show(
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

    /// When an asset reaches the market: one after the other over two years, the last a while before the end.
    fn start_s(&self, number: u64, stream: &mut Stream) -> i64 {
        let assets = (self.request.adverts * GROUP_ASSETS)
            .div_ceil(GROUP_ADVERTS)
            .max(1);
        let share = (number as f64 + stream.unit()) / assets as f64;
        let span_s = (MARKET_DAYS * DAY_S) as f64;
        self.request.until_s - MARKET_DAYS * DAY_S + (share.min(1.0) * span_s) as i64
    }

    fn asset(
        &self,
        stream: &mut Stream,
        made: &mut Made,
        rank: usize,
        start_s: i64,
    ) -> (Asset, Seller) {
        let day = Day((start_s / DAY_S) as i32);
        let place = self.places.at(stream.unit());
        match rank {
            0 if stream.chance(TWINS) => {
                let asset = Asset::of_class(stream, place, day, Class::Flat);
                let seller = Seller::draw(stream, place);
                made.twin = Some((asset.clone(), seller));
                (asset, seller)
            }
            1 if made.twin.is_some() => match made.twin.take() {
                Some((first, seller)) => {
                    let twin = first.twin(stream);
                    // Mostly the same agency; a private person rarely owns two.
                    let seller = match seller.kind {
                        Kind::Private => Seller::draw(stream, first.address.place),
                        _ if stream.chance(0.7) => seller,
                        _ => Seller::draw(stream, first.address.place),
                    };
                    (twin, seller)
                }
                None => (Asset::draw(stream, place, day), Seller::draw(stream, place)),
            },
            2 if stream.chance(PROGRAMME) => {
                let asset = Asset::of_class(stream, place, day, Class::Program);
                let seller = Seller::professional(stream, place, false);
                made.programme = Some((asset.clone(), seller));
                (asset, seller)
            }
            rank if (3..3 + LOTS).contains(&rank) && made.programme.is_some() => {
                match &made.programme {
                    Some((programme, seller)) => (programme.lot(stream, rank as u32 - 2), *seller),
                    None => (Asset::draw(stream, place, day), Seller::draw(stream, place)),
                }
            }
            _ => (Asset::draw(stream, place, day), Seller::draw(stream, place)),
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "called once, with what was drawn just before"
    )]
    fn show(
        &self,
        stream: &mut Stream,
        asset: &Asset,
        seller: Seller,
        number: u64,
        start_s: i64,
        ranks: std::ops::Range<u64>,
        observed: &mut Vec<(i64, Observation)>,
    ) {
        let noise: Noise = self.request.level.noise();
        let course = Course::draw(stream, asset, start_s);
        let mut portals = [0, 1, 2, 3];
        for place in (1..portals.len()).rev() {
            portals.swap(place, stream.below(place + 1));
        }
        let mut last: Option<(usize, Shift)> = None;
        for (turn, rank) in ranks.enumerate() {
            let first = turn == 0;
            let mut shift = Shift::draw(stream, &course, &noise, first);
            let mut portal = portals[turn % PORTALS.len()];
            let mut by = seller;
            if let Some((last_portal, last_shift)) = last {
                // What a private person does not sell comes to an agency later.
                let elsewhere = !asset.programme && stream.chance(noise.second_agency);
                if elsewhere {
                    let network = stream.chance(0.2);
                    by = Seller::professional(stream, asset.address.place, network);
                    if stream.chance(SAME_PORTAL) {
                        portal = last_portal;
                    }
                } else if stream.chance(REPUBLISHED) {
                    portal = last_portal;
                    shift.from_s = last_shift.to_s + stream.between(1, 20) * DAY_S;
                    shift.to_s = shift.from_s + stream.between(10, 90) * DAY_S;
                }
            }
            // Whatever comes to the market at the very end is still seen once.
            shift.from_s = shift.from_s.min(self.request.until_s - 3_600);
            shift.to_s = shift.to_s.max(shift.from_s + 3_600);
            last = Some((portal, shift));
            let listing = Listing {
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
                sighted(&mut advert, shift.from_s, sighting);
                observed.push((
                    sighting.at_s,
                    Observation {
                        advert,
                        asset: number,
                        first: turn == 0,
                    },
                ));
            }
        }
    }
}

/// What later assets of a group resemble.
#[derive(Default)]
struct Made {
    twin: Option<(Asset, Seller)>,
    programme: Option<(Asset, Seller)>,
}

fn shuffled(stream: &mut Stream) -> [u8; GROUP_ASSETS as usize] {
    let mut counts = ADVERTS_OF_ASSETS;
    for place in (1..counts.len()).rev() {
        counts.swap(place, stream.below(place + 1));
    }
    counts
}

/// Communes drawn by the seed until they hold enough inhabitants.
fn dense(request: &Request) -> Vec<&'static str> {
    let wanted = request.adverts as f64 / ADVERTS_PER_INHABITANT;
    let mut drawn: Vec<(f64, &Place)> = places::all()
        .iter()
        .enumerate()
        .map(|(rank, place)| (to_unit(mix2(request.seed, rank as u64)), place))
        .collect();
    drawn.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut inhabitants = 0.0;
    let mut chosen = Vec::new();
    for (_, place) in drawn {
        if inhabitants >= wanted {
            break;
        }
        inhabitants += place.population.max(100.0);
        chosen.push(place.insee);
    }
    chosen
}

#[cfg(test)]
mod tests;
