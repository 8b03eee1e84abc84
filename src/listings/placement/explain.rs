//! Explains why two adverts are, or are not, one asset: the comparison field by field, and earlier decisions.

use rusqlite::Connection;
use rusqlite::types::ToSql;
use serde::Serialize;

use crate::placement::find::surroundings;
use crate::records::rows::{blob, fingerprint, first_row, flx_id};
use crate::{Error, Listings, Result};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::FlxId;
use toise_dedup::{
    Comparison, Contradiction, DedupVerdict, Fingerprint, Thresholds, compare_among, contradictions,
};
use toise_store::document;

/// One of the two compared adverts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedAdvert {
    /// The advert's identifier.
    pub flx_id: FlxId,
    /// The identifier of its property.
    pub property_flx_id: FlxId,
    /// The portal.
    pub source: Option<String>,
    /// Its URL.
    pub url: Option<String>,
    /// Its title.
    pub title: Option<String>,
    #[serde(skip)]
    number: i64,
    #[serde(skip)]
    fingerprint: Fingerprint,
}

/// The comparison of two adverts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Both adverts.
    pub adverts: [ExplainedAdvert; 2],
    /// Whether they are in one property now.
    pub together: bool,
    /// Whether a person declared them to be different assets.
    pub split: bool,
    /// The outcome for these two alone; placement also compares a property's other adverts.
    pub verdict: DedupVerdict,
    /// The comparison of these two alone.
    pub comparison: Comparison,
    /// What cannot be true of one home at once.
    pub contradictions: Vec<Contradiction>,
    /// Adverts around the first one: each is a chance to agree by accident.
    pub adverts_around: u32,
    /// Those of them that share its price and surface but differ otherwise.
    pub lookalikes: u32,
}

impl Listings {
    /// Compares two adverts, each named by its identifier or its URL. Blocks.
    ///
    /// # Errors
    /// [`Error::Refused`] when one of them does not exist.
    pub fn explain(&self, one: &str, other: &str) -> Result<Explanation> {
        let (one, other) = (self.side(one)?, self.side(other)?);
        let pair = (one.number, other.number);
        let split = self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM apart WHERE advert = ?1 AND other = ?2)";
            connection.query_row(sql, pair, |row| row.get(0))
        })?;
        self.store
            .read_with(|connection| explanation(connection, [one, other], split, self.thresholds))
    }

    /// Calls `each` with the address of every advert. Blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn for_each_address(&self, mut each: impl FnMut(&str)) -> Result<()> {
        self.store.read_with(|connection| -> Result<()> {
            let mut statement = connection.prepare("SELECT document, advert_id FROM adverts")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let id = flx_id(row, 1)?;
                let text = document::decode(blob(row, 0)?).map_err(|error| error.of(id))?;
                let advert: Advert = serde_json::from_slice(&text)?;
                if let Some(address) = &advert.url {
                    each(address);
                }
            }
            Ok(())
        })
    }

    fn side(&self, name: &str) -> Result<ExplainedAdvert> {
        let (column, key) = match (FlxId::parse(name), self.listing_url(name)) {
            (Some(id), _) => ("advert_id", *id.0.as_bytes()),
            (None, Some(url)) => ("url_digest", url.digest()),
            (None, None) => {
                let rule = "must be the identifier or the URL of an advert";
                return Err(Error::Refused(format!("{name:?} {rule}")));
            }
        };
        let side = self
            .store
            .read_with(|connection| explained(connection, column, key))?;
        side.ok_or_else(|| Error::Refused(format!("no advert {name}")))
    }
}

/// The advert with a value in a column.
pub(super) fn explained(
    connection: &Connection,
    column: &str,
    value: impl ToSql,
) -> Result<Option<ExplainedAdvert>> {
    let sql = format!(
        "SELECT advert, advert_id, property_id, adverts.document, fingerprint
         FROM adverts JOIN properties USING (property) JOIN fingerprints USING (advert) WHERE {column} = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    first_row(&mut statement, [value], |row| {
        let id = flx_id(row, 1)?;
        let text = document::decode(blob(row, 3)?).map_err(|error| error.of(id))?;
        let advert: Advert = serde_json::from_slice(&text)?;
        Ok(ExplainedAdvert {
            number: row.get(0)?,
            flx_id: flx_id(row, 1)?,
            property_flx_id: flx_id(row, 2)?,
            fingerprint: fingerprint(row, 4)?,
            source: advert.source,
            url: advert.url,
            title: advert.title,
        })
    })
}

/// Compares two adverts among those around the first.
pub(super) fn explanation(
    connection: &Connection,
    adverts: [ExplainedAdvert; 2],
    split: bool,
    thresholds: Thresholds,
) -> Result<Explanation> {
    let [one, other] = adverts;
    let around = surroundings(connection, &one.fingerprint, Some(one.number))?;
    let comparison = compare_among(&one.fingerprint, &other.fingerprint, &around);
    Ok(Explanation {
        together: one.property_flx_id == other.property_flx_id,
        split,
        verdict: comparison.verdict(thresholds),
        comparison,
        contradictions: contradictions(&one.fingerprint, &other.fingerprint).collect(),
        adverts_around: around.adverts(),
        lookalikes: around.lookalikes(),
        adverts: [one, other],
    })
}
