//! An advert as its property is made of it: the record, and what is kept beside it.

use super::change::History;
use super::complete::Derived;
use toise_contract::listings::Advert;

/// An advert of a property.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its record, complete.
    pub advert: Advert,
    /// What is remembered beside it.
    pub history: History,
    /// What of it was derived.
    pub derived: Derived,
}

impl Member {
    /// Whether it is offered still; one that does not say so is.
    pub(crate) fn is_online(&self) -> bool {
        self.advert.is_online.unwrap_or(true)
    }
}
