//! Draws the streets and hamlets of a commune: their number, names, identifiers and positions.

use std::f64::consts::TAU;

use super::afnor;
use super::communes::{BanCommune, Part, Quota, key, offset};
use super::names::{NameInputs, Names, StreetName};
use super::regions::Region;
use crate::random::Stream;

/// Distinguishes these streams of random numbers from those of other datasets.
const DATASET: u64 = 0xBA4;
/// Average house numbers of a street: the minimum, and the increase for each factor e of house numbers in the commune.
const NUMBERS_PER_STREET: (f64, f64) = (3.6, 1.1);
/// House numbers at which a commune's streets begin to grow longer.
const LONGER_FROM: f64 = 20.0;
/// Standard deviation of the logarithm of a street's length.
const LENGTH_DEVIATION: f64 = 1.0;
/// Hamlets of a commune per address, and their maximum.
const HAMLETS_PER_ADDRESS: f64 = 0.06;
const HAMLETS_MAX: f64 = 40.0;
/// Minimum inhabitants of a town, and of a city.
const TOWN: u32 = 4_000;
const CITY: u32 = 40_000;
/// Codes with four digits; the next begin with a letter.
const DIGIT_CODES: u32 = 9_999;

/// How a commune writes names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// Capitals and accents.
    Usual,
    /// No accents.
    Plain,
    /// The type in lower case.
    LowerType,
    /// Capitals only.
    Capitals,
}

/// A street of a commune.
#[derive(Debug)]
pub struct BanStreet {
    /// Index of its part.
    pub part: usize,
    /// Name as written in its rows.
    pub name: String,
    /// Name as the post writes it.
    pub afnor: String,
    /// Street part of identifiers: `48002_0210`, or `48002_9cedno` where the tax office has no code.
    pub id: String,
    /// Whether the tax office has a code for it.
    pub has_fantoir: bool,
    /// Postal code.
    pub postal_code: &'static str,
    /// Hamlet it is in; empty in most towns.
    pub hamlet: String,
    /// Number of addresses.
    pub houses: u64,
    /// Its middle, latitude and longitude, degrees.
    pub middle: (f64, f64),
    /// Whether its numbers are metres from its beginning.
    pub is_metric: bool,
    /// Seed of the random numbers for this street.
    pub seed: u64,
}

/// A named place without house numbers.
#[derive(Debug)]
pub struct BanHamlet {
    /// Index of its part.
    pub part: usize,
    /// Name.
    pub name: String,
    /// Identifier.
    pub id: String,
    /// Postal code.
    pub postal_code: &'static str,
    /// Latitude and longitude, degrees.
    pub position: (f64, f64),
}

/// The streets and hamlets of a commune, and what its rows have in common.
#[derive(Debug)]
pub struct CommuneRows {
    /// Streets.
    pub streets: Vec<BanStreet>,
    /// Named places without house numbers.
    pub hamlets: Vec<BanHamlet>,
    /// Whether the commune itself maintains its addresses.
    pub is_maintained: bool,
    /// Whether it names parcels.
    pub has_parcels: bool,
}

/// Draws the streets and hamlets of a commune, the same for the same seed.
pub fn draw(commune: &BanCommune, seed: u64) -> CommuneRows {
    let mut stream = Stream::new(seed, DATASET, key(commune.place.code));
    let size = match commune.place.population {
        0..TOWN => 0,
        TOWN..CITY => 1,
        _ => 2,
    };
    let setting = NameInputs {
        size,
        region: Region::of(commune.place.department),
        neighbours: commune.neighbours.clone(),
    };
    let is_maintained = stream.chance(0.62);
    let mut drawing = Drawing {
        commune,
        spelling: match stream.weighted(&[84.0, 8.0, 5.0, 3.0]) {
            0 => Spelling::Usual,
            1 => Spelling::Plain,
            2 => Spelling::LowerType,
            _ => Spelling::Capitals,
        },
        metric_share: if stream.chance([0.5, 0.2, 0.02][size]) {
            0.7
        } else {
            0.01
        },
        fantoir_share: if stream.chance(0.6) { 0.92 } else { 0.05 },
        in_hamlets: [0.35, 0.06, 0.0][size],
        code: 1,
        rows: CommuneRows {
            streets: Vec::new(),
            hamlets: Vec::new(),
            is_maintained,
            has_parcels: stream.chance(0.58),
        },
        stream,
    };
    let mut quota = Quota::new(commune.addresses, 1.0);
    for (part, about) in commune.parts.iter().enumerate() {
        drawing.part(part, about, quota.next(about.share), &setting);
    }
    drawing.rows
}

struct Drawing<'c> {
    commune: &'c BanCommune,
    spelling: Spelling,
    metric_share: f64,
    fantoir_share: f64,
    /// Share of the streets that name the hamlet they are in.
    in_hamlets: f64,
    /// Rank of the latest street code.
    code: u32,
    rows: CommuneRows,
    stream: Stream,
}

