//! Draws one mutation: what is sold, where and when, and the source rows that describe it.

use super::super::communes::{SynthAddress, SynthCommune, all};
use super::super::random::Stream;
use super::super::text::Day;
use super::price;
use super::rows::{Land, MutationRow, NOTHING, Premises};

/// Natures of mutations, in the source's spelling.
pub const NATURES: [&str; 5] = [
    "Vente",
    "Vente en l'état futur d'achèvement",
    "Vente terrain à bâtir",
    "Echange",
    "Adjudication",
];

/// Weight of each month; more deeds are signed at the end of the year.
const MONTHS: [f64; 12] = [7.2, 7.2, 8.2, 7.8, 8.0, 9.2, 9.6, 7.2, 8.8, 8.8, 8.2, 9.8];

/// Weight of each day of the week, Monday first; deeds are hardly ever signed on a Sunday.
const WEEKDAYS: [f64; 7] = [19.0, 19.5, 15.5, 21.5, 24.0, 0.4, 0.02];

/// One mutation.
#[derive(Clone, Debug)]
pub struct SynthSale {
    /// Year in the identifier.
    pub year: i32,
    /// Number within the year, from 1.
    pub number: u64,
    /// Day of the deed.
    pub day: Day,
    /// Index into `NATURES`.
    pub nature: usize,
    /// Price, EUR; `None` for about one sale in a thousand.
    pub price_eur: Option<f64>,
    /// Address of the first row.
    pub address: SynthAddress,
    /// Whether the row has a house number.
    pub numbered: bool,
    /// Whether the parcel has a position.
    pub placed: bool,
    /// Source rows.
    pub rows: Vec<MutationRow>,
}

impl Default for SynthSale {
    fn default() -> Self {
        Self {
            year: 0,
            number: 0,
            day: Day(0),
            nature: 0,
            price_eur: None,
            address: SynthAddress::draw(&all()[0], 0),
            numbered: true,
            placed: true,
            rows: Vec::new(),
        }
    }
}

impl SynthSale {
    /// Replaces this sale with a newly drawn one.
    pub fn draw(
        &mut self,
        stream: &mut Stream,
        place: &'static SynthCommune,
        year: i32,
        number: u64,
    ) {
        self.year = year;
        self.number = number;
        self.day = draw_day(stream, year);
        self.nature = 0;
        self.address = SynthAddress::draw(place, stream.bits());
        self.numbered = true;
        self.placed = !stream.chance(0.012);
        self.rows.clear();
        let (_, month, _) = self.day.civil();
        let moment = (year, month);
        let city = place.urbanity;
        let kinds = [
            0.04 + 0.66 * city,         // flat
            0.60 * (1.0 - city) + 0.02, // house
            0.05 + 0.05 * city,         // outbuilding alone
            0.025 + 0.035 * city,       // business premises
            0.26 * (1.0 - city) + 0.01, // bare land
            0.01 + 0.05 * city,         // off-plan
            0.012 + 0.012 * city,       // several dwellings
            0.006,                      // dwelling and shop
            0.0015,                     // volume
        ];
        let price = match stream.weighted(&kinds) {
            0 => self.draw_flat(stream, moment),
            1 => self.draw_house(stream, moment),
            2 => self.draw_outbuildings(stream),
            3 => self.draw_business(stream, moment),
            4 => self.draw_land(stream),
            5 => self.draw_off_plan(stream, moment),
            6 => self.draw_several(stream, moment),
            7 => {
                let dwelling = self.draw_flat(stream, moment);
                dwelling + self.draw_business(stream, moment)
            }
            _ => self.draw_volume(stream, moment),
        };
        if self.nature == 0 {
            self.nature = match stream.unit() {
                unit if unit < 0.0045 => 4,
                unit if unit < 0.0070 => 3,
                _ => 0,
            };
        }
        let at_auction = if self.nature == 4 { 0.72 } else { 1.0 };
        let gift = stream.chance(0.002);
        self.price_eur = if stream.chance(0.0008) {
            None
        } else if gift {
            Some(1.0)
        } else {
            Some(price::rounded_as_written(stream, price * at_auction))
        };
    }

    /// Returns kind, surface in m² and main rooms of the only dwelling sold; `None` if several dwellings are sold, or a
    /// dwelling with premises.
    pub fn only_dwelling(&self) -> Option<(&'static str, u32, u32)> {
        let mut only: Option<&MutationRow> = None;
        for row in &self.rows {
            match row.premises {
                Some(Premises::Business) => return None,
                Some(Premises::House | Premises::Flat) => match only {
                    Some(seen)
                        if (seen.lots, seen.surface_m2, seen.plot)
                            != (row.lots, row.surface_m2, row.plot) =>
                    {
                        return None;
                    }
                    _ => only = Some(row),
                },
                _ => {}
            }
        }
        let row = only?;
        let kind = match row.premises {
            Some(Premises::House) => "Maison",
            _ => "Appartement",
        };
        Some((kind, row.surface_m2, row.rooms))
    }

