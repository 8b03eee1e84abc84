//! Limits of publications and replicas.

/// Maximum objects that are sent or fetched at the same time.
pub const OBJECTS_AT_ONCE: usize = 8;
/// Default number of snapshots that a garbage collection keeps, the current one included.
pub const KEEP_SNAPSHOTS: usize = 5;
/// Default hours before a garbage collection may delete an object or manifest. Longer than any publication takes, and
/// longer than a replica takes to download one.
pub const GRACE_HOURS: u64 = 24;
