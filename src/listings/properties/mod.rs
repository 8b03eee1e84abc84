//! One property: built from the adverts that offer it ([`property`]), encoded for the store ([`made`]), and the key of
//! its record there ([`record_key`]).

pub mod made;
pub mod property;
pub mod record_key;
