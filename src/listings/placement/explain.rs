//! Explains why two adverts are or are not one asset: the comparison field by field, and earlier decisions.

use rusqlite::Connection;
use rusqlite::types::ToSql;
use serde::Serialize;

use crate::placement::find::{AdvertsAround, surroundings};
use crate::records::rows::{
    adverts_of, as_compared_with, blob, fingerprint, fingerprints_of, first_row, flx_id, held_of,
    without_common_marks,
};
use crate::{Error, Listings, Result};
use toise_contract::listings::Advert;
use toise_contract::listings::codes::{FlxId, Timestamp};
use toise_contract::listings::place::AdLocation;
use toise_contract::listings::scalars::{Count, Eur, SquareMetres};
use toise_dedup::weights::ComparedField;
use toise_dedup::{
    Comparison, Contradiction, DedupVerdict, Fingerprint, Surroundings, Thresholds, admits,
    compare_among, contradictions,
};
use toise_store::document;

/// Maximum pictures listed of an advert.
pub const PICTURES_MAX: usize = 4;
/// Maximum dissenters listed.
pub const DISSENTERS_MAX: usize = 5;

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
    /// Asking price, EUR.
    pub price: Option<Eur>,
    /// Surface of the dwelling, m².
    pub surface: Option<SquareMetres>,
    /// Main rooms.
    pub rooms: Option<Count>,
    /// Address, district, postal code and town, where known.
    pub place: String,
    /// URLs of its first pictures, at most [`PICTURES_MAX`].
    pub pictures: Vec<String>,
    /// Whether it is on its portal now.
    pub is_online: Option<bool>,
    /// Last sighting, UTC.
    pub last_seen_at: Option<Timestamp>,
    #[serde(skip)]
    number: i64,
    #[serde(skip)]
    property: i64,
    #[serde(skip)]
    fingerprint: Fingerprint,
}

/// An advert of one of the two properties that keeps them apart.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dissenter {
    /// The advert's identifier.
    pub flx_id: FlxId,
    /// The identifier of its property.
    pub property_flx_id: FlxId,
    /// Its URL.
    pub url: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The compared advert with which it may not share a property.
    pub against: FlxId,
    /// The facts that cannot both be true of one home; empty if the two are only not similar enough.
    pub contradictions: Vec<Contradiction>,
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
    /// The verdict on these two alone; placement also compares the other adverts of their properties.
    pub verdict: DedupVerdict,
    /// The comparison of these two alone.
    pub comparison: Comparison,
    /// Fields whose values are not compared, because many homes share them.
    pub common: Vec<ComparedField>,
    /// The facts that cannot both be true of one home.
    pub contradictions: Vec<Contradiction>,
    /// Other adverts of their properties that may not share a property with one of these two. They keep the two apart
    /// even if the comparison finds a match. At most [`DISSENTERS_MAX`].
    pub dissenters: Vec<Dissenter>,
    /// Number of adverts around the first one. The more there are, the more likely it is that two agree by chance.
    pub adverts_around: u32,
    /// Adverts among them that share its price and surface but differ otherwise.
    pub lookalikes: u32,
    /// Bits that the pair of portals adds to the odds before anything is compared; learned by a rebuild.
    pub portal_bits: f32,
    /// Whether the two may share a property: they do not contradict each other, or something excuses it.
    #[serde(skip)]
    is_admitted: bool,
    /// The outcome of a search around the later advert; `None` if something else keeps the two apart.
    #[serde(skip)]
    search: Option<LaterSearch>,
}

/// The outcome of a search around the later of two adverts, which decides whether they share a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaterSearch {
    /// It does not find the property of the earlier one.
    Missed,
    /// It finds the earlier one, and the two do not match among the adverts around the later one.
    Unlike,
    /// It finds a match.
    Match,
}

/// The reason why two adverts that match are in two properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApartReason {
    /// A person declared them distinct.
    Split,
    /// They contradict each other.
    Contradiction,
    /// Other adverts of their properties keep them apart: [`Explanation::dissenters`].
    Dissenters,
    /// Nothing compares them: the later one does not look up a key of the earlier one.
    NotCompared,
    /// They match only among the adverts around the earlier one, and the later one decides.
    LaterUnlike,
    /// They were placed when less was known, or under other thresholds.
    DecidedBefore,
}

