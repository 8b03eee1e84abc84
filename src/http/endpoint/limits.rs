//! Limits that handlers apply and the OpenAPI document states.

/// Recorded sales shown in a response.
pub(crate) const COMPARABLES: usize = 5;
/// Maximum adverts of a property that one call checks.
pub(crate) const CHECKED_MAX: usize = 10;
/// Maximum requests of a geocoding batch.
pub const BATCH_MAX: usize = 100;
/// Maximum length of an idempotency key, in characters.
pub(crate) const KEY_CHARS_MAX: usize = 255;
