//! Limits of publications and replicas.

/// Objects that are sent or fetched at the same time.
pub const OBJECTS_AT_ONCE: usize = 8;
/// Snapshots that a collection of garbage keeps by default, the current one included.
pub const KEEP_SNAPSHOTS: usize = 5;
/// Hours for which objects and manifests stay, by default, after they were written: longer than any publication, and
/// than a replica needs to download one.
pub const GRACE_HOURS: u64 = 24;
