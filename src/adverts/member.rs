//! A member of a property: the advert's record with its history and derived fields.

use super::change::AdvertHistory;
use super::complete::DerivedFields;
use toise_contract::listings::Advert;

/// An advert of a property.
#[derive(Clone, Debug)]
pub struct PropertyMember {
    /// The advert's record, completed.
    pub advert: Advert,
    /// The advert's history.
    pub history: AdvertHistory,
    /// Which fields of the record were derived.
    pub derived: DerivedFields,
}

impl PropertyMember {
    /// Returns whether the advert is online; true if the record does not say.
    pub fn is_online(&self) -> bool {
        self.advert.is_online.unwrap_or(true)
    }
}
