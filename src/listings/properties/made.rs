//! A property ready to be stored: its record, and the same as the store keeps it.

use super::property::build_property;
use crate::adverts::member::PropertyMember;
use toise_contract::listings::Property;
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// A property made from its adverts.
#[derive(Clone, Debug)]
pub struct BuiltProperty {
    /// Its record.
    pub record: Property,
    /// The same as the store keeps it.
    pub document: Vec<u8>,
}

impl BuiltProperty {
    /// The property that adverts make under an identifier.
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
