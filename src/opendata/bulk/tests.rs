//! Bulk answers held against the endpoint.