    fn draw_flat(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        let (surface_m2, rooms) = flat_size(stream, self.address.place.urbanity);
        let lot = stream.between(1, 240) as u32;
        let cellars = stream.weighted(&[36.0, 41.0, 17.0, 5.0, 1.0]);
        self.push_flat(stream, lot, surface_m2, rooms);
        let flat = self.rows[self.rows.len() - 1];
        let mut price = price::flat(stream, &self.address, moment, f64::from(surface_m2));
        for rank in 0..cellars {
            // The source either repeats the flat's lots in the row of the cellar or gives the cellar its own.
            let repeats = stream.chance(0.45);
            self.rows.push(MutationRow {
                premises: Some(Premises::Outbuilding),
                surface_m2: 0,
                rooms: 0,
                lots: if repeats {
                    flat.lots
                } else {
                    [lot + 20 + rank as u32 * 7, 0]
                },
                carrez_m2: if repeats { flat.carrez_m2 } else { None },
                ..flat
            });
            price += 0.35 * price::outbuilding(stream, &self.address);
        }
        if stream.chance(0.3) {
            self.rows.reverse();
        }
        price
    }

    fn push_flat(&mut self, stream: &mut Stream, lot: u32, surface_m2: u32, rooms: u32) {
        let carrez_m2 = stream
            .chance(0.42)
            .then(|| f64::from(surface_m2) * (1.0 + 0.03 * stream.normal()));
        let second_lot = if stream.chance(0.3) { lot + 31 } else { 0 };
        self.rows.push(MutationRow {
            premises: Some(Premises::Flat),
            surface_m2,
            rooms,
            lots: [lot, second_lot],
            carrez_m2,
            ..NOTHING
        });
    }

    fn draw_house(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        let city = self.address.place.urbanity;
        let surface_m2 = (96.0 * stream.spread(0.34)).clamp(22.0, 420.0);
        let rooms = (surface_m2 / 23.0 + 0.6 * stream.normal())
            .round()
            .clamp(1.0, 12.0);
        let land_m2 = (780.0 * (1.25 - city) * stream.spread(0.85)).clamp(35.0, 30_000.0);
        let house = MutationRow {
            premises: Some(Premises::House),
            surface_m2: surface_m2 as u32,
            rooms: rooms as u32,
            ..NOTHING
        };
        let own_land = |nature: usize, surface: f64| Land {
            nature,
            surface_m2: surface.max(1.0) as u32,
        };
        let soil_m2 = land_m2.min(500.0 + 200.0 * stream.unit());
        self.rows.push(MutationRow {
            land: Some(own_land(0, soil_m2)),
            ..house
        });
        let garden_m2 = land_m2 - soil_m2;
        if garden_m2 > 60.0 {
            let nature = stream.weighted(&[0.0, 70.0, 30.0]);
            // In half of the cases the garden is on the parcel of the house, and the source repeats the row of the
            // house.
            let is_on_other_parcel = stream.chance(0.5);
            let row = if is_on_other_parcel {
                MutationRow { plot: 1, ..NOTHING }
            } else {
                house
            };
            self.rows.push(MutationRow {
                land: Some(own_land(nature, garden_m2)),
                ..row
            });
        }
        if stream.chance(0.36) {
            self.rows.push(MutationRow {
                premises: Some(Premises::Outbuilding),
                land: self.rows[0].land,
                ..NOTHING
            });
        }
        if stream.chance(0.10 * (1.0 - city)) {
            self.rows.push(MutationRow {
                plot: 2,
                land: Some(own_land(3 + stream.below(4), 400.0 * stream.spread(1.0))),
                ..NOTHING
            });
        }
        price::house(
            stream,
            &self.address,
            moment,
            f64::from(house.surface_m2),
            land_m2,
        )
    }

    fn draw_outbuildings(&mut self, stream: &mut Stream) -> f64 {
        let mut price = 0.0;
        for rank in 0..1 + stream.weighted(&[90.0, 8.0, 2.0]) {
            let lot = stream.between(1, 400) as u32;
            self.rows.push(MutationRow {
                premises: Some(Premises::Outbuilding),
                lots: [lot + rank as u32, 0],
                ..NOTHING
            });
            price += price::outbuilding(stream, &self.address);
        }
        price
    }