impl Explanation {
    /// Returns why the two adverts are in two properties although they match; `None` if they do not match, or are in
    /// one property.
    pub fn apart_because(&self) -> Option<ApartReason> {
        if self.together || self.verdict != DedupVerdict::Same {
            return None;
        }
        Some(if self.split {
            ApartReason::Split
        } else if !self.is_admitted {
            ApartReason::Contradiction
        } else if !self.dissenters.is_empty() {
            ApartReason::Dissenters
        } else {
            match self.search {
                Some(LaterSearch::Missed) => ApartReason::NotCompared,
                Some(LaterSearch::Unlike) => ApartReason::LaterUnlike,
                Some(LaterSearch::Match) | None => ApartReason::DecidedBefore,
            }
        })
    }
}

impl Listings {
    /// Compares two adverts, each named by its identifier or its URL. Blocks.
    ///
    /// # Errors
    /// [`Error::Refused`] if one of them does not exist, or both are the same advert.
    pub fn explain(&self, one: &str, other: &str) -> Result<Explanation> {
        let (one, other) = (self.side(one)?, self.side(other)?);
        if one.number == other.number {
            let advert = one.flx_id;
            return Err(Error::Refused(format!(
                "both arguments are the advert {advert}; name two different adverts"
            )));
        }
        let pair = (one.number, other.number);
        let split = self.store.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM apart WHERE advert = ?1 AND other = ?2)";
            connection.query_row(sql, pair, |row| row.get(0))
        })?;
        self.store
            .read_with(|connection| explanation(connection, [one, other], split, self.thresholds))
    }

    /// Calls `each` with the URL of every advert. Blocks.
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