impl Drawing<'_> {
    fn part(&mut self, part: usize, about: &Part, addresses: u64, setting: &NameInputs<'_>) {
        let mut names = Names::new(setting);
        let hamlets = (addresses as f64 * HAMLETS_PER_ADDRESS).min(HAMLETS_MAX * about.share);
        let first_hamlet = self.rows.hamlets.len();
        for _ in 0..hamlets.ceil() as usize {
            if let Some(name) = names.hamlet(&mut self.stream) {
                let hamlet = self.hamlet(part, about, name);
                self.rows.hamlets.push(hamlet);
            }
        }
        let lengths = self.lengths(addresses);
        let weights: f64 = lengths.iter().sum();
        let mut quota = Quota::new(addresses.saturating_sub(lengths.len() as u64), weights);
        for length in &lengths {
            let houses = 1 + quota.next(*length);
            let Some(name) = names.street(&mut self.stream) else {
                // Its addresses go to the previous street, so that none is lost.
                if let Some(before) = self.rows.streets.last_mut() {
                    before.houses += houses;
                }
                continue;
            };
            let street = self.street(part, about, first_hamlet, &name, houses);
            self.rows.streets.push(street);
        }
    }

    /// Draws the relative lengths of the streets of a number of addresses.
    fn lengths(&mut self, addresses: u64) -> Vec<f64> {
        let numbers = addresses as f64;
        let (least, growth) = NUMBERS_PER_STREET;
        let per_street = least + growth * (numbers / LONGER_FROM).ln_1p();
        let streets = (numbers / per_street).ceil() as usize;
        (0..streets)
            .map(|_| self.stream.spread(LENGTH_DEVIATION))
            .collect()
    }

    fn street(
        &mut self,
        part: usize,
        about: &Part,
        first_hamlet: usize,
        name: &StreetName,
        houses: u64,
    ) -> BanStreet {
        let own = &self.rows.hamlets[first_hamlet..];
        let (middle, bearing) = scatter(about.centre, self.commune.reach_m, &mut self.stream);
        let hamlet = match own.get(self.stream.below(own.len())) {
            Some(hamlet) if self.stream.chance(self.in_hamlets) => Some(hamlet),
            _ => None,
        };
        let (hamlet, middle) = match hamlet {
            Some(hamlet) => (
                hamlet.name.clone(),
                scatter(hamlet.position, 150.0, &mut self.stream).0,
            ),
            None => (String::new(), middle),
        };
        let has_fantoir = self.stream.chance(self.fantoir_share);
        let insee = self.commune.place.code;
        BanStreet {
            part,
            name: self.spell(name),
            afnor: afnor::street(name),
            id: if has_fantoir {
                format!("{insee}_{}", self.next_code())
            } else {
                format!("{insee}_{}", random_code(&mut self.stream))
            },
            has_fantoir,
            postal_code: postal_code(about, bearing),
            hamlet,
            houses,
            middle,
            is_metric: self.stream.chance(self.metric_share),
            seed: self.stream.bits(),
        }
    }

    fn hamlet(&mut self, part: usize, about: &Part, name: String) -> BanHamlet {
        let (position, bearing) = scatter(about.centre, self.commune.reach_m, &mut self.stream);
        BanHamlet {
            part,
            name,
            id: format!(
                "{}_B{:03}",
                self.commune.place.code,
                1 + self.rows.hamlets.len() * 3
            ),
            postal_code: postal_code(about, bearing),
            position,
        }
    }

    /// Returns the next code of the tax office: four digits, or a letter and three digits.
    fn next_code(&mut self) -> String {
        self.code += 1 + self.stream.below(2) as u32;
        if self.code <= DIGIT_CODES {
            return format!("{:04}", self.code);
        }
        let beyond = self.code - DIGIT_CODES;
        // B stands for named places.
        let letter = char::from(b'C' + (beyond / 1_000) as u8);
        format!("{letter}{:03}", beyond % 1_000)
    }

    fn spell(&self, name: &StreetName) -> String {
        let text = name.text();
        match self.spelling {
            Spelling::Usual => text,
            Spelling::Plain => afnor::plain(&text),
            Spelling::LowerType => match name.street_type.name {
                "" => text,
                kind => format!("{} {}", kind.to_lowercase(), name.rest),
            },
            Spelling::Capitals => afnor::plain(&text).to_uppercase(),
        }
    }
}

/// Draws six letters and digits, for a street that the tax office has no code for.
fn random_code(stream: &mut Stream) -> String {
    const SYMBOLS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    (0..6).map(|_| char::from(stream.pick(SYMBOLS))).collect()
}

/// Draws a position around a centre, denser near it, and its bearing as a share of the circle.
fn scatter(centre: (f64, f64), reach_m: f64, stream: &mut Stream) -> ((f64, f64), f64) {
    let bearing = stream.unit();
    let away = reach_m * stream.unit().powf(0.7);
    let (north, east) = (bearing * TAU).sin_cos();
    (offset(centre, away * north, away * east), bearing)
}

/// Returns the postal code of a bearing: each postal code of a town has its own sector.
fn postal_code(part: &Part, bearing: f64) -> &'static str {
    let sector = (bearing * part.postal_codes.len() as f64) as usize;
    part.postal_codes.get(sector).copied().unwrap_or_default()
}
