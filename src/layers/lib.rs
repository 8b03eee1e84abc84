//! Layers: geodata that other people publish, such as flood zones, planning zones, schools or stations, under a name.
//!
//! `toise import layer` reads a file ([`import`], `read/`), checks every geometry and converts it to degrees
//! (`prepare`), and writes one GeoParquet file in the order of a space-filling curve (`write`) into a folder per layer
//! ([`folder`]). Queries read the attributes as the table `layer_NAME` ([`table`]) and ask the geometries through the
//! functions `within`, `nearest` and `distance_to` ([`functions`]), which use a packed R-tree in memory ([`index`]).
//! Filters of searches and alerts use the same tree (`filter`).
//!
//! A position is in a layer by the rule of areas (`toise_geo::area`): borders, those of holes included, are inside.
//! Distances are planar, as everywhere (`toise_geo::distance`).

#![forbid(unsafe_code)]

mod attributes;
mod error;
mod filter;
pub mod folder;
pub mod functions;
mod geometry;
pub mod import;
pub mod index;
mod live;
pub mod metadata;
mod prepare;
mod read;
mod reference_system;
pub mod table;
mod wkb;
mod write;

pub use error::{Error, Result};
pub use live::Layers;
pub use metadata::{LayerMetadata, LayerName};
