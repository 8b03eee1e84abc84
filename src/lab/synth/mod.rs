//! Made-up open data in the official file formats, sales (geo-dvf csv) and diagnostics (ADEME csv), and adverts of
//! invented portals, at any size.
//!
//! `toise demo` fills its lake with it, `toise synth` writes files, benchmarks and bulk matches feed on it. Everything
//! is drawn from a seed: the same seed and size give the same bytes with any number of threads (across platforms, the
//! last digit of a price may differ with the mathematics library). The
//! marginals (prices by place and time, classes by period and energy, rows per mutation, missing values) follow real
//! files, the individuals are invented. Positions are scattered without a map, so on a coast some fall into the sea.
//!
//! Cost: unoptimised builds make 270,000 sales or 75,000 diagnostics a second on two cores, in 30 MB (80 MB at full
//! width).
//!
//! The way through: [`blocks`] cuts a file into blocks and makes them in parallel; [`dvf`] and [`dpe`] draw the rows
//! of a block from [`places`] (communes and stable addresses) and [`prices`]; [`text`] writes cells.

pub mod adverts;
pub mod alerts;
pub mod blocks;
pub mod dpe;
pub mod dvf;
pub mod lake;
pub mod lambert;
pub mod listings;
pub mod places;
pub mod portfolio;
pub mod prices;
pub mod random;
pub mod streets;
pub mod text;

use std::io;

pub use blocks::{Delivered, Summary, SynthReader};

use toise_opendata::Dataset;

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Sales or diagnostics.
    pub dataset: Dataset,
    /// How many mutations or certificates.
    pub items: u64,
    /// The same seed gives the same bytes.
    pub seed: u64,
    /// Diagnostics only: all 230 columns instead of the hundred or so with a meaning here.
    pub full_width: bool,
}

/// The csv bytes of a request, made while they are read, by rayon's pool; memory stays at a few blocks.
pub fn reader(request: Request) -> io::Result<SynthReader> {
    match request.dataset {
        Dataset::Dvf => SynthReader::start(dvf::Sales::new(request.items, request.seed)),
        Dataset::Dpe => SynthReader::start(dpe::Diagnostics::new(
            request.items,
            request.seed,
            request.full_width,
        )),
    }
}

#[cfg(test)]
mod tests;
