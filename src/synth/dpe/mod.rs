//! Synthetic energy diagnostics in ADEME's snake_case columns.
//!
//! Diagnostics are clustered as in the real data: flats of one building together, sometimes with the building's own
//! diagnostic, occasionally followed by one that supersedes them. As in the published file, rows are not sorted by
//! place or time.

mod certificate;
mod columns;
mod dwelling_cells;
mod energy;
mod energy_cells;
mod number;
mod writers;

use std::io::{self, Write};

pub use self::certificate::{Certificate, Dwelling};
use self::columns::CertificateLayout;
pub use self::energy::class_of;
use super::blocks::{Generator, Summary, SynthReader};
use super::communes::{CommuneSampler, SynthAddress};
use super::random::Stream;

/// A generator of diagnostics.
#[derive(Debug)]
pub struct DiagnosticGenerator {
    count: u64,
    seed: u64,
    places: CommuneSampler,
    layout: CertificateLayout,
}

impl DiagnosticGenerator {
    /// Diagnostics of a seed; `full_width` fills all 230 columns instead of only the modelled ones.
    pub fn new(count: u64, seed: u64, full_width: bool) -> Self {
        let places = CommuneSampler::new(|place| match place.population {
            // Diagnostics overseas are recent and few.
            population if place.department.starts_with("97") => population * 0.05,
            population => population,
        });
        Self {
            count,
            seed,
            places,
            layout: CertificateLayout::new(full_width),
        }
    }

    /// Draws the diagnostics of a block in order.
    pub(super) fn draw(&self, block: u64, from: u64, to: u64, mut each: impl FnMut(&Certificate)) {
        let mut stream = Stream::new(self.seed, 2, block);
        let mut rank = from;
        while rank < to {
            let place = self.places.at(stream.unit());
            let address = SynthAddress::draw(place, stream.bits());
            let flats = stream.chance(0.06 + 0.86 * place.urbanity);
            let mut building_number = None;
            let mut emit = |stream: &mut Stream, dwelling, building_number: Option<_>| {
                if rank >= to {
                    return None;
                }
                let mut certificate =
                    Certificate::draw(stream, rank, address, dwelling, building_number);
                // A later diagnostic of the same dwelling, after renovation or a correction.
                certificate.superseded = stream.chance(0.035) && rank + 1 < to;
                each(&certificate);
                rank += 1;
                if certificate.superseded {
                    certificate.supersede(stream, rank);
                    each(&certificate);
                    rank += 1;
                }
                Some(certificate.number)
            };
            if !flats {
                emit(&mut stream, Dwelling::House, None);
                continue;
            }
            let building = address.building();
            if stream.chance(0.05) {
                building_number = emit(&mut stream, Dwelling::Building, None);
            }
            let most = if building_number.is_some() { 9 } else { 3 };
            let most = most.min(building.dwellings as usize);
            for _ in 0..1 + stream.below(most) {
                emit(&mut stream, Dwelling::Flat, building_number);
            }
        }
    }
}

impl Generator for DiagnosticGenerator {
    fn items(&self) -> u64 {
        self.count
    }

    fn header(&self, out: &mut Vec<u8>) {
        self.layout.write_header(out);
    }

    fn block(&self, block: u64, from: u64, to: u64, out: &mut Vec<u8>) -> u64 {
        self.draw(block, from, to, |certificate| {
            self.layout.write(certificate, out);
        });
        to - from
    }
}

/// Writes a complete file of `rows` diagnostics.
pub fn write(
    writer: &mut impl Write,
    rows: u64,
    seed: u64,
    full_width: bool,
) -> io::Result<Summary> {
    SynthReader::start(DiagnosticGenerator::new(rows, seed, full_width))?.copy_to(writer, |_| {})
}