/// Returns the advert with a value in a column.
pub(super) fn explained(
    connection: &Connection,
    column: &str,
    value: impl ToSql,
) -> Result<Option<ExplainedAdvert>> {
    let sql = format!(
        "SELECT advert, advert_id, property_id, adverts.document, fingerprint, adverts.property
         FROM adverts JOIN properties USING (property) JOIN fingerprints USING (advert) WHERE {column} = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    first_row(&mut statement, [value], |row| {
        let id = flx_id(row, 1)?;
        let text = document::decode(blob(row, 3)?).map_err(|error| error.of(id))?;
        let advert: Advert = serde_json::from_slice(&text)?;
        let habitation = advert.habitation.unwrap_or_default();
        let images = advert.medias.unwrap_or_default().images.into_iter();
        Ok(ExplainedAdvert {
            number: row.get(0)?,
            property: row.get(5)?,
            flx_id: id,
            property_flx_id: flx_id(row, 2)?,
            fingerprint: fingerprint(row, 4)?,
            source: advert.source,
            url: advert.url,
            title: advert.title,
            price: advert.current_price.and_then(|price| price.value),
            surface: habitation.surface.and_then(|surface| surface.total),
            rooms: habitation.room_count,
            place: advert.location.map(place).unwrap_or_default(),
            pictures: images
                .filter_map(|image| image.url)
                .take(PICTURES_MAX)
                .collect(),
            is_online: advert.is_online,
            last_seen_at: advert.last_seen_at,
        })
    })
}

/// Formats a location in one line.
fn place(location: AdLocation) -> String {
    let postal_code = location.postal_code.map(|code| code.to_string());
    let town = [postal_code, location.city].into_iter().flatten();
    let town = town.collect::<Vec<_>>().join(" ");
    let parts = [location.address, location.district, Some(town)];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// Compares two adverts among those around the first.
pub(super) fn explanation(
    connection: &Connection,
    adverts: [ExplainedAdvert; 2],
    split: bool,
    thresholds: Thresholds,
) -> Result<Explanation> {
    let [one, other] = adverts;
    let compared = without_common_marks(connection, &one.fingerprint)?;
    let around = surroundings(connection, &compared, Some(one.number))?;
    let of_other = as_compared_with(connection, &compared, &other.fingerprint)?;
    let comparison = compare_among(&compared, &of_other, &around);
    let mut common = one.fingerprint.common_fields(&compared);
    common.extend(other.fingerprint.common_fields(&of_other));
    common.sort_unstable();
    common.dedup();
    let together = one.property == other.property;
    let verdict = comparison.verdict(thresholds);
    let (adverts_around, lookalikes) = (around.adverts(), around.lookalikes());
    let portal_bits = around.portal_bits(&other.fingerprint);
    let mut dissenters = Vec::new();
    if !together {
        let without_marks = without_common_marks(connection, &other.fingerprint)?;
        let second = ComparedSide {
            advert: &other,
            around: surroundings(connection, &without_marks, Some(other.number))?,
            compared: without_marks,
            is_match: verdict == DedupVerdict::Same,
        };
        let first = ComparedSide {
            advert: &one,
            around,
            compared,
            is_match: second.is_match,
        };
        dissenters = dissenters_of(connection, &one, &second)?;
        dissenters.extend(dissenters_of(connection, &other, &first)?);
        dissenters.truncate(DISSENTERS_MAX);
    }
    let is_admitted = admits(&compared, &of_other, &comparison);
    let is_open = !together && !split && is_admitted && dissenters.is_empty();
    let search = if is_open && verdict == DedupVerdict::Same {
        let (earlier, later) = if one.number < other.number {
            (&one, &other)
        } else {
            (&other, &one)
        };
        Some(search_around(connection, later, earlier, thresholds)?)
    } else {
        None
    };
    Ok(Explanation {
        together,
        split,
        verdict,
        is_admitted,
        search,
        comparison,
        contradictions: contradictions(&one.fingerprint, &other.fingerprint).collect(),
        dissenters,
        adverts_around,
        lookalikes,
        portal_bits,
        common,
        adverts: [one, other],
    })
}

/// Searches around the later advert as a rebuild does.
fn search_around(
    connection: &Connection,
    later: &ExplainedAdvert,
    earlier: &ExplainedAdvert,
    thresholds: Thresholds,
) -> Result<LaterSearch> {
    let around = AdvertsAround::find(connection, &later.fingerprint, later.number)?;
    let members = adverts_of(connection, earlier.property)?;
    let found = around.possibly_same(connection)?;
    if !found.iter().any(|advert| members.contains(advert)) {
        return Ok(LaterSearch::Missed);
    }
    let of_earlier = as_compared_with(connection, &around.compared, &earlier.fingerprint)?;
    let comparison = compare_among(&around.compared, &of_earlier, &around.surroundings);
    Ok(match comparison.verdict(thresholds) {
        DedupVerdict::Same => LaterSearch::Match,
        DedupVerdict::Possible | DedupVerdict::Different => LaterSearch::Unlike,
    })
}

/// An advert as it is compared with the other adverts of a property.
struct ComparedSide<'a> {
    advert: &'a ExplainedAdvert,
    compared: Fingerprint,
    around: Surroundings,
    /// Whether it and the other explained advert match. If so, adverts that only lower the odds also keep them apart.
    is_match: bool,
}

/// Returns the other adverts of the first advert's property that may not share a property with the second. Excludes
/// adverts that a person merged with the first.
fn dissenters_of(
    connection: &Connection,
    first: &ExplainedAdvert,
    second: &ComparedSide<'_>,
) -> Result<Vec<Dissenter>> {
    let held = held_of(connection, first.property)?;
    let compared = &second.compared;
    let is_vouched = |advert: &i64| held.contains(&first.number) && held.contains(advert);
    let mut found = Vec::new();
    for (advert, member) in fingerprints_of(connection, first.property)? {
        if advert == first.number || is_vouched(&advert) {
            continue;
        }
        let of_member = as_compared_with(connection, compared, &member)?;
        let comparison = compare_among(compared, &of_member, &second.around);
        let lowers_odds = second.is_match && comparison.member_bits() < 0.0;
        if admits(compared, &of_member, &comparison) && !lowers_odds {
            continue;
        }
        let Some(dissenter) = explained(connection, "advert", advert)? else {
            continue;
        };
        found.push(Dissenter {
            flx_id: dissenter.flx_id,
            property_flx_id: dissenter.property_flx_id,
            url: dissenter.url,
            title: dissenter.title,
            against: second.advert.flx_id,
            contradictions: contradictions(&second.advert.fingerprint, &member).collect(),
        });
        if found.len() == DISSENTERS_MAX {
            break;
        }
    }
    Ok(found)
}
