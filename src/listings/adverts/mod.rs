//! One advert: which listing it is, what it says, what it leaves unsaid, what changed since it was seen last.
//!
//! The way in: [`incoming`] reads it, [`identity`] tells which listing it is, [`prepare`] lays it over what is stored,
//! completes it ([`complete`]), doubts it ([`anomaly`]) and says what changed ([`change`]). Pure functions: nothing here
//! reads the store or a clock.

pub mod anomaly;
pub mod change;
pub mod complete;
pub mod identity;
pub mod incoming;
pub mod member;
pub mod prepare;
