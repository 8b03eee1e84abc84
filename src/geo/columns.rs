//! The names of the position columns, the same in every table.

/// Name of the latitude column, WGS 84 degrees.
pub const LATITUDE: &str = "lat";
/// Name of the longitude column, WGS 84 degrees.
pub const LONGITUDE: &str = "lon";
