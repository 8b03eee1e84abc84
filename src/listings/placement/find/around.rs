//! The adverts around a stored one, for decisions about the whole store.

use std::collections::HashSet;

use rusqlite::Connection;

use super::{Nearby, find_nearby};
use crate::Result;
use crate::records::rows;
use toise_dedup::{Agreements, Fingerprint, Surroundings, may_be_same};

/// The adverts that share a block with a stored one.
pub(in crate::placement) struct AdvertsAround {
    /// The fingerprint of the stored advert, without common marks; comparisons use this one.
    pub compared: Fingerprint,
    /// Adverts whose outlines do not rule them out.
    pub near: Vec<i64>,
    /// The other adverts.
    pub ruled_out: Vec<i64>,
    /// How common the values of the advert are among them.
    pub surroundings: Surroundings,
}

impl AdvertsAround {
    /// Finds the adverts around a stored one, first those that arrived before it.
    pub fn find(connection: &Connection, fingerprint: &Fingerprint, own: i64) -> Result<Self> {
        let compared = rows::without_common_marks(connection, fingerprint)?;
        let Nearby { near, met, .. } = find_nearby(connection, &compared, Some(own))?;
        let (adverts, agreements): (Vec<_>, Vec<_>) = met.into_iter().unzip();
        let is_near: HashSet<i64> = near.iter().copied().collect();
        let (near, ruled_out) = adverts.iter().partition(|advert| is_near.contains(advert));
        Ok(Self {
            surroundings: surroundings_of(connection, &compared, agreements.into_iter())?,
            compared,
            near,
            ruled_out,
        })
    }

    /// Returns the near adverts that may be the same asset.
    pub fn possibly_same(&self, connection: &Connection) -> Result<Vec<i64>> {
        let mut alike = Vec::new();
        for advert in &self.near {
            if may_be_same(&self.compared, &rows::fingerprint_of(connection, *advert)?) {
                alike.push(*advert);
            }
        }
        Ok(alike)
    }
}

/// Counts how common the values of an advert are among the adverts around it, without itself.
pub(in crate::placement) fn surroundings(
    connection: &Connection,
    fingerprint: &Fingerprint,
    own: Option<i64>,
) -> Result<Surroundings> {
    let others = find_nearby(connection, fingerprint, own)?.met;
    let agreements = others.into_iter().map(|(_, agreements)| agreements);
    surroundings_of(connection, fingerprint, agreements)
}

/// Combines the agreements around an advert with the rates of its portal.
pub(super) fn surroundings_of(
    connection: &Connection,
    fingerprint: &Fingerprint,
    agreements: impl Iterator<Item = Agreements>,
) -> Result<Surroundings> {
    let rates = rows::portal_rates(connection, fingerprint.portal)?;
    Ok(agreements.collect::<Surroundings>().with_portals(rates))
}
