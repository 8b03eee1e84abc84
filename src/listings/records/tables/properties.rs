//! What a transaction changes of the rows of properties and of their records.

use super::ListingsWriter;
use crate::adverts::member::PropertyMember;
use crate::properties::made::BuiltProperty;
use crate::properties::record_key::RecordKey;
use crate::records::rows::{checked_number, failed, fingerprints_of, members, property_id};
use toise_alerts::percolate::PropertyTrigger;
use toise_contract::listings::codes::FlxId;

impl ListingsWriter<'_> {
    /// Inserts a property under the next number, which it gives.
    pub(crate) fn insert_property(
        &mut self,
        id: FlxId,
        made: &BuiltProperty,
    ) -> rusqlite::Result<i64> {
        let last = self
            .transaction
            .prepare_cached("SELECT coalesce(max(property), 0) FROM properties")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        let property = checked_number(last + 1)?;
        let key = RecordKey::unplaced(property);
        self.insert_property_without_record(key, id)?;
        self.write_record(key, &made.document)?;
        self.note_property(property);
        let record = &made.record;
        self.percolation
            .property(self.transaction, property, record, PropertyTrigger::Created)?;
        Ok(property)
    }

    /// Inserts a property under the number of a key; its record, under that key, is still to be put.
    pub(crate) fn insert_property_without_record(
        &mut self,
        key: RecordKey,
        id: FlxId,
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        self.execute(
            "INSERT INTO properties (property, property_id, sequence, record) VALUES (?1, ?2, ?3, ?4)",
            (key.number(), id.0.as_bytes(), sequence, key.0),
        )?;
        Ok(())
    }

    /// Keeps the record of a property under its key, in place of the one there is.
    pub(crate) fn write_record(&self, key: RecordKey, document: &[u8]) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO records (record, document) VALUES (?1, ?2)
             ON CONFLICT (record) DO UPDATE SET document = excluded.document",
            (key.0, document),
        )?;
        Ok(())
    }

    /// Key of the record of a property; `None` when it was joined to another.
    fn record_key(&self, property: i64) -> rusqlite::Result<Option<RecordKey>> {
        self.transaction
            .prepare_cached("SELECT record FROM properties WHERE property = ?1")?
            .query_row([property], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.map(RecordKey))
            })
    }

    /// Replaces the record of a property by what its adverts make; it must have one. `trigger` is what the alerts are
    /// to look at it for, if they are.
    pub(crate) fn rebuild(
        &mut self,
        property: i64,
        trigger: Option<PropertyTrigger>,
    ) -> rusqlite::Result<()> {
        let id = property_id(self.transaction, property)?;
        let members: Vec<PropertyMember> = members(self.transaction, property)?
            .into_iter()
            .map(|(_, member)| member)
            .collect();
        self.update_property(
            property,
            &BuiltProperty::build(id, &members).map_err(failed)?,
            trigger,
        )
    }

    /// Replaces the record of a property, and lets a merged one stand for itself again.
    pub(crate) fn update_property(
        &mut self,
        property: i64,
        made: &BuiltProperty,
        trigger: Option<PropertyTrigger>,
    ) -> rusqlite::Result<()> {
        let sequence = self.next_sequence();
        let kept = self.record_key(property)?;
        let key = kept.unwrap_or(RecordKey::unplaced(property));
        self.write_record(key, &made.document)?;
        self.execute(
            "UPDATE properties SET record = ?2, sequence = ?3, merged_into = NULL WHERE property = ?1",
            (property, key.0, sequence),
        )?;
        self.note_property(property);
        match trigger {
            Some(trigger) => {
                let record = &made.record;
                self.percolation
                    .property(self.transaction, property, record, trigger)
            }
            None => Ok(()),
        }
    }

    /// Makes one property's identifier answer with another's record; its adverts move there.
    pub(crate) fn redirect(&mut self, property: i64, survivor: i64) -> rusqlite::Result<()> {
        // What was written of both so far was still of two.
        self.percolation.flush(self.transaction)?;
        for (advert, _) in fingerprints_of(self.transaction, property)? {
            self.move_advert(advert, survivor)?;
        }
        self.execute(
            "UPDATE properties SET merged_into = ?2 WHERE merged_into = ?1",
            (property, survivor),
        )?;
        let sequence = self.next_sequence();
        if let Some(key) = self.record_key(property)? {
            self.execute("DELETE FROM records WHERE record = ?1", [key.0])?;
        }
        self.execute(
            "UPDATE properties SET merged_into = ?2, record = NULL, sequence = ?3 WHERE property = ?1",
            (property, survivor, sequence),
        )?;
        self.note_property(property);
        Ok(())
    }

    /// Has the identifier of a property that was joined to one answer with another's record, which its first advert is
    /// of now.
    pub(crate) fn redirect_identifier(
        &mut self,
        founded: FlxId,
        former: i64,
        survivor: i64,
    ) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE properties SET merged_into = ?3 WHERE property_id = ?1 AND merged_into = ?2",
            (founded.0.as_bytes(), former, survivor),
        )?;
        Ok(())
    }
}
