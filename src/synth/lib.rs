//! Synthetic open data of any size, in the official file formats: sales (geo-dvf CSV), diagnostics (ADEME CSV) and
//! addresses (BAN CSV); also adverts of invented portals.
//!
//! `toise demo` fills its lake with these data, `toise synth` writes files, and benchmarks and bulk matches use them.
//! Everything is drawn from a seed: the same seed and size give the same bytes with any number of threads (across
//! platforms, the last digit of a price may differ with the mathematics library). The marginal distributions (prices by
//! place and time, classes by period and energy, rows per mutation, missing values) follow real files; the individuals
//! are invented. Positions are scattered without a map, so some on a coast are in the sea.
//!
//! Cost: unoptimised builds generate 270,000 sales or 75,000 diagnostics a second on two cores, in 30 MB (80 MB at full
//! width).
//!
//! Structure: [`blocks`] divides a file into blocks and generates them in parallel; [`dvf`] and [`dpe`] draw the rows
//! of a block from [`communes`] (communes and stable addresses) and [`prices`]; [`text`] writes cells. [`ban`]
//! generates commune by commune instead.

#![forbid(unsafe_code)]

pub mod adverts;
pub mod alerts;
pub mod ban;
pub mod blocks;
pub mod communes;
pub mod dpe;
pub mod dvf;
pub mod home_addresses;
pub mod lake;
pub mod lambert;
pub mod listings;
pub mod portfolio;
pub mod prices;
pub mod random;
pub mod streets;
pub mod text;

use std::io;

pub use blocks::{ReadProgress, Summary, SynthReader};

use toise_opendata::Dataset;

/// A request for sales or diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynthRequest {
    /// Sales or diagnostics.
    pub dataset: Dataset,
    /// Number of mutations or diagnostics.
    pub items: u64,
    /// Random seed; equal seeds give equal bytes.
    pub seed: u64,
    /// Diagnostics only: whether to fill all 230 columns instead of the hundred or so that are modelled.
    pub full_width: bool,
}

/// Returns a reader of the CSV bytes of a request. Rayon's pool generates them while they are read; memory is limited
/// to a few blocks.
pub fn reader(request: SynthRequest) -> io::Result<SynthReader> {
    match request.dataset {
        Dataset::Dvf => SynthReader::start(dvf::SaleGenerator::new(request.items, request.seed)),
        Dataset::Dpe => SynthReader::start(dpe::DiagnosticGenerator::new(
            request.items,
            request.seed,
            request.full_width,
        )),
    }
}

#[cfg(test)]
mod tests;
