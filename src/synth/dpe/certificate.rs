//! Draws one energy diagnostic: dwelling, insulation, energies, dates.

use super::super::communes::{Building, SynthAddress};
use super::super::random::{Stream, weighted_at};
use super::super::text::Day;
use super::energy::{Balance, ENERGIES, NEED_BY_PERIOD, Needs, class_of, climate};
use super::number::CertificateNumber;

/// First and last year of each construction period.
const PERIOD_YEARS: [(i64, i64); 10] = [
    (1850, 1947),
    (1948, 1974),
    (1975, 1977),
    (1978, 1982),
    (1983, 1988),
    (1989, 2000),
    (2001, 2005),
    (2006, 2012),
    (2013, 2021),
    (2022, 2024),
];

/// The kind of dwelling that a diagnostic describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dwelling {
    /// `appartement`.
    Flat,
    /// `maison`.
    House,
    /// `immeuble`: a whole block of flats.
    Building,
}

/// One energy diagnostic.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Number of the diagnostic.
    pub number: CertificateNumber,
    /// Number of the diagnostic it supersedes.
    pub replaced: Option<CertificateNumber>,
    /// Number of the building's diagnostic that its values are taken from.
    pub building_number: Option<CertificateNumber>,
    /// Whether a later diagnostic of the file supersedes it.
    pub superseded: bool,
    /// 64 random bits for values without a model.
    pub bits: u64,
    /// Kind of dwelling.
    pub dwelling: Dwelling,
    /// Address.
    pub address: SynthAddress,
    /// Building at the address.
    pub building: Building,
    /// Day of the visit.
    pub visited: Day,
    /// Day of issue.
    pub established: Day,
    /// Day of receipt by the register.
    pub received: Day,
    /// Day of the last change.
    pub modified: Day,
    /// Year of construction, known for about half.
    pub year_built: Option<i64>,
    /// Habitable area of the dwelling, or of the whole building, square metres.
    pub surface_m2: f64,
    /// Storey of a flat; the ground floor is 0.
    pub floor: u32,
    /// Number of storeys of the dwelling.
    pub levels: u32,
    /// Heating energy, as an index into `ENERGIES`.
    pub heating: usize,
    /// Hot water energy, as an index into `ENERGIES`.
    pub water: usize,
    /// Insulation quality of envelope, walls, roof, ground floor and windows, from 0 (worst) to 3.
    pub qualities: [usize; 5],
    /// Whether it has air conditioning.
    pub cooled: bool,
    /// Yearly consumption, emissions and cost.
    pub balance: Balance,
    /// Yearly needs.
    pub needs: Needs,
    /// Heating need relative to the average of its period, due to renovation and maintenance.
    quality: f64,
}

