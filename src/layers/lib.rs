//! Layers: named geodata that others publish, such as flood zones, planning zones, schools or stations.
//!
//! `toise import layer` reads a file ([`import`], `read/`), checks every geometry and converts it to degrees
//! (`prepare`), and writes one GeoParquet file in the order of a space-filling curve (`write`) into a folder per layer
//! ([`folder`]). SQL queries read the attributes as the table `layer_NAME` ([`table`]). They query the geometries with
//! the functions `within`, `nearest` and `distance_to` ([`functions`]), which use a packed R-tree in memory
//! ([`index`]). Filters of searches and alerts use the same tree (`filter`).
//!
//! As for areas (`toise_geo::area`), a position on a border is inside a layer, even on the border of a hole. Distances
//! are planar, as everywhere (`toise_geo::distance`).

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
pub mod table;
mod wkb;
mod write;

pub use error::{Error, Result};
pub use live::Layers;
pub use metadata::{LayerMetadata, LayerName};
