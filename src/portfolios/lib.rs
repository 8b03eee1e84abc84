//! Portfolios: homes that an account stores under a name, and that are valued again after each new model or import.
//!
//! A portfolio is a folder of Parquet files and a row in the store (`record`). `homes.parquet` holds the rows as they
//! were sent (`homes`). A background worker writes `values-<number>.parquet`, one row per home in the same order
//! (`worker`, `valuation`): the value, the matched diagnostic and sale, and what last changed. One transaction names
//! the new file, charges the valued homes and begins the notifications, so if a process is killed at any time, the
//! valuation is repeated without charging or notifying twice. Readers use the file that the row names ([`page`]).
//!
//! A home is geocoded once. It is valued again when the model changes, and matched again when the table of sales or of
//! diagnostics changes; sales near it that the model does not know (`recent`) are comparables. Damaged files are
//! set aside (`lost`). One process per data folder values portfolios, on threads of low priority.

#![forbid(unsafe_code)]

mod checksum;
mod error;
mod files;
mod homes;
mod limits;
mod lost;
pub mod page;
mod read;
mod recent;
mod record;
mod registry;
mod state;
#[cfg(test)]
mod tests;
mod valuation;
mod worker;

pub use checksum::verify;
pub use error::{Error, Result};
pub use files::{CHECKSUM, FOLDER};
pub use homes::HomeFault;
pub use limits::{
    FILE_BYTES_MAX, HOMES_MAX, MOVED_PERCENT, MOVED_PERCENT_DEFAULT, NAME_CHARS_MAX, NAME_RULE,
    NEW_COMPARABLES_MAX, PORTFOLIOS_MAX,
};
pub use record::{Portfolio, PortfolioOptions};
pub use registry::{Portfolios, StoredPortfolio};
pub use state::{Change, ValuedHome};
pub use worker::PortfolioContext;