impl Certificate {
    /// Draws the diagnostic with this rank in the file.
    pub fn draw(
        stream: &mut Stream,
        rank: u64,
        address: SynthAddress,
        dwelling: Dwelling,
        building_number: Option<CertificateNumber>,
    ) -> Self {
        let building = address.building();
        let period = building.period;
        let urbanity = address.place.urbanity;
        let established = draw_day(stream);
        let surface_m2 = match dwelling {
            Dwelling::Flat => (58.0 - 4.0 * urbanity) * stream.spread(0.40),
            Dwelling::House => 98.0 * stream.spread(0.36),
            Dwelling::Building => f64::from(building.dwellings) * 58.0 * stream.spread(0.18),
        };
        let surface_m2 = (surface_m2.max(9.0) * 10.0).round() / 10.0;
        let (first, last) = PERIOD_YEARS[period];
        let heating = draw_heating(stream, &address, dwelling, period);
        let water = match heating {
            1 | 2 | 3 | 6 | 7 if !stream.chance(0.18) => heating,
            _ => 0,
        };
        let renovated = period < 6 && stream.chance(0.30);
        let quality = stream.spread(0.26) * if renovated { 0.66 } else { 1.0 };
        let floor = stream.below(building.floors as usize + 1) as u32;
        let mut certificate = Self {
            number: CertificateNumber::of_rank(0, "", rank),
            replaced: None,
            superseded: false,
            building_number,
            bits: stream.bits(),
            dwelling,
            address,
            building,
            visited: established,
            established,
            received: established,
            modified: established,
            year_built: stream
                .chance(0.52)
                .then(|| stream.between(first.max(last - 60), last)),
            surface_m2,
            floor: if stream.chance(0.55) {
                0
            } else {
                floor.min(building.floors - 1)
            },
            levels: match dwelling {
                Dwelling::House => 1 + stream.weighted(&[42.0, 48.0, 10.0]) as u32,
                _ => 1 + u32::from(stream.chance(0.06)),
            },
            heating,
            water,
            qualities: [0; 5],
            cooled: stream.chance(if climate(address.place.department).0 == "H3" {
                0.24
            } else {
                0.04
            }),
            balance: Balance::default(),
            needs: Needs {
                heating: 0.0,
                water: 0.0,
                cooling: 0.0,
                lighting: 0.0,
                auxiliaries: 0.0,
            },
            quality,
        };
        certificate.assess(stream);
        certificate.date(stream, rank, established);
        if certificate.replaced.is_none() && stream.chance(0.03) {
            let (year, _, _) = established.civil();
            let department = address.place.department;
            certificate.replaced = Some(CertificateNumber::elsewhere(
                year,
                department,
                stream.bits(),
            ));
        }
        certificate
    }

    /// Turns this diagnostic into the one that supersedes it.
    pub fn supersede(&mut self, stream: &mut Stream, rank: u64) {
        self.replaced = Some(self.number);
        self.superseded = false;
        self.bits = stream.bits();
        let after_works = stream.chance(0.45);
        if after_works {
            self.quality *= 0.65;
        }
        self.assess(stream);
        let wait = stream.between(1, if after_works { 500 } else { 60 }) as i32;
        let last = Day::first_of(2026, 1).0 - 1;
        let day = Day((self.established.0 + wait).min(last));
        self.date(stream, rank, day);
    }

    /// Computes insulation qualities, needs and consumption from the state of the dwelling.
    fn assess(&mut self, stream: &mut Stream) {
        let (_, climate_factor) = climate(self.address.place.department);
        let per_m2_before = NEED_BY_PERIOD[self.building.period];
        let shape = match self.dwelling {
            Dwelling::Flat => 0.72 * (60.0 / self.surface_m2).powf(0.22),
            Dwelling::House => 0.97 * (100.0 / self.surface_m2).powf(0.22),
            Dwelling::Building => 0.70,
        };
        let heating_per_m2 = per_m2_before * self.quality * shape * climate_factor;
        // The qualities are derived, part by part, from the envelope that the need implies.
        let envelope = heating_per_m2 / (shape * climate_factor.max(0.3));
        for (part, quality) in self.qualities.iter_mut().enumerate() {
            let seen = envelope * if part == 0 { 1.0 } else { stream.spread(0.3) };
            *quality = [110.0, 75.0, 45.0]
                .iter()
                .filter(|bound| seen < **bound)
                .count();
        }
        let surface = self.surface_m2;
        let water_per_m2 = match self.dwelling {
            Dwelling::Building => 21.0,
            _ => 20.0 * (62.0 / surface).powf(0.42),
        };
        self.needs = Needs {
            heating: heating_per_m2 * surface,
            water: water_per_m2 * surface * stream.spread(0.08),
            cooling: if self.cooled {
                9.0 * surface * stream.spread(0.4)
            } else {
                0.0
            },
            lighting: 1.9 * surface,
            auxiliaries: match self.heating {
                0 | 4 => 0.0,
                _ => 3.6 * surface * stream.spread(0.35),
            },
        };
        self.balance = Balance::new(self.needs, ENERGIES[self.heating], ENERGIES[self.water]);
    }

