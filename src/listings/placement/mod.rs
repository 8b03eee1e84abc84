//! Placement: decides which property an advert belongs to.
//!
//! `find` searches among nearby adverts, with [`toise_dedup`]. `cluster` stores the advert there, joins properties that
//! turn out to be one asset, and splits them. `by_hand` applies a person's merge or split. [`explain`] reports why two
//! adverts are or are not one asset; [`likely`] lists the pairs that a person should decide; [`request`] reads an
//! operator's request; [`rebuild`] recomputes all placements; [`quality`] measures the merges of a store.

mod by_hand;
mod cluster;
pub mod explain;
pub(crate) mod find;
pub mod likely;
pub mod quality;
pub mod rebuild;
pub mod request;
