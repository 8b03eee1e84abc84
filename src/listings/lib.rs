//! Listings: adverts of many portals, and the properties they stand for.
//!
//! An advert's way in: [`adverts`] reads it, completes it and says what changed, on all cores; [`load`] then takes it into
//! the store with others in one transaction ([`records`]), where [`placement`] finds the property it belongs to by
//! [`toise_dedup`], [`properties`] makes that property from its adverts, and the alerts look at both. [`search`] keeps
//! tables of [`columns`] and an index of words from the store and answers questions from them.
//!
//! The store is the truth about listings; what is made from it is kept up through [`Listings::changes_since`].
//!
//! Folders use each other in one direction: search and load, placement, records, columns, properties, adverts
//! (`docs/modules.py --check`).

pub mod adverts;
pub mod columns;
pub mod load;
pub mod placement;
pub mod properties;
pub mod records;
pub mod search;

pub use records::{Error, Listings, Result};
