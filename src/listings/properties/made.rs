//! A property ready to be written: its record, typed and encoded for the store.

use super::property::build_property;
use crate::adverts::member::PropertyMember;
use toise_contract::listings::Property;
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// A property built from its adverts.
#[derive(Clone, Debug)]
pub struct BuiltProperty {
    /// The property's record.
    pub record: Property,
    /// The record encoded for the store.
    pub document: Vec<u8>,
}

impl BuiltProperty {
    /// Builds the property of some adverts under an identifier.
    pub(crate) fn build<'m>(
        id: FlxId,
        members: impl IntoIterator<Item = &'m PropertyMember>,
    ) -> Result<Self, document::Error> {
        let record = build_property(id, members);
        Ok(Self {
            document: document::encode(&record)?,
            record,
        })
    }
}
