//! Synthetic sales in the 40 columns of geo-dvf.
//!
//! As in the official files, rows are sorted by year and within a year by commune; `id_mutation` counts from 1 in each
//! year. A sale's year and commune depend on its rank alone, the rest on the stream of its block.

pub(super) mod price;
mod rows;
mod sale;

use std::io::{self, Write};

pub use self::sale::SynthSale;
use super::blocks::{Generator, Summary, SynthReader};
use super::communes::{CommuneSampler, SynthCommune};
use super::random::Stream;
use super::text::CsvLine;

/// First year of the sales.
pub const FIRST_YEAR: i32 = 2021;

/// Share of sales in each year since [`FIRST_YEAR`]: the market shrank from the end of 2022.
const YEAR_SHARES: [f64; 5] = [0.232, 0.222, 0.190, 0.172, 0.184];

/// Departments whose sales are recorded elsewhere (land registers of Alsace-Moselle, Mayotte).
const WITHOUT_SALES: [&str; 4] = ["57", "67", "68", "976"];

/// Columns of geo-dvf.
#[rustfmt::skip]
pub const COLUMNS: [&str; 40] = [
    "id_mutation", "date_mutation", "numero_disposition", "nature_mutation", "valeur_fonciere", "adresse_numero",
    "adresse_suffixe", "adresse_nom_voie", "adresse_code_voie", "code_postal", "code_commune", "nom_commune",
    "code_departement", "ancien_code_commune", "ancien_nom_commune", "id_parcelle", "ancien_id_parcelle",
    "numero_volume", "lot1_numero", "lot1_surface_carrez", "lot2_numero", "lot2_surface_carrez", "lot3_numero",
    "lot3_surface_carrez", "lot4_numero", "lot4_surface_carrez", "lot5_numero", "lot5_surface_carrez", "nombre_lots",
    "code_type_local", "type_local", "surface_reelle_bati", "nombre_pieces_principales", "code_nature_culture",
    "nature_culture", "code_nature_culture_speciale", "nature_culture_speciale", "surface_terrain", "longitude",
    "latitude",
];

/// A generator of sales.
#[derive(Debug)]
pub struct SaleGenerator {
    count: u64,
    seed: u64,
    places: CommuneSampler,
}

impl SaleGenerator {
    /// Creates a generator of `count` sales.
    pub fn new(count: u64, seed: u64) -> Self {
        let places = CommuneSampler::new(|place: &SynthCommune| {
            if WITHOUT_SALES.contains(&place.department) {
                0.0
            } else {
                place.population
            }
        });
        Self {
            count,
            seed,
            places,
        }
    }

    /// Draws the sales of a block in order.
    pub(super) fn draw(&self, block: u64, from: u64, to: u64, mut each: impl FnMut(&SynthSale)) {
        let mut stream = Stream::new(self.seed, 1, block);
        let mut sale = SynthSale::default();
        for rank in from..to {
            let (year, place_in_year, year_count) = self.year_of(rank);
            let quantile = (place_in_year as f64 + stream.unit()) / year_count as f64;
            let place = self.places.at(quantile);
            sale.draw(&mut stream, place, year, place_in_year + 1);
            each(&sale);
        }
    }

    /// Returns the year of the sale of this rank, its rank in the year, and the number of sales in the year.
    fn year_of(&self, rank: u64) -> (i32, u64, u64) {
        let mut start = 0;
        let mut share = 0.0;
        for (offset, own) in YEAR_SHARES.iter().enumerate() {
            share += own;
            let last_year = offset + 1 == YEAR_SHARES.len();
            let end = if last_year {
                self.count
            } else {
                (self.count as f64 * share) as u64
            };
            if rank < end || last_year {
                return (FIRST_YEAR + offset as i32, rank - start, end - start);
            }
            start = end;
        }
        (FIRST_YEAR, rank, self.count)
    }
}

impl Generator for SaleGenerator {
    fn items(&self) -> u64 {
        self.count
    }

    fn header(&self, out: &mut Vec<u8>) {
        let mut cells = CsvLine::new(out);
        for column in COLUMNS {
            cells.text(column);
        }
        cells.end();
    }

    fn block(&self, block: u64, from: u64, to: u64, out: &mut Vec<u8>) -> u64 {
        let mut written = 0;
        self.draw(block, from, to, |sale| {
            rows::write(sale, out);
            written += sale.rows.len() as u64;
        });
        written
    }
}

/// Writes a complete file of `sales` mutations.
pub fn write(writer: &mut impl Write, sales: u64, seed: u64) -> io::Result<Summary> {
    SynthReader::start(SaleGenerator::new(sales, seed))?.copy_to(writer, |_| {})
}
