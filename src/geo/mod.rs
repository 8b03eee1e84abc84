//! Points on the map of France: planar distance, projections, the space-filling order of files, departments.

pub mod departments;
pub mod distance;
pub mod iris;
pub mod order;
pub mod projection;
