//! An advert as its property is made of it: the record, and what is kept beside it.

use super::change::AdvertHistory;
use super::complete::DerivedFields;
use toise_contract::listings::Advert;

/// An advert of a property.
#[derive(Clone, Debug)]
pub struct PropertyMember {
    /// Its record, complete.
    pub advert: Advert,
    /// What is remembered beside it.
    pub history: AdvertHistory,
    /// What of it was derived.
    pub derived: DerivedFields,
}

impl PropertyMember {
    /// Whether it is offered still; one that does not say so is.
    pub(crate) fn is_online(&self) -> bool {
        self.advert.is_online.unwrap_or(true)
    }
}
