//! Geography of France: planar distance, projections, the Hilbert order of files, departments, communes, price levels.

pub mod columns;
pub mod communes;
pub mod contours;
pub mod departments;
pub mod distance;
pub mod iris;
pub mod order;
pub mod places;
pub mod price_levels;
pub mod projection;
pub mod regions;
pub mod varint;
