//! Writes of property rows and of their records, inside a transaction.

use super::ListingsWriter;
use crate::Result;
use crate::adverts::member::PropertyMember;
use crate::adverts::restated::is_restated;
use crate::properties::made::BuiltProperty;
use crate::properties::record_key::RecordKey;
use crate::records::rows::{self, checked_number, fingerprints_of, members, property_id};
use toise_alerts::percolate::{FormerRecord, PropertyTrigger};
use toise_contract::listings::codes::FlxId;
use toise_store::document;

impl ListingsWriter<'_> {
    /// Inserts a property under the next number, and returns that number.
    pub(crate) fn insert_property(&mut self, id: FlxId, built: &BuiltProperty) -> Result<i64> {
        let last = self
            .transaction
            .prepare_cached("SELECT coalesce(max(property), 0) FROM properties")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        let property = checked_number(last + 1)?;
        let key = RecordKey::unplaced(property);
        self.insert_property_without_record(key, id)?;
        self.write_record(key, &built.document)?;
        self.note_property(property);
        let record = &built.record;
        let trigger = PropertyTrigger::Created;
        self.percolation
            .property(self.transaction, property, record, trigger, Vec::new())?;
        Ok(property)
    }

    /// Inserts a property under the number of a key; the caller must still write its record under that key.
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

    /// Inserts or replaces the record of a property under its key.
    pub(crate) fn write_record(&self, key: RecordKey, document: &[u8]) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO records (record, document) VALUES (?1, ?2)
             ON CONFLICT (record) DO UPDATE SET document = excluded.document",
            (key.0, document),
        )?;
        Ok(())
    }

    /// Returns the record key of a property; `None` if it was merged into another.
    fn record_key(&self, property: i64) -> rusqlite::Result<Option<RecordKey>> {
        self.transaction
            .prepare_cached("SELECT record FROM properties WHERE property = ?1")?
            .query_row([property], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.map(RecordKey))
            })
    }

    /// Rebuilds the record of a property from its adverts; it must have at least one. `trigger` is the reason to
    /// percolate it.
    pub(crate) fn rebuild(&mut self, property: i64, trigger: PropertyTrigger) -> Result<()> {
        let id = property_id(self.transaction, property)?;
        let members: Vec<PropertyMember> = members(self.transaction, property)?
            .into_iter()
            .map(|(_, member)| member)
            .collect();
        self.update_property(property, &BuiltProperty::build(id, &members)?, trigger)
    }

    /// Replaces the record of a property; a property merged into another becomes independent again.
    pub(crate) fn update_property(
        &mut self,
        property: i64,
        built: &BuiltProperty,
        trigger: PropertyTrigger,
    ) -> Result<()> {
        let mut former = self.joined.remove(&property).unwrap_or_default();
        if self.percolation.has_property_alerts() {
            former.extend(rows::former_property(self.transaction, property)?);
        }
        let sequence = self.next_sequence();
        let current = self.record_key(property)?;
        let key = current.unwrap_or(RecordKey::unplaced(property));
        self.write_record(key, &built.document)?;
        self.execute(
            "UPDATE properties SET record = ?2, sequence = ?3, merged_into = NULL WHERE property = ?1",
            (property, key.0, sequence),
        )?;
        self.note_property(property);
        let trigger = match trigger {
            PropertyTrigger::Sighted if !is_sighted(built, &former) => {
                PropertyTrigger::AdvertChanged
            }
            trigger => trigger,
        };
        if trigger == PropertyTrigger::Sighted && !self.percolation.needs_property_sightings() {
            return Ok(());
        }
        self.percolation
            .property(self.transaction, property, &built.record, trigger, former)
    }

    /// Redirects a property to a survivor: its adverts move there, and its identifier returns the survivor's record.
    pub(crate) fn redirect(&mut self, property: i64, survivor: i64) -> Result<()> {
        // The rows buffered so far still name the two properties separately.
        self.percolation.flush(self.transaction)?;
        if self.percolation.has_property_alerts() {
            let mut former = self.joined.remove(&property).unwrap_or_default();
            former.extend(rows::former_property(self.transaction, property)?);
            self.joined.entry(survivor).or_default().extend(former);
        }
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

    /// Redirects a merged property's identifier to `survivor`, which now contains its first advert, instead of to
    /// `former`.
    pub(crate) fn redirect_identifier(
        &mut self,
        merged_id: FlxId,
        former: i64,
        survivor: i64,
    ) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE properties SET merged_into = ?3 WHERE property_id = ?1 AND merged_into = ?2",
            (merged_id.0.as_bytes(), former, survivor),
        )?;
        Ok(())
    }
}

/// Returns whether only the timestamps of a property changed after one of its adverts was seen again. With several
/// adverts, a sighting may also change the order in which their values are taken, and which price is the latest.
fn is_sighted(built: &BuiltProperty, former: &[FormerRecord]) -> bool {
    let [former] = former else {
        // Without previous records, no alert depends on the result.
        return former.is_empty();
    };
    let texts = || {
        let former = document::decode(&former.document).ok()?;
        Some((former, document::decode(&built.document).ok()?))
    };
    // Records that cannot be compared count as changed.
    texts().is_some_and(|(former, present)| is_restated(&former, &present))
}
