//! What is known of a listing by its address, and the joining of properties by hand.

use std::sync::Arc;

use rusqlite::OptionalExtension;

use super::identity::UrlDigest;
use super::percolation::Percolation;
use super::rows;
use super::tables::Tables;
use super::{Error, Listings, Result};
use toise_alerts::percolate::Occasion;
use toise_contract::listings::codes::FlxId;

/// An advert that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its identifier.
    pub advert: FlxId,
    /// When it was seen last, Unix milliseconds.
    pub observed_at_ms: i64,
}

impl Listings {
    /// The advert under the digest of an address. Blocks: one indexed row.
    pub fn known(&self, digest: &UrlDigest) -> Result<Option<Known>> {
        let sql = "SELECT advert_id, observed_at_ms FROM adverts WHERE url_digest = ?1";
        let found = self.store.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let known = |row: &rusqlite::Row<'_>| {
                Ok(Known {
                    advert: rows::flx_id(row, 0)?,
                    observed_at_ms: row.get(1)?,
                })
            };
            statement.query_row([digest], known).optional()
        })?;
        Ok(found)
    }

    /// Joins two properties that a person says are one; the one that was there first stays, and its identifier is
    /// given. What was said before of their being different is forgotten. Durable on return. Blocks.
    ///
    /// # Errors
    /// [`Error::Refused`] when one is not there, or they are one already.
    pub fn merge(&self, one: FlxId, other: FlxId) -> Result<FlxId> {
        let percolator = Arc::clone(&self.percolator);
        let now_ms = self.clock.now().timestamp_millis();
        self.load_alerts()?;
        let merged = self.store.write(move |transaction| {
            let number = |id: FlxId| {
                transaction
                    .prepare_cached("SELECT coalesce(merged_into, property) FROM properties WHERE property_id = ?1")?
                    .query_row([id.0.as_bytes()], |row| row.get::<_, i64>(0))
                    .optional()
            };
            let (first, second) = match (number(one)?, number(other)?) {
                (Some(first), Some(second)) if first == second => {
                    return Ok(Err(format!("{one} and {other} are one property already")));
                }
                (Some(first), Some(second)) => (first.min(second), first.max(second)),
                (None, _) => return Ok(Err(format!("no property {one}"))),
                (_, None) => return Ok(Err(format!("no property {other}"))),
            };
            let percolation = Percolation::begin(&percolator, transaction, now_ms)?;
            let mut tables = Tables::begin(transaction, percolation)?;
            tables.forget_apart(first, second)?;
            tables.redirect(second, first)?;
            tables.rebuild(first, Some(Occasion::Joined))?;
            tables.end()?;
            Ok(Ok(rows::property_id(transaction, first)?))
        });
        if merged.is_err() {
            self.percolator.forget();
        }
        merged?.map_err(Error::Refused)
    }
}
