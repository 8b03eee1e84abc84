//! Limits of publications and replicas.

/// Maximum objects that are sent or fetched at the same time.
pub const OBJECTS_AT_ONCE: usize = 8;
/// Default number of snapshots that a garbage collection keeps, the current one included.
pub const KEEP_SNAPSHOTS: usize = 5;
/// Default hours for which objects and manifests stay after they were written: longer than any publication, and than a
/// replica needs to download one.
pub const GRACE_HOURS: u64 = 24;
