//! One property: built from its adverts ([`property`]), encoded for the store ([`made`]), and stored under a key
//! ([`record_key`]).

pub mod made;
pub mod property;
pub mod record_key;
