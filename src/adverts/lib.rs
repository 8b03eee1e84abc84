//! One advert: its identity, content, derived values and changes since the last sighting.
//!
//! `toise_listings` runs the steps. [`incoming`] reads the advert, [`identity`] derives its key from the URL, and
//! [`prepare`] merges it into the stored record. The result is completed ([`complete`]) and checked for anomalies
//! ([`anomaly`]). The last step reports the changes ([`change`]), or that only timestamps changed ([`restated`]).
//! [`contacts`] removes contacts of people who asked to be forgotten. All functions are pure: they read neither the
//! store nor a clock.

#![forbid(unsafe_code)]

pub mod anomaly;
pub mod change;
pub mod complete;
pub mod contacts;
pub mod derived;
pub mod identity;
pub mod implausible;
pub mod incoming;
pub mod left_out;
pub mod locating;
pub mod member;
pub mod prepare;
pub mod restated;
