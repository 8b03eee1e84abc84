//! Geography of France: planar distance, areas, projections, well-known text, the Hilbert order of files, departments
//! and communes, price levels.

#![forbid(unsafe_code)]

pub mod area;
pub mod code_hints;
pub mod columns;
pub mod communes;
pub mod contours;
pub mod departments;
pub mod distance;
pub mod iris;
pub mod order;
mod place_names;
pub mod places;
pub mod plausible;
pub mod price_levels;
pub mod projection;
pub mod reference_system;
pub mod regions;
pub mod varint;
pub mod wkt;
