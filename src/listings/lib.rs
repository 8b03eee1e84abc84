//! Listings: adverts from many portals, and the properties they describe.
//!
//! Ingestion: [`adverts`] reads an advert, completes it and finds what changed, on all cores. [`load`] writes groups of
//! adverts to the store ([`records`]), one transaction per group. Inside the transaction, [`placement`] finds each
//! advert's property with [`toise_dedup`], [`properties`] builds the property's record from its adverts, and both
//! records are tested against the alerts. [`search`] derives tables of [`columns`] and a text index from the store and
//! answers queries from them.
//!
//! The store is the source of truth; tables and indexes derived from it catch up through [`Listings::changes_since`].
//!
//! Folders depend on each other in one direction: search and load, then placement, records, columns, properties,
//! adverts (`docs/tools/modules.py --check`).

#![forbid(unsafe_code)]

pub mod columns;
pub mod load;
pub mod placement;
pub mod properties;
pub mod records;
pub mod search;

pub use toise_adverts as adverts;

pub use records::{Error, Listings, OrderRefused, Result};
