//! One property: made of the adverts that offer it ([`property`]), ready to be stored ([`made`]), under the key its
//! record lies at ([`record_key`]).

pub mod made;
pub mod property;
pub mod record_key;
