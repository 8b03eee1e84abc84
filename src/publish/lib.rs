//! Snapshots of a data folder on object storage.