    /// Sets the dates around the day of issue, and the number, which contains the year.
    fn date(&mut self, stream: &mut Stream, rank: u64, established: Day) {
        let (year, _, _) = established.civil();
        self.number = CertificateNumber::of_rank(year, self.address.place.department, rank);
        self.established = established;
        self.visited =
            Day(established.0
                - stream.weighted(&[55.0, 20.0, 10.0, 5.0, 4.0, 3.0, 2.0, 1.0]) as i32);
        self.received = Day(established.0 + stream.weighted(&[48.0, 46.0, 6.0]) as i32);
        let changed_later = if stream.chance(0.08) {
            stream.between(1, 200) as i32
        } else {
            0
        };
        self.modified = Day(self.received.0 + changed_later);
    }

    /// Primary energy as published, kWh per square metre and year.
    pub fn primary_per_m2(&self) -> f64 {
        (self.balance.primary.iter().sum::<f64>() / self.surface_m2).floor()
    }

    /// Final energy as published, kWh per square metre and year.
    pub fn last_per_m2(&self) -> f64 {
        (self.balance.last.iter().sum::<f64>() / self.surface_m2).floor()
    }

    /// Emissions as published, kg of CO2 per square metre and year.
    pub fn emission_per_m2(&self) -> f64 {
        (self.balance.emission.iter().sum::<f64>() / self.surface_m2).floor()
    }

    /// Energy and climate class, as indices into [`toise_opendata::dpe::CLASSES`].
    pub fn classes(&self) -> (usize, usize) {
        class_of(self.primary_per_m2(), self.emission_per_m2())
    }

    /// Last day of validity.
    pub fn expires(&self) -> Day {
        let (year, month, day) = self.established.civil();
        // The day before the tenth anniversary.
        Day(Day::first_of(year + 10, month).0 + day as i32 - 2)
    }
}

/// Draws the heating energy, by kind of dwelling, place and period.
fn draw_heating(
    stream: &mut Stream,
    address: &SynthAddress,
    dwelling: Dwelling,
    period: usize,
) -> usize {
    let urbanity = address.place.urbanity;
    let recent = if period >= 7 { 1.0 } else { 0.0 };
    let south = if climate(address.place.department).0 == "H3" {
        1.6
    } else {
        1.0
    };
    if address.place.department.starts_with("97") {
        return 0;
    }
    let weights = match dwelling {
        Dwelling::House => [
            30.0 * south,
            12.0 + 40.0 * recent,
            12.0 + 42.0 * urbanity,
            15.0 * (1.0 - urbanity) * (1.0 - recent),
            12.0 * (1.0 - urbanity),
            7.0,
            0.4,
            3.5 * (1.0 - urbanity),
        ],
        // Drawn from the address: a building and its flats either share one heating system or have separate ones.
        _ => [
            44.0 * south,
            3.0 + 14.0 * recent,
            16.0 + 34.0 * urbanity,
            2.5 * (1.0 - recent),
            0.4,
            0.4,
            13.0 * urbanity * urbanity,
            0.3,
        ],
    };
    if dwelling != Dwelling::House && !stream.chance(0.12) {
        return weighted_at(address.unit(9), &weights);
    }
    stream.weighted(&weights)
}

/// Draws a day between July 2021, when the current method was introduced, and the end of 2025; later days are more
/// likely, Sundays rare.
fn draw_day(stream: &mut Stream) -> Day {
    let first = Day::first_of(2021, 7).0;
    let last = Day::first_of(2026, 1).0;
    loop {
        let unit = stream.unit().powf(0.88);
        let day = Day(first + (unit * f64::from(last - first)) as i32);
        let kept = match day.weekday() {
            5 => 0.15,
            6 => 0.06,
            _ => 1.0,
        };
        if stream.chance(kept) {
            return day;
        }
    }
}
