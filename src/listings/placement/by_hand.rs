//! Applies the decisions of persons to merge or split properties.
//!
//! Called by the CLI and by the operators' endpoints. A merge clears earlier splits between the two properties; only a
//! split can separate their adverts again. A split stays in force regardless of later sightings.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::records::percolation::PercolationBuffer;
use crate::records::rows;
use crate::records::tables::ListingsWriter;
use crate::{Listings, OrderRefused, Result};
use toise_alerts::percolate::PropertyTrigger;
use toise_contract::listings::codes::FlxId;

impl Listings {
    /// Joins two properties that a person declares to be one. The older one stays, and its identifier is returned.
    /// Earlier splits between them are cleared. Returns once durable. Blocks.
    ///
    /// # Errors
    /// [`Error::Order`](crate::Error::Order) if one of them does not exist, or both are the same property.
    pub fn merge(&self, one: FlxId, other: FlxId) -> Result<FlxId> {
        let percolator = Arc::clone(&self.percolator);
        let now_ms = self.clock.now().timestamp_millis();
        self.load_alerts()?;
        let merged = self.store.write_with(move |transaction| -> Result<_> {
            let (first, second) = match two_properties(transaction, one, other)? {
                Ok((one, other)) => (one.min(other), one.max(other)),
                Err(refused) => return Ok(Err(refused)),
            };
            let percolation = PercolationBuffer::begin(&percolator, transaction, None, now_ms)?;
            let mut tables = ListingsWriter::begin(transaction, percolation)?;
            tables.clear_distinct(first, second)?;
            tables.redirect(second, first)?;
            tables.hold(first)?;
            tables.rebuild(first, PropertyTrigger::AdvertJoined)?;
            tables.percolate_moved(None)?;
            tables.end()?;
            Ok(Ok(rows::property_id(transaction, first)?))
        });
        if merged.is_err() {
            self.percolator.forget();
        }
        Ok(merged??)
    }

    /// Declares that two properties are different assets: their adverts are never joined, and the pair is no longer
    /// listed as likely. Returns once durable. Blocks.
    ///
    /// # Errors
    /// [`Error::Order`](crate::Error::Order) if one of them does not exist, or both are the same property.
    pub fn keep_apart(&self, one: FlxId, other: FlxId) -> Result<()> {
        let percolator = Arc::clone(&self.percolator);
        let now_ms = self.clock.now().timestamp_millis();
        self.load_alerts()?;
        let kept = self.store.write_with(move |transaction| -> Result<_> {
            let (first, second) = match two_properties(transaction, one, other)? {
                Ok(numbers) => numbers,
                Err(refused) => return Ok(Err(refused)),
            };
            let percolation = PercolationBuffer::begin(&percolator, transaction, None, now_ms)?;
            let tables = ListingsWriter::begin(transaction, percolation)?;
            for (advert, _) in rows::fingerprints_of(transaction, first)? {
                for (other, _) in rows::fingerprints_of(transaction, second)? {
                    tables.mark_distinct(advert, other)?;
                }
            }
            tables.end()?;
            Ok(Ok(()))
        });
        if kept.is_err() {
            self.percolator.forget();
        }
        Ok(kept??)
    }

    /// Moves adverts out of a property into a new one and returns its identifier; they are never joined to the
    /// remaining adverts again. Returns once durable. Blocks.
    ///
    /// # Errors
    /// [`Error::Order`](crate::Error::Order) if the property does not exist or lacks one of the adverts, or if no
    /// advert would leave or none would stay.
    pub fn split(&self, property: FlxId, adverts: &[FlxId]) -> Result<FlxId> {
        let adverts = adverts.to_vec();
        let percolator = Arc::clone(&self.percolator);
        let now_ms = self.clock.now().timestamp_millis();
        self.load_alerts()?;
        let split = self.store.write_with(move |transaction| -> Result<_> {
            let number = transaction
                .prepare_cached(
                    "SELECT coalesce(merged_into, property) FROM properties WHERE property_id = ?1",
                )?
                .query_row([property.0.as_bytes()], |row| row.get(0))
                .optional()?;
            let Some(number) = number else {
                return Ok(Err(OrderRefused::NoProperty(property)));
            };
            let members = rows::members(transaction, number)?;
            let mut leaving = Vec::with_capacity(adverts.len());
            for id in &adverts {
                match members
                    .iter()
                    .find(|(_, member)| member.advert.flx_id == Some(*id))
                {
                    Some((advert, _)) => leaving.push(*advert),
                    None => {
                        let advert = *id;
                        return Ok(Err(OrderRefused::NoAdvert { property, advert }));
                    }
                }
            }
            leaving.sort_unstable();
            leaving.dedup();
            if leaving.is_empty() || leaving.len() == members.len() {
                return Ok(Err(OrderRefused::NothingToSplit));
            }
            let percolation = PercolationBuffer::begin(&percolator, transaction, None, now_ms)?;
            let mut tables = ListingsWriter::begin(transaction, percolation)?;
            let id = tables.split(number, &leaving)?;
            tables.end()?;
            Ok(Ok(id))
        });
        if split.is_err() {
            self.percolator.forget();
        }
        Ok(split??)
    }
}

/// Returns the numbers of two properties; an error if one does not exist, or both are the same property.
fn two_properties(
    connection: &Connection,
    one: FlxId,
    other: FlxId,
) -> rusqlite::Result<std::result::Result<(i64, i64), OrderRefused>> {
    let number = |id: FlxId| {
        connection
            .prepare_cached(
                "SELECT coalesce(merged_into, property) FROM properties WHERE property_id = ?1",
            )?
            .query_row([id.0.as_bytes()], |row| row.get::<_, i64>(0))
            .optional()
    };
    Ok(match (number(one)?, number(other)?) {
        (Some(first), Some(second)) if first == second => {
            Err(OrderRefused::OneProperty(one, other))
        }
        (Some(first), Some(second)) => Ok((first, second)),
        (None, _) => Err(OrderRefused::NoProperty(one)),
        (_, None) => Err(OrderRefused::NoProperty(other)),
    })
}
