//! Which property an advert belongs to.
//!
//! `find` looks for it among the adverts near it, by [`toise_dedup`]; `cluster` stores the advert there, joins
//! properties that turn out to be one, and undoes that; `by_hand` takes a person's word for either, and [`explain`]
//! says why two adverts are, or are not, one asset.

mod by_hand;
mod cluster;
pub mod explain;
pub(crate) mod find;
