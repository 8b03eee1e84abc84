//! A property ready to be stored: its record, and the same as the store keeps it.

use super::property::of_members;
use crate::adverts::member::Member;
use toise_contract::listings::Property;
use toise_contract::listings::codes::FlxId;
use toise_store::document;

/// A property made from its adverts.
#[derive(Clone, Debug)]
pub struct MadeProperty {
    /// Its record.
    pub record: Property,
    /// The same as the store keeps it.
    pub document: Vec<u8>,
}

impl MadeProperty {
    /// The property that adverts make under an identifier.
    pub(crate) fn of<'m>(
        id: FlxId,
        members: impl IntoIterator<Item = &'m Member>,
    ) -> Result<Self, document::Error> {
        let record = of_members(id, members);
        Ok(Self {
            document: document::encode(&record)?,
            record,
        })
    }
}
