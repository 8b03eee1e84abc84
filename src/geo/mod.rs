//! Points on the map of France: planar distance, projections, the space-filling order of files, departments,
//! centres of communes.

pub mod centres;
pub mod departments;
pub mod distance;
pub mod iris;
pub mod order;
pub mod projection;
