//! Re-exports the crates of toise for programs that embed it. [`architecture`] explains how they fit together.

#![forbid(unsafe_code)]

#[doc = include_str!("ARCHITECTURE.md")]
pub mod architecture {}

pub use toise_accounts as accounts;
pub use toise_alerts as alerts;
pub use toise_app as app;
pub use toise_base as base;
pub use toise_cli as cli;
pub use toise_collect as collect;
pub use toise_contract as contract;
pub use toise_dedup as dedup;
pub use toise_engine as engine;
pub use toise_estimate as estimate;
#[cfg(feature = "flight")]
pub use toise_flight as flight;
pub use toise_geo as geo;
pub use toise_geocode as geocode;
pub use toise_http as http;
pub use toise_lake as lake;
pub use toise_layers as layers;
pub use toise_listings as listings;
pub use toise_market as market;
#[cfg(feature = "mcp")]
pub use toise_mcp as mcp;
pub use toise_net as net;
pub use toise_opendata as opendata;
pub use toise_portfolios as portfolios;
pub use toise_publish as publish;
pub use toise_service as service;
pub use toise_sql as sql;
pub use toise_store as store;
pub use toise_synth as synth;
pub use toise_telemetry as telemetry;
pub use toise_tiles as tiles;
pub use toise_transport as transport;