    fn draw_business(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        let mut price = 0.0;
        for rank in 0..1 + stream.weighted(&[84.0, 12.0, 4.0]) {
            let surface_m2 = (62.0 * stream.spread(0.85)).clamp(8.0, 4_000.0) as u32;
            let lot = stream.between(1, 40) as u32;
            self.rows.push(MutationRow {
                premises: Some(Premises::Business),
                surface_m2,
                lots: [lot + 50 * rank as u32, 0],
                ..NOTHING
            });
            price += price::premises(stream, &self.address, moment, f64::from(surface_m2));
        }
        price
    }

    fn draw_land(&mut self, stream: &mut Stream) -> f64 {
        let mut price = 0.0;
        let buildable = stream.chance(0.35);
        self.numbered = false;
        if buildable && stream.chance(0.3) {
            self.nature = 2;
        }
        for plot in 0..1 + stream.weighted(&[62.0, 20.0, 9.0, 5.0, 4.0]) {
            let middle = if buildable { 650.0 } else { 2_600.0 };
            let surface_m2 = (middle * stream.spread(0.9)).clamp(5.0, 200_000.0);
            let nature = if buildable { 7 } else { 3 + stream.below(4) };
            self.rows.push(MutationRow {
                plot: plot as u64,
                land: Some(Land {
                    nature,
                    surface_m2: surface_m2 as u32,
                }),
                ..NOTHING
            });
            price += price::land(stream, &self.address, buildable, surface_m2);
        }
        price
    }

    fn draw_off_plan(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        self.nature = 1;
        self.numbered = false;
        let (surface_m2, _) = flat_size(stream, self.address.place.urbanity);
        for rank in 0..1 + stream.weighted(&[22.0, 56.0, 22.0]) {
            let lot = stream.between(1, 160) as u32;
            self.rows.push(MutationRow {
                lots: [lot + 160 * rank as u32, 0],
                ..NOTHING
            });
        }
        1.3 * price::flat(stream, &self.address, moment, f64::from(surface_m2))
    }

    fn draw_several(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        let mut price = 0.0;
        if stream.chance(0.2) {
            price += self.draw_house(stream, moment);
        }
        // A few dwellings, or a whole building: a small number of mutations has hundreds of rows.
        let dwellings = if stream.chance(0.01) {
            stream.between(40, 180)
        } else {
            2 + stream.weighted(&[50.0, 20.0, 11.0, 8.0, 6.0, 5.0]) as i64
        };
        for rank in 0..dwellings {
            let (surface_m2, rooms) = flat_size(stream, self.address.place.urbanity);
            self.push_flat(stream, 1 + rank as u32, surface_m2, rooms);
            price += 0.85 * price::flat(stream, &self.address, moment, f64::from(surface_m2));
            if stream.chance(0.3) {
                self.rows.push(MutationRow {
                    premises: Some(Premises::Outbuilding),
                    lots: [300 + rank as u32, 0],
                    ..NOTHING
                });
            }
        }
        price
    }

    fn draw_volume(&mut self, stream: &mut Stream, moment: (i32, u32)) -> f64 {
        // `rows` writes a volume number for a row of plot 9 without lot, building or land.
        self.rows.push(MutationRow { plot: 9, ..NOTHING });
        self.numbered = false;
        price::premises(stream, &self.address, moment, 300.0)
    }
}

/// Draws the surface in m² and the main rooms of a flat.
fn flat_size(stream: &mut Stream, urbanity: f64) -> (u32, u32) {
    let tilt = urbanity * urbanity;
    let rooms = 1 + stream.weighted(&[
        8.0 + 14.0 * tilt,
        24.0 + 4.0 * tilt,
        34.0,
        24.0 - 8.0 * tilt,
        7.0,
        2.0,
    ]);
    const MIDDLES: [f64; 6] = [26.0, 43.0, 63.0, 81.0, 102.0, 140.0];
    let shrink = 1.0 - 0.08 * tilt;
    let surface = MIDDLES[rooms - 1] * shrink * stream.spread(0.16);
    (surface.round().max(9.0) as u32, rooms as u32)
}

fn draw_day(stream: &mut Stream, year: i32) -> Day {
    let month = 1 + stream.weighted(&MONTHS) as u32;
    let first = Day::first_of(year, month);
    let next = if month == 12 {
        Day::first_of(year + 1, 1)
    } else {
        Day::first_of(year, month + 1)
    };
    let greatest = WEEKDAYS[4];
    loop {
        let day = Day(first.0 + stream.below((next.0 - first.0) as usize) as i32);
        if stream.unit() * greatest < WEEKDAYS[day.weekday()] {
            return day;
        }
    }
}
